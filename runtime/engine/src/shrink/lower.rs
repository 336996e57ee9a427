//! Makes single values simpler: the simplest at once, else as near to it as a binary search finds, and
//! a few steps beyond: what holds for a number need not hold for all greater ones.

use super::cuts::Cuts;
use super::{Search, float};
use crate::choice::{ChoiceNode, Domain};

/// Numbers next to the simplest that are tried one by one.
const NEAR: i128 = 4;

/// Numbers next to what the search found that are tried one by one.
const STEPS: i128 = 4;

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let mut at = 0;
    while at < search.len() && !search.is_spent() {
        match search.best.nodes[at].draw.domain {
            Domain::Bytes { min, .. } => bytes(search, at, min as usize)?,
            Domain::Int { .. } => int(search, at)?,
            Domain::Float { .. } => float(search, at)?,
            Domain::Bool { .. } => {
                let simplest = search.best.nodes[at].draw.domain.simplest();
                set(search, at, simplest)?;
            }
        }
        at += 1;
    }
    Ok(())
}

/// Tries another value of a draw of no bytes.
fn set<E>(search: &mut Search<'_, E>, at: usize, value: u64) -> Result<bool, E> {
    let may_be = |node: &ChoiceNode| node.value != value && node.draw.domain.has(value);
    if !search.best.nodes.get(at).is_some_and(may_be) {
        return Ok(false);
    }
    search.attempt(|candidate| {
        candidate.nodes[at].value = value;
        true
    })
}

fn int<E>(search: &mut Search<'_, E>, at: usize) -> Result<(), E> {
    let Some(node) = search.best.nodes.get(at).copied() else {
        return Ok(());
    };
    // What helped may have made it another draw.
    let Domain::Int { .. } = node.draw.domain else {
        return Ok(());
    };
    let simplest = i128::from(node.draw.domain.simplest().cast_signed());
    let bits = |value: i128| (value as i64).cast_unsigned();
    let value = i128::from(node.value.cast_signed());
    if value == simplest || set(search, at, bits(simplest))? {
        return Ok(());
    }
    for distance in 1..=NEAR.min((value - simplest).abs()) {
        for near in [simplest + distance, simplest - distance] {
            if set(search, at, bits(near))? {
                return Ok(());
            }
        }
    }
    // The other side of nought is simpler if it is positive.
    if value < simplest && set(search, at, bits(2 * simplest - value))? {
        return int(search, at);
    }
    // Holds at `good`; at `bad` it did not.
    let (mut bad, mut good) = (simplest, value);
    while good.abs_diff(bad) > 1 && !search.is_spent() {
        let middle = bad + (good - bad) / 2;
        if set(search, at, bits(middle))? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    let towards = (simplest - good).signum();
    for step in 2..=STEPS.min((simplest - good).abs()) {
        if set(search, at, bits(good + towards * step))? {
            return int(search, at);
        }
    }
    Ok(())
}

/// The simplest value that [`float::simplify`] finds. Nothing, if the draw is of something else.
pub(super) fn float<E>(search: &mut Search<'_, E>, at: usize) -> Result<(), E> {
    let Some(node) = search.best.nodes.get(at).copied() else {
        return Ok(());
    };
    let Domain::Float { .. } = node.draw.domain else {
        return Ok(());
    };
    let attempt = &mut |value: f64| set(search, at, value.to_bits());
    float::simplify(f64::from_bits(node.value), node.draw.domain, attempt)
}

fn bytes<E>(search: &mut Search<'_, E>, at: usize, min: usize) -> Result<(), E> {
    let mut cut = len(search, at).saturating_sub(min);
    while cut > 0 && !search.is_spent() {
        let mut end = len(search, at);
        let mut cuts = Cuts::default();
        while end >= cut && len(search, at) >= min + cut && !search.is_spent() {
            let from = end - cut;
            let bytes = search.bytes(at);
            let is_new = cuts.is_new(from, end, |one, other| bytes[one] == bytes[other]);
            if is_new && shorten(search, at, from, end)? {
                cuts.clear();
            }
            end = (end - 1).min(len(search, at));
        }
        cut = (cut / 2).min(len(search, at).saturating_sub(min));
    }
    let mut nth = 0;
    while nth < len(search, at) && !search.is_spent() {
        let (mut low, mut high) = (0u8, search.bytes(at)[nth]);
        // The least byte that holds, if all greater ones do.
        while low < high && !search.is_spent() {
            let middle = low + (high - low) / 2;
            if replace(search, at, nth, middle)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        nth += 1;
    }
    Ok(())
}

/// How many bytes a draw drew; none, if it is no draw of bytes any more.
fn len<E>(search: &Search<'_, E>, at: usize) -> usize {
    if at < search.len() {
        search.bytes(at).len()
    } else {
        0
    }
}

/// Without the bytes `from..to` of a draw.
fn shorten<E>(search: &mut Search<'_, E>, at: usize, from: usize, to: usize) -> Result<bool, E> {
    let payload_at = search.payload_at[at];
    search.attempt(|candidate| {
        candidate.payload.drain(payload_at + from..payload_at + to);
        candidate.nodes[at].value -= (to - from) as u64;
        true
    })
}

/// Another byte of a draw, if it has so many.
fn replace<E>(search: &mut Search<'_, E>, at: usize, nth: usize, by: u8) -> Result<bool, E> {
    if nth >= len(search, at) {
        return Ok(false);
    }
    let place = search.payload_at[at] + nth;
    search.attempt(|candidate| {
        candidate.payload[place] = by;
        true
    })
}
