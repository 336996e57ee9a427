//! Shrinking: the simplest choices for which something still holds.
//!
//! In: a sequence of choices and a test. Out: a sequence that is no larger in *shortlex* order: fewer
//! draws first, then simpler values from the front. As every candidate is given to the generator,
//! what comes out is something that it can make. Hypothesis's internal reduction (MacIver and
//! Donaldson, ECOOP 2020), one pass per file (`pairs` and `float` are what some of them share); they take
//! turns until none of them helps. What the test does is not known here.

mod cuts;
mod delete;
mod descend;
mod equal;
mod equal_bytes;
mod float;
mod lower;
mod pairs;
mod redistribute;
mod resize;
mod sort;
mod spans;
mod together;

use std::collections::BTreeMap;

use crate::choice::{ChoiceNode, ChoiceSequence, Domain};
use crate::digest;
use cuts::Cuts;

/// As much may be copied into candidates as this many copies of the start for each test. An
/// edit that comes to what was tested before costs no test, but it must end as well. By trying: a search
/// that ends because nothing helps makes up to 7 candidates for each test.
const COPIES_PER_EXEC: u64 = 8;

/// What a copy of the start counts as, if that is small: a search may have to grow it.
const COPY_MIN: u64 = 64;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// The simplest choices found, as they were drawn.
    pub choices: ChoiceSequence,
    /// Tests made.
    pub execs: u64,
    /// Whether the search ended because nothing more helped.
    pub is_minimal: bool,
}

/// Runs a candidate: what was really drawn, if it still holds. Draws beyond the candidate's end get
/// the simplest value.
pub type Test<'a, E> = &'a mut dyn FnMut(&ChoiceSequence) -> Result<Option<ChoiceSequence>, E>;

/// Makes `choices` simpler while `test` says yes, with at most `execs_max` tests, and a number of
/// candidates that is in proportion (`COPIES_PER_EXEC`). The test is taken to hold for `choices`
/// themselves.
///
/// Errs when the test does. Panics if `choices`, or those that the test returns, are not sound.
pub fn shrink<E>(choices: ChoiceSequence, execs_max: u64, test: Test<'_, E>) -> Result<Shrunk, E> {
    let mut search = Search::new(choices, execs_max, test);
    search.run()?;
    Ok(Shrunk {
        is_minimal: !search.is_spent(),
        choices: search.best,
        execs: search.execs,
    })
}

/// What a candidate came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It does not hold, or could not be tested.
    Fails,
    /// It holds, and is not simpler than the best.
    Holds,
    /// It is the best now.
    Better,
}

/// A search in progress: what passes work on.
struct Search<'a, E> {
    best: ChoiceSequence,
    /// Where in the payload each draw of the best begins, and where the last one ends.
    payload_at: Vec<usize>,
    /// The candidates that were tested, by their keys: whether each of them held.
    tried: BTreeMap<u128, bool>,
    execs: u64,
    execs_max: u64,
    /// Draws and bytes of payload that were copied into candidates.
    copied: u64,
    copied_max: u64,
    /// What the last candidate of [`Search::without`] lacked.
    cuts: Cuts,
    /// The candidate; and what its key is the hash of. Kept so that memory is taken once.
    candidate: ChoiceSequence,
    hashed: Vec<u8>,
    test: Test<'a, E>,
}

impl<'a, E> Search<'a, E> {
    fn new(choices: ChoiceSequence, execs_max: u64, test: Test<'a, E>) -> Search<'a, E> {
        let copy = size(&choices).max(COPY_MIN);
        let mut search = Search {
            best: ChoiceSequence::default(),
            payload_at: Vec::new(),
            tried: BTreeMap::new(),
            execs: 0,
            execs_max,
            copied: 0,
            copied_max: execs_max
                .saturating_mul(COPIES_PER_EXEC)
                .saturating_mul(copy),
            cuts: Cuts::default(),
            candidate: ChoiceSequence::default(),
            hashed: Vec::new(),
            test,
        };
        search.take(choices);
        search
    }

    /// All passes, again and again, until none of them helps or the search is spent.
    fn run(&mut self) -> Result<(), E> {
        loop {
            let before = self.best.clone();
            spans::pass(self)?;
            descend::pass(self)?;
            delete::pass(self)?;
            resize::pass(self)?;
            lower::pass(self)?;
            equal::pass(self)?;
            equal_bytes::pass(self)?;
            together::pass(self)?;
            redistribute::pass(self)?;
            sort::pass(self)?;
            if self.best == before || self.is_spent() {
                return Ok(());
            }
        }
    }

    fn is_spent(&self) -> bool {
        self.execs >= self.execs_max || self.copied >= self.copied_max
    }

    fn len(&self) -> usize {
        self.best.nodes.len()
    }

    /// What a draw of bytes drew; of others, nothing.
    fn bytes(&self, at: usize) -> &[u8] {
        &self.best.payload[self.payload_at[at]..self.payload_at[at + 1]]
    }

    fn take(&mut self, choices: ChoiceSequence) {
        self.payload_at.clear();
        self.payload_at.push(0);
        let mut end = 0;
        for (_, bytes) in choices.iter() {
            end += bytes.len();
            self.payload_at.push(end);
        }
        self.best = choices;
        self.cuts.clear();
    }

    /// Takes what the generator makes of an edit of the best choices, if it holds and is simpler. The
    /// edit says whether it is possible; what is not sound then is refused as well, so that a pass
    /// which is wrong about a draw does no harm.
    fn attempt(&mut self, edit: impl FnOnce(&mut ChoiceSequence) -> bool) -> Result<bool, E> {
        if !self.make(edit) || !is_simpler(&self.candidate, &self.best) {
            return Ok(false);
        }
        Ok(self.judge()? == Verdict::Better)
    }

    /// The same for an edit that need not be simpler, to learn whether it holds.
    fn probe(&mut self, edit: impl FnOnce(&mut ChoiceSequence) -> bool) -> Result<Verdict, E> {
        if !self.make(edit) {
            return Ok(Verdict::Fails);
        }
        self.judge()
    }

    /// Makes the candidate, without spans, which a replay does not read. Whether there is one.
    fn make(&mut self, edit: impl FnOnce(&mut ChoiceSequence) -> bool) -> bool {
        if self.is_spent() {
            return false;
        }
        self.copied += size(&self.best);
        self.candidate.nodes.clone_from(&self.best.nodes);
        self.candidate.payload.clone_from(&self.best.payload);
        edit(&mut self.candidate) && self.candidate.is_sound()
    }

    /// Tests the candidate unless that was done before; what failed then, or held, does so now.
    fn judge(&mut self) -> Result<Verdict, E> {
        let key = key(&self.candidate, &mut self.hashed);
        let held = |holds| match holds {
            true => Verdict::Holds,
            false => Verdict::Fails,
        };
        if let Some(&holds) = self.tried.get(&key) {
            return Ok(held(holds));
        }
        self.execs += 1;
        let drawn = (self.test)(&self.candidate)?;
        self.tried.insert(key, drawn.is_some());
        match drawn {
            Some(drawn) if is_simpler(&drawn, &self.best) => {
                self.take(drawn);
                Ok(Verdict::Better)
            }
            other => Ok(held(other.is_some())),
        }
    }

    /// Without the draws `from..to`.
    fn without(&mut self, from: usize, to: usize) -> Result<bool, E> {
        let mut cuts = self.cuts;
        let is_new = cuts.is_new(from, to, |at, other| self.is_same(at, other));
        self.cuts = cuts;
        if !is_new {
            return Ok(false);
        }
        self.attempt(|candidate| {
            cut(candidate, from, to);
            true
        })
    }

    /// Whether a replay reads the same at two draws.
    fn is_same(&self, at: usize, other: usize) -> bool {
        let (a, b) = (&self.best.nodes[at], &self.best.nodes[other]);
        kind(a) == kind(b) && a.value == b.value && self.bytes(at) == self.bytes(other)
    }
}

/// How many draws and bytes of payload there are: what a copy costs.
fn size(choices: &ChoiceSequence) -> u64 {
    (choices.nodes.len() + choices.payload.len()) as u64
}

/// Bytes of payload that these nodes drew.
fn payload_bytes(nodes: &[ChoiceNode]) -> usize {
    let bytes = nodes.iter().map(|node| match node.draw.domain {
        Domain::Bytes { .. } => node.value as usize,
        _ => 0,
    });
    bytes.sum()
}

/// Deletes the draws `from..to` and what they drew. Panics if there are no such draws.
fn cut(candidate: &mut ChoiceSequence, from: usize, to: usize) {
    let at = payload_bytes(&candidate.nodes[..from]);
    let bytes = payload_bytes(&candidate.nodes[from..to]);
    candidate.payload.drain(at..at + bytes);
    candidate.nodes.drain(from..to);
}

/// The [`kind`] of bytes.
const BYTES: u8 = 3;

fn kind(node: &ChoiceNode) -> u8 {
    match node.draw.domain {
        Domain::Bool { .. } => 0,
        Domain::Int { .. } => 1,
        Domain::Float { .. } => 2,
        Domain::Bytes { .. } => BYTES,
    }
}

/// Hash of what a replay reads of a candidate. `hashed` is overwritten.
fn key(candidate: &ChoiceSequence, hashed: &mut Vec<u8>) -> u128 {
    hashed.clear();
    for node in &candidate.nodes {
        hashed.push(kind(node));
        hashed.extend_from_slice(&node.value.to_le_bytes());
    }
    hashed.extend_from_slice(&candidate.payload);
    digest::short(blake3::hash(hashed))
}

/// Whether a sequence comes before another in shortlex order.
fn is_simpler(a: &ChoiceSequence, b: &ChoiceSequence) -> bool {
    if a.nodes.len() != b.nodes.len() {
        return a.nodes.len() < b.nodes.len();
    }
    // The same first, in long sequences nearly all: what is left may be bytes.
    let is_same = |(a, b): &(&ChoiceNode, &ChoiceNode)| {
        a.value == b.value && a.draw.domain == b.draw.domain && kind(a) != BYTES
    };
    let same = a.nodes.iter().zip(&b.nodes).take_while(is_same).count();
    let key = |(node, bytes)| (complexity(node), bytes);
    (a.iter().skip(same).map(key)).lt(b.iter().skip(same).map(key))
}

/// Where a value comes in the order of its domain, from the simplest on, which is 0. This is the one
/// place that says what simpler means:
///
/// - a boolean: the other one is next;
/// - an integer: by its distance from the simplest; of two as far, the greater one first;
/// - a float: by the number of binary digits after its point, so that whole numbers come first and
///   then halves; then by size; then the positive one first;
/// - bytes: by how many there are. Of as many, those of [`is_simpler`] come first that are less.
fn complexity(node: &ChoiceNode) -> u128 {
    let simplest = node.draw.domain.simplest();
    match node.draw.domain {
        Domain::Int { .. } => {
            let (value, simplest) = (node.value.cast_signed(), simplest.cast_signed());
            let distance = u128::from(value.abs_diff(simplest));
            distance * 2 - u128::from(value > simplest)
        }
        Domain::Bool { .. } => u128::from(node.value != simplest),
        Domain::Float { .. } => {
            let value = f64::from_bits(node.value);
            if value == f64::from_bits(simplest) {
                return 0;
            }
            let size = u128::from(value.abs().to_bits());
            u128::from(float::digits(value)) << 64 | size << 1 | u128::from(value < 0.0)
        }
        Domain::Bytes { .. } => u128::from(node.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::replay::{After, Replay};
    use crate::choice::{ChoiceNode, Domain, Draw, Drawing, Role, Source};
    use crate::rng::Rng;
    use std::convert::Infallible;
    use std::sync::Arc;

    /// Draws of these domains that came to these values, which are no bytes.
    pub(super) fn sequence(draws: impl IntoIterator<Item = (Domain, u64)>) -> ChoiceSequence {
        let node = |(domain, value)| ChoiceNode {
            draw: Draw {
                site: 0,
                role: Role::Value,
                domain,
            },
            bits: value,
            value,
        };
        ChoiceSequence {
            nodes: draws.into_iter().map(node).collect(),
            ..ChoiceSequence::default()
        }
    }

    /// The simplest choices for which a generator says yes.
    fn simplest(
        start: ChoiceSequence,
        mut generator: impl FnMut(&mut Drawing) -> bool,
    ) -> ChoiceSequence {
        let mut test = |candidate: &ChoiceSequence| -> Result<_, Infallible> {
            let replay = Replay::new(Arc::new(candidate.clone()), After::Simplest);
            let mut drawing = Drawing::new(Source::Replay(replay), 1 << 20);
            let holds = generator(&mut drawing);
            Ok(holds.then(|| drawing.finish()))
        };
        let start = test(&start).expect("no error").expect("holds at the start");
        let Ok(shrunk) = shrink(start, 10_000, &mut test);
        assert!(shrunk.is_minimal);
        shrunk.choices
    }

    fn float(drawing: &mut Drawing, lo: f64, hi: f64) -> f64 {
        let value = drawing.draw(0, Role::Value, Domain::float(lo, hi));
        f64::from_bits(value.expect("a domain"))
    }

    /// The smallest pair of floats of `0..1000` for which something holds.
    fn pair(start: (f64, f64), holds: fn(f64, f64) -> bool) -> (f64, f64) {
        let domain = Domain::float(0.0, 1000.0);
        let start = sequence([start.0, start.1].map(|value| (domain, value.to_bits())));
        let found = simplest(start, |drawing| {
            holds(float(drawing, 0.0, 1000.0), float(drawing, 0.0, 1000.0))
        });
        let value = |at: usize| f64::from_bits(found.nodes[at].value);
        (value(0), value(1))
    }

    /// What a pass looked at may be another draw after an attempt that helped: a number became bytes.
    #[test]
    fn draws_that_change_their_kind_do_no_harm() {
        for second in (500..=1000).step_by(50) {
            let (a, b) = (
                Domain::Int { lo: 0, hi: 100 },
                Domain::Int { lo: 0, hi: 1000 },
            );
            let found = simplest(sequence([(a, 91), (b, second)]), |drawing| {
                let mut draw = |domain| drawing.draw(0, Role::Value, domain).expect("a domain");
                match draw(a) {
                    first @ 51.. => first == 91 && draw(b) >= 500,
                    first => draw(Domain::Bytes { min: 0, max: 1000 }) > 9999 || first == 46,
                }
            });
            let values: Vec<u64> = found.nodes.iter().map(|node| node.value).collect();
            assert_eq!(values, [46, 0], "{second}");
        }
    }

    #[test]
    fn unsound_candidates_are_not_tested() {
        let mut test = |_: &ChoiceSequence| -> Result<_, Infallible> { panic!("tested") };
        let mut search = Search::new(int(0, 9, 5), 10, &mut test);
        let edits: [fn(&mut ChoiceSequence); 3] = [
            |candidate| candidate.nodes[0].value = 10,
            |candidate| candidate.payload.push(0),
            |candidate| candidate.nodes[0].draw.domain = Domain::Bytes { min: 0, max: 9 },
        ];
        for edit in edits {
            let edit = |candidate: &mut ChoiceSequence| {
                candidate.nodes[0].value -= 1;
                edit(candidate);
                true
            };
            assert_eq!(search.attempt(edit), Ok(false));
            assert_eq!(search.probe(edit), Ok(Verdict::Fails));
        }
    }

    /// Of all draws of a long sequence, none can be spared or changed: what the search comes to.
    fn needed<R>(
        draws: &ChoiceSequence,
        execs_max: u64,
        of: fn(&Search<'_, Infallible>) -> R,
    ) -> R {
        let mut test = |_: &ChoiceSequence| -> Result<_, Infallible> { Ok(None) };
        let mut search = Search::new(draws.clone(), execs_max, &mut test);
        let Ok(()) = search.run();
        of(&search)
    }

    /// Equal draws, as of a coin that nearly always comes to the same, and lists of equal elements: cuts
    /// that leave the same are made a few times only.
    #[test]
    fn equal_cuts_are_not_made_again() {
        let coin = Domain::Bool {
            num: 999,
            den: 1000,
        };
        let number = Domain::Int { lo: 5, hi: 9 };
        for draws in [
            sequence((0..8192).map(|_| (coin, 1))),
            sequence((0..8192).map(|at| if at % 2 == 0 { (coin, 1) } else { (number, 5) })),
        ] {
            let (execs, copied) = needed(&draws, 100, |search| (search.execs, search.copied));
            assert_eq!(execs, 100);
            assert!(copied <= 200 * 8192, "{copied}");
        }
    }

    /// A candidate that was tested before costs no test, but a copy: a pass that comes to the same again and
    /// again ends.
    #[test]
    fn copies_are_bounded() {
        let number = Domain::Int { lo: 0, hi: 9 };
        let mut calls = 0;
        let mut test = |_: &ChoiceSequence| -> Result<_, Infallible> {
            calls += 1;
            Ok(None)
        };
        let mut search = Search::new(sequence([(number, 5); 100]), 10, &mut test);
        let mut attempts = 0;
        while !search.is_spent() && attempts < 1000 {
            attempts += 1;
            let Ok(helped) = search.attempt(|candidate| candidate.nodes.pop().is_some());
            assert!(!helped);
        }
        assert_eq!((calls, attempts), (1, 10 * COPIES_PER_EXEC));
    }

    /// Halves and quarters go first: to one draw in a few tests.
    #[test]
    fn most_of_a_long_sequence_goes_in_few_tests() {
        let number = Domain::Int { lo: 0, hi: 10_000 };
        let start = sequence((0..10_000).map(|at| (number, at)));
        let mut calls = 0;
        let mut test = |candidate: &ChoiceSequence| -> Result<_, Infallible> {
            calls += 1;
            let holds = candidate.nodes.iter().any(|node| node.value == 6789);
            Ok(holds.then(|| candidate.clone()))
        };
        let mut search = Search::new(start, 10_000, &mut test);
        let Ok(()) = delete::pass(&mut search);
        assert_eq!(search.len(), 1);
        assert!(calls < 100, "{calls}");
    }

    #[test]
    fn floats_with_few_digits_are_simpler() {
        let of = |value: f64| sequence([(Domain::float(-9.0, 9.0), value.to_bits())]);
        let in_order = [0.0, 1.0, -1.0, 2.0, 8.0, 0.5, -0.5, 1.5, 0.25, 0.75, 0.1];
        for pair in in_order.windows(2) {
            assert!(is_simpler(&of(pair[0]), &of(pair[1])), "{pair:?}");
        }
        // The simplest comes first though it has many digits: it is what is drawn beyond the end.
        let of = |value: f64| sequence([(Domain::float(0.3, 9.0), value.to_bits())]);
        assert!(is_simpler(&of(0.3), &of(1.0)));
    }

    #[test]
    fn the_smallest_pair_of_floats_does_not_depend_on_the_start() {
        for start in [(309.4, 692.7), (516.0, 485.0), (999.9, 0.2), (2.0, 999.0)] {
            // 0 is too little, as 1000 is not among them.
            assert_eq!(
                pair(start, |x, y| x + y > 1000.0),
                (1.0, 999.5),
                "{start:?}"
            );
            assert_eq!(pair(start, |x, y| x + y > 100.0), (0.0, 101.0), "{start:?}");
        }
        for start in [(700.3, 700.0), (45.75, 46.25), (11.5, 11.0)] {
            let near = |x: f64, y: f64| x > 10.0 && (x - y).abs() < 1.0;
            assert_eq!(pair(start, near), (11.0, 11.0), "{start:?}");
        }
        // As far from each other as they are, both move by what the first has behind the point.
        let half = |x: f64, y: f64| x > 10.0 && x - y == 0.5;
        assert_eq!(pair((700.75, 700.25), half), (11.0, 10.5));
        let whole = |x: f64, y: f64| x + y == 20.0 && y > 1.25;
        assert_eq!(pair((7.75, 12.25), whole), (0.0, 20.0));
    }

    #[test]
    fn equal_floats_are_lowered_together() {
        for start in [700.3, 10.000_1, 512.0, 11.5] {
            let equal = |x: f64, y: f64| x == y && x > 10.0;
            assert_eq!(pair((start, start), equal), (11.0, 11.0), "{start}");
        }
        // Not near each other.
        let start = sequence([(Domain::float(0.0, 9.0), f64::to_bits(8.3)); 9]);
        let found = simplest(start, |drawing| {
            let all: Vec<f64> = (0..9).map(|_| float(drawing, 0.0, 9.0)).collect();
            all[0] == all[8] && all[0] > 2.5
        });
        assert_eq!(found.nodes[0].value, 3f64.to_bits());
    }

    /// How many comes from a fraction: one element less needs another one at the same time.
    #[test]
    fn a_fraction_that_is_a_size_is_lowered() {
        let number = Domain::Int { lo: 0, hi: 9 };
        let mut start = sequence((0..9).map(|at| (number, if at % 3 == 0 { 7 } else { 1 })));
        let size = sequence([(Domain::float(0.0, 1.0), f64::to_bits(0.9))]);
        start.nodes.insert(0, size.nodes[0]);
        let found = simplest(start, |drawing| {
            let size = float(drawing, 0.0, 1.0) * 10.3;
            let mut draw = || drawing.draw(0, Role::Value, number).expect("a domain");
            (0..size as usize).filter(|_| draw() == 7).count() >= 2
        });
        let values: Vec<u64> = found.nodes[1..].iter().map(|node| node.value).collect();
        assert_eq!(values, [7, 7]);
        // Two of 10.3 at least, and fewer than three.
        assert_eq!(found.nodes[0].value, 0.25f64.to_bits());
    }

    fn int(lo: i64, hi: i64, value: i64) -> ChoiceSequence {
        let mut drawing = Drawing::new(Source::Fresh(Rng::new(0)), 100);
        drawing.int(0, Role::Value, lo, hi).unwrap();
        let mut choices = drawing.finish();
        choices.nodes[0].value = value.cast_unsigned();
        choices
    }

    #[test]
    fn near_nought_and_positive_is_simpler() {
        let in_order = [0, 1, -1, 2, -2, 100, i64::MAX / 4];
        for pair in in_order.windows(2) {
            let full = |value| int(i64::MIN, i64::MAX, value);
            assert!(is_simpler(&full(pair[0]), &full(pair[1])), "{pair:?}");
        }
        assert!(is_simpler(&ChoiceSequence::default(), &int(0, 9, 0)));
    }

    /// What holds for every positive number has no least one: the search comes near nought, and ends.
    #[test]
    fn fractions_without_a_least_one_end() {
        for value in [0.6, 1e-310, f64::MIN_POSITIVE] {
            let mut drawing = Drawing::new(Source::Fresh(Rng::new(0)), 100);
            drawing
                .draw(0, Role::Value, Domain::float(0.0, 1.0))
                .unwrap();
            let mut choices = drawing.finish();
            choices.nodes[0].value = f64::to_bits(value);
            let mut test = |choices: &ChoiceSequence| -> Result<_, Infallible> {
                let is_positive = |node: &ChoiceNode| f64::from_bits(node.value) > 0.0;
                let holds = choices.nodes.first().is_some_and(is_positive);
                Ok(holds.then(|| choices.clone()))
            };
            let Ok(shrunk) = shrink(choices, 100_000, &mut test);
            assert!(shrunk.is_minimal, "{value}");
        }
    }

    #[test]
    fn the_number_of_tests_is_bounded() {
        let mut calls = 0;
        let mut test = |_: &ChoiceSequence| -> Result<_, Infallible> {
            calls += 1;
            Ok(None)
        };
        let Ok(shrunk) = shrink(int(0, 1 << 40, 1 << 39), 3, &mut test);
        assert!((shrunk.execs, shrunk.is_minimal) == (3, false) && calls == 3);
    }
}
