//! What is in a box stays in it: a guest that tries to look out sees nothing of the host, nothing of other
//! runs, and the same in every run and every box.

use std::fs;

use sandglass_engine::{Exit, TrapKind};
use sandglass_runtime::boxed::{Boxed, Call, Output};
use sandglass_sandbox::Limits;

/// A program that tries to get out and writes what it sees: a word for each attempt.
///
/// The input's first byte says what it does last: `t` traps, `l` loops, `w` writes without end, `d` calls
/// itself without end, `m` asks for all memory, `x` leaves with exit code 3.
const SPY: &str = r#"(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (global $runs (mut i32) (i32.const 0))
  (data (i32.const 1000) "SECRET")
  (data (i32.const 1100) "left-behind")
  (data (i32.const 1200) "given")
  ;; What path_open says to a path, relative to descriptor 3, with these flags.
  (func $open (param $at i32) (param $length i32) (param $flags i32) (result i32)
    (call $path_open (i32.const 3) (i32.const 1) (local.get $at) (local.get $length)
      (local.get $flags) (i64.const 0x42) (i64.const 0) (i32.const 0) (i32.const 900)))
  (func $say (param $at i32) (param $length i32)
    (i32.store (i32.const 904) (local.get $at))
    (i32.store (i32.const 908) (local.get $length))
    (drop (call $write (i32.const 1) (i32.const 904) (i32.const 1) (i32.const 912))))
  (func $deeper (result i32) (i32.add (call $deeper) (i32.const 1)))
  (func (export "_start")
    (local $n i32)
    ;; The first line of the input is a path of the host.
    (i32.store (i32.const 904) (i32.const 2000))
    (i32.store (i32.const 908) (i32.const 1000))
    (drop (call $read (i32.const 0) (i32.const 904) (i32.const 1) (i32.const 916)))
    (i32.store (i32.const 0) (call $open (i32.const 2001) (i32.sub (i32.load (i32.const 916)) (i32.const 1)) (i32.const 0)))
    (i32.store (i32.const 4) (call $open (i32.const 1000) (i32.const 6) (i32.const 0)))
    ;; A file that the run before may have made: 0x5 makes one that must not be there.
    (i32.store (i32.const 8) (call $open (i32.const 1100) (i32.const 11) (i32.const 5)))
    (i32.store (i32.const 12) (call $open (i32.const 1200) (i32.const 5) (i32.const 0)))
    (drop (call $environ (i32.const 16) (i32.const 900)))
    (drop (call $clock (i32.const 0) (i64.const 1) (i32.const 24)))
    (drop (call $random (i32.const 32) (i32.const 8)))
    ;; Globals, and memory that nobody has written.
    (global.set $runs (i32.add (global.get $runs) (i32.const 1)))
    (i32.store (i32.const 40) (global.get $runs))
    (i32.store (i32.const 44) (i32.load (i32.const 30000)))
    (i32.store (i32.const 30000) (i32.const 1))
    (call $say (i32.const 0) (i32.const 48))
    (local.set $n (i32.load8_u (i32.const 2000)))
    (if (i32.eq (local.get $n) (i32.const 0x74)) (then unreachable))
    (if (i32.eq (local.get $n) (i32.const 0x6c)) (then (loop $again (br $again))))
    (if (i32.eq (local.get $n) (i32.const 0x77)) (then (loop $again (call $say (i32.const 0) (i32.const 1000)) (br $again))))
    (if (i32.eq (local.get $n) (i32.const 0x64)) (then (drop (call $deeper))))
    (if (i32.eq (local.get $n) (i32.const 0x6d)) (then (loop $again (br_if $again (i32.ne (memory.grow (i32.const 100)) (i32.const -1))) unreachable)))
    (if (i32.eq (local.get $n) (i32.const 0x78)) (then (call $exit (i32.const 3))))))"#;

/// WASI's number for a file that does not exist, and for a path that leads out of the root.
const NOENT: u32 = 44;
const PERM: u32 = 63;

const LIMITS: Limits = Limits {
    fuel: 10_000_000,
    memory_bytes: 16 << 20,
    ..Limits::STANDARD
};

fn spy(call: Call) -> Boxed {
    let wasm = wat::parse_str(SPY).expect("assembles");
    Boxed::new("spy.wasm", wasm, call, &LIMITS).expect("it starts")
}

fn word(output: &Output, nth: usize) -> u32 {
    let bytes = output.stdout[4 * nth..4 * nth + 4].try_into();
    u32::from_le_bytes(bytes.expect("four bytes"))
}

#[test]
fn the_host_is_out_of_reach() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("SECRET");
    fs::write(&secret, "secret").expect("can be written");
    let mut boxed = spy(Call::default());
    let up = format!("{}{}", "../".repeat(20), secret.display());
    let absolute = secret.display().to_string();
    for path in [&absolute, &up, "SECRET", ".", "/", "/proc/self/environ"] {
        let output = boxed.run(format!("-{path}").as_bytes()).expect("it runs");
        assert_eq!(output.exit, Exit::Valid, "{path}: {}", output.title);
        let errno = word(&output, 0);
        let is_own_root = [".", "/"].contains(&path);
        assert!(
            is_own_root || [NOENT, PERM].contains(&errno),
            "{path}: {errno}"
        );
        assert_eq!(
            word(&output, 1),
            NOENT,
            "the file is beside the host's, not there"
        );
        assert_eq!(word(&output, 3), NOENT, "nothing was given");
        assert_eq!(word(&output, 4), 0, "no variable of the environment");
    }
}

#[test]
fn runs_do_not_see_each_other_however_they_end() {
    let mut boxed = spy(Call::default());
    let first = boxed.run(b"-x").expect("it runs");
    assert_eq!(word(&first, 2), 0, "it could make a file");
    assert_eq!((word(&first, 10), word(&first, 11)), (1, 0));
    for (input, exit) in [
        ("t", Exit::Trap(TrapKind::Unreachable)),
        ("l", Exit::Hang),
        ("w", Exit::OutputLimit),
        ("d", Exit::StackOverflow),
        ("m", Exit::OutOfMemory),
        ("x", Exit::Invalid),
    ] {
        let output = boxed.run(input.as_bytes()).expect("it runs");
        assert_eq!(output.exit, exit, "{input}: {}", output.title);
        let again = boxed.run(b"-x").expect("it runs");
        assert_eq!(again.stdout, first.stdout, "after {input}");
        assert_eq!(again.fuel, first.fuel, "after {input}");
    }
    let other = spy(Call::default()).run(b"-x").expect("it runs");
    assert_eq!(other.stdout, first.stdout, "clock and randomness, too");
}

#[test]
fn what_is_given_is_there() {
    let call = Call {
        env: vec![("A".to_owned(), "b".to_owned())],
        files: vec![("/given".to_owned(), b"contents".to_vec())],
        ..Call::default()
    };
    let output = spy(call).run(b"-x").expect("it runs");
    assert_eq!((word(&output, 3), word(&output, 4)), (0, 1));
}

#[test]
fn what_cannot_be_boxed_is_refused() {
    let refused = |wasm: &[u8]| {
        let boxed = Boxed::new("t.wasm", wasm.to_vec(), Call::default(), &LIMITS);
        boxed.err().expect("refused").to_string()
    };
    assert!(refused(b"text").contains("t.wasm"), "{}", refused(b"text"));
    let trap = wat::parse_str(
        r#"(module (memory (export "memory") 1) (func $f unreachable) (start $f) (func (export "_start")))"#,
    );
    let message = refused(&trap.expect("assembles"));
    assert!(message.contains("before the first run"), "{message}");
    let mut boxed = spy(Call::default());
    let long = vec![0; LIMITS.input_bytes as usize + 1];
    let error = boxed.run(&long).expect_err("too long").to_string();
    assert!(error.contains("expected at most"), "{error}");
    assert!(boxed.run(b"-x").is_ok(), "and the next one runs");
}
