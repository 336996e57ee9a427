//! `codep`, ours for dataflow programs: data sets are changed where the program's own comparisons say, and only there.
//!
//! In: the user's seeds, each some data sets (see [`crate::rows`]). Out: groups of trials. Nothing is known of the
//! program beforehand: no schema, no tuples, no operators.
//!
//! A *bundle* is a testcase of few rows. Every bundle goes through these stages, each a job whose trials wait for
//! those of the stage before:
//!
//! 1. *Select* (`codep/sample.rs`, `codep/select.rs`): small samples of what is large are run, and then rows that cover nothing
//!    of their own are left out, so that every comparison of what is left is recorded (records hold the last four of a
//!    site) and every cell can be tried. The first bundles go on to the next stages while the rest is selected.
//! 2. *Record*: one run with comparisons. Texts and constants that the program compares with are learnt.
//! 3. *Relate* (`codep/classes.rs`): columns that share a text are tried for being a class, whose cells a join needs to be
//!    equal. From here on they change together: co-mutation.
//! 4. *Probe* (`codep/probe.rs`): every row, group and number is counted one up, and what that does to the operands
//!    of every comparison is its slope.
//! 5. *Solve*: what the slopes say would make a comparison come out as it never has (`codep/outcomes.rs`), and texts that
//!    would (`codep/literals.rs`). All else in the bundle is frozen, as the path to the comparison needs it.
//!
//! A trial that covers a new edge makes a new bundle, which begins at 1. So does, at 4, one in which a comparison came
//! out as it never had: such is half of a condition that no edge tells of. After that, when nothing is
//! urgent, bundles with new edges are solved for comparisons that have come out so in another bundle, since the one
//! beside the sought arm may be here; with one cell, and with its whole column moved, so that rows keep their order.
//! What is left of a batch is havoc (`codep/havoc.rs`) on bundles in turns, those with new edges four times as often. Every
//! other group of it is scattered instead (`codep/scatter.rs`), bundles and whole seeds in turns, and before there are bundles
//! all are. Where columns of several data sets were given what a comparison wanted, whole seeds are scattered and gathered
//! (`codep/gather.rs`) in turns.
//!
//! Why classes are found by value and confirmed by running, and not handed over by the host, which could compute them
//! from a dependence build: three runs for a pair of columns are cheaper than such a build of the module, they need no
//! operators that tell of themselves, and they see a join that only a child of a seed makes. What is equal only after
//! a computation is no class here; numbers that are computed are solved by probing.
//!
//! Each idea is a setting, so that what it is worth can be measured: `together`, `constants`, `cardinality`, `freeze`, `select`,
//! `gather`.

mod bundles;
mod change;
mod classes;
mod gather;
mod havoc;
mod jobs;
mod learning;
mod literals;
mod numeral;
mod outcomes;
mod probe;
mod sample;
mod scatter;
mod select;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::row_loop::{DELIMITER, delimiter};
use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::Group;
use crate::corpus::{Reason, TestcaseId};
use crate::rng::Rng;
use crate::rows::is_without_rows;
use crate::settings::{Setting, Settings};
use bundles::{Bundle, ROWS_FEW, Seed, Urgency};
use classes::Classes;
use gather::Wanted;
use jobs::{Flight, Job};
use outcomes::Outcomes;
use sample::SAMPLES;
use select::Select;

/// The guidance `codep`.
pub static SPEC: Spec = Spec {
    name: "codep",
    summary: "solves what dataflow programs compare, by cells, rows and groups; the rest of the rows stays",
    paper: None,
    input: InputKind::Bytes,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::None,
    batch: 32,
    lookahead: 32,
    settings: &[
        TOGETHER,
        CONSTANTS,
        CARDINALITY,
        FREEZE,
        SELECT,
        GATHER,
        DELIMITER,
    ],
    new,
};

const TOGETHER: Setting = Setting::switch(
    "together",
    "cells that have to be equal change together",
    true,
);
const CONSTANTS: Setting = Setting::switch(
    "constants",
    "cells take the texts and numbers that comparisons want",
    true,
);
const CARDINALITY: Setting = Setting::switch(
    "cardinality",
    "rows and groups are copied as often as comparisons want",
    true,
);
const FREEZE: Setting = Setting::switch(
    "freeze",
    "cells that are not meant stay; else half of them change too",
    true,
);
const SELECT: Setting = Setting::switch(
    "select",
    "rows that cover nothing of their own are left out",
    true,
);

const GATHER: Setting = Setting::switch(
    "gather",
    "columns of whole seeds take what was wanted of them, all at once",
    true,
);

/// Jobs may take five eighths of a batch while any are waiting. By trying: with six, the last arm of `p1` was missed in one
/// of six campaigns, with five in none of 19.
const JOB_EIGHTHS: u32 = 5;
/// Samples are run of what covers at least so much that is new; for less, leaving out rows takes fewer runs.
const SAMPLED_FROM: usize = 8;

fn new(settings: &Settings) -> Strategy {
    let ideas = Ideas {
        together: settings.is_on(TOGETHER.name),
        constants: settings.is_on(CONSTANTS.name),
        cardinality: settings.is_on(CARDINALITY.name),
        freeze: settings.is_on(FREEZE.name),
        select: settings.is_on(SELECT.name),
        gather: settings.is_on(GATHER.name),
        delimiter: delimiter(settings.text(DELIMITER.name)).expect("checked with the settings"),
    };
    Strategy::Codep(Box::new(Codep::new(ideas)))
}

/// The settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ideas {
    together: bool,
    constants: bool,
    cardinality: bool,
    freeze: bool,
    select: bool,
    gather: bool,
    delimiter: u8,
}

/// The state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codep {
    ideas: Ideas,
    seeds_planned: u32,
    bundles: Vec<Bundle>,
    /// The first seeds of not too many rows.
    seeds: Vec<Seed>,
    /// Probes that bundles hit which were selected.
    known: BTreeSet<u32>,
    /// Probes that testcases hit. What is kept later has rows selected for what is new in it; of the others somebody else
    /// takes care.
    covered: BTreeSet<u32>,
    /// By [`Urgency`].
    jobs: [VecDeque<Job>; 3],
    flights: Vec<Flight>,
    classes: Classes,
    outcomes: Outcomes,
    wanted: Wanted,
    numbers: BTreeSet<i64>,
    tokens: BTreeSet<Vec<u8>>,
    /// Bundles recorded, and groups of havoc.
    turn: u32,
    /// Groups of havoc or scattered; of havoc; scattered.
    stages: u64,
    havocs: u64,
    scattered: u64,
}

impl Codep {
    fn new(ideas: Ideas) -> Codep {
        Codep {
            ideas,
            seeds_planned: 0,
            bundles: Vec::new(),
            seeds: Vec::new(),
            known: BTreeSet::new(),
            covered: BTreeSet::new(),
            jobs: Default::default(),
            flights: Vec::new(),
            classes: Classes::default(),
            outcomes: Outcomes::default(),
            wanted: Wanted::default(),
            numbers: BTreeSet::new(),
            tokens: BTreeSet::new(),
            turn: 0,
            stages: 0,
            havocs: 0,
            scattered: 0,
        }
    }
}

impl Guidance for Codep {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        assert!(self.flights.is_empty(), "the last batch was not judged");
        // Seeds are judged before anything is made of them.
        if self.plan_seeds(view, room, groups) > 0 {
            return;
        }
        let for_jobs = (room * JOB_EIGHTHS).div_ceil(8);
        let planned = self.plan_jobs(for_jobs, rng, groups);
        self.plan_havoc(room - planned, rng, groups);
    }

    fn found(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        match self.learn(view, judged) {
            // A seed that breaks is still what the user has.
            Judgement::Keep(Reason::Seed) => Judgement::Keep(Reason::Seed),
            _ => Judgement::Discard,
        }
    }

    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.learn(view, judged)
    }

    fn kept(&mut self, _: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        // Rows are left out of samples when all of them are known.
        if let Flight::Sample(..) = self.flights[judged.group.purpose as usize] {
            return;
        }
        let bytes: Arc<[u8]> = Arc::from(&judged.detail.input[..]);
        let is_seed = matches!(self.flights[judged.group.purpose as usize], Flight::Seeds);
        if is_seed {
            // The row that we begin with instead is a seed, too.
            if is_without_rows(&bytes) {
                return;
            }
            self.add_seed(id, &bytes);
        }
        let counts = self.uncovered(&judged.detail.counts, is_seed);
        let select = match self.ideas.select {
            true => Select::new(
                bytes.clone(),
                &counts,
                &self.known,
                (self.ideas.delimiter, is_seed),
            ),
            false => None,
        };
        let is_first = self.bundles.is_empty() && self.queue(Urgency::Edge).is_empty();
        if let Some(select) = select {
            let is_sampled =
                self.rows(&bytes) > ROWS_FEW && select.unknown(&self.known) >= SAMPLED_FROM;
            match is_sampled {
                true => (self.queue(Urgency::Edge)).push_back(Job::Sample(id, select, 0)),
                false => self.push_select(id, select),
            }
        } else if is_first || !self.ideas.select {
            let bundle = self.enter(id, bytes, true);
            self.queue(Urgency::Edge).extend(bundle.map(Job::Record));
        }
    }

    fn end_batch(&mut self, view: &View<'_>) {
        for flight in std::mem::take(&mut self.flights).into_iter().rev() {
            match flight {
                Flight::Seeds | Flight::Again | Flight::Record(_) | Flight::Havoc => {}
                Flight::Solve(solutions) => {
                    (solutions.iter()).for_each(|(site, _)| self.outcomes.tried(*site));
                }
                Flight::Sample(id, select, done) if done < SAMPLES => {
                    (self.queue(Urgency::Edge)).push_front(Job::Sample(id, select, done));
                }
                Flight::Sample(id, select, _) => self.select_next(id, select),
                Flight::Select {
                    id,
                    mut select,
                    tried,
                    success,
                } => {
                    if select.learn(tried, success) {
                        self.push_select(id, select);
                    } else {
                        self.selected(id, select);
                    }
                }
                Flight::Relate(relate) => self.related(view, relate),
                Flight::Probe(mut probe, count) => {
                    probe.done += count;
                    let all = probe.variables.as_ref().map_or(0, Vec::len);
                    let bundle = probe.bundle;
                    match (probe.done as usize) < all {
                        true => self.queue_of(bundle).push_front(Job::Probe(probe)),
                        false => self.probed(bundle, probe.found),
                    }
                }
            }
        }
    }
}
