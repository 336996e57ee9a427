//! A process that plays a campaign: the workload of the fault tests.
//!
//! `play corpus URL WORKER TRUTH KEY=VALUE…` offers a seeded set of entries and whatever it learns, again
//! after each time that nobody is there, and keeps all of it in the file TRUTH; the names of what was
//! acknowledged go to TRUTH.acked. `play work URL WORKER TRUTH KEY=VALUE…` takes jobs. Both tell what they
//! do on stdout and end when stdin does.
#![expect(
    clippy::print_stdout,
    reason = "its whole purpose is to tell a test what it does"
)]

#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sandglass_exchange::{
    Beat, Claim, Cursor, Entry, EntryId, Error, Exchange, Job, JobResult, WorkerId,
};
use sandglass_nats::{Address, Nats, Settings};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || {
        arguments
            .next()
            .expect("play MODE URL WORKER TRUTH KEY=VALUE…")
    };
    let (mode, url, worker, truth) = (next(), next(), next(), next());
    let settings: BTreeMap<String, u64> = arguments
        .map(|word| {
            let (key, value) = word.split_once('=').expect("KEY=VALUE");
            (key.to_owned(), value.parse().expect("a number"))
        })
        .collect();
    let get = |key: &str, otherwise: u64| settings.get(key).copied().unwrap_or(otherwise);
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    std::thread::spawn(move || {
        // Whatever it says, it means that it ends.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        over.store(true, Ordering::Relaxed);
    });
    let address = Address::parse(&url).expect("an address");
    let patience = Settings {
        deadline: Duration::from_millis(get("deadline_ms", 2000)),
        ack_wait: Duration::from_millis(get("ack_wait_ms", 1500)),
    };
    let nats = Nats::open(&address, patience).expect("a client");
    match mode.as_str() {
        "corpus" => {
            let mut player = Player::new(nats, &worker, Path::new(&truth));
            let own = (0..get("entries", 0)).map(|n| support::entry(get("seed", 1), n, &worker));
            let shared = (0..get("shared", 0)).map(|n| support::entry(0, n, &worker));
            player.plan = own.chain(shared).collect();
            player.pace = Duration::from_micros(get("pace_us", 0));
            player.play(&is_over);
        }
        "work" => work(nats, Duration::from_millis(get("lease_ms", 1500)), &is_over),
        other => panic!("mode {other}, expected corpus or work"),
    }
}

struct Player {
    nats: Nats,
    worker: WorkerId,
    /// What it will find, in order: the last first.
    plan: Vec<Entry>,
    pace: Duration,
    truth: BTreeMap<EntryId, Entry>,
    file: File,
    acked: File,
    /// What is to be offered; filled with all of the truth after each time that nobody was there.
    owed: Vec<EntryId>,
    cursor: Cursor,
    told: String,
    aways: u64,
    offered: u64,
    loops: u64,
    slowest: Duration,
}

impl Player {
    fn new(nats: Nats, worker: &str, path: &Path) -> Player {
        let (truth, bytes) = support::truth(path);
        let open = |path: &Path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.expect("a file")
        };
        let file = open(path);
        // What a killed predecessor wrote half.
        file.set_len(bytes).expect("ours");
        let mut acked = PathBuf::from(path).into_os_string();
        acked.push(".acked");
        Player {
            nats,
            worker: WorkerId(worker.to_owned()),
            plan: Vec::new(),
            pace: Duration::ZERO,
            owed: truth.keys().copied().collect(),
            truth,
            file,
            acked: open(Path::new(&acked)),
            cursor: Cursor::default(),
            told: String::new(),
            aways: 0,
            offered: 0,
            loops: 0,
            slowest: Duration::ZERO,
        }
    }

    fn play(&mut self, is_over: &AtomicBool) {
        let mut last_told = Instant::now();
        while !is_over.load(Ordering::Relaxed) {
            self.loops += 1;
            self.find();
            let is_idle = match self.exchange() {
                Ok(is_idle) => is_idle,
                Err(Error::Refused(why)) => panic!("refused: {why}"),
                // Away, or its disk is full: later.
                Err(_) => {
                    self.aways += 1;
                    self.owed = self.truth.keys().copied().collect();
                    true
                }
            };
            if is_idle && self.plan.is_empty() {
                std::thread::sleep(Duration::from_millis(5));
            }
            if last_told.elapsed() > Duration::from_millis(20) {
                last_told = Instant::now();
                self.tell();
            }
        }
        self.told.clear();
        self.tell();
    }

    /// Finds the next entry of the plan: the campaign goes on, whoever is there.
    fn find(&mut self) {
        std::thread::sleep(self.pace);
        if let Some(entry) = self.plan.pop() {
            self.learn(entry, true);
        }
    }

    fn learn(&mut self, entry: Entry, is_ours: bool) {
        let id = entry.id();
        if self.truth.contains_key(&id) {
            return;
        }
        support::append(&mut self.file, &entry);
        self.truth.insert(id, entry);
        if is_ours {
            self.owed.push(id);
        }
    }

    /// Offers a little, reads a little; whether there was nothing to do.
    fn exchange(&mut self) -> Result<bool, Error> {
        for _ in 0..16 {
            let Some(id) = self.owed.last().copied() else {
                break;
            };
            let entry = self.truth[&id].clone();
            self.timed(|nats| nats.offer(&entry))?;
            self.acked.write_all(&id.0).expect("ours");
            self.owed.pop();
            self.offered += 1;
        }
        let mut cursor = self.cursor.clone();
        let entries = self.timed(|nats| nats.tail(&mut cursor, 256))?;
        let is_idle = entries.is_empty() && self.owed.is_empty();
        self.cursor = cursor;
        for entry in entries {
            self.learn(entry, false);
        }
        if self.loops.is_multiple_of(64) {
            let beat = self.beat();
            self.timed(|nats| nats.beat(&beat))?;
        }
        Ok(is_idle)
    }

    fn beat(&self) -> Beat {
        Beat {
            worker: self.worker.clone(),
            doing: "fuzz".into(),
            execs: self.loops,
            corpus: self.truth.len() as u32,
            edges: 0,
            findings: 0,
            refused: self.nats.refused(),
        }
    }

    fn timed<T>(&mut self, what: impl FnOnce(&mut Nats) -> Result<T, Error>) -> Result<T, Error> {
        let started = Instant::now();
        let done = what(&mut self.nats);
        self.slowest = self.slowest.max(started.elapsed());
        done
    }

    fn tell(&mut self) {
        let line = format!(
            "truth={} plan={} owed={} offered={} aways={} slowest_ms={} refused={} loops={}",
            self.truth.len(),
            self.plan.len(),
            self.owed.len(),
            self.offered,
            self.aways,
            self.slowest.as_millis(),
            self.nats.refused(),
            self.loops,
        );
        if line != self.told {
            println!("{line}");
            self.told = line;
        }
    }
}

fn work(mut nats: Nats, lease: Duration, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        match nats.claim(&support::ABLE, lease) {
            Ok(Some(claim)) => one(&mut nats, &claim),
            Ok(None) | Err(Error::Away(_)) => std::thread::sleep(Duration::from_millis(10)),
            Err(other) => panic!("{other}"),
        }
    }
}

fn one(nats: &mut Nats, claim: &Claim) {
    let id = claim.id.hex();
    println!("claimed {id} deliveries={}", claim.deliveries);
    let has = |setting: &str| claim.job.settings.iter().any(|s| s == setting);
    if has("DIE=1") {
        std::process::abort();
    }
    if has("STALL=1") {
        // In slices, so that a stop and its end fall into the middle of it.
        for _ in 0..50 {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let result = JobResult {
        job: claim.id,
        outcome: Ok(answer(&claim.job)),
    };
    loop {
        match nats.finish(claim, &result) {
            Ok(()) => break,
            Err(Error::Away(_)) => std::thread::sleep(Duration::from_millis(10)),
            Err(other) => panic!("{other}"),
        }
    }
    println!("finished {id}");
}

/// A function of the job and nothing else.
fn answer(job: &Job) -> Vec<u8> {
    let mut answer = job.inputs.concat();
    answer.reverse();
    answer
}
