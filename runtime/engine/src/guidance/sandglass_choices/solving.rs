//! Solving: what members of the forest compared, and what is tried to make it come out otherwise.
//!
//! In: members, and runs that recorded comparisons. Out: trials, one at a time: such a run of a member's child, or a solution
//! ([`crate::choice::solve`]). New members come first; solutions of different runs take turns. How many trials all of this
//! gets, somebody else decides.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::choice::edit::Forest;
use crate::choice::sites::{Key, Sites};
use crate::choice::solve::{Solution, solve};
use crate::choice::tree::Tree;
use crate::trial::Detail;

/// Most and fewest solutions of one run, and how many may wait. By trying: later solutions of a run are rarely right.
const SOLUTIONS_MAX: usize = 32;
const SOLUTIONS_MIN: usize = 4;
const BACKLOG: usize = 1024;
/// Jobs that wait; they hold a tree each.
const JOBS_MAX: usize = 128;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Job {
    /// Run a child of a member and record its comparisons.
    Record(u64),
    /// Run a child whose comparisons were recorded as others are run.
    Again(Arc<Tree>),
    /// Try solutions; the last is the next, and there is one.
    Solve {
        tree: Arc<Tree>,
        solutions: Vec<Solution>,
    },
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A child of this member, recording comparisons.
    Record(u64),
    /// These choices.
    Again(Arc<Tree>),
    /// These choices, changed.
    Solve(Arc<Tree>, Solution),
}

/// The state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Solving {
    /// Whether solutions are tried; else they are hints alone.
    tries: bool,
    sites: Sites,
    jobs: VecDeque<Job>,
}

impl Solving {
    pub(super) fn new(tries: bool) -> Solving {
        Solving {
            tries,
            sites: Sites::default(),
            jobs: VecDeque::new(),
        }
    }

    /// A member entered the forest; with something new, it comes first.
    pub(super) fn enter(&mut self, number: u64, is_new: bool) {
        self.push(Job::Record(number), is_new);
    }

    fn push(&mut self, job: Job, is_first: bool) {
        match is_first {
            true => self.jobs.push_front(job),
            false => self.jobs.push_back(job),
        }
        self.jobs.truncate(JOBS_MAX);
    }

    /// The next trial, if anything waits that may be done: `records` says whether comparisons may be recorded.
    pub(super) fn next(&mut self, forest: &Forest, records: bool) -> Option<Next> {
        loop {
            let is_allowed = |job: &Job| records || !matches!(job, Job::Record(_));
            let nth = self.jobs.iter().position(is_allowed)?;
            match self.jobs.remove(nth).expect("it is there") {
                Job::Record(number) => {
                    // It may have been replaced by a shorter one.
                    if forest.get(number).is_some() {
                        return Some(Next::Record(number));
                    }
                }
                Job::Again(tree) => return Some(Next::Again(tree)),
                Job::Solve {
                    tree,
                    mut solutions,
                } => {
                    let solution = solutions.pop().expect("there is one");
                    if !solutions.is_empty() {
                        let tree = tree.clone();
                        self.push(Job::Solve { tree, solutions }, false);
                    }
                    return Some(Next::Solve(tree, solution));
                }
            }
        }
    }

    /// Learns what a run compared, and whether it showed something new, which counts only once it is run as others are. What it
    /// wants comes out.
    pub(super) fn recorded(
        &mut self,
        tree: &Arc<Tree>,
        detail: &Detail,
        is_new: bool,
    ) -> Vec<Solution> {
        let limit = (BACKLOG / (self.jobs.len() + 1)).clamp(SOLUTIONS_MIN, SOLUTIONS_MAX);
        let solutions = solve(tree, detail, &mut self.sites, limit);
        if self.tries && !solutions.is_empty() {
            let job = Job::Solve {
                tree: tree.clone(),
                solutions: solutions.iter().rev().cloned().collect(),
            };
            self.push(job, false);
        }
        if is_new {
            self.push(Job::Again(tree.clone()), true);
        }
        solutions
    }

    /// Learns what a solution for this site came to.
    pub(super) fn tried(&mut self, site: Key, found: bool) {
        self.sites.tried(site, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::ChoiceSequence;
    use crate::trial::Compare;

    fn tree(bytes: &[u8]) -> Arc<Tree> {
        Arc::new(Tree::from(&ChoiceSequence::of_bytes(bytes, &[])))
    }

    /// A run that compared a byte with one that it is not.
    fn detail(site: u32, left: u8) -> Detail {
        Detail {
            compares: vec![Compare {
                site,
                width: 4,
                left: left.into(),
                right: 200,
                constant: true,
            }],
            ..Detail::default()
        }
    }

    #[test]
    fn new_members_come_first_and_runs_take_turns() {
        let mut solving = Solving::new(true);
        let mut forest = Forest::default();
        for number in [5, 6] {
            forest.insert(number, Tree::clone(&tree(&[number as u8; 3])));
        }
        let (one, other) = (tree(&[1; 9]), tree(&[2; 9]));
        let solutions = solving.recorded(&one, &detail(1, 1), false);
        assert_eq!(
            solving.recorded(&other, &detail(2, 2), false).len(),
            solutions.len()
        );
        solving.enter(5, false);
        solving.enter(6, true);
        solving.enter(7, true);
        let mut next = || solving.next(&forest, true);
        // The seventh is not there any more.
        assert_eq!(next(), Some(Next::Record(6)));
        assert_eq!(next(), Some(Next::Solve(one.clone(), solutions[0].clone())));
        assert!(matches!(next(), Some(Next::Solve(of, _)) if of == other));
        assert_eq!(next(), Some(Next::Record(5)));
        assert_eq!(next(), Some(Next::Solve(one, solutions[1].clone())));
        assert_eq!(std::iter::from_fn(next).count(), 2 * solutions.len() - 3);
    }

    #[test]
    fn where_recording_is_too_dear_solutions_go_on() {
        let mut solving = Solving::new(true);
        let mut forest = Forest::default();
        forest.insert(5, Tree::clone(&tree(&[5; 3])));
        solving.recorded(&tree(&[1; 9]), &detail(1, 1), false);
        solving.enter(5, true);
        let solves = |next| matches!(next, Some(Next::Solve(..)));
        assert!(solves(solving.next(&forest, false)));
        assert_eq!(solving.next(&forest, true), Some(Next::Record(5)));
        while solves(solving.next(&forest, false)) {}
        assert_eq!(solving.next(&forest, false), None);
    }

    #[test]
    fn what_showed_something_new_is_run_as_others_are() {
        let mut solving = Solving::new(true);
        let one = tree(&[1; 9]);
        solving.recorded(&one, &detail(1, 1), true);
        assert_eq!(
            solving.next(&Forest::default(), true),
            Some(Next::Again(one))
        );
    }

    #[test]
    fn without_trying_there_are_wishes_alone() {
        let mut solving = Solving::new(false);
        assert!(
            !solving
                .recorded(&tree(&[1; 9]), &detail(1, 1), false)
                .is_empty()
        );
        assert_eq!(solving.next(&Forest::default(), true), None);
    }

    #[test]
    fn little_waits_and_hopeless_sites_get_little() {
        let mut solving = Solving::new(true);
        let (mut first, mut last) = (0, 0);
        for run in 0..2_000 {
            last = solving.recorded(&tree(&[1; 9]), &detail(1, 1), false).len();
            first = if run == 0 { last } else { first };
            (0..last).for_each(|_| solving.tried(1, false));
            assert!(solving.jobs.len() <= JOBS_MAX);
        }
        assert!(first > 1 && last <= 1, "{first} {last}");
        solving.tried(1, true);
        // But many wait.
        assert!(solving.recorded(&tree(&[1; 9]), &detail(1, 1), false).len() > 1);
    }
}
