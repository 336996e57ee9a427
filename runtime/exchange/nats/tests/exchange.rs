//! What every binding does, and what is this one's own: large records, a server that forgets.

#[path = "support/mod.rs"]
mod support;
#[path = "support/world.rs"]
mod world;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sandglass_exchange::conformance::ABLE;
use sandglass_exchange::{
    Cursor, Entry, Error, Exchange, Job, JobKind, JobResult, Key, Offered, Revision, conformance,
};
use sandglass_nats::{Address, Nats};
use world::{World, all, is_there, job_for, retry, until};

#[test]
fn it_does_what_every_binding_does() {
    if !is_there() {
        return;
    }
    let world = World::new();
    conformance::check(&mut |_| Box::new(world.join("test")));
}

#[test]
fn campaigns_on_one_server_do_not_meet() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let (mut one, mut other) = (world.join("one"), world.join("one-more"));
    retry(|| one.offer(&support::entry(1, 1, "a")));
    assert!(all(&mut other).is_empty());
    assert_eq!(all(&mut one).len(), 1);
}

/// A server (2.9) that several ask at once for the same new stream refuses some of them, and answers them late.
#[test]
fn those_that_begin_at_once_all_join_at_once() {
    if !is_there() {
        return;
    }
    const AT_ONCE: usize = 4;
    let world = World::new();
    for campaign in 0..20 {
        let url = world.url_directly(&format!("c{campaign}"));
        let address = Address::parse(&url).expect("an address");
        let mut all: Vec<Nats> = (0..AT_ONCE)
            .map(|_| Nats::open(&address, world::SETTINGS).expect("a client"))
            .collect();
        // Below the deadline, after which an attempt is given up and the next one succeeds.
        let soon = world::SETTINGS.deadline / 2;
        for nats in &mut all {
            nats.wait(soon).expect("a server");
        }
    }
}

#[test]
fn large_records_pass() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let (mut a, mut b) = (world.join("test"), world.join("test"));
    let mut entry = support::entry(1, 99, "a");
    entry.choices = Some("sandglass choices 1\n".repeat(200_000));
    assert_eq!(retry(|| a.offer(&entry)), Offered::New);
    assert_eq!(retry(|| b.offer(&entry)), Offered::Known);
    assert_eq!(all(&mut b), [entry.clone()]);
    let job = Job {
        kind: JobKind::Distil,
        module: [1; 32],
        inputs: (0..12).map(|n| vec![n; 1 << 20]).collect(),
        settings: vec![],
    };
    assert_eq!(retry(|| a.submit(&job)), Offered::New);
    let claim = job_for(&mut b, &ABLE, Duration::from_secs(60));
    assert_eq!(claim.job, job);
    let result = JobResult {
        job: claim.id,
        outcome: Ok(vec![7; 12 << 20]),
    };
    retry(|| b.finish(&claim, &result));
    assert_eq!(retry(|| a.result(claim.id)), Some(result));
    let (key, value) = (Key("k".into()), vec![5; 8 << 20]);
    let put = retry(|| a.put_if(&key, Revision(0), &value)).expect("nothing was there");
    let found = retry(|| b.get(&key));
    assert_eq!((found.revision, found.value), (put, Some(value)));
    assert_eq!(a.refused() + b.refused(), 0);
}

#[test]
fn of_many_at_once_one_writes() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let key = Key("first".into());
    let mut clients: Vec<Nats> = (0..8).map(|_| world.join("test")).collect();
    let mut before = Revision(0);
    for _ in 0..3 {
        let winners: usize = std::thread::scope(|scope| {
            let put = |client: &mut Nats| {
                usize::from(retry(|| client.put_if(&key, before, b"x")).is_ok())
            };
            let tries: Vec<_> = clients
                .iter_mut()
                .map(|client| scope.spawn(move || put(client)))
                .collect();
            tries.into_iter().map(|t| t.join().expect("no panic")).sum()
        });
        assert_eq!(winners, 1);
        before = retry(|| clients[0].get(&key)).revision;
    }
}

#[test]
fn a_server_that_forgot_is_told_apart() {
    if !is_there() {
        return;
    }
    let mut world = World::new();
    let mut client = world.join("test");
    let entries: Vec<Entry> = (0..5).map(|n| support::entry(1, n, "a")).collect();
    for entry in &entries {
        retry(|| client.offer(entry));
    }
    let mut cursor = Cursor::default();
    assert_eq!(retry(|| client.tail(&mut cursor, 3)).len(), 3);
    let key = Key("k".into());
    let old = retry(|| client.put_if(&key, Revision(0), b"old")).expect("nothing was there");
    world.kill();
    std::fs::remove_dir_all(&world.store).expect("a store");
    world.start();
    // Another client is quicker: as many messages as before, the third of them the same as then, and a
    // value under the same number.
    let before = world.proxy.connections.load(Ordering::Relaxed);
    let mut other = world.join("test");
    for n in [10, 11, 2, 12, 13] {
        retry(|| other.offer(&support::entry(1, n, "b")));
    }
    retry(|| other.put_if(&key, Revision(0), b"new")).expect("nothing was there");
    // Also when the first that it hears is that all is well again.
    until("both are connected", || {
        world.proxy.connections.load(Ordering::Relaxed) >= before + 2
    });
    std::thread::sleep(Duration::from_millis(300));
    let told = client.tail(&mut cursor, 9);
    assert!(
        matches!(told, Err(Error::Away(_))),
        "that it was away is told once"
    );
    let anew: Vec<Entry> = retry(|| client.tail(&mut cursor, 9));
    assert_eq!(anew.len(), 5, "read from the beginning");
    let there = retry(|| client.put_if(&key, old, b"mine")).expect_err("it was another stream's");
    assert_eq!(there.value.as_deref(), Some(&b"new"[..]));
}

#[test]
fn a_cursor_of_an_empty_stream_outlives_its_server() {
    if !is_there() {
        return;
    }
    let mut world = World::new();
    let mut client = world.join("test");
    let mut cursor = Cursor::default();
    assert!(retry(|| client.tail(&mut cursor, 9)).is_empty());
    world.kill();
    world.start();
    assert!(retry(|| client.tail(&mut cursor, 9)).is_empty());
    retry(|| client.offer(&support::entry(1, 1, "a")));
    assert_eq!(retry(|| client.tail(&mut cursor, 9)).len(), 1);
}

/// As after a power cut: the store is as it was some messages ago, and has grown a new end since.
#[test]
fn a_server_that_lost_its_end_is_read_again() {
    if !is_there() {
        return;
    }
    let mut world = World::new();
    let mut client = world.join("test");
    let offer = |client: &mut Nats, n| retry(|| client.offer(&support::entry(1, n, "a")));
    for n in 0..3 {
        offer(&mut client, n);
    }
    world.kill();
    let old = world.folder.path().join("old");
    copy(&world.store, &old);
    world.start();
    for n in 3..6 {
        offer(&mut client, n);
    }
    let mut cursor = Cursor::default();
    assert_eq!(retry(|| client.tail(&mut cursor, 9)).len(), 6);
    world.kill();
    std::fs::remove_dir_all(&world.store).expect("a store");
    copy(&old, &world.store);
    world.start();
    let mut other = world.join("test");
    for n in 10..14 {
        offer(&mut other, n);
    }
    let anew = retry(|| client.tail(&mut cursor, 9));
    assert_eq!(anew.len(), 7, "read from the beginning");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let status = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(status.expect("cp").success());
}

#[test]
fn while_nobody_is_there_it_says_so_at_once() {
    let world = World::empty();
    let address = Address::parse(&world.url("test")).expect("an address");
    let mut nats = Nats::open(&address, world::SETTINGS).expect("a client");
    let (mut slowest, mut calls) = (Duration::ZERO, 0);
    let started = Instant::now();
    until("a second of asking", || {
        let began = Instant::now();
        let answer = nats.offer(&support::entry(1, 1, "a"));
        slowest = slowest.max(began.elapsed());
        calls += 1;
        assert!(matches!(answer, Err(Error::Away(_))));
        started.elapsed() > Duration::from_secs(1)
    });
    assert!(calls > 10);
    assert!(slowest < world::SETTINGS.deadline, "{slowest:?}");
}
