//! The log as somebody reads it who does not own it: piece by piece, while it grows or is cut.
//!
//! A line is told once it is whole. A campaign that goes on from its checkpoint cuts off what came after
//! it and writes that again: whoever follows is told to begin again, because lines that it knows are gone.
//! Holds one line at a time, however long the log is.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::LINE_BYTES_MAX;
use crate::error::{io, show};

/// Bytes before our place that must not have changed: most of a line, with its times.
const MARK_BYTES: usize = 256;

/// What a follower is told.
#[derive(Debug, PartialEq, Eq)]
pub enum Told<'a> {
    /// All that was told before is void.
    Again,
    /// A line without its end.
    Line(&'a [u8]),
}

/// A place in somebody else's log.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    /// Where the next line begins.
    offset: u64,
    /// What stands before that.
    mark: Vec<u8>,
}

impl Tail {
    /// At the beginning. The log need not exist yet.
    pub fn new(path: &Path) -> Tail {
        Tail {
            path: path.to_owned(),
            offset: 0,
            mark: Vec::new(),
        }
    }

    /// Tells what is new, about `bytes_max` bytes of it at most; returns how many bytes are left, a
    /// torn line included. A log that is not there is empty. Errs if it cannot be read.
    pub fn read(&mut self, bytes_max: u64, tell: &mut dyn FnMut(Told<'_>)) -> Result<u64> {
        let is_missing = |e: &std::io::Error| e.kind() == std::io::ErrorKind::NotFound;
        match std::fs::symlink_metadata(&self.path) {
            Err(e) if is_missing(&e) => {
                if self.offset > 0 {
                    self.again(tell);
                }
                return Ok(0);
            }
            Ok(meta) if !meta.is_file() => {
                anyhow::bail!("{}: not a regular file", show(&self.path))
            }
            _ => {}
        }
        let path = self.path.clone();
        let failed = |e| io(&path, "read", &e);
        let file = File::open(&path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        if !self.is_intact(&mut reader, length) {
            self.again(tell);
        }
        let end = self.offset.saturating_add(bytes_max).min(length);
        reader.seek(SeekFrom::Start(self.offset)).map_err(failed)?;
        self.lines(&mut reader, end, tell).map_err(failed)?;
        Ok(length.saturating_sub(self.offset))
    }

    fn again(&mut self, tell: &mut dyn FnMut(Told<'_>)) {
        (self.offset, self.mark) = (0, Vec::new());
        tell(Told::Again);
    }

    fn is_intact(&self, reader: &mut BufReader<File>, length: u64) -> bool {
        let from = self.offset - self.mark.len() as u64;
        let mut found = vec![0; self.mark.len()];
        length >= self.offset
            && reader.seek(SeekFrom::Start(from)).is_ok()
            && reader.read_exact(&mut found).is_ok()
            && found == self.mark
    }

    /// Tells the lines that begin before `end`.
    fn lines(
        &mut self,
        reader: &mut impl BufRead,
        end: u64,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> std::io::Result<()> {
        let mut line = Vec::new();
        while self.offset < end {
            line.clear();
            let mut bounded = reader.by_ref().take(LINE_BYTES_MAX);
            let mut read = bounded.read_until(b'\n', &mut line)? as u64;
            if line.pop_if(|last| *last == b'\n').is_some() {
                tell(Told::Line(&line));
            } else if read == LINE_BYTES_MAX {
                // Somebody else's: nobody is told of it.
                read += reader.skip_until(b'\n')? as u64;
            } else {
                // Torn, or being written.
                return Ok(());
            }
            self.offset += read;
            let kept = line.len().saturating_sub(MARK_BYTES - 1);
            self.mark = line[kept..].to_vec();
            self.mark.push(b'\n');
            if read > LINE_BYTES_MAX {
                self.mark.clear();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What a call tells, as text, and what is left.
    fn told(tail: &mut Tail, bytes_max: u64) -> (Vec<String>, u64) {
        let mut all = Vec::new();
        let left = tail.read(bytes_max, &mut |told| {
            all.push(match told {
                Told::Again => "AGAIN".to_owned(),
                Told::Line(line) => String::from_utf8_lossy(line).into_owned(),
            });
        });
        (all, left.expect("reads"))
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn lines_are_told_once_and_only_when_they_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut tail = Tail::new(&path);
        assert_eq!(told(&mut tail, 100), (Vec::new(), 0));
        fs::write(&path, "one\ntwo\nthr").unwrap();
        assert_eq!(told(&mut tail, 100), (strings(&["one", "two"]), 3));
        fs::write(&path, "one\ntwo\nthree\n\nfive\n").unwrap();
        // Piece by piece.
        assert_eq!(told(&mut tail, 1), (strings(&["three"]), 6));
        assert_eq!(told(&mut tail, 100), (strings(&["", "five"]), 0));
        assert_eq!(told(&mut tail, 100), (Vec::new(), 0));
    }

    #[test]
    fn a_log_that_was_cut_or_rewritten_is_told_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut tail = Tail::new(&path);
        fs::write(&path, "one\ntwo\n").unwrap();
        told(&mut tail, 100);
        // Shorter; as long as before; longer; gone.
        fs::write(&path, "one\n").unwrap();
        assert_eq!(told(&mut tail, 100), (strings(&["AGAIN", "one"]), 0));
        fs::write(&path, "ONE\n").unwrap();
        assert_eq!(told(&mut tail, 100), (strings(&["AGAIN", "ONE"]), 0));
        fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(told(&mut tail, 100), (strings(&["AGAIN", "one", "two"]), 0));
        fs::remove_file(&path).unwrap();
        assert_eq!(told(&mut tail, 100), (strings(&["AGAIN"]), 0));
    }

    #[test]
    fn an_endless_line_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let endless = "x".repeat(LINE_BYTES_MAX as usize);
        fs::write(&path, format!("one\n{endless}x\ntwo\n")).unwrap();
        let mut tail = Tail::new(&path);
        assert_eq!(told(&mut tail, u64::MAX).0, strings(&["one", "two"]));
        assert_eq!(told(&mut tail, u64::MAX).0, strings(&[]));
    }
}
