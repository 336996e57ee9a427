//! Reaching: children that differ in the draws which reach a decision of which an arm was never taken.
//!
//! In: decisions at the frontier, the shortest inputs at them, and runs in the build that follows draws
//! ([`Variant::Dependence`](crate::Variant)). Out: trials, one at a time: such a run of a member, or a child of one. Of two
//! decisions the one that was aimed at less often is taken, so that those which cannot come out otherwise do not take all.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::frontier::Frontier;
use crate::choice::edit::Forest;
use crate::choice::tree::Tree;
use crate::guidance::shortest::Shortest;
use crate::rng::Rng;
use crate::trial::Reached;

/// Members whose draws are known; they hold a tree each. The oldest go first.
const FOLLOWED_MAX: usize = 128;

/// Decisions that are looked at for one that draws reach.
const LOOKS: usize = 8;

/// One trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// This member, following its draws.
    Follow(u64),
    /// These choices, other in some of these draws.
    Child(Arc<Tree>, Arc<[Range<u32>]>),
}

/// What is known of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Followed {
    member: u64,
    tree: Arc<Tree>,
    /// Ascending by decision.
    reached: Vec<Reached>,
}

/// The state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reaching {
    followed: VecDeque<Followed>,
    /// Members that are being followed.
    asked: Vec<u64>,
    /// How often each decision was aimed at.
    aimed: BTreeMap<u32, u32>,
}

impl Reaching {
    /// The next trial, if any decision that was looked at has a member in the forest that takes it. Of each probe, `decisions` has the first
    /// one of the same decision.
    pub(super) fn next(
        &mut self,
        (frontier, decisions): (&Frontier, &[u32]),
        shortest: &Shortest,
        forest: &Forest,
        rng: &mut Rng,
    ) -> Option<Aim> {
        for _ in 0..LOOKS {
            let (a, b) = (frontier.any(rng)?, frontier.any(rng)?);
            let aimed = |taken: u32| self.aimed.get(&decisions[taken as usize]).copied();
            let taken = if aimed(b) < aimed(a) { b } else { a };
            let holder = shortest.holder(2 * taken as usize);
            let Some(member) = holder.filter(|&member| forest.get(member).is_some()) else {
                continue;
            };
            let decision = decisions[taken as usize];
            *self.aimed.entry(decision).or_default() += 1;
            let known = self.followed.iter().find(|of| of.member == member);
            let Some(followed) = known else {
                if self.asked.contains(&member) {
                    continue;
                }
                self.asked.push(member);
                return Some(Aim::Follow(member));
            };
            let of = &followed.reached;
            let first = of.partition_point(|reached| reached.decision < decision);
            let count = of[first..]
                .iter()
                .take_while(|of| of.decision == decision)
                .count();
            if count > 0 {
                let draws = &of[first + rng.index(count)].draws;
                return Some(Aim::Child(followed.tree.clone(), draws[..].into()));
            }
        }
        None
    }

    /// What a run of a member reached.
    pub(super) fn followed(&mut self, member: u64, tree: Tree, reached: &[Reached]) {
        self.asked.retain(|asked| *asked != member);
        if self.followed.len() == FOLLOWED_MAX {
            self.followed.pop_front();
        }
        self.followed.push_back(Followed {
            member,
            tree: Arc::new(tree),
            reached: reached.to_vec(),
        });
    }

    /// A run of a member ended otherwise.
    pub(super) fn lost(&mut self, member: u64) {
        self.followed(member, Tree::default(), &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::ChoiceSequence;
    use crate::feedback::Seen;

    #[test]
    fn a_member_is_followed_once_and_its_draws_are_aimed_at() {
        // Two decisions of two arms each, of which one arm is missing.
        let decisions = [0, 0, 2, 2];
        let (mut seen, mut frontier) = (Seen::new(4), Frontier::default());
        seen.absorb(&[(0, 1), (3, 1)]);
        frontier.look(&decisions, &seen);
        let (mut shortest, mut forest) = (Shortest::default(), Forest::default());
        let tree = Tree::from(&ChoiceSequence::of_bytes(&[1, 2, 3], &[]));
        shortest.claim(7, 3, [0, 6].into_iter());
        forest.insert(7, tree.clone());
        let (mut reaching, mut rng) = (Reaching::default(), Rng::new(1));
        let mut next = |reaching: &mut Reaching| {
            reaching.next((&frontier, &decisions), &shortest, &forest, &mut rng)
        };
        assert_eq!(next(&mut reaching), Some(Aim::Follow(7)));
        assert_eq!(next(&mut reaching), None, "it is being followed");
        let reached = |draws: Range<u32>| Reached {
            decision: 2,
            draws: vec![draws],
        };
        reaching.followed(7, tree.clone(), &[reached(0..1), reached(1..3)]);
        let mut aims = Vec::new();
        for _ in 0..100 {
            match next(&mut reaching) {
                Some(Aim::Child(of, draws)) => {
                    assert_eq!(*of, tree);
                    aims.push(draws[0].clone());
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(aims.contains(&(0..1)) && aims.contains(&(1..3)));
        // Draws reach the other one from nowhere: half of all looks.
        let (nowhere, somewhere) = (reaching.aimed[&0], reaching.aimed[&2]);
        assert!(nowhere.abs_diff(somewhere) <= 2, "{nowhere} {somewhere}");
        for member in 8..8 + FOLLOWED_MAX as u64 {
            reaching.lost(member);
        }
        assert_eq!(
            next(&mut reaching),
            Some(Aim::Follow(7)),
            "it was forgotten"
        );
    }
}
