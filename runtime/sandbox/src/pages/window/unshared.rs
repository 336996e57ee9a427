//! No shared memory: a system on which nobody has tried it. Hosts write to the region itself.

use std::io;

/// There is none.
pub(super) enum Shared {}

impl Shared {
    pub(super) fn new(_bytes: usize) -> io::Result<Shared> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn view(&self) -> &View {
        match *self {}
    }

    /// # Safety
    /// It is never called.
    #[expect(unsafe_code, reason = "as where there is some")]
    pub(super) unsafe fn replace(self, _address: *mut u8) -> io::Result<View> {
        match self {}
    }
}

/// There is none.
pub(super) enum View {}

impl View {
    pub(super) fn write(&self, _start: usize, _bytes: &[u8]) {
        match *self {}
    }
}
