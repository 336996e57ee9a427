//! Types: which bytes of an input were read to make a value of which type, and which type to change.
//!
//! In: the spans of a run, whose labels name types, and how far each type is from the branches that it
//! influences. Out: the type whose bytes a child differs in. SpotOn: a type is drawn with weight
//! 1/distance; one that the input has moves a quarter nearer, though never nearer than it was at first,
//! and one that it does not have a third farther away.
//!
//! Distances are in units of 2⁻¹⁶ steps and all arithmetic is in whole numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ChoiceSequence;
use super::jqf::tape_starts;
use super::strings::Strings;
use crate::rng::Rng;

/// What a static analysis says of the target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Its own strings, if generators may draw them and there are any.
    pub strings: Option<Strings>,
    /// The types that influence some branch.
    pub types: Vec<TargetType>,
    /// The probes of those branches' arms.
    pub arms: Vec<u32>,
    /// Of each probe the first one of the same decision, if that is wanted; of a function's entry itself.
    pub decisions: Vec<u32>,
}

/// A type that influences some branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetType {
    /// The labels of spans that may name it.
    pub labels: Vec<u32>,
    /// How far it is from the nearest such branch, in steps; at least 1.
    pub steps: u32,
}

/// One step.
const STEP: u64 = 1 << 16;
/// Types are never farther away than this.
const DISTANCE_MAX: u64 = 1000 * STEP;
/// Types that are tried before giving up.
const ATTEMPTS: u32 = 10;

/// How far each type is by now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distances(Vec<Distance>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Distance {
    labels: Vec<u32>,
    first: u64,
    now: u64,
}

impl Distances {
    /// As the analysis says.
    pub fn new(targets: &Targets) -> Distances {
        let types = targets.types.iter();
        let types = types.map(|of| {
            let first = (u64::from(of.steps.max(1)) * STEP).min(DISTANCE_MAX);
            Distance {
                labels: of.labels.clone(),
                first,
                now: first,
            }
        });
        Distances(types.collect())
    }

    /// A label of a type that the input has, drawn by weight; nothing if ten draws found none. Learns
    /// from each draw.
    pub fn choose(&mut self, has: impl Fn(u32) -> bool, rng: &mut Rng) -> Option<u32> {
        for _ in 0..ATTEMPTS {
            let drawn = self.draw(rng)?;
            let of = &mut self.0[drawn];
            if let Some(label) = of.labels.iter().copied().find(|&label| has(label)) {
                of.now = (of.now * 3 / 4).max(of.first);
                return Some(label);
            }
            of.now = (of.now * 4 / 3).min(DISTANCE_MAX);
        }
        None
    }

    /// A type with weight 1/distance, found from the nearest on.
    fn draw(&self, rng: &mut Rng) -> Option<usize> {
        // At least 2⁶⁰ / (1000 · 2¹⁶), so that rounding does not matter.
        let weight = |now: u64| (1 << 60) / u128::from(now);
        let mut near: Vec<(u64, usize)> = (self.0.iter().enumerate())
            .map(|(at, of)| (of.now, at))
            .collect();
        near.sort_unstable();
        let total: u128 = near.iter().map(|&(now, _)| weight(now)).sum();
        let mut left = (u128::from(rng.word()) * total) >> 64;
        for (now, at) in near {
            let weight = weight(now);
            if left < weight {
                return Some(at);
            }
            left -= weight;
        }
        None
    }
}

/// Bytes of a tape, from one on and up to another.
pub type Interval = (u32, u32);

/// By label, the bytes that were read to make values of that type: intervals that neither touch nor
/// overlap, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeIntervals(BTreeMap<u32, Arc<[Interval]>>);

impl TypeIntervals {
    /// Those of a run: a byte is of every type that a span around its draw names.
    pub fn new(choices: &ChoiceSequence) -> TypeIntervals {
        let starts = tape_starts(choices);
        let mut found: BTreeMap<u32, Vec<Interval>> = BTreeMap::new();
        for span in &choices.spans {
            let (start, end) = (starts[span.first as usize], starts[span.end as usize]);
            if start == end {
                continue;
            }
            // Spans come in the order of their beginnings.
            let intervals = found.entry(span.label).or_default();
            match intervals.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => intervals.push((start, end)),
            }
        }
        let found = found.into_iter();
        TypeIntervals(found.map(|(label, of)| (label, of.into())).collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes of one type, if it has any.
    pub fn get(&self, label: u32) -> Option<&Arc<[Interval]>> {
        self.0.get(&label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(steps: &[(u32, u32)]) -> Distances {
        let of = |&(label, steps): &(u32, u32)| TargetType {
            labels: vec![label + 100, label],
            steps,
        };
        Distances::new(&Targets {
            types: steps.iter().map(of).collect(),
            ..Targets::default()
        })
    }

    fn now(distances: &Distances, label: u32) -> f64 {
        let of = distances.0.iter().find(|of| of.labels.contains(&label));
        of.unwrap().now as f64 / STEP as f64
    }

    /// Conformance item 11: types are drawn in proportion to 1/distance.
    #[test]
    fn near_types_are_drawn_more_often() {
        let distances = distances(&[(1, 1), (2, 2), (3, 4), (4, 40)]);
        let mut rng = Rng::new(1);
        let mut counts = BTreeMap::new();
        const DRAWS: u32 = 200_000;
        for _ in 0..DRAWS {
            *counts
                .entry(distances.draw(&mut rng).unwrap())
                .or_insert(0u32) += 1;
        }
        let total = 1.0 + 0.5 + 0.25 + 0.025;
        for (label, weight) in [(1usize, 1.0), (2, 0.5), (3, 0.25), (4, 0.025)] {
            let share = f64::from(counts[&(label - 1)]) / f64::from(DRAWS);
            let expected = weight / total;
            assert!(
                (share - expected).abs() < 0.004,
                "{label}: {share} {expected}"
            );
        }
    }

    /// Conformance item 11: ¾ towards the original distance, 4/3 up to 1000, ten attempts.
    #[test]
    fn distances_move_within_their_bounds() {
        let mut rng = Rng::new(2);
        let mut one = distances(&[(7, 12)]);
        assert_eq!(one.choose(|label| label == 7, &mut rng), Some(7));
        assert_eq!(now(&one, 7), 12.0);
        // Ten attempts, and each is a third farther away.
        assert_eq!(one.choose(|_| false, &mut rng), None);
        assert!((now(&one, 7) - 12.0 * (4f64 / 3.0).powi(10)).abs() < 0.01);
        let before = now(&one, 7);
        assert_eq!(one.choose(|label| label == 7, &mut rng), Some(7));
        assert!((now(&one, 7) - before * 0.75).abs() < 0.01);
        for _ in 0..10 {
            one.choose(|_| false, &mut rng);
        }
        assert_eq!(now(&one, 7), 1000.0);
        for _ in 0..100 {
            one.choose(|_| true, &mut rng);
        }
        assert_eq!(now(&one, 7), 12.0);
        assert_eq!(distances(&[]).choose(|_| true, &mut rng), None);
    }

    /// A type that never matches gives way to one that does.
    #[test]
    fn what_is_missing_is_demoted() {
        let mut rng = Rng::new(3);
        let mut two = distances(&[(1, 1), (2, 30)]);
        let found = (0..100).filter(|_| two.choose(|label| label == 2, &mut rng).is_some());
        assert!(found.count() > 80);
        assert!(now(&two, 1) > 100.0 && now(&two, 2) == 30.0);
    }

    #[test]
    fn intervals_of_a_type_are_as_long_as_they_can_be() {
        let choices = ChoiceSequence::of_bytes(
            &[0; 8],
            &[
                (1, 0, 5, 0),
                (2, 0, 2, 1),
                (2, 2, 3, 1),
                (1, 3, 4, 1),
                (3, 4, 4, 1),
                (2, 6, 8, 0),
            ],
        );
        let intervals = TypeIntervals::new(&choices);
        let get = |label| intervals.get(label).map(|of| of.to_vec());
        assert_eq!(get(1), Some(vec![(0, 5)]));
        assert_eq!(get(2), Some(vec![(0, 3), (6, 8)]));
        assert_eq!(get(3), None);
    }
}
