//! Row selection: for what a testcase covers, a few rows that are enough.
//!
//! In: a testcase, the probes that it hit, and those that known bundles hit. Out: a bundle for a probe that no known
//! bundle hits; then one for the next, until there is none. A bundle for all at once would have
//! the rows that fill a map as well as those that join, and what comparisons record of it would be mostly of the former.
//!
//! Of a large testcase there are samples (`sample.rs`). Rows are left out of the one that hits most of what no bundle does, for
//! the rarest of these probes: where that is hit most others are. Once no sample has any, and where there are none,
//! rows are left out of all, for the probe that is hit most often.
//!
//! Blocks of a quarter of all rows down to single rows are left out, one block at a time, as long as the probe is
//! still hit. Blocks are proposed several at a time, each from the current rows. The first that can be left out, in
//! order, is, and those behind it are proposed again. The number proposed doubles when all fail and falls back to the
//! number that was needed when one succeeds, as in [`crate::trim`].

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::change::plain;
use crate::rng::Rng;
use crate::rows::draft::Draft;
use crate::rows::{DataSets, Maker};

/// What no sample of a testcase of more rows hits can wait.
const ROWS_MANY: u32 = 48;
/// Most blocks proposed at a time.
const WINDOW_MAX: u32 = 16;

/// A testcase of which rows are selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Select {
    /// The testcase, and the probes that it hit, the most often hit first.
    pub(super) whole: Arc<[u8]>,
    all: Vec<u32>,
    /// Samples of it with the probes that they hit, in the same order.
    samples: Vec<(Arc<[u8]>, Vec<u32>)>,
    is_sampled: bool,
    /// Whether this can wait: it is for what no sample hits, of so many rows that it takes long.
    pub(super) is_rest: bool,
    /// Whether it is a seed; another testcase of so many rows can wait as well.
    pub(super) is_seed: bool,
    /// What is left of it, and the probes that it hits.
    pub(super) bytes: Arc<[u8]>,
    pub(super) probes: Vec<u32>,
    /// The probe to be hit.
    wanted: u32,
    /// All rows, of all data sets.
    rows: u32,
    /// Rows left out at a time, and where the next block begins.
    step: u32,
    at: u32,
    window: u32,
    /// Whether this pass left anything out.
    progress: bool,
}

impl Select {
    /// Begins; nothing if known bundles hit all that this testcase does.
    pub(super) fn new(
        bytes: Arc<[u8]>,
        counts: &[(u32, u32)],
        known: &BTreeSet<u32>,
        (delimiter, is_seed): (u8, bool),
    ) -> Option<Select> {
        let mut counts = counts.to_vec();
        counts.sort_by_key(|(probe, count)| (Reverse(*count), *probe));
        let select = Select {
            whole: bytes.clone(),
            all: counts.iter().map(|(probe, _)| *probe).collect(),
            samples: Vec::new(),
            is_sampled: false,
            is_rest: false,
            is_seed,
            bytes,
            probes: Vec::new(),
            wanted: 0,
            rows: 0,
            step: 1,
            at: 0,
            window: 0,
            progress: false,
        };
        select.next(known, delimiter)
    }

    /// How many probes the testcase hits that no known bundle does.
    pub(super) fn unknown(&self, known: &BTreeSet<u32>) -> usize {
        unknown(&self.all, known).count()
    }

    /// Learns what a sample of the testcase hits, by probe, ascending. What the testcase itself does not hit, being of
    /// what is missing, is taken for common.
    pub(super) fn sampled(&mut self, bytes: &[u8], counts: &[(u32, u32)], known: &BTreeSet<u32>) {
        self.is_sampled = true;
        let is_hit = |probe: &&u32| counts.binary_search_by_key(*probe, |count| count.0).is_ok();
        let whole: BTreeSet<u32> = self.all.iter().copied().collect();
        let others = counts.iter().map(|(probe, _)| *probe);
        let others = others.filter(|probe| !whole.contains(probe));
        let hits: Vec<u32> = others
            .chain(self.all.iter().filter(is_hit).copied())
            .collect();
        if unknown(&hits, known).next().is_some() {
            self.samples.push((Arc::from(bytes), hits));
        }
    }

    /// Begins again, for the next probe that no known bundle hits.
    pub(super) fn next(mut self, known: &BTreeSet<u32>, delimiter: u8) -> Option<Select> {
        self.samples
            .retain(|(_, hits)| unknown(hits, known).next().is_some());
        // Of several the first.
        let best = (self.samples.iter().rev())
            .max_by_key(|(bytes, hits)| (unknown(hits, known).count(), Reverse(bytes.len())));
        let (is_of_sample, bytes, probes, wanted) = match best {
            Some((bytes, hits)) => (true, bytes, hits, unknown(hits, known).next_back()?),
            None => (
                false,
                &self.whole,
                &self.all,
                unknown(&self.all, known).next()?,
            ),
        };
        let sets = DataSets::parse(bytes, delimiter);
        let rows: u32 = (0..sets.sets()).map(|set| sets.rows(set) as u32).sum();
        Some(Select {
            is_rest: (self.is_sampled || !self.is_seed) && !is_of_sample && rows > ROWS_MANY,
            bytes: bytes.clone(),
            probes: probes.clone(),
            wanted,
            rows,
            step: (rows.next_power_of_two() / 4).max(1),
            at: 0,
            window: 4,
            progress: false,
            ..self
        })
    }

    /// Whether a run hit what is to be hit.
    pub(super) fn is_enough(&self, counts: &[(u32, u32)]) -> bool {
        counts.iter().any(|(probe, _)| *probe == self.wanted)
    }

    /// What to run, and how much of it: at most `room`, which is not 0; nothing if there are no two rows.
    pub(super) fn propose(&self, delimiter: u8, room: u32) -> (Without, u32) {
        let blocks = (self.rows - self.at).div_ceil(self.step);
        let without = Without {
            base: DataSets::parse(&self.bytes, delimiter),
            at: self.at,
            step: self.step,
        };
        let is_over = self.rows <= 1;
        (
            without,
            if is_over {
                0
            } else {
                room.min(self.window).min(blocks)
            },
        )
    }

    /// Learns that so many blocks were tried, and which was the first that could be left out, with what was left and the
    /// probes that it hits. False once there is nothing more to try.
    pub(super) fn learn(
        &mut self,
        tried: u32,
        success: Option<(u32, Arc<[u8]>, Vec<u32>)>,
    ) -> bool {
        match success {
            Some((nth, bytes, probes)) => {
                self.at += nth * self.step;
                self.rows -= self.step.min(self.rows - self.at);
                self.window = (nth + 1).max(2);
                (self.bytes, self.probes) = (bytes, probes);
                self.progress = true;
            }
            None => {
                self.at += tried * self.step;
                self.window = (2 * self.window).min(WINDOW_MAX);
            }
        }
        while self.at >= self.rows {
            if self.step == 1 && !self.progress {
                return false;
            }
            // Single rows until no more of them can go.
            self.step = (self.step / 2).max(1);
            self.at = 0;
            self.progress = false;
            if self.rows <= 1 {
                return false;
            }
        }
        true
    }
}

/// Probes that no known bundle hits, in the same order.
fn unknown<'a>(
    probes: &'a [u32],
    known: &'a BTreeSet<u32>,
) -> impl DoubleEndedIterator<Item = u32> + 'a {
    let probes = probes.iter().copied();
    probes.filter(move |probe| !known.contains(probe))
}

/// Makes children without some rows: child `n` without block `n`.
#[derive(Debug)]
pub(super) struct Without {
    base: DataSets,
    at: u32,
    step: u32,
}

impl Maker for Without {
    fn make(&self, nth: u64, _: &mut Rng, bytes_max: usize, out: &mut Vec<u8>) {
        let mut draft = Draft::new(&self.base);
        let start = self.at as usize + nth as usize * self.step as usize;
        let mut left = self.step;
        // The first row of the block, as its place in a data set.
        let (mut set, mut row) = (0, start);
        while set < draft.sets() && row >= draft.rows(set) {
            row -= draft.rows(set);
            set += 1;
        }
        while left > 0 && set < draft.sets() {
            if row < draft.rows(set) {
                draft.remove(set, row);
                left -= 1;
            } else {
                (set, row) = (set + 1, 0);
            }
        }
        draft.write(bytes_max, out, plain(self.base.delimiter()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a selection on a target that hits probe `n` as often as row `n` of these is there; the bundles, and the runs
    /// that they took.
    fn selected(bytes: &[u8], needed: &[&str], known: &[u32]) -> (Vec<String>, u32) {
        let counts = |bytes: &[u8]| -> Vec<(u32, u32)> {
            let text = String::from_utf8_lossy(bytes);
            let count = |row: &&str| {
                text.split(['\n', '\x1c'])
                    .filter(|line| line == row)
                    .count()
            };
            let hits = (0..)
                .zip(needed)
                .map(|(probe, row)| (probe, count(row) as u32));
            hits.filter(|(_, count)| *count > 0).collect()
        };
        let mut known: BTreeSet<u32> = known.iter().copied().collect();
        let mut next = Select::new(Arc::from(bytes), &counts(bytes), &known, (b',', true));
        let (mut runs, mut out, mut bundles) = (0, Vec::new(), Vec::new());
        while let Some(mut select) = next {
            loop {
                let (without, tried) = select.propose(b',', 64);
                runs += tried;
                let mut success = None;
                for nth in 0..tried {
                    without.make(u64::from(nth), &mut Rng::new(0), 1 << 20, &mut out);
                    if success.is_none() && select.is_enough(&counts(&out)) {
                        let probes = counts(&out).iter().map(|(probe, _)| *probe).collect();
                        success = Some((nth, Arc::from(&out[..]), probes));
                    }
                }
                if tried == 0 || !select.learn(tried, success) {
                    break;
                }
            }
            bundles.push(String::from_utf8_lossy(&select.bytes).into_owned());
            known.extend(&select.probes);
            next = select.next(&known, b',');
        }
        (bundles, runs)
    }

    #[test]
    fn a_bundle_for_each_probe_and_none_twice() {
        let rows = (0..450).map(|n| format!("{n}\n")).collect::<String>();
        let both = format!("{rows}\x1c{}", rows.replace('\n', ",x\n"));
        let (bundles, runs) = selected(both.as_bytes(), &["17", "449", "0,x"], &[1]);
        assert_eq!(bundles, ["17\n\x1c", "\x1c0,x\n"]);
        assert!(runs < 120, "{runs}");
        // The most often hit first; two at once if they are one row.
        let (bundles, _) = selected(b"a\nb\nb\n", &["a", "b", "b"], &[]);
        assert_eq!(bundles, ["b\n", "a\n"]);
    }

    #[test]
    fn one_row_stays() {
        assert_eq!(selected(b"a\n", &["a"], &[]), (vec!["a\n".to_owned()], 0));
        assert_eq!(selected(b"a\n", &["a"], &[0]).0, Vec::<String>::new());
    }

    /// The sample with most that is new comes first, for its rarest probe; what no sample hits last, and that can wait.
    #[test]
    fn samples_come_before_the_whole() {
        let counts = [(1, 9), (2, 5), (3, 3), (4, 1), (5, 1)];
        let known = BTreeSet::new();
        let whole = b"a\nb\nc\n".repeat(20);
        let new = || Select::new(Arc::from(&whole[..]), &counts, &known, (b',', true)).unwrap();
        assert!(!new().is_rest);
        let child = |bytes: &[u8]| {
            Select::new(Arc::from(bytes), &counts, &BTreeSet::new(), (b',', false)).unwrap()
        };
        // Of a child that is large can wait, too.
        assert!(child(&whole).is_rest && !child(b"a\nb\n").is_rest);
        let mut select = new();
        select.sampled(b"a\n", &[(1, 1), (3, 1)], &known);
        select.sampled(b"b\n", &[(1, 1), (2, 1), (4, 1), (7, 1)], &known);
        select.sampled(b"c\n", &[(1, 2)], &BTreeSet::from([1]));
        assert_eq!(select.samples.len(), 2);
        let mut known = BTreeSet::new();
        let mut steps = Vec::new();
        let mut next = select.next(&known, b',');
        while let Some(select) = next {
            steps.push((select.bytes.to_vec(), select.wanted, select.is_rest));
            known.extend(&select.probes);
            next = select.next(&known, b',');
        }
        let expected = [
            (&b"b\n"[..], 4, false),
            (b"a\n", 3, false),
            (&whole[..], 5, true),
        ];
        assert_eq!(
            steps,
            expected.map(|(bytes, wanted, rest)| (bytes.to_vec(), wanted, rest))
        );
    }
}
