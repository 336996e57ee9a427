//! Entries: each worker's own shard, and what all shards together have.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::files::{Files, failed, open_file};
use crate::codec::{self, Malformed, RECORD_BYTES_MOST, TAIL_BYTES, encode_checked};
use crate::log::{self, Log, Part};
use crate::record::{Entry, EntryId, WorkerId};
use crate::{Cursor, Error, Offered};

/// Bytes of one worker's shard.
pub const SHARD_BYTES_MOST: u64 = 4 << 30;
/// Shards that are read: workers that ever joined.
pub const SHARDS_MOST: usize = 1 << 14;
/// Entries of a folder: 64 bytes of memory each, in every worker.
pub const ENTRIES_MOST: usize = 1 << 22;

/// How long somebody alive is believed to be about to go.
const PATIENCE: Duration = Duration::from_secs(1);
const SUFFIX: &str = ".log";

pub(super) struct Shards {
    /// Nothing of one who looks on.
    own: Option<Log>,
    /// Place of our own shard in a cursor.
    name: String,
    /// Entries that lie in shards up to `read`.
    known: HashSet<EntryId>,
    /// How far each shard has been looked through, from its beginning.
    read: BTreeMap<String, u64>,
    /// How large it was then: what is not whole at its end is looked at again when it has grown.
    sizes: BTreeMap<String, u64>,
}

impl Shards {
    pub(super) fn open(files: &Files, worker: &WorkerId) -> Result<Shards, Error> {
        let path = files.path("shards", &format!("{}{SUFFIX}", worker.0));
        let own = own(&path)?;
        files.tidy(|name| is_dead(files, name))?;
        Ok(Shards {
            own: Some(own),
            name: worker.0.clone(),
            ..Shards::looked_on()
        })
    }

    /// Those of others, and none of our own.
    pub(super) fn looked_on() -> Shards {
        Shards {
            own: None,
            name: String::new(),
            known: HashSet::new(),
            read: BTreeMap::new(),
            sizes: BTreeMap::new(),
        }
    }

    /// Appends an entry, unless it is among what was looked through.
    pub(super) fn offer(&mut self, files: &Files, entry: &Entry) -> Result<Offered, Error> {
        let bytes = encode_checked(entry)?;
        let path = path(files, &self.name);
        let Some(own) = &self.own else {
            return Err(Error::Refused("no shard of ours".into()));
        };
        if own.is_lost().map_err(|e| failed(&path, &e))? {
            let what = format!("{}: removed or cut by somebody: join again", path.display());
            return Err(Error::Away(what));
        }
        let id = entry.id();
        if self.known.contains(&id) {
            return Ok(Offered::Known);
        }
        let own = self.own.as_mut().expect("looked at above");
        if self.known.len() >= ENTRIES_MOST || own.size() >= SHARD_BYTES_MOST {
            let (entries, bytes) = (self.known.len(), own.size());
            let what = format!("full: {entries} entries, {bytes} bytes of ours");
            return Err(Error::Refused(what));
        }
        own.append(&bytes).map_err(|e| failed(&path, &e))?;
        self.known.insert(id);
        let mark = self.read.entry(self.name.clone()).or_default();
        // Unless there is damage before it, which somebody has to look at first.
        if *mark + (bytes.len() + crate::frame::HEAD) as u64 == own.size() {
            *mark = own.size();
        }
        Ok(Offered::New)
    }

    pub(super) fn tail(
        &mut self,
        files: &Files,
        cursor: &mut Cursor,
        most: usize,
        refused: &mut u64,
    ) -> Result<Vec<Entry>, Error> {
        let mut at: BTreeMap<String, u64> = cursor.0.iter().cloned().collect();
        let mut entries = Vec::new();
        let mut bytes = 0;
        loop {
            let mut grown = sizes(files)?;
            grown.retain(|(name, size)| *size != at.get(name).copied().unwrap_or(0));
            let room = most.saturating_sub(entries.len());
            if grown.is_empty() || room == 0 || bytes >= TAIL_BYTES {
                break;
            }
            // The same share for each: one that says much does not keep the others from being heard.
            let share = room.div_ceil(grown.len());
            let mut is_over = true;
            for (name, _) in grown {
                let from = at.get(&name).copied().unwrap_or(0);
                let room = share.min(most - entries.len());
                let left = TAIL_BYTES.saturating_sub(bytes);
                if room == 0 || left == 0 {
                    break;
                }
                let part = part(files, &name, from, room, left)?;
                is_over &= part.next == from;
                bytes += part.bodies.iter().map(Vec::len).sum::<usize>();
                entries.extend(self.believe(&name, from, &part, refused));
                at.insert(name, part.next);
            }
            if is_over {
                break;
            }
        }
        *cursor = Cursor(at.into_iter().collect());
        Ok(entries)
    }

    /// Moves a cursor behind all that we have offered.
    pub(super) fn pass_own(&self, cursor: &mut Cursor) {
        if let Some(own) = &self.own {
            cursor.0.retain(|(name, _)| *name != self.name);
            cursor.0.push((self.name.clone(), own.size()));
        }
    }

    /// Looks through what nobody here has read.
    pub(super) fn look(&mut self, files: &Files, refused: &mut u64) -> Result<(), Error> {
        for (name, size) in sizes(files)? {
            let is_done = self.read.get(&name) == Some(&size);
            if is_done || self.sizes.get(&name) == Some(&size) {
                continue;
            }
            let mut from = self.read.get(&name).copied().unwrap_or(0);
            loop {
                let part = part(files, &name, from, usize::MAX, TAIL_BYTES)?;
                self.believe(&name, from, &part, refused);
                if part.next == from || part.next >= size {
                    break;
                }
                from = part.next;
            }
            self.sizes.insert(name, size);
        }
        Ok(())
    }

    /// The entries of a part that can be believed; remembers them, and counts the others once.
    fn believe(&mut self, name: &str, from: u64, part: &Part, refused: &mut u64) -> Vec<Entry> {
        let read: Vec<Result<Entry, Malformed>> =
            part.bodies.iter().map(|b| codec::decode(b)).collect();
        let mark = self.read.get(name).copied().unwrap_or(0);
        // Somebody has cut the shard, and it is read from its beginning.
        let is_cut = part.next < from;
        if part.next > mark || is_cut {
            let bad = read.iter().filter(|r| r.is_err()).count() as u64;
            *refused += part.damaged + bad;
        }
        let entries: Vec<Entry> = read.into_iter().flatten().collect();
        if from <= mark || is_cut {
            let room = ENTRIES_MOST.saturating_sub(self.known.len());
            self.known.extend(entries.iter().take(room).map(Entry::id));
            let next = if is_cut {
                part.next
            } else {
                mark.max(part.next)
            };
            self.read.insert(name.to_owned(), next);
        }
        entries
    }
}

fn path(files: &Files, worker: &str) -> PathBuf {
    files.path("shards", &format!("{worker}{SUFFIX}"))
}

/// Our own shard. Somebody who looks whether we are dead, or the one we were, may hold it a moment longer.
fn own(path: &Path) -> Result<Log, Error> {
    let since = Instant::now();
    loop {
        match Log::open(path) {
            Ok(log) => return Ok(log),
            Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(failed(path, &e)),
            Err(_) if since.elapsed() < PATIENCE => std::thread::sleep(PATIENCE / 100),
            Err(_) => {
                let what = format!("{}: somebody alive has this name", path.display());
                return Err(Error::Refused(what));
            }
        }
    }
}

/// Workers that have offered something, and the sizes of their shards. Whoever joins only to ask leaves an empty one, and what is
/// larger than a shard may be was not written by us: neither is looked at, and neither takes the place of one that has something.
fn sizes(files: &Files) -> Result<Vec<(String, u64)>, Error> {
    let names = files.names("shards")?;
    let workers = names.iter().filter_map(|name| name.strip_suffix(SUFFIX));
    let workers = workers.filter(|name| WorkerId::new(*name).is_ok());
    let sized = workers.filter_map(|name| {
        let metadata = fs::symlink_metadata(path(files, name)).ok()?;
        let bytes = metadata.len();
        let is_ours = metadata.is_file()
            && (1..=SHARD_BYTES_MOST + RECORD_BYTES_MOST as u64).contains(&bytes);
        is_ours.then(|| (name.to_owned(), bytes))
    });
    Ok(sized.take(SHARDS_MOST).collect())
}

fn part(files: &Files, name: &str, from: u64, most: usize, bytes: usize) -> Result<Part, Error> {
    let path = path(files, name);
    let unread = Part {
        next: from,
        ..Part::default()
    };
    match open_file(&path).map_err(|e| failed(&path, &e))? {
        None => Ok(unread),
        Some(file) => log::read(&file, from, most, bytes).map_err(|e| failed(&path, &e)),
    }
}

fn is_dead(files: &Files, worker: &str) -> bool {
    match open_file(&path(files, worker)) {
        Ok(None) => true,
        Ok(Some(shard)) => shard.try_lock().is_ok(),
        Err(_) => false,
    }
}
