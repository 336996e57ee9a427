//! Indexed inputs: bytes by the execution index of the request that reads them, and children of those.
//!
//! In: what a run drew, with the path of each draw. Out: children that keep every byte where it was
//! asked for, whatever comes or goes before it. The execution indexing of JQF
//! (`ExecutionIndexingGuidance.MappedInput`), with the constants it has had since 2022.
//!
//! A byte's index is the path of its draw and which of the draw's bytes it is. What a child asks for
//! and its parent did not is random.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::geometric::Geometric;
use super::jqf::{Reading, decode, tape_of, tape_starts, width};
use super::paths::{Paths, Step, key_of};
use super::plan::MutationCount;
use super::source::Answer;
use super::typed::Interval;
use super::{ChoiceSequence, Domain, Draw};
use crate::ratio::Ratio;
use crate::rng::Rng;

const COUNTS: Geometric = Geometric::new(8);
const SIZES: Geometric = Geometric::new(4);
/// How many runs of one type's bytes SpotOn overwrites on average.
const TYPE_COUNTS: Geometric = Geometric::new(4);
/// How often a child is spliced.
const SPLICES: Ratio = Ratio::new(1, 2);
/// How often a spliced child is mutated as well.
const MUTATES_TOO: Ratio = Ratio::new(1, 2);
/// How often a mutation writes zeros.
const ZEROS: Ratio = Ratio::new(1, 10);
/// Places that are tried for a splice; one more for each where nobody can give anything, up to a
/// limit.
const TARGETS: u32 = 2;
const TARGETS_MAX: u32 = 5;
/// Donors that are tried for a place.
const DONORS: u32 = 10;
/// The most bytes that a splice copies.
const SPLICE_BYTES_MAX: u32 = 64;

/// What a run drew, as bytes by their index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct IndexedInput {
    /// Tells inputs apart.
    number: u64,
    paths: Paths,
    /// Where each draw's bytes begin, and where those of the last end.
    starts: Vec<u32>,
    bytes: Vec<u8>,
    /// The context of each draw.
    contexts: Vec<u64>,
    /// The number of each draw's path and which draw it is, ascending.
    draws: Vec<(u64, u32)>,
}

/// What cannot be computed from the rest.
#[derive(Clone, Serialize, Deserialize)]
struct Stored {
    number: u64,
    paths: Paths,
    starts: Vec<u32>,
    bytes: Vec<u8>,
}

impl From<Stored> for IndexedInput {
    fn from(stored: Stored) -> IndexedInput {
        let Stored {
            number,
            paths,
            starts,
            bytes,
        } = stored;
        let keys = paths.keys();
        let numbered = keys.iter().zip(0..);
        let mut draws: Vec<_> = numbered.map(|(&(key, _), draw)| (key, draw)).collect();
        draws.sort_unstable();
        IndexedInput {
            number,
            paths,
            starts,
            bytes,
            contexts: keys.into_iter().map(|(_, context)| context).collect(),
            draws,
        }
    }
}

impl From<IndexedInput> for Stored {
    fn from(input: IndexedInput) -> Stored {
        Stored {
            number: input.number,
            paths: input.paths,
            starts: input.starts,
            bytes: input.bytes,
        }
    }
}

impl IndexedInput {
    /// What a run drew, as tapes are read. Its paths must have been recorded.
    pub fn new(number: u64, choices: &ChoiceSequence, reading: Reading) -> IndexedInput {
        assert_eq!(choices.paths.len(), choices.nodes.len(), "a path a draw");
        IndexedInput::from(Stored {
            number,
            paths: choices.paths.closed(),
            starts: tape_starts(choices),
            bytes: tape_of(choices, reading, |_| true),
        })
    }

    /// An input that has nothing.
    pub fn empty() -> IndexedInput {
        IndexedInput::new(0, &ChoiceSequence::default(), Reading::Whole)
    }

    /// Bytes of the input.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn draw_at(&self, byte: usize) -> usize {
        self.starts.partition_point(|&start| start as usize <= byte) - 1
    }

    fn context_at(&self, byte: usize) -> u64 {
        self.contexts[self.draw_at(byte)]
    }

    /// The draw of this path.
    fn find_draw(&self, key: u64) -> Option<usize> {
        let at = self.draws.partition_point(|&(other, _)| other < key);
        let &(_, draw) = self.draws.get(at).filter(|&&(other, _)| other == key)?;
        Some(draw as usize)
    }

    /// Where the byte of this index is.
    fn find(&self, key: u64, nth: u32) -> Option<usize> {
        self.byte_of(self.find_draw(key)?, nth)
    }

    fn byte_of(&self, draw: usize, nth: u32) -> Option<usize> {
        let byte = self.starts[draw].checked_add(nth)?;
        (byte < self.starts[draw + 1]).then_some(byte as usize)
    }
}

/// Inputs that others are spliced with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Arc<IndexedInput>>", into = "Vec<Arc<IndexedInput>>")]
pub struct Donors {
    inputs: Vec<Arc<IndexedInput>>,
    /// By context: which bytes have it, input by input.
    places: BTreeMap<u64, Vec<(u32, u32)>>,
}

impl From<Vec<Arc<IndexedInput>>> for Donors {
    fn from(inputs: Vec<Arc<IndexedInput>>) -> Donors {
        let mut donors = Donors::default();
        inputs.into_iter().for_each(|input| donors.add(input));
        donors
    }
}

impl From<Donors> for Vec<Arc<IndexedInput>> {
    fn from(donors: Donors) -> Vec<Arc<IndexedInput>> {
        donors.inputs
    }
}

impl Donors {
    /// Adds an input.
    pub fn add(&mut self, input: Arc<IndexedInput>) {
        let at = self.inputs.len() as u32;
        for (draw, bytes) in input.starts.windows(2).enumerate() {
            let places = self.places.entry(input.contexts[draw]).or_default();
            places.extend((bytes[0]..bytes[1]).map(|byte| (at, byte)));
        }
        self.inputs.push(input);
    }

    /// The places of a context in inputs other than `receiver`: those before and those after its own.
    fn of_others(&self, context: u64, receiver: u64) -> [&[(u32, u32)]; 2] {
        let all = self.places.get(&context).map_or(&[][..], Vec::as_slice);
        let own = self
            .inputs
            .iter()
            .position(|input| input.number == receiver);
        let Some(own) = own else { return [all, &[]] };
        let start = all.partition_point(|&(input, _)| (input as usize) < own);
        let end = all.partition_point(|&(input, _)| input as usize <= own);
        [&all[..start], &all[end..]]
    }
}

/// What a splice copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Splice {
    /// As many bytes as chance will have it, one after the other.
    Run,
    /// Whatever the donor asked for below the call from which on both indices are alike.
    Subtree,
}

/// Answers draws from an input and what was changed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexed {
    input: Arc<IndexedInput>,
    /// The input's bytes, after the changes.
    bytes: Vec<u8>,
    /// Bytes of indices that the input does not have.
    extra: BTreeMap<(u64, u32), u8>,
    reading: Reading,
    rng: Rng,
    /// The number of the next draw's path.
    here: u64,
}

impl Indexed {
    /// An input as it is.
    pub fn new(input: Arc<IndexedInput>, reading: Reading, rng: Rng) -> Indexed {
        Indexed {
            bytes: input.bytes.clone(),
            input,
            extra: BTreeMap::new(),
            reading,
            rng,
            here: 0,
        }
    }

    /// Learns the number of the next draw's path.
    pub fn locate(&mut self, key: u64) {
        self.here = key;
    }

    /// A child of an input: spliced, mutated, or both.
    pub fn child(
        input: Arc<IndexedInput>,
        donors: &Donors,
        splice: Splice,
        reading: Reading,
        rng: Rng,
    ) -> Indexed {
        let mut child = Indexed::new(input, reading, rng);
        if child.bytes.is_empty() {
            return child;
        }
        let is_spliced = child.rng.chance(SPLICES) && child.splice(donors, splice);
        if !is_spliced || child.rng.chance(MUTATES_TOO) {
            child.mutate();
        }
        child
    }

    /// A child of SpotOn's: where bytes are of the type that was chosen, four runs of four of them are
    /// overwritten on average; without a type, eight of four wherever they are.
    pub fn typed_child(
        input: Arc<IndexedInput>,
        of_type: Option<&[Interval]>,
        reading: Reading,
        rng: Rng,
    ) -> Indexed {
        let mut child = Indexed::new(input, reading, rng);
        match of_type {
            Some(intervals) => child.mutate_type(intervals),
            None => super::plan::mutate(&mut child.bytes, MutationCount::Eight, &mut child.rng),
        }
        child
    }

    fn mutate_type(&mut self, intervals: &[Interval]) {
        for _ in 0..TYPE_COUNTS.sample(&mut self.rng) {
            let (start, end) = intervals[self.rng.index(intervals.len())];
            let offset = start + self.rng.below(end - start);
            let size = SIZES.sample(&mut self.rng);
            let zeros = self.rng.chance(ZEROS);
            let run = offset..offset.saturating_add(size);
            // Beyond this interval there may be another one.
            for &(start, end) in intervals {
                for at in run.start.max(start)..run.end.min(end) {
                    self.bytes[at as usize] = if zeros { 0 } else { self.rng.word() as u8 };
                }
            }
        }
    }

    /// Copies something from another input; false if nobody could give anything.
    fn splice(&mut self, donors: &Donors, splice: Splice) -> bool {
        let receiver = Arc::clone(&self.input);
        let (mut tried, mut tries) = (0, TARGETS);
        while tried < tries {
            tried += 1;
            let target = self.rng.index(receiver.len());
            let context = receiver.context_at(target);
            let [before, after] = donors.of_others(context, receiver.number);
            let places = before.len() + after.len();
            if places == 0 {
                tries = (tries + 1).min(TARGETS_MAX);
                continue;
            }
            for _ in 0..DONORS {
                let nth = self.rng.index(places);
                let place = before.get(nth).or_else(|| after.get(nth - before.len()));
                let &(donor, from) = place.expect("it is one of those");
                let (donor, from) = (&donors.inputs[donor as usize], from as usize);
                if donor.bytes[from] == receiver.bytes[target] {
                    continue;
                }
                let is_done = match splice {
                    Splice::Run => self.copy_run(donor, from, target),
                    Splice::Subtree => self.copy_subtree(donor, from, target),
                };
                if is_done {
                    return true;
                }
            }
        }
        false
    }

    fn copy_run(&mut self, donor: &IndexedInput, from: usize, target: usize) -> bool {
        let size = 1 + self.rng.below(SPLICE_BYTES_MAX) as usize;
        let source = &donor.bytes[from..];
        for (byte, new) in self.bytes[target..].iter_mut().zip(source).take(size) {
            *byte = *new;
        }
        true
    }

    /// Gives the indices below the target's prefix what the donor had below its own, from the place
    /// chosen on.
    fn copy_subtree(&mut self, donor: &IndexedInput, from: usize, target: usize) -> bool {
        let input = Arc::clone(&self.input);
        let (giver, receiver) = (donor.draw_at(from), input.draw_at(target));
        let nth = |input: &IndexedInput, draw: usize, byte| byte - input.starts[draw] as usize;
        if nth(donor, giver, from) != nth(&input, receiver, target) {
            // The last step of an index is which byte it is: they have nothing in common.
            return false;
        }
        let (theirs, ours) = (donor.paths.steps(giver), input.paths.steps(receiver));
        let alike = theirs.iter().rev().zip(ours.iter().rev());
        let alike = alike.take_while(|(a, b)| a == b).count();
        // Contexts are the same, so both prefixes are of the same length.
        let prefix = theirs.len() - alike;
        let root = ours[..prefix]
            .iter()
            .fold(0, |key, &step| key_of(key, step));
        for draw in giver..donor.paths.len() {
            let steps = donor.paths.steps(draw);
            if !steps.starts_with(&theirs[..prefix]) {
                break;
            }
            let key = steps[prefix..]
                .iter()
                .fold(root, |key, &step| key_of(key, step));
            let first = donor.starts[draw] as usize;
            let begin = first.max(from);
            for byte in begin..donor.starts[draw + 1] as usize {
                self.put(key, (byte - first) as u32, donor.bytes[byte]);
            }
        }
        true
    }

    fn put(&mut self, key: u64, nth: u32, byte: u8) {
        match self.input.find(key, nth) {
            Some(at) => self.bytes[at] = byte,
            None => {
                self.extra.insert((key, nth), byte);
            }
        }
    }

    /// Overwrites runs of bytes; a run ends where the context changes. Departure: of the input's own bytes, not of those that
    /// a splice added.
    fn mutate(&mut self) {
        for _ in 0..COUNTS.sample(&mut self.rng) {
            let offset = self.rng.index(self.bytes.len());
            let size = SIZES.sample(&mut self.rng) as usize;
            let zeros = self.rng.chance(ZEROS);
            let context = self.input.context_at(offset);
            for at in offset..self.bytes.len().min(offset + size) {
                if self.input.context_at(at) != context {
                    break;
                }
                self.bytes[at] = if zeros { 0 } else { self.rng.word() as u8 };
            }
        }
    }

    fn byte(&mut self, key: u64, draw: Option<usize>, nth: u32) -> u8 {
        match draw.and_then(|draw| self.input.byte_of(draw, nth)) {
            Some(at) => self.bytes[at],
            None => match self.extra.get(&(key, nth)) {
                Some(&byte) => byte,
                None => self.rng.word() as u8,
            },
        }
    }

    /// Answers the next draw.
    pub fn answer(&mut self, draw: &Draw, payload: &mut Vec<u8>) -> Answer {
        let key = self.here;
        let known = self.input.find_draw(key);
        let count = width(draw.domain) as u32;
        let mut word = [0; 8];
        for nth in 0..count {
            word[nth as usize] = self.byte(key, known, nth);
        }
        let bits = u64::from_le_bytes(word);
        let value = decode(draw.domain, bits, self.reading);
        if let Domain::Bytes { .. } = draw.domain {
            for nth in 0..value as u32 {
                let byte = self.byte(key, known, count + nth);
                payload.push(byte);
            }
        }
        Answer { bits, value }
    }
}

/// The path of a draw whose place nobody knows: the site, and how many draws there were before.
pub(super) fn flat(draw: &Draw, before: usize) -> Step {
    Step {
        call: draw.site,
        nth: before as u32 + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChoiceNode, Role};
    use super::*;

    const BYTE: Draw = Draw {
        site: 0,
        role: Role::Unknown,
        domain: Domain::Int { lo: 0, hi: 255 },
    };

    /// An input that drew a byte at each of these paths.
    fn input(number: u64, draws: &[(&[(u32, u32)], u8)]) -> Arc<IndexedInput> {
        let mut choices = ChoiceSequence::default();
        for &(path, byte) in draws {
            let steps = path.iter().map(|&(call, nth)| Step { call, nth });
            choices.paths.push(steps);
            choices.nodes.push(ChoiceNode {
                draw: BYTE,
                bits: byte.into(),
                value: byte.into(),
            });
        }
        Arc::new(IndexedInput::new(number, &choices, Reading::Whole))
    }

    fn key(path: &[(u32, u32)]) -> u64 {
        let steps = path.iter().map(|&(call, nth)| Step { call, nth });
        steps.fold(0, key_of)
    }

    fn ask(source: &mut Indexed, path: &[(u32, u32)]) -> u8 {
        source.locate(key(path));
        source.answer(&BYTE, &mut Vec::new()).value as u8
    }

    fn source(input: &Arc<IndexedInput>) -> Indexed {
        Indexed::new(input.clone(), Reading::Whole, Rng::new(1))
    }

    /// Conformance item 10: a byte is found by its index, wherever it is asked for; what is missing is
    /// random.
    #[test]
    fn bytes_are_found_by_their_index() {
        let input = input(1, &[(&[(1, 1)], 7), (&[(2, 1), (3, 1)], 8)]);
        let mut source = source(&input);
        assert_eq!(ask(&mut source, &[(2, 1), (3, 1)]), 8);
        assert_eq!(ask(&mut source, &[(1, 1)]), 7);
        let fresh: Vec<u8> = (0..50).map(|n| ask(&mut source, &[(9, n)])).collect();
        assert!(fresh.iter().any(|byte| *byte != fresh[0]), "{fresh:?}");
        // A wider draw at a known place: the first byte is known, the others are not.
        let wide = Draw {
            domain: Domain::Int {
                lo: 0,
                hi: 0xffff_ffff,
            },
            ..BYTE
        };
        source.locate(key(&[(1, 1)]));
        let answer = source.answer(&wide, &mut Vec::new());
        assert_eq!(answer.value & 0xff, 7);
        assert_ne!(answer.value >> 8, 0);
    }

    /// Conformance item 10: a mutation ends where the context does.
    #[test]
    fn mutations_stay_in_their_context() {
        let places: Vec<[(u32, u32); 1]> = (0..40).map(|n| [(n / 10, n % 10 + 1)]).collect();
        let draws: Vec<_> = places.iter().map(|place| (&place[..], 0)).collect();
        let input = input(1, &draws);
        let mut crossed = 0;
        for seed in 0..2_000 {
            let mut child = source(&input);
            child.rng = Rng::new(seed);
            let (mut rng, mut expected) = (child.rng.clone(), input.bytes.clone());
            child.mutate();
            // The same random numbers, spent without looking at contexts beyond the end of each.
            for _ in 0..COUNTS.sample(&mut rng) {
                let offset = rng.index(40);
                let size = SIZES.sample(&mut rng) as usize;
                let zeros = rng.chance(ZEROS);
                let end = (offset / 10 * 10 + 10).min(offset + size);
                crossed += usize::from(offset + size > end);
                for byte in &mut expected[offset..end] {
                    *byte = if zeros { 0 } else { rng.word() as u8 };
                }
            }
            assert_eq!(child.bytes, expected);
        }
        assert!(crossed > 1_000, "{crossed}");
    }

    /// Conformance item 11: only bytes of the type differ, and all of them do now and then.
    #[test]
    fn mutations_of_a_type_stay_in_its_bytes() {
        let places: Vec<[(u32, u32); 1]> = (0..30).map(|n| [(1, n + 1)]).collect();
        let draws: Vec<_> = places.iter().map(|place| (&place[..], 7)).collect();
        let input = input(1, &draws);
        let mut changed = [0u32; 30];
        let (mut runs, mut zeroed) = (0, 0);
        for seed in 0..5_000 {
            let intervals = [(2, 9), (11, 12), (20, 30)];
            let rng = Rng::new(seed);
            let child = Indexed::typed_child(input.clone(), Some(&intervals), Reading::Whole, rng);
            for (at, byte) in child.bytes.iter().enumerate() {
                changed[at] += u32::from(*byte != 7);
                zeroed += u32::from(*byte == 0);
                runs += u32::from(*byte != 7);
            }
        }
        let inside = |at: usize| matches!(at, 2..9 | 11 | 20..30);
        assert!(
            (0..30).all(|at| inside(at) == (changed[at] > 0)),
            "{changed:?}"
        );
        // A third of the mutations begin in each interval, however long it is.
        assert!(changed[11] > changed[25], "{changed:?}");
        // A tenth of the mutations write zeros, and one random byte of 256 is one.
        let share = f64::from(zeroed) / f64::from(runs);
        assert!((0.08..0.13).contains(&share), "{share}");
    }

    /// Conformance item 10: what is spliced comes from the same context of another input, and does
    /// not begin with the byte that is there.
    #[test]
    fn runs_are_spliced_from_the_same_context_of_others() {
        let a: Vec<[(u32, u32); 1]> = (1..=100).map(|n| [(1, n)]).collect();
        let all = |byte| a.iter().map(move |place| (&place[..], byte));
        let parent = input(1, &all(0).collect::<Vec<_>>());
        let mut donors = Donors::default();
        donors.add(parent.clone());
        let splice = |donors: &Donors, seed| {
            let mut child = source(&parent);
            child.rng = Rng::new(seed);
            (child.splice(donors, Splice::Run), child.bytes)
        };
        // Alone, or with a donor of the same bytes, or of another context: nothing.
        assert_eq!(splice(&donors, 1), (false, vec![0; 100]));
        donors.add(input(2, &all(0).collect::<Vec<_>>()));
        donors.add(input(3, &[(&[(2, 1)], 9)]));
        assert_eq!(splice(&donors, 1), (false, vec![0; 100]));
        donors.add(input(4, &all(5).collect::<Vec<_>>()));
        let (mut total, mut longest) = (0, 0);
        for seed in 0..10_000 {
            let (is_done, bytes) = splice(&donors, seed);
            let copied = bytes.iter().filter(|&&byte| byte == 5).count();
            assert!(is_done && bytes.iter().all(|&byte| byte == 0 || byte == 5));
            total += copied;
            longest = longest.max(copied);
        }
        // The sum of (65 − k) / 64 · ((101 − k) / 100)² over k: what is not cut at either end.
        assert_eq!(longest, 64);
        assert!((205_000..215_000).contains(&total), "{total}");
    }

    /// Conformance item 10: a subtree is given to the target's prefix, and what the target did not
    /// have is kept for when it is asked for.
    #[test]
    fn subtrees_are_spliced_below_the_prefix() {
        let parent = input(1, &[(&[(1, 1), (5, 1), (6, 1)], 1), (&[(7, 1)], 2)]);
        // In the donor's second turn of the loop at 1, the call at 5 asks for three bytes; the next
        // turn does not belong to it.
        let donor = input(
            2,
            &[
                (&[(1, 2), (5, 1), (6, 1)], 11),
                (&[(1, 2), (5, 1), (6, 2)], 12),
                (&[(1, 2), (5, 2), (6, 1)], 13),
                (&[(1, 3), (5, 1), (6, 1)], 14),
            ],
        );
        let mut child = source(&parent);
        assert!(child.copy_subtree(&donor, 0, 0));
        assert_eq!(child.bytes, [11, 2]);
        assert_eq!(ask(&mut child, &[(1, 1), (5, 1), (6, 2)]), 12);
        assert_eq!(ask(&mut child, &[(1, 1), (5, 2), (6, 1)]), 13);
        assert_eq!(child.extra.len(), 2);
    }

    #[test]
    fn what_is_stored_comes_back() {
        let input = input(3, &[(&[(1, 1)], 7), (&[(2, 1), (3, 1)], 8)]);
        let again = IndexedInput::from(Stored::from((*input).clone()));
        assert_eq!(again.draws, input.draws);
        assert_eq!(again.contexts, input.contexts);
        let mut donors = Donors::default();
        donors.add(input);
        assert_eq!(Donors::from(Vec::from(donors.clone())), donors);
    }
}
