//! Results of campaigns, summed up: medians by case and guidance, and geometric means over cases.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sandglass_benches::println;
use sandglass_benches::results::read;
use sandglass_benches::stats::{mann_whitney, median};
use serde_json::Value;

use crate::Result;
use crate::cases::{CASES, Case};

/// What is compared, as rows have it: fuel, SlowFuzz's measure and PerfFuzz's.
const MEASURES: [&str; 3] = ["fuel", "path", "hits"];

/// Prints medians: fuel over the seed's; fuel, all arms taken and the arm taken most over those of the best that is
/// known; and how many campaigns came to what is published and to nine tenths of the best. Then geometric means of
/// `cost` over each other guidance, and the commits.
pub(crate) fn table(paths: &[PathBuf]) -> Result<()> {
    let rows: Vec<Value> = paths.iter().flat_map(|path| read(path, "cost")).collect();
    let all: Vec<Arm<'_>> = CASES.iter().flat_map(|case| arms(case, &rows)).collect();
    println!(
        "| case | guidance | executions | fuel, × seed | of the best | path, of the best | hits, of the best | published | 90 % |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for arm in &all {
        arm.print(&all);
    }
    println!();
    means(&all);
    println!();
    commits(&rows);
    Ok(())
}

/// The campaigns of a guidance on a case.
struct Arm<'a> {
    case: &'a Case,
    name: &'a str,
    rows: Vec<&'a Value>,
}

/// Guidances of which there are campaigns on a case, by name.
fn arms<'a>(case: &'a Case, rows: &'a [Value]) -> Vec<Arm<'a>> {
    let of_case = || rows.iter().filter(|row| row["case"] == case.name);
    let names: BTreeSet<&str> = of_case().filter_map(|row| row["arm"].as_str()).collect();
    let arm = |name| Arm {
        case,
        name,
        rows: of_case().filter(|row| row["arm"] == name).collect(),
    };
    names.into_iter().map(arm).collect()
}

impl Arm<'_> {
    fn print(&self, all: &[Arm<'_>]) {
        let cost = self.other(all, "cost").filter(|_| self.name != "cost");
        let against = cost.map_or_else(String::new, |cost| {
            let contrast = mann_whitney(&self.all("fuel"), &cost.all("fuel"));
            format!(" {:.2}{}", contrast.a12, contrast.stars())
        });
        let of_best = |key: &str| match self.has(key) {
            true => format!("{:.0} %", 100.0 * self.ratio(key, &format!("best_{key}"))),
            false => "–".to_owned(),
        };
        let published = match self.has("published_fuel") {
            true => self.at_least("published_fuel", 100.0),
            false => "–".to_owned(),
        };
        println!(
            "| {} | {} | {:.0} | {:.1}{against} | {} | {} | {} | {published} | {} |",
            self.case.name,
            self.name,
            self.median("execs"),
            self.ratio("fuel", "seed_fuel"),
            of_best("fuel"),
            of_best("path"),
            of_best("hits"),
            self.at_least("best_fuel", 90.0),
        );
    }

    /// Another guidance's campaigns on the same case.
    fn other<'a>(&self, all: &'a [Arm<'a>], name: &str) -> Option<&'a Arm<'a>> {
        let mut others = all.iter().filter(|arm| arm.case.name == self.case.name);
        others.find(|arm| arm.name == name)
    }

    /// Do all of its rows have a number there?
    fn has(&self, key: &str) -> bool {
        self.rows.iter().all(|row| row[key].is_u64())
    }

    fn all(&self, key: &str) -> Vec<u64> {
        self.rows
            .iter()
            .filter_map(|row| row[key].as_u64())
            .collect()
    }

    fn median(&self, key: &str) -> f64 {
        median(
            &self
                .rows
                .iter()
                .map(|row| number(row, key))
                .collect::<Vec<_>>(),
        )
    }

    fn ratio(&self, of: &str, to: &str) -> f64 {
        let ratios = self
            .rows
            .iter()
            .map(|row| number(row, of) / number(row, to));
        median(&ratios.collect::<Vec<_>>())
    }

    fn at_least(&self, key: &str, percent: f64) -> String {
        let reached = self.rows.iter().filter(|row| {
            row[key].is_u64() && number(row, "fuel") >= percent / 100.0 * number(row, key)
        });
        format!("{} of {}", reached.count(), self.rows.len())
    }
}

/// Prints, for each guidance beside `cost`, the geometric mean over cases of the median of `cost` over its own, and the
/// case where that is least. Of cases whose rows have the measure in both.
fn means(all: &[Arm<'_>]) {
    println!("| `cost` over | cases | fuel | least | path | least | hits | least |");
    println!("| --- | ---: | ---: | --- | ---: | --- | ---: | --- |");
    let names: BTreeSet<&str> = all.iter().map(|arm| arm.name).collect();
    for name in names.into_iter().filter(|name| *name != "cost") {
        let ratios = |measure: &str| -> Vec<(f64, &str)> {
            let arms = all.iter().filter(|arm| arm.name == name);
            let both = arms.filter_map(|arm| Some((arm, arm.other(all, "cost")?)));
            both.filter(|(arm, cost)| arm.has(measure) && cost.has(measure))
                .map(|(arm, cost)| (cost.median(measure) / arm.median(measure), arm.case.name))
                .collect()
        };
        let cells = MEASURES.map(|measure| {
            let ratios = ratios(measure);
            let Some(least) = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0)) else {
                return "– | –".to_owned();
            };
            let logarithms: f64 = ratios.iter().map(|(ratio, _)| ratio.ln()).sum();
            let mean = (logarithms / ratios.len() as f64).exp();
            format!("{mean:.2} | {:.3}, {}", least.0, least.1)
        });
        let cases = ratios("fuel").len();
        println!("| {name} | {cases} | {} |", cells.join(" | "));
    }
}

/// Prints the commits that rows are of.
fn commits(rows: &[Value]) {
    for case in CASES {
        let of_case = rows.iter().filter(|row| row["case"] == case.name);
        let commits: BTreeSet<&str> = of_case.filter_map(|row| row["commit"].as_str()).collect();
        if !commits.is_empty() {
            let commits: Vec<&str> = commits.into_iter().collect();
            println!("{}: {}", case.name, commits.join(", "));
        }
    }
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or(0.0)
}
