//! Moves what a number has to one behind it, because what holds may be their sum.

use super::Search;
use super::pairs::{Number, each, set};

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    each(search, transfer)
}

/// All that the first has beyond the simplest, or half of it, or a quarter.
fn transfer<E>(search: &mut Search<'_, E>, first: Number, second: Number) -> Result<(), E> {
    let mut part = first.distance;
    while part != 0 {
        let to = [(first, first.value - part), (second, second.value + part)];
        if set(search, to)? {
            return Ok(());
        }
        part /= 2;
    }
    Ok(())
}
