//! What a campaign's log says about how cost and coverage grew.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Result;
use sandglass_engine::guidance::OperatorRecord;

use super::Run;
use crate::error::io;
use crate::event::Event;

/// Bytes of a log that are read: some million events. Of a longer one the beginning.
pub(crate) const LOG_BYTES_MAX: u64 = 256 << 20;

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
    /// Executions in all.
    pub execs: u64,
    /// Is the log longer than what was read of it?
    pub is_cut: bool,
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

/// Reads the log of a campaign whose corpus was run; `None` when the folder is not that of one.
pub fn campaign(folder: &Path, runs: &[Run]) -> Result<Option<Campaign>> {
    let log = folder.join("events.jsonl");
    if !log.is_file() {
        return Ok(None);
    }
    let (bytes, is_cut) = beginning(&log, LOG_BYTES_MAX)?;
    let name = |run: &Run| {
        Path::new(&run.name)
            .file_name()
            .map(std::ffi::OsStr::to_owned)
    };
    let fuel: BTreeMap<_, u64> = runs
        .iter()
        .filter_map(|run| Some((name(run)?, run.fuel)))
        .collect();
    let mut campaign = Campaign {
        is_cut,
        ..Campaign::default()
    };
    let mut all = BTreeMap::new();
    let mut edges = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        // The last line may be cut short, and later versions may say more.
        let Ok(event) = serde_json::from_slice::<Event>(line) else {
            continue;
        };
        match event {
            Event::Start(start) => {
                campaign.title = format!("{}, seed {}", start.guidance, start.seed);
            }
            Event::Kept(kept) => {
                let execs = kept.trial.saturating_add(1);
                campaign.execs = campaign.execs.max(execs);
                if kept.new_edges > 0 {
                    edges = u64::saturating_add(edges, kept.new_edges);
                    campaign.edges.push((execs, edges));
                }
                all.insert(kept.id, kept);
            }
            // It has another name from now on.
            Event::Trimmed(trimmed) => {
                if let Some(kept) = all.get_mut(&trimmed.id) {
                    kept.file = trimmed.file;
                }
            }
            Event::Summary(summary) => {
                campaign.execs = campaign.execs.max(summary.counters.execs);
                campaign.operators = summary.operators;
            }
            _ => {}
        }
    }
    let mut most = 0;
    for kept in all.into_values() {
        let reason = campaign.reasons.entry(kept.reason).or_default();
        reason.inputs += 1;
        reason.new_edges = reason.new_edges.saturating_add(kept.new_edges);
        let Some(fuel) = fuel.get(std::ffi::OsStr::new(&kept.file)) else {
            continue;
        };
        reason.fuel_max = reason.fuel_max.max(*fuel);
        if *fuel > most {
            most = *fuel;
            campaign.fuel.push((kept.trial.saturating_add(1), most));
        }
    }
    Ok(Some(campaign))
}

/// At most so many bytes of a file, and whether there are more.
pub(crate) fn beginning(path: &Path, bytes_max: u64) -> Result<(Vec<u8>, bool)> {
    let file = File::open(path).map_err(|e| io(path, "read", &e))?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| io(path, "read", &e))?;
    let is_cut = bytes.len() as u64 > bytes_max;
    bytes.truncate(bytes_max as usize);
    Ok((bytes, is_cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_log_the_beginning_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "0123456789").expect("writes");
        let read = |most| beginning(&path, most).expect("reads");
        assert_eq!(read(10), (b"0123456789".to_vec(), false));
        assert_eq!(read(9), (b"012345678".to_vec(), true));
        // A line that was cut is no event, as one that was never finished.
        let campaign = campaign(folder.path(), &[]).expect("reads").expect("a log");
        assert!(!campaign.is_cut && campaign.execs == 0);
    }
}
