//! BeDivFuzz: structure and values of an input are mutated apart, whichever of the two finds more new
//! behaviour.
//!
//! Nguyen and Grunske, "BeDivFuzz: Integrating Behavioral Diversity into Generator-based Fuzzing",
//! ICSE 2022, as its code of 2022 is, which the paper used. On Zest's queue and energy, with valid
//! inputs only: its launcher sets JQF's `SAVE_ONLY_VALID`, by which an invalid run neither is saved nor counts
//! as coverage. An input is two tapes, one for draws of structure and one for draws of values.
//! `bediv-structure` saves only inputs whose tape of structure no saved input has.
//!
//! Departures: those of `zest`. The user's seeds are left alone: a file of bytes does not say which
//! of the two tapes it is. By a setting, which draws are structure is learnt ([`Influence`]), where the
//! generator does not say or everywhere; what was saved is divided anew then, but not the structures
//! that `bediv-structure` remembers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::jqf::coverage::Coverage;
use super::jqf::rotation::{Energy, Favour, Rotation};
use super::quickcheck::{OFF_BY_ONE, reading};
use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::Group;
use crate::choice::influence::Influence;
use crate::choice::jqf::{Reading, tape_of};
use crate::choice::plan::Half;
use crate::choice::split::{Division, Roles};
use crate::choice::{ChoicePlan, ChoiceSequence, Draw, Packed};
use crate::corpus::{Reason, Testcase, TestcaseId};
use crate::digest;
use crate::feedback::{TraceId, raw_trace};
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::settings::{Setting, SettingKind, Settings};
use crate::trial::Status;

const PAPER: &str = "Nguyen and Grunske, BeDivFuzz, ICSE 2022";

/// How often the half is chosen by a coin, whatever has been learnt.
const EPSILON: Ratio = Ratio::new(1, 5);
const COIN: Ratio = Ratio::new(1, 2);

/// The guidance `bediv-simple`.
pub static SPEC_SIMPLE: Spec = Spec {
    name: "bediv-simple",
    summary: "zest on valid inputs, mutating structure or values by what finds new behaviour",
    paper: Some(PAPER),
    input: InputKind::Choices,
    coverage: true,
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::News,
    batch: 1,
    lookahead: 1,
    settings: &[OFF_BY_ONE, SPLIT],
    new: new_simple,
};

/// The guidance `bediv-structure`.
pub static SPEC_STRUCTURE: Spec = Spec {
    name: "bediv-structure",
    summary: "bediv-simple, saving inputs of new structure only",
    new: new_structure,
    ..SPEC_SIMPLE
};

const SPLIT: Setting = Setting {
    name: "split",
    summary: "which draws are structure: as marked, learnt where nothing is marked, or learnt alone",
    kind: SettingKind::OneOf {
        names: &["annotated", "learnt", "learnt-only"],
    },
};

fn new_simple(settings: &Settings) -> Strategy {
    Strategy::Bediv(Box::new(Bediv::new(settings, None)))
}

fn new_structure(settings: &Settings) -> Strategy {
    Strategy::Bediv(Box::new(Bediv::new(settings, Some(BTreeSet::new()))))
}

/// How one half has fared with the present parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Score {
    /// Children that were mutated in it.
    children: u32,
    /// Those of them that were valid and had a trace that no valid run had had.
    rewards: u32,
}

/// The state of BeDivFuzz.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bediv {
    reading: Reading,
    coverage: Coverage,
    rotation: Rotation,
    division: Division,
    /// What was seen of each site, if it matters.
    influence: Influence,
    /// Raw traces of valid runs.
    traces: BTreeSet<TraceId>,
    /// Hashes of the tapes of structure of testcases, where only new ones are saved.
    structures: Option<BTreeSet<u128>>,
    /// Of the present visit: structure and values.
    scores: [Score; 2],
    /// The parent of the trial in flight, and the half that differs; nothing if it is fresh.
    flight: Option<(TestcaseId, bool)>,
    /// What the input that was just judged is responsible for.
    responsibilities: Vec<u32>,
}

impl Bediv {
    fn new(settings: &Settings, structures: Option<BTreeSet<u128>>) -> Bediv {
        Bediv {
            reading: reading(settings),
            coverage: Coverage::default(),
            rotation: Rotation::new(Favour::Dynamic, Energy::Children),
            division: match settings.number(SPLIT.name) {
                0 => Division::Annotated,
                1 => Division::Learnt(Arc::default()),
                _ => Division::LearntOnly(Arc::default()),
            },
            influence: Influence::default(),
            traces: BTreeSet::new(),
            structures,
            scores: [Score::default(); 2],
            flight: None,
            responsibilities: Vec::new(),
        }
    }

    fn child(&mut self, view: &View<'_>, rng: &mut Rng) -> ChoicePlan {
        if self.rotation.turn(self.coverage.covered()) {
            self.scores = [Score::default(); 2];
        }
        self.rotation.bear();
        let parent = self.rotation.parent();
        let choices = view.corpus.get(parent).choices.as_ref().map(Packed::unpack);
        let choices = choices.as_ref();
        let (structure, values) = (self.tape(choices, true), self.tape(choices, false));
        let of_structure = values.is_empty() || prefers_structure(self.scores, rng);
        self.scores[usize::from(!of_structure)].children += 1;
        self.flight = Some((parent, of_structure));
        ChoicePlan::Split {
            structure: structure.into(),
            values: values.into(),
            division: self.division.clone(),
            half: Some(if of_structure {
                Half::Structure
            } else {
                Half::Values
            }),
            seed: rng.word(),
            reading: self.reading,
        }
    }

    /// What was asked for of the tape of structure, or of that of values.
    fn tape(&self, choices: Option<&ChoiceSequence>, of_structure: bool) -> Vec<u8> {
        let is_of = |draw: &Draw| self.division.is_structure(draw) == of_structure;
        choices.map_or(Vec::new(), |choices| tape_of(choices, self.reading, is_of))
    }

    /// Hash of what was asked for of the tape of structure.
    fn structure_of(&self, choices: Option<&ChoiceSequence>) -> u128 {
        digest::short(blake3::hash(&self.tape(choices, true)))
    }

    /// Whether nothing saved has this structure.
    fn is_new_structure(&self, choices: Option<&ChoiceSequence>) -> bool {
        let structures = self.structures.as_ref();
        structures.is_none_or(|known| !known.contains(&self.structure_of(choices)))
    }

    /// Learns which draws are structure from a child and its parent.
    fn learn(&mut self, parent: &Testcase, child: Option<&ChoiceSequence>) {
        let (Division::Learnt(roles) | Division::LearntOnly(roles)) = &mut self.division else {
            return;
        };
        if let (Some(parent), Some(child)) = (&parent.choices, child)
            && self.influence.learn(&parent.unpack(), child)
        {
            let learnt = self.influence.sites();
            *roles = Arc::new(learnt.map(|(site, e)| (site, e.role())).collect::<Roles>());
        }
    }
}

/// Whether structure is mutated next, given the scores of structure and values.
fn prefers_structure([structure, values]: [Score; 2], rng: &mut Rng) -> bool {
    if rng.chance(EPSILON) {
        return rng.chance(COIN);
    }
    // Ratios by cross-multiplication; without children a ratio is 0, and so is its numerator.
    let ours = u64::from(structure.rewards) * u64::from(values.children.max(1));
    let theirs = u64::from(values.rewards) * u64::from(structure.children.max(1));
    match ours.cmp(&theirs) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => rng.chance(COIN),
    }
}

impl Guidance for Bediv {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, _: u32, groups: &mut Vec<Group>) {
        let plan = if self.rotation.is_empty() {
            self.flight = None;
            ChoicePlan::Split {
                structure: Arc::from([]),
                values: Arc::from([]),
                division: self.division.clone(),
                half: None,
                seed: rng.word(),
                reading: self.reading,
            }
        } else {
            self.child(view, rng)
        };
        groups.push(Group::of_choices(
            plan,
            1,
            self.flight.map(|(parent, _)| parent),
        ));
    }

    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let is_valid = judged.outcome.exit.status() == Status::Valid;
        let counts = &judged.detail.counts;
        let is_new_trace = is_valid && self.traces.insert(raw_trace(counts));
        if let (Some((_, of_structure)), true) = (self.flight, is_new_trace) {
            self.scores[usize::from(!of_structure)].rewards += 1;
        }
        let choices = judged.detail.choices.as_deref();
        // Without counts the target did not run: the generator did not come to its end.
        if let Some((parent, _)) = self.flight
            && !counts.is_empty()
        {
            self.learn(view.corpus.get(parent), choices);
        }
        if !is_valid {
            return Judgement::Discard;
        }
        let added = self.coverage.add(counts, true);
        let reason = match () {
            () if added.coverage => Some(Reason::Edge),
            () if added.count => Some(Reason::Count),
            () => None,
        };
        match reason {
            Some(reason) if self.is_new_structure(choices) => {
                self.responsibilities = added.responsibilities;
                Judgement::Keep(reason)
            }
            _ => {
                // What is covered now will never be new again: the parent answers for it.
                if let Some((parent, _)) = self.flight {
                    (self.rotation).make_responsible(parent, &added.responsibilities);
                }
                Judgement::Discard
            }
        }
    }

    fn import(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        // Nobody's child, as those from nothing are.
        self.flight = None;
        self.judge(view, judged)
    }

    fn kept(&mut self, _: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        if let Some(mut structures) = self.structures.take() {
            structures.insert(self.structure_of(judged.detail.choices.as_deref()));
            self.structures = Some(structures);
        }
        let probes = std::mem::take(&mut self.responsibilities);
        let non_zero = judged.detail.counts.len() as u32;
        self.rotation.add(id, non_zero, &probes);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::choice::{ChoiceNode, Domain, Role};
    use crate::guidance::script::Script;
    use crate::trial::Exit;

    fn score(children: u32, rewards: u32) -> Score {
        Score { children, rewards }
    }

    /// How often of 10,000 times structure is mutated.
    fn share(scores: [Score; 2]) -> u32 {
        let mut rng = Rng::new(1);
        (0..10_000)
            .map(|_| u32::from(prefers_structure(scores, &mut rng)))
            .sum()
    }

    /// Conformance item 7: the better half, but for a coin in one of five cases; a tie is a coin.
    #[test]
    fn the_better_half_is_mutated() {
        assert!((8_850..9_150).contains(&share([score(10, 2), score(10, 1)])));
        assert!((850..1_150).contains(&share([score(10, 1), score(5, 1)])));
        for tie in [
            [score(0, 0), score(0, 0)],
            [score(10, 0), score(0, 0)],
            [score(4, 2), score(2, 1)],
        ] {
            assert!((4_800..5_200).contains(&share(tie)), "{tie:?}");
        }
    }

    /// Scripted trials of a state.
    struct Trials {
        bediv: Bediv,
        script: Script,
    }

    impl Trials {
        fn new(structures: Option<BTreeSet<u128>>) -> Trials {
            let settings = Settings::new(SPEC_SIMPLE.settings, &BTreeMap::new());
            let settings = settings.expect("defaults are right");
            Trials {
                bediv: Bediv::new(&settings, structures),
                script: Script::new(),
            }
        }

        /// Plans a trial, and judges it with this trace: what becomes of it.
        fn trial(&mut self, exit: Exit, structure: u8, counts: &[(u32, u32)]) -> Option<Reason> {
            let node = |role, value| ChoiceNode {
                draw: Draw {
                    site: 0,
                    role,
                    domain: Domain::Int { lo: 0, hi: 255 },
                },
                bits: value,
                value,
            };
            let choices = ChoiceSequence {
                nodes: vec![
                    node(Role::Structure, structure.into()),
                    node(Role::Value, 1),
                ],
                ..ChoiceSequence::default()
            };
            (self.script).trial(&mut self.bediv, exit, Some(choices), counts)
        }

        fn scores(&self) -> (u32, u32) {
            let [s, v] = self.bediv.scores;
            (s.children + v.children, s.rewards + v.rewards)
        }
    }

    #[test]
    fn an_invalid_input_is_not_saved_and_covers_nothing() {
        let mut trials = Trials::new(None);
        assert_eq!(trials.trial(Exit::Invalid, 0, &[(0, 9)]), None);
        assert_eq!(trials.bediv.coverage.covered(), 0);
        assert_eq!(trials.trial(Exit::Valid, 0, &[(0, 1)]), Some(Reason::Edge));
        assert_eq!(trials.trial(Exit::Valid, 0, &[(0, 1)]), None);
        // Nor does its parent answer for it, and what it counted is still new.
        assert_eq!(trials.trial(Exit::Invalid, 0, &[(0, 9), (1, 1)]), None);
        assert_eq!(trials.bediv.rotation.responsibilities(), 1);
        assert_eq!(trials.trial(Exit::Valid, 0, &[(0, 9)]), Some(Reason::Count));
    }

    #[test]
    fn the_reward_is_for_new_traces_of_valid_children() {
        let mut trials = Trials::new(None);
        trials.trial(Exit::Valid, 0, &[(0, 1), (1, 1), (2, 1)]);
        assert_eq!(trials.scores(), (0, 0));
        trials.trial(Exit::Valid, 0, &[(0, 1), (1, 1)]);
        assert_eq!(trials.scores(), (1, 1));
        trials.trial(Exit::Valid, 0, &[(0, 1), (1, 1)]);
        assert_eq!(trials.scores(), (2, 1));
        trials.trial(Exit::Invalid, 0, &[(0, 1)]);
        assert_eq!(trials.scores(), (3, 1));
    }

    #[test]
    fn scores_are_of_one_visit() {
        let mut trials = Trials::new(None);
        // The only input is favoured: 1,000 children, then it is visited again.
        trials.trial(Exit::Valid, 0, &[(0, 1)]);
        for _ in 0..1_000 {
            trials.trial(Exit::Valid, 0, &[(0, 1)]);
        }
        assert_eq!(trials.scores(), (1_000, 0));
        trials.trial(Exit::Valid, 0, &[(0, 1)]);
        assert_eq!(trials.scores(), (1, 0));
    }

    #[test]
    fn a_known_structure_is_not_saved_and_its_parent_answers_for_it() {
        let mut trials = Trials::new(Some(BTreeSet::new()));
        assert_eq!(trials.trial(Exit::Valid, 7, &[(0, 1)]), Some(Reason::Edge));
        assert_eq!(trials.trial(Exit::Valid, 7, &[(0, 1), (1, 1)]), None);
        assert_eq!(trials.bediv.rotation.responsibilities(), 2);
        // What was seen then is not new any more, though nothing was saved for it.
        assert_eq!(trials.trial(Exit::Valid, 8, &[(0, 1), (1, 1)]), None);
        let reason = trials.trial(Exit::Valid, 8, &[(2, 1)]);
        assert_eq!(reason, Some(Reason::Edge));
    }
}
