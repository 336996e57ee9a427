//! Our own guidance for generators: choices as trees, edited by whatever has paid lately.
//!
//! - An input is the tree of its choices, and a child differs from it in what an operator did, and
//!   nowhere else ([`crate::choice::edit`], [`crate::choice::tree`]).
//! - Parents are the shortest inputs known for some goal, as in Zeugma ([`super::zeugma`]); a probe is
//!   a goal, and a probe in a valid run is another one.
//! - Which operator makes a child is drawn by what it has found lately (`portfolio`). One of
//!   them is to begin from nothing.
//! - What was made before is not run again ([`crate::choice::known`]).
//!
//! Each of these is a setting, so that it can be measured without.

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
use crate::choice::jqf::{Reading, tape_bytes};
use crate::choice::known::{Known, input_hash};
use crate::choice::tree::Tree;
use crate::corpus::Reason;
use crate::rng::Rng;
use crate::settings::{Setting, Settings};
use crate::trial::Status;

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

const DISTINCT: Setting = Setting::switch(
    "distinct",
    "let the generator try again where it makes what was made before",
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
    strings: false,
    imports: Imports::All,
    batch: 64,
    lookahead: 64,
    settings: &[PORTFOLIO, VALID, RARELY, DISTINCT],
    new,
};

fn new(settings: &Settings) -> Strategy {
    Strategy::Choices(Box::new(Choices {
        uses_portfolio: settings.is_on(PORTFOLIO.name),
        uses_valid: settings.is_on(VALID.name),
        uses_rarely: settings.is_on(RARELY.name),
        known: settings.is_on(DISTINCT.name).then(Arc::default),
        made: Vec::new(),
        portfolio: Portfolio::new(Operator::ALL.len()),
        shortest: Shortest::default(),
        forest: Arc::default(),
        pending: Vec::new(),
        children: BTreeMap::new(),
        members: 0,
        seeds: 0,
    }))
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
    /// Inputs made before, if they matter.
    known: Option<Arc<Known>>,
    /// Hashes of those that were made since the last batch was planned.
    made: Vec<u64>,
    portfolio: Portfolio,
    /// By probe, twice: for all runs and for valid ones.
    shortest: Shortest,
    forest: Arc<Forest>,
    pending: Vec<Change>,
    /// How many children each member of the forest has had.
    children: BTreeMap<u64, u32>,
    /// Inputs that entered the forest.
    members: u64,
    /// Seeds planned.
    seeds: u32,
}

impl Choices {
    /// Of two uniform members the one that has had fewer children.
    fn parent(&mut self, rng: &mut Rng) -> Option<u64> {
        let (a, b) = (self.forest.any(rng)?, self.forest.any(rng)?);
        let children = |number| self.children.get(&number).copied().unwrap_or(0);
        let parent = match self.uses_rarely && children(b) < children(a) {
            true => b,
            false => a,
        };
        *self.children.entry(parent).or_default() += 1;
        Some(parent)
    }

    fn admit(&mut self, judged: &Judged<'_>) -> Option<Reason> {
        let choices = judged.detail.choices.as_deref()?;
        let is_valid = self.uses_valid && judged.outcome.exit.status() == Status::Valid;
        let probes = judged
            .detail
            .counts
            .iter()
            .map(|&(probe, _)| probe as usize);
        let goals = probes.flat_map(|probe| [Some(2 * probe), is_valid.then_some(2 * probe + 1)]);
        let number = self.members;
        let claim = (self.shortest).claim(number, tape_bytes(choices), goals.flatten());
        let released = claim.released.into_iter();
        self.pending.extend(released.map(Change::Remove));
        if claim.held == 0 {
            return None;
        }
        self.pending
            .push(Change::Insert(number, Tree::from(choices)));
        self.members += 1;
        Some(match () {
            () if judged.news.all.edges > 0 => Reason::Edge,
            () if judged.news.valid.edges > 0 => Reason::ValidEdge,
            () => Reason::Smaller,
        })
    }

    pub(super) fn operators(&self) -> Vec<OperatorRecord> {
        let names = Operator::ALL.iter();
        let names = names.map(|operator| format!("{operator:?}").to_lowercase());
        self.portfolio.report(names)
    }

    fn learn(&mut self, judged: &Judged<'_>, found: bool) {
        if self.known.is_some() {
            self.made.push(input_hash(judged.detail.target_input()));
        }
        if let Some(operator) = judged.group.purpose.checked_sub(1) {
            self.portfolio.learn(operator as usize, found, 1);
        }
    }
}

impl Guidance for Choices {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
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
        let seeds = &view.seeds[self.seeds as usize..];
        if !seeds.is_empty() {
            let tapes: Vec<_> = seeds.iter().take(room as usize).cloned().collect();
            let count = tapes.len() as u32;
            self.seeds += count;
            let reading = Reading::Whole;
            let plan = ChoicePlan::Seeds { tapes, reading };
            groups.push(Group::of_choices(plan, count, None));
            return;
        }
        for _ in 0..room {
            let parent = self.parent(rng);
            let operator = match (parent, self.uses_portfolio) {
                (None, _) => 0,
                (Some(_), true) => self.portfolio.choose(rng),
                (Some(_), false) => rng.index(Operator::ALL.len()),
            };
            let plan = ChoicePlan::Edited {
                forest: self.forest.clone(),
                parent: parent.unwrap_or(0),
                operator: Operator::ALL[operator],
                seed: rng.word(),
                known: self.known.clone(),
            };
            groups.push(Group {
                purpose: operator as u64 + 1,
                ..Group::of_choices(plan, 1, None)
            });
        }
    }

    fn found(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.learn(judged, false);
        Judgement::Discard
    }

    fn import(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.admit(judged)
            .map_or(Judgement::Discard, Judgement::Keep)
    }

    fn judge(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let reason = self.admit(judged);
        let found = matches!(reason, Some(Reason::Edge | Reason::ValidEdge));
        self.learn(judged, found);
        match reason {
            None => Judgement::Discard,
            Some(_) if judged.group.purpose == 0 => Judgement::Keep(Reason::Seed),
            Some(reason) => Judgement::Keep(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use crate::choice::ChoiceSequence;
    use crate::conformance::{execute, toy};
    use crate::engine::{Config, Engine};
    use crate::guidance::script::Script;
    use crate::trial::Exit;

    fn choices(setting: &str, value: &str) -> Choices {
        let given = BTreeMap::from([(setting.to_owned(), value.to_owned())]);
        let settings = Settings::new(SPEC.settings, &given).expect("they are right");
        match (SPEC.new)(&settings) {
            Strategy::Choices(choices) => *choices,
            other => panic!("{other:?}"),
        }
    }

    /// How a run ends, how many choices it made, and what it covers.
    type Run<'a> = (Exit, usize, &'a [(u32, u32)]);

    fn members(setting: &str, runs: &[Run<'_>]) -> Vec<u64> {
        let (mut choices, mut script) = (choices("valid", setting), Script::new());
        for &(exit, bytes, counts) in runs {
            let made = ChoiceSequence::of_bytes(&vec![1; bytes], &[]);
            script.trial(&mut choices, exit, Some(made), counts);
        }
        choices.shortest.holders()
    }

    #[test]
    fn a_probe_in_a_valid_run_is_a_goal_of_its_own() {
        let runs: [Run<'_>; 3] = [
            (Exit::Invalid, 5, &[(0, 1)]),
            (Exit::Valid, 9, &[(0, 1)]),
            (Exit::Valid, 8, &[(0, 7)]),
        ];
        assert_eq!(members("on", &runs), [0, 2]);
        assert_eq!(members("off", &runs), [0]);
    }

    /// Executions of 6,400 whose input was run before, or whose generator made none.
    fn executions_for_nothing(setting: &str) -> usize {
        let mut engine = Engine::new(Config {
            settings: BTreeMap::from([("distinct".to_owned(), setting.to_owned())]),
            ..crate::conformance::config(&SPEC, 4)
        })
        .expect("they are right");
        let (mut inputs, mut repeated) = (BTreeSet::new(), 0);
        while engine.stats().execs < 6_400 {
            let batch = engine.next_batch(6_400);
            let outcomes = execute(&batch, &toy, 2);
            for outcome in &outcomes {
                let detail = outcome.detail.as_ref().expect("every trial has it");
                repeated += usize::from(!inputs.insert(detail.input.clone()));
            }
            engine.finish_batch(&batch, outcomes);
        }
        repeated
    }

    #[test]
    fn what_was_made_is_not_run_again() {
        let (distinct, again) = (executions_for_nothing("on"), executions_for_nothing("off"));
        assert!(2 * distinct < again, "{distinct} {again}");
    }

    /// Children that five parents have had after a hundred trials.
    fn children(setting: &str) -> Vec<u32> {
        let (mut choices, mut script) = (choices("rarely", setting), Script::new());
        for probe in 0..5 {
            let made = ChoiceSequence::of_bytes(&[1; 4], &[]);
            script.trial(&mut choices, Exit::Valid, Some(made), &[(probe, 1)]);
        }
        script.plan(&mut choices);
        choices.children.clear();
        (0..100).for_each(|_| drop(script.plan(&mut choices)));
        choices.children.into_values().collect()
    }

    #[test]
    fn parents_have_children_alike() {
        let spread = |counts: &[u32]| counts.iter().max().unwrap() - counts.iter().min().unwrap();
        let (rarely, uniform) = (children("on"), children("off"));
        assert_eq!((rarely.iter().sum::<u32>(), rarely.len()), (100, 5));
        assert!(
            spread(&rarely) <= 4 && spread(&uniform) > 4,
            "{rarely:?} {uniform:?}"
        );
    }
}
