//! Prints what a generator makes of a seed, or writes what it makes of many: to look at, and for other tools.
//!
//! `cargo run --release -p sandglass-generators --example print -- sql 7`
//! `cargo run --release -p sandglass-generators --example print -- sql 1000 FOLDER`

use std::io::Write;

use sandglass_generators::{bst, javascript, json, lua, shader, sql, wasm, xml};
use sandglass_sdk::native::{Outcome, Source, run};

type Make = fn() -> Vec<u8>;

const GENERATORS: &[(&str, Make)] = &[
    ("bst", || bst::tree().to_text().into()),
    ("javascript", || {
        javascript::program(javascript::ZEST).into()
    }),
    ("javascript-bounded", || {
        javascript::program(javascript::BOUNDED).into()
    }),
    ("json", || json::text().into()),
    ("lua", || lua::chunk().into()),
    ("shader", || shader::shader().into()),
    ("sql", || sql::script().into()),
    ("wasm", wasm::module),
    ("xml", || xml::project(xml::ZEST).into()),
    ("xml-bounded", || xml::project(xml::RLCHECK).into()),
];

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
