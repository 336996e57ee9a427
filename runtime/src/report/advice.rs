//! What a user should look into, and what to type then.
//!
//! In: what is known of a campaign. Out: nothing, where all is as it should be. Most of it shows in the first
//! minute: a harness that does not use its input, seeds that are all rejected, a limit that is too low. What counts
//! decides, not time, but for the first look and the rate.

use std::path::Path;

use super::known::Known;
use super::plain::{number, plural};
use crate::own::OwnEdges;
use crate::shell::quote;
use crate::store::finding::repro_command;

/// Executions, or milliseconds, after which something should have happened.
const FIRST_LOOK_EXECS: u64 = 1_000;
const FIRST_LOOK_MS: u64 = 5_000;

/// Less than one of so many edges of one's own code is little. A harness that returned at once reached one in nine
/// of a crate with a single function; the demos reach one in three within a thousand executions.
const OWN_PART: u64 = 4;

/// Edges that a harness has which returns at once, where lines do not tell one's own code.
const EDGES_OF_NOTHING: u64 = 2;

/// Executions without anything new that are worth a word, and the part of all that they must be.
const PLATEAU_EXECS: u64 = 10_000;
const PLATEAU_TENTHS: u64 = 9;

/// A rate at which a campaign learns next to nothing.
const SLOW_PER_SECOND: u64 = 20;

/// What advice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Matter {
    /// No input gets past the generator.
    NoInput,
    /// No input is valid.
    Rejected,
    /// No input ends within its fuel.
    Fuel,
    /// Every input is a finding.
    Findings,
    /// Next to nothing of one's own code is reached, or of all there is.
    Unreached,
    /// Nothing is new any more.
    Plateau,
    /// Executions are slow.
    Rate,
}

/// Something to look into.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Advice {
    /// What it is about: of each, there is one at a time.
    pub(super) matter: Matter,
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
        let unreached = of_own(known).or_else(|| of_edges(known));
        found.extend(unreached.or_else(|| of_plateau(known)));
    }
    if known.rate() < SLOW_PER_SECOND && known.elapsed_ms >= FIRST_LOOK_MS {
        found.push(Advice {
            matter: Matter::Rate,
            says: format!("only {} executions a second", number(known.rate())),
            // `perf` repeats parts of inputs, and a property has none.
            next: on_folder(if known.is_property { "report" } else { "perf" }, known),
        });
    }
    found
}

/// Of what became of the inputs: the first that applies explains the rest.
fn of_inputs(known: &Known) -> Option<Advice> {
    let counters = &known.counters;
    if known.is_property && counters.invalid == counters.execs {
        return Some(Advice {
            matter: Matter::Rejected,
            says: format!(
                "no trial was valid, so that nothing is tested: {} rejected by the property, {} gave up or drew more than --max-choices",
                number(counters.invalid - counters.without_input),
                number(counters.without_input)
            ),
            next: match counters.without_input == counters.execs {
                true => again("--max-choices 1M"),
                false => on_folder("cover", known),
            },
        });
    }
    if counters.without_input == counters.execs {
        return Some(Advice {
            matter: Matter::NoInput,
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
            matter: Matter::Rejected,
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
            matter: Matter::Fuel,
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
        matter: Matter::Findings,
        says: "every input is a finding: the harness itself may be at fault".to_owned(),
        next,
    })
}

/// Of what was reached of one's own code, where lines tell which that is: little, all of it at the first look, and
/// nine tenths of the executions have reached nothing more of anything.
fn of_own(known: &Known) -> Option<Advice> {
    let own = known.counters.own.as_ref()?;
    let is_little = own.edges.saturating_mul(OWN_PART) < own.edges_total;
    let last = known.last_edge();
    let stands = last <= FIRST_LOOK_EXECS && last <= known.counters.execs / 10;
    (is_little && stands).then(|| Advice {
        matter: Matter::Unreached,
        says: format!(
            "{} of {} edges of your own code reached{}: does the harness use its input?",
            number(own.edges),
            number(own.edges_total),
            untouched(own)
        ),
        next: on_folder("cover", known),
    })
}

/// `, none in mean/src/lib.rs, mean/src/parse.rs and 2 more files`.
fn untouched(own: &OwnEdges) -> String {
    let names: Vec<&str> = own.untouched.iter().map(|file| last_parts(file)).collect();
    let more = own.files_untouched.saturating_sub(names.len() as u64);
    match (names.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(", none in {}", names.join(", ")),
        (false, more) => format!(
            ", none in {} and {}",
            names.join(", "),
            plural(more, "more file")
        ),
    }
}

/// The end of a path that tells it from others: its last three parts.
fn last_parts(path: &str) -> &str {
    let third = path.rmatch_indices('/').nth(2);
    third.map_or(path, |(at, _)| &path[at + 1..])
}

/// Of all that was reached.
fn of_edges(known: &Known) -> Option<Advice> {
    let counters = &known.counters;
    let is_little =
        counters.edges <= EDGES_OF_NOTHING && counters.edges_total > 2 * EDGES_OF_NOTHING;
    is_little.then(|| Advice {
        matter: Matter::Unreached,
        says: format!(
            "{} of {} edges reached: does the harness use its input?",
            counters.edges,
            number(counters.edges_total)
        ),
        next: format!("sandglass inspect {}", quote(&known.target)),
    })
}

/// Of what is new. Nothing is in the way where every edge was reached, or none is counted.
fn of_plateau(known: &Known) -> Option<Advice> {
    let since = known.since_new();
    let is_plateau = known.counters.edges < known.counters.edges_total
        && since >= PLATEAU_EXECS
        && since / PLATEAU_TENTHS >= known.counters.execs / 10;
    is_plateau.then(|| Advice {
        matter: Matter::Plateau,
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
