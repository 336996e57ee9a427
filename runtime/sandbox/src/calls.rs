//! Calls: the functions that a run entered, in order; the last of them, and how many there were.
//!
//! A build that keeps calls ([`Build::Calls`](crate::Build::Calls)) tells of each when it is made. A call that repeats
//! the one before it (from the same place, at the same depth) is counted and not listed again.

use std::collections::VecDeque;

use sandglass_instrument::layout::{CALL_DEPTH, CALL_SITE};

use crate::pages::Region;

/// Calls that are kept, repetitions not counted. By choice: what a person reads.
pub const CALLS_KEPT: usize = 200;

/// A call, or several of one function from one place, with no other between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    /// Who was called: an index in the original module; imports, too.
    pub function: u32,
    /// How many calls were active then, this one included.
    pub depth: u32,
    /// Offset of the call in the original file; nothing for that of the entry point.
    pub site: Option<u32>,
    /// How often.
    pub times: u64,
}

/// The calls of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    last: VecDeque<Called>,
    count: u64,
}

impl Calls {
    /// All calls, those that are no longer known included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The last [`CALLS_KEPT`] different ones, in order.
    pub fn last(&self) -> impl Iterator<Item = &Called> {
        self.last.iter()
    }

    /// Takes down a call; whoever made it has written where it is.
    pub(crate) fn add(&mut self, side: &Region, function: u32, depth: u32) {
        self.count += 1;
        let site = side.bytes(CALL_SITE as usize, 4);
        let site = u32::from_le_bytes(site.try_into().expect("four bytes"));
        let called = Called {
            function,
            depth,
            site: (site != 0).then_some(site),
            times: 1,
        };
        if let Some(before) = self.last.back_mut()
            && (Called {
                times: 1,
                ..*before
            }) == called
        {
            before.times += 1;
            return;
        }
        if self.last.len() == CALLS_KEPT {
            self.last.pop_front();
        }
        self.last.push_back(called);
    }

    /// Back to before the first call.
    pub(crate) fn clear(&mut self, side: &Region) {
        self.last.clear();
        self.count = 0;
        side.write(CALL_DEPTH as usize, &[0; 4]);
        side.write(CALL_SITE as usize, &[0; 4]);
    }
}
