//! A campaign as one page that needs nothing else: how it went, what it found, what it kept.
//!
//! In: a campaign's folder. The page has a fixed size at most, however large the campaign: curves are
//! thinned, of the corpus the entries that say most are shown, of inputs their beginnings.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use anyhow::{Result, anyhow};
use sandglass_engine::guidance::OperatorRecord;

use super::log::{self, Log};
use super::plain::{number, plural, traces};
use crate::error::{printable, show};
use crate::event::Counters;
use crate::page::chart::{Axis, Chart, brief};
use crate::page::{self, document, escape, heading, table, tiles};
use crate::store::record::Record;
use crate::store::status::Status;
use crate::store::{glance, require_record};

mod corpus;
mod findings;

pub(crate) use corpus::{entries, reasons};
pub(crate) use findings::{bug, bug_body, bug_title};

use findings::Found;

/// Points of a curve.
const POINTS_MAX: usize = 1_000;

/// Rows of a table.
const ROWS_MAX: usize = 100;

/// A report that is looked at beside this one.
#[derive(Clone, Debug)]
pub struct Link {
    /// What it is.
    pub name: &'static str,
    /// Where it is, relative to the page.
    pub path: String,
}

/// The page of the campaign in `folder`. Errs if that is none.
pub fn html(folder: &Path, links: &[Link]) -> Result<String> {
    let record = require_record(folder)?;
    let mut log = log::read(folder)?.ok_or_else(|| {
        anyhow!(
            "{}: no events.jsonl, expected a campaign that was run",
            show(folder)
        )
    })?;
    let found = Found::read(folder)?;
    let stand = Stand::of(folder, &mut log);
    let about = format!(
        "{}, guidance {}, seed {}, {}",
        record.target.path,
        record.guidance.name,
        record.guidance.seed,
        plural(log.execs, "execution")
    );
    let mut body = heading(&folder.to_string_lossy(), &about);
    let counters = stand.counters.as_ref();
    body.push_str(&tiles(numbers(&log, counters, &found)));
    if log.is_cut {
        let _ = writeln!(
            body,
            "<p>The log is longer than is read: curves and kept inputs are of its first {} MiB.</p>",
            log::LOG_BYTES_MAX >> 20
        );
    }
    others(&mut body, links);
    curves(&mut body, &log);
    findings::bugs(&mut body, folder, &record, &log, &found);
    operators(&mut body, stand.operators.as_deref());
    if let Some(counters) = counters {
        behaviour(&mut body, counters);
    }
    corpus::corpus(&mut body, folder, &log);
    settings(&mut body, &record, &log);
    Ok(document(&folder.to_string_lossy(), "campaign", &body, ""))
}

/// How far a campaign is, by what says most: the end of a session, or what a running or killed one last wrote.
struct Stand {
    counters: Option<Counters>,
    operators: Option<Vec<OperatorRecord>>,
}

impl Stand {
    /// Tells the log of executions after what it has, too.
    fn of(folder: &Path, log: &mut Log) -> Stand {
        let summary = log.summary.as_ref();
        let ended = summary.map(|of| (of.counters.clone(), of.operators.clone()));
        let status = Status::read(folder).map(|of| (of.counters, of.operators));
        // Of equals the end.
        let stands = status.into_iter().chain(ended);
        let (counters, operators) = stands.max_by_key(|(counters, _)| counters.execs).unzip();
        let execs = counters.as_ref().map_or(0, |of: &Counters| of.execs);
        let written = glance(folder).map_or(0, |header| header.execs);
        log.execs = log.execs.max(execs).max(written);
        Stand {
            counters,
            operators,
        }
    }
}

fn numbers<'a>(log: &Log, counters: Option<&Counters>, found: &Found) -> Vec<(String, &'a str)> {
    let mut all = vec![
        (brief(log.execs as f64), "executions"),
        (number(found.count(false)), "bugs"),
        (number(found.count(true)), "slow inputs"),
    ];
    let total = log.start.as_ref().map_or(0, |start| start.edges_total);
    let edges = log.edges().last().map_or(0, |(_, edges)| *edges);
    if total > 0 {
        let reached = counters.map_or(edges, |counters| counters.edges);
        all.push((format!("{} of {}", number(reached), number(total)), "edges"));
    }
    let kept = counters.map_or(0, |counters| counters.corpus);
    all.push((number(kept.max(log.kept.len() as u64)), "inputs kept"));
    if let Some(counters) = counters {
        let made = counters.execs.max(1) as f64;
        all.push((
            format!("{:.1} %", 100.0 * counters.valid as f64 / made),
            "valid",
        ));
        all.push((brief(counters.fuel_max as f64), "fuel at most"));
        if let Some(hill) = counters.diversity {
            all.push((format!("{:.0}", hill.b1), "diversity B(1)"));
        }
    }
    all
}

fn others(body: &mut String, links: &[Link]) {
    let links: Vec<String> = links
        .iter()
        .map(|link| format!("<a href=\"{}\">{}</a>", escape(&link.path), link.name))
        .collect();
    if !links.is_empty() {
        let _ = writeln!(body, "<p>See also: {}.</p>", links.join(", "));
    }
}

/// At most so many points, the last one among them.
fn thinned(points: Vec<(u64, u64)>) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(POINTS_MAX).max(1);
    let last = points.last().copied();
    let mut thin: Vec<(u64, u64)> = points.into_iter().step_by(every).collect();
    thin.extend(last);
    thin.into_iter()
        .map(|(x, y)| (x as f64, y as f64))
        .collect()
}

fn curves(body: &mut String, log: &Log) {
    let found = |trials: Vec<u64>| -> Vec<(u64, u64)> {
        trials
            .into_iter()
            .map(|trial| trial.saturating_add(1))
            .zip(1..)
            .collect()
    };
    let bugs = found(log.findings.iter().map(|finding| finding.trial).collect());
    let curves = [
        (log.edges(), "edges", "Edges reached"),
        (log.corpus(), "inputs", "Inputs kept"),
        (bugs, "bugs", "Bugs found"),
    ];
    if curves.iter().all(|(points, ..)| points.is_empty()) {
        return;
    }
    body.push_str("<h2>How it went</h2>\n<div class=\"charts\">\n");
    for (points, label, caption) in curves {
        if points.is_empty() {
            continue;
        }
        let points = thinned(points);
        let execs = log.execs as f64;
        let x = Axis::linear("executions", [execs].into_iter());
        let y = Axis::linear(label, points.iter().map(|(_, y)| *y));
        let mut chart = Chart::new(x, y);
        chart.steps(&points, execs);
        let _ = writeln!(
            body,
            "<figure><figcaption>{caption}</figcaption>{}</figure>",
            chart.svg(caption)
        );
    }
    body.push_str("</div>\n");
}

/// The beginning of a regular file; nothing of any other, or of what a link leads to: a folder that somebody
/// sent would have a page show files of ours.
fn head(path: &Path, bytes_max: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let is_file = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    if is_file && let Ok(file) = File::open(path) {
        // What cannot be read is not shown; the folder tells more.
        let _ = file.take(bytes_max).read_to_end(&mut bytes);
    }
    bytes
}

fn operators(body: &mut String, operators: Option<&[OperatorRecord]>) {
    let Some(operators) = operators else { return };
    body.push_str("<h2>Operators</h2>\n");
    if operators.is_empty() {
        body.push_str("<p>This guidance stacks several changes in one child and does not count which of them found something.</p>\n");
        return;
    }
    page::operators(body, operators, ROWS_MAX);
}

/// How far inputs got and how differently they behaved.
pub(crate) fn behaviour(body: &mut String, counters: &Counters) {
    let share = |count: u64| {
        let share = 100.0 * count as f64 / counters.execs.max(1) as f64;
        vec![number(count), format!("{share:.1} %")]
    };
    let mut rows = vec![
        [vec!["valid".to_owned()], share(counters.valid)].concat(),
        [vec!["rejected".to_owned()], share(counters.invalid)].concat(),
        [
            vec!["without an input".to_owned()],
            share(counters.without_input),
        ]
        .concat(),
        [vec!["findings".to_owned()], share(counters.findings)].concat(),
    ];
    for (n, reached) in counters.stages.iter().enumerate().take(ROWS_MAX) {
        rows.push([vec![format!("reached stage {}", n + 1)], share(*reached)].concat());
    }
    body.push_str("<h2>Executions</h2>\n");
    table(body, &["@executions", "#", "#"], rows.into_iter());
    let numbers = [
        (
            "unique traces",
            counters.unique_traces.map(|count| traces(count, counters)),
        ),
        (
            "different traces of valid runs",
            counters.diverse_valid.map(|count| traces(count, counters)),
        ),
        (
            "diversity B(0)",
            counters.diversity.map(|hill| number(hill.b0)),
        ),
        (
            "diversity B(1)",
            counters.diversity.map(|hill| format!("{:.1}", hill.b1)),
        ),
        (
            "diversity B(2)",
            counters.diversity.map(|hill| format!("{:.1}", hill.b2)),
        ),
        (
            "edges reached by valid runs",
            Some(number(counters.valid_edges)),
        ),
        ("fuel of all", Some(number(counters.fuel_total))),
    ];
    let rows = numbers
        .into_iter()
        .filter_map(|(name, value)| Some(vec![name.to_owned(), value?]));
    table(body, &["@behaviour", "#"], rows);
}

fn settings(body: &mut String, record: &Record, log: &Log) {
    let limits = &record.limits;
    let mut rows = vec![
        ("module", record.target.hash.clone()),
        ("arguments", format!("{:?}", record.target.args)),
        ("guidance", record.guidance.name.clone()),
        ("seed", record.guidance.seed.to_string()),
        ("seed inputs", number(record.start.inputs)),
        ("fuel limit", number(limits.fuel)),
        ("memory limit", number(limits.memory_bytes)),
        ("depth limit", number(limits.call_depth.into())),
    ];
    if let Some(generator) = &record.generator {
        rows.insert(1, ("generator", generator.hash.clone()));
    }
    let settings: Vec<String> = record
        .guidance
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !settings.is_empty() {
        rows.push(("settings", settings.join(", ")));
    }
    if let Some(summary) = &log.summary {
        rows.push(("state", summary.state_hash.clone()));
    }
    body.push_str("<h2>Settings</h2>\n");
    let rows = rows
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), escape(&printable(&value))]);
    table(body, &["@", "@"], rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_thinned_and_keep_their_end() {
        let points: Vec<(u64, u64)> = (0..100_000).map(|n| (n, n)).collect();
        let thin = thinned(points);
        assert!(thin.len() <= POINTS_MAX + 1, "{}", thin.len());
        assert_eq!(thin.last(), Some(&(99_999.0, 99_999.0)));
        assert_eq!(thinned(Vec::new()), []);
    }

    /// A campaign that was killed has no end in its log, and has run on since it last kept something.
    #[test]
    fn how_far_it_is_says_what_was_written_last() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log {
            execs: 8,
            ..Log::default()
        };
        let stand = Stand::of(folder.path(), &mut log);
        assert_eq!((log.execs, stand.counters), (8, None));
        let status = Status {
            counters: Counters {
                execs: 814,
                valid: 407,
                corpus: 9,
                ..Counters::default()
            },
            operators: Vec::new(),
        };
        fs::write(folder.path().join(Status::FILE), status.to_json()).unwrap();
        let stand = Stand::of(folder.path(), &mut log);
        assert_eq!((log.execs, stand.operators), (814, Some(Vec::new())));
        assert_eq!(stand.counters.map(|of| of.valid), Some(407));
    }
}
