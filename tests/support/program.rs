//! The program as a user types it, in a folder of the test's.

use std::path::Path;
use std::process::{Child, Command, Output};

/// Runs `program` in `folder`, with compiled modules kept below `scratch`. The first two are what Cargo
/// tells a test: `CARGO_BIN_EXE_sandglass-dup` and `CARGO_TARGET_TMPDIR`.
pub fn run(program: &str, scratch: &str, folder: &Path, args: &[&str]) -> Output {
    Command::new(program)
        .args(args)
        .current_dir(folder)
        .env("SANDGLASS_CACHE", Path::new(scratch).join("cli-cache"))
        .output()
        .expect("the program runs")
}

/// Presses Ctrl-C for a process.
pub fn interrupt(child: &Child) {
    send("INT", child);
}

/// Sends a process a signal: `INT`, `HUP`.
pub fn send(signal: &str, child: &Child) {
    let (signal, pid) = (format!("-{signal}"), child.id().to_string());
    let sent = Command::new("kill").args([&signal, &pid]).status();
    assert!(sent.expect("every system has `kill`").success());
}
