//! Execution indexing: Zest on bytes that are found by where the generator asks for them.
//!
//! The `ExecutionIndexingGuidance` of JQF, with its constants since 2022: an input maps the execution
//! index of each request to a byte, so a change does not shift what follows it; and half of the
//! children get a part of another input that was read in the same context. What is saved, and for how
//! long an input is visited, is as in `zest`. How a child comes about is in
//! [`crate::choice::indexed`].
//!
//! A valid run with the hit counts of a saved input and fewer bytes takes its place. Inputs that are
//! spliced in are those that were favoured when the last round ended, and those saved since.
//!
//! Departures: as of `zest`; the map of prefixes that JQF's subtree splice leaves for bytes asked for
//! later is attached to the parent there and never read, so it is left out here; a user's seed, which
//! JQF cannot mutate, becomes an input like the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::jqf::rotation::Energy;
use super::quickcheck::OFF_BY_ONE;
use super::zest::{COUNT, Next, STEAL, STICKY, VALID, VALID_ONLY, Zest, seeds};
use super::{Guidance, Imports, InputKind, Judged, Judgement, Spec, Strategy, View};
use crate::batch::Group;
use crate::choice::ChoicePlan;
use crate::choice::indexed::{Donors, IndexedInput, Splice};
use crate::choice::jqf::tape_bytes;
use crate::corpus::TestcaseId;
use crate::feedback::{TraceId, raw_trace};
use crate::rng::Rng;
use crate::settings::{Setting, SettingKind, Settings};
use crate::trial::Status;

/// The guidance `ei`.
pub static SPEC: Spec = Spec {
    name: "ei",
    summary: "zest with bytes found by the place that asks for them, and splices between like places",
    paper: Some("JQF's execution indexing, as published with Li et al., The Havoc Paradox"),
    input: InputKind::Choices,
    coverage: true,
    paths: true,
    targets: false,
    strings: false,
    decisions: false,
    imports: Imports::News,
    batch: 1,
    lookahead: 128,
    settings: &[
        Setting {
            name: "splice",
            summary: "what is copied: a run of bytes, or what was read below a call",
            kind: SettingKind::OneOf {
                names: &["run", "subtree"],
            },
        },
        COUNT,
        VALID,
        VALID_ONLY,
        STICKY,
        STEAL,
        OFF_BY_ONE,
    ],
    new,
};

fn new(settings: &Settings) -> Strategy {
    Strategy::Ei(Box::new(Ei::new(settings)))
}

/// The state of execution indexing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ei {
    zest: Zest,
    splice: Splice,
    /// The input of each testcase.
    inputs: Vec<Arc<IndexedInput>>,
    donors: Arc<Donors>,
    /// Donors from the next plan on.
    saved: Vec<Arc<IndexedInput>>,
    /// The round that `donors` are of.
    cycle: u64,
    /// By hit counts: the saved input of a valid run.
    by_trace: BTreeMap<TraceId, TestcaseId>,
    /// Inputs that were made so far.
    made: u64,
    /// Whether what was planned is not what would be planned now.
    is_stale: bool,
    /// Trials since it last was.
    since: u64,
}

impl Ei {
    fn new(settings: &Settings) -> Ei {
        const SPLICES: [Splice; 2] = [Splice::Run, Splice::Subtree];
        Ei {
            zest: Zest::new(
                settings,
                false,
                settings.is_on(COUNT.name),
                Energy::Children,
            ),
            splice: SPLICES[settings.number("splice") as usize],
            inputs: Vec::new(),
            donors: Arc::default(),
            saved: Vec::new(),
            cycle: 0,
            by_trace: BTreeMap::new(),
            made: 0,
            is_stale: false,
            since: 0,
        }
    }

    /// The donors as of now.
    fn refresh_donors(&mut self) {
        let rotation = self.zest.rotation();
        if rotation.cycles() != self.cycle {
            self.cycle = rotation.cycles();
            self.saved.clear();
            let all = self.inputs.iter().zip(0..);
            let favoured = all.filter(|&(_, id)| rotation.is_favoured(TestcaseId(id)));
            let inputs: Vec<_> = favoured.map(|(input, _)| Arc::clone(input)).collect();
            self.donors = Arc::new(Donors::from(inputs));
        } else if !self.saved.is_empty() {
            // Nearly always in place: a batch is gone when the next one is planned.
            let donors = Arc::make_mut(&mut self.donors);
            self.saved.drain(..).for_each(|input| donors.add(input));
        }
    }
}

impl Guidance for Ei {
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>) {
        let reading = self.zest.reading();
        let (next, most) = self.zest.next(view, rng);
        if std::mem::take(&mut self.is_stale) {
            self.since = 0;
        }
        self.refresh_donors();
        // What lies behind the next change is run for nothing. The longer there was none, the
        // further off the next one is: as in `zeugma`.
        let ahead = (self.since / 4 + 1).min(u64::from(room)) as u32;
        let trials = most.min(ahead);
        let children = |parent, seed, first| ChoicePlan::Indexed {
            parent,
            donors: Arc::clone(&self.donors),
            splice: self.splice,
            seed,
            first,
            reading,
        };
        let (plan, parent) = match next {
            Next::Seeds(from) => (seeds(view, from, trials, reading), None),
            Next::Fresh { seed, first } => {
                (children(Arc::new(IndexedInput::empty()), seed, first), None)
            }
            Next::Visit {
                parent,
                seed,
                first,
            } => {
                let input = Arc::clone(&self.inputs[parent.index()]);
                (children(input, seed, first), Some(parent))
            }
        };
        groups.push(Group {
            wants_paths: true,
            ..Group::of_choices(plan, trials, parent)
        });
    }

    fn begin(&mut self, view: &View<'_>, group: &Group, nth: u32) -> bool {
        let goes_on = !self.is_stale && self.zest.begin(view, group, nth);
        self.since += u64::from(goes_on);
        goes_on
    }

    fn found(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.zest.found(view, judged)
    }

    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        let judgement = self.zest.judge(view, judged);
        let is_valid = judged.outcome.exit.status() == Status::Valid;
        let Some(choices) = judged.detail.choices.as_deref().filter(|_| is_valid) else {
            return judgement;
        };
        let trace = raw_trace(&judged.detail.counts);
        match (judgement, self.by_trace.get(&trace)) {
            (Judgement::Discard, Some(&id)) => {
                let bytes = tape_bytes(choices) as usize;
                if bytes < self.inputs[id.index()].len() {
                    return Judgement::Replace(id);
                }
                Judgement::Discard
            }
            (judgement, _) => judgement,
        }
    }

    fn import(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement {
        self.zest.import(view, judged)
    }

    fn kept(&mut self, _: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        let input = match judged.detail.choices.as_deref() {
            Some(choices) => IndexedInput::new(self.made, choices, self.zest.reading()),
            None => IndexedInput::empty(),
        };
        self.made += 1;
        let input = Arc::new(input);
        if let Some(replaced) = self.inputs.get_mut(id.index()) {
            // Hit counts are the same, so what it is responsible for stays.
            *replaced = input;
            self.is_stale |= self.zest.rotation().parent() == id;
            return;
        }
        if judged.outcome.exit.status() == Status::Valid {
            let trace = raw_trace(&judged.detail.counts);
            self.by_trace.insert(trace, id);
        }
        self.inputs.push(Arc::clone(&input));
        self.saved.push(input);
        self.is_stale = true;
        self.zest.enqueue(id, judged);
    }

    fn end_batch(&mut self, view: &View<'_>) {
        self.zest.end_batch(view);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::ChoiceSequence;
    use crate::guidance::script::Script;
    use crate::trial::Exit;

    fn ei() -> Ei {
        let settings = Settings::new(SPEC.settings, &BTreeMap::new()).expect("they are defaults");
        match (SPEC.new)(&settings) {
            Strategy::Ei(ei) => *ei,
            other => panic!("{other:?}"),
        }
    }

    /// How a run ends, how many bytes it drew, and what it covers.
    type Run<'a> = (Exit, usize, &'a [(u32, u32)]);

    fn choices(bytes: usize) -> ChoiceSequence {
        ChoiceSequence::of_bytes(&vec![1; bytes], &[])
    }

    /// Lengths of the inputs and of the donors after runs that end so, have so many bytes, and cover
    /// these probes.
    fn after(runs: &[Run<'_>]) -> (Vec<usize>, Vec<usize>) {
        let (mut ei, mut script) = (ei(), Script::new());
        for &(exit, bytes, counts) in runs {
            script.trial(&mut ei, exit, Some(choices(bytes)), counts);
        }
        ei.refresh_donors();
        let lengths =
            |inputs: &[Arc<IndexedInput>]| inputs.iter().map(|input| input.len()).collect();
        let donors = Vec::from((*ei.donors).clone());
        (lengths(&ei.inputs), lengths(&donors))
    }

    /// Conformance item 10: a valid run that was not saved takes the place of a saved one that has the
    /// same hit counts and more bytes. Who gives to splices gives what it had when it was saved.
    #[test]
    fn a_smaller_input_takes_the_place_of_a_saved_one() {
        const ONE: &[(u32, u32)] = &[(0, 1)];
        const TWO: &[(u32, u32)] = &[(0, 1), (1, 4)];
        let saved = [(Exit::Valid, 9, ONE), (Exit::Valid, 20, TWO)];
        assert_eq!(after(&saved), (vec![9, 20], vec![9, 20]));
        for (run, expected) in [
            ((Exit::Valid, 12, TWO), vec![9, 12]),
            ((Exit::Valid, 20, TWO), vec![9, 20]),
            ((Exit::Invalid, 12, TWO), vec![9, 20]),
            // Other counts, also of the same bucket.
            ((Exit::Valid, 3, &[(1, 4)][..]), vec![9, 20]),
            ((Exit::Valid, 3, &[(0, 1), (1, 5)][..]), vec![9, 20]),
        ] {
            let (inputs, donors) = after(&[saved[0], saved[1], run]);
            assert_eq!((inputs, donors), (expected, vec![9, 20]), "{run:?}");
        }
        // What an invalid run left is not replaced.
        let first = (Exit::Invalid, 9, ONE);
        assert_eq!(after(&[first, (Exit::Invalid, 3, ONE)]).0, [9]);
    }

    /// Conformance item 10: at the end of a round, donors are the inputs that are favoured then.
    #[test]
    fn donors_are_those_that_are_favoured() {
        let (mut ei, mut script) = (ei(), Script::new());
        let mut trial = |ei: &mut Ei, exit, bytes, counts: &[(u32, u32)]| {
            script.trial(ei, exit, Some(choices(bytes)), counts);
        };
        trial(&mut ei, Exit::Invalid, 5, &[(0, 1)]);
        // Takes all that the first was responsible for.
        trial(&mut ei, Exit::Valid, 6, &[(0, 1)]);
        let lengths = |ei: &Ei| {
            let donors = Vec::from((*ei.donors).clone());
            donors.iter().map(|input| input.len()).collect::<Vec<_>>()
        };
        ei.refresh_donors();
        assert_eq!(lengths(&ei), [5, 6]);
        while ei.zest.rotation().cycles() == 0 {
            trial(&mut ei, Exit::Invalid, 5, &[(0, 1)]);
        }
        ei.refresh_donors();
        assert_eq!(lengths(&ei), [6]);
    }
}
