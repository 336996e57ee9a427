//! The program `sandglass`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandglass_runtime::cli::main()
}
