//! The loop: plan a batch, run it, judge it, write down what came of it.
//!
//! In: an engine, workers, somebody who replays findings, a store, a budget.
//! Out: events, files, and a summary. The engine decides what to run and what
//! to keep; this loop decides only when to write and when to stop. Time may
//! choose *when* a checkpoint is written and when a session ends, never what a
//! campaign does, so that the same module, seed and number of executions give
//! the same folder.
//!
//! ```text
//! ┌▶ counted budget used up, interrupted, late? ──yes──▶ checkpoint, summary
//! │  checkpoint, if one is due
//! │  engine.next_batch ─▶ workers run it ─▶ findings replayed ─▶ engine.judge, meanwhile
//! │  engine.end_batch ─▶ decisions ─▶ findings and inputs on disk ─▶ events
//! └──┘
//! ```
//!
//! A budget of executions may cut the last batch short, and a longer campaign
//! would not. So the last checkpoint is written before the first batch that
//! might be cut: resuming repeats the rest, which is less than one batch, and a
//! campaign of 1,000 executions that goes on to 2,000 equals one of 2,000.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use sandglass_engine::choice::text::to_text;
use sandglass_engine::feedback::Diversity;
use sandglass_engine::{
    Batch, Config, Decision, Detail, Engine, Exit, Judging, Outcome, Scratch, State, TestcaseId,
};
use sandglass_instrument::symbols::Frame;

use crate::event::{
    Checkpoint, Counters, Ended, Event, Kept, Pulse, Resumed, Start, Summary, Trimmed, Warning,
};
use crate::report::Reporter;
use crate::stack;
use crate::store::record::Record;
use crate::store::{self, Store};

pub mod budget;
mod discovery;
mod files;
pub mod limits;
pub mod start;
pub mod workers;

use budget::{Budget, Clock};
use discovery::{Discovery, What};
use files::CorpusFiles;
use workers::{Pool, Ran, Stop};

/// Time between two checkpoints: what kill -9 costs at most.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(5);

/// After a batch that took longer, the next one is preceded by a checkpoint:
/// then giving it up loses nothing else.
const LONG_BATCH: Duration = Duration::from_millis(500);

/// Before a batch that follows one this slow, and near the end of the session, the engine is
/// copied, so that the part of it that is done in time can be judged: batches are given up when
/// they are [`workers::GRACE`] late. Copying takes milliseconds when the corpus is large.
const SLOW_BATCH: Duration = Duration::from_millis(workers::GRACE.as_millis() as u64 / 4);

/// Who finds out where a finding ended: replays it in a build that knows.
pub trait Replayer {
    /// The symbolised stack of a finding's end, innermost frame first; empty if
    /// it ended well after all.
    fn stack(&mut self, exit: Exit, detail: &Detail) -> Result<Vec<Frame>>;
}

/// What a session needs beside engine, store and workers.
pub struct Session<'a> {
    /// What the campaign is.
    pub record: &'a Record,
    /// What the engine was made from, to go back to a checkpoint.
    pub config: &'a Config,
    /// When to stop.
    pub budget: Budget,
    /// Who may stop us.
    pub stop: Stop,
    /// The session's clock.
    pub clock: Clock,
    /// Kind of the target's entry point.
    pub entry: &'static str,
    /// Number of threads, for the summary.
    pub workers: usize,
    /// Who sees findings' stacks.
    pub replayer: &'a mut dyn Replayer,
    /// Who is told.
    pub reporter: &'a mut dyn Reporter,
}

/// Runs a session to its end. `resumed` says whether `engine` comes from the
/// store's checkpoint.
///
/// Errs when the store cannot be written or a promise of ours did not hold;
/// the folder can be resumed then as after kill -9.
pub fn run(
    session: Session<'_>,
    engine: Engine,
    store: Store,
    pool: &mut Pool,
    resumed: bool,
) -> Result<Summary> {
    let now = Instant::now();
    let mut campaign = Campaign {
        files: CorpusFiles::of(&engine),
        last_new_exec: last_new_exec(&engine),
        session,
        engine,
        store,
        last_checkpoint: now,
        checkpoint_execs: None,
        last_pulse: now,
        pulse_execs: 0,
        is_tail: false,
    };
    campaign.begin(resumed)?;
    let ended = campaign.run_batches(pool)?;
    campaign.end(ended)
}

struct Campaign<'a> {
    session: Session<'a>,
    engine: Engine,
    store: Store,
    /// The testcases' files in `corpus/`.
    files: CorpusFiles,
    /// Executions when the corpus last grew.
    last_new_exec: u64,
    last_checkpoint: Instant,
    /// Executions at the last checkpoint of this session.
    checkpoint_execs: Option<u64>,
    last_pulse: Instant,
    pulse_execs: u64,
    /// Whether batches may be cut by the budget: no more checkpoints.
    is_tail: bool,
}

impl Campaign<'_> {
    fn begin(&mut self, resumed: bool) -> Result<()> {
        self.pulse_execs = self.engine.stats().execs;
        if resumed {
            let corpus = self.engine.corpus();
            self.store
                .restore_corpus(corpus.iter().map(|(_, testcase)| testcase))?;
            let event = Event::Resumed(Resumed {
                execs: self.engine.stats().execs,
                elapsed_ms: self.session.clock.elapsed_ms(),
            });
            self.emit(event);
            return Ok(());
        }
        let record = self.session.record;
        let event = Event::Start(Start {
            target: record.target.path.clone(),
            target_hash: record.target.hash.clone(),
            entry: self.session.entry.to_owned(),
            generator: record.generator.as_ref().map(|of| of.path.clone()),
            guidance: record.guidance.name.clone(),
            seed: record.guidance.seed,
            inputs: record.start.inputs,
            tokens: self.session.config.tokens.len() as u64,
            fuel_limit: record.limits.fuel,
            edges_total: u64::from(self.engine.stats().edges_total),
        });
        self.emit(event);
        self.checkpoint()
    }

    fn run_batches(&mut self, pool: &mut Pool) -> Result<Ended> {
        let mut last_batch = Duration::ZERO;
        loop {
            let execs = self.engine.stats().execs;
            if let Some(ended) = self.ended(execs) {
                return Ok(ended);
            }
            let trials_left = self.session.budget.trials_left(execs);
            self.checkpoint_if_due(trials_left, last_batch)?;
            let may_be_cut = execs == 0 || self.may_be_cut(last_batch);
            let before = may_be_cut.then(|| self.engine.clone());
            let began = Instant::now();
            if self.run_batch(pool, trials_left, before)? == Ran::Prefix {
                return Ok(match self.session.stop.is_interrupted() {
                    true => Ended::Interrupted,
                    false => Ended::Time,
                });
            }
            last_batch = began.elapsed();
            self.pulse_if_due();
        }
    }

    /// Plans a batch, has it run and judged, and writes down what came of it. `before` is the
    /// engine as it is now, if the session may end within the batch.
    fn run_batch(
        &mut self,
        pool: &mut Pool,
        trials_left: u64,
        before: Option<Engine>,
    ) -> Result<Ran> {
        let batch = Arc::new(self.engine.next_batch(trials_left));
        let mut judging = Judging::of(&batch);
        let mut stacks = Stacks::new();
        let mut seen = Vec::new();
        let (engine, replayer) = (&mut self.engine, &mut *self.session.replayer);
        let ran = pool.run(&batch, &mut |outcomes| {
            let first = batch.first_trial() + judging.judged() as u64;
            symbolise(replayer, first, outcomes, &mut stacks)?;
            engine.judge(&mut judging, outcomes);
            if before.is_some() {
                seen.append(outcomes);
            }
            Ok(match judging.wants_more() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        if ran == Ran::Prefix {
            self.give_up(before, &batch, seen, &stacks)?;
        } else {
            let decisions = self.engine.end_batch(judging);
            self.carry_out(decisions, &stacks)?;
        }
        Ok(ran)
    }

    /// May the next batch have to be given up? Ctrl-C can come at any time, but a batch of less
    /// than the grace period ends by itself.
    fn may_be_cut(&self, last_batch: Duration) -> bool {
        let is_last = || {
            let end = self.session.stop.deadline;
            end.is_some_and(|end| end < Instant::now() + 4 * last_batch)
        };
        last_batch >= workers::GRACE || (last_batch >= SLOW_BATCH && is_last())
    }

    fn ended(&self, execs: u64) -> Option<Ended> {
        let counted = self.session.budget.counted_end(execs, self.last_new_exec);
        counted.or_else(|| {
            if self.session.stop.is_interrupted() {
                Some(Ended::Interrupted)
            } else {
                self.session.stop.is_late().then_some(Ended::Time)
            }
        })
    }

    fn carry_out(&mut self, decisions: Vec<Decision>, stacks: &Stacks) -> Result<()> {
        for decision in decisions {
            self.apply(decision, stacks)?;
        }
        self.store.flush_events()
    }

    fn apply(&mut self, decision: Decision, stacks: &Stacks) -> Result<()> {
        match decision {
            Decision::Kept {
                id,
                reason,
                new_edges,
                trial,
            } => {
                self.last_new_exec = trial + 1;
                let testcase = self.engine.corpus().get(id);
                let bytes = testcase.target_input().len() as u64;
                let file = self.store.keep_testcase(testcase);
                self.files.add(id, file.clone());
                self.emit(Event::Kept(Kept {
                    id: id.0,
                    trial,
                    file,
                    bytes,
                    reason: reason.name().to_owned(),
                    new_edges: u64::from(new_edges),
                    elapsed_ms: self.session.clock.elapsed_ms(),
                }));
            }
            Decision::Trimmed { id, from_bytes } => self.trimmed(id, from_bytes)?,
            Decision::Finding { first: false, .. } => {}
            Decision::Finding {
                key,
                exit,
                site,
                fuel,
                input,
                choices,
                trial,
                ..
            } => {
                let choices = choices.map(|choices| to_text(&choices));
                let frames = stacks.get(&trial).cloned().unwrap_or_default();
                let what = What::Bug {
                    key,
                    exit,
                    site,
                    frames,
                };
                self.discover(Discovery {
                    input,
                    choices,
                    fuel,
                    trial,
                    what,
                })?;
            }
            Decision::Slow {
                fuel,
                expected,
                input,
                choices,
                trial,
            } => {
                let choices = choices.map(|choices| to_text(&choices));
                let what = What::Slow { expected };
                self.discover(Discovery {
                    input,
                    choices,
                    fuel,
                    trial,
                    what,
                })?;
            }
        }
        Ok(())
    }

    /// Writes a finding's folder, then tells about it: in this order, so that
    /// nobody hears of what is not there.
    fn discover(&mut self, discovery: Discovery) -> Result<()> {
        let elapsed_ms = self.session.clock.elapsed_ms();
        let (files, event) = discovery.into_parts(self.session.record, elapsed_ms);
        self.store
            .keep_finding(&files)
            .context("a finding could not be written")?;
        self.emit(event);
        Ok(())
    }

    /// A testcase got shorter: its file is replaced, unless another testcase
    /// has the same bytes.
    fn trimmed(&mut self, id: TestcaseId, from_bytes: u32) -> Result<()> {
        let testcase = self.engine.corpus().get(id);
        let (file, bytes) = (store::testcase_name(testcase), testcase.bytes.len());
        if self.files.name(id) == file {
            // Trimmed several times in one batch: the last form is kept.
            return Ok(());
        }
        self.store.keep_testcase(testcase);
        if let Some(unused) = self.files.replace(id, file.clone()) {
            self.store.drop_testcase(&unused)?;
        }
        self.emit(Event::Trimmed(Trimmed {
            id: id.0,
            file,
            bytes: bytes as u64,
            from_bytes: u64::from(from_bytes),
        }));
        Ok(())
    }

    fn checkpoint_if_due(&mut self, trials_left: u64, last_batch: Duration) -> Result<()> {
        if self.is_tail {
            return Ok(());
        }
        self.is_tail = trials_left < u64::from(self.engine.stats().batch);
        let is_due = self.last_checkpoint.elapsed() >= CHECKPOINT_EVERY || last_batch >= LONG_BATCH;
        if self.is_tail || is_due {
            self.checkpoint()
        } else {
            Ok(())
        }
    }

    fn checkpoint(&mut self) -> Result<()> {
        let execs = self.engine.stats().execs;
        if self.checkpoint_execs == Some(execs) {
            return Ok(());
        }
        let elapsed_ms = self.session.clock.elapsed_ms();
        self.store.checkpoint(
            self.session.record,
            execs,
            elapsed_ms,
            self.engine.checkpoint(),
        )?;
        self.last_checkpoint = Instant::now();
        self.checkpoint_execs = Some(execs);
        self.emit(Event::Checkpoint(Checkpoint { execs }));
        Ok(())
    }

    /// Ends a session inside a batch that takes too long. What is done of it
    /// counts: a campaign cut at that number of executions plans just those
    /// trials. Without a copy from before the batch, everything since the last
    /// checkpoint will be repeated, and the summary describes that one.
    fn give_up(
        &mut self,
        before: Option<Engine>,
        batch: &Batch,
        outcomes: Vec<Outcome>,
        stacks: &Stacks,
    ) -> Result<()> {
        self.is_tail = true;
        match before {
            Some(before) => self.judge_prefix(before, batch, outcomes, stacks),
            None => self.back_to_checkpoint(),
        }
    }

    fn judge_prefix(
        &mut self,
        before: Engine,
        batch: &Batch,
        mut outcomes: Vec<Outcome>,
        stacks: &Stacks,
    ) -> Result<()> {
        self.engine = before.clone();
        let cut = self.engine.next_batch(outcomes.len() as u64);
        if is_prefix(&cut, batch) {
            outcomes.truncate(cut.len());
            let decisions = self.engine.finish_batch(&cut, outcomes);
            self.carry_out(decisions, stacks)
        } else {
            // A guidance that plans otherwise when it has less room: then the
            // batch counts for nothing.
            self.engine = before;
            Ok(())
        }
    }

    fn back_to_checkpoint(&mut self) -> Result<()> {
        let execs = self.engine.stats().execs;
        let (header, state) = self
            .store
            .back_to_checkpoint::<State>(self.session.record)?
            .expect("a session begins with a checkpoint");
        self.engine = Engine::resume(self.session.config.clone(), state)?;
        self.emit(Event::Warning(Warning {
            text: format!(
                "gave up a batch that takes too long; the {} executions since the last checkpoint will be repeated",
                execs - header.execs
            ),
        }));
        Ok(())
    }

    fn end(mut self, ended: Ended) -> Result<Summary> {
        if !self.is_tail {
            self.checkpoint()?;
        }
        let record = self.session.record;
        let elapsed_ms = self.session.clock.elapsed_ms();
        let counters = counters(&self.engine);
        let summary = Summary {
            target: record.target.path.clone(),
            target_hash: record.target.hash.clone(),
            generator_hash: record.generator.as_ref().map(|of| of.hash.clone()),
            diversity: self.engine.diversity().map(Into::into),
            guidance: record.guidance.name.clone(),
            seed: record.guidance.seed,
            workers: self.session.workers as u64,
            batch: u64::from(self.engine.stats().batch),
            ended,
            execs_per_sec: rate(counters.execs, elapsed_ms),
            counters,
            elapsed_ms,
            state_hash: self.engine.state_hash(),
        };
        self.store.record_event(&Event::Summary(summary.clone()));
        self.store.finish()?;
        self.session
            .reporter
            .report(&Event::Summary(summary.clone()));
        Ok(summary)
    }

    fn pulse_if_due(&mut self) {
        let since = self.last_pulse.elapsed().as_millis() as u64;
        if since < self.session.reporter.pulse_interval_ms() {
            return;
        }
        let counters = counters(&self.engine);
        let pulse = Event::Pulse(Pulse {
            execs_per_sec: rate(counters.execs - self.pulse_execs, since),
            elapsed_ms: self.session.clock.elapsed_ms(),
            counters: counters.clone(),
        });
        self.pulse_execs = counters.execs;
        self.last_pulse = Instant::now();
        self.emit(pulse);
    }

    /// Tells the log and the reporter.
    fn emit(&mut self, event: Event) {
        self.store.record_event(&event);
        self.session.reporter.report(&event);
    }
}

/// Replays findings to learn their stacks, by which the engine tells them apart. In order, on this
/// thread. `first` is the trial of the first outcome.
fn symbolise(
    replayer: &mut dyn Replayer,
    first: u64,
    outcomes: &mut [Outcome],
    stacks: &mut Stacks,
) -> Result<()> {
    for (trial, outcome) in (first..).zip(outcomes) {
        let (exit, site) = (outcome.exit, outcome.site);
        if exit.is_finding()
            && let Some(detail) = &mut outcome.detail
        {
            let frames = replayer.stack(exit, detail)?;
            detail.stack = Some(stack::key(exit, site, &frames));
            stacks.insert(trial, frames);
        }
    }
    Ok(())
}

/// Whether the trials of one batch are the first ones of another.
fn is_prefix(cut: &Batch, whole: &Batch) -> bool {
    let (mut scratch, mut input) = (Scratch::default(), Vec::new());
    let (mut whole_scratch, mut whole_input) = (Scratch::default(), Vec::new());
    cut.len() <= whole.len()
        && (0..cut.len()).all(|index| {
            let kind = |batch: &Batch| (batch.variant(index), batch.wants_detail(index));
            if let Some(drawing) = cut.drawing(index) {
                return whole.drawing(index) == Some(drawing) && kind(cut) == kind(whole);
            }
            cut.build(index, &mut scratch, &mut input);
            whole.build(index, &mut whole_scratch, &mut whole_input);
            input == whole_input && kind(cut) == kind(whole)
        })
}

/// Stacks of a batch's findings, by trial.
type Stacks = BTreeMap<u64, Vec<Frame>>;

/// Executions when the corpus last grew: the same after a resume.
fn last_new_exec(engine: &Engine) -> u64 {
    let trials = engine
        .corpus()
        .iter()
        .map(|(_, testcase)| testcase.trial + 1);
    trials.max().unwrap_or(0)
}

fn counters(engine: &Engine) -> Counters {
    let stats = engine.stats();
    Counters {
        execs: stats.execs,
        valid: stats.valid,
        invalid: stats.invalid,
        findings: stats.findings,
        unique_findings: stats.unique_findings,
        slow_findings: stats.slow_findings,
        edges: u64::from(stats.edges),
        edges_total: u64::from(stats.edges_total),
        valid_edges: u64::from(stats.valid_edges),
        corpus: u64::from(stats.corpus),
        unique_traces: engine.diversity().map(Diversity::unique_traces),
        diverse_valid: engine.diversity().map(Diversity::diverse_valid),
        stages: stats.stages.clone(),
        fuel_total: stats.fuel_total,
        fuel_max: stats.fuel_max,
    }
}

fn rate(execs: u64, elapsed_ms: u64) -> u64 {
    execs.saturating_mul(1000) / elapsed_ms.max(1)
}

#[cfg(test)]
mod tests;
