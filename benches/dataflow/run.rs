//! Which campaigns to run: programs, guidances and seeds, without those that a file of results has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

use clap::{Args, ValueEnum};
use sandglass_benches::println;
use sandglass_benches::results::Results;

use crate::Result;
use crate::campaign::{Plan, Prepared};
use crate::programs::{Program, chosen};
use crate::record::{Key, Record};
use crate::seeds::{self, Rows};

/// Which rows a campaign begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SeedKind {
    /// What the published tool had: for DepFuzz, and ours beside it, reduced ones, weak ones for others
    Own,
    Reduced,
    Weak,
}

/// Which campaigns to run.
#[derive(Args)]
pub(crate) struct Run {
    /// Programs, as in `p5s` [default: all]
    programs: Vec<String>,
    /// Guidances, separated by commas
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "depfuzz,bigfuzz,jazzer,random-rows,codep"
    )]
    guidances: Vec<String>,
    /// Settings of the guidances, beyond schema and tuples
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Campaigns of each guidance on each program, with seeds 1, 2, 3, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// No more executions than this in a campaign; without it as many as a day took, DepFuzz's for what is in no archive
    #[arg(long, value_name = "N")]
    execs: Option<u64>,
    /// No more executions in a campaign than DepFuzz had
    #[arg(long)]
    paced: bool,
    #[arg(long, value_enum, default_value = "own")]
    rows: SeedKind,
    /// Campaigns at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Lines of JSON are added here, one for each campaign
    #[arg(long, value_name = "FILE", default_value = "target/dataflow.jsonl")]
    results: PathBuf,
}

impl Run {
    /// Runs what is not in the file yet, programs in the order that they are given in.
    pub(crate) fn go(self) -> Result<()> {
        let programs = chosen(&self.programs)?;
        let known: BTreeSet<Key> = (Record::all(&self.results)?.into_iter())
            .map(|record| record.key)
            .collect();
        let results = Mutex::new(Results::open(&self.results));
        for guidance in &self.guidances {
            for program in &programs {
                self.campaigns(guidance, program, &known, &results)?;
            }
        }
        Ok(())
    }

    fn rows(&self, guidance: &str) -> Rows {
        match self.rows {
            SeedKind::Own if ["depfuzz", "codep"].contains(&guidance) => Rows::Reduced,
            SeedKind::Own | SeedKind::Weak => Rows::Weak,
            SeedKind::Reduced => Rows::Reduced,
        }
    }

    /// The campaigns of a guidance on a program, each written down when it ends.
    fn campaigns(
        &self,
        guidance: &str,
        program: &Program,
        known: &BTreeSet<Key>,
        results: &Mutex<Results>,
    ) -> Result<()> {
        let plan = self.plan(guidance, program)?;
        let rows = self.rows(guidance);
        let key = |seed| Key {
            program: program.name,
            arm: [&[guidance.to_owned()], &self.settings[..]]
                .concat()
                .join(" "),
            rows: format!("{rows:?}"),
            execs: plan.execs,
            seed,
        };
        let keys = (1..=self.seeds).map(key).filter(|key| !known.contains(key));
        let keys: Vec<Key> = keys.collect();
        if keys.is_empty() {
            return Ok(());
        }
        let prepared = Prepared::new(program)?;
        let waiting = Mutex::new(keys.into_iter());
        let work = || -> Result<()> {
            loop {
                let next = waiting.lock().expect("nobody panicked").next();
                let Some(key) = next else {
                    return Ok(());
                };
                let plan = Plan {
                    seed: key.seed,
                    ..plan.clone()
                };
                let reached = prepared.campaign(&plan);
                let reached = reached
                    .map_err(|e| format!("{} {} seed {}: {e}", key.arm, key.program, key.seed))?;
                let record = Record {
                    key,
                    reached,
                    commit: String::new(),
                };
                println!("{record}");
                let mut results = results.lock().expect("nobody panicked");
                results.add(record.write());
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.jobs.max(1)).map(|_| scope.spawn(work)).collect();
            let mut ended = threads.into_iter().map(|thread| thread.join());
            ended.try_for_each(|end| end.expect("nobody panics"))
        })
    }

    fn plan(&self, guidance: &str, program: &Program) -> Result<Plan> {
        let mut settings = BTreeMap::new();
        let spec = sandglass_engine::find(guidance);
        let spec = spec.ok_or_else(|| format!("{guidance}: no such guidance"))?;
        for (key, value) in [("schema", program.schema), ("tuples", program.tuples)] {
            if spec.settings.iter().any(|setting| setting.name == key) {
                settings.insert(key.to_owned(), value.to_owned());
            }
        }
        for setting in &self.settings {
            let (key, value) = setting.split_once('=').ok_or("--set KEY=VALUE")?;
            settings.insert(key.to_owned(), value.to_owned());
        }
        let own = match self.paced {
            true => program.execs(guidance).min(program.pace()),
            false => program.execs(guidance),
        };
        Ok(Plan {
            guidance: guidance.to_owned(),
            settings,
            seeds: vec![seeds::seed(program.name, self.rows(guidance))],
            seed: 0,
            execs: self.execs.map_or(own, |most| most.min(own)),
            pace: program.pace(),
        })
    }
}
