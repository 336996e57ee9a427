//! Tests of `sandglass-choices`: what it plans, keeps and learns, on scripts and on the toy.

use super::*;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::batch::Plan;
use crate::choice::ChoiceSequence;
use crate::conformance::{TOY_PROBES, Trace, execute, toy};
use crate::engine::{Config, Decision, Engine};
use crate::guidance::script::Script;
use crate::trial::{Exit, Reached, TrapKind};

/// Settings, where nothing is solved, and no texts are mutated, unless they say so.
fn given(set: &[(&str, &str)]) -> BTreeMap<String, String> {
    let off = ["compares", "hints", "texts"].map(|name| (name, "off"));
    let all = off.iter().chain(set);
    all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn choices(setting: &str, value: &str) -> Choices {
    let given = given(&[(setting, value)]);
    let settings = Settings::new(SPEC.settings, &given).expect("they are right");
    match (SPEC.new)(&settings) {
        Strategy::Choices(choices) => *choices,
        other => panic!("{other:?}"),
    }
}

/// How a run ends, how many choices it made, and what it covers.
type Run<'a> = (Exit, usize, &'a [(u32, u32)]);

fn members(setting: &str, runs: &[Run<'_>]) -> Vec<u64> {
    let (mut choices, mut script) = (choices("valid", setting), Script::new());
    for &(exit, bytes, counts) in runs {
        let made = ChoiceSequence::of_bytes(&vec![1; bytes], &[]);
        script.trial(&mut choices, exit, Some(made), counts);
    }
    choices.shortest.holders()
}

#[test]
fn a_probe_in_a_valid_run_is_a_goal_of_its_own() {
    let runs: [Run<'_>; 3] = [
        (Exit::Invalid, 5, &[(0, 1)]),
        (Exit::Valid, 9, &[(0, 1)]),
        (Exit::Valid, 8, &[(0, 7)]),
    ];
    assert_eq!(members("on", &runs), [0, 2]);
    assert_eq!(members("off", &runs), [0]);
}

#[test]
fn what_smaller_ones_replaced_leaves_the_corpus() {
    let mut engine = Engine::new(Config {
        settings: given(&[]),
        ..crate::conformance::config(&SPEC, 3)
    })
    .expect("they are right");
    let (mut kept, mut dropped) = (BTreeMap::new(), 0);
    while engine.stats().execs < 12_800 {
        let batch = engine.next_batch(12_800);
        let outcomes = execute(&batch, &toy, 1);
        for decision in engine.finish_batch(&batch, outcomes) {
            match decision {
                // Whoever writes it down looks it up.
                Decision::Kept { id, reason, .. } => {
                    assert!(engine.corpus().find(id).is_some());
                    kept.insert(id, reason);
                }
                Decision::Dropped { id, .. } => {
                    assert_eq!(kept.remove(&id), Some(Reason::Smaller));
                    dropped += 1;
                }
                _ => {}
            }
        }
    }
    let there = engine.corpus().iter().map(|(id, _)| id);
    assert!(there.eq(kept.keys().copied()));
    assert_eq!(engine.corpus().len(), kept.len());
    assert!(dropped > 0);
    let mut covered = BTreeSet::new();
    for (_, testcase) in engine.corpus().iter() {
        covered.extend(toy(testcase.target_input()).counts.into_keys());
    }
    let is_covered = |probe| engine.interest().all.has(probe);
    assert!((0..TOY_PROBES).filter(|p| is_covered(*p)).eq(covered));
}

/// Executions of 6,400 whose input was run before, or whose generator made none.
fn executions_for_nothing(setting: &str) -> usize {
    let mut engine = Engine::new(Config {
        settings: given(&[("distinct", setting)]),
        ..crate::conformance::config(&SPEC, 4)
    })
    .expect("they are right");
    let (mut inputs, mut repeated) = (BTreeSet::new(), 0);
    while engine.stats().execs < 6_400 {
        let batch = engine.next_batch(6_400);
        let outcomes = execute(&batch, &toy, 2);
        for outcome in &outcomes {
            let detail = outcome.detail.as_ref().expect("every trial has it");
            repeated += usize::from(!inputs.insert(detail.input.clone()));
        }
        engine.finish_batch(&batch, outcomes);
    }
    repeated
}

#[test]
fn what_was_made_is_not_run_again() {
    let (distinct, again) = (executions_for_nothing("on"), executions_for_nothing("off"));
    assert!(64 * distinct < again.min(6_400), "{distinct} {again}");
}

#[test]
fn batches_grow_with_what_is_known() {
    let distinct = choices("distinct", "on");
    let lengths = [0, 8, 16, 32, 64, 128, u64::MAX].map(|trials| distinct.at_once(trials, 64));
    assert_eq!(lengths, [8, 8, 16, 32, 64, 64, 64]);
    assert_eq!(distinct.at_once(0, 3), 3);
    assert_eq!(choices("distinct", "off").at_once(0, 64), 64);
}

/// Children that five parents have had after a hundred trials. Of what the fourth covers, one arm was never taken.
fn children(rarely: &str, frontier: &str) -> Vec<u32> {
    let (mut choices, mut script) = (choices("rarely", rarely), Script::new());
    choices.uses_frontier = frontier == "on";
    script.targets.decisions = vec![0, 1, 2, 3, 4, 3, 6, 7];
    for probe in 0..5 {
        let made = ChoiceSequence::of_bytes(&[1; 4], &[]);
        script.trial(&mut choices, Exit::Valid, Some(made), &[(probe, 1)]);
        script.cover(probe);
    }
    script.plan(&mut choices);
    choices.children.clear();
    (0..100).for_each(|_| drop(script.plan(&mut choices)));
    choices.children.into_values().collect()
}

#[test]
fn parents_have_children_alike() {
    let spread = |counts: &[u32]| counts.iter().max().unwrap() - counts.iter().min().unwrap();
    let (rarely, uniform) = (children("on", "off"), children("off", "off"));
    assert_eq!((rarely.iter().sum::<u32>(), rarely.len()), (100, 5));
    assert!(
        spread(&rarely) <= 4 && spread(&uniform) > 4,
        "{rarely:?} {uniform:?}"
    );
}

#[test]
fn candidates_are_of_the_frontier() {
    let at_the_frontier = |rarely, frontier| children(rarely, frontier)[3];
    let (frontier, uniform) = (at_the_frontier("off", "on"), at_the_frontier("off", "off"));
    assert!(
        (45..75).contains(&frontier) && uniform < 35,
        "{frontier} {uniform}"
    );
    // Of two candidates the one that has had fewer children is taken.
    let rarely = at_the_frontier("on", "on");
    assert!((25..45).contains(&rarely), "{rarely}");
}

/// A bug behind four bytes, which the toy's generator draws one by one.
fn magic(input: &[u8]) -> Trace {
    let mut trace = Trace::default();
    trace.hit(0);
    let word = input
        .first_chunk()
        .map_or(0, |word| u32::from_le_bytes(*word));
    if trace.equal(10, 4, word.into(), 0x64c3_9ab1) {
        trace.exit = Some(Exit::Trap(TrapKind::Unreachable));
    }
    trace
}

fn finds_magic(set: &[(&str, &str)], seed: u64) -> bool {
    let mut engine = Engine::new(Config {
        settings: given(set),
        ..crate::conformance::config(&SPEC, seed)
    })
    .expect("they are right");
    while engine.stats().execs < 2_000 && engine.stats().findings == 0 {
        let batch = engine.next_batch(2_000);
        let outcomes = execute(&batch, &magic, 2);
        engine.finish_batch(&batch, outcomes);
    }
    engine.stats().findings > 0
}

#[test]
fn a_magic_number_behind_a_generator_is_solved() {
    for seed in 0..5 {
        assert!(finds_magic(&[("compares", "on")], seed), "seed {seed}");
        assert!(!finds_magic(&[("hints", "on")], seed), "seed {seed}");
        assert!(!finds_magic(&[], seed), "seed {seed}");
    }
}

/// What each way of making children is called in reports.
fn ways(set: &[(&str, &str)]) -> Vec<String> {
    let settings = Settings::new(SPEC.settings, &given(set)).expect("they are right");
    let operators = (SPEC.new)(&settings).operators();
    operators
        .into_iter()
        .map(|operator| operator.name)
        .collect()
}

#[test]
fn settings_take_ways_away() {
    let plain = ways(&[]);
    assert!(
        !plain
            .iter()
            .any(|name| ["hint", "solve"].contains(&name.as_str()))
    );
    assert_eq!(
        ways(&[("compares", "on")]),
        [&plain[..], &["solve".to_owned()]].concat()
    );
    let hinted = [&plain[..], &["hint", "solve"].map(str::to_owned)].concat();
    assert_eq!(ways(&[("hints", "on")]), hinted);
    assert_eq!(ways(&[("compares", "on"), ("hints", "on")]), hinted);
}

/// A bug that no choices reach: the toy's generator makes twenty bytes at most.
fn long(input: &[u8]) -> Trace {
    let mut trace = Trace::default();
    trace.hit(input.len().min(30) as u32);
    if input.len() > 30 {
        trace.exit = Some(Exit::Trap(TrapKind::Unreachable));
    }
    trace
}

/// The choices behind that bug, found in 4,000 executions, and how often texts were drawn.
fn finds_long(texts: &str, takes_texts: bool) -> (Option<ChoiceSequence>, u64) {
    let mut engine = Engine::new(Config {
        settings: given(&[("texts", texts)]),
        takes_texts,
        ..crate::conformance::config(&SPEC, 1)
    })
    .expect("they are right");
    let mut found = None;
    while engine.stats().execs < 4_000 && found.is_none() {
        let batch = engine.next_batch(4_000);
        let outcomes = execute(&batch, &long, 2);
        for decision in engine.finish_batch(&batch, outcomes) {
            if let Decision::Finding { choices, .. } = decision {
                found = choices.map(|choices| *choices);
            }
        }
    }
    let ways = engine.operators();
    let text = ways.iter().find(|way| way.name == "text");
    (found, text.map_or(0, |text| text.trials))
}

#[test]
fn what_the_generator_cannot_make_is_reached_without_it() {
    let (found, draws) = finds_long("on", true);
    let found = found.expect("a text is long enough");
    assert!(found.text().is_some_and(|text| text.len() > 30));
    assert!(draws > 0);
    assert_eq!(finds_long("off", true), (None, 0));
    // A property draws its data itself.
    assert_eq!(finds_long("on", false), (None, 0));
}

/// How many texts were run in the first so many trials, and how often a text found something in 4,000, where the longer ones of
/// fifty show something new and end so.
fn texts_found(first: u64, exit: Exit) -> (usize, u64) {
    let longer = move |input: &[u8]| {
        let mut trace = Trace::default();
        trace.hit(input.len().min(50) as u32);
        trace.exit = (input.len() > 20).then_some(exit);
        trace
    };
    let mut engine = Engine::new(Config {
        settings: given(&[("texts", "on")]),
        ..crate::conformance::config(&SPEC, 1)
    })
    .expect("they are right");
    let mut count = 0;
    while engine.stats().execs < 4_000 {
        let batch = engine.next_batch(4_000);
        let is_text = |&trial: &usize| {
            let drawing = batch.drawing(trial);
            drawing.is_some_and(|drawing| drawing.text().is_some())
        };
        if batch.first_trial() < first {
            count += (0..batch.len()).filter(is_text).count();
        }
        let outcomes = execute(&batch, &longer, 2);
        engine.finish_batch(&batch, outcomes);
    }
    let ways = engine.operators();
    let text = ways.iter().find(|way| way.name == "text");
    (count, text.map_or(0, |text| text.finds))
}

#[test]
fn what_is_found_in_wrong_text_counts_an_eighth() {
    let (none, valid) = texts_found(FIRST_TRIALS, Exit::Valid);
    let (some, invalid) = texts_found(2 * FIRST_TRIALS, Exit::Invalid);
    assert_eq!(none, 0);
    assert!(some > 0);
    assert!(0 < invalid && invalid <= valid / 4, "{valid} {invalid}");
}

/// Whether what entered the corpus had run in the fast variant, where memory is watched in that or nowhere; and whether a
/// text ran in it as it had run in the other.
fn kept_in(watches: bool) -> (BTreeSet<bool>, bool) {
    let mut engine = Engine::new(Config {
        settings: given(&[("texts", "on")]),
        watches,
        ..crate::conformance::config(&SPEC, 1)
    })
    .expect("they are right");
    let (mut is_fast, mut recorded, mut again) = (BTreeSet::new(), BTreeSet::new(), false);
    while engine.stats().execs < 6_400 {
        let batch = engine.next_batch(6_400);
        for trial in 0..batch.len() {
            if let Some(text) = batch.drawing(trial).as_ref().and_then(|d| d.text()) {
                match batch.variant(trial) {
                    Variant::Fast => again |= recorded.contains(text),
                    _ => {
                        recorded.insert(text.to_vec());
                    }
                }
            }
        }
        let outcomes = execute(&batch, &long, 1);
        for decision in engine.finish_batch(&batch, outcomes) {
            if let Decision::Kept { trial, .. } = decision {
                let nth = (trial - batch.first_trial()) as usize;
                is_fast.insert(batch.variant(nth) == Variant::Fast);
            }
        }
    }
    (is_fast, again)
}

#[test]
fn what_was_not_watched_is_not_believed() {
    assert_eq!(kept_in(true), ([true].into(), true));
    assert_eq!(kept_in(false), ([false, true].into(), false));
}

/// Texts of 6,400 executions that were run before, of all.
fn repeated_texts(distinct: &str) -> (usize, usize) {
    let mut engine = Engine::new(Config {
        settings: given(&[("texts", "on"), ("distinct", distinct)]),
        ..crate::conformance::config(&SPEC, 4)
    })
    .expect("they are right");
    let (mut texts, mut count) = (BTreeSet::new(), 0);
    while engine.stats().execs < 6_400 {
        let batch = engine.next_batch(6_400);
        for trial in 0..batch.len() {
            if let Some(text) = batch.drawing(trial).as_ref().and_then(|d| d.text()) {
                texts.insert(text.to_vec());
                count += 1;
            }
        }
        let outcomes = execute(&batch, &toy, 2);
        engine.finish_batch(&batch, outcomes);
    }
    (count - texts.len(), count)
}

#[test]
fn texts_are_not_run_again() {
    let ((distinct, of), (again, all)) = (repeated_texts("on"), repeated_texts("off"));
    assert!(of > 500 && all > 500, "{of} {all}");
    assert!(
        20 * distinct < of && 4 * distinct * all < again * of,
        "{distinct} of {of}, {again} of {all}"
    );
}

#[test]
fn strings_are_a_setting() {
    for (value, expected) in [("on", true), ("off", false)] {
        assert_eq!(choices("strings", value).draws_strings(), expected);
    }
}

/// What is planned at a decision that draws reach: how many runs follow them, and which draws are aimed at.
fn aims(reach: &str) -> (usize, Vec<Vec<Range<u32>>>) {
    let (mut choices, mut script) = (choices("reach", reach), Script::new());
    script.targets.decisions = vec![0, 1, 2, 2];
    script.reached = vec![Reached {
        decision: 2,
        draws: vec![1..2, 4..5],
    }];
    let made = ChoiceSequence::of_bytes(&[1; 6], &[]);
    let counts = [(0, 1), (1, 1), (2, 1)];
    script.trial(&mut choices, Exit::Valid, Some(made.clone()), &counts);
    counts.iter().for_each(|(probe, _)| script.cover(*probe));
    let (mut followed, mut draws) = (0, Vec::new());
    for _ in 0..1_000 {
        let (group, _) =
            script.planned_trial(&mut choices, Exit::Valid, Some(made.clone()), &counts);
        followed += usize::from(group.variant == Variant::Dependence);
        if let Plan::Choices(ChoicePlan::Aimed { draws: of, .. }) = &group.plan {
            draws.push(of.to_vec());
        }
    }
    draws.dedup();
    (followed, draws)
}

#[test]
fn draws_that_reach_an_arm_nobody_took_are_changed() {
    assert_eq!(aims("on"), (1, vec![vec![1..2, 4..5]]));
    assert_eq!(aims("off"), (0, vec![]));
}
