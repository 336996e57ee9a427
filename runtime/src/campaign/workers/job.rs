//! One batch, cut into slots of a few trials, on its way through the workers.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use sandglass_engine::{Batch, Outcome};

use super::stop::Watch;
use super::{SLOT, Worker};

/// Slots that a worker takes at once at most: 32 trials.
const SLOTS_AT_ONCE: usize = 4;

/// Outcomes on their way to the judge; emptied, never shrunk. Empty between batches.
pub(super) type Slots = Vec<CachePadded<Mutex<Slot>>>;

/// On cache lines of its own: what one core writes often is not beside what another one does.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct CachePadded<T>(T);

/// A worker fills it at once, when it has run all of its trials.
#[derive(Default)]
pub(super) struct Slot {
    outcomes: Vec<Outcome>,
    /// Which worker ran them: 0 is the coordinator.
    worker: usize,
}

/// One batch being run.
pub(super) struct Job {
    batch: Arc<Batch>,
    slots: Arc<Slots>,
    watch: Arc<Watch>,
    pub(super) slot_count: usize,
    workers: usize,
    next: CachePadded<AtomicUsize>,
    done: CachePadded<AtomicUsize>,
    given_up: AtomicBool,
    /// The error of the earliest trial that had one.
    error: Mutex<Option<(usize, anyhow::Error)>>,
}

/// How many slots a batch needs.
pub(super) fn slots_of(batch: &Batch) -> usize {
    batch.len().div_ceil(SLOT)
}

impl Job {
    /// A batch that nobody has begun. `slots` are empty, and as many as it needs or more.
    pub(super) fn new(
        batch: &Arc<Batch>,
        slots: &Arc<Slots>,
        watch: &Arc<Watch>,
        workers: usize,
    ) -> Job {
        let slot_count = slots_of(batch);
        assert!(slots.len() >= slot_count, "every trial has a slot");
        Job {
            batch: Arc::clone(batch),
            slots: Arc::clone(slots),
            watch: Arc::clone(watch),
            slot_count,
            workers,
            next: CachePadded::default(),
            done: CachePadded::default(),
            given_up: AtomicBool::new(false),
            error: Mutex::new(None),
        }
    }

    /// The next slots to run: a share of what is left, so that all workers end
    /// at about the same time.
    pub(super) fn take(&self) -> Option<Range<usize>> {
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

    /// Runs the trials of one slot, unless the batch is given up.
    pub(super) fn run_slot(&self, worker: &mut Worker, slot: usize) {
        for index in (slot * SLOT..).take(self.trials_of(slot)) {
            if self.given_up.load(Ordering::Relaxed) {
                break;
            }
            match worker.run(&self.batch, index) {
                Ok(outcome) => {
                    if self.watch.ends(worker, &outcome) {
                        self.give_up();
                    }
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
    }

    /// How many trials a slot has.
    fn trials_of(&self, slot: usize) -> usize {
        ((slot + 1) * SLOT).min(self.batch.len()) - slot * SLOT
    }

    /// Moves the outcomes of a slot, if they are all there; which worker ran them.
    pub(super) fn take_outcomes(&self, slot: usize, outcomes: &mut Vec<Outcome>) -> Option<usize> {
        self.take_at_least(self.trials_of(slot), slot, outcomes)
    }

    /// Moves those before the first one missing, when no more will come.
    pub(super) fn take_rest(&self, slot: usize, outcomes: &mut Vec<Outcome>) -> Option<usize> {
        self.take_at_least(1, slot, outcomes)
    }

    fn take_at_least(
        &self,
        least: usize,
        slot: usize,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<usize> {
        // Whoever holds the lock is about to put them there.
        let mut found = self.slots[slot].0.try_lock().ok()?;
        if found.outcomes.len() < least {
            return None;
        }
        outcomes.append(&mut found.outcomes);
        Some(found.worker)
    }

    /// Whether every slot was taken and left again.
    pub(super) fn is_done(&self) -> bool {
        self.done.0.load(Ordering::SeqCst) == self.slot_count
    }

    /// Drops the outcomes that nobody took.
    pub(super) fn clear(&self) {
        for slot in &self.slots[..self.slot_count] {
            slot.0.lock().expect("no worker panicked").outcomes.clear();
        }
    }

    /// Why not every trial has an outcome: the error of the earliest one that failed, or
    /// nothing if the batch was given up. Panics if it was neither.
    pub(super) fn why_cut(&self) -> Result<()> {
        if let Some((_, error)) = self.error.lock().expect("no worker panicked").take() {
            return Err(error);
        }
        let given_up = self.given_up.load(Ordering::Acquire);
        assert!(given_up, "every trial has an outcome");
        Ok(())
    }

    /// Gives up the rest; slots still count as done when somebody took them.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
    }

    fn fail(&self, index: usize, error: anyhow::Error) {
        let mut first = self.error.lock().expect("no worker panicked");
        if first.as_ref().is_none_or(|(at, _)| index < *at) {
            *first = Some((index, error));
        }
    }
}
