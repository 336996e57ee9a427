//! What campaigns on one program led to, beside what a day of the published tools did.

use std::collections::BTreeSet;

use sandglass_benches::stats::median;

use crate::campaign::Reached;
use crate::programs::{Archived, Program};
use sandglass_runtime::cover::Share;

/// Points of coverage that may lie between.
const POINTS: f64 = 5.0;
/// Programs whose coverage has to be as near as that,
const NEAR: usize = 13;
/// and whose faults have to be the same.
const SAME: usize = 14;

/// Campaigns with different seeds, summed up.
#[derive(Debug)]
pub(crate) struct Summary {
    /// The median, percent of lines.
    pub(crate) coverage: f64,
    /// The median without lines of infeasible faults, each of which has one.
    pub(crate) feasible: f64,
    /// Found in at least half of them.
    pub(crate) faults: BTreeSet<String>,
    is_near: Option<bool>,
    is_near_by_operators: Option<bool>,
    is_same: Option<bool>,
    text: String,
}

impl Summary {
    pub(crate) fn new(
        program: &Program,
        archived: Option<&Archived>,
        campaigns: &[Reached],
    ) -> Summary {
        let percent = |share: fn(&Reached) -> Share| {
            let of = campaigns.iter().map(share);
            let of = of.map(|share| 100.0 * share.reached as f64 / share.all.max(1) as f64);
            median(&of.collect::<Vec<_>>())
        };
        let (coverage, operators) = (percent(|c| c.lines), percent(|c| c.operators));
        let all = campaigns.first().map_or(0, |c| c.lines.all) as f64;
        let feasible = coverage * all / (all - program.guest().infeasible.len() as f64);
        let all: BTreeSet<&String> = campaigns.iter().flat_map(|c| c.faults.keys()).collect();
        let mut faults = BTreeSet::new();
        let mut texts = Vec::new();
        for fault in all {
            let mut firsts: Vec<u64> = (campaigns.iter())
                .filter_map(|campaign| campaign.faults.get(fault).copied())
                .collect();
            firsts.sort_unstable();
            let often = 2 * firsts.len() >= campaigns.len();
            if often {
                faults.insert(fault.clone());
            }
            let firsts: Vec<_> = firsts.iter().map(u64::to_string).collect();
            let brackets = if often { ["", ""] } else { ["(", ")"] };
            texts.push(format!(
                "{}{fault}@{}{}",
                brackets[0],
                firsts.join("/"),
                brackets[1]
            ));
        }
        let expected = archived.and_then(|archived| archived.faults);
        let sum = |of: fn(&Reached) -> f64| campaigns.iter().map(of).sum::<f64>();
        let text = format!(
            "{:4} {:>7} execs {:5.1} % valid {:7.1} s | {coverage:5.1} % of {} lines ({feasible:.1} % of feasible ones), {operators:5.1} % of {} operators, archive {} | {} of {} faults {}, archive {}",
            program.name,
            campaigns.iter().map(|c| c.execs).max().unwrap_or(0),
            100.0 * sum(|c| c.valid as f64) / sum(|c| c.execs as f64).max(1.0),
            sum(|c| c.cpu_s),
            campaigns.first().map_or(0, |c| c.lines.all),
            campaigns.first().map_or(0, |c| c.operators.all),
            archived.map_or("-".to_owned(), |archived| format!(
                "{:.1} %",
                archived.coverage
            )),
            faults.len(),
            program.guest().faults.len(),
            texts.join(" "),
            expected.map_or("-".to_owned(), |faults| faults.join(" ")),
        );
        let near = |share: f64, archived: &Archived| (share - archived.coverage).abs() <= POINTS;
        let same = |expected: &[&str]| faults.iter().map(String::as_str).eq(sorted(expected));
        Summary {
            is_near: archived.map(|archived| near(coverage, archived)),
            is_near_by_operators: archived.map(|archived| near(operators, archived)),
            is_same: expected.map(same),
            coverage,
            feasible,
            text,
            faults,
        }
    }
}

fn sorted<'a>(faults: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let sorted: BTreeSet<_> = faults.iter().copied().collect();
    sorted.into_iter()
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = |is: Option<bool>| match is {
            None => "-",
            Some(true) => "yes",
            Some(false) => "NO",
        };
        let [near, also, same] = [self.is_near, self.is_near_by_operators, self.is_same].map(mark);
        write!(
            f,
            "{} | near {near}, by operators {also}, same {same}",
            self.text
        )
    }
}

/// The verdict of the gate over programs that the archive has.
pub(crate) fn verdict(summaries: &[Summary]) -> String {
    let count = |of: fn(&Summary) -> Option<bool>| {
        let known: Vec<bool> = summaries.iter().filter_map(of).collect();
        (known.iter().filter(|is| **is).count(), known.len())
    };
    let (near, of_near) = count(|summary| summary.is_near);
    let (by_operators, _) = count(|summary| summary.is_near_by_operators);
    let (same, of_same) = count(|summary| summary.is_same);
    let passed = match (near >= NEAR, same >= SAME) {
        (true, true) => "passed",
        _ if of_near < 17 => "not passed, on fewer than 17 programs",
        _ => "not passed",
    };
    format!(
        "coverage within {POINTS} points on {near} of {of_near} ({by_operators} by operators), expected {NEAR}; faults the same on {same} of {of_same}, expected {SAME}: {passed}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::PROGRAMS;

    fn reached(lines: u64, faults: &[(&str, u64)]) -> Reached {
        Reached {
            lines: Share {
                reached: lines,
                all: 100,
            },
            operators: Share {
                reached: 4 * lines,
                all: 500,
            },
            faults: faults
                .iter()
                .map(|(f, at)| ((*f).to_owned(), *at))
                .collect(),
            valid: 1,
            execs: 2,
            cpu_s: 0.5,
            state_hash: String::new(),
        }
    }

    #[test]
    fn half_of_the_campaigns_are_enough() {
        let p2 = &PROGRAMS[1];
        let campaigns = [
            reached(90, &[("2.2", 7), ("2.4", 1)]),
            reached(93, &[("2.4", 5)]),
            reached(99, &[("2.3", 9), ("2.4", 3)]),
            reached(94, &[("2.2", 8), ("2.3", 4)]),
        ];
        let summary = Summary::new(p2, p2.archived("depfuzz"), &campaigns);
        assert_eq!(summary.coverage, 93.5);
        assert_eq!((summary.is_near, summary.is_same), (Some(true), Some(true)));
        assert!(summary.to_string().contains("2.4@1/3/5"));
        let fewer = Summary::new(p2, p2.archived("depfuzz"), &campaigns[..3]);
        assert_eq!(fewer.is_same, Some(false));
        assert!(fewer.to_string().contains("(2.2@7)"));
        let text = verdict(&[summary, fewer]);
        assert!(
            text.starts_with("coverage within 5 points on 2 of 2"),
            "{text}"
        );
        assert!(text.contains("the same on 1 of 2"), "{text}");
    }
}
