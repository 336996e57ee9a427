//! Replaces a span by one of the same label inside it: a tree by its subtree.

use super::{Search, cut};

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let mut outer = 0;
    while outer < search.best.spans.len() && !search.is_spent() {
        if !lift(search, outer)? {
            outer += 1;
        }
    }
    Ok(())
}

/// Tries the descendants of a span in its place, the smallest first: less is left to do then.
fn lift<E>(search: &mut Search<'_, E>, outer: usize) -> Result<bool, E> {
    let span = search.best.spans[outer];
    let mut inner: Vec<(usize, usize)> = (search.best.spans[outer + 1..].iter())
        .take_while(|inner| inner.depth > span.depth)
        .filter(|inner| inner.label == span.label)
        .filter(|inner| inner.first >= span.first && inner.end <= span.end)
        .filter(|inner| inner.end - inner.first < span.end - span.first)
        .map(|inner| (inner.first as usize, inner.end as usize))
        .collect();
    inner.sort_by_key(|&(first, end)| (end - first, first));
    inner.dedup();
    for (first, end) in inner {
        if search.attempt(|candidate| {
            cut(candidate, end, span.end as usize);
            cut(candidate, span.first as usize, first);
            true
        })? {
            return Ok(true);
        }
    }
    Ok(false)
}
