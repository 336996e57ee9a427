//! `events.jsonl`: one JSON object a line, only ever appended to.
//!
//! A checkpoint names a position in it and the hash of everything before. On
//! resume the part before must be intact, the part after is cut off and
//! repeated: a torn last line is what kill -9 leaves and is no error; a line
//! that is complete and yet no JSON object is. Of what is cut off, the names of
//! the testcases' files are remembered: they go, too.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::folder::require_file;
use super::is_our_name;
use crate::error::{io, show};

mod tail;

pub use tail::{Tail, Told};

/// More than any event has; a longer line is somebody else's.
const LINE_BYTES_MAX: u64 = 1 << 24;

/// More files than any campaign keeps between two checkpoints. Those of a longer log stay.
const CUT_FILES_MAX: usize = 1 << 20;

/// The open log of a campaign.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    file: File,
    pending: Vec<u8>,
    bytes: u64,
    hasher: blake3::Hasher,
    cut_files: BTreeSet<String>,
}

/// A position in the log: what a checkpoint remembers of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Length up to here, in bytes.
    pub bytes: u64,
    /// blake3 of everything up to here.
    pub hash: [u8; 32],
}

impl Position {
    /// The beginning of an empty log.
    pub fn start() -> Position {
        Position {
            bytes: 0,
            hash: *blake3::Hasher::new().finalize().as_bytes(),
        }
    }
}

impl EventLog {
    /// Opens the log and cuts it at `position`, after checking what comes before
    /// and what is about to be cut. Neither is held in memory as a whole.
    pub fn open_at(path: &Path, position: Position) -> Result<EventLog> {
        require_file(path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|e| io(path, "open", &e))?;
        let mut reader = BufReader::new(&file);
        let (hasher, line_count) = check_before(path, &mut reader, position)?;
        let cut_files = check_after(path, &mut reader, line_count)?;
        file.set_len(position.bytes)
            .map_err(|e| io(path, "truncate", &e))?;
        file.seek(SeekFrom::End(0))
            .map_err(|e| io(path, "seek", &e))?;
        Ok(EventLog {
            path: path.to_owned(),
            file,
            pending: Vec::new(),
            bytes: position.bytes,
            hasher,
            cut_files,
        })
    }

    /// Names of testcases' files that what was cut off told of.
    pub fn cut_files(&self) -> &BTreeSet<String> {
        &self.cut_files
    }

    /// Adds a line; it reaches the file with the next [`EventLog::flush`].
    pub fn append(&mut self, line: &str) {
        debug_assert!(!line.contains('\n'), "an event is one line");
        self.pending.extend_from_slice(line.as_bytes());
        self.pending.push(b'\n');
    }

    /// Writes what was added. Cheap when nothing was.
    pub fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.file
            .write_all(&self.pending)
            .map_err(|e| io(&self.path, "write", &e))?;
        self.hasher.update(&self.pending);
        self.bytes += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Writes what was added and forces it to disk; returns the position after it.
    pub fn sync(&mut self) -> Result<Position> {
        self.flush()?;
        self.file
            .sync_data()
            .map_err(|e| io(&self.path, "force to disk", &e))?;
        Ok(Position {
            bytes: self.bytes,
            hash: *self.hasher.finalize().as_bytes(),
        })
    }
}

/// Reads up to `position`; the hash of that part, and how many lines it has.
fn check_before(
    path: &Path,
    reader: &mut impl BufRead,
    position: Position,
) -> Result<(blake3::Hasher, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut line_count = 0;
    let mut before = reader.by_ref().take(position.bytes);
    loop {
        let part = before.fill_buf().map_err(|e| io(path, "read", &e))?;
        if part.is_empty() {
            break;
        }
        hasher.update(part);
        line_count += part.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let read = part.len();
        before.consume(read);
    }
    if before.limit() > 0 {
        bail!(
            "{}: event log has {} bytes, expected at least the {} that the checkpoint covers",
            show(path),
            position.bytes - before.limit(),
            position.bytes
        );
    }
    if *hasher.finalize().as_bytes() != position.hash {
        bail!(
            "{}: event log is corrupt: its first {} bytes do not match the checkpoint",
            show(path),
            position.bytes
        );
    }
    Ok((hasher, line_count))
}

/// Reads the rest, whose first line has the number `line_count`, counted from 0; the files that it tells of.
fn check_after(
    path: &Path,
    reader: &mut impl BufRead,
    mut line_count: u64,
) -> Result<BTreeSet<String>> {
    let mut line = Vec::new();
    let mut files = BTreeSet::new();
    loop {
        line.clear();
        let mut bounded = reader.by_ref().take(LINE_BYTES_MAX);
        let read = bounded
            .read_until(b'\n', &mut line)
            .map_err(|e| io(path, "read", &e))? as u64;
        line_count += 1;
        if line.last() != Some(&b'\n') && read < LINE_BYTES_MAX {
            // The end, or a line that kill -9 tore.
            return Ok(files);
        }
        let Ok(event) = serde_json::from_slice::<Map<String, Value>>(&line) else {
            bail!(
                "{}: event log is corrupt: line {line_count} is not a JSON object",
                show(path)
            );
        };
        files.extend(file_of(&event).filter(|_| files.len() < CUT_FILES_MAX));
    }
}

/// The file of a testcase that an event says was written.
fn file_of(event: &Map<String, Value>) -> Option<String> {
    let name = match event.get("event")?.as_str()? {
        "kept" | "trimmed" => event.get("file")?.as_str()?,
        _ => return None,
    };
    is_our_name(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn log_of(lines: &[&str]) -> (tempfile::TempDir, PathBuf, Position) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("events.jsonl");
        let mut log = EventLog::open_at(&path, Position::start()).unwrap();
        for line in lines {
            log.append(line);
        }
        let position = log.sync().unwrap();
        (root, path, position)
    }

    #[test]
    fn what_follows_the_position_is_cut_even_when_torn() {
        let (_root, path, position) = log_of(&[r#"{"a":1}"#]);
        let intact = fs::read(&path).unwrap();
        for tail in ["", "{\"b\":2}\n", "{\"b\":2}\n{\"c", "{", "\u{1}"] {
            fs::write(&path, [&intact[..], tail.as_bytes()].concat()).unwrap();
            drop(EventLog::open_at(&path, position).unwrap());
            assert_eq!(fs::read(&path).unwrap(), intact, "{tail:?}");
        }
    }

    #[test]
    fn what_is_cut_is_known_by_its_files() {
        let name = |digit: &str| digit.repeat(32);
        let line = |event: &str, file: &str| format!(r#"{{"event":"{event}","file":"{file}"}}"#);
        let (_root, path, position) = log_of(&[&line("kept", &name("0"))]);
        let intact = fs::read_to_string(&path).unwrap();
        let after = [
            line("kept", &name("a")),
            line("trimmed", &name("b")),
            line("finding", &name("c")),
            line("kept", "../campaign.toml"),
            r#"{"event":"kept","file":7}"#.to_owned(),
            line("kept", &name("d")),
        ];
        // The last line is torn.
        fs::write(&path, intact + &after.join("\n")).unwrap();
        let log = EventLog::open_at(&path, position).unwrap();
        let cut: Vec<&String> = log.cut_files().iter().collect();
        assert_eq!(cut, [&name("a"), &name("b")]);
        drop(log);
        let log = EventLog::open_at(&path, position).unwrap();
        assert!(log.cut_files().is_empty());
    }

    #[test]
    fn appending_after_reopening_equals_never_stopping() {
        let (_root, path, position) = log_of(&["{}"]);
        let mut log = EventLog::open_at(&path, position).unwrap();
        log.append("{\"b\":2}");
        let resumed = log.sync().unwrap();
        let (_other_root, _, undisturbed) = log_of(&["{}", "{\"b\":2}"]);
        assert_eq!(resumed, undisturbed);
    }

    #[test]
    fn damage_is_an_error_that_says_where() {
        let (_root, path, position) = log_of(&["{}", "{}"]);
        fs::write(&path, "{}\n").unwrap();
        let error = EventLog::open_at(&path, position).unwrap_err().to_string();
        assert!(
            error.contains("has 3 bytes, expected at least the 6"),
            "{error}"
        );
        fs::write(&path, "{}\n[]\n").unwrap();
        let error = EventLog::open_at(&path, position).unwrap_err().to_string();
        assert!(error.contains("first 6 bytes do not match"), "{error}");
        fs::write(&path, "{}\n{}\nnonsense\n{}\n").unwrap();
        let error = EventLog::open_at(&path, position).unwrap_err().to_string();
        assert!(error.contains("line 3 is not a JSON object"), "{error}");
        let endless = "x".repeat(LINE_BYTES_MAX as usize);
        fs::write(&path, format!("{{}}\n{{}}\n{endless}")).unwrap();
        let error = EventLog::open_at(&path, position).unwrap_err().to_string();
        assert!(error.contains("line 3 is not a JSON object"), "{error}");
    }
}
