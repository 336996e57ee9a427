//! Moves two numbers by as much at once, because what holds may be the difference between them.

use super::Search;
use super::pairs::{Number, each, set};

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    each(search, shift)?;
    each(search, shift_fraction)
}

/// By whole steps towards the first one's simplest value, as far as a binary search finds possible.
fn shift<E>(search: &mut Search<'_, E>, first: Number, second: Number) -> Result<(), E> {
    let mut by = |amount: i128| {
        set(
            search,
            [(first, first.plus(-amount)), (second, second.plus(-amount))],
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

/// To where the first has nothing behind the point.
fn shift_fraction<E>(search: &mut Search<'_, E>, first: Number, second: Number) -> Result<(), E> {
    for by in first.to_whole() {
        let to = [
            (first, first.plus_fraction(-by)),
            (second, second.plus_fraction(-by)),
        ];
        if set(search, to)? {
            return Ok(());
        }
    }
    Ok(())
}
