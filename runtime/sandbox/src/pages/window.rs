//! Windows: pages of a region that the host can write whatever the region's protection says.
//!
//! The pages lie in shared memory that has two views: the region's, and one of the host's alone.
//!
//! This is one of the files that may use `unsafe`. Contract: a window keeps the region alive, and writes only
//! while the guest is not running.
#![expect(unsafe_code, reason = "maps memory a second time")]

use std::io;
use std::sync::Arc;

use super::{PAGE, Region, system};

#[cfg(target_os = "linux")]
mod shared;
#[cfg(not(target_os = "linux"))]
#[path = "window/unshared.rs"]
mod shared;

use shared::{Shared, View};

impl Region {
    /// Puts the accessible pages that hold `offset .. offset + bytes` on shared memory with a
    /// second view, through which the host writes whatever the protection of the region says. The
    /// contents stay. Call it before the region is watched.
    ///
    /// # Errors
    /// Where the system has no such memory or has larger pages, or past the accessible part.
    pub(crate) fn window(self: &Arc<Region>, offset: usize, bytes: usize) -> io::Result<Window> {
        // What lies behind the window, on the same larger page, would be lost.
        if system::page_bytes() != PAGE {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let first = offset / PAGE * PAGE;
        let end = offset
            .checked_add(bytes)
            .map(|end| end.next_multiple_of(PAGE))
            .filter(|end| first < *end && *end <= self.size())
            .ok_or_else(|| io::Error::other("a window past the memory"))?;
        assert!(self.watch.get().is_none(), "a window into a watched region");
        let shared = Shared::new(end - first)?;
        for page in self.touched() {
            if (first..end).contains(&page) {
                shared.view().write(page - first, self.bytes(page, PAGE));
            }
        }
        Ok(Window {
            region: self.clone(),
            // SAFETY: these are as many pages of this region, and nobody holds a slice of it.
            view: unsafe { shared.replace(self.base.wrapping_add(first)) }?,
            first,
        })
    }
}

/// A view of some pages of a region that the host can always write.
pub(crate) struct Window {
    /// Kept alive: its pages are the window's.
    region: Arc<Region>,
    view: View,
    /// Where in the region it begins.
    first: usize,
}

impl Window {
    /// Copies `bytes` to `offset` of the region.
    ///
    /// # Panics
    /// Outside the window: offsets are checked by the caller.
    #[inline]
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        debug_assert!(offset + bytes.len() <= self.region.size());
        self.view.write(offset.wrapping_sub(self.first), bytes);
    }
}
