//! Two arms side by side, as SpotOn's paper has them: what campaigns of the same seed both reach, and what one
//! alone; how much a median moves with the seeds; and the goals of a subject.
//!
//! Spread: of a thousand halves of the campaigns, drawn by a generator of ours, how far their medians lie apart
//! (the 5th to the 95th percentile) in percent of the median of all.

use std::collections::BTreeSet;

use sandglass_benches::println;
use sandglass_benches::stats::{mann_whitney, median};
use sandglass_engine::Rng;
use serde_json::Value;

use crate::table::{Group, groups, values};

/// The two scopes: the key of their bits, that of their count, and the heading.
const SCOPES: [(&str, &str, &str); 2] = [
    ("own_bits", "own", "own code"),
    ("all_bits", "branches", "all code"),
];

const HALVES: usize = 1000;

/// Prints a table of each scope: the first arm against each of the others, then the spread of each arm.
pub(crate) fn print(results: &[Value], arms: &[&str]) {
    let groups = groups(results);
    for (bits, count, heading) in SCOPES {
        println!(
            "\n**Branches of {heading}**: common / only the first / only the second; medians; A12 of the first\n"
        );
        println!("| subject | arms | common | only first | only second | medians | A12 |");
        println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
        for group in groups.iter().filter(|group| has(group, bits)) {
            for (at, first) in arms.iter().enumerate() {
                for second in &arms[at + 1..] {
                    if let Some(row) = row(group, (first, second), (bits, count)) {
                        println!("| {} | {first}, {second} | {row} |", group.subject);
                    }
                }
            }
        }
        println!("\n**Spread of the median of {heading}**, % of it\n");
        let names: BTreeSet<&str> = groups
            .iter()
            .flat_map(|group| &group.arms)
            .map(|(name, _)| *name)
            .collect();
        let order: Vec<&str> = names.into_iter().collect();
        println!("| subject | {} |", order.join(" | "));
        println!("| --- |{}", " ---: |".repeat(order.len()));
        for group in groups.iter().filter(|group| has(group, bits)) {
            let cells = order.iter().map(|name| match of(group, name) {
                Some(results) => format!("{:.1}", spread(&values(results, count))),
                None => "–".to_owned(),
            });
            println!(
                "| {} | {} |",
                group.subject,
                cells.collect::<Vec<_>>().join(" | ")
            );
        }
    }
}

/// Prints in how many campaigns of each arm each goal was reached, and how many a campaign reaches.
pub(crate) fn goals(results: &[Value]) {
    for group in groups(results) {
        let is_reached = |result: &Value, goal: &str| result["goals"][goal] == true;
        let all = group
            .arms
            .iter()
            .flat_map(|(_, of)| of)
            .filter_map(|result| result["goals"].as_object());
        let goals: BTreeSet<&str> = all
            .flat_map(|goals| goals.keys().map(String::as_str))
            .collect();
        if goals.is_empty() {
            continue;
        }
        println!("\n**{}**, {}\n", group.subject, group.budget);
        let names: Vec<_> = group
            .arms
            .iter()
            .map(|(name, of)| format!("{name} (of {})", of.len()))
            .collect();
        println!("| goal | {} |", names.join(" | "));
        println!("| --- |{}", " ---: |".repeat(names.len()));
        for goal in &goals {
            let times = |(_, of): &(&str, Vec<&Value>)| {
                of.iter().filter(|result| is_reached(result, goal)).count()
            };
            let cells: Vec<_> = group
                .arms
                .iter()
                .map(|arm| times(arm).to_string())
                .collect();
            println!("| {goal} | {} |", cells.join(" | "));
        }
        let each = |(_, of): &(&str, Vec<&Value>)| -> Vec<u64> {
            let count = |result: &&Value| {
                goals.iter().filter(|goal| is_reached(result, goal)).count() as u64
            };
            of.iter().map(count).collect()
        };
        let first = group.arms.first().map(each).unwrap_or_default();
        let cells = group.arms.iter().enumerate().map(|(at, arm)| {
            let counts = each(arm);
            let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
            let contrast = mann_whitney(&counts, &first);
            match at {
                0 => format!("{mean:.2}"),
                _ => format!("{mean:.2}, A12 {:.2}{}", contrast.a12, contrast.stars()),
            }
        });
        println!(
            "| mean of a campaign | {} |",
            cells.collect::<Vec<_>>().join(" | ")
        );
    }
}

fn of<'a>(group: &'a Group<'_>, name: &str) -> Option<&'a Vec<&'a Value>> {
    group
        .arms
        .iter()
        .find(|(arm, _)| *arm == name)
        .map(|(_, of)| of)
}

fn has(group: &Group<'_>, bits: &str) -> bool {
    group
        .arms
        .iter()
        .any(|(_, of)| of.iter().any(|result| result[bits].is_string()))
}

/// `12.3 | 0.4 | 0.1 | 13, 12 | 0.80**`
fn row(
    group: &Group<'_>,
    (first, second): (&str, &str),
    (bits, count): (&str, &str),
) -> Option<String> {
    let (a, b) = (of(group, first)?, of(group, second)?);
    let mut sums = [0_u32; 3];
    let mut pairs = 0;
    for one in a {
        let Some(other) = b.iter().find(|other| other["seed"] == one["seed"]) else {
            continue;
        };
        let shared = shared(one[bits].as_str()?, other[bits].as_str()?);
        (0..3).for_each(|at| sums[at] += shared[at]);
        pairs += 1;
    }
    let whole = |results: &[&Value]| {
        values(results, count)
            .into_iter()
            .map(|n| n as u64)
            .collect::<Vec<_>>()
    };
    let contrast = mann_whitney(&whole(a), &whole(b));
    let [common, only_first, only_second] =
        sums.map(|sum| f64::from(sum) / f64::from(pairs.max(1)));
    let medians = [a, b].map(|results| median(&values(results, count)));
    Some(format!(
        "{common:.2} | {only_first:.2} | {only_second:.2} | {:.1}, {:.1} | {:.2}{}",
        medians[0],
        medians[1],
        contrast.a12,
        contrast.stars()
    ))
}

/// Of two rows of bits: set in both, in the first alone, in the second alone.
fn shared(first: &str, second: &str) -> [u32; 3] {
    let digit = |digit: char| digit.to_digit(16).expect("a row of bits");
    let pairs = first.chars().map(digit).zip(second.chars().map(digit));
    pairs.fold([0; 3], |[both, one, other], (a, b)| {
        [
            both + (a & b).count_ones(),
            one + (a & !b).count_ones(),
            other + (b & !a).count_ones(),
        ]
    })
}

fn spread(values: &[f64]) -> f64 {
    let mut rng = Rng::new(1);
    let mut medians: Vec<f64> = (0..HALVES)
        .map(|_| {
            let mut left = values.to_vec();
            let half =
                (0..values.len().div_ceil(2)).map(|_| left.swap_remove(rng.index(left.len())));
            median(&half.collect::<Vec<_>>())
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let apart = medians[HALVES * 95 / 100] - medians[HALVES * 5 / 100];
    100.0 * apart / median(values).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_two_reach_is_shared_out() {
        assert_eq!(shared("f0a", "3c8"), [2 + 1, 2 + 1, 2]);
        let row = |arm: &str, seed: u64, bits: &str, own: u64| json!({"subject": "s", "budget": "b", "arm": arm, "seed": seed, "own_bits": bits, "own": own, "commit": "c"});
        let results = [
            row("zest", 1, "c", 2),
            row("zest", 2, "0", 0),
            row("spoton", 2, "8", 1),
            row("spoton", 1, "e", 3),
        ];
        let groups = groups(&results);
        let text = super::row(&groups[0], ("spoton", "zest"), ("own_bits", "own"));
        assert_eq!(
            text.as_deref(),
            Some("1.00 | 1.00 | 0.00 | 2.0, 1.0 | 0.75")
        );
    }

    #[test]
    fn a_median_that_does_not_move_has_no_spread() {
        assert_eq!(spread(&[7.0; 20]), 0.0);
        let half: Vec<f64> = (0..20)
            .map(|at| if at < 10 { 10.0 } else { 20.0 })
            .collect();
        assert!(spread(&half) > 30.0);
    }
}
