//! SlowFuzz: inputs whose runs execute as many edges as possible.
//!
//! T. Petsios, J. Zhao, A. Keromytis and S. Jana, "SlowFuzz: Automated Domain-Independent Detection of
//! Algorithmic Complexity Vulnerabilities", CCS 2017, as its code is, a fork of libFuzzer:
//! - a parent is drawn from all that was kept, the later the likelier (`UpdateCorpusDistribution`);
//! - a child is changed `mutate_depth` times, one mutation upon the other, and run after each
//!   (`MutateAndTestOne`);
//! - it is kept if it executed more edges than any before, each as often as it was executed, or if
//!   some edge was executed a number of times that falls into a new bucket (`RunOne`). The paper's
//!   Algorithm 1 keeps it for the former alone: `coverage=off`;
//! - which mutation, and where, is learnt from what was kept (`mode`; `Strategy`).
//!
//! Departures:
//! - nothing is kept for the time that it took;
//! - `mode=offset-priority` is as printed: the code's mode 2 learns offsets and never uses them;
//! - there are no words from recorded comparisons, for which the paper's builds have no instrumentation;
//! - the options `only_ascii` and `only_dict` are not built;
//! - seeds run in the order of their sizes, equals in the user's, where equals are shuffled there;
//! - what breaks the target is a finding, and the campaign goes on;
//! - trials are planned ahead as if nothing were kept.

mod mutators;
mod strategy;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, View};
use crate::batch::{Group, Plan};
use crate::corpus::{Corpus, Reason, TestcaseId};
use crate::dictionary::TokenSource;
use crate::rng::{Rng, derive, scale};
use crate::settings::{Setting, SettingKind, Settings};
use mutators::{Materials, Place};
use strategy::Strategy;

/// The guidance `slowfuzz`.
pub static SPEC: Spec = Spec {
    name: "slowfuzz",
    summary: "SlowFuzz: keeps what executes more edges than anything before, and learns how to mutate",
    paper: Some("Petsios et al., SlowFuzz, CCS 2017"),
    input: InputKind::Bytes,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::All,
    batch: 1,
    // As for Perun: little is kept, and what is ends what was planned ahead.
    lookahead: 128,
    settings: SETTINGS,
    new,
};

const MODE: Setting = Setting {
    name: "mode",
    summary: "what is learnt from inputs that were kept: which mutation, where, both or nothing",
    kind: SettingKind::OneOf {
        names: &["hybrid", "mutation-priority", "offset-priority", "random"],
    },
};
const COVERAGE: Setting = Setting::switch("coverage", "keep new coverage, too", true);
const MUTATE_DEPTH: Setting =
    Setting::number("mutate_depth", "mutations upon each other", 1..=1_000, 5);
const SETTINGS: &[Setting] = &[MODE, COVERAGE, MUTATE_DEPTH];

/// Without seeds libFuzzer begins with this.
const SEED: &[u8] = b"\n";

fn new(settings: &Settings) -> super::Strategy {
    let mode = settings.number(MODE.name);
    super::Strategy::Slowfuzz(Box::new(Slowfuzz {
        keeps_coverage: settings.is_on(COVERAGE.name),
        mutate_depth: settings.number(MUTATE_DEPTH.name),
        strategy: Strategy::new(mode == 0 || mode == 1, mode == 0 || mode == 2),
        seed: 0,
        seeds: 0,
        edges_max: 0,
        steps: 0,
        current: Arc::from([]),
        parent: None,
        words: Vec::new(),
        flights: Vec::new(),
        has_kept: false,
    }))
}

/// The state of SlowFuzz.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slowfuzz {
    keeps_coverage: bool,
    mutate_depth: u64,
    strategy: Strategy,
    /// Of all mutations, drawn before the first.
    seed: u64,
    /// Seeds begun.
    seeds: u32,
    /// Edges executed by the run that executed most.
    edges_max: u64,
    /// Mutations begun.
    steps: u64,
    /// The last mutant, and who it descends from.
    current: Arc<[u8]>,
    parent: Option<TestcaseId>,
    /// Of the dictionary: those that were in a mutation that was kept.
    words: Vec<Vec<u8>>,
    /// The trials of the batch.
    flights: Vec<Flight>,
    /// Whether a trial of the batch was kept: then those after it are not what would come next.
    has_kept: bool,
}

/// One mutation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Flight {
    place: Place,
    parent: Option<TestcaseId>,
}

/// Purpose of seeds; of a mutation it is its place in the batch.
const SEEDS: u64 = u64::MAX;

/// The user's seeds by size; libFuzzer's own if there is none but the empty one.
fn seeds(view: &View<'_>) -> Vec<Arc<[u8]>> {
    let mut seeds: Vec<Arc<[u8]>> = view.seeds.to_vec();
    seeds.retain(|seed| !seed.is_empty());
    seeds.sort_by_key(|seed| seed.len());
    if seeds.is_empty() {
        seeds.push(Arc::from(SEED));
    }
    seeds
}

/// A testcase, drawn in proportion to when it was kept: the `n`th has weight `n`.
fn choose(corpus: &Corpus, rng: &mut Rng) -> Option<TestcaseId> {
    let count = corpus.len() as u64;
    let total = count * (count + 1) / 2;
    let mut left = (u128::from(rng.word()) * u128::from(total)) >> 64;
    for at in 0..count {
        let weight = u128::from(at + 1);
        if left < weight {
            return Some(TestcaseId(at as u32));
        }
        left -= weight;
    }
    None
}

impl Slowfuzz {
    /// Goes on to the next mutation: what it does, and to whom.
    fn step(&mut self, view: &View<'_>, words: &[Vec<u8>]) -> Flight {
        let mut rng = Rng::new(derive(self.seed, self.steps));
        if self.steps.is_multiple_of(self.mutate_depth) {
            self.parent = choose(view.corpus, &mut rng);
            self.current = match self.parent {
                Some(id) => view.corpus.get(id).bytes.clone(),
                // All seeds broke.
                None => seeds(view)[0].clone(),
            };
        }
        self.steps += 1;
        let materials = Materials {
            bytes_max: view.input_bytes_max as usize,
            corpus: view.corpus,
            words,
            persistent: &self.words,
        };
        let mut bytes = self.current.to_vec();
        let place = self.strategy.mutate(&mut bytes, &materials, &mut rng);
        self.current = Arc::from(bytes);
        Flight {
            place,
            parent: self.parent,
        }
    }
}

impl Guidance for Slowfuzz {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        if self.steps == 0 {
            let seeds = seeds(view);
            let rest = seeds[self.seeds as usize..].iter().take(room as usize);
            let rest: Vec<Arc<[u8]>> = rest.cloned().collect();
            if !rest.is_empty() {
                groups.push(Group::given(rest, None, SEEDS));
                return;
            }
            self.seed = rng.word();
        }
        let users = view.tokens.iter().filter(|t| t.source == TokenSource::User);
        let words: Vec<Vec<u8>> = users.map(|token| token.bytes.clone()).collect();
        // What would be run next if nothing were kept.
        let mut ahead = self.clone();
        for nth in 0..u64::from(room) {
            let flight = ahead.step(view, &words);
            groups.push(Group::given(
                vec![ahead.current.clone()],
                flight.parent,
                nth,
            ));
            self.flights.push(flight);
        }
    }

    fn begin(&mut self, _: &View<'_>, group: &Group, _: u32) -> bool {
        if group.purpose == SEEDS {
            self.seeds += 1;
            return true;
        }
        if self.has_kept {
            return false;
        }
        self.steps += 1;
        self.parent = group.parent;
        if let Plan::Given(inputs) = &group.plan {
            self.current = inputs[0].clone();
        }
        true
    }

    fn judge(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let counts = judged.detail.counts.iter();
        let edges: u64 = counts.map(|&(_, count)| u64::from(count)).sum();
        let is_slowest = edges > self.edges_max;
        self.edges_max = self.edges_max.max(edges);
        let is_seed = judged.group.purpose == SEEDS;
        match () {
            () if judged.detail.input.is_empty() => Judgement::Discard,
            () if is_slowest && is_seed => Judgement::Keep(Reason::Seed),
            () if is_slowest => Judgement::Keep(Reason::Max),
            () if !self.keeps_coverage || !judged.news.all.any() => Judgement::Discard,
            () if is_seed => Judgement::Keep(Reason::Seed),
            () if judged.news.all.edges > 0 => Judgement::Keep(Reason::Edge),
            () => Judgement::Keep(Reason::Count),
        }
    }

    fn import(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.judge(view, judged)
    }

    fn imported(&mut self, _: &View<'_>, _: TestcaseId, _: &Judged<'_>) {}

    fn kept(&mut self, view: &View<'_>, _: TestcaseId, judged: &Judged<'_>) {
        if judged.group.purpose == SEEDS {
            return;
        }
        let place = self.flights[judged.group.purpose as usize].place.clone();
        let bytes_max = view.input_bytes_max as usize;
        self.strategy.succeed(&place, bytes_max);
        if let Some(word) = place.word
            && !self.words.contains(&word)
        {
            self.words.push(word);
        }
        self.has_kept = true;
    }

    fn end_batch(&mut self, _: &View<'_>) {
        self.flights.clear();
        self.has_kept = false;
    }
}

/// A number in `[0, n)`, and 0 if `n` is 0: `Random::operator()`.
fn below(rng: &mut Rng, n: usize) -> usize {
    scale(rng.word() >> 32, n as u32) as usize
}

/// `Random::RandBool`.
fn coin(rng: &mut Rng) -> bool {
    rng.below(2) == 1
}
