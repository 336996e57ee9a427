//! Signals: the fault handler of Unix.
//!
//! This is one of the files that may use `unsafe`. Contract: the handler is async-signal-safe, and passes on
//! what is not ours as if it were not there.
#![expect(unsafe_code, reason = "handles signals")]

use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{TRAP_PC, make_hot};

/// The signals by which a guest traps.
const SIGNALS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
/// The one of a write to a read-only page.
const WRITE_SIGNAL: i32 = if cfg!(target_vendor = "apple") {
    libc::SIGBUS
} else {
    libc::SIGSEGV
};

/// Does the handler know where a guest trapped?
pub(crate) const KNOWS_TRAP_PC: bool = cfg!(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
));

static PREVIOUS: [AtomicPtr<libc::sigaction>; 4] = [const { AtomicPtr::new(ptr::null_mut()) }; 4];

/// Installs the fault handler in front of wasmtime's, which must exist by now.
pub(crate) fn install_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (signal, previous) in SIGNALS.into_iter().zip(&PREVIOUS) {
            // SAFETY: plain system calls on zeroed structures; the old action is leaked so that
            // the handler can read it for ever.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, ptr::null(), &raw mut old);
                previous.store(Box::leak(Box::new(old)), Ordering::Release);
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = on_fault as *const () as usize;
                new.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut new.sa_mask);
                libc::sigaction(signal, &raw const new, ptr::null_mut());
            }
        }
    });
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo.
    let address = unsafe { (*info).si_addr() } as usize;
    if signal == WRITE_SIGNAL && make_hot(address) {
        return;
    }
    // A thread-local without destructor: reading and writing it allocates nothing.
    TRAP_PC.set(program_counter(context));
    // SAFETY: PREVIOUS was stored before this handler was installed and is never freed; its
    // handler has the signature that its flags announce.
    unsafe {
        let index = SIGNALS.iter().position(|s| *s == signal).unwrap_or(0);
        let previous = PREVIOUS[index].load(Ordering::Acquire);
        let action = (*previous).sa_sigaction;
        if action == libc::SIG_DFL || action == libc::SIG_IGN {
            // Not a guest's fault at all: die of it as if we were not there.
            libc::sigaction(signal, previous, ptr::null_mut());
        } else if (*previous).sa_flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(action);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(i32) = std::mem::transmute(action);
            handler(signal);
        }
    }
}

/// Where the interrupted code was; 0 where we do not know how to tell.
fn program_counter(context: *mut libc::c_void) -> usize {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid context to a handler with SA_SIGINFO.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] } as usize;
    // SAFETY: as above.
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    return unsafe { (*context).uc_mcontext.pc } as usize;
    // SAFETY: as above; the context points to the registers.
    #[cfg(all(target_os = "macos", target_arch = "x86_64"))]
    return unsafe { (*(*context).uc_mcontext).__ss.__rip } as usize;
    // SAFETY: as above.
    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    return unsafe { (*(*context).uc_mcontext).__ss.__pc } as usize;
    #[cfg(not(all(
        any(target_os = "linux", target_os = "macos"),
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    {
        let _ = context;
        0
    }
}
