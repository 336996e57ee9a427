//! A campaign in libFuzzer's lines, for programs that read those.
//!
//! As there, coverage is `cov`; `ft`, the count of features, is not known here and left out, as is memory. What
//! is printed of a finding is what drivers look for: `ERROR: libFuzzer:`, a stack, `SUMMARY:`.

use super::{Reporter, Sink};
use crate::error::printable;
use crate::event::{Counters, Event, Finding};

/// Between two pulses, in milliseconds.
const PULSE_MS: u64 = 2_000;

/// What is said of a finding.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its kind, as in [`Finding::kind`].
    pub kind: String,
    /// What and where, one line.
    pub title: String,
    /// The stack, a numbered frame each.
    pub stack: Vec<String>,
    /// Its folder, relative to the campaign's.
    pub folder: String,
}

/// The reporter.
pub struct Lines {
    sink: Sink,
    /// Beginnings of names of findings that do not end the campaign.
    ignored: Vec<&'static str>,
    /// Has a finding come that is not ignored? It ends the campaign, with its batch.
    is_over: bool,
    seen: Vec<Seen>,
    edges: u64,
    inputs: u64,
    bytes: u64,
}

impl Lines {
    /// Reports into a sink.
    pub fn new(sink: Sink, ignored: Vec<&'static str>) -> Lines {
        Lines {
            sink,
            ignored,
            is_over: false,
            seen: Vec::new(),
            edges: 0,
            inputs: 0,
            bytes: 0,
        }
    }

    /// The sink again, and what was found.
    pub fn into_seen(self) -> (Sink, Vec<Seen>) {
        (self.sink, self.seen)
    }

    fn status(&mut self, execs: u64, what: &str, rest: &str) {
        self.sink.line(&format!(
            "#{execs}\t{what:<6} cov: {} corp: {}/{}b{rest}",
            self.edges, self.inputs, self.bytes
        ));
    }

    fn finding(&mut self, found: &Finding) {
        // What else the batch holds: libFuzzer would not have come to it.
        if self.is_over {
            return;
        }
        let seen = Seen {
            kind: found.kind.clone(),
            title: found.title.clone(),
            stack: found.stack.clone(),
            folder: found.folder.clone(),
        };
        finding(&mut self.sink, &seen);
        self.is_over = !self.ignored.contains(&prefix(&seen.kind));
        self.seen.push(seen);
    }

    fn pulse(&mut self, counters: &Counters, execs_per_sec: u64) {
        self.edges = counters.edges;
        self.status(
            counters.execs,
            "pulse",
            &format!(" exec/s: {execs_per_sec}"),
        );
    }
}

impl Reporter for Lines {
    fn report(&mut self, event: &Event) {
        match event {
            Event::Start(start) => {
                self.sink.line(&format!("INFO: Seed: {}", start.seed));
                self.sink.line(&format!(
                    "INFO: seed corpus: files: {}; counters: {}",
                    start.inputs, start.edges_total
                ));
            }
            Event::Kept(kept) => {
                self.edges += kept.new_edges;
                self.inputs += 1;
                self.bytes += kept.bytes;
                let rest = format!(" L: {}", kept.bytes);
                self.status(kept.trial + 1, "NEW", &rest);
            }
            Event::Trimmed(trimmed) => {
                self.bytes = (self.bytes + trimmed.bytes).saturating_sub(trimmed.from_bytes);
            }
            Event::Dropped(dropped) => {
                self.inputs = self.inputs.saturating_sub(1);
                self.bytes = self.bytes.saturating_sub(dropped.bytes);
            }
            Event::Finding(found) => self.finding(found),
            Event::Pulse(pulse) => self.pulse(&pulse.counters, pulse.execs_per_sec),
            Event::Warning(warning) => {
                let text = printable(&warning.text);
                self.sink.line(&format!("WARNING: {text}"));
            }
            Event::Summary(summary) => {
                self.edges = summary.counters.edges;
                let rest = format!(" exec/s: {}", summary.execs_per_sec);
                self.status(summary.counters.execs, "DONE", &rest);
            }
            Event::Resumed(_) | Event::Slow(_) | Event::Checkpoint(_) => {}
        }
    }

    fn pulse_interval_ms(&self) -> u64 {
        PULSE_MS
    }
}

/// How libFuzzer's file for a finding of this kind begins.
pub fn prefix(kind: &str) -> &'static str {
    match kind {
        "hang" => "timeout-",
        "oom" => "oom-",
        _ => "crash-",
    }
}

/// Tells of a finding as libFuzzer does.
pub fn finding(sink: &mut Sink, seen: &Seen) {
    let what = match prefix(&seen.kind) {
        "timeout-" => "timeout",
        "oom-" => "out-of-memory",
        _ => "deadly signal",
    };
    let title = printable(&seen.title);
    sink.line(&format!("==1== ERROR: libFuzzer: {what} ({title})"));
    for frame in &seen.stack {
        sink.line(&format!("    {}", printable(frame)));
    }
    sink.line(&format!("SUMMARY: libFuzzer: {what}"));
}
