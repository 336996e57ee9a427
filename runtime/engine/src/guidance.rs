//! Guidances: what decides which inputs to try next.
//!
//! A guidance plans groups of trials, and learns from judged outcomes and nowhere else. Adding one
//! is a file below, a `mod` line, a variant of [`Strategy`] if its state is of a new shape, and an
//! entry in [`ALL`]; the program, `list` and the conformance tests need nothing more.

pub mod afl;
pub mod bediv;
pub mod bigfuzz;
pub mod blind;
mod byte_loop;
mod climb;
pub mod codep;
mod comparisons;
pub mod cost;
pub mod depfuzz;
pub mod ei;
pub mod jazzer;
mod jqf;
pub mod perffuzz;
pub mod perun;
mod portfolio;
pub mod quickcheck;
pub mod random_rows;
pub mod rlcheck;
mod row_loop;
pub mod sandglass;
pub mod sandglass_choices;
#[cfg(test)]
mod script;
mod shortest;
pub mod slowfuzz;
pub mod spoton;
pub mod zest;
pub mod zeugma;

use serde::{Deserialize, Serialize};

pub use byte_loop::{ByteLoop, LoopConfig};

use crate::batch::{Group, Origin};
use crate::choice::jqf::TAPE_BYTES_MAX;
use crate::choice::typed::Targets;
use crate::corpus::{Corpus, Reason, TestcaseId};
use crate::dictionary::Token;
use crate::engine::Part;
use crate::feedback::{Interest, Novelty};
use crate::havoc::Tables;
use crate::rng::Rng;
use crate::settings::{Setting, Settings};
use crate::trial::{Detail, Outcome};

/// Bytes' worth of choices that guidances of our own allow in one trial.
const CHOICE_BYTES_MAX: u32 = 1 << 16;

/// What a guidance's inputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Bytes for the target.
    Bytes,
    /// Choices for a generator.
    Choices,
}

/// Which inputs that others have found a guidance takes while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imports {
    /// None.
    None,
    /// Those that show new coverage: what is known to show none need not be run.
    News,
    /// Those, and others that cost more or are smaller: all must be run.
    All,
}

/// A guidance, for lists and for making one.
#[derive(Debug)]
pub struct Spec {
    /// As the user types it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it was published, if it was.
    pub paper: Option<&'static str>,
    /// What it proposes.
    pub input: InputKind,
    /// Whether it looks at coverage. If not, targets need no counters, and nobody learns what was
    /// covered.
    pub coverage: bool,
    /// Whether it wants to know where in the generator each draw happens.
    pub paths: bool,
    /// Whether it wants to know which types influence the target's branches.
    pub targets: bool,
    /// Whether generators may draw the target's own strings.
    pub strings: bool,
    /// Whether it wants to know which probes belong to one decision.
    pub decisions: bool,
    /// Which inputs that others have found it takes after its start ([`Guidance::import`]).
    pub imports: Imports,
    /// Trials in a batch: what it learns from them, it learns after the last one. Part of what the
    /// guidance is, never of the workers.
    pub batch: u32,
    /// Trials planned at once: the batch, or more where the guidance learns after each trial but can
    /// tell what it is likely to run next. See [`Guidance::begin`]. Changes no result.
    pub lookahead: u32,
    /// What the user can set.
    pub settings: &'static [Setting],
    /// Makes one.
    pub new: fn(&Settings) -> Strategy,
}

impl Spec {
    /// How much a generator may draw in one trial unless the user says otherwise, in bytes of JQF's
    /// encoding: what the papers had for what was published, and enough for large inputs for ours.
    pub fn choice_bytes_max(&self) -> u32 {
        match self.paper {
            Some(_) => TAPE_BYTES_MAX,
            None => CHOICE_BYTES_MAX,
        }
    }
}

/// All guidances; the first that takes what the target takes is the default.
pub const ALL: &[&Spec] = &[
    &sandglass::SPEC,
    &afl::SPEC,
    &blind::SPEC,
    &perun::SPEC,
    &perffuzz::SPEC,
    &slowfuzz::SPEC,
    &cost::SPEC,
    &codep::SPEC,
    &depfuzz::SPEC,
    &bigfuzz::SPEC,
    &jazzer::SPEC,
    &random_rows::SPEC,
    &sandglass_choices::SPEC,
    &zest::SPEC,
    &zest::SPEC_PAPER,
    &zest::SPEC_STR,
    &zeugma::SPEC,
    &ei::SPEC,
    &spoton::SPEC,
    &bediv::SPEC_SIMPLE,
    &bediv::SPEC_STRUCTURE,
    &rlcheck::SPEC,
    &rlcheck::SPEC_GREYBOX,
    &quickcheck::SPEC,
    &quickcheck::SPEC_PLAIN,
];

/// The guidance of this name.
pub fn find(name: &str) -> Option<&'static Spec> {
    ALL.iter().copied().find(|spec| spec.name == name)
}

/// What a guidance may look at.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The corpus as it is now.
    pub corpus: &'a Corpus,
    /// What has been seen by now.
    pub interest: &'a Interest,
    /// The user's seeds, none longer than the limit.
    pub seeds: &'a [std::sync::Arc<[u8]>],
    /// Tokens given at the start.
    pub tokens: &'a [Token],
    /// What the target multiplies by.
    pub multipliers: &'a [u8],
    /// The limit of inputs.
    pub input_bytes_max: u32,
    /// Trials judged so far.
    pub trials: u64,
    /// Their fuel.
    pub fuel: u64,
    /// What is known of the target beforehand, if the guidance wants that.
    pub targets: &'a Targets,
    /// Which part of the work is this campaign's: all of it if it is alone, or does not divide it.
    pub part: Part,
    /// Whether a target can be given texts in place of what a generator makes.
    pub takes_texts: bool,
}

/// What a trial showed beyond what had been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Beyond all runs.
    pub all: Novelty,
    /// Beyond valid runs; nothing unless this run was valid.
    pub valid: Novelty,
}

impl News {
    /// What guidances that never mutate keep, for reports: new coverage, or new valid coverage.
    fn judgement(&self) -> Judgement {
        match () {
            () if self.all.edges > 0 => Judgement::Keep(Reason::Edge),
            () if self.valid.edges > 0 => Judgement::Keep(Reason::ValidEdge),
            () => Judgement::Discard,
        }
    }
}

/// A trial that is to be judged: one with detail.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The group that it belonged to.
    pub group: &'a Group,
    /// Its index in the group.
    pub nth: u32,
    /// How it ended.
    pub outcome: &'a Outcome,
    /// What it did.
    pub detail: &'a Detail,
    /// What was new. Nothing for variants other than the fast one, unless it is a text: those are not run again to be believed.
    pub news: News,
    /// Who wanted it.
    pub(crate) origin: Origin,
}

impl Judged<'_> {
    /// Whether the guidance did not plan it: it is a seed of the user's, or somebody else found it.
    pub fn is_import(&self) -> bool {
        self.origin != Origin::Guidance
    }

    /// Whether its input is a text: one that no generator made, in a campaign with a generator.
    pub fn is_of_text(&self) -> bool {
        let choices = self.detail.choices.as_deref();
        choices.is_some_and(|choices| choices.text().is_some())
    }
}

/// What becomes of a trial's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It enters the corpus.
    Keep(Reason),
    /// It takes the place of a testcase that it is a trimmed form of.
    Replace(TestcaseId),
    /// Nothing.
    Discard,
}

/// What one way of making children has led to in a campaign, for reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorRecord {
    /// The operator or rule, as its guidance calls it.
    pub name: String,
    /// Children that were run.
    pub trials: u64,
    /// Those of them that the guidance was looking for.
    pub finds: u64,
}

/// How an input was made, for reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeBy {
    /// Which testcase it was made from.
    pub parent: TestcaseId,
    /// The operator or rule, as its guidance calls it.
    pub rule: String,
    /// Of how many places that the guidance compared so many are degradations; of what broke none were.
    pub degraded: [u32; 2],
}

/// Decides what to run, and learns from what came of it.
pub trait Guidance {
    /// How the input of a trial that has just been judged was made, if the guidance can tell.
    fn made_by(&self, _: &Judged<'_>) -> Option<MadeBy> {
        None
    }

    /// Plans at least one and at most `room` trials, appending their groups.
    fn plan(&mut self, view: &View<'_>, rng: &mut Rng, room: u32, groups: &mut Vec<Group>);

    /// Whether the next trial of the batch, in order, is one that the guidance would have run after
    /// having judged those before it. If not, it and the rest of the batch are thrown away, as if
    /// they had never been planned. Called for every trial, whatever came of it.
    fn begin(&mut self, _view: &View<'_>, _group: &Group, _nth: u32) -> bool {
        true
    }

    /// Looks at a finding, before the trials behind it are judged; it may enter the corpus.
    fn found(&mut self, _view: &View<'_>, _judged: &Judged<'_>) -> Judgement {
        Judgement::Discard
    }

    /// Judges one trial. Called in the order of the batch; boring trials and findings are left out.
    fn judge(&mut self, view: &View<'_>, judged: &Judged<'_>) -> Judgement;

    /// Learns that the trial just judged entered the corpus as, or replaced, this testcase.
    fn kept(&mut self, _view: &View<'_>, _id: TestcaseId, _judged: &Judged<'_>) {}

    /// Judges an input that somebody else has found, run in a batch of its own, in place of [`Guidance::judge`];
    /// for a finding nothing is called. Only what shows something new should be kept, for whatever reason: the
    /// engine gives [`Reason::Imported`]. Called only where [`Spec::imports`] is not [`Imports::None`].
    fn import(&mut self, _view: &View<'_>, _judged: &Judged<'_>) -> Judgement {
        Judgement::Discard
    }

    /// Learns that an import entered the corpus as, or replaced, this testcase.
    fn imported(&mut self, view: &View<'_>, id: TestcaseId, judged: &Judged<'_>) {
        self.kept(view, id, judged);
    }

    /// Learns that all trials of the batch have been judged.
    fn end_batch(&mut self, _view: &View<'_>) {}

    /// Testcases that the guidance will not look up again, each told once, after a batch. Those that were kept for their size
    /// alone ([`Reason::Smaller`]) leave the corpus then.
    fn superseded(&mut self) -> Vec<TestcaseId> {
        Vec::new()
    }

    /// What mutation of bytes reads, as of now.
    fn tables(&self, view: &View<'_>) -> Tables {
        Tables::new(&[], view.input_bytes_max)
    }

    /// Whether it knows what to do with an input that no generator made ([`ChoiceSequence::text`](crate::ChoiceSequence::text)):
    /// only then imports may be such.
    fn takes_texts(&self) -> bool {
        false
    }

    /// Whether generators may draw the target's own strings, if they were asked for ([`Spec::strings`]).
    fn draws_strings(&self) -> bool {
        true
    }

    /// Whether runs that take far longer than others are cut short where hangs are many (`engine/hurry.rs`).
    fn hurries(&self) -> bool {
        false
    }

    /// Changes whenever `tables` would.
    fn tables_version(&self, _view: &View<'_>) -> u64 {
        0
    }
}

/// Every state that a guidance can have. Checkpoints hold this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// The loop of the byte guidances.
    Bytes(Box<ByteLoop>),
    /// Zest and its variants.
    Zest(Box<zest::Zest>),
    /// BeDivFuzz and its variant.
    Bediv(Box<bediv::Bediv>),
    /// Execution indexing.
    Ei(Box<ei::Ei>),
    /// SpotOn.
    Spoton(Box<spoton::Spoton>),
    /// Zeugma and its other crossovers.
    Zeugma(Box<zeugma::Zeugma>),
    /// RLCheck and its variant.
    Rlcheck(Box<rlcheck::Rlcheck>),
    /// Random choices.
    Quickcheck(Box<quickcheck::Quickcheck>),
    /// Ours for generators.
    Choices(Box<sandglass_choices::Choices>),
    /// Perun fuzz.
    Perun(Box<perun::Perun>),
    /// SlowFuzz.
    Slowfuzz(Box<slowfuzz::Slowfuzz>),
    /// Ours for cost.
    Cost(Box<cost::Cost>),
    /// Mutation of rows without a corpus: DepFuzz, BigFuzz, and their control.
    Rows(Box<row_loop::RowLoop>),
    /// Bytes as one data set.
    Jazzer(Box<jazzer::Jazzer>),
    /// Ours for data sets of rows.
    Codep(Box<codep::Codep>),
}

impl Strategy {
    /// What each operator has led to, in an order of the guidance; nothing if it does not count.
    pub fn operators(&self) -> Vec<OperatorRecord> {
        match self {
            Strategy::Choices(state) => state.operators(),
            Strategy::Perun(state) => state.operators(),
            Strategy::Cost(state) => state.operators(),
            _ => Vec::new(),
        }
    }

    /// As a guidance.
    pub fn guidance(&mut self) -> &mut dyn Guidance {
        match self {
            Strategy::Bytes(state) => &mut **state,
            Strategy::Zest(state) => &mut **state,
            Strategy::Bediv(state) => &mut **state,
            Strategy::Ei(state) => &mut **state,
            Strategy::Spoton(state) => &mut **state,
            Strategy::Zeugma(state) => &mut **state,
            Strategy::Rlcheck(state) => &mut **state,
            Strategy::Quickcheck(state) => &mut **state,
            Strategy::Choices(state) => &mut **state,
            Strategy::Perun(state) => &mut **state,
            Strategy::Slowfuzz(state) => &mut **state,
            Strategy::Cost(state) => &mut **state,
            Strategy::Rows(state) => &mut **state,
            Strategy::Jazzer(state) => &mut **state,
            Strategy::Codep(state) => &mut **state,
        }
    }
}
