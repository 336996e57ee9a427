//! Shadow: a byte for every 8 bytes of a guest's memory that says which of them may be used.
//!
//! Only the host writes it, but for the gaps between frames of the stack, so it knows which pages a run changed, and a
//! reset costs as many copies as there are of those. Untouched pages take no memory. What the bytes mean is the pass `heap`'s
//! (see the instrumentation).

use std::collections::BTreeMap;
use std::sync::Arc;

use sandglass_instrument::{CONSTANT, FRAME, GRANULE_SHIFT};

use crate::pages::{PAGE, Region};

/// Bytes of a granule.
pub(crate) const GRANULE: u64 = 1 << GRANULE_SHIFT;

/// Why a granule may not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mark {
    /// A red zone before or after a block.
    Zone = 0x7a,
    /// A block that was given back.
    Freed = 0x7d,
    /// Behind the input.
    Input = 0x7b,
    /// The null page.
    Null = 0x7c,
    /// Between frames of the stack.
    Frame = FRAME,
    /// May be read.
    Constant = CONSTANT,
}

/// The shadow of one memory.
pub(crate) struct Shadow {
    region: Arc<Region>,
    /// Pages that are not zero in the snapshot.
    saved: BTreeMap<u32, Box<[u8; PAGE]>>,
    is_frozen: bool,
    /// Pages written since the snapshot, each once.
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
}

impl Shadow {
    pub(crate) fn new(region: Arc<Region>) -> Shadow {
        let pages = region.size() / PAGE;
        Shadow {
            region,
            saved: BTreeMap::new(),
            is_frozen: false,
            dirty: Vec::new(),
            is_dirty: vec![false; pages],
        }
    }

    /// Forbids all granules of `start..end`, whose start must be one's first byte.
    pub(crate) fn forbid(&mut self, start: u64, end: u64, mark: Mark) {
        debug_assert!(
            start.is_multiple_of(GRANULE),
            "granules are forbidden whole"
        );
        self.fill(start / GRANULE, end.div_ceil(GRANULE), mark as u8);
    }

    /// Allows `bytes` bytes from the first of a granule on, and no more of the last one.
    pub(crate) fn allow(&mut self, start: u64, bytes: u64) {
        debug_assert!(start.is_multiple_of(GRANULE), "blocks begin with a granule");
        let first = start / GRANULE;
        let whole = first + bytes / GRANULE;
        self.fill(first, whole, 0);
        if !bytes.is_multiple_of(GRANULE) {
            self.fill(whole, whole + 1, (bytes % GRANULE) as u8);
        }
    }

    /// The first byte of `start..start + bytes` that may not be used so; addresses that no 32-bit
    /// memory has are nobody's business here.
    pub(crate) fn refused(&self, start: u64, bytes: u64, writes: bool) -> Option<u64> {
        let end = (start + bytes).min(self.region.size() as u64 * GRANULE);
        let mut at = start;
        while at < end {
            let next = (at / GRANULE + 1) * GRANULE;
            let usable = match self.of(at) {
                0 => {
                    at = self.free_until(next, end);
                    continue;
                }
                CONSTANT if !writes => GRANULE,
                usable @ 1..8 => u64::from(usable),
                _ => 0,
            };
            let usable_end = next - GRANULE + usable;
            if usable_end < next.min(end) {
                return Some(at.max(usable_end));
            }
            at = next;
        }
        None
    }

    /// The first granule from `start` on of which not everything may be used; `end` if there is none before.
    fn free_until(&self, start: u64, end: u64) -> u64 {
        if start >= end {
            return end;
        }
        let (first, last) = (start / GRANULE, end.div_ceil(GRANULE));
        let granules = self.region.bytes(first as usize, (last - first) as usize);
        let marked = granules.iter().position(|mark| *mark != 0);
        marked.map_or(end, |n| (first + n as u64) * GRANULE)
    }

    /// The shadow of one address.
    pub(crate) fn of(&self, address: u64) -> u8 {
        let at = (address / GRANULE) as usize;
        if at < self.region.size() {
            self.region.bytes(at, 1)[0]
        } else {
            0
        }
    }

    /// The guest may have written to what belongs to `start..end`.
    pub(crate) fn taint(&mut self, start: u64, end: u64) {
        let end = (end.div_ceil(GRANULE) as usize).min(self.region.size());
        for page in (start / GRANULE) as usize / PAGE..end.div_ceil(PAGE) {
            if !self.is_dirty[page] {
                self.is_dirty[page] = true;
                self.dirty.push(page as u32);
            }
        }
    }

    fn fill(&mut self, first: u64, end: u64, value: u8) {
        let end = (end as usize).min(self.region.size());
        self.taint(first * GRANULE, end as u64 * GRANULE);
        let mut at = first as usize;
        while at < end {
            let page = at / PAGE;
            let count = (end - at).min((page + 1) * PAGE - at);
            self.region.write(at, &[value; PAGE][..count]);
            at += count;
        }
    }

    /// What is so now is what [`Shadow::reset`] goes back to.
    pub(crate) fn freeze(&mut self) {
        debug_assert!(!self.is_frozen, "there is one snapshot");
        self.is_frozen = true;
        for page in std::mem::take(&mut self.dirty) {
            self.is_dirty[page as usize] = false;
            let bytes = self.region.bytes(page as usize * PAGE, PAGE);
            let bytes: [u8; PAGE] = bytes.try_into().expect("a page");
            self.saved.insert(page, Box::new(bytes));
        }
    }

    /// As in the snapshot.
    pub(crate) fn reset(&mut self) {
        for page in self.dirty.drain(..) {
            self.is_dirty[page as usize] = false;
            let saved = self.saved.get(&page).map_or(&[0; PAGE], |bytes| &**bytes);
            self.region.write(page as usize * PAGE, saved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadow() -> Shadow {
        let bytes = 2 * PAGE;
        Shadow::new(Arc::new(Region::new(bytes, bytes, bytes).expect("maps")))
    }

    #[test]
    fn the_first_byte_that_may_not_be_used_is_found() {
        let mut shadow = shadow();
        shadow.forbid(64, 128, Mark::Zone);
        shadow.allow(80, 13);
        for (start, bytes, expected) in [
            (0, 64, None),
            (0, 65, Some(64)),
            (60, 8, Some(64)),
            (80, 13, None),
            (80, 14, Some(93)),
            (88, 4, None),
            (90, 4, Some(93)),
            (79, 1, Some(79)),
            (76, 8, Some(76)),
            (93, 1, Some(93)),
            (128, 100, None),
            (u64::from(u32::MAX), 100, None),
        ] {
            assert_eq!(
                shadow.refused(start, bytes, true),
                expected,
                "{start} {bytes}"
            );
        }
        shadow.forbid(160, 176, Mark::Constant);
        assert_eq!(shadow.refused(160, 16, false), None);
        assert_eq!(shadow.refused(160, 16, true), Some(160));
    }

    #[test]
    fn a_reset_goes_back_to_the_snapshot() {
        let mut shadow = shadow();
        shadow.forbid(8, 16, Mark::Freed);
        shadow.freeze();
        let far = (PAGE as u64 + 10) * GRANULE;
        for _ in 0..2 {
            shadow.allow(8, 8);
            shadow.forbid(far, far + 8, Mark::Zone);
            assert_eq!((shadow.of(8), shadow.of(far)), (0, Mark::Zone as u8));
            shadow.reset();
            assert_eq!((shadow.of(8), shadow.of(far)), (Mark::Freed as u8, 0));
        }
    }
}
