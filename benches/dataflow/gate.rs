//! The gate: whether a port does what a day of the published tool did, as its authors' archive has it.
//!
//! In: campaigns of the port with as many executions as the archive has. Out: a table, and a verdict: coverage within
//! some points on enough programs, and the same faults on enough. A fault counts if half of the campaigns found it.
//! Coverage is of statements, as the archive's is (`statements.rs`); what it is of lines and operators stands beside it.

use std::collections::{BTreeMap, BTreeSet};

use sandglass_benches::println;
use sandglass_benches::stats::median;
use sandglass_runtime::cover::Share;

use crate::Result;
use crate::campaign::Prepared;
use crate::programs::{Archived, PROGRAMS, Program};
use crate::record::Record;
use crate::statements::Statements;

/// Points of coverage that may lie between.
const POINTS: f64 = 5.0;
/// Programs whose coverage has to be as near as that,
const NEAR: usize = 13;
/// and whose faults have to be the same.
const SAME: usize = 14;
/// Programs of the archive.
const ALL: usize = 17;

/// Campaigns of a port on one program beside the archive.
#[derive(Debug)]
struct Row {
    is_near: bool,
    is_near_by_lines: bool,
    is_near_by_operators: bool,
    is_same: bool,
    text: String,
}

/// Prints a table for each guidance that the archive knows faults of.
///
/// Errs if the statements of a program cannot be counted.
pub(crate) fn print(records: &[Record]) -> Result<()> {
    for guidance in ["depfuzz", "bigfuzz"] {
        let mut rows = Vec::new();
        for program in PROGRAMS {
            let Some(archived) = program.archived(guidance) else {
                continue;
            };
            let of: Vec<&Record> = (records.iter())
                .filter(|record| record.key.arm == guidance && record.key.program == program.name)
                .collect();
            let counted: Vec<&Record> = (of.iter().copied())
                .filter(|record| record.reached.missed.is_some())
                .collect();
            let left_out = of.len() - counted.len();
            if left_out > 0 {
                let name = program.name;
                println!(
                    "{name} {guidance}: left out {left_out} campaigns without the lines that they missed"
                );
            }
            if !counted.is_empty() {
                let lines = Prepared::new(program)?.lines_with_code()?;
                let statements = Statements::new(program.guest(), &lines)?;
                rows.push(Row::new(program, &statements, archived, &counted));
            }
        }
        if rows.is_empty() {
            continue;
        }
        println!("\n**{guidance}** beside the archive\n");
        println!(
            "| program | seeds | executions | statements | lines | operators | archive | our statements | archive's | ratio | faults | archive | CPU s |"
        );
        println!("| --- |{} --- | --- | ---: |", " ---: |".repeat(9));
        rows.iter().for_each(|row| println!("{}", row.text));
        println!("\n{guidance}: {}", verdict(&rows));
    }
    Ok(())
}

/// Faults that at least half of the campaigns found before so many executions; with each, how many did, and the
/// executions of all, `most` for those that never did.
pub(crate) fn faults(records: &[&Record], most: u64) -> BTreeMap<String, (usize, Vec<u64>)> {
    let names = records
        .iter()
        .flat_map(|record| record.reached.faults.keys());
    let names: BTreeSet<&String> = names.collect();
    let of = |name: &String| {
        let first = |record: &&Record| {
            let first = record.reached.faults.get(name).map(|first| first.exec);
            first.unwrap_or(most).min(most)
        };
        let firsts: Vec<u64> = records.iter().map(first).collect();
        (firsts.iter().filter(|first| **first < most).count(), firsts)
    };
    let all = names.into_iter().map(|name| (name.clone(), of(name)));
    all.filter(|(_, (found, _))| *found > 0).collect()
}

/// Whether a fault that so many of all campaigns found counts.
pub(crate) fn counts(found: usize, all: usize) -> bool {
    2 * found >= all
}

/// The middle one of some executions, the lower of two, as text; `most` stands for never.
pub(crate) fn middle(firsts: &[u64], most: u64) -> String {
    let mut sorted = firsts.to_vec();
    sorted.sort_unstable();
    match sorted[(sorted.len() - 1) / 2] {
        never if never >= most => "–".to_owned(),
        middle => grouped(middle),
    }
}

/// A number with commas.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share in per cent.
pub(crate) fn percent(share: Share) -> f64 {
    100.0 * share.reached as f64 / share.all.max(1) as f64
}

impl Row {
    fn new(
        program: &Program,
        statements: &Statements,
        archived: &Archived,
        records: &[&Record],
    ) -> Row {
        let median_of = |share: fn(&Record) -> Share| {
            let of = records.iter().map(|record| percent(share(record)));
            median(&of.collect::<Vec<_>>())
        };
        let of_statements = |record: &&Record| {
            let missed = record.reached.missed.as_ref().expect("others are left out");
            statements.share(missed, &record.reached.faults)
        };
        let shares: Vec<Share> = records.iter().map(of_statements).collect();
        let statements = median(&shares.iter().copied().map(percent).collect::<Vec<_>>());
        let ours = shares[0].all;
        let theirs = program.statements.expect("the archive has it");
        let lines = median_of(|record| record.reached.lines);
        let operators = median_of(|record| record.reached.operators);
        let execs = records.iter().map(|record| record.reached.execs).min();
        let execs = execs.unwrap_or(0);
        let mut texts = Vec::new();
        let mut found_often = BTreeSet::new();
        for (fault, (found, firsts)) in faults(records, u64::MAX) {
            let often = counts(found, records.len());
            texts.push(match often {
                true => format!("{fault}@{}", middle(&firsts, u64::MAX)),
                false => format!("({fault}: {found})"),
            });
            if often {
                found_often.insert(fault);
            }
        }
        let expected: BTreeSet<String> = (archived.faults.unwrap_or_default().iter())
            .map(|fault| (*fault).to_owned())
            .collect();
        let is_near = |share: f64| (share - archived.coverage).abs() <= POINTS;
        let is_same = found_often == expected;
        let bold = |text: String, is: bool| if is { text } else { format!("**{text}**") };
        let cut = if execs < archived.execs { " (cut)" } else { "" };
        let or_none = |texts: Vec<String>| match texts.is_empty() {
            true => "none".to_owned(),
            false => texts.join(" "),
        };
        let cpu_s: Vec<f64> = records.iter().map(|record| record.reached.cpu_s).collect();
        let text = format!(
            "| {} | {} | {}{cut} | {} | {lines:.1} | {operators:.1} | {:.1} | {ours} | {theirs} | {:.2} | {} | {} | {:.1} |",
            program.name.to_uppercase(),
            records.len(),
            grouped(execs),
            bold(format!("{statements:.1}"), is_near(statements)),
            archived.coverage,
            ours as f64 / theirs as f64,
            bold(or_none(texts), is_same),
            or_none(expected.into_iter().collect()),
            median(&cpu_s),
        );
        Row {
            is_near: is_near(statements),
            is_near_by_lines: is_near(lines),
            is_near_by_operators: is_near(operators),
            is_same,
            text,
        }
    }
}

/// The verdict over the programs that were run.
fn verdict(rows: &[Row]) -> String {
    let count = |of: fn(&Row) -> bool| rows.iter().filter(|row| of(row)).count();
    let (near, same) = (count(|row| row.is_near), count(|row| row.is_same));
    let passed = match near >= NEAR && same >= SAME {
        true => "passed",
        false if rows.len() < ALL => "not passed, on fewer than 17 programs",
        false => "not passed",
    };
    format!(
        "statements within {POINTS} points on {near} of {} (lines on {}, operators on {}), expected {NEAR}; the same faults on {same}, expected {SAME}: {passed}",
        rows.len(),
        count(|row| row.is_near_by_lines),
        count(|row| row.is_near_by_operators),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::find;
    use crate::record::tests::record;

    fn row(campaigns: &[(u64, &[(&str, u64)])]) -> Row {
        let records: Vec<Record> = (1..)
            .zip(campaigns)
            .map(|(seed, (lines, faults))| record(("p2", "depfuzz"), seed, 36_290, *lines, faults))
            .collect();
        let p2 = find("p2").expect("it is one of them");
        let archived = p2.archived("depfuzz").expect("it has a row");
        let lines: Vec<u32> = (1..100).collect();
        let statements =
            Statements::new(p2.guest(), &lines).expect("there are rules for all of it");
        Row::new(
            p2,
            &statements,
            archived,
            &records.iter().collect::<Vec<_>>(),
        )
    }

    #[test]
    fn half_of_the_campaigns_are_enough() {
        let all: &[(u64, &[(&str, u64)])] = &[
            (90, &[("2.2", 7), ("2.4", 1)]),
            (93, &[("2.4", 5)]),
            (99, &[("2.3", 9), ("2.4", 3)]),
            (94, &[("2.2", 8), ("2.3", 4)]),
        ];
        let whole = row(all);
        assert!(whole.is_same && !whole.is_near);
        assert!(whole.is_near_by_lines && !whole.is_near_by_operators);
        // Without the three statements of line 13, and those of two or three faults.
        let text = "| 36,290 | **86.0** | 93.5 | 74.8 | 97.1 | 50 | 70 | 0.71 |";
        assert!(whole.text.contains(text), "{}", whole.text);
        assert!(whole.text.contains("2.4@3 |"), "{}", whole.text);
        let every = [("2.1", 1), ("2.2", 7), ("2.3", 4), ("2.4", 3)];
        let more = row(&[(94, &every)]);
        assert!(more.is_near && !more.is_same && more.text.contains("| 94.0 | 94.0 |"));
        let fewer = row(&all[..3]);
        assert!(!fewer.is_same);
        assert!(
            fewer.text.contains("**(2.2: 1) (2.3: 1) 2.4@3**"),
            "{}",
            fewer.text
        );
        let text = verdict(&[whole, fewer]);
        assert!(
            text.starts_with("statements within 5 points on 0 of 2 (lines on 2, operators on 0)"),
            "{text}"
        );
        assert!(
            text.contains("the same faults on 1, expected 14: not passed, on fewer"),
            "{text}"
        );
    }

    #[test]
    fn numbers_are_grouped() {
        let texts = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(middle(&[1, 9, 9], 9), "–");
        assert_eq!(middle(&[2, 9, 1, u64::MAX], u64::MAX), "2");
        assert_eq!(middle(&[1, 3, 9], 9), "3");
    }
}
