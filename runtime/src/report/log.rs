//! What a campaign's log says: `events.jsonl`, read back as a whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Result;
use sandglass_engine::guidance::MadeBy;

use crate::error::io;
use crate::event::{Event, Finding, Kept, Slow, Start, Summary};

/// Bytes of a log that are read: some million events. Of a longer one the beginning.
pub const LOG_BYTES_MAX: u64 = 256 << 20;

/// The events that a log keeps, put together.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// How it began; `None` if the log was cut off before that.
    pub start: Option<Start>,
    /// Inputs that were kept and are still there, under the names that they have now, by their numbers.
    pub kept: BTreeMap<u32, Kept>,
    /// Bugs, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// Slow inputs, in the order in which they were found.
    pub slow: Vec<Slow>,
    /// The end of the latest session that had one.
    pub summary: Option<Box<Summary>>,
    /// Executions that it tells of.
    pub execs: u64,
    /// Whether the log is so long that this is its beginning.
    pub is_cut: bool,
}

/// Reads the log of a campaign; `None` when the folder is not that of one.
pub fn read(folder: &Path) -> Result<Option<Log>> {
    let path = folder.join("events.jsonl");
    if !path.is_file() {
        return Ok(None);
    }
    let (bytes, is_cut) = beginning(&path, LOG_BYTES_MAX)?;
    let mut log = Log {
        is_cut,
        ..Log::default()
    };
    for line in bytes.split(|byte| *byte == b'\n') {
        // The last line may be cut short, and later versions may say more.
        if let Ok(event) = serde_json::from_slice::<Event>(line) {
            log.add(event);
        }
    }
    Ok(Some(log))
}

/// At most so many bytes of a file, and whether there are more.
fn beginning(path: &Path, bytes_max: u64) -> Result<(Vec<u8>, bool)> {
    let file = File::open(path).map_err(|e| io(path, "read", &e))?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| io(path, "read", &e))?;
    let is_cut = bytes.len() as u64 > bytes_max;
    bytes.truncate(bytes_max as usize);
    Ok((bytes, is_cut))
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
            Event::Dropped(dropped) => {
                self.kept.remove(&dropped.id);
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

    /// Executions, and the inputs that were kept until then and are still there.
    pub fn corpus(&self) -> Vec<(u64, u64)> {
        let kept = self.kept.values().zip(1..);
        kept.map(|(kept, count)| (kept.trial.saturating_add(1), count))
            .collect()
    }
}

/// Generations that a history is followed for: campaigns have hundreds, and a log may go in circles.
const GENERATIONS_MAX: usize = 10_000;

/// Follows an input back to what it was made of, from who made it: the first that is known, and the rules from there on in
/// their order. Nothing of an input whose origin is not known.
pub fn lineage<'a>(
    made_by: Option<&'a MadeBy>,
    kept: impl Fn(u32) -> Option<&'a Kept>,
) -> (Option<&'a Kept>, Vec<String>) {
    let (mut rules, mut root, mut next) = (Vec::new(), None, made_by);
    while let Some(made) = next
        && rules.len() < GENERATIONS_MAX
    {
        rules.push(made.rule.clone());
        root = kept(made.parent.0);
        next = root.and_then(|parent| parent.made_by.as_ref());
    }
    rules.reverse();
    (root, rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_log_the_beginning_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "0123456789").expect("writes");
        let part = |most| beginning(&path, most).expect("reads");
        assert_eq!(part(10), (b"0123456789".to_vec(), false));
        assert_eq!(part(9), (b"012345678".to_vec(), true));
        // A line that was cut is no event, as one that was never finished.
        let log = read(folder.path()).expect("reads").expect("a log");
        assert!(!log.is_cut && log.execs == 0);
    }
}
