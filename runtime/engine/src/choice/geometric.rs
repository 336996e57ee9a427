//! Geometric sizes without logarithms: the same on every machine.
//!
//! In: a mean, and 53 random bits. Out: 1, 2, 3, … with probability (1 − 1/m)^(k−1) / m. JQF computes
//! ⌈ln(1−u) / ln(1−1/m)⌉ from a double u; this is the least k for which (1 − 1/m)^k ≤ 1 − u, found in
//! a table of powers in 63-bit fixed point.

use crate::rng::Rng;

/// Powers are tabulated until fewer than one draw in 2⁴⁰ goes beyond.
const TAIL: u64 = 1 << 23;
/// Enough for means up to 12.
const STEPS: usize = 320;
const ONE: u64 = 1 << 63;

/// Geometric sizes of one mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometric {
    /// (1 − 1/m)^(k+1) in units of 2⁻⁶³.
    powers: [u64; STEPS],
    len: usize,
}

impl Geometric {
    /// Sizes of the given mean, from 1 to 12.
    pub const fn new(mean: u64) -> Geometric {
        assert!(mean >= 1 && mean <= 12, "the table is made for small means");
        let mut powers = [0; STEPS];
        let mut len = 0;
        let mut power = ONE;
        while power > TAIL && len < STEPS {
            power = ((power as u128 * (mean - 1) as u128) / mean as u128) as u64;
            powers[len] = power;
            len += 1;
        }
        Geometric { powers, len }
    }

    /// The size that 53 random bits stand for; those above are ignored.
    pub fn of_bits(&self, bits: u64) -> u32 {
        // u = bits / 2^53, so 1 − u is never 0.
        let rest = ONE - ((bits & ((1 << 53) - 1)) << 10);
        let mut k = 0;
        while k < self.len && self.powers[k] > rest {
            k += 1;
        }
        k as u32 + 1
    }

    /// A size.
    pub fn sample(&self, rng: &mut Rng) -> u32 {
        self.of_bits(rng.word() >> 11)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conformance item 2: mean, support, and a χ² test on a million draws.
    #[test]
    fn sizes_are_geometric() {
        for mean in [2, 3, 4, 5, 8, 10] {
            let geometric = Geometric::new(mean);
            let mut rng = Rng::new(mean);
            const DRAWS: u64 = 1_000_000;
            let mut counts = [0u64; 400];
            let mut sum = 0;
            for _ in 0..DRAWS {
                let size = geometric.sample(&mut rng);
                counts[size as usize] += 1;
                sum += u64::from(size);
            }
            assert_eq!(counts[0], 0);
            let found = sum as f64 / DRAWS as f64;
            assert!((found / mean as f64 - 1.0).abs() < 0.01, "{mean}: {found}");
            let (mut chi, mut cells) = (0.0, 0);
            let p = 1.0 / mean as f64;
            for (k, count) in counts.iter().enumerate().skip(1) {
                let expected = DRAWS as f64 * p * (1.0 - p).powi(k as i32 - 1);
                if expected < 20.0 {
                    break;
                }
                chi += (*count as f64 - expected).powi(2) / expected;
                cells += 1;
            }
            // The 99.9th percentile of χ² with n cells is below n + 4.4 √n + 8 here.
            let bound = f64::from(cells) + 4.4 * f64::from(cells).sqrt() + 8.0;
            assert!(chi < bound, "mean {mean}: χ² {chi} of {cells} cells");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the formula is what is tested")]
    fn it_is_the_formula_of_jqf() {
        let mut rng = Rng::new(7);
        for mean in [4u64, 8, 10] {
            let geometric = Geometric::new(mean);
            for _ in 0..10_000 {
                let bits = rng.word() >> 11;
                let u = bits as f64 / (1u64 << 53) as f64;
                let exact = (1.0 - u).ln() / (1.0 - 1.0 / mean as f64).ln();
                if (exact - exact.round()).abs() > 1e-9 {
                    assert_eq!(geometric.of_bits(bits), exact.ceil() as u32, "{mean} {u}");
                }
            }
        }
        assert_eq!(Geometric::new(1).of_bits(0), 1);
        assert_eq!(Geometric::new(8).of_bits(0), 1);
    }
}
