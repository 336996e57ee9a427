//! Guidances compared: campaigns over subjects, arms and seeds, judged by one collector.
//!
//! - `run`: runs campaigns and adds a line of results for each (`campaign.rs`, `collector.rs`,
//!   `faults.rs`, `repeats.rs`, `speed.rs`);
//! - `table`: medians, intervals and tests of a file of results (`table.rs`);
//! - `pairs`: two arms, seed by seed: what both reach and what one alone; how much medians move (`pairs.rs`);
//! - `goals`: which goals of a subject each arm reaches, and in how many campaigns (`pairs.rs`);
//! - `phases`: the share of time of each part of a campaign (`phases.rs`);
//! - `overhead`: what guidance by places and types costs on identical inputs (`overhead.rs`);
//! - `frozen`: the comparison that `sandglass` is held to (`frozen.rs`);
//! - `curves`: coverage and diversity against executions, as SVG (`curves.rs`).
//!
//! `benches/eval.sh` builds subjects and reproduces the tables of `benches/EVAL.md`. One campaign is
//! one thread; several at once share nothing but the machine, and budgets are executions or CPU time.
//! Limit: the rate of a generator, a target and two resets.

mod arms;
mod campaign;
mod collector;
mod curves;
mod faults;
mod frozen;
mod overhead;
mod pairs;
mod phases;
mod repeats;
mod speed;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arms::{ARMS, Arm, Pairing, arm};
use campaign::{Budget, Prepared};
use clap::{Args, Parser};
use sandglass_benches::results::{Results, read};
use sandglass_benches::{Error, Size, heading, println};

/// What went wrong, in words.
type Result<T> = std::result::Result<T, Error>;

/// Guidances compared, by a separate collector.
#[derive(Parser)]
#[command(name = "eval")]
enum Verb {
    /// Run campaigns
    Run(Run),
    /// Sum up results as Markdown
    Table {
        /// Files of results, the older ones first
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// The arm that others are tested against
        #[arg(long, value_name = "ARM", default_value = "zest")]
        against: String,
    },
    /// Compare arms by what each reaches, as Markdown
    Pairs {
        /// Files of results, the older ones first
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// Arms, the first one against each of the others
        #[arg(
            long,
            value_name = "ARM",
            value_delimiter = ',',
            default_value = "spoton,zest-str,zest"
        )]
        arms: Vec<String>,
    },
    /// Tell in how many campaigns each goal was reached, as Markdown
    Goals {
        /// Files of results, the older ones first
        #[arg(required = true)]
        results: Vec<PathBuf>,
    },
    /// Measure the share of time of each part of a campaign
    Phases {
        /// Subjects
        #[arg(required = true, value_name = "SUBJECT[:GENERATOR]")]
        subjects: Vec<String>,
        /// Arms, separated by commas
        #[arg(
            long,
            value_name = "ARM",
            value_delimiter = ',',
            default_value = "zest,zest-str,spoton"
        )]
        arms: Vec<String>,
        /// Executions of each campaign
        #[arg(long, value_name = "N", default_value_t = 30_000)]
        execs: u64,
    },
    /// Measure what targeting costs on identical inputs
    Overhead {
        /// Subjects
        #[arg(required = true, value_name = "SUBJECT[:GENERATOR]")]
        subjects: Vec<String>,
        /// Inputs, of a campaign of `zest-str`
        #[arg(long, value_name = "N", default_value_t = 5_000)]
        execs: u64,
        /// Measure this alone, in this process: `with` or `without`
        #[arg(long, value_name = "WHICH", hide = true)]
        only: Option<String>,
    },
    /// Hold `sandglass` against published guidances, on subjects that are written down
    #[command(subcommand)]
    Frozen(frozen::Verb),
    /// Draw results as SVG
    Curves {
        /// A file of results
        results: PathBuf,
        /// A folder for the pictures
        folder: PathBuf,
    },
}

#[derive(Args)]
struct Run {
    /// Subjects, with a generator each or the first one made for them
    #[arg(required = true, value_name = "SUBJECT[:GENERATOR]")]
    subjects: Vec<String>,
    /// Arms, separated by commas [default: all]
    #[arg(long, value_name = "ARM", value_delimiter = ',')]
    arms: Vec<String>,
    /// Campaigns of each arm on each subject, with seeds 1, 2, 3, …
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,
    /// Executions of each campaign
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    execs: u64,
    /// CPU seconds of each campaign, in place of executions
    #[arg(long, value_name = "N", conflicts_with = "execs")]
    seconds: Option<f64>,
    /// Campaigns at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Lines of JSON are added here
    #[arg(long, value_name = "FILE", default_value = "target/eval.jsonl")]
    results: PathBuf,
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Run(run) => run.go(),
        Verb::Table { results, against } => {
            table::print(&read_all(&results), arm(&against).name);
            Ok(())
        }
        Verb::Pairs { results, arms } => {
            let arms: Vec<_> = arms.iter().map(|name| arm(name).name).collect();
            pairs::print(&read_all(&results), &arms);
            Ok(())
        }
        Verb::Goals { results } => {
            pairs::goals(&read_all(&results));
            Ok(())
        }
        Verb::Phases {
            subjects,
            arms,
            execs,
        } => phases::print(&subjects, &arms, execs),
        Verb::Overhead {
            subjects,
            execs,
            only,
        } => match only {
            None => overhead::print(&subjects, execs),
            Some(which) => overhead::one(&subjects[0], which == "with"),
        },
        Verb::Frozen(verb) => verb.go(),
        Verb::Curves { results, folder } => draw(&results, &folder),
    }
}

fn read_all(files: &[PathBuf]) -> Vec<serde_json::Value> {
    files.iter().flat_map(|file| read(file, "eval")).collect()
}

fn draw(results: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let results = read(results, "eval");
    for group in table::groups(&results) {
        for measure in ["semantic", "diverse_valid", "b1"] {
            let budget = group.budget.replace(' ', "-");
            let path = folder.join(format!("{}-{budget}-{measure}.svg", group.subject));
            std::fs::write(&path, curves::svg(&group, measure))?;
            println!("{}", path.display());
        }
    }
    Ok(())
}

impl Run {
    fn go(self) -> Result<()> {
        heading("eval", Size::Large);
        let arms: Vec<Arm> = match &self.arms[..] {
            [] => ARMS.to_vec(),
            names => names.iter().map(|name| arm(name)).collect(),
        };
        let budget = match self.seconds {
            Some(seconds) => Budget::CpuSeconds(seconds),
            None => Budget::Execs(self.execs),
        };
        let pairings = self.subjects.iter().map(|text| Pairing::parse(text));
        let prepared = pairings.map(|pairing| Prepared::new(&pairing));
        let prepared = prepared.collect::<Result<Vec<_>>>()?;
        // Seeds outermost: what is there when somebody stops us is of all arms.
        let mut jobs = Vec::new();
        for seed in 1..=self.seeds {
            for subject in &prepared {
                jobs.extend(arms.iter().map(|arm| (subject, *arm, seed)));
            }
        }
        let mut results = Results::open(&self.results);
        run_all(&jobs, budget, self.jobs, &mut |result| results.add(result))
    }
}

/// Runs campaigns, several at once, and hands out the results of each as it ends.
fn run_all(
    jobs: &[(&Prepared, Arm, u64)],
    budget: Budget,
    at_once: usize,
    end: &mut (dyn FnMut(serde_json::Value) + Send),
) -> Result<()> {
    let (next, end) = (AtomicUsize::new(0), Mutex::new(end));
    let work = || -> Result<()> {
        while let Some((subject, arm, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = subject.campaign(*arm, *seed, budget)?;
            println!(
                "{:16} {:16} seed {seed:2} {:>8} execs {:7.2} s {:>8} valid {:>6} semantic",
                result["subject"].as_str().unwrap_or_default(),
                arm.name,
                result["execs"],
                result["cpu_s"].as_f64().unwrap_or_default(),
                result["valid"],
                result["semantic"],
            );
            end.lock().expect("nobody panicked")(result);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once.max(1)).map(|_| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join();
        let mut ended = threads.into_iter().map(join);
        ended.try_for_each(|end| end.expect("nobody panics"))
    })
}
