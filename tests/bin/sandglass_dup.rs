//! The program once more: Cargo tells only tests of the same package where a
//! program is, so this package builds one that is exactly the same.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandglass_runtime::cli::main()
}
