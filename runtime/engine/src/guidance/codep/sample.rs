//! Samples: small parts of a large testcase whose rows share texts, so that some of them join.
//!
//! In: data sets, and a number. Out: a few rows: one at random, for each of its cells a row of each other data set that
//! holds the same text, the same for those, and so on; every other time also rows of the same data set, as groups are
//! made of. Where nothing is left to follow, another row at random. Which rows matter is not known: samples are run, and
//! those that cover something are what rows are then left out of (`select.rs`). Leaving rows out of all of them instead
//! takes as many runs for a single probe as there are samples.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::change::Place;
use crate::rng::Rng;
use crate::rows::{DataSets, Maker, ROW_END, SET_END};

/// Samples of one testcase.
pub(super) const SAMPLES: u32 = 96;
/// Rows of samples, in turns.
const ROWS: [usize; 3] = [3, 6, 12];

/// Makes samples.
#[derive(Debug)]
pub(super) struct Samples {
    base: DataSets,
    /// All cells that are not empty, ascending by text, then by place.
    by_text: Vec<Place>,
}

impl Samples {
    /// Sorts all cells.
    pub(super) fn new(base: DataSets) -> Samples {
        let mut by_text = Vec::new();
        for set in 0..base.sets() {
            for row in 0..base.rows(set) {
                for column in 0..base.columns(set, row) {
                    if !base.cell(set, row, column).is_empty() {
                        let [set, row, column] = [set, row, column].map(|n| n as u32);
                        by_text.push(Place { set, row, column });
                    }
                }
            }
        }
        by_text.sort_by_key(|place| (text(&base, *place), *place));
        Samples { base, by_text }
    }

    /// The rows of one sample.
    fn rows(&self, most: usize, groups: bool, rng: &mut Rng) -> BTreeSet<(u32, u32)> {
        let all: usize = (0..self.base.sets()).map(|set| self.base.rows(set)).sum();
        let most = most.min(all);
        let mut chosen = BTreeSet::new();
        let mut waiting = VecDeque::new();
        while chosen.len() < most {
            let Some((set, row)) = waiting.pop_front() else {
                let row = self.any_row(rng);
                if chosen.insert(row) {
                    waiting.push_back(row);
                }
                continue;
            };
            for like in self.like(set, row, groups, rng) {
                if chosen.len() < most && chosen.insert(like) {
                    waiting.push_back(like);
                }
            }
        }
        chosen
    }

    /// A row, all data sets that have any as likely.
    fn any_row(&self, rng: &mut Rng) -> (u32, u32) {
        let sets = (0..self.base.sets()).filter(|set| self.base.rows(*set) > 0);
        let sets: Vec<usize> = sets.collect();
        let set = sets[rng.index(sets.len())];
        (set as u32, rng.below(self.base.rows(set) as u32))
    }

    /// For each cell of a row, a row of each other data set that holds its text, and one of its own for `groups`.
    fn like(&self, set: u32, row: u32, groups: bool, rng: &mut Rng) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for column in 0..self.base.columns(set as usize, row as usize) as u32 {
            let text = text(&self.base, Place { set, row, column });
            for other in 0..self.base.sets() as u32 {
                let places = &self.by_text[self.places(text, other)];
                if !places.is_empty() && (groups || other != set) {
                    let place = places[rng.index(places.len())];
                    found.push((other, place.row));
                }
            }
        }
        found
    }

    /// Where the cells of a data set with this text are.
    fn places(&self, wanted: &[u8], set: u32) -> Range<usize> {
        let key = |place: &Place| (text(&self.base, *place), place.set);
        let start = self
            .by_text
            .partition_point(|place| key(place) < (wanted, set));
        let end = self
            .by_text
            .partition_point(|place| key(place) <= (wanted, set));
        start..end
    }
}

fn text(sets: &DataSets, place: Place) -> &[u8] {
    let [set, row, column] = [place.set, place.row, place.column].map(|n| n as usize);
    sets.cell(set, row, column)
}

impl Maker for Samples {
    fn make(&self, nth: u64, rng: &mut Rng, bytes_max: usize, out: &mut Vec<u8>) {
        let most = ROWS[(nth / 2) as usize % ROWS.len()];
        let rows = self.rows(most, nth % 2 == 1, rng);
        out.clear();
        for set in 0..self.base.sets() as u32 {
            if set > 0 {
                out.push(SET_END);
            }
            for &(set, row) in rows.range((set, 0)..(set + 1, 0)) {
                for column in 0..self.base.columns(set as usize, row as usize) as u32 {
                    if column > 0 {
                        out.push(self.base.delimiter());
                    }
                    out.extend_from_slice(text(&self.base, Place { set, row, column }));
                }
                out.push(ROW_END);
            }
        }
        out.truncate(bytes_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(bytes: &[u8]) -> Vec<DataSets> {
        let samples = Samples::new(DataSets::parse(bytes, b','));
        let (mut rng, mut out) = (Rng::new(3), Vec::new());
        let sample = |nth| {
            samples.make(u64::from(nth), &mut rng, 10_000, &mut out);
            DataSets::parse(&out, b',')
        };
        (0..SAMPLES).map(sample).collect()
    }

    /// Of 200 rows on either side one in ten has a partner, and yet many samples join, and some have a group of three.
    #[test]
    fn rows_that_share_a_text_come_together() {
        let left: String = (0..200).map(|n| format!("k{n},x{n}\n")).collect();
        let right: String = (0..200)
            .map(|n| format!("y{n},k{}\n", 180 + n / 3))
            .collect();
        let all = samples(format!("{left}\x1c{right}").as_bytes());
        let (mut joins, mut groups) = (0, 0);
        for sets in &all {
            let (rows, keys) = (sets.rows(0) + sets.rows(1), sets.rows(1));
            assert!((3..=12).contains(&rows), "{rows}");
            let has = |key: &[u8]| (0..sets.rows(0)).any(|row| sets.cell(0, row, 0) == key);
            joins += u32::from((0..keys).any(|row| has(sets.cell(1, row, 1))));
            let like = |key: &[u8]| (0..keys).filter(|row| sets.cell(1, *row, 1) == key).count();
            groups += u32::from((0..keys).any(|row| like(sets.cell(1, row, 1)) == 3));
        }
        assert!(joins > 20 && groups > 5, "{joins} {groups}");
    }

    #[test]
    fn no_more_rows_than_there_are() {
        assert!(
            samples(b"a\n\x1c")
                .iter()
                .all(|sets| sets.rows(0) == 1 && sets.sets() == 2)
        );
        let three = samples(b"a,\nb,b\n\x1c\x1cb,a\n");
        assert!(
            three
                .iter()
                .all(|sets| (sets.rows(0), sets.rows(1), sets.rows(2)) == (2, 0, 1))
        );
    }
}
