//! The side memory: what lies where in the memory that probes write and the target cannot see.
//!
//! ```text
//! 0        header     flags and budgets, see the constants
//! 64       saved      one 16-byte slot per saved global
//! counters            u32 per probe: function entries first, then arms by function
//! compares            per site: u32 count, u32 pad, then SLOTS x (left u64, right u64)
//! path                per active call, outermost first: u32 offset of the call, u32 how often
//! profile             what each probe weighs, u32 per probe; the calls met lately, see CALL_SLOTS;
//!                     then the nodes: u64 fuel, u32 calls, u32 the parent's place
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
/// u32, place of the node to which host calls and bulk work are charged, and below which calls go.
pub const CURRENT_NODE: u32 = 36;
/// i32, the least that was left of the call depth.
pub const LEAST_DEPTH: u32 = 40;
/// u32, how many calls are active where the next one is made; only with [`Probes::calls`](crate::Probes::calls).
pub const CALL_DEPTH: u32 = 44;
/// u32, offset of that call in the original file; 0 for the first one, which the host makes.
pub const CALL_SITE: u32 = 48;
/// i64, what is left of the budget when the run asks the host.
pub const FLOOR: u32 = 56;
/// First byte after the header: the saved globals.
pub(crate) const SAVED: u32 = 64;

/// Pages of 64 KiB that inputs get in the memory of a guest without `malloc`, unless larger ones are allowed.
pub const INPUT_PAGES: u64 = 16;

/// Operand pairs remembered per comparison site; the latest ones win.
pub const COMPARE_SLOTS: u32 = 4;
/// Bytes of one comparison site's record.
pub const COMPARE_BYTES: u32 = 8 + COMPARE_SLOTS * 16;

/// Steps of the longest path; those of deeper calls take the place of the last one.
pub const PATH_STEPS: u32 = 1024;
/// Bytes of a step.
pub const PATH_STEP_BYTES: u32 = 8;

/// Nodes of a profile that stand for a call stack each: the first is where nobody was called yet, the
/// second where those hang that there was no room for. Then come as many as there are functions, for
/// those.
pub const STACK_NODES: u32 = 1 << 16;
/// Bytes of a node. Its place is its number times this.
pub const NODE_BYTES: u32 = 16;
/// Calls whose node is known to the guest, by a hash of caller and callee.
pub const CALL_SLOTS: u32 = 1 << 12;
/// Bytes of such a slot: u32 place of the caller's node, u32 callee plus one, u32 place of its node.
pub const CALL_SLOT_BYTES: u32 = 16;

/// Where the parts of one module's side memory begin, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// First counter; a u32 each.
    pub counters: u32,
    /// First comparison record.
    pub compares: u32,
    /// First step of the path; 0 without [`Probes::paths`](crate::Probes::paths).
    pub path: u32,
    /// First weight; 0 without [`Probes::profile`](crate::Probes::profile), and so the next two.
    pub weights: u32,
    /// First slot of a call.
    pub calls: u32,
    /// First node.
    pub nodes: u32,
    /// One past the last byte in use.
    pub end: u32,
}

impl Layout {
    /// `profiled` are the functions of a profile, imports included.
    pub(crate) fn new(
        saved_globals: u32,
        probes: u32,
        compare_sites: u32,
        paths: bool,
        profiled: Option<u32>,
    ) -> Layout {
        let counters = (SAVED + saved_globals * 16).next_multiple_of(64);
        let compares = (counters + probes * 4).next_multiple_of(64);
        let end = compares + compare_sites * COMPARE_BYTES;
        let steps = u32::from(paths) * PATH_STEPS * PATH_STEP_BYTES;
        let mut layout = Layout {
            counters,
            compares,
            path: u32::from(paths) * end,
            end: end + steps,
            ..Layout::default()
        };
        if let Some(functions) = profiled {
            layout.weights = layout.end.next_multiple_of(64);
            layout.calls = (layout.weights + probes * 4).next_multiple_of(64);
            layout.nodes = layout.calls + CALL_SLOTS * CALL_SLOT_BYTES;
            layout.end = layout.nodes + (STACK_NODES + functions) * NODE_BYTES;
        }
        layout
    }

    /// Pages of 64 KiB.
    pub(crate) fn pages(&self) -> u64 {
        u64::from(self.end.div_ceil(65536).max(1))
    }
}
