//! A file of rows, read from beginning to end with one row in memory.
//!
//! Rows are numbered from 0. Those that no testcase can have are left out: longer than one may be, or with the byte that
//! separates data sets. Of the former no more is held than a testcase may have.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use anyhow::{Result, bail};
use sandglass_engine::rows::{ROW_END, SET_END};

use super::Config;
use crate::error::{io, show};

/// One row of a data set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Which data set.
    pub set: usize,
    /// Which row of its file.
    pub number: u64,
    /// Without its end.
    pub bytes: Vec<u8>,
}

/// The rows of one file.
pub struct Rows {
    set: usize,
    path: PathBuf,
    reader: BufReader<File>,
    bytes_max: usize,
    next: u64,
    row: Vec<u8>,
    /// A row that did not fit in the last window.
    waiting: Option<Row>,
    unusable: u64,
}

/// How many rows a data set has, and how many of them are left out.
pub fn count(config: &Config, set: usize) -> Result<(u64, u64)> {
    let mut rows = Rows::open(config, set)?;
    while rows.read()?.is_some() {}
    Ok((rows.next, rows.unusable))
}

impl Rows {
    /// Begins to read. Files are read several times, so that a pipe is none.
    pub fn open(config: &Config, set: usize) -> Result<Rows> {
        let path = config.files[set].clone();
        // Before it is opened: that of a pipe would wait for somebody who writes.
        let about = fs::metadata(&path).map_err(|e| io(&path, "open", &e))?;
        if !about.is_file() {
            bail!(
                "{}: not a file, expected the rows of a data set",
                show(&path)
            );
        }
        let file = File::open(&path).map_err(|e| io(&path, "open", &e))?;
        Ok(Rows {
            set,
            path,
            reader: BufReader::with_capacity(1 << 16, file),
            // Between two data sets there is a byte, and behind a row.
            bytes_max: config.bytes_max.saturating_sub(config.files.len()),
            next: 0,
            row: Vec::new(),
            waiting: None,
            unusable: 0,
        })
    }

    /// The next row that a testcase can have, and its number.
    pub fn read(&mut self) -> Result<Option<(u64, &[u8])>> {
        while self.line().map_err(|e| io(&self.path, "read", &e))? {
            self.next += 1;
            if self.row.pop_if(|byte| *byte == ROW_END).is_none()
                && self.row.len() >= self.bytes_max
                || self.row.contains(&SET_END)
            {
                self.unusable += 1;
                continue;
            }
            return Ok(Some((self.next - 1, &self.row)));
        }
        Ok(None)
    }

    /// Rows of this many bytes, or one.
    pub fn window(&mut self, bytes_max: usize) -> Result<Vec<Row>> {
        let mut window: Vec<Row> = Vec::from_iter(self.waiting.take());
        let mut bytes: usize = window.iter().map(|row| row.bytes.len()).sum();
        let set = self.set;
        while let Some((number, row)) = self.read()? {
            let row = Row {
                set,
                number,
                bytes: row.to_vec(),
            };
            bytes += row.bytes.len();
            if bytes > bytes_max && !window.is_empty() {
                self.waiting = Some(row);
                break;
            }
            window.push(row);
        }
        Ok(window)
    }

    /// Reads to the end of a row, of which no more than may be is held; false at the end of the file.
    fn line(&mut self) -> std::io::Result<bool> {
        self.row.clear();
        let mut part = (&mut self.reader).take(self.bytes_max as u64);
        if part.read_until(ROW_END, &mut self.row)? == 0 {
            return Ok(false);
        }
        if self.row.len() == self.bytes_max && self.row.last() != Some(&ROW_END) {
            self.reader.skip_until(ROW_END)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &[u8], bytes_max: usize) -> (tempfile::TempDir, Config) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        std::fs::write(&path, text).unwrap();
        let files = vec![path];
        let config = Config {
            files,
            delimiter: b',',
            bytes_max,
        };
        (folder, config)
    }

    #[test]
    fn rows_that_no_testcase_can_have_are_left_out() {
        let (_folder, config) = config(b"a\n\n12345678\nb\x1cc\n1234567\nlast", 9);
        let mut rows = Rows::open(&config, 0).unwrap();
        let mut found = Vec::new();
        while let Some((number, row)) = rows.read().unwrap() {
            found.push((number, String::from_utf8_lossy(row).into_owned()));
        }
        let expected = [(0, "a"), (1, ""), (4, "1234567"), (5, "last")];
        assert_eq!(found, expected.map(|(n, text)| (n, text.to_owned())));
        assert_eq!(count(&config, 0).unwrap(), (6, 2));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let (folder, mut config) = config(b"a\n", 100);
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        config.files = vec![pipe];
        let error = Rows::open(&config, 0).err().expect("refused").to_string();
        assert!(error.contains("expected the rows of a data set"), "{error}");
    }

    #[test]
    fn windows_have_every_row_once() {
        let (_folder, config) = config(b"aa\nbb\ncccccc\nd\n", 100);
        let mut rows = Rows::open(&config, 0).unwrap();
        let mut windows = Vec::new();
        loop {
            let window = rows.window(4).unwrap();
            if window.is_empty() {
                break;
            }
            windows.push(window.iter().map(|row| row.number).collect::<Vec<_>>());
        }
        assert_eq!(windows, [vec![0, 1], vec![2], vec![3]]);
    }
}
