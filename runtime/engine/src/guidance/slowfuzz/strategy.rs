//! Which mutation, and where: ε-greedy, as SlowFuzz learns it.
//!
//! In: mutations that were kept. Out: the next mutation. Half of the time (ε = 0.5, as the code has
//! it) the mutator that was kept most often is used, else any; half of the time it starts within the
//! tenth of the input where most mutations that were kept have started, else anywhere. SlowFuzz,
//! §4.3 of the paper, and `MutateImpl`.
//!
//! As the code has it, too:
//! - a mutator that cannot be applied is followed by the next best;
//! - the draw that decides about the place decides, if the mutator cannot be applied, about the next
//!   mutator as well;
//! - places are counted in ninths of the longest input and used as tenths.

use serde::{Deserialize, Serialize};

use super::mutators::{MUTATORS, Materials, Place, apply};
use super::{below, coin};
use crate::rng::Rng;

/// `score_buckets`.
const BUCKETS: usize = 10;
/// Rounds over all mutators before giving up.
const ROUNDS: u32 = 100;

/// What was learnt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Strategy {
    /// Whether mutators are learnt, and whether places are.
    mutators: bool,
    places: bool,
    /// By mutator, and by place: mutations that were kept.
    mutator_scores: Vec<u64>,
    place_scores: Vec<u64>,
}

impl Strategy {
    /// One that has learnt nothing.
    pub(super) fn new(mutators: bool, places: bool) -> Strategy {
        Strategy {
            mutators,
            places,
            mutator_scores: vec![0; MUTATORS],
            place_scores: vec![0; BUCKETS + 1],
        }
    }

    /// Changes an input; it stays as it is if nothing can be done.
    pub(super) fn mutate(
        &self,
        bytes: &mut Vec<u8>,
        materials: &Materials<'_>,
        rng: &mut Rng,
    ) -> Place {
        let mut order: Vec<usize> = (0..MUTATORS).collect();
        order.sort_by_key(|&mutator| std::cmp::Reverse(self.mutator_scores[mutator]));
        let mut is_greedy = coin(rng);
        for _ in 0..ROUNDS {
            for &best in &order {
                let mutator = match self.mutators && is_greedy {
                    true => best,
                    false => below(rng, MUTATORS),
                };
                is_greedy = coin(rng);
                let start = (self.places && is_greedy).then(|| {
                    let tenth = materials.bytes_max / BUCKETS;
                    self.best_place() * tenth + below(rng, tenth)
                });
                if let Some(place) = apply(mutator, bytes, start, materials, rng) {
                    return place;
                }
            }
        }
        Place::default()
    }

    /// Learns that what a mutation led to was kept.
    pub(super) fn succeed(&mut self, place: &Place, bytes_max: usize) {
        if self.mutators || self.places {
            self.mutator_scores[place.mutator] += 1;
            let ninth = (bytes_max / (BUCKETS - 1)).max(1);
            self.place_scores[match place.start / ninth {
                at @ 0..=BUCKETS => at,
                at => at % BUCKETS,
            }] += 1;
        }
    }

    /// The first of those with the highest score.
    fn best_place(&self) -> usize {
        let best = self.place_scores.iter().max();
        let best = self
            .place_scores
            .iter()
            .position(|score| Some(score) == best);
        best.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Corpus;

    fn place(mutator: usize, start: usize) -> Place {
        Place {
            mutator,
            start,
            word: None,
        }
    }

    /// How often of 10,000 times each mutator is used on a text of 100 bytes, and how often it starts
    /// within 80..90.
    fn uses(strategy: &Strategy) -> (Vec<u32>, u32) {
        let corpus = Corpus::default();
        let materials = Materials {
            bytes_max: 100,
            corpus: &corpus,
            words: &[],
            persistent: &[],
        };
        let (mut rng, mut uses, mut within) = (Rng::new(1), vec![0; MUTATORS], 0);
        for _ in 0..10_000 {
            let place = strategy.mutate(&mut vec![b'7'; 90], &materials, &mut rng);
            uses[place.mutator] += 1;
            within += u32::from((80..90).contains(&place.start));
        }
        (uses, within)
    }

    #[test]
    fn half_of_the_time_the_best_mutator_and_place_are_used() {
        for (mutators, places) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut strategy = Strategy::new(mutators, places);
            strategy.succeed(&place(4, 90), 100);
            strategy.succeed(&place(4, 89), 100);
            let (uses, within) = uses(&strategy);
            // Of thirteen mutators four cannot be applied: there are no words, and no partners.
            let by_chance = 10_000 / 9;
            let expected = if mutators {
                5_000 + by_chance / 2
            } else {
                by_chance
            };
            assert!(uses[4].abs_diff(expected) < 300, "{mutators}: {uses:?}");
            // Long parts do not fit behind a place so late, and begin anywhere.
            let expected = if places { 4_300..5_500 } else { 700..1_500 };
            assert!(expected.contains(&within), "{places}: {within}");
        }
    }

    #[test]
    fn places_are_learnt_in_ninths_and_used_as_tenths() {
        let mut strategy = Strategy::new(false, true);
        strategy.succeed(&place(0, 30), 100);
        // 30 / 11 = 2, and 2 × 10 = 20 is where it is thought to have been.
        assert_eq!(strategy.best_place(), 2);
        strategy.succeed(&place(0, 0), 100);
        assert_eq!(strategy.best_place(), 0);
    }

    #[test]
    fn an_input_without_room_stays_as_it_is() {
        let corpus = Corpus::default();
        let materials = Materials {
            bytes_max: 1,
            corpus: &corpus,
            words: &[],
            persistent: &[],
        };
        let strategy = Strategy::new(true, true);
        for seed in 0..200 {
            let mut bytes = vec![b'x'];
            strategy.mutate(&mut bytes, &materials, &mut Rng::new(seed));
            assert_eq!(bytes.len(), 1);
        }
    }
}
