//! Faults, with a real server and real processes: nothing acknowledged is lost, nothing is there twice,
//! and in the end everybody has the union of what anybody found.

#[path = "support/mod.rs"]
mod support;
#[path = "support/world.rs"]
mod world;

use std::collections::BTreeSet;
use std::time::Duration;

use sandglass_exchange::{Entry, EntryId, Exchange, Hash, Job, JobId, JobKind, Offered};
use world::{Mode, Player, World, is_there, job_for, retry, until};

/// What players of `corpus` will have found together.
fn union(seeds: &[u64], entries: u64, shared: u64) -> BTreeSet<EntryId> {
    let own = seeds
        .iter()
        .flat_map(|seed| (0..entries).map(|n| support::entry(*seed, n, "x")));
    let shared = (0..shared).map(|n| support::entry(0, n, "x"));
    own.chain(shared).map(|entry| entry.id()).collect()
}

fn truth(world: &World, worker: &str) -> BTreeSet<EntryId> {
    support::truth(&world.truth(worker)).0.into_keys().collect()
}

/// Names that a worker was told are kept.
fn acknowledged(world: &World, worker: &str) -> BTreeSet<EntryId> {
    let path = world.truth(worker).with_extension("truth.acked");
    let bytes = std::fs::read(path).unwrap_or_default();
    let (names, _) = bytes.as_chunks::<32>();
    names.iter().map(|name: &Hash| EntryId(*name)).collect()
}

fn two(world: &World, entries: u64, shared: u64, pace_us: u64) -> [Player; 2] {
    [("a", 1), ("b", 2)].map(|(worker, seed)| {
        let player = world.player("corpus", "test", worker);
        let player = player.with("seed", seed).with("pace_us", pace_us);
        player
            .with("entries", entries)
            .with("shared", shared)
            .start()
    })
}

/// Waits until all have found and learnt everything; then the oracle.
fn converge(world: &World, players: &mut [Player], all: &BTreeSet<EntryId>) {
    until("everybody has the union, and owes nothing", || {
        let has_all = |p: &Player| p.number("truth") == all.len() as u64 && p.number("owed") == 0;
        // Who has not noticed yet that the server forgot everything believes that it owes nothing.
        players.iter().all(has_all) && &world.ids("test") == all
    });
    for player in players.iter_mut() {
        player.stop();
    }
    assert_eq!(&world.ids("test"), all, "the stream is the union");
    for worker in ["a", "b"] {
        assert_eq!(&truth(world, worker), all, "{worker} has the union");
        assert!(acknowledged(world, worker).is_subset(all));
    }
}

#[test]
fn a_server_that_is_killed_in_a_burst_loses_nothing_acknowledged() {
    if !is_there() {
        return;
    }
    let mut world = World::new();
    let all = union(&[1, 2], 600, 300);
    let mut players = two(&world, 600, 300, 500);
    for _ in 0..2 {
        let before = players[0].number("offered");
        until("a burst", || players[0].number("offered") > before + 50);
        world.kill();
        let (loops, aways) = (players[0].number("loops"), players[0].number("aways"));
        until("it goes on without a server", || {
            players[0].number("loops") > loops + 20 && players[0].number("aways") > aways
        });
        let kept = acknowledged(&world, "a");
        world.start();
        // Before its client can have offered it again: from a client of our own.
        let mut ids = BTreeSet::new();
        until("what was acknowledged is there", || {
            ids = world.ids("test");
            kept.is_subset(&ids)
        });
    }
    converge(&world, &mut players, &all);
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill_without_anybody_offering_it_again() {
    if !is_there() {
        return;
    }
    let mut world = World::new();
    let mut players = two(&world, 400, 100, 200);
    until("a burst", || {
        players.iter().all(|p| p.number("offered") > 100)
    });
    world.kill();
    players.iter_mut().for_each(Player::kill);
    world.start();
    let there = world.ids("test");
    let kept: BTreeSet<_> = &acknowledged(&world, "a") | &acknowledged(&world, "b");
    assert!(kept.len() > 100);
    assert!(kept.is_subset(&there), "something acknowledged is lost");
}

#[test]
fn a_store_that_is_deleted_is_filled_again_from_the_truths() {
    if !is_there() {
        return;
    }
    let mut world = World::new();
    let all = union(&[1, 2], 200, 100);
    let mut players = two(&world, 200, 100, 0);
    until("both have all", || {
        players
            .iter()
            .all(|p| p.number("truth") == all.len() as u64)
    });
    world.kill();
    std::fs::remove_dir_all(&world.store).expect("a store");
    world.start();
    converge(&world, &mut players, &all);
}

#[test]
fn a_server_may_come_late() {
    if !is_there() {
        return;
    }
    let mut world = World::empty();
    let all = union(&[1, 2], 100, 50);
    let mut players = two(&world, 100, 50, 0);
    until("they go on without a server", || {
        players
            .iter()
            .all(|p| p.number("plan") == 0 && p.number("aways") > 20)
    });
    assert!(players.iter().all(|p| p.number("offered") == 0));
    world.start();
    converge(&world, &mut players, &all);
}

#[test]
fn partitions_heal() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let all = union(&[1, 2], 500, 250);
    let mut players = two(&world, 500, 250, 3000);
    let faults = [
        Mode::Late(30),
        Mode::Silent,
        Mode::Pass,
        Mode::HalfClosed,
        Mode::Pass,
        Mode::Broken,
        Mode::Late(5),
        Mode::Silent,
    ];
    for mode in faults {
        world.proxy.set(mode);
        let aways = players[0].number("aways");
        let (loops, offered) = (players[0].number("loops"), players[0].number("offered"));
        until("the fault is felt, and the campaign goes on", || {
            let p = &players[0];
            match mode {
                Mode::Pass | Mode::Late(_) => {
                    p.number("offered") > offered + 5 || p.number("plan") == 0
                }
                _ => p.number("aways") > aways && p.number("loops") > loops + 5,
            }
        });
    }
    world.proxy.set(Mode::Pass);
    converge(&world, &mut players, &all);
    // The deadline of an operation is 2 s; the rest is for a busy machine.
    assert!(players.iter().all(|p| p.number("slowest_ms") < 6000));
}

#[test]
fn what_waits_for_a_silent_server_is_bounded() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut player = world
        .player("corpus", "test", "a")
        .with("entries", 3000)
        .with("pace_us", 300)
        .start();
    until("it offers", || player.number("offered") > 50);
    let before = player.memory();
    world.proxy.set(Mode::Silent);
    until("it has found everything meanwhile", || {
        player.number("plan") == 0
    });
    // Its own truth is in memory: 30 large entries, twice while one is offered. No queue comes on top.
    let own = 30 * (600 << 10) * 2;
    let grown = player.memory().saturating_sub(before);
    assert!(grown < own + (24 << 20), "{grown} bytes more");
    world.proxy.set(Mode::Pass);
    until("all is offered", || {
        player.number("owed") == 0 && player.number("truth") == 3000
    });
    player.stop();
    assert_eq!(world.ids("test"), union(&[1], 3000, 0));
}

#[test]
fn a_worker_killed_again_and_again_loses_nothing_acknowledged() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let all = union(&[1], 400, 0);
    for round in 0..50 {
        let player = world.player("corpus", "test", "a");
        let mut player = player.with("entries", 400).with("pace_us", 500).start();
        let goal = 8 * (round + 1);
        until("some work", || {
            player.number("truth") > goal || player.number("plan") == 0
        });
        player.kill();
        let kept = acknowledged(&world, "a");
        assert!(
            kept.is_subset(&world.ids("test")),
            "something acknowledged is lost"
        );
        assert!(
            kept.is_subset(&truth(&world, "a")),
            "something was offered before it was kept"
        );
    }
    let player = world.player("corpus", "test", "a");
    let mut player = player.with("entries", 400).start();
    until("the rest", || {
        player.number("truth") == 400 && player.number("owed") == 0
    });
    player.stop();
    assert_eq!(world.ids("test"), all);
}

fn job(number: u8, settings: &[&str]) -> Job {
    Job {
        kind: JobKind::Replay,
        module: [9; 32],
        inputs: vec![vec![number, 1, 2, 3]],
        settings: settings.iter().map(|s| s.to_string()).collect(),
    }
}

fn results(exchange: &mut dyn Exchange, jobs: &[Job]) -> Vec<(JobId, Vec<u8>)> {
    let result = |job: &Job| {
        let found = retry(|| exchange.result(job.id()))?;
        Some((job.id(), found.outcome.expect("no job fails")))
    };
    jobs.iter().filter_map(result).collect()
}

#[test]
fn a_job_whose_worker_dies_is_done_by_another() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut client = world.join("test");
    let jobs: Vec<Job> = (0..20).map(|n| job(n, &["STALL=1"])).collect();
    for job in &jobs {
        assert_eq!(retry(|| client.submit(job)), Offered::New);
        assert_eq!(retry(|| client.submit(job)), Offered::Known);
    }
    let mut dying = world.player("work", "test", "a").start();
    until("a claim", || dying.has_said("claimed"));
    dying.kill();
    let lost: Vec<String> = dying.lines();
    let others = ["b", "c", "d", "e"].map(|worker| world.player("work", "test", worker).start());
    until("all is done", || {
        results(&mut client, &jobs).len() == jobs.len()
    });
    let claimed = lost.iter().rfind(|line| line.starts_with("claimed"));
    let name = claimed
        .expect("it claimed")
        .split(' ')
        .nth(1)
        .expect("a name");
    assert!(
        others
            .iter()
            .any(|p| p.has_said(&format!("claimed {name} deliveries=2"))),
        "the dead worker's job was handed on"
    );
    assert_eq!(retry(|| client.submit(&jobs[0])), Offered::Known);
    assert!(retry(|| client.claim(&support::ABLE, Duration::from_secs(1))).is_none());
    assert!(retry(|| client.poisoned()).is_empty());
}

#[test]
fn a_worker_that_sleeps_past_its_lease_changes_nothing() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut client = world.join("test");
    let jobs = [job(1, &["STALL=1"])];
    retry(|| client.submit(&jobs[0]));
    let mut sleeper = world.player("work", "test", "a").start();
    until("a claim", || sleeper.has_said("claimed"));
    sleeper.signal("-STOP");
    let mut other = world.player("work", "test", "b").start();
    until("the other has done it", || other.has_said("finished"));
    let first = results(&mut client, &jobs);
    sleeper.signal("-CONT");
    until("the sleeper has done it too", || {
        sleeper.has_said("finished")
    });
    assert_eq!(results(&mut client, &jobs), first);
    assert_eq!(first.len(), 1);
    assert!(retry(|| client.claim(&support::ABLE, Duration::from_secs(1))).is_none());
    sleeper.stop();
    other.stop();
}

#[test]
fn a_lease_outlasts_the_servers_patience() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut client = world.join("test");
    retry(|| client.submit(&job(1, &[])));
    let lease = 3 * world::SETTINGS.ack_wait;
    let claim = job_for(&mut client, &support::ABLE, lease);
    let mut other = world.join("test");
    let started = std::time::Instant::now();
    let mut again = None;
    until("the lease ends", || {
        again = retry(|| other.claim(&support::ABLE, lease));
        again.is_some()
    });
    assert!(started.elapsed() + world::SETTINGS.ack_wait > lease);
    assert_eq!(again.expect("a claim").deliveries, 2);
    retry(|| client.extend(&claim));
}

#[test]
fn a_job_that_kills_its_workers_is_put_aside() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut client = world.join("test");
    let jobs = [job(1, &["DIE=1"]), job(2, &[])];
    for job in &jobs {
        retry(|| client.submit(job));
    }
    let mut deaths = 0;
    while retry(|| client.poisoned()).is_empty() {
        let mut player = world.player("work", "test", "a").start();
        until("a worker dies, or the job is put aside", || {
            let is_dead = player.child.try_wait().expect("ours").is_some();
            deaths += u32::from(is_dead);
            is_dead || !retry(|| client.poisoned()).is_empty()
        });
    }
    assert_eq!(deaths, sandglass_exchange::exchange::DELIVERIES_MOST);
    assert_eq!(retry(|| client.poisoned()), [jobs[0].id()]);
    assert_eq!(retry(|| client.submit(&jobs[0])), Offered::Known);
    let mut player = world.player("work", "test", "b").start();
    until("the good job is done", || {
        results(&mut client, &jobs).len() == 1
    });
    player.stop();
}

#[test]
fn duplicates_and_orders_change_nothing() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let entries: Vec<Entry> = (0..200).map(|n| support::entry(1, n, "x")).collect();
    let mut random = sandglass_exchange::random::Random::new(7);
    let mut clients = [world.join("test"), world.join("test"), world.join("test")];
    let mut new = 0;
    for _ in 0..3 * entries.len() {
        let entry = &entries[random.below(entries.len() as u64) as usize];
        let client = &mut clients[random.below(3) as usize];
        new += usize::from(retry(|| client.offer(entry)) == Offered::New);
    }
    let ids = world.ids("test");
    assert_eq!(ids.len(), new, "each was new once");
    for client in &mut clients {
        let seen: BTreeSet<EntryId> = world::all(client).iter().map(Entry::id).collect();
        assert_eq!(seen, ids);
    }
}

#[test]
fn a_full_disk_at_the_server_is_told_and_got_over() {
    if !is_there() {
        return;
    }
    let mut world = World::empty();
    let Some(disk) = SmallDisk::new(&world) else {
        world::skip("no small file system could be mounted (needs root)");
        return;
    };
    world.store = disk.folder.join("store");
    world.start();
    let all = union(&[1, 2], 900, 0);
    let mut players = two(&world, 900, 0, 0);
    until("the disk is full", || {
        players.iter().all(|p| p.number("aways") > 20)
    });
    assert!(
        players
            .iter()
            .all(|p| p.number("plan") == 0 || p.number("loops") > 0)
    );
    // An operator makes space, and starts the server anew: 2.9 switches its JetStream off when it is full.
    disk.grow();
    world.kill();
    world.start();
    converge(&world, &mut players, &all);
    drop(world);
}

/// A file system of 8 MiB, gone with this.
struct SmallDisk {
    folder: std::path::PathBuf,
}

impl SmallDisk {
    fn new(world: &World) -> Option<SmallDisk> {
        let folder = world.folder.path().join("disk");
        std::fs::create_dir(&folder).expect("a folder");
        let disk = SmallDisk { folder };
        let is_there = disk.mount(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"]);
        is_there.then_some(disk)
    }

    fn grow(&self) {
        assert!(self.mount(&["-o", "remount,size=256m"]));
    }

    fn mount(&self, arguments: &[&str]) -> bool {
        let mut mount = std::process::Command::new("mount");
        let status = mount.args(arguments).arg(&self.folder).output();
        status.is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server may still have files open.
        let mut umount = std::process::Command::new("umount");
        let _ = umount.arg("-l").arg(&self.folder).output();
    }
}

/// A date that jumps, for a player whose clock is libfaketime's; `None` without it.
fn faked(world: &World, player: world::Builder) -> Option<(world::Builder, std::path::PathBuf)> {
    let library = ["x86_64", "aarch64"]
        .map(|machine| format!("/usr/lib/{machine}-linux-gnu/faketime/libfaketimeMT.so.1"))
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())?;
    let date = world.folder.path().join("date");
    std::fs::write(&date, "+0d\n").expect("a date");
    let mut player = player;
    player
        .command
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", &date)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    Some((player, date))
}

#[test]
fn a_date_that_jumps_changes_nothing() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut client = world.join("test");
    let jobs: Vec<Job> = (0..6).map(|n| job(n, &["STALL=1"])).collect();
    for job in &jobs {
        retry(|| client.submit(job));
    }
    let player = world.player("work", "test", "a").with("lease_ms", 3000);
    let Some((player, date)) = faked(&world, player) else {
        world::skip("no libfaketime; `apt-get install faketime` brings it");
        return;
    };
    let mut player = player.start();
    for (number, jump) in ["+400d", "-400d", "+1h", "-1h"].iter().enumerate() {
        until("a job more", || results(&mut client, &jobs).len() > number);
        std::fs::write(&date, format!("{jump}\n")).expect("a date");
    }
    until("all is done", || {
        results(&mut client, &jobs).len() == jobs.len()
    });
    let lines = player.lines();
    let again = lines.iter().filter(|line| line.contains("deliveries=2"));
    assert_eq!(again.count(), 0, "no lease ended before its time");
    player.stop();
}
