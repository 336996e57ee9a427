//! Several data sets of rows and cells, as one testcase.
//!
//! In: bytes. Out: where each cell is, and bytes again. The texts of the data sets follow each other,
//! one byte 0x1C (ASCII's "file separator") between two. A row ends with a newline, which the last row
//! may lack; `\r` is a byte like any other. Cells are separated by one byte, the delimiter. An empty
//! text is a data set without rows, and an empty line a row of one empty cell. So every sequence of bytes
//! is some data sets, and there is always at least one of them.
//!
//! Takes eight bytes for each cell, four for each row and for each data set: a bounded multiple of the
//! testcase, whose length the engine limits.

pub mod cell;
pub mod draft;
pub mod jvm;
pub mod schema;
pub mod tuples;

use std::ops::Range;
use std::sync::Arc;

use crate::rng::Rng;

/// What separates data sets.
pub const SET_END: u8 = 0x1c;
/// What ends a row.
pub const ROW_END: u8 = b'\n';

/// Whether no data set of this text has a row.
pub fn is_without_rows(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == SET_END)
}

/// Data sets, read from bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSets {
    bytes: Arc<[u8]>,
    delimiter: u8,
    /// Where each cell begins and ends in the bytes.
    cells: Vec<(u32, u32)>,
    /// By row: the first of its cells; and the end of the last row's.
    rows: Vec<u32>,
    /// By data set: the first of its rows; and the end of the last one's.
    sets: Vec<u32>,
}

impl DataSets {
    /// Reads data sets; anything can be read. A delimiter that separates rows or data sets never
    /// separates cells.
    ///
    /// # Panics
    /// If there are 4 GiB or more: no limit of inputs is that large.
    pub fn parse(bytes: &[u8], delimiter: u8) -> DataSets {
        assert!(u32::try_from(bytes.len()).is_ok(), "inputs are limited");
        let mut sets = DataSets {
            bytes: Arc::from(bytes),
            delimiter,
            cells: Vec::new(),
            rows: Vec::new(),
            sets: Vec::new(),
        };
        let mut at = 0;
        for text in bytes.split(|&byte| byte == SET_END) {
            sets.sets.push(sets.rows.len() as u32);
            sets.read(text, at);
            at += text.len() as u32 + 1;
        }
        sets.sets.push(sets.rows.len() as u32);
        sets.rows.push(sets.cells.len() as u32);
        sets
    }

    /// Reads one data set, whose text begins at `at`.
    fn read(&mut self, text: &[u8], mut at: u32) {
        if text.is_empty() {
            return;
        }
        let text = text.strip_suffix(&[ROW_END]).unwrap_or(text);
        for row in text.split(|&byte| byte == ROW_END) {
            self.rows.push(self.cells.len() as u32);
            for cell in row.split(|&byte| byte == self.delimiter) {
                let end = at + cell.len() as u32;
                self.cells.push((at, end));
                at = end + 1;
            }
        }
    }

    /// How many data sets, at least one.
    pub fn sets(&self) -> usize {
        self.sets.len() - 1
    }

    /// How many rows a data set has; none if there is no such data set.
    pub fn rows(&self, set: usize) -> usize {
        match (self.sets.get(set), self.sets.get(set + 1)) {
            (Some(first), Some(end)) => (end - first) as usize,
            _ => 0,
        }
    }

    /// How many cells a row has, at least one; none if there is no such row.
    pub fn columns(&self, set: usize, row: usize) -> usize {
        if row >= self.rows(set) {
            return 0;
        }
        let at = self.sets[set] as usize + row;
        (self.rows[at + 1] - self.rows[at]) as usize
    }

    /// A cell.
    ///
    /// # Panics
    /// If there is none.
    pub fn cell(&self, set: usize, row: usize, column: usize) -> &[u8] {
        let place = self.place(set, row, column);
        &self.bytes[place.start as usize..place.end as usize]
    }

    /// Where a cell lies in the bytes.
    ///
    /// # Panics
    /// If there is none.
    pub fn place(&self, set: usize, row: usize, column: usize) -> Range<u32> {
        assert!(column < self.columns(set, row), "there is such a cell");
        let first = self.rows[self.sets[set] as usize + row] as usize;
        let (start, end) = self.cells[first + column];
        start..end
    }

    /// The cell that byte `at` of the text belongs to, or ends: data set, row, column, and where it begins.
    pub fn cell_at(&self, at: u32) -> Option<(u32, u32, u32, u32)> {
        let cell = self
            .cells
            .partition_point(|(start, _)| *start <= at)
            .checked_sub(1)?;
        let (start, end) = self.cells[cell];
        if at > end {
            return None;
        }
        let row = self.rows.partition_point(|first| *first as usize <= cell) - 1;
        let set = self.sets.partition_point(|first| *first as usize <= row) - 1;
        let column = cell as u32 - self.rows[row];
        Some((set as u32, row as u32 - self.sets[set], column, start))
    }

    /// What separates cells.
    pub fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Replaces `out` by the bytes of the data sets, every row with its newline.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.clear();
        for set in 0..self.sets() {
            if set > 0 {
                out.push(SET_END);
            }
            for row in 0..self.rows(set) {
                for column in 0..self.columns(set, row) {
                    if column > 0 {
                        out.push(self.delimiter);
                    }
                    out.extend_from_slice(self.cell(set, row, column));
                }
                out.push(ROW_END);
            }
        }
    }
}

/// Makes testcases of rows, in workers: child `n` is a function of the maker, `n` and a generator of
/// random numbers that begins anew for each child.
pub trait Maker: std::fmt::Debug + Send + Sync {
    /// Replaces `out` by a child of at most `bytes_max` bytes.
    fn make(&self, nth: u64, rng: &mut Rng, bytes_max: usize, out: &mut Vec<u8>);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<Vec<Vec<String>>> {
        let sets = DataSets::parse(bytes, b',');
        let cell =
            |set, row, column| String::from_utf8_lossy(sets.cell(set, row, column)).into_owned();
        let row = |set, row| {
            let columns = 0..sets.columns(set, row);
            columns.map(|column| cell(set, row, column)).collect()
        };
        let set = |set| (0..sets.rows(set)).map(|r| row(set, r)).collect();
        (0..sets.sets()).map(set).collect()
    }

    fn written(bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![1, 2, 3];
        DataSets::parse(bytes, b',').write(&mut out);
        out
    }

    #[test]
    fn sets_rows_and_cells() {
        assert_eq!(
            texts(b"a,b\nc\n\x1cd,,e"),
            [vec![vec!["a", "b"], vec!["c"]], vec![vec!["d", "", "e"]],]
        );
        // A row may be empty, and so may a data set.
        assert_eq!(
            texts(b"\n\n\x1c\x1cx\r\n"),
            [vec![vec![""], vec![""]], vec![], vec![vec!["x\r"]],]
        );
        assert_eq!(texts(b"").len(), 1);
        assert!(texts(b"")[0].is_empty());
        assert_eq!(texts(b",\n")[0], [["", ""]]);
    }

    #[test]
    fn without_rows_is_what_has_none() {
        for text in [
            &b""[..],
            b"\x1c",
            b"\x1c\x1c",
            b"\n",
            b"\x1c\n",
            b"a\x1c",
            b",",
        ] {
            let sets = DataSets::parse(text, b',');
            let rows: usize = (0..sets.sets()).map(|set| sets.rows(set)).sum();
            assert_eq!(is_without_rows(text), rows == 0, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_there_has_no_size() {
        let sets = DataSets::parse(b"a\n", b',');
        assert_eq!((sets.sets(), sets.rows(0), sets.rows(1)), (1, 1, 0));
        assert_eq!((sets.columns(0, 0), sets.columns(0, 1)), (1, 0));
        assert_eq!(sets.columns(7, 0), 0);
    }

    #[test]
    fn what_is_written_reads_the_same() {
        assert_eq!(written(b"a,b\nc\x1cd"), b"a,b\nc\n\x1cd\n");
        let mut rng = Rng::new(1);
        for _ in 0..2_000 {
            let length = rng.index(12);
            let alphabet = b"ab,\n\x1c\r";
            let bytes: Vec<u8> = (0..length).map(|_| alphabet[rng.index(6)]).collect();
            let once = written(&bytes);
            assert_eq!(texts(&once), texts(&bytes), "{bytes:?}");
            assert_eq!(written(&once), once, "{bytes:?}");
        }
    }

    #[test]
    fn bytes_belong_to_cells() {
        let sets = DataSets::parse(b"ab,c\n\nd\x1c\x1ce,f\n", b',');
        assert_eq!(sets.cell_at(1), Some((0, 0, 0, 0)));
        assert_eq!(sets.cell_at(2), Some((0, 0, 0, 0)));
        assert_eq!(sets.cell_at(3), Some((0, 0, 1, 3)));
        assert_eq!(sets.cell_at(5), Some((0, 1, 0, 5)));
        assert_eq!(sets.cell_at(6), Some((0, 2, 0, 6)));
        assert_eq!(sets.cell_at(11), Some((2, 0, 1, 11)));
        assert_eq!(sets.cell_at(13), None);
        assert_eq!(DataSets::parse(b"", b',').cell_at(0), None);
        // In every cell of every data set.
        for set in 0..sets.sets() {
            for row in 0..sets.rows(set) {
                for column in 0..sets.columns(set, row) {
                    let text = sets.cell(set, row, column);
                    let at = text.as_ptr() as usize - sets.bytes.as_ptr() as usize;
                    let (s, r, c, start) = sets.cell_at(at as u32).unwrap();
                    assert_eq!([s, r, c, start], [set, row, column, at].map(|n| n as u32));
                }
            }
        }
    }

    #[test]
    fn another_delimiter() {
        let sets = DataSets::parse(b"a;b,c\n", b';');
        assert_eq!(sets.columns(0, 0), 2);
        assert_eq!(sets.cell(0, 0, 1), b"b,c");
        // These are something else before they could separate cells.
        assert_eq!(DataSets::parse(b"a\nb", ROW_END).columns(0, 0), 1);
    }
}
