//! Whatever order, delay, repetition and loss of answers a seed chooses: the same final state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use sandglass_exchange::conformance::ABLE;
use sandglass_exchange::memory::{Faults, Memory, MemoryExchange};
use sandglass_exchange::merge::{Merged, by_size, put_least};
use sandglass_exchange::random::Random;
use sandglass_exchange::{
    Claim, Coverage, Cursor, Entry, Error, Exchange, Job, JobId, JobKind, JobResult, Key, WorkerId,
};

const WORKERS: usize = 4;
const PROBES: u32 = 64;
const LEASE: Duration = Duration::from_millis(20);

/// What all workers end with; equal for every schedule.
#[derive(Debug, PartialEq, Eq)]
struct End {
    merged: Merged,
    corpus: BTreeSet<Vec<u8>>,
    results: BTreeMap<JobId, JobResult>,
    findings: BTreeMap<Key, Vec<u8>>,
}

/// One that has things to tell and jobs to do, and takes one step when the schedule says so.
struct Worker {
    exchange: MemoryExchange,
    cursor: Cursor,
    to_offer: VecDeque<Entry>,
    to_submit: VecDeque<Job>,
    to_put: VecDeque<(Key, Vec<u8>)>,
    merged: Merged,
    corpus: BTreeSet<Vec<u8>>,
    claim: Option<Claim>,
}

fn entry(n: u8, worker: usize) -> Entry {
    Entry {
        input: vec![n; 1 + usize::from(n % 5)],
        choices: None,
        claim: Some(Coverage {
            module: [1; 32],
            edges: vec![(u32::from(n) % PROBES, 1 << (n % 8))],
            fuel: u64::from(n) * 7 % 31,
            valid: n.is_multiple_of(2),
        }),
        worker: WorkerId::new(format!("w{worker}")).unwrap(),
    }
}

fn job(n: u8) -> Job {
    Job {
        kind: JobKind::Cover,
        module: [1; 32],
        inputs: vec![vec![n]],
        settings: vec![],
    }
}

fn answer(claim: &Claim) -> JobResult {
    JobResult {
        job: claim.id,
        outcome: Ok(claim.job.inputs.concat()),
    }
}

impl Worker {
    /// A quarter of all entries, some of them also found by the next worker; a job; two findings.
    fn new(index: usize, memory: &Memory) -> Worker {
        let numbers = (0..24u8).map(|n| n + 18 * index as u8);
        let key = |n: usize| Key::new(format!("finding-{n}")).unwrap();
        Worker {
            exchange: memory.join(),
            cursor: Cursor::default(),
            to_offer: numbers.map(|n| entry(n, index)).collect(),
            to_submit: [job(index as u8), job(9)].into(),
            to_put: [
                (key(0), vec![index as u8; 2 + index]),
                (key(index % 2), vec![9 - index as u8; 3]),
            ]
            .into(),
            merged: Merged::new([1; 32], PROBES),
            corpus: BTreeSet::new(),
            claim: None,
        }
    }

    fn step(&mut self, which: u64) {
        // Away is nothing: what was not done stays to be done, what was done is done again.
        let _tried: Result<(), Error> = match which {
            0 => self.offer(),
            1 => self.tail(),
            2 => self.submit(),
            3 => self.put(),
            _ => self.work(),
        };
    }

    fn offer(&mut self) -> Result<(), Error> {
        if let Some(entry) = self.to_offer.front() {
            self.exchange.offer(entry)?;
            self.to_offer.pop_front();
        }
        Ok(())
    }

    fn tail(&mut self) -> Result<(), Error> {
        for entry in self.exchange.tail(&mut self.cursor, 7)? {
            self.merged.absorb(&entry);
            self.corpus.insert(entry.input);
        }
        Ok(())
    }

    fn submit(&mut self) -> Result<(), Error> {
        if let Some(job) = self.to_submit.front() {
            self.exchange.submit(job)?;
            self.to_submit.pop_front();
        }
        Ok(())
    }

    fn put(&mut self) -> Result<(), Error> {
        if let Some((key, value)) = self.to_put.front() {
            put_least(&mut self.exchange, key, value, by_size)?;
            self.to_put.pop_front();
        }
        Ok(())
    }

    /// Claims, or finishes what it claimed some steps ago, maybe long after its lease.
    fn work(&mut self) -> Result<(), Error> {
        match &self.claim {
            None => self.claim = self.exchange.claim(&ABLE, LEASE)?,
            Some(claim) => {
                self.exchange.finish(claim, &answer(claim))?;
                self.claim = None;
            }
        }
        Ok(())
    }

    fn has_told_all(&self) -> bool {
        self.to_offer.is_empty() && self.to_submit.is_empty() && self.to_put.is_empty()
    }
}

fn play(faults: Faults) -> End {
    let memory = Memory::new(faults);
    let mut random = Random::new(!faults.seed);
    let mut workers: Vec<Worker> = (0..WORKERS).map(|n| Worker::new(n, &memory)).collect();
    while !workers.iter().all(Worker::has_told_all) {
        let worker = &mut workers[random.below(WORKERS as u64) as usize];
        worker.step(random.below(6));
    }
    memory.heal();
    memory.pass(Duration::from_secs(3600));
    for worker in &mut workers {
        loop {
            let before = worker.cursor.clone();
            worker.tail().unwrap();
            if worker.cursor == before {
                break;
            }
        }
        while worker.work().is_ok() && worker.claim.is_some() {}
    }
    end(&memory, workers)
}

fn end(memory: &Memory, workers: Vec<Worker>) -> End {
    let mut exchange = memory.join();
    let jobs = [0, 1, 2, 3, 9].map(job);
    let poisoned = exchange.poisoned().unwrap();
    let results = jobs.iter().map(Job::id).map(|id| {
        let result = exchange.result(id).unwrap();
        // A lease that ends early five times looks like poison; whoever submitted it may do it itself.
        assert_eq!(result.is_none(), poisoned.contains(&id));
        let job = jobs.iter().find(|job| job.id() == id).unwrap();
        let outcome = Ok(job.inputs.concat());
        (id, result.unwrap_or(JobResult { job: id, outcome }))
    });
    let results = results.collect();
    let findings = exchange.keys().unwrap().into_iter().map(|key| {
        let value = exchange.get(&key).unwrap().value.unwrap();
        (key, value)
    });
    let findings = findings.collect();
    let mut ends = workers.into_iter().map(|w| (w.merged, w.corpus));
    let (merged, corpus) = ends.next().unwrap();
    for (other_merged, other_corpus) in ends {
        assert_eq!(other_merged, merged);
        assert_eq!(other_corpus, corpus);
    }
    End {
        merged,
        corpus,
        results,
        findings,
    }
}

#[test]
fn every_schedule_ends_the_same() {
    let expected = play(Faults::NONE);
    assert_eq!(expected.corpus.len(), 78);
    assert_eq!(expected.results.len(), 5);
    assert_eq!(expected.findings.len(), 2);
    for seed in 0..4_000 {
        let mut random = Random::new(seed);
        let faults = Faults {
            seed,
            delay_ms: random.below(300),
            duplicate: random.below(500) as u32,
            unanswered: random.below(300) as u32,
            away: random.below(300) as u32,
            early: random.below(200) as u32,
        };
        assert_eq!(play(faults), expected, "{faults:?}");
    }
}
