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
    pub(crate) fn new(map: &ProbeMap) -> Reader {
        Reader {
            weights: map.probes.iter().map(|p| p.weight).collect(),
            arms: map.functions.iter().map(|f| (f.arms_start, f.arms_end)).collect(),
        }
    }

    /// Number of probes.
    pub(crate) fn probes(&self) -> usize {
        self.weights.len()
    }

    /// Positions of the functions that the run entered.
    #[inline]
    fn entered<'a>(&'a self, counters: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
        let entries = &counters[..self.arms.len()];
        entries.chunks(16).enumerate().flat_map(move |(chunk, counts)| {
            let any = counts.iter().fold(0, |a, b| a | b) != 0;
            let counts = if any { counts } else { &[] };
            counts.iter().enumerate().filter(|(_, count)| **count != 0).map(move |(n, _)| chunk * 16 + n)
        })
    }

    /// Fuel of the counters.
    pub(crate) fn fuel(&self, counters: &[u32]) -> u64 {
        let mut fuel = 0;
        for position in self.entered(counters) {
            fuel += u64::from(counters[position]) * u64::from(self.weights[position]);
            let (start, end) = (self.arms[position].0 as usize, self.arms[position].1 as usize);
            fuel += dot(&counters[start..end], &self.weights[start..end]);
        }
        fuel
    }

    /// Is any count of the run new to `bits`?
    pub(crate) fn is_new(&self, counters: &[u32], bits: &[u8]) -> bool {
        self.entered(counters).any(|position| {
            let (start, end) = (self.arms[position].0 as usize, self.arms[position].1 as usize);
            bucket(counters[position]) & !bits[position] != 0 || scan(&counters[start..end], &bits[start..end])
        })
    }

    /// Every probe that was hit, with its count, ascending.
    pub(crate) fn counts(&self, counters: &[u32]) -> Vec<(u32, u32)> {
        let entered = self.entered(counters).collect::<Vec<_>>();
        let mut found = entered.iter().map(|&p| (p as u32, counters[p])).collect::<Vec<_>>();
        for position in entered {
            let (start, end) = self.arms[position];
            let arms = (start..end).zip(&counters[start as usize..end as usize]);
            found.extend(arms.filter(|(_, count)| **count != 0).map(|(probe, count)| (probe, *count)));
        }
        found
    }

    /// Zeroes everything that the run counted.
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
    counts.iter().zip(weights).map(|(count, weight)| u64::from(*count) * u64::from(*weight)).sum()
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
            found.push(Compare { site: site as u32, width: meaning.width, left, right, constant: meaning.constant });
        }
    }
    found
}
