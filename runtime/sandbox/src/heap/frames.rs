//! Frames: the gaps that lie above frames on the guest's stack, and where the stack begins.
//!
//! The guest's code makes and clears gaps in the shadow as functions are called and return (see the pass `heap_frames`).
//! Here is what it cannot do: clearing those of functions that were left otherwise, and saying whose a gap is.

use sandglass_instrument::HeapMap;

use super::FaultFrame;
use crate::ending::RawFrame;
use crate::shadow::{GRANULE, Mark, Shadow};

/// The frames of one guest.
pub(super) struct Frames {
    /// Where gaps may lie: the first address, and one past the last.
    range: Option<(u32, u32)>,
    /// Functions with a gap above their frame, ascending, and the bytes of the frame.
    gaps: Vec<(u32, u32)>,
    /// Where the stack begins: it grows down.
    top: u32,
    /// May there be gaps of functions that were left otherwise than by returning?
    are_left: bool,
}

impl Frames {
    pub(super) fn new(map: &HeapMap) -> Frames {
        Frames {
            range: map.frames,
            gaps: map.gaps.clone(),
            top: map.stack_top,
            are_left: false,
        }
    }

    /// Clears what set-up calls have left that did not return.
    pub(super) fn forget(&self, shadow: &mut Shadow) {
        if let Some((start, end)) = self.range {
            let (start, bytes) = (start.into(), u64::from(end - start));
            if shadow.refused(start, bytes, true).is_some() {
                shadow.allow(start, bytes);
            }
        }
    }

    /// Whether gaps may lie in this range of bytes.
    pub(super) fn meet(&self, address: u32, bytes: u32) -> bool {
        let end = u64::from(address) + u64::from(bytes);
        (self.range).is_some_and(|(first, last)| address < last && end > first.into())
    }

    /// The run does not return.
    pub(super) fn abandon(&mut self) {
        self.are_left = true;
    }

    /// Has the shadow put back all gaps when it is reset, if any may be left.
    pub(super) fn reset(&mut self, shadow: &mut Shadow) {
        if std::mem::take(&mut self.are_left)
            && let Some((start, end)) = self.range
        {
            shadow.taint(start.into(), end.into());
        }
    }

    /// An exception landed in a function below whose frame, from the stack pointer when it was thrown to `end`, there is
    /// nothing any more. `cost` is in bytes of the shadow.
    pub(super) fn landed(&mut self, shadow: &mut Shadow, pointer: u32, end: u32, cost: &mut u64) {
        self.are_left = true;
        if let Some((first, last)) = self.range {
            let (start, end) = (pointer.max(first), end.min(last));
            let start = u64::from(start) / GRANULE * GRANULE;
            let bytes = (u64::from(end) / GRANULE * GRANULE).saturating_sub(start);
            shadow.allow(start, bytes);
            *cost += bytes / GRANULE;
        }
    }

    /// How many bytes above its start a stack pointer lies, if it does.
    pub(super) fn above(&self, pointer: u32) -> Option<u32> {
        let is_above = pointer.cast_signed() > self.top.cast_signed();
        is_above.then(|| pointer.wrapping_sub(self.top))
    }

    /// Whose frame ends where the gap at `address` begins. `stack` are the functions that are active, innermost first: their
    /// gaps lie in that order, from the lowest on.
    pub(super) fn of(
        &self,
        shadow: &Shadow,
        address: u32,
        stack: &[RawFrame],
    ) -> Option<FaultFrame> {
        let gap = |frame: &RawFrame| {
            let at = self.gaps.binary_search_by_key(&frame.function, |gap| gap.0);
            Some(self.gaps[at.ok()?])
        };
        let is_gap = |at: u32| shadow.of(at.into()) == Mark::Frame as u8;
        let mut at = self.range?.0;
        for (function, bytes) in stack.iter().filter_map(gap) {
            let first = at;
            while at <= address && !is_gap(at) {
                at += GRANULE as u32;
            }
            let end = at;
            while is_gap(at) {
                at += GRANULE as u32;
            }
            // Gaps that are not where these frames end are not theirs.
            if end > address || end - first < bytes {
                return None;
            }
            if address < at {
                return Some(FaultFrame {
                    function,
                    bytes,
                    end,
                });
            }
        }
        None
    }
}
