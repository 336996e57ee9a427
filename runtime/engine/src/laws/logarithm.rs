//! Logarithms of ratios in integers, so that they are the same on every machine.

/// Bits of the fraction that are computed.
const FRACTION_BITS: u32 = 20;

/// `1000 × log2(numerator / denominator)`, rounded to the nearest; neither is 0.
pub(super) fn log2_milli(numerator: u128, denominator: u128) -> i32 {
    let scaled = log2_scaled(numerator, denominator) * 1000;
    ((scaled + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS) as i32
}

/// The same in units of 2^-20, rounded down.
pub(super) fn log2_scaled(numerator: u128, denominator: u128) -> i64 {
    assert!(numerator > 0 && denominator > 0, "a ratio of counts");
    // Both with their highest bit at 63: the rest is beyond what is computed.
    let high = |value: u128| ((value << value.leading_zeros()) >> 64) as u64;
    let whole = i64::from(denominator.leading_zeros()) - i64::from(numerator.leading_zeros());
    let ratio = (u128::from(high(numerator)) << 63) / u128::from(high(denominator));
    // In units of 2^-63, and from here on in [1, 2).
    let (mut ratio, mut scaled) = if ratio < 1 << 63 {
        (ratio << 1, whole - 1)
    } else {
        (ratio, whole)
    };
    for _ in 0..FRACTION_BITS {
        // Squaring doubles the logarithm; its next bit comes out in front.
        ratio = (ratio * ratio) >> 63;
        scaled <<= 1;
        if ratio >= 1 << 64 {
            ratio >>= 1;
            scaled |= 1;
        }
    }
    scaled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_logarithm() {
        for (numerator, denominator, milli) in [
            (1, 1, 0),
            (2, 1, 1000),
            (1, 2, -1000),
            (3, 1, 1585),
            (1, 3, -1585),
            (3, 2, 585),
            (1 << 100, 1 << 30, 70_000),
            (u128::MAX, 1, 128_000),
            (1_000_001, 1_000_000, 0),
        ] {
            assert_eq!(
                log2_milli(numerator, denominator),
                milli,
                "{numerator}/{denominator}"
            );
        }
        for numerator in 1..200u32 {
            for denominator in 1..200u32 {
                let exact = (f64::from(numerator) / f64::from(denominator)).log2() * 1000.0;
                let ours = log2_milli(numerator.into(), denominator.into());
                assert!((f64::from(ours) - exact).abs() < 0.51);
            }
        }
    }
}
