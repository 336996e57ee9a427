//! The programs of `guests/dataflow`: each runs through on an input written for it, with the result that it should have, and
//! each injected fault is triggered by one, in the sandbox, at its line. So is each of our harder ones, but by nothing near it.
//!
//! Results are looked at natively, where the same sources are compiled as modules of this test.

#[path = "dataflow/c.rs"]
mod c;
#[path = "dataflow/hard.rs"]
mod hard;
#[path = "dataflow/inputs.rs"]
mod inputs;
#[path = "dataflow/queries.rs"]
mod queries;
#[path = "dataflow/results.rs"]
mod results;
#[path = "dataflow/tuples.rs"]
mod tuples;

use std::collections::BTreeSet;
use std::sync::Arc;

use sandglass_engine::Exit;
use sandglass_guests::{DATAFLOW, Dataflow};
use sandglass_instrument::symbols::Symbols;
use sandglass_runtime::said::Said;
use sandglass_sandbox::{Build, Limits, Options, Program, Replay, Sandbox, on_guest_thread};

use inputs::{FAULTS, RUNS, input};

fn sandbox(program: &Dataflow) -> Sandbox {
    let built = Program::build(program.wasm, Build::Exact, &Options::default(), None);
    let built = Arc::new(built.expect("it is a target"));
    Sandbox::new(&built, &Limits::STANDARD).expect("it sets up")
}

fn message(replay: &Replay) -> Option<String> {
    match Said::of(replay.outcome.exit, &replay.stderr)? {
        Said::Message(text) => Some(text),
        Said::Undefined { .. } => None,
    }
}

/// That the innermost frame in the program's own source is the line that injects the fault.
fn assert_is_at_its_line(program: &Dataflow, symbols: &Symbols, replay: &Replay, id: &str) {
    let offsets = replay.frames.iter().filter_map(|frame| frame.offset);
    let frames = offsets.flat_map(|offset| symbols.frames(offset));
    let line = frames.into_iter().find_map(|frame| {
        let is_own = frame
            .file?
            .ends_with(&format!("dataflow/{}.rs", program.name));
        frame.line.filter(|_| is_own)
    });
    let line = line.unwrap_or_else(|| panic!("{id}: no line"));
    let text = program.source.lines().nth(line as usize - 1);
    let call = format!("fault(\"{id}\")");
    assert!(
        text.is_some_and(|text| text.contains(&call)),
        "{id}: {line}"
    );
}

#[test]
fn every_program_runs_through() {
    let names = RUNS.map(|(name, _)| name);
    assert_eq!(names, DATAFLOW.map(|program| program.name));
    on_guest_thread(|| {
        for ((name, texts), program) in RUNS.iter().zip(&DATAFLOW) {
            let mut sandbox = sandbox(program);
            assert_eq!(texts.len(), program.sets, "{name}");
            let replay = sandbox.replay(&input(texts));
            let said = message(&replay);
            assert_eq!(replay.outcome.exit, Exit::Valid, "{name}: {said:?}");
            // Nothing is something to read, except for a sum of nothing.
            let exit = sandbox.replay(b"").outcome.exit;
            assert_eq!(exit == Exit::Valid, *name != "p9", "{name}: {exit:?}");
        }
    });
}

#[test]
fn every_fault_has_an_input_that_triggers_it_at_its_line() {
    let mut listed = BTreeSet::new();
    on_guest_thread(|| {
        for program in &DATAFLOW {
            let mut sandbox = sandbox(program);
            let symbols = Symbols::new(program.wasm);
            for (id, _) in program.faults {
                let texts = FAULTS.iter().find(|(fault, _)| fault == id);
                let (_, texts) = texts.unwrap_or_else(|| panic!("no input for {id}"));
                let replay = sandbox.replay(&input(texts));
                assert_eq!(message(&replay), Some(format!("fault {id}")));
                assert_is_at_its_line(program, &symbols, &replay, id);
                listed.insert(*id);
            }
        }
    });
    assert_eq!(listed.len(), FAULTS.len());
}

#[test]
fn what_nobody_listens_to_is_not_looked_at() {
    let wasm = wat::parse_str(include_str!("dataflow/unheard.wat")).expect("it assembles");
    on_guest_thread(|| {
        for build in [Build::Fast, Build::Exact, Build::Dependence] {
            let program = Program::build(&wasm, build, &Options::default(), None);
            let program = Arc::new(program.expect("it is a target"));
            let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("it sets up");
            assert_eq!(sandbox.replay(b"").outcome.exit, Exit::Valid, "{build:?}");
        }
    });
}
