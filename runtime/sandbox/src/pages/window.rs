//! Windows: pages of a region that the host can write whatever the region's protection says.
//!
//! The pages lie in shared memory that has two views: the region's, and one of the host's alone.
//!
//! This is one of the files that may use `unsafe`. Contract: a window owns its view, keeps the region alive,
//! and writes only while the guest is not running.
#![expect(unsafe_code, reason = "maps memory a second time")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;

use super::{PAGE, Region};

impl Region {
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
