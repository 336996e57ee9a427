//! The account: what trials cost, in fuel, and what follows from that.
//!
//! In: the fuel of each trial. Out: its price, how many trials the next batch should have, and whether there is fuel
//! for a retreat. Who looks for what costs most runs what costs most: near the top one trial takes as long as
//! thousands elsewhere, and a count of trials says nothing of how long it takes. What is learnt of one trial
//! is of use for the next, so a batch of costly ones is small. Fuel is counted, never time.

use serde::{Deserialize, Serialize};

use crate::ratio::Ratio;

/// Beside fuel, a trial takes as long as this much of it would: judging it, and all around a run. By trying.
const TRIAL_FUEL: u64 = 1 << 20;
/// A hang takes what it takes, and its operator is not given up for ever.
const PRICE_MAX: u64 = 1 << 12;
/// Fuel that a batch should take by what trials took of late, and the least trials of one. By trying:
/// four times as much is worse on regular expressions, a quarter on trimming.
const BATCH_FUEL: u64 = 1 << 30;
const BATCH_MIN: u32 = 4;
/// Of late: over about so many trials.
const LATELY_LOG2: u32 = 6;
/// Fuel that may go to retreats.
const RETREAT_SHARE: Ratio = Ratio::new(1, 4);
/// Fuel that may go to polish, trials included.
const POLISH_SHARE: Ratio = Ratio::new(1, 4);

/// What a trial was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Children, and all else.
    Growth,
    Retreat,
    Polish,
}

/// Fuel that was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Account {
    has_prices: bool,
    all: u64,
    /// By retreats.
    retreats: u64,
    /// By polish, and what its trials take beside fuel.
    polish: u64,
    /// By a trial, of late; not those of polish, which are cheap and have batches of their own.
    lately: u64,
}

impl Account {
    /// Of nothing yet: the first batches are small, for what trials take is not known. Without prices, each
    /// trial counts as one.
    pub(super) fn new(has_prices: bool) -> Account {
        Account {
            has_prices,
            all: 0,
            retreats: 0,
            polish: 0,
            lately: BATCH_FUEL / u64::from(BATCH_MIN),
        }
    }

    /// Enters the fuel of a trial.
    pub(super) fn spend(&mut self, fuel: u64, purpose: Purpose) {
        self.all = self.all.saturating_add(fuel);
        match purpose {
            Purpose::Growth => {}
            Purpose::Retreat => self.retreats = self.retreats.saturating_add(fuel),
            Purpose::Polish => {
                self.polish = self.polish.saturating_add(fuel).saturating_add(TRIAL_FUEL);
                return;
            }
        }
        self.lately = self.lately - (self.lately >> LATELY_LOG2) + (fuel >> LATELY_LOG2);
    }

    /// What a trial of this fuel cost, in trials that are over at once; at least one.
    pub(super) fn price(&self, fuel: u64) -> u64 {
        match self.has_prices {
            true => (1 + fuel / TRIAL_FUEL).min(PRICE_MAX),
            false => 1,
        }
    }

    /// How many trials the next batch should have, `most` where they cost little.
    pub(super) fn batch(&self, most: u32) -> u32 {
        let trials = BATCH_FUEL / self.lately.max(1);
        match self.has_prices {
            true => trials.clamp(BATCH_MIN.into(), most.into()) as u32,
            false => most,
        }
    }

    /// Whether there is fuel for a retreat.
    pub(super) fn affords_retreat(&self) -> bool {
        self.retreats <= RETREAT_SHARE.apply(self.all)
    }

    /// Whether there is fuel for polish.
    pub(super) fn affords_polish(&self) -> bool {
        self.polish <= POLISH_SHARE.apply(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_has_the_price_of_its_fuel() {
        let account = Account::new(true);
        assert_eq!(account.price(0), 1);
        assert_eq!(account.price(TRIAL_FUEL - 1), 1);
        assert_eq!(account.price(100 * TRIAL_FUEL), 101);
        assert_eq!(account.price(u64::MAX), PRICE_MAX);
        assert_eq!(Account::new(false).price(u64::MAX), 1);
    }

    #[test]
    fn batches_shrink_and_grow_with_what_trials_take() {
        let mut account = Account::new(true);
        assert_eq!(account.batch(64), BATCH_MIN);
        (0..1_000).for_each(|_| account.spend(1_000, Purpose::Growth));
        assert_eq!(account.batch(64), 64);
        account.spend(u64::from(u32::MAX), Purpose::Growth);
        assert!(
            (8..32).contains(&account.batch(64)),
            "{}",
            account.batch(64)
        );
        (0..100).for_each(|_| account.spend(1 << 32, Purpose::Growth));
        assert_eq!(account.batch(64), BATCH_MIN);
        assert_eq!(Account::new(false).batch(64), 64);
        // Nothing overflows.
        (0..1_000).for_each(|_| account.spend(u64::MAX, Purpose::Retreat));
        assert_eq!(account.batch(64), BATCH_MIN);
    }

    #[test]
    fn retreats_take_a_quarter() {
        let mut account = Account::new(true);
        assert!(account.affords_retreat());
        account.spend(100, Purpose::Retreat);
        assert!(!account.affords_retreat());
        account.spend(299, Purpose::Growth);
        assert!(!account.affords_retreat());
        account.spend(1, Purpose::Growth);
        assert!(account.affords_retreat());
    }

    #[test]
    fn polish_takes_a_quarter_and_leaves_batches_as_they_are() {
        let mut account = Account::new(true);
        (0..1_000).for_each(|_| account.spend(1 << 32, Purpose::Growth));
        assert!(account.affords_polish());
        let batch = account.batch(64);
        let mut trials = 0u64;
        while account.affords_polish() {
            account.spend(1 << 16, Purpose::Polish);
            trials += 1;
        }
        assert_eq!(account.batch(64), batch);
        let fuel = trials * (TRIAL_FUEL + (1 << 16));
        assert!(
            (fuel / 100).abs_diff(1_000 * (1 << 32) / 400) < 1 << 32,
            "{trials}"
        );
    }
}
