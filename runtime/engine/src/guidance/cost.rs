//! Our own guidance for what costs most: inputs that spend fuel, at any size.
//!
//! - Parents are the costliest inputs known: of each size class in fuel, in the total path, in hits of
//!   the hottest edge, in memory and depth of calls, and in hits of each edge (`archive`). PerfFuzz has
//!   hits without sizes, MemLock memory and depth. Functions have no goal of their own: to be called and each arm within
//!   is an edge, and what is costliest in one function costs most in one of its edges, or nearly so: of k edges, the
//!   costliest has a k-th of it at least.
//! - Children are made by operators that are drawn by what they have led to lately. Most of what is
//!   slow is a lot of the same, so fragments are repeated, up to the limit at once (`repeat`), and what
//!   all elements have in common is varied (`family`); words that hash alike are made where the target multiplies (`twins`);
//!   elements are put in order (`order`); blocks and bytes change (`blocks`); and there are AFL's
//!   havoc and the rules of [`perun`](super::perun).
//! - Trials are paid for in fuel: who has costly children has fewer, and so have operators (`account`).
//! - What goes past a limit is cut back to where it just ends (`retreat`), and its like is avoided (`past`).
//! - What costs most and is dear to run is polished on short variants of itself, which cost little (`polish`).
//! - Inputs with new edges run once in the variant that records comparisons, which are then solved, as
//!   in [`sandglass`](super::sandglass): what is never reached costs nothing.
//!
//! Each of these is a setting, so that it can be measured without. An input with a new edge is kept as
//! everywhere, and so is whatever is the costliest of something.
//!
//! Inputs are bytes. Where a generator makes the target's input, they are its tape.

mod account;
mod archive;
mod blocks;
mod family;
mod operators;
mod order;
mod past;
mod polish;
mod repeat;
mod retreat;
#[cfg(test)]
mod tests;
mod twins;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::comparisons::{Comparisons, Solving};
use super::portfolio::Portfolio;
use super::{
    Guidance, Imports, InputKind, Judged, Judgement, OperatorRecord, Spec, Strategy, View,
};
use crate::batch::{Group, Plan};
use crate::corpus::{Reason, Testcase, TestcaseId};
use crate::havoc::Tables;
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::settings::{Setting, Settings};
use crate::trial::{Exit, Status, Variant};
use account::{Account, Purpose};
use archive::{Archive, Gain, Goals, Spent, TIMES};
use operators::{Materials, Operator};
use past::{Outlook, Past};
use polish::{ATTEMPTS as POLISH_ATTEMPTS, Measure, Polish};
use retreat::Retreat;

/// The guidance `cost`.
pub static SPEC: Spec = Spec {
    name: "cost",
    summary: "the costliest input of each size for fuel and each edge, by repetition, order and rules",
    paper: None,
    input: InputKind::Bytes,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::All,
    batch: BATCH,
    lookahead: BATCH,
    settings: SETTINGS,
    new,
};

/// Small, for what is learnt of one child is of use for the next. Chosen by trying.
const BATCH: u32 = 64;
/// Trials of a batch that may go to comparisons, one in so many.
const JOB_SHARE: u32 = 4;
/// Jobs that may wait; solutions of one run.
const JOBS_MAX: usize = 64;
const SOLUTIONS_MAX: usize = 128;
/// Children of a batch take no more memory than this, and the last of them.
const BATCH_BYTES: usize = 1 << 24;
/// Attempts at a child that differs from its parent.
const ATTEMPTS: u32 = 8;
/// Children that are expected to go past a limit and run nevertheless.
const POOR_SHARE: Ratio = Ratio::new(1, 8);
/// An input of less fuel is not polished: children of its own are cheap enough.
const POLISH_FUEL: u64 = 1 << 26;
/// Nor one before children were made of it in vain that cost this many times what it does.
const POLISH_AFTER: u64 = 2;
/// Changes of polish, of eight, up to which they are of one byte, any or a common one; else of any kind. By trying.
const POLISH_BYTE: u32 = 3;
const POLISH_COMMON: u32 = 6;
/// Where no size is set: the larger of this and four times the largest seed.
const BYTES_MAX: usize = 4_096;
/// How long the portfolio remembers, as a power of two.
const MEMORY_LOG2: u32 = 12;
/// Without seeds.
const SEED: &[u8] = b"\n";

const SIZES: Setting = Setting::switch("sizes", "inputs compete within their size class", true);
const EDGES: Setting = Setting::switch("edges", "the hits of each edge are a goal, too", true);
const PEAKS: Setting = Setting::switch("peaks", "so are memory and depth of calls", true);
const REPEAT: Setting = Setting::switch("repeat", "repeat fragments", true);
const NUMBER: Setting = Setting::switch("number", "repeat fragments that count", true);
const FAMILY: Setting = Setting::switch("family", "vary what all elements have in common", true);
const NEST: Setting = Setting::switch("nest", "repeat what opens and what closes", true);
const BLOCKS: Setting =
    Setting::switch("blocks", "copy, move and remove blocks, change bytes", true);
const CROSS: Setting = Setting::switch("cross", "take parts of other inputs", true);
const ORDER: Setting = Setting::switch("order", "sort, reverse and shuffle elements; ramps", true);
const TWINS: Setting = Setting::switch(
    "twins",
    "make words that hash alike, by what the target multiplies by",
    true,
);
const RULES: Setting = Setting::switch("rules", "the rules of perun", true);
const SOLVE: Setting = Setting::switch(
    "solve",
    "write what a comparison wants over what it read",
    true,
);
const AUTODICT: Setting = Setting::switch(
    "autodict",
    "use tokens found in the program's data and comparisons",
    true,
);
const PORTFOLIO: Setting = Setting::switch(
    "portfolio",
    "draw operators by what they have found lately, not evenly",
    true,
);
const PRICE: Setting = Setting::switch(
    "price",
    "count what parents and operators cost in fuel, not in children",
    true,
);
const RETREAT: Setting = Setting::switch(
    "retreat",
    "cut what goes past a limit until it just ends",
    true,
);
const POLISH: Setting = Setting::switch(
    "polish",
    "try changes of what is dear on short variants of it",
    true,
);
const SIZE: Setting = Setting::number(
    "size",
    "most bytes of an input; 0 is four times the largest seed, and at least 4,096",
    0..=u32::MAX as u64,
    0,
);
const SETTINGS: &[Setting] = &[
    SIZE, SIZES, EDGES, PEAKS, REPEAT, NUMBER, FAMILY, NEST, BLOCKS, CROSS, ORDER, RULES, TWINS,
    SOLVE, AUTODICT, PORTFOLIO, PRICE, RETREAT, POLISH,
];

fn new(settings: &Settings) -> Strategy {
    let is_on = |setting: Setting| settings.is_on(setting.name);
    let is_wanted = |operator: &Operator| match operator {
        Operator::Havoc => true,
        Operator::Repeat => is_on(REPEAT),
        Operator::Number => is_on(NUMBER),
        Operator::Family => is_on(FAMILY),
        Operator::Nest => is_on(NEST),
        Operator::Block | Operator::Byte => is_on(BLOCKS),
        Operator::Cross => is_on(CROSS),
        Operator::Order => is_on(ORDER),
        Operator::Rule => is_on(RULES),
        Operator::Twins => is_on(TWINS),
    };
    let operators: Vec<Operator> = Operator::ALL.into_iter().filter(is_wanted).collect();
    Strategy::Cost(Box::new(Cost {
        size: settings.number(SIZE.name),
        solves: is_on(SOLVE),
        autodict: is_on(AUTODICT),
        uses_portfolio: is_on(PORTFOLIO),
        retreats: is_on(RETREAT),
        polishes: is_on(POLISH),
        archive: Archive::new(Goals {
            by_size: is_on(SIZES),
            by_edge: is_on(EDGES),
            peaks: is_on(PEAKS),
        }),
        portfolio: Portfolio::new(operators.len(), MEMORY_LOG2),
        operators,
        seeds: 0,
        jobs: VecDeque::new(),
        retreat: None,
        past: Past::default(),
        polish: None,
        polished: [None; TIMES],
        account: Account::new(is_on(PRICE)),
        flights: Vec::new(),
        comparisons: Comparisons::default(),
    }))
}

/// What is done about a testcase's comparisons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Job {
    /// Run it in the variant that records them.
    Compare(TestcaseId),
    /// Try what would satisfy them.
    Solve(Solving),
}

/// What a group of the batch is for; its index is the group's purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Flight {
    Seeds,
    Compare(TestcaseId),
    Solve { sites: Vec<u32> },
    Child { operator: usize },
    Retreat,
    Polish,
}

/// The state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    size: u64,
    solves: bool,
    autodict: bool,
    uses_portfolio: bool,
    retreats: bool,
    polishes: bool,
    archive: Archive,
    operators: Vec<Operator>,
    portfolio: Portfolio,
    /// Seeds planned.
    seeds: u32,
    jobs: VecDeque<Job>,
    /// At most one at a time, a trial of each batch.
    retreat: Option<Retreat>,
    past: Past,
    /// At most one at a time, which has batches of its own.
    polish: Option<Polish>,
    /// By goal: what was polished last, and how often.
    polished: [Option<(TestcaseId, u32)>; TIMES],
    account: Account,
    flights: Vec<Flight>,
    comparisons: Comparisons,
}

impl Cost {
    /// The longest input that is made.
    fn bytes_max(&self, view: &View<'_>) -> usize {
        let largest = view.seeds.iter().map(|seed| seed.len()).max().unwrap_or(0);
        let wanted = match self.size {
            0 => BYTES_MAX.max(4 * largest),
            size => size as usize,
        };
        wanted.clamp(1, view.input_bytes_max as usize)
    }

    /// Before the first child: an operator that the target gives nothing to is not drawn.
    fn without(&mut self, operator: Operator) {
        self.operators.retain(|other| *other != operator);
        self.portfolio = Portfolio::new(self.operators.len(), MEMORY_LOG2);
    }

    /// What havoc reads.
    fn tables_for(&self, view: &View<'_>, bytes_max: usize) -> Tables {
        let tokens = self.comparisons.tokens(view, self.autodict);
        // As in `sandglass`: a child keeps more of what its parent is worth.
        Tables::new(&tokens, bytes_max as u32)
            .with_stack_pow2(4)
            .with_appends(true)
    }

    fn fly(
        &mut self,
        flight: Flight,
        plan: Plan,
        trials: u32,
        parent: Option<TestcaseId>,
        groups: &mut Vec<Group>,
    ) {
        groups.push(Group {
            plan,
            trials,
            variant: match flight {
                Flight::Compare(_) => Variant::Compares,
                _ => Variant::Fast,
            },
            // What shows no new edge may cost most.
            wants_detail: true,
            wants_paths: false,
            parent,
            purpose: self.flights.len() as u64,
        });
        self.flights.push(flight);
    }

    /// Up to `room` trials of waiting jobs, each at most once; how many.
    fn plan_jobs(&mut self, view: &View<'_>, room: u32, groups: &mut Vec<Group>) -> u32 {
        let mut left = room;
        for _ in 0..self.jobs.len() {
            if left == 0 {
                break;
            }
            match self.jobs.pop_front() {
                None => break,
                Some(Job::Compare(id)) => {
                    let plan = Plan::Given(vec![view.corpus.get(id).bytes.clone()]);
                    self.fly(Flight::Compare(id), plan, 1, Some(id), groups);
                    left -= 1;
                }
                Some(Job::Solve(mut solving)) => {
                    let (plan, sites) = solving.next(left as usize);
                    let (count, parent) = (sites.len() as u32, Some(solving.parent));
                    self.fly(Flight::Solve { sites }, plan, count, parent, groups);
                    left -= count;
                    if !solving.is_over() {
                        self.jobs.push_back(Job::Solve(solving));
                    }
                }
            }
        }
        room - left
    }

    /// The next step of the retreat, if there is one; how many trials.
    fn plan_retreat(&mut self, groups: &mut Vec<Group>) -> u32 {
        let Some(retreat) = &self.retreat else {
            return 0;
        };
        let parent = retreat.parent;
        let Some(next) = retreat.next() else {
            self.retreat = None;
            return 0;
        };
        let plan = Plan::Given(vec![Arc::from(next)]);
        self.fly(Flight::Retreat, plan, 1, parent, groups);
        1
    }

    /// Learns what came of a trial: whether it was worth its price for its operator, and for its parent.
    fn learn(&mut self, judged: &Judged<'_>, is_find: bool, is_gain: bool) {
        let flight = &self.flights[judged.group.purpose as usize];
        let fuel = judged.outcome.fuel;
        let price = self.account.price(fuel);
        match *flight {
            Flight::Child { operator } => {
                self.account.spend(fuel, Purpose::Growth);
                self.portfolio.learn(operator, is_find, price);
            }
            Flight::Retreat => self.account.spend(fuel, Purpose::Retreat),
            Flight::Polish => {
                self.account.spend(fuel, Purpose::Polish);
                // It says nothing of what else can be made of its input.
                return;
            }
            _ => self.account.spend(fuel, Purpose::Growth),
        }
        if let Some(parent) = judged.group.parent {
            self.archive.had_child(parent, is_gain, price);
        }
    }

    /// What is to be polished, if anything is: the costliest of a goal, if it is dear and its children came to nothing.
    fn begin_polish(&mut self, view: &View<'_>) -> Option<Polish> {
        for goal in 0..TIMES {
            let Some(id) = self.archive.costliest(goal) else {
                continue;
            };
            let Testcase { fuel, bytes, .. } = view.corpus.get(id);
            let enough = POLISH_AFTER * self.account.price(*fuel);
            let is_known = (0..goal).any(|other| self.archive.costliest(other) == Some(id));
            if is_known || *fuel < POLISH_FUEL || self.archive.in_vain(id) < enough {
                continue;
            }
            let attempts = match self.polished[goal] {
                Some((last, attempts)) if last == id => attempts,
                _ => 0,
            };
            if attempts < POLISH_ATTEMPTS {
                self.polished[goal] = Some((id, attempts + 1));
                return Some(Polish::new(id, goal, bytes.clone(), *fuel, attempts));
            }
        }
        None
    }

    /// A batch of polish, if there is something to polish.
    fn plan_polish(
        &mut self,
        view: &View<'_>,
        tables: &Tables,
        rng: &mut Rng,
        room: u32,
        groups: &mut Vec<Group>,
    ) {
        if self.polishes && self.polish.is_none() && self.account.affords_polish() {
            self.polish = self.begin_polish(view);
        }
        let Some(polish) = &mut self.polish else {
            return;
        };
        let (operators, past) = (&self.operators, &self.past);
        let change = |input: &[u8], bytes_max: usize, rng: &mut Rng| {
            let operator = match rng.below(8) {
                0..POLISH_BYTE => Operator::Byte,
                POLISH_BYTE..POLISH_COMMON => {
                    let child = blocks::common_byte(input, rng);
                    return (child != input && child.len() <= bytes_max).then_some(child);
                }
                _ => operators[rng.index(operators.len())],
            };
            let materials = Materials {
                input,
                other: input,
                bytes_max,
                tables,
                multipliers: view.multipliers,
            };
            operator.child(materials, rng)
        };
        let is_open = |input: &[u8]| past.outlook(input) == Outlook::Open;
        let bytes_max = tables.input_bytes_max() as usize;
        let inputs = polish.next(room as usize, bytes_max, rng, change, is_open);
        let parent = Some(polish.parent);
        match inputs.len() as u32 {
            0 => self.polish = None,
            count => {
                let plan = Plan::Given(inputs.into_iter().map(Arc::from).collect());
                self.fly(Flight::Polish, plan, count, parent, groups);
            }
        }
    }

    /// Learns of a trial of polish that ended, if it is one.
    fn polished(&mut self, judged: &Judged<'_>) {
        let flight = &self.flights[judged.group.purpose as usize];
        if let (Flight::Polish, Some(polish)) = (flight, &mut self.polish) {
            let measure = Measure {
                fuel: judged.outcome.fuel,
                cost: self.archive.cost(polish.goal, spent(judged)),
            };
            polish.judge(judged.nth, measure);
        }
    }

    /// Learns of a trial that is a step of the retreat, if it is one.
    fn step(&mut self, judged: &Judged<'_>, is_past: bool) {
        let flight = &self.flights[judged.group.purpose as usize];
        if let (Flight::Retreat, Some(retreat)) = (flight, &mut self.retreat) {
            retreat.judge(is_past);
        }
    }

    /// Learns of an input that went past a limit, and begins to retreat from it.
    fn went_past(&mut self, view: &View<'_>, judged: &Judged<'_>) {
        let input = &judged.detail.input;
        self.past.add(input);
        let flight = &self.flights[judged.group.purpose as usize];
        let is_child = matches!(flight, Flight::Child { .. });
        if is_child && self.retreat.is_none() && self.account.affords_retreat() {
            let parent = judged.group.parent;
            let parents = parent.map(|id| view.corpus.get(id).bytes.clone());
            self.retreat = Some(Retreat::new(input, parent, &parents.unwrap_or_default()));
        }
    }

    /// A child of one of the costliest inputs.
    fn plan_child(
        &mut self,
        view: &View<'_>,
        tables: &Tables,
        rng: &mut Rng,
        groups: &mut Vec<Group>,
    ) -> usize {
        let bytes_max = tables.input_bytes_max() as usize;
        let parent = self.archive.choose(rng);
        let other = self.archive.choose(rng);
        let bytes = |id: Option<TestcaseId>| match id {
            Some(id) => view.corpus.get(id).bytes.clone(),
            // All seeds broke.
            None => view.seeds.first().cloned().unwrap_or(Arc::from(SEED)),
        };
        let (input, other) = (bytes(parent), bytes(other));
        let materials = Materials {
            input: &input,
            other: &other,
            bytes_max,
            tables,
            multipliers: view.multipliers,
        };
        let mut operator = 0;
        let mut child = None;
        for _ in 0..ATTEMPTS {
            operator = match self.uses_portfolio {
                true => self.portfolio.choose(rng),
                false => rng.index(self.operators.len()),
            };
            child = self.operators[operator].child(materials, rng);
            child = child.filter(|child| match self.past.outlook(child) {
                Outlook::Open => true,
                Outlook::Poor => rng.chance(POOR_SHARE),
                Outlook::None => false,
            });
            if child.is_some() {
                break;
            }
        }
        let child = child.unwrap_or_else(|| input.to_vec());
        let len = child.len();
        let plan = Plan::Given(vec![Arc::from(child)]);
        self.fly(Flight::Child { operator }, plan, 1, parent, groups);
        len
    }

    /// What a run that recorded comparisons leads to.
    fn compared(&mut self, view: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        self.account.spend(judged.outcome.fuel, Purpose::Growth);
        if self.solves {
            let bytes_max = self.bytes_max(view) as u32;
            let solving = (self.comparisons).solve(id, judged.detail, bytes_max, SOLUTIONS_MAX);
            self.jobs.extend(solving.map(Job::Solve));
        }
        if self.autodict {
            self.comparisons.learn_tokens(judged.detail);
        }
    }

    /// A new testcase.
    fn enter(&mut self, id: TestcaseId, judged: &Judged<'_>) {
        self.archive.add(id, spent(judged));
        let is_new = judged.news.all.edges > 0;
        if is_new && (self.solves || self.autodict) && self.jobs.len() < JOBS_MAX {
            self.jobs.push_back(Job::Compare(id));
        }
    }

    /// What each operator that is switched on has led to.
    pub(super) fn operators(&self) -> Vec<OperatorRecord> {
        let names = self.operators.iter();
        let names = names.map(|operator| format!("{operator:?}").to_lowercase());
        self.portfolio.report(names)
    }
}

fn spent<'a>(judged: &Judged<'a>) -> Spent<'a> {
    Spent {
        bytes: judged.detail.input.len() as u32,
        fuel: judged.outcome.fuel,
        counts: &judged.detail.counts,
        peaks: judged.detail.peaks,
    }
}

impl Guidance for Cost {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        if view.trials == 0 && view.multipliers.is_empty() {
            self.without(Operator::Twins);
        }
        // Seeds are judged before anything is made of them.
        let rest = view.seeds[self.seeds as usize..].iter();
        let rest: Vec<Arc<[u8]>> = rest.take(room as usize).cloned().collect();
        if !rest.is_empty() {
            let count = rest.len() as u32;
            self.seeds += count;
            self.fly(Flight::Seeds, Plan::Given(rest), count, None, groups);
            return;
        }
        let tables = self.tables_for(view, self.bytes_max(view));
        self.plan_polish(view, &tables, rng, room, groups);
        if !groups.is_empty() {
            return;
        }
        let room = room.min(self.account.batch(BATCH));
        let mut left = room - self.plan_retreat(groups);
        left -= self.plan_jobs(view, left.div_ceil(JOB_SHARE), groups);
        let mut bytes = 0;
        while left > 0 && (bytes < BATCH_BYTES || groups.is_empty()) {
            bytes += self.plan_child(view, &tables, rng, groups);
            left -= 1;
        }
    }

    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let flight = &self.flights[judged.group.purpose as usize];
        if let Flight::Compare(id) = *flight {
            self.compared(view, id, judged);
            return Judgement::Discard;
        }
        let is_overrun = judged.outcome.exit.status() == Status::Overrun;
        let gain = match is_overrun {
            true => Gain::default(),
            false => self.archive.gain(spent(judged)),
        };
        let is_new = judged.news.all.edges > 0;
        self.learn(judged, gain.total || is_new, gain.total || gain.edge);
        self.step(judged, false);
        if !is_overrun {
            self.polished(judged);
        }
        match () {
            () if is_overrun => Judgement::Discard,
            () if matches!(self.flights[judged.group.purpose as usize], Flight::Seeds) => {
                Judgement::Keep(Reason::Seed)
            }
            () if is_new => Judgement::Keep(Reason::Edge),
            () if gain.total || gain.edge => Judgement::Keep(Reason::Max),
            () => Judgement::Discard,
        }
    }

    fn import(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let gain = self.archive.gain(spent(judged));
        match () {
            () if judged.outcome.exit.status() == Status::Overrun => Judgement::Discard,
            () if judged.news.all.edges > 0 => Judgement::Keep(Reason::Edge),
            () if gain.total || gain.edge => Judgement::Keep(Reason::Max),
            () => Judgement::Discard,
        }
    }

    fn imported(&mut self, _: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        self.enter(id, judged);
    }

    fn found(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.learn(judged, false, false);
        self.step(judged, true);
        let exit = judged.outcome.exit;
        if exit == Exit::Hang {
            self.past.spent(judged.outcome.fuel);
        }
        if self.retreats && matches!(exit, Exit::Hang | Exit::StackOverflow | Exit::OutOfMemory) {
            self.went_past(view, judged);
        }
        Judgement::Discard
    }

    fn kept(&mut self, _: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        self.enter(id, judged);
        if let Flight::Solve { sites } = &self.flights[judged.group.purpose as usize] {
            self.comparisons.came_true(sites[judged.nth as usize]);
        }
    }

    fn end_batch(&mut self, _: &View<'_>) {
        if let Some(polish) = &mut self.polish {
            polish.end_batch(self.past.fuel());
            if polish.is_over() {
                self.polish = None;
            }
        }
        for flight in std::mem::take(&mut self.flights) {
            if let Flight::Solve { sites } = flight {
                self.comparisons.tried(&sites, 1);
            }
        }
    }
}
