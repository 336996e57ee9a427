//! Files that cannot be believed: what is in one counts once, however often it is looked at.

use std::collections::BTreeMap;

use super::FILES_MOST;

/// What is in a file, to tell it from what is there later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version([u8; 32]);

impl Version {
    /// Of what is no file: a link, a pipe, a folder.
    pub(super) const NO_FILE: Version = Version([0; 32]);

    /// Of a file with these bytes.
    pub(super) fn of(bytes: &[u8]) -> Version {
        Version(*blake3::hash(bytes).as_bytes())
    }
}

/// Those that were found.
#[derive(Default)]
pub(super) struct Broken {
    /// What was in each when it was looked at last, by folder and name.
    last: BTreeMap<(&'static str, String), Version>,
    count: u64,
}

impl Broken {
    /// Counts what is in a file, if it is not what was there before.
    pub(super) fn found(&mut self, folder: &'static str, name: &str, version: Version) {
        // Somebody makes ever more of them: they may be counted again, but memory has bounds.
        if self.last.len() >= 2 * FILES_MOST {
            self.last.clear();
        }
        let before = self.last.insert((folder, name.to_owned()), version);
        self.count += u64::from(before != Some(version));
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}
