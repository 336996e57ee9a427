//! System: how an operating system reserves, opens and takes back memory, a file for each.
//!
//! Every system has the same calls, in bytes from an address on; both lie within one reservation and
//! are multiples of [`page_bytes`] (a length at the end of a reservation is rounded up).

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(super) use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(super) use windows::*;
