//! Room for interesting mutants: they stay in memory, as parents and in the corpus.
//!
//! In: the sizes and costs of mutants that are interesting. Out: whether there is room for one. Perun
//! has its parents on disk and keeps them all; of words, half a megabyte each, a campaign finds
//! thousands within minutes.

use serde::{Deserialize, Serialize};

/// What is kept when the room is full must be dearer than anything before by one part of this: then a
/// mutant that costs a thousand times the seed is preceded by seven hundred at most.
const STEP: u64 = 100;

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Room {
    /// Bytes that are free.
    free: u64,
    /// Fuel of the dearest mutant so far.
    dearest: u64,
}

impl Room {
    /// So many bytes of it.
    pub(super) fn new(bytes: u64) -> Room {
        Room {
            free: bytes,
            dearest: 0,
        }
    }

    /// Whether there is room for a mutant, or it is dear enough.
    pub(super) fn fits(self, bytes: usize, fuel: u64) -> bool {
        let is_dear = fuel > self.dearest.saturating_add(self.dearest / STEP);
        bytes as u64 <= self.free || is_dear
    }

    /// Takes room for a mutant, as far as there is any.
    pub(super) fn take(&mut self, bytes: usize, fuel: u64) {
        self.free = self.free.saturating_sub(bytes as u64);
        self.dearest = self.dearest.max(fuel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a mutant was kept.
    fn keep(room: &mut Room, bytes: usize, fuel: u64) -> bool {
        let fits = room.fits(bytes, fuel);
        if fits {
            room.take(bytes, fuel);
        }
        fits
    }

    #[test]
    fn without_room_only_the_dearest_are_kept() {
        let mut room = Room::new(25);
        assert!(keep(&mut room, 10, 1_000));
        assert!(keep(&mut room, 10, 10), "there is room");
        assert!(!keep(&mut room, 10, 1_010), "ten bytes where five are free");
        assert!(keep(&mut room, 5, 900));
        assert!(!keep(&mut room, 1, 1_010), "a hundredth is too little");
        assert!(keep(&mut room, 1_000, 1_011));
        assert!(!keep(&mut room, 1, 1_011));
        assert!(!keep(&mut Room::new(0), 1, 0));
    }

    #[test]
    fn the_dearest_possible_is_kept_once() {
        let mut room = Room::new(0);
        assert!(keep(&mut room, 1, u64::MAX));
        assert!(!keep(&mut room, 1, u64::MAX));
    }
}
