//! Properties that fail, with the smallest failure of each: what a shrinker is measured on.
//!
//! Most are of the collection that shrinkers are compared on in public (the *shrinking challenge*); the others are
//! ours. Each notes the value that it drew, so the smallest failure is a text. Smallest means: fewest draws, and of
//! those the least in order, where integers are ordered by their distance from 0, or from the bound next to 0, and
//! a positive one comes before its negative.

use sandglass_sdk::{Depth, Site, note, one_of, structure, value};

/// A property that fails.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// What it is called.
    pub name: &'static str,
    /// Draws a value, notes it, and says whether it fails.
    pub fails: fn() -> bool,
    /// What the smallest failure notes.
    pub smallest: &'static str,
    /// Its draws: `t` and `f` for booleans, numbers for integers, with a point for floats, `x` and hexadecimal digits for bytes.
    pub draws: &'static str,
}

/// All of them.
pub const FAILURES: &[Failure] = &[
    Failure {
        name: "reverse",
        fails: || {
            let list = seen(list(structure!(), value!(), 0, 1000));
            list.iter().ne(list.iter().rev())
        },
        smallest: "[0, 1]",
        draws: "t 0 t 1 f",
    },
    Failure {
        name: "distinct",
        fails: || different(&seen(list(structure!(), value!(), 0, 1000))) >= 3,
        smallest: "[0, 1, 2]",
        draws: "t 0 t 1 t 2 f",
    },
    Failure {
        name: "largest",
        fails: || {
            seen(list(structure!(), value!(), 0, 1000))
                .iter()
                .any(|number| *number >= 900)
        },
        smallest: "[900]",
        draws: "t 900 f",
    },
    Failure {
        name: "sum",
        fails: || {
            seen(list(structure!(), value!(), 0, 1000))
                .iter()
                .sum::<i64>()
                > 1000
        },
        smallest: "[1, 1000]",
        draws: "t 1 t 1000 f",
    },
    Failure {
        name: "sorted-pairs",
        fails: || {
            let list = seen(list(structure!(), value!(), -50, 50));
            list.windows(2).any(|pair| pair[0] > pair[1])
        },
        smallest: "[0, -1]",
        draws: "t 0 t -1 f",
    },
    Failure {
        name: "deletion",
        fails: || {
            let (mut list, deleted) = seen((
                list(structure!(), value!(), 0, 20),
                value!().int(0..=20_i64),
            ));
            let place = list.iter().position(|number| *number == deleted);
            place.map(|place| list.remove(place));
            place.is_some() && list.contains(&deleted)
        },
        smallest: "([0, 0], 0)",
        draws: "t 0 t 0 f 0",
    },
    Failure {
        name: "difference-zero",
        fails: || {
            let (x, y) = seen((value!().int(1..=100), value!().int(1..=100)));
            x >= 10 && x == y
        },
        smallest: "(10, 10)",
        draws: "10 10",
    },
    Failure {
        name: "difference-small",
        fails: || {
            let (x, y) = seen((value!().int(1..=100_i32), value!().int(1..=100_i32)));
            x >= 10 && (1..=4).contains(&(x - y).abs())
        },
        smallest: "(10, 6)",
        draws: "10 6",
    },
    Failure {
        name: "difference-one",
        fails: || {
            let (x, y) = seen((value!().int(1..=100_i32), value!().int(1..=100_i32)));
            x >= 10 && (x - y).abs() == 1
        },
        smallest: "(10, 9)",
        draws: "10 9",
    },
    Failure {
        name: "coupling",
        fails: || {
            let list = seen(list(structure!(), value!(), 0, 10));
            let at = |index: i64| list.get(index as usize).copied();
            (0..)
                .zip(&list)
                .any(|(index, other)| index != *other && at(*other) == Some(index))
        },
        smallest: "[1, 0]",
        draws: "t 1 t 0 f",
    },
    Failure {
        name: "nested-lists",
        fails: || seen(lists()).iter().map(Vec::len).sum::<usize>() > 10,
        smallest: "[[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]",
        draws: "t t 0 t 0 t 0 t 0 t 0 t 0 t 0 t 0 t 0 t 0 t 0 f f",
    },
    Failure {
        name: "large-union",
        fails: || different(&seen(lists()).concat()) >= 5,
        smallest: "[[0, 1, 2, 3, 4]]",
        draws: "t t 0 t 1 t 2 t 3 t 4 f f",
    },
    Failure {
        name: "calculator",
        fails: || seen(Term::draw(Depth::of(4))).value().is_none(),
        smallest: "Div(Number(0), Add(Number(0), Number(0)))",
        draws: "3 0 0 2 0 0 0 0",
    },
    Failure {
        name: "length-field",
        fails: || {
            // The count is drawn first: deleting an element means lowering another draw.
            let list = seen(structure!().vec(0..=20, |_| value!().int(0..=255)));
            list.len() >= 3 && list.contains(&77)
        },
        smallest: "[0, 0, 77]",
        draws: "3 0 0 77",
    },
    Failure {
        name: "bytes",
        fails: || {
            let bytes = seen(value!().bytes(0, 12));
            bytes.windows(2).any(|pair| pair[0] > 200 && pair[1] < 10)
        },
        smallest: "[201, 0]",
        draws: "xc900",
    },
    Failure {
        name: "count-large",
        fails: || {
            let list = seen(structure!().vec(0..=300, |_| value!().int(0..=255)));
            list.iter().filter(|number| **number > 200).count() >= 3
        },
        smallest: "[201, 201, 201]",
        draws: "3 201 201 201",
    },
    Failure {
        name: "geometric-size",
        fails: || {
            // JQF's sizes: how many comes from a fraction that is drawn first.
            let size = structure!().geometric(4);
            let list = seen((0..size).map(|_| value!().int(0..=9)).collect::<Vec<_>>());
            list.iter().filter(|number| **number == 7).count() >= 2
        },
        smallest: "[7, 7]",
        draws: "0.3 7 7",
    },
    Failure {
        name: "fraction",
        fails: || seen(value!().float(-1000.0, 1000.0)) > 123.25,
        smallest: "124.0",
        draws: "124.0",
    },
    Failure {
        name: "equal-negative",
        fails: || {
            let (x, y) = seen((value!().int(-100..=100), value!().int(-100..=100)));
            x == y && x != 0
        },
        smallest: "(1, 1)",
        draws: "1 1",
    },
    Failure {
        name: "equal-bytes",
        fails: || {
            let (left, right) = seen((value!().bytes(1, 9), value!().bytes(1, 9)));
            left.iter().any(|byte| *byte > 3 && right.contains(byte))
        },
        smallest: "([4], [4])",
        draws: "x04 x04",
    },
    Failure {
        name: "equal-lengths",
        fails: || {
            let (left, right) = seen((value!().bytes(0, 9), value!().bytes(0, 9)));
            left.len() == right.len() && left.len() > 2
        },
        smallest: "([0, 0, 0], [0, 0, 0])",
        draws: "x000000 x000000",
    },
];

/// Notes a value.
fn seen<T: std::fmt::Debug>(value: T) -> T {
    note(format!("{value:?}"));
    value
}

/// A list whose elements are there as long as a decision before each says so.
fn list(more: Site, number: Site, lo: i64, hi: i64) -> Vec<i64> {
    more.repeat_while(0..=20, 7, 8)
        .map(|_| number.int(lo..=hi))
        .collect()
}

fn lists() -> Vec<Vec<i64>> {
    structure!()
        .repeat_while(0..=10, 3, 4)
        .map(|_| list(structure!(), value!(), 0, 100))
        .collect()
}

fn different(list: &[i64]) -> usize {
    let mut list = list.to_vec();
    list.sort_unstable();
    list.dedup();
    list.len()
}

/// A calculation in which no number is divided by a literal 0.
#[derive(Debug)]
enum Term {
    Number(i32),
    Add(Box<Term>, Box<Term>),
    Div(Box<Term>, Box<Term>),
}

impl Term {
    fn draw(depth: Depth) -> Term {
        let number = || Term::Number(value!().int(-10..=10));
        let Some(depth) = depth.down() else {
            return number();
        };
        one_of!(structure!();
        2 => number(),
        1 => Term::Add(Box::new(Term::draw(depth)), Box::new(Term::draw(depth))),
        1 => {
            let (above, below) = (Term::draw(depth), Term::draw(depth));
            sandglass_sdk::assume(!matches!(below, Term::Number(0)));
            Term::Div(Box::new(above), Box::new(below))
        })
    }

    /// None is a division by zero: the failure.
    fn value(&self) -> Option<i32> {
        match self {
            Term::Number(number) => Some(*number),
            Term::Add(left, right) => Some(left.value()? + right.value()?),
            Term::Div(above, below) => above.value()?.checked_div(below.value()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_sdk::native::{Choice, Outcome, Source, run};

    fn choice(token: &str) -> Choice {
        match token {
            "t" => Choice::Bool(true),
            "f" => Choice::Bool(false),
            _ => match token.strip_prefix('x') {
                Some(digits) => Choice::Bytes(
                    (0..digits.len() / 2)
                        .map(|place| {
                            u8::from_str_radix(&digits[2 * place..][..2], 16).expect("two digits")
                        })
                        .collect(),
                ),
                None if token.contains('.') => Choice::Float(token.parse().expect("a number")),
                None => Choice::Int(token.parse().expect("a number")),
            },
        }
    }

    #[test]
    fn the_smallest_failure_is_one() {
        for failure in FAILURES {
            let draws: Vec<Choice> = failure.draws.split(' ').map(choice).collect();
            let run = run(Source::Recorded(draws.clone()), failure.fails);
            assert_eq!(run.drawn.len(), draws.len(), "{}", failure.name);
            assert_eq!(run.notes, [failure.smallest], "{}", failure.name);
            assert_eq!(run.outcome, Outcome::Done(true), "{}", failure.name);
        }
    }

    /// Enough random failures to shrink from, and none of them takes fewer draws than the smallest.
    #[test]
    fn every_property_fails_often_enough() {
        for failure in FAILURES {
            let draws = failure.draws.split(' ').count();
            let mut failures = 0;
            for seed in 0..20_000 {
                let run = run(Source::Seeded(seed), failure.fails);
                if run.outcome == Outcome::Done(true) {
                    failures += 1;
                    assert!(
                        run.drawn.len() >= draws,
                        "{}: {:?}",
                        failure.name,
                        run.notes
                    );
                }
            }
            assert!(failures >= 100, "{}: {failures}", failure.name);
        }
    }
}
