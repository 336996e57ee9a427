//! The side memory: what lies where in the memory that probes write and the target cannot see.
//!
//! ```text
//! 0        header     flags and budgets, see the constants
//! 64       saved      one 16-byte slot per saved global
//! counters            u32 per probe: function entries first, then arms by function
//! compares            per site: u32 count, u32 pad, then SLOTS x (left u64, right u64)
//! path                per active call, outermost first: u32 offset of the call, u32 how often
//! ```

use serde::{Deserialize, Serialize};

/// u32, non-zero once the run did what a reset from outside cannot undo.
pub const IRREVERSIBLE: u32 = 0;
/// u64, fuel that is not a function of the counters: bulk operations and host calls.
pub const EXTRA_FUEL: u32 = 8;
/// i32, how deep recursive calls may nest.
pub const DEPTH_LIMIT: u32 = 16;
/// i64, fuel that a run may spend.
pub const BUDGET: u32 = 24;
/// u32, bytes of steps in the path of what is called next.
pub const PATH_TOP: u32 = 32;
/// First byte after the header: the saved globals.
pub(crate) const SAVED: u32 = 64;

/// Pages of 64 KiB that inputs get in the memory of a guest without `malloc`.
pub const INPUT_PAGES: u64 = 16;

/// Operand pairs remembered per comparison site; the latest ones win.
pub const COMPARE_SLOTS: u32 = 4;
/// Bytes of one comparison site's record.
pub const COMPARE_BYTES: u32 = 8 + COMPARE_SLOTS * 16;

/// Steps of the longest path; those of deeper calls take the place of the last one.
pub const PATH_STEPS: u32 = 1024;
/// Bytes of a step.
pub const PATH_STEP_BYTES: u32 = 8;

/// Where the parts of one module's side memory begin, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// First counter; a u32 each.
    pub counters: u32,
    /// First comparison record.
    pub compares: u32,
    /// First step of the path; 0 without [`Probes::paths`](crate::Probes::paths).
    pub path: u32,
    /// One past the last byte in use.
    pub end: u32,
}

impl Layout {
    pub(crate) fn new(saved_globals: u32, probes: u32, compare_sites: u32, paths: bool) -> Layout {
        let counters = (SAVED + saved_globals * 16).next_multiple_of(64);
        let compares = (counters + probes * 4).next_multiple_of(64);
        let end = compares + compare_sites * COMPARE_BYTES;
        let steps = u32::from(paths) * PATH_STEPS * PATH_STEP_BYTES;
        Layout {
            counters,
            compares,
            path: u32::from(paths) * end,
            end: end + steps,
        }
    }

    /// Pages of 64 KiB.
    pub(crate) fn pages(&self) -> u64 {
        u64::from(self.end.div_ceil(65536).max(1))
    }
}
