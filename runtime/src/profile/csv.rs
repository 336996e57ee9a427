//! A profile as CSV: one table, whose first column says what a row is about.

use super::campaign::{Campaign, quartiles};
use super::html::{Law, Page};

/// What the columns are; those that a row has nothing for are empty.
const HEADER: &str =
    "what,name,place,kind,bytes,calls,own,inclusive,own_before,inclusive_before,at,value";

/// The table: runs, functions, lines, blocks; points, quartiles, reasons and rules of a campaign; members and laws.
///
/// Of the latter, `at` is an execution or the number of repetitions, and `value` the figure that `kind` names: a
/// reason and a rule have a row for each of theirs.
pub fn csv(page: &Page<'_>) -> String {
    let profile = page.profile;
    let mut out = format!("{HEADER}\n");
    let mut row = |cells: [&str; 10]| line(&mut out, &cells);
    let sides = [(&profile.runs, "run"), (&profile.base, "base")];
    for (run, what) in sides
        .into_iter()
        .flat_map(|(runs, what)| runs.iter().map(move |run| (run, what)))
    {
        let (bytes, fuel) = (run.bytes.to_string(), run.fuel.to_string());
        let kind = run.exit.kind();
        row([what, &run.name, "", kind, &bytes, "", "", &fuel, "", ""]);
    }
    let is_compared = !profile.base.is_empty();
    let before = |fuel: u64| match is_compared {
        true => fuel.to_string(),
        false => String::new(),
    };
    for function in &profile.functions {
        let number = |of: [u64; 2]| of[0].to_string();
        row([
            "function",
            &function.name,
            "",
            "",
            "",
            &number(function.calls),
            &number(function.own),
            &number(function.inclusive),
            &before(function.own[1]),
            &before(function.inclusive[1]),
        ]);
    }
    for line in &profile.lines {
        let (place, fuel) = (
            format!("{}:{}", line.file, line.line),
            line.fuel.to_string(),
        );
        let hits = line.hits.to_string();
        row(["line", "", &place, "", "", &hits, &fuel, "", "", ""]);
    }
    for block in &profile.blocks {
        let place = format!("offset {:#x}", block.offset);
        let (hits, fuel) = (block.hits.to_string(), block.fuel.to_string());
        row([
            "block",
            &block.function,
            &place,
            &block.arm,
            "",
            &hits,
            &fuel,
            "",
            "",
            "",
        ]);
    }
    if let Some(campaign) = &page.campaign {
        course(&mut out, campaign);
    }
    if let Some(law) = &page.law {
        growth(&mut out, law);
    }
    out
}

/// Writes a row; columns that it does not reach are empty.
fn line(out: &mut String, cells: &[&str]) {
    for at in 0..HEADER.split(',').count() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&cell(cells.get(at).unwrap_or(&"")));
    }
    out.push('\n');
}

/// A row of a figure.
fn figure(out: &mut String, [what, name, place, kind]: [&str; 4], at: Option<u64>, value: u64) {
    let (at, value) = (
        at.map_or(String::new(), |at| at.to_string()),
        value.to_string(),
    );
    line(
        out,
        &[what, name, place, kind, "", "", "", "", "", "", &at, &value],
    );
}

fn course(out: &mut String, campaign: &Campaign) {
    for (curve, points) in campaign.curves() {
        for (execs, value) in points {
            figure(out, ["point", "", "", curve], Some(*execs), *value);
        }
    }
    for (curve, points) in campaign.curves() {
        let quartiles = quartiles(points).into_iter().flatten();
        for (name, (execs, value)) in ["1", "2", "3"].into_iter().zip(quartiles) {
            figure(out, ["quartile", name, "", curve], Some(execs), value);
        }
    }
    for (reason, kept) in &campaign.reasons {
        let figures = [
            ("inputs", kept.inputs),
            ("new edges", kept.new_edges),
            ("fuel", kept.fuel_max),
        ];
        for (kind, value) in figures {
            figure(out, ["kept", reason, "", kind], None, value);
        }
    }
    for rule in &campaign.operators {
        for (kind, value) in [("children", rule.trials), ("finds", rule.finds)] {
            figure(out, ["rule", &rule.name, "", kind], None, value);
        }
    }
}

fn growth(out: &mut String, law: &Result<Law, String>) {
    let report = match law {
        Ok(law) => &law.report,
        Err(why) => return line(out, &["law", "", why, "none"]),
    };
    for member in &report.series.members {
        let (bytes, n, fuel) = (
            member.bytes.to_string(),
            member.n.to_string(),
            member.fuel.to_string(),
        );
        let kind = member.exit.kind();
        line(
            out,
            &[
                "member", "", "", kind, &bytes, "", "", "", "", "", &n, &fuel,
            ],
        );
    }
    let largest = report.series.members.last().map_or(0, |member| member.fuel);
    let functions = report.functions.iter();
    let functions = functions.map(|of| (&of.name[..], &of.growth, of.fuel));
    for (name, growth, fuel) in functions.chain([("", &report.total, largest)]) {
        let tier = &growth.tier;
        figure(
            out,
            ["law", name, &tier.to_string(), tier.name()],
            None,
            fuel,
        );
    }
}

/// A cell. Names come from guests and files: what a spreadsheet would take for a formula gets an
/// apostrophe in front.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use sandglass_engine::guidance::OperatorRecord;

    use super::*;
    use crate::profile::Profile;
    use crate::profile::campaign::Kept;

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        assert_eq!(cell("a b"), "a b");
        assert_eq!(cell("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(cell("=1+1"), "'=1+1");
    }

    #[test]
    fn the_course_of_a_campaign_is_in_it() {
        let kept = Kept {
            inputs: 2,
            new_edges: 3,
            fuel_max: 400,
        };
        let rule = OperatorRecord {
            name: "=T.1".into(),
            trials: 50,
            finds: 6,
        };
        let page = Page {
            title: String::new(),
            about: String::new(),
            profile: &Profile::default(),
            campaign: Some(Campaign {
                fuel: vec![(1, 70), (9, 400)],
                edges: vec![(1, 8)],
                reasons: [("slower".to_owned(), kept)].into(),
                operators: vec![rule],
                ..Campaign::default()
            }),
            law: Some(Err("it costs no more, ever".into())),
            change: None,
        };
        let csv = csv(&page);
        let rows: Vec<&str> = csv.lines().skip(1).collect();
        let expected = [
            "point,,,fuel,,,,,,,1,70",
            "point,,,fuel,,,,,,,9,400",
            "point,,,edges,,,,,,,1,8",
            "quartile,1,,fuel,,,,,,,1,70",
            "quartile,2,,fuel,,,,,,,9,400",
            "quartile,3,,fuel,,,,,,,9,400",
            "quartile,1,,edges,,,,,,,1,8",
            "quartile,2,,edges,,,,,,,1,8",
            "quartile,3,,edges,,,,,,,1,8",
            "kept,slower,,inputs,,,,,,,,2",
            "kept,slower,,new edges,,,,,,,,3",
            "kept,slower,,fuel,,,,,,,,400",
            "rule,'=T.1,,children,,,,,,,,50",
            "rule,'=T.1,,finds,,,,,,,,6",
            "law,,\"it costs no more, ever\",none,,,,,,,,",
        ];
        assert_eq!(rows, expected);
        assert!(csv.lines().all(|row| row.split(',').count() >= 12), "{csv}");
    }
}
