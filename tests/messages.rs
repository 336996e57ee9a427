//! Every message that is made by `bail!`, `with_next` and the like ([`BEGINNINGS`]) is shown in a golden file of `tests/cli`, or is said
//! here why not. What comes into one through a placeholder is not looked for.

use std::fs;
use std::path::{Path, PathBuf};

/// What begins a message: it is the first text that follows.
const BEGINNINGS: &[&str] = &[
    "bail!(",
    "anyhow!(",
    "with_next(",
    ".context(",
    ".with_context(",
    "#[error(",
    "OurFault(",
];

/// Where messages are made.
const FOLDERS: &[&str] = &[
    "runtime/src",
    "runtime/sandbox/src",
    "runtime/engine/src",
    "runtime/exchange/src",
    "instrument/src",
];

/// Messages that no golden file shows: the longest part of each without a placeholder, and why.
const UNSHOWN: &[(&str, &str)] = &[
    (
        "cannot be instantiated:",
        "what does not fit is refused before it",
    ),
    (
        "the debug information is in another file, `",
        "needs a module that a compiler made so",
    ),
    (
        "all lines of the debug information are of libraries",
        "needs a module that a compiler made so",
    ),
    (
        "the debug information has lines, but no types; build the module with -g, or debug = true",
        "needs a module that a compiler made so",
    ),
    (
        "exports no entry point, expected one of",
        "the check before says it in other words",
    ),
    (
        "wasmtime cannot compile it:",
        "what wasmtime refuses is refused before it",
    ),
    ("cannot map memory:", "the machine has none left"),
    (
        "the thread of a boxed module has ended",
        "a caller of the library learns it after a panic of ours",
    ),
    (
        "checkpoint was written by sandglass",
        "runtime/src/store/format.rs: needs another build",
    ),
    (
        "checkpoint cannot be decoded:",
        "checksum and build are right: our own fault",
    ),
    (
        "a finding could not be written",
        "the disk fills up between two files",
    ),
    (": nothing is said about it", "needs a signal while it runs"),
    ("the built-in guest", "a guest of ours"),
    (
        "cannot be read again:",
        "the module was read before: our own fault",
    ),
    (
        "differs from a fresh instance, given the same choices",
        "our own fault",
    ),
    ("differs from a fresh instance:", "our own fault"),
    (
        ": given up, it was handed out as often as may be and never done",
        "five workers have to die",
    ),
    (
        "nothing here does partitions",
        "a job that `submit` does not make; its answer is data",
    ),
    (
        ": no number",
        "a job that `submit` does not make; its answer is data",
    ),
    (
        "bytes for a property, expected choices",
        "a job that `submit` does not make; its answer is data",
    ),
    (
        "record version",
        "records of peers are counted and left out",
    ),
    (
        "record of kind",
        "records of peers are counted and left out",
    ),
    ("not a record:", "records of peers are counted and left out"),
    (
        "bytes after the record",
        "records of peers are counted and left out",
    ),
    (
        "the exchange is away:",
        "runtime/exchange/tests/faults.rs: a campaign goes on",
    ),
    (
        ": throws C++ exceptions, which no C++ library for WebAssembly can; expected code that is compiled with -fno-exceptions",
        "tests/templates.rs: needs a compiler",
    ),
    (
        "the output could not be written:",
        "tests/cli.rs: needs a device that is full",
    ),
    (
        "no fuel=N, expected what an execution may take",
        "`submit` always says it: a job without is not of this program",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Sources below a folder, without tests: path and text.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of ours").flatten() {
        let path = entry.path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).expect("text");
            let code = text.split("#[cfg(test)]\nmod tests {").next();
            found.push((name, code.unwrap_or_default().to_owned()));
        }
    }
}

/// The longest parts without a placeholder of the messages in a source.
fn messages(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for beginning in BEGINNINGS {
        for (at, _) in code.match_indices(beginning) {
            let text = first_text(&code[at + beginning.len()..]);
            found.extend(text.and_then(|text| longest_part(&text)));
        }
    }
    found
}

/// The first text literal before the parenthesis closes.
fn first_text(code: &str) -> Option<String> {
    let mut depth = 1;
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return None,
            ')' => depth -= 1,
            '"' => return Some(text_literal(&mut chars)),
            _ => {}
        }
    }
    None
}

/// What a literal says, to its closing quote.
fn text_literal(chars: &mut std::str::Chars<'_>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('\n') => {
                    let rest = chars.as_str().trim_start();
                    *chars = rest.chars();
                }
                Some(c) => text.push(c),
                None => break,
            },
            c => text.push(c),
        }
    }
    text
}

/// Between placeholders; nothing if it is too short to be looked for.
fn longest_part(text: &str) -> Option<String> {
    let text = text.replace("{{", "\u{1}").replace("}}", "\u{2}");
    let mut parts: Vec<&str> = Vec::new();
    for (n, part) in text.split('{').enumerate() {
        parts.push(match n {
            0 => part,
            _ => part.split_once('}').map_or("", |(_, rest)| rest),
        });
    }
    let longest = parts
        .into_iter()
        .map(str::trim)
        .max_by_key(|part| part.len())?;
    let longest = longest.replace('\u{1}', "{").replace('\u{2}', "}");
    (longest.len() > 3).then_some(longest)
}

fn golden() -> String {
    let entries = fs::read_dir(root().join("tests/cli")).expect("golden files");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let printed = paths.filter(|path| {
        path.extension()
            .is_some_and(|e| e == "stdout" || e == "stderr")
    });
    printed
        .map(|path| fs::read_to_string(path).expect("text"))
        .collect()
}

#[test]
fn every_message_is_shown() {
    let golden = golden();
    let mut all = Vec::new();
    for folder in FOLDERS {
        sources(&root().join(folder), &mut all);
    }
    let (mut made, mut missing) = (Vec::new(), Vec::new());
    for (path, code) in &all {
        for message in messages(code) {
            let is_excused = UNSHOWN.iter().any(|(part, _)| *part == message);
            if !golden.contains(&message) && !is_excused {
                missing.push(format!("{path}: {message:?}"));
            }
            made.push(message);
        }
    }
    assert!(made.len() > 150, "{} messages", made.len());
    assert!(
        missing.is_empty(),
        "no golden file shows\n{}\nadd a case to tests/cli",
        missing.join("\n")
    );
    let stale: Vec<&str> = (UNSHOWN.iter().map(|(part, _)| *part))
        .filter(|part| golden.contains(part) || !made.iter().any(|message| message == part))
        .collect();
    assert!(stale.is_empty(), "excused for nothing: {stale:?}");
}

#[test]
fn messages_are_found() {
    let code = r#"
        bail!("{}: not {what}, expected \"{{x}}\" \
               here", show(path));
        Err(with_next(format!("short {} and a longer end", f(1)), "sandglass list"))
        x.context(name)?; bail!(message); #[error("{0}")]
    "#;
    assert_eq!(
        messages(code),
        [r#", expected "{x}" here"#, "and a longer end"]
    );
}
