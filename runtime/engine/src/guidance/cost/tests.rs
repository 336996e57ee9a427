//! What `cost` finds, on targets whose costliest inputs are known, and what each part of it is for.

use std::collections::BTreeMap;

use super::*;
use crate::choice::jqf::{End, Reading, Tape};
use crate::choice::{Domain, Draw, Role};
use crate::conformance::{Trace, execute};
use crate::engine::{Config, Engine};
use crate::settings::SettingKind;

/// Looks behind every byte for the end of a run of spaces, as a pattern for trimming does: quadratic in
/// the run.
fn trim(input: &[u8]) -> Trace {
    let mut trace = Trace::default();
    trace.hit(0);
    for at in 0..input.len() {
        let spaces = input[at..].iter().take_while(|&&byte| byte == b' ');
        spaces.for_each(|_| trace.hit(1));
    }
    trace
}

/// Tries every way to divide the letters that it begins with: exponential, until it gives up.
fn divide(input: &[u8]) -> Trace {
    let mut trace = Trace::default();
    trace.hit(0);
    let letters = input.iter().take_while(|byte| byte.is_ascii_lowercase());
    let ways = 1u32 << letters.count().min(16);
    trace.counts.insert(1, ways);
    trace.fuel += 10 * u64::from(ways);
    trace
}

/// Counts words in a table whose hash looks at every second character only.
fn words(input: &[u8]) -> Trace {
    table(input, 2, 37)
}

/// Counts words in a table whose hash looks at every character.
fn whole_words(input: &[u8]) -> Trace {
    table(input, 1, 33)
}

/// Counts words in a table whose hash looks at every so many characters only.
fn table(input: &[u8], step: usize, multiplier: u32) -> Trace {
    let mut trace = Trace::default();
    trace.hit(0);
    let mut table: BTreeMap<u32, Vec<&[u8]>> = BTreeMap::new();
    for word in input.split(|byte| byte.is_ascii_whitespace()) {
        let sampled = word.iter().step_by(step);
        let next = |hash: u32, &byte: &u8| hash.wrapping_mul(multiplier).wrapping_add(byte.into());
        let hash = sampled.fold(7, next) % 997;
        let chain = table.entry(hash).or_default();
        let known = chain.iter().position(|other| *other == word);
        (0..known.unwrap_or(chain.len())).for_each(|_| trace.hit(1));
        if known.is_none() {
            chain.push(word);
        }
    }
    trace
}

/// Sorts by insertion.
fn sort(input: &[u8]) -> Trace {
    let mut trace = Trace::default();
    trace.hit(0);
    let mut sorted: Vec<u8> = Vec::new();
    for &byte in input {
        let at = sorted
            .iter()
            .rposition(|&other| other <= byte)
            .map_or(0, |at| at + 1);
        (at..sorted.len()).for_each(|_| trace.hit(1));
        sorted.insert(at, byte);
    }
    trace
}

/// Descends as often as there are closing brackets for the opening ones that it begins with, and looks
/// at all that is left each time.
fn nested(input: &[u8]) -> Trace {
    let mut trace = Trace::default();
    trace.hit(0);
    let (mut from, mut to) = (0, input.len());
    while from + 1 < to && input[from] == b'(' && input[to - 1] == b')' {
        (from..to).for_each(|_| trace.hit(1));
        (from, to) = (from + 1, to - 1);
    }
    trace
}

/// What a generator draws from a tape: numbers, until it has enough of them.
fn drawn(tape: &[u8]) -> Vec<u8> {
    let draw = |domain| Draw {
        site: 0,
        role: Role::Unknown,
        domain,
    };
    let more = draw(Domain::Bool { num: 9, den: 10 });
    let number = draw(Domain::Int { lo: 0, hi: 99 });
    let mut tape = Tape::new(tape.to_vec(), End::Stops, Reading::Whole, Rng::new(1));
    let mut numbers = Vec::new();
    let mut next = |draw| {
        tape.answer(&draw, &mut Vec::new())
            .map(|answer| answer.value)
    };
    while next(more) == Some(1) {
        let Some(value) = next(number) else { break };
        numbers.push(value as u8);
    }
    numbers
}

/// Sorts them.
fn sort_drawn(tape: &[u8]) -> Trace {
    sort(&drawn(tape))
}

type Toy = fn(&[u8]) -> Trace;

/// These collide, and leave no room for many.
const LONG_WORDS: &[u8] =
    b"abababababababababababababababababab\nacababababababababababababababababab\n\
adababababababababababababababababab\naeababababababababababababababababab\n";
const WORDS: &[u8] = b"qwertyuiop\nasdfghjkla\nzxcvbnmqwe\n";

fn campaign(toy: Toy, seed: u64, from: &[u8], trials: u64, set: &[(&str, &str)]) -> Engine {
    campaign_of(toy, &[], seed, from, trials, set)
}

/// The same of a target that multiplies.
fn campaign_of(
    toy: Toy,
    multipliers: &[u8],
    seed: u64,
    from: &[u8],
    trials: u64,
    set: &[(&str, &str)],
) -> Engine {
    let set = set
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut engine = Engine::new(Config {
        seeds: vec![from.into()],
        input_bytes_max: 400,
        multipliers: multipliers.to_vec(),
        settings: set.collect(),
        ..Config::bare(&SPEC, seed, 2)
    })
    .expect("they are right");
    while engine.stats().execs < trials {
        let batch = engine.next_batch(trials - engine.stats().execs);
        let outcomes = execute(&batch, &toy, 1);
        engine.finish_batch(&batch, outcomes);
    }
    engine
}

/// The most hits of the loop, over three seeds the least.
fn reached(toy: Toy, from: &[u8], trials: u64, set: &[(&str, &str)]) -> u64 {
    let reached = (1..=3).map(|seed| {
        let engine = campaign(toy, seed, from, trials, set);
        engine.stats().fuel_max / 10 - 1
    });
    reached.min().expect("there are three")
}

#[test]
fn a_run_of_spaces_fills_the_input() {
    let best = 400 * 401 / 2;
    let found = reached(trim, b"int main(void) { }\n", 2_000, &[]);
    assert!(found >= best * 9 / 10, "{found} of {best}");
}

#[test]
fn letters_are_repeated_until_it_gives_up() {
    assert_eq!(reached(divide, b"aName\n", 500, &[]), 1 << 16);
}

#[test]
fn words_collide() {
    // As many words of two characters at least, and a newline, all of them different.
    let found = reached(words, WORDS, 10_000, &[]);
    assert!(found > 1_000, "{found}");
}

#[test]
fn elements_fall() {
    let best = 64 * 63 / 2;
    let found = reached(sort, &[0; 64], 3_000, &[("size", "64")]);
    assert!(found >= best * 9 / 10, "{found} of {best}");
}

/// A tape is bytes like any other: the generator is led on to the tape's end, and draws numbers that fall more than they rise.
#[test]
fn a_generator_draws_what_costs_most() {
    let numbers = drawn(&[0; 400]).len() as u64;
    let best = numbers * (numbers - 1) / 2;
    let found = reached(sort_drawn, &[0, 1, 2, 3, 4, 5, 6, 7], 3_000, &[]);
    assert!(found >= best * 3 / 4, "{found} of {best}");
}

#[test]
fn brackets_nest() {
    let best = 201 * 200;
    let found = reached(nested, b"(x)", 2_000, &[]);
    assert!(found >= best * 9 / 10, "{found} of {best}");
}

/// Calls itself for every bracket that opens, and costs the same whatever it reads.
fn deep(input: &[u8]) -> Trace {
    let mut trace = Trace::default();
    trace.hit(0);
    let open = input.iter().take_while(|&&byte| byte == b'(');
    trace.peaks.call_depth = open.count() as u32;
    trace
}

#[test]
fn depth_is_a_goal_of_its_own() {
    let deepest = |peaks| {
        let engine = campaign(deep, 1, b"(x)", 2_000, &[("peaks", peaks)]);
        let depths = engine.corpus().iter();
        let depths = depths.map(|(_, testcase)| deep(&testcase.bytes).peaks.call_depth);
        depths.max()
    };
    assert_eq!(deepest("on"), Some(400));
    assert!(deepest("off").is_some_and(|depth| depth < 10));
}

/// An operator, what it is for, the seed, trials, and settings.
type Case = (
    &'static str,
    Toy,
    &'static [u8],
    u64,
    &'static [(&'static str, &'static str)],
);

/// Without an operator, what it is for is found later.
#[test]
fn every_operator_is_worth_its_trials() {
    let cases: [Case; 5] = [
        (
            "repeat",
            trim,
            b"int main(void) { }\n",
            300,
            &[("rules", "off"), ("family", "off")],
        ),
        ("number", words, WORDS, 3_000, &[]),
        ("family", words, LONG_WORDS, 1_000, &[]),
        ("nest", nested, b"(x)", 1_000, &[]),
        ("order", sort, &[0; 64], 500, &[("size", "64")]),
    ];
    for (operator, toy, from, trials, set) in cases {
        let sum = |set: &[_]| -> u64 {
            let campaigns = (1..=5).map(|seed| campaign(toy, seed, from, trials, set));
            campaigns.map(|engine| engine.stats().fuel_max).sum()
        };
        let (with, without) = (sum(set), sum(&[set, &[(operator, "off")]].concat()));
        assert!(with > without, "{operator}: {with}, without {without}");
    }
}

/// Fuel of one run, and the letters in a row that just end.
const LIMIT: u64 = 10 << LETTERS;
const LETTERS: usize = 24;

/// Each letter in a row doubles the cost, until the limit is past.
fn steep(input: &[u8]) -> Trace {
    let longest = input.split(|byte| !byte.is_ascii_lowercase());
    let longest = longest.map(<[u8]>::len).max().unwrap_or(0);
    let mut trace = Trace::default();
    trace.hit(0);
    // What counts the fuel notices late that there is none left.
    let ways = 1u32 << longest.min(LETTERS + 3);
    trace.counts.insert(1, ways);
    trace.fuel += 10 * u64::from(ways - 1);
    trace.exit = (trace.fuel > LIMIT).then_some(Exit::Hang);
    trace
}

/// In how many of ten campaigns as many letters as can end are found, for the fuel of 200 runs at the limit.
fn steepest(set: &[(&str, &str)]) -> usize {
    let campaigns = (1..=10).map(|seed| {
        let mut engine = campaign(steep, seed, b"int Main(void) { }\n", 1, set);
        let mut spent = 0;
        while spent < 200 * LIMIT && engine.stats().execs < 20_000 {
            let batch = engine.next_batch(u64::MAX);
            let outcomes = execute(&batch, &steep, 1);
            // A trial costs something even if its run does not.
            spent += (outcomes.iter().map(|it| it.fuel + LIMIT / 10_000)).sum::<u64>();
            engine.finish_batch(&batch, outcomes);
        }
        let corpus = engine.corpus().iter();
        corpus.map(|(_, testcase)| testcase.fuel).max().unwrap_or(0)
    });
    campaigns.filter(|most| *most >= LIMIT).count()
}

#[test]
fn what_just_ends_is_found_for_little_fuel() {
    // Polish comes to letters that just end, too, by another way.
    let plain = ("polish", "off");
    let (with, without) = (steepest(&[plain]), steepest(&[plain, ("retreat", "off")]));
    let unpaid = steepest(&[plain, ("price", "off")]);
    assert!(with >= 8, "{with}");
    assert!(with > without + 2, "{with}, without retreats {without}");
    assert!(with > unpaid, "{with}, without prices {unpaid}");
}

/// As [`steep`] is, and every bit of the bytes behind the first line feed costs a little more.
fn steep_with_a_tail(input: &[u8]) -> Trace {
    let mut trace = steep(input);
    let tail = input.split_inclusive(|byte| *byte == b'\n').skip(1);
    let bits: u32 = tail.flatten().map(|byte| byte.count_ones()).sum();
    trace.fuel += 100 * u64::from(bits);
    trace.exit = (trace.fuel > LIMIT + LIMIT / 64).then_some(Exit::Hang);
    trace
}

/// The most that ends, of ten campaigns the median, for the fuel of 100 runs at the limit.
fn tallest(set: &[(&str, &str)]) -> u64 {
    let mut most: Vec<u64> = (1..=10)
        .map(|seed| {
            let set = [set, &[("size", "32")]].concat();
            let mut engine = campaign(steep_with_a_tail, seed, b"int Main(void) { }\n", 1, &set);
            let mut spent = 0;
            while spent < 100 * LIMIT && engine.stats().execs < 20_000 {
                let batch = engine.next_batch(u64::MAX);
                let outcomes = execute(&batch, &steep_with_a_tail, 1);
                spent += (outcomes.iter().map(|it| it.fuel + LIMIT / 10_000)).sum::<u64>();
                engine.finish_batch(&batch, outcomes);
            }
            let corpus = engine.corpus().iter();
            corpus.map(|(_, testcase)| testcase.fuel).max().unwrap_or(0)
        })
        .collect();
    most.sort_unstable();
    most[5]
}

#[test]
fn what_is_dear_is_polished_where_it_is_cheap() {
    let (with, without) = (tallest(&[]), tallest(&[("polish", "off")]));
    assert!(with > without, "{with}, without polish {without}");
}

/// Forty words of nine letters in a chain are 780 looks; others hardly meet.
#[test]
fn words_that_hash_alike_are_made_where_the_target_multiplies() {
    let hits = |multipliers: &[u8], set: &[(&str, &str)]| {
        let engine = campaign_of(whole_words, multipliers, 1, WORDS, 3_000, set);
        engine.stats().fuel_max / 10 - 1
    };
    let with = hits(&[31, 33, 37], &[]);
    let (without, off) = (hits(&[], &[]), hits(&[31, 33, 37], &[("twins", "off")]));
    assert!(with > 780, "{with}");
    assert!(
        with > 4 * without && with > 4 * off,
        "{with}, {without}, {off}"
    );
}

#[test]
fn every_switch_has_an_effect() {
    let state = |set: &[(&str, &str)]| {
        let engine = campaign_of(
            crate::conformance::toy,
            &[33],
            1,
            b"some words, hello\n",
            1_000,
            set,
        );
        let inputs = engine
            .corpus()
            .iter()
            .map(|(_, testcase)| testcase.bytes.clone());
        inputs.collect::<Vec<_>>()
    };
    let all = state(&[]);
    for setting in SETTINGS {
        // Nothing goes past a limit here, and nothing is dear.
        let has_no_use = [RETREAT.name, POLISH.name].contains(&setting.name);
        if matches!(setting.kind, SettingKind::Switch { .. }) && !has_no_use {
            assert!(all != state(&[(setting.name, "off")]), "{}", setting.name);
        }
    }
}

#[test]
fn short_inputs_are_kept_beside_long_ones() {
    let shortest = |sizes| {
        let engine = campaign(trim, 1, &[b' '; 300], 3_000, &[("sizes", sizes)]);
        let costly = engine.corpus().iter().filter(|(_, testcase)| {
            let bytes = testcase.bytes.len() as u64;
            bytes >= 8 && testcase.fuel > 10 * bytes * (bytes + 1) / 2
        });
        costly.map(|(_, testcase)| testcase.bytes.len()).min()
    };
    assert!(shortest("on").is_some_and(|bytes| bytes < 16));
    assert!(shortest("off").is_none_or(|bytes| bytes > 200));
}

#[test]
fn inputs_keep_the_size_that_was_set() {
    let longest = |set: &[(&str, &str)]| {
        let engine = campaign(trim, 1, b"a b", 1_000, set);
        engine
            .corpus()
            .iter()
            .map(|(_, testcase)| testcase.bytes.len())
            .max()
    };
    assert_eq!(longest(&[("size", "50")]), Some(50));
    // The campaign's limit holds besides.
    assert_eq!(longest(&[]), Some(400));
}
