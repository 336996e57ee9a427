//! The law of discovery that a measured curve speaks for, and curves with what seeds differ by.

use super::{Model, play};

/// Curves of so many seeds are looked at together: one alone says little.
pub const SEEDS: u64 = 9;

/// How many goals had been found at each of `times`: the median of [`SEEDS`] seeds, and the least and the most.
pub fn curves(model: &Model, times: &[f64]) -> Vec<[usize; 3]> {
    let until = times.iter().copied().fold(0.0, f64::max);
    let curves: Vec<Vec<usize>> = (0..SEEDS)
        .map(|n| {
            let seed = model.seed.wrapping_add(n);
            let model = Model {
                seed,
                until,
                ..model.clone()
            };
            play(&model, times).curve
        })
        .collect();
    let at = |place: usize| {
        let mut found: Vec<usize> = curves.iter().map(|curve| curve[place]).collect();
        found.sort_unstable();
        [found[found.len() / 2], found[0], found[found.len() - 1]]
    };
    (0..times.len()).map(at).collect()
}

/// The model whose one worker finds as many goals at these times (seconds, goals) as was measured: the
/// nearest of a grid over the number of goals, those without a parent, and their probabilities.
///
/// The distance is the sum of squares of differences, each over what was measured. What it says about
/// more executions than were measured is a guess: four workers can be foretold for a quarter of the time.
/// `None` without points.
pub fn calibrate(model: &Model, measured: &[(f64, usize)]) -> Option<Model> {
    let most = measured.iter().map(|(_, found)| *found).max()?;
    let times: Vec<f64> = measured.iter().map(|(time, _)| *time).collect();
    let mut best: Option<(f64, Model)> = None;
    for tried in grid(model, most.max(1)) {
        let found = curves(&tried, &times);
        let pairs = found.iter().zip(measured);
        let distance: f64 = pairs
            .map(|([median, ..], (_, measured))| {
                let difference = *median as f64 - *measured as f64;
                difference * difference / (*measured as f64 + 1.0)
            })
            .sum();
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, tried));
        }
    }
    best.map(|(_, model)| model)
}

fn grid(model: &Model, most: usize) -> Vec<Model> {
    let mut grid = Vec::new();
    for percent in [100, 120, 150, 200, 300] {
        let goals = (most * percent).div_ceil(100);
        for roots in [goals.div_ceil(20), goals.div_ceil(5), goals.div_ceil(2)] {
            for half_decades in 2..=10 {
                for further in 2..=12 {
                    let p_most = 10f64.powf(f64::from(half_decades) / -2.0);
                    grid.push(Model {
                        workers: 1,
                        goals,
                        roots,
                        p_most,
                        p_least: p_most * 10f64.powf(f64::from(further) / -2.0),
                        ..model.clone()
                    });
                }
            }
        }
    }
    grid
}
