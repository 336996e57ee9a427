//! Interruption: Ctrl-C, a polite kill, and a terminal or connection that goes away.
//!
//! Out: a flag that the first of them sets. The second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

/// A signal this soon after the first one is the same once more: `timeout` sends one to the process and one to its group.
const ECHO: Duration = Duration::from_millis(300);
/// How often somebody looks whether there was one.
const LOOK: Duration = Duration::from_millis(50);

/// The flag. A terminal that goes away stays ignored where it was, as by `nohup`. Ctrl-C does not: shells have their background jobs
/// ignore it, and whoever sends it to one means it, as with other fuzzers.
///
/// Also makes a file size limit (`ulimit -f`) an error of the write instead of
/// a signal that kills us.
pub(super) fn interruption() -> Result<Arc<AtomicBool>> {
    let (is_first, is_second) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup()) {
        register_conditional_shutdown(signal, 130, Arc::clone(&is_second))?;
        register(signal, Arc::clone(&is_first))?;
    }
    #[cfg(unix)]
    register(libc::SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let seen = Arc::clone(&is_first);
    thread::spawn(move || {
        while !seen.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        thread::sleep(ECHO);
        is_second.store(true, Ordering::Relaxed);
    });
    Ok(is_first)
}

/// The signal of a terminal that goes away, unless it is ignored.
#[cfg(unix)]
#[expect(unsafe_code, reason = "asks the system")]
fn hangup() -> Option<libc::c_int> {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action nothing changes; the old one is written to memory that is ours, and zeros are one.
    let action = unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    (action.sa_sigaction != libc::SIG_IGN).then_some(libc::SIGHUP)
}

#[cfg(not(unix))]
fn hangup() -> Option<i32> {
    None
}
