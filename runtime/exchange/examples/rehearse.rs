//! Holds the model of the exchange against real processes on a real folder, which discover by the model's law.
//!
//! ```text
//! cargo run --release -p sandglass-exchange --example rehearse
//! ```
//!
//! It starts 1, 2 and 4 processes for some seconds each, for several seeds. A process executes nothing:
//! every few milliseconds it draws what it would have found. Offers, tails, shards and clocks are real. So
//! this checks what the model says about the exchange (delays, repeated discoveries), not its law of discovery.
#![expect(clippy::print_stdout, reason = "an example prints its table")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sandglass_exchange::conformance::entry;
use sandglass_exchange::random::Random;
use sandglass_exchange::simulate::{Model, Through, law, play};
use sandglass_exchange::{Cursor, Exchange, Folder, WorkerId};

const SECONDS: f64 = 8.0;
const SEEDS: u64 = 15;
const TIMES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
const STEP: Duration = Duration::from_millis(4);

fn model(seed: u64, workers: usize) -> Model {
    Model {
        seed,
        workers,
        through: Through::Folder,
        execs_per_sec: 20_000.0,
        goals: 400,
        roots: 40,
        edges_per_goal: 4.0,
        p_most: 1e-3,
        p_least: 1e-6,
        entry_bytes: 1_300.0,
        message_bytes: 100.0,
        tail_every: 0.5,
        beat_every: 5.0,
        latency: 0.0,
        bandwidth: 1e9,
        take: 0.0,
        hand: 0.0,
        answer: 0.0,
        offer: 20e-6,
        read: 5e-6,
        look: 1.5e-6,
        deaths_per_hour: 0.0,
        away_from: 0.0,
        away_for: 0.0,
        until: SECONDS,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [folder, seed, index] => discover(
            Path::new(folder),
            seed.parse().expect("a seed"),
            index.parse().expect("an index"),
        ),
        _ => compare(),
    }
}

fn compare() {
    println!("goals found by somebody, and repeated discoveries: means of {SEEDS} seeds");
    println!(
        "{:>8} {:>8} {:>9} {:>9}",
        "workers", "seconds", "model", "real"
    );
    for workers in [1, 2, 4] {
        let mut modelled = [0.0; TIMES.len() + 1];
        let mut real = [0.0; TIMES.len() + 1];
        for seed in 0..SEEDS {
            let outcome = play(&model(seed, workers), &TIMES);
            let curve = outcome.curve.iter().map(|n| *n as f64);
            let repeated = outcome.repeated * outcome.found as f64;
            add(&mut modelled, curve.chain([repeated]));
            add(&mut real, rehearse(seed, workers).into_iter());
        }
        for (place, time) in TIMES.iter().enumerate() {
            println!(
                "{workers:8} {time:8.0} {:9.1} {:9.1}",
                modelled[place], real[place]
            );
        }
        let [.., modelled] = modelled;
        let [.., real] = real;
        println!("{workers:8} repeated {modelled:9.1} {real:9.1}");
    }
}

fn add(sums: &mut [f64], more: impl Iterator<Item = f64>) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more / SEEDS as f64;
    }
}

/// Goals found at each time, then discoveries that somebody had made before.
fn rehearse(seed: u64, workers: usize) -> Vec<f64> {
    let folder = tempfile::tempdir().expect("a folder");
    let start = |index: usize| -> Child {
        Command::new(std::env::current_exe().expect("our own path"))
            .arg(folder.path())
            .args([seed.to_string(), index.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts")
    };
    let children: Vec<Child> = (0..workers).map(start).collect();
    let mut first = vec![f64::INFINITY; model(seed, workers).goals];
    let mut discoveries = 0;
    for child in children {
        let said = child.wait_with_output().expect("ends").stdout;
        for line in String::from_utf8(said).expect("text").lines() {
            let (goal, time) = line.split_once(' ').expect("goal and time");
            let goal: usize = goal.parse().expect("a goal");
            first[goal] = first[goal].min(time.parse().expect("a time"));
            discoveries += 1;
        }
    }
    let found = |until: f64| first.iter().filter(|time| **time <= until).count();
    let repeated = discoveries - found(f64::MAX);
    let curve = TIMES.iter().map(|time| found(*time) as f64);
    curve.chain([repeated as f64]).collect()
}

/// What a process does: discovers, offers, reads; tells what it discovered, and when.
fn discover(path: &Path, seed: u64, index: u64) {
    let model = model(seed, 1);
    let law = law(&model, &mut Random::new(seed));
    let mut random = Random::new(seed ^ (index + 1) << 32);
    let worker = WorkerId::new(format!("w{index}")).expect("a name");
    let mut folder = Folder::join(&PathBuf::from(path), &worker).expect("joins");
    let mut known = vec![false; law.len()];
    let mut cursor = Cursor::default();
    let since = Instant::now();
    let every = Duration::from_secs_f64(model.tail_every);
    let mut next_tail = every.mul_f64(random.unit());
    let mut last = 0.0;
    while last < SECONDS {
        std::thread::sleep(STEP);
        let now = since.elapsed().as_secs_f64();
        let execs = (now - last) * model.execs_per_sec;
        last = now;
        for (goal, (p, parent)) in law.iter().enumerate() {
            let can = !known[goal] && parent.is_none_or(|parent| known[parent]);
            if can && random.unit() < 1.0 - (-p * execs).exp() {
                known[goal] = true;
                let input = (goal as u64).to_le_bytes().repeat(128);
                folder.offer(&entry(&input)).expect("offered");
                println!("{goal} {now}");
            }
        }
        if since.elapsed() >= next_tail {
            next_tail += every;
            for entry in folder.tail(&mut cursor, 10_000).expect("read") {
                let goal = entry.input[..8].try_into().expect("8 bytes");
                known[u64::from_le_bytes(goal) as usize] = true;
            }
        }
    }
}
