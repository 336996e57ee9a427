//! The comparison that `sandglass` is held to: subjects, metrics, guidances, seeds and budget are written down here
//! and do not follow the results.
//!
//! Each subject has one metric and the published guidances that apply to it. A campaign is 25 CPU seconds of a
//! reference machine (`speed.rs`); what it had at powers of ten, twice and five times those is kept, so equal
//! executions are read off the same campaigns: of a subject, after as many as its slowest campaign came to. Seeds are
//! outermost, and a campaign that the file of results has is not run again, so that a comparison of many hours can be
//! made in parts.
//!
//! The two tests: Mann and Whitney's, with p adjusted by Holm over all comparisons of one budget; and the interval
//! of A12 (bootstrap, 95 %). *Better* and *worse* are adjusted p < 0.05; *not worse* is a lower bound of at least
//! 0.4; what is none of these is *open*.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use sandglass_benches::println;
use sandglass_benches::results::{Results, read};
use sandglass_benches::stats::{Contrast, a12_interval, holm, mann_whitney, median};
use serde_json::{Value, json};

use crate::Result;
use crate::arms::{Pairing, arm};
use crate::campaign::{Budget, Prepared};

const SEEDS: u64 = 20;
const SECONDS: f64 = 25.0;
/// The arm that is compared with all others.
const OURS: &str = "sandglass";
/// The same with the seeds that `afl-text` begins with: no part of the comparison, but what it is compared with can be compared
/// with that, too.
const SEEDED: &str = "sandglass-seeded";
const NOT_WORSE: f64 = 0.4;

/// One subject of the comparison.
struct Subject {
    /// Whether nobody looks at it before the end.
    is_unseen: bool,
    pairing: &'static str,
    /// A key of the points of a campaign's curve.
    metric: &'static str,
    /// Published guidances, those with most in earlier tables first.
    published: &'static [&'static str],
}

/// Guidances for inputs whose draws have no types.
const UNTYPED: &[&str] = &[
    "zeugma",
    "zest",
    "rlcheck",
    "quickcheck",
    "bediv-structure",
    "bediv-simple",
    "ei",
    "afl-text",
];
/// Guidances for generators whose labels name the target's types.
const TYPED: &[&str] = &["spoton", "zest-str", "zest", "zeugma", "quickcheck"];

const fn seen(
    pairing: &'static str,
    metric: &'static str,
    published: &'static [&'static str],
) -> Subject {
    Subject {
        is_unseen: false,
        pairing,
        metric,
        published,
    }
}

const fn unseen(pairing: &'static str) -> Subject {
    Subject {
        is_unseen: true,
        pairing,
        metric: "branches",
        published: UNTYPED,
    }
}

/// All with a semantic stage, the magic branches, and of the handlers one each whose table, archive and image (the
/// paper's example) matters. The unseen ones are pairs that nothing was tuned on.
const SUBJECTS: &[Subject] = &[
    seen("libxml2-xsd:xml", "semantic", UNTYPED),
    seen("lua-load:lua", "semantic", UNTYPED),
    seen("quickjs-compile:javascript", "semantic", UNTYPED),
    seen("rust-naga:shader", "semantic", UNTYPED),
    seen("rust-wasm:wasm", "semantic", UNTYPED),
    seen("sqlite-steps:sql", "semantic", UNTYPED),
    seen("rust-magic:magic", "goals", TYPED),
    seen("rust-lambda-csv-load:lambda-csv-load", "own", TYPED),
    seen("rust-lambda-unzip:lambda-unzip", "own", TYPED),
    seen("rust-lambda-image-year:lambda-image-year", "own", TYPED),
    unseen("rust-boa:javascript"),
    unseen("mujs:javascript"),
    unseen("pugixml:xml"),
    unseen("rust-json:json"),
    unseen("rust-xml:xml"),
];

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Run the campaigns that are not in the file of results
    Run(Run),
    /// Print medians, tests and verdicts as Markdown
    Table {
        /// Files of results
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// With `sandglass-seeded` in place of `sandglass`
        #[arg(long)]
        seeded: bool,
    },
}

#[derive(Args)]
pub(crate) struct Run {
    /// The subjects that nobody looks at before the end, in place of the others
    #[arg(long)]
    unseen: bool,
    /// Subjects that contain one of these, separated by commas [default: all]
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    subjects: Vec<String>,
    /// Arms, separated by commas; also `sandglass-seeded` [default: all of each subject]
    #[arg(long, value_name = "ARM", value_delimiter = ',')]
    arms: Vec<String>,
    /// Seeds 1 to N of the 20
    #[arg(long, value_name = "N", default_value_t = SEEDS, value_parser = clap::value_parser!(u64).range(1..=SEEDS))]
    seeds: u64,
    /// Campaigns at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Lines of JSON are added here
    #[arg(long, value_name = "FILE", default_value = "target/frozen.jsonl")]
    results: PathBuf,
}

impl Verb {
    pub(crate) fn go(self) -> Result<()> {
        match self {
            Verb::Run(run) => run.go(),
            Verb::Table { results, seeded } => {
                let rows = results.iter().flat_map(|file| read(file, "frozen"));
                print(
                    &rows.collect::<Vec<_>>(),
                    if seeded { SEEDED } else { OURS },
                );
                Ok(())
            }
        }
    }
}

impl Run {
    fn go(self) -> Result<()> {
        let done: BTreeSet<_> = match self.results.exists() {
            true => read(&self.results, "frozen").iter().map(key).collect(),
            false => BTreeSet::new(),
        };
        let is_chosen = |name: &str, among: &[String], is_part: bool| {
            among.is_empty()
                || (among.iter()).any(|text| name == text || is_part && name.contains(&**text))
        };
        let mut subjects = Vec::new();
        for subject in SUBJECTS.iter().filter(|s| s.is_unseen == self.unseen) {
            if is_chosen(subject.pairing, &self.subjects, true) {
                subjects.push((Prepared::new(&Pairing::parse(subject.pairing))?, subject));
            }
        }
        let mut jobs = Vec::new();
        for seed in 1..=self.seeds {
            for (prepared, subject) in &subjects {
                let seeded = [SEEDED].into_iter();
                let seeded = seeded.filter(|_| self.arms.iter().any(|arm| arm == SEEDED));
                for name in [OURS]
                    .into_iter()
                    .chain(subject.published.iter().copied())
                    .chain(seeded)
                {
                    let key = (prepared.name.clone(), name.to_owned(), seed);
                    if is_chosen(name, &self.arms, false) && !done.contains(&key) {
                        jobs.push((prepared, arm(name), seed));
                    }
                }
            }
        }
        let mut results = Results::open(&self.results);
        crate::run_all(
            &jobs,
            Budget::ReferenceSeconds(SECONDS),
            self.jobs,
            &mut |row| {
                results.add(slim(&row));
            },
        )
    }
}

/// What tells a campaign from the others.
fn key(row: &Value) -> (String, String, u64) {
    let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    (
        text("subject"),
        text("arm"),
        row["seed"].as_u64().unwrap_or(0),
    )
}

/// Of a campaign's results, those that the comparison is made of.
fn slim(result: &Value) -> Value {
    let subject = result["subject"].as_str().unwrap_or_default();
    let metric = metric(subject);
    let points = result["curve"].as_array().into_iter().flatten();
    let points: Vec<_> = points
        .map(|point| json!([point["execs"], point["cpu_s"], point[metric]]))
        .collect();
    let mut row = json!({
        "row": "frozen",
        "metric": metric,
        "value": points.last().map(|point| &point[2]),
        "curve": points,
    });
    for key in [
        "subject",
        "arm",
        "seed",
        "budget",
        "execs",
        "cpu_s",
        "reference_s",
        "valid",
        "same_input",
        "same_choices",
    ] {
        row[key] = result[key].clone();
    }
    row
}

fn metric(subject: &str) -> &'static str {
    let all = SUBJECTS.iter();
    let of = all.map(|s| (Pairing::parse(s.pairing).subject, s.metric));
    let found = of.into_iter().find(|(name, _)| name == subject);
    found.map_or("branches", |(_, metric)| metric)
}

/// One comparison of ours with a published guidance.
struct Comparison {
    subject: String,
    metric: &'static str,
    published: &'static str,
    /// Campaigns of ours, and of the other.
    campaigns: [usize; 2],
    /// By time, then by executions.
    by: [Sample; 2],
    /// That executions are equal at.
    execs: u64,
}

/// The metric in the campaigns of ours and of the other.
struct Sample {
    values: [Vec<u64>; 2],
    contrast: Contrast,
    /// Of A12.
    interval: [f64; 2],
}

impl Sample {
    fn new(values: [Vec<u64>; 2]) -> Sample {
        Sample {
            contrast: mann_whitney(&values[0], &values[1]),
            interval: a12_interval(&values[0], &values[1]),
            values,
        }
    }

    /// `574, 623 | 0.98 [0.93, 1.00] | <0.001 | better`
    fn cells(&self, adjusted: f64) -> String {
        let [ours, other] =
            (self.values.each_ref()).map(|v| v.iter().map(|n| *n as f64).collect::<Vec<_>>());
        let [low, high] = self.interval;
        let p = match adjusted {
            p if p < 0.001 => "< 0.001".to_owned(),
            p => format!("{p:.3}"),
        };
        format!(
            "{:.0}, {:.0} | {:.2} [{low:.2}, {high:.2}] | {p} | {}",
            median(&ours),
            median(&other),
            self.contrast.a12,
            self.verdict(adjusted),
        )
    }

    fn verdict(&self, adjusted: f64) -> &'static str {
        match self.contrast.a12 {
            a12 if adjusted < 0.05 && a12 > 0.5 => "better",
            a12 if adjusted < 0.05 && a12 < 0.5 => "**worse**",
            _ if self.interval[0] >= NOT_WORSE => "not worse",
            _ => "open",
        }
    }
}

/// The value of a campaign's metric after so many executions, if it came to them.
fn value_at(row: &Value, execs: u64) -> Option<u64> {
    let mut points = row["curve"].as_array()?.iter();
    points.find(|point| point[0] == execs)?[2].as_u64()
}

fn compare(rows: &[Value], ours: &str) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for subject in SUBJECTS {
        let name = Pairing::parse(subject.pairing).subject;
        let of = |arm: &str| -> Vec<&Value> {
            let of = |row: &&Value| row["subject"] == *name && row["arm"] == arm;
            rows.iter().filter(of).collect()
        };
        let is_of = |row: &&Value| {
            let arms = [ours].into_iter().chain(subject.published.iter().copied());
            row["subject"] == *name && arms.into_iter().any(|arm| row["arm"] == arm)
        };
        let all = || rows.iter().filter(is_of);
        // The last point is the campaign's end, wherever that was.
        let slowest = all().filter_map(|row| row["execs"].as_u64()).min();
        let execs = grid()
            .take_while(|at| Some(*at) <= slowest)
            .last()
            .unwrap_or(0);
        for published in subject.published {
            let pair = [of(ours), of(published)];
            let ends =
                |of: &Vec<&Value>| of.iter().filter_map(|row| row["value"].as_u64()).collect();
            let cut = |of: &Vec<&Value>| of.iter().filter_map(|row| value_at(row, execs)).collect();
            let by: [[Vec<u64>; 2]; 2] = [pair.each_ref().map(ends), pair.each_ref().map(cut)];
            if by.iter().flatten().any(Vec::is_empty) {
                continue;
            }
            comparisons.push(Comparison {
                subject: name.clone(),
                metric: subject.metric,
                published,
                campaigns: pair.each_ref().map(Vec::len),
                by: by.map(Sample::new),
                execs,
            });
        }
    }
    comparisons
}

/// 100, 200, 500, 1,000, …: where curves have points.
fn grid() -> impl Iterator<Item = u64> {
    (2..15).flat_map(|power| [1, 2, 5].map(|leading| leading * 10u64.pow(power)))
}

fn print(rows: &[Value], ours: &str) {
    let comparisons = compare(rows, ours);
    let adjusted = [0, 1].map(|budget| {
        let p = comparisons.iter().map(|c| c.by[budget].contrast.p);
        holm(&p.collect::<Vec<_>>())
    });
    println!(
        "| subject, metric | against | campaigns | medians, {SECONDS} CPU s | A12 | p | says | executions | medians | A12 | p | says |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- |");
    let mut verdicts: [Vec<&str>; 2] = [Vec::new(), Vec::new()];
    for (at, c) in comparisons.iter().enumerate() {
        let [time, execs] = [0, 1].map(|budget: usize| {
            verdicts[budget].push(c.by[budget].verdict(adjusted[budget][at]));
            c.by[budget].cells(adjusted[budget][at])
        });
        println!(
            "| {}, {} | {} | {}, {} | {time} | {} | {execs} |",
            c.subject, c.metric, c.published, c.campaigns[0], c.campaigns[1], c.execs
        );
    }
    for (budget, verdicts) in ["equal time", "equal executions"].iter().zip(&verdicts) {
        let count = |said: &str| verdicts.iter().filter(|v| **v == said).count();
        println!(
            "\nAt {budget}, {} comparisons: {} better, {} not worse, {} open, {} worse.",
            verdicts.len(),
            count("better"),
            count("not worse"),
            count("open"),
            count("**worse**"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_of_arms_and_subjects_that_exist() {
        assert_eq!(SUBJECTS.iter().filter(|s| s.is_unseen).count(), 5);
        assert!(SUBJECTS.len() <= 15 + 5);
        for subject in SUBJECTS {
            let Pairing { generator, .. } = Pairing::parse(subject.pairing);
            sandglass_guests::generator(&generator);
            subject.published.iter().for_each(|name| {
                arm(name);
            });
            assert!(subject.published.len() < 9, "{}", subject.pairing);
        }
    }

    #[test]
    fn what_is_run_again_is_what_is_missing() {
        let result = json!({
            "subject": "lua-load", "arm": "zest", "seed": 3, "execs": 150, "semantic": 9,
            "curve": [{"execs": 100, "cpu_s": 0.5, "semantic": 7}, {"execs": 150, "cpu_s": 1.0, "semantic": 9}],
        });
        let row = slim(&result);
        assert_eq!(key(&row), ("lua-load".to_owned(), "zest".to_owned(), 3));
        assert_eq!(row["value"], 9);
        assert_eq!(value_at(&row, 100), Some(7));
        assert_eq!(value_at(&row, 200), None);
    }

    #[test]
    fn equal_executions_are_those_of_the_slowest() {
        let row = |arm: &str, seed: u64, execs: u64, value: u64| {
            json!({"subject": "lua-load", "arm": arm, "seed": seed, "execs": execs, "value": value,
                "curve": [[100, 0.1, value / 2], [200, 0.2, value], [execs, 1.0, value]]})
        };
        let mut rows: Vec<_> = (1..=20)
            .map(|seed| row(OURS, seed, 210, 100 + seed))
            .collect();
        rows.extend((1..=20).map(|seed| row("zest", seed, 190 + 20 * (seed % 2), 60 + seed)));
        let found = compare(&rows, OURS);
        assert_eq!(found.len(), 1);
        let comparison = &found[0];
        assert_eq!(comparison.execs, 100);
        assert_eq!(comparison.by[0].contrast.a12, 1.0);
        assert_eq!(comparison.by[0].verdict(0.001), "better");
        assert_eq!(comparison.by[0].verdict(0.2), "not worse");
        assert_eq!(comparison.by[1].values[0][0], 50);
    }

    #[test]
    fn level_is_open_and_a_loss_is_a_loss() {
        let values = |from: u64| (from..from + 20).collect::<Vec<u64>>();
        let level = Sample::new([values(10), values(10)]);
        assert_eq!(level.verdict(1.0), "open");
        let same = Sample::new([vec![5; 20], vec![5; 20]]);
        assert_eq!(same.verdict(1.0), "not worse");
        let lost = Sample::new([values(10), values(40)]);
        assert_eq!(lost.verdict(0.01), "**worse**");
    }
}
