//! Lowers a number and deletes a draw behind it: a list whose length was drawn first.
//!
//! Elements of up to four draws, and only behind small numbers, which is what lengths are.

use super::Search;
use crate::choice::Domain;

const COUNT_MAX: i64 = 64;
const LENGTHS: [usize; 4] = [1, 2, 3, 4];

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let mut at = 0;
    while at < search.len() {
        let mut has_helped = false;
        for len in LENGTHS {
            let mut end = search.len();
            while end >= at + 1 + len && !search.is_spent() {
                has_helped |= shorten(search, at, end - len, end)?;
                end = (end - 1).min(search.len());
            }
        }
        at += usize::from(!has_helped);
        if search.is_spent() {
            break;
        }
    }
    Ok(())
}

/// One less at `at`, and without `from..to`.
fn shorten<E>(search: &mut Search<'_, E>, at: usize, from: usize, to: usize) -> Result<bool, E> {
    let node = &search.best.nodes[at];
    let value = node.value.cast_signed();
    let is_count = match node.draw.domain {
        Domain::Int { lo, .. } => value > lo && value - lo.max(0) <= COUNT_MAX && value > 0,
        _ => false,
    };
    if !is_count {
        return Ok(false);
    }
    let mut items = search.items();
    items[at].0.value = (value - 1).cast_unsigned();
    items.drain(from..to);
    search.attempt(&items)
}
