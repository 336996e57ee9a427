//! `sandglass triage`: findings by how bad they are, and what is to be thought of them.
//!
//! Findings of several folders with one kind and key are one. Of the source the lines around the place are shown, from files
//! below the current folder and no others: a module may claim to come from anywhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use crate::check::known::findings;
use crate::error::{exit_code, io, printable, show, with_next};
use crate::event::{Event, Warning};
use crate::inputs::{self, read_file};
use crate::report::Sink;
use crate::report::plain::plural;
use crate::shell::quote_path;
use crate::store::finding::{self, FindingRecord};
use crate::triage::{self, Decision, Severity, Triage};

/// `sandglass triage`
#[derive(Debug, Args)]
pub struct TriageArgs {
    /// Campaigns, or folders of findings
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// A bug that is not fixed yet: `check` expects it
    #[arg(long, value_name = "FINDING", conflicts_with_all = ["ignore", "clear"])]
    pub open: Vec<String>,
    /// No bug: `check` does not mind it
    #[arg(long, value_name = "FINDING", conflicts_with = "clear")]
    pub ignore: Vec<String>,
    /// Take back what was decided
    #[arg(long, value_name = "FINDING", conflicts_with = "note")]
    pub clear: Vec<String>,
    /// Why, or where it is tracked
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// One bug, wherever it was found.
struct Group {
    severity: Severity,
    record: FindingRecord,
    folders: Vec<PathBuf>,
    triage: Option<Triage>,
}

pub(super) fn run(args: TriageArgs) -> Result<u8> {
    let (mut groups, warnings) = read(&args)?;
    decide(&args, &mut groups)?;
    groups.sort_by(|a, b| {
        let key = |group: &Group| (group.severity, group.record.title.clone(), group.name());
        key(a).cmp(&key(b))
    });
    let mut sink = Sink::stdout();
    for text in warnings {
        match args.json {
            true => sink.line(&Event::Warning(Warning { text }).to_json()),
            false => sink.line(&format!("warning: left out {text}")),
        }
    }
    for group in &groups {
        match args.json {
            true => sink.line(&group.json()),
            false => group.lines().iter().for_each(|line| sink.line(line)),
        }
    }
    if !args.json {
        let undecided = groups.iter().filter(|group| group.triage.is_none()).count();
        sink.line(&format!(
            "{}, {undecided} undecided",
            plural(groups.len() as u64, "finding")
        ));
    }
    Ok(exit_code::FINE)
}

/// The findings of folders. What is to be cleared need not be readable, and where nothing is decided, what is damaged
/// is left out with a warning.
fn read(args: &TriageArgs) -> Result<(Vec<Group>, Vec<String>)> {
    let (folders, clear) = (&args.folders, &args.clear);
    let decides = !(args.open.is_empty() && args.ignore.is_empty() && clear.is_empty());
    let mut warnings = Vec::new();
    let mut groups = BTreeMap::new();
    for folder in folders {
        if !folder.is_dir() {
            bail!(
                "{}: not a folder, expected a campaign or a folder of findings",
                show(folder)
            );
        }
        for path in all_findings(folder)? {
            let (record, _) = match finding::read(&path) {
                Err(error) if !decides => {
                    warnings.push(printable(&format!("{error:#}")));
                    continue;
                }
                read => read?,
            };
            let is_cleared = clear.iter().any(|name| is_called(&record, name));
            let triage = match is_cleared {
                true => None,
                false => triage::read(&path)?,
            };
            let group = groups.entry(record.folder_name()).or_insert_with(|| Group {
                severity: Severity::of(&record),
                record,
                folders: Vec::new(),
                triage: None,
            });
            if !group.folders.contains(&path) {
                group.folders.push(path);
                group.triage = group.triage.take().or(triage);
            }
        }
    }
    Ok((groups.into_values().collect(), warnings))
}

/// The findings of a campaign, of a folder of findings, or of all campaigns in a folder.
fn all_findings(folder: &Path) -> Result<Vec<PathBuf>> {
    let own = findings(folder)?;
    let campaigns = inputs::campaigns(&[folder.to_owned()])?;
    if own.is_empty()
        && campaigns.is_empty()
        && fs::read_dir(folder)
            .map_err(|e| io(folder, "read the folder", &e))?
            .next()
            .is_some()
    {
        bail!(
            "{}: neither a campaign nor a finding in it, expected a campaign, a folder of them, or a folder of findings",
            show(folder)
        );
    }
    let mut all = own;
    for campaign in campaigns {
        all.extend(findings(&campaign)?);
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// Writes down what the flags say.
fn decide(args: &TriageArgs, groups: &mut [Group]) -> Result<()> {
    let note = || args.note.clone().unwrap_or_default();
    let with = |decision| move |note: String| Some(Triage { decision, note });
    let asked = [
        (&args.open, with(Decision::Open)(note())),
        (&args.ignore, with(Decision::Ignored)(note())),
        (&args.clear, None),
    ];
    if note().len() > triage::NOTE_BYTES_MAX {
        bail!(
            "--note: {} bytes, expected at most {}",
            note().len(),
            triage::NOTE_BYTES_MAX
        );
    }
    if args.note.is_some() && args.open.is_empty() && args.ignore.is_empty() {
        bail!("--note: goes with a decision, expected --open FINDING or --ignore FINDING as well");
    }
    // All or nothing: who is wrong about one name may be about others.
    for (names, _) in &asked {
        for name in *names {
            find(groups, name, &args.folders)?;
        }
    }
    for (names, triage) in asked {
        for name in names {
            let group = find(groups, name, &args.folders)?;
            for folder in &group.folders {
                triage::write(folder, triage.as_ref())?;
            }
            group.triage.clone_from(&triage);
        }
    }
    Ok(())
}

/// Of a path, as findings are printed, the name.
fn last_part(name: &str) -> &str {
    (Path::new(name).file_name()).map_or(name, |last| last.to_str().unwrap_or(name))
}

/// Whether a finding's name, or key, begins so.
fn is_called(record: &FindingRecord, name: &str) -> bool {
    let name = last_part(name);
    !name.is_empty() && (record.folder_name().starts_with(name) || record.key.starts_with(name))
}

/// The finding whose name, or key, begins so.
fn find<'a>(groups: &'a mut [Group], name: &str, folders: &[PathBuf]) -> Result<&'a mut Group> {
    let name = last_part(name);
    let is_folder = |folder: &PathBuf| {
        let called = folder.file_name().map(|called| called.to_string_lossy());
        !name.is_empty() && called.is_some_and(|called| called.starts_with(name))
    };
    let is_it =
        |group: &Group| is_called(&group.record, name) || group.folders.iter().any(is_folder);
    let found: Vec<String> = (groups.iter().filter(|group| is_it(group)))
        .map(Group::name)
        .collect();
    let next = || format!("sandglass triage {}", quote_path(&folders[0]));
    match found.as_slice() {
        [_] => Ok(groups
            .iter_mut()
            .find(|group| is_it(group))
            .expect("just seen")),
        [] => Err(with_next(
            format!(
                "{}: no such finding, expected the beginning of a name or key",
                printable(name)
            ),
            next(),
        )),
        several => Err(with_next(
            format!(
                "{}: several findings, expected more of the name of one of: {}",
                printable(name),
                several.join(", ")
            ),
            next(),
        )),
    }
}

#[derive(Serialize)]
struct Line<'a> {
    severity: &'static str,
    kind: &'a str,
    key: &'a str,
    title: &'a str,
    decision: Option<&'static str>,
    note: &'a str,
    folders: Vec<String>,
}

impl Group {
    fn name(&self) -> String {
        self.record.folder_name()
    }

    fn lines(&self) -> Vec<String> {
        let record = &self.record;
        let title = printable(&record.title);
        let mut lines = vec![format!("{:<8}{title}", self.severity.name())];
        let mut add = |text: &str| lines.push(format!("        {text}"));
        if let Some(triage) = &self.triage {
            let note = printable(&triage.note);
            let colon = if note.is_empty() { "" } else { ": " };
            add(&format!("{}{colon}{note}", triage.decision.name()));
        }
        for folder in &self.folders {
            add(&show(folder));
        }
        for line in snippet(&self.folders[0]) {
            add(&line);
        }
        lines
    }

    fn json(&self) -> String {
        let line = Line {
            severity: self.severity.name(),
            kind: &self.record.kind,
            key: &self.record.key,
            title: &self.record.title,
            decision: self.triage.as_ref().map(|triage| triage.decision.name()),
            note: self.triage.as_ref().map_or("", |triage| &triage.note),
            folders: self.folders.iter().map(|path| show(path)).collect(),
        };
        serde_json::to_string(&line).expect("plain data")
    }
}

/// A larger file is no source.
const SOURCE_BYTES_MAX: u64 = 4 << 20;
/// Lines before and after the one that matters.
const CONTEXT: usize = 1;

/// The lines of the source around the innermost place whose file is here; none if there is none.
fn snippet(folder: &Path) -> Vec<String> {
    let Ok(stack) = read_file(&folder.join("stack.txt"), SOURCE_BYTES_MAX) else {
        return Vec::new();
    };
    let stack = String::from_utf8_lossy(&stack);
    let found = stack.lines().find_map(|line| {
        let (path, line) = place(line)?;
        let text = String::from_utf8(read_file(path, SOURCE_BYTES_MAX).ok()?).ok()?;
        (1..=text.lines().count())
            .contains(&line)
            .then_some((text, line))
    });
    let Some((text, at)) = found else {
        return Vec::new();
    };
    let first = at.saturating_sub(CONTEXT).max(1);
    (first..)
        .zip(text.lines().skip(first - 1))
        .take_while(|(number, _)| *number <= at + CONTEXT)
        .map(|(number, line)| {
            let mark = if number == at { '>' } else { ' ' };
            format!("{mark} {number:>5} | {}", printable(line))
        })
        .collect()
}

/// File and line of a frame as `stack.txt` has it, if the file lies below the current folder.
fn place(frame: &str) -> Option<(&Path, usize)> {
    let (_, place) = frame.split_once(" at ")?;
    let mut parts = place.split(':');
    let path = Path::new(parts.next()?);
    let line = parts.next()?.trim().parse().ok()?;
    let here = std::env::current_dir().ok()?;
    let path = path.strip_prefix(&here).unwrap_or(path);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    is_below.then_some((path, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_are_looked_at() {
        assert_eq!(
            place("#0 f at src/a.c:12:3"),
            Some((Path::new("src/a.c"), 12))
        );
        assert_eq!(
            place("#0 f (inlined) at a.c:12"),
            Some((Path::new("a.c"), 12))
        );
        for elsewhere in [
            "#0 f at /etc/passwd:1",
            "#0 f at ../a.c:1:1",
            "#0 f at a/../../b:1",
            "#0 f",
            "#0 f at a.c",
            "#0 f at a.c:x",
        ] {
            assert_eq!(place(elsewhere), None, "{elsewhere}");
        }
    }
}
