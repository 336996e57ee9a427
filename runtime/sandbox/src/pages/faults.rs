//! Faults: what the first write to a watched page does, and where a guest trapped.
//!
//! A handler in front of wasmtime's. A write to a watched page makes that page writable and puts it on its
//! region's hot list; of any other fault the address is kept, and wasmtime gets it.
//!
//! This is one of the files that may use `unsafe`. Contract: the handler uses atomics and `mprotect` alone, and
//! follows the pointer to a [`Watch`] only on the thread that uses its region.
#![expect(unsafe_code, reason = "handles signals, and changes protection there")]

use std::cell::Cell;
use std::io;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use super::PAGE;

/// Past this many hot pages a fault unprotects a whole chunk: the kernel limits mappings.
const SCATTERED_PAGES_MAX: usize = 8192;
/// Pages of such a chunk.
const CHUNK_PAGES: usize = 64;

/// States of a page.
pub(super) const COLD: u32 = 0;
pub(super) const HOT: u32 = 1;

/// What the fault handler sees of a watched region.
pub(super) struct Watch {
    pub(super) base: usize,
    /// Bytes that are watched; 0 while the region is not.
    pub(super) bytes: AtomicUsize,
    /// COLD or HOT, one per page.
    pub(super) states: Box<[AtomicU32]>,
    /// Pages in the order in which they became hot.
    pub(super) hot: Box<[AtomicU32]>,
    pub(super) hot_count: AtomicUsize,
}

impl Watch {
    /// Of so many bytes at `base`, all of whose pages are cold.
    pub(super) fn new(base: usize, bytes: usize) -> Watch {
        let cells = || (0..bytes / PAGE).map(|_| AtomicU32::new(COLD)).collect();
        Watch {
            base,
            bytes: AtomicUsize::new(bytes),
            states: cells(),
            hot: cells(),
            hot_count: AtomicUsize::new(0),
        }
    }
}

/// A region that the handler knows. Where it lies is kept beside the pointer, which may be followed
/// only by the thread that faulted inside: the others may be freed at any time by their own threads.
struct Known {
    watch: AtomicPtr<Watch>,
    /// Address range; empty while the slot is free.
    start: AtomicUsize,
    end: AtomicUsize,
}

/// A slot per watched memory of the process.
static WATCHES: [Known; 1024] = [const {
    Known {
        watch: AtomicPtr::new(ptr::null_mut()),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
    }
}; 1024];
static WATCHES_USED: AtomicUsize = AtomicUsize::new(0);

/// `reserved` is the length of the region's mapping.
pub(super) fn register(watch: &Watch, reserved: usize) -> io::Result<()> {
    let entry = ptr::from_ref(watch).cast_mut();
    for (index, slot) in WATCHES.iter().enumerate() {
        let free = &slot.watch;
        if free
            .compare_exchange(ptr::null_mut(), entry, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
        {
            slot.start.store(watch.base, Ordering::Release);
            slot.end.store(watch.base + reserved, Ordering::Release);
            WATCHES_USED.fetch_max(index + 1, Ordering::AcqRel);
            return Ok(());
        }
    }
    Err(io::Error::other(
        "more than 1024 watched memories in one process",
    ))
}

pub(super) fn unregister(watch: &Watch) {
    let entry = ptr::from_ref(watch).cast_mut();
    for slot in &WATCHES {
        if slot.watch.load(Ordering::Acquire) == entry {
            // The range first: a slot is taken by whoever finds no watch in it.
            slot.end.store(0, Ordering::Release);
            slot.watch.store(ptr::null_mut(), Ordering::Release);
            return;
        }
    }
}

/// The signals by which a guest traps; the first is also that of a watched page.
const SIGNALS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

static PREVIOUS: [AtomicPtr<libc::sigaction>; 4] = [const { AtomicPtr::new(ptr::null_mut()) }; 4];

thread_local! {
    static TRAP_PC: Cell<usize> = const { Cell::new(0) };
}

/// The address of the native instruction of this thread's latest trap, once.
pub(crate) fn take_trap_pc() -> usize {
    TRAP_PC.take()
}

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
    if signal == libc::SIGSEGV && make_hot(address) {
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
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    // SAFETY: the kernel passes a valid context to a handler with SA_SIGINFO.
    return unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] } as usize;
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    // SAFETY: as above.
    return unsafe { (*context).uc_mcontext.pc } as usize;
    #[cfg(not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    {
        let _ = context;
        0
    }
}

/// The first write to a watched page. Async-signal-safe: atomics and `mprotect` only.
fn make_hot(address: usize) -> bool {
    for slot in &WATCHES[..WATCHES_USED.load(Ordering::Acquire)] {
        let end = slot.end.load(Ordering::Acquire);
        let start = slot.start.load(Ordering::Acquire);
        if !(start..end).contains(&address) {
            continue;
        }
        let watch = slot.watch.load(Ordering::Acquire);
        // Another thread may be changing the slot, but never this thread's own.
        if watch.is_null() || slot.end.load(Ordering::Acquire) != end {
            continue;
        }
        // SAFETY: the address lies in a region's mapping, so this thread uses, and keeps, that
        // region; its slot has not changed since it was registered. A slot that held another
        // region at this address was emptied before that one was unmapped.
        let watch = unsafe { &*watch };
        let offset = address - start;
        if offset >= watch.bytes.load(Ordering::Relaxed) {
            continue;
        }
        let page = offset / PAGE;
        let Some(state) = watch.states.get(page) else {
            return false;
        };
        if state.load(Ordering::Relaxed) == HOT {
            return false;
        }
        let count = watch.hot_count.load(Ordering::Relaxed);
        let (first, pages) = if count < SCATTERED_PAGES_MAX {
            (page, 1)
        } else {
            let first = page / CHUNK_PAGES * CHUNK_PAGES;
            (first, CHUNK_PAGES.min(watch.states.len() - first))
        };
        let start = (watch.base + first * PAGE) as *mut libc::c_void;
        // SAFETY: the pages lie inside the watched, accessible part of the region's mapping.
        if unsafe { libc::mprotect(start, pages * PAGE, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
            return false;
        }
        for page in first..first + pages {
            if watch.states[page].swap(HOT, Ordering::Relaxed) == COLD {
                let at = watch.hot_count.fetch_add(1, Ordering::Relaxed);
                watch.hot[at].store(page as u32, Ordering::Relaxed);
            }
        }
        return true;
    }
    false
}
