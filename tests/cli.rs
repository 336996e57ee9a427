//! Tests of the command line: `tests/cli/*.txt`, with what the program prints
//! beside each. `tests/cli/readme.txt` is the manual.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sandglass_tests::figures::{is_figures, without_pulses};

#[test]
fn every_case_prints_what_it_should() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cli");
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    cases.sort();
    // `CASE=name` runs one.
    if let Ok(only) = std::env::var("CASE") {
        cases.retain(|path| path.file_stem().is_some_and(|stem| stem == only.as_str()));
    }
    assert!(!cases.is_empty(), "no cases in {}", folder.display());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                while let Some(path) =
                    cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    if let Err(failure) = run_case(path) {
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("{}: {failure}", path.display()));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(
        failures.is_empty(),
        "{} of {} cases failed; BLESS=1 accepts what is printed now\n\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// What a boxed program prints may be needed: that it is lost is an error, unless its reader left.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let hello = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/wat/command-cat.wat"),
    );
    let wasm = wat::parse_str(hello.unwrap()).unwrap();
    fs::write(folder.path().join("t.wasm"), wasm).unwrap();
    fs::write(folder.path().join("input"), "text").unwrap();
    for verb in [
        "run t.wasm input",
        "repro t.wasm input",
        "inspect t.wasm",
        "fuzz t.wasm --execs 20 --out o",
        "fuzz t.wasm --execs 20 --out p --json",
        "check t.wasm --execs 20 --json",
        "show t.wasm input",
        "triage o",
        "cover t.wasm o --json",
        "list",
        "man",
        "completions bash",
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
            .args(verb.split(' '))
            .current_dir(folder.path())
            .stdout(fs::File::create("/dev/full").unwrap())
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{verb}: {message}");
        let lost = "error: the output could not be written: no space left on device\n";
        assert!(message.ends_with(lost), "{verb}: {message}");
    }
}

fn run_case(path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let module: String = text.lines().filter(|line| !line.starts_with(";;")).fold(
        String::new(),
        |mut module, line| {
            writeln!(module, "{line}").unwrap();
            module
        },
    );
    if !module.trim().is_empty() {
        let wasm = wat::parse_str(&module).map_err(|e| e.to_string())?;
        fs::write(folder.path().join("t.wasm"), wasm).map_err(|e| e.to_string())?;
    }
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let (mut tools, mut locks) = (None, Vec::new());
    let mut variables: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let Some((verb, rest)) = line
            .strip_prefix(";; ")
            .and_then(|step| step.split_once(':'))
        else {
            continue;
        };
        let rest = &with_finding(folder.path(), rest.trim_start());
        let (rest, given) = match (verb, rest.split_once(' ')) {
            ("EXITS", Some((code, rest))) => (rest, code.parse().map_err(|_| "no exit code")?),
            _ => (&rest[..], 0),
        };
        let code = match verb {
            "RUN" => 0,
            "FINDS" => 1,
            "FAIL" | "FULL" => 2,
            "REFUSED" => 4,
            "EXITS" => given,
            // The module again, with one text in the place of another.
            "OTHER" => {
                let (name, change) = rest.split_once(' ').unwrap_or((rest, ""));
                let (from, to) = change.split_once(" => ").ok_or("no ` => `")?;
                if !module.contains(from) {
                    return Err(format!("{line}: the module has no `{from}`"));
                }
                let wasm = wat::parse_str(module.replace(from, to)).map_err(|e| e.to_string())?;
                fs::write(folder.path().join(name), wasm).map_err(|e| e.to_string())?;
                continue;
            }
            "ENV" => {
                let (name, value) = rest.split_once('=').ok_or("no `=`")?;
                variables.push((name.to_owned(), value.to_owned()));
                continue;
            }
            "TOOLS" => {
                tools = Some(folder.path().join(rest));
                continue;
            }
            // For the rest of the case.
            "LOCK" => {
                let file = fs::File::open(folder.path().join(rest)).map_err(|e| e.to_string())?;
                file.lock().map_err(|e| e.to_string())?;
                locks.push(file);
                continue;
            }
            _ => {
                prepare(folder.path(), verb, rest).map_err(|e| format!("{line}: {e}"))?;
                continue;
            }
        };
        let program = env!("CARGO_BIN_EXE_sandglass-dup");
        let mut command = match verb {
            // No file may have a byte: that fails as on a full disk.
            "FULL" => {
                let mut shell = Command::new("sh");
                shell.args(["-c", "ulimit -f 0 && exec \"$0\" \"$@\"", program]);
                shell
            }
            _ => Command::new(program),
        };
        if let Some(tools) = &tools {
            command.env("PATH", tools).env_remove("WASI_SDK_PATH");
        }
        let command = command
            .args(words(rest))
            .current_dir(folder.path())
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .env(
                "SANDGLASS_CACHE",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"),
            );
        for (name, value) in &variables {
            command.env(name, value);
        }
        let output = command.output().map_err(|e| e.to_string())?;
        stdout.push_str(&redact(&String::from_utf8_lossy(&output.stdout)));
        stderr.push_str(&redact(&String::from_utf8_lossy(&output.stderr)));
        if output.status.code() != Some(code) {
            return Err(format!(
                "`{rest}` ended with {}, expected exit code {code}\n{stdout}{stderr}",
                output.status
            ));
        }
    }
    compare(&path.with_extension("stdout"), &stdout)?;
    compare(&path.with_extension("stderr"), &stderr)
}

/// `%finding%` stands for the first folder in `o/findings`: its name has a hash.
fn with_finding(folder: &Path, rest: &str) -> String {
    if !rest.contains("%finding%") {
        return rest.to_owned();
    }
    let entries = fs::read_dir(folder.join("o/findings"))
        .into_iter()
        .flatten();
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    rest.replace("%finding%", names.first().map_or("none", |name| name))
}

/// The steps that are no runs. Unknown words are prose.
fn prepare(folder: &Path, verb: &str, rest: &str) -> Result<(), String> {
    let (path, value) = rest.split_once(' ').unwrap_or((rest, ""));
    let path = folder.join(path);
    let done = match verb {
        "FILE" => fs::write(&path, unescape(value)),
        "FOLDER" => fs::create_dir_all(&path),
        "GUEST" => {
            let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests");
            fs::copy(guests.join(value), &path).map(|_| ())
        }
        #[cfg(unix)]
        "PROGRAM" => program(&path, &unescape(value)),
        "FIFO" => Command::new("mkfifo").arg(&path).status().map(|_| ()),
        #[cfg(unix)]
        "LINK" => std::os::unix::fs::symlink(value, &path),
        #[cfg(unix)]
        "MODE" => mode(&path, value),
        "CUT" => fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(value.parse().expect("a number"))),
        "COPY" => fs::copy(folder.join(value), &path).map(|_| ()),
        "APPEND" => append(&path, &unescape(value)),
        "EDIT" => edit(&path, value),
        "CHANGE" => change(&path, value.parse().expect("a number")),
        "REMOVE" if path.is_dir() => fs::remove_dir_all(&path),
        "REMOVE" => fs::remove_file(&path),
        _ => Ok(()),
    };
    done.map_err(|e| e.to_string())
}

/// Changes one byte of a file.
fn change(path: &Path, at: usize) -> std::io::Result<()> {
    let mut bytes = fs::read(path)?;
    bytes[at] ^= 1;
    fs::write(path, bytes)
}

fn append(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(path)?;
    file.write_all(bytes)
}

/// Puts one text in the place of another, which must be there: `FROM => TO`.
fn edit(path: &Path, change: &str) -> std::io::Result<()> {
    let text = fs::read_to_string(path)?;
    let parts = change.split_once(" => ");
    let (from, to) = parts
        .filter(|(from, _)| text.contains(from))
        .ok_or_else(|| {
            let what = format!("{}: nothing to replace: {change}", path.display());
            std::io::Error::new(std::io::ErrorKind::InvalidInput, what)
        })?;
    fs::write(path, text.replace(from, to))
}

/// Writes a script that can be run.
#[cfg(unix)]
fn program(path: &Path, text: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Who may do what with a file, in octal digits.
#[cfg(unix)]
fn mode(path: &Path, digits: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = u32::from_str_radix(digits, 8).expect("octal digits");
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Splits arguments at blanks; single quotes keep them together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        (rest, _) = match (byte, after) {
            (b'\\', [b'n', after @ ..]) => (after, bytes.push(b'\n')),
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).expect("two digits");
                (
                    after,
                    bytes.push(u8::from_str_radix(digits, 16).expect("two digits")),
                )
            }
            _ => (after, bytes.push(byte)),
        };
    }
    bytes
}

/// Replaces what differs from run to run or from machine to machine (times,
/// rates, long hashes) and leaves out what appears when a machine is slow.
fn redact(text: &str) -> String {
    let mut out = String::new();
    for line in without_pulses(text) {
        let is_libfuzzer_pulse = line.starts_with('#') && line.contains("\tpulse");
        if is_libfuzzer_pulse
            || line.contains(r#"{"event":"pulse""#)
            || line.contains(r#"{"event":"checkpoint""#)
        {
            continue;
        }
        let mut line = line.to_owned();
        for field in [
            "\"elapsed_ms\":",
            "\"execs_per_sec\":",
            " exec/s: ",
            "stat::average_exec_per_sec:     ",
            " runs in ",
        ] {
            if let Some(at) = line.find(field) {
                let start = at + field.len();
                let digits = line[start..].bytes().take_while(u8::is_ascii_digit).count();
                line.replace_range(start..start + digits, "0");
            }
        }
        // `   1.2s, 1,000 executions (12,345/s), …`
        let is_figures = is_figures(&line);
        if let (true, Some(open), Some(close)) = (is_figures, line.find('('), line.find("/s)")) {
            line.replace_range(open + 1..close, "RATE");
            let time = line.find(", ").unwrap_or_default();
            line.replace_range(..time, "TIME");
        }
        // The log's length depends on the digits of the times in it.
        if let Some(at) = line.find("expected at least the ") {
            line.replace_range(
                at + "expected at least the ".len()..,
                "N that the checkpoint covers",
            );
        }
        if let Some(at) = line.find("corrupt: its first ") {
            line.replace_range(
                at + "corrupt: its first ".len()..,
                "N bytes do not match the checkpoint",
            );
        }
        // `resumed at 1,024 executions after 0.2s`
        if let (true, Some(at)) = (line.starts_with("resumed at "), line.rfind(' ')) {
            line.replace_range(at + 1.., "TIME");
        }
        out.push_str(&redact_hashes(&line));
        out.push('\n');
    }
    out
}

/// Replaces every run of 12 or more hexadecimal digits by `HASH`.
fn redact_hashes(line: &str) -> String {
    let mut out = String::new();
    let mut run = String::new();
    for c in line.chars().chain([' ']) {
        if c.is_ascii_digit() || ('a'..='f').contains(&c) {
            run.push(c);
            continue;
        }
        let is_hash = run.len() >= 12 && run.bytes().any(|b| b.is_ascii_alphabetic());
        out.push_str(if is_hash { "HASH" } else { &run });
        run.clear();
        out.push(c);
    }
    out.pop();
    out
}

fn compare(path: &Path, actual: &str) -> Result<(), String> {
    let expected = fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        let written = if actual.is_empty() {
            fs::remove_file(path)
        } else {
            fs::write(path, actual)
        };
        return written.map_err(|e| e.to_string());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Err(format!(
        "{name} differs\n--- expected\n{expected}+++ printed\n{actual}"
    ))
}
