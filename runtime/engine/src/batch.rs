//! A planned batch of trials, and how a worker builds the input of each.
//!
//! In: groups of trials, as a guidance planned them. Out: the bytes of trial `i`, as a pure function
//! of the batch and `i`, so that any worker can build any trial. A batch owns everything that
//! building needs; building allocates nothing once the worker's [`Scratch`] is warm.

use std::sync::Arc;

use crate::choice::replay::{After, Replay};
use crate::choice::strings::Strings;
use crate::choice::{ChoicePlan, ChoiceSequence, Drawing, Source};
use crate::corpus::TestcaseId;
use crate::feedback::Interest;
use crate::havoc::{self, Tables};
use crate::rng::{Rng, derive};
use crate::rows::Maker;
use crate::solve::Solution;
use crate::trial::{Exit, Outcome, Variant};
use crate::trim::Removals;

/// How the inputs of one group come about.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Each input as it stands, one trial each.
    Given(Vec<Arc<[u8]>>),
    /// Edits of one input, one trial each.
    Edited {
        /// What is edited.
        input: Arc<[u8]>,
        /// How.
        solutions: Vec<Solution>,
    },
    /// One input without one part of it, one trial for each part.
    Shortened(Removals),
    /// Mutants of one parent: child `n` of the group is `havoc(parent, derive(seed, first + n))`.
    Havoc {
        /// What is mutated.
        parent: Arc<[u8]>,
        /// Seed of the stage.
        seed: u64,
        /// Which child of the stage the group begins with.
        first: u64,
    },
    /// Data sets with rows mutated: child `n` of the group is `make(first + n)`.
    Rows {
        /// What makes them.
        maker: Arc<dyn Maker>,
        /// Seed of the group.
        seed: u64,
        /// Which child the group begins with.
        first: u64,
    },
    /// Uniformly random bytes of geometric-like length: the control.
    Random {
        /// Seed of the group.
        seed: u64,
    },
    /// Inputs for the target of a generator, in place of what that would make: see [`Batch::drawing`].
    Texts(Vec<Arc<[u8]>>),
    /// No bytes but answers for a generator or property: see [`Batch::drawing`].
    Choices(ChoicePlan),
}

impl Plan {
    /// Replaces `out` by the input of the plan's trial `nth`, before translation; `work` may hold anything. Panics if there is no
    /// such trial, or if it has draws in place of bytes.
    #[inline]
    pub(crate) fn build(&self, nth: usize, tables: &Tables, work: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self {
            Plan::Given(inputs) | Plan::Texts(inputs) => {
                out.clear();
                out.extend_from_slice(&inputs[nth]);
            }
            Plan::Edited { input, solutions } => solutions[nth].apply(input, out),
            Plan::Shortened(removals) => removals.build(nth, out),
            Plan::Havoc {
                parent,
                seed,
                first,
            } => {
                let mut rng = Rng::new(derive(*seed, first + nth as u64));
                havoc::havoc(parent, tables, &mut rng, work, out);
            }
            Plan::Rows { maker, seed, first } => {
                let child = first + nth as u64;
                let mut rng = Rng::new(derive(*seed, child));
                maker.make(child, &mut rng, tables.input_bytes_max() as usize, out);
            }
            Plan::Random { seed } => {
                let mut rng = Rng::new(derive(*seed, nth as u64));
                havoc::random(tables.input_bytes_max(), &mut rng, out);
            }
            Plan::Choices(_) => panic!("trial {nth} of a group has draws in place of bytes"),
        }
    }
}

/// Trials that share a plan, a variant and a purpose.
#[derive(Clone, Debug)]
pub struct Group {
    /// How their inputs come about.
    pub plan: Plan,
    /// How many trials.
    pub trials: u32,
    /// Which variant of the target they need.
    pub variant: Variant,
    /// Whether every outcome needs detail, whatever the worker's interest says.
    pub wants_detail: bool,
    /// Whether it matters where each draw happens; of no meaning for bytes.
    pub wants_paths: bool,
    /// The testcase that they descend from.
    pub parent: Option<TestcaseId>,
    /// The guidance's own mark, handed back when the outcomes are judged.
    pub purpose: u64,
}

impl Group {
    /// Whether its trials are texts, for which no generator is asked.
    pub fn is_of_texts(&self) -> bool {
        matches!(self.plan, Plan::Texts(_))
    }

    /// Whether its trials are what the user has to begin with.
    fn is_of_seeds(&self) -> bool {
        let is_given = matches!(
            self.plan,
            Plan::Given(_) | Plan::Choices(ChoicePlan::Seeds { .. })
        );
        is_given && self.parent.is_none()
    }

    /// Trials of a generator or property as the papers have them: every outcome with its detail.
    pub(crate) fn of_choices(plan: ChoicePlan, trials: u32, parent: Option<TestcaseId>) -> Group {
        Group {
            plan: Plan::Choices(plan),
            trials,
            variant: Variant::Fast,
            wants_detail: true,
            wants_paths: false,
            parent,
            purpose: 0,
        }
    }
}

impl Group {
    /// Inputs as they stand, one trial each, and every outcome with its detail: for guidances that look
    /// for more than new edges.
    pub(crate) fn given(inputs: Vec<Arc<[u8]>>, parent: Option<TestcaseId>, purpose: u64) -> Group {
        Group {
            trials: inputs.len() as u32,
            plan: Plan::Given(inputs),
            variant: Variant::Fast,
            wants_detail: true,
            wants_paths: false,
            parent,
            purpose,
        }
    }
}

/// What a worker keeps between trials so that building allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(crate) work: Vec<u8>,
    group: usize,
}

/// Who wants a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The guidance, which planned it.
    Guidance,
    /// The user, whose seeds these are.
    User,
    /// Other campaigns, which found these inputs; or nobody, as it is not to be judged.
    Elsewhere,
}

/// A batch of trials, planned as one and judged in order.
#[derive(Clone, Debug)]
pub struct Batch {
    groups: Vec<Group>,
    /// Where each group begins, and the end of the last.
    starts: Vec<u32>,
    tables: Arc<Tables>,
    interest: Arc<Interest>,
    first_trial: u64,
    has_draws: bool,
    choice_bytes_max: u32,
    origin: Origin,
    strings: Option<Strings>,
    fuel_max: Option<u64>,
}

impl Batch {
    pub(crate) fn new(
        groups: Vec<Group>,
        tables: Arc<Tables>,
        interest: Arc<Interest>,
        first_trial: u64,
        choice_bytes_max: u32,
    ) -> Batch {
        let mut starts = Vec::with_capacity(groups.len() + 1);
        let mut end = 0;
        starts.push(0);
        for group in &groups {
            end += group.trials;
            starts.push(end);
        }
        let draws = |group: &Group| matches!(group.plan, Plan::Choices(_) | Plan::Texts(_));
        Batch {
            has_draws: groups.iter().any(draws),
            groups,
            starts,
            tables,
            interest,
            first_trial,
            choice_bytes_max,
            origin: Origin::Guidance,
            strings: None,
            fuel_max: None,
        }
    }

    /// The same, whose generators may draw these strings.
    pub(crate) fn with_strings(self, strings: Option<Strings>) -> Batch {
        Batch { strings, ..self }
    }

    /// The same, whose targets may take less fuel than the user allows.
    pub(crate) fn with_fuel_max(self, fuel_max: Option<u64>) -> Batch {
        Batch { fuel_max, ..self }
    }

    /// What the target may take of fuel in each trial, if that is less than the user allows.
    #[inline]
    pub fn fuel_max(&self) -> Option<u64> {
        self.fuel_max
    }

    /// Whether a trial of this batch was stopped for [`Batch::fuel_max`]: then it is no finding. So is none that hangs here, as
    /// one whose counters wrapped says less than it took.
    #[inline]
    pub(crate) fn cuts_short(&self, outcome: &Outcome) -> bool {
        outcome.exit == Exit::Hang && self.fuel_max.is_some()
    }

    /// The same, for somebody else than a guidance.
    pub(crate) fn of(self, origin: Origin) -> Batch {
        Batch { origin, ..self }
    }

    /// Who wants it.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether some of its trials are what the user has to begin with.
    pub(crate) fn has_seeds(&self) -> bool {
        self.groups.iter().any(Group::is_of_seeds)
    }

    /// How many trials.
    pub fn len(&self) -> usize {
        self.starts[self.groups.len()] as usize
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index in the campaign of the batch's trial 0.
    pub fn first_trial(&self) -> u64 {
        self.first_trial
    }

    /// What is interesting to this batch's workers: the engine's knowledge when it planned.
    pub fn interest(&self) -> &Arc<Interest> {
        &self.interest
    }

    /// The limit of inputs: what a generator emits beyond it is no input.
    pub fn input_bytes_max(&self) -> usize {
        self.tables.input_bytes_max() as usize
    }

    /// How much a generator may draw, in bytes of JQF's encoding.
    pub fn choice_bytes_max(&self) -> u32 {
        self.choice_bytes_max
    }

    /// A group and the range of its trials. Panics if there is no such group.
    pub(crate) fn group(&self, at: usize) -> (std::ops::Range<usize>, &Group) {
        let range = self.starts[at] as usize..self.starts[at + 1] as usize;
        (range, &self.groups[at])
    }

    /// Which variant trial `i` needs. Panics if there is no such trial.
    pub fn variant(&self, i: usize) -> Variant {
        self.groups[self.group_of(i)].variant
    }

    /// Whether trial `i` needs detail whatever comes of it. Panics if there is no such trial.
    pub fn wants_detail(&self, i: usize) -> bool {
        self.groups[self.group_of(i)].wants_detail
    }

    /// The testcase that trial `i` descends from. Panics if there is no such trial.
    pub fn parent(&self, i: usize) -> Option<TestcaseId> {
        self.groups[self.group_of(i)].parent
    }

    /// Whether any trial is given choices in place of bytes.
    pub fn has_draws(&self) -> bool {
        self.has_draws
    }

    /// What answers the draws of trial `i`, or a text that needs no answers; nothing if the trial is given bytes, which
    /// [`Batch::build`] makes. Panics if there is no such trial.
    pub fn drawing(&self, i: usize) -> Option<Drawing> {
        let at = self.group_of(i);
        let group = &self.groups[at];
        match &group.plan {
            Plan::Choices(plan) => {
                let source = plan.source(i - self.starts[at] as usize);
                let tries = plan.tries(self.choice_bytes_max);
                // What was drawn before brings its strings along.
                let strings = self
                    .strings
                    .clone()
                    .filter(|_| !matches!(source, Source::Replay(_)));
                let drawing = Drawing::new(source, self.choice_bytes_max)
                    .with_tries(tries)
                    .with_strings(strings);
                Some(match group.wants_paths {
                    true => drawing.with_paths(),
                    false => drawing,
                })
            }
            Plan::Texts(texts) => {
                let text = texts[i - self.starts[at] as usize].to_vec();
                let choices = Arc::new(ChoiceSequence::of_text(text));
                let source = Source::Replay(Replay::new(choices, After::Stops));
                Some(Drawing::new(source, self.choice_bytes_max))
            }
            Plan::Given(_)
            | Plan::Edited { .. }
            | Plan::Shortened(_)
            | Plan::Havoc { .. }
            | Plan::Rows { .. }
            | Plan::Random { .. } => None,
        }
    }

    /// Replaces `out` by the input of trial `i`, be it a text. Panics if there is no such trial, or if it has
    /// draws in place of bytes.
    #[inline]
    pub fn build(&self, i: usize, scratch: &mut Scratch, out: &mut Vec<u8>) {
        let mut at = scratch.group;
        let fits = |at: usize| {
            at < self.groups.len()
                && (self.starts[at] as usize..self.starts[at + 1] as usize).contains(&i)
        };
        if !fits(at) {
            at = self.group_of(i);
            scratch.group = at;
        }
        let nth = i - self.starts[at] as usize;
        (self.groups[at].plan).build(nth, &self.tables, &mut scratch.work, out);
        self.tables.translate(out);
    }

    fn group_of(&self, i: usize) -> usize {
        assert!(i < self.len(), "trial {i} of a batch of {}", self.len());
        // An empty group starts where the next one does, so the last start not above `i` is right.
        self.starts.partition_point(|&start| start as usize <= i) - 1
    }
}
