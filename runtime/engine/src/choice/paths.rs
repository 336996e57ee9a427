//! Paths: where each draw of a run happened, as its execution index.
//!
//! In: the steps of each draw, from the entry point to the draw itself. Out: for each draw a number
//! that stands for its whole path and is the same in every run that draws there, and one for its
//! context: the path without the counts. Xin, Sumner and Zhang, "Efficient Program Execution Indexing",
//! PLDI 2008, as the execution indexing of JQF has it: a call and how often this invocation of its
//! caller has made it, for each active call.
//!
//! Paths are kept as a tree, because neighbours share most of their steps. Numbers are hashes of 64
//! bits; that two of the ten thousand paths of a run share one happens once in 10¹¹ runs, and would
//! make them one place.

use serde::{Deserialize, Serialize};

use crate::rng::derive;

/// Steps of one run that are kept, those that paths share counted once. Ordinary generators make a few
/// for each draw.
const STEPS_MAX: usize = 1 << 18;

/// One active call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Which call, as the generator's module numbers them.
    pub call: u32,
    /// How often this invocation of its caller has made it, this time included.
    pub nth: u32,
}

/// The path of a caller, extended by a step.
pub(super) fn key_of(caller: u64, step: Step) -> u64 {
    derive(caller, u64::from(step.call) << 32 | u64::from(step.nth))
}

/// The context of a caller, extended by a step.
pub(super) fn context_of(caller: u64, step: Step) -> u64 {
    derive(caller, u64::from(step.call))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    /// Where the caller is, plus one; 0 for the entry point.
    caller: u32,
    step: Step,
}

/// The path of each draw of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// Callers come before their callees.
    nodes: Vec<Node>,
    /// The last node of each draw's path, plus one.
    draws: Vec<u32>,
    /// The nodes of the last path, plus one, each with the number of the path up to there.
    #[serde(skip)]
    last: Vec<(u32, u64)>,
}

impl Paths {
    /// How many draws have a path.
    pub fn len(&self) -> usize {
        self.draws.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.draws.is_empty()
    }

    /// Whether there is no room for another one.
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() >= STEPS_MAX
    }

    /// The same, to be kept: nothing is added any more.
    pub(super) fn closed(&self) -> Paths {
        Paths {
            last: Vec::new(),
            ..self.clone()
        }
    }

    /// Adds the path of the next draw.
    pub fn push(&mut self, steps: impl Iterator<Item = Step>) {
        let mut depth = 0;
        for step in steps {
            let is_shared = (self.last.get(depth))
                .is_some_and(|&(node, _)| self.nodes[node as usize - 1].step == step);
            if !is_shared {
                self.last.truncate(depth);
                let (caller, key) = self.last.last().copied().unwrap_or_default();
                self.nodes.push(Node { caller, step });
                self.last.push((self.nodes.len() as u32, key_of(key, step)));
            }
            depth += 1;
        }
        self.last.truncate(depth);
        self.draws
            .push(self.last.last().map_or(0, |&(node, _)| node));
    }

    /// The number of the last path.
    pub fn last_key(&self) -> u64 {
        self.last.last().map_or(0, |&(_, key)| key)
    }

    /// Forgets all draws but the first so many.
    pub(super) fn truncate(&mut self, draws: usize) {
        self.draws.truncate(draws);
    }

    /// The number of each draw's path, and of its context.
    pub(super) fn keys(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = Vec::with_capacity(self.nodes.len() + 1);
        all.push((0, 0));
        for node in &self.nodes {
            let (key, context) = all[node.caller as usize];
            all.push((key_of(key, node.step), context_of(context, node.step)));
        }
        let draws = self.draws.iter();
        draws.map(|&node| all[node as usize]).collect()
    }

    /// The steps of a draw, outermost first.
    pub fn steps(&self, draw: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = self.draws[draw];
        while at > 0 {
            let node = self.nodes[at as usize - 1];
            steps.push(node.step);
            at = node.caller;
        }
        steps.reverse();
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(call: u32, nth: u32) -> Step {
        Step { call, nth }
    }

    /// Conformance item 10: the keys of a scripted tree of calls.
    #[test]
    fn draws_of_a_tree_of_calls_have_their_own_numbers() {
        // main calls f twice; f draws twice in a loop and calls g, which draws once.
        let (first, second) = (step(10, 1), step(10, 2));
        let tree = [
            vec![first, step(20, 1)],
            vec![first, step(20, 2)],
            vec![first, step(30, 1), step(40, 1)],
            vec![second, step(20, 1)],
            vec![second, step(20, 2)],
            vec![second, step(30, 1), step(40, 1)],
            vec![step(50, 1)],
        ];
        let mut paths = Paths::default();
        for path in &tree {
            paths.push(path.iter().copied());
            let key = path.iter().fold(0, |key, &step| key_of(key, step));
            assert_eq!(paths.last_key(), key);
        }
        for (n, path) in tree.iter().enumerate() {
            assert_eq!(&paths.steps(n), path);
        }
        // Shared callers are there once.
        assert_eq!(paths.nodes.len(), 11);
        let keys = paths.keys();
        let mut distinct: Vec<u64> = keys.iter().map(|&(key, _)| key).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), tree.len());
        let context = |n: usize| keys[n].1;
        // Which invocation it is does not matter to the context, nor which turn of a loop.
        assert!([1, 3, 4].iter().all(|&n| context(n) == context(0)));
        assert_eq!(context(2), context(5));
        assert!(context(0) != context(2) && context(0) != context(6));
    }

    #[test]
    fn a_path_may_be_empty_or_the_same_again() {
        let mut paths = Paths::default();
        paths.push([].into_iter());
        paths.push([step(1, 1), step(2, 1)].into_iter());
        paths.push([step(1, 1)].into_iter());
        paths.push([step(1, 1)].into_iter());
        assert_eq!(paths.steps(0), []);
        assert_eq!(paths.steps(1), [step(1, 1), step(2, 1)]);
        assert_eq!(paths.steps(2), paths.steps(3));
        assert_eq!((paths.len(), paths.nodes.len()), (4, 2));
    }
}
