//! Draws: what a choice costs a generator, by who answers it.
//!
//! A generator of a thousand integers in a loop, against the same loop without draws, and against a
//! bare wasmtime program that calls an empty host function with the same type: the floor of any
//! import. Aim: 50 million draws a second, which is 20 ns each.
//!
//! The other design is measured as well: choices that lie in the guest's memory beforehand, read by a
//! function of the module itself, without and with a record of what was asked for, which the host has
//! yet to read. It cannot serve guidances that decide draw by draw (`rlcheck`, `ei`, repair on replay),
//! so all draws are host calls; a generator spends a few per cent of its time on them.

use std::sync::Arc;

use sandglass_benches::{Size, heading, in_turns, println};
use sandglass_engine::choice::jqf::{End, Reading, Tape};
use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::{Drawing, Rng, Source};
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};
use wasmtime::{Engine, Linker, Module, Store};

const DRAWS: u32 = 1_000;

/// A loop around `body`, which leaves an `i64`.
fn guest(export: &str, body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
        (import "sandglass" "draw_int" (func $int (param i32 i32 i64 i64) (result i64)))
        (import "sandglass" "emit" (func $emit (param i32 i32)))
        (memory (export "memory") 1)
        (func (export "{export}") (local $left i32) (local $sum i64)
          (local.set $left (i32.const {DRAWS}))
          (loop $again
            (local.set $sum (i64.add (local.get $sum) {body}))
            (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
          (i64.store (i32.const 8) (local.get $sum))
          (call $emit (i32.const 8) (i32.const 8))))"#
    );
    wat::parse_str(text).expect("assembles")
}

/// The other design: `$int` is a function of the module. It takes four bytes of what lies at 64 KiB, and
/// writes down what was asked for and what it took, 32 bytes a draw, behind that.
fn preloaded(records: bool) -> Vec<u8> {
    let record = "(i32.store (local.get $log) (local.get $site))
        (i32.store offset=4 (local.get $log) (local.get $role))
        (i64.store offset=8 (local.get $log) (local.get $lo))
        (i64.store offset=16 (local.get $log) (local.get $hi))
        (i64.store32 offset=24 (local.get $log) (local.get $bits))";
    let record = if records { record } else { "" };
    let text = format!(
        r#"(module
        (memory (export "memory") 8)
        (global $at (mut i32) (i32.const 0))
        (func $int (param $site i32) (param $role i32) (param $lo i64) (param $hi i64) (result i64)
          (local $bits i64) (local $log i32)
          (if (i32.ge_u (global.get $at) (i32.const {DRAWS})) (then unreachable))
          (if (i64.gt_s (local.get $lo) (local.get $hi)) (then unreachable))
          (local.set $bits (i64.and (i64.const 0x7fffffff)
            (i64.load32_u offset=65536 (i32.shl (global.get $at) (i32.const 2)))))
          (local.set $log (i32.add (i32.const 131072) (i32.shl (global.get $at) (i32.const 5))))
          (global.set $at (i32.add (global.get $at) (i32.const 1)))
          {record}
          (i64.add (local.get $lo) (i64.extend_i32_u (i32.rem_u (i32.wrap_i64 (local.get $bits))
            (i32.add (i32.wrap_i64 (i64.sub (local.get $hi) (local.get $lo))) (i32.const 1))))))
        (func (export "f") (local $left i32) (local $sum i64)
          (global.set $at (i32.const 0))
          (local.set $left (i32.const {DRAWS}))
          (loop $again
            (local.set $sum (i64.add (local.get $sum) {DRAW}))
            (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
          (i64.store (i32.const 8) (local.get $sum))))"#
    );
    wat::parse_str(text).expect("assembles")
}

const DRAW: &str = "(call $int (i32.const 1) (i32.const 2) (i64.const 0) (i64.const 99))";

fn sandbox(body: &str) -> Sandbox {
    let wasm = guest("sandglass_generate", body);
    let program = Program::build(&wasm, Build::Fast, &Options::default(), None);
    let program = Arc::new(program.expect("it is a generator"));
    Sandbox::new(&program, &Limits::STANDARD).expect("it sets up")
}

fn main() {
    let size = Size::from_args();
    heading("draws", size);
    on_guest_thread(|| draws(size));
}

fn draws(size: Size) {
    let mut idle = sandbox("(i64.const 1)");
    let limit = 8 * DRAWS;
    let fresh = |seed| Drawing::new(Source::Fresh(Rng::new(seed)), limit);
    let bytes: Vec<u8> = (0..4 * DRAWS).map(|i| i as u8).collect();
    let tape = || {
        let tape = Tape::new(bytes.clone(), End::Stops, Reading::Whole, Rng::new(0));
        Drawing::new(Source::Tape(tape), limit)
    };
    let recorded = sandbox(DRAW).generate(tape());
    assert_eq!(recorded.choices.nodes.len(), DRAWS as usize);
    let recorded = Arc::new(recorded.choices);
    let replay = || {
        let replay = Replay::new(recorded.clone(), After::Stops);
        Drawing::new(Source::Replay(replay), limit)
    };

    let engine = Engine::default();
    let module = Module::new(&engine, guest("f", DRAW)).expect("compiles");
    let mut linker = Linker::new(&engine);
    linker
        .func_wrap(
            "sandglass",
            "draw_int",
            |_: i32, _: i32, lo: i64, _: i64| lo,
        )
        .expect("a name of its own");
    linker
        .func_wrap("sandglass", "emit", |_: i32, _: i32| ())
        .expect("a name of its own");
    let mut store = Store::new(&engine, ());
    let bare = linker.instantiate(&mut store, &module).expect("starts");
    let bare = bare
        .get_typed_func::<(), ()>(&mut store, "f")
        .expect("is there");

    let mut preloaded = [false, true].map(|records| {
        let module = Module::new(&engine, preloaded(records)).expect("compiles");
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &module).expect("starts");
        let memory = instance.get_memory(&mut store, "memory").expect("exported");
        (memory.write(&mut store, 65536, &bytes)).expect("there is room");
        let run = instance.get_typed_func::<(), ()>(&mut store, "f");
        (run.expect("is there"), store, memory)
    });
    let [unrecorded, recorded_in_guest] = &mut preloaded;

    let mut sum = 0u64;
    let [mut by_fresh, mut by_tape, mut by_replay] = [DRAW; 3].map(sandbox);
    let mut add = |made: sandglass_sandbox::Generated| {
        let bytes = made.input.first_chunk().expect("eight bytes");
        sum = sum
            .wrapping_mul(31)
            .wrapping_add(u64::from_le_bytes(*bytes));
    };
    let mut seed = 0;
    let add = std::cell::RefCell::new(&mut add);
    let times = in_turns(
        size.pick(2, 31),
        size.pick(2, 300),
        &mut [
            &mut || (add.borrow_mut())(idle.generate(fresh(0))),
            &mut || bare.call(&mut store, ()).expect("runs"),
            &mut || {
                seed += 1;
                (add.borrow_mut())(by_fresh.generate(fresh(seed)));
            },
            &mut || (add.borrow_mut())(by_tape.generate(tape())),
            &mut || (add.borrow_mut())(by_replay.generate(replay())),
            &mut || unrecorded.0.call(&mut unrecorded.1, ()).expect("runs"),
            &mut || {
                (recorded_in_guest.0)
                    .call(&mut recorded_in_guest.1, ())
                    .expect("runs")
            },
        ],
    );
    let control = times[0];
    let each = |time: f64| (time - control) / f64::from(DRAWS);
    println!("loop without draws {:.0} ns", control);
    let names = [
        "empty host function",
        "fresh",
        "tape",
        "replay",
        "pre-loaded in the guest",
        "pre-loaded and recorded there",
    ];
    for (name, time) in names.iter().zip(&times[1..]) {
        let ns = each(*time);
        println!(
            "{name}: {ns:.1} ns a draw, {:.0} million a second",
            1e3 / ns
        );
    }
    for (_, store, memory) in &preloaded {
        let drawn = memory.data(store)[8..].first_chunk().expect("eight bytes");
        sum = sum
            .wrapping_mul(31)
            .wrapping_add(u64::from_le_bytes(*drawn));
    }
    println!("checksum {sum:016x}");
}
