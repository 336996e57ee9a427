//! Projects of cargo-fuzz, as they are: built, fuzzed, and what is shown of their findings.

use std::fs;
use std::path::Path;

use crate::projects::{
    built, files, finds_the_fault, is_fetched, is_without_compiler, sandglass, template,
};

#[test]
fn an_unmodified_cargo_fuzz_project() {
    let project = template("rust");
    if !is_fetched(project.path()) {
        return;
    }
    let before = files(project.path());
    finds_the_fault(
        project.path(),
        &["build"],
        "mean.wasm",
        &["fuzz/corpus/mean"],
        &["mean", "src/lib.rs"],
    );
    let mut after = files(project.path());
    after.retain(|path| !path.starts_with("campaign") && path != Path::new("mean.wasm"));
    assert_eq!(after, before, "the project is as it was");
}

/// What a target of a type makes of its input is shown, as its `Debug` has it; of one that takes bytes it is not.
#[test]
fn a_typed_target_shows_its_value() {
    let project = template("rust");
    let manifest = project.path().join("fuzz/Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let typed = text.replace(
        "libfuzzer-sys = \"0.4\"\n",
        "libfuzzer-sys = { version = \"0.4\", features = [\"arbitrary-derive\"] }\n",
    );
    assert_ne!(text, typed);
    let bytes = "\n[[bin]]\nname = \"plain\"\npath = \"fuzz_targets/plain.rs\"\n";
    fs::write(&manifest, typed + bytes).expect("written");
    let target = |name: &str| project.path().join(format!("fuzz/fuzz_targets/{name}.rs"));
    fs::rename(target("mean"), target("plain")).expect("renamed");
    let source = "#![no_main]\n\
        use libfuzzer_sys::{arbitrary::{self, Arbitrary}, fuzz_target};\n\
        #[derive(Arbitrary, Debug)]\n\
        enum Kind { List(Vec<u8>), Name { first: char } }\n\
        #[derive(Arbitrary, Debug)]\n\
        struct Order { number: u16, kind: Kind }\n\
        fuzz_target!(|order: Order| {\n\
            if let Kind::List(list) = order.kind { assert!(list.len() < 3, \"{}\", order.number); }\n\
            else if let Kind::Name { first } = order.kind { assert_ne!(first, 'x'); }\n\
        });\n";
    fs::write(target("mean"), source).expect("written");
    if !is_fetched(project.path()) || !built(project.path(), &["build", "mean"]) {
        return;
    }
    let input = [&[7, 1, 0, 0, 0, 0, 9, 8, 7, 6][..], &[1; 8]].concat();
    fs::write(project.path().join("input"), input).expect("written");
    let value = |verb: &str, module: &str| {
        let output = sandglass(project.path(), &[verb, module, "input"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = value("show", "mean.wasm");
    let expected = "value:\n  Order {\n      number: 263,\n      kind: List(\n          [\n";
    assert!(shown.contains(expected), "{shown}");
    let replayed = value("repro", "mean.wasm");
    assert!(
        replayed.contains("    value: Order {\n    value:     number: 263,\n"),
        "{replayed}"
    );
    // What fails is not what prints.
    assert!(replayed.contains("trap: unreachable in mean"), "{replayed}");
    let json = sandglass(project.path(), &["repro", "mean.wasm", "input", "--json"]);
    let json = String::from_utf8_lossy(&json.stdout).into_owned();
    assert!(
        json.contains(r#""value":"Order {\n    number: 263,"#),
        "{json}"
    );
    assert!(built(project.path(), &["build", "plain"]));
    for verb in ["show", "repro"] {
        let shown = value(verb, "plain.wasm");
        assert!(!shown.contains("value"), "{shown}");
    }
}

/// A harness that returns at once reaches dozens of edges of Rust's own libraries, and next to none of the project's.
#[test]
fn a_harness_that_returns_at_once_is_told_of() {
    let project = template("rust");
    let harness = project.path().join("fuzz/fuzz_targets/mean.rs");
    let text = fs::read_to_string(&harness).expect("a harness");
    let at_once = text.replace(
        "    match mean::mean",
        "    if text.len() < 1 << 24 {\n        return Corpus::Keep;\n    }\n    match mean::mean",
    );
    assert_ne!(text, at_once);
    fs::write(&harness, at_once).expect("written");
    if !is_fetched(project.path()) || !built(project.path(), &["build"]) {
        return;
    }
    let fuzz = |options: &[&str]| {
        let command = [&["fuzz", "mean.wasm", "--out", "campaign"], options].concat();
        let output = sandglass(project.path(), &command);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let told = fuzz(&["--execs", "2000"]);
    let mut advice = told
        .lines()
        .skip_while(|line| !line.starts_with("advice: "));
    let says = advice.next().unwrap_or_default();
    assert!(says.starts_with("advice: 1 of "), "{told}");
    assert!(
        says.contains(" edges of your own code reached, none in ")
            && says.ends_with("/src/lib.rs: does the harness use its input?"),
        "{told}"
    );
    assert_eq!(
        advice.next(),
        Some("    next: sandglass cover mean.wasm campaign")
    );
    // The harness as it was has nothing to be told of.
    fs::write(&harness, text).expect("written");
    assert!(built(project.path(), &["build"]));
    fs::remove_dir_all(project.path().join("campaign")).expect("removed");
    let told = fuzz(&["fuzz/corpus/mean", "--execs", "2000"]);
    assert!(
        told.contains(" own), ") && !told.contains("advice: "),
        "{told}"
    );
}

/// The panic's machinery is no part of what is shown of a stack at a glance.
#[test]
fn a_panic_is_shown_from_the_projects_own_frame() {
    let project = template("rust");
    if !is_fetched(project.path()) || !built(project.path(), &["build"]) {
        return;
    }
    fs::create_dir_all(project.path().join("bad")).expect("a folder");
    fs::write(project.path().join("bad/input"), "mean:").expect("written");
    let fuzz = [
        "fuzz",
        "mean.wasm",
        "bad",
        "--execs",
        "10",
        "--out",
        "campaign",
    ];
    let check = ["check", "mean.wasm", "bad", "--execs", "0"];
    for command in [&fuzz[..], &check[..]] {
        let output = sandglass(project.path(), command);
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text
            .lines()
            .skip_while(|line| !line.contains("mean::mean at"));
        lines.next();
        let folded = lines.next().unwrap_or_default();
        assert!(
            folded.contains("frames of panic, abort or allocation"),
            "{text}"
        );
        let first = lines.next().unwrap_or_default();
        assert!(first.contains(" mean::mean at "), "{text}");
    }
}

/// What cargo-fuzz has kept of a target, and its dictionary, are in the commands that come next.
#[test]
fn what_cargo_fuzz_kept_is_suggested() {
    let project = template("rust");
    let artifacts = project.path().join("fuzz/artifacts/mean");
    fs::create_dir_all(&artifacts).expect("a folder");
    fs::write(artifacts.join("crash-da39a3ee"), "mean:").expect("written");
    fs::write(project.path().join("fuzz/mean.dict"), "\"mean:\"\n").expect("written");
    if !is_fetched(project.path()) {
        return;
    }
    let output = sandglass(project.path(), &["build"]);
    let message = String::from_utf8_lossy(&output.stderr);
    if is_without_compiler(&message) {
        return;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let fuzz = "  next: sandglass fuzz mean.wasm fuzz/corpus/mean --dict fuzz/mean.dict --time 60s";
    let check = "sandglass check mean.wasm fuzz/artifacts/mean --execs 0";
    assert!(text.contains(fuzz) && text.contains(check), "{text}");
    let words: Vec<&str> = check.split(' ').skip(1).collect();
    let checked = sandglass(project.path(), &words);
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
}

/// A crate whose build script compiles C, for which the compiler is found. Its
/// static constructor runs, though a cargo-fuzz target is linked as a program.
#[test]
fn a_cargo_fuzz_project_that_brings_c() {
    let c = template("c");
    let project = template("rust-with-c");
    if !built(c.path(), &["build", "harness.c", "mean.c"]) || !is_fetched(project.path()) {
        return;
    }
    finds_the_fault(
        project.path(),
        &["build"],
        "mean_c.wasm",
        &[],
        &["mean", "mean.c"],
    );
}
