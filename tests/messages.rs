//! Every message that is made by `bail!`, `with_next` and the like, and every text that another message
//! quotes (`Err("…")`, `ok_or("…")`, …; all of [`BEGINNINGS`]), is shown in a golden file of `tests/cli`,
//! or is said here why not. What comes into one through a placeholder is not looked for.
//!
//! And each has a row in the book's page of messages, which says why it comes and what to do. The first cell of a row has
//! patterns, in which `…` is any text; a pattern is for a message that has its parts in their order.

use std::collections::BTreeSet;
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
    " Err(",
    "(Err(",
    "ok_or(",
    "ok_or_else(",
    "map_err(",
];

/// Calls whose texts are no messages, and so is what they are in.
const NO_MESSAGES: &[&str] = &[
    // A verb: the message is made of it in one place.
    "io(",
    // What a browser is told: tests/serve.rs, runtime/src/serve/http.rs.
    "Response::refusal(",
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
        ": no such program, expected by WASI_SDK_PATH",
        "needs a variable: tests/templates.rs",
    ),
    (
        ": the campaign's state has",
        "needs four gigabytes: runtime/src/store/tests.rs",
    ),
    (
        ", as with every other row; expected some that the program can read",
        "needs a dataflow program: tests/bad_rows.rs",
    ),
    (
        ": expected a name in UTF-8, as the module will see it",
        "needs a name that is no text: runtime/src/cli/guest_files.rs",
    ),
    (
        "cannot be read:",
        "what walrus cannot read is refused before it",
    ),
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
        "a nearest input that is not there",
        "quoted by the next one: a checkpoint has a hash",
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
    (
        "a value came and went",
        "a server that contradicts itself; a campaign comes back later",
    ),
    (
        "a child without its pipes",
        "the system broke its word: our own fault",
    ),
    ("no thread for the relay:", "the machine has none left"),
    ("no thread for the pipe:", "the machine has none left"),
    (
        "not a bundle, expected its first line to be `",
        "a file without that line is not taken for a bundle",
    ),
    ("`choices` are not UTF-8", "needs a forged hash"),
    (
        "bytes are left over",
        "checksum and build are right: our own fault",
    ),
    (
        "; choose another with SANDGLASS_CACHE",
        "needs a folder of another user",
    ),
    (
        "its secret is damaged; remove the folder",
        "another process damages it at that moment",
    ),
    ("no NUL", "no argument that a program is given has one"),
    ("a window past the memory", "our own fault"),
    (
        "more than 1024 watched memories in one process",
        "a library's caller has to have so many at once",
    ),
    (
        "over the memory limit",
        "wasmtime is told, and the guest: its memory does not grow",
    ),
    (
        "whoever looks on says nothing",
        "our own fault: nobody who looks on says anything",
    ),
    (
        "the pipe ended",
        "runtime/exchange/src/pipe/tests.rs: a campaign goes on",
    ),
    (
        "no answer in",
        "runtime/exchange/src/pipe/tests.rs: a campaign goes on",
    ),
    (
        "others always change",
        "others win every race; a campaign goes on",
    ),
    ("nobody, by lot", "worlds that tests make"),
    ("no answer, by lot", "worlds that tests make"),
    ("a result of another job", "worlds that tests make"),
    (
        ": nobody has met there yet",
        "`serve` waits and its page says so: tests/serve.rs",
    ),
    (
        "no shard of ours",
        "whoever looks on is refused before it: our own fault",
    ),
    ("half a pair", "our own fault"),
];

/// Messages that need no row in the book, and why.
const UNEXPLAINED: &[(&str, &str)] = &[
    (
        "`LLVMFuzzerTestOneInput`, `sandglass_property` or `_start`",
        "what another message expects",
    ),
    ("`sandglass_generate`", "what another message expects"),
    ("… bytes", "what another message found"),
    ("a result of another job", "worlds that tests make"),
    ("another", "worlds that tests make"),
    ("no answer, by lot", "worlds that tests make"),
    ("nobody, by lot", "worlds that tests make"),
];

/// A pattern for more messages says nothing about any of them; that the system refused a file is said by the most.
const MESSAGES_MAX: usize = 12;

/// Fewer letters than these are in any message.
const PATTERN_BYTES_MIN: usize = 5;

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

/// The messages in a source, with their placeholders.
fn texts(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for beginning in BEGINNINGS {
        for (at, _) in code.match_indices(beginning) {
            found.extend(first_text(&code[at + beginning.len()..]));
        }
    }
    found
}

/// The longest parts without a placeholder of the messages in a source.
fn messages(code: &str) -> Vec<String> {
    let texts = texts(code);
    texts.iter().filter_map(|text| longest_part(text)).collect()
}

/// The first text literal before the parenthesis closes, unless it is none of a message.
fn first_text(code: &str) -> Option<String> {
    let mut depth = 1;
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        let before = &code[..code.len() - chars.as_str().len()];
        match c {
            '(' if NO_MESSAGES.iter().any(|call| before.ends_with(call)) => return None,
            '(' => depth += 1,
            ')' if depth == 1 => return None,
            ')' => depth -= 1,
            '\'' => skip_character(&mut chars),
            '"' => return Some(text_literal(&mut chars)),
            _ => {}
        }
    }
    None
}

/// To the closing quote of a character, which may be a parenthesis; not for a lifetime.
fn skip_character(chars: &mut std::str::Chars<'_>) {
    let rest = chars.as_str();
    let bytes = match rest.strip_prefix('\\') {
        Some(escaped) => escaped.find('\'').map(|at| 1 + at.max(1)),
        None => rest.chars().next().map(char::len_utf8),
    };
    let after = bytes.and_then(|bytes| rest.get(bytes..));
    if let Some(after) = after.and_then(|after| after.strip_prefix('\'')) {
        *chars = after.chars();
    }
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
    let parts = parts(text).into_iter();
    let parts = parts.map(|part| part.trim().to_owned());
    let longest = parts.max_by_key(String::len)?;
    (longest.len() > 3).then_some(longest)
}

/// What stands before, between and behind placeholders.
fn parts(text: &str) -> Vec<String> {
    let text = text.replace("{{", "\u{1}").replace("}}", "\u{2}");
    let parts = text.split('{').enumerate().map(|(n, part)| match n {
        0 => part,
        _ => part.split_once('}').map_or("", |(_, rest)| rest),
    });
    let as_written = |part: &str| part.replace('\u{1}', "{").replace('\u{2}', "}");
    parts.map(as_written).collect()
}

/// A row of the book's page.
struct Row {
    patterns: Vec<String>,
    why: String,
    what_to_do: String,
}

impl Row {
    /// Nothing of a line that is no row of messages.
    fn read(line: &str) -> Option<Row> {
        let cells: Vec<&str> = line
            .strip_prefix("| `")?
            .strip_suffix(" |")?
            .split(" | ")
            .collect();
        let [patterns, why, what_to_do] = cells[..] else {
            return None;
        };
        Some(Row {
            patterns: patterns
                .trim_end_matches('`')
                .split("`<br>`")
                .map(str::to_owned)
                .collect(),
            why: why.to_owned(),
            what_to_do: what_to_do.to_owned(),
        })
    }
}

/// Whether a text has all parts of a pattern, in their order.
fn is_for(pattern: &str, text: &str) -> bool {
    let mut rest = Some(text);
    for part in pattern.split('…') {
        rest = rest
            .and_then(|rest| rest.split_once(part))
            .map(|(_, rest)| rest);
    }
    rest.is_some()
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

/// By what the page says, what is wrong with it.
fn unexplained(page: &str, messages: &BTreeSet<String>, golden: &str) -> Vec<String> {
    let rows: Vec<Row> = page.lines().filter_map(Row::read).collect();
    let patterns: Vec<&String> = rows.iter().flat_map(|row| &row.patterns).collect();
    let mut wrong = Vec::new();
    for message in messages {
        let is_excused = UNEXPLAINED.iter().any(|(text, _)| text == message);
        let is_explained = patterns.iter().any(|pattern| is_for(pattern, message));
        match (is_excused, is_explained) {
            (false, false) => wrong.push(format!("no row for: {message}")),
            (true, true) => wrong.push(format!("excused for nothing: {message}")),
            _ => {}
        }
    }
    for pattern in patterns {
        let count = (messages.iter())
            .filter(|message| is_for(pattern, message))
            .count();
        // What is no message of ours is one of the command line's parser.
        let is_printed = || golden.lines().any(|line| is_for(pattern, line));
        if count > MESSAGES_MAX || pattern.replace('…', "").trim().len() < PATTERN_BYTES_MIN {
            wrong.push(format!("says too little, for {count} messages: {pattern}"));
        } else if count == 0 && !is_printed() {
            wrong.push(format!("a row for no message: {pattern}"));
        }
    }
    let is_bare = |row: &&Row| row.why.len() < 20 || row.what_to_do.len() < 20;
    let bare = rows.iter().filter(is_bare);
    wrong.extend(bare.map(|row| format!("explains nothing: {}", row.patterns[0])));
    wrong
}

#[test]
fn every_message_is_explained_in_the_book() {
    let mut all = Vec::new();
    for folder in FOLDERS {
        sources(&root().join(folder), &mut all);
    }
    let texts = all.iter().flat_map(|(_, code)| texts(code));
    let named = texts.filter(|text| longest_part(text).is_some());
    let messages: BTreeSet<String> = named.map(|text| parts(&text).join("…")).collect();
    assert!(messages.len() > 150, "{} messages", messages.len());
    let page = root().join("runtime/book/src/messages.md");
    let page = fs::read_to_string(page).expect("the page");
    let wrong = unexplained(&page, &messages, &golden());
    assert!(wrong.is_empty(), "messages.md:\n{}", wrong.join("\n"));
    let excused = UNEXPLAINED.iter().map(|(text, _)| *text);
    let stale: Vec<&str> = excused.filter(|text| !messages.contains(*text)).collect();
    assert!(stale.is_empty(), "excused, and not there: {stale:?}");
}

#[test]
fn a_page_that_explains_too_little_is_told() {
    let messages = ["…: no wheel, expected four of …", "it is broken: …"];
    let messages = messages.map(str::to_owned).into();
    let told = |page: &str| unexplained(page, &messages, "a flag of clap\n");
    let why = "because somebody took it away | put it on again, all four of them";
    let right = format!("text\n| `no wheel, expected … of`<br>`flag of clap` | {why} |\n");
    let both = format!("{right}| `is broken` | {why} |\n");
    assert_eq!(told(&both), [""; 0]);
    assert_eq!(told(&right), ["no row for: it is broken: …"]);
    assert_eq!(
        told(&format!(
            "{both}| `gone long ago` | {why} |\n| `brok…` | {why} |"
        )),
        [
            "a row for no message: gone long ago",
            "says too little, for 1 messages: brok…"
        ]
    );
    let bare = format!("{right}| `is broken` | it is broken | mend it |\n");
    assert_eq!(told(&bare), ["explains nothing: is broken"]);
}

#[test]
fn messages_are_found() {
    let code = r#"
        bail!("{}: not {what}, expected \"{{x}}\" \
               here", show(path));
        Err(with_next(format!("short {} and a longer end", f(1)), "sandglass list"))
        x.context(name)?; bail!(message); #[error("{0}")]
        return Err("quoted".into()); x.split_once(')').ok_or_else(|| format!("no `)`: {x}"))?;
        let Err(error) = y else { return "nothing" }; y.map_err(|e| io(path, "read", &e))?;
    "#;
    assert_eq!(
        messages(code),
        [
            r#", expected "{x}" here"#,
            "and a longer end",
            "and a longer end",
            "quoted",
            "no `)`:",
        ]
    );
}
