//! Faults: what the first write to a watched page does, and where a guest trapped.
//!
//! A handler in front of wasmtime's (`signals`, `exceptions`) tells. A write to a watched page makes that page
//! writable and puts it on its region's hot list; of any other fault the address is kept, and wasmtime gets it.
//!
//! This is one of the files that may use `unsafe`. Contract: what the handler calls uses atomics and one kind of
//! system call alone, and follows the pointer to a [`Watch`] only on the thread that uses its region.
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

/// Runs of neighbouring hot pages that all watched regions of the process may have together; past that, a fault
/// unprotects its whole region. Each run takes two mappings, and Linux gives a process 65,530: a quarter is left for all
/// else.
const RUNS_MAX: usize = 24_576;
/// Past this many a fault unprotects a whole chunk.
const SCATTERED_RUNS_MAX: usize = RUNS_MAX / 3 * 2;
/// Pages of such a chunk.
const CHUNK_PAGES: usize = 64;

/// Runs of hot pages in the process, or more.
static RUNS: AtomicUsize = AtomicUsize::new(0);

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
    /// How many runs of neighbours they are, or more: its part of [`RUNS`].
    runs: AtomicUsize,
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
            runs: AtomicUsize::new(0),
        }
    }

    /// May there be so many runs of hot pages?
    pub(super) fn has_room(&self, runs: usize) -> bool {
        let more = runs.saturating_sub(self.runs.load(Ordering::Relaxed));
        more == 0 || RUNS.load(Ordering::Relaxed) + more <= RUNS_MAX
    }

    /// Says how many runs of hot pages there are.
    pub(super) fn settle(&self, runs: usize) {
        let before = self.runs.swap(runs, Ordering::Relaxed);
        // Wraps around where there are fewer, as the sum does.
        RUNS.fetch_add(runs.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Makes pages writable and puts those that were not on the hot list.
    fn open(&self, first: usize, pages: usize) -> io::Result<()> {
        let start = (self.base + first * PAGE) as *mut u8;
        // SAFETY: the pages lie inside the watched, accessible part of the region's mapping.
        unsafe { system::allow_writes(start, pages * PAGE) }?;
        let is_hot = |page: usize| {
            let state = self.states.get(page);
            state.is_some_and(|state| state.load(Ordering::Relaxed) == HOT)
        };
        // What has hot pages inside or beside it is no run of its own.
        if !(first.saturating_sub(1)..=first + pages).any(is_hot) {
            self.settle(self.runs.load(Ordering::Relaxed) + 1);
        }
        for page in first..first + pages {
            if self.states[page].swap(HOT, Ordering::Relaxed) == COLD {
                let at = self.hot_count.fetch_add(1, Ordering::Relaxed);
                self.hot[at].store(page as u32, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Makes all pages hot. It needs no further mapping.
    pub(super) fn open_all(&self) -> io::Result<()> {
        self.open(0, self.states.len())?;
        self.settle(1);
        Ok(())
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
    watch.settle(0);
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

/// The first write to a watched page. Async-signal-safe: atomics and one kind of system call.
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
        let opened = match RUNS.load(Ordering::Relaxed) {
            ..SCATTERED_RUNS_MAX => watch.open(page, 1),
            SCATTERED_RUNS_MAX..RUNS_MAX => {
                let first = page / CHUNK_PAGES * CHUNK_PAGES;
                watch.open(first, CHUNK_PAGES.min(watch.states.len() - first))
            }
            _ => watch.open_all(),
        };
        // Others than we may have taken the mappings.
        return opened.or_else(|_| watch.open_all()).is_ok();
    }
    false
}
