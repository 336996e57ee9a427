//! Whether a run is a degradation: Perun's check *average amount threshold*, on exact counts.
//!
//! In: what a run cost, and the profile that it is compared with. Out: how many of the compared places
//! are dearer by a ratio. Of one run an average is its amount. Defect D15 is here.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::guidance::Judged;
use crate::trial::Peaks;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Places {
    /// The fuel of the run: one place, as with Perun's default collector, `time`.
    Total,
    /// Each edge, by how often it was taken.
    Edges,
    /// The pages of memory of the run: one place, as the total of the collector `memory`.
    Memory,
    /// The depth of its calls.
    Depth,
}

/// What a run is compared by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured<'a> {
    fuel: u64,
    peaks: Peaks,
    counts: &'a [(u32, u32)],
}

impl<'a> Measured<'a> {
    /// All of a run.
    pub(super) fn of(judged: &Judged<'a>) -> Measured<'a> {
        Measured {
            fuel: judged.outcome.fuel,
            peaks: judged.detail.peaks,
            counts: &judged.detail.counts,
        }
    }
}

/// How many of the places that were compared are degradations; of one place at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Verdict {
    pub(super) degraded: u32,
    pub(super) compared: u32,
}

/// What runs are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Check {
    pub(super) places: Places,
    /// From this per cent of the amount before on, a place is a degradation.
    pub(super) percent: u32,
    /// Whether defects are wanted.
    pub(super) is_compat: bool,
}

/// What a run is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Profile {
    /// Of all places together; 0 if edges are compared.
    amount: u64,
    /// Of edges, ascending; empty if they are not compared.
    counts: Arc<[(u32, u32)]>,
}

impl Check {
    /// The profile of a run.
    pub(super) fn profile(&self, run: Measured<'_>) -> Profile {
        match self.amount(run) {
            Some(amount) => Profile {
                amount,
                counts: Arc::default(),
            },
            None => Profile {
                amount: 0,
                counts: run.counts.into(),
            },
        }
    }

    /// Compares a run with a profile.
    pub(super) fn compare(&self, base: &Profile, run: Measured<'_>) -> Verdict {
        match self.amount(run) {
            Some(amount) => Verdict {
                degraded: self.is_degraded(base.amount, amount).into(),
                compared: 1,
            },
            None => self.compare_edges(&base.counts, run.counts),
        }
    }

    /// What a run has of what is compared in one place.
    fn amount(&self, run: Measured<'_>) -> Option<u64> {
        match self.places {
            Places::Total => Some(run.fuel),
            Places::Edges => None,
            Places::Memory => Some(run.peaks.memory_pages),
            Places::Depth => Some(run.peaks.call_depth.into()),
        }
    }

    /// An edge that the base never took is `NotInBaseline`, which is worse than a degradation, and with
    /// defect D15 counts as none.
    fn compare_edges(&self, base: &[(u32, u32)], counts: &[(u32, u32)]) -> Verdict {
        let is_degraded = |&&(probe, count): &&(u32, u32)| match base
            .binary_search_by_key(&probe, |&(probe, _)| probe)
        {
            Ok(at) => self.is_degraded(base[at].1.into(), count.into()),
            Err(_) => !self.is_compat,
        };
        Verdict {
            degraded: counts.iter().filter(is_degraded).count() as u32,
            compared: counts.len().max(1) as u32,
        }
    }

    fn is_degraded(&self, before: u64, now: u64) -> bool {
        // Nothing before is as little as can be measured.
        u128::from(now) * 100 >= u128::from(before.max(1)) * u128::from(self.percent)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn check(places: Places, percent: u32, is_compat: bool) -> Check {
        Check {
            places,
            percent,
            is_compat,
        }
    }

    pub(in super::super) fn run(fuel: u64, counts: &[(u32, u32)]) -> Measured<'_> {
        Measured {
            fuel,
            peaks: Peaks::default(),
            counts,
        }
    }

    fn verdict(degraded: u32, compared: u32) -> Verdict {
        Verdict { degraded, compared }
    }

    #[test]
    fn the_total_is_a_degradation_from_twice_the_base_on() {
        let check = check(Places::Total, 200, false);
        let base = check.profile(run(1_000, &[(0, 1)]));
        for (fuel, degraded) in [(0, 0), (1_999, 0), (2_000, 1), (u64::MAX, 1)] {
            assert_eq!(check.compare(&base, run(fuel, &[])), verdict(degraded, 1));
        }
        let nothing = check.profile(run(0, &[]));
        assert_eq!(check.compare(&nothing, run(0, &[])), verdict(0, 1));
    }

    #[test]
    fn the_threshold_is_set_in_per_cent() {
        let check = check(Places::Total, 101, false);
        let base = check.profile(run(1_000, &[]));
        assert_eq!(check.compare(&base, run(1_009, &[])), verdict(0, 1));
        assert_eq!(check.compare(&base, run(1_010, &[])), verdict(1, 1));
    }

    /// Defect D15: what is worse than a degradation is none.
    #[test]
    fn edges_are_compared_one_by_one() {
        let (base, now) = ([(0, 1), (1, 10), (5, 2)], [(0, 1), (1, 20), (2, 1), (5, 3)]);
        for (is_compat, degraded) in [(false, 2), (true, 1)] {
            let check = check(Places::Edges, 200, is_compat);
            let base = check.profile(run(7, &base));
            assert_eq!(check.compare(&base, run(7, &now)), verdict(degraded, 4));
            assert_eq!(check.compare(&base, run(7, &[])), verdict(0, 1));
        }
    }

    #[test]
    fn memory_and_depth_are_compared_for_themselves() {
        let peaks = |memory_pages, call_depth| Measured {
            peaks: Peaks {
                memory_pages,
                call_depth,
            },
            ..run(1, &[])
        };
        for (places, more) in [(Places::Memory, peaks(4, 5)), (Places::Depth, peaks(2, 10))] {
            let check = check(places, 200, false);
            let base = check.profile(peaks(2, 5));
            assert_eq!(check.compare(&base, peaks(3, 9)), verdict(0, 1));
            assert_eq!(check.compare(&base, more), verdict(1, 1));
        }
    }
}
