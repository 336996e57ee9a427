//! Two numbers near each other, which what holds may depend on together.

use super::Search;
use crate::choice::Domain;

/// How many draws may lie between the two.
const GAP_MAX: usize = 4;

/// A number among the draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    at: usize,
    /// Its value.
    pub(super) value: i128,
    /// How far it is above the simplest of its domain.
    pub(super) distance: i128,
}

/// Does something with each two numbers, the first one not yet the simplest.
pub(super) fn each<E>(
    search: &mut Search<'_, E>,
    mut edit: impl FnMut(&mut Search<'_, E>, Number, Number) -> Result<(), E>,
) -> Result<(), E> {
    for at in 0..search.len() {
        for gap in 1..=GAP_MAX {
            if search.is_spent() {
                return Ok(());
            }
            let two = (number(search, at), number(search, at + gap));
            if let (Some(first), Some(second)) = two
                && first.distance != 0
            {
                edit(search, first, second)?;
            }
        }
    }
    Ok(())
}

fn number<E>(search: &Search<'_, E>, at: usize) -> Option<Number> {
    let node = search.best.nodes.get(at)?;
    let Domain::Int { .. } = node.draw.domain else {
        return None;
    };
    let value = i128::from(node.value.cast_signed());
    let simplest = node.draw.domain.simplest().cast_signed();
    Some(Number {
        at,
        value,
        distance: value - i128::from(simplest),
    })
}

/// Tries other values for some numbers.
pub(super) fn set<E>(search: &mut Search<'_, E>, to: [(Number, i128); 2]) -> Result<bool, E> {
    let mut items = search.items();
    for (number, value) in to {
        // Fewer draws may be left since the last attempt.
        let Some((node, _)) = items.get_mut(number.at) else {
            return Ok(false);
        };
        let Ok(value) = i64::try_from(value) else {
            return Ok(false);
        };
        node.value = value.cast_unsigned();
        if !node.draw.domain.has(node.value) {
            return Ok(false);
        }
    }
    search.attempt(&items)
}
