//! Real processes on a shared folder, killed, stopped, starved of disk: what was acknowledged is there.
//!
//! The program of the tests is the workers' too: it starts itself with a role in its environment, and
//! `worker` is then the one test that runs. A worker says on its output what was acknowledged to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use sandglass_exchange::conformance::{ABLE, entry, job, result_of};
use sandglass_exchange::exchange::DELIVERIES_MOST;
use sandglass_exchange::merge::{by_size, put_least};
use sandglass_exchange::random::Random;
use sandglass_exchange::{
    Cursor, Entry, EntryId, Error, Exchange, Folder, Key, Offered, Revision, WorkerId,
};

const LONG: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(120);
const JOBS: u32 = 60;
const ENTRIES: u32 = 1_000;
const WORKERS: u32 = 3;

// Workers.

/// What a worker process does; nothing at all where no role is given.
#[test]
fn worker() {
    let Ok(role) = std::env::var("SANDGLASS_TEST_ROLE") else {
        return;
    };
    let path = PathBuf::from(std::env::var("SANDGLASS_TEST_FOLDER").unwrap());
    let name = std::env::var("SANDGLASS_TEST_WORKER").unwrap();
    let mut folder = join(&path, &name);
    match role.as_str() {
        "campaign" => campaign(&mut folder, name.parse().unwrap(), || ()),
        "held back" => campaign(&mut folder, name.parse().unwrap(), wait),
        "stopped" => stopped(&mut folder),
        "poisoned" => poisoned(&mut folder),
        other => panic!("{other}"),
    }
    std::process::exit(0);
}

fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    // One write: a line is there or not.
    out.write_all(format!("said {what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Waits until the parent lets this worker find one more.
fn wait() {
    std::io::stdin().read_exact(&mut [0]).unwrap();
}

/// Offers all that this worker has, does jobs and tells findings meanwhile, as often as it is started.
fn campaign(folder: &mut Folder, worker: u32, mut before_next: impl FnMut()) {
    say("joined");
    for n in 0..ENTRIES {
        let entry = own_entry(worker, n);
        if folder.offer(&entry).unwrap() == Offered::New {
            say(&entry.id().hex());
            before_next();
        }
        if n.is_multiple_of(20) {
            work(folder, LEASE);
        }
        if n.is_multiple_of(50) {
            let (key, value) = finding(worker, n);
            put_least(folder, &key, &value, by_size).unwrap();
        }
    }
    while work(folder, LEASE) {}
    say("done");
}

fn work(folder: &mut Folder, lease: Duration) -> bool {
    let claim = folder.claim(&ABLE, lease).unwrap();
    if let Some(claim) = &claim {
        folder.finish(claim, &result_of(claim.id)).unwrap();
    }
    claim.is_some()
}

/// Claims a job, is stopped for long, and finishes it.
fn stopped(folder: &mut Folder) {
    let claim = folder.claim(&ABLE, LEASE).unwrap().unwrap();
    say(&claim.id.hex());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    folder.extend(&claim).unwrap();
    folder.finish(&claim, &result_of(claim.id)).unwrap();
    say("finished");
}

/// One job kills every worker that runs it.
fn poisoned(folder: &mut Folder) {
    say("joined");
    loop {
        if let Some(claim) = folder.claim(&ABLE, LEASE).unwrap() {
            if claim.id == job(7).id() {
                say(&claim.deliveries.to_string());
                std::process::abort();
            }
            folder.finish(&claim, &result_of(claim.id)).unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Of different sizes; every eighth is found by all workers.
fn own_entry(worker: u32, n: u32) -> Entry {
    let by = if n.is_multiple_of(8) { 0 } else { worker };
    let mut input = [by, n].map(u32::to_le_bytes).concat();
    input.resize(8 + n as usize * 37 % 3_000, n as u8);
    Entry {
        worker: WorkerId::new(worker.to_string()).unwrap(),
        ..entry(&input)
    }
}

fn finding(worker: u32, n: u32) -> (Key, Vec<u8>) {
    let size = 5 + (n + worker * 31) % 47;
    let key = Key::new(format!("finding-{}", n % 4)).unwrap();
    (key, vec![worker as u8; size as usize])
}

// Their parent.

struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(role: &str, folder: &Path, worker: &str) -> Process {
        let program = Command::new(std::env::current_exe().unwrap());
        Process::start_as(program, role, folder, worker)
    }

    fn start_as(mut program: Command, role: &str, folder: &Path, worker: &str) -> Process {
        let mut child = program
            .args(["--exact", "worker", "--nocapture", "--test-threads=1"])
            .env("SANDGLASS_TEST_ROLE", role)
            .env("SANDGLASS_TEST_FOLDER", folder)
            .env("SANDGLASS_TEST_WORKER", worker)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Process { child, lines }
    }

    /// What it says next; nothing more at its end, and in a line that its death cut.
    fn hear(&mut self) -> Option<String> {
        loop {
            let line = self.lines.next()?.ok()?;
            if let Some((_, said)) = line.split_once("said ") {
                return Some(said.to_owned());
            }
        }
    }

    /// Lets it find so many more.
    fn allow(&mut self, count: usize) {
        let stdin = self.child.stdin.as_mut().unwrap();
        // One that is done already is not there to read it.
        let _read_or_not = stdin.write_all(&vec![0; count]);
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(status.unwrap().success());
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _dead_already = self.child.kill();
        let _dead_already = self.child.wait();
    }
}

fn join(path: &Path, worker: &str) -> Folder {
    Folder::join(path, &WorkerId::new(worker).unwrap()).unwrap()
}

/// Everything that somebody who has just come reads.
fn all(folder: &mut Folder) -> BTreeMap<EntryId, Entry> {
    let mut cursor = Cursor::default();
    let mut all = BTreeMap::new();
    loop {
        let entries = folder.tail(&mut cursor, 500).unwrap();
        if entries.is_empty() {
            return all;
        }
        all.extend(entries.into_iter().map(|e| (e.id(), e)));
    }
}

fn expected_entries() -> BTreeSet<EntryId> {
    let of = |worker| (0..ENTRIES).map(move |n| own_entry(worker, n).id());
    (0..WORKERS).flat_map(of).collect()
}

fn expected_findings() -> BTreeMap<Key, Vec<u8>> {
    let mut least: BTreeMap<Key, Vec<u8>> = BTreeMap::new();
    for (worker, n) in (0..WORKERS).flat_map(|w| (0..ENTRIES).step_by(50).map(move |n| (w, n))) {
        let (key, value) = finding(worker, n);
        let there = least.entry(key).or_insert_with(|| value.clone());
        if by_size(&value, there).is_lt() {
            *there = value;
        }
    }
    least
}

fn hex(ids: impl IntoIterator<Item = EntryId>) -> BTreeSet<String> {
    ids.into_iter().map(|id| id.hex()).collect()
}

fn submit_all(path: &Path) {
    let mut folder = join(path, "asker");
    for n in 0..JOBS {
        folder.submit(&job(n)).unwrap();
    }
}

/// Runs all workers to their end, and compares with what they would have done undisturbed.
fn finish_and_check(path: &Path, acknowledged: &BTreeSet<String>) {
    submit_all(path);
    let start = |worker: u32| Process::start("campaign", path, &worker.to_string());
    let mut processes: Vec<Process> = (0..WORKERS).map(start).collect();
    for process in &mut processes {
        let said: Vec<String> = std::iter::from_fn(|| process.hear()).collect();
        assert_eq!(said.last().map(String::as_str), Some("done"));
        assert!(process.child.wait().unwrap().success());
    }
    let mut reader = join(path, "reader");
    let there = hex(all(&mut reader).into_keys());
    assert!(
        acknowledged.is_subset(&there),
        "an acknowledged entry is lost"
    );
    assert_eq!(there, hex(expected_entries()));
    for (key, value) in expected_findings() {
        assert_eq!(reader.get(&key).unwrap().value, Some(value));
    }
    let since = Instant::now();
    loop {
        work(&mut reader, LEASE);
        let poison = reader.poisoned().unwrap();
        let is_done =
            |n: &u32| reader.result(job(*n).id()).unwrap() == Some(result_of(job(*n).id()));
        let done = (0..JOBS).filter(is_done).count();
        // A job that was killed five times by chance is told, not lost.
        if done + poison.len() == JOBS as usize {
            assert!(
                poison.len() <= 3,
                "{} of {JOBS} jobs were poison",
                poison.len()
            );
            break;
        }
        assert!(since.elapsed() < PATIENCE, "{done} of {JOBS} jobs are done");
    }
}

#[test]
fn workers_killed_200_times_lose_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    submit_all(path);
    let mut reader = join(path, "reader");
    let mut random = Random::new(9);
    let mut acknowledged = BTreeSet::new();
    let start = |worker: u64| Process::start("held back", path, &worker.to_string());
    let mut processes: Vec<Process> = (0..u64::from(WORKERS)).map(start).collect();
    for round in 0..200u32 {
        let worker = random.below(u64::from(WORKERS));
        for process in &mut processes {
            process.allow(2);
        }
        let process = &mut processes[worker as usize];
        // Somewhere between its start and some entries later; it may go on while it is killed.
        let heard = random.below(9) as usize;
        process.allow(heard + 3);
        for _ in 0..heard {
            acknowledged.extend(process.hear());
        }
        process.kill();
        acknowledged.extend(std::iter::from_fn(|| process.hear()));
        acknowledged.retain(|said| said.len() == 64);
        if round.is_multiple_of(20) {
            let there = hex(all(&mut reader).into_keys());
            assert!(acknowledged.is_subset(&there), "lost after {round} kills");
        }
        processes[worker as usize] = start(worker);
    }
    // Every kill came before the end.
    let most = expected_entries().len() - WORKERS as usize * 9;
    let told = acknowledged.len();
    assert!((500..most).contains(&told), "{told} of {most}");
    drop(processes);
    assert_eq!(reader.refused(), 0, "a shard is torn in its middle");
    drop(reader);
    finish_and_check(path, &acknowledged);
    assert_eq!(fs::read_dir(path.join("passing")).unwrap().count(), 0);
}

/// The kernel ends a process that writes past its limit, in the middle of what it writes.
#[test]
fn one_that_dies_while_it_writes_leaves_what_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut reader = join(path, "reader");
    let shard = path.join("shards/0.log");
    let mut acknowledged = BTreeSet::new();
    for half_kibibytes in (40..400).step_by(24) {
        let mut limited = Command::new("sh");
        limited
            .args([
                "-c",
                &format!("ulimit -f {half_kibibytes}; exec \"$0\" \"$@\""),
            ])
            .arg(std::env::current_exe().unwrap());
        let mut process = Process::start_as(limited, "campaign", path, "0");
        acknowledged.extend(std::iter::from_fn(|| process.hear()).filter(|said| said.len() == 64));
        assert!(!process.child.wait().unwrap().success());
        let there = hex(all(&mut reader).into_keys());
        assert_eq!(there, acknowledged);
        // Really torn: what is whole ends before the file does.
        let bytes = fs::metadata(&shard).unwrap().len();
        drop(join(path, "0"));
        assert!(fs::metadata(&shard).unwrap().len() < bytes);
    }
    assert_eq!(reader.refused(), 0);
    drop(reader);
    finish_and_check(path, &acknowledged);
}

/// Bytes of all files that mean something.
fn state(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut state = BTreeMap::new();
    for name in ["shards", "jobs", "leases", "results", "poison", "values"] {
        for file in fs::read_dir(path.join(name)).unwrap() {
            let file = file.unwrap().path();
            state.insert(file.clone(), fs::read(file).unwrap());
        }
    }
    state
}

#[test]
fn one_that_was_stopped_past_its_lease_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = join(folder.path(), "other");
    other.submit(&job(1)).unwrap();
    let mut process = Process::start("stopped", folder.path(), "stopped");
    assert_eq!(process.hear(), Some(job(1).id().hex()));
    process.signal("-STOP");
    let since = Instant::now();
    let claim = loop {
        if let Some(claim) = other.claim(&ABLE, LONG).unwrap() {
            break claim;
        }
        assert!(since.elapsed() < PATIENCE, "the lease does not end");
        std::thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(claim.deliveries, 2);
    // No sooner than a lease after we saw it first.
    assert!(since.elapsed() >= LEASE);
    while since.elapsed() < 3 * LEASE {
        other.extend(&claim).unwrap();
    }
    other.finish(&claim, &result_of(claim.id)).unwrap();
    let before = state(folder.path());
    process.signal("-CONT");
    process
        .child
        .stdin
        .take()
        .unwrap()
        .write_all(b"\n")
        .unwrap();
    assert_eq!(process.hear().as_deref(), Some("finished"));
    assert!(process.child.wait().unwrap().success());
    assert_eq!(state(folder.path()), before);
}

#[test]
fn a_job_that_kills_workers_is_left_alone_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = join(folder.path(), "other");
    for n in 0..20 {
        other.submit(&job(n)).unwrap();
    }
    for delivery in 1..=DELIVERIES_MOST {
        let mut process = Process::start("poisoned", folder.path(), "poisoned");
        assert_eq!(process.hear().as_deref(), Some("joined"));
        assert_eq!(process.hear(), Some(delivery.to_string()));
        assert!(!process.child.wait().unwrap().success());
    }
    let since = Instant::now();
    while other.poisoned().unwrap() != [job(7).id()] {
        assert!(since.elapsed() < PATIENCE, "not poisoned");
    }
    // Nobody gets it now, and the others get done.
    while work(&mut other, LONG) {}
    for n in 0..20 {
        let result = other.result(job(n).id()).unwrap();
        assert_eq!(result.is_some(), n != 7);
    }
}

#[test]
fn damaged_shards_are_made_whole_by_their_owners() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    submit_all(path);
    let mut reader = join(path, "reader");
    for worker in 0..WORKERS {
        let mut process = Process::start("campaign", path, &worker.to_string());
        for _ in 0..200 {
            process.hear();
        }
        process.kill();
    }
    let shard = |worker: u32| path.join(format!("shards/{worker}.log"));
    let mut bytes = fs::read(shard(0)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(shard(0), bytes).unwrap();
    let half = fs::metadata(shard(1)).unwrap().len() / 2;
    let cut = OpenOptions::new().write(true).open(shard(1)).unwrap();
    cut.set_len(half).unwrap();
    fs::write(shard(2), b"").unwrap();
    assert!(all(&mut reader).len() > 200);
    assert_eq!(reader.refused(), 1);
    drop(reader);
    finish_and_check(path, &BTreeSet::new());
}

/// A file system of some megabytes; `None` where it cannot be mounted.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn a_full_disk_loses_nothing_and_is_gone_on_from() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: a full disk needs `mount -t tmpfs`, which root may do");
        return;
    };
    let path = disk.0.path();
    let mut a = join(path, "a");
    let key = Key::new("k").unwrap();
    let revision = a.put_if(&key, Revision(0), b"before").unwrap().unwrap();
    a.submit(&job(1)).unwrap();
    let claim = a.claim(&ABLE, LONG).unwrap().unwrap();
    fs::write(path.join("ballast"), vec![1; 1 << 20]).unwrap();
    let big = |n: u32| entry(&n.to_le_bytes().repeat(1_000));
    let mut acknowledged = BTreeSet::new();
    let refused = (0..10_000).find(|n| match a.offer(&big(*n)) {
        Ok(_) => !acknowledged.insert(big(*n).id()),
        Err(Error::Failed(_)) => true,
        Err(other) => panic!("{other}"),
    });
    let refused = refused.expect("the disk is full");
    assert!(refused > 100);
    // To the last byte.
    let _full_now = fs::write(path.join("more"), vec![1; 1 << 16]);
    let large = vec![7; 1 << 13];
    let put = a.put_if(&key, revision, &large);
    assert!(matches!(put, Err(Error::Failed(_))), "{put:?}");
    let result = a.finish(&claim, &result_of(claim.id));
    assert!(matches!(result, Err(Error::Failed(_))), "{result:?}");
    assert_eq!(a.get(&key).unwrap().value.as_deref(), Some(&b"before"[..]));
    for _ in 0..3 {
        assert!(a.offer(&big(refused)).is_err());
    }
    let there: BTreeSet<EntryId> = all(&mut a).into_keys().collect();
    assert_eq!(there, acknowledged);

    fs::remove_file(path.join("ballast")).unwrap();
    assert_eq!(a.offer(&big(refused)).unwrap(), Offered::New);
    a.put_if(&key, revision, &large).unwrap().unwrap();
    a.finish(&claim, &result_of(claim.id)).unwrap();
    assert!(a.result(claim.id).unwrap().is_some());
    acknowledged.insert(big(refused).id());
    let mut b = join(path, "b");
    let there: BTreeSet<EntryId> = all(&mut b).into_keys().collect();
    assert_eq!(there, acknowledged);
    // Nothing half written lies between.
    assert_eq!(b.refused(), 0);
    assert_eq!(fs::read_dir(path.join("passing")).unwrap().count(), 0);
}
