//! Makes single values simpler: the simplest at once, else as near to it as a binary search finds, and
//! a few steps beyond: what holds for a number need not hold for all greater ones.

use super::{Item, Search};
use crate::choice::Domain;

/// Numbers next to the simplest that are tried one by one.
const NEAR: i128 = 4;

/// Numbers next to what the search found that are tried one by one.
const STEPS: i128 = 4;

/// How finely a fraction is searched: its value by two to this.
const FINE: f64 = 1_048_576.0;

/// From here on, floats are whole and a search halves their exponents.
const HUGE: f64 = 9_007_199_254_740_992.0;

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let mut at = 0;
    while at < search.len() && !search.is_spent() {
        match search.best.nodes[at].draw.domain {
            Domain::Bytes { min, .. } => bytes(search, at, min as usize)?,
            Domain::Int { .. } => int(search, at)?,
            Domain::Float { .. } => float(search, at)?,
            Domain::Bool { .. } => {
                let simplest = search.best.nodes[at].draw.domain.simplest();
                with(search, at, |(node, _)| node.value = simplest)?;
            }
        }
        at += 1;
    }
    Ok(())
}

/// Tries an edit of one draw.
fn with<E>(search: &mut Search<'_, E>, at: usize, edit: impl FnOnce(&mut Item)) -> Result<bool, E> {
    if at >= search.len() {
        return Ok(false);
    }
    let mut items = search.items();
    let domain = items[at].0.draw.domain;
    edit(&mut items[at]);
    if !domain.has(items[at].0.value) {
        return Ok(false);
    }
    search.attempt(&items)
}

fn int<E>(search: &mut Search<'_, E>, at: usize) -> Result<(), E> {
    let node = search.best.nodes[at];
    let simplest = i128::from(node.draw.domain.simplest().cast_signed());
    let set = |value: i128| move |item: &mut Item| item.0.value = (value as i64).cast_unsigned();
    let value = i128::from(node.value.cast_signed());
    if value == simplest || with(search, at, set(simplest))? {
        return Ok(());
    }
    for distance in 1..=NEAR.min((value - simplest).abs()) {
        for near in [simplest + distance, simplest - distance] {
            if with(search, at, set(near))? {
                return Ok(());
            }
        }
    }
    // The other side of nought is simpler if it is positive.
    if value < simplest && with(search, at, set(2 * simplest - value))? {
        return int(search, at);
    }
    // Holds at `good`; at `bad` it did not.
    let (mut bad, mut good) = (simplest, value);
    while good.abs_diff(bad) > 1 && !search.is_spent() {
        let middle = bad + (good - bad) / 2;
        if with(search, at, set(middle))? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    let towards = (simplest - good).signum();
    for step in 2..=STEPS.min((simplest - good).abs()) {
        if with(search, at, set(good + towards * step))? {
            return int(search, at);
        }
    }
    Ok(())
}

/// To a whole number if there is one, and as near to the simplest as a binary search finds; of a
/// fraction, within two [`grain`]s of it.
///
/// Halves, whole parts and multiples of powers of two: nothing here is rounded.
pub(super) fn float<E>(search: &mut Search<'_, E>, at: usize) -> Result<(), E> {
    let node = search.best.nodes[at];
    let simplest = f64::from_bits(node.draw.domain.simplest());
    let value = f64::from_bits(node.value);
    let set = |value: f64| move |item: &mut Item| item.0.value = value.to_bits();
    if value == simplest || with(search, at, set(simplest))? {
        return Ok(());
    }
    if value < 0.0 && with(search, at, set(-value))? {
        return float(search, at);
    }
    if value.fract() != 0.0 {
        for whole in [value.trunc(), value.trunc() + value.signum()] {
            if with(search, at, set(whole))? {
                return float(search, at);
            }
        }
    }
    // Holds at `good`; at `bad` it did not.
    let (mut bad, mut good) = (simplest, value);
    let grain = if value.fract() == 0.0 {
        1.0
    } else {
        grain(value)
    };
    while !search.is_spent() {
        let middle = if good.abs() > HUGE && good.signum() == bad.signum() {
            f64::from_bits(u64::midpoint(good.to_bits(), bad.to_bits()))
        } else {
            bad + ((good / 2.0 - bad / 2.0) / grain).trunc() * grain
        };
        if middle == bad || middle == good {
            break;
        }
        if with(search, at, set(middle))? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(())
}

/// The steps in which a fraction of this size is searched: a power of two.
pub(super) fn grain(value: f64) -> f64 {
    // Without the bits behind the leading one. Next to nought that would be none, and a step that leads nowhere.
    (f64::from_bits(value.abs().to_bits() >> 52 << 52) / FINE).max(f64::MIN_POSITIVE)
}

fn bytes<E>(search: &mut Search<'_, E>, at: usize, min: usize) -> Result<(), E> {
    let len = |search: &Search<'_, E>| match search.best.nodes.get(at) {
        Some(node) if matches!(node.draw.domain, Domain::Bytes { .. }) => node.value as usize,
        _ => 0,
    };
    let keep = |search: &mut Search<'_, E>, from: usize, to: usize| {
        with(search, at, |(node, bytes)| {
            bytes.drain(from..to);
            node.value = bytes.len() as u64;
        })
    };
    let mut cut = len(search).saturating_sub(min);
    while cut > 0 && !search.is_spent() {
        let mut end = len(search);
        while end >= cut && len(search) >= min + cut {
            keep(search, end - cut, end)?;
            end = (end - 1).min(len(search));
        }
        cut = (cut / 2).min(len(search).saturating_sub(min));
    }
    for nth in 0..len(search) {
        let byte = move |search: &Search<'_, E>| {
            let (_, bytes) = search.best.iter().nth(at)?;
            bytes.get(nth).copied()
        };
        let (mut low, Some(mut high)) = (0u8, byte(search)) else {
            break;
        };
        // The least byte that holds, if all greater ones do.
        while low < high && !search.is_spent() {
            let middle = low + (high - low) / 2;
            if with(search, at, |(_, bytes)| bytes[nth] = middle)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
    }
    Ok(())
}
