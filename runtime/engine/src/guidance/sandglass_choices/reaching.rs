//! Reaching: children that differ in the draws which reach a decision of which an arm was never taken.
//!
//! In: decisions at the frontier, the shortest inputs at them, and runs in the build that follows draws
//! ([`Variant::Dependence`](crate::Variant)). Out: trials, one at a time: such a run of a member, or a child of one. A run says of all
//! decisions which draws reach them, and is dear, so that many children come after each. Of two decisions the one
//! that was aimed at less often is taken: those which cannot come out otherwise are not to take all.

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

/// Children between two such runs, if there are as many to be made.
const CHILDREN: u32 = 64;

/// What is looked at for something to be done.
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
    /// Children since the last such run.
    children: u32,
    /// How often each decision was aimed at.
    aimed: BTreeMap<u32, u32>,
}

impl Reaching {
    /// The next trial, if anything was found to do. Of each probe, `decisions` has the first one of the same decision.
    pub(super) fn next(
        &mut self,
        (frontier, decisions): (&Frontier, &[u32]),
        shortest: &Shortest,
        forest: &Forest,
        rng: &mut Rng,
    ) -> Option<Aim> {
        if self.children < CHILDREN
            && let Some(child) = self.child(frontier, rng)
        {
            self.children += 1;
            return Some(child);
        }
        for _ in 0..LOOKS {
            let (a, b) = (frontier.any(rng)?, frontier.any(rng)?);
            let aimed = |taken: u32| self.aimed_at(decisions[taken as usize]);
            let taken = if aimed(b) < aimed(a) { b } else { a };
            let holder = shortest.holder(2 * taken as usize);
            let is_known = |member| {
                let mut followed = self.followed.iter();
                followed.any(|of| of.member == member) || self.asked.contains(&member)
            };
            let Some(member) = holder.filter(|&member| !is_known(member)) else {
                continue;
            };
            // What only a text has reached is nobody's.
            if forest.get(member).is_some() {
                self.children = 0;
                self.asked.push(member);
                return Some(Aim::Follow(member));
            }
        }
        self.child(frontier, rng)
    }

    /// A child that differs in draws which reach a decision at the frontier.
    fn child(&mut self, frontier: &Frontier, rng: &mut Rng) -> Option<Aim> {
        for _ in 0..LOOKS {
            let of = self.followed.get(rng.index(self.followed.len()))?;
            let mut any = || of.reached.get(rng.index(of.reached.len()));
            let (Some(a), Some(b)) = (any(), any()) else {
                continue;
            };
            let is_rarer = self.aimed_at(b.decision) < self.aimed_at(a.decision);
            let reached = if is_rarer { b } else { a };
            if frontier.has(reached.decision) {
                let (decision, draws) = (reached.decision, reached.draws[..].into());
                let tree = of.tree.clone();
                *self.aimed.entry(decision).or_default() += 1;
                return Some(Aim::Child(tree, draws));
            }
        }
        None
    }

    fn aimed_at(&self, decision: u32) -> u32 {
        self.aimed.get(&decision).copied().unwrap_or(0)
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
        // Three decisions of two arms each; of two of them an arm is missing.
        let decisions = [0, 0, 2, 2, 4, 4];
        let (mut seen, mut frontier) = (Seen::new(6), Frontier::default());
        seen.absorb(&[(0, 1), (3, 1), (4, 1), (5, 1)]);
        frontier.look(&decisions, &seen);
        let (mut shortest, mut forest) = (Shortest::default(), Forest::default());
        let tree = Tree::from(&ChoiceSequence::of_bytes(&[1, 2, 3], &[]));
        for (member, goal) in [(7, 0), (8, 6), (9, 8)] {
            shortest.claim(member, 3, [goal].into_iter());
            forest.insert(member, tree.clone());
        }
        let (mut reaching, mut rng) = (Reaching::default(), Rng::new(1));
        let mut next = |reaching: &mut Reaching| {
            reaching.next((&frontier, &decisions), &shortest, &forest, &mut rng)
        };
        let mut asked = [next(&mut reaching), next(&mut reaching)];
        asked.sort_by_key(|aim| matches!(aim, Some(Aim::Follow(8))));
        assert_eq!(asked, [Some(Aim::Follow(7)), Some(Aim::Follow(8))]);
        assert_eq!(next(&mut reaching), None, "they are being followed");
        let reached = |decision, draws: Range<u32>| Reached {
            decision,
            draws: vec![draws],
        };
        reaching.lost(8);
        let all = [reached(0, 0..1), reached(2, 1..3), reached(4, 2..3)];
        reaching.followed(7, tree.clone(), &all);
        for _ in 0..100 {
            match next(&mut reaching) {
                // The last one is not at the frontier.
                Some(Aim::Child(of, draws)) => assert!(*of == tree && draws[0] != (2..3)),
                None => {}
                other => panic!("{other:?}"),
            }
        }
        let (one, other) = (reaching.aimed_at(0), reaching.aimed_at(2));
        assert!(
            one + other > 80 && one.abs_diff(other) < 20,
            "{one} {other}"
        );
    }

    #[test]
    fn many_children_come_after_each_run() {
        let decisions: Vec<u32> = (0..400).map(|probe| probe / 2 * 2).collect();
        let (mut seen, mut frontier) = (Seen::new(400), Frontier::default());
        let (mut shortest, mut forest) = (Shortest::default(), Forest::default());
        for member in 0..200_u32 {
            seen.absorb(&[(2 * member, 1)]);
            shortest.claim(member.into(), 3, [4 * member as usize].into_iter());
            forest.insert(member.into(), Tree::default());
        }
        frontier.look(&decisions, &seen);
        let (mut reaching, mut rng) = (Reaching::default(), Rng::new(1));
        let mut runs = Vec::new();
        for at in 0..10 * CHILDREN {
            match reaching.next((&frontier, &decisions), &shortest, &forest, &mut rng) {
                Some(Aim::Follow(member)) => {
                    runs.push(at);
                    let decision = 2 * member as u32;
                    let draws = std::iter::once(0..1).collect();
                    reaching.followed(member, Tree::default(), &[Reached { decision, draws }]);
                }
                other => assert!(matches!(other, Some(Aim::Child(..))), "{other:?}"),
            }
        }
        assert!(
            runs.windows(2)
                .all(|runs| runs[1] - runs[0] == CHILDREN + 1)
        );
        (200..200 + FOLLOWED_MAX as u64).for_each(|member| reaching.lost(member));
        assert!(
            reaching.followed.iter().all(|of| of.member >= 200),
            "the oldest go"
        );
    }
}
