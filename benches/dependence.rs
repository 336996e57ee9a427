//! Dependence: the build that follows the input, against the one that campaigns use.
//!
//! Six programs (and an n-body, heavy in floats, that is not in the mean), then the dataflow programs on their
//! reduced seeds, then four of them on as many rows as fit an input: what monitoring costs on full data, which row selection
//! spares (`sandglass rows` runs all rows in [`Build::Fast`], and only those that it keeps are monitored). Each runs its fixed input in [`Build::Plain`], as the control in [`Build::Fast`], then in
//! [`Build::Dependence`], resets included. Memory is what the system keeps for the instance's memories after the
//! runs, ours with the guest's, over the guest's in the plain build. A run shows nothing new, as nearly all do.
//!
//! `CASE=name` measures one program.

#[allow(dead_code, reason = "here nothing is written to files")]
#[path = "dataflow/large.rs"]
mod large;
#[allow(
    dead_code,
    unused_imports,
    reason = "what campaigns begin with; here one kind of rows is used, and none of its tests"
)]
#[path = "dataflow/programs.rs"]
mod programs;
#[allow(
    dead_code,
    unused_imports,
    reason = "what campaigns begin with; here one kind of rows is used, and none of its tests"
)]
#[path = "dataflow/seeds.rs"]
mod seeds;

use std::time::Instant;

use sandglass_benches::{
    Error, Size, geometric_mean, heading, in_turns, println, programs, sandbox,
};
use sandglass_engine::Interest;
use sandglass_guests::DATAFLOW;
use sandglass_sandbox::{Build, DependenceLimits, Sandbox, on_guest_thread};

/// What is measured together at least: short runs are repeated.
const ROUND_NS: f64 = 1e6;

/// Rows of full data, of all data sets of a program.
const ROWS: u32 = 10_000;

/// What went wrong, in words.
type Result<T> = std::result::Result<T, Error>;

fn main() {
    let size = Size::from_args();
    heading("dependence", size);
    suite(size, programs());
    let only = std::env::var("CASE").ok();
    // P5 in one of its two forms.
    let wanted = DATAFLOW.iter().filter(|program| program.name != "p5s");
    let wanted = wanted.filter(|program| only.as_deref().is_none_or(|only| only == program.name));
    let inputs = wanted.map(|program| {
        let seed = seeds::seed(program.name, seeds::Rows::Reduced);
        (program.name, program.wasm.to_vec(), seed)
    });
    suite(size, inputs.collect::<Vec<_>>());
    println!("{} rows", size.pick(ROWS / 10, ROWS));
    let wanted = DATAFLOW
        .iter()
        .filter(|program| ["p1", "p2", "p3", "p7"].contains(&program.name));
    let wanted = wanted.filter(|program| only.as_deref().is_none_or(|only| only == program.name));
    let inputs = wanted.map(|program| {
        let data = full(program.name, size.pick(ROWS / 10, ROWS));
        (
            program.name,
            program.wasm.to_vec(),
            data.expect("it is one of them"),
        )
    });
    suite(size, inputs.collect::<Vec<_>>());
}

/// Full data as one testcase.
fn full(program: &str, rows: u32) -> Result<Vec<u8>> {
    let (mut text, mut last) = (String::new(), 0);
    large::draw(program, rows, |set, row| {
        if set != std::mem::replace(&mut last, set) {
            text.push('\x1c');
        }
        text += &row;
        text.push('\n');
        Ok(())
    })?;
    Ok(text.into_bytes())
}

/// Programs that one mean is taken of.
fn suite(size: Size, programs: Vec<(&'static str, Vec<u8>, impl AsRef<[u8]> + Sync)>) {
    println!(
        "{:12} {:>10} {:>7} {:>10} {:>7} {:>8}",
        "program", "plain us", "fast", "dependence", "memory", "module"
    );
    let (mut times_all, mut memory_all) = (Vec::new(), Vec::new());
    for (name, wasm, input) in &programs {
        let (times, memory, code, checks) =
            on_guest_thread(|| measured(size, name, wasm, input.as_ref()));
        let (fast, slow) = (times[1] / times[0], times[2] / times[0]);
        println!(
            "{name:12} {:10.1} {fast:7.2} {slow:10.2} {memory:7.2} {code:8.2}  {checks}",
            times[0] / 1e3,
        );
        if *name != "nbody" {
            times_all.push(slow);
            memory_all.push(memory);
        }
    }
    if !times_all.is_empty() {
        println!(
            "{:12} {:>10} {:>7} {:10.2} {:7.2}",
            "geomean",
            "",
            "",
            geometric_mean(&times_all),
            geometric_mean(&memory_all)
        );
    }
}

/// What is known of the input: runs that show something new are rare, and have to say what.
fn knowing(sandbox: &mut Sandbox, input: &[u8]) -> Interest {
    let probes = sandbox.program().probe_map().probes.len() as u32;
    let mut interest = Interest::new(probes, 0);
    let outcome = sandbox.run(input, &interest, true);
    let counts = outcome.detail.expect("asked for").counts;
    interest.all.absorb(&counts);
    interest.valid.absorb(&counts);
    interest
        .findings
        .absorb(outcome.exit, outcome.site, &counts);
    interest
}

/// Nanoseconds of a run in each build, factors of memory and code, and what was done.
fn measured(size: Size, name: &str, wasm: &[u8], input: &[u8]) -> (Vec<f64>, f64, f64, String) {
    let builds = [Build::Plain, Build::Fast, Build::Dependence];
    let mut sandboxes = builds.map(|build| sandbox(wasm, build));
    let fuel = sandboxes[1].replay(input).outcome.fuel;
    let found = sandboxes[2].depend(input, DependenceLimits::STANDARD);
    assert_eq!(found.outcome.fuel, fuel, "{name}: both count alike");
    let mut runs = sandboxes
        .iter_mut()
        .map(|sandbox| {
            let interest = knowing(sandbox, input);
            move || drop(sandbox.run(input, &interest, false))
        })
        .collect::<Vec<_>>();
    let start = Instant::now();
    runs[2]();
    let calls = (ROUND_NS / start.elapsed().as_nanos() as f64).max(1.0) as usize;
    let mut things = runs
        .iter_mut()
        .map(|run| run as &mut dyn FnMut())
        .collect::<Vec<_>>();
    in_turns(1, 1, &mut things);
    let times = in_turns(size.pick(1, 15), calls, &mut things);
    drop(runs);
    let (plain, _) = sandboxes[0].held_bytes();
    let (_, labelled) = sandboxes[2].held_bytes();
    let [plain_code, _, code] = sandboxes
        .each_ref()
        .map(|s| s.program().code_bytes() as f64);
    let checks = format!(
        "{} events, {} repeated, {} dropped, {} sets, {} saturated, fuel {fuel}",
        found.events.len(),
        found.repeated,
        found.dropped,
        found.nodes,
        found.saturated
    );
    (
        times,
        labelled as f64 / plain as f64,
        code / plain_code,
        checks,
    )
}
