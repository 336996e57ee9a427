//! What is exported does elsewhere what it says: the program in C and the test in Rust fail as the
//! finding does, and a bundle replays where nothing else is. What needs a C compiler is left out
//! without one, and says so.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use sandglass_guests::C_DEMO;
use sandglass_tests::installed::left_out;
use sandglass_tests::program;

fn sandglass(folder: &Path, args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_sandglass-dup");
    program::run(program, env!("CARGO_TARGET_TMPDIR"), folder, args)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A folder with the demo, the input `bug` that divides by zero in it, and the input `seed`.
fn prepare() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bug = C_DEMO.bugs.iter().find(|bug| bug.expect.contains("divide"));
    fs::write(folder.path().join("demo.wasm"), C_DEMO.wasm_o0).unwrap();
    fs::write(folder.path().join("harness.c"), C_DEMO.source).unwrap();
    fs::write(
        folder.path().join("bug"),
        bug.expect("it divides by zero").witness,
    )
    .unwrap();
    fs::write(folder.path().join("seed"), C_DEMO.seeds[0]).unwrap();
    folder
}

#[test]
fn a_program_in_c_fails_as_the_finding_does() {
    let folder = prepare();
    let path = folder.path();
    for (input, fails) in [("bug", true), ("seed", false)] {
        let made = sandglass(
            path,
            &["export", "demo.wasm", input, "--as", "c", "--out", "r.c"],
        );
        assert!(made.status.success(), "{made:?}");
        let built = ["cc", "clang", "clang-14", "gcc"]
            .iter()
            .find_map(|compiler| {
                let mut command = Command::new(compiler);
                command.args(["-O0", "-w", "r.c", "harness.c", "-o", "reproducer"]);
                command.current_dir(path).output().ok()
            });
        let Some(built) = built else {
            left_out("no C compiler");
            return;
        };
        assert!(built.status.success(), "{built:?}");
        let ran = Command::new(path.join("reproducer")).output().unwrap();
        // By a signal, or not at all.
        assert_eq!(ran.status.code(), (!fails).then_some(0), "{ran:?}");
    }
}

#[test]
fn a_test_in_rust_gets_the_very_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let all: Vec<u8> = (0..=255).chain(*b"    \\\"'\n  end").collect();
    fs::write(path.join("all"), &all).unwrap();
    fs::write(path.join("demo.wasm"), C_DEMO.wasm).unwrap();
    let args = [
        "export",
        "demo.wasm",
        "all",
        "--as",
        "rust-test",
        "--call",
        "target::parse",
        "--out",
        "r.rs",
    ];
    let made = sandglass(path, &args);
    assert!(made.status.success(), "{made:?}");
    let test = fs::read_to_string(path.join("r.rs")).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    for (wanted, passes) in [(&all[..], true), (&all[1..], false)] {
        let target = format!(
            "mod target {{ pub fn parse(bytes: &[u8]) {{ assert_eq!(bytes, {wanted:?}); }} }}\n"
        );
        fs::write(path.join("whole.rs"), format!("{target}{test}")).unwrap();
        let mut command = Command::new(&rustc);
        command.args(["--test", "--edition=2024", "whole.rs", "-o", "whole"]);
        let built = command
            .current_dir(path)
            .output()
            .expect("whoever runs this has rustc");
        assert!(built.status.success(), "{built:?}");
        let ran = Command::new(path.join("whole")).output().unwrap();
        assert_eq!(ran.status.success(), passes, "{}", text(&ran));
        assert!(text(&ran).contains("1 test"), "{}", text(&ran));
    }
}

#[test]
fn a_bundle_replays_where_nothing_else_is() {
    let folder = prepare();
    let corpus = folder.path().join("corpus");
    fs::create_dir(&corpus).unwrap();
    fs::copy(folder.path().join("bug"), corpus.join("bug")).unwrap();
    let args = [
        "fuzz",
        "demo.wasm",
        "corpus",
        "--execs",
        "1",
        "--fuel",
        "7M",
        "--out",
        "o",
    ];
    let fuzzed = sandglass(folder.path(), &args);
    assert_eq!(fuzzed.status.code(), Some(1), "{fuzzed:?}");
    let findings = fs::read_dir(folder.path().join("o/findings")).unwrap();
    let finding = findings.map(|entry| entry.unwrap().path()).next().unwrap();
    let finding = finding.to_str().unwrap();
    let made = sandglass(
        folder.path(),
        &[
            "export",
            "demo.wasm",
            finding,
            "--as",
            "bundle",
            "--out",
            "b",
        ],
    );
    assert!(made.status.success(), "{made:?}");
    let here = sandglass(folder.path(), &["repro", "demo.wasm", finding]);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::copy(folder.path().join("b"), elsewhere.path().join("b")).unwrap();
    let there = sandglass(elsewhere.path(), &["repro", "b"]);
    assert_eq!(there.status.code(), Some(1), "{there:?}");
    assert_eq!(text(&there), text(&here).replace(finding, "b"));
    assert!(text(&there).contains("#0 "), "{}", text(&there));
    // Limits are the finding's, so nothing is compared under others.
    let less = sandglass(elsewhere.path(), &["repro", "b", "--fuel", "10"]);
    assert!(text(&less).contains("hang"), "{less:?}");
    // A bundle that says something else is our fault or somebody's, and never believed.
    let bytes = fs::read(elsewhere.path().join("b")).unwrap();
    let wrong = replaced(&bytes, b"\"fuel\":", b"\"fuel\":1");
    fs::write(elsewhere.path().join("wrong"), wrong).unwrap();
    let refused = sandglass(elsewhere.path(), &["repro", "wrong"]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
}

/// Code for another processor is other code, and comes to the same outcome, fuel and stack.
#[test]
fn a_bundle_replays_on_a_lesser_processor() {
    let folder = prepare();
    let export = ["export", "demo.wasm", "bug", "--as", "bundle", "--out", "b"];
    let made = sandglass(folder.path(), &export);
    assert!(made.status.success(), "{made:?}");
    let cache = folder.path().join("cache");
    let compiled = || {
        let entries = fs::read_dir(&cache).unwrap().flatten();
        let is_code = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|e| e == "code");
        entries.filter(is_code).count()
    };
    let repro = |cpu: &str| {
        Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
            .args(["repro", "b", "--cpu", cpu])
            .current_dir(folder.path())
            .env("SANDGLASS_CACHE", &cache)
            .output()
            .unwrap()
    };
    let native = repro("native");
    let before = compiled();
    let baseline = repro("baseline");
    assert_eq!(native.status.code(), Some(1), "{native:?}");
    assert!(text(&native).contains("#0 "), "{native:?}");
    assert_eq!(baseline.status.code(), Some(1), "{baseline:?}");
    assert_eq!(text(&baseline), text(&native));
    assert!(before > 0, "the cache is used");
    assert_eq!(compiled(), 2 * before, "it was compiled again");
}

/// Floats and bits by instructions that not every processor has. What they come to is a number of turns, and so fuel.
const EXTENSIONS: &str = r#"(module
  (memory (export "memory") 1)
  (func $floats (param $x f64) (result f64)
    (f64.add
      (f64.add (f64.floor (local.get $x)) (f64.mul (f64.ceil (local.get $x)) (f64.const 3)))
      (f64.add (f64.nearest (local.get $x)) (f64.trunc (f64.sqrt (local.get $x))))))
  (func $bits (param $n i64) (result i64)
    (i64.add
      (i64.add (i64.popcnt (local.get $n)) (i64.mul (i64.clz (local.get $n)) (i64.const 5)))
      (i64.mul (i64.ctz (local.get $n)) (i64.const 7))))
  (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $length i32) (result i32)
    (local $n i64) (local $turns i64)
    (local.set $n (i64.load (local.get $at)))
    (local.set $turns
      (i64.add
        (call $bits (local.get $n))
        (i64.trunc_f64_u (call $floats (f64.div (f64.convert_i64_u (i64.and (local.get $n) (i64.const 4095))) (f64.const 7))))))
    (loop $again
      (local.set $turns (i64.sub (local.get $turns) (i64.const 1)))
      (br_if $again (i64.gt_s (local.get $turns) (i64.const 0))))
    unreachable))"#;

/// The code differs where a processor may lack the instruction, and what it does not.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_lesser_processor_needs_no_extensions() {
    let folder = tempfile::tempdir().unwrap();
    let wasm = wat::parse_str(EXTENSIONS).unwrap();
    fs::write(folder.path().join("t.wasm"), wasm).unwrap();
    fs::write(folder.path().join("a"), [0xd2, 0x0b, 0, 0x1c, 0, 0, 0, 0]).unwrap();
    let repro = |cpu: &str| {
        let cache = folder.path().join(cpu);
        let output = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
            .args(["repro", "t.wasm", "a", "--json", "--cpu", cpu])
            .current_dir(folder.path())
            .env("SANDGLASS_CACHE", &cache)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let entries = fs::read_dir(&cache).unwrap().flatten();
        let codes = entries.map(|entry| entry.path());
        let codes = codes.filter(|path| path.extension().is_some_and(|e| e == "code"));
        let code: Vec<u8> = codes.flat_map(|path| fs::read(path).unwrap()).collect();
        assert!(!code.is_empty(), "the cache is used");
        (text(&output), popcounts(&code))
    };
    let (native, baseline) = (repro("native"), repro("baseline"));
    assert_eq!(native.0, baseline.0);
    assert_eq!(baseline.1, 0, "the least processor has no such instruction");
    if std::is_x86_feature_detected!("popcnt") {
        assert!(native.1 > 0, "this processor has it");
    }
}

/// Instructions `popcnt` of 64 bits: F3, a prefix that says so, 0F B8.
#[cfg(target_arch = "x86_64")]
fn popcounts(code: &[u8]) -> usize {
    let is_one = |at: &&[u8]| at[0] == 0xf3 && at[1] & 0xf8 == 0x48 && at[2..] == [0x0f, 0xb8];
    code.windows(4).filter(is_one).count()
}

/// The first occurrence replaced.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes
        .windows(from.len())
        .position(|window| window == from)
        .expect("it is there");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}
