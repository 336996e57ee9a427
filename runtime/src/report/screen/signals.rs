//! Signals while the terminal is taken: it is given back before they take effect.
//!
//! The first Ctrl-C ends the campaign after its batch, the second one the process, without a word: whoever set
//! those up (`cli.rs`) need not know of terminals, because this thread has given it back after the first.

use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use super::{Shared, lock};

/// A thread that waits for signals until it is dropped.
pub(super) struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// `None` where the system does not let us: then signals do what they do, and the screen stays.
    pub(super) fn start(shared: &Arc<Shared>) -> Option<Watch> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]).ok()?;
        let handle = signals.handle();
        let shared = Arc::downgrade(shared);
        let thread = thread::spawn(move || {
            for signal in signals.forever() {
                came(signal, &shared);
            }
        });
        Some(Watch {
            handle,
            thread: Some(thread),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn came(signal: i32, shared: &Weak<Shared>) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    match signal {
        SIGINT | SIGTERM | SIGHUP => {
            shared.end();
            let mut notice = b"ending; a second Ctrl-C does not wait\n".to_vec();
            lock(&shared.terminal).lines(&mut notice);
        }
        _ => {
            lock(&shared.terminal).give_back();
            shared.print();
            // Back from a suspension, or never.
            let _ = emulate_default_handler(signal);
            lock(&shared.terminal).take();
        }
    }
}
