//! Faults: what the first write to a watched page does, and where a guest trapped.
//!
//! A handler in front of wasmtime's (`signals`, `exceptions`) tells. A write to a watched page makes that page
//! writable and puts it on its region's hot list; of any other fault the address is kept, and wasmtime gets it.
//!
//! This is one of the files that may use `unsafe`. Contract: what the handler calls uses atomics and one system
//! call alone, and follows the pointer to a [`Watch`] only on the thread that uses its region.
#![expect(unsafe_code, reason = "changes protection while a fault is handled")]

use std::cell::Cell;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use super::{PAGE, system};

#[cfg(windows)]
mod exceptions;
#[cfg(unix)]
mod signals;

#[cfg(windows)]
pub(crate) use exceptions::{KNOWS_TRAP_PC, install_handler};
#[cfg(unix)]
pub(crate) use signals::{KNOWS_TRAP_PC, install_handler};

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

thread_local! {
    static TRAP_PC: Cell<usize> = const { Cell::new(0) };
}

/// The address of the native instruction of this thread's latest trap, once; 0 without [`KNOWS_TRAP_PC`].
pub(crate) fn take_trap_pc() -> usize {
    TRAP_PC.take()
}

/// The first write to a watched page. Async-signal-safe: atomics and one system call.
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
        let start = (watch.base + first * PAGE) as *mut u8;
        // SAFETY: the pages lie inside the watched, accessible part of the region's mapping.
        if unsafe { system::allow_writes(start, pages * PAGE) }.is_err() {
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
