//! Zest's queue: saved inputs in the order of saving, visited in turn, round after round.
//!
//! In: how much each saved input covers, and which probes it is responsible for. Out: whose turn it
//! is, and for how many children. `ZestGuidance.getTargetChildrenForParent`, `getInput`,
//! `saveCurrentInput`.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::corpus::TestcaseId;

/// Children of an input that covers everything.
const CHILDREN_BASE: u32 = 50;
/// How many times as many for a favoured one.
const FAVOURED_FACTOR: u32 = 20;
/// Milliseconds that the children of an input that covers everything may take together.
const MILLISECONDS_BASE: u32 = 100;
/// How many times as many for a favoured one.
const FAVOURED_COST_FACTOR: u32 = 3;
/// What stands for a millisecond, so that campaigns do not depend on the machine: SQLite and QuickJS spend about
/// so much in one.
const FUEL_PER_MILLISECOND: u64 = 1_000_000;
/// What a child costs at least, as its making took time as well: else an input whose children are never made would
/// be visited for ever.
const FUEL_MIN: u64 = FUEL_PER_MILLISECOND / 10;

/// What a visit is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::guidance) enum Energy {
    /// Children.
    Children,
    /// What children cost, as in SpotOn and the Zest that it was compared with.
    Cost,
}

/// When an input is favoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::guidance) enum Favour {
    /// While it is responsible for something, as in the papers.
    Dynamic,
    /// For ever, if it was responsible for something when it was saved: JQF since 2023.
    Sticky,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    /// Probes that it covered when it was saved.
    non_zero: u32,
    /// Probes that it is responsible for now.
    responsible: u32,
    was_responsible: bool,
}

/// The queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::guidance) struct Rotation {
    saved: Vec<Saved>,
    favour: Favour,
    energy: Energy,
    /// Whose turn it is.
    cursor: u32,
    /// Children of this visit, and the fuel of those that were judged.
    children: u32,
    spent: u64,
    /// Full rounds.
    cycles: u64,
    /// By probe: who is responsible, its number + 1; 0 for nobody.
    owners: Vec<u32>,
}

impl Rotation {
    /// An empty queue.
    pub(in crate::guidance) fn new(favour: Favour, energy: Energy) -> Rotation {
        Rotation {
            saved: Vec::new(),
            favour,
            energy,
            cursor: 0,
            children: 0,
            spent: 0,
            cycles: 0,
            owners: Vec::new(),
        }
    }

    /// Whether nothing was saved yet.
    pub(in crate::guidance) fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    /// Adds the testcase that follows those already here.
    pub(in crate::guidance) fn add(&mut self, id: TestcaseId, non_zero: u32, probes: &[u32]) {
        assert_eq!(id.index(), self.saved.len(), "testcases are added in order");
        self.saved.push(Saved {
            non_zero,
            responsible: 0,
            was_responsible: !probes.is_empty(),
        });
        self.make_responsible(id, probes);
    }

    /// Makes a saved input responsible for these probes, in place of who was.
    pub(in crate::guidance) fn make_responsible(&mut self, id: TestcaseId, probes: &[u32]) {
        for &probe in probes {
            let probe = probe as usize;
            if probe >= self.owners.len() {
                self.owners.resize(probe + 1, 0);
            }
            if let Some(old) = self.owners[probe].checked_sub(1) {
                self.saved[old as usize].responsible -= 1;
            }
            self.owners[probe] = id.0 + 1;
            self.saved[id.index()].responsible += 1;
        }
    }

    /// The probes of saved inputs that a run with these hit counts makes superfluous: it covers all
    /// that such an input is responsible for, and more probes than that did, or as many if it
    /// `is_smaller` than that. `ZestGuidance.computeResponsibilities`, the part that steals.
    pub(in crate::guidance) fn superseded(
        &self,
        counts: &[(u32, u32)],
        is_smaller: impl Fn(TestcaseId) -> bool,
    ) -> Vec<u32> {
        let non_zero = counts.len() as u32;
        let covers = |probe: u32| counts.binary_search_by_key(&probe, |&(p, _)| p).is_ok();
        let mut loses: Vec<bool> = (self.saved.iter().zip(0..))
            .map(|(saved, id)| match saved.non_zero.cmp(&non_zero) {
                _ if saved.responsible == 0 => false,
                Ordering::Less => true,
                Ordering::Equal => is_smaller(TestcaseId(id)),
                Ordering::Greater => false,
            })
            .collect();
        let owned = self.owners.iter().zip(0..);
        let owned = owned.filter_map(|(owner, probe)| Some((owner.checked_sub(1)?, probe)));
        for (owner, probe) in owned.clone() {
            loses[owner as usize] &= covers(probe);
        }
        let lost = owned.filter(|&(owner, _)| loses[owner as usize]);
        lost.map(|(_, probe)| probe).collect()
    }

    /// How many more children the input whose turn it is deserves, as of now. Of costs nobody knows
    /// how many that are: any number, until the last one that is judged has spent it all.
    fn rest(&self, covered: u32) -> u32 {
        let non_zero = self.saved[self.cursor as usize].non_zero;
        let favoured = self.is_favoured(self.parent());
        match self.energy {
            Energy::Children => target(non_zero, covered, favoured).saturating_sub(self.children),
            Energy::Cost if self.spent > budget(non_zero, covered, favoured) => 0,
            Energy::Cost => u32::MAX,
        }
    }

    /// Gives the turn to the next one if the visit is over; true if it was. `covered` is how many
    /// probes any run covered. There must be somebody.
    pub(in crate::guidance) fn turn(&mut self, covered: u32) -> bool {
        if self.rest(covered) > 0 {
            return false;
        }
        self.cursor += 1;
        (self.children, self.spent) = (0, 0);
        if self.cursor as usize >= self.saved.len() {
            self.cursor = 0;
            self.cycles += 1;
        }
        true
    }

    /// Whose turn it is.
    pub(in crate::guidance) fn parent(&self) -> TestcaseId {
        TestcaseId(self.cursor)
    }

    /// Children of this visit so far.
    pub(in crate::guidance) fn children(&self) -> u32 {
        self.children
    }

    /// How many children may follow if nothing is learnt from them: one at least, at the beginning
    /// of a visit.
    pub(in crate::guidance) fn left(&self, covered: u32) -> u32 {
        let left = self.rest(covered);
        if self.children == 0 {
            left.max(1)
        } else {
            left
        }
    }

    /// Counts a child of this visit.
    pub(in crate::guidance) fn bear(&mut self) {
        self.children += 1;
    }

    /// Learns what a child of this visit cost.
    pub(in crate::guidance) fn spend(&mut self, fuel: u64) {
        self.spent = self.spent.saturating_add(fuel.max(FUEL_MIN));
    }

    /// Whether an input is favoured now.
    pub(in crate::guidance) fn is_favoured(&self, id: TestcaseId) -> bool {
        let saved = &self.saved[id.index()];
        match self.favour {
            Favour::Dynamic => saved.responsible > 0,
            Favour::Sticky => saved.was_responsible,
        }
    }

    /// Full rounds so far.
    pub(in crate::guidance) fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Probes that somebody is responsible for. Zest's invariant: as many as are covered, at the end
    /// of each round.
    pub(in crate::guidance) fn responsibilities(&self) -> u32 {
        self.saved.iter().map(|saved| saved.responsible).sum()
    }
}

/// Children for an input with so many probes of so many covered by anyone; a parent with none still
/// has one per visit.
fn target(non_zero: u32, covered: u32, favoured: bool) -> u32 {
    let base = match covered {
        0 => CHILDREN_BASE,
        _ => CHILDREN_BASE * non_zero / covered,
    };
    base * if favoured { FAVOURED_FACTOR } else { 1 }
}

/// What the children of such an input may cost together, in fuel.
fn budget(non_zero: u32, covered: u32, favoured: bool) -> u64 {
    let base = match covered {
        0 => u64::from(MILLISECONDS_BASE) * FUEL_PER_MILLISECOND,
        _ => {
            let share = u64::from(MILLISECONDS_BASE * non_zero) * FUEL_PER_MILLISECOND;
            share / u64::from(covered)
        }
    };
    base * u64::from(if favoured { FAVOURED_COST_FACTOR } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conformance item 3: energy is an integer division.
    #[test]
    fn energy_is_that_of_zest() {
        for (non_zero, covered, favoured, expected) in [
            (100, 100, false, 50),
            (100, 100, true, 1000),
            (99, 100, false, 49),
            (1, 50, false, 1),
            (1, 51, false, 0),
            (1, 51, true, 0),
            (1, 49, true, 20),
            (0, 0, false, 50),
        ] {
            assert_eq!(
                target(non_zero, covered, favoured),
                expected,
                "{non_zero}/{covered}"
            );
        }
    }

    /// Conformance item 11: energy of cost is spent by what children cost.
    #[test]
    fn a_visit_may_be_measured_in_what_it_costs() {
        assert_eq!(budget(30, 100, false), 30_000_000);
        assert_eq!(budget(30, 100, true), 90_000_000);
        let mut rotation = Rotation::new(Favour::Dynamic, Energy::Cost);
        rotation.add(TestcaseId(0), 1, &[]);
        rotation.add(TestcaseId(1), 1, &[]);
        // One child at least, however little there is to spend.
        for fuel in [400_000, 600_000, 1] {
            assert!(rotation.left(100) > 0);
            assert!(!rotation.turn(100));
            rotation.bear();
            rotation.spend(fuel);
        }
        assert_eq!(rotation.left(100), 0);
        assert!(rotation.turn(100));
        assert_eq!(rotation.parent(), TestcaseId(1));
        assert!(rotation.left(100) > 0);
    }

    fn visit(rotation: &mut Rotation, covered: u32) -> (u32, u32) {
        rotation.turn(covered);
        let (parent, mut children) = (rotation.parent().0, 0);
        while rotation.left(covered) > 0 {
            rotation.bear();
            children += 1;
        }
        (parent, children)
    }

    /// Conformance item 3: the round wraps around, one child at least, and who is saved during a
    /// round is visited in it.
    #[test]
    fn everyone_has_a_turn() {
        let mut rotation = Rotation::new(Favour::Dynamic, Energy::Children);
        rotation.add(TestcaseId(0), 50, &[]);
        rotation.add(TestcaseId(1), 1, &[]);
        assert_eq!(visit(&mut rotation, 100), (0, 25));
        assert_eq!(visit(&mut rotation, 100), (1, 1));
        rotation.add(TestcaseId(2), 2, &[]);
        assert_eq!(visit(&mut rotation, 100), (2, 1));
        assert_eq!(rotation.cycles(), 0);
        assert_eq!(visit(&mut rotation, 100), (0, 25));
        assert_eq!(rotation.cycles(), 1);
    }

    /// Conformance item 4: who takes a probe over takes the favour with it.
    #[test]
    fn favour_is_dynamic_or_sticky() {
        for (favour, expected) in [(Favour::Dynamic, 50), (Favour::Sticky, 1000)] {
            let mut rotation = Rotation::new(favour, Energy::Children);
            rotation.add(TestcaseId(0), 10, &[3, 4]);
            assert_eq!(rotation.left(10), 1000);
            rotation.add(TestcaseId(1), 10, &[3]);
            assert_eq!(rotation.left(10), 1000);
            assert_eq!(rotation.responsibilities(), 2);
            rotation.make_responsible(TestcaseId(1), &[4]);
            assert_eq!(rotation.left(10), expected, "{favour:?}");
            assert_eq!(rotation.responsibilities(), 2);
        }
    }

    /// The option of JQF to steal: what covers everything another input is responsible for takes it.
    #[test]
    fn whoever_is_superseded_loses_everything() {
        let mut rotation = Rotation::new(Favour::Dynamic, Energy::Children);
        rotation.add(TestcaseId(0), 2, &[0, 1]);
        rotation.add(TestcaseId(1), 3, &[2]);
        rotation.add(TestcaseId(2), 1, &[]);
        let lost = |probes: &[u32], smaller: bool| {
            let counts: Vec<_> = probes.iter().map(|&probe| (probe, 1)).collect();
            rotation.superseded(&counts, |_| smaller)
        };
        assert_eq!(lost(&[0, 1, 2, 3], false), [0, 1, 2]);
        assert_eq!(lost(&[0, 1, 3], false), [0, 1]);
        // Not all that the first is responsible for; as much as the second covered, and smaller.
        assert_eq!(lost(&[0, 2, 3], false), []);
        assert_eq!(lost(&[0, 2, 3], true), [2]);
        assert_eq!(lost(&[0, 1], false), []);
        assert_eq!(lost(&[0, 1], true), [0, 1]);
    }

    /// A visit may end early when coverage grows under it.
    #[test]
    fn energy_is_of_the_moment() {
        let mut rotation = Rotation::new(Favour::Dynamic, Energy::Children);
        rotation.add(TestcaseId(0), 10, &[]);
        (0..25).for_each(|_| rotation.bear());
        assert_eq!(rotation.left(10), 25);
        assert_eq!(rotation.left(20), 0);
        assert!(rotation.turn(20));
    }
}
