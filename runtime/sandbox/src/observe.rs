//! Observe: from counters to observations, in one pass over what the run touched.
//!
//! Function entries are counted densely in front, so a run that touched few functions costs a
//! short scan; only the arms of entered functions are looked at, and zeroed.

use sandglass_engine::Compare;
use sandglass_engine::feedback::{bucket, scan};
use sandglass_instrument::{ProbeMap, layout};

/// The counters of a module, by probe, with what is needed to read them fast.
pub(crate) struct Reader {
    /// Fuel per count, by probe.
    weights: Box<[u32]>,
    /// Arms of each function.
    arms: Box<[(u32, u32)]>,
}

impl Reader {
    /// Of a build that counts nothing: there is nothing to look at.
    pub(crate) fn of_nothing() -> Reader {
        Reader {
            weights: Box::default(),
            arms: Box::default(),
        }
    }

    pub(crate) fn new(map: &ProbeMap) -> Reader {
        Reader {
            weights: map.probes.iter().map(|p| p.weight).collect(),
            arms: map
                .functions
                .iter()
                .map(|f| (f.arms_start, f.arms_end))
                .collect(),
        }
    }

    /// Number of probes.
    #[inline]
    pub(crate) fn probes(&self) -> usize {
        self.weights.len()
    }

    /// Calls `visit` with the position and arms of each function that the run entered, until it
    /// answers false.
    #[inline(always)]
    fn entered(
        &self,
        counters: &[u32],
        mut visit: impl FnMut(usize, std::ops::Range<usize>) -> bool,
    ) {
        let entries = &counters[..self.arms.len()];
        for (chunk, counts) in entries.chunks(16).enumerate() {
            if counts.iter().fold(0, |a, b| a | b) == 0 {
                continue;
            }
            for (n, count) in counts.iter().enumerate() {
                let position = chunk * 16 + n;
                let (start, end) = self.arms[position];
                if *count != 0 && !visit(position, start as usize..end as usize) {
                    return;
                }
            }
        }
    }

    /// Fuel of the counters.
    #[inline]
    pub(crate) fn fuel(&self, counters: &[u32]) -> u64 {
        self.fuel_and_looks(counters).0
    }

    /// Fuel of the counters, and how many of them were looked at for it.
    #[inline]
    pub(crate) fn fuel_and_looks(&self, counters: &[u32]) -> (u64, u64) {
        let (mut fuel, mut looks) = (0, self.arms.len() as u64);
        self.entered(counters, |position, arms| {
            looks += arms.len() as u64;
            fuel += u64::from(counters[position]) * u64::from(self.weights[position]);
            fuel += dot(&counters[arms.clone()], &self.weights[arms]);
            true
        });
        (fuel, looks)
    }

    /// Is any count of the run new to `bits`?
    #[inline]
    pub(crate) fn is_new(&self, counters: &[u32], bits: &[u8]) -> bool {
        let mut new = false;
        self.entered(counters, |position, arms| {
            new = bucket(counters[position]) & !bits[position] != 0
                || scan(&counters[arms.clone()], &bits[arms]);
            !new
        });
        new
    }

    /// Every probe that was hit, with its count, ascending.
    pub(crate) fn counts(&self, counters: &[u32]) -> Vec<(u32, u32)> {
        let mut entries = Vec::new();
        let mut found = Vec::new();
        self.entered(counters, |position, arms| {
            entries.push((position as u32, counters[position]));
            let hit = arms
                .clone()
                .zip(&counters[arms])
                .filter(|(_, count)| **count != 0);
            found.extend(hit.map(|(probe, count)| (probe as u32, *count)));
            true
        });
        entries.extend(found);
        entries
    }

    /// Zeroes everything that the run counted.
    #[inline]
    pub(crate) fn clear(&self, counters: &mut [u32]) {
        for chunk in 0..self.arms.len().div_ceil(16) {
            let range = chunk * 16..(chunk * 16 + 16).min(self.arms.len());
            if counters[range.clone()].iter().fold(0, |a, b| a | b) == 0 {
                continue;
            }
            for position in range {
                if counters[position] != 0 {
                    counters[position] = 0;
                    let (start, end) = self.arms[position];
                    counters[start as usize..end as usize].fill(0);
                }
            }
        }
    }
}

#[inline]
fn dot(counts: &[u32], weights: &[u32]) -> u64 {
    counts
        .iter()
        .zip(weights)
        .map(|(count, weight)| u64::from(*count) * u64::from(*weight))
        .sum()
}

/// Takes the operands out of the comparison records, and clears those.
pub(crate) fn take_compares(map: &ProbeMap, words: &mut [u32]) -> Vec<Compare> {
    const WORDS: usize = layout::COMPARE_BYTES as usize / 4;
    let mut found = Vec::new();
    for (site, (record, meaning)) in words.chunks_exact_mut(WORDS).zip(&map.compares).enumerate() {
        let slots = record[0].min(layout::COMPARE_SLOTS) as usize;
        record[0] = 0;
        for slot in record[2..].chunks_exact(4).take(slots) {
            let pair = |at: usize| u64::from(slot[at]) | u64::from(slot[at + 1]) << 32;
            let (left, right) = (pair(0), pair(2));
            found.push(Compare {
                site: site as u32,
                width: meaning.width,
                left,
                right,
                constant: meaning.constant,
            });
        }
    }
    found
}
