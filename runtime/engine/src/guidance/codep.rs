//! `codep`, ours for dataflow programs: data sets are changed where the program's own comparisons say, and only there.
//!
//! In: the user's seeds, each some data sets (see [`crate::rows`]). Out: groups of trials. Nothing is known of the
//! program beforehand: no schema, no tuples, no operators.
//!
//! A *bundle* is a testcase of few rows. Every bundle goes through these stages, each a job whose trials wait for
//! those of the stage before:
//!
//! 1. *Select* (`codep/select.rs`): rows that cover nothing of their own are left out, so that every comparison of what is
//!    left is recorded (records hold the last four of a site) and every cell can be tried.
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
//! What is left of a batch is havoc (`codep/havoc.rs`) on bundles in turns, those with new edges four times as often.
//!
//! Why classes are found by value and confirmed by running, and not handed over by the host, which could compute them
//! from a dependence build: three runs for a pair of columns are cheaper than such a build of the module, they need no
//! operators that tell of themselves, and they see a join that only a child of a seed makes. What is equal only after
//! a computation is no class here; numbers that are computed are solved by probing.
//!
//! Each idea is a setting, so that what it is worth can be measured: `together`, `constants`, `cardinality`, `freeze`, `select`.

mod change;
mod classes;
mod havoc;
mod literals;
mod numeral;
mod outcomes;
mod probe;
mod select;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::row_loop::{DELIMITER, delimiter};
use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::{Group, Plan};
use crate::corpus::{Reason, TestcaseId};
use crate::rng::Rng;
use crate::rows::{DataSets, Maker};
use crate::settings::{Setting, Settings};
use crate::solve;
use crate::trial::{Compare, CompareText, Detail, Variant};
use change::{Change, Changed};
use classes::{Classes, Pair};
use havoc::Havoc;
use outcomes::Outcomes;
use probe::{Candidate, Variable};
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
    imports: Imports::None,
    batch: 64,
    lookahead: 64,
    settings: &[TOGETHER, CONSTANTS, CARDINALITY, FREEZE, SELECT, DELIMITER],
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

/// Bundles of more rows than this are not urgent: comparisons of theirs are recorded by chance.
const ROWS_FEW: u32 = 12;
/// Without new edges, a run of more rows than this is no bundle: children of its children would be ever larger.
const ROWS_MANY: u32 = 48;
/// Without seeds: text and a number.
const SEED: &[u8] = b"some words,1\n";
/// Jobs may take six eighths of a batch while any are waiting.
const JOB_EIGHTHS: u32 = 6;
/// Most trials of one job in one batch, so that several take turns.
const AT_ONCE: u32 = 16;
/// Children in a group of havoc; and of every fourth group comparisons are recorded.
const CHILDREN: u32 = 12;
const RECORDED_EVERY: u64 = 4;
/// Havoc on a bundle without new edges counts as so many.
const COST: u64 = 4;
/// Solutions of a bundle for one outcome of one comparison; fewer with each so many that were in vain, and at last one
/// of so many bundles has one. Most comparisons are of allocators, of parsers and the like, where nothing comes of it.
const PER_OUTCOME: u32 = 4;
const PATIENCE: u32 = 8;
const RARELY: u32 = 8;
/// Texts solved of one bundle.
const LITERALS_MAX: usize = 192;
/// Solutions of one bundle for what has come out elsewhere, each with one for its column.
const LATER_MAX: usize = 512;
/// Numbers and texts remembered for havoc.
const KNOWN_MAX: usize = 256;

fn new(settings: &Settings) -> Strategy {
    let ideas = Ideas {
        together: settings.is_on(TOGETHER.name),
        constants: settings.is_on(CONSTANTS.name),
        cardinality: settings.is_on(CARDINALITY.name),
        freeze: settings.is_on(FREEZE.name),
        select: settings.is_on(SELECT.name),
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
    delimiter: u8,
}

/// A testcase of few rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Bundle {
    /// The testcase that it descends from.
    parent: TestcaseId,
    bytes: Arc<[u8]>,
    rows: u32,
    /// Whether its testcase covered a new edge; else a comparison came out as it never had.
    is_edge: bool,
    /// How much havoc there was on it.
    havoc: u64,
}

/// Trials that are known beforehand. Bundles are named by their number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Job {
    /// Leave out rows of what the testcase holds.
    Select(TestcaseId, Select),
    /// Run an input that covered something new in another variant.
    Again(TestcaseId, Arc<[u8]>),
    /// Run a bundle in the variant that records comparisons.
    Record(u32),
    /// Run what tells whether pairs of columns belong together.
    Relate(Relate),
    /// Run steps of variables.
    Probe(Probe),
    /// Run solutions, the last first.
    Solve(u32, Vec<Candidate>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Relate {
    bundle: u32,
    base: Arc<Base>,
    pairs: Vec<Pair>,
    /// Whether each run so far did the same as the bundle.
    same: Vec<bool>,
}

/// What a bundle does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Base {
    probes: Vec<u32>,
    compares: Vec<Compare>,
    texts: Vec<CompareText>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Probe {
    bundle: u32,
    base: Arc<Base>,
    /// Nothing until the first are run: classes are known by then.
    variables: Option<Vec<Variable>>,
    done: u32,
    found: BTreeSet<Candidate>,
}

/// What a group in flight is for; its index is the group's purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Flight {
    Seeds,
    Select {
        id: TestcaseId,
        select: Select,
        tried: u32,
        success: Option<(u32, Arc<[u8]>, Vec<u32>)>,
    },
    Again,
    Record(u32),
    Relate(Relate),
    Probe(Probe, u32),
    Solve(Vec<u32>),
    Havoc,
}

/// Which jobs come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    /// Of bundles with new edges and few rows.
    Edge,
    /// Of others.
    Outcome,
    /// What has come out elsewhere.
    Later,
}

/// The state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codep {
    ideas: Ideas,
    seeds_planned: u32,
    bundles: Vec<Bundle>,
    /// Probes that bundles hit which were selected.
    known: BTreeSet<u32>,
    /// By [`Urgency`].
    jobs: [VecDeque<Job>; 3],
    flights: Vec<Flight>,
    classes: Classes,
    outcomes: Outcomes,
    numbers: BTreeSet<i64>,
    tokens: BTreeSet<Vec<u8>>,
    /// Bundles recorded, and groups of havoc.
    turn: u32,
    stages: u64,
}

impl Codep {
    fn new(ideas: Ideas) -> Codep {
        Codep {
            ideas,
            seeds_planned: 0,
            bundles: Vec::new(),
            known: BTreeSet::new(),
            jobs: Default::default(),
            flights: Vec::new(),
            classes: Classes::default(),
            outcomes: Outcomes::default(),
            numbers: BTreeSet::new(),
            tokens: BTreeSet::new(),
            turn: 0,
            stages: 0,
        }
    }

    fn sets(&self, bundle: u32) -> DataSets {
        DataSets::parse(&self.bundles[bundle as usize].bytes, self.ideas.delimiter)
    }

    fn rows(&self, bytes: &[u8]) -> u32 {
        let sets = DataSets::parse(bytes, self.ideas.delimiter);
        (0..sets.sets()).map(|set| sets.rows(set) as u32).sum()
    }

    fn urgency(&self, bundle: u32) -> Urgency {
        let bundle = &self.bundles[bundle as usize];
        match bundle.is_edge && bundle.rows <= ROWS_FEW {
            true => Urgency::Edge,
            false => Urgency::Outcome,
        }
    }

    fn queue(&mut self, urgency: Urgency) -> &mut VecDeque<Job> {
        &mut self.jobs[urgency as usize]
    }

    fn queue_of(&mut self, bundle: u32) -> &mut VecDeque<Job> {
        self.queue(self.urgency(bundle))
    }

    /// Adds a bundle, unless it is known; its number.
    fn enter(&mut self, parent: TestcaseId, bytes: Arc<[u8]>, is_edge: bool) -> Option<u32> {
        if self.bundles.iter().any(|bundle| bundle.bytes == bytes) {
            return None;
        }
        // No more havoc than others had, so that it has its turn soon and not for long.
        let havoc = self.bundles.iter().map(|bundle| bundle.havoc).min();
        self.bundles.push(Bundle {
            parent,
            rows: self.rows(&bytes),
            bytes,
            is_edge,
            havoc: havoc.unwrap_or(0),
        });
        Some(self.bundles.len() as u32 - 1)
    }

    /// Adds a group of so many trials.
    fn fly(
        &mut self,
        flight: Flight,
        plan: Plan,
        trials: u32,
        variant: Variant,
        parent: Option<TestcaseId>,
        groups: &mut Vec<Group>,
    ) {
        groups.push(Group {
            plan,
            trials,
            variant,
            wants_detail: !matches!(flight, Flight::Havoc) || variant == Variant::Compares,
            wants_paths: false,
            parent,
            purpose: self.flights.len() as u64,
        });
        self.flights.push(flight);
    }

    /// Up to `room` seeds; how many.
    fn plan_seeds(&mut self, view: &View<'_>, room: u32, groups: &mut Vec<Group>) -> u32 {
        let own = Arc::from(&SEED[..SEED.len().min(view.input_bytes_max as usize)]);
        let all: &[Arc<[u8]>] = match view.seeds {
            [] => &[own],
            seeds => seeds,
        };
        let rest = all.iter().skip(self.seeds_planned as usize);
        let seeds: Vec<_> = rest.take(room as usize).cloned().collect();
        let count = seeds.len() as u32;
        if count > 0 {
            self.seeds_planned += count;
            self.fly(
                Flight::Seeds,
                Plan::Given(seeds),
                count,
                Variant::Fast,
                None,
                groups,
            );
        }
        count
    }

    /// Up to `room` trials of waiting jobs, each at most once; how many.
    fn plan_jobs(&mut self, mut room: u32, rng: &mut Rng, groups: &mut Vec<Group>) -> u32 {
        let before = room;
        for urgency in [Urgency::Edge, Urgency::Outcome, Urgency::Later] {
            // What can wait has its share, or it would wait for ever.
            let has_share = urgency == Urgency::Outcome && !self.queue(Urgency::Later).is_empty();
            let reserved = if has_share { room / 2 } else { 0 };
            for _ in 0..self.queue(urgency).len() {
                if room <= reserved {
                    break;
                }
                let Some(job) = self.queue(urgency).pop_front() else {
                    break;
                };
                room -= self.plan_job(job, urgency, room - reserved, rng, groups);
            }
        }
        before - room
    }

    /// The next trials of one job, at most `room`, which is not 0; how many.
    fn plan_job(
        &mut self,
        job: Job,
        urgency: Urgency,
        room: u32,
        rng: &mut Rng,
        groups: &mut Vec<Group>,
    ) -> u32 {
        match job {
            Job::Select(id, select) => {
                let (without, tried) = select.propose(self.ideas.delimiter, room);
                if tried == 0 {
                    self.selected(id, select);
                    return 0;
                }
                let flight = Flight::Select {
                    id,
                    select,
                    tried,
                    success: None,
                };
                let plan = rows(Arc::new(without), rng);
                self.fly(flight, plan, tried, Variant::Fast, Some(id), groups);
                tried
            }
            Job::Again(id, bytes) => {
                let plan = Plan::Given(vec![bytes]);
                self.fly(Flight::Again, plan, 1, Variant::Fast, Some(id), groups);
                1
            }
            Job::Record(bundle) => {
                let Bundle { parent, bytes, .. } = &self.bundles[bundle as usize];
                let (parent, plan) = (*parent, Plan::Given(vec![bytes.clone()]));
                let flight = Flight::Record(bundle);
                self.fly(flight, plan, 1, Variant::Compares, Some(parent), groups);
                1
            }
            Job::Relate(relate) => {
                let runs = relate.pairs.iter().flat_map(Pair::runs);
                let runs: Vec<_> = (runs.skip(relate.same.len())).take(room as usize).collect();
                let (bundle, count) = (relate.bundle, runs.len() as u32);
                let flight = Flight::Relate(relate);
                self.fly_changes(flight, bundle, (runs, true), Variant::Fast, rng, groups);
                count
            }
            Job::Probe(mut probe) => {
                let sets = self.sets(probe.bundle);
                let wanted = (self.ideas.cardinality, self.ideas.constants);
                let variables = (probe.variables).get_or_insert_with(|| {
                    probe::variables(&sets, &self.classes, wanted, self.turn)
                });
                let next = &variables[probe.done as usize..];
                let runs: Vec<_> = (next.iter().take(room.min(AT_ONCE) as usize))
                    .map(|variable| variable.step(&sets, &self.classes).into_iter().collect())
                    .collect();
                let (bundle, count) = (probe.bundle, runs.len() as u32);
                if count > 0 {
                    let flight = Flight::Probe(probe, count);
                    self.fly_changes(flight, bundle, (runs, true), Variant::Compares, rng, groups);
                }
                count
            }
            Job::Solve(bundle, mut candidates) => {
                let count = room.min(AT_ONCE).min(candidates.len() as u32);
                let mut next = candidates.split_off(candidates.len() - count as usize);
                next.reverse();
                if !candidates.is_empty() {
                    self.queue(urgency)
                        .push_back(Job::Solve(bundle, candidates));
                }
                let sites = next.iter().map(|candidate| candidate.site).collect();
                let runs = next
                    .into_iter()
                    .map(|candidate| candidate.changes)
                    .collect();
                let (flight, freezes) = (Flight::Solve(sites), self.ideas.freeze);
                self.fly_changes(
                    flight,
                    bundle,
                    (runs, freezes),
                    Variant::Compares,
                    rng,
                    groups,
                );
                count
            }
        }
    }

    /// Adds a group of runs that differ from a bundle by what is known beforehand.
    fn fly_changes(
        &mut self,
        flight: Flight,
        bundle: u32,
        (changes, freezes): (Vec<Vec<Change>>, bool),
        variant: Variant,
        rng: &mut Rng,
        groups: &mut Vec<Group>,
    ) {
        let trials = changes.len() as u32;
        let changed = Changed {
            base: self.sets(bundle),
            changes,
            classes: self.classes.clone(),
            freezes,
        };
        let parent = self.bundles[bundle as usize].parent;
        let plan = rows(Arc::new(changed), rng);
        self.fly(flight, plan, trials, variant, Some(parent), groups);
    }

    /// Exactly `room` children, if there is any bundle.
    fn plan_havoc(&mut self, mut room: u32, rng: &mut Rng, groups: &mut Vec<Group>) {
        if self.bundles.is_empty() {
            return;
        }
        let numbers: Arc<[i64]> = self.numbers.iter().copied().collect();
        let tokens: Arc<[Vec<u8>]> = self.tokens.iter().cloned().collect();
        while room > 0 {
            let count = room.min(CHILDREN);
            room -= count;
            let least = (0..)
                .zip(&mut self.bundles)
                .min_by_key(|(_, bundle)| bundle.havoc);
            let (nth, bundle) = least.expect("there is one");
            bundle.havoc += if bundle.is_edge { 1 } else { COST };
            let parent = bundle.parent;
            let havoc = Havoc {
                base: self.sets(nth),
                classes: self.classes.clone(),
                numbers: numbers.clone(),
                tokens: tokens.clone(),
                cardinality: self.ideas.cardinality,
                freezes: self.ideas.freeze,
            };
            self.stages += 1;
            let variant = match self.stages.is_multiple_of(RECORDED_EVERY) {
                true => Variant::Compares,
                false => Variant::Fast,
            };
            let plan = rows(Arc::new(havoc), rng);
            self.fly(Flight::Havoc, plan, count, variant, Some(parent), groups);
        }
    }

    /// What a run that recorded comparisons leads to besides what it was for: it may be a bundle. What it covers is only
    /// believed of the fast variant.
    fn recorded(&mut self, view: &View<'_>, judged: &Judged<'_>) {
        let detail = judged.detail;
        let is_new = self.outcomes.learn(&detail.compares);
        let Some(parent) = judged.group.parent else {
            return;
        };
        let bytes: Arc<[u8]> = Arc::from(&detail.input[..]);
        if !judged.outcome.exit.is_finding() && view.interest.all.novelty(&detail.counts).edges > 0
        {
            self.queue(Urgency::Edge)
                .push_back(Job::Again(parent, bytes));
        } else if is_new
            && self.rows(&bytes) <= ROWS_MANY
            && let Some(bundle) = self.enter(parent, bytes, false)
        {
            self.queue(Urgency::Outcome).push_back(Job::Record(bundle));
        }
    }

    /// What the run of a bundle as it is leads to.
    fn bundle_recorded(&mut self, view: &View<'_>, bundle: u32, detail: &Detail) {
        let sets = self.sets(bundle);
        let base = Arc::new(Base::of(detail));
        if self.ideas.constants {
            self.learn_constants(detail);
        }
        let pairs = match self.ideas.together && self.bundles[bundle as usize].is_edge {
            true => self.classes.candidates(&sets),
            false => Vec::new(),
        };
        if pairs.is_empty() {
            return self.begin_probe(view, bundle, base);
        }
        self.queue_of(bundle).push_front(Job::Relate(Relate {
            bundle,
            base,
            pairs,
            same: Vec::new(),
        }));
    }

    /// Adds the jobs of a bundle once classes are known.
    fn begin_probe(&mut self, view: &View<'_>, bundle: u32, base: Arc<Base>) {
        self.turn = self.turn.wrapping_add(1);
        if self.ideas.constants {
            let detail = Detail {
                input: self.bundles[bundle as usize].bytes.to_vec(),
                compares: base.compares.clone(),
                texts: base.texts.clone(),
                ..Detail::default()
            };
            let sets = self.sets(bundle);
            let limits = (view.input_bytes_max, LITERALS_MAX, self.turn);
            // Impatient as with what is probed: there are eight times as many.
            let tries = |site| self.outcomes.tries(site).saturating_mul(PATIENCE);
            let found = literals::literals(&detail, (&sets, &self.classes), limits, tries);
            let candidates = found.into_iter().map(|(site, changes)| Candidate {
                rank: 0,
                site,
                bit: 1,
                changes,
            });
            // The last is the next.
            let solve = Job::Solve(bundle, candidates.rev().collect());
            self.queue_of(bundle).push_back(solve);
        }
        let probe = Job::Probe(Probe::new(bundle, base));
        self.queue_of(bundle).push_front(probe);
    }

    /// How many solutions of a bundle may be for one outcome of this site.
    fn allowance(&self, site: u32) -> u32 {
        match self.outcomes.tries(site) / PATIENCE {
            0 => PER_OUTCOME,
            1 => PER_OUTCOME / 2,
            2..4 => 1,
            _ => u32::from(site.wrapping_add(self.turn).is_multiple_of(RARELY)),
        }
    }

    fn learn_constants(&mut self, detail: &Detail) {
        for compare in detail.compares.iter().filter(|compare| compare.constant) {
            let unused = 64 - 8 * u32::from(compare.width);
            let number = (compare.right << unused) as i64 >> unused;
            if self.numbers.len() < KNOWN_MAX {
                self.numbers.insert(number);
            }
        }
        for token in solve::tokens(detail) {
            if self.tokens.len() < KNOWN_MAX {
                self.tokens.insert(token);
            }
        }
    }

    /// What all probes of a bundle lead to.
    fn probed(&mut self, bundle: u32, found: BTreeSet<Candidate>) {
        let mut counts: BTreeMap<(u32, u8), u32> = BTreeMap::new();
        let mut known = BTreeSet::new();
        let (mut now, mut later) = (Vec::new(), Vec::new());
        for candidate in found {
            let (site, bit) = (candidate.site, candidate.bit);
            if !known.insert(candidate.changes.clone()) {
                continue;
            }
            let is_seen = self.outcomes.has_seen(site, bit);
            let most = self.allowance(site);
            let count = counts.entry((site, bit)).or_default();
            if *count >= most {
                continue;
            }
            *count += 1;
            match is_seen {
                false => now.push(candidate),
                true => later.push(candidate),
            }
        }
        let sets = self.sets(bundle);
        let columns = |of: &[Candidate]| -> Vec<Candidate> {
            let found = of.iter().filter_map(|one| probe::column_of(&sets, one));
            found.collect()
        };
        now.extend(columns(&now));
        now.sort_by_key(|candidate| self.outcomes.tries(candidate.site));
        now.reverse();
        if !now.is_empty() {
            let solve = Job::Solve(bundle, now);
            self.queue_of(bundle).push_back(solve);
        }
        if !self.bundles[bundle as usize].is_edge {
            return;
        }
        later.splice(0..0, columns(&later));
        later.sort_by_key(|candidate| self.outcomes.tries(candidate.site));
        later.truncate(LATER_MAX);
        later.reverse();
        if !later.is_empty() {
            self.queue(Urgency::Later)
                .push_back(Job::Solve(bundle, later));
        }
    }
}

impl Base {
    fn of(detail: &Detail) -> Base {
        Base {
            probes: detail.counts.iter().map(|(probe, _)| *probe).collect(),
            compares: detail.compares.clone(),
            texts: detail.texts.clone(),
        }
    }
}

impl Probe {
    fn new(bundle: u32, base: Arc<Base>) -> Probe {
        Probe {
            bundle,
            base,
            variables: None,
            done: 0,
            found: BTreeSet::new(),
        }
    }
}

fn rows(maker: Arc<dyn Maker>, rng: &mut Rng) -> Plan {
    Plan::Rows {
        maker,
        seed: rng.word(),
        first: 0,
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
        let bytes: Arc<[u8]> = Arc::from(&judged.detail.input[..]);
        let counts = &judged.detail.counts;
        let select = match self.ideas.select {
            true => Select::new(bytes.clone(), counts, &self.known, self.ideas.delimiter),
            false => None,
        };
        let is_first = self.bundles.is_empty() && self.queue(Urgency::Edge).is_empty();
        if let Some(select) = select {
            self.queue(Urgency::Edge).push_back(Job::Select(id, select));
        } else if is_first || !self.ideas.select {
            let bundle = self.enter(id, bytes, true);
            self.queue(Urgency::Edge).extend(bundle.map(Job::Record));
        }
    }

    fn end_batch(&mut self, view: &View<'_>) {
        for flight in std::mem::take(&mut self.flights).into_iter().rev() {
            match flight {
                Flight::Seeds | Flight::Again | Flight::Record(_) | Flight::Havoc => {}
                Flight::Solve(sites) => {
                    sites.into_iter().for_each(|site| self.outcomes.tried(site))
                }
                Flight::Select {
                    id,
                    mut select,
                    tried,
                    success,
                } => {
                    if select.learn(tried, success) {
                        self.queue(Urgency::Edge).push_back(Job::Select(id, select));
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

impl Codep {
    fn learn(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let detail = judged.detail;
        let at = judged.group.purpose as usize;
        if judged.group.variant == Variant::Compares {
            self.recorded(view, judged);
        }
        match &mut self.flights[at] {
            Flight::Seeds => return Judgement::Keep(Reason::Seed),
            Flight::Record(bundle) => {
                let bundle = *bundle;
                self.bundle_recorded(view, bundle, detail);
            }
            Flight::Select {
                select, success, ..
            } => {
                if success.is_none() && select.is_enough(&detail.counts) {
                    let probes = detail.counts.iter().map(|(probe, _)| *probe).collect();
                    *success = Some((judged.nth, Arc::from(&detail.input[..]), probes));
                }
            }
            Flight::Relate(relate) => {
                let same = detail.counts.iter().map(|(probe, _)| *probe);
                relate
                    .same
                    .push(same.eq(relate.base.probes.iter().copied()));
            }
            Flight::Probe(probe, _) => {
                let bundle = &self.bundles[probe.bundle as usize];
                let sets = DataSets::parse(&bundle.bytes, self.ideas.delimiter);
                let nth = probe.done as usize + judged.nth as usize;
                let variable = &probe.variables.as_ref().expect("they fly")[nth];
                let known = (&sets, &self.classes);
                let found = probe::solve(known, variable, &probe.base.compares, &detail.compares);
                probe.found.extend(found);
            }
            Flight::Again | Flight::Solve(_) | Flight::Havoc => {}
        }
        let news = judged.news;
        match () {
            () if news.all.edges > 0 => Judgement::Keep(Reason::Edge),
            () if news.valid.edges > 0 => Judgement::Keep(Reason::ValidEdge),
            () => Judgement::Discard,
        }
    }

    /// What a selection leads to: a bundle, and a selection for what it does not cover.
    fn selected(&mut self, id: TestcaseId, select: Select) {
        let bundle = self.enter(id, select.bytes.clone(), true);
        self.known.extend(&select.probes);
        let next = select.next(&self.known, self.ideas.delimiter);
        let jobs = bundle.map(Job::Record).into_iter();
        let jobs = jobs.chain(next.map(|next| Job::Select(id, next)));
        self.queue(Urgency::Edge).extend(jobs);
    }

    /// What runs of pairs lead to: more of them, or classes.
    fn related(&mut self, view: &View<'_>, relate: Relate) {
        let bundle = relate.bundle;
        let (runs, _) = relate.same.as_chunks::<{ classes::RUNS as usize }>();
        if runs.len() < relate.pairs.len() {
            self.queue_of(bundle).push_front(Job::Relate(relate));
            return;
        }
        for (pair, same) in relate.pairs.iter().zip(runs) {
            self.classes.learn(pair, *same);
        }
        self.begin_probe(view, bundle, relate.base);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Trace, execute};
    use crate::trial::{Exit, TrapKind};
    use crate::{Config, Decision, Engine};

    /// Orders that are joined with customers, and three faults: at an amount of 90,024, at seven orders of customers, and
    /// at a customer whose key begins with `ck`.
    fn orders(input: &[u8]) -> Trace {
        let sets = DataSets::parse(input, b',');
        let mut trace = Trace::default();
        trace.hit(0);
        let mut joined = 0;
        let fault = |trace: &mut Trace, site| {
            trace.exit = Some(Exit::Trap(TrapKind::Unreachable));
            trace.site = site;
        };
        let cells = |set: usize| {
            let sets = &sets;
            let rows = (0..sets.rows(set)).filter(move |row| sets.columns(set, *row) == 2);
            rows.map(move |row| [sets.cell(set, row, 0), sets.cell(set, row, 1)])
        };
        for [_, customer] in cells(0) {
            for [key, amount] in cells(1) {
                if key != customer || key.len() < 2 {
                    continue;
                }
                joined += 1;
                let prefix = u64::from(u16::from_le_bytes([key[0], key[1]]));
                let amount = std::str::from_utf8(amount)
                    .ok()
                    .and_then(|text| text.parse().ok());
                let amount: i32 = amount.unwrap_or(0);
                if trace.equal(4, 4, prefix, u64::from(u16::from_le_bytes(*b"ck"))) {
                    fault(&mut trace, 3);
                } else if trace.equal(6, 4, u64::from(amount.cast_unsigned()), 90_024) {
                    fault(&mut trace, 1);
                }
            }
        }
        if trace.equal(8, 4, joined, 7) {
            fault(&mut trace, 2);
        }
        trace
    }

    /// The faults that a campaign of 3,000 trials finds.
    fn found(settings: &[(&str, &str)]) -> BTreeSet<u32> {
        let customers: String = (10..40).map(|n| format!("a{n},u{n}\n")).collect();
        let orders_of: String = (38..70).map(|n| format!("u{n},{n}\n")).collect();
        let settings = settings
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let config = Config {
            seeds: vec![format!("{customers}\x1c{orders_of}").into_bytes()],
            settings: settings.collect(),
            input_bytes_max: 1 << 16,
            ..Config::bare(&SPEC, 1, 64)
        };
        let mut engine = Engine::new(config).expect("the settings are right");
        let mut sites = BTreeSet::new();
        while engine.stats().execs < 3_000 {
            let batch = engine.next_batch(3_000 - engine.stats().execs);
            let outcomes = execute(&batch, &orders, 1);
            for decision in engine.finish_batch(&batch, outcomes) {
                if let Decision::Finding { site, .. } = decision {
                    sites.insert(site);
                }
            }
        }
        sites
    }

    #[test]
    fn each_idea_finds_what_it_is_for() {
        assert_eq!(found(&[]), BTreeSet::from([1, 2, 3]));
        assert!(!found(&[("together", "off")]).contains(&3));
        assert!(!found(&[("constants", "off")]).contains(&1));
        assert!(!found(&[("constants", "off")]).contains(&3));
        assert!(!found(&[("cardinality", "off")]).contains(&2));
    }
}
