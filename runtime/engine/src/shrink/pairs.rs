//! Two numbers near each other, which what holds may depend on together.
//!
//! Floats move by whole steps, or to a whole number, where nothing is rounded by that.

use super::{Search, float};
use crate::choice::Domain;

/// How many draws may lie between the two.
const GAP_MAX: usize = 4;

/// A number among the draws, as it was when it was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    at: usize,
    domain: Domain,
    /// Its value, as a node has it.
    value: u64,
    /// How many whole steps it is above the simplest of its domain.
    pub(super) distance: i128,
}

impl Number {
    /// Its value and so many whole steps; none if that is not of its domain, or would be rounded.
    pub(super) fn plus(self, steps: i128) -> Option<u64> {
        let value = match self.domain {
            Domain::Int { .. } => {
                let value = i128::from(self.value.cast_signed()) + steps;
                i64::try_from(value).ok()?.cast_unsigned()
            }
            _ if steps.abs() > MANY => return None,
            _ => sum(self.value, steps as f64)?,
        };
        self.domain.has(value).then_some(value)
    }

    /// The same; where a float would leave its domain upwards, the greatest half of it. Integers have a
    /// greatest value to come to; the bound of floats is none of them.
    pub(super) fn plus_within(self, steps: i128) -> Option<u64> {
        if let Domain::Float { hi, .. } = self.domain
            && self.plus(steps).is_none()
            && steps > 0
        {
            let halves = (f64::from_bits(hi) * 2.0).ceil() - 1.0;
            let value = (halves / 2.0).to_bits();
            return self.domain.has(value).then_some(value);
        }
        self.plus(steps)
    }

    /// How far it is above the whole numbers on both sides of it, that towards nought first; none if it is
    /// one.
    pub(super) fn to_whole(self) -> impl Iterator<Item = f64> {
        let value = match self.domain {
            Domain::Float { .. } => f64::from_bits(self.value),
            _ => 0.0,
        };
        let fraction = Some(value.fract()).filter(|fraction| *fraction != 0.0);
        fraction
            .into_iter()
            .flat_map(move |fraction| [fraction, fraction - value.signum()])
    }

    /// Its value and a fraction, if it is a float.
    pub(super) fn plus_fraction(self, fraction: f64) -> Option<u64> {
        let Domain::Float { .. } = self.domain else {
            return None;
        };
        sum(self.value, fraction).filter(|value| self.domain.has(*value))
    }
}

/// The steps that a float moves by at most: beyond, not every whole number is one.
const MANY: i128 = 1 << 53;

/// The sum of a float and another number, if that is not rounded (Knuth's *two-sum* has no error).
fn sum(value: u64, by: f64) -> Option<u64> {
    let value = f64::from_bits(value);
    let sum = value + by;
    (sum - value == by && sum - by == value).then_some(sum.to_bits())
}

/// Does something with each two numbers, the first one not yet the simplest.
pub(super) fn each<E>(
    search: &mut Search<'_, E>,
    mut edit: impl FnMut(&mut Search<'_, E>, Number, Number) -> Result<(), E>,
) -> Result<(), E> {
    for at in 0..search.len() {
        for gap in 1..=GAP_MAX {
            if search.is_spent() {
                return Ok(());
            }
            let two = (number(search, at), number(search, at + gap));
            if let (Some(first), Some(second)) = two
                && first.value != first.domain.simplest()
            {
                edit(search, first, second)?;
            }
        }
    }
    Ok(())
}

fn number<E>(search: &Search<'_, E>, at: usize) -> Option<Number> {
    let node = search.best.nodes.get(at)?;
    let domain = node.draw.domain;
    let distance = match domain {
        Domain::Int { .. } => {
            let simplest = domain.simplest().cast_signed();
            i128::from(node.value.cast_signed()) - i128::from(simplest)
        }
        Domain::Float { .. } => {
            let (value, simplest) = (
                f64::from_bits(node.value),
                f64::from_bits(domain.simplest()),
            );
            if value.abs().max(simplest.abs()) >= float::HUGE {
                return None;
            }
            // From whole part to whole part, so that nothing is rounded.
            value.trunc() as i128 - simplest.trunc() as i128
        }
        _ => return None,
    };
    Some(Number {
        at,
        domain,
        value: node.value,
        distance,
    })
}

/// Tries other values for two numbers, if each has one and is still a draw of the same domain: what
/// helped since they were looked at may have left fewer draws, or others.
pub(super) fn set<E>(
    search: &mut Search<'_, E>,
    to: [(Number, Option<u64>); 2],
) -> Result<bool, E> {
    let [(first, Some(one)), (second, Some(two))] = to else {
        return Ok(false);
    };
    let is_there = |number: Number| {
        let node = search.best.nodes.get(number.at);
        node.is_some_and(|node| node.draw.domain == number.domain)
    };
    if !is_there(first) || !is_there(second) {
        return Ok(false);
    }
    search.attempt(|candidate| {
        candidate.nodes[first.at].value = one;
        candidate.nodes[second.at].value = two;
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::ChoiceSequence;
    use crate::shrink::tests::sequence;
    use std::convert::Infallible;

    /// What was looked at is another draw now, of which the value would be one as well.
    #[test]
    fn numbers_that_are_gone_are_left_alone() {
        let (small, great) = (Domain::Int { lo: 0, hi: 9 }, Domain::Int { lo: 0, hi: 99 });
        let mut test = |_: &ChoiceSequence| -> Result<_, Infallible> { panic!("tested") };
        for after in [vec![(small, 5), (great, 5)], vec![(small, 5)]] {
            let before = sequence([(small, 5), (small, 5)]);
            let mut search = Search::new(before, 10, &mut test);
            let [first, second] = [0, 1].map(|at| number(&search, at).expect("a number"));
            search.take(sequence(after));
            let to = [(first, first.plus(-1)), (second, second.plus(-1))];
            assert_eq!(set(&mut search, to), Ok(false));
        }
    }

    #[test]
    fn floats_move_if_nothing_is_rounded() {
        let of = |value: f64| Number {
            at: 0,
            domain: Domain::float(-8.0, 1000.3),
            value: value.to_bits(),
            distance: 0,
        };
        let float = |bits: Option<u64>| bits.map(f64::from_bits);
        assert_eq!(float(of(2.5).plus(-2)), Some(0.5));
        assert_eq!(float(of(2.5).plus(-11)), None);
        assert_eq!(float(of(0.1).plus(1)), None);
        assert_eq!(float(of(0.1).plus(1 << 60)), None);
        assert_eq!(float(of(2.5).plus_within(998)), Some(1000.0));
        assert_eq!(float(of(2.5).plus_within(997)), Some(999.5));
        assert_eq!(float(of(2.5).plus_fraction(-0.25)), Some(2.25));
        let to_whole = |value: f64| of(value).to_whole().collect::<Vec<f64>>();
        assert_eq!(to_whole(2.75), [0.75, -0.25]);
        assert_eq!(to_whole(-2.75), [-0.75, 0.25]);
        assert_eq!(to_whole(2.0), []);
    }
}
