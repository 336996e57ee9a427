//! The engine: plans batches, judges them in order, and remembers.
//!
//! In: a configuration, and the outcomes of the trials it planned. Out: batches, decisions, and a
//! state that can be written down and resumed. Everything is a function of the configuration and
//! the outcomes; it does not know who executed the trials, how many there were at once, or when.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::batch::{Batch, Group, Origin};
use crate::choice::strings::Strings;
use crate::choice::{ChoiceSequence, Packed};
use crate::corpus::{Corpus, Reason, Testcase, TestcaseId};
use crate::digest;
use crate::feedback::{Diversity, Interest};
use crate::finding::{FindingKey, FindingKind, FindingRecord, Findings, SlowFindings, SlowNews};
use crate::guidance::{
    InputKind, Judged, Judgement, MadeBy, News, OperatorRecord, Spec, Strategy, View,
};
use crate::havoc::Tables;
use crate::rng::Rng;
use crate::settings::{SettingError, Settings};
use crate::trial::{Detail, Exit, Outcome, StackKey, Status, Variant};

mod config;
mod decision;
mod hurry;
mod import;
mod rerun;
mod seeds;
mod share;
mod stats;

pub use config::Config;
pub use decision::Decision;
pub use seeds::{Seed, takes_texts};
pub use stats::Stats;

pub(crate) use hurry::HURRY;
use hurry::Hurry;
use rerun::Noted;
pub use rerun::{RERUN_EVERY, Reruns};
pub use share::{Part, SHARE, shares};

/// Why a state cannot be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeError {
    /// The settings are wrong.
    Setting(SettingError),
    /// The state is of another campaign.
    Other {
        /// What differs.
        what: &'static str,
        /// As the state has it.
        found: String,
        /// As the configuration has it.
        expected: String,
    },
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeError::Setting(error) => error.fmt(f),
            ResumeError::Other {
                what,
                found,
                expected,
            } => {
                write!(
                    f,
                    "the campaign was begun with {what} {found}, expected {expected}"
                )
            }
        }
    }
}

impl std::error::Error for ResumeError {}

/// Raised with every change of what [`State`] holds, or of what a campaign does: then a campaign that
/// was begun before cannot go on as it would have.
pub const STATE_VERSION: u32 = 21;

/// Everything that a campaign has learnt, to be written down between batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    guidance: String,
    seed: u64,
    stats: Stats,
    rng: Rng,
    corpus: Corpus,
    /// Testcases that leave with the next batch.
    superseded: Vec<TestcaseId>,
    findings: Findings,
    slow: SlowFindings,
    interest: Arc<Interest>,
    /// Only of guidances that make choices: every trial has detail then, but for texts, which are left out.
    diversity: Option<Diversity>,
    strategy: Strategy,
    /// How many of the seeds that are choices have been planned.
    choices_planned: u32,
    hurry: Hurry,
}

/// One campaign's decisions.
#[derive(Clone, Debug)]
pub struct Engine {
    config: Config,
    seeds: Vec<Arc<[u8]>>,
    /// Seeds that are choices, or texts.
    seeds_of_choices: Vec<Arc<ChoiceSequence>>,
    tables: Option<(u64, Arc<Tables>)>,
    state: State,
    /// No part of the state: who resumes may be alone. See [`Engine::share`].
    part: Part,
    shares: bool,
    /// Empty between batches, for whoever asks for reruns.
    noted: Noted,
}

/// A batch that is being judged: how far, and what came of it.
#[derive(Debug)]
pub struct Judging<'a> {
    batch: &'a Batch,
    judged: usize,
    /// Group of the next trial.
    group: usize,
    is_over: bool,
    decisions: Vec<Decision>,
}

impl<'a> Judging<'a> {
    /// A batch of which nothing is judged.
    pub fn of(batch: &'a Batch) -> Judging<'a> {
        Judging {
            batch,
            judged: 0,
            group: 0,
            is_over: false,
            decisions: Vec::new(),
        }
    }

    /// How many trials are judged: the index of the next one.
    pub fn judged(&self) -> usize {
        self.judged
    }

    /// Whether further outcomes matter.
    pub fn wants_more(&self) -> bool {
        !self.is_over && self.judged < self.batch.len()
    }

    /// What came of the trials judged so far.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// What came of the trials judged, of a batch that cannot be ended.
    pub fn into_decisions(self) -> Vec<Decision> {
        self.decisions
    }

    /// The next trial's group, and its place there. Panics if all trials are judged.
    fn next(&mut self) -> (&'a Group, u32) {
        loop {
            let (range, group) = self.batch.group(self.group);
            if range.contains(&self.judged) {
                return (group, (self.judged - range.start) as u32);
            }
            self.group += 1;
        }
    }
}

/// What a guidance may look at, from the parts of an engine, so that the rest can be borrowed too.
macro_rules! view {
    ($engine:ident) => {
        View {
            corpus: &$engine.state.corpus,
            interest: &$engine.state.interest,
            seeds: &$engine.seeds,
            tokens: &$engine.config.tokens,
            multipliers: &$engine.config.multipliers,
            input_bytes_max: $engine.config.input_bytes_max,
            trials: $engine.state.stats.execs,
            fuel: $engine.state.stats.fuel_total,
            targets: &$engine.config.targets,
            part: $engine.part,
            takes_texts: $engine.config.takes_texts,
        }
    };
}

impl Engine {
    /// A new campaign.
    pub fn new(config: Config) -> Result<Engine, SettingError> {
        let settings = Settings::new(config.spec.settings, &config.settings)?;
        let state = State {
            guidance: config.spec.name.to_owned(),
            seed: config.seed,
            stats: Stats {
                edges_total: if config.spec.coverage {
                    config.probes
                } else {
                    0
                },
                batch: config.spec.batch,
                ..Stats::default()
            },
            rng: Rng::new(config.seed),
            corpus: Corpus::default(),
            superseded: Vec::new(),
            findings: Findings::default(),
            slow: SlowFindings::default(),
            interest: Arc::new(Interest::new(config.probes, config.slow_factor)),
            diversity: (config.spec.input == InputKind::Choices && config.spec.coverage)
                .then(Diversity::default),
            strategy: (config.spec.new)(&settings),
            choices_planned: 0,
            hurry: Hurry::default(),
        };
        Ok(Engine::with(config, state))
    }

    /// Continues a campaign from its state. The configuration must be the one it was begun with;
    /// guidance, seed and probes are checked here, the rest is the caller's to check.
    pub fn resume(config: Config, state: State) -> Result<Engine, ResumeError> {
        Settings::new(config.spec.settings, &config.settings).map_err(ResumeError::Setting)?;
        let same = [
            (
                "guidance",
                state.guidance.clone(),
                config.spec.name.to_owned(),
            ),
            ("seed", state.seed.to_string(), config.seed.to_string()),
            (
                "edge probes",
                state.interest.all.bits().len().to_string(),
                config.probes.to_string(),
            ),
        ];
        for (what, found, expected) in same {
            if found != expected {
                return Err(ResumeError::Other {
                    what,
                    found,
                    expected,
                });
            }
        }
        Ok(Engine::with(config, state))
    }

    fn with(mut config: Config, state: State) -> Engine {
        config.input_bytes_max = config.input_bytes_max.max(1);
        let max = config.input_bytes_max as usize;
        let shares = shares(config.spec, &config.settings);
        let (mut seeds, mut choices) = (Vec::new(), Vec::new());
        for seed in std::mem::take(&mut config.seeds) {
            match seed {
                Seed::Bytes(bytes) => seeds.push(Arc::from(&bytes[..bytes.len().min(max)])),
                Seed::Choices(some) => choices.push(some),
            }
        }
        let mut engine = Engine {
            config,
            seeds,
            seeds_of_choices: Vec::new(),
            tables: None,
            state,
            part: Part::ALL,
            shares,
            noted: Noted::default(),
        };
        choices.retain(|choices| engine.takes(choices));
        engine.seeds_of_choices = choices;
        engine
    }

    /// Plans the next batch: as many trials as the guidance looks ahead, or fewer if fewer are left
    /// or if the guidance must see these before it goes on. Never empty unless `trials_left` is 0.
    pub fn next_batch(&mut self, trials_left: u64) -> Batch {
        // Campaigns that meet look no further ahead together than one does by itself.
        let lookahead = (self.config.spec.lookahead / self.part.campaigns).max(1);
        let room = trials_left.min(u64::from(lookahead)) as u32;
        if let Some(batch) = self.next_seeds(room) {
            return batch;
        }
        let mut groups = Vec::new();
        let view = view!(self);
        let guidance = self.state.strategy.guidance();
        if room > 0 {
            guidance.plan(&view, &mut self.state.rng, room, &mut groups);
        }
        let batch = Batch::new(
            groups,
            self.tables(),
            self.state.interest.clone(),
            self.state.stats.execs,
            self.config.choice_bytes_max,
        )
        .with_strings(self.strings());
        let batch = match batch.has_seeds() {
            true => batch,
            false => batch.with_fuel_max(self.fuel_max()),
        };
        assert!(
            batch.len() <= room as usize,
            "a guidance planned {} trials of {room}",
            batch.len()
        );
        assert!(room == 0 || !batch.is_empty(), "a guidance planned nothing");
        batch
    }

    /// What a run may take, if the guidance is in a hurry.
    fn fuel_max(&mut self) -> Option<u64> {
        let hurries = self.state.strategy.guidance().hurries();
        let fuel_max = self.state.hurry.fuel_max(self.config.fuel_limit);
        fuel_max.filter(|_| hurries)
    }

    /// The target's own strings, if generators may draw them.
    fn strings(&mut self) -> Option<Strings> {
        let draws = self.state.strategy.guidance().draws_strings();
        self.config.targets.strings.clone().filter(|_| draws)
    }

    /// What mutation reads, as of now.
    fn tables(&mut self) -> Arc<Tables> {
        let view = view!(self);
        let guidance = self.state.strategy.guidance();
        let version = guidance.tables_version(&view);
        let tables = match &self.tables {
            Some((of, tables)) if *of == version => tables.clone(),
            _ => Arc::new(guidance.tables(&view)),
        };
        self.tables = Some((version, tables.clone()));
        tables
    }

    /// Judges a whole batch. `outcomes[i]` is what came of the batch's trial `i`.
    ///
    /// Panics as [`Engine::judge`] and [`Engine::end_batch`] do.
    pub fn finish_batch(&mut self, batch: &Batch, outcomes: Vec<Outcome>) -> Vec<Decision> {
        let mut judging = Judging::of(batch);
        self.judge(&mut judging, &outcomes);
        self.end_batch(judging)
    }

    /// Judges the next trials of a batch, in order. They may be judged while later ones still run,
    /// which are told nothing of what is learnt. Trials that the guidance does not want any
    /// more, after what it learnt from those before, do not count.
    ///
    /// Panics if this is not the batch last planned, or if it has fewer trials.
    pub fn judge(&mut self, judging: &mut Judging<'_>, outcomes: &[Outcome]) {
        let batch = judging.batch;
        assert_eq!(
            batch.first_trial(),
            self.state.stats.execs,
            "batches are judged in order, once"
        );
        for outcome in outcomes {
            if judging.is_over {
                return;
            }
            let (group, nth) = judging.next();
            let view = view!(self);
            let is_planned = batch.origin() == Origin::Guidance;
            if is_planned && !self.state.strategy.guidance().begin(&view, group, nth) {
                judging.is_over = true;
                return;
            }
            let index = judging.judged;
            let trial = batch.first_trial() + index as u64;
            judging.judged += 1;
            let known = judging.decisions.len();
            let is_cut_short = batch.cuts_short(outcome);
            self.count(outcome, is_cut_short);
            if let Some(detail) = &outcome.detail {
                let judged = Judged {
                    group,
                    nth,
                    outcome,
                    detail,
                    news: News::default(),
                    origin: batch.origin(),
                };
                match is_cut_short {
                    true => self.give_up(&judged, trial, &mut judging.decisions),
                    false => self.judge_one(judged, trial, &mut judging.decisions),
                }
            }
            if self.config.reruns {
                let news = &judging.decisions[known..];
                self.noted.note((trial, batch, index), outcome, news);
            }
        }
    }

    /// Ends a batch whose trials have been judged.
    ///
    /// Panics if the guidance wants more of them.
    pub fn end_batch(&mut self, mut judging: Judging<'_>) -> Vec<Decision> {
        assert!(!judging.wants_more(), "one outcome per trial");
        self.state.stats.execs += judging.judged as u64;
        let view = view!(self);
        self.state.strategy.guidance().end_batch(&view);
        self.drop_superseded(&mut judging.decisions);
        self.state.stats.edges = self.state.interest.all.edges();
        self.state.stats.valid_edges = self.state.interest.valid.edges();
        self.state.stats.corpus = self.state.corpus.len() as u32;
        self.state.stats.unique_findings = self.state.findings.len() as u64;
        judging.decisions
    }

    /// Testcases that were superseded in the batch before leave now: those of this one have still to be written down.
    fn drop_superseded(&mut self, decisions: &mut Vec<Decision>) {
        let superseded = self.state.strategy.guidance().superseded();
        let corpus = &mut self.state.corpus;
        let is_small = |id: &TestcaseId| corpus.get(*id).reason == Reason::Smaller;
        let superseded = superseded.into_iter().filter(is_small).collect();
        for id in std::mem::replace(&mut self.state.superseded, superseded) {
            let testcase = corpus.remove(id).expect("it is told once");
            let bytes = testcase.target_input().len() as u32;
            decisions.push(Decision::Dropped { id, bytes });
        }
    }

    fn count(&mut self, outcome: &Outcome, is_cut_short: bool) {
        let stats = &mut self.state.stats;
        if is_cut_short {
            stats.cut_short += 1;
        } else {
            self.state.hurry.learn(outcome);
        }
        stats.fuel_total = stats.fuel_total.saturating_add(outcome.fuel);
        stats.fuel_max = stats.fuel_max.max(outcome.fuel);
        if matches!(outcome.exit, Exit::Rejected | Exit::Overrun | Exit::NoInput) {
            stats.without_input += 1;
        }
        match outcome.exit.status() {
            _ if is_cut_short => stats.invalid += 1,
            Status::Overrun | Status::Invalid => stats.invalid += 1,
            Status::Valid => stats.valid += 1,
            Status::Interesting => stats.findings += 1,
        }
        let stage = usize::from(outcome.stage);
        if stage > stats.stages.len() {
            stats.stages.resize(stage, 0);
        }
        (stats.stages[..stage].iter_mut()).for_each(|reached| *reached += 1);
    }

    fn judge_one(&mut self, mut judged: Judged<'_>, trial: u64, decisions: &mut Vec<Decision>) {
        let outcome = judged.outcome;
        if let Some(kind) = FindingKind::of(outcome.exit) {
            if !self.is_known_hang(outcome) {
                let made_by = self.made_by(&judged);
                let found = (outcome, judged.detail);
                decisions.push(self.find(kind, found, made_by, (trial, judged.group.variant)));
            }
            self.give_up(&judged, trial, decisions);
            return;
        }
        // Without an input the target did not run.
        if let Some(diversity) = &mut self.state.diversity
            && !judged.detail.counts.is_empty()
            && !judged.is_of_text()
            // That is a member once more, without what its generator covers.
            && judged.group.variant != Variant::Dependence
        {
            let is_valid = outcome.exit.status() == Status::Valid;
            diversity.record(is_valid, &judged.detail.counts);
        }
        // Counts of other variants are right too, but their fuel need not be comparable.
        let variant = judged.group.variant;
        if self.is_slow(outcome, variant) {
            decisions.extend(self.slow(outcome, judged.detail, trial));
        }
        let is_text = judged.group.is_of_texts();
        if variant == Variant::Fast || is_text && !self.config.watches {
            judged.news = self.absorb(outcome.exit, judged.detail);
        }
        let view = view!(self);
        let guidance = self.state.strategy.guidance();
        let judgement = match judged.is_import() {
            false => guidance.judge(&view, &judged),
            true => guidance.import(&view, &judged),
        };
        self.carry_out(judgement, &judged, trial, decisions);
    }

    /// Tells the guidance that a trial did not end as others do.
    fn give_up(&mut self, judged: &Judged<'_>, trial: u64, decisions: &mut Vec<Decision>) {
        if judged.is_import() {
            return;
        }
        let view = view!(self);
        let judgement = self.state.strategy.guidance().found(&view, judged);
        self.carry_out(judgement, judged, trial, decisions);
    }

    /// How a trial's input was made, if the guidance can tell.
    fn made_by(&mut self, judged: &Judged<'_>) -> Option<MadeBy> {
        let guidance = self.state.strategy.guidance();
        (!judged.is_import()).then(|| guidance.made_by(judged))?
    }

    fn carry_out(
        &mut self,
        judgement: Judgement,
        judged: &Judged<'_>,
        trial: u64,
        decisions: &mut Vec<Decision>,
    ) {
        let (id, decision) = match judgement {
            Judgement::Discard => return,
            Judgement::Keep(reason) => self.keep(judged, reason, trial),
            Judgement::Replace(id) => self.replace(judged, id),
        };
        decisions.push(decision);
        let view = view!(self);
        let guidance = self.state.strategy.guidance();
        match judged.is_import() {
            true => guidance.imported(&view, id, judged),
            false => guidance.kept(&view, id, judged),
        }
    }

    fn find(
        &mut self,
        kind: FindingKind,
        (outcome, detail): (&Outcome, &Detail),
        made_by: Option<MadeBy>,
        (trial, variant): (u64, Variant),
    ) -> Decision {
        let stack = detail.stack.unwrap_or(StackKey(u64::from(outcome.site)));
        let key = FindingKey { kind, stack };
        let first = self.state.findings.add(key, || FindingRecord {
            exit: outcome.exit,
            site: outcome.site,
            trial,
            input_hash: *blake3::hash(detail.target_input()).as_bytes(),
            count: 0,
        });
        let findings = self.state.interest.findings_like(outcome.exit);
        if findings.is_new(outcome.exit, outcome.site)
            || findings.seen.novelty(&detail.counts).any()
        {
            let interest = Arc::make_mut(&mut self.state.interest);
            interest.absorb_finding(outcome.exit, outcome.site, &detail.counts);
        }
        Decision::Finding {
            key,
            first,
            exit: outcome.exit,
            site: outcome.site,
            fuel: outcome.fuel,
            variant,
            input: detail.target_input().to_vec(),
            choices: detail.choices.clone(),
            made_by,
            trial,
        }
    }

    /// Whether an outcome of a batch is a finding whose stack should be learnt, if it is the next to be judged. A hang that does
    /// nothing again and again that no other did is not run again for that, which would take longer than all that is done with
    /// hundreds of other trials; nor is what was cut short, which is no finding.
    #[inline]
    pub fn wants_stack(&self, batch: &Batch, outcome: &Outcome) -> bool {
        outcome.exit.is_finding()
            && outcome.detail.is_some()
            && !batch.cuts_short(outcome)
            && !self.is_known_hang(outcome)
    }

    fn is_known_hang(&self, outcome: &Outcome) -> bool {
        let counts = outcome.detail.as_ref().map(|detail| &detail.counts[..]);
        let is_known = |counts| self.state.interest.is_known_hang(outcome.site, counts);
        outcome.exit == Exit::Hang && counts.is_none_or(is_known)
    }

    /// Whether an outcome of this variant is a slow input, if it is the next to be judged. Then its detail
    /// should say which stack spent most.
    #[inline]
    pub fn is_slow(&self, outcome: &Outcome, variant: Variant) -> bool {
        variant == Variant::Fast
            && outcome.detail.is_some()
            && !outcome.exit.is_finding()
            && (self.state.interest.slow).is_slow(outcome.fuel, outcome.input_bytes)
    }

    fn slow(&mut self, outcome: &Outcome, detail: &Detail, trial: u64) -> Option<Decision> {
        let expected = (self.state.interest.slow).expected(outcome.input_bytes)?;
        let interest = Arc::make_mut(&mut self.state.interest);
        interest.slow.absorb(outcome.fuel, outcome.input_bytes);
        let stack = detail.stack.unwrap_or(StackKey(u64::from(outcome.site)));
        let cost = (outcome.fuel, outcome.input_bytes);
        let news = self.state.slow.add(stack, cost, trial);
        if news == SlowNews::None {
            return None;
        }
        let first = news == SlowNews::First;
        self.state.stats.slow_findings += u64::from(first);
        Some(Decision::Slow {
            stack,
            first,
            fuel: outcome.fuel,
            expected,
            input: detail.target_input().to_vec(),
            choices: detail.choices.clone(),
            trial,
        })
    }

    /// What is new, which is not new any more afterwards.
    fn absorb(&mut self, exit: Exit, detail: &Detail) -> News {
        let interest = &self.state.interest;
        let mut news = News {
            all: interest.all.novelty(&detail.counts),
            ..News::default()
        };
        if exit.status() == Status::Valid {
            news.valid = interest.valid.novelty(&detail.counts);
        }
        if news.all.any() || news.valid.any() {
            let interest = Arc::make_mut(&mut self.state.interest);
            interest.all.absorb(&detail.counts);
            if news.valid.any() {
                interest.valid.absorb(&detail.counts);
            }
        }
        news
    }

    fn keep(&mut self, judged: &Judged<'_>, reason: Reason, trial: u64) -> (TestcaseId, Decision) {
        let Judged {
            group,
            outcome,
            detail,
            ..
        } = *judged;
        let depth = group
            .parent
            .map_or(0, |parent| self.state.corpus.get(parent).depth);
        let told = match judged.origin {
            Origin::Guidance => reason,
            Origin::User => Reason::Seed,
            Origin::Elsewhere => Reason::Imported,
        };
        let id = self.state.corpus.add(Testcase {
            bytes: Arc::from(&detail.input[..]),
            made: detail.made.as_deref().map(Arc::from),
            choices: detail.choices.as_deref().map(Packed::new),
            fuel: outcome.fuel,
            edges: detail.counts.len() as u32,
            trace_hash: detail.trace_hash,
            valid: outcome.exit.status() == Status::Valid,
            depth: depth + 1,
            parent: group.parent,
            reason: told,
            trial,
        });
        // What was kept for its cost does not say what others of its size should cost.
        if !matches!(reason, Reason::Max | Reason::Slower) {
            let interest = Arc::make_mut(&mut self.state.interest);
            interest.slow.add(outcome.fuel, outcome.input_bytes);
        }
        let new_edges = judged.news.all.edges;
        (
            id,
            Decision::Kept {
                id,
                reason: told,
                new_edges,
                made_by: self.made_by(judged),
                trial,
            },
        )
    }

    fn replace(&mut self, judged: &Judged<'_>, id: TestcaseId) -> (TestcaseId, Decision) {
        let from_bytes = self.state.corpus.get(id).bytes.len() as u32;
        let fuel = judged.outcome.fuel;
        self.state.corpus.replace(id, judged.detail, fuel);
        (id, Decision::Trimmed { id, from_bytes })
    }

    /// What is interesting as of now. Workers should use [`Batch::interest`], which is what was when
    /// the batch was planned.
    pub fn interest(&self) -> Arc<Interest> {
        self.state.interest.clone()
    }

    /// Counts, as of the last batch judged.
    pub fn stats(&self) -> &Stats {
        &self.state.stats
    }

    /// How diverse the behaviour was; only of guidances that make choices.
    pub fn diversity(&self) -> Option<&Diversity> {
        self.state.diversity.as_ref()
    }

    /// The corpus.
    pub fn corpus(&self) -> &Corpus {
        &self.state.corpus
    }

    /// The findings.
    pub fn findings(&self) -> &Findings {
        &self.state.findings
    }

    /// The slow inputs.
    pub fn slow_findings(&self) -> &SlowFindings {
        &self.state.slow
    }

    /// What the guidance's ways of making children have led to.
    pub fn operators(&self) -> Vec<OperatorRecord> {
        self.state.strategy.operators()
    }

    /// The guidance.
    pub fn spec(&self) -> &'static Spec {
        self.config.spec
    }

    /// Everything learnt so far. Only meaningful between batches.
    pub fn checkpoint(&self) -> &State {
        &self.state
    }

    /// BLAKE3 of everything learnt so far, in hexadecimal: equal campaigns have equal hashes.
    pub fn state_hash(&self) -> String {
        digest::digest(&self.state)
    }
}
