//! What a user should look into, and what to type then.
//!
//! In: what is known of a campaign. Out: nothing, where all is as it should be. Most of it shows in the first
//! minute: a harness that does not use its input, seeds that are all rejected, a limit that is too low.

use std::path::Path;

use super::known::Known;
use crate::report::plain::number;
use crate::store::finding::{quote, repro_command};

/// Executions, or milliseconds, after which something should have happened.
const FIRST_LOOK_EXECS: u64 = 1_000;
const FIRST_LOOK_MS: u64 = 5_000;

/// Edges that a harness has which returns at once.
const EDGES_OF_NOTHING: u64 = 2;

/// Executions without anything new that are worth a word, and the part of all that they must be.
const PLATEAU_EXECS: u64 = 10_000;
const PLATEAU_TENTHS: u64 = 9;

/// A rate at which a campaign learns next to nothing.
const SLOW_PER_SECOND: u64 = 20;

/// Something to look into.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Advice {
    /// What is the matter.
    pub(super) says: String,
    /// What to type.
    pub(super) next: String,
}

/// What is the matter with a campaign.
pub(super) fn advice(known: &Known) -> Vec<Advice> {
    let counters = &known.counters;
    let is_early = counters.execs < FIRST_LOOK_EXECS && known.elapsed_ms < FIRST_LOOK_MS;
    if !known.has_figures || counters.execs == 0 || is_early {
        return Vec::new();
    }
    let mut found: Vec<Advice> = of_inputs(known).into_iter().collect();
    if found.is_empty() {
        found.extend(of_edges(known));
    }
    if known.rate() < SLOW_PER_SECOND && known.elapsed_ms >= FIRST_LOOK_MS {
        found.push(Advice {
            says: format!("only {} executions a second", number(known.rate())),
            next: on_folder("perf", known),
        });
    }
    found
}

/// Of what became of the inputs: the first that applies explains the rest.
fn of_inputs(known: &Known) -> Option<Advice> {
    let counters = &known.counters;
    if counters.without_input == counters.execs {
        return Some(Advice {
            says: "all inputs rejected by the generator: none has reached the target".to_owned(),
            next: again("--max-choices 1M"),
        });
    }
    if counters.invalid == counters.execs {
        let who = match counters.without_input {
            0 => "the target",
            _ => "the target or the generator",
        };
        return Some(Advice {
            says: format!("all inputs rejected by {who}"),
            next: again("a folder of valid inputs, or --dict FILE,"),
        });
    }
    if counters.findings < counters.execs {
        return None;
    }
    let fuel = counters.fuel_total / counters.execs;
    if known.fuel_limit > 0 && fuel >= known.fuel_limit / 10 * 9 {
        let more = known.fuel_limit.saturating_mul(10);
        return Some(Advice {
            says: format!(
                "every input runs out of fuel, which is {}",
                number(known.fuel_limit)
            ),
            next: again(&format!("--fuel {more}")),
        });
    }
    let next = match &known.latest_folder {
        Some(folder) => repro_command(&known.target, &Path::new(&known.folder).join(folder)),
        None => on_folder("report", known),
    };
    Some(Advice {
        says: "every input is a finding: the harness itself may be at fault".to_owned(),
        next,
    })
}

/// Of what was reached.
fn of_edges(known: &Known) -> Option<Advice> {
    let counters = &known.counters;
    if counters.edges_total == 0 {
        return None;
    }
    if counters.edges <= EDGES_OF_NOTHING && counters.edges_total > 2 * EDGES_OF_NOTHING {
        return Some(Advice {
            says: format!(
                "{} of {} edges reached: does the harness use its input?",
                counters.edges,
                number(counters.edges_total)
            ),
            next: format!("sandglass inspect {}", quote(&known.target)),
        });
    }
    let since = known.since_new();
    let is_plateau = since >= PLATEAU_EXECS && since / PLATEAU_TENTHS >= counters.execs / 10;
    is_plateau.then(|| Advice {
        says: format!(
            "nothing new since execution {}; what is in the way:",
            number(known.last_new)
        ),
        next: on_folder("cover", known),
    })
}

fn on_folder(verb: &str, known: &Known) -> String {
    let (target, folder) = (quote(&known.target), quote(&known.folder));
    match verb {
        "report" => format!("sandglass report {folder} --out report.html"),
        _ => format!("sandglass {verb} {target} {folder}"),
    }
}

/// A campaign keeps its settings, so another one needs another folder.
fn again(with: &str) -> String {
    format!("the same command with {with} and --out OTHER")
}
