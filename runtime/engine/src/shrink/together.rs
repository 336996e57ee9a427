//! Lowers two numbers by as much at once, because what holds may be the difference between them.

use super::Search;
use crate::choice::Domain;

/// How many draws may lie between the two.
const GAP_MAX: usize = 4;

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    for at in 0..search.len() {
        for gap in 1..=GAP_MAX {
            if search.is_spent() {
                return Ok(());
            }
            shift(search, at, at + gap)?;
        }
    }
    Ok(())
}

/// Makes the first number the simplest, and moves the second one along.
fn shift<E>(search: &mut Search<'_, E>, first: usize, second: usize) -> Result<bool, E> {
    if second >= search.len() {
        return Ok(false);
    }
    let mut items = search.items();
    let is_int = |at: usize| matches!(search.best.nodes[at].draw.domain, Domain::Int { .. });
    if !is_int(first) || !is_int(second) {
        return Ok(false);
    }
    let value = |at: usize| search.best.nodes[at].value.cast_signed();
    let simplest = search.best.nodes[first].draw.domain.simplest();
    let by = value(first).wrapping_sub(simplest.cast_signed());
    let Some(moved) = value(second).checked_sub(by) else {
        return Ok(false);
    };
    items[first].0.value = simplest;
    items[second].0.value = moved.cast_unsigned();
    if !items[second].0.draw.domain.has(items[second].0.value) {
        return Ok(false);
    }
    search.attempt(&items)
}
