//! One byte of bucket bits per probe, and the hot test for novelty.

use serde::{Deserialize, Serialize};

/// The bucket bit of each count below 256; everything above is like 255.
///
/// AFL's buckets: 1, 2, 3, 4–7, 8–15, 16–31, 32–127, 128 and more. A count of 0 has no bit.
const BUCKETS: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut count = 1;
    while count < 256 {
        table[count] = match count {
            1 => 1,
            2 => 2,
            3 => 4,
            4..=7 => 8,
            8..=15 => 16,
            16..=31 => 32,
            32..=127 => 64,
            _ => 128,
        };
        count += 1;
    }
    table
};

/// The bucket bit of a raw hit count; 0 for 0.
#[inline]
pub fn bucket(count: u32) -> u8 {
    BUCKETS[if count < 255 { count as usize } else { 255 }]
}

/// Whether any of `counts` falls into a bucket that `bits` does not have yet.
///
/// `counts[i]` belongs to `bits[i]`; the shorter of the two ends the scan. Sixteen zeros are
/// skipped at a time.
#[inline]
pub fn scan(counts: &[u32], bits: &[u8]) -> bool {
    let mut counts_chunks = counts.chunks_exact(16);
    let mut bits_chunks = bits.chunks_exact(16);
    let mut done = 0;
    for (c, b) in (&mut counts_chunks).zip(&mut bits_chunks) {
        done += 16;
        if c.iter().fold(0, |any, &count| any | count) == 0 {
            continue;
        }
        if novel(c, b) {
            return true;
        }
    }
    novel(
        &counts[done.min(counts.len())..],
        &bits[done.min(bits.len())..],
    )
}

#[inline]
fn novel(counts: &[u32], bits: &[u8]) -> bool {
    let news = counts
        .iter()
        .zip(bits)
        .fold(0, |news, (&count, &bits)| news | (bucket(count) & !bits));
    news != 0
}

/// Hash of a trace by (probe, bucket), for counts ascending by probe and without zeros.
///
/// Two runs with the same bucketed coverage have the same hash, on every machine and for ever.
pub fn trace_hash(counts: &[(u32, u32)]) -> u64 {
    let mut hash = 0x5a6d_9ad1_0c9b_1f35u64;
    for &(probe, count) in counts {
        let word = (u64::from(probe) << 8) | u64::from(bucket(count));
        hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
    }
    hash
}

/// What a run showed beyond what had been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Novelty {
    /// Probes never hit before.
    pub edges: u32,
    /// Probes hit before, but never this often.
    pub buckets: u32,
}

impl Novelty {
    /// Whether there is any.
    pub fn any(self) -> bool {
        self.edges + self.buckets > 0
    }
}

/// Which buckets of which probes have been seen: one byte of bucket bits per probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    bits: Vec<u8>,
    edges: u32,
}

impl Seen {
    /// Nothing seen of `probes` probes.
    pub fn new(probes: u32) -> Seen {
        Seen {
            bits: vec![0; probes as usize],
            edges: 0,
        }
    }

    /// Whether this count of this probe falls into a bucket not seen yet. Unknown probes do not.
    #[inline]
    pub fn is_new(&self, probe: u32, count: u32) -> bool {
        self.bits
            .get(probe as usize)
            .is_some_and(|bits| bucket(count) & !bits != 0)
    }

    /// One byte per probe, ascending.
    #[inline]
    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// How many probes have been hit at all.
    pub fn edges(&self) -> u32 {
        self.edges
    }

    /// Whether this probe has been hit at all.
    pub fn has(&self, probe: u32) -> bool {
        self.bits.get(probe as usize).is_some_and(|&bits| bits != 0)
    }

    /// What these counts would add.
    pub fn novelty(&self, counts: &[(u32, u32)]) -> Novelty {
        let mut novelty = Novelty::default();
        for &(probe, count) in counts {
            if self.is_new(probe, count) {
                let edge = u32::from(!self.has(probe));
                novelty.edges += edge;
                novelty.buckets += 1 - edge;
            }
        }
        novelty
    }

    /// Adds these counts.
    pub fn absorb(&mut self, counts: &[(u32, u32)]) {
        for &(probe, count) in counts {
            if let Some(bits) = self.bits.get_mut(probe as usize) {
                let bit = bucket(count);
                self.edges += u32::from(*bits == 0 && bit != 0);
                *bits |= bit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_afl() {
        for (count, bit) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 4),
            (4, 8),
            (7, 8),
            (8, 16),
            (15, 16),
            (16, 32),
            (31, 32),
            (32, 64),
            (127, 64),
            (128, 128),
            (255, 128),
            (256, 128),
            (u32::MAX, 128),
        ] {
            assert_eq!(bucket(count), bit, "{count}");
        }
    }

    #[test]
    fn scan_agrees_with_the_definition() {
        let mut rng = crate::Rng::new(7);
        for _ in 0..2000 {
            let len = rng.index(70);
            let counts: Vec<u32> = (0..len)
                .map(|_| {
                    if rng.below(20) == 0 {
                        rng.below(300)
                    } else {
                        0
                    }
                })
                .collect();
            let bits: Vec<u8> = (0..len)
                .map(|_| (rng.word() | rng.word() | rng.word()) as u8)
                .collect();
            let expected = (0..len).any(|i| bucket(counts[i]) & !bits[i] != 0);
            assert_eq!(scan(&counts, &bits), expected);
        }
        assert!(!scan(&[1; 20], &[255; 3]));
        assert!(!scan(&[1; 3], &[255; 20]));
    }

    #[test]
    fn absorbed_counts_are_no_longer_new() {
        let mut seen = Seen::new(4);
        let counts = [(1, 5), (3, 1)];
        assert_eq!(
            seen.novelty(&counts),
            Novelty {
                edges: 2,
                buckets: 0
            }
        );
        seen.absorb(&counts);
        assert_eq!(seen.edges(), 2);
        assert!(!seen.novelty(&counts).any());
        assert_eq!(
            seen.novelty(&[(1, 8)]),
            Novelty {
                edges: 0,
                buckets: 1
            }
        );
        assert!(!seen.is_new(9, 1));
    }

    #[test]
    fn the_trace_hash_is_by_bucket() {
        assert_eq!(trace_hash(&[(1, 4), (2, 1)]), trace_hash(&[(1, 7), (2, 1)]));
        assert_ne!(trace_hash(&[(1, 4), (2, 1)]), trace_hash(&[(1, 8), (2, 1)]));
        assert_ne!(trace_hash(&[(1, 1)]), trace_hash(&[(2, 1)]));
    }
}
