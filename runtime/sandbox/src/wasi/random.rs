//! The random numbers that a guest is given: one fixed stream.
//!
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
//! 2014) from a constant seed. The stream is part of the snapshot, so that every run sees the same
//! numbers. It is for guests only: the engine has its own generator. It never changes, because
//! findings depend on it.

/// The position in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// The start of the stream. The seed is arbitrary ("sandglas" in ASCII).
    pub(super) fn new() -> Random {
        Random {
            state: u64::from_le_bytes(*b"sandglas"),
        }
    }

    /// The next eight bytes.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Fills `out`; a last part of a word is dropped.
    pub(super) fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
impl Random {
    /// A stream for a test of its own.
    pub(super) fn seeded(state: u64) -> Random {
        Random { state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_never_changes() {
        // The published test vector of SplitMix64 for seed 1234567.
        let mut random = Random { state: 1_234_567 };
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
        let mut bytes = [0; 11];
        Random::new().fill(&mut bytes);
        let mut again = [0; 11];
        Random::new().fill(&mut again);
        assert_eq!(bytes, again);
        assert_ne!(bytes, [0; 11]);
    }
}
