//! The shared folder: offers of 1 KiB entries, a late joiner, memory; against plain files with the same bytes.
//!
//! ```text
//! cargo bench -p sandglass-exchange --bench exchange
//! ```
//!
//! The controls, in the same run: the same encoded bytes appended to a file with one `write` each, the
//! file read at once and hashed as the exchange hashes (twice, once for the frame, once for the name),
//! and the bytes of the entries themselves for memory. Seconds are medians of the rounds.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use sandglass_exchange::conformance::ABLE;
use sandglass_exchange::random::Random;
use sandglass_exchange::{
    Coverage, Cursor, Entry, EntryId, Exchange, Folder, Job, JobKind, JobResult, Key, Revision,
    WorkerId, encode,
};

struct Size {
    entries: usize,
    rounds: usize,
    others: usize,
}

fn main() {
    let size = match std::env::args().any(|argument| argument == "--bench") {
        true => Size {
            entries: 20_000,
            rounds: 7,
            others: 63,
        },
        // Under `cargo test` it only has to run.
        false => Size {
            entries: 200,
            rounds: 1,
            others: 3,
        },
    };
    let entries: Vec<Entry> = (0..size.entries as u64).map(entry).collect();
    let bytes: usize = entries.iter().map(|e| encode(e).len()).sum();
    let mut sum = blake3::Hasher::new();
    for entry in &entries {
        sum.update(&entry.id().0);
    }
    println!(
        "exchange: {} entries of {} bytes encoded, {} rounds, work {}",
        entries.len(),
        bytes / entries.len(),
        size.rounds,
        &sum.finalize().to_hex()[..16]
    );
    println!("{:44} {:>10} {:>12}", "", "us each", "each second");
    // First, while nothing that was freed can be used again.
    memory(&size, &entries);
    throughput(&size, &entries);
    jobs_and_values(&size);
}

/// 1 KiB of input and a claim of 40 edges.
fn entry(n: u64) -> Entry {
    let mut random = Random::new(n);
    Entry {
        input: (0..1024).map(|_| random.word() as u8).collect(),
        choices: None,
        claim: Some(Coverage {
            module: [1; 32],
            edges: (0..40)
                .map(|at| (at * 25 + random.below(25) as u32, 1))
                .collect(),
            fuel: random.below(1 << 20),
            valid: true,
        }),
        worker: worker(0),
    }
}

fn worker(n: usize) -> WorkerId {
    WorkerId::new(format!("worker-{n}")).expect("a name")
}

fn join(path: &Path, n: usize) -> Folder {
    Folder::join(path, &worker(n)).expect("joins")
}

fn throughput(size: &Size, entries: &[Entry]) {
    let mut times: [Vec<Duration>; 8] = Default::default();
    for _ in 0..size.rounds {
        let folder = tempfile::tempdir().expect("a folder");
        let crowd = tempfile::tempdir().expect("a folder");
        let plain = folder.path().join("plain");
        let _others: Vec<Folder> = (1..=size.others).map(|n| join(crowd.path(), n)).collect();
        times[0].push(timed(|| append(&plain, entries)));
        let mut first = join(folder.path(), 0);
        times[1].push(timed(|| offer(&mut first, entries)));
        let mut one_of_many = join(crowd.path(), 0);
        times[2].push(timed(|| offer(&mut one_of_many, entries)));
        times[3].push(timed(|| offer(&mut first, entries)));
        times[4].push(timed(|| read(&plain)));
        let mut late = join(folder.path(), 99);
        times[5].push(timed(|| replay(&mut late, entries.len())));
        times[6].push(timed(|| {
            drop(black_box(entries.iter().map(encode).collect::<Vec<_>>()))
        }));
        let encoded: Vec<Vec<u8>> = entries.iter().map(encode).collect();
        times[7].push(timed(|| {
            for bytes in &encoded {
                black_box(sandglass_exchange::decode::<Entry>(bytes).expect("decodes"));
            }
        }));
    }
    let lines = [
        "control: append the same bytes".to_owned(),
        "offer, alone".to_owned(),
        format!("offer, beside {} other shards", size.others),
        "offer of what is known".to_owned(),
        "control: read and hash the same bytes".to_owned(),
        "late joiner, each entry".to_owned(),
        "encode".to_owned(),
        "decode".to_owned(),
    ];
    for (name, times) in lines.iter().zip(&mut times) {
        line(name, times, entries.len());
    }
}

fn append(path: &Path, entries: &[Entry]) {
    let mut file = File::create(path).expect("a file");
    for entry in entries {
        file.write_all(&encode(entry)).expect("written");
    }
}

fn offer(folder: &mut Folder, entries: &[Entry]) {
    for entry in entries {
        folder.offer(entry).expect("offered");
    }
}

fn read(path: &Path) {
    let mut bytes = Vec::new();
    let mut file = File::open(path).expect("a file");
    file.read_to_end(&mut bytes).expect("read");
    for entry in bytes.chunks(1200) {
        black_box((
            blake3::hash(entry),
            blake3::hash(&entry[..entry.len().min(1024)]),
        ));
    }
}

fn replay(folder: &mut Folder, expected: usize) {
    let mut cursor = Cursor::default();
    let mut count = 0;
    loop {
        let entries = folder.tail(&mut cursor, 1_000).expect("read");
        if entries.is_empty() {
            break;
        }
        count += entries.len();
    }
    assert_eq!(count, expected);
}

fn jobs_and_values(size: &Size) {
    let mut times: [Vec<Duration>; 5] = Default::default();
    let count = size.entries / 40;
    for _ in 0..size.rounds {
        let folder = tempfile::tempdir().expect("a folder");
        let mut exchange = join(folder.path(), 0);
        let jobs: Vec<Job> = (0..count).map(job).collect();
        times[0].push(timed(|| rename(folder.path(), count)));
        times[1].push(timed(|| {
            for job in &jobs {
                exchange.submit(job).expect("submitted");
            }
        }));
        times[2].push(timed(|| work(&mut exchange)));
        let key = Key::new("value").expect("a key");
        let mut revision = Revision(0);
        times[3].push(timed(|| {
            for _ in 0..count {
                let put = exchange.put_if(&key, revision, &[7; 1024]);
                revision = put.expect("put").expect("nobody else does");
            }
        }));
        let look = "an empty tail beside all shards";
        let mut cursor = Cursor::default();
        times[4].push(timed(|| {
            for _ in 0..count {
                assert!(exchange.tail(&mut cursor, 9).expect(look).is_empty());
            }
        }));
    }
    let lines = [
        "control: write 1 KiB and rename",
        "submit",
        "claim and finish, of so many",
        "put a value of 1 KiB",
        "empty tail, one shard",
    ];
    for (name, times) in lines.iter().zip(&mut times) {
        line(name, times, count);
    }
}

fn rename(folder: &Path, count: usize) {
    for n in 0..count {
        let new = folder.join("new");
        fs::write(&new, [7; 1024]).expect("written");
        fs::rename(&new, folder.join(format!("file-{n}"))).expect("renamed");
    }
}

fn work(exchange: &mut Folder) {
    while let Some(claim) = exchange
        .claim(&ABLE, Duration::from_secs(60))
        .expect("asked")
    {
        let result = JobResult {
            job: claim.id,
            outcome: Ok(vec![1; 64]),
        };
        exchange.finish(&claim, &result).expect("finished");
    }
}

fn job(n: usize) -> Job {
    Job {
        kind: JobKind::Replay,
        module: [1; 32],
        inputs: vec![vec![n as u8; 1024]],
        settings: vec![format!("number={n}")],
    }
}

/// What a worker keeps for each entry that it has offered or seen, by the process's own resident set.
fn memory(size: &Size, entries: &[Entry]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut exchange = join(folder.path(), 0);
    let before = resident_kib();
    offer(&mut exchange, entries);
    if let (Some(before), Some(after)) = (before, resident_kib()) {
        let each = (after.saturating_sub(before) * 1024) as f64 / size.entries as f64;
        println!("{:44} {each:10.0} bytes", "memory for each entry");
        println!(
            "{:44} {:10} bytes",
            "control: its name",
            size_of::<EntryId>()
        );
    }
}

fn resident_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn timed(work: impl FnOnce()) -> Duration {
    let since = Instant::now();
    work();
    since.elapsed()
}

fn line(name: &str, times: &mut [Duration], count: usize) {
    times.sort_unstable();
    let (least, most) = (times[0], times[times.len() - 1]);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    let median = times[times.len() / 2];
    println!(
        "{name:44} {:10.2} {:12.0}   ({:.2} to {:.2})",
        each(median),
        count as f64 / median.as_secs_f64(),
        each(least),
        each(most)
    );
}
