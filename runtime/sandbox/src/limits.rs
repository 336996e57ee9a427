//! Limits of a guest: recorded with each finding, and settable.

use serde::{Deserialize, Serialize};

/// What a guest may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Fuel per run; at most [`FUEL_LIMIT_MAX`].
    pub fuel: u64,
    /// Bytes of all linear memories together.
    pub memory_bytes: u64,
    /// Nested calls of recursive functions.
    pub call_depth: u32,
    /// Bytes written to stdout and stderr per run.
    pub output_bytes: u32,
    /// Bytes of an input.
    pub input_bytes: u32,
    /// Bytes of all virtual files.
    pub file_bytes: u64,
}

/// Largest fuel limit: no counter of a back edge, 32 bits wide, wraps before the run is stopped.
///
/// Not proven: a run is stopped near its limit in programs that nobody made for this, and when the least that it can have used is
/// over it at the latest, which is some thousand times the limit in the worst. A counter that wraps there makes the
/// fuel of such a run too small, the same on every machine; the standard limit is a fortieth of this one.
pub const FUEL_LIMIT_MAX: u64 = 4_000_000_000;

/// Smallest default fuel limit.
pub const FUEL_LIMIT_MIN: u64 = 100_000_000;

impl Limits {
    /// The defaults that a campaign starts from.
    pub const STANDARD: Limits = Limits {
        fuel: FUEL_LIMIT_MIN,
        memory_bytes: 256 << 20,
        call_depth: 10_000,
        output_bytes: 1 << 20,
        input_bytes: 1 << 20,
        file_bytes: 64 << 20,
    };

    /// Bytes that one memory may have.
    pub(crate) fn region_bytes(&self) -> usize {
        usize::try_from(self.memory_bytes).unwrap_or(usize::MAX)
    }
}
