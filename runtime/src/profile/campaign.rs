//! What a campaign's log says about how cost and coverage grew.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use sandglass_engine::guidance::OperatorRecord;

use super::Run;
use crate::event;
use crate::report::log::{self, Log};

/// A campaign in numbers, as of executions.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Guidance and seed, in words.
    pub title: String,
    /// Executions, and the greatest fuel of an input that was kept until then.
    pub fuel: Vec<(u64, u64)>,
    /// Executions, and the edges that were reached until then.
    pub edges: Vec<(u64, u64)>,
    /// Why inputs were kept: how many, edges that they were first to reach, and their greatest fuel.
    pub reasons: BTreeMap<String, Kept>,
    /// What the guidance's operators or rules had led to at the end.
    pub operators: Vec<OperatorRecord>,
    /// The costliest input that was kept, unless that is a seed.
    pub costliest: Option<Costliest>,
    /// Executions in all.
    pub execs: u64,
    /// Is the log longer than what was read of it?
    pub is_cut: bool,
}

impl Campaign {
    /// Its curves, by name.
    pub fn curves(&self) -> [(&'static str, &[(u64, u64)]); 2] {
        [("fuel", &self.fuel), ("edges", &self.edges)]
    }
}

/// Where a curve first reaches the quartiles of its values: its points a quarter, half and three quarters along it.
pub fn quartiles(points: &[(u64, u64)]) -> Option<[(u64, u64); 3]> {
    let last = points.len().checked_sub(1)?;
    let at = |quarter: usize| points[(points.len() * quarter / 4).min(last)];
    Some([1, 2, 3].map(at))
}

/// Inputs that were kept for one reason.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// How many.
    pub inputs: u64,
    /// Edges that they were first to reach.
    pub new_edges: u64,
    /// Fuel of the costliest of them.
    pub fuel_max: u64,
}

/// An input and the seed to hold it against.
#[derive(Clone, Debug)]
pub struct Costliest {
    /// Its file in `corpus/`.
    pub file: String,
    /// The file of the seed that it was made of, if its guidance tells; else of the costliest seed.
    pub seed: String,
    /// The rules that made it of the seed, in their order, if its guidance tells.
    pub rules: Vec<String>,
}

/// The costliest of those whose fuel is known, the first of several.
fn costliest(log: &Log, fuel: impl Fn(&event::Kept) -> Option<u64>) -> Option<Costliest> {
    let most = |is_wanted: &dyn Fn(&event::Kept) -> bool| {
        let known = log.kept.values().filter(|kept| is_wanted(kept));
        known
            .filter_map(|kept| Some((fuel(kept)?, kept)))
            .max_by_key(|(fuel, kept)| (*fuel, std::cmp::Reverse(kept.id)))
            .map(|(_, kept)| kept)
    };
    let is_seed = |kept: &event::Kept| kept.reason == "seed";
    let of = most(&|_| true).filter(|kept| !is_seed(kept))?;
    let (root, rules) = log::lineage(of.made_by.as_ref(), |id| log.kept.get(&id));
    let seed = root.or_else(|| most(&is_seed))?;
    Some(Costliest {
        file: of.file.clone(),
        seed: seed.file.clone(),
        rules,
    })
}

/// Reads the log of a campaign whose corpus was run; `None` when the folder is not that of one.
pub fn campaign(folder: &Path, runs: &[Run]) -> Result<Option<Campaign>> {
    let Some(log) = log::read(folder)? else {
        return Ok(None);
    };
    let name = |run: &Run| {
        Path::new(&run.name)
            .file_name()
            .map(std::ffi::OsStr::to_owned)
    };
    let fuel: BTreeMap<_, u64> = runs
        .iter()
        .filter_map(|run| Some((name(run)?, run.fuel)))
        .collect();
    let fuel = |kept: &event::Kept| fuel.get(std::ffi::OsStr::new(&kept.file)).copied();
    let mut campaign = Campaign {
        costliest: costliest(&log, fuel),
        is_cut: log.is_cut,
        title: match &log.start {
            Some(start) => format!("{}, seed {}", start.guidance, start.seed),
            None => String::new(),
        },
        edges: log.edges(),
        execs: log.execs,
        ..Campaign::default()
    };
    if let Some(summary) = log.summary {
        campaign.operators = summary.operators;
    }
    let mut most = 0;
    for kept in log.kept.into_values() {
        let fuel = fuel(&kept);
        let reason = campaign.reasons.entry(kept.reason).or_default();
        reason.inputs += 1;
        reason.new_edges = reason.new_edges.saturating_add(kept.new_edges);
        let Some(fuel) = fuel else {
            continue;
        };
        reason.fuel_max = reason.fuel_max.max(fuel);
        if fuel > most {
            most = fuel;
            campaign.fuel.push((kept.trial.saturating_add(1), most));
        }
    }
    Ok(Some(campaign))
}

#[cfg(test)]
mod tests {
    use super::quartiles;

    #[test]
    fn quartiles_are_points_of_the_curve() {
        let points: Vec<(u64, u64)> = (0..8).map(|n| (n * n, n)).collect();
        assert_eq!(quartiles(&points), Some([(4, 2), (16, 4), (36, 6)]));
        assert_eq!(quartiles(&points[1..2]), Some([(1, 1); 3]));
        assert_eq!(quartiles(&[]), None);
    }
}
