//! Injected faults: where mutants of a subject would break, and which campaigns would have noticed.
//!
//! In: the arms of branches of the semantic stage, and outcomes. Out: the trial at which each fault
//! showed first. A fault stands for a mutant that traps once its condition holds: an arm is taken, is
//! taken often, or is taken by a run that ends as valid (an accepted input that is treated wrongly).
//! Nothing is changed in the module, and a campaign goes on, so it meets all faults at once and none
//! hides another; up to the moment at which it shows, a fault changes nothing.
//!
//! Faults are drawn with a fixed seed from the frozen list of semantic functions, before any campaign.
//! Most arms drawn are hard to reach, some impossible: what counts is which arm of the comparison
//! finds more of the same.

use sandglass_engine::trial::Status;
use sandglass_engine::{Outcome, Rng};

/// How many of each kind.
const OF_EACH: usize = 500;

const SEED: u64 = 20_261_122;

/// Least counts, each the beginning of a bucket: so that crossing it is news, which every guidance's
/// trials report in detail.
const OFTEN: [u32; 4] = [4, 8, 16, 32];

/// When a mutant breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fault {
    probe: u32,
    /// How often the run must have taken the arm.
    count: u32,
    /// Whether the run must have ended as valid.
    valid: bool,
}

/// The faults of a subject, and where a campaign stands with them.
pub(crate) struct Faults {
    faults: Vec<Fault>,
    found: Vec<bool>,
}

impl Faults {
    /// Draws faults from the semantic stage's arms.
    pub(crate) fn draw(arms: &[u32]) -> Faults {
        let mut rng = Rng::new(SEED);
        let mut faults = Vec::new();
        for _ in 0..if arms.is_empty() { 0 } else { OF_EACH } {
            let mut arm = || arms[rng.index(arms.len())];
            let (plain, often, valid) = (arm(), arm(), arm());
            let count = OFTEN[rng.index(OFTEN.len())];
            for (probe, count, valid) in
                [(plain, 1, false), (often, count, false), (valid, 1, true)]
            {
                faults.push(Fault {
                    probe,
                    count,
                    valid,
                });
            }
        }
        Faults {
            found: vec![false; faults.len()],
            faults,
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.faults.len()
    }

    /// The faults that show in this run and showed in none before.
    pub(crate) fn see(&mut self, outcome: &Outcome) -> Vec<usize> {
        let status = outcome.exit.status();
        let Some(detail) = &outcome.detail else {
            return Vec::new();
        };
        if status == Status::Interesting {
            return Vec::new();
        }
        let shows = |fault: &Fault| {
            let at = detail
                .counts
                .binary_search_by_key(&fault.probe, |(probe, _)| *probe);
            let count = at.map_or(0, |at| detail.counts[at].1);
            count >= fault.count && (!fault.valid || status == Status::Valid)
        };
        let open =
            (self.faults.iter().zip(&self.found).enumerate()).filter(|(_, (_, found))| !**found);
        let new: Vec<usize> = open
            .filter(|(_, (fault, _))| shows(fault))
            .map(|(at, _)| at)
            .collect();
        for at in &new {
            self.found[*at] = true;
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_engine::{Detail, Exit};

    fn run(exit: Exit, counts: &[(u32, u32)]) -> Outcome {
        Outcome {
            exit,
            site: 0,
            fuel: 0,
            input_bytes: 0,
            stage: 0,
            detail: Some(Box::new(Detail {
                counts: counts.to_vec(),
                ..Detail::default()
            })),
        }
    }

    #[test]
    fn faults_are_the_same_every_time_and_of_the_stage() {
        let arms: Vec<u32> = (100..400).step_by(3).collect();
        let (one, other) = (Faults::draw(&arms), Faults::draw(&arms));
        assert_eq!((one.len(), &one.faults), (3 * OF_EACH, &other.faults));
        assert!(one.faults.iter().all(|fault| arms.contains(&fault.probe)));
        assert_eq!(Faults::draw(&[]).len(), 0);
    }

    #[test]
    fn each_shows_once_and_only_when_its_condition_holds() {
        let fault = |count, valid| Fault {
            probe: 7,
            count,
            valid,
        };
        let mut faults = Faults {
            faults: vec![fault(1, false), fault(8, false), fault(1, true)],
            found: vec![false; 3],
        };
        assert!(faults.see(&run(Exit::Hang, &[(7, 9)])).is_empty());
        assert!(faults.see(&run(Exit::Invalid, &[(6, 9)])).is_empty());
        assert_eq!(faults.see(&run(Exit::Invalid, &[(6, 9), (7, 2)])), [0]);
        assert_eq!(faults.see(&run(Exit::Valid, &[(7, 8)])), [1, 2]);
        assert!(faults.see(&run(Exit::Valid, &[(7, 8)])).is_empty());
    }
}
