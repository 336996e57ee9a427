//! The table of open descriptors.
//!
//! Descriptors 0, 1 and 2 are the standard streams and 3 is the directory `/`; a new one takes the
//! lowest free number, as in POSIX. The table knows which node a descriptor means, not what is in
//! it.

use super::abi::{Errno, FileType, rights};
use super::files::{Ino, ROOT};

/// How many descriptors may be open at once, as Linux's usual `RLIMIT_NOFILE`.
const DESCRIPTORS_MAX: usize = 1024;

/// What is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    /// The input of the run. Can be read and sought, like a file that a shell redirects.
    Stdin,
    /// Captured output.
    Stdout,
    /// Captured diagnostics.
    Stderr,
    /// A directory; `preopened` if the guest found it open.
    Directory { ino: Ino, preopened: bool },
    /// A regular file.
    File(Ino),
}

/// One open descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) object: Object,
    /// What the guest may do with it. Only reading and writing are enforced.
    pub(super) rights: u64,
    /// What it may do with what it opens below.
    pub(super) inheriting: u64,
    /// Bits of `fdflags`; `APPEND` alone has an effect.
    pub(super) flags: u16,
    /// Where the next read or write starts.
    pub(super) offset: u64,
}

/// All descriptors of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descriptors {
    table: Vec<Option<Descriptor>>,
}

impl Object {
    /// The node behind it, unless it is a stream.
    pub(super) fn ino(self) -> Option<Ino> {
        match self {
            Object::Directory { ino, .. } | Object::File(ino) => Some(ino),
            Object::Stdin | Object::Stdout | Object::Stderr => None,
        }
    }

    /// Its kind. Output is of unknown kind, as a pipe is under other runtimes: were it a character
    /// device, programs would take it for a terminal and write line by line.
    pub(super) fn kind(self) -> FileType {
        match self {
            Object::Stdin | Object::File(_) => FileType::Regular,
            Object::Stdout | Object::Stderr => FileType::Unknown,
            Object::Directory { .. } => FileType::Directory,
        }
    }
}

impl Descriptors {
    /// The table that a program starts with.
    pub(super) fn new() -> Descriptors {
        let open = |object, rights, inheriting| {
            Some(Descriptor {
                object,
                rights,
                inheriting,
                flags: 0,
                offset: 0,
            })
        };
        let root = Object::Directory {
            ino: ROOT,
            preopened: true,
        };
        Descriptors {
            table: vec![
                open(Object::Stdin, rights::STDIN, 0),
                open(Object::Stdout, rights::OUTPUT, 0),
                open(Object::Stderr, rights::OUTPUT, 0),
                open(root, rights::DIRECTORY, rights::DIRECTORY | rights::FILE),
            ],
        }
    }

    /// Goes back to `saved` without allocating.
    pub(super) fn restore(&mut self, saved: &Descriptors) {
        self.table.clone_from(&saved.table);
    }

    /// The descriptor `fd`. `BadFile` if it is not open.
    pub(super) fn get(&self, fd: u32) -> Result<&Descriptor, Errno> {
        let place = self.table.get(fd as usize);
        place.and_then(Option::as_ref).ok_or(Errno::BadFile)
    }

    /// As [`Descriptors::get`].
    pub(super) fn get_mut(&mut self, fd: u32) -> Result<&mut Descriptor, Errno> {
        let place = self.table.get_mut(fd as usize);
        place.and_then(Option::as_mut).ok_or(Errno::BadFile)
    }

    /// The directory behind `fd`. `NotDirectory` for anything else that is open.
    pub(super) fn directory(&self, fd: u32) -> Result<Ino, Errno> {
        match self.get(fd)?.object {
            Object::Directory { ino, .. } => Ok(ino),
            _ => Err(Errno::NotDirectory),
        }
    }

    /// The number that the next opened descriptor gets. `TooManyFiles` if there is none.
    pub(super) fn vacancy(&self) -> Result<u32, Errno> {
        let place = self.table.iter().position(Option::is_none);
        match place.unwrap_or(self.table.len()) {
            DESCRIPTORS_MAX => Err(Errno::TooManyFiles),
            fd => Ok(fd as u32),
        }
    }

    /// Opens `fd`, which [`Descriptors::vacancy`] returned.
    pub(super) fn open(&mut self, fd: u32, descriptor: Descriptor) {
        let index = fd as usize;
        if index == self.table.len() {
            self.table.push(None);
        }
        assert!(self.table[index].is_none(), "descriptor {fd} is taken");
        self.table[index] = Some(descriptor);
    }

    /// Closes `fd` and returns what it was.
    pub(super) fn close(&mut self, fd: u32) -> Result<Descriptor, Errno> {
        let place = self.table.get_mut(fd as usize);
        place.and_then(Option::take).ok_or(Errno::BadFile)
    }

    /// Moves `from` to `to`, both open, and returns what `to` was.
    pub(super) fn renumber(&mut self, from: u32, to: u32) -> Result<Option<Descriptor>, Errno> {
        let moved = *self.get(from)?;
        let old = *self.get(to)?;
        if from == to {
            return Ok(None);
        }
        self.table[to as usize] = Some(moved);
        self.table[from as usize] = None;
        Ok(Some(old))
    }

    /// Whether any descriptor is open on `ino`.
    pub(super) fn uses(&self, ino: Ino) -> bool {
        let mut open = self.table.iter().flatten();
        open.any(|descriptor| descriptor.object.ino() == Some(ino))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_number_is_taken() {
        let mut descriptors = Descriptors::new();
        assert_eq!(descriptors.vacancy(), Ok(4));
        let stdin = descriptors.close(0).unwrap();
        assert_eq!(descriptors.close(0), Err(Errno::BadFile));
        assert_eq!(descriptors.vacancy(), Ok(0));
        descriptors.open(0, stdin);
        assert_eq!(descriptors.renumber(0, 4), Err(Errno::BadFile));
        assert_eq!(descriptors.renumber(0, 0), Ok(None));
        assert!(descriptors.renumber(0, 3).unwrap().is_some());
        assert_eq!(descriptors.get(3).unwrap().object, Object::Stdin);
        for _ in 0..DESCRIPTORS_MAX - 3 {
            let fd = descriptors.vacancy().unwrap();
            descriptors.open(fd, stdin);
        }
        assert_eq!(descriptors.vacancy(), Err(Errno::TooManyFiles));
        assert_eq!(descriptors.get(u32::MAX), Err(Errno::BadFile));
    }
}
