//! Undefined behaviour that a compiler's check sees is named, with its line; and nothing else is. Of the checked-in
//! modules; `tests/templates.rs` has compilers build them anew.

use std::fs;
use std::path::Path;
use std::process::Command;

use sandglass_guests::{UNDEFINED, undefined_cases};
use sandglass_tests::undefined::wrong_reports;

#[test]
fn each_check_has_a_name_and_a_line() {
    assert!(undefined_cases().len() >= 25);
    let mut wrong = Vec::new();
    for guest in UNDEFINED {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(guest.name), guest.wasm).expect("written");
        let sandglass = |words: &[&str]| {
            Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
                .args(words)
                .current_dir(folder.path())
                .env(
                    "SANDGLASS_CACHE",
                    Path::new(env!("CARGO_TARGET_TMPDIR")).join("undefined"),
                )
                .output()
                .expect("the program starts")
        };
        wrong.extend(wrong_reports(folder.path(), guest.name, sandglass));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Different checks in one function are different bugs, and a campaign finds them apart.
#[test]
fn a_campaign_tells_checks_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("t.wasm"), UNDEFINED[1].wasm).expect("written");
    fs::create_dir(folder.path().join("seeds")).expect("made");
    for number in 0..undefined_cases().len() as u8 {
        let seed = folder.path().join(format!("seeds/{number}"));
        fs::write(seed, [number, b'b']).expect("written");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
        .args(["fuzz", "t.wasm", "seeds", "--execs", "100", "--out", "o"])
        .current_dir(folder.path())
        .env("SANDGLASS_CACHE", folder.path().join("cache"))
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.matches("undefined behaviour: ").count();
    // `stderr` lines aside: a campaign shows titles and stacks only.
    assert_eq!(found, undefined_cases().len(), "{text}");
}
