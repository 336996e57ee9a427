//! The threads beside the coordinator: they wait for a batch and run slots of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use sandglass_engine::Outcome;

use super::Worker;
use super::job::Job;

/// How long a worker spins for the next batch before it parks. Ending a batch and
/// planning the next takes some 100 µs; waking a parked thread takes 50.
const SPIN: Duration = Duration::from_micros(300);

/// What coordinator and helpers share for the whole session.
pub(super) struct Shared {
    /// Grows by one with every batch, and once more to end.
    epoch: AtomicU64,
    /// The batch being run.
    job: Mutex<Option<Arc<Job>>>,
    ended: AtomicBool,
    /// Judged outcomes, by the helper that ran them: it drops them, because memory that one thread
    /// allocates and another frees makes both wait for a lock of the allocator.
    judged: Vec<Mutex<Vec<Outcome>>>,
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

impl Shared {
    /// Made by the coordinator, on its thread.
    pub(super) fn new(helpers: usize) -> Shared {
        let cores = thread::available_parallelism().map_or(1, |n| n.get());
        Shared {
            epoch: AtomicU64::new(0),
            job: Mutex::new(None),
            ended: AtomicBool::new(false),
            judged: (0..helpers).map(|_| Mutex::default()).collect(),
            parked: (0..helpers).map(|_| AtomicBool::new(false)).collect(),
            threads: (0..helpers).map(|_| OnceLock::new()).collect(),
            coordinator: thread::current(),
            coordinator_parked: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            may_spin: helpers < cores,
        }
    }

    /// Hands a batch to the helpers.
    pub(super) fn publish(&self, job: &Arc<Job>) {
        *self.job.lock().expect("no worker panicked") = Some(Arc::clone(job));
        self.wake_helpers();
    }

    /// Takes a batch back that every worker has done with, or will find nothing left of.
    pub(super) fn withdraw(&self, job: &Job) {
        *self.job.lock().expect("no worker panicked") = None;
        job.clear();
    }

    /// Has the helpers end, in the middle of a batch if there is one.
    pub(super) fn end(&self) {
        // Nobody waits for the batch, or there would be none: a panic is on its way.
        if let Ok(job) = self.job.lock()
            && let Some(job) = &*job
        {
            job.give_up();
        }
        self.ended.store(true, Ordering::SeqCst);
        self.wake_helpers();
    }

    /// Announces a new epoch. Sequentially consistent together with the
    /// `parked` flags: either the helper sees the epoch or we see it parked.
    fn wake_helpers(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        for (parked, thread) in self.parked.iter().zip(&self.threads) {
            if let (true, Some(thread)) = (parked.load(Ordering::SeqCst), thread.get()) {
                thread.unpark();
            }
        }
    }

    /// Lets the coordinator, which has waited since `began`, wait a little for the helpers to end
    /// `job`. Whether it has slept, and had better look at the clock.
    ///
    /// Panics if a helper did.
    pub(super) fn wait_a_little(&self, job: &Job, began: Instant) -> bool {
        assert!(!self.panicked.load(Ordering::Acquire), "a worker panicked");
        if self.may_spin && began.elapsed() < SPIN {
            std::hint::spin_loop();
            return false;
        }
        self.coordinator_parked.store(true, Ordering::SeqCst);
        if !job.is_done() {
            // The time-out is for the caller's clock, not against a lost wake-up.
            thread::park_timeout(Duration::from_millis(20));
        }
        self.coordinator_parked.store(false, Ordering::SeqCst);
        true
    }

    /// Empties `outcomes`, which the worker ran.
    pub(super) fn give_back(&self, worker: usize, outcomes: &mut Vec<Outcome>) {
        match worker.checked_sub(1) {
            Some(helper) => {
                let mut judged = self.judged[helper].lock().expect("no worker panicked");
                judged.append(outcomes);
            }
            None => outcomes.clear(),
        }
    }
}

/// The life of a helper thread.
pub(super) fn help(mut worker: Worker, shared: &Shared) {
    let alarm = Alarm(shared);
    let index = worker.index - 1;
    let mut judged = Vec::new();
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
                &mut judged,
                &mut shared.judged[index].lock().expect("no worker panicked"),
            );
            judged.clear();
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
