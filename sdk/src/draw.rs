//! The primitive draws: integers, booleans, floats, bytes, characters.

use core::ops::{Bound, RangeBounds};

use crate::{Site, sys};

/// How many numbers an `i64` has from 0 on: 2^63.
const HALF: i128 = 1 << 63;

/// How many numbers on either side of 0 the engine tries at once when it shrinks (`runtime/engine/src/shrink/lower.rs`).
const NEAR: i128 = 4;

/// From here on, a number that is drawn for a wide range is the distance itself, so that a guidance which writes what a
/// comparison wants over what was drawn can do so. Below it are four numbers that stand for the greatest distances: where
/// most bounds do not lie, and where halving a power of two or of ten does not lead.
const ITSELF: i128 = 2903;

/// The greatest mean of [`Site::geometric`]: at worst 37 times as many turns, some ten million fuel.
const MEAN_MAX: u32 = 65_536;

/// An integer type that can be drawn: all of them up to 64 bits.
pub trait Int: Copy + sealed::Sealed {
    #[doc(hidden)]
    const LEAST: i128;
    #[doc(hidden)]
    const GREATEST: i128;
    #[doc(hidden)]
    fn widen(self) -> i128;
    #[doc(hidden)]
    fn narrow(wide: i128) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! ints {
    ($($int:ident)*) => {$(
        impl sealed::Sealed for $int {}
        impl Int for $int {
            const LEAST: i128 = $int::MIN as i128;
            const GREATEST: i128 = $int::MAX as i128;
            #[inline]
            fn widen(self) -> i128 { self as i128 }
            #[inline]
            fn narrow(wide: i128) -> $int { wide as $int }
        }
    )*};
}
ints!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl Site {
    /// An integer of the range, uniformly. An empty range is an impossible draw: the host ends the trial and says so.
    ///
    /// Shrinking goes towards 0 where the range has it, else towards the number next to it.
    ///
    /// The contract draws `i64`. Of a range with numbers past `i64::MAX` the distance from its least is drawn. In one of
    /// more than 2^63 numbers the negative ones stand for distances from 2^63 on, but for those next to 0, on whose both
    /// sides the least distances are. Each number of the range is drawn in one way.
    #[inline]
    pub fn int<T: Int>(self, range: impl RangeBounds<T>) -> T {
        let lo = match range.start_bound() {
            Bound::Included(lo) => lo.widen(),
            Bound::Excluded(lo) => lo.widen() + 1,
            Bound::Unbounded => T::LEAST,
        };
        let hi = match range.end_bound() {
            Bound::Included(hi) => hi.widen(),
            Bound::Excluded(hi) => hi.widen() - 1,
            Bound::Unbounded => T::GREATEST,
        };
        if lo > hi {
            // Whatever the type, the same empty range, which no 64 bits can turn into another.
            return T::narrow(sys::draw_int(self, 1, 0).into());
        }
        let count = hi - lo + 1;
        if hi <= i64::MAX as i128 {
            T::narrow(sys::draw_int(self, lo as i64, hi as i64).into())
        } else if count <= HALF {
            T::narrow(lo + sys::draw_int(self, 0, (hi - lo) as i64) as i128)
        } else {
            let (least, greatest) = wide_bounds(count);
            let number = sys::draw_int(self, least as i64, greatest as i64);
            T::narrow(lo + wide_distance(number.into(), count))
        }
    }

    /// True or false, evenly.
    #[inline]
    pub fn boolean(self) -> bool {
        self.chance(1, 2)
    }

    /// True with a probability of `num`/`den`.
    #[inline]
    pub fn chance(self, num: u32, den: u32) -> bool {
        sys::draw_bool(self, num, den)
    }

    /// A float of [`lo`, `hi`), uniformly; `lo` if both are the same. `hi - lo` must be finite and not negative, else it
    /// is an impossible draw: of all floats there is [`any`](Site::any).
    #[inline]
    pub fn float(self, lo: f64, hi: f64) -> f64 {
        sys::draw_float(self, lo, hi)
    }

    /// Any float, bit by bit, each pattern alike: infinities, subnormals and every NaN among them, but hardly ever a
    /// whole number. Shrinking goes towards bits that are a small number, which need not be a simple float: mostly
    /// [`any`](Site::any) serves better. But what is drawn here is the float's own bits, so a guidance that solves
    /// comparisons finds a constant that the float is compared with.
    #[inline]
    pub fn float_bits(self) -> f64 {
        f64::from_bits(self.int::<i64>(..).cast_unsigned())
    }

    /// How often something of this mean is tried until it succeeds: 1, 2, … with P(n > k) = (1 − 1/mean)^k.
    ///
    /// One float u, and the smallest n with (1 − 1/mean)^n ≤ 1 − u. That is ⌈ln(1−u) / ln(1−1/mean)⌉, the sizes of
    /// Zest's generators, without a logarithm, whose last bits differ between libraries. It takes as many turns as the
    /// number it returns.
    ///
    /// A mean of 0 or of more than 65,536 is an impossible draw.
    pub fn geometric(self, mean: u32) -> u32 {
        if mean == 0 || mean > MEAN_MAX {
            sys::draw_int(self, 1, 0);
        }
        let (left, again) = (1.0 - self.float(0.0, 1.0), 1.0 - 1.0 / f64::from(mean));
        let (mut count, mut tail) = (1, again);
        while tail > left {
            tail *= again;
            count += 1;
        }
        count
    }

    /// Fills the beginning of `buffer` with `min` bytes or more; how many.
    #[inline]
    pub fn fill(self, buffer: &mut [u8], min: usize) -> usize {
        sys::draw_bytes(self, buffer, min)
    }

    /// So many bytes.
    #[inline]
    pub fn array<const N: usize>(self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes, N);
        bytes
    }

    /// As many bytes as the range allows.
    #[cfg(feature = "alloc")]
    pub fn bytes(self, min: usize, max: usize) -> alloc::vec::Vec<u8> {
        let mut bytes = alloc::vec![0; max];
        let count = self.fill(&mut bytes, min);
        bytes.truncate(count);
        bytes
    }
}

/// The least and the greatest number that is drawn for a range of `count`, which is more than 2^63.
fn wide_bounds(count: i128) -> (i128, i128) {
    let above = (count - HALF - NEAR).max(0);
    (-NEAR - above, (HALF - 1).min(count - NEAR - 1))
}

/// How far from the least of `count` numbers, which are more than 2^63, the one is for which `number` was drawn.
///
/// ```text
/// number    −5 − k     −4 −3 −2 −1  0  1  2  3  4   5 … 2898   2899 … 2902         2903 …
/// distance  2^63 + k    8  6  4  2  0  1  3  5  7   9 … 2902   the greatest four   the number
/// ```
///
/// Shrinking tries the numbers next to 0 on both sides. With a large distance among these it would take that for what is
/// simplest, whatever the bound below which a number is harmless; so they are the small ones, in its order. That leaves
/// over four numbers on the positive side, where a binary search seldom comes.
fn wide_distance(number: i128, count: i128) -> i128 {
    if number < -NEAR {
        HALF - NEAR - 1 - number
    } else if number <= 0 {
        -2 * number
    } else if number <= NEAR {
        2 * number - 1
    } else if number < ITSELF - NEAR {
        number + NEAR
    } else if number < ITSELF {
        count - (ITSELF - number)
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{Choice, Domain, Outcome, Source, run};
    use crate::testing::shrunk;
    use crate::{site, value};
    use std::collections::BTreeSet;

    #[test]
    fn the_simplest_of_large_numbers_is_the_least() {
        let recorded = [0, 7].map(Choice::Int).to_vec();
        let run = run(Source::Recorded(recorded), || {
            [(); 2].map(|()| site!().int(1 << 63..=u64::MAX))
        });
        assert_eq!(run.done(), [1 << 63, (1 << 63) + 7]);
    }

    /// What is drawn for a wide range as its least and greatest, and the numbers of the range that some stand for.
    fn wide(lo: u64, hi: u64, numbers: &[i64]) -> (i64, i64, std::vec::Vec<u64>) {
        let recorded = numbers.iter().copied().map(Choice::Int).collect();
        let run = run(Source::Recorded(recorded), || {
            let all = numbers.iter().map(|_| site!().int(lo..=hi));
            all.collect()
        });
        let Domain::Int { lo, hi } = run.drawn[0].domain else {
            panic!("{:?}", run.drawn[0])
        };
        (lo, hi, run.done())
    }

    #[test]
    fn wide_ranges_begin_with_the_least_numbers_on_both_sides_of_0() {
        let (.., near) = wide(1, u64::MAX, &[0, 1, -1, 2, -2, 3, -3, 4, -4, 5, 6, 7]);
        assert_eq!(near, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let (.., far) = wide(
            0,
            u64::MAX,
            &[2898, 2903, i64::MAX, -5, -6, i64::MIN, 2899, 2902],
        );
        let half = 1 << 63;
        assert_eq!(far[..5], [2902, 2903, half - 1, half, half + 1]);
        assert_eq!(far[5..], [u64::MAX - 4, u64::MAX - 3, u64::MAX]);
    }

    /// As many numbers are drawn as there are, and about each seam no two stand for the same.
    #[test]
    fn each_number_of_a_wide_range_is_drawn_in_one_way() {
        for count in [1, 2, 4, 5, 6, HALF - 1, HALF].map(|above| HALF + above) {
            let (least, greatest) = wide_bounds(count);
            assert_eq!(greatest - least + 1, count);
            assert!(least >= i64::MIN.into() && greatest <= i64::MAX.into());
            let seams = [least, -NEAR, 0, NEAR, ITSELF, greatest];
            let near = seams.iter().flat_map(|seam| (seam - 9)..=(seam + 9));
            let drawn = near.filter(|number| (least..=greatest).contains(number));
            let numbers: BTreeSet<i128> = drawn.collect();
            let distances: BTreeSet<i128> = (numbers.iter())
                .map(|number| wide_distance(*number, count))
                .collect();
            assert_eq!(distances.len(), numbers.len(), "{count}");
            assert!(
                distances
                    .iter()
                    .all(|distance| (0..count).contains(distance))
            );
            for edge in [0, 8, 9, ITSELF - 1, ITSELF, HALF - 1, HALF, count - 1] {
                assert!(distances.contains(&edge), "{count}: {edge}");
            }
        }
    }

    fn wide_from<const LO: u64>() -> u64 {
        site!().int(LO..=u64::MAX)
    }

    #[test]
    fn wide_ranges_shrink_to_the_least_number_that_fails() {
        let trials: [(u64, fn() -> u64); 3] = [
            (0, wide_from::<0>),
            (1, wide_from::<1>),
            (1000, wide_from::<1000>),
        ];
        let bounds = [
            1,
            5,
            9,
            13,
            100,
            5000,
            8190,
            1 << 62,
            1 << 63,
            (1 << 63) + 77,
        ];
        for (lo, trial) in trials {
            for bound in bounds.map(|bound| lo + bound) {
                let fails = |number: &u64| *number >= bound;
                for found in [i64::MIN + 2000, -(1 << 62), i64::MAX - 2000] {
                    let found = std::vec![Choice::Int(found)];
                    let number = run(Source::Recorded(found.clone()), trial).done();
                    if fails(&number) {
                        assert_eq!(shrunk(found, trial, fails), bound, "{lo}");
                    }
                }
            }
        }
    }

    #[test]
    fn both_halves_of_a_wide_range_are_drawn() {
        let below = (0..2_000).filter(|&seed| {
            run(Source::Seeded(seed), || site!().int(1..=u64::MAX)).done() < 1 << 63
        });
        let count = below.count();
        assert!((900..1_100).contains(&count), "{count}");
    }

    #[test]
    fn signed_numbers_are_drawn_as_they_are() {
        let recorded = [0, -1, i64::MIN].map(Choice::Int).to_vec();
        let run = run(Source::Recorded(recorded), || {
            [(); 3].map(|()| site!().int::<i64>(..))
        });
        assert_eq!(run.done(), [0, -1, i64::MIN]);
    }

    #[test]
    fn the_simplest_of_all_floats_is_nought() {
        let run = run(Source::Recorded(std::vec![Choice::Int(0)]), || {
            site!().float_bits().to_bits()
        });
        assert_eq!(run.done(), 0);
    }

    #[test]
    fn ranges_become_bounds() {
        let run = run(Source::Seeded(1), || {
            value!().int(3_u8..);
            value!().int(-5..5);
            value!().int(7..=7_usize);
            value!().int::<i64>(..);
        });
        let domains: std::vec::Vec<Domain> = run.drawn.iter().map(|drawn| drawn.domain).collect();
        let int = |lo, hi| Domain::Int { lo, hi };
        assert_eq!(
            domains,
            [int(3, 255), int(-5, 4), int(7, 7), int(i64::MIN, i64::MAX)]
        );
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    fn empty_ranges_are_impossible_draws() {
        let draws: [fn() -> bool; 4] = [
            || site!().int(5..5_u8) > 0,
            || site!().int(i64::MIN..i64::MIN) > 0,
            || site!().int(u64::MAX..=0) > 0,
            || site!().index(0) > 0,
        ];
        for draw in draws {
            let run = run(Source::Seeded(1), draw);
            assert!(matches!(run.outcome, Outcome::Impossible(_)));
        }
    }

    #[test]
    fn a_mean_that_no_number_has_is_an_impossible_draw() {
        for mean in [0, 65_537, 2_000_000, u32::MAX] {
            let run = run(Source::Seeded(1), || site!().geometric(mean));
            assert!(matches!(run.outcome, Outcome::Impossible(_)), "{mean}");
        }
        for mean in [1, 65_536] {
            let run = run(Source::Seeded(1), || site!().geometric(mean));
            assert!(run.done() >= 1, "{mean}");
        }
    }

    #[test]
    fn floats_without_a_finite_width_are_impossible_draws() {
        for (lo, hi) in [
            (1.0, 0.0),
            (f64::MIN, f64::MAX),
            (0.0, f64::INFINITY),
            (0.0, f64::NAN),
        ] {
            let run = run(Source::Seeded(1), || site!().float(lo, hi));
            assert!(matches!(run.outcome, Outcome::Impossible(_)), "{lo} {hi}");
        }
    }

    #[test]
    fn geometric_agrees_with_the_logarithms() {
        for mean in [2, 3, 4, 5, 8, 10] {
            for step in 0..1000 {
                let u = f64::from(step) / 1000.0 + 0.000_3;
                let got = run(Source::Recorded(std::vec![Choice::Float(u)]), || {
                    site!().geometric(mean)
                });
                let exact = ((1.0 - u).ln() / (1.0 - 1.0 / f64::from(mean)).ln()).ceil();
                assert_eq!(f64::from(got.done()), exact, "mean {mean}, u {u}");
            }
        }
    }

    #[test]
    fn bytes_have_the_length_that_was_asked_for() {
        for seed in 0..50 {
            let run = run(Source::Seeded(seed), || {
                (site!().bytes(2, 5), site!().array::<4>())
            });
            let (bytes, _) = run.done();
            assert!((2..=5).contains(&bytes.len()), "seed {seed}: {bytes:?}");
        }
    }
}
