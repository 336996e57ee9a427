//! Projects in folders of their own, built and fuzzed by the program as a user types it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sandglass_tests::installed::left_out;

/// Far more than any of these campaigns needs, and a second of work.
const EXECS: &str = "100000";

/// A template in a folder of its own, as the program writes it.
pub(crate) fn template(language: &str) -> tempfile::TempDir {
    let to = tempfile::tempdir().expect("a folder");
    let written = sandglass(to.path(), &["init", language, "."]);
    assert!(written.status.success(), "{written:?}");
    to
}

/// Builds, fuzzes, and looks for a line with these words in what was found.
pub(crate) fn finds_the_fault(
    folder: &Path,
    build: &[&str],
    module: &str,
    corpus: &[&str],
    words: &[&str],
) {
    if !built(folder, build) {
        return;
    }
    // The same sources make the same module, or campaigns would not go on.
    let bytes = || fs::read(folder.join(module)).expect("a module");
    let first = bytes();
    assert!(built(folder, build));
    assert!(
        first == bytes(),
        "{module}: another one of the same sources"
    );
    let mut fuzz = vec!["fuzz", module];
    fuzz.extend(corpus);
    fuzz.extend(["--execs", EXECS, "--out", "campaign"]);
    let output = sandglass(folder, &fuzz);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let division = |line: &str| words.iter().all(|word| line.contains(word));
    assert!(text.lines().any(division), "{text}");
}

/// Whether a project was built; panics if it could have been.
pub(crate) fn built(folder: &Path, command: &[&str]) -> bool {
    let output = sandglass(folder, command);
    let message = String::from_utf8_lossy(&output.stderr);
    if is_without_compiler(&message) {
        left_out(&message);
        return false;
    }
    assert!(output.status.success(), "{message}");
    true
}

pub(crate) fn is_without_compiler(message: &str) -> bool {
    [
        "error: no compiler",
        "error: no Zig",
        "error: no clang",
        "the standard library of Rust for",
    ]
    .iter()
    .any(|beginning| message.contains(beginning))
}

pub(crate) fn sandglass(folder: &Path, args: &[&str]) -> Output {
    sandglass_with(folder, args, &[])
}

pub(crate) fn sandglass_with(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
        .args(args)
        .current_dir(folder)
        .env("SANDGLASS_CACHE", tmp.join("build-cache"))
        // What was built for the last test run need not be built again.
        .env("CARGO_TARGET_DIR", tmp.join("build-templates"))
        .envs(variables.iter().copied())
        .output()
        .expect("the program starts")
}

/// Whether cargo has what a project needs.
pub(crate) fn is_fetched(project: &Path) -> bool {
    let fetched = Command::new("cargo")
        .args(["fetch", "--quiet", "--manifest-path", "fuzz/Cargo.toml"])
        .current_dir(project)
        .status()
        .is_ok_and(|status| status.success());
    if !fetched {
        left_out("cargo cannot fetch libfuzzer-sys");
    }
    fetched
}

/// The files below a folder, sorted; without what cargo makes.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("Cargo.lock") {
                found.push(path.strip_prefix(folder).expect("below it").to_owned());
            }
        }
    }
    found.sort();
    found
}
