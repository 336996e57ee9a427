//! The checked-in modules are what their sources say: rebuilt with the same compilers, they are the same bytes.
//!
//! Without the compilers, or with others, there is nothing to compare, and the test says so and passes.

use std::path::{Path, PathBuf};
use std::process::Command;

const RUSTC: &str = "rustc 1.95.0";
const ZIG: &str = "0.17.0";

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn rebuilt_guests_are_the_checked_in_ones() {
    if let Err(missing) = compilers() {
        eprintln!("not rebuilt: {missing}");
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rebuilt-guests");
    let built = Command::new(here.join("build-small.sh"))
        .arg("all")
        .env("OUT", &out)
        .output()
        .expect("bash runs");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let mut compared = 0;
    for folder in [
        "planted/wasm",
        "demo/wasm",
        "bench/wasm",
        "cost/wasm",
        "dependence/wasm",
        "dataflow/wasm",
        "generators/wasm",
        "heap/wasm",
        "undefined/wasm",
    ] {
        for name in modules(&here.join(folder)) {
            let rebuilt = std::fs::read(out.join(folder).join(&name)).unwrap_or_default();
            let checked_in =
                std::fs::read(here.join(folder).join(&name)).expect("it was just listed");
            assert!(
                rebuilt == checked_in,
                "{folder}/{}: run guests/build-small.sh",
                name.display()
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 24 + 4 + 6 + 3 + 4 + 35 + 16 + 21 + 8 + 2);
}

fn modules(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of checked-in modules");
    entries
        .map(|entry| PathBuf::from(entry.expect("an entry").file_name()))
        .collect()
}

/// Says which compiler is missing or another than the one that built what is checked in.
fn compilers() -> Result<(), String> {
    let rustc = first_line("rustc", &["--version"]);
    if !rustc.starts_with(RUSTC) {
        return Err(format!("rustc is `{rustc}`, expected {RUSTC}"));
    }
    let target = first_line(
        "rustc",
        &[
            "--print",
            "target-libdir",
            "--target",
            "wasm32-unknown-unknown",
        ],
    );
    if !Path::new(&target).is_dir() {
        return Err("no standard library; rustup target add wasm32-unknown-unknown".into());
    }
    let venv = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/guest-tools/venv/bin/python"
    );
    let python = if Path::new(venv).is_file() {
        venv
    } else {
        "python3"
    };
    let zig = first_line(python, &["-m", "ziglang", "version"]);
    let zig = if zig.is_empty() {
        first_line("zig", &["version"])
    } else {
        zig
    };
    if zig != ZIG {
        return Err(format!(
            "zig is `{zig}`, expected {ZIG}; pip install ziglang=={ZIG}"
        ));
    }
    Ok(())
}

fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    String::from_utf8_lossy(&output)
        .lines()
        .next()
        .unwrap_or("")
        .trim()
        .to_owned()
}
