//! The primitive draws: integers, booleans, floats, bytes, characters.

use core::ops::{Bound, RangeBounds};

use crate::{Site, sys};

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
    /// The contract draws `i64`. All of `u64` is drawn as its two's complement, and of another range with numbers past
    /// `i64::MAX` the distance from its least: shrinking goes towards that. Where that does not fit either, it is moved
    /// down by 2^63.
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
        let down = if hi <= i64::MAX as i128 {
            0
        } else if hi - lo <= i64::MAX as i128 {
            lo
        } else if (lo, hi) == (T::LEAST, T::GREATEST) {
            return T::narrow(sys::draw_int(self, i64::MIN, i64::MAX).into());
        } else {
            1_i128 << 63
        };
        T::narrow(sys::draw_int(self, (lo - down) as i64, (hi - down) as i64) as i128 + down)
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

    /// A float of [`lo`, `hi`), uniformly.
    #[inline]
    pub fn float(self, lo: f64, hi: f64) -> f64 {
        sys::draw_float(self, lo, hi)
    }

    /// Any float, bit by bit: infinities, subnormals and every NaN among them.
    #[inline]
    pub fn float_bits(self) -> f64 {
        f64::from_bits(self.int::<u64>(..))
    }

    /// How often something of this mean is tried until it succeeds: 1, 2, … with P(n > k) = (1 − 1/mean)^k.
    ///
    /// One float u, and the smallest n with (1 − 1/mean)^n ≤ 1 − u. That is ⌈ln(1−u) / ln(1−1/mean)⌉, the sizes of
    /// Zest's generators, without a logarithm, whose last bits differ between libraries.
    pub fn geometric(self, mean: u32) -> u32 {
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

#[cfg(test)]
mod tests {
    use crate::native::{Choice, Domain, Outcome, Source, run};
    use crate::{site, value};

    #[test]
    fn the_simplest_of_large_numbers_is_the_least() {
        let recorded = [0, -1, i64::MIN, 0, 7].map(Choice::Int).to_vec();
        let run = run(Source::Recorded(recorded), || {
            let whole = [(); 3].map(|()| site!().int::<u64>(..));
            let upper = [(); 2].map(|()| site!().int(1 << 63..=u64::MAX));
            (whole, upper)
        });
        let expected = ([0, u64::MAX, 1 << 63], [1 << 63, (1 << 63) + 7]);
        assert_eq!(run.done(), expected);
    }

    #[test]
    fn what_is_too_wide_keeps_its_order() {
        let recorded = [i64::MIN + 1, 0, i64::MAX].map(Choice::Int).to_vec();
        let run = run(Source::Recorded(recorded), || {
            [(); 3].map(|()| site!().int(1..=u64::MAX))
        });
        assert_eq!(run.done(), [1, 1 << 63, u64::MAX]);
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
