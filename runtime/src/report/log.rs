//! What a campaign's log says: `events.jsonl`, read back as a whole.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use crate::event::{Event, Finding, Kept, Slow, Start, Summary};
use crate::inputs::read_file;

/// Bytes of a log that is read: some million events.
const LOG_BYTES_MAX: u64 = 256 << 20;

/// The events that a log keeps, put together.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// How it began; `None` if the log was cut off before that.
    pub start: Option<Start>,
    /// Inputs that were kept, under the names that they have now, by their numbers.
    pub kept: BTreeMap<u32, Kept>,
    /// Bugs, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// Slow inputs, in the order in which they were found.
    pub slow: Vec<Slow>,
    /// The end of the latest session that had one.
    pub summary: Option<Box<Summary>>,
    /// Executions that it tells of.
    pub execs: u64,
}

/// Reads the log of a campaign; `None` when the folder is not that of one.
pub fn read(folder: &Path) -> Result<Option<Log>> {
    let path = folder.join("events.jsonl");
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = read_file(&path, LOG_BYTES_MAX)?;
    let mut log = Log::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        // The last line may be cut short, and later versions may say more.
        if let Ok(event) = serde_json::from_slice::<Event>(line) {
            log.add(event);
        }
    }
    Ok(Some(log))
}

impl Log {
    fn add(&mut self, event: Event) {
        match event {
            Event::Start(start) => self.start = Some(start),
            Event::Kept(kept) => {
                self.ran(kept.trial);
                self.kept.insert(kept.id, kept);
            }
            // It has another name from now on.
            Event::Trimmed(trimmed) => {
                if let Some(kept) = self.kept.get_mut(&trimmed.id) {
                    kept.file = trimmed.file;
                    kept.bytes = trimmed.bytes;
                }
            }
            Event::Finding(finding) => {
                self.ran(finding.trial);
                self.findings.push(finding);
            }
            Event::Slow(slow) => {
                self.ran(slow.trial);
                self.slow.push(slow);
            }
            Event::Summary(summary) => {
                self.execs = self.execs.max(summary.counters.execs);
                self.summary = Some(summary);
            }
            Event::Resumed(_) | Event::Pulse(_) | Event::Checkpoint(_) | Event::Warning(_) => {}
        }
    }

    fn ran(&mut self, trial: u64) {
        self.execs = self.execs.max(trial.saturating_add(1));
    }

    /// Executions, and the edges that were reached until then.
    pub fn edges(&self) -> Vec<(u64, u64)> {
        let mut edges = 0_u64;
        let mut curve = Vec::new();
        for kept in self.kept.values().filter(|kept| kept.new_edges > 0) {
            edges = edges.saturating_add(kept.new_edges);
            curve.push((kept.trial.saturating_add(1), edges));
        }
        curve
    }

    /// Executions, and the inputs that were kept until then.
    pub fn corpus(&self) -> Vec<(u64, u64)> {
        let kept = self.kept.values().zip(1..);
        kept.map(|(kept, count)| (kept.trial.saturating_add(1), count))
            .collect()
    }
}
