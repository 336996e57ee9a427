//! Instrumentation and resets change no answer: every guest, on its seeds and on their mutants,
//! as it is in plain wasmtime and in every build of the sandbox.
//!
//! For each input there must be one exit, one output and one memory afterwards; and in all builds
//! one fuel and the same counts; the build without counters has neither, may end a little later where
//! it runs out of fuel, and has no clock: that is not compared. A sandbox that has run thousands of inputs must answer like a new
//! one. Runs that the sandbox stops (by fuel, by depth) are compared between builds only. A guest
//! that asks for the time, which goes with the fuel, has another memory than its original.
//!
//! `SANDGLASS_EXECS` is how many inputs there are in all, `SANDGLASS_SEED` where the random numbers
//! start, `CASE` a guest to run alone.
#![expect(clippy::print_stdout, reason = "prints its seed and what was compared")]

#[path = "same_answer/original.rs"]
mod original;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sandglass_engine::havoc::{Tables, havoc};
use sandglass_engine::rng::{Rng, derive};
use sandglass_engine::{Exit, Interest};
use sandglass_guests::{BENCH, DEMOS, PLANTED, PLANTED_SEED, SUBJECTS, seeds, subject};
use sandglass_sandbox::{Build, Left, Limits, Options, Program, Replay, Sandbox, on_guest_thread};

use original::{Answer, Original};

/// Inputs in all, unless asked otherwise: a minute, most of it for compiling.
const EXECS: usize = 5_000;
/// Measured programs work for many milliseconds on each input, and need this much fuel.
const BENCH_EXECS_MAX: usize = 4;
const BENCH_FUEL: u64 = 1_000_000_000;
/// Up to this many inputs of a guest all are compared with their memories; of more, every eighth
/// (comparing five memories of 10 MiB takes a thousand times as long as a run).
const WITH_MEMORY: usize = 500;
const WITH_MEMORY_EVERY: usize = 8;
/// Larger modules are left out: code and debug information of most are 1 to 4 MB.
const COMPILED_MAX: usize = 12 << 20;
/// Inputs that a new sandbox repeats, for each guest.
const FRESH: usize = 8;
/// Fuel of a run: mutants that loop cost all of it, five times over.
const FUEL: u64 = 20_000_000;

struct Guest {
    name: String,
    wasm: Vec<u8>,
    seeds: Vec<Vec<u8>>,
    execs_max: usize,
    fuel: u64,
}

/// What a guest's runs were.
#[derive(Default, Debug)]
struct Tally {
    inputs: usize,
    /// Compared with the original, too.
    with_original: usize,
    /// Inputs whose memories were compared.
    with_memory: usize,
    /// Of those, without the original's.
    by_time: usize,
    valid: usize,
    findings: usize,
    /// Runs that needed a new instance.
    renewals: u64,
}

#[test]
fn instrumented_and_restored_guests_answer_as_the_original() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().expect("a number"))
    };
    let execs = number("SANDGLASS_EXECS").map_or(EXECS, |execs| execs as usize);
    let seed = number("SANDGLASS_SEED").unwrap_or(1);
    let guests = guests();
    let each = execs.div_ceil(guests.len());
    println!(
        "SANDGLASS_SEED={seed}, {} guests, up to {each} inputs each",
        guests.len()
    );

    let engine = original::engine();
    let next = AtomicUsize::new(0);
    let total = Mutex::new((Tally::default(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                on_guest_thread(|| {
                    while let Some(guest) = guests.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut tally = Tally::default();
                        let result = check(&engine, guest, each, seed, &mut tally);
                        println!("{}: {tally:?}", guest.name);
                        let mut total = total.lock().expect("nobody panics holding it");
                        total.0.add(&tally);
                        total
                            .1
                            .extend(result.err().map(|what| format!("{}: {what}", guest.name)));
                    }
                });
            });
        }
    });
    let (tally, failures) = total.into_inner().expect("nobody panics holding it");
    println!("in all: {tally:?}");
    assert!(
        failures.is_empty(),
        "SANDGLASS_SEED={seed}\n{}",
        failures.join("\n")
    );
    assert!(
        tally.with_original * 10 > tally.inputs * 8,
        "too few runs could be compared: {tally:?}"
    );
}

/// Largest first, so that both threads end at about the same time.
fn guests() -> Vec<Guest> {
    let mut found = Vec::new();
    let mut add = |name: String, wasm: &[u8], seeds: Vec<Vec<u8>>| {
        let bench = name.starts_with("bench");
        let (execs_max, fuel) = if bench {
            (BENCH_EXECS_MAX, BENCH_FUEL)
        } else {
            (usize::MAX, FUEL)
        };
        found.push(Guest {
            name,
            wasm: wasm.to_vec(),
            seeds,
            execs_max,
            fuel,
        });
    };
    for guest in PLANTED {
        let seeds = vec![PLANTED_SEED.to_vec(), guest.witness.to_vec()];
        add(format!("planted/{}", guest.name), guest.wasm, seeds);
    }
    for demo in DEMOS {
        let bugs = demo.bugs.iter().map(|bug| bug.witness);
        let seeds = demo
            .seeds
            .iter()
            .copied()
            .chain(bugs)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>();
        add(format!("demo/{}", demo.name), demo.wasm, seeds.clone());
        add(format!("demo/{} -O0", demo.name), demo.wasm_o0, seeds);
    }
    for bench in BENCH {
        add(
            format!("bench/{}", bench.name),
            bench.wasm,
            vec![bench.input.to_vec()],
        );
    }
    // Seven over the same crates, most of 4 to 10 MB each: compiling them in every build would take longer than all others together.
    let is_handler = |name: &&&str| name.starts_with("rust-lambda-");
    for name in SUBJECTS.iter().filter(|name| !is_handler(name)) {
        match subject(name) {
            Ok(wasm) if wasm.len() > COMPILED_MAX => {
                println!("left out: {name} takes minutes to compile in every build");
            }
            Ok(wasm) => add(format!("subject/{name}"), &wasm, seeds(name)),
            Err(missing) => println!("left out: {missing}"),
        }
    }
    if let Ok(only) = std::env::var("CASE") {
        found.retain(|guest| guest.name.contains(&only));
        assert!(!found.is_empty(), "no guest `{only}`");
    }
    found.sort_by_key(|guest| std::cmp::Reverse(guest.wasm.len()));
    found
}

fn check(
    engine: &wasmtime::Engine,
    guest: &Guest,
    each: usize,
    seed: u64,
    tally: &mut Tally,
) -> Result<(), String> {
    let longest = guest.seeds.iter().map(Vec::len).max().unwrap_or(0);
    let input_bytes = longest.next_power_of_two().clamp(1 << 12, 1 << 20) as u32;
    let limits = Limits {
        fuel: guest.fuel,
        input_bytes,
        ..Limits::STANDARD
    };
    let options = Options {
        args: vec![],
        ..Options::default()
    };
    let original = Original::new(engine, &guest.wasm, &limits);
    let mut sandboxes = Vec::new();
    for build in Build::ALL {
        let program = Program::build(&guest.wasm, build, &options, None)
            .map_err(|error| error.to_string())?;
        let sandbox =
            Sandbox::new(&Arc::new(program), &limits).map_err(|error| error.to_string())?;
        sandboxes.push(sandbox);
    }
    let tables = Tables::new(&[], input_bytes);
    let (mut work, mut mutant) = (Vec::new(), Vec::new());
    let mut kept = Vec::new();
    let count = each.min(guest.execs_max).max(guest.seeds.len().min(each));
    for n in 0..count {
        let parent = guest
            .seeds
            .get(n % guest.seeds.len().max(1))
            .map_or(&[][..], Vec::as_slice);
        let input = if n < guest.seeds.len() {
            parent
        } else {
            let mut rng = Rng::new(derive(seed, n as u64));
            havoc(parent, &tables, &mut rng, &mut work, &mut mutant);
            &mutant
        };
        let with_memory = count <= WITH_MEMORY || n % WITH_MEMORY_EVERY == 0;
        let fast = one(&original, &mut sandboxes, input, with_memory, tally)
            .map_err(|what| format!("input {input:?}: {what}"))?;
        if n % (count / FRESH).max(1) == 0 {
            kept.push((input.to_vec(), fast));
        }
    }
    tally.renewals = sandboxes[0].renewals();
    restored_is_fresh(&mut sandboxes, &kept, &limits)
}

/// One input everywhere. Returns what the first sandbox said.
fn one(
    original: &Original,
    sandboxes: &mut [Sandbox],
    input: &[u8],
    with_memory: bool,
    tally: &mut Tally,
) -> Result<Replay, String> {
    tally.inputs += 1;
    tally.with_memory += usize::from(with_memory);
    let mut memory = Vec::new();
    let mut keep = |left: &mut Left<'_>| {
        if with_memory {
            memory.extend_from_slice(left.memory());
        }
    };
    let fast = sandboxes[0].replay_and_look(input, &mut keep);
    let exit = fast.outcome.exit;
    tally.valid += usize::from(exit == Exit::Valid);
    tally.findings += usize::from(exit.is_finding());
    let mut asked_for_time = false;
    if !matches!(exit, Exit::Hang | Exit::StackOverflow) {
        let answer = original.run(input, with_memory);
        same_as_original(&answer, &fast, &memory)?;
        tally.with_original += 1;
        asked_for_time = answer.asked_for_time;
        tally.by_time += usize::from(asked_for_time);
    }
    if with_memory && let Some(difference) = sandboxes[0].difference() {
        return Err(difference);
    }
    for (sandbox, build) in sandboxes.iter_mut().zip(Build::ALL).skip(1) {
        let mut differs = None;
        let mut compare = |left: &mut Left<'_>| {
            if with_memory {
                differs = difference(&memory, left.memory());
            }
        };
        let other = sandbox.replay_and_look(input, &mut compare);
        if build == Build::Plain && (exit == Exit::Hang || asked_for_time) {
            continue;
        }
        if let Some(difference) = differs {
            return Err(format!("{build:?}: memory {difference} from Fast's"));
        }
        same_in_builds(build, &fast, &other).map_err(|what| format!("{build:?}: {what}"))?;
        if with_memory && let Some(difference) = sandbox.difference() {
            return Err(format!("{build:?}: {difference}"));
        }
    }
    Ok(fast)
}

fn same_as_original(original: &Answer, found: &Replay, memory: &[u8]) -> Result<(), String> {
    if original.exit != found.outcome.exit {
        return Err(format!(
            "{:?}, but {:?} as it is",
            found.outcome.exit, original.exit
        ));
    }
    if (&original.stdout, &original.stderr) != (&found.stdout, &found.stderr) {
        return Err("its output differs from the original's".into());
    }
    match difference(&original.memory, memory).filter(|_| !original.asked_for_time) {
        Some(difference) => Err(format!("memory {difference} from the original's")),
        None => Ok(()),
    }
}

/// Only the place of a trap may differ: compilers fuse operators.
fn same_in_builds(build: Build, fast: &Replay, other: &Replay) -> Result<(), String> {
    let counts = |replay: &Replay| {
        replay
            .outcome
            .detail
            .as_ref()
            .map(|detail| detail.counts.clone())
    };
    if fast.outcome.exit != other.outcome.exit {
        return Err(format!(
            "{:?}, but {:?} in Fast",
            other.outcome.exit, fast.outcome.exit
        ));
    }
    if build == Build::Plain {
        let counted = counts(other).is_some_and(|counts| !counts.is_empty());
        if other.outcome.fuel != 0 || counted {
            return Err("it counts".into());
        }
    } else if fast.outcome.fuel != other.outcome.fuel {
        return Err(format!(
            "fuel {}, but {} in Fast",
            other.outcome.fuel, fast.outcome.fuel
        ));
    } else if counts(fast) != counts(other) {
        return Err("its counts differ from Fast's".into());
    }
    if (&fast.stdout, &fast.stderr) != (&other.stdout, &other.stderr) {
        return Err("its output differs from Fast's".into());
    }
    Ok(())
}

/// What sandboxes that ran everything answer, against new ones.
fn restored_is_fresh(
    used: &mut [Sandbox],
    kept: &[(Vec<u8>, Replay)],
    limits: &Limits,
) -> Result<(), String> {
    for (sandbox, build) in used.iter_mut().zip(Build::ALL) {
        let interest = Interest::new(sandbox.program().probe_map().probes.len() as u32, 0);
        for (input, before) in kept {
            let restored = sandbox.run(input, &interest, true);
            let mut fresh =
                Sandbox::new(sandbox.program(), limits).map_err(|error| error.to_string())?;
            if fresh.run(input, &interest, true) != restored {
                return Err(format!(
                    "{build:?}: a new sandbox answers otherwise to {input:?}"
                ));
            }
            if build == Build::Fast && restored != before.outcome {
                return Err(format!(
                    "{build:?}: {input:?} is answered otherwise the second time"
                ));
            }
        }
    }
    Ok(())
}

/// The first difference of two memories.
fn difference(expected: &[u8], found: &[u8]) -> Option<String> {
    if expected == found {
        return None;
    }
    let at = expected.iter().zip(found).position(|(a, b)| a != b);
    Some(match at {
        Some(at) => format!(
            "differs at byte {at:#x} ({:#04x}, expected {:#04x})",
            found[at], expected[at]
        ),
        None => format!(
            "of {} bytes differs in size ({} expected)",
            found.len(),
            expected.len()
        ),
    })
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.inputs += other.inputs;
        self.with_original += other.with_original;
        self.with_memory += other.with_memory;
        self.by_time += other.by_time;
        self.valid += other.valid;
        self.findings += other.findings;
        self.renewals += other.renewals;
    }
}
