//! What a check came to, for people and for programs.

use serde::Serialize;

use super::super::args::CheckArgs;
use crate::check::{Checked, Report, What};
use crate::error::show;
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::stack;

/// Of what failed, so much is printed; the reports have all.
const FAILURES_MAX: usize = 50;

/// Lines for people.
pub(super) fn print(out: &mut Sink, args: &CheckArgs, report: &Report) {
    let failures: Vec<&Checked> = report.failures().collect();
    for one in failures.iter().take(FAILURES_MAX) {
        let why = one.failure.as_deref().unwrap_or_default();
        out.line(&format!("FAILED {}: {why}: {}", show(&one.path), one.title));
        for line in stack::own_lines(&one.frames, FRAMES_MAX) {
            out.line(&format!("    {line}"));
        }
        let command = one.replay(&args.target.to_string_lossy());
        out.line(&format!("    replay: {command}"));
    }
    if failures.len() > FAILURES_MAX {
        let more = (failures.len() - FAILURES_MAX) as u64;
        out.line(&format!("and {} more", number(more)));
    }
    let open = match report.count(What::Open) {
        0 => String::new(),
        n => format!(", {} not fixed yet", plural(n, "finding")),
    };
    let ignored = match report.count(What::Ignored) {
        0 => String::new(),
        n => format!(", {} ignored", plural(n, "finding")),
    };
    let campaign = match report.execs {
        0 => String::new(),
        n => format!(", {}", plural(n, "execution")),
    };
    out.line(&format!(
        "{}: replayed {}, {}{open}{ignored}{campaign}: {}",
        report.target,
        plural(report.inputs(), "input"),
        plural(report.count(What::Finding), "finding"),
        match failures.len() {
            0 => "all as it should be".to_owned(),
            n => format!("{} failed", number(n as u64)),
        }
    ));
}

/// Frames of each stack that are printed.
const FRAMES_MAX: usize = 8;

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Checked {
        what: &'static str,
        file: String,
        ok: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<&'a str>,
        kind: &'a str,
        key: &'a str,
        title: &'a str,
        fuel: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        budget: Option<u64>,
        stack: Vec<String>,
    },
    Summary {
        target: &'a str,
        target_hash: &'a str,
        inputs: u64,
        findings: u64,
        open: u64,
        ignored: u64,
        new: u64,
        execs: u64,
        failed: usize,
        state_hash: &'a str,
    },
}

/// An object a line.
pub(super) fn json(out: &mut Sink, report: &Report) {
    let mut line = |line: &Line<'_>| {
        out.line(&serde_json::to_string(line).expect("numbers and text"));
    };
    for one in &report.checked {
        line(&Line::Checked {
            what: one.what.name(),
            file: show(&one.path),
            ok: one.failure.is_none(),
            failure: one.failure.as_deref(),
            kind: &one.kind,
            key: &one.key,
            title: &one.title,
            fuel: one.fuel,
            budget: one.budget,
            stack: stack::lines(&one.frames),
        });
    }
    line(&Line::Summary {
        target: &report.target,
        target_hash: &report.target_hash,
        inputs: report.inputs(),
        findings: report.count(What::Finding),
        open: report.count(What::Open),
        ignored: report.count(What::Ignored),
        new: report.count(What::New),
        execs: report.execs,
        failed: report.failures().count(),
        state_hash: &report.state_hash,
    });
}
