//! Exchanges neighbours: spans of one label side by side, and numbers of one domain side by side.
//!
//! What is simpler comes first then, as often as that still holds.

use super::Search;
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
    let next = search.best.spans[nth + 1..].iter().find(|next| {
        next.depth == span.depth && next.first == span.end && next.label == span.label
    });
    let Some(next) = next else { return Ok(false) };
    let mut items = search.items();
    let both = &mut items[span.first as usize..next.end as usize];
    both.rotate_left((span.end - span.first) as usize);
    search.attempt(&items)
}

fn exchange_numbers<E>(search: &mut Search<'_, E>, at: usize, other: usize) -> Result<bool, E> {
    let mut items = search.items();
    let domain = items[at].0.draw.domain;
    if !matches!(domain, Domain::Int { .. }) || items[other].0.draw.domain != domain {
        return Ok(false);
    }
    let value = items[at].0.value;
    items[at].0.value = std::mem::replace(&mut items[other].0.value, value);
    search.attempt(&items)
}
