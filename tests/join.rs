//! Campaigns that meet in a folder, as real processes: what one finds the others have, whoever is killed,
//! comes late, runs another module, or lies.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use sandglass_exchange::codec::encode_checked;
use sandglass_exchange::{
    Able, Coverage, Cursor, Entry, Exchange, Folder, Key, Revision, WorkerId,
};
use serde_json::Value;

/// Nothing here takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder with a target, seeds, and a place where to meet.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let demo = sandglass_guests::RUST_DEMO;
        fs::write(folder.path().join("t.wasm"), demo.wasm).unwrap();
        // Another module that does the same: a custom section named `x` more.
        let other = [demo.wasm, &[0, 2, 1, b'x']].concat();
        fs::write(folder.path().join("other.wasm"), other).unwrap();
        fs::create_dir(folder.path().join("seeds")).unwrap();
        for (index, seed) in demo.seeds.iter().enumerate() {
            fs::write(folder.path().join("seeds").join(index.to_string()), seed).unwrap();
        }
        Place(folder)
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"));
        command
            .args(args.split_whitespace())
            .current_dir(self.0.path())
            .env(
                "SANDGLASS_CACHE",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"),
            )
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A campaign that meets others in `x`.
    fn fuzz(&self, target: &str, out: &str, seed: u64, execs: u64) -> Command {
        self.command(&format!(
            "fuzz {target} seeds --out {out} --seed {seed} --execs {execs} --json --fuel 100k --join x"
        ))
    }

    /// What a verb prints, and its exit code.
    fn run(&self, args: &str) -> (String, Option<i32>) {
        let output = self.command(args).output().unwrap();
        (text(&output), output.status.code())
    }

    /// All that was offered.
    fn entries(&self) -> Vec<Entry> {
        let me = WorkerId::new("looks-on").unwrap();
        let mut folder = Folder::join(&self.0.path().join("x"), &me).unwrap();
        let (mut all, mut cursor) = (Vec::new(), Cursor::default());
        loop {
            let some = folder.tail(&mut cursor, 1000).unwrap();
            if some.is_empty() {
                return all;
            }
            all.extend(some);
        }
    }

    fn inputs(&self) -> BTreeSet<Vec<u8>> {
        self.entries()
            .into_iter()
            .map(|entry| entry.input)
            .collect()
    }

    /// Inputs that a campaign keeps.
    fn corpus(&self, out: &str) -> BTreeSet<Vec<u8>> {
        let files = fs::read_dir(self.0.path().join(out).join("corpus")).unwrap();
        files
            .map(|file| fs::read(file.unwrap().path()).unwrap())
            .collect()
    }
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn summary(output: &Output) -> Value {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let last = stdout.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|_| panic!("no summary: {}", text(output)))
}

fn count(summary: &Value, name: &str) -> u64 {
    summary["joined"][name].as_u64().unwrap()
}

#[test]
fn what_two_have_found_a_third_has_at_once() {
    let place = Place::new();
    let both = [
        place.fuzz("t.wasm", "a", 1, 40_000).spawn().unwrap(),
        place.fuzz("t.wasm", "b", 2, 40_000).spawn().unwrap(),
    ];
    let both = both.map(|child| summary(&child.wait_with_output().unwrap()));
    for summary in &both {
        assert_eq!(count(summary, "refused"), 0, "{summary}");
        assert!(count(summary, "offered") > 0, "{summary}");
    }
    let (audit, code) = place.run("audit t.wasm --join x --fuel 100k");
    assert_eq!(code, Some(0), "{audit}");
    // It is not shown the seeds: whatever it has so soon, it has from the others.
    let late = place.command("fuzz t.wasm --out c --seed 3 --time 2s --json --fuel 100k --join x");
    let late = summary(&{ late }.output().unwrap());
    assert!(count(&late, "imported") > 0, "{late}");
    for summary in &both {
        assert!(
            late["edges"].as_u64() >= summary["edges"].as_u64(),
            "{late} {summary}"
        );
    }
    let (audit, code) = place.run("audit t.wasm --join x --fuel 100k");
    assert_eq!(code, Some(0), "{audit}");
}

#[test]
fn alone_in_a_folder_a_campaign_is_what_it_is_without() {
    let place = Place::new();
    let joined = summary(&place.fuzz("t.wasm", "a", 1, 8_000).output().unwrap());
    let alone = place.command("fuzz t.wasm seeds --out b --seed 1 --execs 8000 --json --fuel 100k");
    let alone = summary(&{ alone }.output().unwrap());
    assert_eq!(joined["state_hash"], alone["state_hash"]);
    assert!(alone.get("joined").is_none());
    assert_eq!(place.corpus("a"), place.corpus("b"));
    assert!(place.corpus("a").is_subset(&place.inputs()));
    // What it offered in an earlier session is no news to it, even for a guidance that takes everything.
    let resumed = |out: &str, join: &str| {
        for execs in [3_000, 6_000] {
            let line = format!(
                "fuzz t.wasm seeds --guidance perffuzz --out {out} --seed 1 --execs {execs} --json --fuel 100k{join}"
            );
            let last = summary(&place.command(&line).output().unwrap());
            if execs == 6_000 {
                return last["state_hash"].clone();
            }
        }
        unreachable!("it returns")
    };
    assert_eq!(resumed("c", " --join y"), resumed("d", ""));
    // A campaign that has met others says so ever after.
    let again = place.command("fuzz t.wasm seeds --out a --seed 1 --execs 9000 --json --fuel 100k");
    let again = summary(&{ again }.output().unwrap());
    assert_eq!(again["joined"]["exchange"], "x", "{again}");
}

/// Killed whenever it has just offered something; what it had told is still there, and it goes on.
#[test]
fn who_is_killed_comes_back_and_offers_the_rest() {
    let place = Place::new();
    let mut before = BTreeSet::new();
    for _ in 0..3 {
        let mut child = place.fuzz("t.wasm", "a", 1, 100_000_000).spawn().unwrap();
        let late = Instant::now() + PATIENCE;
        while !place.0.path().join("x").exists() || place.inputs().len() <= before.len() {
            assert!(Instant::now() < late, "nothing new was offered");
            assert!(child.try_wait().unwrap().is_none(), "it ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let now = place.inputs();
        assert!(before.is_subset(&now), "{} of {}", now.len(), before.len());
        before = now;
    }
    let last = place.fuzz("t.wasm", "a", 1, 1).output().unwrap();
    assert!(summary(&last)["execs"].as_u64() > Some(0));
    let (kept, there) = (place.corpus("a"), place.inputs());
    assert!(kept.is_subset(&there), "{} of {}", there.len(), kept.len());
    let (audit, code) = place.run("audit t.wasm --join x --fuel 100k");
    assert_eq!(code, Some(0), "{audit}");
}

/// Inputs are taken, claims are not believed.
#[test]
fn another_module_takes_the_inputs_and_not_the_claims() {
    let place = Place::new();
    place.fuzz("t.wasm", "a", 1, 20_000).output().unwrap();
    let other =
        place.command("fuzz other.wasm --out b --seed 2 --time 2s --json --fuel 100k --join x");
    let other = summary(&{ other }.output().unwrap());
    assert!(count(&other, "imported") > 0, "{other}");
    assert_eq!(
        count(&other, "known"),
        0,
        "what others claim was believed: {other}"
    );
    let (audit, code) = place.run("audit other.wasm --join x --fuel 100k");
    assert_eq!(code, Some(0), "{audit}");
    assert!(audit.contains(" of other modules"), "{audit}");
}

#[test]
fn an_audit_finds_who_lies() {
    let place = Place::new();
    place.fuzz("t.wasm", "a", 1, 5_000).output().unwrap();
    let honest = place.entries();
    let claim = honest[0].claim.clone().unwrap();
    let me = WorkerId::new("liar").unwrap();
    let mut folder = Folder::join(&place.0.path().join("x"), &me).unwrap();
    let mut lie = |input: &[u8], claim: Coverage| {
        let entry = Entry {
            input: input.to_vec(),
            choices: None,
            claim: Some(claim),
            worker: me.clone(),
        };
        folder.offer(&entry).unwrap();
    };
    lie(
        b"a lie about edges",
        Coverage {
            edges: vec![(0, 1), (1, 128)],
            ..claim.clone()
        },
    );
    // However much it claims to have cost: it does not cost that here.
    lie(
        b"a costly lie about edges",
        Coverage {
            edges: vec![(0, 1), (1, 128)],
            fuel: u64::MAX,
            ..claim.clone()
        },
    );
    // Of another module nothing can be said here.
    lie(
        b"of another module",
        Coverage {
            module: [9; 32],
            ..claim
        },
    );
    let (audit, code) = place.run("audit t.wasm --join x --fuel 100k");
    assert_eq!(code, Some(1), "{audit}");
    assert_eq!(audit.matches("FALSE ").count(), 2, "{audit}");
    let edges = audit.matches(" by liar: 2 edges claimed").count();
    assert_eq!(edges, 2, "{audit}");
    assert!(audit.contains("1 of other modules"), "{audit}");
}

/// Whoever has the module has what all have found: inputs, and findings that can be replayed.
#[test]
fn an_audit_brings_home_what_it_ran() {
    let place = Place::new();
    let mut fuzz = place.fuzz("t.wasm", "a", 1, 40_000);
    fuzz.args(["--max-len", "4095"]).output().unwrap();
    // One that lies about how it ends, and one that no campaign here could have run.
    let me = WorkerId::new("liar").unwrap();
    let mut folder = Folder::join(&place.0.path().join("x"), &me).unwrap();
    let claim = place.entries()[0].claim.clone().unwrap();
    let mut put = |name: &str, input: &[u8], fuel: u64| {
        let finding = Entry {
            input: input.to_vec(),
            choices: None,
            claim: Some(Coverage {
                edges: Vec::new(),
                fuel,
                ..claim.clone()
            }),
            worker: me.clone(),
        };
        let key = Key::new(format!("finding-{name}")).unwrap();
        let bytes = encode_checked(&finding).unwrap();
        folder.put_if(&key, Revision(0), &bytes).unwrap().unwrap();
    };
    put("trap-0123456789abcdef", b"harmless", claim.fuel);
    put("trap-1123456789abcdef", b"harmless, too", u64::MAX);
    put("hang-0123456789abcdef", &vec![b'x'; 4096], claim.fuel);
    let (audit, code) = place.run("audit t.wasm --join x --fuel 100k --max-len 4095 --out all");
    assert_eq!(code, Some(1), "{audit}");
    assert_eq!(audit.matches("FALSE ").count(), 2, "{audit}");
    for name in ["trap-0123456789abcdef", "trap-1123456789abcdef"] {
        let told = format!("FALSE {name} by liar");
        assert!(audit.contains(&told), "{audit}");
    }
    assert!(audit.contains(", 1 not checked"), "{audit}");
    assert_eq!(place.corpus("all"), place.inputs());
    let names = |out: &str| -> BTreeSet<String> {
        let findings = fs::read_dir(place.0.path().join(out).join("findings")).unwrap();
        findings
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let found = names("a");
    assert!(
        found.iter().any(|name| name.starts_with("trap")),
        "{found:?}"
    );
    assert_eq!(names("all"), found);
    let rest = fs::read_dir(place.0.path().join("all")).unwrap().count();
    assert_eq!(rest, 2, "corpus and findings, and nothing else");
    for name in &found {
        let (text, code) = place.run(&format!("repro t.wasm all/findings/{name}"));
        let expected = if name.starts_with("slow") { 0 } else { 1 };
        assert_eq!(code, Some(expected), "{text}");
    }
    let (text, code) = place.run("audit t.wasm --join x --out all");
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("all: not empty, expected a new folder"),
        "{text}"
    );
}

#[test]
fn a_worker_does_what_was_asked_for_and_the_answer_is_that_of_the_verb() {
    let place = Place::new();
    place.fuzz("t.wasm", "a", 1, 40_000).output().unwrap();
    let findings = fs::read_dir(place.0.path().join("a/findings")).unwrap();
    let names = findings.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let finding = names.filter(|name| name.starts_with("trap")).min().unwrap();
    let path = place
        .0
        .path()
        .join("a/findings")
        .join(&finding)
        .join("input");
    fs::copy(path, place.0.path().join("bug")).unwrap();
    let ask = "submit t.wasm --join x --fuel 100k --job";
    let worker = place
        .command("worker t.wasm --join x --jobs 4 --idle 60s")
        .spawn()
        .unwrap();
    let wait = format!("--wait {}s", PATIENCE.as_secs());
    let (text, code) = place.run(&format!("{ask} minimise bug {wait} --out small"));
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = place.run("min t.wasm bug --out expected --fuel 100k");
    assert_eq!(code, Some(0), "{text}");
    let read = |name: &str| fs::read(place.0.path().join(name)).unwrap();
    assert_eq!(read("small"), read("expected"));
    let (text, code) = place.run(&format!("{ask} replay bug small {wait}"));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("\"is_finding\":true").count(), 2, "{text}");
    let (text, code) = place.run(&format!("{ask} distil a/corpus {wait} --out names"));
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = place.run("cmin t.wasm a/corpus --out least --fuel 100k");
    assert_eq!(code, Some(0), "{text}");
    let mut least: Vec<String> = fs::read_dir(place.0.path().join("least"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    least.sort();
    let names = String::from_utf8(read("names")).unwrap();
    assert_eq!(names.lines().collect::<Vec<_>>(), least);
    let (text, code) = place.run(&format!("{ask} cover a/corpus {wait} --out cover"));
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = place.run("cover t.wasm a/corpus --lcov lcov --fuel 100k");
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(read("cover"), read("lcov"));
    let worker = worker.wait_with_output().unwrap();
    assert_eq!(worker.status.code(), Some(0), "{}", self::text(&worker));
    // The answer stays when nobody is there to work.
    let (text, code) = place.run(&format!("{ask} minimise bug --wait 1s --out again"));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(read("small"), read("again"));
}

/// A worker that is killed loses its lease, and somebody else does the job.
#[test]
fn a_job_outlives_its_worker() {
    let place = Place::new();
    place.fuzz("t.wasm", "a", 1, 20_000).output().unwrap();
    let me = WorkerId::new("dies").unwrap();
    let (text, code) = place.run("submit t.wasm --join x --fuel 100k --job replay a/corpus");
    assert_eq!(code, Some(0), "{text}");
    // Whoever cannot do it does not use it up.
    for others in ["other.wasm --join x", "t.wasm --join x --fuel-most 99k"] {
        let (text, code) = place.run(&format!("worker {others} --idle 500ms"));
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("0 jobs done"), "{text}");
    }
    let able = Able {
        module: place.entries()[0].claim.as_ref().unwrap().module,
        fuel_most: 100_000,
    };
    let mut folder = Folder::join(&place.0.path().join("x"), &me).unwrap();
    let claim = folder
        .claim(&able, Duration::from_millis(500))
        .unwrap()
        .unwrap();
    assert_eq!(claim.deliveries, 1);
    // It never says anything again.
    drop(folder);
    let (text, code) = place.run("worker t.wasm --join x --jobs 1 --idle 60s");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("1 job done"), "{text}");
}
