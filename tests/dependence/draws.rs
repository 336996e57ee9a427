//! Draws in the place of input bytes: what each emitted byte, and each decision, was computed from.

#![expect(
    clippy::single_range_in_vec_init,
    reason = "a list of one range is meant"
)]

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use sandglass_engine::choice::Source;
use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::{ChoiceSequence, Drawing, Rng};
use sandglass_sandbox::{Build, DrawDependences, Options, Program, Sandbox, on_guest_thread};

use super::{ALL, LIMITS};

/// Each draw comes to bytes of the input, by as many ways as there are to draw.
const GENERATOR: &str = r#"(module
  (import "sandglass" "draw_int" (func $int (param i32 i32 i64 i64) (result i64)))
  (import "sandglass" "draw_bool" (func $bool (param i32 i32 i32 i32) (result i32)))
  (import "sandglass" "draw_float" (func $float (param i32 i32 f64 f64) (result f64)))
  (import "sandglass" "draw_bytes" (func $bytes (param i32 i32 i32 i32 i32) (result i32)))
  (import "sandglass" "draw_string" (func $string (param i32 i32 i32 i32) (result i32)))
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (type $draws (func (param i32 i32 i64 i64) (result i64)))
  (table funcref (elem $int))
  (memory (export "memory") 1)
  (data (i32.const 512) "\07\06\05\04\03\02\01\00\07\06\05\04\03\02\01\00")
  (func $number (param $max i64) (result i64)
    (return_call $int (i32.const 1) (i32.const 1) (i64.const 0) (local.get $max)))
  (func (export "sandglass_generate") (local $a i32)
    ;; 0: an integer, by a function that is left before it is called.
    (local.set $a (i32.wrap_i64 (call $number (i64.const 15))))
    (i32.store8 (i32.const 0) (local.get $a))
    ;; 1: bytes, and how many they are.
    (i32.store8 (i32.const 4) (call $bytes (i32.const 2) (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 3)))
    ;; 2: a boolean.
    (i32.store8 (i32.const 5) (call $bool (i32.const 3) (i32.const 1) (i32.const 1) (i32.const 2)))
    ;; 3: a float.
    (f64.store (i32.const 8) (call $float (i32.const 4) (i32.const 1) (f64.const 0) (f64.const 1)))
    ;; 4: an integer, through a table.
    (i64.store16 (i32.const 16) (call_indirect (type $draws)
      (i32.const 5) (i32.const 1) (i64.const 0) (i64.const 9999) (i32.const 0)))
    ;; 5, 6, 7: whether a string is known, which one, and its text.
    (i32.store8 (i32.const 18) (call $string (i32.const 6) (i32.const 1) (i32.const 19) (i32.const 8)))
    ;; Of two draws; of none; what a table of constants has.
    (i32.store8 (i32.const 28) (i32.add (local.get $a) (i32.load8_u (i32.const 5))))
    (i32.store8 (i32.const 29) (i32.const 77))
    (i32.store8 (i32.const 30) (i32.load8_u offset=512 (local.get $a)))
    (if (i32.gt_u (local.get $a) (i32.load8_u (i32.const 16))) (then
      (i32.store8 (i32.const 31) (i32.const 1))))
    (call $emit (i32.const 0) (i32.const 10))
    (call $emit (i32.const 10) (i32.const 22))))"#;

fn generator() -> Sandbox {
    let wasm = wat::parse_str(GENERATOR).expect("it is well-formed");
    let options = Options {
        generator: true,
        ..Options::default()
    };
    let program = Program::build(&wasm, Build::Dependence, &options, None);
    Sandbox::new(&Arc::new(program.expect("it is accepted")), &LIMITS).expect("it starts")
}

fn fresh(seed: u64) -> Drawing {
    let strings: Arc<[Vec<u8>]> = Arc::from([b"one".to_vec(), b"other".to_vec()]);
    Drawing::new(Source::Fresh(Rng::new(seed)), 10_000).with_strings(Some(strings))
}

fn again(choices: ChoiceSequence) -> Drawing {
    let replay = Replay::new(Arc::new(choices), After::Stops);
    Drawing::new(Source::Replay(replay), 10_000)
}

/// A run in which a known string was drawn.
fn with_a_string(sandbox: &mut Sandbox) -> DrawDependences {
    let mut runs = (0..).map(|seed| sandbox.depend_drawn(fresh(seed), ALL));
    let found = runs.find(|made| made.choices.nodes.len() == 8);
    found.expect("half of the runs have one")
}

/// The draws of each byte.
fn by_byte(made: &DrawDependences) -> Vec<Vec<Range<u32>>> {
    let mut all = vec![Vec::new(); made.input.len()];
    for (bytes, draws) in &made.origins {
        for byte in bytes.clone() {
            all[byte as usize] = draws.to_vec();
        }
    }
    all
}

#[test]
fn each_byte_has_its_draws() {
    on_guest_thread(|| {
        let mut sandbox = generator();
        let made = with_a_string(&mut sandbox);
        assert_eq!((made.failed, made.input.len()), (None, 32));
        let drawn = made.input[4];
        let string = made.input[18];
        let expected = |at: usize| match at as u8 {
            0 => vec![0..1],
            at if (1..1 + drawn).contains(&at) => vec![1..2],
            4 => vec![1..2],
            5 => vec![2..3],
            8..16 => vec![3..4],
            16 | 17 => vec![4..5],
            18 => vec![5..8],
            at if (19..19 + string).contains(&at) => vec![5..8],
            28 => vec![0..1, 2..3],
            30 => vec![0..1],
            _ => vec![],
        };
        let all: Vec<_> = (0..32).map(expected).collect();
        assert_eq!(by_byte(&made), all);
        let map = sandbox.program().probe_map();
        let compared = made.run.events.iter().find(|event| {
            let site = &map.dependence[event.site as usize];
            site.relation == sandglass_instrument::labels::Relation::GtU
        });
        let compared = compared.expect("both sides were drawn");
        assert_eq!(&compared.left_bytes[..], std::slice::from_ref(&(0..1)));
        assert_eq!(&compared.right_bytes[..], std::slice::from_ref(&(4..5)));
    });
}

/// The oracle: a draw with another value changes no byte that does not have it.
#[test]
fn what_a_draw_changes_has_it() {
    on_guest_thread(|| {
        let mut sandbox = generator();
        let made = with_a_string(&mut sandbox);
        let by_byte = by_byte(&made);
        let mut changed = BTreeSet::new();
        for draw in 0..5 {
            let mut other = made.choices.clone();
            match draw {
                1 => other.payload[0] ^= 1,
                2 => other.nodes[2].value ^= 1,
                3 => other.nodes[3].value = 0.5_f64.to_bits() ^ 1,
                _ => other.nodes[draw].value = (other.nodes[draw].value + 1) % 16,
            }
            let after = sandbox.depend_drawn(again(other), ALL);
            assert_eq!(after.failed, None);
            for (at, (old, new)) in made.input.iter().zip(&after.input).enumerate() {
                let depends = by_byte[at].iter().any(|of| of.contains(&(draw as u32)));
                // Nobody follows which way was taken.
                assert!(old == new || depends || at == 31, "draw {draw}, byte {at}");
                changed.extend((old != new).then_some((draw, at)));
            }
        }
        let draws: BTreeSet<usize> = changed.iter().map(|(draw, _)| *draw).collect();
        assert_eq!(draws.len(), 5, "{changed:?}");
    });
}

/// A used sandbox follows as a fresh one does.
#[test]
fn labels_of_draws_do_not_outlive_a_run() {
    on_guest_thread(|| {
        let mut used = generator();
        for seed in 0..20 {
            let found = used.depend_drawn(fresh(seed), ALL);
            assert_eq!(found, generator().depend_drawn(fresh(seed), ALL), "{seed}");
        }
    });
}
