//! An exchange in memory whose world is as bad as a seed says: late, twice, out of order, unanswered.
//!
//! One [`Memory`] lies between any number of [`MemoryExchange`]s of one process. Time is virtual: a
//! millisecond passes with each operation, more with [`Memory::pass`]. Everything that happens is a
//! function of the seed and of the order of calls, so a schedule that breaks something is a test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::codec::{self, Record, encode_checked};
use crate::exchange::{DELIVERIES_MOST, LIVE};
use crate::random::Random;
use crate::record::{Beat, Entry, EntryId, Job, JobId, JobResult, WorkerId};
use crate::{Able, Claim, Current, Cursor, Error, Exchange, Key, Offered, Revision};

/// What goes wrong, each in 1,000 cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Decides when.
    pub seed: u64,
    /// Virtual milliseconds that an entry may take to whoever reads; several in flight overtake each other.
    pub delay_ms: u64,
    /// An entry arrives once more.
    pub duplicate: u32,
    /// Something is done, but its asker is told that nobody is there.
    pub unanswered: u32,
    /// Nobody is there, and nothing is done.
    pub away: u32,
    /// A lease ends before its time: somebody else gets the job too.
    pub early: u32,
}

impl Faults {
    /// A perfect world.
    pub const NONE: Faults = Faults {
        seed: 0,
        delay_ms: 0,
        duplicate: 0,
        unanswered: 0,
        away: 0,
        early: 0,
    };
}

/// What lies between. Clones share it.
#[derive(Clone)]
pub struct Memory(Arc<Mutex<World>>);

struct World {
    faults: Faults,
    random: Random,
    now_ms: u64,
    entries: Vec<Arc<Entry>>,
    known: BTreeSet<EntryId>,
    order: Vec<JobId>,
    jobs: BTreeMap<JobId, Task>,
    values: BTreeMap<Key, (Revision, Vec<u8>)>,
    beats: BTreeMap<WorkerId, (u64, Beat)>,
}

struct Task {
    job: Job,
    deliveries: u32,
    lease_ms: u64,
    ends_ms: u64,
    result: Option<JobResult>,
}

/// The exchange as one worker has it.
pub struct MemoryExchange {
    memory: Memory,
    /// Entries of the world that are on their way or have arrived.
    sent: usize,
    /// When each arrives, and which.
    flying: Vec<(u64, usize)>,
    /// What has arrived, in order; cursors count it.
    arrived: Vec<usize>,
    refused: u64,
}

impl Memory {
    /// An empty world.
    pub fn new(faults: Faults) -> Memory {
        Memory(Arc::new(Mutex::new(World {
            faults,
            random: Random::new(faults.seed),
            now_ms: 0,
            entries: Vec::new(),
            known: BTreeSet::new(),
            order: Vec::new(),
            jobs: BTreeMap::new(),
            values: BTreeMap::new(),
            beats: BTreeMap::new(),
        })))
    }

    /// One more that speaks to it.
    pub fn join(&self) -> MemoryExchange {
        MemoryExchange {
            memory: self.clone(),
            sent: 0,
            flying: Vec::new(),
            arrived: Vec::new(),
            refused: 0,
        }
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        self.lock().now_ms += time.as_millis() as u64;
    }

    /// From now on, everything goes well; what is in flight still arrives in its order.
    pub fn heal(&self) {
        self.lock().faults = Faults::NONE;
    }

    /// From now on, nobody is there.
    pub fn end(&self) {
        self.lock().faults.away = 1000;
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World {
    fn chance(&mut self, in_1000: u32) -> bool {
        in_1000 > 0 && self.random.below(1000) < u64::from(in_1000)
    }

    /// Begins an operation.
    fn arrive(&mut self) -> Result<(), Error> {
        self.now_ms += 1;
        match self.chance(self.faults.away) {
            true => Err(Error::Away("nobody, by lot".into())),
            false => Ok(()),
        }
    }

    /// Ends an operation that has been done.
    fn answer<T>(&mut self, answer: T) -> Result<T, Error> {
        match self.chance(self.faults.unanswered) {
            true => Err(Error::Away("no answer, by lot".into())),
            false => Ok(answer),
        }
    }

    fn submit(&mut self, job: &Job) -> bool {
        let id = job.id();
        let is_new = !self.jobs.contains_key(&id);
        if is_new {
            let task = Task {
                job: job.clone(),
                deliveries: 0,
                lease_ms: 0,
                ends_ms: 0,
                result: None,
            };
            self.jobs.insert(id, task);
            self.order.push(id);
        }
        is_new
    }

    fn claim(&mut self, able: &Able, lease: Duration) -> Option<Claim> {
        let early = self.chance(self.faults.early);
        let now_ms = self.now_ms;
        let is_free = |task: &Task| {
            let is_over = task.ends_ms <= now_ms || early;
            let is_open = task.result.is_none() && task.deliveries < DELIVERIES_MOST;
            is_open && is_over && able.can(&Able::needed(&task.job))
        };
        let id = *self.order.iter().find(|id| is_free(&self.jobs[id]))?;
        let task = self.jobs.get_mut(&id).expect("ordered jobs are kept");
        task.deliveries += 1;
        task.lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        task.ends_ms = now_ms.saturating_add(task.lease_ms);
        Some(Claim {
            job: task.job.clone(),
            id,
            deliveries: task.deliveries,
            token: task.deliveries.to_string(),
        })
    }
}

impl MemoryExchange {
    fn refuse<T: Record>(&mut self, record: &T) -> Result<(), Error> {
        encode_checked(record).map(drop).map_err(|malformed| {
            self.refused += 1;
            malformed.into()
        })
    }

    /// Sends what is new on its way, and takes in what is due, in any order.
    fn fly(&mut self) {
        let mut world = self.memory.lock();
        for index in self.sent..world.entries.len() {
            let faults = world.faults;
            let is_twice = world.chance(faults.duplicate);
            for _ in 0..=u32::from(is_twice) {
                let delay = world.random.below(faults.delay_ms.saturating_add(1));
                self.flying.push((world.now_ms + delay, index));
            }
        }
        self.sent = world.entries.len();
        let now_ms = world.now_ms;
        let mut due: Vec<(u64, usize)> = self.flying.extract_if(.., |f| f.0 <= now_ms).collect();
        due.sort_unstable();
        self.arrived.extend(due.into_iter().map(|(_, index)| index));
    }
}

impl Exchange for MemoryExchange {
    fn offer(&mut self, entry: &Entry) -> Result<Offered, Error> {
        self.refuse(entry)?;
        let mut world = self.memory.lock();
        world.arrive()?;
        let is_new = world.known.insert(entry.id());
        if is_new {
            world.entries.push(Arc::new(entry.clone()));
        }
        world.answer(offered(is_new))
    }

    fn tail(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error> {
        self.memory.lock().arrive()?;
        self.fly();
        let from = cursor.0.first().map_or(0, |(_, at)| *at as usize);
        let mut bytes = 0;
        let mut entries = Vec::new();
        let world = self.memory.lock();
        for index in self.arrived.iter().skip(from).take(most) {
            let entry = &world.entries[*index];
            bytes += entry.input.len() + entry.choices.as_ref().map_or(0, String::len);
            entries.push(Entry::clone(entry));
            if bytes >= codec::TAIL_BYTES {
                break;
            }
        }
        *cursor = Cursor(vec![("arrived".into(), (from + entries.len()) as u64)]);
        Ok(entries)
    }

    fn submit(&mut self, job: &Job) -> Result<Offered, Error> {
        self.refuse(job)?;
        let mut world = self.memory.lock();
        world.arrive()?;
        let is_new = world.submit(job);
        world.answer(offered(is_new))
    }

    fn claim(&mut self, able: &Able, lease: Duration) -> Result<Option<Claim>, Error> {
        let mut world = self.memory.lock();
        world.arrive()?;
        let claim = world.claim(able, lease);
        world.answer(claim)
    }

    fn extend(&mut self, claim: &Claim) -> Result<(), Error> {
        let mut world = self.memory.lock();
        world.arrive()?;
        let now_ms = world.now_ms;
        if let Some(task) = world.jobs.get_mut(&claim.id) {
            task.ends_ms = now_ms.saturating_add(task.lease_ms);
        }
        world.answer(())
    }

    fn finish(&mut self, claim: &Claim, result: &JobResult) -> Result<(), Error> {
        self.refuse(result)?;
        let mut world = self.memory.lock();
        world.arrive()?;
        if result.job != claim.id || claim.job.id() != claim.id {
            return Err(Error::Refused("a result of another job".into()));
        }
        world.submit(&claim.job);
        let task = world.jobs.get_mut(&claim.id).expect("just submitted");
        task.result.get_or_insert_with(|| result.clone());
        world.answer(())
    }

    fn result(&mut self, job: JobId) -> Result<Option<JobResult>, Error> {
        let mut world = self.memory.lock();
        world.arrive()?;
        let result = world.jobs.get(&job).and_then(|task| task.result.clone());
        world.answer(result)
    }

    fn poisoned(&mut self) -> Result<Vec<JobId>, Error> {
        let mut world = self.memory.lock();
        world.arrive()?;
        let is_poison = |task: &Task| {
            let is_over = task.ends_ms <= world.now_ms;
            task.result.is_none() && task.deliveries >= DELIVERIES_MOST && is_over
        };
        let poison = world.jobs.iter().filter(|(_, task)| is_poison(task));
        let poison = poison.map(|(id, _)| *id).collect();
        world.answer(poison)
    }

    fn get(&mut self, key: &Key) -> Result<Current, Error> {
        key.check()?;
        let mut world = self.memory.lock();
        world.arrive()?;
        let current = current(&world.values, key);
        world.answer(current)
    }

    fn put_if(
        &mut self,
        key: &Key,
        expected: Revision,
        value: &[u8],
    ) -> Result<Result<Revision, Current>, Error> {
        key.check()?;
        codec::at_most(value.len(), codec::VALUE_BYTES_MOST)?;
        let mut world = self.memory.lock();
        world.arrive()?;
        let there = current(&world.values, key);
        if there.revision != expected {
            return world.answer(Err(there));
        }
        let revision = Revision(expected.0 + 1);
        world.values.insert(key.clone(), (revision, value.to_vec()));
        world.answer(Ok(revision))
    }

    fn keys(&mut self) -> Result<Vec<Key>, Error> {
        let mut world = self.memory.lock();
        world.arrive()?;
        let keys = world.values.keys().cloned().collect();
        world.answer(keys)
    }

    fn beat(&mut self, beat: &Beat) -> Result<(), Error> {
        self.refuse(beat)?;
        let mut world = self.memory.lock();
        world.arrive()?;
        let now_ms = world.now_ms;
        world
            .beats
            .insert(beat.worker.clone(), (now_ms, beat.clone()));
        world.answer(())
    }

    fn live(&mut self) -> Result<Vec<Beat>, Error> {
        let mut world = self.memory.lock();
        world.arrive()?;
        let since_ms = world.now_ms.saturating_sub(LIVE.as_millis() as u64);
        let lately = world.beats.values().filter(|(at, _)| *at >= since_ms);
        let beats = lately.map(|(_, beat)| beat.clone()).collect();
        world.answer(beats)
    }

    fn refused(&self) -> u64 {
        self.refused
    }
}

fn offered(is_new: bool) -> Offered {
    match is_new {
        true => Offered::New,
        false => Offered::Known,
    }
}

fn current(values: &BTreeMap<Key, (Revision, Vec<u8>)>, key: &Key) -> Current {
    values
        .get(key)
        .map_or_else(Current::default, |(revision, value)| Current {
            revision: *revision,
            value: Some(value.clone()),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        let memory = Memory::new(Faults::NONE);
        crate::conformance::check(&mut |_| Box::new(memory.join()));
    }
}
