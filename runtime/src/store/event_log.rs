//! `events.jsonl`: one JSON object a line, only ever appended to.
//!
//! A checkpoint names a position in it and the hash of everything before. On
//! resume the part before must be intact, the part after is cut off and
//! repeated: a torn last line is what kill -9 leaves and is no error; a line
//! that is complete and yet no JSON object is.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::error::{io, show};

/// The open log of a campaign.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    file: File,
    pending: Vec<u8>,
    bytes: u64,
    hasher: blake3::Hasher,
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
    /// Opens the log and cuts it at `position`, after checking what comes before.
    pub fn open_at(path: &Path, position: Position) -> Result<EventLog> {
        super::require_file(path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|e| io(path, "open", &e))?;
        let mut content = Vec::new();
        (&mut file)
            .take(position.bytes)
            .read_to_end(&mut content)
            .map_err(|e| io(path, "read", &e))?;
        check(path, &content, position)?;
        file.set_len(position.bytes)
            .map_err(|e| io(path, "truncate", &e))?;
        file.seek(SeekFrom::End(0))
            .map_err(|e| io(path, "seek", &e))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&content);
        Ok(EventLog {
            path: path.to_owned(),
            file,
            pending: Vec::new(),
            bytes: position.bytes,
            hasher,
        })
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

fn check(path: &Path, content: &[u8], position: Position) -> Result<()> {
    let path_shown = show(path);
    let Some(before) = content.get(..position.bytes as usize) else {
        bail!(
            "{path_shown}: event log has {} bytes, expected at least the {} that the checkpoint covers",
            content.len(),
            position.bytes
        );
    };
    if *blake3::hash(before).as_bytes() != position.hash {
        bail!(
            "{path_shown}: event log is corrupt: its first {} bytes do not match the checkpoint",
            position.bytes
        );
    }
    let line_count = before.iter().filter(|&&byte| byte == b'\n').count();
    let after = &content[position.bytes as usize..];
    for (index, line) in after.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let is_torn = line.last() != Some(&b'\n');
        if !is_torn && serde_json::from_slice::<serde_json::Map<_, _>>(line).is_err() {
            bail!(
                "{path_shown}: event log is corrupt: line {} is not a JSON object",
                line_count + index + 1
            );
        }
    }
    Ok(())
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
    }
}
