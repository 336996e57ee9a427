//! Deletes whole spans, the longest first: an element of a list, a subtree.

use super::Search;

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let mut nth = 0;
    let mut spans = by_length(search);
    while let Some(&(first, end)) = spans.get(nth) {
        // What was deleted is gone: the next one has its place.
        if search.without(first, end)? {
            spans = by_length(search);
        } else {
            nth += 1;
        }
        if search.is_spent() {
            return Ok(());
        }
    }
    Ok(())
}

/// Of the same length, the last first: nothing behind it depends on it.
fn by_length<E>(search: &Search<'_, E>) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = (search.best.spans.iter())
        .map(|span| (span.first as usize, span.end as usize))
        .filter(|(first, end)| first < end)
        .collect();
    spans.sort_by_key(|&(first, end)| std::cmp::Reverse((end - first, first)));
    spans.dedup();
    spans
}
