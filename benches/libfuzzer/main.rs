//! Against native libFuzzer: the same harness sources, one core, by CPU time.
//!
//! - `rate`: one list of inputs through both instrumented builds (`rate.rs`);
//! - `campaigns`: executions per CPU-second of whole campaigns (`campaigns.rs`);
//! - `reach`: edges of what campaigns kept (`campaigns.rs`);
//! - `report`: sums up results again.
//!
//! `benches/libfuzzer.sh` builds what is needed and starts this. Limit: what native code does
//! without instrumentation or limits; wasm pays for bounds, for counters in order of their arms,
//! for fuel, and for the reset, and saves what libFuzzer spends on collecting features.

mod campaigns;
mod collect;
mod fuzzers;
mod process;
mod rate;

use std::path::PathBuf;

use clap::{Args, Parser};
use sandglass_benches::results::Results;
use sandglass_benches::{Size, heading, println};

/// Sandglass against native libFuzzer, by CPU time.
#[derive(Parser)]
#[command(name = "libfuzzer")]
enum Verb {
    /// One list of inputs through both instrumented builds
    Rate(Settings),
    /// Executions per CPU-second of whole campaigns
    Campaigns(Settings),
    /// Edges that campaigns reach
    Reach(Settings),
    /// Sum up results of campaigns again
    Report {
        /// `campaigns` or `reach`
        row: String,
        /// A file of results
        results: PathBuf,
    },
    /// Our side of `rate`, which starts it
    #[command(hide = true)]
    Replay { subject: String, passes: u64 },
}

#[derive(Args)]
struct Settings {
    /// Instead of the subjects that the row names
    subjects: Vec<String>,
    /// Rounds, or campaigns of each fuzzer
    #[arg(long, value_name = "N")]
    reps: Option<u64>,
    /// CPU seconds of each measurement
    #[arg(long, value_name = "N")]
    seconds: Option<f64>,
    /// Lines of JSON are added here [default: target/libfuzzer/ROW.jsonl]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

impl Settings {
    fn or(self, subjects: &[&str], reps: u64, seconds: f64) -> (Vec<String>, u64, f64) {
        let subjects = match self.subjects.is_empty() {
            true => subjects.iter().map(|s| (*s).to_owned()).collect(),
            false => self.subjects,
        };
        (
            subjects,
            self.reps.unwrap_or(reps),
            self.seconds.unwrap_or(seconds),
        )
    }

    fn results(&self, row: &str) -> PathBuf {
        let default = || fuzzers::work(row).with_extension("jsonl");
        self.results.clone().unwrap_or_else(default)
    }
}

fn main() {
    match Verb::parse() {
        Verb::Rate(settings) => {
            heading("libfuzzer rate", Size::Large);
            let mut results = Results::open(&settings.results("rate"));
            let (subjects, reps, seconds) = settings.or(&["cjson", "expat", "sqlite"], 11, 2.0);
            rate::rate(&subjects, reps, seconds, &mut results);
        }
        Verb::Campaigns(settings) => {
            both("campaigns", settings, &["empty", "json-small"], 5, 10.0);
        }
        Verb::Reach(settings) => {
            let subjects = ["cjson", "expat", "sqlite", "pcre2"];
            both("reach", settings, &subjects, 10, 60.0);
        }
        Verb::Report { row, results } => campaigns::report(&row, &results),
        Verb::Replay { subject, passes } => rate::replay(&subject, passes),
    }
}

fn both(row: &str, settings: Settings, subjects: &[&str], reps: u64, seconds: f64) {
    heading(&format!("libfuzzer {row}"), Size::Large);
    let path = settings.results(row);
    let (subjects, reps, seconds) = settings.or(subjects, reps, seconds);
    let mut results = Results::open(&path);
    campaigns::campaigns(row, &subjects, reps, seconds, &mut results);
    println!("all results in {}:", path.display());
    campaigns::report(row, &path);
}
