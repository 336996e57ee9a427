//! Yields: what trials of one kind have led to lately, so that two kinds can be compared.

use serde::{Deserialize, Serialize};

/// Trials of one kind, and how many of them were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Yield {
    trials: u64,
    kept: u64,
}

impl Yield {
    /// Trials over which a yield is measured; what lies further back counts ever less.
    const WINDOW: u64 = 1 << 15;

    /// Learns of so many trials, and of so many that were kept.
    pub(super) fn add(&mut self, trials: u64, kept: u64) {
        self.trials += trials;
        self.kept += kept;
        if self.trials > Yield::WINDOW {
            self.trials /= 2;
            self.kept /= 2;
        }
    }

    /// Did as many trials lead to at least as much here as there?
    pub(super) fn beats(self, other: Yield) -> bool {
        (self.kept + 1) * (other.trials + 1) >= (other.kept + 1) * (self.trials + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_back_counts_less() {
        let (mut old, mut new) = (Yield::default(), Yield::default());
        assert!(old.beats(new) && new.beats(old));
        old.add(1_000, 100);
        new.add(1_000, 10);
        assert!(old.beats(new) && !new.beats(old));
        (0..100).for_each(|_| old.add(10_000, 0));
        assert!(new.beats(old) && !old.beats(new));
    }
}
