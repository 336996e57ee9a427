//! Checks of a demo as CI runs them: the same bytes however many workers there are, and SARIF as
//! its schema wants it. The schema is OASIS's without its descriptions; without Python's
//! `jsonschema` that part is left out, and says so.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sandglass_guests::C_DEMO;
use sandglass_tests::installed::left_out;
use sandglass_tests::program;
use serde_json::Value;

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/support/sarif-2.1.0.json");

fn check(folder: &Path, args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_sandglass-dup");
    let args = [&["check"], args].concat();
    program::run(program, env!("CARGO_TARGET_TMPDIR"), folder, &args)
}

/// A folder with the demo and its seeds; the bugs of the demo are among them.
fn prepare() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("demo.wasm"), C_DEMO.wasm_o0).unwrap();
    fs::create_dir(folder.path().join("corpus")).unwrap();
    let bugs = C_DEMO.bugs.iter().map(|bug| bug.witness);
    for (n, input) in C_DEMO.seeds.iter().copied().chain(bugs).enumerate() {
        fs::write(folder.path().join(format!("corpus/{n:02}")), input).unwrap();
    }
    folder
}

/// A slow finding costs no more than what it says, or than what somebody wrote there.
#[test]
fn a_slow_finding_is_held_against_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let target = wat::parse_str(include_str!("cli/check.txt")).unwrap();
    fs::write(root.join("t.wasm"), target).unwrap();
    fs::create_dir(root.join("corpus")).unwrap();
    fs::write(root.join("corpus/a"), "hello").unwrap();
    let sandglass = |args: &[&str]| {
        let program = env!("CARGO_BIN_EXE_sandglass-dup");
        program::run(program, env!("CARGO_TARGET_TMPDIR"), root, args)
    };
    sandglass(&["fuzz", "t.wasm", "corpus", "--execs", "3000", "--out", "o"]);
    let findings = fs::read_dir(root.join("o/findings")).unwrap();
    let mut names = findings.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let slow = names.find(|name| name.starts_with("slow-")).unwrap();
    let path = format!("o/findings/{slow}");
    let file = root.join(&path).join("finding.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let fuel = record["fuel"].as_u64().unwrap();
    for (budget, code) in [(fuel - 1, 1), (fuel, 0)] {
        record["budget"] = budget.into();
        fs::write(&file, record.to_string()).unwrap();
        let output = sandglass(&["check", "t.wasm", &path, "--execs", "0"]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(
            digits.contains(&format!("{fuel}{budget}")),
            code == 1,
            "{text}"
        );
    }
}

#[test]
fn a_check_is_the_same_everywhere_and_its_reports_are_what_they_claim() {
    let (one, other) = (prepare(), prepare());
    let common = [
        "demo.wasm",
        "corpus",
        "--execs",
        "2000",
        "--fuel",
        "1M",
        "--junit",
        "check.xml",
        "--sarif",
        "check.sarif",
        "--workers",
    ];
    let first = check(one.path(), &[&common[..], &["1"]].concat());
    let second = check(other.path(), &[&common[..], &["3"]].concat());
    assert_eq!(first.status.code(), Some(1), "{first:?}");
    assert_eq!(first, second);
    let read = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for name in ["check.xml", "check.sarif"] {
        assert_eq!(read(one.path(), name), read(other.path(), name), "{name}");
    }
    let text = read(one.path(), "check.sarif");
    let log: Value = serde_json::from_str(&text).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(results.len() >= C_DEMO.bugs.len(), "{text}");
    let traps = results.iter().filter(|result| result["ruleId"] == "trap");
    for trap in traps {
        let place = &trap["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.ends_with(".c"), "{trap}");
        assert!(place["region"]["startLine"].as_u64().unwrap() > 1, "{trap}");
    }
    let junit = read(one.path(), "check.xml");
    let failures = format!("failures=\"{}\"", results.len());
    assert!(junit.contains(&failures), "{failures} in {junit}");
    match is_valid(&text) {
        None => {
            // Where it was installed for this, it has to be there.
            assert!(std::env::var_os("SANDGLASS_JSONSCHEMA").is_none());
            left_out("python3 has no module jsonschema");
        }
        Some(errors) => {
            assert_eq!(errors, "");
            let wrong = is_valid(&text.replace("\"error\"", "\"fatal\"")).unwrap();
            assert!(wrong.contains("fatal"), "{wrong}");
        }
    }
}

/// What the schema says against a log; `None` if there is nobody to ask.
fn is_valid(log: &str) -> Option<String> {
    let script = "import json, sys, jsonschema\n\
        check = jsonschema.Draft7Validator(json.load(open(sys.argv[1])))\n\
        for error in check.iter_errors(json.load(sys.stdin)): print(error.message)";
    let python = std::env::var_os("SANDGLASS_JSONSCHEMA").unwrap_or_else(|| "python3".into());
    let has_it = Command::new(&python)
        .args(["-c", "import jsonschema"])
        .output();
    if !has_it.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut asked = Command::new(&python)
        .args(["-c", script, SCHEMA])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it ran just now");
    asked
        .stdin
        .take()
        .expect("piped")
        .write_all(log.as_bytes())
        .unwrap();
    let output = asked.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
