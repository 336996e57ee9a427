//! Behavioural diversity: how many behaviours there were, and how evenly they were exercised.
//!
//! In: the hit counts of each run that was no finding. Out: Hill numbers B(0), B(1) and B(2) over the
//! unique traces of valid runs (Nguyen and Grunske, "BeDivFuzz", ICSE 2022, §4): on the first
//! occurrence of a trace, every probe that it covers is counted once; p(b) is a probe's share of all
//! that was counted; B(q) = (Σ p(b)^q)^(1/(1−q)). B(0) is the number of probes covered, B(1) the
//! exponential of Shannon's entropy, B(2) the inverse of Simpson's index.
//!
//! Departures: traces are told apart by hashes of 128 bits in place of 32, and twice: by raw counts,
//! as in the paper, where each iteration of a loop is a trace of its own, and by JQF's count buckets.
//! The 2022 code counts invalid and failing runs as well.
//!
//! And what is remembered is bounded by [`TRACES_MAX`].
//!
//! Floats appear in the report only; nothing is decided by it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Hash of a trace, 128 bits: a million traces collide with probability 10⁻²⁷.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct TraceId(pub u128);

/// The trace with these counts, raw.
pub fn raw_trace(counts: &[(u32, u32)]) -> TraceId {
    hash(counts.iter().copied())
}

/// The trace with these counts, by JQF's buckets: 1, 2–3, 4–7, 8–15, ….
pub fn bucketed_trace(counts: &[(u32, u32)]) -> TraceId {
    let log2 = |count: u32| u32::BITS - count.leading_zeros();
    hash(counts.iter().map(|&(probe, count)| (probe, log2(count))))
}

/// Two multiplicative lanes of 64 bits, each mixed after every word.
fn hash(words: impl Iterator<Item = (u32, u32)>) -> TraceId {
    let (mut a, mut b) = (0x5a6d_9ad1_0c9b_1f35u64, 0x9ae1_6a3b_2f90_404fu64);
    for (probe, count) in words {
        let word = u64::from(probe) << 32 | u64::from(count);
        a = (a ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        a ^= a >> 29;
        b = (b ^ word.rotate_left(23)).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        b ^= b >> 31;
    }
    TraceId(u128::from(a) << 64 | u128::from(b))
}

/// B(0), B(1) and B(2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hill {
    /// How many probes were covered.
    pub b0: u64,
    /// Effective number of probes, each counted by how common it is.
    pub b1: f64,
    /// The same, with more weight on the common ones.
    pub b2: f64,
}

/// Most traces that are remembered, of each kind. What comes after them is not counted: numbers then say "at
/// least". Both kinds together take some 200 MB of memory then, and 150 MB of a checkpoint.
pub const TRACES_MAX: usize = 1 << 22;

/// In how many unique traces each probe was covered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Abundance {
    /// By probe; missing ones are 0.
    counts: Vec<u64>,
}

impl Abundance {
    fn add(&mut self, counts: &[(u32, u32)]) {
        for &(probe, _) in counts {
            let probe = probe as usize;
            if probe >= self.counts.len() {
                self.counts.resize(probe + 1, 0);
            }
            self.counts[probe] += 1;
        }
    }

    #[expect(clippy::disallowed_methods, reason = "for reports only")]
    fn hill(&self) -> Hill {
        let total: u64 = self.counts.iter().sum();
        let (mut b0, mut entropy, mut simpson) = (0, 0.0, 0.0);
        for &count in self.counts.iter().filter(|&&count| count > 0) {
            let p = count as f64 / total as f64;
            b0 += 1;
            entropy -= p * p.ln();
            simpson += p * p;
        }
        match b0 {
            0 => Hill::default(),
            _ => Hill {
                b0,
                b1: entropy.exp(),
                b2: 1.0 / simpson,
            },
        }
    }
}

/// The unique traces of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diversity {
    /// Raw traces of runs that were no finding, and whether any of them was valid.
    traces: BTreeMap<TraceId, bool>,
    /// How many of them are of a valid run.
    diverse_valid: u64,
    /// Bucketed traces of valid runs.
    bucketed_traces: BTreeSet<TraceId>,
    /// Of valid runs, by raw counts.
    raw: Abundance,
    /// Of valid runs, by buckets.
    bucketed: Abundance,
}

impl Diversity {
    /// Records a run that was no finding.
    pub(crate) fn record(&mut self, is_valid: bool, counts: &[(u32, u32)]) {
        self.record_at_most(TRACES_MAX, is_valid, counts);
    }

    fn record_at_most(&mut self, traces_max: usize, is_valid: bool, counts: &[(u32, u32)]) {
        let is_full = self.traces.len() >= traces_max;
        match self.traces.entry(raw_trace(counts)) {
            // Nothing more to learn of it.
            Entry::Occupied(seen) if *seen.get() || !is_valid => return,
            Entry::Vacant(_) if is_full => {}
            entry => {
                entry.insert_entry(is_valid);
                if is_valid {
                    self.diverse_valid += 1;
                    self.raw.add(counts);
                }
            }
        }
        if is_valid
            && self.bucketed_traces.len() < traces_max
            && self.bucketed_traces.insert(bucketed_trace(counts))
        {
            self.bucketed.add(counts);
        }
    }

    /// How many raw traces of runs that were no finding.
    pub fn unique_traces(&self) -> u64 {
        self.traces.len() as u64
    }

    /// How many raw traces of valid runs: "diverse valid".
    pub fn diverse_valid(&self) -> u64 {
        self.diverse_valid
    }

    /// B(q) by raw counts.
    pub fn raw(&self) -> Hill {
        self.raw.hill()
    }

    /// B(q) by buckets.
    pub fn bucketed(&self) -> Hill {
        self.bucketed.hill()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conformance item 8, by hand: three probes in four traces, and one trace twice.
    #[test]
    fn hill_numbers_of_an_example() {
        let mut diversity = Diversity::default();
        let traces: [&[(u32, u32)]; 4] = [
            &[(0, 1)],
            &[(0, 1), (1, 1)],
            &[(0, 1), (1, 1), (2, 1)],
            &[(0, 2)],
        ];
        for trace in traces {
            diversity.record(true, trace);
        }
        diversity.record(true, traces[1]);
        // c = 4, 2, 1; p = 4/7, 2/7, 1/7.
        let hill = diversity.raw();
        assert_eq!(hill.b0, 3);
        // The seventh power of B(1) is 7^7 / (4^4 · 2^2 · 1).
        let power = 823_543.0 / 1_024.0;
        assert!((hill.b1.powi(7) / power - 1.0).abs() < 1e-12, "{hill:?}");
        assert!((hill.b2 - 49.0 / 21.0).abs() < 1e-12, "{hill:?}");
        assert_eq!(
            (diversity.unique_traces(), diversity.diverse_valid()),
            (4, 4)
        );
    }

    #[test]
    fn invalid_runs_and_buckets_are_apart() {
        let mut diversity = Diversity::default();
        diversity.record(false, &[(5, 1)]);
        assert_eq!(diversity.raw(), Hill::default());
        assert_eq!(
            (diversity.unique_traces(), diversity.diverse_valid()),
            (1, 0)
        );
        diversity.record(true, &[(0, 4)]);
        diversity.record(true, &[(0, 7), (1, 1)]);
        diversity.record(true, &[(0, 7)]);
        assert_eq!(diversity.diverse_valid(), 3);
        // 4 and 7 share a bucket: two bucketed traces, c = 2, 1.
        assert!((diversity.bucketed().b2 - 9.0 / 5.0).abs() < 1e-12);
        assert!((diversity.raw().b2 - 16.0 / 10.0).abs() < 1e-12);
    }

    #[test]
    fn a_full_memory_counts_no_more() {
        let mut diversity = Diversity::default();
        for probe in 0..5 {
            diversity.record_at_most(3, probe > 0, &[(probe, 1)]);
        }
        // One that is known can still turn out to be valid.
        diversity.record_at_most(3, true, &[(0, 1)]);
        assert_eq!(
            (diversity.unique_traces(), diversity.diverse_valid()),
            (3, 3)
        );
        assert_eq!((diversity.raw().b0, diversity.bucketed().b0), (3, 3));
    }

    #[test]
    fn traces_are_told_apart() {
        assert_ne!(raw_trace(&[(0, 4)]), raw_trace(&[(0, 5)]));
        assert_eq!(bucketed_trace(&[(0, 4)]), bucketed_trace(&[(0, 5)]));
        assert_ne!(bucketed_trace(&[(0, 1)]), bucketed_trace(&[(0, 2)]));
        assert_eq!(bucketed_trace(&[(0, 2)]), bucketed_trace(&[(0, 3)]));
        assert_ne!(raw_trace(&[(0, 1), (1, 1)]), raw_trace(&[(1, 1), (0, 1)]));
    }
}
