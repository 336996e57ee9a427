//! Files that are either whole or absent, whatever kills us.
//!
//! A file is written beside its place (in the campaign's `tmp` folder, so that
//! no half-written file ever shows up in `corpus/`), forced to disk, renamed,
//! and the folder that now names it is forced to disk as well.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::io;

/// How much has to survive: a crash of the process, or of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Renamed into place; the system writes it when it likes. For files that
    /// the checkpoint can restore.
    Process,
    /// Forced to disk together with its folder. For findings and checkpoints.
    Machine,
}

/// Writes `bytes` to `path` through a temporary file in `tmp`.
pub fn write(tmp: &Path, path: &Path, bytes: &[u8], durability: Durability) -> Result<()> {
    let beside = temporary(tmp, path);
    let result = write_plain(&beside, bytes, durability).and_then(|()| {
        fs::rename(&beside, path).map_err(|e| io(path, "rename into place", &e))?;
        sync_parent(path, durability)
    });
    if result.is_err() {
        // A leftover would be harmless: `tmp` is emptied when the folder is opened.
        let _ = fs::remove_file(&beside);
    }
    result
}

/// Moves a finished folder of files into place and forces the move to disk.
/// An older folder of that name is moved beside `from` first, and removed when the new one is there: between two
/// renames, and no longer, there is neither.
pub fn rename_folder(from: &Path, to: &Path) -> Result<()> {
    sync_folder(from)?;
    let older = from.with_extension("older");
    let is_replaced = to.exists();
    if is_replaced {
        fs::rename(to, &older).map_err(|e| io(to, "replace", &e))?;
    }
    fs::rename(from, to).map_err(|e| io(to, "rename into place", &e))?;
    if is_replaced {
        fs::remove_dir_all(&older).map_err(|e| io(&older, "remove", &e))?;
    }
    sync_parent(to, Durability::Machine)
}

/// Writes a file at once in its place: for files inside a folder that is
/// renamed as a whole later.
pub fn write_plain(path: &Path, bytes: &[u8], durability: Durability) -> Result<()> {
    let mut file = File::create(path).map_err(|e| io(path, "create", &e))?;
    file.write_all(bytes).map_err(|e| io(path, "write", &e))?;
    if durability == Durability::Machine {
        file.sync_all().map_err(|e| io(path, "force to disk", &e))?;
    }
    Ok(())
}

/// Forces the names in a folder to disk.
fn sync_folder(path: &Path) -> Result<()> {
    // There a folder cannot be opened as a file, and its names are kept by the journal.
    if cfg!(windows) {
        return Ok(());
    }
    let folder = File::open(path).map_err(|e| io(path, "open", &e))?;
    match folder.sync_all() {
        Ok(()) => Ok(()),
        // Some file systems cannot do this for folders, and say so.
        Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => Ok(()),
        Err(e) => Err(io(path, "force to disk", &e)),
    }
}

fn sync_parent(path: &Path, durability: Durability) -> Result<()> {
    match (durability, path.parent()) {
        (Durability::Machine, Some(parent)) => sync_folder(parent),
        _ => Ok(()),
    }
}

fn temporary(tmp: &Path, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    tmp.join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("checkpoint");
        fs::write(&path, b"old").unwrap();
        let missing = root.path().join("missing");
        let error = write(&missing, &path, b"new", Durability::Machine).unwrap_err();
        assert!(error.to_string().contains("cannot create"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn a_write_replaces_the_old_file() {
        let root = tempfile::tempdir().unwrap();
        let tmp = root.path().join("tmp");
        fs::create_dir(&tmp).unwrap();
        let path = root.path().join("checkpoint");
        for durability in [Durability::Process, Durability::Machine] {
            write(&tmp, &path, b"new", durability).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
        }
        assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
    }
}
