//! Statistics of two small samples: medians, and whether one tends to be larger.
//!
//! Fuzzing results are skewed and full of ties, so nothing here assumes a distribution: Mann and
//! Whitney, "On a test of whether one of two random variables is stochastically larger than the
//! other" (1947), and the effect size A12 of Vargha and Delaney, "A critique and improvement of
//! the CL common language effect size statistics" (2000).

use sandglass_engine::Rng;

/// What two samples say about each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Probability that a value of the first sample is greater than one of the second, ties
    /// counting half: 0.5 means no difference.
    pub a12: f64,
    /// Two-sided probability of a rank sum at least this far from the mean, if the samples came
    /// from one distribution.
    pub p: f64,
}

impl Contrast {
    /// How the tables mark what is significant: `**` below 0.01, `*` below 0.05.
    pub fn stars(&self) -> &'static str {
        match self.p {
            p if p < 0.01 => "**",
            p if p < 0.05 => "*",
            _ => "",
        }
    }
}

/// The Mann-Whitney test, exact with and without ties: midranks are dealt out in all possible
/// ways. Good for samples of up to about 30 each, beyond which counts of ways lose digits.
///
/// # Panics
/// When a sample is empty.
pub fn mann_whitney(first: &[u64], second: &[u64]) -> Contrast {
    let (m, n) = (first.len(), second.len());
    assert!(m > 0 && n > 0, "two samples of at least one value");
    let mut pooled = first.iter().chain(second).copied().collect::<Vec<_>>();
    pooled.sort_unstable();
    // Twice the mean rank of a value, so that all is in integers.
    let twice_rank = |value: u64| {
        let below = pooled.partition_point(|v| *v < value);
        let upto = pooled.partition_point(|v| *v <= value);
        below + 1 + upto
    };
    let ranks = pooled.iter().map(|v| twice_rank(*v)).collect::<Vec<_>>();
    let observed: usize = first.iter().map(|v| twice_rank(*v)).sum();
    let ways = ways_to_sum(&ranks, m);
    let mean = m * (m + n + 1);
    let all: f64 = ways.iter().sum();
    let as_far = ways
        .iter()
        .enumerate()
        .filter(|(sum, _)| sum.abs_diff(mean) >= observed.abs_diff(mean));
    let u = observed as f64 / 2.0 - (m * (m + 1)) as f64 / 2.0;
    Contrast {
        a12: u / (m * n) as f64,
        p: as_far.map(|(_, ways)| ways).sum::<f64>() / all,
    }
}

/// By sum: the number of ways to choose `count` of the ranks with that sum.
fn ways_to_sum(ranks: &[usize], count: usize) -> Vec<f64> {
    let sums = ranks.iter().sum::<usize>() + 1;
    let mut ways = vec![vec![0.0; sums]; count + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        for chosen in (0..count).rev() {
            for sum in (0..sums - rank).rev() {
                ways[chosen + 1][sum + rank] += ways[chosen][sum];
            }
        }
    }
    ways.swap_remove(count)
}

/// Probabilities of a family of tests, adjusted so that one false alarm among all of them is as likely as a
/// single test's: Holm, "A simple sequentially rejective multiple test procedure" (1979).
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}

/// An interval of 95 % for A12 of two samples: percentiles of 9,999 bootstrap samples, always the same ones. Samples
/// that are alike in every value, or apart in every value, have no width.
///
/// # Panics
/// When a sample is empty.
pub fn a12_interval(first: &[u64], second: &[u64]) -> [f64; 2] {
    const SAMPLES: usize = 9_999;
    let mut rng = Rng::new(1);
    let mut draw = |of: &[u64]| {
        (0..of.len())
            .map(|_| of[rng.index(of.len())])
            .collect::<Vec<_>>()
    };
    let mut all: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let (one, mut other) = (draw(first), draw(second));
            other.sort_unstable();
            // Twice the pairs won: what is below counts twice, ties once.
            let won = one.iter().map(|value| {
                other.partition_point(|v| v < value) + other.partition_point(|v| v <= value)
            });
            won.sum::<usize>() as f64 / (2 * first.len() * second.len()) as f64
        })
        .collect();
    all.sort_by(f64::total_cmp);
    [all[SAMPLES * 25 / 1000], all[SAMPLES * 975 / 1000]]
}

/// The median; the mean of the middle two of an even number.
///
/// # Panics
/// When there are no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}

/// An interval that holds the median with at least 95 % confidence, whatever the distribution: order
/// statistics, as far inside as the binomial distribution of signs allows. With fewer than six values
/// nothing does, and the interval is the whole range.
///
/// # Panics
/// When there are no values.
pub fn median_interval(values: &[f64]) -> [f64; 2] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // The median lies below the k-th smallest value with probability P(X < k), X of Bin(n, 1/2).
    let (mut below, mut ways, mut cut) = (0.0, 1.0, 0);
    let all = 2f64.powi(n as i32);
    for k in 0..n / 2 {
        below += ways / all;
        if below > 0.025 {
            break;
        }
        cut = k;
        ways *= (n - k) as f64 / (k + 1) as f64;
    }
    [sorted[cut], sorted[n - 1 - cut]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn holm_multiplies_by_what_is_left_and_never_falls() {
        let adjusted = holm(&[0.04, 0.01, 0.03, 0.9]);
        for (found, expected) in adjusted.iter().zip([0.09, 0.04, 0.09, 0.9]) {
            assert!(close(*found, expected), "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn intervals_hold_the_a12_and_shrink_with_ties() {
        let values = |from: u64| (from..from + 20).collect::<Vec<u64>>();
        assert_eq!(a12_interval(&values(30), &values(1)), [1.0, 1.0]);
        assert_eq!(a12_interval(&[3; 20], &[3; 20]), [0.5, 0.5]);
        // Level samples of twenty: by the normal approximation 0.5 ± 0.18.
        let [low, high] = a12_interval(&values(0), &values(0));
        assert!(
            (0.29..0.35).contains(&low) && (0.65..0.71).contains(&high),
            "{low} {high}"
        );
        let [low, high] = a12_interval(&values(4), &values(0));
        assert!(low < 0.68 && 0.68 < high);
    }

    #[test]
    fn separated_samples_have_the_smallest_possible_p() {
        // 2 of the C(10, 5) = 252 ways are as extreme.
        let contrast = mann_whitney(&[6, 7, 8, 9, 10], &[1, 2, 3, 4, 5]);
        assert!(close(contrast.a12, 1.0));
        assert!(close(contrast.p, 2.0 / 252.0));
        let contrast = mann_whitney(&[1, 2, 3, 4, 5], &[6, 7, 8, 9, 10]);
        assert!(close(contrast.a12, 0.0) && close(contrast.p, 2.0 / 252.0));
    }

    #[test]
    fn equal_samples_do_not_differ() {
        let contrast = mann_whitney(&[4, 4, 4], &[4, 4, 4]);
        assert!(close(contrast.a12, 0.5) && close(contrast.p, 1.0));
    }

    #[test]
    fn ties_count_half() {
        // Ranks 1, 2.5, 2.5, 4; sums of two: 3.5 3.5 5 5 6.5 6.5, mean 5, observed 3.5.
        let contrast = mann_whitney(&[1, 2], &[2, 3]);
        assert!(close(contrast.a12, 0.125));
        assert!(close(contrast.p, 4.0 / 6.0));
    }

    #[test]
    fn agrees_with_a_published_table() {
        // Two-sided 5 % critical value of U for samples of 10 and 10 is 23 (Mann and Whitney's
        // distribution): 23 is within 5 %, 24 is not.
        let with_u = |u: u64| {
            let second = (1..=10).map(|i| i * 100).collect::<Vec<_>>();
            // `u` pairs in which the first is greater: two whole tens and the rest.
            let mut first = (50..60).collect::<Vec<_>>();
            first[0] = 2000;
            first[1] = 1500;
            first[2] = (u - 20) * 100 + 50;
            mann_whitney(&first, &second)
        };
        assert!(close(with_u(23).a12, 0.23) && with_u(23).p < 0.05);
        assert!(close(with_u(24).a12, 0.24) && with_u(24).p > 0.05);
    }

    #[test]
    fn medians() {
        assert!(close(median(&[3.0, 1.0, 2.0]), 2.0));
        assert!(close(median(&[4.0, 1.0, 2.0, 3.0]), 2.5));
    }

    /// Known ranks: 10 values, 2nd and 9th (97.9 %); 20 values, 6th and 15th (95.9 %).
    #[test]
    fn intervals_of_the_median() {
        let ranks = |n: u32| median_interval(&(1..=n).map(f64::from).collect::<Vec<_>>());
        assert_eq!(ranks(10), [2.0, 9.0]);
        assert_eq!(ranks(20), [6.0, 15.0]);
        assert_eq!(ranks(6), [1.0, 6.0]);
        assert_eq!(ranks(1), [1.0, 1.0]);
    }
}
