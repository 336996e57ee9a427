//! Prints what a generator makes of a seed, or writes what it makes of many: to look at, and for other tools.
//!
//! `cargo run --release -p sandglass-generators --example print -- sql 7`
//! `cargo run --release -p sandglass-generators --example print -- sql 1000 FOLDER`

use std::io::Write;

use sandglass_generators::GENERATORS;
use sandglass_sdk::native::{Outcome, Source, run};

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (make, number) = match arguments.as_slice() {
        [name, number, ..] => (
            GENERATORS.iter().find(|(known, _)| known == name),
            number.parse::<u64>().ok(),
        ),
        _ => (None, None),
    };
    let (Some((_, make)), Some(number)) = (make, number) else {
        let names: Vec<&str> = GENERATORS.iter().map(|(name, _)| *name).collect();
        return Err(std::io::Error::other(format!(
            "expected NAME SEED, or NAME COUNT FOLDER; NAME is one of {}",
            names.join(", ")
        )));
    };
    let input = |seed| match run(Source::Seeded(seed), make).outcome {
        Outcome::Done(input) => Some(input),
        _ => None,
    };
    match arguments.get(2) {
        None => std::io::stdout().write_all(&input(number).unwrap_or_default()),
        Some(folder) => {
            for seed in 0..number {
                if let Some(input) = input(seed) {
                    std::fs::write(format!("{folder}/{seed}"), input)?;
                }
            }
            Ok(())
        }
    }
}
