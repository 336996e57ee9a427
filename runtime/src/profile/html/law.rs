//! The law by which an input's cost grows, with what it rests on: members, certificate, functions.

use std::fmt::Write as _;

use super::{POINTS_MAX, ROWS_MAX};
use crate::error::printable;
use crate::growth::Report;
use crate::growth::text::{end, evidence};
use crate::page::chart::{Axis, Chart};
use crate::page::{escape, rest, table};
use crate::profile::text::percent;
use crate::report::plain::{number, plural};

/// A family of inputs and what was learnt of it.
pub struct Law {
    /// What is repeated, in words.
    pub family: String,
    /// Its members and their growth.
    pub report: Report,
}

/// The section; of an input without a law, why it has none.
pub(super) fn section(body: &mut String, law: &Result<Law, String>) {
    body.push_str("<h2>How the cost grows</h2>\n");
    let law = match law {
        Ok(law) => law,
        Err(why) => {
            let _ = writeln!(body, "<p>No law: {}</p>", escape(&printable(why)));
            return;
        }
    };
    let report = &law.report;
    let _ = writeln!(
        body,
        "<p>{}</p>\n<p class=\"law\"><b>{}</b></p>\n<ul>",
        escape(&printable(&law.family)),
        escape(&report.total.tier.to_string())
    );
    let end = end(&report.series.end).map(|why| format!("members end: {why}"));
    for line in evidence(&report.total).into_iter().chain(end) {
        let _ = writeln!(body, "<li>{}</li>", escape(&printable(&line)));
    }
    body.push_str("</ul>\n");
    members(body, report);
    functions(body, report);
}

fn members(body: &mut String, report: &Report) {
    let members = &report.series.members;
    let x = Axis::logarithmic("n", members.iter().map(|member| member.n as f64));
    let y = Axis::logarithmic("fuel", members.iter().map(|member| member.fuel as f64));
    let mut chart = Chart::new(x, y);
    for member in members.iter().take(POINTS_MAX) {
        let title = format!(
            "n = {}: {}, {} fuel",
            number(member.n),
            plural(member.bytes, "byte"),
            number(member.fuel)
        );
        chart.point(
            (member.n as f64, member.fuel as f64),
            "dot",
            &escape(&title),
        );
    }
    let _ = writeln!(
        body,
        "<figure>{}</figure>",
        chart.svg("Fuel by number of repetitions")
    );
}

fn functions(body: &mut String, report: &Report) {
    let total: u64 = report.functions.iter().map(|function| function.fuel).sum();
    let columns = ["@function", "#own in the largest", "#", "~law", "tier"];
    let rows = report.functions.iter().take(ROWS_MAX).map(|function| {
        vec![
            escape(&printable(&function.name)),
            number(function.fuel),
            percent(function.fuel, total),
            escape(&function.growth.tier.to_string()),
            function.growth.tier.name().to_owned(),
        ]
    });
    table(body, &columns, rows);
    rest(body, report.functions.len(), ROWS_MAX);
}
