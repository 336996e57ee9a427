//! Polynomials and quasi-polynomials, by finite differences.
//!
//! A polynomial of degree `d` is what the (d+1)-th difference of which is 0 everywhere. A
//! quasi-polynomial of period `m` is one polynomial for each residue of `n` modulo `m`: what work by
//! words, blocks and alignment gives. Its differences are taken `m` apart, and a polynomial is the
//! case `m` = 1.

use std::fmt;

use super::rational::{Rational, polynomial_text};

/// Highest degree tried. Nested loops of untrusted depth are rarer than accidents of a high degree.
const DEGREE_MAX: usize = 6;

/// Largest period tried: that of bytes in an SIMD word, and of pairs of eight.
const PERIOD_MAX: usize = 16;

/// Differences that must vanish beyond those that the law is made from (specification §2.7: four);
/// of a longer period, this many for each residue.
const CHECKS_MIN: usize = 4;
const CHECKS_PER_RESIDUE: usize = 2;

/// One polynomial for each residue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuasiPolynomial {
    start: u64,
    degree: usize,
    /// For `n` = start, start + 1, …, one period: the differences of order 0, 1, …, degree of the
    /// values at n, n + period, …
    classes: Vec<Vec<i128>>,
}

impl QuasiPolynomial {
    /// The law of smallest period, then degree, that the values at `start`, `start` + 1, … follow;
    /// at most the first half of them may be exceptions.
    pub fn fit(start: u64, values: &[u64]) -> Option<QuasiPolynomial> {
        (1..=PERIOD_MAX).find_map(|period| fit_period(start, values, period))
    }

    /// The polynomial through these values at `start`, `start` + 1, …, which has a lower degree than
    /// there are values; `None` if differences leave 128 bits.
    pub(super) fn through(start: u64, values: &[i128]) -> Option<QuasiPolynomial> {
        let mut differences = vec![values.to_vec()];
        for order in 1..values.len() {
            differences.push(difference(&differences[order - 1], 1)?);
        }
        Some(of_differences(
            start,
            &differences,
            values.len().saturating_sub(1),
            1,
        ))
    }

    /// The first `n` from which it holds.
    pub fn since(&self) -> u64 {
        self.start
    }

    /// How many values determine it.
    pub fn order(&self) -> usize {
        self.classes.len() * (self.degree + 1)
    }

    /// Its highest power of `n`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The residues after which it repeats its coefficients.
    pub fn period(&self) -> usize {
        self.classes.len()
    }

    /// Its value at `n`; `None` before [`since`](Self::since), or beyond 128 bits.
    pub fn predict(&self, n: u64) -> Option<i128> {
        let offset = n.checked_sub(self.start)?;
        let period = self.period() as u64;
        let steps = i128::from(offset / period);
        let mut value = 0i128;
        // Newton's series: the binomial of `steps` over the order times each difference.
        let mut binomial = 1i128;
        for (order, difference) in (0i128..).zip(&self.classes[(offset % period) as usize]) {
            value = value.checked_add(difference.checked_mul(binomial)?)?;
            binomial = binomial.checked_mul(steps - order)? / (order + 1);
        }
        Some(value)
    }

    /// Coefficients by residue of `n` and power, residue 0 first; `None` beyond 128 bits.
    pub(super) fn coefficients(&self) -> Option<Vec<Vec<Rational>>> {
        let period = self.period() as u64;
        let class_of = |residue: u64| ((residue + period - self.start % period) % period) as usize;
        (0..period)
            .map(|residue| self.class_coefficients(class_of(residue)))
            .collect()
    }

    fn class_coefficients(&self, class: usize) -> Option<Vec<Rational>> {
        let period = self.period() as i128;
        let first = i128::from(self.start) + class as i128;
        let mut sum = vec![Rational::ZERO; self.degree + 1];
        let mut basis = vec![Rational::whole(1)];
        for (order, difference) in (0i128..).zip(&self.classes[class]) {
            for (power, coefficient) in basis.iter().enumerate() {
                let term = coefficient.times(Rational::whole(*difference))?;
                sum[power] = sum[power].plus(term)?;
            }
            // Times (n − first − order·period) / ((order + 1)·period).
            let below = (order + 1) * period;
            let slope = Rational::new(1, below)?;
            let shift = Rational::new(-(first + order * period), below)?;
            let mut next = vec![Rational::ZERO; basis.len() + 1];
            for (power, coefficient) in basis.iter().enumerate() {
                next[power] = next[power].plus(coefficient.times(shift)?)?;
                next[power + 1] = next[power + 1].plus(coefficient.times(slope)?)?;
            }
            basis = next;
        }
        Some(sum)
    }
}

impl fmt::Display for QuasiPolynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.coefficients() {
            Some(rows) => f.write_str(&polynomial_text(&rows))?,
            None => write!(f, "a polynomial of degree {}", self.degree)?,
        }
        match self.period() {
            1 => Ok(()),
            period => write!(f, ", by n mod {period}"),
        }
    }
}

fn fit_period(start: u64, values: &[u64], period: usize) -> Option<QuasiPolynomial> {
    let checks_min = CHECKS_MIN.max(CHECKS_PER_RESIDUE * period);
    let mut differences: Vec<Vec<i128>> = vec![values.iter().map(|v| i128::from(*v)).collect()];
    for degree in 0..=DEGREE_MAX {
        let next = difference(&differences[degree], period)?;
        let zeros = next.iter().rev().take_while(|value| **value == 0).count();
        let exceptions = next.len() - zeros;
        if zeros >= checks_min && exceptions <= values.len() / 2 {
            let from = start + exceptions as u64;
            for row in &mut differences {
                row.drain(..exceptions);
            }
            return Some(of_differences(from, &differences, degree, period));
        }
        if next.len() < checks_min {
            return None;
        }
        differences.push(next);
    }
    None
}

fn of_differences(
    start: u64,
    differences: &[Vec<i128>],
    degree: usize,
    period: usize,
) -> QuasiPolynomial {
    let class = |at: usize| differences.iter().map(|row| row[at]).collect();
    QuasiPolynomial {
        start,
        degree,
        classes: (0..period).map(class).collect(),
    }
}

/// `values[i + apart] − values[i]`, one for each pair.
fn difference(values: &[i128], apart: usize) -> Option<Vec<i128>> {
    let later = values.iter().skip(apart);
    later
        .zip(values)
        .map(|(later, earlier)| later.checked_sub(*earlier))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(range: std::ops::RangeInclusive<u64>, f: impl Fn(u64) -> u64) -> Vec<u64> {
        range.map(f).collect()
    }

    #[test]
    fn a_quadratic_with_its_text() {
        let law = QuasiPolynomial::fit(1, &values(1..=8, |n| 3 * n * n + 7 * n + 12)).unwrap();
        assert_eq!(law.to_string(), "3n^2 + 7n + 12");
        assert_eq!((law.degree(), law.period(), law.since()), (2, 1, 1));
        assert_eq!(law.predict(1_000_000), Some(3_000_007_000_012));
        assert_eq!(law.predict(0), None);
    }

    #[test]
    fn triangular_numbers_have_fractions() {
        let law = QuasiPolynomial::fit(5, &values(5..=14, |n| n * (n - 1) / 2)).unwrap();
        assert_eq!(law.to_string(), "n^2/2 - n/2");
    }

    /// Work by words of four bytes: one step for each word, one for each byte left.
    #[test]
    fn a_period_is_found_and_residues_are_in_order() {
        let law = QuasiPolynomial::fit(3, &values(3..=22, |n| 5 * (n / 4) + n % 4 + 9)).unwrap();
        assert_eq!(law.period(), 4);
        assert_eq!(law.to_string(), "5n/4 + {9, 35/4, 17/2, 33/4}, by n mod 4");
        assert_eq!(law.predict(4_003), Some(5 * 1_000 + 3 + 9));
    }

    #[test]
    fn early_exceptions_are_left_out() {
        let law = QuasiPolynomial::fit(0, &values(0..=20, |n| 4 * n.max(6) + 1)).unwrap();
        assert_eq!((law.since(), law.to_string().as_str()), (6, "4n + 1"));
    }

    #[test]
    fn three_checks_are_one_too_few() {
        let values = values(1..=5, |n| 2 * n + 1);
        assert_eq!(QuasiPolynomial::fit(1, &values), None);
    }

    /// The executor's functions on the trim family, k = 10, 12, …, 22 (appendix A): 560 in units of
    /// two steps is 70 k².
    #[test]
    fn the_measured_slice_of_the_trim_family() {
        let slice = [9703, 13229, 17315, 21961, 27167, 32933, 39259];
        let law = QuasiPolynomial::fit(5, &slice).unwrap();
        assert_eq!(law.degree(), 2);
        assert_eq!(law.to_string(), "280n^2 + 446n + 473");
    }

    #[test]
    fn numbers_beyond_128_bits_are_no_prediction() {
        let law = QuasiPolynomial::fit(1, &values(1..=12, |n| n.pow(6))).unwrap();
        assert_eq!(law.predict(1_000), Some(1_000_000_000_000_000_000));
        assert_eq!(law.predict(u64::MAX), None);
    }
}
