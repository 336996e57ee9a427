//! What campaigns had come to after a thousandth, a hundredth, a tenth and all of their executions: lines, faults and their depth.

use sandglass_benches::println;
use sandglass_benches::stats::median;

use crate::compare::{Cell, cells, mean};
use crate::gate::{counts, percent};
use crate::programs::PROGRAMS;
use crate::record::{Curve, Record};
use sandglass_runtime::cover::Share;

/// Parts of a campaign.
const PARTS: [u64; 4] = [1_000, 100, 10, 1];

/// Prints a row for each guidance, over all programs but P5s, which is P5 in another form.
pub(crate) fn print(records: &[Record], arms: &[&str]) {
    println!(
        "\nAfter a thousandth, a hundredth, a tenth and all of these executions: mean over programs of feasible lines in per cent \
         (by the last power of two before), faults that half of the campaigns had found, and their mean depth\n"
    );
    println!("| guidance | 1/1000 | 1/100 | 1/10 | all |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for arm in arms {
        let cells = cells(PROGRAMS, records, arm);
        let own: Vec<_> = cells
            .iter()
            .filter(|cell| cell.program.archive.is_some())
            .collect();
        if own
            .iter()
            .any(|cell| cell.records.iter().any(|r| r.reached.curve.is_empty()))
        {
            continue;
        }
        let texts = PARTS.map(|part| {
            let lines: Vec<f64> = own.iter().map(|cell| lines(cell, part)).collect();
            let depths: Vec<f64> = own.iter().flat_map(|cell| depths(cell, part)).collect();
            format!(
                "{:.1} / {} / {:.1}",
                mean(&lines),
                depths.len(),
                mean(&depths)
            )
        });
        println!("| {arm} | {} |", texts.join(" | "));
    }
}

/// The median of lines by then, without those of infeasible faults.
fn lines(cell: &Cell<'_>, part: u64) -> f64 {
    let never = cell.program.guest().infeasible.len() as u64;
    let share = |record: &&Record| {
        percent(Share {
            reached: reached(&record.reached.curve, cell.execs / part),
            all: record.reached.lines.all - never,
        })
    };
    median(&cell.records.iter().map(share).collect::<Vec<_>>())
}

/// Lines that were reached by so many executions, as far as is known.
fn reached(curve: &Curve, execs: u64) -> u64 {
    let before = curve.iter().take_while(|(at, _)| *at <= execs);
    before.last().map_or(0, |(_, lines)| *lines)
}

/// Depths of the faults that half of the campaigns had found by then.
fn depths(cell: &Cell<'_>, part: u64) -> Vec<f64> {
    let faults = cell.faults().into_iter();
    let found = faults.filter(|(.., firsts)| {
        let found = firsts.iter().filter(|first| **first < cell.execs / part);
        counts(found.count(), firsts.len())
    });
    found.map(|(_, depth, ..)| f64::from(depth)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn what_is_known_before_counts() {
        let curve = vec![(1, 10), (2, 12), (4, 20), (6, 21)];
        assert_eq!(
            [0, 1, 3, 5, 6, 9].map(|execs| reached(&curve, execs)),
            [0, 10, 12, 20, 21, 21]
        );
    }

    #[test]
    fn a_fault_counts_from_the_part_in_which_it_was_found() {
        let campaign = |seed, first| record(("p2", "codep"), seed, 10_000, 90, &[("2.2", first)]);
        let records = [campaign(1, 50), campaign(2, 500)];
        let cells = cells(PROGRAMS, &records, "codep");
        assert_eq!(
            PARTS.map(|part| depths(&cells[0], part).len()),
            [0, 1, 1, 1]
        );
    }
}
