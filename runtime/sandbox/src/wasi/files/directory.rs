//! One directory: names, what they lead to, and the order in which they are listed.
//!
//! Entries are listed in the order of their creation. Each has a cookie that stays the same while
//! it exists, so a guest may remove entries while it lists them and miss none.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::Ino;

/// A file name: valid UTF-8 without `/` and NUL, 1 to 255 bytes.
pub(super) type Name = Arc<[u8]>;

/// The cookie of the first entry; 0 is the start, 1 and 2 follow `.` and `..`.
pub(crate) const FIRST_COOKIE: u64 = 3;

/// Where a name leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) ino: Ino,
    pub(super) cookie: u64,
}

/// The entries of one directory.
#[derive(Clone, PartialEq)]
pub(crate) struct Directory {
    /// The directory above; the root is its own parent.
    pub(super) parent: Ino,
    next_cookie: u64,
    by_name: BTreeMap<Name, Entry>,
    by_cookie: BTreeMap<u64, Name>,
}

impl Directory {
    /// An empty one.
    pub(super) fn new(parent: Ino) -> Directory {
        Directory {
            parent,
            next_cookie: FIRST_COOKIE,
            by_name: BTreeMap::new(),
            by_cookie: BTreeMap::new(),
        }
    }

    /// The directory above.
    pub(crate) fn parent(&self) -> Ino {
        self.parent
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<Ino> {
        self.by_name.get(name).map(|entry| entry.ino)
    }

    /// The entries after `cookie`, with the cookie of each.
    pub(crate) fn list(&self, cookie: u64) -> impl Iterator<Item = (u64, &[u8], Ino)> {
        self.by_cookie
            .range((Bound::Excluded(cookie), Bound::Unbounded))
            .map(|(cookie, name)| (*cookie, &**name, self.by_name[name].ino))
    }

    /// A new entry, for [`Directory::put`].
    pub(super) fn entry(&mut self, ino: Ino) -> Entry {
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        Entry { ino, cookie }
    }

    /// Sets or removes what `name` leads to, and returns what it led to before.
    pub(super) fn put(&mut self, name: &Name, entry: Option<Entry>) -> Option<Entry> {
        let was = match entry {
            Some(entry) => self.by_name.insert(name.clone(), entry),
            None => self.by_name.remove(name),
        };
        if let Some(was) = was {
            self.by_cookie.remove(&was.cookie);
        }
        if let Some(entry) = entry {
            self.by_cookie.insert(entry.cookie, name.clone());
        }
        was
    }

    /// Takes from `old` everything but the entries.
    pub(super) fn restore(&mut self, old: &Directory) {
        self.parent = old.parent;
        self.next_cookie = old.next_cookie;
    }
}
