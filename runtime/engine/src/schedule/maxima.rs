//! Maxima: how often each probe was hit at most, and by whom.
//!
//! In: hit counts of inputs. Out: whether they exceed a maximum, and who holds the maxima. One slot
//! is for the *total path*, the sum of all counts. Lemieux et al., "PerfFuzz: Automatically Generating
//! Pathological Inputs", ISSTA 2018, and its `afl-fuzz.c`: `has_new_max`, `update_bitmap_score`,
//! `cull_queue`, and the staleness at the head of `fuzz_one`.
//!
//! Departures:
//! - a slot is a probe, where there a hash of an edge modulo 2^14 shares it with others;
//! - counts of the total path do not wrap;
//! - a maximum that grows is fresh again at once, and not at the end of its holder's turn;
//! - the staleness of a testcase is that of the slots that it holds, not of all where its counts equal
//!   the maximum.

use serde::{Deserialize, Serialize};

use crate::corpus::TestcaseId;
use crate::feedback::{TraceId, raw_trace};
use crate::rng::Rng;

/// `STALENESS_CONST`, in per cent.
const STALENESS: u32 = 80;

/// A slot: its maximum, who was the last to reach it, and for how many turns of the holder it has
/// stayed the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Slot {
    count: u64,
    holder: TestcaseId,
    staleness: u32,
}

/// All slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maxima {
    /// Whether holders of stale slots are passed over: PerfFuzz's `-s`.
    skips_stale: bool,
    /// The total path, then probes; grows as needed.
    slots: Vec<Option<Slot>>,
    /// What each testcase counted.
    counts: Vec<TraceId>,
}

impl Maxima {
    /// Nothing was hit yet.
    pub fn new(skips_stale: bool) -> Maxima {
        Maxima {
            skips_stale,
            slots: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Whether nobody holds anything.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether these counts exceed a maximum.
    pub fn has_new(&self, counts: &[(u32, u32)]) -> bool {
        let max = |slot: usize| {
            let slot = self.slots.get(slot).copied().flatten();
            slot.map_or(0, |slot| slot.count)
        };
        slots(counts).any(|(slot, count)| count > max(slot))
    }

    /// Gives a testcase the slots whose maximum its counts reach: of two that do the later has it.
    /// Whether there was any.
    pub(super) fn rate(&mut self, id: TestcaseId, counts: &[(u32, u32)]) -> bool {
        if id.index() >= self.counts.len() {
            self.counts.resize(id.index() + 1, raw_trace(&[]));
        }
        self.counts[id.index()] = raw_trace(counts);
        let mut any = false;
        for (at, count) in slots(counts).filter(|&(_, count)| count > 0) {
            if at >= self.slots.len() {
                self.slots.resize(at + 1, None);
            }
            let old = self.slots[at];
            let max = old.map_or(0, |slot| slot.count);
            if count < max {
                continue;
            }
            self.slots[at] = Some(Slot {
                count,
                holder: id,
                staleness: old
                    .filter(|_| count == max)
                    .map_or(0, |slot| slot.staleness),
            });
            any = true;
        }
        any
    }

    /// Whether a testcase counted this.
    pub(super) fn has_counts(&self, id: TestcaseId, counts: &[(u32, u32)]) -> bool {
        self.counts[id.index()] == raw_trace(counts)
    }

    /// Who holds each slot; the same several times.
    pub(super) fn holders(&self) -> impl Iterator<Item = TestcaseId> {
        self.slots.iter().flatten().map(|slot| slot.holder)
    }

    /// Whether a holder has its turn; its slots are staler then. A testcase whose freshest slot is the
    /// stalest of all is passed over four times of five.
    pub(super) fn visit(&mut self, id: TestcaseId, rng: &mut Rng) -> bool {
        if !self.skips_stale {
            return true;
        }
        let all = || self.slots.iter().flatten();
        let least = all().map(|slot| slot.staleness).min().unwrap_or(0);
        let most = all().map(|slot| slot.staleness).max().unwrap_or(0).max(1);
        let own = all().filter(|slot| slot.holder == id);
        let own = own.map(|slot| slot.staleness).min().unwrap_or(least);
        let score = 100 - u64::from(STALENESS) * u64::from(own - least) / u64::from(most);
        if score < u64::from(rng.below(100)) {
            return false;
        }
        for slot in self.slots.iter_mut().flatten() {
            slot.staleness = slot.staleness.saturating_add(u32::from(slot.holder == id));
        }
        true
    }
}

/// What counts amount to, by slot.
fn slots(counts: &[(u32, u32)]) -> impl Iterator<Item = (usize, u64)> {
    let path = counts.iter().map(|&(_, count)| u64::from(count)).sum();
    let probes = (counts.iter()).map(|&(probe, count)| (probe as usize + 1, u64::from(count)));
    std::iter::once((0, path)).chain(probes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_of_a_probe_or_of_the_total_path() {
        let mut maxima = Maxima::new(false);
        assert!(maxima.has_new(&[(0, 1)]) && !maxima.has_new(&[]));
        assert!(maxima.rate(TestcaseId(0), &[(0, 5), (2, 5)]));
        assert!(!maxima.has_new(&[(0, 5), (2, 5)]));
        // No probe was hit that often; no path was that long.
        assert!(maxima.has_new(&[(2, 6)]));
        assert!(maxima.has_new(&[(0, 5), (1, 1), (2, 5)]));
        assert!(!maxima.has_new(&[(0, 4), (2, 5)]));
        assert!(!maxima.rate(TestcaseId(1), &[(0, 4)]));
    }

    #[test]
    fn the_later_of_two_equals_holds_a_slot() {
        let mut maxima = Maxima::new(false);
        for (id, counts) in [[(0, 5), (1, 2)], [(0, 5), (1, 1)]].iter().enumerate() {
            maxima.rate(TestcaseId(id as u32), counts);
        }
        let holders: Vec<u32> = maxima.holders().map(|id| id.0).collect();
        assert_eq!(holders, [0, 1, 0]);
        assert!(maxima.has_counts(TestcaseId(1), &[(0, 5), (1, 1)]));
        assert!(!maxima.has_counts(TestcaseId(1), &[(0, 5), (1, 2)]));
    }

    #[test]
    fn a_stale_holder_is_passed_over_four_times_of_five() {
        let mut maxima = Maxima::new(true);
        maxima.rate(TestcaseId(0), &[(0, 5)]);
        maxima.rate(TestcaseId(1), &[(1, 5)]);
        let mut rng = Rng::new(1);
        // The total path is held by the later, so each holds something.
        while maxima.slots[1].unwrap().staleness < 1_000 {
            maxima.visit(TestcaseId(0), &mut rng);
        }
        let turns = |maxima: &Maxima, id| {
            let visit = |seed| maxima.clone().visit(TestcaseId(id), &mut Rng::new(seed));
            (0..1_000).filter(|&seed| visit(seed)).count()
        };
        assert!(
            (180..240).contains(&turns(&maxima, 0)),
            "{}",
            turns(&maxima, 0)
        );
        assert_eq!(turns(&maxima, 1), 1_000);
        // A maximum that grows is fresh.
        maxima.rate(TestcaseId(0), &[(0, 6)]);
        assert_eq!(turns(&maxima, 0), 1_000);
    }
}
