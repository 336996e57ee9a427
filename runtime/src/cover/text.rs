//! A cover as lines for people: one's own files first, libraries as one.

use super::{Cover, FileCover, Share, WithoutLines, is_library};
use crate::report::plain::{number, plural};

/// Functions that were never entered, of one's own files, that are named.
const NEVER_MAX: usize = 20;

/// Lines with branches that never went some of their ways, that are named.
pub const BLOCKED_MAX: usize = 20;

/// The report. `libraries` lists their files, too.
pub fn text(cover: &Cover, libraries: bool) -> Vec<String> {
    if let Some(functions) = WithoutLines::of(cover) {
        return functions.text();
    }
    let mut lines = Vec::new();
    let (theirs, own): (Vec<_>, Vec<_>) =
        cover.files.iter().partition(|(path, _)| is_library(path));
    let listed = own.iter().chain(theirs.iter().filter(|_| libraries));
    lines.push(format!(
        "{:>16} {:>16} {:>16}  file",
        "lines", "functions", "branches"
    ));
    for (path, file) in listed {
        lines.push(row(path, [*file].into_iter()));
    }
    if !libraries && !theirs.is_empty() {
        let name = format!(
            "({} of libraries; --libraries lists them)",
            plural(theirs.len() as u64, "file")
        );
        lines.push(row(&name, theirs.iter().map(|(_, file)| *file)));
    }
    lines.push(row("all", cover.files.values()));
    if !cover.elsewhere.is_empty() {
        let entered = Share::of(cover.elsewhere.iter().map(|(_, count)| count));
        lines.push(format!(
            "without lines: {} of {} entered",
            number(entered.reached),
            plural(entered.all, "function")
        ));
    }
    lines.extend(blocked(cover));
    let never: Vec<String> = (own.iter())
        .flat_map(|(path, file)| file.functions.iter().map(move |function| (path, function)))
        .filter(|(_, function)| function.entered == 0)
        .map(|(path, function)| format!("    {} at {path}:{}", function.name, function.line))
        .collect();
    if !never.is_empty() {
        lines.push(format!(
            "never entered: {}",
            plural(never.len() as u64, "function")
        ));
        let more = never.len().saturating_sub(NEVER_MAX);
        lines.extend(never.into_iter().take(NEVER_MAX));
        if more > 0 {
            lines.push(format!("    and {} more", number(more as u64)));
        }
    }
    lines
}

/// Branches that were reached and never went some of their ways.
fn blocked(cover: &Cover) -> Vec<String> {
    let all = cover.uncovered();
    if all.is_empty() {
        return Vec::new();
    }
    let count = plural(all.len() as u64, "line");
    let mut lines = vec![format!(
        "branches that never went some of their ways: {count}, those tried most often first, walks to the end of a buffer last"
    )];
    for branch in all.iter().take(BLOCKED_MAX) {
        let (path, line, arms) = (branch.path, branch.line, branch.arms);
        let ways = format!("{} of {} ways", arms.reached, arms.all);
        let times = plural(branch.hits, "time");
        lines.push(format!("    {path}:{line}: {ways}, {times}"));
        let why = [
            ("compared", branch.compared_text()),
            ("influenced by", branch.types_text()),
        ];
        let known = why.iter().filter(|(_, text)| !text.is_empty());
        lines.extend(known.map(|(what, text)| format!("        {what} {text}")));
    }
    let more = all.len().saturating_sub(BLOCKED_MAX);
    if more > 0 {
        lines.push(format!("    and {} more", number(more as u64)));
    }
    lines
}

fn row<'a>(name: &str, files: impl Iterator<Item = &'a FileCover>) -> String {
    let [lines, functions, branches] = Share::sums(files).map(share_text);
    format!("{lines:>16} {functions:>16} {branches:>16}  {name}")
}

fn share_text(share: Share) -> String {
    match share.all {
        0 => "-".to_owned(),
        all => format!(
            "{}/{} {:>3} %",
            share.reached,
            all,
            share.reached * 100 / all
        ),
    }
}
