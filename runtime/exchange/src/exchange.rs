//! The interface: what a campaign or a worker asks of whatever lies between it and the others.
//!
//! Every operation may be repeated, and arrive late or twice, without harm: entries and jobs are named
//! by what they are, results of a job are equal whoever did it, and values only move by [`Exchange::put_if`].
//! Whoever implements this decides nothing: it keeps, hands on, and bounds.

use std::time::Duration;

use crate::record::{Beat, Entry, Hash, Job, JobId, JobResult};

/// How often a job is handed out: a job that ends this many workers is left alone, and told by
/// [`Exchange::poisoned`]. Five let a job survive a few preempted workers.
pub const DELIVERIES_MOST: u32 = 5;
/// Whoever gave no sign of life for so long is not told by [`Exchange::live`].
pub const LIVE: Duration = Duration::from_secs(30);

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody is there now: go on alone, try again later.
    #[error("the exchange is away: {0}")]
    Away(String),
    /// What was given is not what the exchange takes: larger than its bounds, or not of this campaign.
    #[error("refused: {0}")]
    Refused(String),
    /// The world failed us: a disk, a folder.
    #[error("{0}")]
    Failed(String),
}

/// What came of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It is kept now.
    New,
    /// Somebody had offered it before.
    Known,
}

/// How far somebody has read. Opaque; each binding has its own. Empty at the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor(pub Vec<(String, u64)>);

/// Which jobs a worker can do; others are not handed out to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Able {
    /// Of what its module is, and how it calls it: [`Job::module`].
    pub module: Hash,
    /// The most fuel of one execution that a job may ask for: [`Job::fuel`].
    pub fuel_most: u64,
}

impl Able {
    /// The least that a worker must be able to do for this job.
    pub fn needed(job: &Job) -> Able {
        Able {
            module: job.module,
            fuel_most: job.fuel(),
        }
    }

    /// Whether whoever can do this much can do what needs that.
    pub fn can(&self, needed: &Able) -> bool {
        self.module == needed.module && needed.fuel_most <= self.fuel_most
    }
}

/// A job that is ours until its lease ends, unless we beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The job.
    pub job: Job,
    /// Its name.
    pub id: JobId,
    /// How often it has been handed out, this time included.
    pub deliveries: u32,
    /// The binding's own mark.
    pub token: String,
}

/// Names a value: letters, digits, `-` and `_`, at most 128 of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub String);

/// Which writing of a value it is; 0 is none yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u64);

/// A value as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Current {
    /// Its revision.
    pub revision: Revision,
    /// Nothing before it was first put.
    pub value: Option<Vec<u8>>,
}

/// What came of an offer, or nothing if it was refused; errs where others would fare no better.
pub fn taken(offered: Result<Offered, Error>) -> Result<Option<Offered>, Error> {
    match offered {
        Ok(offered) => Ok(Some(offered)),
        Err(Error::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What lies between campaigns.
pub trait Exchange {
    /// Offers an entry.
    fn offer(&mut self, entry: &Entry) -> Result<Offered, Error>;

    /// Offers entries, at most [`crate::codec::TAIL_BYTES`] in all: over a line that takes as long as one. What came of
    /// each; nothing of one that is refused, which does not hold up the others.
    fn offer_all(&mut self, entries: &[Entry]) -> Result<Vec<Option<Offered>>, Error> {
        let each = entries.iter().map(|entry| taken(self.offer(entry)));
        each.collect()
    }

    /// What has been offered since `cursor`, at most `most` entries, ours included; moves the cursor.
    /// Ends early, after at least one, when it has [`crate::codec::TAIL_BYTES`]: nothing new is an empty answer.
    /// Records that cannot be believed are left out and counted ([`Exchange::refused`]).
    fn tail(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error>;

    /// The same, but what we have offered ourselves need not be among it: reading it again costs as much as what others say.
    fn news(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error> {
        self.tail(cursor, most)
    }

    /// Asks for a job to be done.
    fn submit(&mut self, job: &Job) -> Result<Offered, Error>;

    /// Takes a job that we can do and that nobody else has, for `lease`. A job that was handed out more
    /// often than the exchange's bound, and never finished, is not handed out again: see
    /// [`Exchange::poisoned`]. Looking at a job for somebody else, or at one of a newer version, changes
    /// nothing about it.
    fn claim(&mut self, able: &Able, lease: Duration) -> Result<Option<Claim>, Error>;

    /// Keeps a claimed job for another lease. There is no fence: somebody else may have it by now.
    fn extend(&mut self, claim: &Claim) -> Result<(), Error>;

    /// Tells the result of a claimed job. The first one stays; a later one changes nothing.
    fn finish(&mut self, claim: &Claim, result: &JobResult) -> Result<(), Error>;

    /// The result of a job, if there is one.
    fn result(&mut self, job: JobId) -> Result<Option<JobResult>, Error>;

    /// Jobs that were handed out as often as may be and never finished.
    fn poisoned(&mut self) -> Result<Vec<JobId>, Error>;

    /// A value as it is now.
    fn get(&mut self, key: &Key) -> Result<Current, Error>;

    /// Puts a value if its revision still is `expected`, and tells the new one; else tells what is there.
    fn put_if(
        &mut self,
        key: &Key,
        expected: Revision,
        value: &[u8],
    ) -> Result<Result<Revision, Current>, Error>;

    /// All keys that have a value, ascending.
    fn keys(&mut self) -> Result<Vec<Key>, Error>;

    /// Gives a sign of life.
    fn beat(&mut self, beat: &Beat) -> Result<(), Error>;

    /// Last signs of life of those that gave one lately, by worker.
    fn live(&mut self) -> Result<Vec<Beat>, Error>;

    /// Records that could not be believed so far.
    fn refused(&self) -> u64;
}
