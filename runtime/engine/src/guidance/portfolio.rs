//! Portfolio: operators, used as often as they have paid lately.
//!
//! In: which operator a trial used, what it cost, and whether it found anything. Out: operators drawn in
//! proportion to what they have found for their cost, where old trials count less and less. A share of
//! the draws is uniform, so that no operator dies out: one that is useless today may be the only one
//! that helps when the others have found all that they can. Integers only.

use serde::{Deserialize, Serialize};

use super::OperatorRecord;
use crate::ratio::Ratio;
use crate::rng::Rng;

/// The price of a trial.
pub(super) const PRICE_ONE: u64 = 64;
/// A trial's weight when it is new.
const ONE: u64 = 1 << 32;
/// How often an operator is drawn whatever it has found.
const UNIFORM: Ratio = Ratio::new(1, 8);
/// What is believed of an operator beforehand: that it finds something in one of so many trials.
const PRIOR_TRIALS: u64 = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Of late, in units of [`ONE`].
    trials: u64,
    finds: u64,
    /// Ever.
    all_trials: u64,
    all_finds: u64,
}

/// Operators by number, and how each has fared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Portfolio {
    records: Vec<Record>,
    /// After each trial all weights lose one in two to this: trials longer ago than that hardly count.
    memory_log2: u32,
}

impl Portfolio {
    /// So many operators, of which nothing is known, and of which two to the power of `memory_log2` trials are remembered. Of
    /// few trials no small rate can be told from none.
    pub(super) fn new(operators: usize, memory_log2: u32) -> Portfolio {
        Portfolio {
            records: vec![Record::default(); operators],
            memory_log2,
        }
    }

    /// Draws one.
    pub(super) fn choose(&self, rng: &mut Rng) -> usize {
        if rng.chance(UNIFORM) {
            return rng.index(self.records.len());
        }
        let rates = || self.records.iter().map(|record| u128::from(record.rate()));
        let total: u128 = rates().sum();
        let mut left = (u128::from(rng.word()) * total) >> 64;
        for (at, rate) in rates().enumerate() {
            if left < rate {
                return at;
            }
            left -= rate;
        }
        unreachable!("what is left is below the sum")
    }

    /// Learns what a trial of an operator came to, and its price: one, or as many as that is worth of others.
    pub(super) fn learn(&mut self, operator: usize, found: bool, price: u64) {
        self.learn_at(operator, found, price.saturating_mul(PRICE_ONE));
    }

    /// The same at a price in units of [`PRICE_ONE`].
    pub(super) fn learn_at(&mut self, operator: usize, found: bool, price: u64) {
        for record in &mut self.records {
            record.trials -= record.trials >> self.memory_log2;
            record.finds -= record.finds >> self.memory_log2;
        }
        let record = &mut self.records[operator];
        record.trials += (ONE / PRICE_ONE).saturating_mul(price);
        record.all_trials += 1;
        if found {
            record.finds += ONE;
            record.all_finds += 1;
        }
    }

    /// What came of each operator, by these names.
    pub(super) fn report(&self, names: impl Iterator<Item = String>) -> Vec<OperatorRecord> {
        let records = names.zip(&self.records);
        records
            .map(|(name, record)| OperatorRecord {
                name,
                trials: record.all_trials,
                finds: record.all_finds,
            })
            .collect()
    }
}

impl Record {
    /// Finds a trial, in units of 2⁻³².
    fn rate(&self) -> u64 {
        let (finds, trials) = (self.finds + ONE, self.trials + PRIOR_TRIALS * ONE);
        ((u128::from(finds) << 32) / u128::from(trials)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY_LOG2: u32 = 12;

    /// How often of 10,000 times each operator is drawn.
    fn shares(portfolio: &Portfolio) -> Vec<u32> {
        let (mut rng, mut counts) = (Rng::new(1), vec![0; portfolio.records.len()]);
        (0..10_000).for_each(|_| counts[portfolio.choose(&mut rng)] += 1);
        counts
    }

    fn near(count: u32, expected: f64) -> bool {
        (f64::from(count) - 10_000.0 * expected).abs() < 200.0
    }

    #[test]
    fn operators_are_drawn_by_what_they_find() {
        let mut portfolio = Portfolio::new(2, MEMORY_LOG2);
        assert!(shares(&portfolio).iter().all(|&count| near(count, 0.5)));
        for trial in 0..936 {
            portfolio.learn(0, trial % 8 == 0, 1);
            portfolio.learn(1, trial % 80 == 0, 1);
        }
        // Beliefs are 118 of 1,000 and 13 of 1,000, less what was forgotten of both.
        let [first, second] = shares(&portfolio)[..] else {
            unreachable!()
        };
        assert!(near(first, 0.125 / 2.0 + 0.875 * 0.9), "{first}");
        assert!(second > 625, "a share is uniform: {second}");
    }

    #[test]
    fn reports_forget_nothing() {
        let mut portfolio = Portfolio::new(2, MEMORY_LOG2);
        (0..100_000).for_each(|trial| portfolio.learn(1, trial % 10 == 0, 1));
        let report = portfolio.report(["a", "b"].map(str::to_owned).into_iter());
        let counts: Vec<_> = report.iter().map(|of| (of.trials, of.finds)).collect();
        assert_eq!(counts, [(0, 0), (100_000, 10_000)]);
    }

    #[test]
    fn what_paid_long_ago_is_forgotten() {
        let mut portfolio = Portfolio::new(2, MEMORY_LOG2);
        (0..4_000).for_each(|_| portfolio.learn(0, true, 1));
        assert!(shares(&portfolio)[0] > 9_000);
        (0..40_000)
            .for_each(|trial| portfolio.learn(trial % 2, trial % 2 == 1 && trial % 100 == 1, 1));
        assert!(shares(&portfolio)[1] > 7_000);
        // Numbers stay small, however long it goes on.
        assert!(
            portfolio
                .records
                .iter()
                .all(|record| record.trials <= ONE << (MEMORY_LOG2 + 1))
        );
    }
}
