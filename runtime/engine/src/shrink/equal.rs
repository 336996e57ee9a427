//! Lowers all numbers that are equal at once, because what holds may be that they are.

use std::collections::BTreeSet;

use super::Search;
use crate::choice::Domain;

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let values: BTreeSet<i64> = numbers(search).map(|(_, value)| value).collect();
    for value in values {
        // It may be gone since.
        let count = numbers(search).filter(|(_, other)| *other == value).count();
        if count > 1 && !search.is_spent() {
            lower(search, value)?;
        }
    }
    Ok(())
}

/// Every number with its place.
fn numbers<E>(search: &Search<'_, E>) -> impl Iterator<Item = (usize, i64)> {
    let nodes = search.best.nodes.iter().enumerate();
    nodes.filter_map(|(at, node)| match node.draw.domain {
        Domain::Int { .. } => Some((at, node.value.cast_signed())),
        _ => None,
    })
}

/// Towards nought, as far as a binary search finds possible.
fn lower<E>(search: &mut Search<'_, E>, value: i64) -> Result<(), E> {
    // Holds at `good`; at `bad` it did not.
    let (mut good, mut bad) = (i128::from(value), 0i128);
    if value == 0 || replace(search, value, 0)? {
        return Ok(());
    }
    if value < 0 && value != i64::MIN && replace(search, value, -value)? {
        return lower(search, -value);
    }
    while bad.abs_diff(good) > 1 && !search.is_spent() {
        let middle = bad + (good - bad) / 2;
        if replace(search, good as i64, middle as i64)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(())
}

/// Tries another value wherever there is this one, as near as each domain has it.
fn replace<E>(search: &mut Search<'_, E>, value: i64, by: i64) -> Result<bool, E> {
    let places: Vec<usize> = numbers(search)
        .filter(|(_, other)| *other == value)
        .map(|(at, _)| at)
        .collect();
    let mut items = search.items();
    for at in places {
        let node = &mut items[at].0;
        if let Domain::Int { lo, hi } = node.draw.domain {
            node.value = by.clamp(lo, hi).cast_unsigned();
        }
    }
    search.attempt(&items)
}
