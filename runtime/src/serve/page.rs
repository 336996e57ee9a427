//! The pages in HTML: a set of campaigns, a campaign, a finding.
//!
//! A page is made whole for each request and shows all it has without scripts. It consists of sections;
//! the script of the page (`live.js`) fetches it again when the state has changed and puts those that differ
//! in the place of the old ones: there is one rendering, and it escapes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::joined::Joined;
use super::meeting::Stand;
use super::series::Sample;
use super::watch::{FoundOne, Life, Watch};
use super::{json, route};
use crate::error::printable;
use crate::event::Kept;
use crate::join::ENDED;
use crate::page::chart::brief;
use crate::page::{self, escape, rest, table, tiles};
use crate::report::html::{behaviour, bug, bug_body, bug_title, entries, reasons};
use crate::report::plain::{clock, ended, number, plural};

mod charts;

/// The style of all pages.
pub(super) const STYLE: &str = concat!(
    include_str!("../page/page.css"),
    include_str!("page/serve.css")
);

/// The script of all pages.
pub(super) const SCRIPT: &str = include_str!("page/live.js");

/// A sandglass.
pub(super) const ICON: &str = include_str!("page/icon.svg");

/// Findings that are shown whole.
const FINDINGS_MAX: usize = 50;

/// Rows of a table.
const ROWS_MAX: usize = 100;

/// So much of a log may be unread without a word: a line that is being written.
const BEHIND_BYTES: u64 = 1 << 20;

/// All campaigns.
pub(super) fn set(joined: &Joined) -> String {
    let state = json::set(joined);
    let count = state.campaigns.len() as u64;
    let total = |of: fn(&json::Summary) -> u64| -> u64 {
        state
            .campaigns
            .iter()
            .fold(0, |sum, one| sum.saturating_add(of(one)))
    };
    // What several campaigns have found is one bug, as `sandglass triage` has it.
    let different = |is_slow| -> u64 {
        let watches = joined.campaigns().iter();
        let found = watches.flat_map(|watch| watch.found.sorted());
        let of_kind = found.filter(|one| one.is_slow() == is_slow);
        let names: BTreeSet<String> = of_kind.map(|one| one.record.folder_name()).collect();
        names.len() as u64
    };
    let at_work = state.workers.iter().filter(|beat| beat.doing != ENDED);
    let mut numbers = vec![(number(at_work.count() as u64), "at work")];
    if count > 0 {
        numbers.extend([
            (number(count), "campaigns"),
            (brief(total(|one| one.execs) as f64), "executions"),
            (number(different(false)), "bugs"),
            (number(different(true)), "slow inputs"),
        ]);
    }
    let title = match count {
        0 => "Campaigns that meet".to_owned(),
        n => plural(n, "campaign"),
    };
    let mut body = format!("<h1>{}</h1>\n", escape(&title));
    section(&mut body, "numbers", &tiles(numbers));
    if count > 0 {
        let mut list = String::new();
        campaigns(&mut list, &state.campaigns);
        section(&mut body, "campaigns", &list);
        let mut curves = String::new();
        let all: Vec<Vec<Sample>> = joined.campaigns().iter().map(Watch::samples).collect();
        charts::of_set(&mut curves, &all);
        body.push_str(AXES);
        section(&mut body, "curves", &curves);
    }
    if let Some(stand) = &state.meeting {
        section(&mut body, "meeting", &meeting(stand));
    }
    section(&mut body, "workers", &workers(joined));
    document("campaigns", "/state.json", &state.revision, &body)
}

/// Where campaigns meet, as they say that it is.
fn meeting(stand: &Stand) -> String {
    let mut html = String::from("<h2>Where campaigns meet</h2>\n");
    let (state, word) = match stand.is_there {
        true => ("running", "there"),
        false => ("silent", "away"),
    };
    let why = stand.why.as_ref().map(|why| format!(": {why}"));
    let _ = writeln!(
        html,
        "<p><b class=\"state {state}\">{word}</b> {}{}</p>",
        escape(&printable(&stand.place)),
        escape(&printable(&why.unwrap_or_default()))
    );
    let edges = stand.modules.iter().map(|one| one.edges).max();
    let more = if stand.is_behind { "+" } else { "" };
    html.push_str(&tiles(vec![
        (format!("{}{more}", number(stand.entries)), "entries"),
        (number(edges.unwrap_or(0)), "edges claimed"),
        (number(stand.findings_total), "findings"),
        (number(stand.refused), "refused"),
    ]));
    html.push_str(
        "<p>What is claimed here, nobody here has run: <code>sandglass audit</code> does.</p>\n",
    );
    if stand.modules.len() > 1 {
        let rows = stand.modules.iter();
        let rows =
            rows.map(|one| vec![escape(&one.module), number(one.entries), number(one.edges)]);
        table(&mut html, &["@module", "#entries", "#edges"], rows);
    }
    if !stand.findings.is_empty() {
        let rows = stand.findings.iter().take(ROWS_MAX).map(|one| {
            vec![
                escape(&printable(&one.name)),
                number(one.input_bytes),
                escape(&printable(&one.worker)),
                escape(&one.module),
            ]
        });
        table(
            &mut html,
            &["@finding", "#bytes", "@found by", "@module"],
            rows,
        );
        rest(
            &mut html,
            usize::try_from(stand.findings_total).unwrap_or(usize::MAX),
            ROWS_MAX,
        );
    }
    html
}

fn campaigns(body: &mut String, campaigns: &[json::Summary]) {
    let columns = [
        "@campaign",
        "state",
        "guidance",
        "#executions",
        "#a second",
        "#time",
        "#edges",
        "#inputs",
        "#bugs",
        "#slow",
    ];
    let rows = campaigns.iter().map(|one| {
        let class = charts::class(one.index);
        vec![
            format!(
                "<i class=\"swatch {class}\"></i><a href=\"/{}/\">{}</a>",
                one.index,
                escape(&one.name)
            ),
            format!("<b class=\"state {0}\">{0}</b>", one.state),
            escape(&printable(&one.guidance)),
            number(one.execs),
            number(one.execs_per_sec),
            clock(one.elapsed_ms),
            number(one.edges),
            number(one.corpus),
            number(one.bugs),
            number(one.slow),
        ]
    });
    table(body, &columns, rows);
}

/// One campaign.
pub(super) fn campaign(joined: &Joined, index: usize, watch: &Watch) -> String {
    let state = json::campaign(index, watch);
    let mut curves = String::new();
    charts::of_campaign(&mut curves, &watch.samples(), &state.rates);
    let name = watch.name();
    let mut body = up(joined);
    let _ = writeln!(body, "<h1>{}</h1>", escape(&name));
    section(&mut body, "numbers", &numbers(watch, &state.summary));
    let _ = writeln!(body, "<p>{}</p>", links(index, watch));
    body.push_str(AXES);
    section(&mut body, "curves", &curves);
    section(&mut body, "findings", &findings(index, watch));
    section(&mut body, "work", &work(watch));
    section(&mut body, "workers", &workers(joined));
    section(&mut body, "corpus", &corpus(watch));
    let address = format!("/{index}/state.json");
    document(&name, &address, &state.revision, &body)
}

/// The way to all campaigns, if there are several.
fn up(joined: &Joined) -> String {
    match (joined.campaigns(), joined.meeting()) {
        ([_], None) => String::new(),
        ([_], Some(_)) => "<p><a href=\"/\">Where campaigns meet</a></p>\n".to_owned(),
        (all, _) => format!(
            "<p><a href=\"/\">All {} campaigns</a></p>\n",
            number(all.len() as u64)
        ),
    }
}

fn numbers(watch: &Watch, summary: &json::Summary) -> String {
    let about = format!(
        "{}, guidance {}, seed {}",
        watch.record.target.path, summary.guidance, summary.seed
    );
    let mut html = format!(
        "<p><b class=\"state {}\">{}</b> {}</p>\n",
        summary.state,
        life(watch),
        escape(&printable(&about))
    );
    if summary.behind_bytes > BEHIND_BYTES {
        let left = summary.behind_bytes >> 20;
        let _ = writeln!(
            html,
            "<p>Its log is still being read, {} MiB are left: load again for the rest.</p>",
            number(left)
        );
    }
    let mut all = vec![
        (brief(summary.execs as f64), "executions"),
        (number(summary.execs_per_sec), "a second"),
        (clock(summary.elapsed_ms), "of time"),
    ];
    if summary.edges_total > 0 {
        let edges = format!(
            "{} of {}",
            number(summary.edges),
            number(summary.edges_total)
        );
        all.push((edges, "edges"));
    }
    all.push((number(summary.corpus), "inputs kept"));
    if let (_, Some(counters)) = watch.counters() {
        let share = 100.0 * counters.valid as f64 / counters.execs.max(1) as f64;
        all.push((format!("{share:.1} %"), "valid"));
    }
    all.push((number(summary.bugs), "bugs"));
    all.push((number(summary.slow), "slow inputs"));
    html + &tiles(all)
}

/// Whether it goes on, in words.
fn life(watch: &Watch) -> String {
    match watch.life() {
        Life::Running => "running".to_owned(),
        Life::Silent(0) => "silent for less than a minute".to_owned(),
        Life::Silent(minutes) => format!("silent for {}", plural(minutes, "minute")),
        Life::Ended => {
            let summary = watch.log.summary.as_ref();
            summary
                .map_or("ended", |summary| ended(summary.ended))
                .to_owned()
        }
    }
}

/// What else there is of it.
fn links(index: usize, watch: &Watch) -> String {
    let mut links = vec![format!("<a href=\"/{index}/report\">report</a>")];
    for (name, file) in route::PAGES {
        if route::has(watch, file) {
            links.push(format!("<a href=\"/{index}/{name}\">{name}</a>"));
        }
    }
    links.push(format!("<a href=\"/{index}/state.json\">JSON</a>"));
    format!("See also: {}.", links.join(", "))
}

fn findings(index: usize, watch: &Watch) -> String {
    let mut html = String::from("<h2>Findings</h2>\n");
    let all = watch.found.sorted();
    if all.is_empty() {
        html.push_str("<p>None so far.</p>\n");
    }
    for one in all.iter().take(FINDINGS_MAX) {
        let more = format!("<p>{}</p>\n", finding_links(index, one));
        bug(
            &mut html,
            &watch.record,
            (&one.path, &one.record),
            false,
            &more,
        );
    }
    if all.len() > FINDINGS_MAX {
        let columns = ["@finding", "#bytes", "#fuel", "#at execution"];
        let rows = all.iter().skip(FINDINGS_MAX).take(ROWS_MAX).map(|one| {
            let (title, _) = bug_title(&one.record);
            vec![
                format!(
                    "<a href=\"/{index}/finding/{}\">{}</a>",
                    one.id,
                    escape(&title)
                ),
                number(one.record.input_bytes),
                number(one.record.fuel),
                number(one.record.trial.saturating_add(1)),
            ]
        });
        table(&mut html, &columns, rows);
    }
    rest(&mut html, all.len(), FINDINGS_MAX + ROWS_MAX);
    if watch.found.is_cut {
        html.push_str("<p>There are more folders than are looked at.</p>\n");
    }
    let damaged = watch.found.damaged();
    if damaged > 0 {
        let _ = writeln!(
            html,
            "<p>Left out: {} that cannot be read.</p>",
            plural(damaged, "folder")
        );
    }
    html
}

fn finding_links(index: usize, one: &FoundOne) -> String {
    let id = &one.id;
    format!(
        "<a href=\"/{index}/finding/{id}\">this finding alone</a>, <a href=\"/{index}/finding/{id}/input\">its input</a>"
    )
}

/// One finding.
pub(super) fn finding(index: usize, watch: &Watch, one: &FoundOne) -> String {
    let (title, says) = bug_title(&one.record);
    let mut body = format!(
        "<p><a href=\"/{index}/\">{}</a></p>\n<h1>{}</h1>\n<p>{}; {}</p>\n",
        escape(&watch.name()),
        escape(&title),
        escape(&says),
        escape(&printable(&one.record.exit)),
    );
    bug_body(&mut body, &watch.record, &one.path, &one.record);
    let _ = writeln!(
        body,
        "<p><a href=\"/{index}/finding/{}/input\">Its input</a>, {}.</p>",
        one.id,
        plural(one.record.input_bytes, "byte")
    );
    document(&title, "", "", &body)
}

/// What operators led to, and how executions ended.
fn work(watch: &Watch) -> String {
    let mut html = String::new();
    let operators = watch.operators();
    if !operators.is_empty() {
        html.push_str("<h2>Operators</h2>\n");
        page::operators(&mut html, operators, ROWS_MAX);
    } else if !watch.log.rules.is_empty() {
        html.push_str("<h2>Operators</h2>\n");
        let rows = watch.log.rules.iter().take(ROWS_MAX);
        let rows = rows.map(|(name, kept)| vec![escape(&printable(name)), number(*kept)]);
        table(&mut html, &["@operator or rule", "#inputs kept"], rows);
    }
    if let (_, Some(counters)) = watch.counters() {
        behaviour(&mut html, counters);
    }
    html
}

/// Who is at work.
fn workers(joined: &Joined) -> String {
    let workers = joined.workers();
    if workers.is_empty() {
        return String::new();
    }
    let mut html = String::from("<h2>Workers</h2>\n");
    let columns = [
        "@worker",
        "@doing",
        "#executions",
        "#inputs",
        "#edges",
        "#findings",
        "#refused",
    ];
    let rows = workers.iter().take(ROWS_MAX).map(|beat| {
        vec![
            escape(&printable(&beat.worker.0)),
            escape(&printable(&beat.doing)),
            number(beat.execs),
            number(beat.corpus.into()),
            number(beat.edges.into()),
            number(beat.findings.into()),
            number(beat.refused),
        ]
    });
    table(&mut html, &columns, rows);
    rest(&mut html, workers.len(), ROWS_MAX);
    html
}

fn corpus(watch: &Watch) -> String {
    let log = &watch.log;
    if log.latest.is_empty() {
        return String::new();
    }
    let mut html = String::from("<h2>Corpus</h2>\n");
    let names = log.reasons.iter();
    reasons(&mut html, names.map(|(name, counts)| (&name[..], *counts)));
    let latest: Vec<&Kept> = log.latest.iter().rev().collect();
    entries(&mut html, &watch.folder, "The latest", &latest);
    let most: Vec<&Kept> = log.most.iter().collect();
    entries(&mut html, &watch.folder, "Most new edges", &most);
    html
}

/// A part of a page that may change.
fn section(body: &mut String, id: &str, html: &str) {
    let hash = blake3::hash(html.as_bytes()).to_hex();
    let _ = write!(
        body,
        "<section id=\"{id}\" data-hash=\"{}\">\n{html}</section>\n",
        &hash[..16]
    );
}

/// Whether curves go by executions or by time: style alone looks at it.
const AXES: &str = r#"<div class="axes"><h2>How it goes</h2>
<label><input type="radio" name="axis" id="by-execs" checked> by executions</label>
<label><input type="radio" name="axis" id="by-time"> by time</label>
</div>
"#;

/// A whole page; `state` is the address of what tells whether it has changed, if it can.
fn document(title: &str, state: &str, revision: &str, body: &str) -> String {
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{} – sandglass</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/style.css">
<script src="/live.js" defer></script>
</head>
<body data-state="{state}" data-revision="{revision}">
{body}<footer>Served by sandglass {}, which only reads. Fuel is counted and not timed. <output id="says"></output></footer>
</body>
</html>
"#,
        escape(&printable(title)),
        env!("CARGO_PKG_VERSION"),
    )
}
