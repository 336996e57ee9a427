//! Aim: children that differ in draws that somebody chose.
//!
//! In: a tree, and numbers of draws. Out: an edited tree. Once in four times the innermost span around one of these draws is made
//! anew, as what is decided by a draw is often around it; else one or several of them have another value.

use std::ops::Range;

use super::edit::{change, is_free};
use super::geometric::Geometric;
use super::strings::is_entry;
use super::tree::{Token, Tree};
use crate::rng::Rng;

/// Draws that have another value: two on average.
const FEW: Geometric = Geometric::new(2);

/// A child of `tree` that differs in some of these draws, which are numbers from 0 on; those that it does not have are nobody's.
/// The same tree if none of them could be another one.
pub fn aimed(tree: &Tree, draws: &[Range<u32>], rng: &mut Rng) -> Tree {
    let mut child = tree.clone();
    let mut places = places(tree, draws);
    if places.is_empty() {
        return child;
    }
    if rng.below(4) == 0 {
        let around = around(tree, places[rng.index(places.len())]);
        if let Some(inside) = around {
            child.tokens.drain(inside);
            child.link();
            return child;
        }
    }
    let mut chosen: Vec<usize> = Vec::new();
    for _ in 0..FEW.sample(rng) {
        if !places.is_empty() {
            chosen.push(places.swap_remove(rng.index(places.len())));
        }
    }
    // A change may move what follows it.
    chosen.sort_unstable();
    for at in chosen.into_iter().rev() {
        change(&mut child, at, rng);
    }
    child
}

/// Where those of the draws lie that could be another one. Of a known string it is which one.
fn places(tree: &Tree, draws: &[Range<u32>]) -> Vec<usize> {
    let tokens = tree.tokens.iter().enumerate();
    let choices = tokens.filter(|(_, token)| matches!(token, Token::Choice { .. }));
    let mut draws = draws.iter().peekable();
    let mut found = Vec::new();
    for ((at, token), nth) in choices.zip(0_u32..) {
        while draws.next_if(|range| range.end <= nth).is_some() {}
        match draws.peek() {
            Some(range) if range.contains(&nth) => {}
            Some(_) => continue,
            None => break,
        }
        let at = match token {
            Token::Choice { draw, .. } if is_entry(draw) => at.saturating_sub(1),
            _ => at,
        };
        if is_free(&tree.tokens[at]) && found.last() != Some(&at) {
            found.push(at);
        }
    }
    found
}

/// What is inside of the innermost span around this place.
fn around(tree: &Tree, at: usize) -> Option<Range<usize>> {
    let around = tree.spans().filter(|(_, span)| span.contains(&at)).last();
    around.map(|(_, span)| span.start + 1..span.end - 1)
}

#[cfg(test)]
#[expect(
    clippy::single_range_in_vec_init,
    reason = "a list of one range is meant"
)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::ChoiceSequence;
    use super::*;

    fn values(tree: &Tree) -> Vec<u64> {
        let value = |token: &Token| match *token {
            Token::Choice { value, .. } => Some(value),
            _ => None,
        };
        tree.tokens.iter().filter_map(value).collect()
    }

    /// What comes of six bytes, of which the third and fourth are in a span of their own.
    fn children(draws: &[Range<u32>]) -> Vec<Vec<u64>> {
        let bytes = [1, 2, 3, 4, 5, 6];
        let tree = Tree::from(&ChoiceSequence::of_bytes(&bytes, &[(9, 2, 4, 0)]));
        let child = |seed| values(&aimed(&tree, draws, &mut Rng::new(seed)));
        (0..500).map(child).collect()
    }

    /// Which of them differ in any child.
    fn changed(children: &[Vec<u64>]) -> BTreeSet<usize> {
        let of = |child: &Vec<u64>| {
            let pairs = child.iter().zip([1, 2, 3, 4, 5, 6]).enumerate();
            pairs
                .filter(|(_, (a, b))| *a != b)
                .map(|(at, _)| at)
                .collect::<Vec<_>>()
        };
        children.iter().flat_map(of).collect()
    }

    #[test]
    fn only_what_is_aimed_at_differs() {
        let all = children(&[0..1, 4..9]);
        assert!(all.iter().all(|child| child.len() == 6));
        assert_eq!(changed(&all), BTreeSet::from([0, 4, 5]));
        let differ = |child: &Vec<u64>| changed(std::slice::from_ref(child)).len();
        let counts: BTreeSet<usize> = all.iter().map(differ).collect();
        assert_eq!(counts, BTreeSet::from([1, 2, 3]));
    }

    #[test]
    fn a_span_around_it_is_made_anew_now_and_then() {
        let anew = children(&[3..4])
            .iter()
            .filter(|child| child.len() == 4)
            .count();
        assert!((90..160).contains(&anew), "{anew}");
    }

    #[test]
    fn nothing_to_aim_at_changes_nothing() {
        assert!(changed(&children(&[])).is_empty());
        assert!(changed(&children(&[6..7])).is_empty());
    }
}
