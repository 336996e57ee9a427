//! The fewest inputs that cover what all of them cover.
//!
//! In: for each input its size and its features, ascending. Out: indices of a
//! subset with the same union. Greedy: each time the input that adds most, of
//! several the smallest, of several the first. Finding the true minimum is
//! NP-hard; greedy is within ln n of it and libFuzzer, AFL and everybody else
//! do no better. What a feature means is not known here.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// What the choice needs to know of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its size in bytes.
    pub bytes: u64,
    /// What it covers; ascending, no repetitions.
    pub features: Vec<u64>,
}

/// Indices of the chosen candidates, in the order in which they were chosen.
pub fn smallest_cover(candidates: &[Candidate]) -> Vec<usize> {
    // A candidate's gain only ever shrinks, so one whose gain is up to date at
    // the top of the heap is the best ("lazy greedy", Minoux 1978).
    let mut heap: BinaryHeap<(usize, Reverse<u64>, Reverse<usize>)> = candidates
        .iter()
        .enumerate()
        .map(|(index, c)| (c.features.len(), Reverse(c.bytes), Reverse(index)))
        .collect();
    let mut covered = BTreeSet::new();
    let mut chosen = Vec::new();
    while let Some((gain, bytes, Reverse(index))) = heap.pop() {
        let features = &candidates[index].features;
        let gain_now = features.iter().filter(|f| !covered.contains(*f)).count();
        if gain_now == 0 {
            continue;
        }
        if gain_now < gain {
            heap.push((gain_now, bytes, Reverse(index)));
            continue;
        }
        covered.extend(features.iter().copied());
        chosen.push(index);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(list: &[(u64, &[u64])]) -> Vec<Candidate> {
        list.iter()
            .map(|&(bytes, features)| Candidate {
                bytes,
                features: features.to_vec(),
            })
            .collect()
    }

    #[test]
    fn the_largest_gain_wins_then_the_smaller_then_the_first() {
        let list = candidates(&[
            (9, &[1, 2]),
            (5, &[1, 2]),
            (5, &[1, 2]),
            (1, &[3]),
            (7, &[1]),
            (0, &[]),
        ]);
        assert_eq!(smallest_cover(&list), [1, 3]);
        assert_eq!(smallest_cover(&[]), [] as [usize; 0]);
    }

    #[test]
    fn the_union_stays_the_same() {
        // A small linear congruential sequence; the seed is the test's own.
        let mut state = 7u64;
        let mut next = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        };
        let list: Vec<Candidate> = (0..200)
            .map(|_| {
                let features: BTreeSet<u64> = (0..next(20)).map(|_| next(300)).collect();
                Candidate {
                    bytes: next(100),
                    features: features.into_iter().collect(),
                }
            })
            .collect();
        let union = |indices: &[usize]| -> BTreeSet<u64> {
            indices
                .iter()
                .flat_map(|&i| list[i].features.clone())
                .collect()
        };
        let all: Vec<usize> = (0..list.len()).collect();
        let chosen = smallest_cover(&list);
        assert_eq!(union(&chosen), union(&all));
        assert!(chosen.len() < 60, "{}", chosen.len());
    }
}
