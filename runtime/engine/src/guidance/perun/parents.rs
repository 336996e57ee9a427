//! Parents: who has a chance of children, and how great a chance.
//!
//! In: inputs with what they cost. Out: parents in ascending order of fitness, one of which is chosen by
//! Perun's five intervals. Fitness is an exact ratio, never a float. Defects D4 and D10 are here.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::check::Verdict;
use super::kind::Kind;
use crate::corpus::TestcaseId;
use crate::rng::Rng;

/// How many intervals of parents there are, and how the weights 1 to 5 of them sum up.
const INTERVALS: usize = 5;
const WEIGHTS: u32 = 15;
/// Fitnesses that are less than one part of this apart are taken for equal by Perun: 1e-5.
const CLOSE: u128 = 100_000;

/// How promising a parent is: a ratio, in units of the base cost (or 1, where cost does not matter).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fitness {
    numerator: u128,
    denominator: u32,
}

impl Fitness {
    /// Of what was only seen to cost this much: `cost / base`.
    pub(super) fn of_cost(cost: u64) -> Fitness {
        Fitness {
            numerator: cost.into(),
            denominator: 1,
        }
    }

    /// Of what was found to be a degradation: `cost / base × (1 + share)`.
    pub(super) fn of_degradation(cost: u64, verdict: Verdict) -> Fitness {
        let factor = u64::from(verdict.compared) + u64::from(verdict.degraded);
        Fitness {
            numerator: u128::from(cost) * u128::from(factor),
            denominator: verdict.compared,
        }
    }

    /// Of a degradation where cost does not matter: its share alone.
    pub(super) fn of_share(verdict: Verdict) -> Fitness {
        Fitness {
            numerator: verdict.degraded.into(),
            denominator: verdict.compared,
        }
    }

    fn cmp(self, other: Fitness) -> Ordering {
        self.over(other).cmp(&other.over(self))
    }

    /// The numerator over a common denominator.
    fn over(self, other: Fitness) -> u128 {
        self.numerator.saturating_mul(other.denominator.into())
    }

    /// Whether this is larger than another by at most 1e-5.
    fn is_just_above(self, other: Fitness, base: u64) -> bool {
        let Some(difference) = self.over(other).checked_sub(other.over(self)) else {
            return false;
        };
        let unit = u128::from(self.denominator) * u128::from(other.denominator);
        difference.saturating_mul(CLOSE) <= unit.saturating_mul(base.into())
    }
}

/// Something that children are made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parent {
    /// Counted over all parents.
    pub(super) number: u32,
    /// As the corpus has it, if it does.
    pub(super) id: Option<TestcaseId>,
    /// Its bytes; not empty.
    pub(super) bytes: Arc<[u8]>,
    /// What its seed was.
    pub(super) kind: Kind,
    /// Fuel of its run; 0 if it broke.
    pub(super) cost: u64,
    /// How promising it is.
    pub(super) fitness: Fitness,
}

/// All parents, ascending by fitness, and by age where that is equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parents {
    parents: Vec<Parent>,
}

impl Parents {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Adds a parent.
    pub(super) fn add(&mut self, parent: Parent) {
        let fitness = parent.fitness;
        let at =
            (self.parents).partition_point(|other| other.fitness.cmp(fitness) != Ordering::Greater);
        self.parents.insert(at, parent);
    }

    /// Adds a parent if there is none of the same bytes; whether there was none.
    pub(super) fn add_new(&mut self, parent: Parent) -> bool {
        // Equal bytes cost the same.
        let is_known = (self.parents.iter())
            .any(|other| other.cost == parent.cost && other.bytes == parent.bytes);
        if !is_known {
            self.add(parent);
        }
        !is_known
    }

    /// As Perun does it (defect D10): only parents whose fitness is as great or a little less are
    /// compared, so a duplicate of one with another fitness passes; and if one of them has other bytes,
    /// the new one passes without becoming a parent.
    pub(super) fn add_as_perun(&mut self, parent: Parent, base: u64) -> bool {
        let is_close = |other: &&Parent| parent.fitness.is_just_above(other.fitness, base);
        let close: Vec<&Parent> = self.parents.iter().filter(is_close).collect();
        if close.is_empty() {
            self.add(parent);
            return true;
        }
        close.iter().all(|other| other.bytes != parent.bytes)
    }

    /// Another fitness for a parent, if it is one.
    pub(super) fn rate(&mut self, number: u32, verdict: Verdict) {
        let of_number = |parent: &Parent| parent.number == number;
        if let Some(at) = self.parents.iter().position(of_number) {
            let mut parent = self.parents.remove(at);
            parent.fitness = Fitness::of_degradation(parent.cost, verdict);
            self.add(parent);
        }
    }

    /// Learns a parent's place in the corpus, if it is one, and shares its bytes.
    pub(super) fn name(&mut self, number: u32, id: TestcaseId, bytes: Arc<[u8]>) {
        let found = (self.parents.iter_mut()).find(|parent| parent.number == number);
        if let Some(parent) = found {
            parent.id = Some(id);
            parent.bytes = bytes;
        }
    }

    /// The next parent: of five intervals of equal width the `i`th has weight `i`, and within one all are
    /// equal; of fewer than five parents all are. What remains belongs to the last interval; with
    /// defect D4 only if it is smaller than an interval. Panics if there is none.
    pub(super) fn choose(&self, rng: &mut Rng, is_compat: bool) -> &Parent {
        let width = self.parents.len() / INTERVALS;
        if width == 0 {
            return &self.parents[rng.index(self.parents.len())];
        }
        let draw = rng.below(WEIGHTS);
        let interval = match draw {
            0 => 0,
            1..=2 => 1,
            3..=5 => 2,
            6..=9 => 3,
            _ => 4,
        };
        let remainder = self.parents.len() - INTERVALS * width;
        let is_extended = interval == INTERVALS - 1 && (!is_compat || remainder < width);
        let extra = if is_extended { remainder } else { 0 };
        &self.parents[interval * width + rng.index(width + extra)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(number: u32, cost: u64, bytes: &[u8]) -> Parent {
        Parent {
            number,
            id: None,
            bytes: Arc::from(bytes),
            kind: Kind::Text,
            cost,
            fitness: Fitness::of_cost(cost),
        }
    }

    fn numbers(parents: &Parents) -> Vec<u32> {
        parents.parents.iter().map(|parent| parent.number).collect()
    }

    fn parents(count: u32) -> Parents {
        let mut parents = Parents::default();
        (0..count).for_each(|n| parents.add(parent(n, n.into(), &[n as u8])));
        parents
    }

    /// How often each parent was chosen of 15,000 times.
    fn chosen(count: u32, is_compat: bool) -> Vec<u32> {
        let (parents, mut rng) = (parents(count), Rng::new(1));
        let mut chosen = vec![0; count as usize];
        for _ in 0..15_000 {
            chosen[parents.choose(&mut rng, is_compat).number as usize] += 1;
        }
        chosen
    }

    #[test]
    fn fitness_is_an_exact_ratio() {
        let half = Verdict {
            degraded: 1,
            compared: 2,
        };
        let rated = Fitness::of_degradation(20, half);
        assert_eq!(rated.cmp(Fitness::of_cost(30)), Ordering::Equal);
        assert_eq!(rated.cmp(Fitness::of_cost(29)), Ordering::Greater);
        let third = Verdict {
            degraded: 1,
            compared: 3,
        };
        let (half, third) = (Fitness::of_share(half), Fitness::of_share(third));
        assert_eq!(half.cmp(third), Ordering::Greater);
        // 29.9999 and 30, of a base of 10, are 1e-5 apart; 29.9998 is not so near.
        let near = |tenthousandths| Fitness {
            numerator: tenthousandths,
            denominator: 10_000,
        };
        assert!(rated.is_just_above(near(299_999), 10));
        assert!(!rated.is_just_above(near(299_998), 10));
        assert!(rated.is_just_above(rated, 10));
        assert!(!near(299_999).is_just_above(rated, 10));
    }

    #[test]
    fn parents_are_in_ascending_order() {
        let mut parents = Parents::default();
        for (number, cost) in [(0, 5), (1, 3), (2, 9), (3, 5)] {
            parents.add(parent(number, cost, &[number as u8]));
        }
        assert_eq!(numbers(&parents), [1, 0, 3, 2]);
        let all = Verdict {
            degraded: 1,
            compared: 1,
        };
        parents.rate(0, all);
        assert_eq!(numbers(&parents), [1, 3, 2, 0]);
        parents.rate(7, all);
        assert_eq!(parents.parents.len(), 4);
    }

    #[test]
    fn few_parents_are_equal_and_many_are_weighed() {
        let near = |count: u32, of: u32| (of * 9 / 10..of * 11 / 10).contains(&count);
        assert!(chosen(4, false).iter().all(|&n| near(n, 3_750)));
        let five = chosen(5, false);
        assert!(
            (0..5).all(|i| near(five[i], 1_000 * (i as u32 + 1))),
            "{five:?}"
        );
        let twelve = chosen(12, false);
        // The last interval has the two that remain, too: a third of the draws for four parents.
        assert!((8..12).all(|i| near(twelve[i], 1_250)), "{twelve:?}");
        assert!(near(twelve[0] + twelve[1], 1_000), "{twelve:?}");
    }

    /// Defect D4, for the counts of parents that the specification enumerates.
    #[test]
    fn the_best_parents_are_out_of_reach_for_some_counts() {
        let mut unreachable = Vec::new();
        for count in 5..60 {
            let reached = |is_compat| {
                let reached = chosen(count, is_compat).into_iter().filter(|&n| n > 0);
                reached.count() as u32
            };
            assert_eq!(reached(false), count);
            let in_compat = reached(true);
            if in_compat < count {
                assert_eq!(in_compat, count / 5 * 5, "the best of {count} are left out");
                unreachable.push(count);
            }
        }
        assert_eq!(unreachable, [6, 7, 8, 9, 12, 13, 14, 18, 19, 24]);
    }

    #[test]
    fn duplicates_are_known_by_their_bytes() {
        let mut parents = parents(3);
        assert!(!parents.add_new(parent(3, 2, &[2])));
        assert!(parents.add_new(parent(4, 2, &[9])));
        assert_eq!(numbers(&parents), [0, 1, 2, 4]);
    }

    /// Defect D10.
    #[test]
    fn what_costs_the_same_is_accepted_and_lost() {
        let mut parents = parents(3);
        assert!(!parents.add_as_perun(parent(3, 2, &[2]), 10));
        assert!(parents.add_as_perun(parent(4, 2, &[9]), 10));
        assert_eq!(numbers(&parents), [0, 1, 2]);
        assert!(parents.add_as_perun(parent(5, 3, &[9]), 10));
        assert_eq!(numbers(&parents), [0, 1, 2, 5]);
    }
}
