//! Small files that are there whole or not at all, their names, and locks that are not waited for long.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::FILES_MOST;
use super::broken::Version;
use crate::Error;
use crate::frame;
use crate::record::WorkerId;

const MARK: &str = "sandglass exchange 1\n";
const FOLDERS: [&str; 9] = [
    "shards", "jobs", "leases", "results", "poison", "values", "beats", "locks", "passing",
];
/// Locks that leases and values share.
const LOCKS: u8 = 64;
/// A lock is held for some file operations: who waits longer waits for one that is stopped.
const PATIENCE: Duration = Duration::from_secs(5);

/// The folder's small files.
pub(super) struct Files {
    root: PathBuf,
    /// Whoever looks on has no name here.
    worker: Option<WorkerId>,
    written: Cell<u64>,
}

/// What became of a sealed file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is not there.
    Nothing,
    /// It is not whole, or no file, or too large; what it is instead.
    Damaged(Version),
    /// Its body.
    Body(Vec<u8>),
}

impl Files {
    pub(super) fn open(root: &Path, worker: &WorkerId) -> Result<Files, Error> {
        let files = Files {
            root: root.to_owned(),
            worker: Some(worker.clone()),
            written: Cell::new(0),
        };
        files.is_marked()?;
        for folder in FOLDERS {
            let path = root.join(folder);
            fs::create_dir_all(&path).map_err(|e| failed(&path, &e))?;
        }
        Ok(files)
    }

    /// Of a folder that is one already; nothing is made.
    pub(super) fn look_on(root: &Path) -> Result<Files, Error> {
        let files = Files {
            root: root.to_owned(),
            worker: None,
            written: Cell::new(0),
        };
        match files.is_marked()? {
            true => Ok(files),
            false => Err(Error::Away(format!(
                "{}: nobody has met there yet",
                root.display()
            ))),
        }
    }

    /// Says what the folder is. Only who owns a shard may: others remove what the dead were writing.
    pub(super) fn mark(&self) -> Result<(), Error> {
        match self.is_marked()? {
            true => Ok(()),
            false => self.rename_into(&self.root.join("exchange"), MARK.as_bytes()),
        }
    }

    /// Whether the folder says what it is; errs if it says something else.
    fn is_marked(&self) -> Result<bool, Error> {
        let mark = self.root.join("exchange");
        let mut bytes = Vec::new();
        let is_read = match open_file(&mark) {
            Ok(None) => return Ok(false),
            Ok(Some(file)) => (file.take(MARK.len() as u64 + 1)).read_to_end(&mut bytes),
            Err(e) if e.kind() == ErrorKind::InvalidInput => Ok(0),
            Err(e) => Err(e),
        };
        is_read.map_err(|e| failed(&mark, &e))?;
        match bytes == MARK.as_bytes() {
            true => Ok(true),
            false => {
                let what = format!("{}: expected `{}`", mark.display(), MARK.trim());
                Err(Error::Refused(what))
            }
        }
    }

    pub(super) fn path(&self, folder: &str, name: &str) -> PathBuf {
        self.root.join(folder).join(name)
    }

    /// The body of a sealed file of at most `most` bytes.
    pub(super) fn read(&self, folder: &str, name: &str, most: usize) -> Result<Found, Error> {
        let path = self.path(folder, name);
        let whole = (most + frame::HEAD) as u64;
        let bytes = match open_file(&path) {
            Ok(None) => return Ok(Found::Nothing),
            Ok(Some(file)) => {
                let mut bytes = Vec::new();
                file.take(whole + 1)
                    .read_to_end(&mut bytes)
                    .map_err(|e| failed(&path, &e))?;
                bytes
            }
            Err(e) if e.kind() == ErrorKind::InvalidInput => {
                return Ok(Found::Damaged(Version::NO_FILE));
            }
            Err(e) => return Err(failed(&path, &e)),
        };
        Ok(match frame::open(&bytes) {
            Some(body) => Found::Body(body.to_vec()),
            None => Found::Damaged(Version::of(&bytes)),
        })
    }

    /// Writes a sealed file, over the one that was there.
    pub(super) fn write(&self, folder: &str, name: &str, body: &[u8]) -> Result<(), Error> {
        self.rename_into(&self.path(folder, name), &frame::seal(body))
    }

    pub(super) fn exists(&self, folder: &str, name: &str) -> bool {
        self.path(folder, name).exists()
    }

    pub(super) fn remove(&self, folder: &str, name: &str) {
        // Whoever finds it again removes it again.
        let _gone_or_not = fs::remove_file(self.path(folder, name));
    }

    /// Names in a folder, ascending, [`FILES_MOST`] of them at most.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, Error> {
        let path = self.root.join(folder);
        let list = fs::read_dir(&path).map_err(|e| failed(&path, &e))?;
        let mut names = Vec::new();
        for entry in list.take(FILES_MOST) {
            let name = entry.map_err(|e| failed(&path, &e))?.file_name();
            names.extend(name.into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Holds the lock that a name has, with others, until what is returned is dropped.
    pub(super) fn lock(&self, name: &str) -> Result<File, Error> {
        let number = blake3::hash(name.as_bytes()).as_bytes()[0] % LOCKS;
        let path = self.path("locks", &format!("{number:02x}"));
        require_file(&path).map_err(|e| failed(&path, &e))?;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| failed(&path, &e))?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::WouldBlock) if since.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(fs::TryLockError::WouldBlock) => {
                    let what = format!("{}: held by somebody who does not go on", path.display());
                    return Err(Error::Away(what));
                }
                Err(fs::TryLockError::Error(e)) => return Err(failed(&path, &e)),
            }
        }
    }

    /// How long ago, by the file system's own clock, a file was written. For show only.
    pub(super) fn age(&self, folder: &str, name: &str) -> Option<Duration> {
        let written = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
        let then = written(&self.path(folder, name))?;
        let now = match &self.worker {
            // Who writes nothing has only its own clock.
            None => SystemTime::now(),
            Some(_) => {
                let now = self.path("passing", &self.passing());
                create(&now).ok()?;
                let at = written(&now);
                let _gone_or_not = fs::remove_file(&now);
                at?
            }
        };
        Some(now.duration_since(then).unwrap_or_default())
    }

    /// Removes what workers that are dead now were writing; `is_dead` tells.
    pub(super) fn tidy(&self, is_dead: impl Fn(&str) -> bool) -> Result<(), Error> {
        for name in self.names("passing")? {
            if name.split('.').next().is_some_and(&is_dead) {
                self.remove("passing", &name);
            }
        }
        Ok(())
    }

    fn passing(&self) -> String {
        let number = self.written.get();
        self.written.set(number + 1);
        let worker = self.worker.as_ref().expect("who looks on writes nothing");
        format!("{}.{number}", worker.0)
    }

    fn rename_into(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let passing = self.path("passing", &self.passing());
        let written = create(&passing)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&passing, path));
        written.map_err(|e| {
            let _gone_or_not = fs::remove_file(&passing);
            failed(path, &e)
        })
    }
}

/// A new file, in place of what is called so: through a link somebody else's would be written.
fn create(path: &Path) -> io::Result<File> {
    let new = || OpenOptions::new().write(true).create_new(true).open(path);
    match new() {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            new()
        }
        made => made,
    }
}

/// Errs with `InvalidInput` for what is there and no file: a link leads elsewhere, and opening a pipe waits.
pub(crate) fn require_file(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "not a regular file",
        )),
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Opens what is a file and no link, pipe or folder, for reading; those are `InvalidInput`.
pub(super) fn open_file(path: &Path) -> io::Result<Option<File>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => match File::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        },
        Ok(_) => Err(ErrorKind::InvalidInput.into()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// A folder that is not there is away; anything else has failed.
pub(super) fn failed(path: &Path, error: &io::Error) -> Error {
    let what = format!("{}: {error}", path.display());
    match error.kind() {
        ErrorKind::NotFound => Error::Away(what),
        _ => Error::Failed(what),
    }
}
