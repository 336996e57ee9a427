//! Where a path leads.
//!
//! A path is walked from a directory that the guest has open, and never leaves it: a leading `/`
//! and a `..` above the start are refused, even if the path would come back. The error numbers
//! are those that Wasmtime gives for the same paths.

use super::{Body, Files, Ino};
use crate::wasi::abi::Errno;

/// The longest name of one file, as Linux's `NAME_MAX`.
const NAME_BYTES_MAX: usize = 255;

/// The end of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'p> {
    /// The directory that holds, or would hold, the last name.
    pub(super) directory: Ino,
    /// The last name. `None` if the path ends where it started, or in `..`.
    pub(super) name: Option<&'p [u8]>,
    /// What is there.
    pub(crate) node: Option<Ino>,
    /// The path ends in `/` or `/.`, so it must mean a directory.
    pub(crate) slash: bool,
    /// The path ends in `/.`: the directory is meant, not its entry.
    pub(crate) dot: bool,
}

impl Place<'_> {
    /// What is there. `NoEntry` if nothing is.
    pub(crate) fn existing(&self) -> Result<Ino, Errno> {
        self.node.ok_or(Errno::NoEntry)
    }
}

impl Files {
    /// Walks `path` from the directory `base`. Everything but the last name must exist.
    ///
    /// Errs with `NoEntry`, `NotDirectory` (also for `file/`), `Permission` (it would escape),
    /// `NameTooLong`, `Invalid` (a NUL byte) and `IllegalSequence` (not UTF-8).
    pub(crate) fn walk<'p>(&self, base: Ino, path: &'p [u8]) -> Result<Place<'p>, Errno> {
        if path.is_empty() {
            return Err(Errno::NoEntry);
        }
        if path.contains(&0) {
            return Err(Errno::Invalid);
        }
        if str::from_utf8(path).is_err() {
            return Err(Errno::IllegalSequence);
        }
        if path[0] == b'/' {
            return Err(Errno::Permission);
        }
        let mut place = Place {
            directory: base,
            name: None,
            node: Some(base),
            slash: false,
            dot: false,
        };
        let mut depth = 0u32;
        for name in path.split(|byte| *byte == b'/') {
            if name.is_empty() || name == b"." {
                place.slash = true;
                // `a/./` ends in it, too.
                place.dot |= name == b".";
                continue;
            }
            let here = place.existing()?;
            let directory = self.directory(here)?;
            if name == b".." {
                depth = depth.checked_sub(1).ok_or(Errno::Permission)?;
                place = Place {
                    directory: directory.parent,
                    name: None,
                    node: Some(directory.parent),
                    slash: true,
                    dot: false,
                };
                continue;
            }
            if name.len() > NAME_BYTES_MAX {
                return Err(Errno::NameTooLong);
            }
            depth += 1;
            place = Place {
                directory: here,
                name: Some(name),
                node: directory.find(name),
                slash: false,
                dot: false,
            };
        }
        if place.slash
            && let Some(ino) = place.node
        {
            self.directory(ino)?;
        }
        Ok(place)
    }

    /// Whether `ino` is a directory.
    pub(crate) fn is_directory(&self, ino: Ino) -> bool {
        matches!(self.node(ino).body, Body::Directory(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wasi::files::ROOT;

    /// The table is from Wasmtime's test program `p1_interesting_paths`, but for a NUL byte.
    #[test]
    fn interesting_paths() {
        let mut files = Files::new(1 << 20);
        let file = files.put_file("dir/nested/file", b"").unwrap();
        let walk = |path: &str| files.walk(ROOT, path.as_bytes()).and_then(|p| p.existing());
        assert_eq!(walk("dir/nested/file"), Ok(file));
        assert_eq!(walk("/dir/nested/file"), Err(Errno::Permission));
        let winding = "dir/.//nested/../../dir/nested/../nested///./file";
        assert_eq!(walk(winding), Ok(file));
        assert_eq!(walk("dir/nested/file\0"), Err(Errno::Invalid));
        assert_eq!(walk("dir/nested/file/"), Err(Errno::NotDirectory));
        assert_eq!(walk("dir/nested/file/."), Err(Errno::NotDirectory));
        assert_eq!(walk("dir/nested/file/.."), Err(Errno::NotDirectory));
        assert!(walk("dir/nested///").is_ok());
        assert_eq!(walk("dir/nested/../../.."), Err(Errno::Permission));
        assert_eq!(walk("dir/nested/../../../dir"), Err(Errno::Permission));
        assert_eq!(walk("../../etc/passwd"), Err(Errno::Permission));
        assert_eq!(walk(""), Err(Errno::NoEntry));
        assert_eq!(walk("."), Ok(ROOT));
        assert_eq!(walk("dir/.."), Ok(ROOT));
        assert_eq!(walk("none/../dir"), Err(Errno::NoEntry));
        assert_eq!(walk(&"x".repeat(256)), Err(Errno::NameTooLong));
        assert_eq!(walk(&"x".repeat(255)), Err(Errno::NoEntry));
        assert_eq!(
            files.walk(ROOT, b"\xff").unwrap_err(),
            Errno::IllegalSequence
        );
    }

    #[test]
    fn an_open_directory_is_a_boundary_too() {
        let mut files = Files::new(1 << 20);
        files.put_file("a/b/file", b"").unwrap();
        files.put_file("secret", b"").unwrap();
        let a = files.walk(ROOT, b"a").unwrap().existing().unwrap();
        assert!(files.walk(a, b"b/../b/file").unwrap().node.is_some());
        assert_eq!(files.walk(a, b"../secret").unwrap_err(), Errno::Permission);
        assert_eq!(
            files.walk(a, b"b/../../secret").unwrap_err(),
            Errno::Permission
        );
    }
}
