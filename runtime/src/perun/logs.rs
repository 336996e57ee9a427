//! Perun's logs: the table of results, and how degradations and cost rose with time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Parent;
use crate::page::chart::{Axis, Chart, file};

/// The cost that ratios are taken to: the median of the seeds, of an even number the mean of the two in the
/// middle; 1 if that is 0.
pub(super) fn base(parents: &BTreeMap<u32, Parent>) -> u64 {
    let seeds = parents
        .values()
        .filter(|parent| parent.kept.reason == "seed");
    let mut costs: Vec<u64> = seeds.map(|parent| parent.fuel).collect();
    costs.sort_unstable();
    let at = costs.len() / 2;
    let median = match costs.len() % 2 {
        0 if costs.is_empty() => 0,
        0 => costs[at - 1].midpoint(costs[at]),
        _ => costs[at],
    };
    median.max(1)
}

/// Cost over that of the base, and the share of degradations.
fn ratios(parent: &Parent, base: u64) -> (f64, f64) {
    let made = parent.kept.made_by.as_ref();
    let share = made.map_or(0.0, |made| {
        f64::from(made.degraded[0]) / f64::from(made.degraded[1].max(1))
    });
    (parent.fuel as f64 / base as f64, share)
}

/// `results_data.txt`: a line for each parent, the fittest last: fitness, cost over that of the base, share of degradations,
/// path, rules; then hangs and faults with path and rules.
pub(super) struct Results {
    base: u64,
    /// Whether cost counts for fitness.
    has_gate: bool,
    parents: Vec<(f64, u32, String)>,
    broken: BTreeMap<&'static str, Vec<String>>,
}

impl Results {
    pub(super) fn new(base: u64, has_gate: bool) -> Results {
        Results {
            base,
            has_gate,
            parents: Vec::new(),
            broken: BTreeMap::new(),
        }
    }

    pub(super) fn parent(&mut self, parent: &Parent, name: &str, history: &[String]) {
        let (ratio, share) = ratios(parent, self.base);
        let fitness = match self.has_gate {
            true => ratio * (1.0 + share),
            false => share,
        };
        let rules = history.join(", ");
        let line = format!("{fitness:.6} {ratio:.6} {share:.6} {name} [{rules}]");
        self.parents.push((fitness, parent.kept.id, line));
    }

    pub(super) fn broken(&mut self, folder: &'static str, name: &str, history: &[String]) {
        let line = format!("{folder}/{name} [{}]", history.join(", "));
        self.broken.entry(folder).or_default().push(line);
    }

    pub(super) fn text(mut self) -> String {
        self.parents
            .sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut text = String::new();
        for (_, _, line) in &self.parents {
            let _ = writeln!(text, "{line}");
        }
        for (title, folder) in [("Hangs:", "hangs"), ("Faults:", "faults")] {
            let _ = writeln!(text, "{title}");
            for line in self.broken.remove(folder).unwrap_or_default() {
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }
}

/// A value at whole seconds; of a run of equal values the first and the last.
#[derive(Debug, PartialEq)]
pub(super) struct Series {
    points: Vec<(u64, f64)>,
}

/// The number of degradations, and the greatest cost over that of the base, over time, until the campaign's end.
pub(super) fn series(parents: &BTreeMap<u32, Parent>, base: u64, end_ms: u64) -> (Series, Series) {
    let mut by_time: Vec<&Parent> = parents.values().collect();
    by_time.sort_by_key(|parent| (parent.kept.elapsed_ms, parent.kept.id));
    let (mut degradations, mut most) = (0.0, 0.0f64);
    let (mut counts, mut costs) = (vec![(0, 0.0)], vec![(0, 0.0)]);
    for parent in by_time {
        let (ratio, share) = ratios(parent, base);
        degradations += f64::from(u8::from(share > 0.0));
        most = most.max(ratio);
        // What happened within a second is seen at its end.
        let second = parent.kept.elapsed_ms.div_ceil(1000);
        counts.push((second, degradations));
        costs.push((second, most));
    }
    let end = end_ms.div_ceil(1000).max(counts[counts.len() - 1].0);
    counts.push((end, degradations));
    costs.push((end, most));
    (Series::new(counts), Series::new(costs))
}

impl Series {
    /// Of values that change at these seconds, which ascend; of one second the last counts.
    fn new(changes: Vec<(u64, f64)>) -> Series {
        let mut points: Vec<(u64, f64)> = Vec::new();
        for (at, (second, value)) in changes.iter().enumerate() {
            if changes.get(at + 1).is_some_and(|next| next.0 == *second) {
                continue;
            }
            match points.last() {
                Some(&(_, last)) if last == *value && at + 1 < changes.len() => continue,
                // The run before ends a second earlier.
                Some(&(from, last)) if last != *value && from + 1 < *second => {
                    points.push((second - 1, last));
                }
                _ => {}
            }
            points.push((*second, *value));
        }
        Series { points }
    }

    /// Two columns: seconds and value.
    pub(super) fn text(&self) -> String {
        let line = |(second, value): &(u64, f64)| format!("{second} {value:.6}\n");
        self.points.iter().map(line).collect()
    }

    /// The curve with its quartiles: where each is first reached, the median's in red.
    pub(super) fn graph(&self, label: &'static str) -> String {
        let points: Vec<(f64, f64)> = self.points.iter().map(|(x, y)| (*x as f64, *y)).collect();
        let until = points.last().map_or(0.0, |point| point.0);
        let x = Axis::linear("seconds", [until].into_iter());
        let y = Axis::linear(label, points.iter().map(|point| point.1));
        let mut chart = Chart::new(x, y);
        for (value, is_median) in self.quartiles() {
            let reached = points.iter().find(|point| point.1 >= value);
            if let Some((x, _)) = reached {
                chart.quartile((*x, value), is_median);
            }
        }
        chart.steps(&points, until);
        file(&chart.svg(label))
    }

    /// Quartiles of the values, plotting positions with alpha = beta = 0.4, cut to whole numbers; whether it is
    /// the median.
    fn quartiles(&self) -> [(f64, bool); 3] {
        let mut values: Vec<f64> = self.points.iter().map(|point| point.1).collect();
        values.sort_by(f64::total_cmp);
        [0.25, 0.5, 0.75].map(|p| (quantile(&values, p).trunc(), p == 0.5))
    }
}

/// A quantile of sorted values, as Hyndman and Fan define those of plotting positions.
fn quantile(values: &[f64], p: f64) -> f64 {
    let n = values.len() as f64;
    let at = (n * p + 0.4 + 0.2 * p).clamp(1.0, (n - 1.0).max(1.0));
    let low = (at.floor() as usize - 1).min(values.len().saturating_sub(1));
    let high = (low + 1).min(values.len().saturating_sub(1));
    let part = (n * p + 0.4 + 0.2 * p - at.floor()).clamp(0.0, 1.0);
    match values {
        [] => 0.0,
        values => (1.0 - part) * values[low] + part * values[high],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_the_first_and_the_last() {
        let series = Series::new(vec![
            (0, 0.0),
            (2, 1.0),
            (2, 2.0),
            (3, 2.0),
            (7, 2.0),
            (9, 5.0),
        ]);
        assert_eq!(
            series.points,
            [(0, 0.0), (1, 0.0), (2, 2.0), (8, 2.0), (9, 5.0)]
        );
        assert_eq!(series.text().lines().next(), Some("0 0.000000"));
        let constant = Series::new(vec![(0, 0.0), (5, 0.0), (8, 0.0)]);
        assert_eq!(constant.points, [(0, 0.0), (8, 0.0)]);
    }

    /// The values of scipy's `mquantiles` for the same numbers.
    #[test]
    fn quantiles_are_those_of_plotting_positions() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let found = [0.25, 0.5, 0.75].map(|p| quantile(&values, p));
        for (found, expected) in found.into_iter().zip([2.95, 5.5, 8.05]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        assert_eq!(quantile(&[3.0], 0.5), 3.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_graph_is_a_file_of_its_own() {
        let graph = Series::new(vec![(0, 0.0), (4, 3.0)]).graph("coverage");
        assert!(graph.starts_with("<svg xmlns="), "{graph}");
        assert!(graph.contains("<style>") && graph.contains("class=\"step\""));
        assert!(graph.contains("class=\"quartile median\""), "{graph}");
    }
}
