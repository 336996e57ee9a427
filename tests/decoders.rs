//! What peers send is decoded by code that Sandglass has fuzzed: its own cargo-fuzz project, built and run as anybody's.
//!
//! Where `wasm32-wasip1` or `libfuzzer-sys` cannot be had there is nothing to build, and the test says so and passes.

use std::path::Path;
use std::process::{Command, Output};

use sandglass_tests::installed::left_out;

/// A few seconds; a minute goes ten times as far.
const EXECS: &str = "100000";

#[test]
fn records_of_strangers_break_nothing() {
    fuzzed("records");
}

#[test]
fn asks_of_strangers_break_nothing() {
    fuzzed("relay");
}

/// Builds a fuzz target of the exchange, and runs a campaign that must find nothing, slow inputs included.
fn fuzzed(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/exchange");
    let module = folder.path().join("t.wasm");
    let (project, module) = (project.to_string_lossy(), module.to_string_lossy());
    let built = sandglass(&["build", name, "--manifest-path", &project, "-o", &module]);
    let message = String::from_utf8_lossy(&built.stderr);
    let cannot = [
        "the standard library of Rust for",
        "failed to download",
        "failed to get",
        "no compiler",
    ];
    if cannot.iter().any(|words| message.contains(words)) {
        left_out(&message);
        return;
    }
    assert!(built.status.success(), "{message}");
    let out = folder.path().join("campaign");
    let out = out.to_string_lossy();
    let ran = sandglass(&["fuzz", &module, "--execs", EXECS, "--out", &out, "--plain"]);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(0), "{text}");
    assert!(!text.contains(" slow)"), "{text}");
}

fn sandglass(args: &[&str]) -> Output {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
        .args(args)
        .env("CARGO_TARGET_DIR", tmp.join("decoders"))
        .env("SANDGLASS_CACHE", tmp.join("build-cache"))
        .output()
        .expect("the program runs")
}
