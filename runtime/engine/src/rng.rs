//! The engine's only source of random numbers: xoshiro256++, whose stream never changes.
//!
//! In: a seed. Out: 64-bit words. The generator is Blackman and Vigna's xoshiro256++ 1.0, its four
//! words of state filled by four steps of SplitMix64 from the seed. A golden test freezes the
//! stream: a recorded seed must mean the same campaign in ten years.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::ratio::Ratio;

/// A named generator with a frozen stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// A generator for one seed.
    #[inline]
    pub fn new(seed: u64) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The next 64 bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `[0, n)`, by multiply and shift from 32 bits; 0 if `n` is 0.
    ///
    /// The bias is below n / 2³², which no campaign can notice, and it costs no loop.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        scale(self.word() >> 32, n)
    }

    /// An index in `[0, n)`. `n` must fit 32 bits.
    #[inline]
    pub fn index(&mut self, n: usize) -> usize {
        self.below(n as u32) as usize
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, ratio: Ratio) -> bool {
        self.below(ratio.of) < ratio.count
    }
}

/// Maps 32 random bits onto `[0, n)`.
#[inline]
pub(crate) fn scale(bits: u64, n: u32) -> u32 {
    (((bits & 0xffff_ffff) * u64::from(n)) >> 32) as u32
}

/// One step of SplitMix64: derives a seed from a seed and an index.
#[inline]
pub fn derive(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add((index.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl RngCore for Rng {
    fn next_u32(&mut self) -> u32 {
        (self.word() >> 32) as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.word()
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let word = self.word().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_four_steps_of_splitmix() {
        // Computed here from the published reference algorithm, step by step.
        let mut s: Vec<u64> = (0..4).map(|i| derive(42, i)).collect();
        let mut rng = Rng::new(42);
        for _ in 0..100 {
            let expected = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
            let t = s[1] << 17;
            s[2] ^= s[0];
            s[3] ^= s[1];
            s[1] ^= s[2];
            s[0] ^= s[3];
            s[2] ^= t;
            s[3] = s[3].rotate_left(45);
            assert_eq!(rng.word(), expected);
        }
    }

    #[test]
    fn below_stays_below_and_reaches_all() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[rng.index(7)] += 1;
        }
        assert!(seen.iter().all(|&n| (800..1200).contains(&n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }
}
