//! Pages: the mappings behind guest memories, and which of their pages were written.
//!
//! A [`Region`] is a reservation of address space of which the first `size` bytes are accessible.
//! A *watched* region starts read-only; the first write to a page faults once, and the handler
//! (`faults`) makes the page writable and puts it on the *hot* list. A page that is not on the list is
//! provably unchanged. What to do with the list is `reset`'s business.
//!
//! This is one of the files that may use `unsafe`. Contract: a region's mapping lives as long as
//! the region; only one thread at a time uses a region (a sandbox is not shared); offsets are
//! checked here. A safe version (copying all of memory, or comparing it) costs 1.3 ms a run at
//! 16 MiB and 40 ms at 256 MiB, against 50 ns.
#![expect(unsafe_code, reason = "hands out memory that a guest writes")]

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

mod faults;
mod system;
mod touched;
mod window;

use faults::{COLD, Watch, register, unregister};
pub(crate) use faults::{KNOWS_TRAP_PC, install_handler, take_trap_pc};
pub(crate) use window::Window;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Growth up to this is zeroed when it is taken back, and its pages stay; beyond, the kernel takes
/// them, and each costs a fault when it is grown into again (1 to 2 us against 50 ns).
const ZEROED_BYTES_MAX: usize = 8 << 20;

/// A call of `system` that changes what some of a reservation is.
type Change = unsafe fn(*mut u8, usize) -> io::Result<()>;

/// A reservation of address space for one linear memory.
pub(crate) struct Region {
    base: *mut u8,
    reserved: usize,
    size: AtomicUsize,
    /// Bytes that `grow` may reach.
    limit: usize,
    /// What it and others come to, if that is bounded.
    total: OnceLock<Arc<Total>>,
    refused: AtomicBool,
    watch: OnceLock<Box<Watch>>,
}

/// Bytes of some regions together.
struct Total {
    bytes: AtomicUsize,
    limit: usize,
}

/// Bounds how far the regions may grow: from now on no further than to `limit` bytes of all of them.
///
/// # Panics
/// When one of them is bounded together with others already.
pub(crate) fn bound_together(regions: &[Arc<Region>], limit: usize) {
    let bytes = regions.iter().map(|region| region.size()).sum();
    let total = Arc::new(Total {
        bytes: AtomicUsize::new(bytes),
        limit,
    });
    for region in regions {
        let was_free = region.total.set(total.clone()).is_ok();
        assert!(was_free, "a region is bounded once");
    }
}

// SAFETY: a region owns its mapping; the pointer is not tied to a thread, and concurrent use is
// excluded by the contract above (all methods that touch bytes are called by the one sandbox that
// holds the region).
unsafe impl Send for Region {}
// SAFETY: as above; shared references are needed because wasmtime and the sandbox both hold one.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves `reserved` bytes, the first `size` of them readable and writable and zero.
    ///
    /// # Errors
    /// When the system refuses the mapping.
    pub(crate) fn new(size: usize, limit: usize, reserved: usize) -> io::Result<Region> {
        let reserved = reserved
            .max(limit)
            .max(size)
            .next_multiple_of(PAGE)
            .max(PAGE);
        let region = Region {
            base: system::reserve(reserved)?,
            reserved,
            size: AtomicUsize::new(0),
            limit,
            total: OnceLock::new(),
            refused: AtomicBool::new(false),
            watch: OnceLock::new(),
        };
        region.ask(system::open, 0, size)?;
        region.size.store(size, Ordering::Relaxed);
        Ok(region)
    }

    /// First byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Accessible bytes.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// Reserved bytes.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved
    }

    /// Makes the first `size` bytes accessible; the new ones are zero.
    ///
    /// # Errors
    /// Beyond a limit (which is remembered, see [`Region::take_refused`]), or when the system
    /// refuses.
    pub(crate) fn grow(&self, size: usize) -> io::Result<()> {
        let old = self.size();
        let more = size.saturating_sub(old);
        if size > self.limit || self.left_together().is_some_and(|left| more > left) {
            self.refused.store(true, Ordering::Relaxed);
            return Err(io::Error::other("over the memory limit"));
        }
        if more > 0 {
            self.ask(system::open, old, more)?;
            self.resized(size);
        }
        Ok(())
    }

    /// By how much it and those that are bounded with it may grow.
    fn left_together(&self) -> Option<usize> {
        let total = self.total.get()?;
        let bytes = total.bytes.load(Ordering::Relaxed);
        Some(total.limit.saturating_sub(bytes))
    }

    fn resized(&self, size: usize) {
        let old = self.size.swap(size, Ordering::Relaxed);
        if let Some(total) = self.total.get() {
            // Wraps around where it is less, as the sum does.
            let more = size.wrapping_sub(old);
            total.bytes.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Was growth refused since the last call?
    #[inline]
    pub(crate) fn take_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed) && self.refused.swap(false, Ordering::Relaxed)
    }

    /// Takes back everything past `size`; if it becomes accessible again, it is zero.
    pub(crate) fn shrink(&self, size: usize) -> io::Result<()> {
        let old = self.size();
        if old > size {
            let bytes = old - size;
            if bytes <= ZEROED_BYTES_MAX {
                // SAFETY: the range is the accessible end of this region, which nobody looks at.
                unsafe { ptr::write_bytes(self.base.add(size), 0, bytes) };
            } else {
                self.ask(system::clear, size, bytes)?;
            }
            self.ask(system::close, size, bytes)?;
            self.resized(size);
        }
        Ok(())
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Panics
    /// Outside the accessible part: offsets are checked by the caller.
    #[inline]
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(
            offset
                .checked_add(bytes.len())
                .is_some_and(|end| end <= self.size()),
            "write past the memory"
        );
        // SAFETY: in bounds (checked above); the source is a slice of the host's and the region's
        // mapping is never handed out as a slice while this runs.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.add(offset), bytes.len()) }
    }

    /// The bytes `offset .. offset + len`.
    ///
    /// # Panics
    /// Outside the accessible part.
    #[inline]
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        assert!(
            offset
                .checked_add(len)
                .is_some_and(|end| end <= self.size()),
            "read past the memory"
        );
        // SAFETY: in bounds; nobody writes while the sandbox looks (one thread, guest not running).
        unsafe { std::slice::from_raw_parts(self.base.add(offset), len) }
    }

    /// The u32s at `offset`, for reading and clearing.
    ///
    /// # Panics
    /// Outside the accessible part, or when `offset` is not a multiple of four.
    #[inline]
    #[expect(
        clippy::mut_from_ref,
        reason = "the sandbox alone uses the region, see the contract"
    )]
    pub(crate) fn words(&self, offset: usize, count: usize) -> &mut [u32] {
        assert!(
            offset.is_multiple_of(4) && offset + count * 4 <= self.size(),
            "words past the memory"
        );
        // SAFETY: in bounds and aligned (the base is page-aligned); the sandbox holds one such
        // slice at a time and the guest is not running.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(offset).cast(), count) }
    }

    /// Offsets of the accessible pages that may hold something else than zeros, ascending. Ask
    /// before a [`Window`] is made: what is written through it does not show.
    pub(crate) fn touched(&self) -> Vec<usize> {
        touched::touched(self.base as usize, self.size())
    }

    /// Bytes of the accessible pages that the system keeps memory for.
    pub(crate) fn held_bytes(&self) -> usize {
        touched::held(self.base as usize, self.size()).len() * PAGE
    }

    /// Gives all pages back: every byte is zero. For regions that nobody watches.
    pub(crate) fn discard(&self) {
        assert!(self.watch.get().is_none(), "a watched region is reset");
        self.ask(system::clear, 0, self.size())
            .expect("giving back pages of our own mapping");
    }

    /// Asks the system for a change of some of the region.
    fn ask(&self, change: Change, offset: usize, bytes: usize) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        debug_assert!(offset + bytes <= self.reserved);
        // SAFETY: the range lies inside this region's own mapping, and nobody holds a slice of it: the
        // sandbox alone uses the region, and the guest is not running.
        unsafe { change(self.base.add(offset), bytes) }
    }

    /// Begins to watch all accessible bytes: from now on no page is hot.
    ///
    /// # Errors
    /// When the system refuses the protection or has larger pages, or too many regions are watched.
    pub(crate) fn watch(&self) -> io::Result<()> {
        if system::page_bytes() != PAGE {
            return Err(io::ErrorKind::Unsupported.into());
        }
        install_handler();
        let watch = Box::new(Watch::new(self.base as usize, self.size()));
        register(&watch, self.reserved)?;
        assert!(self.watch.set(watch).is_ok(), "a region is watched once");
        self.ask(system::forbid_writes, 0, self.size() / PAGE * PAGE)
    }

    /// How many pages are hot.
    #[inline]
    pub(crate) fn hot_count(&self) -> usize {
        self.watch
            .get()
            .map_or(0, |w| w.hot_count.load(Ordering::Relaxed))
    }

    /// The hot pages from number `from` on, in the order in which they became hot.
    pub(crate) fn hot_pages(&self, from: usize) -> Vec<u32> {
        let Some(watch) = self.watch.get() else {
            return Vec::new();
        };
        watch.hot[from..self.hot_count()]
            .iter()
            .map(|page| page.load(Ordering::Relaxed))
            .collect()
    }

    /// Says how many runs of neighbours the hot pages are, which the fault handler can only bound.
    pub(crate) fn settle(&self, runs: usize) {
        if let Some(watch) = self.watch.get() {
            watch.settle(runs);
        }
    }

    /// Replaces the hot list: pages that are on it and not in `kept`, which ascends, are protected
    /// again, after the caller has put their bytes back. All stay hot, and the answer is false, where
    /// that would take too many mappings.
    pub(crate) fn cool(&self, kept: &[u32]) -> bool {
        let Some(watch) = self.watch.get() else {
            return true;
        };
        let runs = kept.chunk_by(|a, b| a + 1 == *b).count();
        if !watch.has_room(runs) {
            return false;
        }
        let mut keep = kept.iter().copied().peekable();
        let mut sorted = self.hot_pages(0);
        sorted.sort_unstable();
        sorted.retain(|page| keep.next_if_eq(page).is_none());
        for page in &sorted {
            watch.states[*page as usize].store(COLD, Ordering::Relaxed);
        }
        for (slot, page) in watch.hot.iter().zip(kept) {
            slot.store(*page, Ordering::Relaxed);
        }
        watch.hot_count.store(kept.len(), Ordering::Relaxed);
        watch.settle(runs);
        let protect = |page| self.ask(system::forbid_writes, page as usize * PAGE, PAGE);
        if sorted.into_iter().try_for_each(protect).is_err() {
            watch
                .open_all()
                .expect("all pages of our own mapping are writable without a new one");
        }
        true
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.get() {
            unregister(watch);
        }
        // SAFETY: the mapping is this region's own and nobody refers to it any more.
        unsafe { system::release(self.base, self.reserved) };
    }
}

/// Does watching work here (containers, debuggers and kernels may differ)? Tried once, on a page
/// of our own.
pub(crate) fn watching_works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        // Nobody has tried it elsewhere, and a probe that fails there may end the process.
        if !cfg!(target_os = "linux") {
            return false;
        }
        let Ok(region) = Region::new(4 * PAGE, 4 * PAGE, 4 * PAGE) else {
            return false;
        };
        if region.watch().is_err() {
            return false;
        }
        region.write(2 * PAGE + 7, &[1]);
        region.hot_pages(0) == [2]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_write_makes_a_page_hot_and_cooling_protects_it_again() {
        let region = Region::new(8 * PAGE, 8 * PAGE, 16 * PAGE).expect("maps");
        region.write(PAGE, b"before");
        if system::page_bytes() != PAGE {
            return assert!(region.watch().is_err());
        }
        region.watch().expect("watches");
        assert_eq!(region.hot_count(), 0);
        region.write(3 * PAGE - 1, b"ab");
        region.write(3 * PAGE, b"c");
        assert_eq!(region.hot_pages(0), [2, 3]);
        assert!(region.cool(&[3]));
        assert_eq!(region.hot_pages(0), [3]);
        region.write(2 * PAGE, b"x");
        assert_eq!(region.hot_pages(1), [2]);
        assert_eq!(region.bytes(PAGE, 6), b"before");
    }

    #[test]
    fn all_pages_can_be_hot_and_cool_down() {
        let region = Region::new(8 * PAGE, 8 * PAGE, 8 * PAGE).expect("maps");
        if region.watch().is_err() {
            return;
        }
        region.write(5 * PAGE, b"a");
        let watch = region.watch.get().expect("set above");
        watch.open_all().expect("opens");
        assert_eq!(region.hot_pages(0), [5, 0, 1, 2, 3, 4, 6, 7]);
        region.write(0, &[1; 8 * PAGE]);
        assert!(region.cool(&[1, 2, 5]));
        region.write(4 * PAGE, b"b");
        assert_eq!(region.hot_pages(0), [1, 2, 5, 4]);
    }

    #[test]
    fn regions_can_be_bounded_together() {
        let region = || Region::new(PAGE, 4 * PAGE, 4 * PAGE).expect("maps");
        let regions = [Arc::new(region()), Arc::new(region())];
        bound_together(&regions, 5 * PAGE);
        let [a, b] = &regions;
        a.grow(3 * PAGE).expect("five pages are free for both");
        assert!(b.grow(3 * PAGE).is_err());
        assert!(b.take_refused() && !a.take_refused());
        b.grow(2 * PAGE).expect("just fits");
        a.shrink(PAGE).expect("shrinks");
        b.grow(4 * PAGE).expect("there is room again");
    }

    #[test]
    fn pages_that_were_written_are_touched() {
        let region = Region::new(64 * PAGE, 64 * PAGE, 64 * PAGE).expect("maps");
        region.write(3 * PAGE - 1, b"ab");
        region.write(63 * PAGE, b"c");
        let touched = region.touched();
        for page in [2, 3, 63] {
            assert!(touched.contains(&(page * PAGE)), "page {page}: {touched:?}");
        }
        assert!(touched.is_sorted());
        if cfg!(target_os = "linux") && system::page_bytes() == PAGE {
            assert!(touched.len() < 64, "nobody touched them all");
        }
        let empty = Region::new(0, PAGE, PAGE).expect("maps");
        assert!(empty.touched().is_empty());
    }

    #[test]
    fn growth_is_limited_and_shrinking_zeroes() {
        let region = Region::new(PAGE, 4 * PAGE, 8 * PAGE).expect("maps");
        region.grow(3 * PAGE).expect("within the limit");
        region.write(2 * PAGE, b"grown");
        region.shrink(PAGE).expect("shrinks");
        region.grow(3 * PAGE).expect("again");
        assert_eq!(region.bytes(2 * PAGE, 5), [0; 5]);
        assert!(!region.take_refused());
        assert!(region.grow(5 * PAGE).is_err());
        assert!(region.take_refused());
        assert!(!region.take_refused());
    }
}
