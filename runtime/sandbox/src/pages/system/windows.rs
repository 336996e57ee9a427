//! Windows: `VirtualAlloc` and its kin. Memory is reserved, and committed when it is opened.
//!
//! This is one of the files that may use `unsafe`. Contract: each call is a system call on what the
//! caller owns, and touches no other memory. The tests of `pages` have run with it under Wine, and on no Windows.
#![expect(unsafe_code, reason = "calls the system")]

use std::io;
use std::ptr;

use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_DECOMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS, PAGE_PROTECTION_FLAGS,
    PAGE_READONLY, PAGE_READWRITE, VirtualAlloc, VirtualFree, VirtualProtect,
};
use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};

/// Bytes of the system's pages.
pub(in crate::pages) fn page_bytes() -> usize {
    let mut info = SYSTEM_INFO::default();
    // SAFETY: the call fills the structure that it is given.
    unsafe { GetSystemInfo(&raw mut info) };
    info.dwPageSize as usize
}

/// Takes address space, none of it accessible.
pub(in crate::pages) fn reserve(bytes: usize) -> io::Result<*mut u8> {
    // SAFETY: new memory at an address of the system's choice.
    let at = unsafe { VirtualAlloc(ptr::null(), bytes, MEM_RESERVE, PAGE_NOACCESS) };
    match at.is_null() {
        true => Err(io::Error::last_os_error()),
        false => Ok(at.cast()),
    }
}

/// Makes memory readable and writable; what was never open, or was cleared, is zero.
///
/// # Safety
/// The caller owns the reservation.
pub(in crate::pages) unsafe fn open(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised.
    let opened = unsafe { VirtualAlloc(at.cast(), bytes, MEM_COMMIT, PAGE_READWRITE) };
    done(i32::from(!opened.is_null()))
}

/// Makes open memory read-only.
///
/// # Safety
/// The caller owns the reservation.
pub(in crate::pages) unsafe fn forbid_writes(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised.
    unsafe { protect(at, bytes, PAGE_READONLY) }
}

/// Makes read-only memory writable again; its contents stay.
///
/// # Safety
/// The caller owns the reservation.
pub(in crate::pages) unsafe fn allow_writes(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised.
    unsafe { protect(at, bytes, PAGE_READWRITE) }
}

/// Makes memory inaccessible, and gives it back.
///
/// # Safety
/// The caller owns the reservation, and holds no reference into this part of it.
pub(in crate::pages) unsafe fn close(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised.
    done(unsafe { VirtualFree(at.cast(), bytes, MEM_DECOMMIT) })
}

/// Gives open memory back: it stays open, and is zero.
///
/// # Safety
/// The caller owns the reservation, and holds no reference into this part of it.
pub(in crate::pages) unsafe fn clear(at: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: as promised.
    unsafe {
        close(at, bytes)?;
        open(at, bytes)
    }
}

/// Ends a reservation.
///
/// # Safety
/// It is a whole one, the caller's, and nobody refers to it any more.
pub(in crate::pages) unsafe fn release(at: *mut u8, _bytes: usize) {
    // SAFETY: as promised.
    unsafe { VirtualFree(at.cast(), 0, MEM_RELEASE) };
}

/// # Safety
/// As of the callers above; the pages are committed.
unsafe fn protect(at: *mut u8, bytes: usize, access: PAGE_PROTECTION_FLAGS) -> io::Result<()> {
    let mut before = 0;
    // SAFETY: as promised; what was allowed before goes to a variable of ours.
    done(unsafe { VirtualProtect(at.cast(), bytes, access, &raw mut before) })
}

/// Zero is failure.
fn done(answer: i32) -> io::Result<()> {
    match answer {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
