//! What the relay costs, beside the folder binding and plain appends in the same run.
//!
//! `cargo bench --bench relay` measures; under `cargo test` everything is small. Prints a checksum of
//! the work: names of the entries read, which all three must agree on.
#![expect(clippy::print_stdout, reason = "its figures are its purpose")]

#[path = "../tests/support/mod.rs"]
mod support;
#[path = "../tests/support/world.rs"]
mod world;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sandglass_exchange::folder::Folder;
use sandglass_exchange::pipe::PipeExchange;
use sandglass_exchange::random::Random;
use sandglass_exchange::{Cursor, Entry, Exchange, WorkerId};
use sandglass_nats::Nats;
use world::{World, resident, retry};

const MIB: f64 = 1048576.0;

fn main() {
    let is_whole = std::env::args().any(|argument| argument == "--bench");
    if !world::is_there() {
        return;
    }
    let (count, rounds) = if is_whole { (20_000, 5) } else { (200, 1) };
    let entries: Vec<Entry> = (0..count).map(entry).collect();
    println!("{count} entries of 1 KiB, {rounds} rounds: median [least … most]");
    let mut sums = vec![
        plain_appends(&entries, rounds),
        folder(&entries, rounds),
        nats(&entries, rounds),
    ];
    sums.dedup();
    assert_eq!(sums.len(), 1, "all three read the same");
    println!("checksum {:016x}", sums[0]);
}

fn entry(number: u64) -> Entry {
    let mut random = Random::new(number);
    let words = (0..128).flat_map(|_| random.word().to_le_bytes());
    Entry {
        input: words.collect(),
        choices: None,
        claim: None,
        worker: WorkerId("bench".into()),
    }
}

fn checksum(entries: &[Entry]) -> u64 {
    let names = entries.iter().map(|entry| entry.id().0);
    let first = |name: [u8; 32]| u64::from_le_bytes(*name.first_chunk().expect("32 bytes"));
    names.map(first).fold(0, u64::wrapping_add)
}

/// The control: no exchange can be quicker than this.
fn plain_appends(entries: &[Entry], rounds: usize) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sum = 0;
    let mut written = Vec::new();
    let mut read = Vec::new();
    for round in 0..rounds {
        let path = folder.path().join(round.to_string());
        let started = Instant::now();
        let mut file = std::fs::File::create(&path).expect("a file");
        for entry in entries {
            support::append(&mut file, entry);
        }
        written.push(rate(entries.len(), started));
        let started = Instant::now();
        let found: Vec<Entry> = support::truth(&path).0.into_values().collect();
        read.push(rate(entries.len(), started));
        sum = checksum(&found);
    }
    tell("plain appends: written", "/s", written);
    tell("plain appends: read", "/s", read);
    sum
}

fn folder(entries: &[Entry], rounds: usize) -> u64 {
    let mut sum = 0;
    let (mut offered, mut known, mut replayed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let folder = tempfile::tempdir().expect("a folder");
        let join = |name: &str| {
            Folder::join(&folder.path().join("x"), &WorkerId(name.into())).expect("a folder")
        };
        let mut a = join("a");
        offered.push(offer(&mut a, entries));
        known.push(offer(&mut a, entries));
        let (rate, found) = replay(&mut join("b"));
        replayed.push(rate);
        sum = found;
    }
    tell("folder: offered, one after the other", "/s", offered);
    tell("folder: offered again", "/s", known);
    tell("folder: read by one who joins late", "/s", replayed);
    sum
}

fn nats(entries: &[Entry], rounds: usize) -> u64 {
    let mut sum = 0;
    let (mut offered, mut known, mut replayed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut four, mut server, mut client) = (Vec::new(), Vec::new(), Vec::new());
    let (mut seen, mut piped) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let world = World::new();
        // Straight to the server: the proxy of the tests is not what is measured.
        let mut a = world.join_directly("test");
        offered.push(offer(&mut a, entries));
        known.push(offer(&mut a, entries));
        let mut b = world.join_directly("test");
        let (rate, found) = replay(&mut b);
        replayed.push(rate);
        sum = found;
        server.push(resident(world.server_pid()) as f64 / MIB);
        let (rate, bytes) = through_the_program(&world, &entries[..entries.len() / 4]);
        piped.push(rate);
        client.push(bytes as f64 / MIB);
        seen.extend(latencies(&mut a, &mut b, entries.len() as u64));
        four.push(four_at_once(&world, entries));
    }
    tell("nats: offered, one after the other", "/s", offered);
    tell("nats: offered again", "/s", known);
    tell("nats: offered by four at once", "/s", four);
    tell("nats: read by one who joins late", "/s", replayed);
    tell(
        "nats: from offer to sight, polled without pause",
        "µs",
        seen,
    );
    tell(
        "nats: offered through the program and its pipe",
        "/s",
        piped,
    );
    tell("nats: memory of the server", "MiB", server);
    tell(
        "nats: memory of the program `sandglass-nats`",
        "MiB",
        client,
    );
    sum
}

fn offer(exchange: &mut dyn Exchange, entries: &[Entry]) -> f64 {
    let started = Instant::now();
    for entry in entries {
        retry(|| exchange.offer(entry));
    }
    rate(entries.len(), started)
}

fn replay(exchange: &mut dyn Exchange) -> (f64, u64) {
    let started = Instant::now();
    let found = world::all(exchange);
    (rate(found.len(), started), checksum(&found))
}

/// As a campaign has it; and the program's resident memory.
fn through_the_program(world: &World, entries: &[Entry]) -> (f64, u64) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sandglass-nats"))
        .arg(world.url_directly("piped"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let (reader, writer) = (child.stdout.take(), child.stdin.take());
    let (reader, writer) = (reader.expect("piped"), writer.expect("piped"));
    let mut exchange = PipeExchange::new(reader, writer, world::PATIENCE).expect("it answers");
    let rate = offer(&mut exchange, entries);
    replay(&mut exchange);
    let bytes = resident(child.id());
    drop(exchange);
    child.wait().expect("ours");
    (rate, bytes)
}

fn four_at_once(world: &World, entries: &[Entry]) -> f64 {
    let mut clients: Vec<_> = (0..4).map(|_| world.join_directly("four")).collect();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for (client, part) in clients.iter_mut().zip(entries.chunks(entries.len() / 4)) {
            scope.spawn(|| offer(client, part));
        }
    });
    rate(entries.len(), started)
}

/// From before an offer until somebody else, who asks all the time, has the entry; in microseconds.
fn latencies(a: &mut Nats, b: &mut Nats, after: u64) -> Vec<f64> {
    let mut cursor = Cursor::default();
    while !retry(|| b.tail(&mut cursor, 4096)).is_empty() {}
    let measure = |number| {
        let entry = entry(after + number);
        std::thread::scope(|scope| {
            let (cursor, b) = (&mut cursor, &mut *b);
            let (tell, asked) = std::sync::mpsc::channel();
            let seen = scope.spawn(move || {
                tell.send(()).expect("heard");
                loop {
                    if !retry(|| b.tail(cursor, 16)).is_empty() {
                        return Instant::now();
                    }
                }
            });
            asked.recv().expect("told");
            std::thread::sleep(Duration::from_millis(1));
            let started = Instant::now();
            retry(|| a.offer(&entry));
            let seen = seen.join().expect("no panic");
            (seen - started).as_secs_f64() * 1e6
        })
    };
    (0..50).map(measure).collect()
}

fn rate(count: usize, started: Instant) -> f64 {
    count as f64 / started.elapsed().as_secs_f64()
}

fn tell(what: &str, unit: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let (least, most) = (values[0], values[values.len() - 1]);
    let median = values[values.len() / 2];
    println!("{what:55} {median:10.0} {unit:3} [{least:.0} … {most:.0}]");
}
