//! Branches of the programs' own source: of the arms that any campaign took, how many each one took.
//!
//! Arms are those of the module's branching operators whose line is the program's own, so a condition that the compiler
//! copied counts with each copy, and what it made branchless does not count. Which arms are feasible is not known: all
//! that any campaign of any guidance in the table took are, and the specification of the evaluation (§6.3) takes these.

use std::collections::BTreeSet;

use sandglass_benches::println;
use sandglass_benches::stats::median;

use crate::compare::{Cell, cells, mean};
use crate::programs::PROGRAMS;
use crate::record::Record;

type Arms = BTreeSet<(u32, u32)>;

/// Prints a row for each program whose campaigns tell their arms.
pub(crate) fn print(records: &[Record], arms: &[&str]) {
    println!(
        "\nArms of branches, after as many executions: taken by any campaign, and of those in per cent\n"
    );
    println!("| program | arms | {} |", arms.join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(arms.len()));
    let by_arm: Vec<Vec<Cell<'_>>> = arms
        .iter()
        .map(|arm| cells(PROGRAMS, records, arm))
        .collect();
    let mut totals = vec![Vec::new(); arms.len()];
    for program in PROGRAMS {
        let of_program = |cells: &'_ [Cell<'_>]| {
            let at = cells
                .iter()
                .position(|cell| cell.program.name == program.name)?;
            taken(&cells[at].records)
        };
        let taken: Vec<Option<Vec<Arms>>> = by_arm.iter().map(|cells| of_program(cells)).collect();
        let all: Arms = taken
            .iter()
            .flatten()
            .flatten()
            .flatten()
            .copied()
            .collect();
        if all.is_empty() {
            continue;
        }
        let mut texts = Vec::new();
        for (campaigns, total) in taken.iter().zip(&mut totals) {
            let share = campaigns.as_ref().map(|campaigns| share(campaigns, &all));
            texts.push(share.map_or(String::new(), |share| format!("{share:.1}")));
            // P5s is P5 in another form.
            total.extend(share.filter(|_| program.archive.is_some()));
        }
        let (name, arms) = (program.name.to_uppercase(), all.len());
        println!("| {name} | {arms} | {} |", texts.join(" | "));
    }
    let totals = totals
        .iter()
        .map(|total| format!("{:.1} on {}", mean(total), total.len()));
    println!(
        "| all without P5s | | {} |",
        totals.collect::<Vec<_>>().join(" | ")
    );
}

/// The arms that each campaign took; nothing if one does not tell.
fn taken(campaigns: &[&Record]) -> Option<Vec<Arms>> {
    let arms = campaigns.iter().map(|record| {
        let arms = record.reached.arms_paced.as_ref()?;
        Some(arms.iter().copied().collect())
    });
    arms.collect()
}

/// The median of the campaigns' per cent.
fn share(campaigns: &[Arms], all: &Arms) -> f64 {
    let share = |arms: &Arms| 100.0 * arms.len() as f64 / all.len() as f64;
    median(&campaigns.iter().map(share).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn an_arm_that_nobody_took_does_not_count() {
        let campaign = |lines| record(("p2", "codep"), 1, 700, lines, &[]);
        let (few, many) = (campaign(30), campaign(40));
        let taken = taken(&[&few, &many]).expect("both tell");
        let all: Arms = taken.iter().flatten().copied().collect();
        assert_eq!((all.len(), share(&taken, &all)), (40, 87.5));
        let mut old = campaign(30);
        old.reached.arms_paced = None;
        assert_eq!(super::taken(&[&few, &old]), None);
    }
}
