//! Moves two numbers by as much at once, because what holds may be the difference between them.

use super::Search;
use super::pairs::{Number, each, set};

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    each(search, shift)
}

/// Towards the first one's simplest value, as far as a binary search finds possible.
fn shift<E>(search: &mut Search<'_, E>, first: Number, second: Number) -> Result<(), E> {
    let mut by = |amount: i128| {
        set(
            search,
            [
                (first, first.value - amount),
                (second, second.value - amount),
            ],
        )
    };
    // By `good` it holds; by `bad` it did not.
    let (mut good, mut bad) = (0, first.distance);
    if by(bad)? {
        return Ok(());
    }
    while bad.abs_diff(good) > 1 {
        let middle = good + (bad - good) / 2;
        if by(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(())
}
