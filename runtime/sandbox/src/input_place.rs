//! Where inputs go: a buffer of the guest's, filled before a run and put back after it.
//!
//! The host writes through a window of its own, so that a page which only ever holds input stays
//! read-only and cold, and a reset costs as many bytes as the input has instead of whole pages (64
//! bytes: 3 ns against 60). Without a window the write makes the page hot, like any other.

use std::sync::Arc;

use crate::pages::{Region, Window};
use crate::reset::Snapshot;

/// The buffer for inputs in the first memory of a guest.
pub(crate) struct InputPlace {
    address: u32,
    window: Option<Window>,
    /// Bytes that the latest run got.
    written: usize,
}

impl InputPlace {
    /// A buffer of `bytes` at `address`, which lies in `region`. Call it after the region's
    /// snapshot is taken and before it is watched.
    pub(crate) fn new(region: &Arc<Region>, address: u32, bytes: u32) -> InputPlace {
        InputPlace {
            address,
            window: region.window(address as usize, bytes.max(1) as usize).ok(),
            written: 0,
        }
    }

    /// Bytes of the input that is there.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// Where inputs begin.
    pub(crate) fn address(&self) -> u32 {
        self.address
    }

    /// Writes an input that is no longer than the buffer.
    #[inline]
    pub(crate) fn put(&mut self, input: &[u8], region: &Region, snapshot: &Snapshot) {
        let address = self.address as usize;
        match &self.window {
            Some(window) => window.write(address, input),
            None => {
                region.write(address, input);
                snapshot.mark(address, input.len());
            }
        }
        self.written = input.len();
    }

    /// Puts back what was there before the input. The snapshot's own reset does the rest.
    #[inline]
    pub(crate) fn take(&mut self, snapshot: &Snapshot) {
        if let Some(window) = &self.window {
            let address = self.address as usize;
            window.write(address, snapshot.saved(address, self.written));
        }
        self.written = 0;
    }
}
