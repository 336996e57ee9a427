//! The book does not rot: its links lead somewhere, and its console blocks print what they show.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sandglass_engine::ALL;
use sandglass_guests::TEMPLATES;
use sandglass_tests::installed::left_out;

#[path = "book/console.rs"]
mod console;
#[path = "book/pages.rs"]
mod pages;

use console::{Told, blocks, run_page};
use pages::{Page, problems, read};

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/book/src")
}

fn page<'a>(pages: &'a [Page], path: &str) -> &'a Page {
    let found = pages.iter().find(|page| page.path == path);
    found.unwrap_or_else(|| panic!("no page {path}"))
}

#[test]
fn pages_are_listed_and_links_and_includes_lead_somewhere() {
    let found = problems(&book());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_leads_nowhere_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write(
        "SUMMARY.md",
        "- [One](one.md)\n- [Two](gone.md)\n- [One](one.md)\n",
    );
    write(
        "one.md",
        "# One `a-b` *c*\n[x](other.md#two-more) [y](one.md#one-a-b-c) [z](other.md#no) [w](https://example.org)\n\
         {{#include ../none.yaml}}\n```sh\n[no](link.md)\n```\n",
    );
    write("other.md", "# Two\n## Two more\n```sh\n");
    assert_eq!(
        problems(folder.path()),
        [
            "SUMMARY.md:2: no page gone.md",
            "SUMMARY.md:3: one.md for the second time",
            "one.md:2: other.md has no heading #no",
            "one.md:3: no file ../none.yaml",
            "other.md: a code block does not end",
            "other.md: not in SUMMARY.md",
        ]
    );
}

/// `PAGE=name.md` runs one.
#[test]
fn consoles_print_what_they_show() {
    let only = std::env::var("PAGE").ok();
    let pages = read(&book());
    let pages = pages
        .iter()
        .filter(|page| only.as_ref().is_none_or(|only| page.path == *only))
        .filter(|page| !blocks(&page.text).is_empty());
    let next = std::sync::Mutex::new(pages);
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                loop {
                    let Some(page) = next.lock().expect("nobody panics").next() else {
                        return;
                    };
                    let told = run_page(page);
                    tell(page, &told);
                    if let Told::Wrong(what) = told {
                        let mut wrong = wrong.lock().expect("nobody panics");
                        wrong.push(format!("{}:{what}", page.path));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("nobody panics");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[expect(clippy::print_stderr, reason = "times are of interest")]
fn tell(page: &Page, told: &Told) {
    match told {
        Told::Ran(times) => {
            let times: Vec<String> = times.iter().map(|s| format!("{s:.1}")).collect();
            eprintln!("{}: seconds {}", page.path, times.join(", "));
        }
        Told::Skipped(why) => left_out(&format!("{}: {why}", page.path)),
        Told::Wrong(_) => {}
    }
}

#[test]
fn a_console_that_shows_something_else_is_told() {
    let page = |text: &str| Page {
        path: "p.md".into(),
        text: format!("```console\n{text}\n```\n"),
    };
    let is_wrong = |text: &str| matches!(run_page(&page(text)), Told::Wrong(_));
    let is_right = |text: &str| matches!(run_page(&page(text)), Told::Ran(_));
    assert!(is_right("$ printf 'a\\nb 12 c\\n'\na\nb … c"));
    assert!(is_right("$ printf 'a\\nb\\nc\\n'\n…\nc"));
    assert!(is_right("$ mkdir sub\n$ cd sub\n$ basename $PWD\nsub"));
    assert!(is_right("$ exit 1"));
    assert!(is_right("$ echo error: x; exit 2\nerror: x"));
    assert!(is_wrong("$ echo a\nb"));
    assert!(is_wrong("$ printf 'a\\nb\\n'\na"));
    assert!(is_wrong("$ echo a\na\n…\nb"));
    assert!(is_wrong("$ exit 2"));
    assert!(is_wrong("$ cd nowhere"));
    let Told::Skipped(why) = run_page(&page("$ echo 'error: no compiler for C'; exit 2")) else {
        panic!("a missing compiler is no fault of the page");
    };
    assert!(why.contains("no compiler for C"), "{why}");
}

/// Each guidance has a page that shows its settings as the program prints them.
#[test]
fn every_guidance_has_a_page() {
    let pages = read(&book());
    let commands: BTreeSet<String> = (pages.iter())
        .flat_map(|page| blocks(&page.text))
        .flat_map(|block| block.steps)
        .map(|step| step.command)
        .collect();
    for spec in ALL {
        let command = format!("sandglass list {}", spec.name);
        assert!(commands.contains(&command), "no page shows `{command}`");
        let campaign = format!("--guidance {}", spec.name);
        let is_run = |command: &String| {
            let mut words = command.split(&campaign).skip(1);
            words.any(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        assert!(commands.iter().any(is_run), "no page runs `{campaign}`");
    }
}

/// Each language has a tutorial, and the overview says how many commands lead to the first finding.
#[test]
fn every_language_has_a_tutorial() {
    let pages = read(&book());
    let overview = page(&pages, "tutorials.md");
    for template in TEMPLATES {
        let of = template.name;
        let init = format!("sandglass init {of} ");
        let starts = |page: &&Page| {
            let blocks = blocks(&page.text);
            let mut commands = blocks.iter().flat_map(|block| &block.steps);
            commands.any(|step| format!("{} ", step.command).starts_with(&init))
        };
        let page = pages.iter().find(starts);
        let page = page.unwrap_or_else(|| panic!("no page begins with `{init}`"));
        let count = commands_to_a_finding(&page.text);
        let count = count.unwrap_or_else(|| panic!("{} comes to no finding", page.path));
        let row = format!("]({}) | {count} |", page.path);
        assert!(overview.text.contains(&row), "tutorials.md: no `{row}`");
    }
}

/// How many commands a page has from its first one to the first finding.
fn commands_to_a_finding(text: &str) -> Option<usize> {
    let steps = blocks(text).into_iter().flat_map(|block| block.steps);
    let finds = |expected: &Vec<String>| expected.iter().any(|line| line.starts_with("FINDING "));
    let mut steps = steps.enumerate();
    steps
        .find(|(_, step)| finds(&step.expected))
        .map(|(at, _)| at + 1)
}
