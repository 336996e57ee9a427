//! Shared memory that can be put in place of other pages: a file that lies in memory, on Linux.
//!
//! This is one of the files that may use `unsafe`. Contract: a view owns its mapping, which is never handed out.
#![expect(unsafe_code, reason = "maps memory")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Zeroed shared memory with one view of it.
pub(super) struct Shared {
    file: OwnedFd,
    view: View,
}

impl Shared {
    /// So many bytes, a multiple of a page.
    ///
    /// # Errors
    /// When the system has no such memory, or refuses.
    pub(super) fn new(bytes: usize) -> io::Result<Shared> {
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
            let fd = file.as_raw_fd();
            let at = libc::mmap(ptr::null_mut(), bytes, READ_WRITE, libc::MAP_SHARED, fd, 0);
            if at == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let at = at.cast();
            let view = View { at, bytes };
            Ok(Shared { file, view })
        }
    }

    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// Puts the memory in place of the pages at `address`; what is written through the view shows there.
    ///
    /// # Safety
    /// The caller owns that many pages there, and holds no reference into them.
    pub(super) unsafe fn replace(self, address: *mut u8) -> io::Result<View> {
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let (bytes, fd) = (self.view.bytes, self.file.as_raw_fd());
        // SAFETY: as promised.
        let got = unsafe { libc::mmap(address.cast(), bytes, READ_WRITE, flags, fd, 0) };
        match got {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            _ => Ok(self.view),
        }
    }
}

/// A view of shared memory, which others may see elsewhere.
pub(super) struct View {
    at: *mut u8,
    bytes: usize,
}

// SAFETY: a view owns its mapping; the pointer is not tied to a thread.
unsafe impl Send for View {}

impl View {
    /// Copies `bytes` to `start`.
    ///
    /// # Panics
    /// Past the end.
    #[inline]
    pub(super) fn write(&self, start: usize, bytes: &[u8]) {
        assert!(
            start <= self.bytes && bytes.len() <= self.bytes - start,
            "write past the window"
        );
        // SAFETY: in bounds (checked above); the source is not in this mapping, which is never
        // handed out, and the guest, who sees the same pages, is not running.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.at.add(start), bytes.len()) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: the mapping is this view's own; a region keeps its own view of the pages.
        unsafe { libc::munmap(self.at.cast(), self.bytes) };
    }
}
