//! Consoles: a page's code blocks of the kind `console`, run as a reader would.
//!
//! In: a page. Lines that begin with `$ ` are commands; those that follow are what they print, on either
//! stream. `…` alone stands for any lines, and within a line for any text. A block `c,file=NAME` is a file. A page begins
//! in an empty folder, and `cd` lasts to its end; a page that names `guests/` finds the repository's there.
//! Out: how long each command took, or why it was skipped, or what differs.
//!
//! A command may find something (exit code 1). Any other failure must show its `error:`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use sandglass_tests::figures::without_pulses;

use super::pages::Page;

/// What became of a page.
pub(crate) enum Told {
    /// Seconds that each command took.
    Ran(Vec<f64>),
    /// Something is not installed here.
    Skipped(String),
    /// The line, and what is wrong.
    Wrong(String),
}

/// A block: a file to write, or steps.
#[derive(Default)]
pub(crate) struct Block {
    /// The file's name and text.
    pub(crate) file: Option<(String, String)>,
    /// Commands with what they print.
    pub(crate) steps: Vec<Step>,
}

/// A command.
pub(crate) struct Step {
    /// Of the page, from 1.
    pub(crate) line: usize,
    /// As it is typed.
    pub(crate) command: String,
    /// What it prints.
    pub(crate) expected: Vec<String>,
}

/// The files and steps of a page.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut kind: Option<&str> = None;
    for (number, line) in (1..).zip(page.lines()) {
        if let Some(rest) = line.strip_prefix("```") {
            kind = match kind {
                Some(_) => None,
                None => Some(rest),
            };
            let file = kind.and_then(|kind| kind.split_once("file="));
            if kind == Some("console") || file.is_some() {
                blocks.push(Block {
                    file: file.map(|(_, name)| (name.to_owned(), String::new())),
                    steps: Vec::new(),
                });
            }
            continue;
        }
        let (Some(kind), Some(block)) = (kind, blocks.last_mut()) else {
            continue;
        };
        match (&mut block.file, line.strip_prefix("$ ")) {
            (Some((_, text)), _) if kind.contains("file=") => *text += &format!("{line}\n"),
            (_, Some(command)) if kind == "console" => block.steps.push(Step {
                line: number,
                command: command.to_owned(),
                expected: Vec::new(),
            }),
            (_, None) if kind == "console" => {
                let step = block.steps.last_mut();
                step.unwrap_or_else(|| panic!("line {number}: no command before it"))
                    .expected
                    .push(line.to_owned());
            }
            _ => {}
        }
    }
    blocks
}

/// Runs a page.
pub(crate) fn run_page(page: &Page) -> Told {
    let place = tempfile::tempdir().expect("a folder");
    let tools = place.path().join("tools");
    fs::create_dir(&tools).expect("a folder");
    link(
        Path::new(env!("CARGO_BIN_EXE_sandglass-dup")),
        &tools.join("sandglass"),
    );
    let mut here = place.path().join("here");
    fs::create_dir(&here).expect("a folder");
    if page.text.contains("guests/") {
        let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests");
        link(
            &guests.canonicalize().expect("guests"),
            &here.join("guests"),
        );
    }
    if page.text.contains("stb_image.h") {
        let Some(header) = stb_image() else {
            return Told::Skipped("without stb_image.h (libstb-dev)".to_owned());
        };
        fs::copy(header, here.join("stb_image.h")).expect("copied");
    }
    let mut times = Vec::new();
    for block in blocks(&page.text) {
        if let Some((name, text)) = &block.file {
            fs::write(here.join(name), text).expect("written");
        }
        for step in &block.steps {
            if let Some(folder) = step.command.strip_prefix("cd ") {
                here.push(folder);
                if !here.is_dir() {
                    return Told::Wrong(format!("{}: no folder {folder}", step.line));
                }
                times.push(0.0);
                continue;
            }
            let begun = Instant::now();
            let (code, printed) = run(&step.command, &here, &tools);
            times.push(begun.elapsed().as_secs_f64());
            if let Some(why) = missing(&printed) {
                return Told::Skipped(why.to_owned());
            }
            let is_right = code.is_some_and(|code| code < 2) || printed.contains("error: ");
            if !is_right || !agrees(&step.expected, &printed) {
                return Told::Wrong(format!(
                    "{}: `{}` ended with {code:?} and printed\n{printed}which is not\n{}\n",
                    step.line,
                    step.command,
                    step.expected.join("\n")
                ));
            }
        }
    }
    Told::Ran(times)
}

fn run(command: &str, here: &Path, tools: &Path) -> (Option<i32>, String) {
    let cached = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(here)
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("NO_COLOR", "1")
        .env("SANDGLASS_CACHE", cached("book-cache"))
        // What was built for the last test run need not be built again.
        .env("CARGO_TARGET_DIR", cached("build-templates"))
        .output()
        .expect("a shell");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    // Slow machines print how it goes meanwhile.
    let lines = without_pulses(&printed);
    let text = lines.iter().map(|line| format!("{line}\n")).collect();
    (output.status.code(), text)
}

/// What is not there, in the program's own words.
fn missing(printed: &str) -> Option<&str> {
    let is_missing = |line: &&str| {
        let words = [
            "error: no compiler",
            "error: no Zig",
            "error: no Go",
            "the standard library of Rust for",
            "No module named ziglang",
            "cmake: not found",
            // What the crate `cc` says.
            "failed to find tool \"clang\"",
            "failed to download",
            "failed to get `",
        ];
        words.iter().any(|words| line.contains(words))
    };
    printed.lines().find(is_missing)
}

/// Whether lines are those that are shown.
fn agrees(expected: &[String], printed: &str) -> bool {
    let printed: Vec<&str> = printed.lines().collect();
    lines_agree(expected, &printed)
}

fn lines_agree(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line.trim() == "…" => {
            (0..=printed.len()).any(|skip| lines_agree(rest, &printed[skip..]))
        }
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, others)| line_agrees(line, first) && lines_agree(rest, others)),
    }
}

/// Whether a line is its pattern, in which `…` is any text.
fn line_agrees(pattern: &str, line: &str) -> bool {
    let Some((before, behind)) = pattern.split_once('…') else {
        return pattern == line.trim_end();
    };
    let Some(rest) = line.strip_prefix(before) else {
        return false;
    };
    let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts
        .into_iter()
        .any(|at| line_agrees(behind, &rest[at..]))
}

/// Debian's libstb-dev has it.
fn stb_image() -> Option<PathBuf> {
    let folder = std::env::var("SANDGLASS_STB").unwrap_or_else(|_| "/usr/include/stb".to_owned());
    let header = Path::new(&folder).join("stb_image.h");
    header.is_file().then_some(header)
}

fn link(to: &Path, at: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(to, at).expect("linked");
    #[cfg(not(unix))]
    panic!(
        "{} is not linked to {}: consoles are those of Unix",
        at.display(),
        to.display()
    );
}
