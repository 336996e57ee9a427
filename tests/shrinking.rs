//! Shrinking: known failures come to their exact smallest form, from a hundred random ones each.
//!
//! The properties are those of `guests/generators/src/failures.rs`, which says what the smallest
//! failure of each is; they run natively, and the engine answers their draws.
//! `cargo test --test shrinking -p sandglass-tests -- --nocapture` prints how many executions it took.
#![expect(clippy::print_stdout, reason = "prints a table")]

use std::convert::Infallible;
use std::sync::Arc;

use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::shrink::shrink;
use sandglass_engine::{ChoiceSequence, Rng, Source};
use sandglass_generators::failures::{FAILURES, Failure};
use sandglass_sdk::native::Outcome;
use sandglass_tests::natively;

/// Random failures of each property.
const STARTS: usize = 100;

/// Tests that one failure may cost.
const EXECS_MAX: u64 = 50_000;

/// Of a hundred starts, how many must come to the smallest form; all, where nothing is said. To delete
/// an element of `coupling`, all that point behind it would have to be lowered at once: no pass knows
/// what a number points to.
const HARD: &[(&str, usize)] = &[("coupling", 80)];

/// Runs a property on choices: what it noted, if it failed, and what it drew.
fn run(failure: &Failure, source: Source) -> (Option<String>, ChoiceSequence) {
    let (ran, choices) = natively::run(source, failure.fails);
    let failed = ran.outcome == Outcome::Done(true);
    (failed.then(|| ran.notes.concat()), choices)
}

/// Shrinks a failure: the smallest form found, and the tests that it took.
fn smallest(failure: &Failure, choices: ChoiceSequence) -> (String, u64) {
    let mut test = |candidate: &ChoiceSequence| -> Result<_, Infallible> {
        let replay = Replay::new(Arc::new(candidate.clone()), After::Simplest);
        let (failed, drawn) = run(failure, Source::Replay(replay));
        Ok(failed.map(|_| drawn))
    };
    let Ok(shrunk) = shrink(choices, EXECS_MAX, &mut test);
    assert!(shrunk.is_minimal, "{}: no end", failure.name);
    let replay = Replay::new(Arc::new(shrunk.choices), After::Stops);
    let (failed, _) = run(failure, Source::Replay(replay));
    (failed.expect("it failed before"), shrunk.execs)
}

#[test]
fn known_failures_come_to_their_smallest_form() {
    for failure in FAILURES {
        let random = (0..1_000_000).map(|seed| run(failure, Source::Fresh(Rng::new(seed))));
        let failing = random.filter_map(|(failed, choices)| failed.map(|_| choices));
        let mut execs = Vec::new();
        let mut missed = Vec::new();
        for choices in failing.take(STARTS) {
            let (text, took) = smallest(failure, choices);
            execs.push(took);
            if text != failure.smallest {
                missed.push(text);
            }
        }
        assert_eq!(execs.len(), STARTS, "{}: fails too rarely", failure.name);
        execs.sort_unstable();
        let reached = STARTS - missed.len();
        println!(
            "{:18} {:44} {reached:3} of {STARTS}, {:5} executions (median), {:5} at most",
            failure.name,
            failure.smallest,
            execs[STARTS / 2],
            execs[STARTS - 1]
        );
        let hard = HARD.iter().find(|(name, _)| *name == failure.name);
        let wanted = hard.map_or(STARTS, |(_, wanted)| *wanted);
        assert!(reached >= wanted, "{}: {missed:?}", failure.name);
    }
}
