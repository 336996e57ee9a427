//! Campaigns over a generator: the same whatever happens, and what is kept is made again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::choice::text::from_text;
use sandglass_engine::guidance::InputKind;
use sandglass_engine::{ALL, Drawing, Exit, Interest, Source};
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

/// Draws a list of letters, each after a coin, in spans; the target wants them in ascending order,
/// counts pairs of equal ones, and breaks on five in a row.
const GUEST: &str = r#"(module
  (import "sandglass" "draw_int" (func $int (param i32 i32 i64 i64) (result i64)))
  (import "sandglass" "draw_bool" (func $bool (param i32 i32 i32 i32) (result i32)))
  (import "sandglass" "span_open" (func $open (param i32)))
  (import "sandglass" "span_close" (func $close (param i32)))
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (memory (export "memory") 1)
  (func $item
    (call $open (i32.const 5))
    (if (call $bool (i32.const 1) (i32.const 1) (i32.const 9) (i32.const 10))
      (then
        (i32.store8 (i32.const 0)
          (i32.wrap_i64 (call $int (i32.const 2) (i32.const 2) (i64.const 97) (i64.const 104))))
        (call $emit (i32.const 0) (i32.const 1))
        (call $item)))
    (call $close (i32.const 0)))
  (func (export "sandglass_generate")
    (call $emit (i32.const 0) (i32.const 0))
    (call $item))
  (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $left i32) (result i32)
    (local $last i32) (local $now i32) (local $run i32)
    (block $done
      (loop $again
        (br_if $done (i32.eqz (local.get $left)))
        (local.set $now (i32.load8_u (local.get $at)))
        (if (i32.lt_u (local.get $now) (local.get $last)) (then (return (i32.const -1))))
        (if (i32.eq (local.get $now) (local.get $last))
          (then (local.set $run (i32.add (local.get $run) (i32.const 1))))
          (else (local.set $run (i32.const 1))))
        (if (i32.eq (local.get $run) (i32.const 5)) (then unreachable))
        (local.set $last (local.get $now))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $again)))
    i32.const 0))"#;

/// The summary of a session on the folder `out`.
fn fuzz(folder: &Path, out: &str, guidance: &str, execs: u64, more: &[&str]) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
        .args(["fuzz", "t.wasm", "--json", "--guidance", guidance])
        .args(["--execs", &execs.to_string(), "--out", out])
        .args(more)
        .current_dir(folder)
        .env(
            "SANDGLASS_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("choices-cache"),
        )
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last)
        .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a place for files");
    let wasm = wat::parse_str(GUEST).expect("it assembles");
    fs::write(folder.path().join("t.wasm"), wasm).expect("it can be written");
    folder
}

#[test]
fn every_guidance_is_the_same_with_more_workers_and_across_sessions() {
    let folder = folder();
    let of_choices = ALL.iter().filter(|spec| spec.input == InputKind::Choices);
    for name in of_choices.map(|spec| spec.name) {
        let at = |out: &str| format!("{name}-{out}");
        let one = fuzz(
            folder.path(),
            &at("one"),
            name,
            4_000,
            &["--paranoid", "97"],
        );
        let two = fuzz(folder.path(), &at("two"), name, 4_000, &["--workers", "2"]);
        fuzz(folder.path(), &at("parts"), name, 1_234, &[]);
        let parts = fuzz(
            folder.path(),
            &at("parts"),
            name,
            4_000,
            &["--workers", "3"],
        );
        for field in [
            "state_hash",
            "execs",
            "valid",
            "invalid",
            "unique_findings",
            "unique_traces",
            "diverse_valid",
            "corpus",
        ] {
            assert_eq!(one[field], two[field], "{name}: {field} with two workers");
            assert_eq!(one[field], parts[field], "{name}: {field} in two sessions");
        }
        assert_eq!(one["execs"], 4_000, "{name}");
        assert_ne!(one["valid"], 0, "{name}");
        assert_ne!(one["invalid"], 0, "{name}");
    }
}

/// What smaller inputs replaced is gone from the folder, too, in one session or in several.
#[test]
fn the_folder_holds_the_corpus_and_nothing_else() {
    let folder = folder();
    let files = |out: &str, of: &str| {
        let entries = fs::read_dir(folder.path().join(out).join(of)).expect("a folder");
        let names = entries.map(|entry| entry.expect("readable").file_name());
        names.collect::<BTreeSet<_>>()
    };
    let name = "sandglass-choices";
    let mut dropped_in_all = 0;
    for seed in ["1", "2", "3", "4"] {
        let [whole, parts] = ["whole", "parts"].map(|out| format!("{out}-{seed}"));
        let one = fuzz(folder.path(), &whole, name, 4_000, &["--seed", seed]);
        for execs in [900, 2_000, 4_000] {
            let more = ["--seed", seed, "--workers", "2"];
            fuzz(folder.path(), &parts, name, execs, &more);
        }
        let log = folder.path().join(&whole).join("events.jsonl");
        let log = fs::read_to_string(log).expect("a log");
        let count = |event: &str| log.matches(&format!("\"event\":\"{event}\"")).count() as u64;
        let (kept, dropped) = (count("kept"), count("dropped"));
        assert!(one["corpus"] == kept - dropped, "{one}");
        for of in ["corpus", "choices"] {
            assert_eq!(files(&whole, of).len() as u64, kept - dropped, "{of}");
            assert_eq!(files(&whole, of), files(&parts, of), "{of}");
        }
        dropped_in_all += dropped;
    }
    assert!(dropped_in_all > 0, "nothing was replaced");
}

/// The byte guidances over the generator, as tapes of choices: what they keep is decoded on disk.
#[test]
fn bytes_may_be_tapes_of_choices() {
    let folder = folder();
    // Given a generator, `sandglass` is the one for choices, whose texts no generator made.
    for (name, set) in [("afl", &[][..]), ("sandglass", &["--set", "texts=off"])] {
        let more = |workers| [&["--generator", "t.wasm", "--workers", workers], set].concat();
        let at = |out: &str| format!("{name}-{out}");
        let one = fuzz(folder.path(), &at("one"), name, 20_000, &more("1"));
        let two = fuzz(folder.path(), &at("two"), name, 20_000, &more("2"));
        assert_eq!(one["state_hash"], two["state_hash"], "{name}");
        assert!(one["findings"].as_u64() > Some(0), "{one}");
        let corpus = folder.path().join(at("one")).join("corpus");
        for entry in fs::read_dir(corpus).expect("a folder of inputs") {
            let input = fs::read(entry.expect("readable").path()).expect("readable");
            let is_letter = |byte: &u8| (b'a'..=b'h').contains(byte);
            assert!(input.iter().all(is_letter), "{name}: {input:?}");
        }
    }
}

/// Conformance item 13: each kept input, given its choices twice, is made again, of the same draws
/// and with the same coverage.
#[test]
fn what_is_kept_is_made_again() {
    let folder = folder();
    let summary = fuzz(folder.path(), "o", "zest", 20_000, &[]);
    assert!(summary["findings"].as_u64() > Some(0), "{summary}");
    let wasm = fs::read(folder.path().join("t.wasm")).expect("written above");
    let build = |generator| {
        let options = Options {
            generator,
            ..Options::default()
        };
        let program = Program::build(&wasm, Build::Fast, &options, None);
        Arc::new(program.expect("it was fuzzed"))
    };
    let (generator, target) = (build(true), build(false));
    let mut checked = 0;
    on_guest_thread(|| {
        let mut generator = Sandbox::new(&generator, &Limits::STANDARD).expect("it sets up");
        let mut target = Sandbox::new(&target, &Limits::STANDARD).expect("it sets up");
        let interest = Interest::new(target.program().probe_map().probes.len() as u32, 0);
        let mut make = |path: &Path| {
            let text = fs::read_to_string(path).expect("choices are text");
            let choices = Arc::new(from_text(&text).expect("they were written by us"));
            let replay = Replay::new(choices.clone(), After::Stops);
            let made = generator.generate(Drawing::new(Source::Replay(replay), u32::MAX));
            assert!(made.choices.same_choices(&choices), "{}", path.display());
            let outcome = target.run(&made.input, &interest, true);
            (made, outcome)
        };
        let names = fs::read_dir(folder.path().join("o/choices")).expect("a folder of choices");
        let mut coverage = BTreeMap::new();
        for entry in names.map(|entry| entry.expect("readable")) {
            let (made, outcome) = make(&entry.path());
            assert_eq!(
                (&made, &outcome),
                (&make(&entry.path()).0, &make(&entry.path()).1)
            );
            let input = fs::read(folder.path().join("o/corpus").join(entry.file_name()));
            assert_eq!(made.input, input.expect("it lies beside its choices"));
            let detail = outcome.detail.expect("asked for");
            coverage.insert(detail.counts, entry.file_name());
            checked += 1;
        }
        assert_eq!(coverage.len(), checked, "no two cover the same");
        let findings = fs::read_dir(folder.path().join("o/findings")).expect("a folder");
        for entry in findings.map(|entry| entry.expect("readable")) {
            let (made, outcome) = make(&entry.path().join("choices"));
            assert!(matches!(outcome.exit, Exit::Trap(_)), "{outcome:?}");
            assert_eq!(
                made.input,
                fs::read(entry.path().join("input")).expect("it is there")
            );
        }
    });
    assert!(checked >= 3, "{checked} testcases");
}

#[test]
fn what_takes_bytes_takes_what_choices_come_to() {
    let folder = folder();
    fuzz(folder.path(), "o", "zest", 2_000, &[]);
    let names = fs::read_dir(folder.path().join("o/choices")).expect("a folder of choices");
    let names = names.map(|entry| entry.expect("readable").file_name());
    let name = names.max_by_key(|name| {
        let input = fs::metadata(folder.path().join("o/corpus").join(name));
        input.expect("it lies beside its choices").len()
    });
    let name = name.expect("something was kept");
    let depends = |folder_of: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
            .args(["depends", "t.wasm"])
            .arg(Path::new("o").join(folder_of).join(&name))
            .current_dir(folder.path())
            .output()
            .expect("the program starts");
        let text = String::from_utf8(output.stdout).expect("text");
        let (_, below) = text.split_once('\n').unwrap_or_else(|| {
            panic!("{}", String::from_utf8_lossy(&output.stderr));
        });
        below.to_owned()
    };
    let of_bytes = depends("corpus");
    assert!(of_bytes.contains('['), "{of_bytes}");
    assert_eq!(depends("choices"), of_bytes);
}
