//! A cover as one page that needs nothing else: one's own source line by line, libraries folded.
//!
//! Files are closed until somebody opens them, and no more lines are shown than a browser lays out at
//! once; what is left out is counted.

use std::fmt::Write as _;

use super::source::Sources;
use super::{Cover, FileCover, Share, WithoutLines, is_library};
use crate::error::printable;
use crate::page::chart::brief;
use crate::page::{bar, document, escape, heading, rest, table, tiles};
use crate::report::plain::{number, plural};

/// Rows of the tables of branches and of functions.
pub const ROWS_MAX: usize = 100;

/// Files of the own program that are listed, and of libraries.
const FILES_MAX: usize = 1_000;

/// Lines of source in the page.
const LINES_MAX: usize = 40_000;

/// Characters of a line of source.
const CHARS_MAX: usize = 240;

/// What a page is about.
pub struct Page<'a> {
    /// The module.
    pub title: String,
    /// What was run on it.
    pub about: String,
    /// What was reached.
    pub cover: &'a Cover,
    /// Where the source is, if it is anywhere.
    pub sources: Option<Sources>,
}

/// The page.
pub fn html(page: &Page<'_>) -> String {
    let cover = page.cover;
    let (theirs, own): (Vec<File<'_>>, Vec<File<'_>>) = cover
        .files
        .iter()
        .map(|(path, file)| (&path[..], file))
        .partition(|(path, _)| is_library(path));
    let mut body = heading(&page.title, &page.about) + &summary(cover, &own);
    if cover.files.is_empty() {
        body.push_str("<p>The module has no line table: build C, C++, Rust and Zig with debug information (-g, or debug = true) to see the source; compilers of Go and AssemblyScript write none.</p>\n");
    }
    if let Some(of_module) = WithoutLines::of(cover) {
        functions(&mut body, &of_module);
        return document(&page.title, "coverage", &body, include_str!("html.js"));
    }
    let mut shown = Shown::new(page.sources.as_ref());
    let sources: Vec<Option<String>> = own
        .iter()
        .take(FILES_MAX)
        .map(|file| shown.file(file))
        .collect();
    files(&mut body, &own, &sources, &theirs);
    uncovered(&mut body, cover);
    never(&mut body, &own);
    body.push_str("<h2>Source</h2>\n<p>How often each line was reached. Amber lines have branches that never went some of their ways.</p>\n");
    for (at, ((path, file), source)) in own.iter().zip(&sources).enumerate() {
        if let Some(source) = source {
            let _ = write!(
                body,
                "<details class=\"file\" id=\"f{at}\"><summary>{} <span>{}</span></summary>\n<div class=\"source\">\n{source}</div></details>\n",
                escape(path),
                of(file.lines_share())
            );
        }
    }
    if shown.left_out > 0 {
        let _ = writeln!(
            body,
            "<p>{} not shown; LCOV has all lines.</p>",
            files_are(shown.left_out)
        );
    }
    document(&page.title, "coverage", &body, include_str!("html.js"))
}

/// A file with its path.
type File<'a> = (&'a str, &'a FileCover);

fn files_are(count: u64) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", plural(count, "file"))
}

fn summary(cover: &Cover, own: &[File<'_>]) -> String {
    let [lines, functions, branches] = Share::sums(own.iter().map(|(_, file)| *file));
    let mut all = vec![
        (share(lines), "of your lines"),
        (share(functions), "of your functions"),
        (share(branches), "of your branches"),
    ];
    let [lines, ..] = Share::sums(cover.files.values());
    all.push((share(lines), "of all lines"));
    let entered = Share::of(cover.elsewhere.iter().map(|(_, count)| count));
    if entered.all > 0 {
        all.push((share(entered), "of functions without lines"));
    }
    tiles(all)
}

fn share(share: Share) -> String {
    match share.all {
        0 => "–".to_owned(),
        all => format!("{} %", share.reached * 100 / all),
    }
}

fn of(share: Share) -> String {
    match share.all {
        0 => "–".to_owned(),
        all => format!("{} of {}", number(share.reached), number(all)),
    }
}

fn functions(body: &mut String, of_module: &WithoutLines<'_>) {
    body.push_str("<h2>Functions</h2>\n");
    let rows = of_module.own.iter().take(ROWS_MAX);
    let rows = rows.map(|(name, entered)| vec![escape(name), number(*entered)]);
    table(body, &["@function, by its name", "#entered"], rows);
    rest(body, of_module.own.len(), ROWS_MAX);
    let _ = writeln!(
        body,
        "<p>Of libraries, as far as names tell: {} entered.</p>",
        of(of_module.theirs)
    );
}

fn files(body: &mut String, own: &[File<'_>], sources: &[Option<String>], theirs: &[File<'_>]) {
    const COLUMNS: [&str; 5] = ["@file", "%", "#lines", "#functions", "#branches"];
    let row = |name: String, file: &FileCover| {
        let lines = file.lines_share();
        vec![
            name,
            bar(lines.reached, lines.all),
            of(lines),
            of(file.functions_share()),
            of(file.branches_share()),
        ]
    };
    body.push_str("<h2>Files</h2>\n");
    let rows = own
        .iter()
        .take(FILES_MAX)
        .enumerate()
        .map(|(at, (path, file))| {
            let name = match sources.get(at) {
                Some(Some(_)) => format!("<a href=\"#f{at}\">{}</a>", escape(path)),
                _ => escape(path),
            };
            row(name, file)
        });
    table(body, &COLUMNS, rows);
    rest(body, own.len(), FILES_MAX);
    if theirs.is_empty() {
        return;
    }
    let [lines, ..] = Share::sums(theirs.iter().map(|(_, file)| *file));
    let _ = writeln!(
        body,
        "<details id=\"libraries\"><summary>{} of libraries <span>{} lines</span></summary>",
        plural(theirs.len() as u64, "file"),
        of(lines)
    );
    let rows = theirs.iter().take(FILES_MAX);
    table(
        body,
        &COLUMNS,
        rows.map(|(path, file)| row(escape(path), file)),
    );
    rest(body, theirs.len(), FILES_MAX);
    body.push_str("</details>\n");
}

fn uncovered(body: &mut String, cover: &Cover) {
    let all = cover.uncovered();
    if all.is_empty() {
        return;
    }
    let shown = &all[..all.len().min(ROWS_MAX)];
    body.push_str("<h2>Branches that never went some of their ways</h2>\n<p>Between what was reached and what was not, those that were tried most often first, walks to the end of a buffer last. What was compared on the line: of the operands that differed the closest; of two addresses how far apart they were.");
    let mut columns = vec!["@line", "@compared", "#reached", "#arms taken"];
    // Line tables alone know no types.
    let has_types = shown.iter().any(|branch| !branch.types.is_empty());
    if has_types {
        body.push_str(" Influenced by: the nearest types of the source that a branch is computed from, and at how many steps of computation.");
        columns.insert(2, "@influenced by");
    }
    body.push_str("</p>\n");
    let rows = shown.iter().map(|branch| {
        let mut row = vec![
            escape(&format!("{}:{}", branch.path, branch.line)),
            escape(&branch.compared_text()),
            number(branch.hits),
            of(branch.arms),
        ];
        if has_types {
            row.insert(2, escape(&branch.types_text()));
        }
        row
    });
    table(body, &columns, rows);
    rest(body, all.len(), ROWS_MAX);
}

fn never(body: &mut String, own: &[File<'_>]) {
    let functions = own.iter().flat_map(|(path, file)| {
        let never = file.functions.iter().filter(|of| of.entered == 0);
        never.map(move |of| (*path, of))
    });
    let count = functions.clone().count();
    if count == 0 {
        return;
    }
    body.push_str("<h2>Functions that were never entered</h2>\n");
    let rows = functions
        .take(ROWS_MAX)
        .map(|(path, of)| vec![escape(&of.name), escape(&format!("{path}:{}", of.line))]);
    table(body, &["@function", "@at"], rows);
    rest(body, count, ROWS_MAX);
}

/// Sources that go into the page, as long as there is room.
struct Shown<'a> {
    sources: Option<&'a Sources>,
    lines_left: usize,
    /// Files that there was no room for.
    left_out: u64,
}

impl<'a> Shown<'a> {
    fn new(sources: Option<&'a Sources>) -> Shown<'a> {
        Shown {
            sources,
            lines_left: LINES_MAX,
            left_out: 0,
        }
    }

    /// A file's lines; without its text, those that have code. `None` if there is no room.
    fn file(&mut self, (path, file): &File<'_>) -> Option<String> {
        let text = self.sources.and_then(|sources| sources.lines(path));
        let count = text.as_ref().map_or(file.lines.len(), Vec::len);
        if count > self.lines_left {
            self.left_out += 1;
            return None;
        }
        self.lines_left -= count;
        let mut out = String::new();
        match text {
            Some(text) => {
                for (number, text) in (1..).zip(&text) {
                    line(&mut out, file, number, text);
                }
            }
            None => {
                for number in file.lines.keys() {
                    line(&mut out, file, *number, "");
                }
            }
        }
        Some(out)
    }
}

fn line(out: &mut String, file: &FileCover, at: u32, text: &str) {
    let arms = file.branches.get(&at).map(|arms| Share::of(arms.iter()));
    let (class, count) = match file.lines.get(&at) {
        None => ("", String::new()),
        Some(0) => (" miss", "0".to_owned()),
        Some(n) => match arms {
            Some(arms) if arms.reached < arms.all => (" part", brief(*n as f64)),
            _ => (" hit", brief(*n as f64)),
        },
    };
    let title = match arms {
        Some(arms) => format!(" title=\"{} arms taken\"", of(arms)),
        None => String::new(),
    };
    let text: String = text.chars().take(CHARS_MAX).collect();
    let _ = writeln!(
        out,
        "<div class=\"l{class}\"{title}><i>{at}</i><b>{count}</b><code>{}</code></div>",
        escape(&printable(&text.replace('\t', "    ")))
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cover::FunctionCover;
    use std::collections::BTreeMap;

    fn huge(files: u32, lines: u32) -> Cover {
        let file = |n: u32| FileCover {
            lines: (1..=lines)
                .map(|line| (line, u64::from(line % 3)))
                .collect(),
            functions: (0..10)
                .map(|at| FunctionCover {
                    name: format!("f{n}_{at}<T>"),
                    line: at * 7 + 1,
                    entered: u64::from(at % 2),
                })
                .collect(),
            branches: (1..=lines)
                .step_by(5)
                .map(|line| (line, vec![1, 0]))
                .collect(),
            ..FileCover::default()
        };
        let path = |n: u32| match n % 4 {
            0 => format!("/rustc/x/{n}.rs"),
            _ => format!("src/{n}.rs"),
        };
        Cover {
            files: (0..files).map(|n| (path(n), file(n))).collect(),
            elsewhere: Vec::new(),
        }
    }

    #[test]
    fn a_module_without_lines_has_its_functions() {
        let names = [("~lib/a", 1), ("m/b<T>", 70_000), ("m/c", 0)];
        let cover = Cover {
            elsewhere: names.map(|(name, count)| (name.to_owned(), count)).into(),
            ..Cover::default()
        };
        let text = html(&Page {
            title: "t".into(),
            about: String::new(),
            cover: &cover,
            sources: None,
        });
        assert!(
            text.contains("m/b&lt;T&gt;") && text.contains("70,000"),
            "{text}"
        );
        assert!(
            text.contains("as far as names tell: 1 of 1 entered"),
            "{text}"
        );
        assert!(!text.contains("<h2>Files</h2>"), "{text}");
    }

    #[test]
    fn a_page_is_bounded_however_large_the_module() {
        let cover = huge(20_000, 200);
        let page = html(&Page {
            title: "t".into(),
            about: String::new(),
            cover: &cover,
            sources: None,
        });
        let lines = page.matches("<div class=\"l").count();
        assert!(lines > LINES_MAX / 2 && lines <= LINES_MAX, "{lines}");
        assert!(page.len() < 8 << 20, "{}", page.len());
        assert!(page.contains("And 14,000 more."), "own files are counted");
        assert!(page.contains("f1_0&lt;T&gt;") && !page.contains("<T>"));
    }

    #[test]
    fn uncovered_branches_come_by_how_often_they_were_tried() {
        let file = |lines: &[(u32, u64)],
                    branches: &[(u32, &[u64])],
                    [blocked, walks]: [&[u32]; 2]| FileCover {
            lines: lines.iter().copied().collect(),
            functions: Vec::new(),
            branches: branches
                .iter()
                .map(|(line, arms)| (*line, arms.to_vec()))
                .collect(),
            blocked: (blocked.iter().map(|line| (*line, vec![0]))).collect(),
            walks: (walks.iter().map(|line| (*line, 8))).collect(),
            ..FileCover::default()
        };
        let cover = Cover {
            files: BTreeMap::from([
                (
                    "a.c".to_owned(),
                    file(
                        &[(1, 5), (2, 9), (3, 0), (4, 7), (5, 8), (6, 10)],
                        &[
                            (1, &[5, 0]),
                            (2, &[9, 0, 1]),
                            (3, &[0, 0]),
                            (4, &[3, 4]),
                            (5, &[4, 4, 0, 0]),
                            (6, &[10, 0]),
                        ],
                        [&[1, 2, 6], &[6]],
                    ),
                ),
                (
                    "/usr/include/b.h".to_owned(),
                    file(&[(1, 99)], &[(1, &[99, 0])], [&[1], &[]]),
                ),
            ]),
            elsewhere: Vec::new(),
        };
        let lines: Vec<(u32, u64)> = cover
            .uncovered()
            .iter()
            .map(|of| (of.line, of.hits))
            .collect();
        assert_eq!(lines, [(2, 9), (1, 5), (6, 10)]);
    }
}
