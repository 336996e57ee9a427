//! Makes a float simpler: fewer binary digits after the point, and then nearer to nought.
//!
//! In: a value, the domain, and a closure that tries another value in its place. What the value is
//! part of is not known here. Powers of two, whole parts, and sums of multiples of one power of two
//! that have no more than 53 bits: nothing is rounded, and the same values are tried everywhere.

use crate::choice::Domain;

/// Up to so many digits after the point, and after the first that is not 0, are tried one by one.
const FINE: u32 = 20;

/// From here on, floats are whole and a search halves their exponents.
pub(super) const HUGE: f64 = 9_007_199_254_740_992.0;

/// The most digits that a float can have after the point.
const DIGITS_MAX: u32 = 1074;

/// How many binary digits a finite value has after the point: the least `n` for which `value` times two to
/// `n` is whole. At most [`DIGITS_MAX`].
pub(super) fn digits(value: f64) -> u32 {
    let bits = value.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as u32, bits & ((1 << 52) - 1));
    // The value is `mantissa` by two to `places`.
    let (mantissa, places) = match exponent {
        0 => (fraction, DIGITS_MAX),
        _ => (fraction | 1 << 52, 1075u32.saturating_sub(exponent)),
    };
    match mantissa {
        0 => 0,
        _ => places.saturating_sub(mantissa.trailing_zeros()),
    }
}

/// Two to the power of minus `digits`, which are at most [`DIGITS_MAX`].
fn unit(digits: u32) -> f64 {
    f64::from_bits(match digits {
        ..=1022 => u64::from(1023 - digits) << 52,
        _ => 1 << (DIGITS_MAX - digits),
    })
}

/// The steps in which a fraction of this size is searched: two to the power of minus [`FINE`] of it.
pub(super) fn grain(value: f64) -> f64 {
    // Without the bits behind the leading one. Next to nought that would be none, and a step that leads nowhere.
    let leading = f64::from_bits(value.abs().to_bits() >> 52 << 52);
    (leading * unit(FINE)).max(f64::MIN_POSITIVE)
}

/// Tries simpler values until none of those that it knows helps: the simplest of the domain, the positive
/// one, those with 0, 1, 2, … digits after the point on both sides, and with as many digits as were
/// needed the nearest to nought that a binary search finds.
///
/// `attempt` says whether a value may take the place of the last one that it took. It must refuse
/// what is not simpler, or this does not end.
pub(super) fn simplify<E>(
    mut value: f64,
    domain: Domain,
    attempt: &mut dyn FnMut(f64) -> Result<bool, E>,
) -> Result<(), E> {
    let simplest = f64::from_bits(domain.simplest());
    if value == simplest || attempt(simplest)? {
        return Ok(());
    }
    if value < 0.0 && attempt(-value)? {
        value = -value;
    }
    loop {
        let before = value;
        value = shorter(value, attempt)?;
        value = nearer(value, domain, attempt)?;
        if value == before {
            return Ok(());
        }
    }
}

/// With as few digits after the point as it may have, towards nought if possible.
fn shorter<E>(value: f64, attempt: &mut dyn FnMut(f64) -> Result<bool, E>) -> Result<f64, E> {
    let has = digits(value);
    // Digits before the first that is not 0: a small value needs some behind that.
    let leading = 1023u32.saturating_sub((value.abs().to_bits() >> 52) as u32);
    let fine = leading.max(FINE + 1)..=leading + FINE;
    for digits in (0..=FINE).chain(fine).filter(|digits| *digits < has) {
        let unit = unit(digits);
        let near = (value / unit).trunc() * unit;
        for rounded in [near, near + value.signum() * unit] {
            if attempt(rounded)? {
                return Ok(rounded);
            }
        }
    }
    Ok(value)
}

/// The nearest to nought that a binary search finds, with no more digits after the point.
fn nearer<E>(
    value: f64,
    domain: Domain,
    attempt: &mut dyn FnMut(f64) -> Result<bool, E>,
) -> Result<f64, E> {
    let step = match digits(value) {
        0 => 1.0,
        digits => unit(digits).max(grain(value)),
    };
    bisect(bound(domain, step), value, step, attempt)
}

/// The multiple of `step` next to where the domain is nearest to nought, not beyond that.
pub(super) fn bound(domain: Domain, step: f64) -> f64 {
    let Domain::Float { lo, hi } = domain else {
        return 0.0;
    };
    let (lo, hi) = (f64::from_bits(lo), f64::from_bits(hi));
    let nearest = if lo > 0.0 { lo } else { hi.min(0.0) };
    (nearest / step).trunc() * step
}

/// The nearest to `bad` that a binary search finds, in whole `step`s from there: it is taken to hold for
/// `good`, and not for `bad`.
pub(super) fn bisect<E>(
    mut bad: f64,
    mut good: f64,
    step: f64,
    attempt: &mut dyn FnMut(f64) -> Result<bool, E>,
) -> Result<f64, E> {
    loop {
        // Of one sign, and not below 1: half of those exponents are of fractions.
        let low = if bad.abs() < 1.0 {
            1f64.copysign(good)
        } else {
            bad
        };
        let middle = if good.abs() > HUGE && good.signum() == low.signum() {
            f64::from_bits(u64::midpoint(good.to_bits(), low.to_bits())).trunc()
        } else {
            bad + ((good / 2.0 - bad / 2.0) / step).trunc() * step
        };
        if middle == bad || middle == good {
            return Ok(good);
        }
        if attempt(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn digits_after_the_point_are_counted() {
        for (value, count) in [
            (0.0, 0),
            (-0.0, 0),
            (3.0, 0),
            (1e300, 0),
            (0.5, 1),
            (-6.25, 2),
            (4_503_599_627_370_495.5, 1),
            (0.1, 55),
            (f64::MIN_POSITIVE, 1022),
            (5e-324, 1074),
        ] {
            assert_eq!(digits(value), count, "{value}");
            if count > 0 {
                assert_eq!((value / unit(count)).fract(), 0.0, "{value}");
                assert_ne!((value / unit(count - 1)).fract(), 0.0, "{value}");
            }
        }
    }

    /// The simplest for which `holds`, from `value`; what is tried must come in order.
    fn simplest(lo: f64, hi: f64, value: f64, holds: impl Fn(f64) -> bool) -> f64 {
        let domain = Domain::float(lo, hi);
        let mut best = value;
        let order = |value: f64| (digits(value), value.abs().to_bits(), value < 0.0);
        let mut attempt = |value: f64| -> Result<bool, Infallible> {
            let is_simpler = value.to_bits() == domain.simplest() || order(value) < order(best);
            let takes = domain.has(value.to_bits()) && holds(value) && is_simpler;
            if takes {
                best = value;
            }
            Ok(takes)
        };
        let Ok(()) = simplify(value, domain, &mut attempt);
        best
    }

    #[test]
    fn few_digits_come_first_wherever_it_starts() {
        let unit_interval = [0.300_01, 0.35, 0.499_9, 0.7, 0.999];
        for start in unit_interval {
            assert_eq!(simplest(0.0, 1.0, start, |x| x > 0.3), 0.5, "{start}");
        }
        for start in [0.300_01, 0.9, 123.456, 999.9, 1.0] {
            assert_eq!(simplest(0.0, 1000.0, start, |x| x > 0.3), 1.0, "{start}");
        }
        for start in [-0.300_01, -123.456, -2.0] {
            assert_eq!(simplest(-1000.0, 1000.0, start, |x| x < -0.3), -1.0);
        }
        for start in [0.312_345, 0.376, 0.399] {
            let holds = |x| x > 0.3 && x < 0.4;
            assert_eq!(simplest(0.0, 10.0, start, holds), 0.375, "{start}");
        }
        // Nought is not of these: the simplest is the lower bound, and the next ones are near nought.
        assert_eq!(simplest(0.3, 10.0, 7.7, |x| x > 0.31), 1.0);
        assert_eq!(simplest(-9.5, -3.0, -8.9, |x| x < -4.5), -9.5);
        assert_eq!(simplest(-9.5, -3.0, -8.9, |x| x > -9.5 && x < -4.5), -5.0);
        assert_eq!(simplest(-1e308, 1e307, 1e300, |x| x > 5.0), 6.0);
        // Very small ones have few digits behind the first.
        assert_eq!(simplest(0.0, 1e-300, 1.3e-310, |x| x > 0.0), unit(1023));
    }
}
