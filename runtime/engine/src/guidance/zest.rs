//! Zest: coverage and validity guide mutations of the bytes behind a generator's choices.
//!
//! Padhye, Lemieux, Sen, Papadakis and Le Traon, "Semantic Fuzzing with Zest", ISSTA 2019, as its
//! code is (`ZestGuidance` of JQF at the time of the papers): 8 mutations of 4 bytes on average, and
//! count buckets, which the paper leaves out. `zest-paper` is Algorithm 2 as printed: 4 mutations of 4
//! bytes, and an input is saved for new coverage or new valid coverage only.
//!
//! `zest-str` is `zest` whose generator may draw the target's own strings ([`crate::choice::strings`]): the
//! table of SpotOn without its types, the ablation `ZestStrOpt` of its paper. There both measure a visit in
//! time, which is the setting `energy=cost` here.
//!
//! Departures: probes are branch arms and function entries of the target, and those of the generator only with
//! `--coverage all`; each child has a stream of random numbers of its own, so that it can be made on any
//! worker; where JQF gives up after 100,000 fruitless first trials, we go on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::jqf::coverage::Coverage;
use super::jqf::rotation::{Energy, Favour, Rotation};
use super::quickcheck::{OFF_BY_ONE, reading};
use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::Group;
use crate::choice::ChoicePlan;
use crate::choice::jqf::{End, Reading, tape_bytes, tape_of};
use crate::choice::plan::MutationCount;
use crate::corpus::{Reason, TestcaseId};
use crate::rng::Rng;
use crate::settings::{Setting, SettingKind, Settings};
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
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::News,
    batch: 1,
    lookahead: LOOKAHEAD,
    settings: &[
        COUNT, VALID, VALID_ONLY, STICKY, STEAL, ENERGY, WHEN_OUT, OFF_BY_ONE,
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
    paths: false,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::News,
    batch: 1,
    lookahead: LOOKAHEAD,
    settings: &[VALID, VALID_ONLY, STICKY, STEAL, WHEN_OUT, OFF_BY_ONE],
    new: new_paper,
};

/// The guidance `zest-str`.
pub static SPEC_STR: Spec = Spec {
    name: "zest-str",
    summary: "zest, and half of the strings that a generator asks for are the target's own",
    paper: Some("SpotOn, type-based targeted mutation: its ablation ZestStrOpt"),
    strings: true,
    ..SPEC
};

pub(super) const COUNT: Setting = Setting::switch("count", "save inputs for new hit counts", true);
pub(super) const VALID: Setting =
    Setting::switch("valid", "save inputs for new coverage of valid ones", true);
pub(super) const VALID_ONLY: Setting =
    Setting::switch("valid-only", "save valid inputs only", false);
pub(super) const STICKY: Setting = Setting::switch(
    "sticky",
    "an input that was favoured stays so, as in JQF since 2023",
    false,
);
pub(super) const STEAL: Setting = Setting::switch(
    "steal",
    "who covers all that another is responsible for, and more or with fewer bytes, takes it over",
    false,
);

const WHEN_OUT: Setting = Setting {
    name: "when-out",
    summary: "what a child reads behind its last byte: random bytes, or the end, as JQF can be told",
    kind: SettingKind::OneOf {
        names: &["random", "end"],
    },
};

const ENERGY: Setting = Setting {
    name: "energy",
    summary: "what a visit is measured in: children, or their fuel as SpotOn's baseline",
    kind: SettingKind::OneOf {
        names: &["children", "cost"],
    },
};

fn new(settings: &Settings) -> Strategy {
    let energy = [Energy::Children, Energy::Cost][settings.number(ENERGY.name) as usize];
    let saves_count = settings.is_on(COUNT.name);
    let zest = Zest::new(settings, false, saves_count, energy);
    Strategy::Zest(Box::new(zest.with_end(settings)))
}

fn new_paper(settings: &Settings) -> Strategy {
    let zest = Zest::new(settings, true, false, Energy::Children);
    Strategy::Zest(Box::new(zest.with_end(settings)))
}

/// The state of Zest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zest {
    /// Four mutations on average in place of eight.
    is_paper: bool,
    saves_count: bool,
    saves_valid: bool,
    valid_only: bool,
    steals: bool,
    reading: Reading,
    /// What follows the tapes of children.
    when_out: End,
    coverage: Coverage,
    rotation: Rotation,
    /// The tape of each testcase.
    tapes: Vec<Arc<[u8]>>,
    /// How much of a tape each testcase asks for, in bytes.
    sizes: Vec<u32>,
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

/// What Zest runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The user's seeds, from this one on.
    Seeds(usize),
    /// Inputs from nothing.
    Fresh {
        /// Seed of them all.
        seed: u64,
        /// Which of them is next.
        first: u64,
    },
    /// Children.
    Visit {
        /// Of whom.
        parent: TestcaseId,
        /// Seed of all children of the visit.
        seed: u64,
        /// Which of them is next.
        first: u64,
    },
}

impl Zest {
    pub(super) fn new(
        settings: &Settings,
        is_paper: bool,
        saves_count: bool,
        energy: Energy,
    ) -> Zest {
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
            steals: settings.is_on(STEAL.name),
            reading: reading(settings),
            when_out: End::Extends,
            coverage: Coverage::default(),
            rotation: Rotation::new(favour, energy),
            tapes: Vec::new(),
            sizes: Vec::new(),
            seeds: 0,
            fresh: 0,
            seed: None,
            flight: Flight::Seeds,
            responsibilities: Vec::new(),
        }
    }

    fn with_end(mut self, settings: &Settings) -> Zest {
        self.when_out = [End::Extends, End::Stops][settings.number(WHEN_OUT.name) as usize];
        self
    }

    /// What is run next, and how much of it at most.
    pub(super) fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> (Next, u32) {
        let seeds = view.seeds.len() - self.seeds as usize;
        if seeds > 0 {
            self.flight = Flight::Seeds;
            return (Next::Seeds(self.seeds as usize), seeds as u32);
        }
        if self.rotation.is_empty() {
            self.flight = Flight::Fresh;
            let seed = *self.seed.get_or_insert_with(|| rng.word());
            let first = self.fresh;
            return (Next::Fresh { seed, first }, u32::MAX);
        }
        self.flight = Flight::Visit;
        let covered = self.coverage.covered();
        let is_first = self.rotation.children() == 0;
        if self.rotation.turn(covered) || is_first {
            self.seed = Some(rng.word());
        }
        let visit = Next::Visit {
            parent: self.rotation.parent(),
            seed: self.seed.expect("a visit begins with one"),
            first: u64::from(self.rotation.children()),
        };
        (visit, self.rotation.left(covered))
    }

    /// Counts what a child cost.
    fn spend(&mut self, judged: &Judged<'_>) {
        if self.flight == Flight::Visit {
            self.rotation.spend(judged.outcome.fuel);
        }
    }

    /// The queue.
    pub(super) fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    /// What bytes mean.
    pub(super) fn reading(&self) -> Reading {
        self.reading
    }

    /// Puts an input that was just saved into the queue.
    pub(super) fn enqueue(&mut self, id: TestcaseId, judged: &Judged<'_>) {
        let non_zero = judged.detail.counts.len() as u32;
        let probes = std::mem::take(&mut self.responsibilities);
        self.rotation.add(id, non_zero, &probes);
        self.sizes
            .push(judged.detail.choices.as_deref().map_or(0, tape_bytes));
    }
}

/// The user's seeds from one on, no more than there is room for.
pub(super) fn seeds(view: &View<'_>, from: usize, room: u32, reading: Reading) -> ChoicePlan {
    let tapes = view.seeds[from..].iter().take(room as usize);
    ChoicePlan::Seeds {
        tapes: tapes.cloned().collect(),
        reading,
    }
}

impl Guidance for Zest {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        let reading = self.reading;
        let (next, most) = self.next(view, rng);
        let trials = most.min(room);
        let (plan, parent) = match next {
            Next::Seeds(from) => (seeds(view, from, trials, reading), None),
            Next::Fresh { seed, first } => (
                ChoicePlan::Fresh {
                    seed,
                    first,
                    reading,
                },
                None,
            ),
            Next::Visit {
                parent,
                seed,
                first,
            } => (
                ChoicePlan::Zest {
                    parent: self.tapes[parent.index()].clone(),
                    seed,
                    first,
                    count: if self.is_paper {
                        MutationCount::Four
                    } else {
                        MutationCount::Eight
                    },
                    end: self.when_out,
                    reading,
                },
                Some(parent),
            ),
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

    fn found(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.spend(judged);
        Judgement::Discard
    }

    fn judge(&mut self, _: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.spend(judged);
        let is_valid = judged.outcome.exit.status() == Status::Valid;
        if self.valid_only && !is_valid {
            // As if it had not run: JQF does not count it as coverage either.
            return Judgement::Discard;
        }
        let added = self.coverage.add(&judged.detail.counts, is_valid);
        self.responsibilities = added.responsibilities;
        let reason = match () {
            () if added.coverage => Reason::Edge,
            () if added.valid && self.saves_valid => Reason::ValidEdge,
            () if added.count && self.saves_count => Reason::Count,
            () => return Judgement::Discard,
        };
        if let Some(choices) = judged.detail.choices.as_deref().filter(|_| self.steals) {
            let size = tape_bytes(choices);
            let is_smaller = |id: TestcaseId| size < self.sizes[id.index()];
            let stolen = (self.rotation).superseded(&judged.detail.counts, is_smaller);
            self.responsibilities.extend(stolen);
            self.responsibilities.sort_unstable();
            self.responsibilities.dedup();
        }
        Judgement::Keep(match self.flight {
            Flight::Seeds => Reason::Seed,
            Flight::Fresh | Flight::Visit => reason,
        })
    }

    fn import(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        // As seeds are: nobody's child, so nobody's energy.
        self.flight = Flight::Seeds;
        self.judge(view, judged)
    }

    fn kept(&mut self, _: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        let choices = judged.detail.choices.as_deref();
        let mut tape = choices.map_or(Vec::new(), |choices| {
            tape_of(choices, self.reading, |_| true)
        });
        if tape.is_empty() {
            // As JQF: an input keeps one byte, whether it was asked for or not.
            tape.push(0);
        }
        self.tapes.push(tape.into());
        self.enqueue(id, judged);
    }

    fn end_batch(&mut self, _: &View<'_>) {
        // Only then is everything that is new also saved.
        if self.saves_valid {
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
        assert_eq!(valid, [None, None, EDGE, COUNT, COUNT, EDGE]);
        let counts = reasons(&SPEC, &[("valid", "off")], &TRIALS);
        assert_eq!(counts, [EDGE, COUNT, None, None, COUNT, EDGE]);
    }
}
