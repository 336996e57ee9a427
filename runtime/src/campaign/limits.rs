//! Limits of a campaign: what was asked for, and the fuel limit that follows
//! from the seeds when nothing was.

use sandglass_sandbox::{FUEL_LIMIT_MAX, FUEL_LIMIT_MIN, Limits};

/// How many times the median seed an execution may cost.
const FUEL_FACTOR: u64 = 1_000;

/// How many times the dearest one: an input that is somewhat longer is no hang.
const DEAREST_FACTOR: u64 = 4;

/// Seeds that are measured at most, the first ones in order: a median of more
/// is no better, and a corpus may hold a hundred thousand.
pub const MEASURED_SEEDS_MAX: usize = 1_000;

/// What the user asked for; the rest are defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedLimits {
    /// All but the fuel, which is [`WantedLimits::fuel`] if that is given.
    pub limits: Limits,
    /// The fuel limit, if the user gave one.
    pub fuel: Option<u64>,
}

impl WantedLimits {
    /// The limits, with a fuel limit that somebody recorded or measured.
    pub fn with_fuel(&self, otherwise: u64) -> Limits {
        Limits {
            fuel: self.fuel.unwrap_or(otherwise),
            ..self.limits
        }
    }

    /// The limits under which seeds are measured.
    pub fn for_measuring(&self) -> Limits {
        self.with_fuel(FUEL_LIMIT_MIN)
    }
}

/// The fuel limit that follows from the fuel of the seeds: 1,000 times the
/// median, and 4 times the dearest at least, within what is sensible and possible.
pub fn fuel_limit(mut seed_fuel: Vec<u64>) -> u64 {
    if seed_fuel.is_empty() {
        return FUEL_LIMIT_MIN;
    }
    seed_fuel.sort_unstable();
    let median = seed_fuel[(seed_fuel.len() - 1) / 2];
    let dearest = seed_fuel[seed_fuel.len() - 1];
    (median.saturating_mul(FUEL_FACTOR))
        .max(dearest.saturating_mul(DEAREST_FACTOR))
        .clamp(FUEL_LIMIT_MIN, FUEL_LIMIT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_decides_within_bounds() {
        assert_eq!(fuel_limit(vec![]), FUEL_LIMIT_MIN);
        assert_eq!(fuel_limit(vec![5]), FUEL_LIMIT_MIN);
        assert_eq!(fuel_limit(vec![9_000_000, 1, 300_000]), 300_000_000);
        assert_eq!(fuel_limit(vec![60_000_000, 1, 7]), 240_000_000);
        assert_eq!(fuel_limit(vec![200_000, 300_000]), 200_000_000);
        assert_eq!(fuel_limit(vec![u64::MAX]), FUEL_LIMIT_MAX);
    }
}
