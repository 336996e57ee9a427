//! Plain lines for people, logs and CI: no colours, no cursor movement.
//!
//! Findings are shown as they come, with the top of their stack. Kept inputs
//! are not shown one by one: the pulse says how many there are. Everything that
//! stems from a guest is escaped.

use std::path::{Path, PathBuf};

use super::{Reporter, Sink};
use crate::error::printable;
use crate::event::{Counters, Ended, Event, Finding, Slow, Start, Summary};
use crate::store::finding::repro_command;

/// Between two pulses: a log of a night stays readable.
const PULSE_MS: u64 = 2_000;

/// The reporter for everything that is not a program.
pub struct Plain {
    sink: Sink,
    target: String,
    root: PathBuf,
}

impl Plain {
    /// Reports into a sink about the campaign in `root` on `target`, both as
    /// the user should type them.
    pub fn new(sink: Sink, target: &str, root: &Path) -> Plain {
        Plain {
            sink,
            target: target.to_owned(),
            root: root.to_owned(),
        }
    }

    fn start(&mut self, start: &Start) {
        let edges = match start.edges_total {
            0 => "edges not counted".to_owned(),
            total => format!("{total} edges"),
        };
        self.sink.line(&format!(
            "{}: {} with {edges}; guidance {}, seed {}, {}, {}, fuel limit {}",
            printable(&start.target),
            start.entry,
            start.guidance,
            start.seed,
            plural(start.inputs, "input"),
            plural(start.tokens, "token"),
            number(start.fuel_limit),
        ));
    }

    fn finding(&mut self, finding: &Finding) {
        self.sink.line(&format!(
            "FINDING {} at execution {}: {}",
            finding.kind,
            number(finding.trial + 1),
            printable(&finding.title)
        ));
        for frame in &finding.stack {
            self.sink.line(&format!("    {}", printable(frame)));
        }
        self.replay_line(&finding.folder);
    }

    fn slow(&mut self, slow: &Slow) {
        self.sink.line(&format!(
            "{} at execution {}: {} cost {} fuel, {} times what {} size explains",
            if slow.again { "SLOWER" } else { "SLOW" },
            number(slow.trial + 1),
            plural(slow.bytes, "byte"),
            number(slow.fuel),
            slow.fuel / slow.expected.max(1),
            if slow.bytes == 1 { "its" } else { "their" },
        ));
        for frame in slow.stack.iter().filter(|_| !slow.again) {
            self.sink.line(&format!("    {}", printable(frame)));
        }
        self.replay_line(&slow.folder);
    }

    fn replay_line(&mut self, folder: &str) {
        let command = repro_command(&self.target, &self.root.join(folder));
        self.sink
            .line(&format!("    replay: {}", printable(&command)));
    }

    fn counters(&mut self, counters: &Counters, elapsed_ms: u64, execs_per_sec: u64) {
        let slow = match counters.slow_findings {
            0 => String::new(),
            n => format!(" ({n} slow)"),
        };
        let coverage = match counters.edges_total {
            0 => "edges not counted, ".to_owned(),
            total => format!(
                "{} of {total} edges, corpus {}, ",
                counters.edges, counters.corpus
            ),
        };
        self.sink.line(&format!(
            "{:>7} {} ({}/s), {coverage}{}{slow}{}",
            clock(elapsed_ms),
            plural(counters.execs, "execution"),
            number(execs_per_sec),
            plural(counters.unique_findings, "finding"),
            behaviour(counters),
        ));
    }

    fn summary(&mut self, summary: &Summary) {
        self.counters(&summary.counters, summary.elapsed_ms, summary.execs_per_sec);
        if summary.findings_ahead > 0 {
            self.sink.line(&format!(
                "{} more in findings/, of a batch that was given up: going on repeats it",
                plural(summary.findings_ahead, "finding")
            ));
        }
        if let Some(joined) = &summary.joined {
            self.sink.line(&format!(
                "joined {}: offered {}, took {}, refused {}; what it came to depends on when others found what, each file in the folder does not",
                printable(&joined.exchange),
                number(joined.offered),
                number(joined.imported),
                number(joined.refused)
            ));
        }
        let reruns = match summary.counters.reruns {
            0 => String::new(),
            n => format!("; {} run again for memory errors", number(n)),
        };
        let ended = ended(summary.ended);
        self.sink.line(&format!(
            "ended: {ended}{reruns}; state {}; folder {}",
            summary.state_hash,
            printable(&self.root.to_string_lossy())
        ));
    }
}

impl Reporter for Plain {
    fn report(&mut self, event: &Event) {
        match event {
            Event::Start(start) => self.start(start),
            Event::Resumed(resumed) => {
                let reached = resumed.reached.map(|reached| {
                    let all = number(reached);
                    format!(" of {all} (the last batch was cut short, and is repeated)")
                });
                self.sink.line(&format!(
                    "resumed at {}{} after {}",
                    plural(resumed.execs, "execution"),
                    reached.unwrap_or_default(),
                    clock(resumed.elapsed_ms)
                ));
            }
            Event::Finding(finding) => self.finding(finding),
            Event::Slow(slow) => self.slow(slow),
            Event::Pulse(pulse) => {
                self.counters(&pulse.counters, pulse.elapsed_ms, pulse.execs_per_sec);
            }
            Event::Warning(warning) => {
                self.sink
                    .line(&format!("warning: {}", printable(&warning.text)));
            }
            Event::Summary(summary) => self.summary(summary),
            Event::Kept(_) | Event::Trimmed(_) | Event::Checkpoint(_) => {}
        }
    }

    fn pulse_interval_ms(&self) -> u64 {
        PULSE_MS
    }
}

/// How many inputs got how far and how differently they behaved, where that is measured.
fn behaviour(counters: &Counters) -> String {
    let share = |of: u64| format!("{:.1} %", 100.0 * of as f64 / counters.execs.max(1) as f64);
    let (Some(diverse), Some(hill)) = (counters.diverse_valid, counters.diversity) else {
        return String::new();
    };
    let made = counters.execs - counters.without_input;
    let of_made = match counters.without_input {
        0 => String::new(),
        _ => {
            let share = 100.0 * counters.valid as f64 / made.max(1) as f64;
            format!(" ({share:.1} % of what the generator did not give up)")
        }
    };
    let stages = counters.stages.iter().zip(1..);
    let stages: String = stages
        .map(|(&reached, n)| format!(", {} at stage {n}", share(reached)))
        .collect();
    format!(
        "; {} valid{of_made}{stages}, {} diverse, B(0) {}, B(1) {:.0}, B(2) {:.0}",
        share(counters.valid),
        number(diverse),
        number(hill.b0),
        hill.b1,
        hill.b2
    )
}

/// `1 finding`, `2 findings`.
pub fn plural(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", number(count)),
    }
}

/// A number with its thousands apart: `1,234,567`.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Why a session ended, in words.
pub(crate) fn ended(why: Ended) -> &'static str {
    match why {
        Ended::Execs => "all executions done",
        Ended::Time => "time is over",
        Ended::Plateau => "no new coverage for long enough",
        Ended::Interrupted => "interrupted; the same command goes on from here",
        Ended::Finding => "a finding was made",
    }
}

/// Time as `12s`, `3m12s` or `2h05m`.
pub(crate) fn clock(elapsed_ms: u64) -> String {
    let seconds = elapsed_ms / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, _) => format!("{}.{}s", seconds, elapsed_ms % 1000 / 100),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_readable() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_000), "1,000");
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(clock(1_250), "1.2s");
        assert_eq!(clock(192_000), "3m12s");
        assert_eq!(clock(7_500_000), "2h05m");
        assert_eq!(plural(1, "finding"), "1 finding");
        assert_eq!(plural(0, "finding"), "0 findings");
    }
}
