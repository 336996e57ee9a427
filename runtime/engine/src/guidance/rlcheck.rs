//! RLCheck: learns which choices lead to valid inputs that were not made before.
//!
//! Reddy, Lemieux, Padhye and Sen, ICSE 2020. The learner is in [`crate::choice::policy`]; here are
//! the rewards: 20 for a valid input whose text is new, 0 for one that is not, −1 for an invalid one.
//! Nothing is learnt from a finding; the published code forgets to clear the episode then, so that its
//! choices are credited to the next trial, which a setting does as well. `rlcheck-greybox` rewards a
//! new set of covered probes in place of a new text.
//!
//! Departure: a coin with odds, which RLCheck's generators have not, is explored by its odds; by one half, what is to be rare
//! would be as common as the rest.
//!
//! Inputs with new coverage enter the corpus for reports; nothing is mutated.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::Group;
use crate::choice::ChoicePlan;
use crate::choice::policy::{Abstraction, Step, Table, episode};
use crate::digest;
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::settings::{Setting, Settings};
use crate::trial::Status;

const REWARD_NEW: i64 = 20;
const REWARD_KNOWN: i64 = 0;
const REWARD_INVALID: i64 = -1;

/// Valid inputs that are told from new ones, of some 30 bytes each; of a campaign with more all others count as known. The published
/// code has no bound.
const SEEN_MAX: usize = 1 << 24;

/// The guidance `rlcheck`.
pub static SPEC: Spec = Spec {
    name: "rlcheck",
    summary: "learns by reinforcement which choices make valid inputs that are new; blackbox",
    paper: Some("Reddy et al., Quickly Generating Diverse Valid Test Inputs, ICSE 2020"),
    input: InputKind::Choices,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::None,
    batch: 1,
    lookahead: 1,
    settings: &[
        Setting::number(
            "window",
            "how many of the last labels and numbers a choice depends on",
            0..=64,
            5,
        ),
        Setting::number(
            "epsilon",
            "per cent of the choices that are random",
            0..=100,
            25,
        ),
        Setting::switch(
            "scopes",
            "leaving a span forgets what was chosen inside; else all choices count",
            true,
        ),
        Setting::switch(
            "carry-failures",
            "credit the choices of a finding to the next trial, as the published code does",
            false,
        ),
    ],
    new,
};

/// The guidance `rlcheck-greybox`.
pub static SPEC_GREYBOX: Spec = Spec {
    name: "rlcheck-greybox",
    summary: "rlcheck, rewarded for valid inputs that cover a new set of edges",
    new: new_greybox,
    ..SPEC
};

fn new(settings: &Settings) -> Strategy {
    Strategy::Rlcheck(Box::new(Rlcheck::new(settings, false)))
}

fn new_greybox(settings: &Settings) -> Strategy {
    Strategy::Rlcheck(Box::new(Rlcheck::new(settings, true)))
}

/// The state of RLCheck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlcheck {
    abstraction: Abstraction,
    epsilon: Ratio,
    is_greybox: bool,
    carries_failures: bool,
    table: Arc<Table>,
    /// Steps and rewards that the table does not know yet: it is shared with the batch in flight
    /// until that one is gone.
    pending: Vec<(Vec<Step>, i64)>,
    /// Steps of findings, credited to the next trial.
    carried: Vec<Step>,
    /// Hashes of valid inputs, or of what they covered.
    seen: BTreeSet<u128>,
}

impl Rlcheck {
    fn new(settings: &Settings, is_greybox: bool) -> Rlcheck {
        Rlcheck {
            abstraction: Abstraction {
                window: settings.number("window") as u32,
                scopes: settings.is_on("scopes"),
            },
            epsilon: Ratio::percent(settings.number("epsilon") as u32),
            is_greybox,
            carries_failures: settings.is_on("carry-failures"),
            table: Arc::default(),
            pending: Vec::new(),
            carried: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    fn reward(&mut self, judged: &Judged<'_>) -> i64 {
        if judged.outcome.exit.status() != Status::Valid {
            return REWARD_INVALID;
        }
        let mut hasher = blake3::Hasher::new();
        if self.is_greybox {
            for (probe, _) in &judged.detail.counts {
                hasher.update(&probe.to_le_bytes());
            }
        } else {
            hasher.update(&judged.detail.input);
            if judged.detail.input.is_empty()
                && let Some(choices) = &judged.detail.choices
            {
                // A property that emits nothing: its data are its choices.
                for node in &choices.nodes {
                    hasher.update(&node.value.to_le_bytes());
                }
                hasher.update(&choices.payload);
            }
        }
        let hash = digest::short(hasher.finalize());
        if self.seen.len() < SEEN_MAX && self.seen.insert(hash) {
            REWARD_NEW
        } else {
            REWARD_KNOWN
        }
    }

    fn steps(&self, judged: &Judged<'_>) -> Vec<Step> {
        let choices = judged.detail.choices.as_deref();
        choices.map_or(Vec::new(), |choices| episode(choices, self.abstraction))
    }
}

impl Guidance for Rlcheck {
    fn plan(&mut self, _: &View<'_>, rng: &mut Rng, _: u32, groups: &mut Vec<Group>) {
        if !self.pending.is_empty() {
            let table = Arc::make_mut(&mut self.table);
            for (steps, reward) in self.pending.drain(..) {
                table.learn(&steps, reward);
            }
        }
        groups.push(Group::of_choices(
            ChoicePlan::Policy {
                table: self.table.clone(),
                abstraction: self.abstraction,
                epsilon: self.epsilon,
                seed: rng.word(),
            },
            1,
            None,
        ));
    }

    fn found(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        if self.carries_failures {
            let steps = self.steps(judged);
            self.carried.extend(steps);
        }
        Judgement::Discard
    }

    fn judge(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let mut steps = std::mem::take(&mut self.carried);
        steps.extend(self.steps(judged));
        let reward = self.reward(judged);
        self.pending.push((steps, reward));
        judged.news.judgement()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::choice::{ChoiceNode, ChoiceSequence, Domain, Draw, Role};
    use crate::guidance::script::Script;
    use crate::trial::Exit;

    /// One choice of a number from 0 to 9 at a site of its own.
    fn chose(site: u32, value: u64) -> Option<ChoiceSequence> {
        let draw = Draw {
            site,
            role: Role::Unknown,
            domain: Domain::Int { lo: 0, hi: 9 },
        };
        Some(ChoiceSequence {
            nodes: vec![ChoiceNode {
                draw,
                bits: value,
                value,
            }],
            ..ChoiceSequence::default()
        })
    }

    /// The sites that were credited, and with what, after a finding and a valid input.
    fn credited(setting: &str) -> Vec<(Vec<u32>, i64)> {
        let given = BTreeMap::from([("carry-failures".to_owned(), setting.to_owned())]);
        let settings = Settings::new(SPEC.settings, &given).expect("they are right");
        let mut rlcheck = Rlcheck::new(&settings, false);
        let mut script = Script::new();
        for (exit, choices) in [
            (Exit::Hang, chose(1, 4)),
            (Exit::Hang, chose(2, 4)),
            (Exit::Valid, chose(3, 4)),
        ] {
            script.trial(&mut rlcheck, exit, choices, &[(0, 1)]);
        }
        assert!(rlcheck.carried.is_empty(), "credited once");
        let sites = |steps: &[Step]| steps.iter().map(|(site, ..)| *site).collect();
        let pending = rlcheck.pending.iter();
        pending
            .map(|(steps, reward)| (sites(steps), *reward))
            .collect()
    }

    /// Conformance item 9: a finding teaches nothing; or, as in the published code, its choices are
    /// credited to the next trial that is none.
    #[test]
    fn choices_of_findings_are_carried_over_behind_a_switch() {
        assert_eq!(credited("off"), [(vec![3], REWARD_NEW)]);
        assert_eq!(credited("on"), [(vec![1, 2, 3], REWARD_NEW)]);
    }

    /// Conformance item 9: 20, 0 and −1; of the greybox variant, 20 for a new set of probes.
    #[test]
    fn rewards_are_for_what_is_valid_and_new() {
        let settings = Settings::new(SPEC.settings, &BTreeMap::new()).expect("they are defaults");
        for (greybox, expected) in [(false, [20, 0, -1, 20]), (true, [20, 20, -1, 0])] {
            let mut rlcheck = Rlcheck::new(&settings, greybox);
            let mut script = Script::new();
            let mut rewards = Vec::new();
            for (exit, value, counts) in [
                (Exit::Valid, 4, &[(0, 1)]),
                (Exit::Valid, 4, &[(1, 1)]),
                (Exit::Invalid, 5, &[(2, 1)]),
                (Exit::Valid, 6, &[(1, 9)]),
            ] {
                script.trial(&mut rlcheck, exit, chose(1, value), counts);
                rewards.extend(rlcheck.pending.last().map(|(_, reward)| *reward));
            }
            assert_eq!(rewards, expected, "greybox: {greybox}");
        }
    }
}
