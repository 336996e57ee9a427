//! What events have said of a campaign, as far as it is shown while it runs: on the screen, in lines, as advice.

use std::collections::VecDeque;

use sandglass_engine::guidance::OperatorRecord;

use super::curve::Curve;
use super::left::Left;
use super::log::Log;
use super::plain::{clock, number};
use crate::campaign::budget::Budget;
use crate::event::{Counters, Event};

/// Findings that are remembered: more than rows of most terminals.
const LATEST_MAX: usize = 64;

/// Time over which the rate is taken, in milliseconds: long enough to be read.
const RATE_MS: u64 = 3_000;

/// What is known of a campaign.
#[derive(Default)]
pub(super) struct Known {
    /// The target and the campaign's folder, as the user should type them.
    pub(super) target: String,
    pub(super) folder: String,
    /// What ends the session.
    pub(super) budget: Budget,
    pub(super) guidance: String,
    /// Whether the target makes its data itself.
    pub(super) is_property: bool,
    pub(super) seed: u64,
    pub(super) fuel_limit: u64,
    pub(super) counters: Counters,
    pub(super) operators: Vec<OperatorRecord>,
    /// At the last event that tells.
    pub(super) elapsed_ms: u64,
    /// Executions, and time of earlier sessions, when the session began.
    pub(super) began: u64,
    pub(super) began_ms: u64,
    /// Executions when the corpus last grew.
    pub(super) last_new: u64,
    pub(super) curve: Curve,
    /// What was found last, newest first, and not made printable.
    pub(super) latest: VecDeque<String>,
    /// The folder of what was found last, relative to the campaign's.
    pub(super) latest_folder: Option<String>,
    /// What was warned of last, not made printable.
    pub(super) warning: Option<String>,
    /// Whether there was a pulse.
    pub(super) has_figures: bool,
    /// Bugs that were told of, by earlier sessions, too.
    bugs: u64,
    /// Executions when the corpus last grew, of earlier sessions.
    resumed_at: u64,
    /// Executions that reached a new edge, ascending; at most as many as there are edges.
    news: Vec<u64>,
    /// Times and executions of the last pulses.
    paces: VecDeque<(u64, u64)>,
}

impl Known {
    /// Nothing yet; of a target and a campaign's folder as the user should type them, and what ends the session.
    pub(super) fn of(target: &str, folder: &str, budget: Budget) -> Known {
        Known {
            target: target.to_owned(),
            folder: folder.to_owned(),
            budget,
            ..Known::default()
        }
    }

    pub(super) fn learn(&mut self, event: &Event) {
        match event {
            Event::Start(start) => {
                self.guidance.clone_from(&start.guidance);
                self.is_property = start.entry == "property";
                self.seed = start.seed;
                self.fuel_limit = start.fuel_limit;
                self.counters.edges_total = start.edges_total;
                self.paces.push_back((0, 0));
                self.curve.add(0, 0);
            }
            Event::Resumed(resumed) => {
                self.guidance.clone_from(&resumed.guidance);
                self.is_property = resumed.entry == "property";
                self.seed = resumed.seed;
                self.fuel_limit = resumed.fuel_limit;
                self.elapsed_ms = resumed.elapsed_ms;
                self.began = resumed.execs;
                self.began_ms = resumed.elapsed_ms;
                self.counters.execs = resumed.execs;
                self.last_new = resumed.last_new_exec;
                self.resumed_at = resumed.last_new_exec;
                self.paces.push_back((resumed.elapsed_ms, resumed.execs));
            }
            Event::Kept(kept) => {
                self.last_new = self.last_new.max(kept.trial.saturating_add(1));
                if kept.new_edges > 0 {
                    self.news.push(kept.trial);
                }
            }
            Event::Finding(finding) => {
                self.bugs += 1;
                self.found(finding.trial, &finding.title, &finding.folder);
            }
            Event::Slow(slow) => {
                let times = number(slow.fuel / slow.expected.max(1));
                let title = format!("slow: {times} times what its size explains");
                self.found(slow.trial, &title, &slow.folder);
            }
            Event::Pulse(pulse) => {
                self.operators.clone_from(&pulse.operators);
                self.count(&pulse.counters, pulse.elapsed_ms);
            }
            Event::Warning(warning) => self.warning = Some(warning.text.clone()),
            Event::Summary(summary) => self.count(&summary.counters, summary.elapsed_ms),
            Event::Trimmed(_) | Event::Dropped(_) | Event::Checkpoint(_) => {}
        }
    }

    /// Learns what earlier sessions found, in the order in which they did.
    pub(super) fn recall(&mut self, log: Log) {
        let bugs = log.findings.into_iter().map(Event::Finding);
        let slow = log.slow.into_iter().map(Event::Slow);
        let mut found: Vec<Event> = bugs.chain(slow).collect();
        found.sort_by_key(|event| match event {
            Event::Finding(finding) => finding.trial,
            Event::Slow(slow) => slow.trial,
            _ => 0,
        });
        found.iter().for_each(|event| self.learn(event));
    }

    fn found(&mut self, trial: u64, title: &str, folder: &str) {
        let line = format!("{} (execution {})", title, number(trial.saturating_add(1)));
        self.latest.push_front(line);
        self.latest.truncate(LATEST_MAX);
        self.latest_folder = Some(folder.to_owned());
    }

    fn count(&mut self, counters: &Counters, elapsed_ms: u64) {
        self.counters = counters.clone();
        self.elapsed_ms = elapsed_ms;
        self.has_figures = true;
        self.curve.add(counters.execs, counters.edges);
        self.pace((elapsed_ms, counters.execs));
    }

    fn pace(&mut self, now: (u64, u64)) {
        self.paces.push_back(now);
        // Of the pulses that are too old the latest stays: it may be a while since.
        while self.paces.len() > 2 && now.0.saturating_sub(self.paces[1].0) >= RATE_MS {
            self.paces.pop_front();
        }
    }

    /// Executions a second, lately.
    pub(super) fn rate(&self) -> u64 {
        let (Some(first), Some(last)) = (self.paces.front(), self.paces.back()) else {
            return 0;
        };
        let execs = last.1.saturating_sub(first.1);
        execs.saturating_mul(1_000) / last.0.saturating_sub(first.0).max(1)
    }

    /// Bugs of all sessions. Those of a batch are told of before they are counted.
    pub(super) fn bugs(&self) -> u64 {
        self.counters.unique_findings.max(self.bugs)
    }

    /// Executions when an edge was last reached for the first time; of earlier sessions, when the corpus last grew.
    pub(super) fn last_edge(&self) -> u64 {
        let last = self.news.last().map(|trial| trial.saturating_add(1));
        last.unwrap_or(self.resumed_at)
    }

    /// Executions since the corpus last grew.
    pub(super) fn since_new(&self) -> u64 {
        self.counters.execs.saturating_sub(self.last_new)
    }

    /// Executions, and of how many, unless these are done.
    pub(super) fn execs(&self) -> String {
        let execs = self.counters.execs;
        match self.budget.execs.filter(|all| *all > execs) {
            Some(all) => format!("{} of {}", number(execs), number(all)),
            None => number(execs),
        }
    }

    /// Time of all sessions, and at which of it this one will end, unless it is over.
    pub(super) fn time(&self, elapsed_ms: u64) -> String {
        let time = self.budget.time.map(|time| time.as_millis() as u64);
        let end = time.map(|time| self.began_ms.saturating_add(time));
        match end.filter(|end| *end > elapsed_ms) {
            Some(end) => format!("{} of {}", clock(elapsed_ms), clock(end)),
            None => clock(elapsed_ms),
        }
    }

    pub(super) fn left(&self) -> Left {
        Left::of(&self.news, self.began, self.counters.execs)
    }
}
