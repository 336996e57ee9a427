//! One's own code of a campaign's target, found while the campaign runs: reading debug information takes time, and
//! nothing that a campaign does waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use sandglass_engine::Engine;

use crate::own::{Own, OwnEdges};
use crate::target::Target;

/// How long the end of a session waits for it: an honest module of 10 MB needs less than a second. Without it the
/// summary does not tell of one's own code, and nothing else is different.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What is known of it so far.
pub struct OwnCode {
    coming: Option<Receiver<Own>>,
    found: Option<Own>,
    stop: Arc<AtomicBool>,
}

impl OwnCode {
    /// Of no module that we know.
    pub fn unknown() -> OwnCode {
        OwnCode {
            coming: None,
            found: None,
            stop: Arc::default(),
        }
    }

    /// Begins to look for it. Errs if the target cannot be compiled.
    pub fn of(target: &Arc<Target>) -> Result<OwnCode> {
        let program = target.program(target.campaign_build())?;
        let target = Arc::clone(target);
        let (send, coming) = channel();
        let mut own = OwnCode::unknown();
        own.coming = Some(coming);
        let stop = Arc::clone(&own.stop);
        thread::spawn(move || {
            let found = Own::new(&target.module.wasm, program.probe_map(), &stop);
            // The campaign may have ended.
            found.map(|found| send.send(found))
        });
        Ok(own)
    }

    /// How much of it a campaign has reached; `None` if that is not known, or not yet.
    pub(super) fn reached(&mut self, engine: &Engine) -> Option<OwnEdges> {
        if let Some(coming) = &self.coming
            && let Ok(found) = coming.try_recv()
        {
            self.found = Some(found);
            self.coming = None;
        }
        let interest = engine.interest();
        let is_counted = engine.stats().edges_total > 0;
        let found = self.found.as_ref().filter(|_| is_counted)?;
        found.reached(|probe| interest.all.has(probe))
    }

    /// Waits until it is known, or for so long that it need not be.
    pub(super) fn wait(&mut self) {
        if let Some(coming) = self.coming.take() {
            self.found = coming.recv_timeout(WAIT_MAX).ok();
        }
    }
}

impl Drop for OwnCode {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
