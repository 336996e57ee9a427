//! Dataflow programs: campaigns of `depfuzz`, `bigfuzz`, `codep` and others on the programs of DepFuzz's evaluation.
//!
//! - `run`: runs campaigns and adds a line of results for each; those that the file has are not run again (`run.rs`,
//!   `campaign.rs`, `record.rs`);
//! - `table`: whether ports agree with what their authors' archive has (`gate.rs`), and how guidances compare
//!   (`compare.rs`, `branches.rs`, `progress.rs`), also on programs with harder faults (`hard.rs`) and queries (`queries.rs`), as Markdown; campaigns that are not alike are refused (`alike.rs`);
//! - `tuples`: which columns the programs need to be equal, or compare, as found in one run each, beside the tuples that
//!   DepFuzz's evaluation had written down (`tuples.rs`), as Markdown;
//! - `large`: writes data sets of as many rows as wanted, for `sandglass rows` to select from (`large.rs`).
//!
//! `cargo run --release --workspace --bin dataflow -- run --seeds 20` is the whole evaluation, of days; stopped, the same
//! command goes on with it. Limit: the archive is of one campaign each, of statements in Scala (`statements.rs`).

mod alike;
mod branches;
mod campaign;
mod compare;
mod gate;
mod hard;
mod large;
mod mutants;
mod programs;
mod progress;
mod queries;
mod record;
mod run;
mod seeds;
mod statements;
mod tuples;

use std::path::PathBuf;

use clap::Parser;
use record::Record;
use sandglass_benches::{Error, Size, heading};

/// What went wrong, in words.
type Result<T> = std::result::Result<T, Error>;

/// Campaigns on dataflow programs.
#[derive(Parser)]
#[command(name = "dataflow")]
enum Verb {
    /// Run campaigns
    Run(run::Run),
    /// Sum up results as Markdown
    Table {
        /// Files of results
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// The guidance that others are compared with
        #[arg(long, value_name = "NAME", default_value = "codep")]
        of: String,
        #[command(flatten)]
        wanted: alike::Wanted,
    },
    /// Compare the co-dependence that is found with the tuples that were written down
    Tuples(tuples::Args),
    /// Write large data sets
    Large(large::Args),
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Run(run) => {
            heading("dataflow", Size::Large);
            run.go()
        }
        Verb::Table {
            results,
            of,
            wanted,
        } => {
            let mut all = Vec::new();
            for path in results {
                all.extend(Record::all(&path)?);
            }
            let all = alike::alike(all, &wanted)?;
            let (hard, all): (Vec<_>, Vec<_>) = (all.into_iter()).partition(hard::is_hard);
            let (queries, all): (Vec<_>, Vec<_>) = (all.into_iter()).partition(queries::is_query);
            if !all.is_empty() {
                gate::print(&all)?;
                compare::print(&all, &of);
            }
            if !hard.is_empty() {
                hard::print(&hard);
            }
            if !queries.is_empty() {
                queries::print(&queries, &of);
            }
            Ok(())
        }
        Verb::Tuples(args) => args.print(),
        Verb::Large(args) => args.write(),
    }
}
