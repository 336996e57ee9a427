//! Row selection: the few rows of a bundle that are enough for all that it covers.
//!
//! In: a bundle, what it covers, and what it covers without some of its rows. Out: rows to leave out, until none can
//! be. Blocks of a quarter of all rows down to single rows are left out, one block at a time, as long as every probe
//! that the bundle hit is still hit. What is left is small enough that every comparison in it is recorded, and to be
//! tried cell by cell.
//!
//! Blocks are proposed several at a time, each from the current rows. The first that can be left out, in order, is,
//! and those behind it are proposed again. The number proposed doubles when all fail and falls back to the
//! number that was needed when one succeeds, as in [`crate::trim`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::change::plain;
use crate::rng::Rng;
use crate::rows::draft::Draft;
use crate::rows::{DataSets, Maker};

/// Most blocks proposed at a time.
const WINDOW_MAX: u32 = 32;

/// A bundle of which rows are selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Select {
    pub(super) bytes: Arc<[u8]>,
    /// Probes to be hit, ascending.
    wanted: Vec<u32>,
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
    /// Begins; nothing if there are no two rows.
    pub(super) fn new(bytes: Arc<[u8]>, counts: &[(u32, u32)], delimiter: u8) -> Option<Select> {
        let sets = DataSets::parse(&bytes, delimiter);
        let rows = (0..sets.sets()).map(|set| sets.rows(set) as u32).sum();
        (rows > 1).then(|| Select {
            bytes,
            wanted: counts.iter().map(|(probe, _)| *probe).collect(),
            rows,
            step: (rows.next_power_of_two() / 4).max(1),
            at: 0,
            window: 4,
            progress: false,
        })
    }

    /// Whether a run hit all that is to be hit.
    pub(super) fn is_enough(&self, counts: &[(u32, u32)]) -> bool {
        let mut hit = counts.iter().map(|(probe, _)| *probe);
        self.wanted
            .iter()
            .all(|wanted| hit.any(|probe| probe == *wanted))
    }

    /// What to run, and how much of it: at most `room`, which is not 0.
    pub(super) fn propose(&self, delimiter: u8, room: u32) -> (Without, u32) {
        let blocks = (self.rows - self.at).div_ceil(self.step);
        let without = Without {
            base: DataSets::parse(&self.bytes, delimiter),
            at: self.at,
            step: self.step,
        };
        (without, room.min(self.window).min(blocks))
    }

    /// Learns that so many blocks were tried, and which was the first that could be left out, with what was left.
    /// False once there is nothing more to try.
    pub(super) fn learn(&mut self, tried: u32, success: Option<(u32, Arc<[u8]>)>) -> bool {
        match success {
            Some((nth, bytes)) => {
                self.at += nth * self.step;
                self.rows -= self.step.min(self.rows - self.at);
                self.window = (nth + 1).max(2);
                self.bytes = bytes;
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

    /// Runs a selection on a target that hits a probe for each of these rows; what is left, and the runs it took.
    fn selected(bytes: &[u8], needed: &[&str]) -> (String, u32) {
        let counts = |bytes: &[u8]| -> Vec<(u32, u32)> {
            let text = String::from_utf8_lossy(bytes);
            let lines: Vec<_> = text.split(['\n', '\x1c']).collect();
            let hit = (0..).zip(needed).filter(|(_, row)| lines.contains(row));
            hit.map(|(probe, _)| (probe, 1)).collect()
        };
        let mut select = Select::new(Arc::from(bytes), &counts(bytes), b',').unwrap();
        let (mut runs, mut out) = (0, Vec::new());
        loop {
            let (without, tried) = select.propose(b',', 64);
            runs += tried;
            let mut success = None;
            for nth in 0..tried {
                without.make(u64::from(nth), &mut Rng::new(0), 1 << 20, &mut out);
                if success.is_none() && select.is_enough(&counts(&out)) {
                    success = Some((nth, Arc::from(&out[..])));
                }
            }
            if !select.learn(tried, success) {
                let left = String::from_utf8_lossy(&select.bytes).into_owned();
                return (left, runs);
            }
        }
    }

    #[test]
    fn what_is_needed_is_left() {
        let rows = (0..450).map(|n| format!("{n}\n")).collect::<String>();
        let both = format!("{rows}\x1c{}", rows.replace('\n', ",x\n"));
        let (left, runs) = selected(both.as_bytes(), &["17", "449", "0,x"]);
        assert_eq!(left, "17\n449\n\x1c0,x\n");
        assert!(runs < 200, "{runs}");
        assert_eq!(selected(b"a\nb\n\x1cc\n", &["b", "c"]).0, "b\n\x1cc\n");
        assert_eq!(selected(b"a\nb\n", &["a", "b"]).0, "a\nb\n");
        assert_eq!(selected(b"a\nb\n", &["b"]).0, "b\n");
    }

    #[test]
    fn one_row_is_not_selected_from() {
        assert!(Select::new(Arc::from(&b"a\n"[..]), &[], b',').is_none());
        assert!(Select::new(Arc::from(&b""[..]), &[], b',').is_none());
    }
}
