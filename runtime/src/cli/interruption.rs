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
const LOOK: Duration = Duration::from_millis(50);

/// The flag. What the process was told to ignore stays ignored, as by `nohup`.
///
/// Also makes a file size limit (`ulimit -f`) an error of the write instead of
/// a signal that kills us.
pub(super) fn interruption() -> Result<Arc<AtomicBool>> {
    let (is_first, is_second) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
    #[cfg(unix)]
    let signals = [SIGINT, SIGTERM, libc::SIGHUP];
    #[cfg(not(unix))]
    let signals = [SIGINT, SIGTERM];
    for signal in signals.into_iter().filter(|signal| !is_ignored(*signal)) {
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

#[cfg(unix)]
#[expect(unsafe_code, reason = "asks the system")]
fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action nothing changes; the old one is written to memory that is ours, and zeros are one.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

#[cfg(not(unix))]
fn is_ignored(_: i32) -> bool {
    false
}
