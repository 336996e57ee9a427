//! Jobs: trials that are known beforehand, in queues by how urgent they are, and the havoc that fills what is left of a
//! batch.
//!
//! In: jobs. Out: groups of trials, and for each what it is for, by which `learning.rs` knows what to make of it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Codep;
use super::bundles::{Bundle, Urgency};
use super::change::{Change, Changed};
use super::classes::Pair;
use super::gather::Gather;
use super::havoc::Havoc;
use super::probe::{self, Candidate, Variable};
use super::sample::{SAMPLES, Samples};
use super::scatter::Scatter;
use super::select::Select;
use crate::batch::{Group, Plan};
use crate::corpus::TestcaseId;
use crate::guidance::View;
use crate::rng::Rng;
use crate::rows::{DataSets, Maker, is_without_rows};
use crate::trial::{Compare, CompareText, Detail, Variant};

/// Without seeds that have rows: text and a number.
const SEED: &[u8] = b"some words,1\n";
/// Of the trials that are for jobs, one of so many is kept for what is not urgent.
const OUTCOME: u32 = 4;
const LATER: u32 = 8;
/// Most trials of one job in one batch, so that several take turns.
const AT_ONCE: u32 = 16;
/// Children in a group of havoc; and of every fourth group comparisons are recorded.
const CHILDREN: u32 = 12;
const RECORDED_EVERY: u64 = 4;
/// One of so many groups is scattered.
const SCATTERED_EVERY: u64 = 2;
/// And one of so many of those is gathered, of a whole seed as every other is, if there is anything to gather.
const GATHERED_EVERY: u64 = 4;
/// Havoc on a bundle without new edges counts as so many.
const COST: u64 = 4;

/// Trials that are known beforehand. Bundles are named by their number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Job {
    /// Run samples of what the testcase holds; so many were.
    Sample(TestcaseId, Select, u32),
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
    /// The same, of comparisons that have never come out so; once they have, the others can wait.
    SolveNew(u32, Vec<Candidate>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Relate {
    pub(super) bundle: u32,
    pub(super) base: Arc<Base>,
    pub(super) pairs: Vec<Pair>,
    /// Whether each run so far did the same as the bundle.
    pub(super) same: Vec<bool>,
}

/// What a bundle does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Base {
    pub(super) probes: Vec<u32>,
    pub(super) compares: Vec<Compare>,
    pub(super) texts: Vec<CompareText>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Probe {
    pub(super) bundle: u32,
    pub(super) base: Arc<Base>,
    /// Nothing until the first are run: classes are known by then.
    pub(super) variables: Option<Vec<Variable>>,
    pub(super) done: u32,
    pub(super) found: BTreeSet<Candidate>,
}

/// What a group in flight is for; its index is the group's purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Flight {
    Seeds,
    /// With how many there were, these included.
    Sample(TestcaseId, Select, u32),
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
    /// By the site that each is for.
    Solve(Vec<(u32, Vec<Change>)>),
    Havoc,
}

impl Codep {
    pub(super) fn queue(&mut self, urgency: Urgency) -> &mut VecDeque<Job> {
        &mut self.jobs[urgency as usize]
    }

    pub(super) fn queue_of(&mut self, bundle: u32) -> &mut VecDeque<Job> {
        self.queue(self.urgency(bundle))
    }

    /// Adds a selection.
    pub(super) fn push_select(&mut self, id: TestcaseId, select: Select) {
        let urgency = match (select.is_rest, select.is_seed) {
            (true, true) => Urgency::Later,
            (true, false) => Urgency::Outcome,
            (false, _) => Urgency::Edge,
        };
        self.queue(urgency).push_back(Job::Select(id, select));
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
    pub(super) fn plan_seeds(
        &mut self,
        view: &View<'_>,
        room: u32,
        groups: &mut Vec<Group>,
    ) -> u32 {
        let own = Arc::from(&SEED[..SEED.len().min(view.input_bytes_max as usize)]);
        // Where there are no rows, nothing can be changed.
        let is_own = view.seeds.iter().all(|seed| is_without_rows(seed));
        let all = view.seeds.iter().chain(is_own.then_some(&own));
        let rest = all.skip(self.seeds_planned as usize);
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

    /// Up to `room` trials of waiting jobs; how many.
    pub(super) fn plan_jobs(&mut self, room: u32, rng: &mut Rng, groups: &mut Vec<Group>) -> u32 {
        let mut left = room;
        // What can wait has its share, or it would wait for ever. Who has nothing to do leaves his to the others.
        for (urgency, of) in [(Urgency::Later, LATER), (Urgency::Outcome, OUTCOME)] {
            let share = (room / of).max(1).min(left);
            left -= self.plan_queue(urgency, share, rng, groups);
        }
        for urgency in [Urgency::Edge, Urgency::Outcome, Urgency::Later] {
            left -= self.plan_queue(urgency, left, rng, groups);
        }
        room - left
    }

    /// Up to `room` trials of one queue; how many.
    fn plan_queue(
        &mut self,
        urgency: Urgency,
        room: u32,
        rng: &mut Rng,
        groups: &mut Vec<Group>,
    ) -> u32 {
        let mut left = room;
        for _ in 0..self.queue(urgency).len() {
            if left == 0 {
                break;
            }
            let Some(job) = self.queue(urgency).pop_front() else {
                break;
            };
            left -= self.plan_job(job, urgency, left, rng, groups);
        }
        room - left
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
            Job::Sample(id, select, done) => {
                let count = room.min(SAMPLES - done);
                let sets = DataSets::parse(&select.whole, self.ideas.delimiter);
                let plan = Plan::Rows {
                    maker: Arc::new(Samples::new(sets)),
                    seed: rng.word(),
                    first: u64::from(done),
                };
                let flight = Flight::Sample(id, select, done + count);
                self.fly(flight, plan, count, Variant::Fast, Some(id), groups);
                count
            }
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
            Job::SolveNew(bundle, mut candidates) => {
                let outcomes = &self.outcomes;
                let is_seen = |one: &mut Candidate| outcomes.has_seen(one.site, one.bit);
                let later: Vec<_> = candidates.extract_if(.., is_seen).collect();
                if self.bundles[bundle as usize].is_edge && !later.is_empty() {
                    self.queue(Urgency::Later)
                        .push_back(Job::Solve(bundle, later));
                }
                let next = take(&mut candidates, room);
                if !candidates.is_empty() {
                    self.queue(urgency)
                        .push_back(Job::SolveNew(bundle, candidates));
                }
                self.fly_solutions(bundle, next, rng, groups)
            }
            Job::Solve(bundle, mut candidates) => {
                let next = take(&mut candidates, room);
                if !candidates.is_empty() {
                    self.queue(urgency)
                        .push_back(Job::Solve(bundle, candidates));
                }
                self.fly_solutions(bundle, next, rng, groups)
            }
        }
    }

    /// Adds a group of solutions; how many.
    fn fly_solutions(
        &mut self,
        bundle: u32,
        next: Vec<Candidate>,
        rng: &mut Rng,
        groups: &mut Vec<Group>,
    ) -> u32 {
        let count = next.len() as u32;
        if count == 0 {
            return 0;
        }
        let runs = next.iter().map(|one| one.changes.clone()).collect();
        let runs = (runs, self.ideas.freeze);
        let solutions = next.into_iter().map(|one| (one.site, one.changes));
        let flight = Flight::Solve(solutions.collect());
        self.fly_changes(flight, bundle, runs, Variant::Compares, rng, groups);
        count
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

    /// Exactly `room` children, if there is anything to make them of.
    pub(super) fn plan_havoc(&mut self, mut room: u32, rng: &mut Rng, groups: &mut Vec<Group>) {
        let numbers: Arc<[i64]> = self.numbers.iter().copied().collect();
        let tokens: Arc<[Vec<u8>]> = self.tokens.iter().cloned().collect();
        while room > 0 {
            let count = room.min(CHILDREN);
            room -= count;
            self.stages += 1;
            let scatters = self.bundles.is_empty() || self.stages.is_multiple_of(SCATTERED_EVERY);
            if scatters && self.plan_scatter(count, rng, groups) {
                continue;
            }
            if self.bundles.is_empty() {
                return;
            }
            let least = (0..)
                .zip(&mut self.bundles)
                .min_by_key(|(_, bundle)| bundle.havoc);
            let (nth, bundle) = least.expect("there is one");
            self.havocs += 1;
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
            let variant = match self.havocs.is_multiple_of(RECORDED_EVERY) {
                true => Variant::Compares,
                false => Variant::Fast,
            };
            let plan = rows(Arc::new(havoc), rng);
            self.fly(Flight::Havoc, plan, count, variant, Some(parent), groups);
        }
    }

    /// A group of scattered children of a seed or of a bundle; whether there is any to make them of.
    fn plan_scatter(&mut self, count: u32, rng: &mut Rng, groups: &mut Vec<Group>) -> bool {
        self.scattered += 1;
        // Bundles and seeds in turns; bundles with new edges, if there are any.
        let turn = (self.scattered / 2) as usize;
        let edges: Vec<&Bundle> = self.bundles.iter().filter(|one| one.is_edge).collect();
        let is_whole = edges.is_empty() || self.scattered.is_multiple_of(2);
        let has_wanted = self.ideas.gather && self.wanted.is_of_many();
        let (parent, bytes) = match is_whole && !self.seeds.is_empty() {
            true => {
                // Each seed both ways.
                let turn = if has_wanted { turn / 2 } else { turn };
                let seed = &self.seeds[turn % self.seeds.len()];
                (seed.id, &seed.bytes)
            }
            false if edges.is_empty() => return false,
            false => {
                let bundle = edges[turn % edges.len()];
                (bundle.parent, &bundle.bytes)
            }
        };
        let base = DataSets::parse(bytes, self.ideas.delimiter);
        let classes = self.classes.clone();
        let maker: Arc<dyn Maker> =
            match has_wanted && self.scattered.is_multiple_of(GATHERED_EVERY) {
                true => Arc::new(Gather {
                    base,
                    classes,
                    wanted: self.wanted.clone(),
                }),
                false => Arc::new(Scatter {
                    base,
                    classes,
                    cardinality: self.ideas.cardinality,
                }),
            };
        let plan = rows(maker, rng);
        let fast = Variant::Fast;
        self.fly(Flight::Havoc, plan, count, fast, Some(parent), groups);
        true
    }
}

impl Base {
    pub(super) fn of(detail: &Detail) -> Base {
        Base {
            probes: detail.counts.iter().map(|(probe, _)| *probe).collect(),
            compares: detail.compares.clone(),
            texts: detail.texts.clone(),
        }
    }
}

impl Probe {
    pub(super) fn new(bundle: u32, base: Arc<Base>) -> Probe {
        Probe {
            bundle,
            base,
            variables: None,
            done: 0,
            found: BTreeSet::new(),
        }
    }
}

/// The next of some solutions, which are the last of them.
fn take(candidates: &mut Vec<Candidate>, room: u32) -> Vec<Candidate> {
    let count = room.min(AT_ONCE).min(candidates.len() as u32) as usize;
    let mut next = candidates.split_off(candidates.len() - count);
    next.reverse();
    next
}

fn rows(maker: Arc<dyn Maker>, rng: &mut Rng) -> Plan {
    Plan::Rows {
        maker,
        seed: rng.word(),
        first: 0,
    }
}
