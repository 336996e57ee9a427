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

/// Moves both towards the first one's simplest value, as far as a binary search finds possible.
fn shift<E>(search: &mut Search<'_, E>, first: usize, second: usize) -> Result<(), E> {
    let int = |search: &Search<'_, E>, at: usize| match search.best.nodes.get(at) {
        Some(node) if matches!(node.draw.domain, Domain::Int { .. }) => {
            Some(i128::from(node.value.cast_signed()))
        }
        _ => None,
    };
    let (Some(a), Some(b)) = (int(search, first), int(search, second)) else {
        return Ok(());
    };
    let simplest = search.best.nodes[first].draw.domain.simplest();
    let distance = a - i128::from(simplest.cast_signed());
    // By `good` it holds; by `bad` it did not.
    let (mut good, mut bad) = (0, distance);
    if distance == 0 || moved(search, (first, a), (second, b), distance)? {
        return Ok(());
    }
    while bad.abs_diff(good) > 1 && !search.is_spent() {
        let by = good + (bad - good) / 2;
        if moved(search, (first, a), (second, b), by)? {
            good = by;
        } else {
            bad = by;
        }
    }
    Ok(())
}

/// Tries both numbers less by `by`; each is given with its place.
fn moved<E>(
    search: &mut Search<'_, E>,
    first: (usize, i128),
    second: (usize, i128),
    by: i128,
) -> Result<bool, E> {
    let mut items = search.items();
    for (at, value) in [first, second] {
        // Fewer draws may be left since the last attempt.
        let Some((node, _)) = items.get_mut(at) else {
            return Ok(false);
        };
        let Ok(value) = i64::try_from(value - by) else {
            return Ok(false);
        };
        node.value = value.cast_unsigned();
        if !node.draw.domain.has(node.value) {
            return Ok(false);
        }
    }
    search.attempt(&items)
}
