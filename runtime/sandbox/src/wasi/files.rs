//! The file system of a guest: a tree in memory.
//!
//! In go paths and bytes from the guest, out come nodes and error numbers. It knows no descriptor
//! and no guest memory, and the host's files do not exist here.
//!
//! Everything is bounded by one number: file contents, plus a fixed charge for each directory
//! entry, never exceed it. There are regular files (with hard links) and directories, no symbolic
//! links.
//!
//! A tree can go back to a saved copy of itself at the cost of what changed since: each changed
//! node is in a list, each file knows the range of bytes that changed, and directory entries have
//! an undo journal.

mod directory;
mod edit;
mod paths;

pub(super) use directory::{Directory, FIRST_COOKIE};
pub(super) use paths::Place;

use super::abi::{Errno, FileType, Filestat};
use super::clock::Clock;
use directory::{Entry, Name};

/// Which node: an index, reused after the node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ino(u32);

/// The root directory.
pub(super) const ROOT: Ino = Ino(0);

/// What each directory entry counts for, besides its name. It covers what the host keeps for an
/// empty file (about 250 bytes on a 64-bit machine).
const ENTRY_BYTES: u64 = 256;

/// What a directory counts for besides its entry: its tables of entries, of which a single one allocates both (about 700 bytes
/// on a 64-bit machine).
const DIRECTORY_BYTES: u64 = 768;

/// How many changes of directory entries are remembered singly. Beyond, going back copies the
/// whole tree: that many changes cost more than the copy of any ordinary tree.
const JOURNAL_MAX: usize = 4096;

/// Files may keep this much spare room, so that growing and shrinking little files costs nothing.
const SPARE_BYTES: usize = 64 << 10;

/// The tree.
#[derive(Clone)]
pub(super) struct Files {
    nodes: Vec<Option<Node>>,
    /// Free places in `nodes`, the next to use last.
    free: Vec<u32>,
    /// Bytes of all files, and the charge for all entries.
    used_bytes: u64,
    limit_bytes: u64,
    /// The run's input, until the guest changes or removes it.
    input: Option<Ino>,
    /// Bytes touched since [`Files::take_work`].
    work: u64,

    // What changed since the saved copy. No part of the state.
    marks: Vec<Mark>,
    dirty: Vec<Ino>,
    journal: Vec<Undo>,
    /// Too much changed, or there is no saved copy: the journal is not kept.
    untracked: bool,
}

/// A file or directory.
#[derive(Clone, PartialEq)]
pub(super) struct Node {
    /// How many directory entries lead here; 0 only while a descriptor is open on it.
    links: u32,
    pub(super) accessed: u64,
    pub(super) modified: u64,
    pub(super) changed: u64,
    pub(super) body: Body,
}

#[derive(Clone, PartialEq)]
pub(super) enum Body {
    File(Vec<u8>),
    Directory(Directory),
}

/// How a node differs from its saved copy.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// It is in the list of changed nodes.
    dirty: bool,
    /// What is in its place now is another node.
    replaced: bool,
    /// Outside of `low..high`, bytes that both versions of the file have are equal.
    low: usize,
    high: usize,
}

/// What a directory entry was.
#[derive(Clone)]
struct Undo {
    directory: Ino,
    name: Name,
    was: Option<Entry>,
}

impl PartialEq for Files {
    fn eq(&self, other: &Files) -> bool {
        self.nodes == other.nodes
            && self.free == other.free
            && self.used_bytes == other.used_bytes
            && self.limit_bytes == other.limit_bytes
    }
}

impl Files {
    /// An empty tree that may grow to `limit_bytes`.
    pub(super) fn new(limit_bytes: u64) -> Files {
        let stamp = Clock::first_stamp();
        let root = Node {
            links: 1,
            accessed: stamp,
            modified: stamp,
            changed: stamp,
            body: Body::Directory(Directory::new(ROOT)),
        };
        Files {
            nodes: vec![Some(root)],
            free: Vec::new(),
            used_bytes: 0,
            limit_bytes,
            input: None,
            work: 0,
            marks: vec![Mark::default()],
            dirty: Vec::new(),
            journal: Vec::new(),
            untracked: true,
        }
    }

    /// From now on, remember changes: the tree as it is now is about to be saved.
    pub(super) fn track(&mut self) {
        for ino in self.dirty.drain(..) {
            if let Some(mark) = self.marks.get_mut(ino.0 as usize) {
                *mark = Mark::default();
            }
        }
        self.journal.clear();
        self.untracked = false;
    }

    /// Goes back to `saved`, which must be the copy made when [`Files::track`] was last called (or
    /// that this tree last went back to).
    pub(super) fn restore(&mut self, saved: &Files) {
        if self.untracked {
            self.clone_from(saved);
            return;
        }
        self.input = saved.input;
        if self.dirty.is_empty() {
            return;
        }
        self.nodes.truncate(saved.nodes.len());
        self.marks.truncate(saved.nodes.len());
        for ino in self.dirty.drain(..) {
            let index = ino.0 as usize;
            let Some(mark) = self.marks.get_mut(index) else {
                continue;
            };
            let mark = std::mem::take(mark);
            match (&mut self.nodes[index], &saved.nodes[index]) {
                (Some(node), Some(old)) if !mark.replaced => node.restore(old, mark),
                (place, old) => place.clone_from(old),
            }
        }
        // Latest first, so that the last word on each name is its oldest value. A directory that
        // was copied whole above has that value already: what its place held since is undone on
        // top, and ends there again.
        for undo in self.journal.drain(..).rev() {
            let node = self.nodes.get_mut(undo.directory.0 as usize);
            if let Some(Some(Node {
                body: Body::Directory(directory),
                ..
            })) = node
            {
                directory.put(&undo.name, undo.was);
            }
        }
        self.free.clone_from(&saved.free);
        self.used_bytes = saved.used_bytes;
    }

    /// How much the tree may come to.
    pub(super) fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// The bytes touched since the last call, for charging the guest.
    pub(super) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// The node of an open descriptor or a directory entry.
    pub(super) fn node(&self, ino: Ino) -> &Node {
        self.nodes[ino.0 as usize]
            .as_ref()
            .expect("a node that is linked or open exists")
    }

    /// As [`Files::node`], for changing anything but a file's contents.
    pub(super) fn node_mut(&mut self, ino: Ino) -> &mut Node {
        self.mark(ino, 0..0);
        self.nodes[ino.0 as usize]
            .as_mut()
            .expect("a node that is linked or open exists")
    }

    /// The contents of a regular file. `IsDirectory` for a directory.
    pub(super) fn contents(&self, ino: Ino) -> Result<&[u8], Errno> {
        match &self.node(ino).body {
            Body::File(data) => Ok(data),
            Body::Directory(_) => Err(Errno::IsDirectory),
        }
    }

    /// The directory `ino`. `NotDirectory` for a file.
    pub(super) fn directory(&self, ino: Ino) -> Result<&Directory, Errno> {
        match &self.node(ino).body {
            Body::Directory(directory) => Ok(directory),
            Body::File(_) => Err(Errno::NotDirectory),
        }
    }

    /// Does the file still have the bytes of the run's input?
    pub(super) fn is_input(&self, ino: Ino) -> bool {
        self.input == Some(ino)
    }

    /// What the guest is told about a node.
    pub(super) fn stat(&self, ino: Ino) -> Filestat {
        let node = self.node(ino);
        let (kind, size) = match &node.body {
            Body::File(data) => (FileType::Regular, data.len() as u64),
            Body::Directory(_) => (FileType::Directory, 0),
        };
        Filestat {
            device: 1,
            inode: ino.number(),
            kind,
            links: u64::from(node.links),
            size,
            accessed: node.accessed,
            modified: node.modified,
            changed: node.changed,
        }
    }

    /// Makes room for writing `bytes` bytes at `offset` of a file and returns the room, which is
    /// shorter when the limit is near. `NoSpace` if not even one byte fits.
    pub(super) fn room(
        &mut self,
        ino: Ino,
        offset: u64,
        bytes: usize,
        now: u64,
    ) -> Result<&mut [u8], Errno> {
        let old = self.contents(ino)?.len();
        let most = self.most(old);
        let start = usize::try_from(offset).map_err(|_| Errno::NoSpace)?;
        let end = start.saturating_add(bytes).min(most);
        if bytes > 0 && end <= start {
            return Err(Errno::NoSpace);
        }
        if bytes == 0 {
            return Ok(&mut []);
        }
        self.resize(ino, old.max(end), now)?;
        self.mark(ino, start..end);
        let data = self.data_mut(ino)?;
        Ok(&mut data[start..end])
    }

    /// Sets the length of a file. `NoSpace` if the limit does not allow it.
    pub(super) fn resize(&mut self, ino: Ino, bytes: usize, now: u64) -> Result<(), Errno> {
        let old = self.contents(ino)?.len();
        let most = self.most(old);
        if bytes > most {
            return Err(Errno::NoSpace);
        }
        if self.is_input(ino) {
            self.input = None;
        }
        let node = self.node_mut(ino);
        node.modified = now;
        node.changed = now;
        // Every byte that comes or goes counts as changed.
        self.mark(ino, bytes.min(old)..bytes.max(old));
        let data = self.data_mut(ino)?;
        if bytes > data.capacity() {
            // As `Vec` grows, but never beyond the limit.
            let capacity = (2 * old).clamp(bytes, most);
            data.reserve_exact(capacity - old);
        }
        data.resize(bytes, 0);
        release_spare(data);
        self.used_bytes = self.used_bytes - old as u64 + bytes as u64;
        self.work += bytes.saturating_sub(old) as u64;
        Ok(())
    }

    /// The longest that a file of `old` bytes may become.
    fn most(&self, old: usize) -> usize {
        // An input may have taken it over the limit.
        let left = self.limit_bytes.saturating_sub(self.used_bytes);
        let most = left.saturating_add(old as u64);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    fn data_mut(&mut self, ino: Ino) -> Result<&mut Vec<u8>, Errno> {
        match &mut self.nodes[ino.0 as usize] {
            Some(Node {
                body: Body::File(data),
                ..
            }) => Ok(data),
            _ => Err(Errno::IsDirectory),
        }
    }

    /// Notes that a node changed, and the range of its contents that did.
    fn mark(&mut self, ino: Ino, range: std::ops::Range<usize>) {
        let mark = &mut self.marks[ino.0 as usize];
        if !mark.dirty {
            mark.dirty = true;
            self.dirty.push(ino);
        }
        if !range.is_empty() {
            let empty = mark.low >= mark.high;
            mark.low = if empty {
                range.start
            } else {
                mark.low.min(range.start)
            };
            mark.high = mark.high.max(range.end);
        }
    }
}

impl Node {
    /// Goes back to `old`, except for directory entries, which the journal restores.
    fn restore(&mut self, old: &Node, mark: Mark) {
        self.links = old.links;
        self.accessed = old.accessed;
        self.modified = old.modified;
        self.changed = old.changed;
        match (&mut self.body, &old.body) {
            (Body::File(data), Body::File(old)) => {
                data.truncate(old.len());
                let high = mark.high.min(data.len());
                if mark.low < high {
                    data[mark.low..high].copy_from_slice(&old[mark.low..high]);
                }
                data.extend_from_slice(&old[data.len()..]);
                release_spare(data);
            }
            (Body::Directory(directory), Body::Directory(old)) => directory.restore(old),
            _ => unreachable!("a node that was not replaced keeps its kind"),
        }
    }
}

impl Ino {
    /// The number that guests see. Not 0, which some of them take for "unknown".
    pub(super) fn number(self) -> u64 {
        u64::from(self.0) + 1
    }
}

/// Without this, a guest could grow one file after another and keep the host's memory.
fn release_spare(data: &mut Vec<u8>) {
    if data.capacity() > 2 * data.len() + SPARE_BYTES {
        data.shrink_to(data.len());
    }
}

#[cfg(test)]
impl Files {
    pub(super) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Counts everything again. Panics where the books are wrong.
    pub(super) fn audit(&self) {
        let mut used = 0;
        let mut links = vec![0; self.nodes.len()];
        links[0] = 1;
        for (ino, node) in self.nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            match &node.body {
                Body::File(data) => used += data.len() as u64,
                Body::Directory(directory) => {
                    // Nobody created the root.
                    used += if ino == 0 { 0 } else { DIRECTORY_BYTES };
                    for (_, name, ino) in directory.list(0) {
                        used += ENTRY_BYTES + name.len() as u64;
                        links[ino.0 as usize] += 1;
                    }
                }
            }
        }
        assert_eq!(self.used_bytes, used);
        assert!(used <= self.limit_bytes);
        for (node, links) in self.nodes.iter().zip(links) {
            assert_eq!(node.as_ref().map_or(0, |node| node.links), links);
        }
        let free = self.nodes.iter().filter(|node| node.is_none()).count();
        assert_eq!(self.free.len(), free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(files: &mut Files, ino: Ino, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        let room = files.room(ino, offset, bytes.len(), 1)?;
        let count = room.len();
        room.copy_from_slice(&bytes[..count]);
        Ok(count)
    }

    #[test]
    fn writes_leave_holes_and_respect_the_limit() {
        let mut files = Files::new(10_000);
        let ino = files.put_file("a", b"hello").unwrap();
        assert_eq!(write(&mut files, ino, 7, b"world"), Ok(5));
        assert_eq!(files.contents(ino).unwrap(), b"hello\0\0world");
        let left = 10_000 - (ENTRY_BYTES + 1);
        assert_eq!(write(&mut files, ino, left - 3, b"12345"), Ok(3));
        assert_eq!(write(&mut files, ino, left, b"1"), Err(Errno::NoSpace));
        assert_eq!(write(&mut files, ino, u64::MAX, b"1"), Err(Errno::NoSpace));
        assert_eq!(files.used_bytes, 10_000);
        assert!(files.data_mut(ino).unwrap().capacity() <= 10_000);
        files.resize(ino, 0, 1).unwrap();
        assert_eq!(files.used_bytes, ENTRY_BYTES + 1);
    }

    #[test]
    fn an_input_finds_room_in_full_files() {
        let mut files = Files::new(1_000);
        files.put_file("a", &[7; 700]).unwrap();
        assert_eq!(files.put_file("input", &[1; 500]), Err(Errno::NoSpace));
        files.track();
        let saved = files.clone();
        let ino = files.put_input("input", &[1; 500]).unwrap();
        assert_eq!(files.contents(ino).unwrap(), [1; 500]);
        assert_eq!(files.put_file("b", b""), Err(Errno::NoSpace));
        assert_eq!(write(&mut files, ino, 500, b"x"), Err(Errno::NoSpace));
        assert!(files.is_input(ino));
        assert_eq!(write(&mut files, ino, 0, b"x"), Ok(1));
        assert!(!files.is_input(ino));
        files.restore(&saved);
        assert!(files == saved);
    }

    #[test]
    fn what_takes_the_place_of_an_input_is_none() {
        let mut files = Files::new(1_000);
        let input = files.put_input("input", b"1").unwrap();
        files.track();
        let saved = files.clone();
        let place = files.walk(ROOT, b"input").unwrap();
        files.unlink(&place, 1).unwrap();
        assert!(files.is_input(input), "it may still be open");
        files.release(input, false);
        assert_eq!(files.put_file("other", b"2"), Ok(input));
        assert!(!files.is_input(input));
        files.restore(&saved);
        assert!(files.is_input(input));
    }

    #[test]
    fn a_deep_path_costs_its_length() {
        let mut files = Files::new(64 << 20);
        let deep = format!("/{}x", "a/".repeat(20_000));
        let ino = files.put_file(&deep, b"1").unwrap();
        let path = &deep.as_bytes()[1..];
        assert_eq!(files.walk(ROOT, path).unwrap().node, Some(ino));
        // It would take minutes if each of its folders were looked for from the root.
        for _ in 0..100 {
            assert_eq!(files.put_file(&deep, b"2"), Ok(ino));
        }
        assert!(files.put_file("a/../b", b"3").is_err());
        assert!(files.put_file("a/x/", b"3").is_err());
    }

    #[test]
    fn going_back_touches_only_what_changed() {
        let mut files = Files::new(1 << 20);
        let big = files.put_file("big", &[7; 100_000]).unwrap();
        files.track();
        let saved = files.clone();
        write(&mut files, big, 50_000, b"xyz").unwrap();
        assert_eq!(files.marks[1].low..files.marks[1].high, 50_000..50_003);
        files.resize(big, 99_000, 1).unwrap();
        files.resize(big, 100_500, 1).unwrap();
        assert!(files != saved);
        files.restore(&saved);
        assert!(files == saved);
        assert!(files.dirty.is_empty());
    }

    #[test]
    fn too_many_changes_fall_back_to_a_copy() {
        let mut files = Files::new(1 << 30);
        files.put_file("kept", b"1").unwrap();
        files.track();
        let saved = files.clone();
        for index in 0..JOURNAL_MAX + 10 {
            files.put_file(&format!("f{index}"), b"2").unwrap();
        }
        assert!(files.untracked && files.journal.is_empty());
        files.restore(&saved);
        assert!(files == saved);
        assert!(!files.untracked, "tracking goes on after the copy");
    }
}
