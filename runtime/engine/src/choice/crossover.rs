//! Crossover: one tape from two.
//!
//! In: a population of tapes, with the calls of the generator that read each part of them. Out:
//! children. Hough and Bell, "Crossover in Parametric Fuzzing", ICSE 2024 (Zeugma): a child is its
//! parent after 4 modifications on average, each of which is a crossover or, as often, a mutation of 8
//! bytes on average. Linked crossover exchanges what the same method read in parent and donor.
//!
//! A span stands for a call, its label for the method, a draw for a request of bytes. Departure: we
//! record spans in every run, where Zeugma runs an input again to trace calls when it is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ChoiceSequence;
use super::geometric::Geometric;
use super::jqf::{Reading, TAPE_BYTES_MAX, tape_of, width};
use crate::rng::Rng;

const COUNTS: Geometric = Geometric::new(4);
const SIZES: Geometric = Geometric::new(8);

/// How two tapes are made one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crossover {
    /// What a call read is replaced by what a call of the same method read elsewhere.
    Linked,
    /// The beginning of one, the end of another.
    OnePoint,
    /// A middle part of one in another.
    TwoPoint,
    /// Not at all: mutations only.
    None,
}

/// A call, and which bytes of the tape it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Call {
    label: u32,
    first: u32,
    end: u32,
    /// Whether a splice may replace it: it is not alone below its caller, it read more than one
    /// request, and not the whole tape.
    is_point: bool,
}

/// A tape, and who read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    tape: Arc<[u8]>,
    /// Calls that read anything, as they were entered.
    calls: Arc<[Call]>,
}

impl Member {
    /// The member that a tape's run makes.
    pub fn new(choices: &ChoiceSequence) -> Member {
        // Where each draw begins on the tape, and the end of the last.
        let mut starts = Vec::with_capacity(choices.nodes.len() + 1);
        let mut at = 0;
        for (node, payload) in choices.iter() {
            starts.push(at);
            at += (width(node.draw.domain) + payload.len()) as u32;
        }
        starts.push(at);
        // Children of each call, the last entry for those of no call: calls that read something, and
        // draws of its own.
        let spans = &choices.spans;
        let draws = |span: usize| spans[span].end - spans[span].first;
        let outermost = spans.len();
        let (mut callers, mut open) = (vec![outermost; spans.len()], Vec::new());
        let mut children: Vec<u32> = (0..spans.len()).map(draws).collect();
        children.push(choices.nodes.len() as u32);
        for (i, span) in spans.iter().enumerate() {
            open.truncate(span.depth as usize);
            callers[i] = open.last().copied().unwrap_or(outermost);
            open.push(i);
            // Its draws are not its caller's: they are one child together.
            children[callers[i]] -= draws(i);
            children[callers[i]] += u32::from(draws(i) > 0);
        }
        let call = |i: usize| Call {
            label: spans[i].label,
            first: starts[spans[i].first as usize],
            end: starts[spans[i].end as usize],
            is_point: children[callers[i]] > 1
                && draws(i) > 1
                && draws(i) < choices.nodes.len() as u32,
        };
        let read = (0..spans.len()).filter(|&i| draws(i) > 0);
        Member {
            tape: tape_of(choices, Reading::Zeugma, |_| true).into(),
            calls: read.map(call).collect(),
        }
    }

    fn labels(&self) -> Vec<u32> {
        let mut labels: Vec<u32> = self.calls.iter().map(|call| call.label).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }
}

/// Tapes to make children from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Population {
    /// Ascending by number.
    members: Vec<(u64, Member)>,
    /// By label: who has a call of it, ascending by number.
    callers: BTreeMap<u32, Vec<u64>>,
}

impl Population {
    /// How many tapes there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds a member. Its number must be above all others.
    pub fn insert(&mut self, number: u64, member: Member) {
        let last = self.members.last();
        assert!(
            last.is_none_or(|(last, _)| *last < number),
            "members come in order"
        );
        for label in member.labels() {
            self.callers.entry(label).or_default().push(number);
        }
        self.members.push((number, member));
    }

    /// Removes a member, if it is there.
    pub fn remove(&mut self, number: u64) {
        let Ok(at) = self.find(number) else { return };
        let (_, member) = self.members.remove(at);
        for label in member.labels() {
            let callers = self.callers.get_mut(&label).expect("it has a call of it");
            let at = callers.binary_search(&number).expect("it is listed");
            callers.remove(at);
        }
    }

    fn find(&self, number: u64) -> Result<usize, usize> {
        self.members.binary_search_by_key(&number, |(n, _)| *n)
    }

    fn any(&self, rng: &mut Rng) -> &Member {
        &self.members[rng.index(self.members.len())].1
    }

    /// A child: a uniform parent, modified. Panics if there is no member.
    pub(super) fn child(&self, crossover: Crossover, rng: &mut Rng) -> Vec<u8> {
        let parent = self.any(rng);
        let modifications = COUNTS.sample(rng);
        let mut child = parent.tape.to_vec();
        let mut mutations = modifications;
        match crossover {
            Crossover::None => {}
            Crossover::Linked => {
                let points: Vec<&Call> = parent.calls.iter().filter(|call| call.is_point).collect();
                if !points.is_empty() {
                    let splices = (0..modifications).filter(|_| coin(rng)).count() as u32;
                    self.splice(&mut child, &points, splices, rng);
                    mutations -= splices;
                }
            }
            Crossover::OnePoint | Crossover::TwoPoint => {
                // In turns as the coin says: what was mutated may be cut away.
                for _ in 0..modifications {
                    match coin(rng) {
                        true => cut(&mut child, &self.any(rng).tape, crossover, rng),
                        false => mutate(&mut child, rng),
                    }
                }
                mutations = 0;
            }
        }
        for _ in 0..mutations {
            mutate(&mut child, rng);
        }
        // Zeugma's own limit, however much a campaign allows.
        child.truncate(TAPE_BYTES_MAX as usize);
        child
    }

    /// Replaces what some calls read by what calls of the same methods read in any member, from the
    /// right to the left; a splice that overlaps one to the right of it is skipped.
    fn splice(&self, child: &mut Vec<u8>, points: &[&Call], splices: u32, rng: &mut Rng) {
        let mut chosen: Vec<(&Call, &[u8])> = (0..splices)
            .map(|_| {
                let point = points[rng.index(points.len())];
                let donors = &self.callers[&point.label];
                let donor = donors[rng.index(donors.len())];
                let (_, donor) = &self.members[self.find(donor).expect("a donor is a member")];
                let same = donor.calls.iter().filter(|call| call.label == point.label);
                let same: Vec<&Call> = same.collect();
                let call = same[rng.index(same.len())];
                (point, &donor.tape[call.first as usize..call.end as usize])
            })
            .collect();
        chosen.sort_by_key(|(point, _)| std::cmp::Reverse((point.first, point.end)));
        let mut from = u32::MAX;
        for (point, bytes) in chosen {
            if point.end <= from {
                from = point.first;
                child.splice(
                    point.first as usize..point.end as usize,
                    bytes.iter().copied(),
                );
            }
        }
    }
}

fn coin(rng: &mut Rng) -> bool {
    rng.word() >> 63 == 1
}

/// Crosses a child with a donor at independent places of each.
fn cut(child: &mut Vec<u8>, donor: &[u8], crossover: Crossover, rng: &mut Rng) {
    let mut place = |len: usize| rng.index(len + 1);
    if crossover == Crossover::OnePoint {
        child.truncate(place(child.len()));
        child.extend_from_slice(&donor[place(donor.len())..]);
    } else {
        let mut part = |len| {
            let (a, b) = (place(len), place(len));
            a.min(b)..a.max(b)
        };
        let (ours, theirs) = (part(child.len()), part(donor.len()));
        child.splice(ours, donor[theirs].iter().copied());
    }
}

/// Replaces some bytes by random ones, as far as there are bytes.
fn mutate(child: &mut [u8], rng: &mut Rng) {
    if child.is_empty() {
        return;
    }
    let from = rng.index(child.len());
    let end = child.len().min(from + SIZES.sample(rng) as usize);
    for byte in &mut child[from..end] {
        *byte = rng.word() as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population(members: &[ChoiceSequence]) -> Population {
        let mut population = Population::default();
        for (i, choices) in members.iter().enumerate() {
            population.insert(i as u64, Member::new(choices));
        }
        population
    }

    /// Conformance item 12: where a splice may be.
    #[test]
    fn application_points_have_a_sibling_and_two_leaves_and_are_not_everything() {
        let member = Member::new(&ChoiceSequence::of_bytes(
            b"abcdefgh",
            &[
                (1, 0, 8, 0), // everything
                (2, 0, 3, 1), // yes: two siblings
                (3, 0, 3, 2), // no: alone below 2
                (4, 3, 4, 1), // no: one leaf
                (5, 4, 4, 1), // reads nothing
                (6, 4, 8, 1), // yes
                (7, 4, 6, 2), // yes: draws of its caller are siblings
            ],
        ));
        let points = |member: &Member| -> Vec<u32> {
            let points = member.calls.iter().filter(|call| call.is_point);
            points.map(|call| call.label).collect()
        };
        assert_eq!(points(&member), [2, 6, 7]);
        assert_eq!(member.calls.len(), 6);
        // Beside draws of no call at all.
        let member = Member::new(&ChoiceSequence::of_bytes(b"abc", &[(1, 1, 3, 0)]));
        assert_eq!(points(&member), [1]);
    }

    /// Conformance item 12: each part of a child is what its method read in one of the two, in its
    /// place, whatever the lengths.
    #[test]
    fn splices_come_from_the_same_method() {
        let parent = ChoiceSequence::of_bytes(b"aabbb", &[(1, 0, 2, 0), (2, 2, 5, 0)]);
        let donor = ChoiceSequence::of_bytes(b"CCCCDD", &[(2, 0, 4, 0), (1, 4, 6, 0)]);
        let population = population(&[parent, donor]);
        let (_, parent) = &population.members[0];
        let points: Vec<&Call> = parent.calls.iter().collect();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..500 {
            let mut child = parent.tape.to_vec();
            population.splice(&mut child, &points, 3, &mut Rng::new(seed));
            seen.insert(child);
        }
        let expected: [&[u8]; 4] = [b"DDCCCC", b"DDbbb", b"aaCCCC", b"aabbb"];
        assert!(seen.iter().eq(expected), "{seen:?}");
    }

    /// Of two splices that overlap, the one that begins further to the right is done.
    #[test]
    fn splices_go_from_right_to_left() {
        let parent = ChoiceSequence::of_bytes(b"abcdef", &[(1, 0, 4, 0), (2, 2, 4, 1)]);
        let donor = ChoiceSequence::of_bytes(b"XY", &[(2, 0, 2, 0)]);
        let population = population(&[parent, donor]);
        let (_, parent) = &population.members[0];
        let points: Vec<&Call> = parent.calls.iter().collect();
        for seed in 0..200 {
            let mut child = parent.tape.to_vec();
            population.splice(&mut child, &points, 6, &mut Rng::new(seed));
            // The only donor of 1 is the parent itself.
            assert!(child == *b"abXYef" || child == *b"abcdef", "{child:?}");
        }
    }

    #[test]
    fn children_of_all_crossovers_are_within_the_limit() {
        let long = vec![7; TAPE_BYTES_MAX as usize - 10];
        let calls = [(1, 0, 9_000, 0), (1, 9_000, 10_000, 0)];
        let population = population(&[
            ChoiceSequence::of_bytes(&long, &calls),
            ChoiceSequence::of_bytes(b"", &[]),
        ]);
        for crossover in [
            Crossover::Linked,
            Crossover::OnePoint,
            Crossover::TwoPoint,
            Crossover::None,
        ] {
            let mut rng = Rng::new(1);
            let mut lengths = std::collections::BTreeSet::new();
            for _ in 0..300 {
                let child = population.child(crossover, &mut rng);
                assert!(child.len() <= TAPE_BYTES_MAX as usize);
                lengths.insert(child.len());
            }
            let expected = match crossover {
                Crossover::None => lengths.len() == 2,
                _ => lengths.len() > 2,
            };
            assert!(expected, "{crossover:?}: {lengths:?}");
        }
    }

    #[test]
    fn members_leave_without_a_trace() {
        let one = ChoiceSequence::of_bytes(b"abc", &[(1, 0, 2, 0)]);
        let mut all = population(&[one.clone(), ChoiceSequence::of_bytes(b"d", &[(1, 0, 1, 0)])]);
        all.remove(1);
        all.remove(7);
        assert_eq!(all, population(&[one]));
    }
}
