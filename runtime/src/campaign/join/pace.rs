//! Pace: speaking to others is to take a small share of what a campaign executes, also while it finds much.
//!
//! In: executions and time so far, and what was said. Out: whether there may be more now. What speaking takes is
//! not measured: an operation and an entry have prices ([`Prices`]). A campaign may spend a little at once, because
//! those that begin find most, and then so much for each execution, or a hundredth of the time where that is more:
//! a target of a second each has little to tell, and wants to hear of others all the same. Who may not speak now
//! says more at once later, which is what makes it cheaper.

use std::time::Duration;

use crate::join::Prices;

/// What may be spent before anything was executed, in nanoseconds of CPU: those that begin find most.
const AT_ONCE_NS: u64 = 100_000_000;
/// What may be spent for each execution, in nanoseconds: one percent of a target of 20 µs.
const EACH_NS: u64 = 200;
/// What may be spent of the time that passes, if that is more: one part in so many.
const OF_TIME: u64 = 100;

/// What was spent so far.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    prices: Prices,
    spent_ns: u64,
}

impl Pace {
    pub(super) fn new(prices: Prices) -> Pace {
        Pace {
            prices,
            spent_ns: 0,
        }
    }

    /// Whether there may be more, after so many executions and so long. What is begun is ended, so it may cost more than was left.
    pub(super) fn may(&self, execs: u64, elapsed: Duration) -> bool {
        let of_time = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX) / OF_TIME;
        let earned = EACH_NS.saturating_mul(execs).max(of_time);
        self.spent_ns <= AT_ONCE_NS.saturating_add(earned)
    }

    /// So many operations were about so many entries.
    pub(super) fn spend(&mut self, operations: u64, entries: u64) {
        let of_entries = self.prices.entry_ns.saturating_mul(entries);
        let cost = (self.prices.operation_ns.saturating_mul(operations)).saturating_add(of_entries);
        self.spent_ns = self.spent_ns.saturating_add(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices {
        operation_ns: 100_000,
        entry_ns: 10_000,
    };

    /// Operations until there may be no more.
    fn operations(pace: &mut Pace, execs: u64, entries: u64) -> u64 {
        let mut count = 0;
        while pace.may(execs, Duration::ZERO) {
            pace.spend(1, entries);
            count += 1;
        }
        count
    }

    #[test]
    fn a_little_at_once_and_then_a_share_of_what_is_executed() {
        let mut pace = Pace::new(PRICES);
        assert_eq!(operations(&mut pace, 0, 0), 1_001);
        assert_eq!(operations(&mut pace, 0, 0), 0);
        // Half an operation's worth is none, and what was overdrawn is missing.
        assert_eq!(operations(&mut pace, 499, 0), 0);
        assert_eq!(operations(&mut pace, 1_000, 0), 2);
        // A million executions of 20 µs take 20 s, of which one percent is 200 ms.
        assert_eq!(operations(&mut pace, 1_001_000, 0), 2_000);
    }

    #[test]
    fn entries_cost_less_together() {
        let (mut together, mut alone) = (Pace::new(PRICES), Pace::new(PRICES));
        let entries = [
            64 * operations(&mut together, 0, 64),
            operations(&mut alone, 0, 1),
        ];
        assert_eq!(entries, [64 * 136, 910]);
    }

    #[test]
    fn nobody_counts_that_far() {
        let mut pace = Pace::new(PRICES);
        pace.spend(u64::MAX, u64::MAX);
        assert!(!pace.may(1 << 40, Duration::from_secs(1 << 30)));
        assert!(pace.may(u64::MAX, Duration::ZERO));
        assert!(
            !Pace {
                spent_ns: u64::MAX,
                ..pace
            }
            .may(0, Duration::MAX)
        );
    }

    /// A target of a second each: a hundredth of the time is more than what its executions earn.
    #[test]
    fn slow_targets_hear_of_others_too() {
        let mut pace = Pace::new(PRICES);
        assert_eq!(operations(&mut pace, 0, 0), 1_001);
        assert!(!pace.may(10, Duration::ZERO));
        assert!(pace.may(10, Duration::from_secs(10)));
        pace.spend(1_000, 0);
        assert!(!pace.may(10, Duration::from_secs(10)));
    }
}
