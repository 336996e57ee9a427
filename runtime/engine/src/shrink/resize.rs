//! Lowers a number and deletes draws behind it: a list whose length was drawn first.
//!
//! Elements are spans, or up to four draws. A whole number may be a count if it is no greater than
//! the number of draws behind it. A fraction may be what a count came from (JQF's geometric sizes):
//! `lower` has left it next to the point where the count changes, so a small step crosses that.

use super::{Search, lower};
use crate::choice::Domain;

const LENGTHS: [usize; 4] = [1, 2, 3, 4];

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let mut at = 0;
    while at < search.len() && !search.is_spent() {
        let mut has_helped = spans(search, at)?;
        for len in LENGTHS {
            has_helped |= runs(search, at, len)?;
        }
        at += usize::from(!has_helped);
    }
    Ok(())
}

/// Deletes spans behind `at`, from the back.
fn spans<E>(search: &mut Search<'_, E>, at: usize) -> Result<bool, E> {
    let mut has_helped = false;
    let mut nth = search.best.spans.len();
    while nth > 0 && !search.is_spent() {
        nth = (nth - 1).min(search.best.spans.len());
        let Some(span) = search.best.spans.get(nth) else {
            continue;
        };
        let (first, end) = (span.first as usize, span.end as usize);
        // Short ones are runs.
        if first > at && end - first > LENGTHS[LENGTHS.len() - 1] {
            has_helped |= shorten(search, at, 1, first, end)?;
        }
    }
    Ok(has_helped)
}

/// Deletes elements of `len` draws behind `at`, from the back; many at once first.
fn runs<E>(search: &mut Search<'_, E>, at: usize, len: usize) -> Result<bool, E> {
    let mut has_helped = false;
    let mut elements = count(search, at).map_or(1, |count| count / 2).max(1);
    loop {
        let run = elements * len;
        let step = if elements == 1 { 1 } else { run };
        let mut end = search.len();
        while end > at + run && !search.is_spent() {
            has_helped |= shorten(search, at, elements, end - run, end)?;
            end = end.saturating_sub(step).min(search.len());
        }
        if elements == 1 || search.is_spent() {
            return Ok(has_helped);
        }
        elements /= 2;
    }
}

/// How much the number at `at` can be lowered, if it may be a count.
fn count<E>(search: &Search<'_, E>, at: usize) -> Option<usize> {
    let node = search.best.nodes.get(at)?;
    let Domain::Int { lo, .. } = node.draw.domain else {
        return None;
    };
    let count = node.value.cast_signed().checked_sub(lo.max(0))?;
    let count = usize::try_from(count).ok()?;
    (1..search.len() - at).contains(&count).then_some(count)
}

/// With so many elements less at `at`, and without `from..to`.
fn shorten<E>(
    search: &mut Search<'_, E>,
    at: usize,
    elements: usize,
    from: usize,
    to: usize,
) -> Result<bool, E> {
    let node = search.best.nodes[at];
    let is_float = matches!(node.draw.domain, Domain::Float { .. });
    let value = if is_float {
        let value = f64::from_bits(node.value);
        (value - 4.0 * lower::grain(value)).to_bits()
    } else if count(search, at).is_some_and(|count| elements <= count) {
        node.value - elements as u64
    } else {
        return Ok(false);
    };
    if !node.draw.domain.has(value) {
        return Ok(false);
    }
    let mut items = search.items();
    items[at].0.value = value;
    items.drain(from..to);
    let has_helped = search.attempt(&items)?;
    if has_helped && is_float {
        // To where the count changes next.
        lower::float(search, at)?;
    }
    Ok(has_helped)
}
