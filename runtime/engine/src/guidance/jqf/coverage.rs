//! JQF's coverage maps: what has been seen of all runs, and of valid ones.
//!
//! In: hit counts of one run that was no finding. Out: what was new, and which probes the run would
//! be responsible for. `ZestGuidance.handleResult` and `checkSavingCriteriaSatisfied`.

use serde::{Deserialize, Serialize};

/// What a run added to the maps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::guidance) struct Added {
    /// "+count": a bucket of some probe, that may have been covered before.
    pub(in crate::guidance) count: bool,
    /// "+cov": a probe that no run had covered.
    pub(in crate::guidance) coverage: bool,
    /// "+valid": a probe that no valid run had covered, by a valid run.
    pub(in crate::guidance) valid: bool,
    /// Probes new to all runs, and of a valid run also those new to valid runs; ascending.
    pub(in crate::guidance) responsibilities: Vec<u32>,
}

/// Both maps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::guidance) struct Coverage {
    /// By probe: the buckets seen, a bit for each power of two; grows as needed.
    total: Vec<u32>,
    /// By probe: whether a valid run covered it.
    valid: Vec<bool>,
    covered: u32,
}

/// The bucket of a count: its highest bit, so 1, 2–3, 4–7 and so on.
fn bucket(count: u32) -> u32 {
    match count {
        0 => 0,
        _ => 1 << count.ilog2(),
    }
}

impl Coverage {
    /// Adds a run, and says what it added. The responsibilities are those from before.
    pub(in crate::guidance) fn add(&mut self, counts: &[(u32, u32)], is_valid: bool) -> Added {
        let mut added = Added::default();
        for &(probe, count) in counts {
            let at = probe as usize;
            if at >= self.total.len() {
                self.total.resize(at + 1, 0);
                self.valid.resize(at + 1, false);
            }
            let (bucket, seen) = (bucket(count), self.total[at]);
            let (new, new_valid) = (seen == 0, is_valid && !self.valid[at]);
            added.count |= bucket & !seen != 0;
            added.coverage |= new;
            added.valid |= new_valid;
            if new || new_valid {
                added.responsibilities.push(probe);
            }
            self.total[at] |= bucket;
            self.valid[at] |= is_valid;
            self.covered += u32::from(new);
        }
        added
    }

    /// Probes covered by any run.
    pub(in crate::guidance) fn covered(&self) -> u32 {
        self.covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_powers_of_two() {
        for (count, expected) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 4),
            (7, 4),
            (u32::MAX, 1 << 31),
        ] {
            assert_eq!(bucket(count), expected, "{count}");
        }
    }

    /// Conformance item 5: scripted coverage gives the expected reasons.
    #[test]
    fn runs_add_what_zest_says() {
        let mut coverage = Coverage::default();
        let mut add = |counts: &[(u32, u32)], is_valid| {
            let added = coverage.add(counts, is_valid);
            (
                (added.count, added.coverage, added.valid),
                added.responsibilities,
            )
        };
        assert_eq!(
            add(&[(0, 1), (3, 2)], false),
            ((true, true, false), vec![0, 3])
        );
        assert_eq!(
            add(&[(0, 1), (3, 3)], false),
            ((false, false, false), vec![])
        );
        assert_eq!(add(&[(3, 4)], false), ((true, false, false), vec![]));
        // The first valid run takes what invalid ones had.
        assert_eq!(add(&[(0, 1)], true), ((false, false, true), vec![0]));
        assert_eq!(add(&[(0, 8)], true), ((true, false, false), vec![]));
        assert_eq!(add(&[(9, 1)], true), ((true, true, true), vec![9]));
        assert_eq!(coverage.covered(), 3);
    }
}
