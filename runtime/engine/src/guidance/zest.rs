//! Zest: coverage and validity guide mutations of the bytes behind a generator's choices.
//!
//! Padhye, Lemieux, Sen, Papadakis and Le Traon, "Semantic Fuzzing with Zest", ISSTA 2019, as its
//! code is (`ZestGuidance` of JQF at the time of the papers): 8 mutations of 4 bytes on average, and
//! count buckets, which the paper leaves out. `zest-paper` is Algorithm 2 as printed: 4 mutations of 4
//! bytes, and an input is saved for new coverage or new valid coverage only.
//!
//! Departures: probes are branch arms and function entries of the target, and never those of the
//! generator; each child has a stream of random numbers of its own, so that it can be made on any
//! worker; where JQF gives up after 100,000 fruitless first trials, we go on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::jqf::coverage::Coverage;
use super::jqf::rotation::{Favour, Rotation};
use super::quickcheck::{OFF_BY_ONE, reading};
use super::{Guidance, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::Group;
use crate::choice::ChoicePlan;
use crate::choice::jqf::{Reading, tape_of};
use crate::choice::plan::MutationCount;
use crate::corpus::{Reason, TestcaseId};
use crate::rng::Rng;
use crate::settings::{Setting, Settings};
use crate::trial::Status;

const PAPER: &str = "Padhye et al., Semantic Fuzzing with Zest, ISSTA 2019";

/// Children planned at once. Saves are rare: most of a visit is one batch.
const LOOKAHEAD: u32 = 128;

/// The guidance `zest`.
pub static SPEC: Spec = Spec {
    name: "zest",
    summary: "mutates the bytes behind choices; saves new coverage, valid coverage and counts",
    paper: Some(PAPER),
    input: InputKind::Choices,
    coverage: true,
    batch: 1,
    lookahead: LOOKAHEAD,
    settings: &[
        Setting::switch("count", "save inputs for new hit counts", true),
        VALID,
        VALID_ONLY,
        STICKY,
        OFF_BY_ONE,
    ],
    new,
};

/// The guidance `zest-paper`.
pub static SPEC_PAPER: Spec = Spec {
    name: "zest-paper",
    summary: "zest as printed: fewer mutations, and hit counts do not matter",
    paper: Some(PAPER),
    input: InputKind::Choices,
    coverage: true,
    batch: 1,
    lookahead: LOOKAHEAD,
    settings: &[VALID, VALID_ONLY, STICKY, OFF_BY_ONE],
    new: new_paper,
};

const VALID: Setting = Setting::switch("valid", "save inputs for new coverage of valid ones", true);
const VALID_ONLY: Setting = Setting::switch("valid-only", "save valid inputs only", false);
const STICKY: Setting = Setting::switch(
    "sticky",
    "an input that was favoured stays so, as in JQF since 2023",
    false,
);

fn new(settings: &Settings) -> Strategy {
    let saves_count = settings.is_on("count");
    Strategy::Zest(Box::new(Zest::new(settings, false, saves_count)))
}

fn new_paper(settings: &Settings) -> Strategy {
    Strategy::Zest(Box::new(Zest::new(settings, true, false)))
}

/// The state of Zest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zest {
    /// Four mutations on average in place of eight.
    is_paper: bool,
    saves_count: bool,
    saves_valid: bool,
    valid_only: bool,
    reading: Reading,
    coverage: Coverage,
    rotation: Rotation,
    /// The tape of each testcase.
    tapes: Vec<Arc<[u8]>>,
    /// Seeds judged.
    seeds: u32,
    /// Fresh inputs judged.
    fresh: u64,
    /// Seed of the visit or of the fresh inputs; nothing before the first.
    seed: Option<u64>,
    flight: Flight,
    /// What the input that was just judged is responsible for.
    responsibilities: Vec<u32>,
}

/// What the batch in flight is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Flight {
    /// The user's.
    Seeds,
    /// From nothing, until something is saved.
    Fresh,
    /// Children of the input whose turn it is.
    Visit,
}

impl Zest {
    fn new(settings: &Settings, is_paper: bool, saves_count: bool) -> Zest {
        let favour = if settings.is_on(STICKY.name) {
            Favour::Sticky
        } else {
            Favour::Dynamic
        };
        Zest {
            is_paper,
            saves_count,
            saves_valid: settings.is_on(VALID.name),
            valid_only: settings.is_on(VALID_ONLY.name),
            reading: reading(settings),
            coverage: Coverage::default(),
            rotation: Rotation::new(favour),
            tapes: Vec::new(),
            seeds: 0,
            fresh: 0,
            seed: None,
            flight: Flight::Seeds,
            responsibilities: Vec::new(),
        }
    }

    fn seeds(&self, view: &View<'_>, room: u32) -> Option<(ChoicePlan, u32)> {
        let rest = view.seeds.get(self.seeds as usize..)?;
        let tapes: Vec<_> = rest.iter().take(room as usize).cloned().collect();
        let count = tapes.len() as u32;
        let reading = self.reading;
        (count > 0).then_some((ChoicePlan::Seeds { tapes, reading }, count))
    }

    fn fresh(&mut self, rng: &mut Rng, room: u32) -> (ChoicePlan, u32) {
        let plan = ChoicePlan::Fresh {
            seed: *self.seed.get_or_insert_with(|| rng.word()),
            first: self.fresh,
            reading: self.reading,
        };
        (plan, room)
    }

    fn children(&mut self, rng: &mut Rng, room: u32) -> (ChoicePlan, u32) {
        let covered = self.coverage.covered();
        let is_first = self.rotation.children() == 0;
        if self.rotation.turn(covered) || is_first {
            self.seed = Some(rng.word());
        }
        let plan = ChoicePlan::Zest {
            parent: self.tapes[self.rotation.parent().index()].clone(),
            seed: self.seed.expect("a visit begins with one"),
            first: u64::from(self.rotation.children()),
            count: if self.is_paper {
                MutationCount::Four
            } else {
                MutationCount::Eight
            },
            reading: self.reading,
        };
        (plan, self.rotation.left(covered).min(room))
    }
}

impl Guidance for Zest {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        let mut parent = None;
        let (plan, trials) = if let Some(seeds) = self.seeds(view, room) {
            self.flight = Flight::Seeds;
            seeds
        } else if self.rotation.is_empty() {
            self.flight = Flight::Fresh;
            self.fresh(rng, room)
        } else {
            self.flight = Flight::Visit;
            let children = self.children(rng, room);
            parent = Some(self.rotation.parent());
            children
        };
        groups.push(Group::of_choices(plan, trials, parent));
    }

    fn begin(&mut self, _: &View<'_>, _: &Group, _: u32) -> bool {
        match self.flight {
            Flight::Seeds => self.seeds += 1,
            Flight::Fresh if !self.rotation.is_empty() => return false,
            Flight::Fresh => self.fresh += 1,
            Flight::Visit if self.rotation.left(self.coverage.covered()) == 0 => return false,
            Flight::Visit => self.rotation.bear(),
        }
        true
    }

    fn judge(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let is_valid = judged.outcome.exit.status() == Status::Valid;
        let added = self.coverage.add(&judged.detail.counts, is_valid);
        self.responsibilities = added.responsibilities;
        if self.valid_only && !is_valid {
            return Judgement::Discard;
        }
        let reason = match () {
            () if added.coverage => Reason::Edge,
            () if added.valid && self.saves_valid => Reason::ValidEdge,
            () if added.count && self.saves_count => Reason::Count,
            () => return Judgement::Discard,
        };
        Judgement::Keep(match self.flight {
            Flight::Seeds => Reason::Seed,
            Flight::Fresh | Flight::Visit => reason,
        })
    }

    fn kept(&mut self, _: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        let choices = judged.detail.choices.as_deref();
        let mut tape = choices.map_or(Vec::new(), |choices| tape_of(choices, |_| true));
        if tape.is_empty() {
            // As JQF: an input keeps one byte, whether it was asked for or not.
            tape.push(0);
        }
        self.tapes.push(tape.into());
        let non_zero = judged.detail.counts.len() as u32;
        let probes = std::mem::take(&mut self.responsibilities);
        self.rotation.add(id, non_zero, &probes);
    }

    fn end_batch(&mut self, _: &View<'_>) {
        // Only then is everything that is new also saved.
        if !self.valid_only && self.saves_valid {
            assert_eq!(
                self.rotation.responsibilities(),
                self.coverage.covered(),
                "somebody is responsible for each probe that is covered"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::guidance::script::Script;
    use crate::trial::Exit;

    /// What becomes of scripted trials, one after the other: the reason for which each is saved.
    fn reasons(
        spec: &Spec,
        settings: &[(&str, &str)],
        trials: &[(Exit, &[(u32, u32)])],
    ) -> Vec<Option<Reason>> {
        let given: BTreeMap<String, String> = (settings.iter())
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let settings = Settings::new(spec.settings, &given).expect("they are right");
        let mut strategy = (spec.new)(&settings);
        let mut script = Script::new();
        let judge =
            |&(exit, counts): &(Exit, _)| script.trial(strategy.guidance(), exit, None, counts);
        trials.iter().map(judge).collect()
    }

    const TRIALS: [(Exit, &[(u32, u32)]); 6] = [
        (Exit::Invalid, &[(0, 1), (1, 1)]),
        (Exit::Invalid, &[(0, 2)]),
        (Exit::Valid, &[(0, 1)]),
        (Exit::Valid, &[(0, 3)]),
        (Exit::Valid, &[(0, 4)]),
        (Exit::Valid, &[(0, 1), (2, 1)]),
    ];

    /// Conformance item 5: the reasons of saves, for zest, as printed, and for valid inputs only.
    #[test]
    fn inputs_are_saved_for_the_reasons_of_zest() {
        const EDGE: Option<Reason> = Some(Reason::Edge);
        const VALID: Option<Reason> = Some(Reason::ValidEdge);
        const COUNT: Option<Reason> = Some(Reason::Count);
        let all = reasons(&SPEC, &[], &TRIALS);
        assert_eq!(all, [EDGE, COUNT, VALID, None, COUNT, EDGE]);
        let printed = reasons(&SPEC_PAPER, &[], &TRIALS);
        assert_eq!(printed, [EDGE, None, VALID, None, None, EDGE]);
        let valid = reasons(&SPEC, &[("valid-only", "on")], &TRIALS);
        assert_eq!(valid, [None, None, VALID, None, COUNT, EDGE]);
        let counts = reasons(&SPEC, &[("valid", "off")], &TRIALS);
        assert_eq!(counts, [EDGE, COUNT, None, None, COUNT, EDGE]);
    }
}
