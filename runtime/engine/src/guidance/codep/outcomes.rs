//! Outcomes: which ways each comparison has come out, in all runs that recorded theirs.
//!
//! In: comparisons of runs. Out: whether one came out as it never had. An outcome is equality, or less or greater as
//! signed and as unsigned numbers: five in all, whatever the operator, which nobody records. Floats fall into the same
//! five, by their bits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::trial::Compare;

/// One of five outcomes, as a bit.
pub(super) fn outcome(width: u8, left: u64, right: u64) -> u8 {
    let unused = 64 - 8 * u32::from(width);
    let (left, right) = (left << unused, right << unused);
    if left == right {
        return 1;
    }
    let signed = (left as i64) < (right as i64);
    2 << (u32::from(signed) | u32::from(left < right) << 1)
}

/// By site, what has been seen and how often in vain somebody tried to see more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outcomes {
    sites: BTreeMap<u32, Site>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Site {
    seen: u8,
    tries: u32,
}

impl Outcomes {
    /// Learns from a run. True if a comparison that was known came out as it never had.
    pub(super) fn learn(&mut self, compares: &[Compare]) -> bool {
        let mut is_new = false;
        for at in compares {
            let bit = outcome(at.width, at.left, at.right);
            let site = self.sites.entry(at.site).or_default();
            if site.seen & bit == 0 {
                is_new |= site.seen != 0;
                *site = Site {
                    seen: site.seen | bit,
                    tries: 0,
                };
            }
        }
        is_new
    }

    /// Whether a comparison has ever come out so.
    pub(super) fn has_seen(&self, site: u32, bit: u8) -> bool {
        self.sites
            .get(&site)
            .is_some_and(|site| site.seen & bit != 0)
    }

    /// How often somebody tried since the comparison last came out as it never had.
    pub(super) fn tries(&self, site: u32) -> u32 {
        self.sites.get(&site).map_or(0, |site| site.tries)
    }

    /// Learns that something was tried for this site.
    pub(super) fn tried(&mut self, site: u32) {
        let tries = &mut self.sites.entry(site).or_default().tries;
        *tries = tries.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(left: u64, right: u64) -> Compare {
        Compare {
            site: 3,
            width: 4,
            left,
            right,
            constant: true,
        }
    }

    #[test]
    fn outcomes_are_five() {
        let minus = u64::from(u32::MAX);
        let pairs = [(5, 5), (5, 6), (6, 5), (minus, 5), (5, minus)];
        let mut bits: Vec<_> = (pairs.iter()).map(|&(l, r)| outcome(4, l, r)).collect();
        assert_eq!(outcome(4, 5, 7), bits[1]);
        // As 8 bytes it is a large positive number.
        assert_eq!(outcome(8, minus, 5), bits[2]);
        bits.sort_unstable();
        bits.dedup();
        assert_eq!(bits.len(), 5);
    }

    #[test]
    fn only_what_is_new_at_a_known_site_is_news() {
        let mut outcomes = Outcomes::default();
        assert!(!outcomes.learn(&[compare(1, 9)]));
        outcomes.tried(3);
        assert!(!outcomes.learn(&[compare(2, 9)]));
        assert_eq!(outcomes.tries(3), 1);
        assert!(outcomes.learn(&[compare(9, 9)]));
        assert_eq!(outcomes.tries(3), 0);
        assert!(outcomes.has_seen(3, outcome(4, 0, 9)));
        assert!(!outcomes.has_seen(3, outcome(4, 9, 0)) && !outcomes.has_seen(4, 1));
    }
}
