//! Pages: the mappings behind guest memories, and which of their pages were written.
//!
//! A [`Region`] is a reservation of address space of which the first `size` bytes are accessible.
//! A *watched* region starts read-only; the first write to a page faults once, and the handler
//! makes the page writable and puts it on the *hot* list. A page that is not on the list is
//! provably unchanged. What to do with the list is `reset`'s business.
//!
//! This is one of the files that may use `unsafe`. Contract: a region's mapping lives as long as
//! the region; only one thread at a time uses a region (a sandbox is not shared); offsets are
//! checked here. A safe version (copying all of memory, or comparing it) costs 1.3 ms a run at
//! 16 MiB and 40 ms at 256 MiB, against 50 ns.
#![expect(
    unsafe_code,
    reason = "maps memory, changes its protection, and handles its faults"
)]

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Once, OnceLock};

mod touched;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Past this many hot pages a fault unprotects a whole chunk: the kernel limits mappings.
const SCATTERED_PAGES_MAX: usize = 8192;
/// Pages of such a chunk.
const CHUNK_PAGES: usize = 64;

/// Growth up to this is zeroed when it is taken back, and its pages stay; beyond, the kernel takes
/// them, and each costs a fault when it is grown into again (1 to 2 us against 50 ns).
const ZEROED_BYTES_MAX: usize = 8 << 20;

const COLD: u32 = 0;
const HOT: u32 = 1;

/// What the fault handler sees of a watched region.
struct Watch {
    base: usize,
    /// Bytes that are watched; 0 while the region is not.
    bytes: AtomicUsize,
    /// COLD or HOT, one per page.
    states: Box<[AtomicU32]>,
    /// Pages in the order in which they became hot.
    hot: Box<[AtomicU32]>,
    hot_count: AtomicUsize,
}

/// A reservation of address space for one linear memory.
pub(crate) struct Region {
    base: *mut u8,
    reserved: usize,
    size: AtomicUsize,
    /// Bytes that `grow` may reach.
    limit: usize,
    refused: AtomicBool,
    watch: OnceLock<Box<Watch>>,
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
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(ptr::null_mut(), reserved, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let size_cell = AtomicUsize::new(0);
        let region = Region {
            base: base.cast(),
            reserved,
            size: size_cell,
            limit,
            refused: AtomicBool::new(false),
            watch: OnceLock::new(),
        };
        region.protect(0, size, libc::PROT_READ | libc::PROT_WRITE)?;
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
    /// Beyond the limit (which is remembered, see [`Region::take_refused`]), or when the system
    /// refuses.
    pub(crate) fn grow(&self, size: usize) -> io::Result<()> {
        if size > self.limit {
            self.refused.store(true, Ordering::Relaxed);
            return Err(io::Error::other("over the memory limit"));
        }
        let old = self.size();
        if size > old {
            self.protect(old, size - old, libc::PROT_READ | libc::PROT_WRITE)?;
            self.size.store(size, Ordering::Relaxed);
        }
        Ok(())
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
            }
            self.protect(size, bytes, libc::PROT_NONE)?;
            if bytes > ZEROED_BYTES_MAX {
                // SAFETY: the range lies inside this region's anonymous mapping.
                if unsafe { libc::madvise(self.base.add(size).cast(), bytes, libc::MADV_DONTNEED) }
                    != 0
                {
                    return Err(io::Error::last_os_error());
                }
            }
            self.size.store(size, Ordering::Relaxed);
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
        // SAFETY: a system call that touches no memory.
        let system_page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        if system_page == PAGE as libc::c_long {
            touched::touched(self.base as usize, self.size())
        } else {
            (0..self.size()).step_by(PAGE).collect()
        }
    }

    /// Bytes of the accessible pages that the system keeps memory for.
    pub(crate) fn held_bytes(&self) -> usize {
        touched::held(self.base as usize, self.size()).len() * PAGE
    }

    /// Gives all pages back: every byte is zero. For regions that nobody watches.
    pub(crate) fn discard(&self) {
        assert!(self.watch.get().is_none(), "a watched region is reset");
        // SAFETY: the range lies inside this region's private anonymous mapping, and nobody holds a slice
        // of it: the sandbox alone uses the region, and the guest is not running.
        let given = unsafe { libc::madvise(self.base.cast(), self.size(), libc::MADV_DONTNEED) };
        assert_eq!(given, 0, "giving back pages of our own mapping");
    }

    fn protect(&self, offset: usize, bytes: usize, access: i32) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        debug_assert!(offset + bytes <= self.reserved);
        // SAFETY: the range lies inside this region's own mapping.
        match unsafe { libc::mprotect(self.base.add(offset).cast(), bytes, access) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Puts the accessible pages that hold `offset .. offset + bytes` on shared memory with a
    /// second view, through which the host writes whatever the protection of the region says. The
    /// contents stay. Call it before the region is watched.
    ///
    /// # Errors
    /// Where the system has no such memory, or past the accessible part.
    pub(crate) fn window(self: &Arc<Region>, offset: usize, bytes: usize) -> io::Result<Window> {
        let first = offset / PAGE * PAGE;
        let end = offset
            .checked_add(bytes)
            .map(|end| end.next_multiple_of(PAGE))
            .filter(|end| first < *end && *end <= self.size())
            .ok_or_else(|| io::Error::other("a window past the memory"))?;
        assert!(self.watch.get().is_none(), "a window into a watched region");
        let view = shared_view(end - first)?;
        let window = Window {
            region: self.clone(),
            view: view.view,
            first,
            bytes: end - first,
        };
        for page in self.touched() {
            if (first..end).contains(&page) {
                window.write(page, self.bytes(page, PAGE));
            }
        }
        view.map_at(self.base.wrapping_add(first))?;
        Ok(window)
    }

    /// Begins to watch all accessible bytes: from now on no page is hot.
    ///
    /// # Errors
    /// When the system refuses the protection, or too many regions are watched.
    pub(crate) fn watch(&self) -> io::Result<()> {
        install_handler();
        let pages = self.size() / PAGE;
        let cells = || {
            (0..pages)
                .map(|_| AtomicU32::new(COLD))
                .collect::<Box<[_]>>()
        };
        let watch = Box::new(Watch {
            base: self.base as usize,
            bytes: AtomicUsize::new(self.size()),
            states: cells(),
            hot: cells(),
            hot_count: AtomicUsize::new(0),
        });
        register(&watch, self.reserved)?;
        assert!(self.watch.set(watch).is_ok(), "a region is watched once");
        self.protect(0, pages * PAGE, libc::PROT_READ)
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

    /// Replaces the hot list: pages that are on it and not in `kept` are protected again, after
    /// the caller has put their bytes back.
    pub(crate) fn cool(&self, kept: &[u32]) -> io::Result<()> {
        let Some(watch) = self.watch.get() else {
            return Ok(());
        };
        let mut keep = kept.iter().copied().peekable();
        let mut sorted = self.hot_pages(0);
        sorted.sort_unstable();
        for page in sorted {
            if keep.next_if_eq(&page).is_none() {
                watch.states[page as usize].store(COLD, Ordering::Relaxed);
                self.protect(page as usize * PAGE, PAGE, libc::PROT_READ)?;
            }
        }
        for (slot, page) in watch.hot.iter().zip(kept) {
            slot.store(*page, Ordering::Relaxed);
        }
        watch.hot_count.store(kept.len(), Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.get() {
            unregister(watch);
        }
        // SAFETY: the mapping is this region's own and nobody refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.reserved) };
    }
}

/// A view of some pages of a region that the host can always write.
pub(crate) struct Window {
    /// Kept alive: its pages are the window's.
    region: Arc<Region>,
    view: *mut u8,
    /// Where in the region it begins.
    first: usize,
    bytes: usize,
}

// SAFETY: a window owns its mapping; the pointer is not tied to a thread.
unsafe impl Send for Window {}

impl Window {
    /// Copies `bytes` to `offset` of the region.
    ///
    /// # Panics
    /// Outside the window: offsets are checked by the caller.
    #[inline]
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        let start = offset.wrapping_sub(self.first);
        assert!(
            start <= self.bytes && bytes.len() <= self.bytes - start,
            "write past the window"
        );
        debug_assert!(offset + bytes.len() <= self.region.size());
        // SAFETY: in bounds (checked above); the source is not in this mapping, which is never
        // handed out, and the guest, who sees the same pages, is not running.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.view.add(start), bytes.len()) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping is this window's own; the region keeps its own view of the pages.
        unsafe { libc::munmap(self.view.cast(), self.bytes) };
    }
}

/// Zeroed shared memory with one view of it.
struct Shared {
    file: OwnedFd,
    view: *mut u8,
    bytes: usize,
}

#[cfg(target_os = "linux")]
fn shared_view(bytes: usize) -> io::Result<Shared> {
    // SAFETY: plain system calls on a name of ours and a descriptor that the result owns.
    unsafe {
        let file = libc::memfd_create(c"sandglass-input".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let file = OwnedFd::from_raw_fd(file);
        if libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) != 0 {
            return Err(io::Error::last_os_error());
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = file.as_raw_fd();
        let view = libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, 0);
        if view == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let view = view.cast();
        Ok(Shared { file, view, bytes })
    }
}

#[cfg(not(target_os = "linux"))]
fn shared_view(_bytes: usize) -> io::Result<Shared> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

impl Shared {
    /// Puts the memory in place of the pages at `address`, which must lie in a region's mapping.
    fn map_at(&self, address: *mut u8) -> io::Result<()> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let fd = self.file.as_raw_fd();
        // SAFETY: the caller owns the pages at `address`, which are as many.
        let got = unsafe { libc::mmap(address.cast(), self.bytes, access, flags, fd, 0) };
        if got == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
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
fn register(watch: &Watch, reserved: usize) -> io::Result<()> {
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

fn unregister(watch: &Watch) {
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

/// Does watching work here (containers, debuggers and kernels may differ)? Tried once, on a page
/// of our own.
pub(crate) fn watching_works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
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
        region.watch().expect("watches");
        assert_eq!(region.hot_count(), 0);
        region.write(3 * PAGE - 1, b"ab");
        region.write(3 * PAGE, b"c");
        assert_eq!(region.hot_pages(0), [2, 3]);
        region.cool(&[3]).expect("cools");
        assert_eq!(region.hot_pages(0), [3]);
        region.write(2 * PAGE, b"x");
        assert_eq!(region.hot_pages(1), [2]);
        assert_eq!(region.bytes(PAGE, 6), b"before");
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
        if cfg!(target_os = "linux") {
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
