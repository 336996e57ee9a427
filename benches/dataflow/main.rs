//! Dataflow programs: campaigns of `depfuzz`, `bigfuzz` and others on the programs that they were published
//! with, beside the published results.
//!
//! `cargo run --release --workspace --bin dataflow -- [PROGRAM…] [--guidance NAME] [--seeds N] [--execs N] …`.
//! For each program: lines of its own source that were reached (`campaign.rs`), the injected faults that half
//! of the campaigns found, each with the executions that showed it first, and what the archive has
//! (`programs.rs`); then whether port and archive agree (`report.rs`).
//!
//! Limit: the archive is of one campaign each, of statements where ours are lines.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod campaign;
mod programs;
mod report;
mod seeds;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use campaign::{Plan, Prepared, Reached};
use clap::{Parser, ValueEnum};
use programs::{PROGRAMS, Program};
use report::{Summary, verdict};
use sandglass_benches::results::Results;
use sandglass_benches::{Error, Size, heading};
use seeds::Rows;
use serde_json::json;

/// What went wrong, in words.
type Result<T> = std::result::Result<T, Error>;

/// Which rows a campaign begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SeedKind {
    /// What the published tool had: for DepFuzz, and ours beside it, reduced ones, weak ones for others
    Own,
    Reduced,
    Weak,
}

/// Campaigns on dataflow programs.
#[derive(Parser)]
#[command(name = "dataflow")]
struct Args {
    /// Programs, as in `p5s` [default: all]
    programs: Vec<String>,
    #[arg(long, value_name = "NAME", default_value = "depfuzz")]
    guidance: String,
    /// Settings of the guidance, beyond schema and tuples
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Campaigns on each program, with seeds 1, 2, 3, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// No more executions than this in a campaign; without it as many as a day took
    #[arg(long, value_name = "N")]
    execs: Option<u64>,
    #[arg(long, value_enum, default_value = "own")]
    rows: SeedKind,
    /// Campaigns at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Lines of JSON are added here, one for each campaign
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

fn main() -> Result<()> {
    heading("dataflow", Size::Large);
    Args::parse().go()
}

impl Args {
    fn go(self) -> Result<()> {
        let programs: Vec<&Program> = match &self.programs[..] {
            [] => PROGRAMS.iter().collect(),
            names => names.iter().map(|name| find(name)).collect::<Result<_>>()?,
        };
        let mut summaries = Vec::new();
        let mut results = self.results.as_deref().map(Results::open);
        for program in programs {
            let campaigns = self.campaigns(program)?;
            for (seed, reached) in (1u64..).zip(&campaigns) {
                if let Some(results) = &mut results {
                    results.add(json!({
                        "row": "dataflow", "program": program.name, "guidance": self.guidance,
                        "settings": self.settings, "rows": format!("{:?}", self.rows()),
                        "seed": seed, "execs": reached.execs, "valid": reached.valid,
                        "lines": [reached.lines.reached, reached.lines.all],
                        "operators": [reached.operators.reached, reached.operators.all],
                        "faults": reached.faults, "cpu_s": reached.cpu_s,
                        "state_hash": reached.state_hash,
                    }));
                }
            }
            let archived = program.archived(&self.guidance);
            let summary = Summary::new(program, archived, &campaigns);
            println!("{summary}");
            summaries.push(summary);
        }
        let coverage: f64 = summaries.iter().map(|summary| summary.coverage).sum();
        let faults: usize = summaries.iter().map(|summary| summary.faults.len()).sum();
        let feasible: f64 = summaries.iter().map(|summary| summary.feasible).sum();
        let [mean, feasible] = [coverage, feasible].map(|sum| sum / summaries.len() as f64);
        println!(
            "{}: mean coverage {mean:.1} %, {feasible:.1} % of feasible lines, {faults} faults; {}",
            self.guidance,
            verdict(&summaries)
        );
        Ok(())
    }

    fn rows(&self) -> Rows {
        match self.rows {
            SeedKind::Own if ["depfuzz", "codep"].contains(&&*self.guidance) => Rows::Reduced,
            SeedKind::Own | SeedKind::Weak => Rows::Weak,
            SeedKind::Reduced => Rows::Reduced,
        }
    }

    /// One campaign with each seed, in their order.
    fn campaigns(&self, program: &Program) -> Result<Vec<Reached>> {
        let prepared = Prepared::new(program)?;
        let mut settings = std::collections::BTreeMap::new();
        let spec = sandglass_engine::find(&self.guidance).ok_or("no such guidance")?;
        for (key, value) in [("schema", program.schema), ("tuples", program.tuples)] {
            if spec.settings.iter().any(|setting| setting.name == key) {
                settings.insert(key.to_owned(), value.to_owned());
            }
        }
        for setting in &self.settings {
            let (key, value) = setting.split_once('=').ok_or("--set KEY=VALUE")?;
            settings.insert(key.to_owned(), value.to_owned());
        }
        let own = program.execs(&self.guidance);
        let plan = Plan {
            guidance: self.guidance.clone(),
            settings,
            seeds: vec![seeds::seed(program.name, self.rows())],
            seed: 0,
            execs: self.execs.map_or(own, |most| most.min(own)),
        };
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || -> Result<()> {
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed) as u64;
                if nth >= self.seeds {
                    return Ok(());
                }
                let plan = Plan {
                    seed: nth + 1,
                    ..plan.clone()
                };
                let reached = prepared.campaign(&plan);
                let reached =
                    reached.map_err(|e| format!("{}, seed {}: {e}", program.name, nth + 1))?;
                done.lock().expect("nobody panicked").push((nth, reached));
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.jobs.max(1)).map(|_| scope.spawn(work)).collect();
            let mut ended = threads.into_iter().map(|thread| thread.join());
            ended.try_for_each(|end| end.expect("nobody panics"))
        })?;
        let mut done = done.into_inner().expect("nobody panicked");
        done.sort_by_key(|(nth, _)| *nth);
        Ok(done.into_iter().map(|(_, reached)| reached).collect())
    }
}

fn find(name: &str) -> Result<&'static Program> {
    let names = || {
        PROGRAMS
            .iter()
            .map(|program| program.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let program = PROGRAMS.iter().find(|program| program.name == name);
    program.ok_or_else(|| format!("{name}: no such program, expected one of: {}", names()).into())
}
