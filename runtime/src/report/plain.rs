//! Plain lines for people, logs and CI: no colours, no cursor movement.
//!
//! Findings are shown as they come, with the top of their stack. Kept inputs
//! are not shown one by one: the pulse says how many there are. What may be wrong is
//! said once, when it is first so, and again at the end if it still is: that is what is read of a long log.
//! Everything that stems from a guest is escaped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sandglass_engine::feedback::TRACES_MAX;

use super::advice::{Advice, Matter, advice};
use super::known::Known;
use super::left::Left;
use super::{Reporter, Sink};
use crate::campaign::budget::Budget;
use crate::error::printable;
use crate::event::{Counters, Ended, Event, Finding, Slow, Start, Summary};
use crate::store::finding::repro_command;

/// Between two pulses: a log of a night stays readable, and nobody waits for more than a minute.
const PULSE_MS_MIN: u64 = 2_000;
const PULSE_MS_MAX: u64 = 60_000;

/// Between these, every such part of the time that has passed.
const PULSE_PART: u64 = 30;

/// Before what follows a line of figures.
const INDENT: &str = "        ";

/// The reporter for everything that is not a program.
pub struct Plain {
    sink: Sink,
    target: String,
    root: PathBuf,
    /// What the events said so far: for a screen, too, which shows it while lines wait.
    pub(super) known: Known,
    /// What there was advice about.
    told: BTreeSet<Matter>,
}

impl Plain {
    /// Reports into a sink about the campaign in `root` on `target`, both as
    /// the user should type them; `budget` ends the session.
    pub fn new(sink: Sink, target: &str, root: &Path, budget: Budget) -> Plain {
        Plain {
            sink,
            target: target.to_owned(),
            root: root.to_owned(),
            known: Known::of(target, &root.to_string_lossy(), budget),
            told: BTreeSet::new(),
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

    fn figures(&mut self, execs_per_sec: u64) {
        let known = &self.known;
        let counters = &known.counters;
        let slow = match counters.slow_findings {
            0 => String::new(),
            n => format!(" ({} slow)", number(n)),
        };
        // As wide as `59m59s of 24h00m`.
        let width = known.budget.time.map_or(7, |_| 15);
        let lines = [
            format!(
                "{:>width$}, {} {} ({}/s), {}, {}{slow}",
                known.time(known.elapsed_ms),
                known.execs(),
                if counters.execs == 1 {
                    "execution"
                } else {
                    "executions"
                },
                number(execs_per_sec),
                edges(counters),
                plural(counters.unique_findings, "finding"),
            ),
            progress(known),
            behaviour(counters),
        ];
        for line in lines.iter().filter(|line| !line.is_empty()) {
            self.sink.line(line);
        }
    }

    fn advice(&mut self, advice: &Advice) {
        let (says, next) = (printable(&advice.says), printable(&advice.next));
        self.sink.line(&format!("advice: {says}"));
        self.sink.line(&format!("    next: {next}"));
    }

    fn summary(&mut self, summary: &Summary) {
        self.figures(summary.execs_per_sec);
        for advice in advice(&self.known) {
            self.advice(&advice);
        }
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
        let cut_short = match summary.counters.cut_short {
            0 => String::new(),
            n => format!("; {} cut short, as hangs took too much", number(n)),
        };
        let ended = ended(summary.ended);
        self.sink.line(&format!(
            "ended: {ended}{reruns}{cut_short}; state {}; folder {}",
            summary.state_hash,
            printable(&self.root.to_string_lossy())
        ));
    }
}

impl Reporter for Plain {
    fn report(&mut self, event: &Event) {
        self.known.learn(event);
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
                self.figures(pulse.execs_per_sec);
                for advice in advice(&self.known) {
                    if self.told.insert(advice.matter) {
                        self.advice(&advice);
                    }
                }
            }
            Event::Warning(warning) => {
                self.sink
                    .line(&format!("warning: {}", printable(&warning.text)));
            }
            Event::Summary(summary) => self.summary(summary),
            Event::Kept(_) | Event::Trimmed(_) | Event::Dropped(_) | Event::Checkpoint(_) => {}
        }
    }

    fn pulse_interval_ms(&self) -> u64 {
        (self.known.elapsed_ms / PULSE_PART).clamp(PULSE_MS_MIN, PULSE_MS_MAX)
    }
}

/// `431 of 2,040 edges (300 of 812 own)`.
fn edges(counters: &Counters) -> String {
    if counters.edges_total == 0 {
        return "edges not counted".to_owned();
    }
    let own = counters.own.as_ref().map(|own| {
        let (edges, all) = (number(own.edges), number(own.edges_total));
        format!(" ({edges} of {all} own)")
    });
    let (edges, all) = (number(counters.edges), number(counters.edges_total));
    format!("{edges} of {all} edges{}", own.unwrap_or_default())
}

/// Whether it goes on: the corpus and when it grew, the share of valid inputs, the greatest cost, what is left.
fn progress(known: &Known) -> String {
    let counters = &known.counters;
    let mut parts = Vec::new();
    if counters.edges_total > 0 {
        parts.push(format!("corpus {}{}", number(counters.corpus), grew(known)));
    }
    let of_made = match counters.without_input {
        0 => String::new(),
        none => format!(
            " ({} of inputs made)",
            share(counters.valid, counters.execs - none)
        ),
    };
    let valid = share(counters.valid, counters.execs);
    parts.push(format!("{valid} valid{of_made}"));
    if counters.fuel_max > 0 {
        parts.push(format!("cost record {} fuel", number(counters.fuel_max)));
    }
    let left = known.left();
    if counters.edges_total > 0 && left != Left::Unknown {
        parts.push(left.text());
    }
    format!("{INDENT}{}", parts.join(", "))
}

/// ` (grew 11,000 executions ago; ends at 30,000)`, of a corpus that has.
fn grew(known: &Known) -> String {
    if known.counters.corpus == 0 {
        return String::new();
    }
    let since = plural(known.since_new(), "execution");
    let end = known.budget.plateau;
    let end = end.map(|end| format!("; ends at {}", number(end)));
    format!(" (grew {since} ago{})", end.unwrap_or_default())
}

/// How many inputs got how far and how differently they behaved, where that is measured; else nothing.
fn behaviour(counters: &Counters) -> String {
    let stages = counters.stages.iter().zip(1..);
    let mut parts: Vec<String> = stages
        .map(|(&reached, n)| format!("{} at stage {n}", share(reached, counters.execs)))
        .collect();
    if let (Some(diverse), Some(hill)) = (counters.diverse_valid, counters.diversity) {
        parts.push(format!(
            "{} diverse, B(0) {}, B(1) {:.0}, B(2) {:.0}",
            traces(diverse, counters),
            number(hill.b0),
            hill.b1,
            hill.b2
        ));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("{INDENT}{}", parts.join(", ")),
    }
}

/// A number of traces: "at least" where counting has ended.
pub(super) fn traces(count: u64, counters: &Counters) -> String {
    let is_full = counters.unique_traces >= Some(TRACES_MAX as u64);
    let at_least = if is_full { "at least " } else { "" };
    format!("{at_least}{}", number(count))
}

/// `61.2 %`.
pub(super) fn share(of: u64, all: u64) -> String {
    format!("{:.1} %", 100.0 * of as f64 / all.max(1) as f64)
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
    use std::io::Write;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use super::*;
    use crate::event::Pulse;
    use crate::own::OwnEdges;

    /// What was printed.
    #[derive(Clone, Default)]
    struct Printed(Arc<Mutex<Vec<u8>>>);

    impl Write for Printed {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn pulse(execs: u64, valid: u64) -> Event {
        Event::Pulse(Pulse {
            counters: Counters {
                execs,
                valid,
                invalid: execs - valid,
                edges: 1_431,
                edges_total: 52_040,
                own: Some(OwnEdges {
                    edges: 300,
                    edges_total: 812,
                    ..OwnEdges::default()
                }),
                corpus: 140,
                fuel_max: 1_234_567,
                stages: vec![execs / 2],
                ..Counters::default()
            },
            operators: Vec::new(),
            elapsed_ms: execs / 10,
            execs_per_sec: 10_000,
        })
    }

    #[test]
    fn pulses_show_how_far_it_is_and_advice_is_given_once() {
        let printed = Printed::default();
        let budget = Budget {
            execs: Some(200_000),
            time: Some(Duration::from_secs(60)),
            plateau: Some(300_000),
            ..Budget::default()
        };
        let sink = Sink::new(Box::new(printed.clone()));
        let mut plain = Plain::new(sink, "t.wasm", Path::new("o"), budget);
        for (execs, valid) in [(20_000, 0), (40_000, 0), (60_000, 30_000)] {
            plain.report(&pulse(execs, valid));
        }
        let printed = printed.0.lock().expect("nobody panics").clone();
        let printed = String::from_utf8(printed).expect("text");
        let lines: Vec<&str> = printed.lines().collect();
        let advice = lines.iter().filter(|line| line.starts_with("advice: "));
        let advice: Vec<&&str> = advice.collect();
        // Of each matter once: the second one is true from the third pulse on.
        assert_eq!(
            advice,
            [
                &"advice: all inputs rejected by the target",
                &"advice: nothing new since execution 0; what is in the way:",
            ],
            "{printed}"
        );
        let at = lines.iter().position(|line| line.contains("6.0s of"));
        assert_eq!(
            lines[at.expect("the last pulse")..][..3],
            [
                "  6.0s of 1m00s, 60,000 of 200,000 executions (10,000/s), 1,431 of 52,040 edges (300 of 812 own), 0 findings",
                "        corpus 140 (grew 60,000 executions ago; ends at 300,000), 50.0 % valid, cost record 1,234,567 fuel, new edge < 1 in 10,000",
                "        50.0 % at stage 1",
            ]
        );
        // A long campaign is told of less often.
        assert_eq!(plain.pulse_interval_ms(), PULSE_MS_MIN);
        plain.report(&pulse(9_000_000, 30_000));
        assert_eq!(plain.pulse_interval_ms(), 30_000);
        plain.report(&pulse(90_000_000, 30_000));
        assert_eq!(plain.pulse_interval_ms(), PULSE_MS_MAX);
    }

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
