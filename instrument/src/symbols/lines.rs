//! The line table of one unit: addresses, files, lines.

use std::sync::Arc;

use super::LineRow;
use super::dwarf::{self, Dwarf, GimliUnit};
use super::path;
use gimli::Section;

/// Bytes of a line program's header, which holds the names of files: gimli makes a hundred bytes of memory out of each.
const HEADER_BYTES: usize = 512 << 10;

/// Bytes of a line program: 16 MiB of it describe 25 MB of code.
const PROGRAM_BYTES: usize = 16 << 20;

/// Rows of one unit; SQLite has 150,000.
const ROWS_MAX: usize = 4_000_000;

/// Bytes of all paths of one unit.
const PATH_BYTES: usize = 16 << 20;

/// How many sequences are looked at for one address; more overlap only in files that lie.
const OVERLAPS_MAX: usize = 64;

/// A unit's lines. Addresses count from the code section's contents.
#[derive(Default)]
pub(super) struct Lines {
    /// Rows of one sequence after the other; ascending by address in each.
    rows: Vec<Row>,
    /// Start, end, first row and row after the last one; ascending by start.
    sequences: Vec<(u32, u32, u32, u32)>,
    /// By number in the file; `None` for what is missing or too long.
    files: Vec<Option<Arc<str>>>,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    address: u32,
    pub(super) file: u32,
    /// Zero for none.
    pub(super) line: u32,
    /// Zero for none.
    pub(super) column: u32,
}

impl Lines {
    /// Runs the line program at `offset` of `.debug_line`, as far as the limits go.
    pub(super) fn new(
        dwarf: &Dwarf<'_>,
        unit: &GimliUnit<'_>,
        offset: usize,
        code_bytes: u32,
    ) -> Lines {
        let mut lines = Lines::default();
        let _ = lines.run(dwarf, unit, offset, code_bytes);
        lines.sequences.sort_unstable();
        lines
    }

    fn run(
        &mut self,
        dwarf: &Dwarf<'_>,
        unit: &GimliUnit<'_>,
        offset: usize,
        code_bytes: u32,
    ) -> Option<()> {
        sizes_are_sane(dwarf.debug_line.reader().slice().get(offset..)?)?;
        let program = dwarf
            .debug_line
            .program(
                gimli::DebugLineOffset(offset),
                unit.header.address_size(),
                unit.comp_dir,
                unit.name,
            )
            .ok()?;
        let mut rows = program.rows();
        let mut first = 0;
        while let Ok(Some((_, row))) = rows.next_row() {
            let address = row.address();
            if row.end_sequence() {
                self.close(first, address, code_bytes);
                first = self.rows.len();
                continue;
            }
            if self.rows.len() >= ROWS_MAX {
                break;
            }
            let Ok(address) = u32::try_from(address) else {
                continue;
            };
            let small = |number: u64| u32::try_from(number).unwrap_or(0);
            self.rows.push(Row {
                address,
                file: small(row.file_index()),
                line: row.line().map_or(0, |line| small(line.get())),
                column: match row.column() {
                    gimli::ColumnType::LeftEdge => 0,
                    gimli::ColumnType::Column(column) => small(column.get()),
                },
            });
        }
        self.rows.truncate(first);
        self.read_files(dwarf, unit, rows.header());
        Some(())
    }

    /// Keeps the rows from `first` on as a sequence, or drops them when they are of a function that the linker dropped.
    fn close(&mut self, first: usize, end: u64, code_bytes: u32) {
        let start = self.rows.get(first).map_or(0, |row| row.address);
        let end = end.min(u64::from(code_bytes)) as u32;
        let ascending = self.rows[first..].is_sorted_by_key(|row| row.address);
        if start == 0 || start >= end || !ascending {
            self.rows.truncate(first);
            return;
        }
        self.sequences
            .push((start, end, first as u32, self.rows.len() as u32));
    }

    fn read_files<'a>(
        &mut self,
        dwarf: &Dwarf<'a>,
        unit: &GimliUnit<'a>,
        header: &gimli::LineProgramHeader<dwarf::Bytes<'a>>,
    ) {
        let count = header.file_names().len() + 1;
        let mut bytes = 0;
        let last = count;
        for number in 0..=last {
            let file = header.file(number as u64).and_then(|file| {
                let lossy =
                    |text: dwarf::Bytes<'_>| String::from_utf8_lossy(text.slice()).into_owned();
                let name = lossy(dwarf::text(dwarf, unit, file.path_name())?);
                let directory = header.directory(file.directory_index());
                let directory = directory
                    .and_then(|value| dwarf::text(dwarf, unit, value))
                    .map(lossy);
                let base = unit.comp_dir.map(lossy);
                Some(path(&join(
                    &join(&base.unwrap_or_default(), &directory.unwrap_or_default()),
                    &name,
                )))
            });
            bytes += file.as_ref().map_or(0, String::len);
            if bytes > PATH_BYTES {
                break;
            }
            self.files.push(file.map(Arc::from));
        }
    }

    /// The path of file `number`.
    pub(super) fn file(&self, number: u32) -> Option<Arc<str>> {
        self.files.get(number as usize)?.clone()
    }

    /// The row for `address`: the last one at or before it, or, when that has no line (a fifth of all), the nearest one
    /// with a line inside `range`, earlier ones first.
    pub(super) fn at(&self, address: u32, range: (u32, u32)) -> Option<Row> {
        let rows = self.sequence(address)?;
        let after = rows.partition_point(|row| row.address <= address);
        let has_line = |row: &&Row| row.line != 0;
        let before = rows[..after].iter().rev().enumerate();
        // The first row covers the address even if it begins before the range.
        let before = before
            .take_while(|(back, row)| *back == 0 || row.address >= range.0)
            .map(|(_, row)| row);
        let next = rows[after..].iter().take_while(|row| row.address < range.1);
        before
            .into_iter()
            .find(has_line)
            .or_else(|| next.into_iter().find(has_line))
            .copied()
    }

    /// Rows with a line in `range`, one an address.
    pub(super) fn within(&self, range: (u32, u32)) -> Vec<LineRow> {
        let mut found = Vec::new();
        let overlapping = self
            .sequences
            .partition_point(|(start, ..)| *start < range.1);
        for &(_, end, first, last) in self.sequences[..overlapping]
            .iter()
            .rev()
            .take(OVERLAPS_MAX)
        {
            if end <= range.0 {
                continue;
            }
            let rows = &self.rows[first as usize..last as usize];
            let from = rows.partition_point(|row| row.address < range.0);
            for row in rows[from..].iter().take_while(|row| row.address < range.1) {
                if let Some(file) = self.file(row.file).filter(|_| row.line != 0) {
                    found.push(LineRow {
                        offset: row.address,
                        file,
                        line: row.line,
                    });
                }
            }
        }
        found.sort_by_key(|row| row.offset);
        // Of several rows at one address the last one counts, as in a look-up.
        found.reverse();
        found.dedup_by_key(|row| row.offset);
        found.reverse();
        found
    }

    /// The rows of the sequence around `address`.
    fn sequence(&self, address: u32) -> Option<&[Row]> {
        let after = self
            .sequences
            .partition_point(|(start, ..)| *start <= address);
        let around = self.sequences[..after]
            .iter()
            .rev()
            .take(OVERLAPS_MAX)
            .find(|(_, end, ..)| address < *end);
        around.map(|&(.., first, last)| &self.rows[first as usize..last as usize])
    }

    /// About how much memory this takes.
    pub(super) fn bytes(&self) -> usize {
        let paths: usize = self
            .files
            .iter()
            .flatten()
            .map(|path| path.len() + 32)
            .sum();
        self.rows.len() * size_of::<Row>() + self.sequences.len() * 16 + paths
    }
}

/// Reads the lengths of a line program: what gimli would believe.
fn sizes_are_sane(bytes: &[u8]) -> Option<()> {
    let number = |at: usize, size: usize| {
        let field = bytes.get(at..at + size)?;
        Some(
            field
                .iter()
                .rev()
                .fold(0u64, |value, byte| value << 8 | u64::from(*byte)),
        )
    };
    let (length, at, word) = match number(0, 4)? {
        0xffff_ffff => (number(4, 8)?, 12, 8),
        length => (length, 4, 4),
    };
    let at = if number(at, 2)? >= 5 { at + 4 } else { at + 2 };
    let header = number(at, word)?;
    (length <= PROGRAM_BYTES as u64 && header <= HEADER_BYTES as u64).then_some(())
}

/// `name` in `directory`, unless it is absolute.
fn join(directory: &str, name: &str) -> String {
    let absolute = name.starts_with(['/', '\\']) || name.as_bytes().get(1) == Some(&b':');
    if absolute || directory.is_empty() {
        name.to_string()
    } else if name.is_empty() {
        directory.to_string()
    } else {
        format!("{}/{name}", directory.trim_end_matches('/'))
    }
}
