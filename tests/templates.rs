//! From a project as its author has it to its planted fault, in each language,
//! by the program alone: `sandglass build`, then `sandglass fuzz`.
//!
//! Where a compiler is missing there is nothing to build, and the test says so
//! and passes, but where SANDGLASS_COMPILERS is set. CI installs them.

use std::fs;
use std::path::Path;

use crate::projects::{built, files, finds_the_fault, sandglass, template};

#[path = "templates/cargo_fuzz.rs"]
mod cargo_fuzz;
#[path = "templates/compilers_of_c.rs"]
mod compilers_of_c;
#[path = "templates/projects.rs"]
mod projects;

/// Every file of a template is written, and every template is one that can be asked for.
#[test]
fn templates_are_whole() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/templates");
    for entry in fs::read_dir(&all).expect("a folder") {
        let from = entry.expect("an entry").path();
        if !from.is_dir() {
            continue;
        }
        let name = from.file_name().and_then(|name| name.to_str());
        let written = template(name.expect("a name"));
        assert_eq!(files(written.path()), files(&from), "{name:?}");
    }
}

#[test]
fn a_harness_in_c() {
    let project = template("c");
    let command = ["build", "harness.c", "mean.c"];
    finds_the_fault(
        project.path(),
        &command,
        "harness.wasm",
        &[],
        &["mean", "mean.c"],
    );
}

#[test]
fn a_harness_in_cxx() {
    let project = template("cpp");
    let command = [
        "build",
        "harness.cc",
        "mean.cc",
        "-o",
        "out/mean.wasm",
        "--",
        "-std=c++17",
    ];
    finds_the_fault(
        project.path(),
        &command,
        "out/mean.wasm",
        &[],
        &["mean", "mean.cc"],
    );
}

#[test]
fn a_harness_in_zig() {
    let project = template("zig");
    finds_the_fault(
        project.path(),
        &["build", "harness.zig"],
        "harness.wasm",
        &[],
        &["mean", "mean.zig"],
    );
}

#[test]
fn a_harness_in_assembly_script() {
    let project = template("assemblyscript");
    finds_the_fault(
        project.path(),
        &["build", "harness.ts"],
        "harness.wasm",
        &[],
        // The compiler puts what is called once into its caller.
        &["divide-by-zero", "harness/LLVMFuzzerTestOneInput"],
    );
}

#[test]
fn a_harness_in_go() {
    let project = template("go");
    finds_the_fault(
        project.path(),
        &["build", "harness.go", "mean.go"],
        "harness.wasm",
        &[],
        &["main.Mean"],
    );
}

/// What a thrown error says is in the finding's title.
#[test]
fn an_error_in_assembly_script_has_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = "export function LLVMFuzzerTestOneInput(data: usize, size: i32): i32 {\n\
        if (size > 1) throw new Error(\"no such thing\");\n  return 0;\n}\n";
    fs::write(folder.path().join("h.ts"), source).expect("written");
    if !built(folder.path(), &["build", "h.ts"]) {
        return;
    }
    fs::write(folder.path().join("input"), "ab").expect("written");
    let output = sandglass(folder.path(), &["repro", "h.wasm", "input"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("no such thing at h.ts:2:"), "{text}");
}

/// Who names a compiler that is not there gets no other one in its place.
#[test]
fn a_wasi_sdk_that_is_not_there_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("h.c"), "int x;").expect("written");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sandglass-dup"));
    command.args(["build", "h.c"]).current_dir(folder.path());
    let output = command.env("WASI_SDK_PATH", "/no/such/sdk").output();
    let output = output.expect("the program runs");
    let text = String::from_utf8_lossy(&output.stderr);
    let expected = "error: /no/such/sdk/bin/clang: no such program, expected by WASI_SDK_PATH";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(output.status.code(), Some(2));
}
