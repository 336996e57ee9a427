//! Shortest: for each goal the shortest input known to reach it, and who those inputs are.
//!
//! In: the goals that an input reaches, and its size. Out: whether it is the shortest of any, and who
//! is the shortest of none any more. Of the same size, the first stays (Hough and Bell, "Crossover in
//! Parametric Fuzzing", ICSE 2024, whose goals are probes).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Who is the shortest for what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shortest {
    /// By goal: size and number; grows as needed.
    goals: Vec<Option<(u32, u64)>>,
    /// For how many goals each input is the shortest.
    holds: BTreeMap<u64, u32>,
}

/// What an input came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claim {
    /// For how many goals it is the shortest.
    pub(super) held: u32,
    /// Whether nobody had reached one of them.
    pub(super) is_first: bool,
    /// Who is left with none.
    pub(super) released: Vec<u64>,
}

impl Shortest {
    /// An input of this size and number reaches these goals, each given once. Numbers come once.
    pub(super) fn claim(
        &mut self,
        number: u64,
        size: u32,
        goals: impl Iterator<Item = usize>,
    ) -> Claim {
        let mut claim = Claim::default();
        for goal in goals {
            if goal >= self.goals.len() {
                self.goals.resize(goal + 1, None);
            }
            let old = self.goals[goal];
            if old.is_some_and(|(shortest, _)| shortest <= size) {
                continue;
            }
            self.goals[goal] = Some((size, number));
            claim.held += 1;
            match old {
                None => claim.is_first = true,
                Some((_, holder)) => claim.released.extend(self.release(holder)),
            }
        }
        if claim.held > 0 {
            self.holds.insert(number, claim.held);
        }
        claim
    }

    /// Who is the shortest for a goal.
    pub(super) fn holder(&self, goal: usize) -> Option<u64> {
        self.goals
            .get(goal)
            .copied()
            .flatten()
            .map(|(_, number)| number)
    }

    fn release(&mut self, holder: u64) -> Option<u64> {
        let holds = self.holds.get_mut(&holder).expect("it held this one");
        *holds -= 1;
        if *holds > 0 {
            return None;
        }
        self.holds.remove(&holder);
        Some(holder)
    }

    /// Everybody who is the shortest for something.
    #[cfg(test)]
    pub(super) fn holders(&self) -> Vec<u64> {
        self.holds.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_shortest_holds_a_goal() {
        let mut shortest = Shortest::default();
        let mut claim = |number, size, goals: &[usize]| {
            let claim = shortest.claim(number, size, goals.iter().copied());
            (claim.held, claim.is_first, claim.released)
        };
        assert_eq!(claim(0, 9, &[0, 5]), (2, true, vec![]));
        assert_eq!(claim(1, 9, &[0, 5]), (0, false, vec![]));
        assert_eq!(claim(2, 8, &[5]), (1, false, vec![]));
        assert_eq!(claim(3, 20, &[0, 7]), (1, true, vec![]));
        assert_eq!(claim(4, 7, &[0, 5]), (2, false, vec![0, 2]));
        assert_eq!(shortest.holders(), [3, 4]);
        let holders = [0, 1, 7, 9].map(|goal| shortest.holder(goal));
        assert_eq!(holders, [Some(4), None, Some(3), None]);
    }
}
