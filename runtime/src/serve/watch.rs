//! One campaign, watched from outside: what its folder says, read little by little.
//!
//! In: a folder that somebody may be writing to. Out: how the campaign stands, in bounded memory however
//! long its log is. No lock is taken and nothing is written: whoever fuzzes there never notices. What is
//! torn, missing or not ours is left out, and looked at again next time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use sandglass_engine::guidance::OperatorRecord;

use super::series::{Sample, Series};
use crate::error::show;
use crate::event::{Counters, Event, Kept, Start, Summary};
use crate::store::event_log::{Tail, Told};
use crate::store::record::Record;
use crate::store::status::Status;
use crate::store::{glance, require_record};

mod found;

pub use found::{Found, FoundOne};

/// Bytes of the log that one look reads: a quarter of a second's worth.
const LOOK_BYTES: u64 = 32 << 20;

/// Looks are no closer together: that many requests see the same.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A campaign that gave no sign of life for so long is not said to be running. It gives one with each
/// checkpoint, which is every five seconds unless a batch takes longer.
const SILENT_AFTER: Duration = Duration::from_secs(30);

/// Inputs of the corpus that are remembered: of the latest, and of those with most new edges.
const INPUTS_MAX: usize = 50;

/// Reasons and rules that are counted: a log may name any number.
const NAMES_MAX: usize = 200;

/// Whether it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It gave a sign of life a moment ago.
    Running,
    /// Its last session ended as sessions do.
    Ended,
    /// It did not end, and has been silent for so many minutes.
    Silent(u64),
}

/// A campaign and how far we have read it.
#[derive(Debug)]
pub struct Watch {
    /// Its folder, as it was given.
    pub folder: PathBuf,
    /// What it was asked to do.
    pub record: Record,
    /// What its log has told so far.
    pub log: Digest,
    /// Its findings.
    pub found: Found,
    /// What is left of the log to read, in bytes.
    pub behind_bytes: u64,
    status: Option<Status>,
    last_sign: Option<SystemTime>,
    tail: Tail,
    last_look: Option<Instant>,
}

/// What a log comes to.
#[derive(Debug, Default)]
pub struct Digest {
    /// How it began.
    pub start: Option<Start>,
    /// How it went.
    pub series: Series,
    /// The latest inputs, in the order in which they were kept.
    pub latest: VecDeque<Kept>,
    /// Those that were first to reach most edges, most first.
    pub most: Vec<Kept>,
    /// Why inputs were kept: of each reason how many, and their new edges.
    pub reasons: BTreeMap<String, (u64, u64)>,
    /// Inputs that were kept, by the rule that made them, where the guidance tells.
    pub rules: BTreeMap<String, u64>,
    /// How its last session ended; `None` if one has begun since.
    pub summary: Option<Box<Summary>>,
}

impl Watch {
    /// A campaign's folder; nothing but its record is read yet. Errs if it is none.
    pub fn open(folder: &Path) -> Result<Watch> {
        Ok(Watch {
            record: require_record(folder)?,
            log: Digest::default(),
            found: Found::default(),
            behind_bytes: 0,
            status: None,
            last_sign: None,
            tail: Tail::new(&folder.join("events.jsonl")),
            last_look: None,
            folder: folder.to_owned(),
        })
    }

    /// Its name: that of the folder, printable.
    pub fn name(&self) -> String {
        let name = self.folder.file_name().map(Path::new);
        show(name.unwrap_or(&self.folder))
    }

    /// Looks what is new. What cannot be read stays as it was seen last.
    pub fn look(&mut self) {
        if self.last_look.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return;
        }
        self.last_look = Some(Instant::now());
        // The checkpoint first: what it stands for is in the log by then.
        let stand = glance(&self.folder);
        self.status = Status::read(&self.folder).or(self.status.take());
        let log = &mut self.log;
        let read = self.tail.read(LOOK_BYTES, &mut |told| match told {
            Told::Again => *log = Digest::default(),
            Told::Line(line) => log.line(line),
        });
        if let Ok(left) = read {
            self.behind_bytes = left;
        }
        let last = self.log.series.last();
        if let Some(stand) = stand
            && stand.execs > last.execs
            && self.behind_bytes == 0
        {
            self.log.series.push(Sample {
                execs: stand.execs,
                elapsed_ms: stand.elapsed_ms,
                ..last
            });
        }
        self.found.look(&self.folder.join("findings"));
        let signs = ["checkpoint", "events.jsonl", Status::FILE].map(|file| {
            let meta = std::fs::symlink_metadata(self.folder.join(file)).ok()?;
            meta.modified().ok()
        });
        self.last_sign = signs.into_iter().flatten().max();
    }

    /// Whether it goes on.
    pub fn life(&self) -> Life {
        if self.log.summary.is_some() && self.behind_bytes == 0 {
            return Life::Ended;
        }
        let silence = self
            .last_sign
            .map(|sign| sign.elapsed().unwrap_or_default());
        match silence {
            Some(silence) if silence < SILENT_AFTER => Life::Running,
            Some(silence) => Life::Silent(silence.as_secs() / 60),
            None => Life::Silent(0),
        }
    }

    /// How it stands: counted by the campaign where it says so, else by us from its log. What only a
    /// campaign counts is `None` until it first said so.
    pub fn counters(&self) -> (Sample, Option<&Counters>) {
        let mut now = self.log.series.last();
        let ended = self.log.summary.as_ref().map(|summary| &summary.counters);
        let counters = ended.or(self.status.as_ref().map(|status| &status.counters));
        if let Some(counters) = counters.filter(|counters| counters.execs >= now.execs) {
            now.execs = counters.execs;
            now.edges = counters.edges;
            now.corpus = counters.corpus;
        }
        now.bugs = self.found.bugs();
        now.slow = self.found.slow();
        (now, counters)
    }

    /// The number of edges that are counted; 0 if none are, or if it is not known.
    pub fn edges_total(&self) -> u64 {
        let counted = self.status.as_ref().map_or(0, |s| s.counters.edges_total);
        self.log.start.as_ref().map_or(counted, |s| s.edges_total)
    }

    /// What operators and rules have led to.
    pub fn operators(&self) -> &[OperatorRecord] {
        match (&self.log.summary, &self.status) {
            (Some(summary), _) => &summary.operators,
            (None, Some(status)) => &status.operators,
            (None, None) => &[],
        }
    }

    /// How it went, how it stands now at the end.
    pub fn samples(&self) -> Vec<Sample> {
        let mut samples = self.log.series.samples();
        let (mut now, _) = self.counters();
        let Some(last) = samples.last() else {
            return samples;
        };
        // A folder may hold more than its log knows yet: findings of a batch that is still running, or
        // was given up and will be repeated.
        (now.bugs, now.slow) = (last.bugs, last.slow);
        if now != *last {
            samples.push(now);
        }
        samples
    }
}

impl Digest {
    fn line(&mut self, line: &[u8]) {
        // Later versions may say more than we know.
        if let Ok(event) = serde_json::from_slice(line) {
            self.event(event);
        }
    }

    fn event(&mut self, event: Event) {
        let mut now = self.series.last();
        match event {
            Event::Start(start) => self.start = Some(start),
            Event::Kept(kept) => {
                now.corpus = now.corpus.saturating_add(1);
                now.edges = now.edges.saturating_add(kept.new_edges);
                self.at(now, kept.trial, kept.elapsed_ms);
                self.kept(kept);
            }
            Event::Trimmed(trimmed) => {
                let held = self.latest.iter_mut().rev().chain(self.most.iter_mut());
                for kept in held.filter(|kept| kept.id == trimmed.id) {
                    kept.file.clone_from(&trimmed.file);
                    kept.bytes = trimmed.bytes;
                }
            }
            Event::Dropped(dropped) => {
                now.corpus = now.corpus.saturating_sub(1);
                self.at(now, dropped.execs.saturating_sub(1), dropped.elapsed_ms);
                self.latest.retain(|kept| kept.id != dropped.id);
                self.most.retain(|kept| kept.id != dropped.id);
            }
            Event::Finding(finding) => {
                now.bugs += 1;
                self.at(now, finding.trial, finding.elapsed_ms);
            }
            Event::Slow(slow) => {
                now.slow += u64::from(!slow.again);
                self.at(now, slow.trial, slow.elapsed_ms);
            }
            Event::Summary(summary) => {
                now.execs = summary.counters.execs;
                now.elapsed_ms = summary.elapsed_ms;
                self.series.push(now);
                self.summary = Some(summary);
            }
            Event::Resumed(_) | Event::Pulse(_) | Event::Checkpoint(_) | Event::Warning(_) => {}
        }
    }

    /// Something happened in a trial, so the session before is not the last one.
    fn at(&mut self, mut now: Sample, trial: u64, elapsed_ms: u64) {
        now.execs = trial.saturating_add(1);
        now.elapsed_ms = elapsed_ms;
        self.series.push(now);
        self.summary = None;
    }

    fn kept(&mut self, kept: Kept) {
        if let Some(made_by) = &kept.made_by
            && let Some(count) = counted(&mut self.rules, &made_by.rule)
        {
            *count += 1;
        }
        if let Some((inputs, edges)) = counted(&mut self.reasons, &kept.reason) {
            *inputs += 1;
            *edges = edges.saturating_add(kept.new_edges);
        }
        let least = self.most.last().map_or(0, |last| last.new_edges);
        if kept.new_edges > 0 && (self.most.len() < INPUTS_MAX || kept.new_edges > least) {
            let place = self
                .most
                .partition_point(|other| Reverse(other.new_edges) <= Reverse(kept.new_edges));
            self.most.insert(place, kept.clone());
            self.most.truncate(INPUTS_MAX);
        }
        if self.latest.len() == INPUTS_MAX {
            self.latest.pop_front();
        }
        self.latest.push_back(kept);
    }
}

/// The place of a name among at most so many.
fn counted<'a, T: Default>(map: &'a mut BTreeMap<String, T>, name: &str) -> Option<&'a mut T> {
    if !map.contains_key(name) {
        if map.len() >= NAMES_MAX {
            return None;
        }
        map.insert(name.to_owned(), T::default());
    }
    map.get_mut(name)
}

#[cfg(test)]
mod tests;
