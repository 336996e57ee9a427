//! SpotOn: mutations of the bytes behind types that influence branches nobody has taken.
//!
//! "SpotOn", as its paper and code have it: inputs are indexed as in `ei`, and saved and visited as in
//! `zest`, except that a visit is measured in what its children cost. While some arm of an influenced
//! branch is uncovered, half of the children differ in one type only, which is drawn by its distance
//! ([`crate::choice::typed`]); the others, and those for which no type of the input is found, differ
//! anywhere. Which types influence which branches, a static analysis of the target says; it also finds the
//! strings that application code names, of which the generator may draw ([`crate::choice::strings`]).
//!
//! Departures: those of `zest`; a type is the label of a span that is open while a byte is drawn, where
//! SpotOn takes the return types of the methods on the stack; cost is fuel, a million for a
//! millisecond.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::jqf::rotation::Energy;
use super::quickcheck::OFF_BY_ONE;
use super::zest::{COUNT, Next, STEAL, STICKY, VALID, VALID_ONLY, Zest, seeds};
use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::Group;
use crate::choice::ChoicePlan;
use crate::choice::indexed::{IndexedInput, Splice};
use crate::choice::typed::{Distances, TypeIntervals};
use crate::corpus::TestcaseId;
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::settings::Settings;

/// How many children differ in one type only.
const TYPED: Ratio = Ratio::new(1, 2);

/// The guidance `spoton`.
pub static SPEC: Spec = Spec {
    name: "spoton",
    summary: "changes what the generator drew for types that influence branches not taken yet",
    paper: Some("SpotOn, type-based targeted mutation"),
    input: InputKind::Choices,
    coverage: true,
    paths: true,
    targets: true,
    strings: true,
    decisions: false,
    imports: Imports::News,
    batch: 1,
    // Of seeds and fresh inputs: a child's type is chosen after the child before it was judged.
    lookahead: 128,
    settings: &[COUNT, VALID, VALID_ONLY, STICKY, STEAL, OFF_BY_ONE],
    new,
};

fn new(settings: &Settings) -> Strategy {
    let saves_count = settings.is_on(COUNT.name);
    Strategy::Spoton(Box::new(Spoton {
        zest: Zest::new(settings, false, saves_count, Energy::Cost),
        inputs: Vec::new(),
        distances: None,
        taken: 0,
        made: 0,
    }))
}

/// The state of SpotOn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spoton {
    zest: Zest,
    /// The input of each testcase, and which bytes of it are of which type.
    inputs: Vec<(Arc<IndexedInput>, TypeIntervals)>,
    /// How far types are by now; nothing before the first plan.
    distances: Option<Distances>,
    /// So many of the targets' arms, from the first on, have been taken.
    taken: u32,
    /// Inputs that were made so far.
    made: u64,
}

impl Spoton {
    /// Whether some arm was not taken yet. What has been taken stays so.
    fn has_targets(&mut self, view: &View<'_>) -> bool {
        let rest = (view.targets.arms.get(self.taken as usize..)).unwrap_or(&[]);
        let taken = |&&arm: &&u32| view.interest.all.has(arm);
        self.taken += rest.iter().take_while(taken).count() as u32;
        (self.taken as usize) < view.targets.arms.len()
    }

    fn child(&mut self, view: &View<'_>, parent: TestcaseId, rng: &mut Rng) -> ChoicePlan {
        let is_wanted = self.has_targets(view) && rng.chance(TYPED);
        let (input, types) = &self.inputs[parent.index()];
        let distances = (self.distances).get_or_insert_with(|| Distances::new(view.targets));
        let chosen = match is_wanted && !types.is_empty() {
            true => distances.choose(|label| types.get(label).is_some(), rng),
            false => None,
        };
        ChoicePlan::Typed {
            parent: Arc::clone(input),
            of_type: chosen.and_then(|label| types.get(label)).cloned(),
            seed: rng.word(),
            reading: self.zest.reading(),
        }
    }
}

impl Guidance for Spoton {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        let reading = self.zest.reading();
        let (next, most) = self.zest.next(view, rng);
        let (plan, trials, parent) = match next {
            Next::Seeds(from) => {
                let trials = most.min(room);
                (seeds(view, from, trials, reading), trials, None)
            }
            Next::Fresh { seed, first } => {
                let plan = ChoicePlan::Indexed {
                    parent: Arc::new(IndexedInput::empty()),
                    donors: Arc::default(),
                    splice: Splice::Run,
                    seed,
                    first,
                    reading,
                };
                (plan, most.min(room), None)
            }
            Next::Visit { parent, .. } => (self.child(view, parent, rng), 1, Some(parent)),
        };
        groups.push(Group {
            wants_paths: true,
            ..Group::of_choices(plan, trials, parent)
        });
    }

    fn begin(&mut self, view: &View<'_>, group: &Group, nth: u32) -> bool {
        self.zest.begin(view, group, nth)
    }

    fn found(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.zest.found(view, judged)
    }

    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.zest.judge(view, judged)
    }

    fn import(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.zest.import(view, judged)
    }

    fn kept(&mut self, _: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        let nothing = Default::default();
        let choices = judged.detail.choices.as_deref().unwrap_or(&nothing);
        let input = Arc::new(IndexedInput::new(self.made, choices, self.zest.reading()));
        self.made += 1;
        self.inputs.push((input, TypeIntervals::new(choices)));
        self.zest.enqueue(id, judged);
    }

    fn end_batch(&mut self, view: &View<'_>) {
        self.zest.end_batch(view);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::batch::Plan;
    use crate::choice::ChoiceSequence;
    use crate::choice::typed::{TargetType, Targets};
    use crate::guidance::script::Script;
    use crate::trial::Exit;

    /// Ten bytes, of which the middle four were drawn in a span of this label.
    fn choices(label: u32) -> ChoiceSequence {
        ChoiceSequence::of_bytes(&[1; 10], &[(label, 3, 7, 0)])
    }

    /// Of a thousand children of an input with a span of `label`, how many differ in a type only.
    fn typed(label: u32, covered: &[u32]) -> usize {
        let settings = Settings::new(SPEC.settings, &BTreeMap::new()).expect("they are defaults");
        let mut strategy = (SPEC.new)(&settings);
        let mut script = Script::new();
        script.targets = Targets {
            types: vec![TargetType {
                labels: vec![1, 9],
                steps: 2,
            }],
            arms: vec![0, 5],
            ..Targets::default()
        };
        for &probe in covered {
            script.cover(probe);
        }
        script.trial(
            strategy.guidance(),
            Exit::Valid,
            Some(choices(label)),
            &[(0, 1)],
        );
        let children = (0..1_000).filter(|_| {
            let group = script.plan(strategy.guidance());
            let Plan::Choices(ChoicePlan::Typed { of_type, .. }) = group.plan else {
                panic!("{group:?}");
            };
            if let Some(intervals) = &of_type {
                assert_eq!(intervals[..], [(3, 7)]);
            }
            of_type.is_some()
        });
        children.count()
    }

    /// Conformance item 11: half of the children, while some arm is not taken and the input has a
    /// type that influences one; else they differ anywhere.
    #[test]
    fn half_of_the_children_differ_in_a_type() {
        assert!((450..550).contains(&typed(1, &[])));
        assert!((450..550).contains(&typed(1, &[0])));
        assert_eq!(typed(1, &[0, 5]), 0);
        assert_eq!(typed(2, &[]), 0);
    }
}
