//! How large mutants may become.
//!
//! In: the three settings of Perun, of which one counts. Out: a limit for the campaign. Defect D1 is
//! here.

use serde::{Deserialize, Serialize};

use crate::ratio::Ratio;

/// The settings; 0 is unset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SizeLimit {
    pub(super) max_bytes: u64,
    pub(super) ratio_percent: u32,
    pub(super) increase_bytes: u64,
}

impl SizeLimit {
    /// The limit, of the largest seed's size: the maximum, which as the documentation says is never
    /// below the largest seed; else the ratio; else the increase. With defect D1 the increase counts
    /// for nothing, and the maximum is what was given.
    pub(super) fn bytes(self, seed_max: u64, is_compat: bool) -> u64 {
        match self {
            SizeLimit { max_bytes: 1.., .. } if is_compat => self.max_bytes,
            SizeLimit { max_bytes: 1.., .. } => self.max_bytes.max(seed_max),
            SizeLimit {
                ratio_percent: 1.., ..
            } => Ratio::percent(self.ratio_percent).apply(seed_max),
            _ if is_compat => seed_max,
            _ => seed_max.saturating_add(self.increase_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_three_counts() {
        let limit = |max_bytes, ratio_percent, is_compat| {
            let limit = SizeLimit {
                max_bytes,
                ratio_percent,
                increase_bytes: 1_000_000,
            };
            limit.bytes(19, is_compat)
        };
        for is_compat in [false, true] {
            assert_eq!(limit(38, 0, is_compat), 38);
            assert_eq!(limit(38, 300, is_compat), 38, "a maximum comes first");
            assert_eq!(limit(0, 250, is_compat), 47);
            assert_eq!(limit(0, 10, is_compat), 1);
        }
        // Defect D1, and what the documentation says of a small maximum.
        assert_eq!((limit(0, 0, false), limit(0, 0, true)), (1_000_019, 19));
        assert_eq!((limit(5, 0, false), limit(5, 0, true)), (19, 5));
    }
}
