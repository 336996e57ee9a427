//! Jobs that we hold: kept ours at the server until their lease ends by our own clock.
//!
//! The server gives a job to somebody else when it hears nothing about it for a few seconds, whatever
//! the lease: so a dead worker is noticed soon, and a slow one in good time. Leases are measured by the
//! monotonic clock; nothing here looks at the date. There is no fence: somebody who slept past the
//! lease finishes a job that somebody else has by then, and the first result stays.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State as Wire;
use tokio::time::{Instant, MissedTickBehavior};

/// What a lease sends to say that it goes on.
const IN_PROGRESS: &[u8] = b"+WPI";

/// No lease is longer: nobody means to hold a job for more than a day without a word.
const LEASE_MOST: Duration = Duration::from_secs(24 * 3600);

/// Marks of jobs that we hold, and when each lease ends. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Leases(Arc<Mutex<BTreeMap<String, Lease>>>);

struct Lease {
    ends: Instant,
    length: Duration,
}

impl Leases {
    /// Holds, or goes on holding.
    pub(crate) fn hold(&self, token: &str, lease: Duration) {
        let length = lease.min(LEASE_MOST);
        let ends = Instant::now() + length;
        self.lock().insert(token.to_owned(), Lease { ends, length });
    }

    /// As long again; `false` if we do not hold it any more.
    pub(crate) fn extend(&self, token: &str) -> bool {
        let now = Instant::now();
        self.lock().get_mut(token).is_some_and(|lease| {
            lease.ends = now + lease.length;
            true
        })
    }

    pub(crate) fn release(&self, token: &str) {
        self.lock().remove(token);
    }

    /// Drops what has ended, and tells the rest.
    fn held(&self, now: Instant) -> Vec<String> {
        let mut leases = self.lock();
        leases.retain(|_, lease| lease.ends > now);
        leases.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the server about our leases, `every` so often, for ever.
pub(crate) async fn keep(leases: Leases, client: Client, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for token in leases.held(Instant::now()) {
            if client.connection_state() == Wire::Connected {
                // One that is lost is sent again; and if all are, somebody else does the job.
                let _ = client.publish(token, IN_PROGRESS.into()).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_unless_it_is_held_again() {
        let leases = Leases::default();
        let start = Instant::now();
        let second = Duration::from_secs(1);
        leases.hold("a", second);
        leases.hold("b", 10 * second);
        assert_eq!(leases.held(start), ["a", "b"]);
        assert_eq!(leases.held(start + 5 * second), ["b"]);
        assert!(!leases.extend("a"));
        assert!(leases.extend("b"));
        leases.release("b");
        assert!(leases.held(start).is_empty());
    }
}
