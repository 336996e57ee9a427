//! Any float, simple ones first: what [`Site::any`] draws for `f64` and `f32`.
//!
//! Uniform bits are bad numbers to test with: no zero, no whole number and no infinity is among them in practice, and
//! bits that are a smaller number are no simpler float. So what is drawn is a float's *place* in an order of simplicity,
//! which shrinking goes down:
//!
//! ```text
//! 0 1 2 3 …                                      whole numbers below 2^53 (of f32, 2^24)
//! 2^53 2^53 + 2^52 …  2^54 …  …                  greater ones, which are all whole
//! 1.5 1.25 1.75 …  2.5 3.5 2.25 …  …             the rest of [1, 2), of [2, 4), …
//! 0.5 0.75 0.625 0.875 …  0.25 0.375 …  …        [0.5, 1), [0.25, 0.5), … and subnormals
//! infinity, NaN, every other NaN
//! ```
//!
//! Between two powers of two, floats follow each other by the bits of their fraction in reverse: the fewer it needs, the
//! sooner it comes. That is from Hypothesis (`internal/conjecture/floats.py`). Departures: each bit pattern has exactly
//! one place; the sign is that of the number that is drawn, because shrinking tries a number's opposite, and −0 has the
//! least number, which has none; and what is greater than 2^53 comes before fractions, so that a binary search for the
//! simplest float above a bound is not led past whole numbers.
//!
//! Integer operations alone: a float is never rounded here.

use crate::{Role, Site};

/// A format of IEEE 754.
#[derive(Clone, Copy, Debug)]
struct Format {
    /// Bits of the fraction.
    fraction_bits: u32,
    /// What is added to an exponent to store it; the greatest exponent of a finite float, too.
    bias: u32,
}

const F64: Format = Format {
    fraction_bits: 52,
    bias: 1023,
};
const F32: Format = Format {
    fraction_bits: 23,
    bias: 127,
};

/// What is drawn first is one of so many cases. Any float, a small whole number or an edge: half of them, a quarter and a
/// quarter, which is a guess, and as many cases as give each edge one.
const CASES: usize = 64;
/// The last so many cases are an edge each.
const EDGES: usize = 16;
/// So many before them are whole numbers, which programs mostly expect; all before these are any float.
const WHOLE_CASES: usize = 16;
/// The greatest of these whole numbers.
const WHOLE_MAX: i64 = (1 << 16) - 1;

/// The numbers of a type's edges. `$indistinct` is the first whole number that one more is not to be told from.
macro_rules! edges {
    ($float:ident, $format:expr, $indistinct:literal) => {{
        let edges = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1.0 + $float::EPSILON,
            $indistinct,
            $float::MAX,
            $float::MIN,
            $float::EPSILON,
            $float::MIN_POSITIVE,
            -$float::MIN_POSITIVE,
            $float::from_bits(1), // the least subnormal
            $float::INFINITY,
            $float::NEG_INFINITY,
            $float::NAN,
        ];
        let mut numbers = [0; EDGES];
        let mut nth = 0;
        while nth < EDGES {
            numbers[nth] = $format.number(edges[nth].to_bits() as u64);
            nth += 1;
        }
        numbers
    }};
}

const EDGES_F64: [i64; EDGES] = edges!(f64, F64, 9_007_199_254_740_992.0);
const EDGES_F32: [i64; EDGES] = edges!(f32, F32, 16_777_216.0);

pub(crate) fn any_f64(site: Site) -> f64 {
    f64::from_bits(F64.draw(site, &EDGES_F64))
}

pub(crate) fn any_f32(site: Site) -> f32 {
    f32::from_bits(F32.draw(site, &EDGES_F32) as u32)
}

impl Format {
    /// Draws the bits of a float: which numbers to choose from, then the number.
    ///
    /// An edge is drawn as a range of one number and not as its index: shrinking can then take the first case, which
    /// has all numbers, and keep the number.
    fn draw(self, site: Site, edges: &[i64; EDGES]) -> u64 {
        let site = site.or_role(Role::Value);
        let all = self.greatest_place().cast_signed();
        let range = match site.part(0).index(CASES) {
            case if case >= CASES - EDGES => {
                let edge = edges[case - (CASES - EDGES)];
                edge..=edge
            }
            case if case >= CASES - EDGES - WHOLE_CASES => -WHOLE_MAX..=WHOLE_MAX,
            _ => -1 - all..=all,
        };
        let number = site.part(1).int(range);
        // The least number has no opposite, and of its place all bits but 0 are cut.
        let bits = self.bits(number.unsigned_abs() & self.greatest_place());
        match number < 0 {
            true => bits | (self.greatest_place() + 1),
            false => bits,
        }
    }

    /// The number that stands for a float with these bits.
    const fn number(self, bits: u64) -> i64 {
        let all = self.greatest_place();
        let place = self.place(bits & all).cast_signed();
        match (bits > all, place) {
            (true, 0) => -1 - all.cast_signed(),
            (true, place) => -place,
            (false, place) => place,
        }
    }

    /// All bits but the sign: there are as many places.
    const fn greatest_place(self) -> u64 {
        self.infinity() + self.fraction_mask()
    }

    const fn infinity(self) -> u64 {
        (2 * self.bias as u64 + 1) << self.fraction_bits
    }

    const fn fraction_mask(self) -> u64 {
        (1 << self.fraction_bits) - 1
    }

    /// Whole numbers below this are their own places.
    const fn whole_end(self) -> u64 {
        2 << self.fraction_bits
    }

    /// The last place of finite floats from 1 on: one interval for each exponent, and 0.
    const fn last_above_one(self) -> u64 {
        (self.bias as u64 + 1) << self.fraction_bits
    }

    /// The bits of a fraction in reverse, and back.
    const fn reversed(self, fraction: u64) -> u64 {
        fraction.reverse_bits() >> (64 - self.fraction_bits)
    }

    /// Bits and place of a NaN are the same, except that the usual NaN, without a payload, has the first place of them.
    const fn nan(self, bits: u64) -> u64 {
        let least = self.infinity() + 1;
        let usual = self.infinity() + (1 << (self.fraction_bits - 1));
        if bits == least {
            usual
        } else if bits == usual {
            least
        } else {
            bits
        }
    }

    /// The bits, without a sign, of the float at a place.
    fn bits(self, place: u64) -> u64 {
        if place == 0 {
            return 0;
        }
        if place < self.whole_end() {
            let exponent = place.ilog2();
            let significand = place << (self.fraction_bits - exponent);
            let stored = u64::from(exponent + self.bias);
            return stored << self.fraction_bits | significand & self.fraction_mask();
        }
        if place >= self.infinity() {
            return self.nan(place);
        }
        let (fraction_bits, bias) = (u64::from(self.fraction_bits), u64::from(self.bias));
        if place > self.last_above_one() {
            let nth = (place - 1) >> fraction_bits;
            let stored = 2 * bias - nth;
            // Subnormals lack their first float, which is 0.
            let reversed = ((place - 1) & self.fraction_mask()) + u64::from(stored == 0);
            return stored << fraction_bits | self.reversed(reversed);
        }
        let rest = place - self.whole_end();
        let nth = rest >> fraction_bits;
        if nth < bias - fraction_bits {
            let stored = bias + fraction_bits + 1 + nth;
            return stored << fraction_bits | self.reversed(rest & self.fraction_mask());
        }
        // Of [2^e, 2^(e+1)) the first 2^e are whole numbers, which have had their places.
        let mut rest = rest - ((bias - fraction_bits) << fraction_bits);
        for exponent in 0..fraction_bits {
            let whole = 1 << exponent;
            let others = (1 << fraction_bits) - whole;
            if rest < others {
                return (exponent + bias) << fraction_bits | self.reversed(whole + rest);
            }
            rest -= others;
        }
        unreachable!("the place is none above one")
    }

    /// The place of the float with these bits, which have no sign: the inverse of [`Format::bits`].
    const fn place(self, bits: u64) -> u64 {
        if bits == 0 {
            return 0;
        }
        if bits >= self.infinity() {
            return self.nan(bits);
        }
        let (stored, bias) = (bits >> self.fraction_bits, self.bias as u64);
        let reversed = self.reversed(bits & self.fraction_mask());
        if stored < bias {
            return ((2 * bias - stored) << self.fraction_bits) + reversed + (stored > 0) as u64;
        }
        let (exponent, fraction_bits) = (stored - bias, self.fraction_bits as u64);
        if exponent > fraction_bits {
            let nth = exponent - fraction_bits - 1;
            return self.whole_end() + (nth << fraction_bits) + reversed;
        }
        let significand = self.whole_end() / 2 + (bits & self.fraction_mask());
        let whole = significand >> (fraction_bits - exponent);
        if whole << (fraction_bits - exponent) == significand {
            return whole;
        }
        // Without the whole numbers of this interval and those before: 1 + 2 + … + 2^e.
        let first = self.whole_end() + ((bias - fraction_bits) << fraction_bits);
        first + (exponent << fraction_bits) + reversed - ((2 << exponent) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{Choice, Source, run};
    use crate::testing::shrunk;
    use crate::{site, value};
    use std::vec::Vec;

    /// The float that a number of the first case stands for.
    fn at(number: i64) -> f64 {
        let recorded = Source::Recorded(std::vec![Choice::Int(0), Choice::Int(number)]);
        run(recorded, || value!().any::<f64>()).done()
    }

    #[test]
    fn simple_floats_come_first() {
        assert_eq!([0, 1, 2, 3, 1_000_000].map(at), [0.0, 1.0, 2.0, 3.0, 1e6]);
        assert_eq!(at((1 << 53) - 1), 9_007_199_254_740_991.0);
        let after = |place: f64, count: i64| -> Vec<f64> {
            let first = F64.number(place.to_bits());
            (first..first + count).map(at).collect()
        };
        assert_eq!(after(1.5, 4), [1.5, 1.25, 1.75, 1.125]);
        assert_eq!(F64.number(1.5_f64.to_bits()), (1 << 53) + (971 << 52));
        assert_eq!(after(2.5, 3), [2.5, 3.5, 2.25]);
        assert_eq!(after(0.5, 4), [0.5, 0.75, 0.625, 0.875]);
        let huge = 9_007_199_254_740_992.0;
        assert_eq!(after(huge, 2), [huge, 1.5 * huge]);
        let in_order = [
            4.0,
            1e15,
            1e16,
            1e300,
            1.5,
            1.125,
            2.5,
            1000.5,
            0.5,
            0.1,
            1e-300,
            5e-324,
            f64::INFINITY,
            f64::NAN,
        ];
        assert!(
            in_order
                .map(|float| F64.number(float.to_bits()))
                .is_sorted()
        );
    }

    #[test]
    fn the_sign_is_that_of_the_number() {
        assert_eq!(at(i64::MIN).to_bits(), (-0.0_f64).to_bits());
        assert_eq!([-1, -2].map(at), [-1.0, -2.0]);
        for float in [1.5, 1e300, 5e-324, f64::INFINITY] {
            assert_eq!(at(-F64.number(float.to_bits())), -float);
        }
    }

    /// Of a small format every float, and of f32 and f64 those where something changes.
    #[test]
    fn each_bit_pattern_has_one_place() {
        let small = Format {
            fraction_bits: 5,
            bias: 7,
        };
        let mut places: Vec<u64> = (0..=small.greatest_place())
            .map(|bits| small.place(bits))
            .collect();
        places.sort_unstable();
        assert!(places.iter().copied().eq(0..=small.greatest_place()));
        for bits in 0..=small.greatest_place() {
            assert_eq!(small.bits(small.place(bits)), bits);
        }
        for format in [F32, F64] {
            for stored in 0..=2 * u64::from(format.bias) + 1 {
                for fraction in [
                    0,
                    1,
                    2,
                    3,
                    format.fraction_mask() / 2,
                    format.fraction_mask(),
                ] {
                    for fraction in [fraction, format.reversed(fraction)] {
                        let bits = stored << format.fraction_bits | fraction;
                        let place = format.place(bits);
                        assert!(place <= format.greatest_place(), "{bits:#x}");
                        assert_eq!(format.bits(place), bits, "{format:?} {bits:#x}");
                    }
                }
            }
        }
        assert_eq!(F64.greatest_place(), i64::MAX.cast_unsigned());
        assert_eq!(F32.greatest_place(), i32::MAX as u64);
    }

    #[test]
    fn the_usual_nan_is_the_first() {
        assert_eq!(at((2047 << 52) + 1).to_bits(), 0x7ff8_0000_0000_0000);
        assert_eq!(at(0x7ff8_0000_0000_0000).to_bits(), 0x7ff0_0000_0000_0001);
        assert_eq!(at(-i64::MAX).to_bits(), u64::MAX);
    }

    #[test]
    fn whole_numbers_and_edges_are_drawn_often() {
        let floats: Vec<f64> = (0..2_000)
            .map(|seed| run(Source::Seeded(seed), || site!().any::<f64>()).done())
            .collect();
        let often: [fn(f64) -> bool; 8] = [
            |x| x.to_bits() == 0,
            |x| x.to_bits() == (-0.0_f64).to_bits(),
            |x| x == f64::INFINITY,
            f64::is_nan,
            |x| x == f64::MAX,
            |x| x == -1.0,
            f64::is_subnormal,
            |x| x == f64::MIN_POSITIVE,
        ];
        for (nth, holds) in often.iter().enumerate() {
            let count = floats.iter().filter(|x| holds(**x)).count();
            assert!(count > 10, "{nth}: {count}");
        }
        let count = |holds: fn(f64) -> bool| floats.iter().filter(|x| holds(**x)).count();
        let whole = count(|x| x.fract() == 0.0 && x.abs() > 1.0 && x.abs() < 1e9);
        assert!((400..600).contains(&whole), "{whole}");
        let plain = count(|x| x.fract() != 0.0 && x.abs() > 1e-300 && x.abs() < 1e300);
        assert!(plain > 400, "{plain}");
    }

    /// From whatever is found first, by lowering numbers, to the simplest float.
    #[test]
    fn floats_shrink_to_the_simplest() {
        type Condition = fn(f64) -> bool;
        let conditions: [(Condition, f64); 14] = [
            (|x| x > 0.0, 1.0),
            (|x| x < 0.0, -1.0),
            (|x| x != 0.0, 1.0),
            (|x| x == 0.0 && x.is_sign_negative(), -0.0),
            (|x| x.fract() == 0.0 && x > 1.0 && x < 1e9, 2.0),
            (|x| x.fract() == 0.0 && x.abs() > 1.0 && x.abs() < 1e9, 2.0),
            (|x| x > 1e9, 1e9 + 1.0),
            (|x| x < -1000.0, -1001.0),
            (|x| x.is_finite() && x.fract() != 0.0, 1.5),
            (|x| x > 0.0 && x < 1.0, 0.5),
            (f64::is_infinite, f64::INFINITY),
            (|x| x.abs() > 300.0, 301.0),
            (|x| x == f64::NEG_INFINITY, f64::NEG_INFINITY),
            (f64::is_nan, f64::NAN),
        ];
        for (nth, (holds, simplest)) in conditions.into_iter().enumerate() {
            let trial = || value!().any::<f64>();
            let fails = |float: &f64| holds(*float);
            let mut found = 0;
            for seed in 0..1_000 {
                let run = run(Source::Seeded(seed), trial);
                let choices = run.choices();
                if fails(&run.done()) {
                    found += 1;
                    let shrunk = shrunk(choices, trial, fails);
                    let is_simplest = shrunk.to_bits() == simplest.to_bits();
                    assert!(is_simplest, "condition {nth}, seed {seed}: {shrunk:?}");
                }
            }
            assert!(found > 5, "condition {nth}: {found}");
        }
    }

    #[test]
    fn floats_of_32_bits_are_drawn_alike() {
        let at = |case, number| {
            let recorded = [Choice::Int(case), Choice::Int(number)].to_vec();
            run(Source::Recorded(recorded), || value!().any::<f32>()).done()
        };
        assert_eq!([0, 1, 2, -1].map(|n| at(0, n)), [0.0, 1.0, 2.0, -1.0]);
        assert_eq!(at(0, 1 << 24), 16_777_216.0);
        assert_eq!(at(0, 255 << 23), f32::INFINITY);
        assert_eq!(at(0, (-i32::MAX).into()).to_bits(), u32::MAX);
        assert_eq!(at(0, i32::MIN.into()).to_bits(), 1 << 31);
        assert_eq!(at(63, (255 << 23) + 1).to_bits(), 0x7fc0_0000);
        let drawn = run(Source::Seeded(1), || value!().any::<f32>()).drawn;
        assert_eq!(drawn.len(), 2);
        assert!(drawn.iter().all(|drawn| drawn.role == Role::Value));
    }
}
