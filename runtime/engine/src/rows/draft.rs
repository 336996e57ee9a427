//! Data sets that are being changed: rows repeated and inserted, cells given new text.
//!
//! In: data sets, and changes. Out: bytes. Rows that nobody has changed stay where they were read, so a
//! draft costs a few words for each row.

use std::collections::BTreeMap;

use super::{DataSets, ROW_END, SET_END};
use crate::ratio::Ratio;
use crate::rng::Rng;

/// Rows are duplicated with this probability,
const DUPLICATION: Ratio = Ratio { count: 1, of: 2 };
/// fewer of them than this.
const COPIES: u32 = 10;

/// Data sets that are being changed.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    read: &'a DataSets,
    sets: Vec<Vec<Row>>,
    /// Of all rows.
    cells: usize,
}

/// A row: one that was read, with other text in some of its cells.
#[derive(Clone, Debug)]
struct Row {
    source: u32,
    /// By column: a row may have millions, and all of them new texts.
    edits: BTreeMap<u32, Vec<u8>>,
}

/// The cells of one row of a draft.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    read: &'a DataSets,
    row: &'a Row,
    /// Which data set it is of.
    pub set: usize,
    /// Which row of the draft it is.
    pub index: usize,
}

impl<'a> Draft<'a> {
    /// Nothing changed yet.
    pub fn new(read: &'a DataSets) -> Draft<'a> {
        let row = |source| Row {
            source,
            edits: BTreeMap::new(),
        };
        let set = |set| (0..read.rows(set) as u32).map(row).collect();
        Draft {
            read,
            sets: (0..read.sets()).map(set).collect(),
            cells: read.cells.len(),
        }
    }

    /// How many cells all rows have by now.
    pub fn cell_count(&self) -> usize {
        self.cells
    }

    /// How many rows a data set has by now.
    pub fn rows(&self, set: usize) -> usize {
        self.sets.get(set).map_or(0, Vec::len)
    }

    /// The cells of one row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn cells(&self, set: usize, row: usize) -> Cells<'_> {
        Cells {
            read: self.read,
            row: &self.sets[set][row],
            set,
            index: row,
        }
    }

    /// Appends a copy of a row to its data set; where it is.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn append_copy(&mut self, set: usize, row: usize) -> usize {
        let copy = self.sets[set][row].clone();
        self.cells += self.cells(set, row).len();
        self.sets[set].push(copy);
        self.sets[set].len() - 1
    }

    /// How many data sets there are.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// Leaves out a row; those below move up.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn remove(&mut self, set: usize, row: usize) {
        self.cells -= self.cells(set, row).len();
        self.sets[set].remove(row);
    }

    /// Exchanges two rows of a data set.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn swap(&mut self, set: usize, first: usize, second: usize) {
        self.sets[set].swap(first, second);
    }

    /// Gives a cell another text.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn set(&mut self, set: usize, row: usize, column: usize, text: Vec<u8>) {
        assert!(column < self.cells(set, row).len(), "there is such a cell");
        self.sets[set][row].edits.insert(column as u32, text);
    }

    /// In each data set, with probability 1/2, inserts 0 to 9 copies of random rows in front of
    /// the rows that they copy, so that all below move down: DepFuzz's and BigFuzz's duplication.
    pub fn duplicate_rows(&mut self, rng: &mut Rng) {
        for (set, rows) in self.sets.iter_mut().enumerate() {
            if !rng.chance(DUPLICATION) {
                continue;
            }
            for _ in 0..rng.below(COPIES) {
                if rows.is_empty() {
                    break;
                }
                let at = rng.index(rows.len());
                self.cells += self.read.columns(set, rows[at].source as usize);
                rows.insert(at, rows[at].clone());
            }
        }
    }

    /// Replaces `out` by all rows as `text` appends them, without their ends; cut after `bytes_max` bytes.
    pub fn write(
        &self,
        bytes_max: usize,
        out: &mut Vec<u8>,
        mut text: impl FnMut(Cells<'_>, &mut Vec<u8>),
    ) {
        out.clear();
        for set in 0..self.sets.len() {
            if set > 0 {
                out.push(SET_END);
            }
            for row in 0..self.sets[set].len() {
                if out.len() >= bytes_max {
                    break;
                }
                text(self.cells(set, row), out);
                out.push(ROW_END);
            }
        }
        out.truncate(bytes_max);
    }
}

impl<'a> Cells<'a> {
    /// How many, at least one.
    #[expect(clippy::len_without_is_empty, reason = "no row is without cells")]
    pub fn len(&self) -> usize {
        self.read.columns(self.set, self.row.source as usize)
    }

    /// The text of one.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, column: usize) -> &'a [u8] {
        match self.row.edits.get(&(column as u32)) {
            Some(text) => text,
            None => self.read.cell(self.set, self.row.source as usize, column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(cells: Cells<'_>, out: &mut Vec<u8>) {
        for column in 0..cells.len() {
            if column > 0 {
                out.push(b',');
            }
            out.extend_from_slice(cells.get(column));
        }
    }

    fn text(draft: &Draft<'_>) -> String {
        let mut out = Vec::new();
        draft.write(usize::MAX, &mut out, plain);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn copies_are_rows_of_their_own() {
        let read = DataSets::parse(b"a,b\n\x1cc\n", b',');
        let mut draft = Draft::new(&read);
        assert_eq!(draft.append_copy(0, 0), 1);
        draft.set(0, 0, 1, b"x".to_vec());
        draft.set(0, 0, 1, b"y".to_vec());
        assert_eq!(text(&draft), "a,y\na,b\n\x1cc\n");
        assert_eq!((draft.rows(0), draft.rows(1), draft.rows(2)), (2, 1, 0));
        assert_eq!(draft.cell_count(), 5);
    }

    #[test]
    fn rows_are_left_out_and_exchanged() {
        let read = DataSets::parse(b"a,b\nc\nd\n\x1ce\n", b',');
        let mut draft = Draft::new(&read);
        draft.swap(0, 0, 2);
        draft.remove(0, 1);
        draft.remove(1, 0);
        assert_eq!(text(&draft), "d\na,b\n\x1c");
        assert_eq!((draft.sets(), draft.rows(0), draft.rows(1)), (2, 2, 0));
        assert_eq!(draft.cell_count(), 3);
    }

    #[test]
    fn nothing_is_longer_than_the_limit() {
        let read = DataSets::parse(b"abc,d\ne\n\x1c\x1cf\n", b',');
        let draft = Draft::new(&read);
        let whole = text(&draft).into_bytes();
        for bytes_max in 0..=whole.len() + 1 {
            let mut out = Vec::new();
            draft.write(bytes_max, &mut out, plain);
            assert_eq!(out, whole[..bytes_max.min(whole.len())]);
        }
    }

    /// A new text for each of 300,000 cells of one row, which took minutes when all edits were looked through for each.
    #[test]
    fn a_row_may_have_many_cells() {
        let read = DataSets::parse(&b"1,".repeat(300_000), b',');
        let mut draft = Draft::new(&read);
        for column in (0..300_000).rev() {
            draft.set(0, 0, column, b"22".to_vec());
        }
        assert_eq!(text(&draft), "22,".repeat(300_000) + "\n");
    }

    /// Half of the time nothing; else 0 to 9 copies, all as likely, each beside its like.
    #[test]
    fn rows_are_duplicated_up_to_nine_times() {
        let read = DataSets::parse(b"a\nb\nc\n\x1c", b',');
        let mut rng = Rng::new(1);
        let mut counts = [0u32; 10];
        for _ in 0..20_000 {
            let mut draft = Draft::new(&read);
            draft.duplicate_rows(&mut rng);
            assert_eq!(draft.rows(1), 0);
            assert_eq!(draft.cell_count(), draft.rows(0));
            counts[draft.rows(0) - 3] += 1;
            let mut rows: Vec<_> = (0..draft.rows(0))
                .map(|row| draft.cells(0, row).get(0))
                .collect();
            assert!(rows.is_sorted());
            rows.dedup();
            assert_eq!(rows.len(), 3);
        }
        // 1/2 + 1/20 of none, 1/20 of each other.
        assert!((10_700..11_300).contains(&counts[0]), "{counts:?}");
        assert!(
            counts[1..].iter().all(|n| (850..1_150).contains(n)),
            "{counts:?}"
        );
    }
}
