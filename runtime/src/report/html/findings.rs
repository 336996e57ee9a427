//! The findings of a campaign, each with its stack, its input, and the command that replays it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Log, head};
use crate::check::known::findings;
use crate::error::{printable, show};
use crate::page::bytes::{Max, input};
use crate::page::{escape, rest};
use crate::report::plain::{number, plural};
use crate::stack::fold;
use crate::store::finding::{self, FindingRecord, repro_command};
use crate::store::record::Record;

/// Findings that are shown whole.
const FINDINGS_MAX: usize = 200;

/// Findings that are read: a folder may hold anything.
const FINDINGS_READ_MAX: usize = 10_000;

/// Of a finding's input, and of its choices.
const SHOWN: Max = Max {
    bytes: 2_048,
    lines: 40,
};

/// Bytes of a file of text that are read.
const TEXT_BYTES: u64 = 16 << 10;

/// The findings of a campaign's folder.
pub(super) struct Found {
    /// In the order in which they were found, bugs before slow inputs.
    findings: Vec<(PathBuf, FindingRecord)>,
    /// Folders that could not be read.
    damaged: usize,
}

impl Found {
    pub(super) fn read(folder: &Path) -> Result<Found> {
        let mut found = Found {
            findings: Vec::new(),
            damaged: 0,
        };
        for path in findings(folder)?.into_iter().take(FINDINGS_READ_MAX) {
            match finding::read(&path) {
                Ok((record, _)) => found.findings.push((path, record)),
                Err(_) => found.damaged += 1,
            }
        }
        found
            .findings
            .sort_by_key(|(_, record)| (record.kind == "slow", record.trial));
        Ok(found)
    }

    pub(super) fn count(&self, is_slow: bool) -> u64 {
        let same = |record: &FindingRecord| (record.kind == "slow") == is_slow;
        self.findings
            .iter()
            .filter(|(_, record)| same(record))
            .count() as u64
    }
}

/// All of them, bugs first.
pub(super) fn bugs(body: &mut String, folder: &Path, record: &Record, log: &Log, found: &Found) {
    body.push_str("<h2>Findings</h2>\n");
    if found.findings.is_empty() {
        let _ = writeln!(body, "<p>None in {}.</p>", plural(log.execs, "execution"));
    }
    for (n, (path, one)) in found.findings.iter().take(FINDINGS_MAX).enumerate() {
        // What a reader came for.
        let is_open = n == 0;
        bug(body, record, (path, one), is_open, "");
    }
    rest(body, found.findings.len(), FINDINGS_MAX);
    if found.damaged > 0 {
        let _ = writeln!(
            body,
            "<p>Left out: {} of {} that cannot be read.</p>",
            plural(found.damaged as u64, "folder"),
            escape(&show(&folder.join("findings")))
        );
    }
}

/// One of them, with a line of HTML at its end.
pub(crate) fn bug(
    body: &mut String,
    campaign: &Record,
    (path, one): (&Path, &FindingRecord),
    is_open: bool,
    more: &str,
) {
    let (title, says) = bug_title(one);
    let open = if is_open { " open" } else { "" };
    let _ = writeln!(
        body,
        "<details class=\"bug\"{open}><summary>{} <span>{}</span></summary>",
        escape(&title),
        escape(&says)
    );
    bug_body(body, campaign, path, one);
    let _ = writeln!(body, "{more}</details>");
}

/// What it is, and what it took; printable text.
pub(crate) fn bug_title(one: &FindingRecord) -> (String, String) {
    let mut says = vec![
        plural(one.input_bytes, "byte"),
        format!("{} fuel", number(one.fuel)),
        format!("at execution {}", number(one.trial.saturating_add(1))),
    ];
    if let Some(expected) = one.expected {
        let times = number(one.fuel / expected.max(1));
        says.insert(0, format!("{times} times what its size explains"));
    }
    let title = match one.title.starts_with(&one.kind) {
        true => one.title.clone(),
        false => format!("{}: {}", one.kind, one.title),
    };
    (printable(&title), says.join(", "))
}

/// Its stack, its input, and the command that replays it.
pub(crate) fn bug_body(body: &mut String, campaign: &Record, path: &Path, one: &FindingRecord) {
    let stack = head(&path.join("stack.txt"), TEXT_BYTES);
    if !stack.is_empty() {
        let lines: Vec<String> = String::from_utf8_lossy(&stack)
            .lines()
            .map(str::to_owned)
            .collect();
        let stack = fold(&lines).join("\n") + "\n";
        body.push_str(&input(stack.as_bytes(), stack.len() as u64, SHOWN));
    }
    let bytes = head(&path.join("input"), SHOWN.bytes as u64);
    body.push_str(&input(&bytes, one.input_bytes, SHOWN));
    if one.choices_hash.is_some() {
        let choices = path.join("choices");
        let all = fs::metadata(&choices).map_or(0, |meta| meta.len());
        body.push_str("<p>Made of these choices:</p>\n");
        body.push_str(&input(&head(&choices, TEXT_BYTES), all, SHOWN));
    }
    // The target's path is as `fuzz` had it. Where it leads nowhere from here, the finding's is for everywhere.
    let target = Path::new(&campaign.target.path);
    let whole = match target.is_relative() && !target.exists() {
        true => fs::canonicalize(path).ok(),
        false => None,
    };
    let command = repro_command(&campaign.target.path, whole.as_deref().unwrap_or(path));
    let _ = writeln!(body, "<p><code>{}</code></p>", escape(&command));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::finding::tests::sample;
    use crate::store::record;

    #[test]
    fn machinery_on_top_of_a_stack_is_folded() {
        let folder = tempfile::tempdir().unwrap();
        let stack = "#0 abort\n#1 core::panicking::panic\n#2 parse\n";
        fs::write(folder.path().join("stack.txt"), stack).unwrap();
        let mut body = String::new();
        let campaign = record::tests::sample();
        bug_body(&mut body, &campaign, folder.path(), &sample().record);
        let shown = "\">... 2 frames of panic, abort or allocation\n#2 parse\n";
        assert!(body.contains(shown) && !body.contains("#1"), "{body}");
    }
}
