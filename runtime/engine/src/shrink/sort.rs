//! Exchanges neighbours: spans of one label side by side, and numbers of one domain side by side.
//!
//! What is simpler comes first then, as often as that still holds.

use super::{Search, complexity};
use crate::choice::Domain;

/// How far apart two exchanged numbers may be: beyond a coin or a tag between the elements of a list.
const GAP_MAX: usize = 2;

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let mut nth = 0;
    while nth < search.best.spans.len() && !search.is_spent() {
        match exchange_spans(search, nth)? {
            // What came to the front may go further.
            true => nth = 0,
            false => nth += 1,
        }
    }
    for gap in 1..=GAP_MAX {
        let mut at = 0;
        while at + gap < search.len() && !search.is_spent() {
            match exchange_numbers(search, at, at + gap)? {
                true => at = at.saturating_sub(gap),
                false => at += 1,
            }
        }
    }
    Ok(())
}

/// The span, and the next one of its label that begins where it ends.
fn exchange_spans<E>(search: &mut Search<'_, E>, nth: usize) -> Result<bool, E> {
    let span = search.best.spans[nth];
    let next = (search.best.spans[nth + 1..].iter())
        .take_while(|next| next.first <= span.end)
        .find(|next| {
            next.depth == span.depth && next.first == span.end && next.label == span.label
        });
    let Some(next) = next.copied() else {
        return Ok(false);
    };
    let (first, middle, end) = (span.first as usize, span.end as usize, next.end as usize);
    let draws = |from: usize, to: usize| {
        (from..to).map(|at| (complexity(&search.best.nodes[at]), search.bytes(at)))
    };
    // Before a copy is made: most neighbours are in order.
    let exchanged = draws(middle, end).chain(draws(first, middle));
    if !exchanged.lt(draws(first, end)) {
        return Ok(false);
    }
    let [from, between, to] = [first, middle, end].map(|at| search.payload_at[at]);
    search.attempt(|candidate| {
        candidate.nodes[first..end].rotate_left(middle - first);
        candidate.payload[from..to].rotate_left(between - from);
        true
    })
}

fn exchange_numbers<E>(search: &mut Search<'_, E>, at: usize, other: usize) -> Result<bool, E> {
    let (one, two) = (search.best.nodes[at], search.best.nodes[other]);
    let is_int = matches!(one.draw.domain, Domain::Int { .. });
    if !is_int || two.draw.domain != one.draw.domain || complexity(&two) >= complexity(&one) {
        return Ok(false);
    }
    search.attempt(|candidate| {
        candidate.nodes[at].value = two.value;
        candidate.nodes[other].value = one.value;
        true
    })
}
