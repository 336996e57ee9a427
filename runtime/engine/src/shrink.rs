//! Shrinking: the simplest choices for which something still holds.
//!
//! In: a sequence of choices and a test. Out: a sequence that is no larger in *shortlex* order: fewer
//! draws first, then simpler values from the front. As every candidate is given to the generator,
//! what comes out is something that it can make. Hypothesis's internal reduction (MacIver and
//! Donaldson, ECOOP 2020), one pass per file (`pairs` is what two of them share); they take turns
//! until none of them helps. What the test does is not known here.

mod delete;
mod descend;
mod equal;
mod equal_bytes;
mod lower;
mod pairs;
mod redistribute;
mod resize;
mod sort;
mod spans;
mod together;

use std::collections::BTreeSet;

use crate::choice::{ChoiceNode, ChoiceSequence, Domain};
use crate::digest;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// The simplest choices found, as they were drawn.
    pub choices: ChoiceSequence,
    /// Tests made.
    pub execs: u64,
    /// Whether the search ended because nothing more helped.
    pub is_minimal: bool,
}

/// Runs a candidate: what was really drawn, if it still holds. Draws beyond the candidate's end get
/// the simplest value.
pub type Test<'a, E> = &'a mut dyn FnMut(&ChoiceSequence) -> Result<Option<ChoiceSequence>, E>;

/// Makes `choices` simpler while `test` says yes, with at most `execs_max` tests. The test is taken
/// to hold for `choices` themselves.
///
/// Errs when the test does.
pub fn shrink<E>(choices: ChoiceSequence, execs_max: u64, test: Test<'_, E>) -> Result<Shrunk, E> {
    let mut search = Search {
        best: choices,
        tried: BTreeSet::new(),
        execs: 0,
        execs_max,
        test,
    };
    loop {
        let before = search.best.clone();
        spans::pass(&mut search)?;
        descend::pass(&mut search)?;
        delete::pass(&mut search)?;
        resize::pass(&mut search)?;
        lower::pass(&mut search)?;
        equal::pass(&mut search)?;
        equal_bytes::pass(&mut search)?;
        together::pass(&mut search)?;
        redistribute::pass(&mut search)?;
        sort::pass(&mut search)?;
        if search.best == before || search.is_spent() {
            break;
        }
    }
    Ok(Shrunk {
        is_minimal: !search.is_spent(),
        choices: search.best,
        execs: search.execs,
    })
}

/// One draw with the bytes that it drew.
type Item = (ChoiceNode, Vec<u8>);

/// A search in progress: what passes work on.
struct Search<'a, E> {
    best: ChoiceSequence,
    /// Keys of the candidates that were tested.
    tried: BTreeSet<u128>,
    execs: u64,
    execs_max: u64,
    test: Test<'a, E>,
}

impl<E> Search<'_, E> {
    fn is_spent(&self) -> bool {
        self.execs >= self.execs_max
    }

    fn len(&self) -> usize {
        self.best.nodes.len()
    }

    fn items(&self) -> Vec<Item> {
        let items = self.best.iter();
        items.map(|(node, bytes)| (*node, bytes.to_vec())).collect()
    }

    /// Takes what the generator makes of these draws, if it holds and is simpler.
    fn attempt(&mut self, items: &[Item]) -> Result<bool, E> {
        if self.is_spent() {
            return Ok(false);
        }
        let mut candidate = ChoiceSequence::default();
        for (node, bytes) in items {
            candidate.nodes.push(*node);
            candidate.payload.extend_from_slice(bytes);
        }
        // What was tried before failed, or is what we have.
        if !is_simpler(&candidate, &self.best) || !self.tried.insert(key(&candidate)) {
            return Ok(false);
        }
        self.execs += 1;
        match (self.test)(&candidate)? {
            Some(drawn) if is_simpler(&drawn, &self.best) => {
                self.best = drawn;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Without the draws `from..to`.
    fn without(&mut self, from: usize, to: usize) -> Result<bool, E> {
        let mut items = self.items();
        items.drain(from..to);
        self.attempt(&items)
    }
}

/// Hash of what a replay reads of a candidate.
fn key(candidate: &ChoiceSequence) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for node in &candidate.nodes {
        let kind = match node.draw.domain {
            Domain::Bool { .. } => 0u8,
            Domain::Int { .. } => 1,
            Domain::Float { .. } => 2,
            Domain::Bytes { .. } => 3,
        };
        hasher.update(&[kind]);
        hasher.update(&node.value.to_le_bytes());
    }
    hasher.update(&candidate.payload);
    digest::short(hasher.finalize())
}

/// Whether a sequence comes before another in shortlex order.
fn is_simpler(a: &ChoiceSequence, b: &ChoiceSequence) -> bool {
    if a.nodes.len() != b.nodes.len() {
        return a.nodes.len() < b.nodes.len();
    }
    let keys = |sequence: &ChoiceSequence| -> Vec<(u64, Vec<u8>)> {
        let items = sequence.iter();
        items
            .map(|(node, bytes)| (complexity(node), bytes.to_vec()))
            .collect()
    };
    keys(a) < keys(b)
}

/// How far a value is from the simplest of its domain; of two numbers as far, the greater is simpler.
fn complexity(node: &ChoiceNode) -> u64 {
    let simplest = node.draw.domain.simplest();
    match node.draw.domain {
        Domain::Int { .. } => {
            let (value, simplest) = (node.value.cast_signed(), simplest.cast_signed());
            let distance = value.abs_diff(simplest);
            distance.saturating_mul(2) - u64::from(value > simplest && distance < u64::MAX / 2)
        }
        Domain::Bool { .. } => u64::from(node.value != simplest),
        // Whole numbers before fractions, then by size.
        Domain::Float { .. } => {
            let value = f64::from_bits(node.value);
            let size = value.abs().to_bits() >> 1;
            let sign = u64::from(value < 0.0);
            u64::from(value.fract() != 0.0) << 63 | size << 1 | sign
        }
        Domain::Bytes { .. } => node.value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::{ChoiceNode, Domain, Drawing, Role, Source};
    use crate::rng::Rng;
    use std::convert::Infallible;

    fn int(lo: i64, hi: i64, value: i64) -> ChoiceSequence {
        let mut drawing = Drawing::new(Source::Fresh(Rng::new(0)), 100);
        drawing.int(0, Role::Value, lo, hi).unwrap();
        let mut choices = drawing.finish();
        choices.nodes[0].value = value.cast_unsigned();
        choices
    }

    #[test]
    fn near_nought_and_positive_is_simpler() {
        let in_order = [0, 1, -1, 2, -2, 100, i64::MAX / 4];
        for pair in in_order.windows(2) {
            let full = |value| int(i64::MIN, i64::MAX, value);
            assert!(is_simpler(&full(pair[0]), &full(pair[1])), "{pair:?}");
        }
        assert!(is_simpler(&ChoiceSequence::default(), &int(0, 9, 0)));
    }

    /// What holds for every positive number has no least one: the search comes near nought, and ends.
    #[test]
    fn fractions_without_a_least_one_end() {
        for value in [0.6, 1e-310, f64::MIN_POSITIVE] {
            let mut drawing = Drawing::new(Source::Fresh(Rng::new(0)), 100);
            drawing
                .draw(0, Role::Value, Domain::float(0.0, 1.0))
                .unwrap();
            let mut choices = drawing.finish();
            choices.nodes[0].value = f64::to_bits(value);
            let mut test = |choices: &ChoiceSequence| -> Result<_, Infallible> {
                let is_positive = |node: &ChoiceNode| f64::from_bits(node.value) > 0.0;
                let holds = choices.nodes.first().is_some_and(is_positive);
                Ok(holds.then(|| choices.clone()))
            };
            let Ok(shrunk) = shrink(choices, 100_000, &mut test);
            assert!(shrunk.is_minimal, "{value}");
        }
    }

    #[test]
    fn the_number_of_tests_is_bounded() {
        let mut calls = 0;
        let mut test = |_: &ChoiceSequence| -> Result<_, Infallible> {
            calls += 1;
            Ok(None)
        };
        let Ok(shrunk) = shrink(int(0, 1 << 40, 1 << 39), 3, &mut test);
        assert!((shrunk.execs, shrunk.is_minimal) == (3, false) && calls == 3);
    }
}
