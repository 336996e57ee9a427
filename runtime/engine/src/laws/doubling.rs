//! The second tier: what repeated doubling of `n` tends to.
//!
//! ```text
//! e = log2((c(2n) − c(n)) / (c(n) − c(n/2)))
//! ```
//!
//! Differences of consecutive values cancel the additive constant, which would otherwise spoil an
//! exponent for a long time. Three of them must agree (specification §2.7); in thousandths, in
//! integers.

use std::fmt;

use super::Sample;
use super::logarithm::log2_milli;

/// Exponents that must agree; they need two points more.
const EXPONENTS: usize = 3;

/// What exponents of one class may differ by, in thousandths.
const TOLERANCE_MILLI: i32 = 100;

/// `n log n` in other units than `n`: the logarithms (base 2) of the factors that are allowed for.
const UNIT_LOG2: std::ops::RangeInclusive<i32> = -1..=8;

/// A class of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `log n`.
    Logarithm,
    /// `n log n`.
    Linearithmic,
    /// `n` to a power, in thousandths.
    Power(i32),
}

/// An exponent, with what it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubling {
    /// The class.
    pub class: Class,
    /// The last exponents, in thousandths, the one of the largest members last.
    pub exponents_milli: [i32; EXPONENTS],
    /// The largest member.
    pub n: u64,
}

impl Doubling {
    /// Where the exponents are going, in one word.
    pub fn trend(&self) -> &'static str {
        let [first, _, last] = self.exponents_milli;
        match last - first {
            ..-5 => "falling",
            -5..=5 => "steady",
            _ => "rising",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Class::Logarithm => f.write_str("log n"),
            Class::Linearithmic => f.write_str("n log n"),
            Class::Power(1000) => f.write_str("n"),
            Class::Power(milli) if milli % 1000 == 0 => write!(f, "n^{}", milli / 1000),
            Class::Power(milli) => {
                write!(f, "n^{}.{:02}", milli / 1000, (milli % 1000) / 10)
            }
        }
    }
}

/// The class of the members, from the largest one that was reached by doubling; none if its
/// exponents do not agree, or if the cost does not rise all the way.
pub fn infer(samples: &[Sample]) -> Option<Doubling> {
    let (n, costs) = samples
        .iter()
        .rev()
        .find_map(|largest| Some((largest.n, chain(samples, largest.n)?)))?;
    let mut steps = [0u128; EXPONENTS + 1];
    for (step, pair) in steps.iter_mut().zip(costs.windows(2)) {
        *step = u128::from(pair[1].checked_sub(pair[0]).filter(|step| *step > 0)?);
    }
    let mut exponents_milli = [0; EXPONENTS];
    for (exponent, pair) in exponents_milli.iter_mut().zip(steps.windows(2)) {
        *exponent = log2_milli(pair[1], pair[0]);
    }
    Some(Doubling {
        class: class(exponents_milli, n)?,
        exponents_milli,
        n,
    })
}

/// The costs of n/16, …, n/2, n, if all of them were measured.
fn chain(samples: &[Sample], n: u64) -> Option<[u64; EXPONENTS + 2]> {
    let mut costs = [0; EXPONENTS + 2];
    for (back, cost) in costs.iter_mut().rev().enumerate() {
        if !n.is_multiple_of(1 << back) {
            return None;
        }
        let wanted = n >> back;
        let at = samples
            .binary_search_by_key(&wanted, |sample| sample.n)
            .ok()?;
        *cost = samples[at].fuel;
    }
    Some(costs)
}

fn class(exponents: [i32; EXPONENTS], n: u64) -> Option<Class> {
    if is_linearithmic(exponents, n) {
        return Some(Class::Linearithmic);
    }
    let nearest = (exponents[EXPONENTS - 1] + 500).div_euclid(1000) * 1000;
    let is_near = |to: i32| exponents.iter().all(|e| (e - to).abs() <= TOLERANCE_MILLI);
    if is_near(nearest) {
        return match nearest {
            ..0 => None,
            0 => Some(Class::Logarithm),
            _ => Some(Class::Power(nearest)),
        };
    }
    let last = exponents[EXPONENTS - 1];
    (last > 0 && is_near(last)).then_some(Class::Power(last))
}

/// Do the exponents fall towards 1 as those of n·log(n·u) do? With L = log2(n·u) at the middle of
/// three points, that is 1 + log2((L + 2) / (L + 1)).
fn is_linearithmic(exponents: [i32; EXPONENTS], n: u64) -> bool {
    let expected = |back: usize, unit: i32| {
        let middle = n.ilog2() as i32 - 1 - back as i32;
        let above = (middle + unit + 1).max(1) as u128;
        1000 + log2_milli(above + 1, above)
    };
    exponents.is_sorted_by(|a, b| a > b)
        && exponents.iter().rev().enumerate().all(|(back, e)| {
            (expected(back, *UNIT_LOG2.end())..=expected(back, *UNIT_LOG2.start())).contains(e)
        })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "curves to be recognised")]
mod tests {
    use super::*;

    /// Costs at 64, 128, …, 16,384.
    fn doubled(f: impl Fn(f64) -> f64) -> Option<Doubling> {
        let sample = |power| Sample {
            n: 1u64 << power,
            fuel: f(f64::from(1u32 << power)).round() as u64,
        };
        infer(&(6..=14).map(sample).collect::<Vec<_>>())
    }

    #[test]
    fn classes_are_recognised_under_large_constants() {
        for (expected, found) in [
            ("log n", doubled(|n| 1e6 * n.log2() + 5e5)),
            ("n^0.50", doubled(|n| 1e6 * n.sqrt() + 1e8)),
            ("n", doubled(|n| 3.0 * n + 1e6)),
            ("n log n", doubled(|n| 3.0 * n * n.log2() + 200.0)),
            (
                "n log n",
                doubled(|n| 9.0 * (4.0 * n) * (4.0 * n).log2() + n),
            ),
            ("n^2", doubled(|n| n * n / 2.0 + 10.0 * n + 300.0)),
            ("n^2", doubled(|n| 50_000.0 + 0.003 * n * n)),
            ("n^1.50", doubled(|n| n.powf(1.5) + 100.0)),
            ("n^3", doubled(|n| n.powi(3))),
            ("n^1.58", doubled(|n| 40.0 * n.powf(3f64.log2()))),
        ] {
            let found = found.unwrap_or_else(|| panic!("{expected} was not recognised"));
            assert_eq!(found.class.to_string(), expected, "{found:?}");
        }
    }

    #[test]
    fn trends_are_named() {
        assert_eq!(doubled(|n| 3.0 * n * n.log2()).unwrap().trend(), "falling");
        assert_eq!(doubled(|n| n * n).unwrap().trend(), "steady");
        let slow = doubled(|n| n * n + 500.0 * n).unwrap();
        assert_eq!((slow.trend(), slow.n), ("rising", 16_384));
    }

    #[test]
    fn what_does_not_settle_has_no_class() {
        assert_eq!(doubled(|n| 1.01f64.powf(n / 8.0)), None);
        assert_eq!(doubled(|_| 7.0), None);
        assert_eq!(doubled(|n| 1e6 - n), None);
        assert_eq!(doubled(|n| n * (1.0 + n.log2() % 2.0)), None);
    }

    #[test]
    fn other_members_do_no_harm() {
        let sample = |n| Sample { n, fuel: n * n };
        let ns = (1..=20).chain([40, 80, 160, 159 + 160]);
        let found = infer(&ns.map(sample).collect::<Vec<_>>()).unwrap();
        assert_eq!((found.n, found.class), (160, Class::Power(2000)));
    }
}
