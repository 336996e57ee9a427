//! The programs with harder faults of our own: how often each fault was found, and by whom.
//!
//! They begin with the rows of the programs that they are copies of, and DepFuzz gets the same schemas and tuples. No archive
//! knows them, so they count neither for the gate nor in comparisons.

use sandglass_benches::println;

use crate::compare::{Cell, cells};
use crate::gate::middle;
use crate::programs::HARD;
use crate::record::Record;

/// Whether a campaign is of one of them.
pub(crate) fn is_hard(record: &Record) -> bool {
    HARD.iter().any(|hard| hard.name == record.key.program)
}

/// Prints a row for each fault.
pub(crate) fn print(records: &[Record]) {
    let mut arms: Vec<&str> = Vec::new();
    for record in records {
        if !arms.contains(&&*record.key.arm) {
            arms.push(&record.key.arm);
        }
    }
    println!(
        "\nHarder faults: how many campaigns found each, and in the median after how many executions\n"
    );
    println!("| fault | depth | {} |", arms.join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(arms.len()));
    let by_arm: Vec<_> = arms.iter().map(|arm| cells(HARD, records, arm)).collect();
    rows(&by_arm).iter().for_each(|row| println!("{row}"));
}

/// A row for each fault, and one for all: how many any campaign found, and how many half of them did.
fn rows(by_arm: &[Vec<Cell<'_>>]) -> Vec<String> {
    let mut rows = Vec::new();
    let mut totals = vec![[0; 2]; by_arm.len()];
    for program in HARD {
        for (nth, (fault, depth)) in program.guest().faults.iter().enumerate() {
            let mut texts = Vec::new();
            for (cells, total) in by_arm.iter().zip(&mut totals) {
                let cell = cells.iter().find(|cell| cell.program.name == program.name);
                texts.push(cell.map_or(String::new(), |cell| {
                    let (_, _, found, firsts) = &cell.faults()[nth];
                    let all = firsts.len();
                    total[0] += usize::from(*found > 0);
                    total[1] += usize::from(2 * found >= all);
                    match middle(firsts, cell.execs) {
                        _ if *found == 0 => format!("– of {all}"),
                        never if never == "–" => format!("{found} of {all}"),
                        median => format!("{found} of {all} @{median}"),
                    }
                }));
            }
            rows.push(format!("| {fault} | {depth} | {} |", texts.join(" | ")));
        }
    }
    let totals: Vec<_> = totals
        .iter()
        .map(|[any, half]| format!("{any}, {half} by half"))
        .collect();
    rows.push(format!("| found | | {} |", totals.join(" | ")));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;
    use crate::seeds::{Rows, seed};
    use sandglass_guests::HARD as GUESTS;
    use sandglass_runtime::said::Said;
    use sandglass_sandbox::{Build, Limits, Options, Sandbox, on_guest_thread};
    use std::sync::Arc;

    /// Else there would be nothing to find.
    #[test]
    fn what_they_begin_with_triggers_no_fault() {
        on_guest_thread(|| {
            for guest in &GUESTS {
                let program = sandglass_sandbox::Program::build(
                    guest.wasm,
                    Build::Exact,
                    &Options::default(),
                    None,
                );
                let program = Arc::new(program.expect("it is a target"));
                let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("it sets up");
                for rows in [Rows::Weak, Rows::Reduced] {
                    let replay = sandbox.replay(&seed(guest.name, rows));
                    // P9 has nothing to sum up in some of its rows, as the original.
                    let said = Said::of(replay.outcome.exit, &replay.stderr);
                    let is_fault =
                        matches!(&said, Some(Said::Message(words)) if words.starts_with("fault "));
                    assert!(!is_fault, "{} {rows:?}: {said:?}", guest.name);
                }
            }
        });
    }

    const EXECS: u64 = 50_000;

    #[test]
    fn a_row_says_how_many_found_a_fault_and_when() {
        let codep =
            |seed, faults: &[(&str, u64)]| record(("p2h", "codep"), seed, EXECS, 90, faults);
        let all = [
            codep(1, &[("h2.1", 7), ("h2.2", 9)]),
            codep(2, &[("h2.1", 500_000), ("h2.2", 1_000)]),
            codep(3, &[("h2.1", 8)]),
            record(("p2h", "bigfuzz"), 1, EXECS, 90, &[("h2.2", 7)]),
            record(("p2", "codep"), 1, EXECS, 90, &[("2.2", 7)]),
        ];
        let by_arm = ["codep", "bigfuzz"].map(|arm| cells(HARD, &all, arm));
        let rows = rows(&by_arm);
        assert_eq!(rows.len(), 31 + 1);
        let of_p2h = &rows[3..6];
        assert_eq!(
            of_p2h,
            [
                "| h2.1 | 3 | 2 of 3 @8 | – of 1 |",
                "| h2.2 | 5 | 2 of 3 @1,000 | 1 of 1 @7 |",
                "| h2.3 | 8 | – of 3 | – of 1 |",
            ]
        );
        assert_eq!(rows[0], "| h1.1 | 3 |  |  |");
        assert_eq!(rows[31], "| found | | 2, 2 by half | 1, 1 by half |");
    }
}
