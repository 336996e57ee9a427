//! The loop: plan a batch, run it, judge it, have what came of it written down.
//!
//! In: an engine, workers, somebody who replays findings, a store, a budget.
//! Out: events, files, and a summary. The engine decides what to run and what
//! to keep; this loop decides only when to write and when to stop. Time may
//! choose *when* a checkpoint is written and when a session ends, never what a
//! campaign does, so that the same module, seed and number of executions give
//! the same folder. What others found (join.rs) comes when it comes: a campaign
//! that has joined them is no such function, and says so.
//!
//! ```text
//! ┌▶ what others found, if it has joined them: run and judged; what was found here: offered
//! │  counted budget used up, interrupted, late? ──yes──▶ checkpoint, summary
//! │  checkpoint, if one is due
//! │  engine.next_batch ─▶ workers begin to run it
//! │     meanwhile: the last batch's inputs and events, and the checkpoint, to disk
//! │     then: outcomes in order ─▶ findings replayed, slow inputs profiled ─▶ engine.judge ─▶ new findings to disk at once
//! │  engine.end_batch ─▶ decisions
//! │  engine.next_reruns ─▶ workers run them where memory is watched ─▶ engine.judge_reruns
//! └──┘
//! ```
//!
//! A budget of executions may cut the last batch short, and a longer campaign
//! would not. So the last checkpoint is written before the first batch that
//! might be cut: resuming repeats the rest, which is less than one batch, and a
//! campaign of 1,000 executions that goes on to 2,000 comes to the state of one of
//! 2,000. So it is with a batch that time cuts short. Findings that only the batch cut short has made stay
//! in the folder.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use sandglass_engine::{Batch, Config, Decision, Detail, Engine, Exit, Outcome, Scratch, Variant};

use crate::event::{Ended, Summary};
use crate::report::Reporter;
use crate::stack::Ending;
use crate::store::Store;
use crate::store::record::Record;

pub mod budget;
mod discovery;
mod files;
pub mod join;
mod ledger;
pub mod limits;
pub mod own_code;
pub mod start;
mod verdicts;
pub mod workers;

use budget::{Budget, Clock};
use join::Join;
use ledger::{Ledger, Stacks};
use own_code::OwnCode;
use verdicts::{Verdicts, symbolise};
use workers::{Pool, Ran, Stop};

/// Time between two checkpoints: what kill -9 costs at most.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(5);

/// Time to the first: the beginning of a campaign finds most, and what looks at its folder wants to see it.
const CHECKPOINT_FIRST: Duration = Duration::from_millis(500);

/// After a batch that took longer, the next one is preceded by a checkpoint:
/// then giving it up loses nothing else.
const LONG_BATCH: Duration = Duration::from_millis(500);

/// Before a batch that follows one this slow, and near the end of the session, the engine is
/// copied, so that the part of it that is done in time can be judged: batches are given up when
/// they are [`workers::GRACE`] late. Copying takes milliseconds when the corpus is large.
const SLOW_BATCH: Duration = Duration::from_millis(workers::GRACE.as_millis() as u64 / 4);

/// A copy that takes no more than one of so many parts of a batch's time is made in any case: one endless loop makes a batch
/// slow, and nobody knows when it comes.
const CHEAP_COPY: u32 = 50;

/// How fast it is forgotten that a batch was slow: by one of so many parts with each batch.
const SLOWEST_FADES: u32 = 16;

/// Who finds out where a finding ended, or where a slow input spent its fuel: runs it in a build that knows.
pub trait Replayer {
    /// How and where a finding ended that was seen in `variant`, symbolised.
    fn ending(&mut self, variant: Variant, exit: Exit, detail: &Detail) -> Result<Ending>;

    /// The call stack that spent most of a slow input's fuel, symbolised; without frames if nobody can know.
    fn costliest(&mut self, detail: &Detail) -> Result<Ending>;
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
    /// Which edges are of one's own code.
    pub own: OwnCode,
    /// The others, if it has joined them.
    pub join: Option<Join>,
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
    let first_trial = engine.stats().execs;
    let ledger = Ledger::new(
        session.record,
        session.clock,
        session.own,
        session.reporter,
        store,
        &engine,
    );
    let mut campaign = Campaign {
        ledger,
        engine,
        config: session.config,
        budget: session.budget,
        stop: session.stop,
        replayer: session.replayer,
        join: session.join,
        last_checkpoint: now,
        last_batch: Duration::ZERO,
        slowest: Duration::ZERO,
        copying: Duration::ZERO,
        checkpoint_execs: None,
        is_tail: false,
        first_trial,
    };
    if resumed {
        campaign.ledger.resume(session.entry, &campaign.engine)?;
    } else {
        campaign
            .ledger
            .start(session.entry, session.config, &campaign.engine);
        campaign.checkpoint();
    }
    let ended = campaign.run_batches(pool)?;
    if !campaign.is_tail {
        campaign.checkpoint();
    }
    // Before the farewell, in which a session may be killed.
    campaign.ledger.write_due(&campaign.engine)?;
    let joined = campaign.leave(pool)?;
    let Campaign { ledger, engine, .. } = campaign;
    ledger.end(&engine, ended, session.workers, joined)
}

/// Time to the next checkpoint, by the executions of the last.
fn time_to_next(checkpoint_execs: Option<u64>) -> Duration {
    match checkpoint_execs {
        // That of a new campaign has nothing in it.
        None | Some(0) => CHECKPOINT_FIRST,
        Some(_) => CHECKPOINT_EVERY,
    }
}

struct Campaign<'a> {
    engine: Engine,
    ledger: Ledger<'a>,
    config: &'a Config,
    budget: Budget,
    stop: Stop,
    replayer: &'a mut dyn Replayer,
    join: Option<Join>,
    last_checkpoint: Instant,
    /// How long the last batch was run and judged, the slowest one lately, and how long the engine was copied.
    last_batch: Duration,
    slowest: Duration,
    copying: Duration,
    /// Executions at the last checkpoint of this session.
    checkpoint_execs: Option<u64>,
    /// Whether batches may be cut by the budget: no more checkpoints.
    is_tail: bool,
    /// The session's first trial.
    first_trial: u64,
}

impl Campaign<'_> {
    fn run_batches(&mut self, pool: &mut Pool) -> Result<Ended> {
        loop {
            self.exchange(pool)?;
            let execs = self.engine.stats().execs;
            if let Some(ended) = self.ended(execs) {
                return Ok(ended);
            }
            let trials_left = self.budget.trials_left(execs);
            self.checkpoint_if_due(trials_left);
            let before = self.may_be_cut().then(|| self.copy());
            if self.run_batch(pool, trials_left, before)? == Ran::Cut {
                return Ok(match self.stop.is_interrupted() {
                    true => Ended::Interrupted,
                    false => Ended::Time,
                });
            }
        }
    }

    /// Plans a batch, and has it run and judged. While it begins to run, what came of the batch
    /// before is written down. `before` is the engine as it is now, if the session may end within
    /// the batch.
    fn run_batch(
        &mut self,
        pool: &mut Pool,
        trials_left: u64,
        before: Option<Engine>,
    ) -> Result<Ran> {
        let batch = Arc::new(self.engine.next_batch(trials_left));
        let running = pool.start(&batch);
        self.ledger.write_down(&self.engine)?;
        let began = Instant::now();
        let mut verdicts = Verdicts::of(&batch);
        let mut seen = Vec::new();
        let (engine, ledger) = (&mut self.engine, &mut self.ledger);
        let replayer = &mut *self.replayer;
        let ran = running.judge(&mut |outcomes| {
            verdicts.judge(outcomes, engine, ledger, replayer)?;
            if before.is_some() {
                seen.append(outcomes);
            }
            Ok(match verdicts.judging.wants_more() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        });
        self.last_batch = began.elapsed();
        let faded = self.slowest - self.slowest / SLOWEST_FADES;
        self.slowest = faded.max(self.last_batch);
        let Verdicts {
            judging,
            mut stacks,
            ..
        } = verdicts;
        match ran {
            Ok(Ran::Cut) => self.give_up(pool, before, &batch, (seen, stacks))?,
            Ok(Ran::Enough) => {
                let mut decisions = self.engine.end_batch(judging);
                let rerun = self.run_reruns(pool, &mut decisions, &mut stacks);
                self.ledger.decided(decisions, stacks);
                rerun?;
            }
            Err(error) => {
                // The same batch will fail again: the user should hear of what it found before.
                self.ledger.decided(judging.into_decisions(), stacks);
                return Err(match self.ledger.write_down(&self.engine) {
                    Ok(()) => error,
                    Err(other) => error.context(other),
                });
            }
        }
        ran
    }

    /// Has what is due of a batch run again for memory errors, all of it, late or not: what counts is what a
    /// campaign of that length does. It is a fraction of the batch.
    fn run_reruns(
        &mut self,
        pool: &mut Pool,
        decisions: &mut Vec<Decision>,
        stacks: &mut Stacks,
    ) -> Result<()> {
        let Some(reruns) = self.engine.next_reruns() else {
            return Ok(());
        };
        let (engine, ledger) = (&mut self.engine, &mut self.ledger);
        let replayer = &mut *self.replayer;
        let mut judged = 0;
        (pool.start_whole(&reruns.batch)).judge(&mut |outcomes| {
            let first = judged;
            symbolise(replayer, outcomes, stacks, |nth| {
                (reruns.trial(first + nth), Variant::Heap)
            })?;
            let found = engine.judge_reruns(&reruns, first, outcomes);
            ledger.keep_findings(&found, stacks)?;
            decisions.extend(found);
            judged += outcomes.len();
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// May the next batch have to be given up? Ctrl-C can come at any time, but a batch of less
    /// than the grace period ends by itself. Of a session's first batch nothing is known.
    fn may_be_cut(&self) -> bool {
        let slowest = self.slowest;
        let is_last = || {
            let end = self.stop.deadline;
            end.is_some_and(|end| end < Instant::now() + 4 * slowest)
        };
        slowest.is_zero()
            || self.copying * CHEAP_COPY <= self.last_batch
            || slowest >= workers::GRACE
            || (slowest >= SLOW_BATCH && is_last())
    }

    fn copy(&mut self) -> Engine {
        let began = Instant::now();
        let copy = self.engine.clone();
        self.copying = began.elapsed();
        copy
    }

    fn ended(&self, execs: u64) -> Option<Ended> {
        let counted = self.budget.counted_end(execs, self.ledger.last_new_exec());
        counted.or_else(|| {
            if self.has_found() {
                Some(Ended::Finding)
            } else if self.stop.is_interrupted() {
                Some(Ended::Interrupted)
            } else {
                self.stop.is_late().then_some(Ended::Time)
            }
        })
    }

    /// Whether this session has made a finding that ends it.
    fn has_found(&self) -> bool {
        let stop_at = self.budget.stop_at;
        stop_at.any()
            && (self.engine.findings().iter())
                .any(|(key, found)| found.trial >= self.first_trial && stop_at.covers(key.kind))
    }

    fn checkpoint_if_due(&mut self, trials_left: u64) {
        if self.is_tail {
            return;
        }
        self.is_tail = trials_left < u64::from(self.engine.stats().batch);
        let every = time_to_next(self.checkpoint_execs);
        let is_due = self.last_checkpoint.elapsed() >= every || self.last_batch >= LONG_BATCH;
        if self.is_tail || is_due {
            self.checkpoint();
        }
    }

    /// Has the engine's state of now written down.
    fn checkpoint(&mut self) {
        let execs = self.engine.stats().execs;
        if self.checkpoint_execs != Some(execs) {
            self.ledger.checkpoint(&self.engine);
            self.last_checkpoint = Instant::now();
            self.checkpoint_execs = Some(execs);
        }
    }

    /// Ends a session inside a batch that takes too long. What is done of it counts: a campaign cut at
    /// that number of executions plans just those trials. Resuming repeats them, and what was before the
    /// batch becomes the last checkpoint. Without a copy of that, everything since the last checkpoint will
    /// be repeated, and the summary describes that one.
    fn give_up(
        &mut self,
        pool: &mut Pool,
        before: Option<Engine>,
        batch: &Batch,
        seen: (Vec<Outcome>, Stacks),
    ) -> Result<()> {
        let was_tail = std::mem::replace(&mut self.is_tail, true);
        match before {
            Some(before) => {
                self.engine = before;
                if !was_tail {
                    self.checkpoint();
                    self.ledger.write_due(&self.engine)?;
                }
                self.judge_prefix(pool, batch, seen)?;
            }
            None => self.engine = self.ledger.back_to_checkpoint(&self.engine, self.config)?,
        }
        Ok(())
    }

    /// Judges what is done of a batch, as a batch of its own.
    fn judge_prefix(
        &mut self,
        pool: &mut Pool,
        batch: &Batch,
        (mut outcomes, mut stacks): (Vec<Outcome>, Stacks),
    ) -> Result<()> {
        let before = self.engine.clone();
        let cut = self.engine.next_batch(outcomes.len() as u64);
        if is_prefix(&cut, batch) {
            outcomes.truncate(cut.len());
            let mut decisions = self.engine.finish_batch(&cut, outcomes);
            let rerun = self.run_reruns(pool, &mut decisions, &mut stacks);
            self.ledger.decided(decisions, stacks);
            rerun?;
        } else {
            // A guidance that plans otherwise when it has less room: then the
            // batch counts for nothing.
            self.engine = before;
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests;
