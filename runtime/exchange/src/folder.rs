//! A folder that several processes of one machine share: an exchange without a server.
//!
//! ```text
//! FOLDER/exchange            what this is, and its version
//!        shards/WORKER.log   entries that a worker offered; it alone appends, everybody reads
//!        jobs/ID             a job;  leases/ID  who does it;  results/ID;  poison/ID  nobody will
//!        values/KEY          a value and its revision
//!        beats/WORKER        a worker's last sign of life
//!        locks/00 … 3f       held while a lease or a value is changed
//!        passing/WORKER.N    files before they get their names
//! ```
//!
//! What is guaranteed, on a file system that all processes see alike (a local one; not NFS):
//! - an operation that returned without an error has happened, whatever kills any process afterwards;
//!   a machine that loses its power may lose the last seconds, since nothing is forced to disk;
//! - one that was killed or that met a full disk has happened or has not: nothing is half there;
//! - [`Exchange::put_if`] is one step; no waiting for ever: who is stopped while it holds a lock makes
//!   the others' changes to some values and leases [`Error::Away`], and nothing else;
//! - a file that is damaged is left out and counted; what others said stays readable;
//! - memory and files have bounds; over them, the answer is [`Error::Refused`].
//!
//! What is not: an entry that two workers find at the same moment is kept, and told, twice. Two may do
//! the same job, when a lease ended too early. Somebody with write access who wants to do harm can
//! remove everything, and no checksum stops a lie: entries are claims until somebody runs them.
//!
//! # Leases without clocks
//!
//! A lease says how long it is, whose, and which sign of life this is. It does not say when: nobody's
//! clock is anybody else's. Whoever wants the job remembers since when, on its own monotonic clock, it
//! has seen the same sign of life, and takes the job once that is longer than the lease. So clocks may
//! jump, differ or stand still (a suspended machine), and a lease never ends too early by that; it ends
//! late for one who has just come, who has to look on for one whole lease first. A worker that is
//! stopped for longer than its lease loses the job and does not know it: no harm, its result is equal.

mod beats;
mod broken;
mod files;
mod jobs;
mod shards;
mod values;

use std::path::Path;
use std::time::Duration;

use crate::exchange::taken;
use crate::record::{Beat, Entry, Job, JobId, JobResult, WorkerId};
use crate::{Able, Claim, Current, Cursor, Error, Exchange, Key, Offered, Revision};

pub(crate) use files::require_file;
pub use shards::{ENTRIES_MOST, SHARD_BYTES_MOST, SHARDS_MOST};

/// Files of jobs, values or beats that are looked at.
pub const FILES_MOST: usize = 1 << 16;

/// A shared folder, as one worker has it.
pub struct Folder {
    files: files::Files,
    shards: shards::Shards,
    jobs: jobs::Jobs,
    beats: beats::Beats,
    broken: broken::Broken,
    refused: u64,
    /// Whether it only looks: whatever would write is refused.
    looks_on: bool,
}

impl Folder {
    /// Joins the exchange in a folder under a name that no living worker has, making what is missing.
    ///
    /// A worker that comes back under the name it had goes on with its own shard. Errs if the folder
    /// cannot be written, is something else, or somebody alive has the name.
    pub fn join(path: &Path, worker: &WorkerId) -> Result<Folder, Error> {
        worker.check()?;
        let files = files::Files::open(path, worker)?;
        let shards = shards::Shards::open(&files, worker)?;
        files.mark()?;
        Ok(Folder {
            shards,
            jobs: jobs::Jobs::new(worker),
            beats: beats::Beats::default(),
            files,
            broken: broken::Broken::default(),
            refused: 0,
            looks_on: false,
        })
    }

    /// Looks on at what lies in a folder: entries, values and signs of life can be read, nothing is written and no
    /// lock is taken. Errs with [`Error::Away`] if nobody has met there yet.
    pub fn look_on(path: &Path) -> Result<Folder, Error> {
        Ok(Folder {
            shards: shards::Shards::looked_on(),
            jobs: jobs::Jobs::new(&WorkerId(String::new())),
            beats: beats::Beats::default(),
            files: files::Files::look_on(path)?,
            broken: broken::Broken::default(),
            refused: 0,
            looks_on: true,
        })
    }

    /// Before anything that may write.
    fn writes(&self) -> Result<(), Error> {
        match self.looks_on {
            true => Err(Error::Refused("whoever looks on says nothing".into())),
            false => Ok(()),
        }
    }
}

impl Exchange for Folder {
    fn offer(&mut self, entry: &Entry) -> Result<Offered, Error> {
        self.writes()?;
        self.shards.look(&self.files, &mut self.refused)?;
        self.shards.offer(&self.files, entry)
    }

    fn offer_all(&mut self, entries: &[Entry]) -> Result<Vec<Option<Offered>>, Error> {
        self.writes()?;
        self.shards.look(&self.files, &mut self.refused)?;
        let offer = |entry| taken(self.shards.offer(&self.files, entry));
        entries.iter().map(offer).collect()
    }

    fn tail(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error> {
        self.shards
            .tail(&self.files, cursor, most, &mut self.refused)
    }

    fn news(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error> {
        self.shards.pass_own(cursor);
        self.tail(cursor, most)
    }

    fn submit(&mut self, job: &Job) -> Result<Offered, Error> {
        self.writes()?;
        self.jobs.submit(&self.files, job)
    }

    fn claim(&mut self, able: &Able, lease: Duration) -> Result<Option<Claim>, Error> {
        self.writes()?;
        self.jobs.claim(&self.files, able, lease, &mut self.refused)
    }

    fn extend(&mut self, claim: &Claim) -> Result<(), Error> {
        self.writes()?;
        self.jobs.extend(&self.files, claim)
    }

    fn finish(&mut self, claim: &Claim, result: &JobResult) -> Result<(), Error> {
        self.writes()?;
        self.jobs.finish(&self.files, claim, result)
    }

    fn result(&mut self, job: JobId) -> Result<Option<JobResult>, Error> {
        self.writes()?;
        self.jobs.result(&self.files, job, &mut self.refused)
    }

    fn poisoned(&mut self) -> Result<Vec<JobId>, Error> {
        self.writes()?;
        self.jobs.poisoned(&self.files)
    }

    fn get(&mut self, key: &Key) -> Result<Current, Error> {
        values::get(&self.files, key, &mut self.broken)
    }

    fn put_if(
        &mut self,
        key: &Key,
        expected: Revision,
        value: &[u8],
    ) -> Result<Result<Revision, Current>, Error> {
        self.writes()?;
        values::put_if(&self.files, key, expected, value, &mut self.broken)
    }

    fn keys(&mut self) -> Result<Vec<Key>, Error> {
        values::keys(&self.files)
    }

    fn beat(&mut self, beat: &Beat) -> Result<(), Error> {
        self.writes()?;
        self.beats.beat(&self.files, beat)
    }

    fn live(&mut self) -> Result<Vec<Beat>, Error> {
        self.beats.live(&self.files, &mut self.broken)
    }

    fn refused(&self) -> u64 {
        self.refused + self.broken.count()
    }
}

#[cfg(test)]
mod tests;
