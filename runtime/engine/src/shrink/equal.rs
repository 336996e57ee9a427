//! Lowers all numbers of one kind that are equal at once, because what holds may be that they are.

use std::collections::BTreeMap;

use super::{Search, float, kind};
use crate::choice::{ChoiceNode, Domain};

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    // The first of each, and how many there are; in the order of their values.
    let mut all: BTreeMap<(u8, i64), (ChoiceNode, u32)> = BTreeMap::new();
    for node in search.best.nodes.iter().filter(|node| is_number(node)) {
        let key = (kind(node), node.value.cast_signed());
        all.entry(key).or_insert((*node, 0)).1 += 1;
    }
    for (node, count) in all.into_values() {
        // They may be gone since.
        let is_there = |other: &&ChoiceNode| is_same(&node, other);
        if count < 2 || search.is_spent() || search.best.nodes.iter().filter(is_there).count() < 2 {
            continue;
        }
        match node.draw.domain {
            Domain::Float { .. } => floats(search, node)?,
            _ => ints(search, node)?,
        }
    }
    Ok(())
}

fn is_number(node: &ChoiceNode) -> bool {
    matches!(node.draw.domain, Domain::Int { .. } | Domain::Float { .. })
}

fn is_same(node: &ChoiceNode, other: &ChoiceNode) -> bool {
    kind(node) == kind(other) && node.value == other.value
}

/// Floats in the place of all that are the same as `node`.
fn floats<E>(search: &mut Search<'_, E>, mut node: ChoiceNode) -> Result<(), E> {
    let (value, domain) = (f64::from_bits(node.value), node.draw.domain);
    let attempt = &mut |by: f64| {
        let helps = replace(search, node, by.to_bits())?;
        if helps {
            node.value = by.to_bits();
        }
        Ok(helps)
    };
    float::simplify(value, domain, attempt)
}

/// Towards nought, as far as a binary search finds possible.
fn ints<E>(search: &mut Search<'_, E>, node: ChoiceNode) -> Result<(), E> {
    let value = node.value.cast_signed();
    let mut to = |from: i64, to: i64| {
        let value = from.cast_unsigned();
        replace(search, ChoiceNode { value, ..node }, to.cast_unsigned())
    };
    if value == 0 || to(value, 0)? {
        return Ok(());
    }
    if value < 0 && value != i64::MIN && to(value, -value)? {
        let value = (-value).cast_unsigned();
        return ints(search, ChoiceNode { value, ..node });
    }
    // Holds at `good`; at `bad` it did not.
    let (mut good, mut bad) = (i128::from(value), 0i128);
    while bad.abs_diff(good) > 1 {
        let middle = bad + (good - bad) / 2;
        if to(good as i64, middle as i64)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(())
}

/// Tries another value wherever there is the same as `node`; integers as near as each domain has it.
fn replace<E>(search: &mut Search<'_, E>, node: ChoiceNode, by: u64) -> Result<bool, E> {
    search.attempt(|candidate| {
        for other in candidate.nodes.iter_mut() {
            if is_same(&node, other) {
                other.value = match other.draw.domain {
                    Domain::Int { lo, hi } => by.cast_signed().clamp(lo, hi).cast_unsigned(),
                    _ => by,
                };
            }
        }
        true
    })
}
