//! Frontier: decisions that were reached, and of which an arm was never taken.
//!
//! In: which probes belong to one decision, and what has been covered. Out: such a decision, each as likely as the others, by
//! the first arm of it that was taken. Whoever takes it is near to what is missing. An arm that only findings take (a check of
//! bounds, an assertion) counts as never taken, as they are no part of what is covered.

use crate::feedback::Seen;
use crate::rng::Rng;

/// The decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frontier {
    /// As of how many probes covered. They follow from what is covered, so that no checkpoint needs them.
    as_of: u32,
    /// Of each its first arm that was taken.
    taken: Vec<u32>,
    /// By its first probe, whether a decision is one of them.
    is_open: Vec<bool>,
}

impl Frontier {
    /// Looks at what has been covered by now. Of each probe, `decisions` has the first one of the same decision.
    pub(super) fn look(&mut self, decisions: &[u32], seen: &Seen) {
        if self.as_of == seen.edges() {
            return;
        }
        self.as_of = seen.edges();
        let mut is_missing = vec![false; decisions.len()];
        let probes = || (0..).zip(decisions.iter().map(|&first| first as usize));
        for (_, first) in probes().filter(|&(probe, _)| !seen.has(probe)) {
            is_missing[first] = true;
        }
        self.taken.clear();
        self.is_open.clear();
        self.is_open.resize(decisions.len(), false);
        for (probe, first) in probes().filter(|&(probe, _)| seen.has(probe)) {
            if std::mem::take(&mut is_missing[first]) {
                self.taken.push(probe);
                self.is_open[first] = true;
            }
        }
    }

    /// Whether a decision, given by its first probe, is one of them.
    pub(super) fn has(&self, decision: u32) -> bool {
        self.is_open.get(decision as usize) == Some(&true)
    }

    /// The first arm taken of a uniform one, if there is any.
    pub(super) fn any(&self, rng: &mut Rng) -> Option<u32> {
        self.taken.get(rng.index(self.taken.len())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reached_and_not_seen_whole_is_open() {
        // An entry, a branch, a switch, a branch.
        let decisions = [0, 1, 2, 2, 1, 2, 6, 6];
        let (mut frontier, mut seen) = (Frontier::default(), Seen::new(8));
        let mut rng = Rng::new(1);
        frontier.look(&decisions, &seen);
        assert_eq!(frontier.any(&mut rng), None);
        let mut open_after = |probes: &[u32]| {
            for &probe in probes {
                seen.absorb(&[(probe, 1)]);
            }
            frontier.look(&decisions, &seen);
            // It is in no checkpoint.
            let mut fresh = Frontier::default();
            fresh.look(&decisions, &seen);
            assert_eq!(fresh, frontier);
            frontier.taken.clone()
        };
        assert_eq!(open_after(&[0]), []);
        assert_eq!(open_after(&[4, 3, 5]), [3, 4]);
        assert_eq!(open_after(&[2, 7]), [4, 7]);
        assert_eq!(open_after(&[1, 6]), []);
    }
}
