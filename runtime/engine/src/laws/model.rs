//! The last tier: the curve that predicts the largest member best. A report, not a law.
//!
//! Each curve is c = a + b·g(n) with a free intercept, fitted by least squares of the *relative*
//! error to all members but the largest; the one whose extrapolation is closest wins, ties go to the
//! smaller AICc (specification §2.7). R², which is high for every rising curve, is not looked at.
//! This is the one file of laws that computes in floats.
#![expect(
    clippy::disallowed_methods,
    reason = "a report: no law, campaign or finding depends on it"
)]

use std::cmp::Ordering;
use std::fmt;

use super::Sample;

/// Members needed: two parameters, a check, and two to spare.
const SAMPLES_MIN: usize = 5;

/// A curve that misses the largest member by more than a third of its fuel says nothing, and neither
/// does one that misses by as much on average where it was fitted. By trying: work that is capped
/// gets no curve, work with a noisy allocator does.
const ERROR_MAX: f64 = 1.0 / 3.0;

/// Relative errors closer than this are a tie.
const TIE: f64 = 1e-9;

/// Exponents and bases that are tried, in hundredths.
const POWERS_CENTI: std::ops::RangeInclusive<u32> = 10..=600;
const BASES_CENTI: std::ops::RangeInclusive<u32> = 101..=400;

/// A curve without its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    /// `1`
    Constant,
    /// `log n`
    Logarithm,
    /// `sqrt n`
    Root,
    /// `n`
    Linear,
    /// `n log n`
    Linearithmic,
    /// `n^1.5`
    ThreeHalves,
    /// `n^2`
    Quadratic,
    /// `n^2 log n`
    QuadraticLogarithm,
    /// `n^3`
    Cubic,
    /// `n` to a fitted power.
    Power(f64),
    /// A fitted base to the power of `n`.
    Exponential(f64),
}

/// A fitted curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The curve.
    pub curve: Curve,
    /// By how much it misses the largest member, as a part of that.
    pub error: f64,
    aicc: f64,
}

/// The best curve, and how much better it is than the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// The curve that extrapolates best.
    pub best: Fit,
    /// The second.
    pub next: Option<Fit>,
    /// The largest member.
    pub n: u64,
}

impl Curve {
    fn at(self, n: f64) -> f64 {
        match self {
            Curve::Constant => 0.0,
            Curve::Logarithm => n.ln(),
            Curve::Root => n.sqrt(),
            Curve::Linear => n,
            Curve::Linearithmic => n * n.ln(),
            Curve::ThreeHalves => n.powf(1.5),
            Curve::Quadratic => n * n,
            Curve::QuadraticLogarithm => n * n * n.ln(),
            Curve::Cubic => n.powi(3),
            Curve::Power(power) => n.powf(power),
            Curve::Exponential(base) => base.powf(n),
        }
    }

    /// Numbers that are fitted.
    fn parameters(self) -> f64 {
        match self {
            Curve::Constant => 1.0,
            Curve::Power(_) | Curve::Exponential(_) => 3.0,
            _ => 2.0,
        }
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Curve::Constant => f.write_str("1"),
            Curve::Logarithm => f.write_str("log n"),
            Curve::Root => f.write_str("sqrt n"),
            Curve::Linear => f.write_str("n"),
            Curve::Linearithmic => f.write_str("n log n"),
            Curve::ThreeHalves => f.write_str("n^1.5"),
            Curve::Quadratic => f.write_str("n^2"),
            Curve::QuadraticLogarithm => f.write_str("n^2 log n"),
            Curve::Cubic => f.write_str("n^3"),
            Curve::Power(power) => write!(f, "n^{power:.2}"),
            Curve::Exponential(base) => write!(f, "{base:.2}^n"),
        }
    }
}

/// The curve that extrapolates best to the largest member; none if there are too few, if they all
/// cost the same, or if every curve misses by far.
pub fn infer(samples: &[Sample]) -> Option<Model> {
    // Neither a logarithm of 0 nor a relative error of 0 exists.
    let points: Vec<(f64, f64)> = samples
        .iter()
        .filter(|sample| sample.n > 0 && sample.fuel > 0)
        .map(|sample| (sample.n as f64, sample.fuel as f64))
        .collect();
    let (largest, smaller) = points.split_last()?;
    if points.len() < SAMPLES_MIN || smaller.iter().all(|(_, fuel)| *fuel == largest.1) {
        return None;
    }
    let near = smaller.partition_point(|(n, _)| *n <= largest.0 * 0.75);
    let rest = &smaller[..near.max(SAMPLES_MIN - 1)];
    let fixed = [
        Curve::Constant,
        Curve::Logarithm,
        Curve::Root,
        Curve::Linear,
        Curve::Linearithmic,
        Curve::ThreeHalves,
        Curve::Quadratic,
        Curve::QuadraticLogarithm,
        Curve::Cubic,
    ];
    let mut fits: Vec<Fit> = fixed
        .into_iter()
        .filter_map(|curve| Some(fit(curve, rest, *largest)?.0))
        .collect();
    let powers = POWERS_CENTI.map(|centi| Curve::Power(f64::from(centi) / 100.0));
    fits.extend(best_of(powers, rest, *largest));
    let bases = BASES_CENTI.map(|centi| Curve::Exponential(f64::from(centi) / 100.0));
    fits.extend(best_of(bases, rest, *largest));
    fits.sort_by(compare);
    let best = *fits.first().filter(|best| best.error <= ERROR_MAX)?;
    Some(Model {
        best,
        next: fits.get(1).copied(),
        n: largest.0 as u64,
    })
}

fn compare(a: &Fit, b: &Fit) -> Ordering {
    if (a.error - b.error).abs() <= TIE {
        a.aicc.total_cmp(&b.aicc)
    } else {
        a.error.total_cmp(&b.error)
    }
}

/// Of curves with a parameter, the one that fits the points best; the largest has no say. None if
/// that is the first or the last one: then the best one was not tried.
fn best_of(
    curves: impl Iterator<Item = Curve>,
    points: &[(f64, f64)],
    largest: (f64, f64),
) -> Option<Fit> {
    let fits: Vec<Option<(Fit, f64)>> = curves.map(|curve| fit(curve, points, largest)).collect();
    let squares = |at: &usize| fits[*at].map_or(f64::INFINITY, |(_, squares)| squares);
    let best = (0..fits.len()).min_by(|a, b| squares(a).total_cmp(&squares(b)))?;
    let is_inside = best > 0 && best + 1 < fits.len();
    fits[best].filter(|_| is_inside).map(|(fit, _)| fit)
}

/// Fits a curve; the second number is the sum of its squared relative errors. None if it would have
/// to fall, or leaves the range of floats.
fn fit(curve: Curve, points: &[(f64, f64)], largest: (f64, f64)) -> Option<(Fit, f64)> {
    // In units of the curve's value at the largest member, or sums of cubes and powers would cancel.
    let unit = curve.at(largest.0);
    let unit = if unit == 0.0 { 1.0 } else { unit };
    let value = |n: f64| curve.at(n) / unit;
    let (mut w, mut wg, mut wgg, mut wc, mut wgc) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (n, cost) in points {
        let (g, weight) = (value(*n), 1.0 / (cost * cost));
        w += weight;
        wg += weight * g;
        wgg += weight * g * g;
        wc += weight * cost;
        wgc += weight * g * cost;
    }
    let determinant = w * wgg - wg * wg;
    let (a, b) = if curve == Curve::Constant {
        (wc / w, 0.0)
    } else {
        (
            (wc * wgg - wg * wgc) / determinant,
            (w * wgc - wg * wc) / determinant,
        )
    };
    if !a.is_finite() || !b.is_finite() || (b <= 0.0 && curve != Curve::Constant) {
        return None;
    }
    let squares: f64 = points
        .iter()
        .map(|(n, cost)| ((a + b * value(*n)) / cost - 1.0).powi(2))
        .sum();
    let error = ((a + b * value(largest.0)) / largest.1 - 1.0).abs();
    let (count, parameters) = (points.len() as f64, curve.parameters());
    // The correction for few points needs more of them than parameters.
    let correction =
        2.0 * parameters * (parameters + 1.0) / (count - parameters - 1.0).max(f64::MIN_POSITIVE);
    let aicc = count * (squares / count).max(f64::MIN_POSITIVE).ln() + 2.0 * parameters;
    let fit = Fit {
        curve,
        error,
        aicc: aicc + correction,
    };
    let is_near = error.is_finite() && squares <= count * ERROR_MAX * ERROR_MAX;
    is_near.then_some((fit, squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(f: impl Fn(f64) -> f64) -> String {
        let sample = |power| Sample {
            n: 1u64 << power,
            fuel: f(f64::from(1u32 << power)).round() as u64,
        };
        let samples: Vec<Sample> = (6..=13).map(sample).collect();
        infer(&samples).unwrap().best.curve.to_string()
    }

    /// The four curves on which the largest R² is wrong (specification §2.6).
    #[test]
    fn curves_that_deceive_correlation() {
        assert_eq!(best(|n| 3.0 * n * n.log2() + 200.0), "n log n");
        assert_eq!(best(|n| n * n / 2.0 + 300.0), "n^2");
        assert_eq!(best(|n| n.powf(1.5) * 9.0 + 100.0), "n^1.5");
        assert_eq!(best(|n| 50_000.0 + 0.003 * n * n), "n^2");
    }

    #[test]
    fn exponentials_are_told_from_powers() {
        let sample = |n| Sample {
            n,
            fuel: (1000.0 * 1.3f64.powf(n as f64)) as u64 + 7_777,
        };
        let model = infer(&(1..=40).map(sample).collect::<Vec<_>>()).unwrap();
        assert_eq!(model.best.curve.to_string(), "1.30^n");
        assert!(model.best.error < 1e-3);
        assert!(model.next.unwrap().error > 10.0 * model.best.error);
    }

    #[test]
    fn too_little_to_say_anything() {
        let sample = |n| Sample { n, fuel: 10 * n };
        assert_eq!(infer(&(1..=4).map(sample).collect::<Vec<_>>()), None);
        let flat = |n| Sample { n, fuel: 10 };
        assert_eq!(infer(&(1..=9).map(flat).collect::<Vec<_>>()), None);
        assert_eq!(infer(&[]), None);
    }

    /// Work that is capped: no exponential of a base next to 1 is to be seen in a flat end.
    #[test]
    fn a_flat_end_is_no_exponential() {
        let ns = (1..=64).chain((7..=14).flat_map(|power| [(1 << power) - 1, 1 << power]));
        let samples: Vec<Sample> = ns
            .map(|n: u64| Sample {
                n,
                fuel: 10_000 + 16 * n.min(8_000),
            })
            .collect();
        let curve = infer(&samples).map(|model| model.best.curve);
        assert!(
            !matches!(curve, Some(Curve::Exponential(_))),
            "{curve:?} of {samples:?}"
        );
    }

    #[test]
    fn a_jump_at_the_end_is_beyond_every_curve() {
        let sample = |n| Sample {
            n,
            fuel: if n == 9 { 1_000_000 } else { 100 + n % 2 },
        };
        assert_eq!(infer(&(1..=9).map(sample).collect::<Vec<_>>()), None);
    }
}
