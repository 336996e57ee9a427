//! Guidances for cost compared: how costly the inputs become that they find.
//!
//! - `replay`: seeds, published inputs and the best that are known, in fuel (`cases.rs`);
//! - `run`: campaigns, a line of results each (`campaign.rs`);
//! - `seed`: what a case's campaigns begin with, to fuzz it by hand;
//! - `table`: medians of a file of results, against what is published and known (`table.rs`);
//! - `predict`: by exact laws, what is published at sizes that are past any limit (`predict.rs`).
//!
//! Fuel is that of the campaign build, exact; inputs that do not come to an end are findings and do
//! not count. Limit: costly inputs take long, so campaigns end after executions or CPU time,
//! whichever comes first, and a result says after how many.

mod campaign;
mod cases;
mod predict;
mod table;

use std::io::Write as _;
use std::path::PathBuf;

use campaign::{Budget, Prepared};
use cases::{CASES, Case};
use clap::{Args, Parser};
use sandglass_benches::results::Results;
use sandglass_benches::{Error, Size, heading, println};
use serde_json::json;

/// What went wrong, in words.
type Result<T> = std::result::Result<T, Error>;

/// Guidances for cost compared.
#[derive(Parser)]
#[command(name = "cost")]
enum Verb {
    /// Measure what is published and what is known
    Replay,
    /// Run campaigns
    Run(Run),
    /// Print the seed of a case
    Seed {
        /// Its name
        case: String,
    },
    /// Print what costs too much to be run, by the laws that smaller inputs follow
    Predict,
    /// Sum up results as Markdown
    Table {
        /// Files of results
        #[arg(required = true)]
        results: Vec<PathBuf>,
    },
}

#[derive(Args)]
struct Run {
    /// Cases by name [default: all]
    cases: Vec<String>,
    /// Guidances, separated by commas
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "perun,cost,perffuzz,slowfuzz"
    )]
    arms: Vec<String>,
    /// The first seed; those before it are in the results already
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: u64,
    /// The last seed; each guidance has a campaign of every seed on each case
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,
    /// Executions of each campaign at most
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    execs: u64,
    /// CPU seconds of each campaign at most
    #[arg(long, value_name = "N", default_value_t = 60.0)]
    seconds: f64,
    /// End a campaign when it has come to the published input's fuel
    #[arg(long)]
    until_published: bool,
    /// Lines of JSON are added here
    #[arg(long, value_name = "FILE", default_value = "target/cost.jsonl")]
    results: PathBuf,
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Replay => replay(),
        Verb::Run(run) => run.go(),
        Verb::Seed { case } => seed(&case),
        Verb::Predict => predict::predict(),
        Verb::Table { results } => table::table(&results),
    }
}

fn seed(name: &str) -> Result<()> {
    let case = CASES.iter().find(|case| case.name == name);
    let case = case.ok_or_else(|| format!("no case `{name}`, expected one that `replay` lists"))?;
    Ok(std::io::stdout().write_all(&(case.seed)(case.subject)?)?)
}

/// Prints a row for each case: fuel of the seed, and ratios to it.
fn replay() -> Result<()> {
    heading("cost", Size::Large);
    println!("| case | subject | bytes | seed's fuel | published | best known |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    for case in CASES {
        let prepared = Prepared::new(case)?;
        let seed = prepared.cost(&prepared.seed)?.fuel;
        let ratio = |input: &[u8]| Ok::<_, Error>(prepared.cost(input)?.fuel as f64 / seed as f64);
        let published = match prepared.published()? {
            Some(fuel) => format!("{:.1}", fuel as f64 / seed as f64),
            None => "–".to_owned(),
        };
        println!(
            "| {} | {} | {} | {seed} | {published} | {:.1} |",
            case.name,
            case.subject,
            case.bytes_max,
            ratio(&(case.best)())?
        );
    }
    Ok(())
}

impl Run {
    fn go(self) -> Result<()> {
        heading("cost", Size::Large);
        let wanted =
            |case: &&Case| self.cases.is_empty() || self.cases.iter().any(|n| n == case.name);
        let mut results = Results::open(&self.results);
        let prepared = CASES.iter().filter(wanted).map(Prepared::new);
        let prepared = prepared.collect::<Result<Vec<_>>>()?;
        // Seeds outermost: what is there when somebody stops us is of all arms.
        for seed in self.from..=self.seeds {
            for of in &prepared {
                let published = of.published()?;
                let budget = Budget {
                    execs: self.execs,
                    cpu_s: self.seconds,
                    fuel: published.filter(|_| self.until_published),
                };
                for arm in &self.arms {
                    let reached = of.campaign(arm, seed, budget)?;
                    let (from, best) = (of.cost(&of.seed)?, of.cost(&(of.case.best)())?);
                    println!(
                        "{:22} {arm:10} seed {seed:2} {:>8} execs {:6.1} s {:8.1} x, {:3.0} % of the best",
                        of.case.name,
                        reached.execs,
                        reached.cpu_s,
                        reached.most.fuel as f64 / from.fuel as f64,
                        100.0 * reached.most.fuel as f64 / best.fuel as f64,
                    );
                    results.add(json!({
                        "row": "cost",
                        "case": of.case.name,
                        "arm": arm,
                        "seed": seed,
                        "execs": reached.execs,
                        "cpu_s": (1000.0 * reached.cpu_s).round() / 1000.0,
                        "findings": reached.findings,
                        "fuel": reached.most.fuel,
                        "hits": reached.most.hits,
                        "path": reached.most.path,
                        "seed_fuel": from.fuel,
                        "seed_hits": from.hits,
                        "seed_path": from.path,
                        "published_fuel": published,
                        "best_fuel": best.fuel,
                        "best_hits": best.hits,
                        "best_path": best.path,
                        "state_hash": reached.state_hash,
                    }));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the cases that need no subject: what is said to be best is, and a campaign comes to it.
    #[test]
    fn the_best_is_reached() {
        let budget = Budget {
            execs: 20_000,
            cpu_s: 60.0,
            fuel: None,
        };
        for name in ["insertion sort", "quicksort"] {
            let case = CASES.iter().find(|case| case.name == name).expect("a case");
            let prepared = Prepared::new(case).expect("it is in the repository");
            assert!(prepared.seed.len() <= case.bytes_max as usize, "{name}");
            let cost = |input: &[u8]| prepared.cost(input).expect("it ends well").fuel;
            let best = cost(&(case.best)());
            assert!(best > 2 * cost(&prepared.seed), "{name}");
            let reached = prepared.campaign("cost", 1, budget).expect("it ends well");
            assert_eq!(reached.most.fuel, best, "{name}");
        }
    }
}
