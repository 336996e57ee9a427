//! One guidance beside all others, after as many executions as DepFuzz had on each program in a day.
//!
//! In: campaigns; what a longer one did later does not count. Out, as Markdown: coverage, faults that half of the
//! campaigns found and their mean depth; executions and seconds to each fault; A12 with the stars of the exact
//! Mann–Whitney test, and on which programs the guidance is worse. Losses look like wins.

use sandglass_benches::println;
use sandglass_benches::stats::{Contrast, mann_whitney, median};
use sandglass_runtime::cover::Share;

use crate::branches;
use crate::gate::{counts, faults, grouped, middle, percent};
use crate::programs::{PROGRAMS, Program};
use crate::progress;
use crate::record::Record;

/// Campaigns of one guidance on one program.
pub(crate) struct Cell<'a> {
    pub(crate) program: &'static Program,
    pub(crate) records: Vec<&'a Record>,
    /// Executions that count.
    pub(crate) execs: u64,
}

/// Prints all tables.
pub(crate) fn print(records: &[Record], of: &str) {
    let mut arms: Vec<&str> = Vec::new();
    for record in records {
        if !arms.contains(&&*record.key.arm) {
            arms.push(&record.key.arm);
        }
    }
    print_overview(records, &arms);
    branches::print(records, &arms);
    progress::print(records, &arms);
    print_faults(records, &arms);
    for baseline in arms.iter().filter(|arm| **arm != of) {
        print_contrasts(records, of, baseline);
    }
    println!();
    for arm in arms {
        let mut commits: Vec<_> = (records.iter())
            .filter(|record| record.key.arm == arm)
            .map(|record| &*record.commit)
            .collect();
        commits.sort_unstable();
        commits.dedup();
        println!("`{arm}` was run by {}.", commits.join(", "));
    }
}

/// The campaigns of a guidance, by program.
pub(crate) fn cells<'a>(
    programs: &'static [Program],
    records: &'a [Record],
    arm: &str,
) -> Vec<Cell<'a>> {
    let cell = |program: &'static Program| {
        let of = |record: &&Record| record.key.arm == arm && record.key.program == program.name;
        let records: Vec<&Record> = records.iter().filter(of).collect();
        let execs = records.iter().map(|record| record.reached.execs).min()?;
        Some(Cell {
            program,
            records,
            execs: execs.min(program.pace()),
        })
    };
    programs.iter().filter_map(cell).collect()
}

impl Cell<'_> {
    /// Lines by campaign.
    fn lines(&self) -> Vec<u64> {
        let of = self.records.iter();
        of.map(|record| record.reached.lines_paced).collect()
    }

    /// The median of coverage without lines of infeasible faults, each of which has one.
    fn coverage(&self) -> f64 {
        let never = self.program.guest().infeasible.len() as u64;
        let share = |record: &&Record| {
            percent(Share {
                reached: record.reached.lines_paced,
                all: record.reached.lines.all - never,
            })
        };
        median(&self.records.iter().map(share).collect::<Vec<_>>())
    }

    /// Feasible faults with their depth, those that count, and the executions of each campaign.
    pub(crate) fn faults(&self) -> Vec<(&'static str, u32, usize, Vec<u64>)> {
        let found = faults(&self.records, self.execs);
        let never = || (0, vec![self.execs; self.records.len()]);
        let all = self.program.guest().faults.iter();
        all.map(|&(fault, depth)| {
            let (count, firsts) = found.get(fault).cloned().unwrap_or_else(never);
            (fault, depth, count, firsts)
        })
        .collect()
    }

    /// Depths of the faults that half of the campaigns found.
    fn depths(&self) -> Vec<f64> {
        let all = self.faults();
        let found = all
            .iter()
            .filter(|(_, _, found, _)| counts(*found, self.records.len()));
        found.map(|(_, depth, ..)| f64::from(*depth)).collect()
    }

    /// How many faults each campaign found.
    fn numbers(&self) -> Vec<u64> {
        let faults = self.faults();
        let count = |nth: usize| {
            let found = faults
                .iter()
                .filter(|(.., firsts)| firsts[nth] < self.execs);
            found.count() as u64
        };
        (0..self.records.len()).map(count).collect()
    }

    /// The middle one of the seconds to a fault, the lower of two; never if more than half of the campaigns never found it.
    fn seconds(&self, fault: &str) -> Option<f64> {
        let first = |record: &&Record| {
            let first = record.reached.faults.get(fault);
            let counts = first.filter(|first| first.exec < self.execs);
            counts.map_or(f64::INFINITY, |first| first.cpu_s)
        };
        let mut seconds: Vec<f64> = self.records.iter().map(first).collect();
        seconds.sort_by(f64::total_cmp);
        Some(seconds[(seconds.len() - 1) / 2]).filter(|seconds| seconds.is_finite())
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    // No sum of none: that is -0.
    values.iter().fold(0.0, |sum, value| sum + value) / values.len().max(1) as f64
}

/// Coverage, faults and their depth.
fn print_overview(records: &[Record], arms: &[&str]) {
    println!(
        "\nAfter DepFuzz's executions: feasible lines in per cent, faults found by half of the campaigns, their mean depth, seeds\n"
    );
    println!("| program | executions | {} |", arms.join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(arms.len()));
    let by_arm: Vec<Vec<Cell<'_>>> = arms
        .iter()
        .map(|arm| cells(PROGRAMS, records, arm))
        .collect();
    for program in PROGRAMS {
        let cell = |cells: &Vec<Cell<'_>>| {
            let cell = cells
                .iter()
                .find(|cell| cell.program.name == program.name)?;
            let depths = cell.depths();
            let cut = match cell.execs < program.pace() {
                true => format!(" at {}", grouped(cell.execs)),
                false => String::new(),
            };
            Some(format!(
                "{:.1} / {} / {:.1} / {}{cut}",
                cell.coverage(),
                depths.len(),
                mean(&depths),
                cell.records.len()
            ))
        };
        let texts: Vec<_> = (by_arm.iter())
            .map(|cells| cell(cells).unwrap_or_default())
            .collect();
        println!(
            "| {} of {} | {} | {} |",
            program.name.to_uppercase(),
            program.guest().faults.len(),
            grouped(program.pace()),
            texts.join(" | ")
        );
    }
    let total = |cells: &Vec<Cell<'_>>| {
        // P5s is P5 in another form.
        let own: Vec<_> = cells
            .iter()
            .filter(|cell| cell.program.archive.is_some())
            .collect();
        let coverage: Vec<f64> = own.iter().map(|cell| cell.coverage()).collect();
        let depths: Vec<f64> = own.iter().flat_map(|cell| cell.depths()).collect();
        format!(
            "{:.1} / {} / {:.1} on {}",
            mean(&coverage),
            depths.len(),
            mean(&depths),
            own.len()
        )
    };
    let totals: Vec<_> = by_arm.iter().map(total).collect();
    println!("| all without P5s | | {} |", totals.join(" | "));
}

/// Executions and seconds to each fault.
fn print_faults(records: &[Record], arms: &[&str]) {
    println!(
        "\nMedian executions, and CPU seconds, to each fault; how many campaigns found it, if not all\n"
    );
    println!("| fault | depth | {} |", arms.join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(arms.len()));
    let by_arm: Vec<Vec<Cell<'_>>> = arms
        .iter()
        .map(|arm| cells(PROGRAMS, records, arm))
        .collect();
    for program in PROGRAMS {
        for &(fault, depth) in program.guest().faults {
            let text = |cells: &Vec<Cell<'_>>| {
                let cell = cells
                    .iter()
                    .find(|cell| cell.program.name == program.name)?;
                let faults = cell.faults();
                let (_, _, found, firsts) = faults.iter().find(|(name, ..)| *name == fault)?;
                let seconds = cell.seconds(fault);
                let seconds = seconds.map_or(String::new(), |s| format!(" {s:.2} s"));
                let some = match *found == firsts.len() {
                    true => String::new(),
                    false => format!(" ({found} of {})", firsts.len()),
                };
                Some(format!("{}{seconds}{some}", middle(firsts, cell.execs)))
            };
            let texts: Vec<_> = (by_arm.iter())
                .map(|cells| text(cells).unwrap_or_default())
                .collect();
            println!("| {fault} | {depth} | {} |", texts.join(" | "));
        }
    }
}

/// Whether the first sample is significantly less.
fn is_less(contrast: Contrast) -> bool {
    contrast.p < 0.05 && contrast.a12 < 0.5
}

/// A guidance against another, program by program.
fn print_contrasts(records: &[Record], of: &str, baseline: &str) {
    let (own, others) = (
        cells(PROGRAMS, records, of),
        cells(PROGRAMS, records, baseline),
    );
    let pair = |cell: &'_ Cell<'_>| {
        others
            .iter()
            .position(|o| o.program.name == cell.program.name)
    };
    println!(
        "\n`{of}` against `{baseline}`: A12 (above 0.5: `{of}` has more); faults that it finds significantly earlier, and later\n"
    );
    println!("| program | lines | faults | earlier | later |");
    println!("| --- | ---: | ---: | --- | --- |");
    let (mut worse, mut late) = (Vec::new(), Vec::new());
    for cell in &own {
        let Some(other) = pair(cell).map(|at| &others[at]) else {
            continue;
        };
        let name = cell.program.name.to_uppercase();
        if cell.execs != other.execs {
            println!(
                "| {name} | not compared: {} and {} executions | | | |",
                cell.execs, other.execs
            );
            continue;
        }
        let lines = mann_whitney(&cell.lines(), &other.lines());
        let numbers = mann_whitney(&cell.numbers(), &other.numbers());
        let (mut earlier, mut later) = (Vec::new(), Vec::new());
        for ((fault, .., own), (.., theirs)) in cell.faults().iter().zip(&other.faults()) {
            let contrast = mann_whitney(own, theirs);
            match () {
                () if is_less(contrast) => earlier.push(*fault),
                () if contrast.p < 0.05 => later.push(*fault),
                () => {}
            }
        }
        if is_less(lines) || is_less(numbers) {
            worse.push(name.clone());
        }
        late.extend(later.clone());
        println!(
            "| {name} | {:.2}{} | {:.2}{} | {} | {} |",
            lines.a12,
            lines.stars(),
            numbers.a12,
            numbers.stars(),
            earlier.join(" "),
            later.join(" ")
        );
    }
    let or_none = |of: Vec<String>| {
        if of.is_empty() {
            "none".to_owned()
        } else {
            of.join(" ")
        }
    };
    println!(
        "\nSignificantly fewer lines or faults (p < 0.05, not corrected for {} programs): {}. Faults significantly later: {}.",
        own.len(),
        or_none(worse),
        or_none(late.into_iter().map(str::to_owned).collect())
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn what_came_after_the_pace_does_not_count() {
        let pace = PROGRAMS[1].pace();
        let at = ("p2", "bigfuzz");
        let all = [
            record(at, 1, 346_766, 90, &[("2.2", 400), ("2.4", pace)]),
            record(at, 2, 346_766, 80, &[("2.2", 600)]),
            record(at, 3, 346_766, 70, &[("2.2", pace + 1), ("2.3", pace - 1)]),
        ];
        let cells = cells(PROGRAMS, &all, "bigfuzz");
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].execs, pace);
        assert_eq!(cells[0].coverage(), 80.0);
        assert_eq!(cells[0].numbers(), [1, 1, 1]);
        // 2.2 by two of three.
        assert_eq!(cells[0].depths(), [5.0]);
        let seconds = |fault| cells[0].seconds(fault);
        assert_eq!(
            (seconds("2.2"), seconds("2.3"), seconds("2.4")),
            (Some(0.6), None, None)
        );
    }

    #[test]
    fn fewer_has_to_be_significant() {
        let contrast = |a12, p| Contrast { a12, p };
        assert!(is_less(contrast(0.2, 0.04)));
        assert!(!is_less(contrast(0.8, 0.04)) && !is_less(contrast(0.2, 0.06)));
    }
}
