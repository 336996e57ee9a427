//! Traces: calls are told in order and with their depth, as stacks at the end of a run show.

use std::sync::Arc;

use sandglass_guests::DEMOS;
use sandglass_sandbox::{
    Build, CALLS_KEPT, Called, Calls, Limits, Options, Program, Replay, Sandbox, on_guest_thread,
};
use sandglass_tests::trapping::trapping;

/// Two runs in one sandbox: nothing is left of the first one.
fn replays(wasm: &[u8], build: Build, input: &[u8]) -> [(Replay, Calls); 2] {
    on_guest_thread(|| {
        let program = Program::build(wasm, build, &Options::default(), None).expect("accepted");
        let limits = Limits {
            fuel: 100_000_000,
            ..Limits::STANDARD
        };
        let mut sandbox = Sandbox::new(&Arc::new(program), &limits).expect("it starts");
        [(); 2].map(|()| {
            let mut calls = Calls::default();
            let look = &mut |left: &mut sandglass_sandbox::Left<'_>| {
                calls = left.calls().expect("a build that keeps calls").clone();
            };
            let replay = sandbox.replay_and_look(input, look);
            (replay, calls)
        })
    })
}

/// The functions that are active behind the last call at `depth`, innermost first.
fn active(calls: &Calls, depth: u32) -> Vec<u32> {
    let mut rest: Vec<&Called> = calls.last().collect();
    let mut found = Vec::new();
    for depth in (1..=depth).rev() {
        let at = rest.iter().rposition(|call| call.depth == depth);
        let Some(at) = at else { break };
        found.push(rest[at].function);
        rest.truncate(at);
    }
    found
}

#[test]
fn calls_that_are_active_at_the_end_are_the_stack() {
    let mut guests = trapping(|_| true);
    for demo in DEMOS {
        for bug in demo.bugs {
            guests.push((bug.what.to_owned(), demo.wasm_o0.to_vec(), bug.witness));
        }
    }
    let mut whole = 0;
    for (name, wasm, input) in &guests {
        let [(replay, calls), again] = replays(wasm, Build::Calls, input);
        assert_eq!((&replay, &calls), (&again.0, &again.1), "{name}");
        let stack: Vec<u32> = replay.frames.iter().map(|frame| frame.function).collect();
        let found = active(&calls, stack.len() as u32);
        let shown = calls.last().map(|call| call.times).sum::<u64>();
        assert!(calls.last().count() <= CALLS_KEPT, "{name}");
        if stack.is_empty() || shown < calls.count() || stack.len() > CALLS_KEPT {
            continue;
        }
        assert_eq!(found, stack, "{name}");
        whole += 1;
    }
    assert!(whole > 20, "only {whole} of {} stacks", guests.len());
}

#[test]
fn loops_are_folded_and_the_beginning_of_long_runs_is_left_out() {
    let text = r#"(module (memory (export "memory") 1)
      (func $leaf)
      (func $pair (call $leaf) (call $leaf))
      (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (local $n i32)
        (loop $again
          (call $pair)
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (br_if $again (i32.lt_u (local.get $n) (i32.const 1000))))
        (local.set $n (i32.const 0))
        (loop $again
          (call $leaf)
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (br_if $again (i32.lt_u (local.get $n) (i32.const 5000))))
        i32.const 0))"#;
    let wasm = wat::parse_str(text).expect("it assembles");
    let [(_, calls), again] = replays(&wasm, Build::Calls, b"x");
    assert_eq!(calls, again.1);
    assert_eq!(calls.count(), 1 + 1_000 * 3 + 5_000);
    let last: Vec<&Called> = calls.last().collect();
    assert_eq!(last.len(), CALLS_KEPT);
    let Called {
        function,
        depth,
        times,
        ..
    } = *last[CALLS_KEPT - 1];
    assert_eq!((function, depth, times), (0, 2, 5_000));
    // Two calls of one function from two places are two entries.
    let pair: Vec<(u32, u32, u64)> = last[CALLS_KEPT - 4..CALLS_KEPT - 1]
        .iter()
        .map(|call| (call.function, call.depth, call.times))
        .collect();
    assert_eq!(pair, [(1, 2, 1), (0, 3, 1), (0, 3, 1)]);
    assert_ne!(last[CALLS_KEPT - 2].site, last[CALLS_KEPT - 3].site);
}

/// Depths are right behind exceptions, tail calls and calls of the host.
#[test]
fn depths_survive_what_unwinds() {
    let text = r#"(module
      (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
      (memory (export "memory") 1)
      (tag $thrown)
      (func $throws (throw $thrown))
      (func $catches (block $caught (try_table (catch $thrown $caught) (call $throws))))
      (func $last)
      (func $tail (return_call $last))
      (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
        (call $catches)
        (call $tail)
        (drop (call $yield))
        (call $last)
        i32.const 0))"#;
    let wasm = wat::parse_str(text).expect("it assembles");
    for build in [Build::Calls, Build::HeapCalls] {
        let [(_, calls), again] = replays(&wasm, build, b"x");
        assert_eq!(calls, again.1);
        let found: Vec<(u32, u32)> = calls
            .last()
            .map(|call| (call.function, call.depth))
            .collect();
        // yield is 0, throws 1, catches 2, last 3, tail 4, the entry 5.
        assert_eq!(
            found,
            [(5, 1), (2, 2), (1, 3), (4, 2), (3, 2), (0, 2), (3, 2)]
        );
    }
}
