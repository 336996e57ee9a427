//! Numbers: the integers and floats of a tree of choices, for looking up which of them an operand may be.
//!
//! In: a tree. Out: by a value, or a sum of neighbours from one place of the generator, where in the tree it is.

use std::collections::BTreeMap;

use super::edit::has_two;
use super::tree::{Token, Tree};
use super::{Domain, Draw};
use crate::solve::encode::sign_extend;

/// Sums of fewer draws than this are pairs, which the probes take apart.
const SUMMANDS_MIN: usize = 2;
/// Places whose sum one operand may be, at most.
const SUMS_MAX: usize = 8;

/// The numbers of a tree, for looking them up.
pub(super) struct Numbers {
    /// Draws of integers that could be others: the low half of the value, and where it is; ascending.
    by_low: Vec<(u32, u32)>,
    /// The lowest byte of these, and the lowest two, with their places in `by_low`; ascending.
    by_lowest: [Vec<(u16, u32)>; 2],
    pub(super) floats: Vec<u32>,
    /// The draws of integers of each place.
    pub(super) of_site: BTreeMap<u32, Vec<u32>>,
    /// The sum of the first so many of a place; ascending.
    sums: Vec<(i128, u32, usize)>,
}

impl Numbers {
    pub(super) fn of(tree: &Tree) -> Numbers {
        let (mut by_low, mut floats) = (Vec::new(), Vec::new());
        let mut of_site: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut totals: BTreeMap<u32, i128> = BTreeMap::new();
        let mut sums = Vec::new();
        for (token, at) in tree.tokens.iter().zip(0u32..) {
            let Token::Choice { draw, value, .. } = *token else {
                continue;
            };
            match draw.domain {
                Domain::Int { .. } if has_two(draw.domain) => {
                    by_low.push((value as u32, at));
                    let places = of_site.entry(draw.site).or_default();
                    places.push(at);
                    let total = totals.entry(draw.site).or_default();
                    *total += i128::from(value.cast_signed());
                    if places.len() >= SUMMANDS_MIN {
                        sums.push((*total, draw.site, places.len()));
                    }
                }
                Domain::Float { .. } if has_two(draw.domain) => floats.push(at),
                _ => {}
            }
        }
        by_low.sort_unstable();
        sums.sort_unstable();
        let by_lowest = [1, 2].map(|width| {
            let lowest = by_low.iter().map(|&(low, _)| low as u16 & low_bits(width));
            let mut by: Vec<(u16, u32)> = lowest.zip(0..).collect();
            by.sort_unstable();
            by
        });
        Numbers {
            by_low,
            by_lowest,
            floats,
            of_site,
            sums,
        }
    }

    /// Where draws came to this value, as far as `width` bytes say.
    pub(super) fn equal_to(&self, tree: &Tree, value: u64, width: u8) -> Vec<u32> {
        if width < 4 {
            let by = &self.by_lowest[usize::from(width > 1)];
            let lowest = value as u16 & low_bits(width);
            let from = by.partition_point(|&(other, _)| other < lowest);
            let same = by[from..].iter().take_while(|&&(other, _)| other == lowest);
            return same.map(|&(_, nth)| self.by_low[nth as usize].1).collect();
        }
        let from = self.by_low.partition_point(|&(low, _)| low < value as u32);
        let same = self.by_low[from..]
            .iter()
            .take_while(|&&(low, _)| low == value as u32);
        let whole =
            |at: &u32| width == 4 || choice(tree, *at).is_some_and(|(_, whole)| whole == value);
        same.map(|&(_, at)| at).filter(whole).collect()
    }

    /// Of which places the first draws have this sum, and how many: what was added last, a target may keep apart.
    pub(super) fn with_sum(&self, sum: u64, width: u8) -> Vec<(u32, usize)> {
        let sum = i128::from(sign_extend(sum, width));
        let from = self.sums.partition_point(|&(other, ..)| other < sum);
        let same = self.sums[from..]
            .iter()
            .take_while(|&&(other, ..)| other == sum);
        same.take(SUMS_MAX)
            .map(|&(_, site, count)| (site, count))
            .collect()
    }
}

/// The bits of the lowest byte, or of the lowest two.
fn low_bits(width: u8) -> u16 {
    u16::MAX >> (16 - 8 * u32::from(width))
}

/// The choice at this token, and its value.
pub(super) fn choice(tree: &Tree, at: u32) -> Option<(Draw, u64)> {
    match tree.tokens[at as usize] {
        Token::Choice { draw, value, .. } => Some((draw, value)),
        _ => None,
    }
}
