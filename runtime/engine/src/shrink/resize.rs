//! Lowers a number and deletes draws behind it: a list whose length was drawn first.
//!
//! Elements are spans, or up to four draws. A whole number may be a count if it is no greater than
//! the number of draws behind it. A fraction may be what a count came from (JQF's geometric sizes): a
//! binary search finds where the count changes, and a small step crosses that.

use super::cuts::Cuts;
use super::{Search, Verdict, cut, float, lower};
use crate::choice::{ChoiceSequence, Domain};

const LENGTHS: [usize; 4] = [1, 2, 3, 4];

/// How far beyond what the search found a fraction is lowered, in its grains: that is within two.
const STEP: f64 = 4.0;

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    let mut at = 0;
    while at < search.len() && !search.is_spent() {
        let mut number = Number {
            at,
            below: below(search, at)?,
        };
        let mut has_helped = false;
        // Most draws are neither, and there is much behind them.
        if number.below.is_some() || count(search, at).is_some() {
            has_helped = spans(search, &mut number)?;
            for len in LENGTHS {
                has_helped |= runs(search, &mut number, len)?;
            }
        }
        at += usize::from(!has_helped);
    }
    Ok(())
}

/// What may say how many elements there are.
struct Number {
    at: usize,
    /// What it is lowered to, if it is a fraction.
    below: Option<u64>,
}

/// Deletes spans behind the number, from the back.
fn spans<E>(search: &mut Search<'_, E>, number: &mut Number) -> Result<bool, E> {
    let mut has_helped = false;
    let mut nth = search.best.spans.len();
    while nth > 0 && !search.is_spent() {
        nth = (nth - 1).min(search.best.spans.len());
        let Some(span) = search.best.spans.get(nth) else {
            continue;
        };
        let (first, end) = (span.first as usize, span.end as usize);
        // Short ones are runs.
        if first > number.at && end - first > LENGTHS[LENGTHS.len() - 1] {
            has_helped |= shorten(search, number, 1, first, end)?;
        }
    }
    Ok(has_helped)
}

/// Deletes elements of `len` draws behind the number, from the back; many at once first.
fn runs<E>(search: &mut Search<'_, E>, number: &mut Number, len: usize) -> Result<bool, E> {
    let mut has_helped = false;
    let mut elements = count(search, number.at).map_or(1, |count| count / 2).max(1);
    loop {
        let run = elements * len;
        let step = if elements == 1 { 1 } else { run };
        let mut end = search.len();
        let mut cuts = Cuts::default();
        while end > number.at + run && !search.is_spent() {
            let is_new = cuts.is_new(end - run, end, |at, other| search.is_same(at, other));
            if is_new && shorten(search, number, elements, end - run, end)? {
                has_helped = true;
                cuts.clear();
            }
            end = end.saturating_sub(step).min(search.len());
        }
        if elements == 1 || search.is_spent() {
            return Ok(has_helped);
        }
        elements /= 2;
    }
}

/// How much the number at `at` can be lowered, if it may be a count.
fn count<E>(search: &Search<'_, E>, at: usize) -> Option<usize> {
    let node = search.best.nodes.get(at)?;
    let (value, lo) = match node.draw.domain {
        Domain::Int { lo, .. } => (node.value.cast_signed(), lo),
        Domain::Float { lo, .. } => (whole(node.value)?, f64::from_bits(lo).ceil() as i64),
        _ => return None,
    };
    let count = usize::try_from(value.checked_sub(lo.max(0))?).ok()?;
    (1..search.len() - at).contains(&count).then_some(count)
}

/// A float that is a whole number.
fn whole(value: u64) -> Option<i64> {
    let value = f64::from_bits(value);
    (value.fract() == 0.0 && value.abs() < float::HUGE).then_some(value as i64)
}

/// For a fraction with draws behind it, a value next to the nearest to nought for which it holds: that is
/// found by tests, of values that need not be simpler.
fn below<E>(search: &mut Search<'_, E>, at: usize) -> Result<Option<u64>, E> {
    // As simple as it can be, first: most fractions are not such a size, and go to nought.
    lower::float(search, at)?;
    let Some(node) = search.best.nodes.get(at).copied() else {
        return Ok(None);
    };
    let Domain::Float { .. } = node.draw.domain else {
        return Ok(None);
    };
    let value = f64::from_bits(node.value);
    let is_last = at + 1 == search.len();
    if is_last || value.fract() == 0.0 || node.value == node.draw.domain.simplest() {
        return Ok(None);
    }
    let grain = float::grain(value);
    let attempt = &mut |value: f64| {
        let edit = |candidate: &mut ChoiceSequence| {
            candidate.nodes[at].value = value.to_bits();
            true
        };
        Ok(search.probe(edit)? != Verdict::Fails)
    };
    let edge = float::bisect(float::bound(node.draw.domain, grain), value, grain, attempt)?;
    Ok(Some((edge - edge.signum() * STEP * grain).to_bits()))
}

/// With so many elements less at the number, and without `from..to`.
fn shorten<E>(
    search: &mut Search<'_, E>,
    number: &mut Number,
    elements: usize,
    from: usize,
    to: usize,
) -> Result<bool, E> {
    let at = number.at;
    let node = search.best.nodes[at];
    let value = if let Some(below) = number.below {
        below
    } else if count(search, at).is_none_or(|count| elements > count) {
        return Ok(false);
    } else if let Some(value) = whole(node.value).filter(|_| is_float(node.draw.domain)) {
        ((value - elements as i64) as f64).to_bits()
    } else {
        node.value - elements as u64
    };
    if !node.draw.domain.has(value) {
        return Ok(false);
    }
    let has_helped = search.attempt(|candidate| {
        candidate.nodes[at].value = value;
        cut(candidate, from, to);
        true
    })?;
    if has_helped {
        // Fewer digits, and to where the count changes next.
        number.below = below(search, at)?;
    }
    Ok(has_helped)
}

fn is_float(domain: Domain) -> bool {
    matches!(domain, Domain::Float { .. })
}
