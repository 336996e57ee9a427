//! Our own guidance for generators: choices as trees, edited by whatever has paid lately.
//!
//! - An input is the tree of its choices, and a child differs from it in what an operator did, and
//!   nowhere else ([`crate::choice::edit`], [`crate::choice::tree`]).
//! - Parents are the shortest inputs known for some goal, as in Zeugma ([`super::zeugma`]); a probe is
//!   a goal, and a probe in a valid run is another one.
//! - Some of them may be at the frontier: where an arm was never taken (`frontier`). Draws that reach such a decision may be changed by
//!   aim, as the build that follows draws has them (`reach`).
//! - Which operator makes a child is drawn by what it has found lately (`portfolio`). One of
//!   them is to begin from nothing.
//! - What was made before is not run again ([`crate::choice::known`]).
//! - What comparisons of the target want is written into the draws that they read (`solving`), and given to
//!   other draws of their kind ([`crate::choice::hints`]). Solving is one more way to a child, drawn as operators are.
//! - Generators may draw the target's own strings ([`crate::choice::strings`]).
//! - What generators made is mutated as bytes, too (`texts`).
//!
//! Each of these is a setting, so that it can be measured without.

mod frontier;
mod reaching;
mod solving;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::portfolio::Portfolio;
use super::shortest::Shortest;
use super::{
    Guidance, Imports, InputKind, Judged, Judgement, OperatorRecord, Spec, Strategy, View,
};
use crate::batch::Group;
use crate::choice::ChoicePlan;
use crate::choice::edit::{Forest, Operator};
use crate::choice::hints::Hints;
use crate::choice::jqf::{Reading, tape_bytes};
use crate::choice::known::{Known, input_hash};
use crate::choice::sites::Key;
use crate::choice::tree::Tree;
use crate::corpus::{Reason, TestcaseId};
use crate::engine::HURRY;
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::settings::{Setting, Settings};
use crate::trial::{Status, Variant};
use frontier::Frontier;
use reaching::{Aim, Reaching};
use solving::{Next, Solving};
use texts::{FIRST_TRIALS, Texts};

const PORTFOLIO: Setting = Setting::switch(
    "portfolio",
    "draw operators by what they have found lately, not evenly",
    true,
);
const VALID: Setting =
    Setting::switch("valid", "a probe in a valid run is a goal of its own", true);

const RARELY: Setting = Setting::switch(
    "rarely",
    "of two parents, take the one that has had fewer children",
    true,
);

const FRONTIER: Setting = Setting::switch(
    "frontier",
    "half of the candidates for parents are at branches of which an arm was never taken",
    false,
);

const REACH: Setting = Setting::switch(
    "reach",
    "follow draws to branches of which an arm was never taken, and change those",
    false,
);

const DISTINCT: Setting = Setting::switch(
    "distinct",
    "let the generator try again where it makes what was made before",
    true,
);

const COMPARES: Setting = Setting::switch(
    "compares",
    "write what comparisons want into the draws that they read",
    true,
);

const HINTS: Setting = Setting::switch(
    "hints",
    "draw what comparisons wanted of other draws of the kind",
    true,
);

const STRINGS: Setting = Setting::switch(
    "strings",
    "half of the strings that a generator asks for are the target's own",
    true,
);

const TEXTS: Setting = Setting::switch(
    "texts",
    "mutate what the generator made as bytes, too, without the generator",
    true,
);

/// The guidance `sandglass-choices`.
pub static SPEC: Spec = Spec {
    name: "sandglass-choices",
    summary: "edits trees of choices by the operators that have paid lately, for generators",
    paper: None,
    input: InputKind::Choices,
    coverage: true,
    paths: false,
    targets: false,
    strings: true,
    decisions: true,
    imports: Imports::All,
    batch: 64,
    lookahead: 64,
    settings: &[
        PORTFOLIO, VALID, RARELY, FRONTIER, REACH, DISTINCT, COMPARES, HINTS, STRINGS, TEXTS, HURRY,
    ],
    new,
};

fn new(settings: &Settings) -> Strategy {
    let (solves, hints) = (settings.is_on(COMPARES.name), settings.is_on(HINTS.name));
    let edits = Operator::ALL
        .into_iter()
        .filter(|edit| hints || *edit != Operator::Hint);
    let solve = (solves || hints).then_some(Way::Solve);
    let texts = settings.is_on(TEXTS.name);
    let text = texts.then_some(Way::Text);
    let reach = settings.is_on(REACH.name).then_some(Way::Reach);
    let others = reach.into_iter().chain(text).chain(solve);
    let ways: Vec<Way> = edits.map(Way::Edit).chain(others).collect();
    Strategy::Choices(Box::new(Choices {
        uses_portfolio: settings.is_on(PORTFOLIO.name),
        uses_valid: settings.is_on(VALID.name),
        uses_rarely: settings.is_on(RARELY.name),
        uses_frontier: settings.is_on(FRONTIER.name),
        frontier: Frontier::default(),
        reaching: reach.map(|_| Reaching::default()),
        known: settings.is_on(DISTINCT.name).then(Arc::default),
        made: Vec::new(),
        portfolio: Portfolio::new(ways.len(), MEMORY_LOG2).sharp(),
        ways,
        shortest: Shortest::default(),
        forest: Arc::default(),
        pending: Vec::new(),
        superseded: Vec::new(),
        children: BTreeMap::new(),
        seeds: 0,
        solving: solve.map(|_| Solving::new(solves)),
        record_price: RECORD_PRICE,
        hints: hints.then(Arc::default),
        draws_strings: settings.is_on(STRINGS.name),
        hurries: settings.is_on(HURRY.name),
        texts: texts.then(|| Box::new(Texts::new())),
        flights: Vec::new(),
    }))
}

/// What a run that records comparisons costs, in trials of other ways: the run itself, and looking at each site, which
/// takes about as long as so much fuel where it was measured (Lua, JavaScript, XML, wasm).
const RECORD_PRICE: u32 = 2;
const SITE_FUEL: u64 = 512;
const RECORD_PRICE_MAX: u32 = 64;

/// What a run that follows draws costs, in trials of other ways: some ten times as much time as any, and what is made of it.
const FOLLOW_PRICE: u32 = 16;

/// How long the portfolio remembers, as a power of two: ten ways that find something in one of a thousand trials, and those that find
/// nothing, cannot be told apart within the 4,096 that it was.
const MEMORY_LOG2: u32 = 15;

/// How many candidates for parents are of the frontier, if any. A quarter was no different from none.
const FRONTIER_SHARE: Ratio = Ratio::new(1, 2);

/// Trials of the first batch, if what was made before is not to be run again; a later one is as long as all before.
const FIRST_BATCH: u32 = 8;

/// How a child comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Way {
    /// A member is edited.
    Edit(Operator),
    /// Draws that reach a decision are changed.
    Reach,
    /// What was made is mutated.
    Text,
    /// Comparisons are recorded, or what they want is tried.
    Solve,
}

/// What a trial of the batch in flight is for; its index is its group's purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Flight {
    /// A seed of the user's.
    Seed,
    /// A child by the way of this index.
    Child(usize),
    /// A member's draws are followed.
    Follow,
    /// Comparisons are recorded.
    Record,
    /// What showed something new there is run as others are.
    Again,
    /// A comparison is solved.
    Solve(Key),
}

/// What happens to the forest once the batch that reads it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Change {
    Insert(u64, Tree),
    Remove(u64),
}

/// The state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    uses_portfolio: bool,
    uses_valid: bool,
    uses_rarely: bool,
    uses_frontier: bool,
    #[serde(skip)]
    frontier: Frontier,
    /// Which draws reach it, if that is looked at.
    reaching: Option<Reaching>,
    /// Inputs made before, if they matter.
    known: Option<Arc<Known>>,
    /// Hashes of those that were made since the last batch was planned.
    made: Vec<u64>,
    /// What the portfolio's numbers mean; solving is the last one, if it is there.
    ways: Vec<Way>,
    portfolio: Portfolio,
    /// By probe, twice: for all runs and for valid ones.
    shortest: Shortest,
    forest: Arc<Forest>,
    pending: Vec<Change>,
    /// Members that lost their last goal since the last batch ended.
    superseded: Vec<TestcaseId>,
    /// How many children each member of the forest has had.
    children: BTreeMap<u64, u32>,
    /// Seeds planned.
    seeds: u32,
    /// What comparisons want, if it matters.
    solving: Option<Solving>,
    /// What the last run that recorded comparisons cost, in trials.
    record_price: u32,
    hints: Option<Arc<Hints>>,
    draws_strings: bool,
    /// Whether runs that take long may be cut short.
    hurries: bool,
    /// Inputs that no generator made, if there are to be any.
    texts: Option<Box<Texts>>,
    flights: Vec<Flight>,
}

impl Choices {
    /// A uniform member, or the shortest that takes a decision's arm at the frontier. What only a text has reached is nobody's.
    fn member(&self, rng: &mut Rng) -> Option<u64> {
        if self.uses_frontier && rng.chance(FRONTIER_SHARE) {
            let taken = self.frontier.any(rng);
            let holder = taken.and_then(|probe| self.shortest.holder(2 * probe as usize));
            if let Some(member) = holder.filter(|&member| self.forest.get(member).is_some()) {
                return Some(member);
            }
        }
        self.forest.any(rng)
    }

    /// Of two members the one that has had fewer children.
    fn parent(&mut self, rng: &mut Rng) -> Option<u64> {
        let (a, b) = (self.member(rng)?, self.member(rng)?);
        let children = |number| self.children.get(&number).copied().unwrap_or(0);
        let parent = match self.uses_rarely && children(b) < children(a) {
            true => b,
            false => a,
        };
        *self.children.entry(parent).or_default() += 1;
        Some(parent)
    }

    /// Members have the numbers of their testcases.
    fn admit(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Option<Reason> {
        let choices = judged.detail.choices.as_deref()?;
        let is_valid = self.uses_valid && judged.outcome.exit.status() == Status::Valid;
        let probes = judged
            .detail
            .counts
            .iter()
            .map(|&(probe, _)| probe as usize);
        let goals = probes.flat_map(|probe| [Some(2 * probe), is_valid.then_some(2 * probe + 1)]);
        let number = u64::from(view.corpus.next_id().0);
        let claim = (self.shortest).claim(number, tape_bytes(choices), goals.flatten());
        for released in claim.released {
            self.pending.push(Change::Remove(released));
            self.superseded.push(TestcaseId(released as u32));
        }
        if claim.held == 0 {
            return None;
        }
        self.pending
            .push(Change::Insert(number, Tree::from(choices)));
        Some(match () {
            () if judged.news.all.edges > 0 => Reason::Edge,
            () if judged.news.valid.edges > 0 => Reason::ValidEdge,
            () => Reason::Smaller,
        })
    }

    pub(super) fn operators(&self) -> Vec<OperatorRecord> {
        let names = self.ways.iter().map(|way| match way {
            Way::Edit(operator) => format!("{operator:?}").to_lowercase(),
            Way::Reach => "reach".to_owned(),
            Way::Text => "text".to_owned(),
            Way::Solve => "solve".to_owned(),
        });
        self.portfolio.report(names)
    }

    fn flight(&self, judged: &Judged<'_>) -> Flight {
        self.flights[judged.group.purpose as usize]
    }

    fn learn(&mut self, judged: &Judged<'_>, found: bool) {
        if self.known.is_some() {
            self.made.push(input_hash(judged.detail.target_input()));
        }
        if let Some(texts) = &mut self.texts {
            texts.saw_another(judged);
        }
        let flight = self.flight(judged);
        let way = match flight {
            Flight::Seed => return,
            Flight::Child(way) => way,
            Flight::Follow => self.reaching_way(),
            Flight::Record | Flight::Again | Flight::Solve(_) => self.ways.len() - 1,
        };
        let price = match flight {
            Flight::Record => {
                let sites = judged.detail.compares.len() as u64;
                let looking = sites * SITE_FUEL / judged.outcome.fuel.max(1);
                let looking = looking.min(RECORD_PRICE_MAX.into()) as u32;
                self.record_price = (RECORD_PRICE + looking).min(RECORD_PRICE_MAX);
                self.record_price.into()
            }
            Flight::Follow => FOLLOW_PRICE.into(),
            _ => 1,
        };
        self.portfolio.learn(way, found, price);
        if let (Flight::Solve(site), Some(solving)) = (flight, &mut self.solving) {
            solving.tried(site, found);
        }
    }

    fn reaching_way(&self) -> usize {
        let way = self.ways.iter().position(|way| *way == Way::Reach);
        way.expect("draws are followed")
    }

    /// What a run that followed draws leads to.
    fn followed(&mut self, judged: &Judged<'_>) {
        if let (Some(reaching), Some(choices)) = (&mut self.reaching, &judged.detail.choices) {
            reaching.followed(Tree::from(&**choices), &judged.detail.reached);
        }
    }

    /// What a run that recorded comparisons leads to.
    fn recorded(&mut self, view: &View<'_>, judged: &Judged<'_>) {
        let detail = judged.detail;
        let (Some(solving), Some(choices)) = (&mut self.solving, detail.choices.as_deref()) else {
            return;
        };
        let is_valid = judged.outcome.exit.status() == Status::Valid;
        let is_new = view.interest.all.novelty(&detail.counts).edges > 0
            || is_valid && view.interest.valid.novelty(&detail.counts).edges > 0;
        let tree = Arc::new(Tree::from(choices));
        let wanted = solving.recorded(&tree, detail, is_new);
        if let Some(hints) = &mut self.hints {
            Arc::make_mut(hints).learn(&tree, detail, &wanted);
        }
    }

    /// How many trials to plan at once: those of a batch do not know of each other, and at the beginning, where
    /// there is little to choose from, many would make the same.
    fn at_once(&self, trials: u64, room: u32) -> u32 {
        match self.known {
            Some(_) => room.min(FIRST_BATCH.max(trials.try_into().unwrap_or(u32::MAX))),
            None => room,
        }
    }

    /// Plans one trial for this purpose.
    fn fly(&mut self, flight: Flight, plan: ChoicePlan, groups: &mut Vec<Group>) {
        let variant = match flight {
            Flight::Record => Variant::Compares,
            Flight::Follow => Variant::Dependence,
            _ => Variant::Fast,
        };
        groups.push(Group {
            variant,
            purpose: self.flights.len() as u64,
            ..Group::of_choices(plan, 1, None)
        });
        self.flights.push(flight);
    }

    /// A way, by what each has led to lately.
    fn way(&self, view: &View<'_>, rng: &mut Rng) -> usize {
        loop {
            let way = match self.uses_portfolio {
                true => self.portfolio.choose(rng),
                false => rng.index(self.ways.len()),
            };
            // A property takes none, and there is nothing to mutate before the first input.
            let texts = self.texts.as_ref().filter(|_| view.takes_texts);
            let has_texts =
                view.trials >= FIRST_TRIALS && texts.is_some_and(|texts| !texts.is_empty());
            if has_texts || self.ways[way] != Way::Text {
                return way;
            }
        }
    }

    /// The same among those that edit.
    fn editing_way(&self, view: &View<'_>, rng: &mut Rng) -> usize {
        loop {
            let way = self.way(view, rng);
            if let Way::Edit(_) = self.ways[way] {
                return way;
            }
        }
    }

    /// A child of a member, by a way of this index, which is an operator; with nothing to edit, from nothing.
    fn plan_child(&mut self, flight: Flight, way: usize, rng: &mut Rng, groups: &mut Vec<Group>) {
        let parent = self.parent(rng);
        let operator = match (parent, self.ways[way]) {
            (Some(_), Way::Edit(operator)) => operator,
            (Some(_), Way::Reach | Way::Text | Way::Solve) => Operator::Mixed,
            (None, _) => Operator::Restart,
        };
        self.plan_edit(flight, parent.unwrap_or(0), operator, rng, groups);
    }

    fn plan_edit(
        &mut self,
        flight: Flight,
        parent: u64,
        operator: Operator,
        rng: &mut Rng,
        groups: &mut Vec<Group>,
    ) {
        let plan = ChoicePlan::Edited {
            forest: self.forest.clone(),
            parent,
            operator,
            hints: self.hints.clone().unwrap_or_default(),
            seed: rng.word(),
            known: self.known.clone(),
        };
        self.fly(flight, plan, groups);
    }

    /// A trial for draws that reach a decision of which an arm was never taken; where nobody is at one, any child.
    fn plan_reaching(
        &mut self,
        way: usize,
        view: &View<'_>,
        rng: &mut Rng,
        groups: &mut Vec<Group>,
    ) {
        let frontier = (&self.frontier, &view.targets.decisions[..]);
        let reaching = self.reaching.as_mut();
        let next = reaching
            .and_then(|reaching| reaching.next(frontier, &self.shortest, &self.forest, rng));
        match next {
            None => self.plan_child(Flight::Child(way), way, rng, groups),
            Some(Aim::Follow(member)) => {
                let tree = self.forest.get(member).expect("it was there").clone();
                let seed = rng.word();
                let plan = ChoicePlan::Same { tree, seed };
                self.fly(Flight::Follow, plan, groups);
            }
            Some(Aim::Child(tree, draws)) => {
                let plan = ChoicePlan::Aimed {
                    tree,
                    draws,
                    seed: rng.word(),
                    forest: self.forest.clone(),
                    known: self.known.clone(),
                };
                self.fly(Flight::Child(way), plan, groups);
            }
        }
    }

    /// A trial for what comparisons want. Comparisons of a new member are recorded in a child that differs in one choice, which
    /// is a trial like others, except that what it finds has to be run again; where nothing waits, in any child. Recording has
    /// its turn as rarely as it is dear.
    fn plan_solving(&mut self, view: &View<'_>, rng: &mut Rng, groups: &mut Vec<Group>) {
        let records = rng.chance(Ratio::new(1, self.record_price));
        let solving = self.solving.as_mut().expect("it is a way");
        match solving.next(&self.forest, records) {
            None => {
                let way = self.editing_way(view, rng);
                let flight = match records {
                    true => Flight::Record,
                    false => Flight::Child(way),
                };
                self.plan_child(flight, way, rng, groups);
            }
            Some(Next::Record(member)) => {
                self.plan_edit(Flight::Record, member, Operator::Value, rng, groups);
            }
            Some(Next::Again(tree)) => {
                let seed = rng.word();
                self.fly(Flight::Again, ChoicePlan::Same { tree, seed }, groups);
            }
            Some(Next::Solve(tree, solution)) => {
                let flight = Flight::Solve(solution.site);
                let plan = ChoicePlan::Solved {
                    tree,
                    solution,
                    seed: rng.word(),
                    forest: self.forest.clone(),
                    known: self.known.clone(),
                };
                self.fly(flight, plan, groups);
            }
        }
    }
}

impl Guidance for Choices {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        self.flights.clear();
        if !self.pending.is_empty() {
            let forest = Arc::make_mut(&mut self.forest);
            for change in self.pending.drain(..) {
                match change {
                    Change::Insert(number, tree) => forest.insert(number, tree),
                    Change::Remove(number) => {
                        forest.remove(number);
                        self.children.remove(&number);
                    }
                }
            }
        }
        if let Some(known) = &mut self.known
            && !self.made.is_empty()
        {
            Arc::make_mut(known).extend(std::mem::take(&mut self.made));
        }
        if self.uses_frontier || self.reaching.is_some() {
            (self.frontier).look(&view.targets.decisions, &view.interest.all);
        }
        let seeds = &view.seeds[self.seeds as usize..];
        if !seeds.is_empty() {
            let tapes: Vec<_> = seeds.iter().take(room as usize).cloned().collect();
            let count = tapes.len() as u32;
            self.seeds += count;
            let reading = Reading::Whole;
            let plan = ChoicePlan::Seeds { tapes, reading };
            groups.push(Group::of_choices(plan, count, None));
            self.flights.push(Flight::Seed);
            return;
        }
        let (mut left, mut texts) = (self.at_once(view.trials, room), 0);
        while left > 0 {
            let way = if self.forest.is_empty() {
                0
            } else {
                self.way(view, rng)
            };
            left -= match self.ways[way] {
                Way::Text => {
                    let count = self.texts.as_mut().expect("it is a way").draw(left);
                    texts += count;
                    count
                }
                Way::Edit(_) => {
                    self.plan_child(Flight::Child(way), way, rng, groups);
                    1
                }
                Way::Reach => {
                    self.plan_reaching(way, view, rng, groups);
                    1
                }
                Way::Solve => {
                    self.plan_solving(view, rng, groups);
                    1
                }
            };
        }
        if let Some(of) = self.texts.as_mut().filter(|_| texts > 0) {
            let made = of.plan(view, rng, texts, self.known.as_deref(), groups);
            self.made.extend(made);
        }
    }

    fn end_batch(&mut self, view: &View<'_>) {
        let way = self.ways.iter().position(|way| *way == Way::Text);
        if let (Some(texts), Some(way)) = (&mut self.texts, way) {
            let (draws, finds, price) = texts.end_batch(view);
            (0..draws).for_each(|nth| self.portfolio.learn_at(way, nth < finds, price));
        }
    }

    fn takes_texts(&self) -> bool {
        self.texts.is_some()
    }

    fn hurries(&self) -> bool {
        self.hurries
    }

    fn draws_strings(&self) -> bool {
        self.draws_strings
    }

    fn found(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        if !judged.group.is_of_texts() {
            self.learn(judged, false);
        }
        Judgement::Discard
    }

    fn import(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        if let Some(texts) = self.texts.as_mut().filter(|_| judged.is_of_text()) {
            return texts.import(view, judged);
        }
        self.admit(view, judged)
            .map_or(Judgement::Discard, Judgement::Keep)
    }

    fn superseded(&mut self) -> Vec<TestcaseId> {
        std::mem::take(&mut self.superseded)
    }

    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        if let Some(texts) = self.texts.as_mut().filter(|_| judged.group.is_of_texts()) {
            return texts.judge(view, judged);
        }
        if self.flight(judged) == Flight::Record {
            self.recorded(view, judged);
            self.learn(judged, false);
            return Judgement::Discard;
        }
        if self.flight(judged) == Flight::Follow {
            self.followed(judged);
            self.learn(judged, false);
            return Judgement::Discard;
        }
        let number = u64::from(view.corpus.next_id().0);
        let reason = self.admit(view, judged);
        let found = matches!(reason, Some(Reason::Edge | Reason::ValidEdge));
        self.learn(judged, found);
        if let (Some(_), Some(solving)) = (reason, &mut self.solving) {
            solving.enter(number, found);
        }
        match reason {
            None => Judgement::Discard,
            Some(_) if self.flight(judged) == Flight::Seed => Judgement::Keep(Reason::Seed),
            Some(reason) => Judgement::Keep(reason),
        }
    }

    fn kept(&mut self, view: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        let Some(texts) = &mut self.texts else {
            return;
        };
        if judged.group.is_of_texts() {
            texts.kept(view, id, judged);
        // Others leave the corpus again.
        } else if view.takes_texts && view.corpus.get(id).reason != Reason::Smaller {
            texts.take(view, id, judged, judged.is_of_text());
        }
    }
}
