//! Known inputs: what a generator has made before is not worth a run of the target.
//!
//! In: hashes of inputs, as they are judged. Out: whether an input is one of them, in time that grows with the
//! square of the logarithm of their number. A set is copied by copying a few pointers, so that each batch can
//! hold the one that it was planned with, and what a trial makes depends on no other trial of its batch.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::strings::Strings;
use super::{ChoicePlan, Drawing};

/// Inputs that are remembered at most, 8 bytes each; of so many the older half is forgotten. What is short comes again
/// and again: of 490,000 executions on XML 7 % had been made before when 2^18 were remembered, and 1.5 % with 2^21.
const KNOWN_MAX: usize = 1 << 21;

/// Runs of the generator beyond a trial's first one, at most. Half of the children of short parents are known, so nine
/// tries in a row failed in 2 % of executions on JavaScript; 25 fail in hardly any.
const TRIES_MAX: u32 = 24;

/// Hashes of inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    young: Generation,
    /// What was young before, to be forgotten when the young ones are half of all that may be.
    old: Generation,
}

/// Hashes that came at about one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Generation {
    /// Each ascending, none of them empty, each more than twice as long as the next.
    runs: Vec<Arc<Vec<u64>>>,
}

impl Generation {
    fn extend(&mut self, mut hashes: Vec<u64>) {
        while let Some(last) = self.runs.pop_if(|run| run.len() <= 2 * hashes.len()) {
            hashes.extend_from_slice(&last);
        }
        if hashes.is_empty() {
            return;
        }
        hashes.sort_unstable();
        hashes.dedup();
        self.runs.push(Arc::new(hashes));
    }

    fn len(&self) -> usize {
        self.runs.iter().map(|run| run.len()).sum()
    }

    fn has(&self, hash: u64) -> bool {
        (self.runs.iter()).any(|run| run.binary_search(&hash).is_ok())
    }
}

impl Known {
    /// Adds the hashes of a batch's inputs.
    pub fn extend(&mut self, mut hashes: Vec<u64>) {
        hashes.retain(|&hash| !self.has(hash));
        self.young.extend(hashes);
        if self.young.len() > KNOWN_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an input has this hash.
    pub fn has(&self, hash: u64) -> bool {
        self.young.has(hash) || self.old.has(hash)
    }
}

/// What tells inputs apart: 64 bits, where two that collide cost one of them its run.
pub fn input_hash(input: &[u8]) -> u64 {
    let mut hash = input.len() as u64 ^ 0x5a6d_9ad1_0c9b_1f35;
    for chunk in input.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
    }
    hash
}

/// A trial's further tries: drawings in the place of one that made nothing new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tries {
    plan: ChoicePlan,
    known: Arc<Known>,
    done: u32,
    bytes_max: u32,
    strings: Option<Strings>,
}

impl Tries {
    pub(super) fn new(plan: ChoicePlan, known: Arc<Known>, bytes_max: u32) -> Tries {
        Tries {
            plan,
            known,
            done: 0,
            bytes_max,
            strings: None,
        }
    }

    /// The same, whose drawings may draw these strings.
    pub(super) fn with_strings(self, strings: Option<Strings>) -> Tries {
        Tries { strings, ..self }
    }

    /// What to draw instead, if the input that was made is known, or none was, and it is worth another try.
    pub fn next(&mut self, made: Option<&[u8]>) -> Option<Drawing> {
        let is_new = made.is_some_and(|input| !self.known.has(input_hash(input)));
        if is_new || self.done == TRIES_MAX {
            return None;
        }
        self.done += 1;
        let source = self.plan.source(self.done as usize);
        Some(Drawing::new(source, self.bytes_max).with_strings(self.strings.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_known() {
        let mut known = Known::default();
        assert!(known.is_empty());
        for n in 0..300u64 {
            known.extend((0..n % 7).map(|i| n * 10 + i).collect());
            // What is known already is not added again.
            known.extend(vec![n * 10; usize::from(n % 7 > 0)]);
        }
        let all = (0..300u64).map(|n| n % 7).sum::<u64>();
        assert_eq!(known.len() as u64, all);
        for n in 0..3000 {
            assert_eq!(known.has(n), n % 10 < n / 10 % 7, "{n}");
        }
        let lengths: Vec<usize> = known.young.runs.iter().map(|run| run.len()).collect();
        assert!(lengths.is_sorted_by(|a, b| *a > 2 * *b), "{lengths:?}");
    }

    #[test]
    fn the_older_half_is_forgotten() {
        let mut known = Known::default();
        for n in 0..8 * KNOWN_MAX as u64 / 1000 {
            known.extend((0..1000).map(|i| n * 1000 + i).collect());
            assert!(known.len() <= KNOWN_MAX + 1000);
            // Never more than the older half.
            let young = (n * 1000).saturating_sub(KNOWN_MAX as u64 / 2 - 1000);
            assert!(known.has(young) && known.has(n * 1000 + 999), "{n}");
        }
        assert!(!known.has(0));
        assert!(known.len() > KNOWN_MAX / 4, "{}", known.len());
    }

    #[test]
    fn inputs_are_told_apart() {
        let inputs: Vec<Vec<u8>> = (0..20)
            .flat_map(|len| [vec![0; len], vec![1; len], [vec![0; len], vec![1]].concat()])
            .collect();
        for (n, a) in inputs.iter().enumerate() {
            for b in &inputs[..n] {
                assert_eq!(a == b, input_hash(a) == input_hash(b), "{a:?} {b:?}");
            }
        }
    }
}
