//! Tables: what campaigns come to, as Markdown.
//!
//! For each subject and budget a line per arm: medians with an interval of 95 % confidence, and A12
//! with the stars of the exact Mann–Whitney test against one arm. Losses look like wins.

use std::collections::{BTreeMap, BTreeSet};

use sandglass_benches::println;
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

/// Results in groups. Nothing is summed over commits: of each arm, the last one counts.
pub(crate) fn groups(results: &[Value]) -> Vec<Group<'_>> {
    let text = |result: &Value, key: &str| result[key].as_str().unwrap_or_default().to_owned();
    let mut by: BTreeMap<(String, String), Vec<&Value>> = BTreeMap::new();
    for result in results {
        let key = (text(result, "subject"), text(result, "budget"));
        by.entry(key).or_default().push(result);
    }
    let mut groups = Vec::new();
    for ((subject, budget), all) in by {
        let of = |name: &'static str| {
            let of: Vec<_> = (all.iter().copied())
                .filter(|result| result["arm"] == name)
                .collect();
            let commit = &of.last()?["commit"];
            let is_last = |result: &&Value| result["commit"] == *commit;
            Some((name, of.iter().copied().filter(is_last).collect()))
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
        println!(
            "| arm | trials/s | valid | again | {} |",
            headings.join(" | ")
        );
        println!(
            "| --- | ---: | ---: | ---: |{}",
            " ---: |".repeat(headings.len())
        );
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
                "| {name} | {:.0} | {:.2} % | {} | {} |",
                ratio("execs", "cpu_s", 1.0),
                ratio("valid", "execs", 100.0),
                again(of),
                cells.join(" | ")
            );
        }
        faults(&group);
        bugs(&group);
    }
}

/// Injected faults: how many each arm finds, in how many of its campaigns, and after how many
/// executions and how much time. Means are over the faults that any arm found, over all campaigns of
/// an arm; a campaign that did not find one counts with its whole length. Arms for which another number
/// of faults was drawn than for most met others, and are left out.
fn faults(group: &Group<'_>) {
    let met = |of: &[&Value]| of.first().and_then(|result| result["faults"].as_u64());
    let mut arms_by_drawn = BTreeMap::<u64, usize>::new();
    for drawn in group.arms.iter().filter_map(|(_, of)| met(of)) {
        *arms_by_drawn.entry(drawn).or_default() += 1;
    }
    let most = arms_by_drawn.into_iter().max_by_key(|&(_, arms)| arms);
    let Some((drawn, _)) = most else { return };
    let arms = || group.arms.iter().filter(|(_, of)| met(of) == Some(drawn));
    let shown = |result: &Value| -> BTreeMap<u64, (f64, f64)> {
        let all = result["shown"].as_array().into_iter().flatten();
        let found =
            all.filter_map(|of| Some((of[0].as_u64()?, (of[1].as_f64()?, of[2].as_f64()?))));
        found.collect()
    };
    let known: BTreeSet<u64> = arms()
        .flat_map(|(_, of)| of)
        .flat_map(|result| shown(result).into_keys())
        .collect();
    if known.is_empty() {
        return;
    }
    println!(
        "\n{drawn} injected faults, {} of them found by some campaign\n",
        known.len()
    );
    println!(
        "| arm | by any campaign | by every campaign | reliability | executions | CPU seconds |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (name, of) in arms() {
        let campaigns: Vec<_> = of.iter().map(|result| (shown(result), result)).collect();
        let times = |fault: &u64| {
            campaigns
                .iter()
                .filter(|(found, _)| found.contains_key(fault))
                .count()
        };
        let by_any = known.iter().filter(|fault| times(fault) > 0).count();
        let by_every = known
            .iter()
            .filter(|fault| times(fault) == of.len())
            .count();
        let pairs = (known.len() * of.len()) as f64;
        let reliability = known.iter().map(times).sum::<usize>() as f64 / pairs;
        let mean = |pick: fn(&(f64, f64)) -> f64, whole: &str| {
            let restricted = campaigns.iter().flat_map(|(found, result)| {
                let end = result[whole].as_f64().unwrap_or(0.0);
                known
                    .iter()
                    .map(move |fault| found.get(fault).map_or(end, pick))
            });
            restricted.sum::<f64>() / pairs
        };
        println!(
            "| {name} | {by_any} | {by_every} | {:.0} % | {:.0} | {:.2} |",
            100.0 * reliability,
            mean(|at| at.0, "execs"),
            mean(|at| at.1, "cpu_s"),
        );
    }
}

/// `36.9 % (11.9 %)`: executions whose input was run before, and whose choices were made before.
fn again(of: &[&Value]) -> String {
    let share = |key: &str| -> Option<f64> {
        let pairs = values(of, key).into_iter().zip(values(of, "execs"));
        let shares: Vec<f64> = pairs.map(|(again, all)| again * 100.0 / all).collect();
        (!shares.is_empty()).then(|| median(&shares))
    };
    match (share("same_input"), share("same_choices")) {
        (Some(inputs), Some(choices)) => format!("{inputs:.1} % ({choices:.1} %)"),
        // Results of before these were counted.
        _ => "–".to_owned(),
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
        text += &format!(" {:.2}{}", contrast.a12, contrast.stars());
    }
    text
}

/// In how many campaigns each bug was found, and after how many executions and how much time: means
/// over all campaigns, where one that did not find it counts with its whole length. A bug is a place in
/// the source: a recursive compiler comes to it by many stacks.
fn bugs(group: &Group<'_>) {
    let title = |bug: &Value| {
        let place = bug["title"].as_str().unwrap_or_default();
        match bug["fixed"] == true {
            true => format!("{place}, fixed since"),
            false => place.to_owned(),
        }
    };
    let all = group.arms.iter().flat_map(|(_, of)| of);
    let all = all.flat_map(|result| result["bugs"].as_array().into_iter().flatten());
    let titles: BTreeSet<String> = all.map(title).collect();
    if titles.is_empty() {
        return;
    }
    println!(
        "\n| bug | arm | found | executions | CPU seconds |\n| --- | --- | ---: | ---: | ---: |"
    );
    for known in titles {
        for (name, of) in &group.arms {
            let find = |result: &Value| {
                let mut bugs = result["bugs"].as_array().into_iter().flatten();
                bugs.find(|bug| title(bug) == known).cloned()
            };
            let found = of.iter().filter(|result| find(result).is_some()).count();
            let mean = |key: &str, whole: &str| {
                let restricted = of.iter().map(|result| {
                    let at = find(result).and_then(|bug| bug[key].as_f64());
                    at.or(result[whole].as_f64()).unwrap_or(0.0)
                });
                restricted.sum::<f64>() / of.len() as f64
            };
            if found > 0 {
                println!(
                    "| {} | {name} | {found} of {} | {:.0} | {:.2} |",
                    known.replace('|', "\\|"),
                    of.len(),
                    mean("trial", "execs"),
                    mean("cpu_s", "cpu_s"),
                );
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
    fn what_was_not_counted_is_no_share() {
        let counted = json!({"execs": 200, "same_input": 3, "same_choices": 1});
        assert_eq!(again(&[&counted]), "1.5 % (0.5 %)");
        assert_eq!(again(&[&json!({"execs": 200})]), "–");
    }

    #[test]
    fn groups_are_of_the_last_commit() {
        let result = |commit: &str, arm: &str| json!({"subject": "s", "budget": "b", "arm": arm, "commit": commit, "semantic": 3});
        let results = [
            result("old", "zest"),
            result("older", "afl-text"),
            result("new", "zest"),
            result("older", "afl-text"),
        ];
        let groups = groups(&results);
        let arms: Vec<_> = groups[0]
            .arms
            .iter()
            .map(|(n, of)| (*n, of.len()))
            .collect();
        assert_eq!(arms, [("afl-text", 2), ("zest", 1)]);
    }
}
