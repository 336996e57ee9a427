//! Whole campaigns, in turns: how many executions a CPU-second, and how far they reach.
//!
//! The fuzzers take turns, and who is first alternates, so that a change of the machine's mood
//! meets both. The edges of a corpus are counted afterwards by [`crate::collect`]; seeds belong to
//! both corpora.

use std::path::Path;

use sandglass_benches::println;
use sandglass_benches::stats::{mann_whitney, median};
use serde_json::{Value, json};

use crate::collect::edges;
use crate::fuzzers::{Budget, Fuzzer, warm_up, work};
use sandglass_benches::results::{Results, read};

/// The two that are compared.
const PAIR: [Fuzzer; 2] = [Fuzzer::Sandglass, Fuzzer::Libfuzzer];

/// Runs `reps` campaigns of each fuzzer on each subject, `seconds` of CPU time each, with seeds 1,
/// 2, 3, …; the results' rows get the name `row`.
pub(crate) fn campaigns(
    row: &str,
    subjects: &[String],
    reps: u64,
    seconds: f64,
    results: &mut Results,
) {
    for subject in subjects {
        let compiling_s = warm_up(subject);
        println!("{subject}: compiled, {compiling_s:.1} CPU seconds");
    }
    for seed in 1..=reps {
        for subject in subjects {
            let mut pair = PAIR;
            if seed % 2 == 0 {
                pair.reverse();
            }
            for fuzzer in pair {
                results.add(one(row, subject, fuzzer, seed, seconds));
            }
        }
    }
}

fn one(row: &str, subject: &str, fuzzer: Fuzzer, seed: u64, seconds: f64) -> Value {
    let folder = work(&format!("{row}-{}", std::process::id()));
    let campaign = fuzzer.campaign(subject, seed, Budget::Cpu(seconds), &folder);
    let (corpus, edges) = edges(subject, &campaign.corpus);
    let rate = campaign.execs as f64 / campaign.cpu_s;
    println!(
        "{subject:12} seed {seed:2} {:10} {:10} execs {:6.2} s {rate:10.0}/s {corpus:5} inputs {edges:6} edges {} findings",
        fuzzer.name(),
        campaign.execs,
        campaign.cpu_s,
        campaign.findings,
    );
    json!({
        "row": row, "subject": subject, "fuzzer": fuzzer.name(), "seed": seed, "budget_s": seconds,
        "execs": campaign.execs, "cpu_s": campaign.cpu_s, "wall_s": campaign.wall_s,
        "corpus": corpus, "edges": edges, "findings": campaign.findings,
    })
}

/// Prints what the campaigns of a file come to.
pub(crate) fn report(row: &str, path: &Path) {
    let all = read(path, row);
    println!(
        "{:12} {:>4} {:>12} {:>12} {:>6} {:>8} {:>8} {:>7} {:>6}  medians; A12 and p (Mann-Whitney, exact) of the edges",
        "subject", "reps", "ours execs/s", "libfuzzer's", "ratio", "edges", "its", "p", "A12"
    );
    // A file may hold several measurements: nothing is summed over commits or budgets.
    let key = |o: &Value| ["commit", "budget_s", "subject"].map(|name| o[name].clone());
    let (mut keys, mut heading) = (Vec::new(), String::new());
    for object in &all {
        if !keys.contains(&key(object)) {
            keys.push(key(object));
        }
    }
    for wanted in keys {
        let of = |fuzzer: Fuzzer| {
            let of = |o: &&Value| key(o) == wanted && o["fuzzer"] == fuzzer.name();
            all.iter().filter(of).collect::<Vec<_>>()
        };
        let [commit, budget_s, subject] = &wanted;
        let now = format!("commit {commit}, {budget_s} CPU seconds each");
        if now != heading {
            println!("{now}");
            heading = now;
        }
        print_row(subject, PAIR.map(of));
    }
}

fn print_row(subject: &Value, pair: [Vec<&Value>; 2]) {
    if pair.iter().any(Vec::is_empty) {
        println!("{subject}: one side is missing");
        return;
    }
    let number = |object: &Value, name: &str| object[name].as_f64().expect("a number");
    let [our_rate, its_rate] = [0, 1].map(|n| {
        let rate = |o: &&Value| number(o, "execs") / number(o, "cpu_s");
        median(&pair[n].iter().map(rate).collect::<Vec<_>>())
    });
    let [ours, its] = [0, 1].map(|n| {
        let edges = pair[n].iter().map(|o| number(o, "edges") as u64);
        edges.collect::<Vec<_>>()
    });
    let middle = |edges: &[u64]| median(&edges.iter().map(|e| *e as f64).collect::<Vec<_>>());
    let contrast = mann_whitney(&ours, &its);
    let verdict = if middle(&ours) >= middle(&its) {
        "no lower"
    } else {
        "lower"
    };
    println!(
        "{:12} {:4} {our_rate:12.0} {its_rate:12.0} {:6.3} {:8.1} {:8.1} {:7.4} {:6.2}  {verdict}",
        subject.as_str().unwrap_or_default(),
        ours.len(),
        our_rate / its_rate,
        middle(&ours),
        middle(&its),
        contrast.p,
        contrast.a12,
    );
}
