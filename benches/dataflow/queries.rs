//! The queries of TPC-DS: how many of their mutants campaigns killed, and how many lines they reached.
//!
//! Guidances that have seeds begin with the same tables. Not all run them, so what dies of those counts for nobody. No archive
//! knows of these programs, so they count neither for the gate nor in other comparisons. Which mutants can be killed at all
//! nobody knows: a share is of all that there are.

use sandglass_benches::println;
use sandglass_benches::stats::{mann_whitney, median};

use crate::compare::{Cell, cells};
use crate::programs::QUERIES;
use crate::record::Record;

/// Whether a campaign is of one of them.
pub(crate) fn is_query(record: &Record) -> bool {
    QUERIES.iter().any(|query| query.name == record.key.program)
}

/// Prints how many mutants were killed, and how `of` compares with the others in that.
pub(crate) fn print(records: &[Record], of: &str) {
    let mut arms: Vec<&str> = Vec::new();
    for record in records {
        if !arms.contains(&&*record.key.arm) {
            arms.push(&record.key.arm);
        }
    }
    let by_arm: Vec<_> = arms
        .iter()
        .map(|arm| cells(QUERIES, records, arm))
        .collect();
    let head = |what: &str| {
        println!("\n{what}\n");
        println!("| query | of | {} |", arms.join(" | "));
        println!("| --- | ---: |{}", " ---: |".repeat(arms.len()));
    };
    head("Mutants killed, the median of campaigns; in brackets what any campaign killed");
    let mut all = vec![[0.0; 2]; arms.len()];
    let mut total = 0;
    for query in QUERIES {
        let count = query.query().expect("it is one").mutant_count;
        total += count;
        let texts = by_arm.iter().zip(&mut all).map(|(cells, all)| {
            let Some(cell) = cells.iter().find(|cell| cell.program.name == query.name) else {
                return String::new();
            };
            let counts: Vec<_> = killed(cell).iter().map(|count| *count as f64).collect();
            let (middle, any) = (median(&counts), any(cell));
            all[0] += middle;
            all[1] += any as f64;
            format!("{middle} ({any})")
        });
        println!(
            "| {} | {count} | {} |",
            query.name,
            texts.collect::<Vec<_>>().join(" | ")
        );
    }
    let texts = all.iter().map(|[middle, any]| format!("{middle} ({any})"));
    println!(
        "| all | {total} | {} |",
        texts.collect::<Vec<_>>().join(" | ")
    );
    head("Lines of the query's own source, the median");
    for query in QUERIES {
        let cell = |cells: &Vec<Cell<'_>>| {
            let mut cells = cells.iter();
            let cell = cells.find(|cell| cell.program.name == query.name)?;
            let mut of = cell.records.iter().map(|record| record.reached.lines);
            let lines: Vec<_> = of.clone().map(|lines| lines.reached as f64).collect();
            Some((median(&lines), of.next_back()?.all))
        };
        let found: Vec<_> = by_arm.iter().map(cell).collect();
        let lines = found.iter().flatten().map(|(_, all)| *all).next();
        let texts = found
            .iter()
            .map(|cell| cell.map_or(String::new(), |(middle, _)| middle.to_string()));
        let texts = texts.collect::<Vec<_>>().join(" | ");
        println!(
            "| {} | {} | {texts} |",
            query.name,
            lines.unwrap_or_default()
        );
    }
    let Some(ours) = arms.iter().position(|arm| *arm == of) else {
        return;
    };
    println!("\nA12 of mutants killed, `{of}` over the others\n");
    println!("| query | {} |", arms.join(" | "));
    println!("| --- |{}", " ---: |".repeat(arms.len()));
    for cell in &by_arm[ours] {
        let texts = by_arm.iter().map(|cells| {
            let mut others = cells.iter();
            let other = others.find(|other| other.program.name == cell.program.name);
            other.map_or(String::new(), |other| {
                let contrast = mann_whitney(&killed(cell), &killed(other));
                format!("{:.2}{}", contrast.a12, contrast.stars())
            })
        });
        println!(
            "| {} | {} |",
            cell.program.name,
            texts.collect::<Vec<_>>().join(" | ")
        );
    }
}

/// Mutants killed by each campaign within the executions that count.
fn killed(cell: &Cell<'_>) -> Vec<u64> {
    let of = cell.records.iter().map(|record| {
        let faults = record.reached.faults.values();
        faults.filter(|first| first.exec < cell.execs).count() as u64
    });
    of.collect()
}

/// Mutants killed by any.
fn any(cell: &Cell<'_>) -> usize {
    let mut all: Vec<_> = (cell.records.iter())
        .flat_map(|record| &record.reached.faults)
        .filter(|(_, first)| first.exec < cell.execs)
        .map(|(name, _)| name)
        .collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}
