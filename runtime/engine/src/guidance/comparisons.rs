//! Comparisons: what is made of runs that recorded theirs.
//!
//! In: the detail of such a run. Out: edits that would make a comparison come out otherwise
//! ([`crate::solve`]), to be tried a few at a time, and tokens. What has been tried in vain is
//! remembered by site, until something comes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::View;
use crate::batch::Plan;
use crate::corpus::TestcaseId;
use crate::dictionary::{Token, TokenSource};
use crate::solve::{self, Solution};
use crate::trial::Detail;

/// Most tokens taken from comparisons, as AFL's `MAX_AUTO_EXTRAS`.
const TOKENS_MAX: usize = 500;

/// What is known of all comparisons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Comparisons {
    /// By site: solutions tried since one of them was kept.
    barren: BTreeMap<u32, u32>,
    /// Runs solved so far.
    turn: u32,
    /// From comparisons, in the order found.
    tokens: Vec<Vec<u8>>,
    token_set: BTreeSet<Vec<u8>>,
}

/// Solutions of one run that have not been tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Solving {
    /// Whom they descend from.
    pub(super) parent: TestcaseId,
    /// What they are edits of: the parent as it was when it was run, or a mutant of it.
    bytes: Arc<[u8]>,
    /// The last is the next; never empty.
    solutions: Vec<Solution>,
}

impl Comparisons {
    /// At most `limit` solutions of a run for inputs of at most `bytes_max` bytes, if there are any.
    pub(super) fn solve(
        &mut self,
        parent: TestcaseId,
        detail: &Detail,
        bytes_max: u32,
        limit: usize,
    ) -> Option<Solving> {
        let tries = |site: u32| self.barren.get(&site).copied().unwrap_or(0);
        self.turn = self.turn.wrapping_add(1);
        let mut solutions = solve::solve(detail, bytes_max, limit, self.turn, tries);
        solutions.reverse();
        (!solutions.is_empty()).then(|| Solving {
            parent,
            bytes: Arc::from(&detail.input[..]),
            solutions,
        })
    }

    /// Takes the operands that are worth having as tokens.
    pub(super) fn learn_tokens(&mut self, detail: &Detail) {
        if self.tokens.len() >= TOKENS_MAX {
            return;
        }
        for token in solve::tokens(detail) {
            if self.tokens.len() < TOKENS_MAX && self.token_set.insert(token.clone()) {
                self.tokens.push(token);
            }
        }
    }

    /// The user's tokens, and all others if `automatic` ones are wanted.
    pub(super) fn tokens(&self, view: &View<'_>, automatic: bool) -> Vec<Token> {
        let usable = |token: &&Token| token.source == TokenSource::User || automatic;
        let given = view.tokens.iter().filter(usable).cloned();
        let own = self.tokens.iter().map(|token| Token::automatic(&token[..]));
        given.chain(own).collect()
    }

    /// How many tokens were taken from comparisons; they are never taken back.
    pub(super) fn tokens_taken(&self) -> usize {
        self.tokens.len()
    }

    /// Learns that a solution for this site was kept.
    pub(super) fn came_true(&mut self, site: u32) {
        self.barren.insert(site, 0);
    }

    /// Learns that solutions for these sites were tried, by so many campaigns as far as one of them can tell.
    pub(super) fn tried(&mut self, sites: &[u32], sharers: u32) {
        for site in sites {
            let barren = self.barren.entry(*site).or_default();
            *barren = barren.saturating_add(sharers);
        }
    }
}

impl Solving {
    /// The next solutions, at most `count`, which is not 0: the plan of their trials, and their sites.
    pub(super) fn next(&mut self, count: usize) -> (Plan, Vec<u32>) {
        let from = self.solutions.len().saturating_sub(count);
        let solutions: Vec<Solution> = self.solutions.drain(from..).rev().collect();
        let sites = solutions.iter().map(|solution| solution.site).collect();
        let plan = Plan::Edited {
            input: self.bytes.clone(),
            solutions,
        };
        (plan, sites)
    }

    /// Whether all of them were planned.
    pub(super) fn is_over(&self) -> bool {
        self.solutions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Compare;

    fn detail(site: u32) -> Detail {
        Detail {
            input: b"....abcd".to_vec(),
            compares: vec![Compare {
                site,
                width: 4,
                left: 0x6463_6261,
                right: 0x1122_3344,
                constant: true,
            }],
            ..Detail::default()
        }
    }

    #[test]
    fn solutions_come_in_parts_best_first() {
        let mut whole = (Comparisons::default())
            .solve(TestcaseId(3), &detail(5), 100, 100)
            .unwrap();
        let mut parts = whole.clone();
        let (Plan::Edited { solutions, .. }, sites) = whole.next(usize::MAX) else {
            unreachable!()
        };
        assert!(whole.is_over() && solutions.len() > 2 && sites == vec![5; solutions.len()]);
        let mut again = Vec::new();
        while !parts.is_over() {
            let (Plan::Edited { solutions, .. }, sites) = parts.next(2) else {
                unreachable!()
            };
            assert_eq!(solutions.len(), sites.len());
            again.extend(solutions);
        }
        assert_eq!(again, solutions);
    }

    #[test]
    fn what_is_in_vain_is_tried_less_until_something_comes_of_it() {
        let mut comparisons = Comparisons::default();
        let count = |comparisons: &mut Comparisons| {
            let solving = comparisons.solve(TestcaseId(0), &detail(5), 100, 100);
            solving.map_or(0, |solving| solving.solutions.len())
        };
        let fresh = count(&mut comparisons);
        comparisons.tried(&[5; 5_000], 1);
        assert!(count(&mut comparisons) < fresh);
        comparisons.came_true(5);
        assert_eq!(count(&mut comparisons), fresh);
    }
}
