//! When a session has to end, and the batch that it is in with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use sandglass_engine::Outcome;

use super::Worker;

/// How long a batch may go on after the session should have ended: nearly all
/// batches end by themselves within it.
pub const GRACE: Duration = Duration::from_millis(200);

/// Fuel between two looks at the clock: about a millisecond of work.
const FUEL_PER_LOOK: u64 = 1_000_000;

/// What a trial counts for beside its fuel. A look costs 25 ns, so one every 32
/// trials is nothing; and trials may be slow for reasons that no fuel shows,
/// such as a fresh instance each.
const FUEL_PER_TRIAL: u64 = FUEL_PER_LOOK / 32;

/// What ends a session early; by default nothing. Shared with signal handlers.
#[derive(Clone, Debug, Default)]
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

/// Who looks whether a batch should be given up. Shared by the workers.
pub(super) struct Watch {
    stop: Stop,
    /// When somebody first saw that the session should have ended.
    late_since: OnceLock<Instant>,
}

impl Watch {
    pub(super) fn new(stop: Stop) -> Watch {
        Watch {
            stop,
            late_since: OnceLock::new(),
        }
    }

    /// Whether the session should have ended so long ago that the batch is better given up.
    pub(super) fn is_overdue(&self) -> bool {
        if !self.stop.is_interrupted() && !self.stop.is_late() {
            return false;
        }
        self.late_since.get_or_init(Instant::now).elapsed() >= GRACE
    }

    /// The same, asked after each trial: looks at the clock only now and then.
    #[inline]
    pub(super) fn ends(&self, worker: &mut Worker, outcome: &Outcome) -> bool {
        worker.unwatched += outcome.fuel + FUEL_PER_TRIAL;
        if worker.unwatched < FUEL_PER_LOOK {
            return false;
        }
        worker.unwatched = 0;
        self.is_overdue()
    }
}
