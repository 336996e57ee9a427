//! Perun fuzz: mutants that cost more than what they were made from, by rules for text, markup and
//! binary files.
//!
//! T. Fiedor et al., Perun, the performance version system, `perun fuzz` as its code is (0.21.8). A
//! *visit* chooses a parent by its fitness and applies every rule to it, each as often as the rule's
//! past success allows. Visits follow each other until enough mutants are *interesting*, which is to
//! cost more than the base by a rate, and more than their parent; such mutants are parents from then
//! on. At the end of such a *gathering phase* those that are degradations are rated higher, their rules
//! gain, and the rate is raised or lowered.
//!
//! With `compat` the defects that Perun has without saying so are here, too: D1 to D10, D12, D13 and
//! D15, by the numbers that the files below give them. D11 and D14 are about its second phase and about
//! files of gcov, which we do not have.
//!
//! What stands for what, and other departures:
//! - coverage, there the number of executed lines by gcov, is fuel: both count what was executed, and
//!   everything is compared with the median seed, so the unit does not matter. The time of a profile is
//!   fuel, too, or with `check=edges` the count of each edge; with `check=memory` or `depth` the one of
//!   its memory;
//! - one execution gives both, so the second phase runs nothing. It comes when Perun's comes, with what
//!   the first has measured;
//! - a hang is a run that uses up its fuel. Hangs and faults are findings as everywhere;
//! - an input that the target rejects is a run like any other;
//! - seeds that break end a campaign of Perun. Here they are no parents, unless all do;
//! - without any seed that is not empty, we begin with a line of our own;
//! - nothing is made from an empty mutant, and none becomes a parent: Perun wastes a turn on it;
//! - with defect D8 Perun ends the campaign; here the mutant is lost, and nothing else;
//! - in compat mode the kind of the first seed is that of all, since rules for text break off on bytes;
//! - there is a bound to the mutants that are kept, which Perun has on disk: see `room.rs`;
//! - a rule ends early once a mutant is four times its limit, which is a gigabyte otherwise;
//! - visits are planned ahead as if nothing interesting came of them.

mod binary;
mod check;
mod custom;
mod kind;
mod lines;
mod markup;
mod options;
mod parents;
mod room;
mod rules;
mod sharing;
mod size;
#[cfg(test)]
mod tests;
mod text;
mod threshold;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Guidance, Imports, InputKind, Judged, Judgement, MadeBy, OperatorRecord, Spec, Strategy, View,
};
use crate::batch::Group;
use crate::corpus::{Reason, TestcaseId};
use crate::rng::{Rng, derive};
use crate::settings::Settings;
use crate::trial::{Exit, Status};
use check::{Measured, Profile, Verdict};
use custom::Custom;
use kind::{Family, Kind};
use lines::Characters;
use options::{Options, SETTINGS};
use parents::{Fitness, Parent, Parents};
use rules::{BUILT_IN, Maker, Rule};

/// The guidance `perun`.
pub static SPEC: Spec = Spec {
    name: "perun",
    summary: "Perun's rules for text, markup and binary files, in search of what costs most",
    paper: Some("Perun, performance version system: fuzz, 0.21.8"),
    input: InputKind::Bytes,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::None,
    batch: 1,
    // Of the order of ten visits: interesting mutants are rare, and end what was planned ahead.
    lookahead: 128,
    settings: SETTINGS,
    new,
};

/// Purpose of seeds; other purposes are indices of flights.
const SEEDS: u64 = u64::MAX;
/// Without seeds: something for every rule for text to change.
const SEED: &[u8] = b"some words\n";
/// Mutants planned ahead take no more memory than this, and the last of them.
const AHEAD_BYTES: usize = 1 << 24;

fn new(settings: &Settings) -> Strategy {
    let options = Options::new(settings);
    let custom = Options::custom(settings);
    Strategy::Perun(Box::new(Perun {
        has_gate: options.has_gate,
        hits: vec![0; BUILT_IN as usize + custom.rules().len()],
        tried: vec![[0; 2]; BUILT_IN as usize + custom.rules().len()],
        threshold: options.threshold,
        room: options.room,
        options,
        custom,
        seed: 0,
        seeds: 0,
        seed_costs: Vec::new(),
        profile: None,
        base: 0,
        chars_max: 0,
        parents: Arc::default(),
        born: 0,
        verdict: NOTHING,
        newborn: None,
        hits_total: 0,
        execs_left: 0,
        interesting: Vec::new(),
        visits: 0,
        visit: None,
        flights: Vec::new(),
        has_succeeded: false,
    }))
}

/// The state of Perun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perun {
    options: Options,
    custom: Custom,
    /// Seed of all visits, drawn before the first.
    seed: u64,
    /// Seeds begun.
    seeds: u32,
    /// Fuel of the seeds that did not break, until all have run.
    seed_costs: Vec<u64>,
    /// Of the first seed, or of one that degraded it.
    profile: Option<Profile>,
    /// The median of the seeds; 1 if that is 0.
    base: u64,
    /// Where mutants are cut.
    chars_max: u32,
    parents: Arc<Parents>,
    /// How many parents there ever were.
    born: u32,
    /// What was found of the input just judged.
    verdict: Verdict,
    /// The parent that the input just judged became.
    newborn: Option<u32>,
    /// By rule: mutants that were interesting, and once more if they were degradations.
    hits: Vec<u32>,
    /// By rule: mutants that ran, and those that were interesting.
    tried: Vec<[u64; 2]>,
    hits_total: u32,
    /// Whether cost decides who is interesting; else every mutant is checked at once.
    has_gate: bool,
    threshold: threshold::Threshold,
    room: room::Room,
    /// What is left of the gathering phase.
    execs_left: u32,
    /// What the gathering phase has found.
    interesting: Vec<Interesting>,
    /// Visits begun.
    visits: u64,
    /// The last of them.
    visit: Option<Visit>,
    /// The trials of the batch.
    flights: Vec<Flight>,
    /// Whether a trial of the batch made a parent: then visits planned after its own are not what
    /// would come next.
    has_succeeded: bool,
}

/// An interesting mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Interesting {
    parent: u32,
    rule: Rule,
    verdict: Verdict,
}

/// The mutants of one parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Visit {
    parent: Parent,
    /// How many mutants each rule makes.
    shares: Vec<(Rule, u32)>,
    seed: u64,
    /// Mutants made, those that came to nothing included.
    made: u32,
}

impl Visit {
    /// The rule of a mutant; nothing if there are no more.
    fn rule(&self, mut mutant: u32) -> Option<Rule> {
        for &(rule, count) in &self.shares {
            match mutant.checked_sub(count) {
                Some(rest) => mutant = rest,
                None => return Some(rule),
            }
        }
        None
    }
}

/// A trial of the batch: a mutant of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Flight {
    visit: u64,
    mutant: u32,
}

impl Perun {
    /// Begins to search: all seeds have run.
    fn begin_search(&mut self, view: &View<'_>) {
        let seeds = seeds(view);
        let seed_max = seeds.iter().map(|seed| seed.len()).max().unwrap_or(0) as u64;
        let limit = self.options.size.bytes(seed_max, self.options.is_compat);
        self.chars_max = limit.clamp(1, view.input_bytes_max.into()) as u32;
        self.base = median(std::mem::take(&mut self.seed_costs));
        if self.base == 0 {
            self.has_gate = false;
            self.base = 1;
        }
        if self.parents.is_empty() {
            for seed in seeds {
                self.add_seed(view, seed, 0);
            }
        }
        self.execs_left = self.options.exec_limit;
    }

    fn add_seed(&mut self, view: &View<'_>, bytes: Arc<[u8]>, cost: u64) {
        if bytes.is_empty() {
            return;
        }
        let kind = match (self.options.is_compat, view.seeds.first()) {
            (true, Some(first)) => Kind::of(first),
            _ => Kind::of(&bytes),
        };
        let parent = self.birth(bytes, kind, cost, NOTHING);
        Arc::make_mut(&mut self.parents).add(parent);
    }

    /// Something that may become a parent.
    fn birth(&mut self, bytes: Arc<[u8]>, kind: Kind, cost: u64, verdict: Verdict) -> Parent {
        let number = self.born;
        self.born += 1;
        self.newborn = Some(number);
        let fitness = match self.has_gate {
            true => Fitness::of_cost(cost),
            false => Fitness::of_share(verdict),
        };
        Parent {
            number,
            id: None,
            bytes,
            kind,
            cost,
            fitness,
        }
    }

    /// What each rule has led to: those that ran.
    pub(super) fn operators(&self) -> Vec<OperatorRecord> {
        let rules = (0..).zip(&self.tried).filter(|(_, tried)| tried[0] > 0);
        rules
            .map(|(rule, &[trials, finds])| OperatorRecord {
                name: rules::name(rule),
                trials,
                finds,
            })
            .collect()
    }

    fn hit(&mut self, rule: Rule) {
        self.hits[rule as usize] += 1;
        self.hits_total += 1;
    }

    /// Ends a gathering phase: rates what turned out to be a degradation.
    fn end_phase(&mut self) {
        let interesting = std::mem::take(&mut self.interesting);
        for found in &interesting {
            if found.verdict.degraded > 0 {
                self.hit(found.rule);
                Arc::make_mut(&mut self.parents).rate(found.parent, found.verdict);
            }
        }
        self.threshold.end_phase(!interesting.is_empty());
        self.execs_left = self.options.exec_limit;
    }

    /// Goes on to the next visit.
    fn next_visit(&mut self, view: &View<'_>) {
        if self.visits == 0 {
            self.begin_search(view);
        }
        let has_enough = self.interesting.len() >= self.options.files_limit as usize;
        if self.has_gate && (has_enough || self.execs_left == 0) {
            self.end_phase();
        }
        let mut rng = Rng::new(derive(self.seed, self.visits));
        let is_compat = self.options.is_compat;
        let parent = self.parents.choose(&mut rng, is_compat).clone();
        let family = self.options.family(parent.kind);
        let rules = rules::of_family(family, self.custom.rules().len());
        let sharing = self.options.sharing;
        let shares = rules
            .map(|rule| {
                let hits = self.hits[rule as usize];
                let count = sharing.mutants(hits, self.hits_total, is_compat, &mut rng);
                (rule, count)
            })
            .collect();
        self.visit = Some(Visit {
            parent,
            shares,
            seed: rng.word(),
            made: 0,
        });
        self.visits += 1;
    }

    /// The next mutants of the visit, up to `room` of them and until there are so many bytes, by number;
    /// fewer if there are no more.
    fn mutants(&mut self, view: &View<'_>, room: u32, mut bytes: usize) -> Vec<(u32, Arc<[u8]>)> {
        let Some(visit) = &mut self.visit else {
            return Vec::new();
        };
        let is_compat = self.options.is_compat;
        let is_text = self.options.family(visit.parent.kind) != Family::Binary;
        let parent = match is_compat && is_text {
            true => Characters::of_text(&visit.parent.bytes),
            false => Characters::of_bytes(&visit.parent.bytes),
        };
        let maker = Maker {
            custom: self.custom.rules(),
            chars_max: self.chars_max as usize,
            bytes_max: view.input_bytes_max as usize,
            is_compat,
        };
        let parent_bytes = parent.bytes();
        let mut mutants = Vec::new();
        while mutants.len() < room as usize
            && bytes > 0
            && let Some(rule) = visit.rule(visit.made)
        {
            let mut rng = Rng::new(derive(visit.seed, visit.made.into()));
            if let Some(mutant) = maker.mutant(&parent, &parent_bytes, rule, &mut rng) {
                bytes = bytes.saturating_sub(mutant.len());
                mutants.push((visit.made, Arc::from(mutant)));
            }
            visit.made += 1;
        }
        mutants
    }

    /// What the rule of a trial was, and the parent; nothing for seeds.
    fn origin(&self, judged: &Judged<'_>) -> Option<(Rule, &Parent)> {
        if judged.group.purpose == SEEDS {
            return None;
        }
        let flight = self.flights[judged.group.purpose as usize + judged.nth as usize];
        let visit = self.visit.as_ref().expect("a mutant is of a visit");
        let rule = visit.rule(flight.mutant).expect("it was planned");
        Some((rule, &visit.parent))
    }

    fn judge_seed(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let (cost, run) = (judged.outcome.fuel, Measured::of(judged));
        let check = &self.options.check;
        let is_dearer = |base: &Profile| check.compare(base, run).degraded > 0;
        if self.profile.as_ref().is_none_or(is_dearer) {
            self.profile = Some(check.profile(run));
        }
        self.seed_costs.push(cost);
        self.add_seed(view, Arc::from(&judged.detail.input[..]), cost);
        Judgement::Keep(Reason::Seed)
    }

    /// Makes a parent of a mutant, unless there is one of the same bytes; whether there was none.
    ///
    /// Interest is all that changes what comes next, so visits planned ahead end here.
    fn succeed(&mut self, judged: &Judged<'_>, rule: Rule, cost: u64, verdict: Verdict) -> bool {
        let bytes = judged.detail.input.len();
        if bytes == 0 || !self.room.fits(bytes, cost) {
            return false;
        }
        let visit = self.visit.as_ref().expect("a mutant is of a visit");
        let kind = visit.parent.kind;
        let parent = self.birth(Arc::from(&judged.detail.input[..]), kind, cost, verdict);
        let number = parent.number;
        // What 1e-5 is of: a share is of 1.
        let base = if self.has_gate { self.base } else { 1 };
        let parents = Arc::make_mut(&mut self.parents);
        let is_new = match self.options.is_compat {
            true => parents.add_as_perun(parent, base),
            false => parents.add_new(parent),
        };
        if !is_new {
            return false;
        }
        self.room.take(bytes, cost);
        self.hit(rule);
        self.tried[rule as usize][1] += 1;
        if self.has_gate {
            self.interesting.push(Interesting {
                parent: number,
                rule,
                verdict,
            });
        }
        self.has_succeeded = true;
        true
    }
}

/// What is known of a run that was not checked, or could not be.
const NOTHING: Verdict = Verdict {
    degraded: 0,
    compared: 1,
};

/// The user's seeds, and one of our own if all are empty.
fn seeds(view: &View<'_>) -> Vec<Arc<[u8]>> {
    let mut seeds = view.seeds.to_vec();
    if seeds.iter().all(|seed| seed.is_empty()) {
        let bytes = SEED.len().min(view.input_bytes_max as usize);
        seeds.push(Arc::from(&SEED[..bytes]));
    }
    seeds
}

/// The median, of an even number the mean of the two in the middle, rounded down; 0 of none.
fn median(mut costs: Vec<u64>) -> u64 {
    costs.sort_unstable();
    let at = costs.len() / 2;
    match costs.len() % 2 {
        0 if costs.is_empty() => 0,
        0 => costs[at - 1].midpoint(costs[at]),
        _ => costs[at],
    }
}

/// A mutant by any built-in rule for what an input holds; nothing if the rule changed nothing.
pub(super) fn any_rule(input: &[u8], bytes_max: usize, rng: &mut Rng) -> Option<Vec<u8>> {
    let rules: Vec<Rule> = rules::of_family(Kind::of(input).family(false), 0).collect();
    let rule = rules[rng.index(rules.len())];
    let maker = Maker {
        custom: &[],
        chars_max: bytes_max,
        bytes_max,
        is_compat: false,
    };
    maker.mutant(&Characters::of_bytes(input), input, rule, rng)
}

impl Guidance for Perun {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        if self.visits == 0 {
            let seeds = seeds(view);
            let rest = seeds[self.seeds as usize..].iter().take(room as usize);
            let rest: Vec<Arc<[u8]>> = rest.cloned().collect();
            if !rest.is_empty() {
                groups.push(Group::given(rest, None, SEEDS));
                return;
            }
            self.seed = rng.word();
        }
        // What would be run next if nothing came of it.
        let mut ahead = self.clone();
        let (mut left, mut bytes) = (room, AHEAD_BYTES);
        while left > 0 && bytes > 0 {
            let mutants = ahead.mutants(view, left, bytes);
            if mutants.is_empty() {
                ahead.next_visit(view);
                continue;
            }
            let count = mutants.len() as u32;
            left -= count;
            ahead.execs_left = ahead.execs_left.saturating_sub(count);
            let (purpose, visit) = (self.flights.len() as u64, ahead.visits - 1);
            let flights = mutants.iter().map(|&(mutant, _)| Flight { visit, mutant });
            self.flights.extend(flights);
            let inputs: Vec<Arc<[u8]>> = mutants.into_iter().map(|(_, input)| input).collect();
            bytes = (inputs.iter()).fold(bytes, |left, input| left.saturating_sub(input.len()));
            let parent = ahead.visit.as_ref().and_then(|visit| visit.parent.id);
            groups.push(Group::given(inputs, parent, purpose));
        }
    }

    fn begin(&mut self, view: &View<'_>, group: &Group, nth: u32) -> bool {
        if group.purpose == SEEDS {
            self.seeds += 1;
            return true;
        }
        let flight = self.flights[group.purpose as usize + nth as usize];
        if flight.visit >= self.visits && self.has_succeeded {
            return false;
        }
        while flight.visit >= self.visits {
            self.next_visit(view);
        }
        let visit = self.visit.as_mut().expect("one has begun");
        visit.made = flight.mutant + 1;
        let rule = visit.rule(flight.mutant).expect("it was planned");
        self.tried[rule as usize][0] += 1;
        self.execs_left = self.execs_left.saturating_sub(1);
        true
    }

    fn made_by(&self, judged: &Judged<'_>) -> Option<MadeBy> {
        let (rule, _) = self.origin(judged)?;
        let is_run = judged.outcome.exit.status() != Status::Interesting;
        let verdict = if is_run { self.verdict } else { NOTHING };
        Some(MadeBy {
            parent: judged.group.parent?,
            rule: rules::name(rule),
            degraded: [verdict.degraded, verdict.compared],
        })
    }

    fn found(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        // Defect D9: a mutant that breaks the target is interesting, as if it had cost nothing.
        if self.options.is_compat
            && self.has_gate
            && judged.outcome.exit != Exit::Hang
            && let Some((rule, _)) = self.origin(judged)
        {
            self.succeed(judged, rule, 0, NOTHING);
        }
        Judgement::Discard
    }

    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        (self.newborn, self.verdict) = (None, NOTHING);
        if judged.outcome.exit.status() == Status::Overrun {
            return Judgement::Discard;
        }
        let Some((rule, parent)) = self.origin(judged) else {
            return self.judge_seed(view, judged);
        };
        let cost = judged.outcome.fuel;
        let verdict = match &self.profile {
            Some(base) => self.options.check.compare(base, Measured::of(judged)),
            None => NOTHING,
        };
        let parent_cost = parent.cost;
        self.verdict = verdict;
        let is_interesting = match self.has_gate {
            true => cost > self.threshold.fuel(self.base) && cost > parent_cost,
            false => verdict.degraded > 0,
        };
        match is_interesting && self.succeed(judged, rule, cost, verdict) {
            true => Judgement::Keep(Reason::Slower),
            false => Judgement::Discard,
        }
    }

    fn kept(&mut self, view: &View<'_>, id: TestcaseId, _: &Judged<'_>) {
        if let Some(number) = self.newborn {
            let bytes = view.corpus.get(id).bytes.clone();
            Arc::make_mut(&mut self.parents).name(number, id, bytes);
        }
    }

    fn end_batch(&mut self, _: &View<'_>) {
        self.flights.clear();
        self.has_succeeded = false;
    }
}
