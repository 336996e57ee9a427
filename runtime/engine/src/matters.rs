//! Which choices matter: those that cannot be just anything.
//!
//! In: a sequence of choices, and a test that holds for it. Out: for each draw, whether the test was
//! seen to fail once the draw was something else. Hypothesis's explain phase, for single draws: what
//! is said to be anything was only tried, with values that are the same for everybody.

use std::sync::Arc;

use crate::choice::replay::{After, Replay};
use crate::choice::{ChoiceNode, ChoiceSequence, Domain, Draw, Drawing, Source};
use crate::rng::{Rng, derive};

/// Other values that each draw is given, at most.
const TRIES: u64 = 6;

/// Random values that are looked at for one that differs.
const LOOKS: u64 = 20;

/// What is known of one draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matters {
    /// With another value, the test failed.
    Yes,
    /// It held for all values that were tried.
    Anything,
    /// Nothing was tried: there is no other value, or there were no tests left.
    Unknown,
}

/// Tries other values of each draw, the first draws first, until `may_go_on` says no. What follows
/// a draw that changed is repaired by whoever makes the test.
///
/// Errs when the test does.
pub fn matters<E>(
    choices: &ChoiceSequence,
    test: &mut dyn FnMut(&ChoiceSequence) -> Result<bool, E>,
    may_go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<Matters>, E> {
    let mut known = vec![Matters::Unknown; choices.nodes.len()];
    let mut from = 0;
    for (at, (node, bytes)) in choices.iter().enumerate() {
        for (value, payload) in others(node, bytes, at as u64) {
            if !may_go_on() {
                return Ok(known);
            }
            let mut other = choices.clone();
            other.nodes[at].value = value;
            if let Domain::Bytes { .. } = node.draw.domain {
                (other.payload).splice(from..from + bytes.len(), payload);
            }
            if !test(&other)? {
                known[at] = Matters::Yes;
                break;
            }
            known[at] = Matters::Anything;
        }
        from += bytes.len();
    }
    Ok(known)
}

/// Other values of one draw: the simplest, and random ones, which its number decides.
fn others(node: &ChoiceNode, bytes: &[u8], number: u64) -> impl Iterator<Item = (u64, Vec<u8>)> {
    let mut seen = vec![(node.value, bytes.to_vec())];
    let nothing = Arc::new(ChoiceSequence::default());
    let Draw { site, role, domain } = node.draw;
    for look in 0..LOOKS {
        let after = match look {
            0 => After::Simplest,
            _ => After::Fresh(Rng::new(derive(number, look))),
        };
        let source = Source::Replay(Replay::new(Arc::clone(&nothing), after));
        let mut drawing = Drawing::new(source, u32::MAX);
        if drawing.draw(site, role, domain).is_err() {
            break;
        }
        let drawn = drawing.finish();
        let value = (drawn.nodes[0].value, drawn.payload);
        if !seen.contains(&value) {
            seen.push(value);
        }
        if seen.len() as u64 > TRIES {
            break;
        }
    }
    seen.into_iter().skip(1)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::choice::Role;

    fn sample() -> ChoiceSequence {
        let mut drawing = Drawing::new(Source::Fresh(Rng::new(3)), 10_000);
        drawing.int(0, Role::Value, 7, 7).unwrap();
        drawing
            .draw(1, Role::Value, Domain::Bytes { min: 2, max: 9 })
            .unwrap();
        drawing.int(2, Role::Value, 0, 1000).unwrap();
        drawing.coin(3, Role::Structure).unwrap();
        drawing
            .draw(4, Role::Value, Domain::Bytes { min: 0, max: 9 })
            .unwrap();
        drawing.finish()
    }

    #[test]
    fn what_the_test_looks_at_matters() {
        let choices = sample();
        let value = choices.nodes[2].value;
        let last = choices.iter().nth(4).unwrap().1.to_vec();
        let mut tests = 0;
        let mut test = |other: &ChoiceSequence| -> Result<bool, Infallible> {
            assert!(other.is_sound());
            let differ = other.iter().zip(choices.iter()).filter(|(a, b)| a != b);
            assert_eq!(differ.count(), 1);
            tests += 1;
            let same = other.iter().nth(4).unwrap().1 == last;
            Ok(same && other.nodes[2].value == value)
        };
        let Ok(known) = matters(&choices, &mut test, &mut || true);
        use Matters::{Anything, Unknown, Yes};
        assert_eq!(known, [Unknown, Anything, Yes, Anything, Yes]);
        // Six others of the first bytes, one of the coin, and the first that fails of the rest.
        assert_eq!(tests, 6 + 1 + 1 + 1);
    }

    #[test]
    fn without_tests_nothing_is_known() {
        let mut left = 2;
        let mut may_go_on = || {
            left -= 1;
            left >= 0
        };
        let mut test = |_: &ChoiceSequence| Ok::<_, Infallible>(true);
        let Ok(known) = matters(&sample(), &mut test, &mut may_go_on);
        assert_eq!(
            known[..3],
            [Matters::Unknown, Matters::Anything, Matters::Unknown]
        );
    }
}
