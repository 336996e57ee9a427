//! Shrinking: known failures come to their exact smallest form, from a hundred random ones each.
//!
//! The properties are those of `guests/generators/src/failures.rs`, which says what the smallest
//! failure of each is, and some of what only this shrinker promises, below; they run natively, and the
//! engine answers their draws.
//! `cargo test --test shrinking -p sandglass-tests -- --nocapture` prints how many executions it took.
#![expect(clippy::print_stdout, reason = "prints a table")]

use std::convert::Infallible;
use std::sync::Arc;

use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::shrink::shrink;
use sandglass_engine::{ChoiceSequence, Rng, Source};
use sandglass_generators::failures::{FAILURES, Failure};
use sandglass_sdk::native::Outcome;
use sandglass_sdk::{note, structure, value};
use sandglass_tests::natively;

/// Random failures of each property.
const STARTS: usize = 100;

/// Tests that one failure may cost.
const EXECS_MAX: u64 = 50_000;

/// Of a hundred starts, how many must come to the smallest form; all, where nothing is said. To delete
/// an element of `coupling`, all that point behind it would have to be lowered at once: no pass knows
/// what a number points to.
const HARD: &[(&str, usize)] = &[("coupling", 80)];

/// Floats: as few binary digits after the point as possible, and then as near to 0, wherever the start was.
const FLOATS: &[Failure] = &[
    Failure {
        name: "float-over",
        fails: || seen(value!().float(0.0, 1.0)) > 0.3,
        smallest: "0.5",
        draws: "0.5",
    },
    Failure {
        name: "float-narrow",
        fails: || (0.3..0.4).contains(&seen(value!().float(0.0, 10.0))),
        smallest: "0.375",
        draws: "0.375",
    },
    Failure {
        name: "float-sum",
        fails: || {
            let (x, y) = seen((value!().float(0.0, 1000.0), value!().float(0.0, 1000.0)));
            x + y > 1000.0
        },
        // 1000.0 is not among them.
        smallest: "(1.0, 999.5)",
        draws: "1.0 999.5",
    },
    Failure {
        name: "float-difference",
        fails: || {
            let (x, y) = seen((value!().float(0.0, 100.0), value!().float(0.0, 100.0)));
            x > 10.0 && (x - y).abs() < 1.0
        },
        smallest: "(11.0, 11.0)",
        draws: "11.0 11.0",
    },
    Failure {
        name: "float-list",
        fails: || {
            let list = seen(structure!().vec(0..=20, |_| value!().float(0.0, 100.0)));
            list.iter().filter(|number| **number > 2.5).count() >= 3
        },
        smallest: "[3.0, 3.0, 3.0]",
        draws: "3 3.0 3.0 3.0",
    },
];

/// Draws that are of another kind once an earlier one is lowered.
const KINDS: &[Failure] = &[Failure {
    name: "kind-change",
    fails: || {
        let first = seen(value!().int(0..=100));
        if first > 50 {
            first == 91 && value!().int(0..=1000) >= 500
        } else {
            value!().bytes(0, 1000).len() > 9999 || first == 46
        }
    },
    smallest: "46",
    draws: "46 x",
}];

/// Notes a value.
fn seen<T: std::fmt::Debug>(value: T) -> T {
    note(format!("{value:?}"));
    value
}

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
    come_to_their_smallest_form(FAILURES);
}

#[test]
fn floats_come_to_few_digits() {
    come_to_their_smallest_form(FLOATS);
}

#[test]
fn draws_may_change_their_kind() {
    come_to_their_smallest_form(KINDS);
}

fn come_to_their_smallest_form(failures: &[Failure]) {
    for failure in failures {
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
