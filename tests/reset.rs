//! Resets, as a property: whatever a run writes, by whatever operator, into whatever memory, the
//! next run starts from the snapshot, whether pages are watched or stores leave marks.
//!
//! The guest is an interpreter of its input: commands of 12 bytes that say what to write and where.
//! A model in this file says what memory must look like after the run. `SANDGLASS_SEED` is where
//! the random numbers start, `SANDGLASS_EXECS` how many inputs there are.
#![expect(clippy::print_stdout, reason = "prints its seed and what it did")]

use std::sync::Arc;

use sandglass_engine::rng::Rng;
use sandglass_engine::{Exit, Interest, TrapKind};
use sandglass_sandbox::{Build, Left, Limits, Options, Program, Sandbox, on_guest_thread};

/// Inputs, unless asked otherwise.
const EXECS: u64 = 2_000;

/// Bytes of a command: what, then where (u32), then the value or size (u32).
const COMMAND: usize = 12;
/// Pages of 64 KiB that the first memory has at start, and at most.
const PAGES: u32 = 4;
const PAGES_MAX: u32 = 24;

/// 0-3 stores of 1, 2, 4, 8 bytes; 4 a vector; 5 two of its lanes; 6 fill, 7 copy, 8 init;
/// 9 grow; 10 `fd_read`, 11 `random_get`; 12 the second, 13 the third (wide) memory; 14 a trap.
const GUEST: &str = r#"
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (memory (export "memory") 4 24)
  (memory $wide i64 2)
  (memory $second 2)
  (data $text "passive text")
  (data (i32.const 70000) "active text")
  (data (memory $second) (i32.const 4090) "over a page's end")
  (global $at (mut i32) (i32.const 0))
  ;; Sums up all of the memories, so that an answer depends on what an earlier run left.
  (func $sum (result i32) (local $n i32) (local $sum i64)
    (loop $l
      (local.set $sum (i64.add
        (i64.rotl (local.get $sum) (i64.const 7))
        (i64.load (local.get $n))))
      (local.set $n (i32.add (local.get $n) (i32.const 8)))
      (br_if $l (i32.lt_u (local.get $n) (i32.const 131072))))
    (local.set $n (i32.const 0))
    (loop $l
      (local.set $sum (i64.add
        (i64.rotl (local.get $sum) (i64.const 7))
        (i64.add (i64.load $second (local.get $n)) (i64.load $wide (i64.extend_i32_u (local.get $n))))))
      (local.set $n (i32.add (local.get $n) (i32.const 8)))
      (br_if $l (i32.lt_u (local.get $n) (i32.const 131072))))
    (i32.wrap_i64 (i64.xor (local.get $sum) (i64.shr_u (local.get $sum) (i64.const 32)))))
  (func $do (param $what i32) (param $at i32) (param $value i32)
    (block $trap (block $wide (block $second (block $random (block $read (block $grow
    (block $init (block $copy (block $fill (block $lanes (block $vector
    (block $s8 (block $s4 (block $s2 (block $s1
      (br_table $s1 $s2 $s4 $s8 $vector $lanes $fill $copy $init $grow $read $random $second $wide $trap
        (local.get $what)))
      (return (i32.store8 (local.get $at) (local.get $value))))
      (return (i32.store16 offset=1 (local.get $at) (local.get $value))))
      (return (i32.store offset=3 (local.get $at) (local.get $value))))
      (return (i64.store (local.get $at) (i64.extend_i32_u (local.get $value)))))
      (return (v128.store offset=5 (local.get $at) (i32x4.splat (local.get $value)))))
      (v128.store16_lane offset=9 3 (local.get $at) (i32x4.splat (local.get $value)))
      (return (v128.store64_lane 1 (local.get $at) (i32x4.splat (local.get $value)))))
      (return (memory.fill (local.get $at) (local.get $value) (i32.and (local.get $value) (i32.const 0x3fff)))))
      (return (memory.copy (local.get $at) (i32.const 70000) (i32.and (local.get $value) (i32.const 0x3fff)))))
      (return (memory.init $text (local.get $at) (i32.const 0) (i32.and (local.get $value) (i32.const 7)))))
      (drop (memory.grow (i32.and (local.get $value) (i32.const 1))))
      ;; What is new is written, too.
      (return (i32.store8 (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1)) (local.get $value))))
      ;; An iovec in front of where it reads to.
      (i32.store (i32.const 16) (local.get $at))
      (i32.store (i32.const 20) (i32.and (local.get $value) (i32.const 0x1fff)))
      (drop (call $fd_read (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 24)))
      (return))
      (drop (call $random_get (local.get $at) (i32.and (local.get $value) (i32.const 0x1fff))))
      (return))
      (return (i64.store $second (i32.and (local.get $at) (i32.const 0x1fff0)) (i64.extend_i32_u (local.get $value)))))
      (return (memory.fill $wide
        (i64.extend_i32_u (i32.and (local.get $at) (i32.const 0x1ffff)))
        (local.get $value) (i64.extend_i32_u (i32.and (local.get $value) (i32.const 0xff))))))
    unreachable)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32) (local $sum i32)
    (local.set $sum (call $sum))
    (block $end
      (loop $next
        (br_if $end (i32.lt_u (local.get $len) (i32.const 12)))
        (call $do
          (i32.rem_u (i32.load (local.get $ptr)) (i32.const 15))
          (i32.load offset=4 (local.get $ptr))
          (i32.load offset=8 (local.get $ptr)))
        (global.set $at (i32.add (global.get $at) (i32.const 1)))
        (local.set $ptr (i32.add (local.get $ptr) (i32.const 12)))
        (local.set $len (i32.sub (local.get $len) (i32.const 12)))
        (br $next)))
    ;; 2: below every code with a meaning, so that the sum is the exit.
    (i32.or (i32.add (local.get $sum) (global.get $at)) (i32.const 2))))
"#;

#[test]
fn whatever_is_written_is_gone() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().expect("a number"))
    };
    let seed = number("SANDGLASS_SEED").unwrap_or(1);
    let execs = number("SANDGLASS_EXECS").unwrap_or(EXECS);
    println!("SANDGLASS_SEED={seed}");
    let wasm = wat::parse_str(GUEST).expect("it assembles");
    let limits = Limits {
        input_bytes: 4096,
        ..Limits::STANDARD
    };
    on_guest_thread(|| {
        let build = |build| {
            let program =
                Program::build(&wasm, build, &Options::default(), None).expect("it is accepted");
            Arc::new(program)
        };
        let (hot, marks) = (build(Build::Fast), build(Build::Marks));
        let new = |program| Sandbox::new(program, &limits).expect("it has no set-up");
        let (mut watched, mut marked) = (new(&hot), new(&marks));
        let interest = Interest::new(hot.probe_map().probes.len() as u32, 0);
        let empty = new(&hot).run(b"", &interest, true);
        let (mut rng, mut findings) = (Rng::new(seed), 0);
        for n in 0..execs {
            let input = input(&mut rng);
            let mut after = Vec::new();
            let first =
                watched.replay_and_look(&input, &mut |left| after.extend_from_slice(left.memory()));
            let mut same = false;
            let second = marked.replay_and_look(&input, &mut |left| same = left.memory() == after);
            let case = || format!("SANDGLASS_SEED={seed}, input {n}: {input:?}");
            assert!(same, "memory after the run differs with marks; {}", case());
            assert_eq!(first.outcome.exit, second.outcome.exit, "{}", case());
            assert_eq!(first.outcome.fuel, second.outcome.fuel, "{}", case());
            findings += usize::from(matches!(first.outcome.exit, Exit::Trap(_)));
            // A new sandbox for each would cost more than all the rest.
            if n % 16 == 0 {
                let mut same = false;
                let look = &mut |left: &mut Left<'_>| same = left.memory() == after;
                let fresh = new(&hot).replay_and_look(&input, look);
                assert!(
                    same,
                    "memory after the run differs in a new sandbox; {}",
                    case()
                );
                assert_eq!(fresh.outcome, first.outcome, "{}", case());
            }
            for (sandbox, name) in [(&mut watched, "watched"), (&mut marked, "marked")] {
                assert_eq!(sandbox.difference(), None, "{name}; {}", case());
                if n % 4 == 0 {
                    assert_eq!(
                        sandbox.run(b"", &interest, true),
                        empty,
                        "{name}; {}",
                        case()
                    );
                }
            }
        }
        let renewals = watched.renewals();
        println!(
            "{execs} inputs, {findings} trapped, {renewals} new instances, {} hot pages",
            watched.hot_pages()
        );
        assert_eq!(
            renewals,
            marked.renewals(),
            "both builds see the same growth"
        );
        assert!(
            execs < 1000 || (findings > 100 && renewals > 100),
            "the inputs do not reach much"
        );
    });
}

/// A few commands; addresses lie near the ends of pages more often than not.
fn input(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..rng.below(12) {
        // Growth and traps end the usefulness of a run: rarer than the rest.
        let what = if rng.below(8) == 0 {
            9 + 5 * rng.below(2)
        } else {
            rng.below(14)
        };
        let what = if what == 9 && rng.below(4) != 0 {
            6
        } else {
            what
        };
        let page = rng.below(PAGES * 16) * 4096;
        let at = match rng.below(4) {
            0 => page + rng.below(4096),
            1 => page,
            2 => (page + 4096).saturating_sub(rng.below(20)),
            _ => rng.below(PAGES_MAX << 16),
        };
        let value = rng.word() as u32;
        bytes.extend_from_slice(&what.to_le_bytes());
        bytes.extend_from_slice(&at.to_le_bytes());
        bytes.extend_from_slice(&value.to_le_bytes());
        assert_eq!(bytes.len() % COMMAND, 0, "a command has this size");
    }
    bytes
}

/// Regions that neighbour each other in the address space are told apart.
#[test]
fn one_byte_past_any_memory_is_a_trap() {
    const MEMORIES: usize = 4;
    let loads = (0..MEMORIES).map(|n| {
        format!("(if (i32.eq (local.get 1) (i32.const {n})) (then (drop (i32.load8_u {n} (i32.const 131072)))))")
    });
    let text = format!(
        r#"(module
             (memory (export "memory") 1 2) (memory 2) (memory 2) (memory 2)
             (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) {} (i32.const 0)))"#,
        loads.collect::<String>()
    );
    let wasm = wat::parse_str(text).expect("it assembles");
    let limits = Limits {
        input_bytes: 16,
        ..Limits::STANDARD
    };
    on_guest_thread(|| {
        for build in [Build::Fast, Build::Marks, Build::Compares, Build::Exact] {
            let program =
                Program::build(&wasm, build, &Options::default(), None).expect("it is accepted");
            let mut sandbox = Sandbox::new(&Arc::new(program), &limits).expect("it has no set-up");
            for memory in 0..MEMORIES {
                let exit = sandbox.replay(&vec![0; memory]).outcome.exit;
                // The first one has grown by the pages for the input.
                let expected = if memory == 0 {
                    Exit::Valid
                } else {
                    Exit::Trap(TrapKind::OutOfBounds)
                };
                assert_eq!(exit, expected, "{build:?}, memory {memory}");
            }
        }
    });
}

/// Writes to every second page of 4 KiB from the first MiB on: 8,064 of them. 7 when anything is left of a run.
const SCATTERING: &str = r#"
(module
  (memory (export "memory") 1024)
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (local $at i32)
    (local.set $at (i32.const 0x100000))
    (loop $next
      (if (i32.load8_u (local.get $at)) (then (return (i32.const 7))))
      (i32.store8 (local.get $at) (i32.const 1))
      (local.set $at (i32.add (local.get $at) (i32.const 0x2000)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 0x4000000))))
    (i32.const 0)))
"#;

/// Pages that are apart from each other take two mappings each, and a process gets 65,530 of Linux.
#[test]
fn scattered_writes_are_gone_in_many_sandboxes_at_once() {
    const SANDBOXES: usize = 5;
    const ROUNDS: usize = 3;
    let wasm = wat::parse_str(SCATTERING).expect("it assembles");
    let limits = Limits {
        input_bytes: 16,
        ..Limits::STANDARD
    };
    on_guest_thread(|| {
        let program =
            Program::build(&wasm, Build::Fast, &Options::default(), None).expect("it is accepted");
        let program = Arc::new(program);
        let interest = Interest::new(program.probe_map().probes.len() as u32, 0);
        let new = || Sandbox::new(&program, &limits).expect("it has no set-up");
        let fresh = new().run(b"", &interest, true);
        assert_eq!(fresh.exit, Exit::Valid);
        let mut sandboxes = [(); SANDBOXES].map(|()| new());
        for round in 0..ROUNDS {
            for (n, sandbox) in sandboxes.iter_mut().enumerate() {
                let outcome = sandbox.run(b"", &interest, true);
                assert_eq!(outcome, fresh, "round {round}, sandbox {n}");
            }
        }
        for (n, sandbox) in sandboxes.iter().enumerate() {
            assert_eq!(sandbox.difference(), None, "sandbox {n}");
        }
    });
}
