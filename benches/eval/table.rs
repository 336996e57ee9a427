//! Tables: what the campaigns of a file come to, as Markdown.
//!
//! For each subject and budget a line per arm: medians with an interval of 95 % confidence, and A12
//! with the stars of the exact Mann–Whitney test against one arm. Losses look like wins.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::collections::BTreeMap;

use sandglass_benches::stats::{mann_whitney, median, median_interval};
use serde_json::Value;

use crate::arms::ARMS;

/// What is compared: the key in the results, and the heading.
const MEASURES: &[(&str, &str)] = &[
    ("semantic", "semantic branches"),
    ("valid_semantic", "of valid inputs"),
    ("diverse_valid", "diverse valid"),
    ("b1", "B(1)"),
    ("b2", "B(2)"),
];

/// Results of one subject with one budget, by arm in the order of [`ARMS`].
pub(crate) struct Group<'a> {
    pub(crate) subject: String,
    pub(crate) budget: String,
    pub(crate) arms: Vec<(&'static str, Vec<&'a Value>)>,
}

/// The results of a file, in groups. Nothing is summed over commits: the last one counts.
pub(crate) fn groups(results: &[Value]) -> Vec<Group<'_>> {
    let text = |result: &Value, key: &str| result[key].as_str().unwrap_or_default().to_owned();
    let mut by: BTreeMap<(String, String), Vec<&Value>> = BTreeMap::new();
    for result in results {
        let key = (text(result, "subject"), text(result, "budget"));
        by.entry(key).or_default().push(result);
    }
    let mut groups = Vec::new();
    for ((subject, budget), all) in by {
        let commit = all.last().expect("a group has members")["commit"].clone();
        let of = |name: &'static str| {
            let is_of = |result: &&&Value| result["arm"] == name && result["commit"] == commit;
            let of: Vec<_> = all.iter().filter(is_of).copied().collect();
            (!of.is_empty()).then_some((name, of))
        };
        groups.push(Group {
            arms: ARMS.iter().filter_map(|arm| of(arm.name)).collect(),
            subject,
            budget,
        });
    }
    groups
}

/// Values of one measure, where the arm has it.
pub(crate) fn values(results: &[&Value], key: &str) -> Vec<f64> {
    let of = results.iter().filter_map(|result| result[key].as_f64());
    of.collect()
}

/// Prints the tables, every arm against the one named.
pub(crate) fn print(results: &[Value], against: &str) {
    for group in groups(results) {
        let reference = group.arms.iter().find(|(name, _)| *name == against);
        let seeds = group.arms.iter().map(|(_, of)| of.len()).min().unwrap_or(0);
        println!(
            "\n**{}**, {}, at least {seeds} seeds an arm; A12 against `{against}`\n",
            group.subject, group.budget
        );
        let headings: Vec<_> = MEASURES.iter().map(|(_, heading)| *heading).collect();
        println!("| arm | trials/s | valid | {} |", headings.join(" | "));
        println!("| --- | ---: | ---: |{}", " ---: |".repeat(headings.len()));
        for (name, of) in &group.arms {
            let ratio = |a: &str, b: &str, factor: f64| {
                let pairs = values(of, a).into_iter().zip(values(of, b));
                median(&pairs.map(|(a, b)| a * factor / b).collect::<Vec<_>>())
            };
            let cells: Vec<_> = MEASURES
                .iter()
                .map(|(key, _)| {
                    let reference = reference.filter(|(other, _)| other != name);
                    cell(&values(of, key), reference.map(|(_, of)| values(of, key)))
                })
                .collect();
            println!(
                "| {name} | {:.0} | {:.2} % | {} |",
                ratio("execs", "cpu_s", 1.0),
                ratio("valid", "execs", 100.0),
                cells.join(" | ")
            );
        }
        bugs(&group);
    }
}

/// `345 [340, 351] 0.98**`
fn cell(values: &[f64], reference: Option<Vec<f64>>) -> String {
    if values.is_empty() {
        return "–".to_owned();
    }
    let [low, high] = median_interval(values);
    let mut text = format!("{:.0} [{low:.0}, {high:.0}]", median(values));
    if let Some(reference) = reference.filter(|reference| !reference.is_empty()) {
        // The test counts in integers; three decimals of a diversity are more than enough.
        let whole = |values: &[f64]| -> Vec<u64> {
            let thousandths = values.iter().map(|value| (value * 1000.0).round() as u64);
            thousandths.collect()
        };
        let contrast = mann_whitney(&whole(values), &whole(&reference));
        let stars = match contrast.p {
            p if p < 0.01 => "**",
            p if p < 0.05 => "*",
            _ => "",
        };
        text += &format!(" {:.2}{stars}", contrast.a12);
    }
    text
}

/// In how many campaigns each bug was found, and after how many executions: the mean over all
/// campaigns, where one that did not find it counts with its whole length.
fn bugs(group: &Group<'_>) {
    let mut titles: BTreeMap<&str, &str> = BTreeMap::new();
    for result in group.arms.iter().flat_map(|(_, of)| of) {
        for bug in result["bugs"].as_array().into_iter().flatten() {
            let text = |key: &str| bug[key].as_str().unwrap_or_default();
            titles.entry(text("key")).or_insert(text("title"));
        }
    }
    if titles.is_empty() {
        return;
    }
    println!("\n| bug | arm | found | executions |\n| --- | --- | ---: | ---: |");
    for (key, title) in titles {
        for (name, of) in &group.arms {
            let mut found = 0;
            let restricted = of.iter().map(|result| {
                let bugs = result["bugs"].as_array().into_iter().flatten();
                let trial = bugs
                    .filter(|bug| bug["key"] == *key)
                    .find_map(|bug| bug["trial"].as_f64());
                found += u32::from(trial.is_some());
                trial.or(result["execs"].as_f64()).unwrap_or(0.0)
            });
            let mean = restricted.sum::<f64>() / of.len() as f64;
            if found > 0 {
                let title = title.replace('|', "\\|");
                println!("| {title} | {name} | {found} of {} | {mean:.0} |", of.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_have_an_interval_and_a_contrast() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(cell(&values, None), "6 [2, 9]");
        let below = vec![0.0; 10];
        assert_eq!(cell(&values, Some(below)), "6 [2, 9] 1.00**");
        assert_eq!(cell(&[], Some(values)), "–");
    }

    #[test]
    fn groups_are_of_the_last_commit() {
        let result = |commit: &str, arm: &str| json!({"subject": "s", "budget": "b", "arm": arm, "commit": commit, "semantic": 3});
        let results = [
            result("old", "zest"),
            result("new", "zest"),
            result("new", "afl-text"),
        ];
        let groups = groups(&results);
        let arms: Vec<_> = groups[0]
            .arms
            .iter()
            .map(|(n, of)| (*n, of.len()))
            .collect();
        assert_eq!(arms, [("afl-text", 1), ("zest", 1)]);
    }
}
