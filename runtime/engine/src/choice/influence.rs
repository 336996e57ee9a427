//! Influence: what depends on a draw, learnt from ordinary runs.
//!
//! In: pairs of runs, a parent and a child that was given some other answers. Out: for each site, how
//! often another answer there changed the *shape* of what was drawn later (which sites, from which
//! domains, how many), and how often it did not. So nobody has to say which draws are structure and
//! which are values: structure is what changes the shape (after BeDivFuzz, ICSE 2022, §3).
//!
//! A generator is a function of its answers. Up to the first draw that differs in shape, the runs are
//! alike but for the answers that differ; if there is exactly one such answer, it is the cause, and if
//! the shapes never differ, none of them is. Of several suspects the last one is the likely cause, as
//! most of what is structure is followed by what it decides. That counts for sites which were never
//! alone, when it is nearly always so, or nearly never.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ChoiceNode, ChoiceSequence, Draw, Role};

/// Hints of one kind that are taken for a proof where there is none, if those of the other kind are
/// fewer by [`MAJORITY`].
const HINTS: u32 = 8;
const MAJORITY: u32 = 4;

/// What other answers at one site came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The shape changed, and nothing else could have been the cause.
    pub shaped: u32,
    /// The shape stayed to the end.
    pub kept: u32,
    /// It was one of several suspects, but not the last.
    pub passed: u32,
    /// It was the last of several suspects.
    pub suspected: u32,
}

impl Evidence {
    /// What the site decides, as far as this shows.
    pub fn role(self) -> Role {
        match self {
            Evidence { shaped: 1.., .. } => Role::Structure,
            Evidence { kept: 1.., .. } => Role::Value,
            Evidence {
                passed, suspected, ..
            } => match () {
                () if passed >= HINTS && passed / MAJORITY >= suspected => Role::Value,
                () if suspected >= HINTS && suspected / MAJORITY >= passed => Role::Structure,
                () => Role::Unknown,
            },
        }
    }
}

/// What was learnt of each site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Influence {
    sites: BTreeMap<u32, Evidence>,
}

impl Influence {
    /// Learns from a child and its parent, both of which came to their end: the draws of a run that
    /// was rejected or overran have no shape. Returns whether the role of any site is another one now.
    pub fn learn(&mut self, parent: &ChoiceSequence, child: &ChoiceSequence) -> bool {
        let (old, new) = (&parent.nodes, &child.nodes);
        let asks_same = |(old, new): &(&ChoiceNode, &ChoiceNode)| {
            old.draw.site == new.draw.site && old.draw.domain == new.draw.domain
        };
        let alike = old.iter().zip(new).take_while(asks_same).count();
        let stays = alike == old.len() && alike == new.len();
        let others: Vec<u32> = (parent.iter().zip(child.iter()).take(alike))
            .filter(|((old, a), (new, b))| old.value != new.value || a != b)
            .map(|((old, _), _)| old.draw.site)
            .collect();
        let mut has_changed = false;
        for (nth, site) in others.iter().enumerate() {
            let evidence = self.sites.entry(*site).or_default();
            let before = evidence.role();
            let count = match () {
                () if stays => &mut evidence.kept,
                () if others.len() == 1 => &mut evidence.shaped,
                () if nth + 1 < others.len() => &mut evidence.passed,
                () => &mut evidence.suspected,
            };
            *count = count.saturating_add(1);
            has_changed |= evidence.role() != before;
        }
        has_changed
    }

    /// What was seen of a site.
    pub fn evidence(&self, site: u32) -> Evidence {
        self.sites.get(&site).copied().unwrap_or_default()
    }

    /// The sites of which anything was seen, ascending.
    pub fn sites(&self) -> impl Iterator<Item = (u32, Evidence)> {
        self.sites.iter().map(|(site, evidence)| (*site, *evidence))
    }

    /// What a draw decides, as far as was learnt.
    pub fn role(&self, draw: &Draw) -> Role {
        self.evidence(draw.site).role()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Domain;
    use super::*;

    /// Draws of numbers: site, greatest number, answer.
    fn choices(draws: &[(u32, i64, u64)]) -> ChoiceSequence {
        let node = |&(site, hi, value): &(u32, i64, u64)| ChoiceNode {
            draw: Draw {
                site,
                role: Role::Unknown,
                domain: Domain::Int { lo: 0, hi },
            },
            bits: value,
            value,
        };
        ChoiceSequence {
            nodes: draws.iter().map(node).collect(),
            ..ChoiceSequence::default()
        }
    }

    #[test]
    fn a_count_is_structure_and_its_elements_are_values() {
        let mut influence = Influence::default();
        let parent = choices(&[(1, 9, 2), (2, 99, 5), (2, 99, 6)]);
        // One element more.
        assert!(influence.learn(
            &parent,
            &choices(&[(1, 9, 3), (2, 99, 5), (2, 99, 6), (2, 99, 7)])
        ));
        assert!(influence.learn(&parent, &choices(&[(1, 9, 2), (2, 99, 5), (2, 99, 9)])));
        let roles: Vec<_> = influence
            .sites()
            .map(|(site, e)| (site, e.role()))
            .collect();
        assert_eq!(roles, [(1, Role::Structure), (2, Role::Value)]);
        assert!(!influence.learn(&parent, &parent));
    }

    /// A later domain is shape, too: how many names there are to choose from.
    #[test]
    fn what_changes_a_later_domain_is_structure() {
        let mut influence = Influence::default();
        let parent = choices(&[(1, 1, 0), (2, 3, 1)]);
        influence.learn(&parent, &choices(&[(1, 1, 1), (2, 4, 1)]));
        assert_eq!(influence.evidence(1).role(), Role::Structure);
    }

    #[test]
    fn of_several_suspects_the_last_is_the_likely_one() {
        let mut influence = Influence::default();
        let parent = choices(&[(1, 9, 0), (2, 9, 0), (3, 9, 0)]);
        for _ in 0..HINTS {
            assert_eq!(influence.evidence(1).role(), Role::Unknown);
            influence.learn(&parent, &choices(&[(1, 9, 1), (2, 9, 1), (4, 9, 0)]));
        }
        assert_eq!(influence.evidence(1).role(), Role::Value);
        assert_eq!(influence.evidence(2).role(), Role::Structure);
        assert_eq!(influence.evidence(3), Evidence::default());
    }
}
