//! What a campaign kept: why, and the inputs that say most.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::{Log, ROWS_MAX, head};
use crate::error::printable;
use crate::event::Kept;
use crate::page::{escape, rest, table};
use crate::report::plain::{number, plural};

/// Inputs of the corpus in each table.
const INPUTS_MAX: usize = 100;

/// Bytes of an input in a table.
const PREVIEW_BYTES: usize = 48;

/// The corpus.
pub(super) fn corpus(body: &mut String, folder: &Path, log: &Log) {
    if log.kept.is_empty() {
        return;
    }
    let mut reasons: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for kept in log.kept.values() {
        let reason = reasons.entry(&kept.reason).or_default();
        *reason = (reason.0 + 1, reason.1.saturating_add(kept.new_edges));
    }
    body.push_str("<h2>Corpus</h2>\n");
    self::reasons(body, reasons.into_iter());
    let all: Vec<&Kept> = log.kept.values().collect();
    let mut most: Vec<&Kept> = all
        .iter()
        .copied()
        .filter(|kept| kept.new_edges > 0)
        .collect();
    most.sort_by_key(|kept| (Reverse(kept.new_edges), kept.id));
    most.truncate(INPUTS_MAX);
    entries(body, folder, "Most new edges", &most);
    let shown: BTreeSet<u32> = most.iter().map(|kept| kept.id).collect();
    let latest = all
        .iter()
        .rev()
        .copied()
        .filter(|kept| !shown.contains(&kept.id));
    let latest: Vec<&Kept> = latest.take(INPUTS_MAX).collect();
    entries(body, folder, "The latest of the others", &latest);
    let count = shown.len() + latest.len();
    rest(body, all.len(), count);
}

/// Why inputs were kept: of each reason how many, and their new edges.
pub(crate) fn reasons<'a>(body: &mut String, reasons: impl Iterator<Item = (&'a str, (u64, u64))>) {
    let rows = reasons.take(ROWS_MAX).map(|(reason, (inputs, edges))| {
        vec![escape(&printable(reason)), number(inputs), number(edges)]
    });
    table(body, &["@kept for", "#inputs", "#new edges"], rows);
}

/// Inputs of the corpus in a table that can be folded.
pub(crate) fn entries(body: &mut String, folder: &Path, title: &str, entries: &[&Kept]) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(
        body,
        "<details class=\"entries\"><summary>{title} <span>{}</span></summary>",
        plural(entries.len() as u64, "input")
    );
    let corpus = folder.join("corpus");
    // A link may lead anywhere.
    let is_real = fs::symlink_metadata(&corpus).is_ok_and(|meta| meta.is_dir());
    let rows = entries.iter().map(|kept| {
        // The log may say anything: only a name, never a path.
        let name = Path::new(&kept.file).file_name().unwrap_or_default();
        let preview = match is_real {
            true => head(&corpus.join(name), PREVIEW_BYTES as u64),
            false => Vec::new(),
        };
        let dots = if kept.bytes > preview.len() as u64 {
            "…"
        } else {
            ""
        };
        vec![
            format!("{}{dots}", escape(&preview.escape_ascii().to_string())),
            number(kept.bytes),
            number(kept.new_edges),
            number(kept.trial.saturating_add(1)),
            escape(&printable(&kept.reason)),
        ]
    });
    let columns = [
        "@input",
        "#bytes",
        "#new edges",
        "#at execution",
        "kept for",
    ];
    table(body, &columns, rows);
    body.push_str("</details>\n");
}
