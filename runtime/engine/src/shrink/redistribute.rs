//! Moves what a number has to one behind it, because what holds may be their sum.

use super::Search;
use super::pairs::{Number, each, set};

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    each(search, transfer)?;
    each(search, transfer_fraction)
}

/// All whole steps that the first has beyond the simplest, or half of them, or a quarter.
fn transfer<E>(search: &mut Search<'_, E>, first: Number, second: Number) -> Result<(), E> {
    let mut part = first.distance;
    while part != 0 {
        let to = [
            (first, first.plus(-part)),
            (second, second.plus_within(part)),
        ];
        if set(search, to)? {
            return Ok(());
        }
        part /= 2;
    }
    Ok(())
}

/// What the first has behind the point, or lacks there.
fn transfer_fraction<E>(
    search: &mut Search<'_, E>,
    first: Number,
    second: Number,
) -> Result<(), E> {
    for part in first.to_whole() {
        let to = [
            (first, first.plus_fraction(-part)),
            (second, second.plus_fraction(part)),
        ];
        if set(search, to)? {
            return Ok(());
        }
    }
    Ok(())
}
