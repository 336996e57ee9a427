//! Portfolio: operators, used as often as they have paid lately.
//!
//! In: which operator a trial used, what it cost, and whether it found anything. Out: operators drawn in
//! proportion to what they have found for their cost, or to its square, where old trials count less and less. A share of
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
/// What is believed of an operator beforehand: that it finds something in one of so many trials. Where draws are *sharp*, that
/// is what is believed of all together, and of each in so many trials that it finds what the mean one does.
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
    is_sharp: bool,
}

impl Portfolio {
    /// So many operators, of which nothing is known, and of which two to the power of `memory_log2` trials are remembered. Of
    /// few trials no small rate can be told from none.
    pub(super) fn new(operators: usize, memory_log2: u32) -> Portfolio {
        Portfolio {
            records: vec![Record::default(); operators],
            memory_log2,
            is_sharp: false,
        }
    }

    /// The same, where an operator is drawn in proportion to the square of what it finds for its cost, and one that is little
    /// known is believed to be like the others. With a prior of its own, of ten operators the nine that find one thing in a
    /// hundred thousand trials keep most of the draws from the one that finds something in a thousand.
    pub(super) fn sharp(self) -> Portfolio {
        Portfolio {
            is_sharp: true,
            ..self
        }
    }

    /// Draws one.
    pub(super) fn choose(&self, rng: &mut Rng) -> usize {
        if rng.chance(UNIFORM) {
            return rng.index(self.records.len());
        }
        let mean = self.is_sharp.then(|| self.all().rate(ONE));
        let weight = |record: &Record| match mean {
            None => u128::from(record.rate(ONE)),
            // One more, as a rate may be rounded to nothing.
            Some(mean) => {
                let rate = u128::from(record.rate(mean.saturating_mul(PRIOR_TRIALS)));
                rate * rate + 1
            }
        };
        let weights: Vec<u128> = self.records.iter().map(weight).collect();
        let mut left = scaled(rng.word(), weights.iter().sum());
        for (at, weight) in weights.into_iter().enumerate() {
            if left < weight {
                return at;
            }
            left -= weight;
        }
        unreachable!("what is left is below the sum")
    }

    /// All operators as one.
    fn all(&self) -> Record {
        let sum = |of: fn(&Record) -> u64| {
            let counts = self.records.iter().map(of);
            counts.fold(0, u64::saturating_add)
        };
        Record {
            trials: sum(|record| record.trials),
            finds: sum(|record| record.finds),
            ..Record::default()
        }
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
        let cost = (ONE / PRICE_ONE).saturating_mul(price);
        record.trials = record.trials.saturating_add(cost);
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
    /// Finds a trial, in units of 2⁻³², if so many, in units of [`ONE`], are believed of [`PRIOR_TRIALS`] beforehand.
    fn rate(&self, prior: u64) -> u64 {
        let finds = u128::from(self.finds) + u128::from(prior);
        let trials = u128::from(self.trials) + u128::from(PRIOR_TRIALS * ONE);
        ((finds << 32) / trials) as u64
    }
}

/// `total` times a number in [0, 1), which is `word` of 2⁶⁴.
fn scaled(word: u64, total: u128) -> u128 {
    let (high, low) = (total >> 64, total & u128::from(u64::MAX));
    high * u128::from(word) + ((low * u128::from(word)) >> 64)
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

    /// Nine that find nothing, and one that finds something in a thousand trials.
    #[test]
    fn sharp_draws_go_to_the_one_that_finds_a_little() {
        let mut shares_of_one = Vec::new();
        for is_sharp in [false, true] {
            let portfolio = Portfolio::new(10, 15);
            let mut portfolio = match is_sharp {
                true => portfolio.sharp(),
                false => portfolio,
            };
            for trial in 0..100_000 {
                let operator = trial % 10;
                portfolio.learn(operator, operator == 9 && trial % 10_000 == 9, 1);
            }
            shares_of_one.push(shares(&portfolio)[9]);
        }
        let [even, sharp] = shares_of_one[..] else {
            unreachable!()
        };
        // Beliefs are about 13 and 3 of ten thousand; then 10 and 0.02, squared.
        assert!((2_000..4_000).contains(&even), "{even}");
        assert!(sharp > 8_500, "{sharp}");
    }

    #[test]
    fn sharp_draws_are_even_where_nothing_is_known_or_found() {
        let mut portfolio = Portfolio::new(2, 15).sharp();
        assert!(shares(&portfolio).iter().all(|&count| near(count, 0.5)));
        (0..200_000).for_each(|trial| portfolio.learn(trial % 2, false, 1));
        assert!(shares(&portfolio).iter().all(|&count| near(count, 0.5)));
        portfolio.learn_at(0, true, u64::MAX);
        portfolio.learn_at(0, true, u64::MAX);
        assert_eq!(shares(&portfolio).len(), 2, "a price may be anything");
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
