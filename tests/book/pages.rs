//! Pages: which there are, and what is wrong with how they hang together.
//!
//! In: the folder of a book's sources. Out: one line for each page that `SUMMARY.md` does not list, each
//! link or include that leads nowhere, and each code block without an end. mdBook passes over these.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// One page.
pub(crate) struct Page {
    /// Below the book's sources, with `/`.
    pub(crate) path: String,
    /// Its Markdown.
    pub(crate) text: String,
}

/// All pages and the summary, ascending by path.
pub(crate) fn read(book: &Path) -> Vec<Page> {
    let mut pages = Vec::new();
    read_into(book, "", &mut pages);
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    pages
}

fn read_into(book: &Path, below: &str, pages: &mut Vec<Page>) {
    for entry in fs::read_dir(book.join(below)).expect("a folder of the book") {
        let entry = entry.expect("an entry");
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read_into(book, &format!("{path}/"), pages);
        } else if path.ends_with(".md") {
            let text = fs::read_to_string(entry.path()).expect("text");
            pages.push(Page { path, text });
        }
    }
}

/// What is wrong, ascending by page and line.
pub(crate) fn problems(book: &Path) -> Vec<String> {
    let pages = read(book);
    let headings: BTreeMap<&str, BTreeSet<String>> = (pages.iter())
        .map(|page| (&page.path[..], headings(&page.text)))
        .collect();
    let mut listed = BTreeSet::new();
    let mut found = Vec::new();
    for page in &pages {
        let is_summary = page.path == "SUMMARY.md";
        let lines = prose(&page.text);
        for (number, line) in &lines {
            for link in links(line).filter(|link| !link.contains("://")) {
                let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
                let target = match target {
                    "" => page.path.clone(),
                    target => beside(&page.path, target),
                };
                let problem = match headings.get(&target[..]) {
                    None if target.ends_with(".md") || !book.join(&target).exists() => {
                        format!("no page {target}")
                    }
                    Some(headings) if !anchor.is_empty() && !headings.contains(anchor) => {
                        format!("{target} has no heading #{anchor}")
                    }
                    _ if is_summary && !listed.insert(target.clone()) => {
                        format!("{target} for the second time")
                    }
                    _ => continue,
                };
                found.push(format!("{}:{number}: {problem}", page.path));
            }
        }
        for (number, line) in (1..).zip(page.text.lines()) {
            let file = (line.split_once("{{#include ")).and_then(|(_, rest)| rest.split_once("}}"));
            let Some((file, _)) = file else { continue };
            let folder = book.join(&page.path);
            if !folder.parent().expect("a folder").join(file).is_file() {
                found.push(format!("{}:{number}: no file {file}", page.path));
            }
        }
        if page.text.lines().filter(|line| is_fence(line)).count() % 2 == 1 {
            found.push(format!("{}: a code block does not end", page.path));
        }
    }
    let unlisted = |page: &&Page| page.path != "SUMMARY.md" && !listed.contains(&page.path);
    let unlisted = pages.iter().filter(unlisted);
    found.extend(unlisted.map(|page| format!("{}: not in SUMMARY.md", page.path)));
    found
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Lines that are no code, by their numbers from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let lines = (1..).zip(text.lines());
    lines
        .filter(|(_, line)| {
            is_code ^= is_fence(line);
            !is_code && !is_fence(line)
        })
        .collect()
}

/// The targets of a line's links.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let behind = line.split("](").skip(1);
    behind.filter_map(|rest| rest.split_once(')').map(|(link, _)| link))
}

/// A link of a page, from where the book begins.
fn beside(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings, as mdBook names them.
fn headings(text: &str) -> BTreeSet<String> {
    let lines = prose(text).into_iter().map(|(_, line)| line);
    let titles = lines.filter_map(|line| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then_some(title.strip_prefix(' ')?)
    });
    titles.map(anchor).collect()
}

fn anchor(title: &str) -> String {
    let kept = title.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.collect()
}
