//! Several sandboxes working on one batch.
//!
//! In: a planned batch. Out: its outcomes in order, the same for any number of
//! workers, because a trial is built and run without regard to the others. The
//! coordinator (the thread that owns the engine) is the first worker; the
//! others are threads that wait for a batch, first spinning, then parked, so
//! that batches of a thousand trials of 300 ns are worth sharing. A worker
//! takes a run of *slots* of eight trials at a time, fewer towards the end.
//! The coordinator hands a slot's outcomes to the judge as soon as all before
//! them are judged, and runs trials when there is nothing to judge: so judging,
//! which cannot be shared, goes on beside the others' running. Nothing is
//! allocated for a boring trial.
//!
//! This module knows neither wasm nor the store. It reads the clock to give up
//! a batch that cannot be finished in time, and to stop spinning.

mod helper;
mod in_order;
mod job;
mod stop;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::Result;
use sandglass_engine::{Batch, Drawing, Interest, Outcome, Scratch, Variant};
use sandglass_sandbox::on_guest_thread;

use helper::{Shared, help};
use in_order::InOrder;
use job::{CachePadded, Job, Slots};
use stop::Watch;
pub use stop::{GRACE, Stop};

/// Who executes inputs: sandboxes in a campaign, scripts in tests.
pub trait Runner: Send {
    /// Runs one input. `trial` is the execution's index in the campaign.
    ///
    /// Whatever the guest does is in the outcome; errs only when the world or
    /// we ourselves failed.
    fn run(
        &mut self,
        trial: u64,
        variant: Variant,
        input: &[u8],
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome>;

    /// Sets what the target may take of fuel in later trials, if that is less than in the campaign.
    fn set_fuel_max(&mut self, _fuel_max: Option<u64>) {}

    /// Runs one trial that draws: a generator and then the target, or a property.
    ///
    /// Panics where there is neither; then no guidance that makes choices may be used.
    fn run_drawing(
        &mut self,
        trial: u64,
        _variant: Variant,
        _drawing: Drawing,
        _interest: &Interest,
        _wants_detail: bool,
    ) -> Result<Outcome> {
        panic!("trial {trial} draws, and there is nobody to draw")
    }
}

/// Trials in one slot. Small enough that slow trials spread evenly, large
/// enough that taking a slot (30 ns) is nothing beside eight trials of 200 ns.
const SLOT: usize = 8;

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The judge had all outcomes, or as many as it wanted.
    Enough,
    /// The session had to end: the judge had the outcomes of the first trials.
    Cut,
}

/// Who is given the outcomes of a batch, some at a time, in order and each once. It may take them
/// out of the vector. If it breaks, it wants no more of this batch.
pub type Judge<'a> = dyn FnMut(&mut Vec<Outcome>) -> Result<ControlFlow<()>> + 'a;

/// The workers of a session.
pub struct Pool {
    own: Worker,
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    slots: Arc<Slots>,
    watch: Arc<Watch>,
}

/// One thread's tools.
struct Worker {
    /// 0 is the coordinator.
    index: usize,
    runner: Box<dyn Runner>,
    scratch: Scratch,
    input: Vec<u8>,
    /// Of the slot that it works on.
    outcomes: Vec<Outcome>,
    /// What it has done since it last looked at the clock.
    unwatched: u64,
}

impl Pool {
    /// Starts a worker for each runner; the first one stays on this thread.
    /// Panics without any runner.
    pub fn new(runners: Vec<Box<dyn Runner>>, stop: Stop) -> Pool {
        let mut workers = runners
            .into_iter()
            .enumerate()
            .map(|(index, runner)| Worker {
                index,
                runner,
                scratch: Scratch::default(),
                input: Vec::new(),
                outcomes: Vec::with_capacity(SLOT),
                unwatched: 0,
            });
        let own = workers.next().expect("a campaign has at least one worker");
        let helpers: Vec<Worker> = workers.collect();
        let shared = Arc::new(Shared::new(helpers.len()));
        let helpers = helpers
            .into_iter()
            .map(|worker| {
                let shared = Arc::clone(&shared);
                thread::Builder::new()
                    .name(format!("worker-{}", worker.index))
                    .spawn(move || on_guest_thread(|| help(worker, &shared)))
                    .expect("the system can start a thread")
            })
            .collect();
        Pool {
            own,
            shared,
            helpers,
            slots: Arc::new(Vec::new()),
            watch: Arc::new(Watch::new(stop)),
        }
    }

    /// Has the helpers begin to run a batch. The caller may do something else, and then judges.
    pub fn start<'a>(&'a mut self, batch: &'a Arc<Batch>) -> Running<'a> {
        let watch = Arc::clone(&self.watch);
        self.start_watched(batch, watch)
    }

    /// The same, of a batch that is run to its end even where the session should have ended.
    pub fn start_whole<'a>(&'a mut self, batch: &'a Arc<Batch>) -> Running<'a> {
        self.start_watched(batch, Arc::new(Watch::new(Stop::default())))
    }

    fn start_watched<'a>(&'a mut self, batch: &'a Arc<Batch>, watch: Arc<Watch>) -> Running<'a> {
        // Waking somebody for a handful of trials costs more than running them.
        let is_shared = !self.helpers.is_empty() && batch.len() >= SLOT;
        Running {
            job: is_shared.then(|| self.publish(batch, &watch)),
            pool: self,
            batch,
            watch,
        }
    }

    fn run_alone(&mut self, batch: &Batch, watch: &Watch, judge: &mut Judge<'_>) -> Result<Ran> {
        let mut outcomes = Vec::with_capacity(SLOT);
        for index in 0..batch.len() {
            let ran = self.own.run(batch, index);
            let is_last = index + 1 == batch.len() || ran.is_err();
            let is_cut = !is_last && ran.as_ref().is_ok_and(|o| watch.ends(&mut self.own, o));
            let failure = ran.map(|outcome| outcomes.push(outcome)).err();
            if outcomes.len() == SLOT || is_last || is_cut {
                if judge(&mut outcomes)?.is_break() {
                    return Ok(Ran::Enough);
                }
                outcomes.clear();
            }
            match failure {
                Some(error) => return Err(error),
                None if is_cut => return Ok(Ran::Cut),
                None => {}
            }
        }
        Ok(Ran::Enough)
    }

    fn run_shared(&mut self, job: &Arc<Job>, watch: &Watch, judge: &mut Judge<'_>) -> Result<Ran> {
        let shared = Arc::clone(&self.shared);
        let mut in_order = InOrder::of(job, &shared, judge);
        while let Some(slots) = job.take() {
            for slot in slots {
                job.run_slot(&mut self.own, slot);
                in_order.advance();
            }
        }
        self.wait(&mut in_order, watch);
        in_order.advance();
        let ran = in_order.end();
        self.shared.withdraw(job);
        ran
    }

    /// Hands a batch to the helpers.
    fn publish(&mut self, batch: &Arc<Batch>, watch: &Arc<Watch>) -> Arc<Job> {
        let slots = job::slots_of(batch);
        if self.slots.len() < slots {
            self.slots = Arc::new((0..slots).map(|_| CachePadded::default()).collect());
        }
        let job = Arc::new(Job::new(batch, &self.slots, watch, self.helpers.len() + 1));
        self.shared.publish(&job);
        job
    }

    /// Judges what there is until every slot is done or given up.
    fn wait(&mut self, in_order: &mut InOrder<'_>, watch: &Watch) {
        let began = Instant::now();
        while !in_order.job.is_done() {
            in_order.advance();
            if self.shared.wait_a_little(in_order.job, began) && watch.is_overdue() {
                in_order.job.give_up();
            }
        }
    }
}

/// A batch that the helpers are running. Dropped without being judged, it is given up.
///
/// Judging or dropping it panics if a helper panicked.
#[must_use = "a batch that is not judged is given up"]
pub struct Running<'a> {
    pool: &'a mut Pool,
    batch: &'a Arc<Batch>,
    /// What the helpers have; nothing if the coordinator is to run it alone.
    job: Option<Arc<Job>>,
    watch: Arc<Watch>,
}

impl Running<'_> {
    /// Runs the rest of the batch, or as much of it as can be done before the session has to end,
    /// and has it judged. Errs with the judge's error, or with the error of the earliest trial.
    pub fn judge(mut self, judge: &mut Judge<'_>) -> Result<Ran> {
        match self.job.take() {
            Some(job) => self.pool.run_shared(&job, &self.watch, judge),
            None => self.pool.run_alone(self.batch, &self.watch, judge),
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(job) = self.job.take()
            && !thread::panicking()
        {
            job.give_up();
            // Whoever drops it does not want to know how it ended.
            let _ = (self.pool).run_shared(&job, &self.watch, &mut |_| Ok(ControlFlow::Break(())));
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.end();
        for helper in self.helpers.drain(..) {
            // A helper that panicked has already been reported by `wait`.
            let _ = helper.join();
        }
    }
}

impl Worker {
    fn run(&mut self, batch: &Batch, index: usize) -> Result<Outcome> {
        self.runner.set_fuel_max(batch.fuel_max());
        if batch.has_draws()
            && let Some(drawing) = batch.drawing(index)
        {
            let trial = batch.first_trial() + index as u64;
            let wants_detail = batch.wants_detail(index);
            let runner = &mut self.runner;
            let variant = batch.variant(index);
            return runner.run_drawing(trial, variant, drawing, batch.interest(), wants_detail);
        }
        batch.build(index, &mut self.scratch, &mut self.input);
        self.runner.run(
            batch.first_trial() + index as u64,
            batch.variant(index),
            &self.input,
            batch.interest(),
            batch.wants_detail(index),
        )
    }
}

#[cfg(test)]
mod tests;
