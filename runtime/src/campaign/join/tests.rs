//! Campaigns that meet in memory, in good worlds and in bad ones.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sandglass_engine::{Detail, Exit, Variant, find};
use sandglass_exchange::memory::{Faults, Memory, MemoryExchange};
use sandglass_exchange::{
    Able, Beat, Claim, Current, Cursor, Entry, EntryId, Error, Exchange, Job, JobId, JobResult,
    Key, Offered, Revision, WorkerId,
};
use sandglass_sandbox::Limits;

use super::super::Replayer as _;
use super::super::tests::{Frames, HOW, How, session_among};
use super::link::{Link, Opener, Shared, Standing};
use super::{Join, Joining};
use crate::event::Summary;
use crate::join::{Connection, Prices, draw_worker, finding};
use crate::store::finding::{FindingFiles, FindingRecord};
use crate::store::format;

/// Memory costs nothing to speak to.
const FREE: Prices = Prices {
    operation_ns: 0,
    entry_ns: 0,
};

/// Joins whatever world is the present one, under a new name.
fn join(world: &Arc<Mutex<Memory>>, root: &Path) -> Join {
    Join::start(joining(world, root)).unwrap()
}

fn joining(world: &Arc<Mutex<Memory>>, root: &Path) -> Joining {
    let world = Arc::clone(world);
    Joining {
        place: "a world in memory".into(),
        open: Box::new(move || {
            let exchange = world.lock().unwrap().join();
            Ok(Connection::of(Box::new(exchange)))
        }),
        prices: FREE,
        me: draw_worker(),
        spec: find("afl").unwrap(),
        module: [7; 32],
        shares: true,
        findings: root.join("findings"),
    }
}

fn world(faults: Faults) -> Arc<Mutex<Memory>> {
    Arc::new(Mutex::new(Memory::new(faults)))
}

fn run(root: &Path, how: How, seed: u64, world: &Arc<Mutex<Memory>>) -> Summary {
    session_among(root, how, seed, Some(join(world, root))).unwrap()
}

/// All entries there.
fn entries(world: &Arc<Mutex<Memory>>) -> Vec<Entry> {
    let (mut exchange, mut cursor) = (world.lock().unwrap().join(), Cursor::default());
    let mut entries = Vec::new();
    loop {
        let some = exchange.tail(&mut cursor, 100).unwrap();
        if some.is_empty() {
            return entries;
        }
        entries.extend(some);
    }
}

fn ids(world: &Arc<Mutex<Memory>>) -> BTreeSet<EntryId> {
    entries(world).iter().map(Entry::id).collect()
}

/// The inputs of a campaign's folder, as entries are named.
fn corpus(root: &Path) -> BTreeSet<EntryId> {
    let files = std::fs::read_dir(root.join("corpus")).unwrap();
    let read = |file: std::fs::DirEntry| std::fs::read(file.path()).unwrap();
    let inputs = files.map(|file| read(file.unwrap()));
    inputs.map(|input| entry(&input).id()).collect()
}

fn entry(input: &[u8]) -> Entry {
    Entry {
        input: input.to_vec(),
        choices: None,
        claim: None,
        worker: WorkerId("w-else".into()),
    }
}

/// Slow enough for others to be met, in any number of executions.
const SLOW: How = How {
    sleep: Duration::from_micros(200),
    execs: u64::MAX,
    time: Some(Duration::from_secs(2)),
    ..HOW
};

#[test]
fn alone_among_others_a_campaign_is_what_it_is_alone() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let alone = session_among(one.path(), HOW, 1, None).unwrap();
    let world = world(Faults::NONE);
    let joined = run(two.path(), HOW, 1, &world);
    assert_eq!(alone.joined, None);
    assert_eq!(alone.state_hash, joined.state_hash);
    assert_eq!(alone.counters, joined.counters);
    let counts = joined.joined.unwrap();
    assert_eq!((counts.imported, counts.refused), (0, 0));
    // Where time is short some are offered before they are trimmed, and once more afterwards.
    assert!(corpus(two.path()).is_subset(&ids(&world)));
    assert_eq!(counts.offered as usize, ids(&world).len());
    // Every claim is of the form that was offered.
    for entry in entries(&world) {
        let claim = entry.claim.unwrap();
        assert_eq!(claim.module, [7; 32]);
        assert_eq!(claim.fuel, 10 + entry.input.len() as u64);
        assert!(!claim.edges.is_empty() || entry.input.is_empty());
    }
}

/// Those that divide the work are counted as they come and go, others are not; and who ends says so.
#[test]
fn those_that_fuzz_divide_the_work() {
    let root = tempfile::tempdir().unwrap();
    let world = world(Faults::NONE);
    let mut join = join(&world, root.path());
    let is_doing = |name: &str, doing: &str| {
        let beat = Beat {
            worker: WorkerId(name.into()),
            doing: doing.into(),
            execs: 0,
            corpus: 0,
            edges: 0,
            findings: 0,
            refused: 0,
        };
        world.lock().unwrap().join().beat(&beat).unwrap();
    };
    let wait_for = |join: &Join, sharers: u32| {
        let late = Instant::now() + Duration::from_secs(120);
        while join.shared.part().campaigns != sharers {
            assert!(Instant::now() < late, "never {sharers} of them");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    is_doing("w-a", "fuzz-0707070707070707");
    is_doing("w-b", "fuzz-0707070707070707");
    is_doing("w-c", "minimise");
    wait_for(&join, 3);
    is_doing("w-b", "ended");
    wait_for(&join, 2);
    join.leave(|| true);
    wait_for(&join, 1);
    let live = world.lock().unwrap().join().live().unwrap();
    let own = live.iter().find(|beat| beat.worker == join.me).unwrap();
    assert_eq!(own.doing, "ended");
}

/// Nobody else does what would be left undone for those that fuzz another target, or do not divide.
#[test]
fn who_fuzzes_something_else_or_does_not_divide_is_not_counted() {
    let root = tempfile::tempdir().unwrap();
    let world = world(Faults::NONE);
    let start = |module, shares| {
        let joining = joining(&world, root.path());
        Join::start(Joining {
            module,
            shares,
            ..joining
        })
        .unwrap()
    };
    let others = [
        start([7; 32], true),
        start([8; 32], true),
        start([8; 32], true),
        start([7; 32], false),
    ];
    let doing = || {
        let live = world.lock().unwrap().join().live().unwrap();
        let mut doing: Vec<String> = live.into_iter().map(|beat| beat.doing).collect();
        doing.sort_unstable();
        doing
    };
    let late = Instant::now() + Duration::from_secs(120);
    while doing().len() < others.len() {
        assert!(Instant::now() < late, "only {:?}", doing());
        std::thread::sleep(Duration::from_millis(5));
    }
    let (seven, eight) = ("fuzz-0707070707070707", "fuzz-0808080808080808");
    assert_eq!(doing(), ["fuzz", seven, eight, eight]);
    // Its first count finds all of them.
    let counts = |join: &Join| loop {
        assert!(Instant::now() < late, "it counts nobody");
        match join.shared.part().campaigns {
            1 => std::thread::sleep(Duration::from_millis(5)),
            count => return count,
        }
    };
    assert_eq!(counts(&start([7; 32], true)), 2);
    assert_eq!(counts(&start([8; 32], true)), 3);
    assert_eq!(others[3].shared.part().campaigns, 1);
}

/// What a campaign says last is where it ended, not where it was when it looked last.
#[test]
fn the_last_sign_of_life_is_about_the_end() {
    let root = tempfile::tempdir().unwrap();
    let world = world(Faults::NONE);
    let summary = run(root.path(), HOW, 1, &world);
    let live = world.lock().unwrap().join().live().unwrap();
    let [last] = &live[..] else {
        panic!("one of them was there: {live:?}");
    };
    assert_eq!(last.doing, "ended");
    assert_eq!(last.execs, summary.counters.execs);
    assert_eq!(u64::from(last.corpus), summary.counters.corpus);
    assert_eq!(u64::from(last.edges), summary.counters.edges);
}

#[test]
fn a_late_one_takes_what_it_lacks_and_offers_none_of_it() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let world = world(Faults::NONE);
    let early = run(
        one.path(),
        How {
            execs: 60_000,
            ..HOW
        },
        1,
        &world,
    );
    let before = ids(&world);
    let late = run(two.path(), SLOW, 2, &world);
    let counts = late.joined.unwrap();
    assert!(counts.imported > 0, "{counts:?}");
    assert!(late.counters.edges >= early.counters.edges);
    let own = ids(&world).difference(&before).count() as u64;
    assert_eq!(counts.offered, own);
}

/// Nobody there half of the time, answers that do not come: once the world is good again, and a session
/// has ended in it, all that was kept is there.
#[test]
fn what_a_bad_world_lost_is_offered_again() {
    let root = tempfile::tempdir().unwrap();
    let world = world(Faults {
        seed: 5,
        delay_ms: 50,
        duplicate: 100,
        unanswered: 200,
        away: 300,
        early: 0,
    });
    let half = How {
        time: Some(Duration::from_millis(700)),
        ..SLOW
    };
    // The first time may meet nobody: then that is told, and no error.
    let joining = || loop {
        let attempt = std::panic::catch_unwind(|| join(&world, root.path()));
        if let Ok(join) = attempt {
            return join;
        }
    };
    session_among(root.path(), half.clone(), 1, Some(joining())).unwrap();
    world.lock().unwrap().heal();
    world.lock().unwrap().pass(Duration::from_secs(1));
    run(root.path(), half, 1, &world);
    let (there, kept) = (ids(&world), corpus(root.path()));
    assert!(kept.is_subset(&there), "{} of {}", there.len(), kept.len());
}

/// The world ends in the middle, and another begins, empty: everything that anybody kept comes back,
/// although those who found it have gone.
#[test]
fn a_new_world_is_filled_again() {
    // A campaign that leaves just when the world ends waits for nobody: where time is short, it needs more of it.
    let mut tries = [6, 20, 60].into_iter().map(filled_within);
    assert!(tries.any(|is_filled| is_filled));
}

/// Whether a world that ends in the middle of a session of so many seconds is filled again.
fn filled_within(seconds: u64) -> bool {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let world = world(Faults::NONE);
    run(
        one.path(),
        How {
            execs: 60_000,
            ..HOW
        },
        1,
        &world,
    );
    let ended = Arc::clone(&world);
    let end = std::thread::spawn(move || {
        // The second campaign has read all when it has offered something of its own.
        let before = ids(&ended).len();
        let late = std::time::Instant::now() + Duration::from_secs(60);
        while ids(&ended).len() <= before && std::time::Instant::now() < late {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(500));
        let mut world = ended.lock().unwrap();
        let old = std::mem::replace(&mut *world, Memory::new(Faults::NONE));
        old.end();
    });
    let how = How {
        time: Some(Duration::from_secs(seconds)),
        ..SLOW
    };
    let counts = run(two.path(), how, 2, &world).joined.unwrap();
    end.join().unwrap();
    assert!(counts.imported > 0, "{counts:?}");
    let (there, kept) = (ids(&world), corpus(two.path()));
    kept.is_subset(&there)
}

#[test]
fn what_is_of_another_kind_is_refused_and_counted() {
    let root = tempfile::tempdir().unwrap();
    let world = world(Faults::NONE);
    let mut hostile = world.lock().unwrap().join();
    let of_choices = Entry {
        choices: Some("sandglass choices 1\n".into()),
        ..entry(b"x")
    };
    hostile.offer(&of_choices).unwrap();
    hostile.offer(&entry(&[b'x'; 65])).unwrap();
    hostile.offer(&entry(b"hello there")).unwrap();
    let counts = run(root.path(), SLOW, 1, &world).joined.unwrap();
    assert_eq!(counts.refused, 2, "{counts:?}");
}

#[test]
fn findings_are_told_and_the_smallest_stays() {
    let root = tempfile::tempdir().unwrap();
    let world = world(Faults::NONE);
    let summary = run(root.path(), HOW, 1, &world);
    assert!(summary.counters.unique_findings > 0);
    let mut exchange = world.lock().unwrap().join();
    let all = finding::all(&mut exchange).unwrap();
    let folders = std::fs::read_dir(root.path().join("findings"))
        .unwrap()
        .count();
    assert_eq!(all.len(), folders);
}

/// Findings in a campaign's folder.
fn found(root: &Path) -> BTreeSet<String> {
    let folders = std::fs::read_dir(root.join("findings")).unwrap();
    folders
        .map(|folder| folder.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// The finding that an input is, as a campaign writes it.
fn lost(input: &[u8], trial: u64) -> FindingFiles {
    let detail = Detail {
        input: input.to_vec(),
        ..Detail::default()
    };
    let ending = Frames.ending(Variant::Fast, Exit::Hang, &detail).unwrap();
    let record = FindingRecord {
        kind: "hang".into(),
        key: format!("{:016x}", ending.key(Exit::Hang, 7).0),
        trial,
        ..FindingRecord::of(input, Limits::STANDARD)
    };
    FindingFiles {
        record,
        input: input.to_vec(),
        choices: None,
        stack: String::new(),
        target_path: "t.wasm".into(),
    }
}

/// A campaign that was killed, and goes another way when it comes back, has a finding in its folder that it would
/// not come upon again.
#[test]
fn what_was_found_before_a_kill_is_counted_and_told() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (root, findings) = (one.path(), one.path().join("findings"));
    // A world of its own for each session: what it had offered under another name would come back.
    let go = |execs| {
        let world = world(Faults::NONE);
        let how = How {
            sleep: Duration::from_micros(200),
            execs,
            ..HOW
        };
        let summary = run(root, how, 1, &world);
        let log = std::fs::read_to_string(root.join("events.jsonl")).unwrap();
        let told = log.matches("\"event\":\"finding\"").count() as u64;
        assert_eq!(summary.counters.unique_findings, told);
        (summary, log, world)
    };
    go(1_000);
    // One whose trial is still ahead will be come upon again.
    let bug = lost(b"xxg, and more~", 2_500);
    let name = bug.record.folder_name();
    bug.write(root, &findings).unwrap();
    let (ahead, log, _) = go(2_000);
    assert!(!log.contains(&name), "it is found without help");
    let how = How {
        execs: 2_000,
        ..HOW
    };
    let alone = session_among(two.path(), how, 1, None).unwrap();
    assert_eq!(ahead.state_hash, alone.state_hash);
    // Behind us, it is lost.
    for execs in [4_000, 6_000] {
        let (_, log, world) = go(execs);
        assert_eq!(
            log.matches(&format!("findings/{name}\"")).count(),
            1,
            "told once"
        );
        let mut exchange = world.lock().unwrap().join();
        let told: BTreeSet<String> = (finding::all(&mut exchange).unwrap().into_iter())
            .map(|(key, _)| key.0[finding::PREFIX.len()..].to_owned())
            .collect();
        assert!(told.contains(&name), "{told:?}");
        assert_eq!(told, found(root));
    }
}

/// Whoever has offered more than the campaign can take now keeps nobody from hearing that it lives, and of its findings.
#[test]
fn a_backlog_delays_neither_signs_of_life_nor_findings() {
    let root = tempfile::tempdir().unwrap();
    let findings = root.path().join("findings");
    std::fs::create_dir(&findings).unwrap();
    let memory = Memory::new(Faults::NONE);
    let mut looks_on = memory.join();
    for n in 0..3_000u32 {
        looks_on.offer(&entry(&n.to_le_bytes())).unwrap();
    }
    let me = draw_worker();
    let shared = Arc::new(Shared::new(&me, None));
    let gone = || Err(Error::Away("once is enough".into()));
    let place = (
        "a world in memory".to_owned(),
        Box::new(gone) as Opener,
        FREE,
    );
    let link = Link::new(
        &shared,
        me.clone(),
        place,
        ("bytes", [7; 32]),
        findings.clone(),
        true,
    );
    let connection = Connection::of(Box::new(memory.join()));
    let link = std::thread::spawn(move || link.run(Some(connection)));
    // The campaign takes nothing, so there is no room for the rest.
    let mut until = |what: &str, is_so: &mut dyn FnMut(&mut dyn Exchange) -> bool| {
        let late = std::time::Instant::now() + Duration::from_secs(60);
        while !is_so(&mut looks_on) {
            assert!(std::time::Instant::now() < late, "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    until("a sign of life", &mut |exchange| {
        exchange
            .live()
            .unwrap()
            .iter()
            .any(|beat| beat.worker == me)
    });
    until("a backlog", &mut |_| {
        shared.news.push(entry(b"x"), 0).is_err()
    });
    let trap = crate::store::finding::tests::sample();
    let folder = findings.join(trap.record.folder_name());
    trap.write(root.path(), &findings).unwrap();
    assert!(folder.exists());
    shared.findings.store(1, Ordering::Release);
    until("a finding", &mut |exchange| {
        finding::all(exchange).unwrap().len() == 1
    });
    assert_eq!(shared.standing(), Standing::Arriving, "it still reads");
    shared.is_full.store(true, Ordering::Release);
    shared.is_over.store(true, Ordering::Release);
    link.join().unwrap();
}

/// Whoever is there exchanges something else.
#[test]
fn another_kind_of_campaign_is_not_met() {
    let world = world(Faults::NONE);
    let mut other = world.lock().unwrap().join();
    super::meet(&mut other, "choices").unwrap();
    let again = super::meet(&mut other, "bytes");
    assert!(matches!(again, Err(Error::Refused(_))), "{again:?}");
}

/// Somebody who is there, and from some time on takes no offers, however long one waits.
struct Busy {
    inner: MemoryExchange,
    is_busy: Arc<AtomicBool>,
}

impl Exchange for Busy {
    fn offer(&mut self, entry: &Entry) -> Result<Offered, Error> {
        while self.is_busy.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.inner.offer(entry)
    }

    fn tail(&mut self, cursor: &mut Cursor, most: usize) -> Result<Vec<Entry>, Error> {
        self.inner.tail(cursor, most)
    }

    fn submit(&mut self, job: &Job) -> Result<Offered, Error> {
        self.inner.submit(job)
    }

    fn claim(&mut self, able: &Able, lease: Duration) -> Result<Option<Claim>, Error> {
        self.inner.claim(able, lease)
    }

    fn extend(&mut self, claim: &Claim) -> Result<(), Error> {
        self.inner.extend(claim)
    }

    fn finish(&mut self, claim: &Claim, result: &JobResult) -> Result<(), Error> {
        self.inner.finish(claim, result)
    }

    fn result(&mut self, job: JobId) -> Result<Option<JobResult>, Error> {
        self.inner.result(job)
    }

    fn poisoned(&mut self) -> Result<Vec<JobId>, Error> {
        self.inner.poisoned()
    }

    fn get(&mut self, key: &Key) -> Result<Current, Error> {
        self.inner.get(key)
    }

    fn put_if(
        &mut self,
        key: &Key,
        expected: Revision,
        value: &[u8],
    ) -> Result<Result<Revision, Current>, Error> {
        self.inner.put_if(key, expected, value)
    }

    fn keys(&mut self) -> Result<Vec<Key>, Error> {
        self.inner.keys()
    }

    fn beat(&mut self, beat: &Beat) -> Result<(), Error> {
        self.inner.beat(beat)
    }

    fn live(&mut self) -> Result<Vec<Beat>, Error> {
        self.inner.live()
    }

    fn refused(&self) -> u64 {
        self.inner.refused()
    }
}

/// A joined campaign whose exchange is busy from the beginning.
fn join_busy(world: &Arc<Mutex<Memory>>, root: &Path, is_busy: &Arc<AtomicBool>) -> Join {
    let (world, is_busy) = (Arc::clone(world), Arc::clone(is_busy));
    let joining = Joining {
        open: Box::new({
            let world = Arc::clone(&world);
            move || {
                Ok(Connection::of(Box::new(Busy {
                    inner: world.lock().unwrap().join(),
                    is_busy: Arc::clone(&is_busy),
                })))
            }
        }),
        ..joining(&world, root)
    };
    Join::start(joining).unwrap()
}

/// Who is killed while it says farewell has its last checkpoint.
#[test]
fn the_last_checkpoint_comes_before_the_farewell() {
    let root = tempfile::tempdir().unwrap();
    let (world, is_busy) = (world(Faults::NONE), Arc::new(AtomicBool::new(true)));
    let join = join_busy(&world, root.path(), &is_busy);
    let how = How {
        time: Some(Duration::from_millis(500)),
        ..SLOW
    };
    std::thread::scope(|scope| {
        let campaign = scope.spawn(|| session_among(root.path(), how, 1, Some(join)).unwrap());
        // It is over long since, and waits for the exchange.
        std::thread::sleep(Duration::from_secs(6));
        let checkpoint = std::fs::read(root.path().join("checkpoint")).unwrap();
        assert!(!campaign.is_finished(), "there was no farewell");
        is_busy.store(false, Ordering::Release);
        let execs = campaign.join().unwrap().counters.execs;
        let at_end = std::fs::read(root.path().join("checkpoint")).unwrap();
        assert!(checkpoint == at_end, "there was a checkpoint after it");
        let written = format::glance(&checkpoint).unwrap().execs;
        // The time may have ended within a batch, which is repeated.
        let batch = u64::from(find("afl").unwrap().batch);
        assert!(execs - written < batch, "{written} of {execs}");
    });
}

/// Who has no patience for the farewell does not wait for it.
#[test]
fn a_farewell_ends_when_nobody_is_patient() {
    let root = tempfile::tempdir().unwrap();
    let (world, is_busy) = (world(Faults::NONE), Arc::new(AtomicBool::new(true)));
    let mut join = join_busy(&world, root.path(), &is_busy);
    let looks = AtomicU32::new(0);
    join.leave(|| looks.fetch_add(1, Ordering::Relaxed) < 3);
    assert!(looks.into_inner() <= 4, "it was asked again");
    is_busy.store(false, Ordering::Release);
}
