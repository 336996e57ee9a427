//! Reaching: children that differ in the draws which reach a decision of which an arm was never taken.
//!
//! In: decisions at the frontier, the shortest inputs at them, and runs in the build that follows draws
//! ([`Variant::Dependence`](crate::Variant)). Out: trials, one at a time: such a run of a member, or a child of one. A run says of all
//! decisions which draws reach them, and is dear, so that many children come after each. Of two decisions the one
//! that was aimed at less often is taken: those which cannot come out otherwise are not to take all.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::frontier::Frontier;
use crate::choice::edit::Forest;
use crate::choice::tree::Tree;
use crate::guidance::shortest::Shortest;
use crate::rng::Rng;
use crate::trial::Reached;

/// Members whose draws can be aimed at, and tokens of their trees, which checkpoints have. The oldest go first.
const FOLLOWED_MAX: usize = 128;
const TOKENS_MAX: usize = 1 << 18;

/// Trials between two such runs.
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
    tree: Arc<Tree>,
    /// Ascending by decision.
    reached: Vec<Reached>,
}

/// The state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reaching {
    followed: VecDeque<Followed>,
    /// Members of the forest that were followed, or are being followed: each is once, whatever came of it.
    asked: BTreeSet<u64>,
    /// Trials before the next such run.
    wait: u32,
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
        if self.wait > 0 {
            self.wait -= 1;
            return self.child(frontier, rng);
        }
        for _ in 0..LOOKS {
            let (a, b) = (frontier.any(rng)?, frontier.any(rng)?);
            let aimed = |taken: u32| self.aimed_at(decisions[taken as usize]);
            let taken = if aimed(b) < aimed(a) { b } else { a };
            let holder = shortest.holder(2 * taken as usize);
            // What only a text has reached is nobody's.
            let holder = holder.filter(|&member| forest.get(member).is_some());
            let new = holder.filter(|member| !self.asked.contains(member));
            if let Some(member) = new {
                self.clean(frontier, forest);
                self.asked.insert(member);
                self.wait = CHILDREN;
                return Some(Aim::Follow(member));
            }
        }
        self.child(frontier, rng)
    }

    /// Forgets what is of no use any more: decisions that came out otherwise, and members that left the forest.
    fn clean(&mut self, frontier: &Frontier, forest: &Forest) {
        for of in &mut self.followed {
            (of.reached).retain(|reached| frontier.has(reached.decision));
        }
        self.followed.retain(|of| !of.reached.is_empty());
        self.asked.retain(|member| forest.get(*member).is_some());
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

    /// What a run of a member reached, if anything.
    pub(super) fn followed(&mut self, tree: Tree, reached: &[Reached]) {
        if reached.is_empty() || tree.tokens() > TOKENS_MAX {
            return;
        }
        self.followed.push_back(Followed {
            tree: Arc::new(tree),
            reached: reached.to_vec(),
        });
        let tokens = |of: &VecDeque<Followed>| of.iter().map(|of| of.tree.tokens()).sum::<usize>();
        while self.followed.len() > FOLLOWED_MAX || tokens(&self.followed) > TOKENS_MAX {
            self.followed.pop_front();
        }
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
        let mut ask = |reaching: &mut Reaching| {
            reaching.wait = 0;
            next(reaching)
        };
        let mut asked = [ask(&mut reaching), ask(&mut reaching)];
        asked.sort_by_key(|aim| matches!(aim, Some(Aim::Follow(8))));
        assert_eq!(asked, [Some(Aim::Follow(7)), Some(Aim::Follow(8))]);
        let reached = |decision, draws: Range<u32>| Reached {
            decision,
            draws: vec![draws],
        };
        reaching.followed(tree.clone(), &[]);
        assert_eq!(ask(&mut reaching), None, "both were followed");
        let all = [reached(0, 0..1), reached(2, 1..3), reached(4, 2..3)];
        reaching.followed(tree.clone(), &all);
        for _ in 0..100 {
            match ask(&mut reaching) {
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

    /// When members are followed, where draws reach something, or nothing.
    fn runs(reaches: bool) -> Vec<u32> {
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
        let (mut runs, mut members) = (Vec::new(), BTreeSet::new());
        for at in 0..300 * CHILDREN {
            match reaching.next((&frontier, &decisions), &shortest, &forest, &mut rng) {
                Some(Aim::Follow(member)) => {
                    runs.push(at);
                    assert!(members.insert(member), "{member} was followed before");
                    let decision = 2 * member as u32;
                    let draws = std::iter::once(0..1).collect();
                    let reached = reaches.then_some(Reached { decision, draws });
                    reaching.followed(Tree::default(), reached.as_slice());
                }
                Some(Aim::Child(..)) => assert!(reaches),
                None => assert!(!reaches),
            }
        }
        assert!(reaching.followed.len() <= FOLLOWED_MAX);
        runs
    }

    #[test]
    fn each_member_is_followed_once_and_many_trials_come_between() {
        for reaches in [true, false] {
            let runs = runs(reaches);
            assert!((190..=200).contains(&runs.len()), "{}", runs.len());
            assert!(runs.windows(2).all(|runs| runs[1] - runs[0] > CHILDREN));
        }
    }

    #[test]
    fn what_is_of_no_use_is_forgotten() {
        let (mut frontier, mut seen) = (Frontier::default(), Seen::new(4));
        seen.absorb(&[(0, 1), (2, 1)]);
        frontier.look(&[0, 0, 2, 2], &seen);
        let mut reaching = Reaching::default();
        let reached = |decision| Reached {
            decision,
            draws: std::iter::once(0..1).collect(),
        };
        for decision in [0, 2] {
            reaching.followed(Tree::default(), &[reached(decision)]);
        }
        reaching.asked.insert(7);
        seen.absorb(&[(1, 1)]);
        frontier.look(&[0, 0, 2, 2], &seen);
        reaching.clean(&frontier, &Forest::default());
        assert_eq!(reaching.followed[0].reached, [reached(2)]);
        assert_eq!((reaching.followed.len(), reaching.asked.len()), (1, 0));
    }

    #[test]
    fn trees_take_so_much_and_no_more() {
        let tree = Tree::from(&ChoiceSequence::of_bytes(&vec![1; TOKENS_MAX / 3], &[]));
        let mut reaching = Reaching::default();
        let reached = [Reached {
            decision: 0,
            draws: Vec::new(),
        }];
        (0..5).for_each(|_| reaching.followed(tree.clone(), &reached));
        assert_eq!(reaching.followed.len(), 3);
        let long = Tree::from(&ChoiceSequence::of_bytes(&vec![1; TOKENS_MAX + 1], &[]));
        reaching.followed(long, &reached);
        assert_eq!(reaching.followed.len(), 3);
    }
}
