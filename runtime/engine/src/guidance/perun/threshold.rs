//! The dynamic threshold: how much dearer than the base a mutant must be to be interesting.
//!
//! In: whether a gathering phase found anything. Out: a limit of fuel. Rates are whole per cent; Perun
//! adds and subtracts floats.

use serde::{Deserialize, Serialize};

/// What a rate gains after a phase with interesting mutants, and loses after one without.
const GAIN: u64 = 5;
const LOSS: u64 = 1;

/// The rate of the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Threshold {
    percent: u64,
}

impl Threshold {
    /// As it begins.
    pub(super) fn new(percent: u64) -> Threshold {
        Threshold { percent }
    }

    /// Learns from a gathering phase. The rate is not lowered to 0.
    pub(super) fn end_phase(&mut self, found_any: bool) {
        if found_any {
            self.percent += GAIN;
        } else if self.percent > LOSS {
            self.percent -= LOSS;
        }
    }

    /// What a mutant must cost more than.
    pub(super) fn fuel(self, base: u64) -> u64 {
        let fuel = u128::from(base) * u128::from(self.percent) / 100;
        u64::try_from(fuel).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_with_success_and_falls_without() {
        let mut threshold = Threshold::new(150);
        assert_eq!(threshold.fuel(1_001), 1_501);
        threshold.end_phase(true);
        assert_eq!(threshold.fuel(1_000), 1_550);
        threshold.end_phase(false);
        threshold.end_phase(false);
        assert_eq!(threshold.fuel(1_000), 1_530);
        assert_eq!(threshold.fuel(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_rate_ends_at_a_hundredth() {
        let mut threshold = Threshold::new(2);
        (0..5).for_each(|_| threshold.end_phase(false));
        assert_eq!(threshold.fuel(1_000), 10);
        assert_eq!(Threshold::new(0).fuel(1_000), 0);
    }
}
