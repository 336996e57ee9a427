//! Every command that the book and the README show is one that the program takes.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;

use super::args::Cli;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(root.join("book/src")).expect("the book");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("a page").path()).collect();
    pages.push(root.join("../README.md"));
    pages.sort();
    pages
}

/// The commands in the code blocks of a page, without what a shell does with them afterwards.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code && ["```sh", "```yaml"].contains(&line.trim());
            continue;
        }
        let line = line.trim_start_matches([' ', '-']);
        let line = line.strip_prefix("run: ").unwrap_or(line);
        let line = line.strip_prefix("cargo ").unwrap_or(line);
        if is_code && line.starts_with("sandglass ") {
            let command = [" #", " |", " >", " &&"].iter().fold(line, |rest, end| {
                rest.split_once(end).map_or(rest, |(command, _)| command)
            });
            commands.push(command.to_owned());
        }
    }
    commands
}

#[test]
fn commands_in_the_book_parse() {
    let mut count = 0;
    for page in pages() {
        for command in commands(&fs::read_to_string(&page).expect("text")) {
            let words = command
                .split_whitespace()
                .map(|word| word.trim_matches('\''));
            if let Err(error) = Cli::try_parse_from(words) {
                // Help is a way to end, too.
                assert!(
                    error.exit_code() == 0,
                    "{}: {command}\n{error}",
                    page.display()
                );
            }
            count += 1;
        }
    }
    assert!(count > 30, "{count} commands");
}

#[test]
fn pipelines_hold_commands() {
    let page = "```yaml\nscript:\n  - sandglass check a.wasm  # all of it\n  - run: sandglass list | head\n```\nsandglass x\n";
    assert_eq!(
        commands(page),
        ["sandglass check a.wasm ", "sandglass list"]
    );
}
