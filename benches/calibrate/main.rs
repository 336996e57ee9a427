//! Fuel against native cost.
//!
//! - `table`: the weights of `--cost-model native`, counted anew and compared with those that are checked
//!   in; `--write` puts them there;
//! - `time`: how well fuel predicts time over a corpus, for plain counts and for the weights.
//!
//! The table depends on Cranelift's version and on no machine; times depend on the machine.

mod corpus;
mod correlation;
mod emitted;
mod operators;
mod time;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use clap::Parser;
use sandglass_benches::println;
use sandglass_instrument::CostModel;

/// What went wrong, in words.
type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

/// Fuel against native cost.
#[derive(Parser)]
#[command(name = "calibrate")]
enum Verb {
    /// Count the instructions that Cranelift emits for each operator; fail if the table says otherwise
    Table {
        /// Write the table
        #[arg(long)]
        write: bool,
    },
    /// Measure how well fuel predicts time
    Time {
        /// Rounds of which the fastest counts
        #[arg(long, value_name = "N", default_value_t = 15)]
        rounds: usize,
    },
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Table { write } => table(write),
        Verb::Time { rounds } => time::time(rounds),
    }
}

fn table(write: bool) -> Result<()> {
    let found = emitted::weights()?;
    let file = file(&found);
    if write {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../instrument/src/cost/native.rs"
        );
        std::fs::write(Path::new(path), &file)?;
    } else {
        println!("{file}");
    }
    let differing = differing(&found, CostModel::Native.table());
    if write || differing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} weights differ from those in instrument/src/cost/native.rs: {}; `calibrate table --write` takes them over, and COST_VERSION grows",
        differing.len(),
        differing.join(", ")
    )
    .into())
}

/// Operators whose weights differ.
fn differing(found: &BTreeMap<String, u16>, table: &[(&str, u16)]) -> Vec<String> {
    let table: BTreeMap<String, u16> = table.iter().map(|(n, w)| ((*n).to_owned(), *w)).collect();
    let names = found.keys().chain(table.keys());
    let mut names: Vec<String> = names
        .filter(|name| found.get(*name) != table.get(*name))
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The source file of a table.
fn file(weights: &BTreeMap<String, u16>) -> String {
    let mut text = format!(
        "//! Instructions that Cranelift emits for each operator by itself, for {} without extensions.\n\
         //! Written by `cargo run --release -p sandglass-benches --bin calibrate table --write`.\n\n\
         /// By name, ascending.\n\
         pub(super) const WEIGHTS: &[(&str, u16)] = &[\n",
        emitted::TARGET
    );
    for (name, weight) in weights {
        let _ = writeln!(text, "    (\"{name}\", {weight}),");
    }
    text + "];\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cranelift emits what the checked-in weights say.
    #[test]
    #[cfg_attr(
        not(target_arch = "x86_64"),
        ignore = "wasmtime's Cranelift compiles for this machine alone"
    )]
    fn the_table_is_what_is_emitted() {
        let found = emitted::weights().expect("every operator compiles");
        assert_eq!(
            differing(&found, CostModel::Native.table()),
            Vec::<String>::new(),
            "`calibrate table --write`, and COST_VERSION grows"
        );
    }

    #[test]
    fn a_weight_that_changed_is_seen() {
        let weights = |pairs: &[(&str, u16)]| -> BTreeMap<String, u16> {
            pairs.iter().map(|(n, w)| ((*n).to_owned(), *w)).collect()
        };
        let found = weights(&[("A", 1), ("B", 2), ("D", 4)]);
        let table = [("A", 1), ("B", 3), ("C", 1)];
        assert_eq!(differing(&found, &table), ["B", "C", "D"]);
    }
}
