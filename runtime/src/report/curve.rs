//! The edges reached, by executions: few points of a long campaign.
//!
//! In: points as they come. Out: so many columns. It knows no width and no time.

/// Points that are kept; when there are twice as many, every other one goes. More than columns of most
/// terminals.
const POINTS_MAX: usize = 512;

/// Executions, and the edges that were reached until then; both ascend.
#[derive(Default)]
pub(super) struct Curve {
    points: Vec<(u64, u64)>,
    /// Of so many points that come, one is kept.
    every: u64,
    come: u64,
}

impl Curve {
    pub(super) fn add(&mut self, execs: u64, edges: u64) {
        self.every = self.every.max(1);
        if self.come.is_multiple_of(self.every) {
            self.points.push((execs, edges));
        } else if let Some(last) = self.points.last_mut() {
            // The last point is always of now.
            *last = (execs, edges);
        }
        self.come += 1;
        if self.points.len() >= 2 * POINTS_MAX {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                // The beginning stays.
                at == 1 || at % 2 == 0
            });
            self.every *= 2;
        }
    }

    /// Executions of the first point and of the last one.
    pub(super) fn range(&self) -> (u64, u64) {
        let execs = |point: Option<&(u64, u64)>| point.map_or(0, |point| point.0);
        (execs(self.points.first()), execs(self.points.last()))
    }

    /// The edges at the end of each of so many equal parts of the range; nothing without two points.
    pub(super) fn columns(&self, count: usize) -> Vec<u64> {
        let (first, last) = self.range();
        if first == last {
            return Vec::new();
        }
        let end_of = |n: usize| first + ((last - first) as u128 * n as u128 / count as u128) as u64;
        let edges_at = |execs| {
            let after = self.points.partition_point(|point| point.0 <= execs);
            self.points[after - 1].1
        };
        (1..=count).map(|n| edges_at(end_of(n))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_parts_of_the_range() {
        let mut curve = Curve::default();
        assert!(curve.columns(4).is_empty());
        curve.add(0, 1);
        assert!(curve.columns(4).is_empty());
        // Half of the executions in one step.
        for (execs, edges) in [(10, 2), (20, 5), (40, 9)] {
            curve.add(execs, edges);
        }
        assert_eq!(curve.columns(4), [2, 5, 5, 9]);
        assert_eq!(curve.columns(1), [9]);
    }

    #[test]
    fn a_long_campaign_keeps_few_points_and_the_last_one() {
        let mut curve = Curve::default();
        for n in 0..100_001 {
            curve.add(n, n);
        }
        assert!(curve.points.len() < 2 * POINTS_MAX);
        assert_eq!(curve.range(), (0, 100_000));
        let columns = curve.columns(10);
        for (column, expected) in columns.iter().zip((1..).map(|n| n * 10_000)) {
            assert!(column.abs_diff(expected) < 1_000, "{columns:?}");
        }
    }
}
