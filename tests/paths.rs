//! The execution index of draws, as compiled guests make it: each draw's steps, from the entry point.

use std::sync::Arc;

use sandglass_engine::choice::paths::Step;
use sandglass_engine::{Drawing, Rng, Source};
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

/// The draws of a generator, in order, each with its path as `call:nth/call:nth`; calls are numbered in the order
/// of their first use.
fn paths(body: &str) -> Vec<String> {
    let text = format!(
        r#"(module
          (import "sandglass" "draw_bool" (func $bool (param i32 i32 i32 i32) (result i32)))
          (import "sandglass" "emit" (func $emit (param i32 i32)))
          (memory (export "memory") 1)
          (tag $thrown)
          (func $draw (call $bool (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 2)) drop)
          {body})"#
    );
    let wasm = wat::parse_str(text).expect("it is valid text");
    let choices = on_guest_thread(|| {
        let options = Options {
            generator: true,
            ..Options::default()
        };
        let program = Program::build(&wasm, Build::Paths, &options, None).expect("it is accepted");
        let mut sandbox = Sandbox::new(&Arc::new(program), &Limits::STANDARD).expect("it starts");
        // Twice: nothing is left of the first run.
        let mut run = || {
            let drawing = Drawing::new(Source::Fresh(Rng::new(1)), 10_000).with_paths();
            sandbox.generate(drawing).choices
        };
        let first = run();
        assert_eq!(first, run());
        first
    });
    assert_eq!(choices.paths.len(), choices.nodes.len());
    let mut calls: Vec<u32> = Vec::new();
    let mut name = |Step { call, nth }: Step| {
        let known = calls.iter().position(|&known| known == call);
        let number = known.unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        format!("{number}:{nth}")
    };
    (0..choices.paths.len())
        .map(|draw| {
            let steps = choices.paths.steps(draw).into_iter();
            steps.map(&mut name).collect::<Vec<_>>().join("/")
        })
        .collect()
}

#[test]
fn loops_and_callers_are_told_apart() {
    let found = paths(
        r#"(func $pair (call $draw) (call $draw))
        (func (export "sandglass_generate") (local $n i32)
          (loop $again
            (call $pair)
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $n) (i32.const 2))))
          (call $pair)
          (call $emit (i32.const 0) (i32.const 0)))"#,
    );
    let expected = [
        "0:1/1:1/2:1",
        "0:1/3:1/2:1",
        "0:2/1:1/2:1",
        "0:2/3:1/2:1",
        "4:1/1:1/2:1",
        "4:1/3:1/2:1",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_called_in_other_ways_has_its_steps_too() {
    // Through the table, as a tail call, and recursively.
    let found = paths(
        r#"(type $maker (func))
        (table funcref (elem $draw))
        (func $last (return_call $draw))
        (func $down (param $n i32)
          (if (local.get $n) (then
            (call $draw)
            (call $down (i32.sub (local.get $n) (i32.const 1))))))
        (func (export "sandglass_generate")
          (call_indirect (type $maker) (i32.const 0))
          (call $last)
          (call $down (i32.const 2))
          (call $emit (i32.const 0) (i32.const 0)))"#,
    );
    let expected = ["0:1/1:1", "2:1/3:1/1:1", "4:1/5:1/1:1", "4:1/6:1/5:1/1:1"];
    assert_eq!(found, expected);
}

#[test]
fn a_function_that_catches_goes_on_where_it_was() {
    let found = paths(
        r#"(func $throws (call $draw) (throw $thrown))
        (func $catches
          (block $caught
            (try_table (catch_all $caught) (call $throws)))
          (call $draw))
        (func (export "sandglass_generate")
          (call $catches)
          (call $catches)
          (call $emit (i32.const 0) (i32.const 0)))"#,
    );
    let expected = [
        "0:1/1:1/2:1/3:1",
        "0:1/4:1/3:1",
        "5:1/1:1/2:1/3:1",
        "5:1/4:1/3:1",
    ];
    assert_eq!(found, expected);
}

#[test]
fn paths_do_not_grow_beyond_their_limit() {
    let found = paths(
        r#"(func $down (param $n i32)
          (if (local.get $n)
            (then (call $down (i32.sub (local.get $n) (i32.const 1))))
            (else (call $draw))))
        (func (export "sandglass_generate")
          (call $down (i32.const 3000))
          (call $emit (i32.const 0) (i32.const 0)))"#,
    );
    let steps: Vec<&str> = found[0].split('/').collect();
    assert_eq!(steps.len(), 1024);
    // The draw itself is the last step, however deep it is.
    assert_ne!(steps[1022], steps[1023]);
}
