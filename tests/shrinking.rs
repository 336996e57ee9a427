//! Shrinking: known failures come to their exact smallest form, from a hundred random ones each.
//!
//! Most are of the *shrinking challenge*, a collection with which the authors of property-testing
//! libraries compare what they shrink to. `cargo test --test shrinking -p sandglass-tests -- --nocapture`
//! prints how many executions it took. One of them is known to be too hard for passes like ours, see
//! [`places_that_point_to_each_other`].
#![expect(clippy::print_stdout, reason = "prints a table")]

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;

use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::choice::{Domain, Role, Stop};
use sandglass_engine::shrink::shrink;
use sandglass_engine::{ChoiceSequence, Drawing, Rng, Source};

const STARTS: usize = 100;

/// Tests that one failure may cost.
const EXECS_MAX: u64 = 20_000;

type Made<T> = Result<T, Stop>;

/// Shrinks from random failures; all of them must come to `expected`.
fn known<T: Debug>(
    name: &str,
    generate: fn(&mut Drawing) -> Made<T>,
    fails: fn(&T) -> bool,
    expected: &str,
) {
    most(STARTS, name, generate, fails, expected);
}

/// Shrinks from random failures; at least so many of them must come to `expected`, and all to an end.
fn most<T: Debug>(
    at_least: usize,
    name: &str,
    generate: fn(&mut Drawing) -> Made<T>,
    fails: fn(&T) -> bool,
    expected: &str,
) {
    let run = |source| {
        let mut drawing = Drawing::new(source, 4_096);
        let value = generate(&mut drawing);
        (value.ok(), drawing.finish())
    };
    let (mut execs, mut reached) = (Vec::new(), 0);
    for seed in 0.. {
        let (value, choices) = run(Source::Fresh(Rng::new(seed)));
        if !value.is_some_and(|value| fails(&value)) {
            assert!(seed < 2_000_000, "{name}: fails too rarely");
            continue;
        }
        let mut test = |candidate: &ChoiceSequence| -> Result<_, Infallible> {
            let replay = Replay::new(Arc::new(candidate.clone()), After::Simplest);
            let (value, drawn) = run(Source::Replay(replay));
            Ok(value.is_some_and(|value| fails(&value)).then_some(drawn))
        };
        let Ok(shrunk) = shrink(choices, EXECS_MAX, &mut test);
        let again = Replay::new(Arc::new(shrunk.choices), After::Stops);
        let (value, _) = run(Source::Replay(again));
        let text = format!("{:?}", value.expect("it was made before"));
        reached += usize::from(text == expected);
        let misses = execs.len() + 1 - reached;
        assert!(
            misses <= STARTS - at_least,
            "{name}, seed {seed}: {text}, expected {expected}"
        );
        assert!(shrunk.is_minimal, "{name}, seed {seed}");
        execs.push(shrunk.execs);
        if execs.len() == STARTS {
            break;
        }
    }
    execs.sort_unstable();
    println!(
        "{name:24} {expected:42} {reached:3} of {STARTS}, {:5} executions (median), {:5} at most",
        execs[STARTS / 2],
        execs[STARTS - 1]
    );
}

/// A list with its length in front.
fn counted(d: &mut Drawing) -> Made<Vec<i64>> {
    let count = d.int(0, Role::Structure, 0, 20)?;
    (0..count)
        .map(|_| d.int(1, Role::Value, -1_000, 1_000))
        .collect()
}

/// A list with a coin before each element, in spans.
fn listed<T>(d: &mut Drawing, element: fn(&mut Drawing) -> Made<T>) -> Made<Vec<T>> {
    let mut list = Vec::new();
    loop {
        d.open(1)?;
        let more = d.draw(0, Role::Structure, Domain::Bool { num: 7, den: 8 })? == 1;
        if more {
            list.push(element(d)?);
        }
        d.close(false);
        if !more {
            return Ok(list);
        }
    }
}

fn flipped(d: &mut Drawing) -> Made<Vec<i64>> {
    listed(d, |d| d.int(1, Role::Value, -1_000, 1_000))
}

fn number(d: &mut Drawing) -> Made<i64> {
    d.int(1, Role::Value, -10_000, 10_000)
}

#[test]
fn elements_of_lists() {
    for (shape, list) in [
        ("counted", counted as fn(&mut _) -> _),
        ("flipped", flipped),
    ] {
        let name = |what: &str| format!("{what} ({shape})");
        let any_large = |list: &Vec<i64>| list.iter().any(|&x| x >= 500);
        known(&name("one large"), list, any_large, "[500]");
        let any_negative = |list: &Vec<i64>| list.iter().any(|&x| x <= -7);
        known(&name("one negative"), list, any_negative, "[-7]");
        known(&name("three"), list, |list| list.len() >= 3, "[0, 0, 0]");
        known(
            &name("not sorted"),
            list,
            |list| !list.is_sorted(),
            "[0, -1]",
        );
        let both = |list: &Vec<i64>| list.windows(2).any(|w| w[0] > 0 && w[1] > 0);
        known(&name("two positive"), list, both, "[1, 1]");
    }
}

#[test]
fn scalars() {
    let large: fn(&mut Drawing) -> Made<i64> = |d| d.int(0, Role::Value, 10, i64::MAX);
    known("large number", large, |&x| x > 123_456, "123457");
    let low: fn(&mut Drawing) -> Made<i64> = |d| d.int(0, Role::Value, i64::MIN, -5);
    known("low number", low, |&x| x < -1_000_000, "-1000001");
    let bytes: fn(&mut Drawing) -> Made<Vec<u8>> = |d| {
        let len = d.draw(0, Role::Value, Domain::Bytes { min: 0, max: 100 })?;
        Ok(d.last_bytes(len as usize).to_vec())
    };
    let high = |bytes: &Vec<u8>| bytes.iter().any(|&byte| byte > 100);
    known("byte above 100", bytes, high, "[101]");
    known(
        "five bytes",
        bytes,
        |bytes| bytes.len() > 4,
        "[0, 0, 0, 0, 0]",
    );
}

/// Of the challenge: `reverse`.
#[test]
fn reversed() {
    known(
        "reverse",
        flipped,
        |list| !list.iter().eq(list.iter().rev()),
        "[0, 1]",
    );
}

/// Of the challenge: `lengthlist`.
#[test]
fn length_in_front() {
    let list: fn(&mut Drawing) -> Made<Vec<i64>> = |d| {
        let count = d.int(0, Role::Structure, 1, 100)?;
        (0..count)
            .map(|_| d.int(1, Role::Value, 0, 1_000))
            .collect()
    };
    known(
        "lengthlist",
        list,
        |list| list.iter().any(|&x| x >= 900),
        "[900]",
    );
}

/// Of the challenge: `nestedlists`, with three in place of ten.
#[test]
fn nested_lists() {
    let lists: fn(&mut Drawing) -> Made<Vec<Vec<i64>>> = |d| listed(d, |d| listed(d, number));
    known(
        "nestedlists",
        lists,
        |lists| lists.iter().map(Vec::len).sum::<usize>() > 3,
        "[[0, 0, 0, 0]]",
    );
}

/// Of the challenge: `distinct`.
#[test]
fn three_that_differ() {
    known(
        "distinct",
        flipped,
        |list| list.iter().collect::<BTreeSet<_>>().len() >= 3,
        "[0, 1, -1]",
    );
}

/// Of the challenge: `coupling`, two places that point to each other. To delete an element, all that
/// point behind it would have to be lowered at once; no pass knows what a number points to.
#[test]
fn places_that_point_to_each_other() {
    let list: fn(&mut Drawing) -> Made<Vec<i64>> = |d| listed(d, |d| d.int(1, Role::Value, 0, 10));
    most(
        50,
        "coupling",
        list,
        |list| {
            let at = |i: i64| usize::try_from(i).ok().and_then(|i| list.get(i)).copied();
            let points = |(i, &j): (usize, &i64)| j != i as i64 && at(j) == Some(i as i64);
            list.iter().all(|&j| (j as usize) < list.len()) && list.iter().enumerate().any(points)
        },
        "[1, 0]",
    );
}

/// Of the challenge: `difference`, two parameters that must stay close.
#[test]
fn numbers_that_differ_by_little() {
    let pair: fn(&mut Drawing) -> Made<(i64, i64)> = |d| {
        let mut one = || d.int(0, Role::Value, 0, 40);
        Ok((one()?, one()?))
    };
    known(
        "difference 0",
        pair,
        |&(x, y)| x >= 10 && x == y,
        "(10, 10)",
    );
    known(
        "difference small",
        pair,
        |&(x, y)| x >= 10 && (1..=4).contains(&x.abs_diff(y)),
        "(10, 6)",
    );
    known(
        "difference 1",
        pair,
        |&(x, y)| x >= 10 && x.abs_diff(y) == 1,
        "(10, 9)",
    );
}

#[test]
fn sums() {
    let pair: fn(&mut Drawing) -> Made<(i64, i64)> = |d| {
        let mut one = || d.int(0, Role::Value, 0, 1_000);
        Ok((one()?, one()?))
    };
    known("sum", pair, |&(x, y)| x + y == 1_000, "(0, 1000)");
}

/// Arithmetic, as the challenge's `calculator` has it.
#[derive(Debug)]
enum Term {
    Number(i64),
    Add(Box<Term>, Box<Term>),
    Div(Box<Term>, Box<Term>),
}

fn term(d: &mut Drawing) -> Made<Term> {
    d.open(7)?;
    let term = match d.int(0, Role::Structure, 0, 4)? {
        0..=2 => Term::Number(d.int(1, Role::Value, -1, 10)?),
        3 => Term::Add(Box::new(term(d)?), Box::new(term(d)?)),
        _ => Term::Div(Box::new(term(d)?), Box::new(term(d)?)),
    };
    d.close(false);
    Ok(term)
}

/// The value; nothing after a division by nought.
fn value(term: &Term) -> Option<i64> {
    match term {
        Term::Number(number) => Some(*number),
        Term::Add(a, b) => value(a)?.checked_add(value(b)?),
        Term::Div(a, b) => value(a)?.checked_div(value(b)?),
    }
}

/// Whether nothing is divided by what is written as nought.
fn is_decent(term: &Term) -> bool {
    match term {
        Term::Number(_) => true,
        Term::Div(_, b) if matches!(**b, Term::Number(0)) => false,
        Term::Add(a, b) | Term::Div(a, b) => is_decent(a) && is_decent(b),
    }
}

/// Of the challenge: `calculator`.
#[test]
fn division_by_what_comes_to_nought() {
    known(
        "calculator",
        term,
        |term| is_decent(term) && value(term).is_none(),
        "Div(Number(0), Add(Number(0), Number(0)))",
    );
}
