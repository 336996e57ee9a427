//! Campaigns that are stopped from outside: killed, interrupted, out of disk.
//! Each must be resumable and end where an undisturbed one ends.
//!
//! `KILLS=200` kills more often; `SEED=n` chooses other moments.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use sandglass_tests::program::send;
use serde_json::Value;

/// Enough to take a while, few enough for many rounds.
const EXECS: &str = "60000";

struct Campaign {
    folder: tempfile::TempDir,
}

impl Campaign {
    fn new() -> Campaign {
        let folder = tempfile::tempdir().unwrap();
        let demo = sandglass_guests::RUST_DEMO;
        fs::write(folder.path().join("t.wasm"), demo.wasm).unwrap();
        fs::create_dir(folder.path().join("seeds")).unwrap();
        for (index, seed) in demo.seeds.iter().enumerate() {
            fs::write(folder.path().join("seeds").join(index.to_string()), seed).unwrap();
        }
        Campaign { folder }
    }

    fn command(&self, execs: &str, workers: usize) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"));
        command
            .args([
                "fuzz", "t.wasm", "seeds", "--out", "o", "--json", "--fuel", "100k",
            ])
            .args(["--execs", execs, "--workers", &workers.to_string()])
            .current_dir(self.folder.path())
            .env(
                "SANDGLASS_CACHE",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"),
            )
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a session to its end; its summary.
    fn finish(&self, workers: usize) -> Value {
        let output = self.command(EXECS, workers).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        summary(&output).unwrap_or_else(|| panic!("no summary: {}", text(&output)))
    }

    /// What is in the folder, times and numbers of workers aside.
    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let root = self.folder.path().join("o");
        let mut files = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&root).unwrap().to_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if name == Path::new("events.jsonl") {
                    files.insert(name, timeless(&fs::read_to_string(&path).unwrap()));
                } else if name != Path::new("checkpoint") {
                    files.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        files
    }
}

/// The same command by way of this program, which is what `nohup` and `env` are.
fn through(program: &[&str], command: &Command) -> Command {
    let mut through = Command::new(program[0]);
    through
        .args(&program[1..])
        .arg(command.get_program())
        .args(command.get_args())
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(command.get_current_dir().expect("it has one"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    through
}

/// The same command with the signal of a lost terminal as it is in a terminal: whoever runs the tests may have them ignore it.
fn in_a_terminal(command: Command) -> Command {
    let env = ["env", "--default-signal=HUP"];
    let tried = Command::new(env[0]).args([env[1], "true"]).output();
    match tried.is_ok_and(|output| output.status.success()) {
        true => through(&env, &command),
        // Not GNU's.
        false => command,
    }
}

fn timeless(events: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for line in events.lines() {
        let mut event: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
        for field in ["elapsed_ms", "execs_per_sec", "workers"] {
            event.remove(field);
        }
        out.extend(serde_json::to_vec(&event).unwrap());
        out.push(b'\n');
    }
    out
}

fn text(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn summary(output: &Output) -> Option<Value> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let event: Value = serde_json::from_str(stdout.lines().last()?).ok()?;
    (event["event"] == "summary").then_some(event)
}

/// Waits until the campaign proper has begun, so that a kill hits it.
fn await_start(child: &mut Child) -> BufReader<std::process::ChildStdout> {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"checkpoint\"") && !line.contains("\"resumed\"") {
        line.clear();
        assert_ne!(
            lines.read_line(&mut line).unwrap(),
            0,
            "the campaign ended early"
        );
    }
    lines
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Every random test says its seed.
#[expect(clippy::print_stderr, reason = "shown when the test fails")]
fn say_seed(seed: u64) {
    eprintln!("SEED={seed}");
}

#[test]
fn killed_anywhere_it_ends_where_an_undisturbed_one_does() {
    let undisturbed = Campaign::new();
    let began = std::time::Instant::now();
    let expected = undisturbed.finish(1);
    let whole = began.elapsed();
    let contents = undisturbed.contents();
    let seed = number("SEED", 1);
    say_seed(seed);
    let mut state = seed;
    let mut killed = 0;
    let mut campaign = Campaign::new();
    while killed < number("KILLS", 12) {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let workers = 1 + (state >> 40) as usize % 2;
        let mut child = campaign.command(EXECS, workers).spawn().unwrap();
        let stdout = await_start(&mut child);
        // Within the first half, for a resumed campaign has less to do.
        std::thread::sleep(whole.mul_f64((state >> 33) as f64 / f64::from(1u32 << 31) / 2.0));
        child.kill().unwrap();
        child.wait().unwrap();
        let ended = stdout
            .lines()
            .any(|line| line.is_ok_and(|line| line.contains("\"summary\"")));
        if ended {
            // Too late: a kill counts only when it hit.
            campaign = Campaign::new();
            continue;
        }
        killed += 1;
        // Every third campaign is killed again while it resumes.
        if killed % 3 != 0 {
            let resumed = campaign.finish(workers);
            assert_eq!(
                resumed["state_hash"], expected["state_hash"],
                "kill {killed}"
            );
            assert_eq!(campaign.contents(), contents, "kill {killed}");
            campaign = Campaign::new();
        }
    }
}

#[test]
fn ctrl_c_leaves_a_clean_state() {
    leaves_a_clean_state("INT");
}

/// A connection that is lost is no reason to lose what was done since the last checkpoint.
#[test]
fn a_terminal_that_goes_away_leaves_a_clean_state() {
    leaves_a_clean_state("HUP");
}

fn leaves_a_clean_state(signal: &str) {
    let campaign = Campaign::new();
    let mut child = in_a_terminal(campaign.command("100000000", 2))
        .spawn()
        .unwrap();
    let stdout = await_start(&mut child);
    std::thread::sleep(Duration::from_millis(300));
    send(signal, &child);
    let last = stdout.lines().map(Result::unwrap).last().unwrap();
    let code = child.wait().unwrap().code();
    assert!(code == Some(0) || code == Some(1), "{code:?}");
    let event: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(event["ended"], "interrupted", "{last}");
    let execs = event["execs"].as_u64().unwrap();
    assert!(execs > 0 && execs < 100_000_000);
    // As many executions undisturbed come to the same.
    let other = Campaign::new();
    let output = other.command(&execs.to_string(), 1).output().unwrap();
    assert_eq!(summary(&output).unwrap()["state_hash"], event["state_hash"]);
}

/// Findings that somebody has moved elsewhere are told of, and come back to nobody's surprise.
#[test]
fn findings_that_were_taken_away_are_told_of() {
    let campaign = Campaign::new();
    campaign.finish(1);
    let findings = campaign.folder.path().join("o/findings");
    let first = fs::read_dir(&findings).unwrap().next().unwrap().unwrap();
    fs::remove_dir_all(first.path()).unwrap();
    let output = campaign.command("61000", 1).output().unwrap();
    let name = first.file_name().into_string().unwrap();
    let told = format!("is no longer in its folder, and will not be written again: {name}");
    assert!(text(&output).contains(&told), "{}", text(&output));
}

/// Takes its time with each long input, and then a trap.
const DEAR: &str = r#"(module
  (memory (export "memory") 2)
  (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $length i32) (result i32)
    (local $n i32)
    (if (i32.lt_u (local.get $length) (i32.const 49000)) (then (return (i32.const 0))))
    (loop $more
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $n) (i32.const 5000000))))
    unreachable))"#;

/// What a search has come to is kept.
#[test]
fn ctrl_c_ends_a_search_for_the_smallest_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("t.wasm"), wat::parse_str(DEAR).unwrap()).unwrap();
    fs::write(path("input"), [b'x'; 50_000]).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
        .args(["min", "t.wasm", "input"])
        .current_dir(folder.path())
        .env("SANDGLASS_CACHE", path("cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // How far it is, once there is anything.
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("of 50,000 bytes after"), "{line}");
    send("INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(
        text(&output).contains("(stopped by Ctrl-C)"),
        "{}",
        text(&output)
    );
    let smaller = fs::read(path("input.min")).unwrap();
    assert!(
        (49_000..50_000).contains(&smaller.len()),
        "{}",
        smaller.len()
    );
}

/// `timeout` sends two signals at once: that is not somebody who lost patience.
#[test]
fn a_signal_and_its_echo_are_one() {
    for _ in 0..10 {
        let campaign = Campaign::new();
        let mut child = campaign.command("100000000", 2).spawn().unwrap();
        let output = await_start(&mut child);
        let pid = child.id();
        let both = format!("kill -TERM {pid}; kill -TERM {pid}");
        assert!(
            Command::new("sh")
                .args(["-c", &both])
                .status()
                .unwrap()
                .success()
        );
        let rest: Vec<String> = output.lines().map(Result::unwrap).collect();
        let last = rest.last().expect("it says how it ended");
        assert!(last.contains("\"summary\""), "{last}");
        let code = child.wait().unwrap().code();
        assert!(code == Some(0) || code == Some(1), "{code:?}");
    }
}

/// A terminal that goes away ends nothing below `nohup`; Ctrl-C does.
#[test]
fn nohup_holds() {
    let campaign = Campaign::new();
    let command = campaign.command("100000000", 1);
    let mut child = through(&["nohup"], &command).spawn().unwrap();
    let output = await_start(&mut child);
    send("HUP", &child);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().unwrap(), None);
    send("INT", &child);
    let rest: Vec<String> = output.lines().map(Result::unwrap).collect();
    let last = rest.last().expect("it says how it ended");
    assert!(last.contains("interrupted"), "{last}");
    child.wait().unwrap();
}

#[test]
fn a_full_disk_is_an_error_and_the_folder_resumes() {
    let undisturbed = Campaign::new();
    let expected = undisturbed.finish(1);
    for blocks in [0, 1, 2, 4, 8] {
        let campaign = Campaign::new();
        let command = campaign.command(EXECS, 1);
        // Files larger than the limit fail like those on a full disk.
        let script = format!("ulimit -f {blocks} && exec \"$0\" \"$@\"");
        let output = Command::new("sh")
            .args(["-c", &script])
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(campaign.folder.path())
            .env(
                "SANDGLASS_CACHE",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"),
            )
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{blocks}: {}", text(&output));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            stderr.contains("error: ") && stderr.contains("o/"),
            "{blocks}: {stderr}"
        );
        let resumed = campaign.finish(1);
        assert_eq!(resumed["state_hash"], expected["state_hash"], "{blocks}");
        assert_eq!(campaign.contents(), undisturbed.contents(), "{blocks}");
    }
}

#[test]
fn two_processes_on_one_folder_are_refused() {
    let campaign = Campaign::new();
    let mut child = campaign.command("100000000", 1).spawn().unwrap();
    let _stdout = await_start(&mut child);
    let second = campaign.command("100000000", 1).output().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(second.status.code(), Some(2), "{}", text(&second));
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert!(
        stderr.contains("o: in use by another sandglass process"),
        "{stderr}"
    );
}
