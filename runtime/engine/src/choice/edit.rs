//! Edits: children of a tree of choices, each by one operator.
//!
//! In: a population of trees, an operator, random numbers. Out: an edited tree; what it does not have,
//! the generator makes anew ([`super::tree::Aligned`]). A number or a boolean that is changed never
//! keeps its value; a splice or an exchange may find the same choices, and then nothing changes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Domain;
use super::geometric::Geometric;
use super::hints::Hints;
use super::source::{below, fresh};
use super::strings::is_entry;
use super::tree::{Token, Tree};
use crate::rng::Rng;

/// Edits do not make a tree longer once it has so many tokens.
const TOKENS_MAX: usize = 1 << 14;

/// Bytes that one draw gets at most beyond the fewest, where its length is chosen.
const LONG_BYTES_MAX: u32 = 1 << 16;

const FEW: Geometric = Geometric::new(2);
const MANY: Geometric = Geometric::new(4);

/// How a child comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operator {
    /// From nothing, whatever the population is.
    Restart,
    /// One choice differs.
    Value,
    /// Four choices differ on average.
    Values,
    /// What is in a span is made anew.
    Resample,
    /// What is in a span is that of another one of the same label; twice on average.
    Splice,
    /// A span is taken out, doubled, or exchanged with the next one of the same label; twice on
    /// average.
    Rearrange,
    /// Four of the above, on average.
    Mixed,
    /// A choice is what a comparison wanted of one of its kind; twice on average.
    Hint,
}

impl Operator {
    /// All of them.
    pub const ALL: [Operator; 8] = [
        Operator::Restart,
        Operator::Value,
        Operator::Values,
        Operator::Resample,
        Operator::Splice,
        Operator::Rearrange,
        Operator::Mixed,
        Operator::Hint,
    ];
}

/// Trees to make children from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forest {
    /// Ascending by number.
    trees: Vec<(u64, Arc<Tree>)>,
    /// By label: which trees have a span of it, ascending.
    having: BTreeMap<u32, Vec<u64>>,
}

impl Forest {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Adds a tree. Its number must be above all others.
    pub fn insert(&mut self, number: u64, tree: Tree) {
        for label in labels(&tree) {
            self.having.entry(label).or_default().push(number);
        }
        self.trees.push((number, Arc::new(tree)));
    }

    /// Removes a tree, if it is there.
    pub fn remove(&mut self, number: u64) {
        let Ok(at) = self.find(number) else { return };
        let (_, tree) = self.trees.remove(at);
        for label in labels(&tree) {
            let having = self.having.get_mut(&label).expect("it has a span of it");
            let at = having.binary_search(&number).expect("it is listed");
            having.remove(at);
        }
    }

    fn find(&self, number: u64) -> Result<usize, usize> {
        self.trees.binary_search_by_key(&number, |(n, _)| *n)
    }

    /// The number of a uniform tree, if there is any.
    pub fn any(&self, rng: &mut Rng) -> Option<u64> {
        pick(&self.trees, rng).map(|(number, _)| *number)
    }

    /// A tree, if it is there.
    pub fn get(&self, number: u64) -> Option<&Arc<Tree>> {
        self.find(number).ok().map(|at| &self.trees[at].1)
    }

    /// A child of a tree by an operator. One that is not there has no choices.
    pub fn child(&self, parent: u64, operator: Operator, hints: &Hints, rng: &mut Rng) -> Tree {
        let Ok(parent) = self.find(parent) else {
            return Tree::default();
        };
        let mut child = Tree::clone(&self.trees[parent].1);
        match operator {
            Operator::Restart => return Tree::default(),
            Operator::Value => value(&mut child, rng),
            Operator::Values => times(&MANY, rng, |rng| value(&mut child, rng)),
            Operator::Resample => resample(&mut child, rng),
            Operator::Splice => times(&FEW, rng, |rng| self.splice(&mut child, rng)),
            Operator::Rearrange => times(&FEW, rng, |rng| rearrange(&mut child, rng)),
            Operator::Mixed => times(&MANY, rng, |rng| match rng.below(8) {
                0..4 => value(&mut child, rng),
                4 => resample(&mut child, rng),
                5..7 => self.splice(&mut child, rng),
                _ => rearrange(&mut child, rng),
            }),
            Operator::Hint => times(&FEW, rng, |rng| {
                if !hints.give(&mut child, rng) {
                    value(&mut child, rng);
                }
            }),
        }
        child
    }

    /// Fills a span with what one of the same label has.
    fn splice(&self, child: &mut Tree, rng: &mut Rng) {
        let spans: Vec<(u32, Range<usize>)> = child.spans().collect();
        let Some((label, range)) = pick(&spans, rng) else {
            return value(child, rng);
        };
        let Some(having) = self.having.get(label).filter(|having| !having.is_empty()) else {
            return value(child, rng);
        };
        let donor = having[rng.index(having.len())];
        let donor = &self.trees[self.find(donor).expect("it is listed")].1;
        let same: Vec<_> = donor.spans().filter(|(other, _)| other == label).collect();
        let (_, from) = pick(&same, rng).expect("it has a span of it");
        if child.tokens.len() + from.len() <= TOKENS_MAX {
            child.replace(range.clone(), donor, from.clone());
        }
    }
}

fn labels(tree: &Tree) -> Vec<u32> {
    let mut labels: Vec<u32> = tree.spans().map(|(label, _)| label).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

fn pick<'a, T>(all: &'a [T], rng: &mut Rng) -> Option<&'a T> {
    all.get(rng.index(all.len()))
}

fn times(count: &Geometric, rng: &mut Rng, mut edit: impl FnMut(&mut Rng)) {
    for _ in 0..count.sample(rng) {
        edit(rng);
    }
}

/// Changes a choice that could be another one.
fn value(child: &mut Tree, rng: &mut Rng) {
    let all = 0..child.tokens.len();
    let free: Vec<usize> = all.filter(|&at| is_free(&child.tokens[at])).collect();
    if let Some(&at) = pick(&free, rng) {
        change(child, at, rng);
    }
}

/// Changes the choice at this place, which could be another one. Only what follows it may move.
pub(super) fn change(child: &mut Tree, at: usize, rng: &mut Rng) {
    if let Token::Choice { draw, value, bytes } = &mut child.tokens[at] {
        if let Domain::Bytes { .. } = draw.domain {
            let old = *bytes as usize..*bytes as usize + *value as usize;
            let from = child.payload.len();
            let answer = fresh(sized(draw.domain, rng), rng, &mut child.payload);
            if child.payload[old] == child.payload[from..] {
                return;
            }
            (*value, *bytes) = (answer.value, from as u32);
        } else {
            *value = another(draw.domain, *value, rng);
            forget_entry(child, at);
        }
    }
}

/// Of a request for a known string that another one was chosen for, the text is the table's again.
fn forget_entry(child: &mut Tree, which: usize) {
    let next = child.tokens.get(which + 1);
    if matches!(next, Some(Token::Choice { draw, .. }) if is_entry(draw)) {
        child.tokens.remove(which + 1);
        child.link();
    }
}

/// Whether it is a choice that could be another one.
pub(super) fn is_free(token: &Token) -> bool {
    matches!(token, Token::Choice { draw, .. } if has_two(draw.domain) && !is_entry(draw))
}

pub(super) fn has_two(domain: Domain) -> bool {
    match domain {
        Domain::Bool { num, den } => num > 0 && num < den,
        Domain::Int { lo, hi } => lo < hi,
        Domain::Float { lo, hi } => lo != hi,
        Domain::Bytes { max, .. } => max > 0,
    }
}

/// Bytes of which more is settled: once in four times how many there are, by orders of magnitude alike. The decoder's
/// own lengths are few, whatever the domain allows.
fn sized(domain: Domain, rng: &mut Rng) -> Domain {
    match domain {
        Domain::Bytes { min, max } if min < max && rng.below(4) == 0 => {
            let span = (max - min).min(LONG_BYTES_MAX);
            let most = span >> rng.below(span.ilog2() + 1);
            let length = min + rng.below(most + 1);
            Domain::Bytes {
                min: length,
                max: length,
            }
        }
        _ => domain,
    }
}

/// A value of the domain that is not `old`; bytes are not asked for.
fn another(domain: Domain, old: u64, rng: &mut Rng) -> u64 {
    match domain {
        Domain::Bool { .. } => 1 - old,
        Domain::Int { lo, hi } => {
            let others = hi.wrapping_sub(lo).cast_unsigned();
            // What is divided by, indexed with or counted down to goes wrong at the ends, and a uniform choice of many
            // never meets them.
            if others > 16 && rng.below(8) == 0 {
                let edges = [domain.simplest(), lo.cast_unsigned(), hi.cast_unsigned()];
                let edge = edges[rng.index(edges.len())];
                if edge != old {
                    return edge;
                }
            }
            // Uniform of the others, or one of the neighbours.
            let step = match rng.below(4) {
                0 if others > 16 => 1 + below(rng, 8),
                1 if others > 16 => others.wrapping_add(1).wrapping_sub(1 + below(rng, 8)),
                _ => 1 + below(rng, others),
            };
            let offset = old.wrapping_sub(lo.cast_unsigned());
            let moved = match others.checked_add(1) {
                Some(size) => ((u128::from(offset) + u128::from(step)) % u128::from(size)) as u64,
                None => offset.wrapping_add(step),
            };
            lo.cast_unsigned().wrapping_add(moved)
        }
        Domain::Float { .. } | Domain::Bytes { .. } => fresh(domain, rng, &mut Vec::new()).value,
    }
}

/// Empties a span.
fn resample(child: &mut Tree, rng: &mut Rng) {
    let spans: Vec<(u32, Range<usize>)> = child.spans().collect();
    let Some((_, range)) = pick(&spans, rng) else {
        return value(child, rng);
    };
    child.tokens.drain(range.start + 1..range.end - 1);
    child.link();
}

/// Takes a span out, doubles it, or exchanges it with the next one.
fn rearrange(child: &mut Tree, rng: &mut Rng) {
    let spans: Vec<(u32, Range<usize>)> = child.spans().collect();
    // Those that the next span of the same label follows at once.
    let next = |range: &Range<usize>, label| match child.tokens.get(range.end) {
        Some(Token::Open {
            label: other,
            close,
        }) if *other == label => Some(*close as usize + 1),
        _ => None,
    };
    let pairs: Vec<(Range<usize>, usize)> = (spans.iter())
        .filter_map(|(label, range)| Some((range.clone(), next(range, *label)?)))
        .collect();
    let Some((range, end)) = pick(&pairs, rng) else {
        return value(child, rng);
    };
    match rng.below(3) {
        0 => {
            child.tokens.drain(range.clone());
        }
        1 if child.tokens.len() + range.len() <= TOKENS_MAX => {
            let copy = child.tokens[range.clone()].to_vec();
            child.tokens.splice(range.end..range.end, copy);
        }
        _ => child.tokens[range.start..*end].rotate_left(range.len()),
    }
    child.link();
}

#[cfg(test)]
mod tests {
    use super::super::ChoiceSequence;
    use super::*;

    /// Two lists of three elements of one byte each, below one span.
    fn tree(bytes: &[u8; 6]) -> Tree {
        let list = |first| {
            [(2, first, first + 3, 1)]
                .into_iter()
                .chain((first..first + 3).map(|at| (3, at, at + 1, 2)))
        };
        let spans: Vec<_> = std::iter::once((1, 0, 6, 0))
            .chain(list(0))
            .chain(list(3))
            .collect();
        Tree::from(&ChoiceSequence::of_bytes(bytes, &spans))
    }

    fn values(tree: &Tree) -> Vec<u64> {
        let value = |token: &Token| match *token {
            Token::Choice { value, .. } => Some(value),
            _ => None,
        };
        tree.tokens.iter().filter_map(value).collect()
    }

    /// Children of the first of these trees.
    fn children(trees: &[&[u8; 6]], operator: Operator) -> Vec<Vec<u64>> {
        let mut forest = Forest::default();
        for (bytes, number) in trees.iter().zip(0..) {
            forest.insert(number, tree(bytes));
        }
        let child = |seed| forest.child(0, operator, &Hints::default(), &mut Rng::new(seed));
        let children: Vec<Tree> = (0..2_000).map(child).collect();
        for child in &children {
            let mut linked = child.clone();
            linked.link();
            assert_eq!(&linked, child, "spans know where they end");
        }
        children.iter().map(values).collect()
    }

    const OLD: [u8; 6] = [1, 2, 3, 4, 5, 6];

    #[test]
    fn one_value_differs() {
        for child in children(&[&OLD], Operator::Value) {
            let differ = child
                .iter()
                .zip(OLD)
                .filter(|&(&new, old)| new != u64::from(old));
            assert_eq!((differ.count(), child.len()), (1, 6), "{child:?}");
        }
    }

    /// Neighbours are frequent, and everything that is another value can come.
    #[test]
    fn another_value_is_never_the_old_one() {
        for domain in [
            Domain::Int { lo: -3, hi: 3 },
            Domain::Int {
                lo: i64::MIN,
                hi: i64::MAX,
            },
            Domain::Int {
                lo: -1_000,
                hi: 1_000,
            },
            Domain::Bool { num: 1, den: 3 },
        ] {
            let old = match domain {
                Domain::Bool { .. } => 1,
                _ => 3,
            };
            for seed in 0..1_000 {
                let new = another(domain, old, &mut Rng::new(seed));
                assert!(new != old && domain.has(new), "{domain:?}: {new}");
            }
        }
        let all: std::collections::BTreeSet<u64> = (0..1_000)
            .map(|seed| another(Domain::Int { lo: 0, hi: 6 }, 3, &mut Rng::new(seed)))
            .collect();
        assert!(all.into_iter().eq([0, 1, 2, 4, 5, 6]));
        let near = (0..1_000).filter(|&seed| {
            let new = another(Domain::Int { lo: 0, hi: 1 << 40 }, 500, &mut Rng::new(seed));
            new.abs_diff(500) <= 8
        });
        assert!((400..600).contains(&near.count()));
    }

    #[test]
    fn the_ends_of_a_range_and_its_simplest_come_up() {
        let (lo, hi) = (-1_000_000, i64::MAX);
        for edge in [lo, 0, hi] {
            let meets = |seed: &u64| {
                another(Domain::Int { lo, hi }, 77, &mut Rng::new(*seed)) == edge.cast_unsigned()
            };
            let met = (0..1_000).filter(meets).count();
            assert!((20..80).contains(&met), "{edge}: {met}");
        }
    }

    #[test]
    fn bytes_may_be_as_many_as_their_range_allows() {
        let domain = Domain::Bytes { min: 3, max: 4_000 };
        let lengths: Vec<u64> = (0..4_000)
            .map(|seed| {
                let mut rng = Rng::new(seed);
                let (domain, mut payload) = (sized(domain, &mut rng), Vec::new());
                let answer = fresh(domain, &mut rng, &mut payload);
                assert_eq!(answer.value, payload.len() as u64);
                answer.value
            })
            .collect();
        assert!(lengths.iter().all(|length| (3..=4_000).contains(length)));
        let longer = |than: u64| lengths.iter().filter(|length| **length > than).count();
        assert!(longer(2_000) > 20 && longer(200) > 200 && longer(50) < 1_000);
    }

    #[test]
    fn a_span_is_emptied() {
        for child in children(&[&OLD], Operator::Resample) {
            // One element, a list, or all of it.
            assert!([5, 3, 0].contains(&child.len()), "{child:?}");
        }
    }

    #[test]
    fn spans_are_filled_from_others_of_the_same_label() {
        let all = children(&[&OLD, &[11, 12, 13, 14, 15, 16]], Operator::Splice);
        let lists = |child: &[u64]| child.iter().filter(|&&value| value > 10).count();
        assert!(
            all.iter().all(|child| child.len() == 6),
            "all lists are of one length"
        );
        let counts: std::collections::BTreeSet<usize> =
            all.iter().map(|child| lists(child)).collect();
        assert!(
            [0, 1, 3, 6].iter().all(|count| counts.contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn elements_are_taken_out_doubled_or_exchanged() {
        let all = children(&[&OLD], Operator::Rearrange);
        for expected in [
            vec![2, 3, 4, 5, 6],
            vec![1, 1, 2, 3, 4, 5, 6],
            vec![2, 1, 3, 4, 5, 6],
            vec![4, 5, 6, 1, 2, 3],
            vec![1, 2, 3, 1, 2, 3, 4, 5, 6],
        ] {
            assert!(all.contains(&expected), "{expected:?}");
        }
    }

    #[test]
    fn nothing_comes_of_nothing_and_trees_leave_without_a_trace() {
        let mut forest = Forest::default();
        for operator in Operator::ALL {
            assert_eq!(
                forest.child(0, operator, &Hints::default(), &mut Rng::new(1)),
                Tree::default()
            );
        }
        forest.insert(3, Tree::default());
        for operator in Operator::ALL {
            assert_eq!(
                forest.child(3, operator, &Hints::default(), &mut Rng::new(1)),
                Tree::default()
            );
        }
        let before = forest.clone();
        forest.insert(4, tree(&OLD));
        assert_ne!(
            forest.child(4, Operator::Mixed, &Hints::default(), &mut Rng::new(1)),
            Tree::default()
        );
        assert_eq!(
            forest.child(4, Operator::Restart, &Hints::default(), &mut Rng::new(1)),
            Tree::default()
        );
        forest.remove(4);
        forest.having.retain(|_, having| !having.is_empty());
        assert_eq!(forest, before);
    }

    /// However often spans are doubled, a tree stays within its limit.
    #[test]
    fn growth_is_bounded() {
        let mut forest = Forest::default();
        forest.insert(0, tree(&OLD));
        let mut largest = 0;
        for number in 1..200 {
            let child = forest.child(
                number - 1,
                Operator::Mixed,
                &Hints::default(),
                &mut Rng::new(number),
            );
            largest = largest.max(child.tokens.len());
            let is_empty = child.tokens.len() < 10;
            forest.insert(number, if is_empty { tree(&OLD) } else { child });
        }
        assert!(largest <= TOKENS_MAX + 100, "{largest}");
    }
}
