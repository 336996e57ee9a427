//! Unix: private anonymous mappings, `mprotect`, and whatever gives pages back.
//!
//! This is one of the files that may use `unsafe`. Contract: each call is one system call on what the
//! caller owns, and touches no other memory; [`allow_writes`] may be called in a signal handler.
#![expect(unsafe_code, reason = "calls the system")]

use std::io;
use std::ptr;

/// What new mappings are.
const ANONYMOUS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Bytes of the system's pages.
pub(in crate::pages) fn page_bytes() -> usize {
    // SAFETY: a system call that touches no memory.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).expect("every system says how large its pages are")
}

/// Takes address space, none of it accessible.
pub(in crate::pages) fn reserve(bytes: usize) -> io::Result<*mut u8> {
    // SAFETY: a new anonymous mapping at an address of the kernel's choice.
    let at = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, ANONYMOUS, -1, 0) };
    match at {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        at => Ok(at.cast()),
    }
}

/// Makes memory readable and writable; what was never open, or was cleared, is zero.
///
/// # Safety
/// The caller owns the reservation.
pub(in crate::pages) unsafe fn open(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised.
    unsafe { protect(at, bytes, READ_WRITE) }
}

/// Makes open memory read-only.
///
/// # Safety
/// The caller owns the reservation.
pub(in crate::pages) unsafe fn forbid_writes(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised.
    unsafe { protect(at, bytes, libc::PROT_READ) }
}

/// Makes read-only memory writable again; its contents stay.
///
/// # Safety
/// The caller owns the reservation.
pub(in crate::pages) unsafe fn allow_writes(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised.
    unsafe { protect(at, bytes, READ_WRITE) }
}

/// Makes memory inaccessible. Whether its contents stay is the system's business.
///
/// # Safety
/// The caller owns the reservation, and holds no reference into this part of it.
pub(in crate::pages) unsafe fn close(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised.
    unsafe { protect(at, bytes, libc::PROT_NONE) }
}

/// Gives open memory back: it stays open, and is zero.
///
/// # Safety
/// The caller owns the reservation, and holds no reference into this part of it.
#[cfg(target_os = "linux")]
pub(in crate::pages) unsafe fn clear(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised; on Linux the pages of a private anonymous mapping are zero from now on.
    match unsafe { libc::madvise(at.cast(), bytes, libc::MADV_DONTNEED) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The same elsewhere, where that advice need not be taken: new pages in place of the old ones.
///
/// # Safety
/// As above.
#[cfg(not(target_os = "linux"))]
pub(in crate::pages) unsafe fn clear(at: *mut u8, bytes: usize) -> io::Result<()> {
    let flags = ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: as promised, so that it replaces nothing but the caller's own pages.
    match unsafe { libc::mmap(at.cast(), bytes, READ_WRITE, flags, -1, 0) } {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Ends a reservation.
///
/// # Safety
/// It is a whole one, the caller's, and nobody refers to it any more.
pub(in crate::pages) unsafe fn release(at: *mut u8, bytes: usize) {
    // SAFETY: as promised.
    unsafe { libc::munmap(at.cast(), bytes) };
}

/// # Safety
/// As of the callers above.
unsafe fn protect(at: *mut u8, bytes: usize, access: i32) -> io::Result<()> {
    // SAFETY: as promised.
    match unsafe { libc::mprotect(at.cast(), bytes, access) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
