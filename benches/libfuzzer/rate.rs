//! Rate: one list of inputs, executed over and over in both builds.
//!
//! The list is what a short campaign of each fuzzer kept, mixed; nothing in it is new to either
//! side when time is taken, as in nearly all executions of a campaign.
//!
//! - *libFuzzer*: its own loop with a mutator that answers with the list (`replay.c`): counters
//!   are cleared, features collected and counted, no file is read. Its choice of a parent is in it
//!   too, some tenths of a microsecond, which the subject `empty` shows. (`-runs=N FILE…` would
//!   read each file before each execution and collect nothing.)
//! - *ours*: [`Sandbox::run`] with full reset, fuel, and the scan for new coverage.
//!
//! Both are child processes; of each, the CPU time of few passes is subtracted from that of
//! many, so that neither start nor end is in it.
//!
//! [`Sandbox::run`]: sandglass_sandbox::Sandbox::run

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use sandglass_benches::println;
use sandglass_benches::stats::median;
use sandglass_engine::Interest;
use sandglass_sandbox::{Sandbox, on_guest_thread};
use serde_json::json;

use crate::collect;
use crate::fuzzers::{Budget, Fuzzer, executions, libfuzzer_command, warm_up, work};
use crate::process::run;
use sandglass_benches::results::Results;

/// Executions of each campaign that contributes to the list.
const LIST_EXECS: u64 = 200_000;
/// Inputs in the list at most.
const LIST_INPUTS: usize = 1000;
/// Passes over the list that are not counted: start, and for us also learning what is known.
const WARM_PASSES: u64 = 3;
const FUZZERS: [Fuzzer; 3] = [Fuzzer::Libfuzzer, Fuzzer::LibfuzzerAsan, Fuzzer::Sandglass];

/// Measures the subjects, `reps` rounds of about `seconds` of CPU time for each build.
pub(crate) fn rate(subjects: &[String], reps: u64, seconds: f64, results: &mut Results) {
    println!(
        "CPU nanoseconds per execution, medians of {reps} rounds; ratios are executions per CPU-second of ours"
    );
    println!("over libFuzzer's, medians and extremes of the rounds.");
    println!(
        "{:12} {:>6} {:>10} {:>10} {:>10}  {:>20} {:>20}",
        "subject",
        "inputs",
        "libfuzzer",
        "with asan",
        "ours",
        "ratio (0.5, aim 0.8)",
        "with asan (1.0)"
    );
    for subject in subjects {
        warm_up(subject);
        let list = List::of(subject);
        let passes = FUZZERS.map(|fuzzer| list.passes_for(fuzzer, seconds));
        let mut rounds: Vec<[f64; 3]> = Vec::new();
        for round in 0..reps {
            let times = [0, 1, 2].map(|n| list.time(FUZZERS[n], passes[n]));
            for (fuzzer, ns) in FUZZERS.iter().zip(times) {
                results.add(json!({
                    "row": "rate", "subject": subject, "fuzzer": fuzzer.name(), "round": round,
                    "inputs": list.count, "input_bytes": list.bytes, "ns_per_exec": ns,
                }));
            }
            rounds.push(times);
        }
        print_row(subject, list.count, &rounds);
    }
}

fn print_row(subject: &str, inputs: u64, rounds: &[[f64; 3]]) {
    let column = |n: usize| median(&rounds.iter().map(|times| times[n]).collect::<Vec<_>>());
    let ratio = |n: usize| {
        let mut all = rounds
            .iter()
            .map(|times| times[n] / times[2])
            .collect::<Vec<_>>();
        all.sort_by(f64::total_cmp);
        format!(
            "{:.3} ({:.3}-{:.3})",
            median(&all),
            all[0],
            all[all.len() - 1]
        )
    };
    println!(
        "{subject:12} {inputs:6} {:10.0} {:10.0} {:10.0}  {:>20} {:>20}",
        column(0),
        column(1),
        column(2),
        ratio(0),
        ratio(1)
    );
}

/// A list of inputs on disk, in the form that `replay.c` reads, and as a folder.
struct List {
    subject: String,
    count: u64,
    bytes: u64,
}

impl List {
    /// Makes the list, unless there is one already.
    fn of(subject: &str) -> List {
        let folder = work("inputs").join(subject);
        if !folder.with_extension("list").exists() {
            make(subject, &folder);
        }
        let inputs = collect::inputs(&[folder]);
        List {
            subject: subject.to_owned(),
            count: inputs.len() as u64,
            bytes: inputs.iter().map(|input| input.len() as u64).sum(),
        }
    }

    /// Passes over the list that take about `seconds`.
    fn passes_for(&self, fuzzer: Fuzzer, seconds: f64) -> u64 {
        let mut passes = 1 + 1000 / self.count;
        loop {
            let took = self.cpu_s(fuzzer, WARM_PASSES + passes) - self.cpu_s(fuzzer, WARM_PASSES);
            if took >= 0.1 * seconds {
                return (passes as f64 * seconds / took).ceil() as u64;
            }
            passes *= 8;
        }
    }

    /// CPU nanoseconds per execution.
    fn time(&self, fuzzer: Fuzzer, passes: u64) -> f64 {
        let took = self.cpu_s(fuzzer, WARM_PASSES + passes) - self.cpu_s(fuzzer, WARM_PASSES);
        took * 1e9 / (passes * self.count) as f64
    }

    fn cpu_s(&self, fuzzer: Fuzzer, passes: u64) -> f64 {
        let folder = work("rate");
        let corpus = folder.join("corpus");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&corpus).expect("a new folder");
        let inputs = work("inputs").join(&self.subject);
        let list = inputs.with_extension("list");
        if fuzzer == Fuzzer::Sandglass {
            let own = std::env::current_exe().expect("a program knows its path");
            let mut command = Command::new(own);
            command.args(["replay", &self.subject, &passes.to_string()]);
            let ran = run(&mut command, None, &folder);
            assert!(ran.status.success(), "{}", ran.stderr);
            return ran.cpu_s;
        }
        let mut command = libfuzzer_command(fuzzer, &self.subject, &folder);
        command
            .env("LD_PRELOAD", work("replay.so"))
            .env("REPLAY_LIST", list)
            .args(["-seed=1", "-entropic=0"])
            .arg(format!("-runs={}", passes * self.count))
            .arg(corpus)
            .arg(inputs);
        let ran = run(&mut command, None, &folder);
        assert!(ran.status.success(), "{}", ran.stderr);
        assert_eq!(executions(&ran), passes * self.count, "{}", ran.stderr);
        ran.cpu_s
    }
}

/// The list of a subject: what a campaign of each fuzzer kept, in an order that has nothing to do
/// with how it was found; the empty input is left out, because a mutator of libFuzzer's cannot
/// answer with it.
fn make(subject: &str, folder: &Path) {
    let campaigns = [Fuzzer::Sandglass, Fuzzer::Libfuzzer].map(|fuzzer| {
        let out = work("inputs").join(format!("{subject}.{}", fuzzer.name()));
        fuzzer
            .campaign(subject, 1, Budget::Execs(LIST_EXECS), &out)
            .corpus
    });
    let shuffled = collect::inputs_that_end_well(subject, &campaigns.concat())
        .into_iter()
        .filter(|input| !input.is_empty())
        .map(|input| (fnv1a(&input), input))
        .collect::<BTreeMap<_, _>>();
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("a new folder");
    let mut list = Vec::new();
    for (index, input) in shuffled.values().take(LIST_INPUTS).enumerate() {
        fs::write(folder.join(format!("{index:04}")), input).expect("a file of ours");
        list.extend_from_slice(&(input.len() as u32).to_le_bytes());
        list.extend_from_slice(input);
    }
    fs::write(folder.with_extension("list"), list).expect("a file of ours");
}

/// The hash of Fowler, Noll and Vo, 64 bits, variant 1a.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Our side: `passes` over the list of a subject, the first of which learns what is known.
pub(crate) fn replay(subject: &str, passes: u64) {
    let inputs = collect::inputs(&[work("inputs").join(subject)]);
    let (fuel, renewals) = on_guest_thread(|| {
        let mut sandbox = collect::sandbox(subject);
        let known = learn(&mut sandbox, &inputs);
        let before = sandbox.renewals();
        let mut fuel = 0;
        for _ in 1..passes {
            for input in &inputs {
                let outcome = sandbox.run(input, &known, false);
                assert!(outcome.detail.is_none(), "nothing is new");
                fuel += outcome.fuel;
            }
        }
        (fuel, sandbox.renewals() - before)
    });
    println!("fuel {fuel}, new instances {renewals}");
}

fn learn(sandbox: &mut Sandbox, inputs: &[Vec<u8>]) -> Interest {
    let mut known = collect::nothing_seen(sandbox);
    for input in inputs {
        let outcome = sandbox.run(input, &known, true);
        let counts = &outcome.detail.as_ref().expect("asked for").counts;
        known.all.absorb(counts);
        known.valid.absorb(counts);
        known.findings.seen.absorb(counts);
    }
    known
}
