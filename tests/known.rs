//! Known bugs of old versions: each input of `guests/subjects/*/known` breaks its subject, and not the later version.
//!
//! Of the subjects that are built (`guests/build-subjects.sh`); the others are left out, by name.

#![expect(clippy::print_stderr, reason = "what is left out is said")]

use std::fs;
use std::sync::Arc;

use sandglass_engine::{Exit, Interest};
use sandglass_guests::{FIXED_IN, MEMORY_FIXED_IN, subject};
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

/// How a subject ends on each of these inputs.
fn exits(wasm: &[u8], build: Build, inputs: &[(String, Vec<u8>)]) -> Vec<Exit> {
    let program = Program::build(wasm, build, &Options::default(), None);
    let program = Arc::new(program.expect("it is a target"));
    let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("it sets up");
    let interest = Interest::new(program.probe_map().probes.len() as u32, 0);
    let run = |(_, input): &(String, Vec<u8>)| sandbox.run(input, &interest, false).exit;
    inputs.iter().map(run).collect()
}

#[test]
fn known_bugs_are_in_the_old_versions_only() {
    let plain = FIXED_IN.iter().map(|pair| (pair, Build::Fast));
    let memory = MEMORY_FIXED_IN.iter().map(|pair| (pair, Build::Heap));
    for ((old, later), build) in plain.chain(memory) {
        let folder = format!(
            "{}/../guests/subjects/{old}/known",
            env!("CARGO_MANIFEST_DIR")
        );
        let Ok(files) = fs::read_dir(folder) else {
            continue;
        };
        let mut inputs: Vec<(String, Vec<u8>)> = files
            .map(|entry| {
                let path = entry.expect("a readable folder").path();
                let bytes = fs::read(&path).expect("a readable file");
                (path.to_string_lossy().into_owned(), bytes)
            })
            .collect();
        inputs.sort();
        let (Ok(old_wasm), Ok(later_wasm)) = (subject(old), subject(later)) else {
            eprintln!("left out: {old} and {later} are not both built");
            continue;
        };
        let [before, after] =
            on_guest_thread(|| [&old_wasm, &later_wasm].map(|wasm| exits(wasm, build, &inputs)));
        for (((path, _), before), after) in inputs.iter().zip(before).zip(after) {
            assert!(before.is_finding(), "{path}: {before:?} in {old}");
            let is_memory = matches!(before, Exit::Memory(_));
            assert_eq!(is_memory, build == Build::Heap, "{path}: {before:?}");
            assert!(!after.is_finding(), "{path}: {after:?} in {later}");
        }
    }
}
