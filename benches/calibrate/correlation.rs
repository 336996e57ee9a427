//! How well one number predicts another.

/// What pairs of numbers say about each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Correlation {
    /// Share of the variance that a straight line explains: the square of Pearson's correlation.
    pub(crate) r2: f64,
    /// The same of logarithms: short and long runs count alike.
    pub(crate) r2_log: f64,
    /// Spearman's: Pearson's of ranks, ties at their mean.
    pub(crate) rho: f64,
    /// The factor by which the prediction `y = c x` misses at most, with the best `c`.
    pub(crate) misses: f64,
}

/// Of at least two pairs of positive numbers.
pub(crate) fn correlation(pairs: &[(f64, f64)]) -> Correlation {
    let of = |map: &dyn Fn(f64) -> f64| {
        let pairs: Vec<_> = pairs.iter().map(|(x, y)| (map(*x), map(*y))).collect();
        pearson(&pairs).powi(2)
    };
    let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let ranked: Vec<_> = ranks(&xs).into_iter().zip(ranks(&ys)).collect();
    let ratios = pairs.iter().map(|(x, y)| y / x);
    let (least, most) = ratios.fold((f64::MAX, 0.0f64), |(least, most), ratio| {
        (least.min(ratio), most.max(ratio))
    });
    Correlation {
        r2: of(&|x| x),
        r2_log: of(&f64::ln),
        rho: pearson(&ranked),
        misses: (most / least).sqrt(),
    }
}

fn pearson(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        let (x, y) = (x - mean_x, y - mean_y);
        (xy, xx, yy) = (xy + x * y, xx + x * x, yy + y * y);
    }
    xy / (xx * yy).sqrt()
}

/// Ranks from one, equal numbers at the mean of theirs.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = |number: &f64| {
        let below = sorted.partition_point(|other| other < number);
        let upto = sorted.partition_point(|other| other <= number);
        (below + upto + 1) as f64 / 2.0
    };
    numbers.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn proportional_numbers_correlate_wholly() {
        let found = correlation(&[(1.0, 2.0), (2.0, 4.0), (5.0, 10.0)]);
        assert!(close(found.r2, 1.0) && close(found.r2_log, 1.0) && close(found.rho, 1.0));
        assert!(close(found.misses, 1.0));
    }

    /// Anscombe's first data set has r = 0.81642 and, of ranks, 0.81818.
    #[test]
    fn agrees_with_published_figures() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [
            8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68,
        ];
        let pairs: Vec<_> = x.into_iter().zip(y).collect();
        assert!((pearson(&pairs) - 0.816_42).abs() < 1e-5);
        assert!((correlation(&pairs).rho - 0.818_18).abs() < 1e-5);
    }

    #[test]
    fn a_constant_that_stands_apart_is_missed_by_the_root_of_the_spread() {
        let found = correlation(&[(1.0, 1.0), (1.0, 4.0), (2.0, 4.0)]);
        assert!(close(found.misses, 2.0));
        assert_eq!(ranks(&[1.0, 1.0, 2.0]), [1.5, 1.5, 3.0]);
    }
}
