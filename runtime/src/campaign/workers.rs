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

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use anyhow::Result;
use sandglass_engine::{Batch, Drawing, Interest, Outcome, Scratch, Variant};
use sandglass_sandbox::on_guest_thread;

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

    /// Runs one trial that draws: a generator and then the target, or a property.
    ///
    /// Panics where there is neither; then no guidance that makes choices may be used.
    fn run_drawing(
        &mut self,
        trial: u64,
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

/// Slots that a worker takes at once at most: 32 trials.
const SLOTS_AT_ONCE: usize = 4;

/// How long a worker spins for the next batch before it parks. Ending a batch and
/// planning the next takes some 100 µs; waking a parked thread takes 50.
const SPIN: Duration = Duration::from_micros(300);

/// How long a batch may go on after the session should have ended: nearly all
/// batches end by themselves within it.
pub const GRACE: Duration = Duration::from_millis(200);

/// Fuel between two looks at the clock: about a millisecond of work.
const FUEL_PER_LOOK: u64 = 1_000_000;

/// What a trial counts for beside its fuel. A look costs 25 ns, so one every 32
/// trials is nothing; and trials may be slow for reasons that no fuel shows,
/// such as a fresh instance each.
const FUEL_PER_TRIAL: u64 = FUEL_PER_LOOK / 32;

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The judge had all outcomes that it wanted.
    Whole,
    /// The session had to end: the judge had the outcomes of the first trials.
    Prefix,
}

/// Who is given the outcomes of a batch, some at a time, in order and each once. It may take them
/// out of the vector. If it breaks, it wants no more of this batch.
pub type Judge<'a> = dyn FnMut(&mut Vec<Outcome>) -> Result<ControlFlow<()>> + 'a;

/// What ends a session early. Shared with signal handlers.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Set by Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
    /// When the session's time is over.
    pub deadline: Option<Instant>,
}

impl Stop {
    /// Whether the user or the system wants us to end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Whether the time is over.
    pub fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// The workers of a session.
pub struct Pool {
    own: Worker,
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    slots: Arc<Slots>,
    stop: Stop,
    late_since: Option<Instant>,
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
}

/// What coordinator and helpers share for the whole session.
struct Shared {
    /// Grows by one with every batch, and once more to end.
    epoch: AtomicU64,
    /// The batch being run.
    job: Mutex<Option<Arc<Job>>>,
    ended: AtomicBool,
    /// Judged outcomes, by the helper that ran them: it drops them, because memory that one thread
    /// allocates and another frees makes both wait for a lock of the allocator.
    spent: Vec<Mutex<Vec<Outcome>>>,
    /// Which helpers are parked.
    parked: Vec<AtomicBool>,
    /// The helpers, once they run; guests need a thread with a large stack, so
    /// these are not the threads that we started.
    threads: Vec<OnceLock<Thread>>,
    coordinator: Thread,
    coordinator_parked: AtomicBool,
    panicked: AtomicBool,
    may_spin: bool,
}

/// Outcomes on their way to the judge; emptied, never shrunk. Empty between batches.
type Slots = Vec<Apart<Mutex<Slot>>>;

/// On cache lines of its own: what one core writes often is not beside what another one does.
#[derive(Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// A worker fills it at once, when it has run all of its trials.
#[derive(Default)]
struct Slot {
    outcomes: Vec<Outcome>,
    /// Which worker ran them: 0 is the coordinator.
    worker: usize,
}

/// One batch being run.
struct Job {
    batch: Arc<Batch>,
    slots: Arc<Slots>,
    slot_count: usize,
    workers: usize,
    next: Apart<AtomicUsize>,
    done: Apart<AtomicUsize>,
    given_up: AtomicBool,
    /// The error of the earliest trial that had one.
    error: Mutex<Option<(usize, anyhow::Error)>>,
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
            });
        let own = workers.next().expect("a campaign has at least one worker");
        let helpers: Vec<Worker> = workers.collect();
        let cores = thread::available_parallelism().map_or(1, |n| n.get());
        let shared = Arc::new(Shared {
            epoch: AtomicU64::new(0),
            job: Mutex::new(None),
            ended: AtomicBool::new(false),
            spent: helpers.iter().map(|_| Mutex::default()).collect(),
            parked: helpers.iter().map(|_| AtomicBool::new(false)).collect(),
            threads: helpers.iter().map(|_| OnceLock::new()).collect(),
            coordinator: thread::current(),
            coordinator_parked: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            may_spin: helpers.len() < cores,
        });
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
            stop,
            late_since: None,
        }
    }

    /// Has the helpers begin to run a batch. The caller may do something else, and then judges.
    pub fn start<'a>(&'a mut self, batch: &'a Arc<Batch>) -> Running<'a> {
        // Waking somebody for a handful of trials costs more than running them.
        let is_shared = !self.helpers.is_empty() && batch.len() >= SLOT;
        Running {
            job: is_shared.then(|| self.publish(batch)),
            pool: self,
            batch,
        }
    }

    fn run_alone(&mut self, batch: &Batch, judge: &mut Judge<'_>) -> Result<Ran> {
        let mut outcomes = Vec::with_capacity(SLOT);
        let mut fuel = 0;
        for index in 0..batch.len() {
            let outcome = self.own.run(batch, index)?;
            fuel += outcome.fuel + FUEL_PER_TRIAL;
            outcomes.push(outcome);
            let mut is_cut = false;
            if fuel >= FUEL_PER_LOOK {
                fuel = 0;
                is_cut = self.is_overdue() && index + 1 < batch.len();
            }
            if outcomes.len() == SLOT || index + 1 == batch.len() || is_cut {
                if judge(&mut outcomes)?.is_break() {
                    return Ok(Ran::Whole);
                }
                outcomes.clear();
            }
            if is_cut {
                return Ok(Ran::Prefix);
            }
        }
        Ok(Ran::Whole)
    }

    fn run_shared(&mut self, job: &Arc<Job>, judge: &mut Judge<'_>) -> Result<Ran> {
        let shared = Arc::clone(&self.shared);
        let mut line = Line::of(job, &shared, judge);
        let mut fuel = 0;
        while let Some(slots) = job.take() {
            for slot in slots {
                fuel += job.run_slot(&mut self.own, slot);
                if fuel >= FUEL_PER_LOOK {
                    fuel = 0;
                    if self.is_overdue() {
                        job.give_up();
                    }
                }
                line.advance();
            }
        }
        self.wait(&mut line);
        line.advance();
        self.withdraw(job);
        line.end()
    }

    /// Hands a batch to the helpers.
    fn publish(&mut self, batch: &Arc<Batch>) -> Arc<Job> {
        let slot_count = batch.len().div_ceil(SLOT);
        if self.slots.len() < slot_count {
            self.slots = Arc::new((0..slot_count).map(|_| Apart::default()).collect());
        }
        let job = Arc::new(Job {
            batch: Arc::clone(batch),
            slots: Arc::clone(&self.slots),
            slot_count,
            workers: self.helpers.len() + 1,
            next: Apart::default(),
            done: Apart::default(),
            given_up: AtomicBool::new(false),
            error: Mutex::new(None),
        });
        *self.shared.job.lock().expect("no worker panicked") = Some(Arc::clone(&job));
        self.wake_helpers();
        job
    }

    /// Forgets a batch that every worker has done with, or will find nothing left of.
    fn withdraw(&self, job: &Job) {
        *self.shared.job.lock().expect("no worker panicked") = None;
        for slot in &self.slots[..job.slot_count] {
            slot.0.lock().expect("no worker panicked").outcomes.clear();
        }
    }

    /// Announces a new epoch. Sequentially consistent together with the
    /// `parked` flags: either the helper sees the epoch or we see it parked.
    fn wake_helpers(&self) {
        self.shared.epoch.fetch_add(1, Ordering::SeqCst);
        for (parked, thread) in self.shared.parked.iter().zip(&self.shared.threads) {
            if let (true, Some(thread)) = (parked.load(Ordering::SeqCst), thread.get()) {
                thread.unpark();
            }
        }
    }

    /// Judges what there is until every slot is done or given up.
    fn wait(&mut self, line: &mut Line<'_>) {
        let job = line.job;
        let began = Instant::now();
        while job.done.0.load(Ordering::Acquire) < job.slot_count {
            assert!(
                !self.shared.panicked.load(Ordering::Acquire),
                "a worker panicked"
            );
            line.advance();
            if self.shared.may_spin && began.elapsed() < SPIN {
                std::hint::spin_loop();
                continue;
            }
            self.shared.coordinator_parked.store(true, Ordering::SeqCst);
            if job.done.0.load(Ordering::SeqCst) < job.slot_count {
                // The time-out is for the clock below, not against a lost wake-up.
                thread::park_timeout(Duration::from_millis(20));
            }
            self.shared
                .coordinator_parked
                .store(false, Ordering::SeqCst);
            if self.is_overdue() {
                job.give_up();
            }
        }
    }

    /// Whether the session should have ended so long ago that the batch is
    /// better given up.
    fn is_overdue(&mut self) -> bool {
        if !self.stop.is_interrupted() && !self.stop.is_late() {
            return false;
        }
        self.late_since.get_or_insert_with(Instant::now).elapsed() >= GRACE
    }
}

/// A batch that the helpers are running. Dropped without being judged, it is given up.
pub struct Running<'a> {
    pool: &'a mut Pool,
    batch: &'a Arc<Batch>,
    /// What the helpers have; nothing if the coordinator is to run it alone.
    job: Option<Arc<Job>>,
}

impl Running<'_> {
    /// Runs the rest of the batch, or as much of it as can be done before the session has to end,
    /// and has it judged. Errs with the judge's error, or with the error of the earliest trial.
    pub fn judge(mut self, judge: &mut Judge<'_>) -> Result<Ran> {
        match self.job.take() {
            Some(job) => self.pool.run_shared(&job, judge),
            None => self.pool.run_alone(self.batch, judge),
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
            let _ = (self.pool).run_shared(&job, &mut |_| Ok(ControlFlow::Break(())));
        }
    }
}

impl Shared {
    /// Empties `outcomes`, which the worker ran.
    fn drop_judged(&self, worker: usize, outcomes: &mut Vec<Outcome>) {
        match worker.checked_sub(1) {
            Some(helper) => {
                let mut spent = self.spent[helper].lock().expect("no worker panicked");
                spent.append(outcomes);
            }
            None => outcomes.clear(),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Nobody waits for it, or there would be none: a panic is on its way.
        if let Ok(job) = self.shared.job.lock()
            && let Some(job) = &*job
        {
            job.give_up();
        }
        self.shared.ended.store(true, Ordering::SeqCst);
        self.wake_helpers();
        for helper in self.helpers.drain(..) {
            // A helper that panicked has already been reported by `wait`.
            let _ = helper.join();
        }
    }
}

impl Worker {
    fn run(&mut self, batch: &Batch, index: usize) -> Result<Outcome> {
        if batch.has_draws()
            && let Some(drawing) = batch.drawing(index)
        {
            let trial = batch.first_trial() + index as u64;
            let wants_detail = batch.wants_detail(index);
            let runner = &mut self.runner;
            return runner.run_drawing(trial, drawing, batch.interest(), wants_detail);
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

impl Job {
    /// The next slots to run: a share of what is left, so that all workers end
    /// at about the same time.
    fn take(&self) -> Option<std::ops::Range<usize>> {
        let mut at = self.next.0.load(Ordering::Relaxed);
        loop {
            let left = self.slot_count.checked_sub(at).filter(|&left| left > 0)?;
            let count = (left / (2 * self.workers)).clamp(1, SLOTS_AT_ONCE);
            match self.next.0.compare_exchange_weak(
                at,
                at + count,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(at..at + count),
                Err(now) => at = now,
            }
        }
    }

    /// Runs the trials of one slot; returns a measure of the time it took.
    fn run_slot(&self, worker: &mut Worker, slot: usize) -> u64 {
        let mut fuel = 0;
        for index in (slot * SLOT..).take(self.trials_of(slot)) {
            if self.given_up.load(Ordering::Relaxed) {
                break;
            }
            match worker.run(&self.batch, index) {
                Ok(outcome) => {
                    fuel += outcome.fuel + FUEL_PER_TRIAL;
                    worker.outcomes.push(outcome);
                }
                Err(error) => {
                    self.fail(index, error);
                    break;
                }
            }
        }
        let mut place = self.slots[slot].0.lock().expect("no worker panicked");
        place.worker = worker.index;
        place.outcomes.append(&mut worker.outcomes);
        drop(place);
        self.done.0.fetch_add(1, Ordering::SeqCst);
        fuel
    }

    /// How many trials a slot has.
    fn trials_of(&self, slot: usize) -> usize {
        ((slot + 1) * SLOT).min(self.batch.len()) - slot * SLOT
    }

    /// Moves the outcomes of a slot, if they are all there; which worker ran them.
    fn take_outcomes(&self, slot: usize, outcomes: &mut Vec<Outcome>) -> Option<usize> {
        // Whoever holds the lock is about to put them there.
        let mut found = self.slots[slot].0.try_lock().ok()?;
        if found.outcomes.len() < self.trials_of(slot) {
            return None;
        }
        outcomes.append(&mut found.outcomes);
        Some(found.worker)
    }

    /// Gives up the rest; slots still count as done when somebody took them.
    fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
    }

    fn fail(&self, index: usize, error: anyhow::Error) {
        let mut first = self.error.lock().expect("no worker panicked");
        if first.as_ref().is_none_or(|(at, _)| index < *at) {
            *first = Some((index, error));
        }
    }
}

/// Outcomes standing in line to be judged.
struct Line<'a> {
    job: &'a Job,
    shared: &'a Shared,
    judge: &'a mut dyn FnMut(&mut Vec<Outcome>) -> Result<ControlFlow<()>>,
    outcomes: Vec<Outcome>,
    /// The first slot that is not judged.
    next: usize,
    /// What the judge said: to go on, that it has enough, or that it failed.
    said: Result<ControlFlow<()>>,
}

impl<'a> Line<'a> {
    fn of(job: &'a Job, shared: &'a Shared, judge: &'a mut Judge<'_>) -> Line<'a> {
        Line {
            job,
            shared,
            judge,
            outcomes: Vec::with_capacity(SLOT),
            next: 0,
            said: Ok(ControlFlow::Continue(())),
        }
    }

    /// Has everything judged that is there and whose turn it is.
    fn advance(&mut self) {
        while let Ok(ControlFlow::Continue(())) = self.said
            && self.next < self.job.slot_count
            && let Some(worker) = self.job.take_outcomes(self.next, &mut self.outcomes)
        {
            self.said = (self.judge)(&mut self.outcomes);
            self.shared.drop_judged(worker, &mut self.outcomes);
            self.next += 1;
            if !matches!(self.said, Ok(ControlFlow::Continue(()))) {
                self.job.give_up();
            }
        }
    }

    /// How the batch ended, when no worker is at it any more.
    fn end(self) -> Result<Ran> {
        if self.said?.is_break() || self.next == self.job.slot_count {
            return Ok(Ran::Whole);
        }
        let error = self.job.error.lock().expect("no worker panicked").take();
        if let Some((_, error)) = error {
            return Err(error);
        }
        let given_up = self.job.given_up.load(Ordering::Acquire);
        assert!(given_up, "every trial has an outcome");
        Ok(Ran::Prefix)
    }
}

/// The life of a helper thread.
fn help(mut worker: Worker, shared: &Shared) {
    let alarm = Alarm(shared);
    let index = worker.index - 1;
    let mut spent = Vec::new();
    shared.threads[index]
        .set(thread::current())
        .expect("each helper has a place of its own");
    let mut epoch = 0;
    loop {
        epoch = await_epoch(index, epoch, shared);
        let job = shared.job.lock().expect("no worker panicked").clone();
        if shared.ended.load(Ordering::SeqCst) {
            break;
        }
        // It may be over before this thread was awake.
        let Some(job) = job else { continue };
        while let Some(slots) = job.take() {
            std::mem::swap(
                &mut spent,
                &mut shared.spent[index].lock().expect("no worker panicked"),
            );
            spent.clear();
            for slot in slots {
                job.run_slot(&mut worker, slot);
            }
        }
        drop(job);
        if shared.coordinator_parked.load(Ordering::SeqCst) {
            shared.coordinator.unpark();
        }
    }
    std::mem::forget(alarm);
}

/// Waits for another epoch than `old`: spins a while, then parks.
fn await_epoch(index: usize, old: u64, shared: &Shared) -> u64 {
    let began = Instant::now();
    loop {
        // The clock costs as much as twenty looks at the epoch.
        for _ in 0..20 {
            let now = shared.epoch.load(Ordering::SeqCst);
            if now != old {
                return now;
            }
            std::hint::spin_loop();
        }
        if shared.may_spin && began.elapsed() < SPIN {
            continue;
        }
        shared.parked[index].store(true, Ordering::SeqCst);
        if shared.epoch.load(Ordering::SeqCst) == old {
            thread::park();
        }
        shared.parked[index].store(false, Ordering::SeqCst);
    }
}

/// Tells the coordinator that a helper died, so that it does not wait for ever.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.panicked.store(true, Ordering::Release);
        self.0.coordinator.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use sandglass_engine::{Config, Engine, Exit};

    /// Runs nothing; misbehaves at one trial.
    struct Fake {
        fails_at: u64,
        panics_at: u64,
        nap: Duration,
    }

    const FAKE: Fake = Fake {
        fails_at: u64::MAX,
        panics_at: u64::MAX,
        nap: Duration::ZERO,
    };

    impl Runner for Fake {
        fn run(
            &mut self,
            trial: u64,
            _variant: Variant,
            input: &[u8],
            _interest: &Interest,
            _wants_detail: bool,
        ) -> Result<Outcome> {
            thread::sleep(self.nap);
            assert!(trial < self.panics_at, "the test wants it so");
            if trial >= self.fails_at {
                bail!("failed at {trial}");
            }
            Ok(Outcome {
                exit: Exit::Valid,
                site: trial as u32,
                fuel: 1,
                input_bytes: input.len() as u32,
                stage: 0,
                detail: None,
            })
        }
    }

    fn pool(workers: usize, fake: impl Fn() -> Fake, time: Option<Duration>) -> Pool {
        let runners = (0..workers).map(|_| Box::new(fake()) as Box<dyn Runner>);
        let stop = Stop {
            interrupted: Arc::new(AtomicBool::new(false)),
            deadline: time.map(|time| Instant::now() + time),
        };
        Pool::new(runners.collect(), stop)
    }

    fn engine() -> Engine {
        let config = Config {
            seed: 1,
            probes: 1,
            input_bytes_max: 8,
            seeds: Vec::new(),
            tokens: Vec::new(),
            settings: Default::default(),
            slow_factor: 0,
            spec: sandglass_engine::find("blind").expect("the control exists"),
        };
        Engine::new(config).expect("it has no settings")
    }

    /// Runs a batch; how it ended, and the outcomes in the order in which they came.
    fn run(pool: &mut Pool, batch: &Arc<Batch>) -> Result<(Ran, Vec<Outcome>)> {
        let mut all = Vec::new();
        let ran = pool.start(batch).judge(&mut |outcomes| {
            all.append(outcomes);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((ran, all))
    }

    fn sites(outcomes: &[Outcome]) -> Vec<u32> {
        outcomes.iter().map(|outcome| outcome.site).collect()
    }

    #[test]
    fn outcomes_are_in_order_for_any_number_of_workers() {
        for workers in [1, 2, 3, 8] {
            let mut engine = engine();
            let mut pool = pool(workers, || FAKE, None);
            for trials in [1, 7, 8, 9, 1024, 100] {
                let batch = Arc::new(engine.next_batch(trials));
                let first = batch.first_trial() as u32;
                let expected: Vec<u32> = (first..first + batch.len() as u32).collect();
                let (ran, outcomes) = run(&mut pool, &batch).unwrap();
                assert_eq!(ran, Ran::Whole);
                assert_eq!(sites(&outcomes), expected, "{workers} workers");
                engine.finish_batch(&batch, outcomes);
            }
        }
    }

    #[test]
    fn the_earliest_error_is_told() {
        for workers in [1, 3] {
            let fake = || Fake {
                fails_at: 100,
                ..FAKE
            };
            let mut pool = pool(workers, fake, None);
            let batch = Arc::new(engine().next_batch(1024));
            let error = run(&mut pool, &batch).unwrap_err();
            assert_eq!(error.to_string(), "failed at 100");
        }
    }

    #[test]
    fn a_judge_that_has_enough_is_given_no_more() {
        for workers in [1, 3] {
            let mut pool = pool(workers, || FAKE, None);
            let mut engine = engine();
            let batch = Arc::new(engine.next_batch(1024));
            let mut seen = 0;
            let ran = pool.start(&batch).judge(&mut |outcomes| {
                seen += outcomes.len();
                Ok(match seen {
                    0..100 => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                })
            });
            assert_eq!((ran.unwrap(), seen), (Ran::Whole, 104), "{workers} workers");
            // Nothing of it is left to confuse the next.
            let (ran, outcomes) = run(&mut pool, &batch).unwrap();
            assert_eq!((ran, outcomes.len()), (Ran::Whole, 1024));
            assert_eq!(sites(&outcomes), (0..1024).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn an_error_of_the_judge_ends_the_batch() {
        for workers in [1, 3] {
            let mut pool = pool(workers, || FAKE, None);
            let batch = Arc::new(engine().next_batch(1024));
            let error = pool
                .start(&batch)
                .judge(&mut |_| bail!("no replay"))
                .unwrap_err();
            assert_eq!(error.to_string(), "no replay");
            assert_eq!(run(&mut pool, &batch).unwrap().1.len(), 1024);
            // Nor does a batch that nobody judges.
            drop(pool.start(&batch));
            assert_eq!(run(&mut pool, &batch).unwrap().1.len(), 1024);
        }
    }

    #[test]
    #[should_panic(expected = "panicked")]
    fn a_panic_of_a_helper_is_not_waited_for() {
        // The coordinator naps, so that a helper gets to the bad trial.
        let mut runners: Vec<Box<dyn Runner>> = vec![Box::new(Fake {
            nap: Duration::from_millis(1),
            ..FAKE
        })];
        runners.push(Box::new(Fake {
            panics_at: 0,
            ..FAKE
        }));
        let stop = Stop {
            interrupted: Arc::new(AtomicBool::new(false)),
            deadline: None,
        };
        let mut pool = Pool::new(runners, stop);
        let mut engine = engine();
        let batch = Arc::new(engine.next_batch(1024));
        run(&mut pool, &batch).unwrap();
    }

    #[test]
    fn an_overdue_batch_ends_with_a_prefix() {
        for workers in [1, 4] {
            let fake = || Fake {
                nap: Duration::from_millis(5),
                ..FAKE
            };
            let mut pool = pool(workers, fake, Some(Duration::from_millis(20)));
            let batch = Arc::new(engine().next_batch(1024));
            let (ran, outcomes) = run(&mut pool, &batch).unwrap();
            assert_eq!(ran, Ran::Prefix, "{workers} workers");
            let sites = sites(&outcomes);
            let expected: Vec<u32> = (0..sites.len() as u32).collect();
            assert_eq!(sites, expected);
            assert!(!sites.is_empty() && sites.len() < 1024);
        }
    }
}
