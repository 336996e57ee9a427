//! Budget: what a run may spend before it is asked how much it has used.
//!
//! A place that spends takes the least that any way to it costs (`spending` in the instrumenter), so a run that always goes
//! the dear way has used several times what it has spent: in an interpreter's loop, three to seven times. Only the counters
//! know, and adding them up is too dear for each turn of a loop. So a run may spend a part of its limit, and is asked
//! then: the next part is half of what it lacks, at what a unit spent has cost it so far.
//!
//! Only a run whose fuel is over the limit is stopped. How far it is over it then is a part of the limit ([`LEAST`]) times what
//! a unit costs, if that stays alike; where what comes later is dearer, it is more, and so it is where nobody asks (`loops` in the
//! instrumenter).

/// The first part, as a share of the limit.
const FIRST: u64 = 64;
/// The least that a part comes to, as a share of the limit.
const LEAST: u64 = 256;
/// The least that it comes to for each counter that has to be added up: some percent of what a run takes for so much fuel.
const PER_COUNTER: u64 = 16;

/// The budget of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Fuel that the run may use.
    pub(crate) limit: u64,
    /// The least part; none in a build that counts nothing, where nobody asks.
    least: Option<u64>,
    /// What it was allowed to spend so far.
    given: u64,
}

impl Budget {
    /// That of a run that has not begun, of a module of so many counters.
    pub(crate) fn new(limit: u64, counters: Option<usize>) -> Budget {
        let least = |counters: usize| (limit / LEAST).max(PER_COUNTER * counters as u64);
        let mut budget = Budget {
            limit,
            least: counters.map(least),
            given: 0,
        };
        budget.begin();
        budget
    }

    /// Another run: what it may spend at first.
    #[inline]
    pub(crate) fn begin(&mut self) -> u64 {
        let first = (self.least).map(|least| (self.limit / FIRST).max(least).min(self.limit));
        self.given = first.unwrap_or(self.limit);
        self.given
    }

    /// How much a run may spend next that has spent what it was allowed to and used so much. `None` if it is over the limit.
    pub(crate) fn ask(&mut self, used: u64) -> Option<u64> {
        let rest = self.limit.checked_sub(used)?;
        let dear = used.div_ceil(self.given.max(1)).max(1);
        let part = (rest / dear / 2).max(self.least.unwrap_or(rest)).min(rest);
        self.given += part;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run has used when it is stopped, and how often it was asked, where a unit spent costs that much at first and
    /// then.
    fn stopped(limit: u64, [first, then]: [u64; 2]) -> (u64, u32) {
        let mut budget = Budget::new(limit, Some(1000));
        let (mut used, mut asked) = (0, 0);
        let mut next = Some(budget.begin());
        while let Some(part) = next {
            assert!(part <= limit - used);
            let costs = if used < limit / 3 { first } else { then };
            // Whoever spends one more than all is asked.
            used += (part + 1) * costs;
            asked += 1;
            next = budget.ask(used);
        }
        (used, asked)
    }

    #[test]
    fn a_run_is_stopped_near_its_limit() {
        for limit in [1, 1000, 100_000_000, 4_000_000_000] {
            let least = (limit / LEAST).max(PER_COUNTER * 1000).min(limit);
            for costs in [1, 2, 7, 30] {
                let (used, asked) = stopped(limit, [costs; 2]);
                assert!(used > limit);
                assert!(
                    used <= limit + (least + 1) * costs,
                    "{limit} {costs}: {used}"
                );
                assert!(asked < 70, "{limit} {costs}: {asked}");
            }
        }
        // Where it becomes dearer on the way, what is left is halved once too seldom.
        assert!(stopped(100_000_000, [1, 7]).0 < 350_000_000);
        assert!(stopped(100_000_000, [7, 1]).1 < 200);
        assert!(stopped(100_000_000, [1000; 2]).0 < 1_600_000_000);
    }

    #[test]
    fn a_limit_below_what_the_counters_cost_is_spent_at_once() {
        assert_eq!(Budget::new(1000, Some(1000)).begin(), 1000);
        let mut budget = Budget::new(100_000_000, Some(1000));
        assert_eq!(budget.begin(), 1_562_500);
        // Four times what it spent: an eighth of what is left.
        assert_eq!(budget.ask(6_250_000), Some(11_718_750));
        assert_eq!(budget.ask(100_000_000), Some(0));
        assert_eq!(budget.ask(100_000_001), None);
        assert_eq!(budget.begin(), 1_562_500);
        assert_eq!(budget.ask(6_250_000), Some(11_718_750), "as the first run");
    }

    #[test]
    fn a_build_that_counts_nothing_may_spend_its_limit() {
        assert_eq!(Budget::new(1000, None).begin(), 1000);
    }
}
