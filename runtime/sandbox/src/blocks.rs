//! Blocks: how much of its heap a run has in use at most, as its allocator's callers asked for it.
//!
//! The guest tells what it takes and gives back (see the pass `blocks`). A run with more than
//! [`BLOCKS_MAX`] blocks at once gets no answer.

use std::collections::BTreeMap;

/// Blocks in use at once, at most.
const BLOCKS_MAX: usize = 1 << 20;

/// The blocks of one guest.
#[derive(Default)]
pub(crate) struct Blocks {
    now: Use,
    /// At the snapshot.
    base: Use,
    bytes_max: u64,
    overflowed: bool,
}

#[derive(Clone, Default)]
struct Use {
    /// Bytes by address.
    blocks: BTreeMap<u32, u32>,
    bytes: u64,
}

impl Blocks {
    /// A block became another one; 0 stands for none. One that could not be had leaves the old as it is.
    pub(crate) fn tell(&mut self, old: u32, new: u32, bytes: u32) {
        if new == 0 && bytes > 0 {
            return;
        }
        let Use { blocks, bytes: sum } = &mut self.now;
        let gone = [old, new].map(|block| blocks.remove(&block).unwrap_or(0));
        *sum -= gone.iter().map(|bytes| u64::from(*bytes)).sum::<u64>();
        if new == 0 {
            return;
        }
        if blocks.len() == BLOCKS_MAX {
            self.overflowed = true;
            return;
        }
        blocks.insert(new, bytes);
        *sum += u64::from(bytes);
        self.bytes_max = self.bytes_max.max(*sum);
    }

    /// What is there now is what every run starts with.
    pub(crate) fn freeze(&mut self) {
        self.base = self.now.clone();
        self.reset();
    }

    /// Back to the snapshot.
    pub(crate) fn reset(&mut self) {
        self.now.clone_from(&self.base);
        (self.bytes_max, self.overflowed) = (self.base.bytes, false);
    }

    /// The most bytes in use in this run, beyond those at its start.
    pub(crate) fn bytes_max(&self) -> Option<u64> {
        (!self.overflowed).then(|| self.bytes_max - self.base.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_what_was_in_use_at_once() {
        let mut blocks = Blocks::default();
        blocks.tell(0, 8, 100);
        blocks.freeze();
        assert_eq!(blocks.bytes_max(), Some(0));
        blocks.tell(0, 1000, 10);
        blocks.tell(0, 2000, 20);
        blocks.tell(1000, 0, 0);
        blocks.tell(2000, 3000, 25);
        assert_eq!(blocks.bytes_max(), Some(30));
        // In place, then in vain.
        blocks.tell(3000, 3000, 40);
        blocks.tell(3000, 0, 1 << 31);
        assert_eq!(blocks.bytes_max(), Some(40));
        // What was there at the start counts once it is gone.
        blocks.tell(8, 0, 0);
        blocks.tell(0, 8, 130);
        assert_eq!(blocks.bytes_max(), Some(70));
        blocks.reset();
        assert_eq!(blocks.bytes_max(), Some(0));
    }

    #[test]
    fn nonsense_is_borne() {
        let mut blocks = Blocks::default();
        blocks.tell(7, 0, 0);
        blocks.tell(0, 16, u32::MAX);
        blocks.tell(0, 16, u32::MAX);
        assert_eq!(blocks.bytes_max(), Some(u64::from(u32::MAX)));
        for block in 0..=BLOCKS_MAX as u32 {
            blocks.tell(0, 32 + block, 1);
        }
        assert_eq!(blocks.bytes_max(), None);
        blocks.reset();
        assert_eq!(blocks.bytes_max(), Some(0));
    }
}
