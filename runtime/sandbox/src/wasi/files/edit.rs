//! Creating, linking, renaming and removing.
//!
//! Each function either does all of its work or none. A node that loses its last entry stays until
//! [`Files::release`] says that no descriptor needs it.

use super::directory::{Directory, Entry, Name};
use super::{
    Body, DIRECTORY_BYTES, ENTRY_BYTES, Files, Ino, JOURNAL_MAX, Mark, Node, Place, ROOT, Undo,
};
use crate::wasi::abi::Errno;
use crate::wasi::clock::Clock;

impl Files {
    /// Creates an empty file. `IsDirectory` if the path ends in `/`.
    pub(crate) fn create_file(&mut self, place: &Place<'_>, now: u64) -> Result<Ino, Errno> {
        if place.slash {
            return Err(Errno::IsDirectory);
        }
        self.create(place, Body::File(Vec::new()), now)
    }

    /// Creates an empty directory.
    pub(crate) fn create_directory(&mut self, place: &Place<'_>, now: u64) -> Result<Ino, Errno> {
        let body = Body::Directory(Directory::new(place.directory));
        self.create(place, body, now)
    }

    /// Gives the file `ino` another name. `Permission` for a directory.
    pub(crate) fn link(&mut self, ino: Ino, place: &Place<'_>, now: u64) -> Result<(), Errno> {
        if self.is_directory(ino) {
            return Err(Errno::Permission);
        }
        if place.slash {
            return Err(Errno::NoEntry);
        }
        let name = self.vacant(place)?;
        self.fits(ENTRY_BYTES + name.len() as u64)?;
        let node = self.node_mut(ino);
        node.links += 1;
        node.changed = now;
        self.insert(place.directory, &name, ino, now);
        Ok(())
    }

    /// Removes the file at `place` and returns it, for [`Files::release`]. `IsDirectory` for a
    /// directory.
    pub(crate) fn unlink(&mut self, place: &Place<'_>, now: u64) -> Result<Ino, Errno> {
        let ino = place.existing()?;
        if self.is_directory(ino) {
            return Err(Errno::IsDirectory);
        }
        let name = place
            .name
            .expect("a path without a name leads to a directory");
        self.detach(place.directory, name, ino, now);
        Ok(ino)
    }

    /// Removes the empty directory at `place` and returns it, for [`Files::release`].
    pub(crate) fn remove_directory(&mut self, place: &Place<'_>, now: u64) -> Result<Ino, Errno> {
        let ino = place.existing()?;
        let is_empty = self.directory(ino)?.is_empty();
        // As on Linux, in this order: `..` is not empty.
        if place.dot {
            return Err(Errno::Invalid);
        }
        if !is_empty {
            return Err(Errno::NotEmpty);
        }
        let name = place.name.ok_or(Errno::Invalid)?;
        self.detach(place.directory, name, ino, now);
        Ok(ino)
    }

    /// Renames, replacing a file by a file or an empty directory by a directory. Returns what was
    /// replaced, for [`Files::release`].
    pub(crate) fn rename(
        &mut self,
        from: &Place<'_>,
        to: &Place<'_>,
        now: u64,
    ) -> Result<Option<Ino>, Errno> {
        let ino = from.existing()?;
        let (Some(from_name), Some(to_name)) = (from.name, to.name) else {
            return Err(Errno::Busy);
        };
        match (from.dot, to.dot, to.node) {
            (true, _, _) | (_, true, Some(_)) => return Err(Errno::Busy),
            (_, true, None) => return Err(Errno::NoEntry),
            _ => {}
        }
        let moves_directory = self.is_directory(ino);
        if to.slash && !moves_directory {
            return Err(Errno::NotDirectory);
        }
        if to.node == Some(ino) {
            return Ok(None);
        }
        if let Some(target) = to.node {
            match (moves_directory, self.is_directory(target)) {
                (true, false) => return Err(Errno::NotDirectory),
                (false, true) => return Err(Errno::IsDirectory),
                (true, true) if !self.directory(target)?.is_empty() => return Err(Errno::NotEmpty),
                _ => {}
            }
        }
        // Checked before the walk upwards, for the parent of a removed directory may be gone.
        if self.node(to.directory).links == 0 {
            return Err(Errno::NoEntry);
        }
        if moves_directory && self.is_within(to.directory, ino) {
            return Err(Errno::Invalid);
        }
        if to.node.is_none() {
            self.fits(to_name.len().saturating_sub(from_name.len()) as u64)?;
        }
        self.put(from.directory, &from_name.into(), None, now);
        self.insert(to.directory, &to_name.into(), ino, now);
        let node = self.node_mut(ino);
        node.changed = now;
        if let Body::Directory(directory) = &mut node.body {
            directory.parent = to.directory;
        }
        if let Some(target) = to.node {
            let node = self.node_mut(target);
            node.links -= 1;
            node.changed = now;
        }
        Ok(to.node)
    }

    /// Frees a node that has neither entries nor open descriptors.
    pub(crate) fn release(&mut self, ino: Ino, open: bool) {
        let node = self.node(ino);
        if open || node.links > 0 {
            return;
        }
        self.used_bytes -= match &node.body {
            Body::File(data) => data.len() as u64,
            Body::Directory(_) => DIRECTORY_BYTES,
        };
        if self.is_input(ino) {
            self.input = None;
        }
        self.mark(ino, 0..0);
        self.nodes[ino.0 as usize] = None;
        self.free.push(ino.0);
    }

    /// Creates or overwrites a file on behalf of the host, with the directories above it. A
    /// leading `/` is ignored. Errs as the guest's own calls would, and for a directory.
    pub(crate) fn put_file(&mut self, path: &str, contents: &[u8]) -> Result<Ino, Errno> {
        let now = Clock::first_stamp();
        let path = path.trim_start_matches('/').as_bytes();
        let mut names = path.split(|byte| *byte == b'/');
        let last = names.next_back().unwrap_or_default();
        let mut folder = ROOT;
        // One at a time, so that a deep path costs no more than its length.
        for name in names.filter(|name| !name.is_empty()) {
            let place = self.walk(folder, name)?;
            folder = match place.node {
                Some(ino) => ino,
                None => self.create_directory(&place, now)?,
            };
        }
        let place = self.walk(folder, last)?;
        let ino = match place.node {
            Some(ino) => ino,
            None => self.create_file(&place, now)?,
        };
        self.resize(ino, contents.len(), now)?;
        self.mark(ino, 0..contents.len());
        self.data_mut(ino)?.copy_from_slice(contents);
        Ok(ino)
    }

    /// As [`Files::put_file`] for the run's input, which the limit does not keep out.
    pub(crate) fn put_input(&mut self, path: &str, contents: &[u8]) -> Result<Ino, Errno> {
        let limit = std::mem::replace(&mut self.limit_bytes, u64::MAX);
        let put = self.put_file(path, contents);
        self.limit_bytes = limit;
        self.input = put.ok().or(self.input);
        put
    }

    fn create(&mut self, place: &Place<'_>, body: Body, now: u64) -> Result<Ino, Errno> {
        let name = self.vacant(place)?;
        let fresh = u32::try_from(self.nodes.len()).map_err(|_| Errno::NoSpace)?;
        let body_bytes = match &body {
            Body::File(_) => 0,
            Body::Directory(_) => DIRECTORY_BYTES,
        };
        self.fits(ENTRY_BYTES + name.len() as u64 + body_bytes)?;
        self.used_bytes += body_bytes;
        let node = Some(Node {
            links: 1,
            accessed: now,
            modified: now,
            changed: now,
            body,
        });
        let ino = match self.free.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                Ino(index)
            }
            None => {
                self.nodes.push(node);
                self.marks.push(Mark::default());
                Ino(fresh)
            }
        };
        self.mark(ino, 0..0);
        self.marks[ino.0 as usize].replaced = true;
        self.insert(place.directory, &name, ino, now);
        Ok(ino)
    }

    /// The name at `place`, if something new can be put there.
    fn vacant(&self, place: &Place<'_>) -> Result<Name, Errno> {
        match place.name {
            Some(_) if place.node.is_none() && place.dot => Err(Errno::NoEntry),
            Some(name) if place.node.is_none() => {
                // A directory that was removed while open takes no new entries.
                if self.node(place.directory).links == 0 {
                    return Err(Errno::NoEntry);
                }
                Ok(name.into())
            }
            _ => Err(Errno::Exists),
        }
    }

    /// Fails unless `bytes` more bytes are allowed; none are, even over the limit.
    fn fits(&self, bytes: u64) -> Result<(), Errno> {
        match self.used_bytes.checked_add(bytes) {
            Some(total) if total <= self.limit_bytes || bytes == 0 => Ok(()),
            _ => Err(Errno::NoSpace),
        }
    }

    /// Whether `inner` is `outer` or below it.
    fn is_within(&mut self, inner: Ino, outer: Ino) -> bool {
        let mut here = inner;
        loop {
            self.work += 8;
            if here == outer {
                return true;
            }
            if here == ROOT {
                return false;
            }
            let directory = self.directory(here);
            here = directory.expect("only directories have entries").parent;
        }
    }

    fn detach(&mut self, directory: Ino, name: &[u8], ino: Ino, now: u64) {
        self.put(directory, &name.into(), None, now);
        let node = self.node_mut(ino);
        node.links -= 1;
        node.changed = now;
    }

    fn insert(&mut self, directory: Ino, name: &Name, ino: Ino, now: u64) {
        let Body::Directory(body) = &mut self.node_mut(directory).body else {
            unreachable!("a place is in a directory");
        };
        let entry = body.entry(ino);
        self.put(directory, name, Some(entry), now);
    }

    /// Every change of an entry goes through here: it is charged for and can be undone.
    fn put(&mut self, directory: Ino, name: &Name, entry: Option<Entry>, now: u64) {
        let node = self.node_mut(directory);
        node.modified = now;
        node.changed = now;
        let Body::Directory(body) = &mut node.body else {
            unreachable!("a place is in a directory");
        };
        let was = body.put(name, entry);
        let cost = ENTRY_BYTES + name.len() as u64;
        self.used_bytes += cost * u64::from(entry.is_some());
        self.used_bytes -= cost * u64::from(was.is_some());
        if self.journal.len() == JOURNAL_MAX {
            self.untracked = true;
            self.journal.clear();
        }
        if !self.untracked {
            let name = name.clone();
            self.journal.push(Undo {
                directory,
                name,
                was,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rename(files: &mut Files, from: &str, to: &str) -> Result<Option<Ino>, Errno> {
        let from = files.walk(ROOT, from.as_bytes())?;
        let to = files.walk(ROOT, to.as_bytes())?;
        files.rename(&from, &to, 2)
    }

    fn tree() -> Files {
        let mut files = Files::new(1 << 20);
        files.put_file("a/b/file", b"1").unwrap();
        files.put_file("c/other", b"2").unwrap();
        let empty = files.walk(ROOT, b"empty/").unwrap();
        files.create_directory(&empty, 1).unwrap();
        files
    }

    #[test]
    fn renaming_follows_posix() {
        let mut files = tree();
        assert_eq!(rename(&mut files, "a", "a/b/d"), Err(Errno::Invalid));
        assert_eq!(rename(&mut files, "a", "c"), Err(Errno::NotEmpty));
        assert_eq!(rename(&mut files, "a", "c/other"), Err(Errno::NotDirectory));
        assert_eq!(rename(&mut files, "c/other", "a"), Err(Errno::IsDirectory));
        assert_eq!(
            rename(&mut files, "c/other", "x/"),
            Err(Errno::NotDirectory)
        );
        assert_eq!(rename(&mut files, ".", "x"), Err(Errno::Busy));
        assert_eq!(rename(&mut files, "none", "x"), Err(Errno::NoEntry));
        assert_eq!(rename(&mut files, "c", "c"), Ok(None));
        let used = files.used_bytes;
        assert!(rename(&mut files, "a/b", "empty/").unwrap().is_some());
        assert_eq!(files.used_bytes, used - ENTRY_BYTES - 1);
        let moved = files.walk(ROOT, b"empty/../empty/file").unwrap();
        assert!(moved.node.is_some());
        let old = files.walk(ROOT, b"c/other").unwrap().node;
        assert_eq!(rename(&mut files, "empty/file", "c/other"), Ok(old));
    }

    /// A path that ends in `/.` means the directory and not its entry, as on Linux.
    #[test]
    fn what_ends_in_a_dot_has_no_entry() {
        let mut files = tree();
        let remove = |files: &mut Files, path: &str| {
            let place = files.walk(ROOT, path.as_bytes())?;
            files.remove_directory(&place, 2)
        };
        for path in ["empty/.", "empty/./", ".", "a/.", "a/../."] {
            assert_eq!(remove(&mut files, path), Err(Errno::Invalid), "{path}");
        }
        for path in ["a/..", "a/b/..", "a"] {
            assert_eq!(remove(&mut files, path), Err(Errno::NotEmpty), "{path}");
        }
        assert_eq!(rename(&mut files, "a/.", "x"), Err(Errno::Busy));
        assert_eq!(rename(&mut files, "a", "empty/."), Err(Errno::Busy));
        assert_eq!(rename(&mut files, "a", "x/."), Err(Errno::NoEntry));
        let place = files.walk(ROOT, b"x/.").unwrap();
        assert_eq!(files.create_directory(&place, 2), Err(Errno::NoEntry));
        files.audit();
        assert!(remove(&mut files, "empty/").is_ok());
    }

    #[test]
    fn a_place_that_was_reused_goes_back() {
        let mut files = tree();
        files.track();
        let saved = files.clone();
        // The directory `c` goes, and what takes its place has an entry of the same name.
        let place = files.walk(ROOT, b"c/other").unwrap();
        let ino = files.unlink(&place, 2).unwrap();
        files.release(ino, false);
        let place = files.walk(ROOT, b"c").unwrap();
        let ino = files.remove_directory(&place, 2).unwrap();
        files.release(ino, false);
        files.put_file("d/other", b"3").unwrap();
        assert_eq!(files.walk(ROOT, b"d").unwrap().node, Some(ino));
        files.restore(&saved);
        assert!(files == saved);
    }

    #[test]
    fn entries_are_charged_for() {
        let mut files = Files::new(3 * ENTRY_BYTES);
        files.put_file("1", b"").unwrap();
        files.put_file("2", b"").unwrap();
        assert_eq!(files.put_file("3", b""), Err(Errno::NoSpace));
        assert_eq!(rename(&mut files, "1", &"1".repeat(255)), Ok(None));
        assert_eq!(
            rename(&mut files, "2", &"2".repeat(255)),
            Err(Errno::NoSpace)
        );
        let place = files.walk(ROOT, b"2").unwrap();
        let ino = files.unlink(&place, 1).unwrap();
        files.release(ino, false);
        assert_eq!(files.used_bytes, ENTRY_BYTES + 255);
    }

    #[test]
    fn hard_links_share_contents() {
        let mut files = tree();
        let ino = files.walk(ROOT, b"c/other").unwrap().existing().unwrap();
        let place = files.walk(ROOT, b"link").unwrap();
        files.link(ino, &place, 1).unwrap();
        assert_eq!(files.stat(ino).links, 2);
        let place = files.walk(ROOT, b"c/other").unwrap();
        files.unlink(&place, 1).unwrap();
        files.release(ino, false);
        assert_eq!(files.walk(ROOT, b"link").unwrap().node, Some(ino));
        let place = files.walk(ROOT, b"c/d").unwrap();
        let a = files.walk(ROOT, b"a").unwrap().existing().unwrap();
        assert_eq!(files.link(a, &place, 1), Err(Errno::Permission));
    }
}
