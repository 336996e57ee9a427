//! Finite jobs: who does which, for how long, how often, and what came of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::FILES_MOST;
use super::files::{Files, Found};
use crate::codec::{self, Record, encode_checked};
use crate::exchange::DELIVERIES_MOST;
use crate::record::{Job, JobId, JobResult, WorkerId};
use crate::{Able, Claim, Error, Offered};

/// No lease is longer, whatever a file says.
const LEASE_MOST: Duration = Duration::from_secs(24 * 3600);
const LEASE_BYTES_MOST: usize = 256;
/// Submitted jobs between two counts of all of them.
const COUNTED_EVERY: usize = 256;

pub(super) struct Jobs {
    worker: WorkerId,
    /// Leases of others, and since when their last sign of life is the last.
    watched: BTreeMap<JobId, (Lease, Instant)>,
    /// What open jobs need that were read: those of others are not read again.
    needed: BTreeMap<JobId, Able>,
    /// Jobs that were submitted since they were counted; nobody has counted yet.
    uncounted: Option<usize>,
}

/// What a file in `leases` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Lease {
    worker: WorkerId,
    /// Which time the job is handed out, from 1.
    delivery: u32,
    /// Counts signs of life of this delivery, from 0.
    sign: u64,
    lease_ms: u64,
}

impl Lease {
    fn duration(&self) -> Duration {
        Duration::from_millis(self.lease_ms).min(LEASE_MOST)
    }
}

impl Jobs {
    pub(super) fn new(worker: &WorkerId) -> Jobs {
        Jobs {
            worker: worker.clone(),
            watched: BTreeMap::new(),
            needed: BTreeMap::new(),
            uncounted: None,
        }
    }

    pub(super) fn submit(&mut self, files: &Files, job: &Job) -> Result<Offered, Error> {
        let bytes = encode_checked(job)?;
        let name = job.id().hex();
        if read_job(files, job.id())?.is_kept() {
            return Ok(Offered::Known);
        }
        if self.uncounted.is_none_or(|n| n >= COUNTED_EVERY) {
            let count = files.names("jobs")?.len();
            if count + COUNTED_EVERY > FILES_MOST {
                return Err(Error::Refused(format!("full: {count} jobs")));
            }
            self.uncounted = Some(0);
        }
        let _held = files.lock(&name)?;
        if read_job(files, job.id())?.is_kept() {
            return Ok(Offered::Known);
        }
        files.write("jobs", &name, &bytes)?;
        self.uncounted = self.uncounted.map(|n| n + 1);
        Ok(Offered::New)
    }

    pub(super) fn claim(
        &mut self,
        files: &Files,
        able: &Able,
        lease: Duration,
        refused: &mut u64,
    ) -> Result<Option<Claim>, Error> {
        let open = open_jobs(files)?;
        self.watched.retain(|id, _| open.binary_search(id).is_ok());
        self.needed.retain(|id, _| open.binary_search(id).is_ok());
        for id in self.turned(&open) {
            if self.needed.get(&id).is_some_and(|needed| !able.can(needed)) {
                continue;
            }
            let there = read_lease(files, id)?;
            if !self.is_free(id, there.as_ref()) {
                continue;
            }
            if there
                .as_ref()
                .is_some_and(|l| l.delivery >= DELIVERIES_MOST)
            {
                tell_poison(files, id)?;
                continue;
            }
            let job = match read_job(files, id)? {
                Read::Record(job) => job,
                // Somebody newer may do it.
                Read::Newer => continue,
                Read::Nothing | Read::Damaged => {
                    *refused += u64::from(drop_job(files, id)?);
                    continue;
                }
            };
            let needed = Able::needed(&job);
            self.needed.insert(id, needed);
            if !able.can(&needed) {
                continue;
            }
            let taken = match self.take(files, id, there, lease) {
                // Somebody is stopped while it holds this one's lock: there are others.
                Err(Error::Away(_)) => None,
                taken => taken?,
            };
            if let Some(delivery) = taken {
                return Ok(Some(Claim {
                    job,
                    id,
                    deliveries: delivery,
                    token: delivery.to_string(),
                }));
            }
        }
        Ok(None)
    }

    /// Jobs in an order in which workers do not all begin with the same one.
    fn turned(&self, open: &[JobId]) -> Vec<JobId> {
        let own = JobId(*blake3::hash(self.worker.0.as_bytes()).as_bytes());
        let (before, after) = open.split_at(open.partition_point(|id| *id < own));
        after.iter().chain(before).copied().collect()
    }

    /// Whether nobody has the job, as far as we have seen.
    fn is_free(&mut self, id: JobId, there: Option<&Lease>) -> bool {
        let Some(there) = there else {
            return true;
        };
        match self.watched.get(&id) {
            Some((seen, since)) if seen == there => since.elapsed() >= there.duration(),
            _ => {
                self.watched.insert(id, (there.clone(), Instant::now()));
                there.lease_ms == 0
            }
        }
    }

    /// Takes a job if its lease still is what we saw; tells which delivery that is.
    fn take(
        &mut self,
        files: &Files,
        id: JobId,
        seen: Option<Lease>,
        lease: Duration,
    ) -> Result<Option<u32>, Error> {
        let name = id.hex();
        let _held = files.lock(&name)?;
        let is_as_seen = read_lease(files, id)? == seen;
        if !is_as_seen || files.exists("results", &name) {
            return Ok(None);
        }
        let taken = Lease {
            worker: self.worker.clone(),
            delivery: seen.map_or(0, |l| l.delivery) + 1,
            sign: 0,
            lease_ms: u64::try_from(lease.min(LEASE_MOST).as_millis()).expect("a day fits"),
        };
        write_lease(files, id, &taken)?;
        Ok(Some(taken.delivery))
    }

    pub(super) fn extend(&mut self, files: &Files, claim: &Claim) -> Result<(), Error> {
        let _held = files.lock(&claim.id.hex())?;
        let ours = |l: &Lease| l.worker == self.worker && l.delivery == claim.deliveries;
        if let Some(mut lease) = read_lease(files, claim.id)?.filter(ours) {
            lease.sign += 1;
            write_lease(files, claim.id, &lease)?;
        }
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        files: &Files,
        claim: &Claim,
        result: &JobResult,
    ) -> Result<(), Error> {
        let bytes = encode_checked(result)?;
        if result.job != claim.id || claim.job.id() != claim.id {
            let what = format!(
                "a result of job {}, expected {}",
                result.job.hex(),
                claim.id.hex()
            );
            return Err(Error::Refused(what));
        }
        let name = claim.id.hex();
        let _held = files.lock(&name)?;
        if !read_result(files, claim.id)?.is_kept() {
            files.write("results", &name, &bytes)?;
        }
        files.remove("leases", &name);
        files.remove("poison", &name);
        Ok(())
    }

    pub(super) fn result(
        &mut self,
        files: &Files,
        id: JobId,
        refused: &mut u64,
    ) -> Result<Option<JobResult>, Error> {
        match read_result(files, id)? {
            Read::Record(result) => return Ok(Some(result)),
            // Somebody newer has told it; we cannot read it.
            Read::Nothing | Read::Newer => return Ok(None),
            Read::Damaged => {}
        }
        let _held = files.lock(&id.hex())?;
        if matches!(read_result(files, id)?, Read::Damaged) {
            // The job is to be done again.
            *refused += 1;
            files.remove("results", &id.hex());
        }
        Ok(None)
    }

    pub(super) fn poisoned(&mut self, files: &Files) -> Result<Vec<JobId>, Error> {
        let open = open_jobs(files)?;
        for id in &open {
            let lease = read_lease(files, *id)?.filter(|l| l.delivery >= DELIVERIES_MOST);
            if lease.is_some() && self.is_free(*id, lease.as_ref()) {
                tell_poison(files, *id)?;
            }
        }
        let mut poison = ids(files, "poison")?;
        poison.retain(|id| open.binary_search(id).is_ok());
        Ok(poison)
    }
}

fn tell_poison(files: &Files, id: JobId) -> Result<(), Error> {
    let name = id.hex();
    match files.exists("poison", &name) {
        true => Ok(()),
        false => files.write("poison", &name, b""),
    }
}

fn ids(files: &Files, folder: &str) -> Result<Vec<JobId>, Error> {
    let names = files.names(folder)?;
    Ok(names.iter().filter_map(|n| JobId::from_hex(n)).collect())
}

/// Jobs without a result, ascending.
fn open_jobs(files: &Files) -> Result<Vec<JobId>, Error> {
    let done = ids(files, "results")?;
    let mut open = ids(files, "jobs")?;
    open.retain(|id| done.binary_search(id).is_err());
    Ok(open)
}

/// What a sealed file comes to.
enum Read<T> {
    /// It is not there.
    Nothing,
    /// Nobody can make anything of it.
    Damaged,
    /// It is whole, and of a version that we do not know.
    Newer,
    /// What it says.
    Record(T),
}

impl<T> Read<T> {
    /// Whether something is there that is not to be replaced.
    fn is_kept(&self) -> bool {
        matches!(self, Read::Newer | Read::Record(_))
    }
}

/// A record in a sealed file, if it is what its name says.
fn read<T: Record>(
    files: &Files,
    folder: &str,
    id: JobId,
    is_its: impl FnOnce(&T) -> bool,
) -> Result<Read<T>, Error> {
    let body = match files.read(folder, &id.hex(), T::BYTES_MOST)? {
        Found::Body(body) => body,
        Found::Nothing => return Ok(Read::Nothing),
        Found::Damaged(_) => return Ok(Read::Damaged),
    };
    Ok(match codec::decode(&body) {
        Ok(record) if is_its(&record) => Read::Record(record),
        Err(malformed) if malformed.is_newer() => Read::Newer,
        Ok(_) | Err(_) => Read::Damaged,
    })
}

fn read_job(files: &Files, id: JobId) -> Result<Read<Job>, Error> {
    read(files, "jobs", id, |job: &Job| job.id() == id)
}

/// Removes a damaged job, if it is: whoever submits it again writes it again.
fn drop_job(files: &Files, id: JobId) -> Result<bool, Error> {
    let _held = files.lock(&id.hex())?;
    let is_damaged = matches!(read_job(files, id)?, Read::Damaged);
    if is_damaged {
        files.remove("jobs", &id.hex());
    }
    Ok(is_damaged)
}

fn read_result(files: &Files, id: JobId) -> Result<Read<JobResult>, Error> {
    read(files, "results", id, |result: &JobResult| result.job == id)
}

/// The lease of a job; a damaged one is none, and its count is lost.
fn read_lease(files: &Files, id: JobId) -> Result<Option<Lease>, Error> {
    Ok(match files.read("leases", &id.hex(), LEASE_BYTES_MOST)? {
        Found::Body(body) => codec::plain(&body).ok(),
        Found::Nothing | Found::Damaged(_) => None,
    })
}

fn write_lease(files: &Files, id: JobId, lease: &Lease) -> Result<(), Error> {
    files.write("leases", &id.hex(), &codec::plain_bytes(lease))
}
