//! The judge of both fuzzers: replays inputs in our campaign build, whoever made them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use sandglass_engine::Interest;
use sandglass_guests::subject;
use sandglass_runtime::inputs::read_all;
use sandglass_sandbox::{Build, Cache, Limits, Options, Program, Sandbox, on_guest_thread};

use crate::fuzzers::{INPUT_BYTES_MAX, cache};

/// A sandbox as campaigns have it. On a guest thread only.
///
/// # Panics
/// When the subject is not built; the text says how to build it.
pub(crate) fn sandbox(name: &str) -> Sandbox {
    let wasm = subject(name).unwrap_or_else(|missing| panic!("{missing}"));
    let cache = Cache::open(&cache()).expect("a private folder");
    let program = Program::build(&wasm, Build::Fast, &Options::default(), Some(&cache));
    let limits = Limits {
        input_bytes: INPUT_BYTES_MAX,
        ..Limits::STANDARD
    };
    Sandbox::new(&Arc::new(program.expect("a subject builds")), &limits).expect("and starts")
}

/// What a sandbox knows when it has seen nothing; no run is slow.
pub(crate) fn nothing_seen(sandbox: &Sandbox) -> Interest {
    Interest::new(sandbox.program().probe_map().probes.len() as u32, 0)
}

/// Inputs in folders: in order of their names, without repetitions.
pub(crate) fn inputs(folders: &[PathBuf]) -> Vec<Vec<u8>> {
    let read = read_all(folders, u64::from(INPUT_BYTES_MAX)).expect("folders that exist");
    read.inputs.into_iter().map(|input| input.bytes).collect()
}

/// Number of inputs, and of edges (arms of branches and entries of functions) that any of them
/// reaches.
pub(crate) fn edges(name: &str, folders: &[PathBuf]) -> (u64, u64) {
    let inputs = inputs(folders);
    let edges = on_guest_thread(|| {
        let mut sandbox = sandbox(name);
        let interest = nothing_seen(&sandbox);
        let mut reached = BTreeSet::new();
        for input in &inputs {
            let outcome = sandbox.run(input, &interest, true);
            let detail = outcome.detail.expect("asked for");
            reached.extend(detail.counts.iter().map(|(probe, _)| *probe));
        }
        reached.len()
    });
    (inputs.len() as u64, edges as u64)
}

/// Inputs in folders that are no findings: those are kept in detail whenever they come, and end
/// libFuzzer.
pub(crate) fn inputs_that_end_well(name: &str, folders: &[PathBuf]) -> Vec<Vec<u8>> {
    let mut inputs = inputs(folders);
    on_guest_thread(|| {
        let mut sandbox = sandbox(name);
        let interest = nothing_seen(&sandbox);
        inputs.retain(|input| !sandbox.run(input, &interest, false).exit.is_finding());
    });
    inputs
}
