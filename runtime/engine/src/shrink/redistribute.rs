//! Moves what a number has to one behind it, because what holds may be their sum.

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
            transfer(search, at, at + gap)?;
        }
    }
    Ok(())
}

/// As much of the first number's distance from the simplest as a binary search finds possible.
fn transfer<E>(search: &mut Search<'_, E>, first: usize, second: usize) -> Result<(), E> {
    let int = |search: &Search<'_, E>, at: usize| match search.best.nodes.get(at) {
        Some(node) if matches!(node.draw.domain, Domain::Int { .. }) => {
            Some(i128::from(node.value.cast_signed()))
        }
        _ => None,
    };
    let (Some(from), Some(to)) = (int(search, first), int(search, second)) else {
        return Ok(());
    };
    let simplest = search.best.nodes[first].draw.domain.simplest();
    let distance = from - i128::from(simplest.cast_signed());
    let mut part = distance;
    while part != 0 && !search.is_spent() {
        let moved = |value: i128| i64::try_from(value).ok().map(i64::cast_unsigned);
        if let (Some(less), Some(more)) = (moved(from - part), moved(to + part)) {
            let mut items = search.items();
            items[first].0.value = less;
            items[second].0.value = more;
            let fits = |at: usize| items[at].0.draw.domain.has(items[at].0.value);
            if fits(first) && fits(second) && search.attempt(&items)? {
                return Ok(());
            }
        }
        part /= 2;
    }
    Ok(())
}
