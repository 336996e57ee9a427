//! The findings in a campaign's folder: each read once, when it appears.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::store::finding::{FindingRecord, VERSION};
use crate::store::read_plain;

/// Findings that are read: a folder may hold anything.
const FOUND_MAX: usize = 10_000;

/// More has no `finding.json` of ours.
const RECORD_BYTES_MAX: u64 = 1 << 20;

/// The findings of a campaign.
#[derive(Debug, Default)]
pub struct Found {
    /// By the names of their folders; `None` for what is no finding that we understand.
    all: BTreeMap<OsString, Option<FoundOne>>,
    /// Whether there are more than are read.
    pub is_cut: bool,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct FoundOne {
    /// What addresses name it by: the hash of its folder's name, 16 hexadecimal digits.
    pub id: String,
    /// Its folder.
    pub path: PathBuf,
    /// What is known about it.
    pub record: FindingRecord,
}

impl Found {
    /// Looks what is there now. A folder that cannot be listed has none.
    pub(super) fn look(&mut self, findings: &Path) {
        let mut before = std::mem::take(&mut self.all);
        self.is_cut = false;
        // A link may lead anywhere.
        let is_real = fs::symlink_metadata(findings).is_ok_and(|meta| meta.is_dir());
        let entries = is_real.then(|| fs::read_dir(findings).ok()).flatten();
        for entry in entries.into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if self.all.len() == FOUND_MAX {
                self.is_cut = true;
                break;
            }
            let name = entry.file_name();
            // One that was incomplete may be whole by now.
            let known = before.remove(&name).flatten();
            // A slow input gives way to one that costs more.
            let known = known.filter(|one| !one.is_slow());
            let one = known.or_else(|| FoundOne::read(&entry.path()));
            self.all.insert(name, one);
        }
    }

    /// All that could be read: bugs before slow inputs, in the order in which they were found.
    pub fn sorted(&self) -> Vec<&FoundOne> {
        let mut all: Vec<&FoundOne> = self.all.values().flatten().collect();
        all.sort_by_key(|one| (one.is_slow(), one.record.trial));
        all
    }

    /// The one with that id.
    pub fn get(&self, id: &str) -> Option<&FoundOne> {
        self.all.values().flatten().find(|one| one.id == id)
    }

    /// How many bugs.
    pub fn bugs(&self) -> u64 {
        self.count(false)
    }

    /// How many slow inputs.
    pub fn slow(&self) -> u64 {
        self.count(true)
    }

    /// How many folders could not be read.
    pub fn damaged(&self) -> u64 {
        self.all.values().filter(|one| one.is_none()).count() as u64
    }

    fn count(&self, is_slow: bool) -> u64 {
        let all = self.all.values().flatten();
        all.filter(|one| one.is_slow() == is_slow).count() as u64
    }
}

impl FoundOne {
    fn read(path: &Path) -> Option<FoundOne> {
        let bytes = read_plain(&path.join("finding.json"), RECORD_BYTES_MAX)?;
        let record: FindingRecord = serde_json::from_slice(&bytes).ok()?;
        let name = path.file_name()?.as_encoded_bytes();
        (record.version <= VERSION).then(|| FoundOne {
            id: blake3::hash(name).to_hex()[..16].to_owned(),
            path: path.to_owned(),
            record,
        })
    }

    /// Whether it is a slow input, and no bug.
    pub fn is_slow(&self) -> bool {
        self.record.kind == "slow"
    }
}
