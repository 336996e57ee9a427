//! Real campaigns through the relay and a real server: `sandglass fuzz --join nats://…` from end to end.
//!
//! The program is another workspace's: that of `SANDGLASS_PROGRAM`, or else the newest that was built beside this one.
//! Where there is none, or no server, these tests do nothing and say so.

#[path = "support/mod.rs"]
mod support;
#[path = "support/world.rs"]
mod world;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use sandglass_exchange::Entry;
use world::{World, is_there, skip, until};

/// The programs that were built beside this workspace.
const BUILT: [&str; 4] = [
    "release/sandglass",
    "release/sandglass-dup",
    "debug/sandglass",
    "debug/sandglass-dup",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The program; nothing, and said, if it was not built.
fn program() -> Option<PathBuf> {
    if let Some(given) = env::var_os("SANDGLASS_PROGRAM") {
        let given = PathBuf::from(given);
        assert!(given.is_file(), "SANDGLASS_PROGRAM: {given:?} is no file");
        return Some(given);
    }
    let target = root().join("target");
    let built = BUILT.iter().filter_map(|name| {
        let path = target.join(name);
        let modified = fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
        Some((modified, path))
    });
    let newest = built.max();
    if newest.is_none() {
        skip(
            "no sandglass in target; `cargo build --release --bin sandglass` makes one, or say SANDGLASS_PROGRAM=PATH",
        );
    }
    newest.map(|(_, path)| path)
}

/// A server, and the program in a folder with a target and seeds.
struct Scene {
    world: World,
    program: PathBuf,
}

impl Scene {
    fn new() -> Option<Scene> {
        if !is_there() {
            return None;
        }
        let program = program()?;
        let world = World::new();
        let here = world.folder.path();
        let demo = root().join("guests/demo/wasm/packets-O2.wasm");
        fs::copy(demo, here.join("t.wasm")).expect("a demo");
        fs::create_dir(here.join("seeds")).expect("a folder");
        fs::write(
            here.join("seeds/a"),
            b"SG\x02.\x04abc\x04xyzN\x02 aU\x01\x00",
        )
        .expect("a seed");
        Some(Scene { world, program })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.folder.path().join(name)
    }

    /// The program with these words, and ` --join` this server.
    fn command(&self, words: &str) -> Command {
        let relay = Path::new(env!("CARGO_BIN_EXE_sandglass-nats"));
        let mut path = vec![relay.parent().expect("a folder").to_owned()];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new(&self.program);
        command
            .args(words.split_whitespace())
            .args(["--join", &self.world.url("test")])
            .current_dir(self.world.folder.path())
            .env("PATH", env::join_paths(path).expect("paths"))
            .env("SANDGLASS_CACHE", self.path("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn fuzz(&self, out: &str, seed: u64, budget: &str) -> Command {
        self.command(&format!(
            "fuzz t.wasm seeds --out {out} --seed {seed} {budget} --json --fuel 100k"
        ))
    }

    /// What a verb prints, and its exit code.
    fn run(&self, words: &str) -> (String, Option<i32>) {
        let output = self.command(words).output().expect("it starts");
        (text(&output), output.status.code())
    }

    /// Names of what lies in a folder.
    fn names(&self, folder: &str) -> BTreeSet<String> {
        let files = fs::read_dir(self.path(folder)).expect("a folder");
        let name = |file: std::io::Result<fs::DirEntry>| file.expect("a file").file_name();
        files
            .map(|file| name(file).into_string().expect("plain names"))
            .collect()
    }

    /// Inputs that a campaign keeps.
    fn corpus(&self, out: &str) -> BTreeSet<Vec<u8>> {
        let folder = format!("{out}/corpus");
        let read = |name: String| fs::read(self.path(&folder).join(name)).expect("a file");
        self.names(&folder).into_iter().map(read).collect()
    }

    fn inputs(&self) -> BTreeSet<Vec<u8>> {
        let (entries, refused) = self.world.entries("test");
        assert_eq!(refused, 0);
        let input = |entry: Entry| entry.input;
        entries.into_iter().map(input).collect()
    }
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A number in the last line of JSON, after these words.
fn count(output: &Output, name: &str) -> u64 {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let last = stdout.lines().last().unwrap_or_default();
    let after = last.split(&format!("\"{name}\":")).nth(1);
    let after = after.unwrap_or_else(|| panic!("no {name} in: {}", text(output)));
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

#[test]
fn campaigns_meet_are_audited_and_ask_for_jobs() {
    let Some(scene) = Scene::new() else { return };
    let both: Vec<Child> = [("a", 1), ("b", 2)]
        .map(|(out, seed)| {
            scene
                .fuzz(out, seed, "--execs 40000")
                .spawn()
                .expect("it starts")
        })
        .into();
    let both = both
        .into_iter()
        .map(|child| child.wait_with_output().expect("it ends"));
    let both: Vec<Output> = both.collect();
    for output in &both {
        assert!(count(output, "offered") > 0, "{}", text(output));
        assert_eq!(count(output, "refused"), 0, "{}", text(output));
    }
    let there = scene.inputs();
    for out in ["a", "b"] {
        let own = scene.corpus(out);
        assert!(!own.is_disjoint(&there), "nothing of {out} is there");
    }
    // One that knows no seed has what they found.
    let late = "fuzz t.wasm --out c --seed 3 --time 10s --json --fuel 100k";
    let late = scene.command(late).output().expect("it starts");
    assert!(count(&late, "imported") > 0, "{}", text(&late));
    let best = both.iter().map(|output| count(output, "edges")).max();
    assert!(Some(count(&late, "edges")) >= best, "{}", text(&late));

    let (audit, code) = scene.run("audit t.wasm --fuel 100k --out all");
    assert_eq!(code, Some(0), "{audit}");
    assert_eq!(scene.corpus("all"), scene.inputs());
    let found = ["a", "b", "c"].map(|out| scene.names(&format!("{out}/findings")));
    let found: BTreeSet<String> = found.into_iter().flatten().collect();
    assert!(!found.is_empty());
    assert_eq!(scene.names("all/findings"), found);

    let worker = scene.command("worker t.wasm --jobs 1 --idle 60s").spawn();
    let worker = worker.expect("it starts");
    let ask = "submit t.wasm --fuel 100k --job distil all/corpus --wait 60s --out least";
    let (answer, code) = scene.run(ask);
    assert_eq!(code, Some(0), "{answer}");
    let least = fs::read_to_string(scene.path("least")).expect("an answer");
    let names: BTreeSet<String> = least.lines().map(str::to_owned).collect();
    assert!(
        !names.is_empty() && names.is_subset(&scene.names("all/corpus")),
        "{least}"
    );
    let worker = worker.wait_with_output().expect("it ends");
    assert!(text(&worker).contains("1 job done"), "{}", text(&worker));
}

/// The server is killed while a campaign runs, and comes back without anything: the campaign goes on alone, and then
/// fills it again.
#[test]
fn a_server_that_forgot_is_filled_by_the_campaign_that_went_on() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    // Interrupted long before; nobody waits for it if this test fails.
    let child = scene.fuzz("a", 1, "--time 2m");
    let child = { child }.spawn().expect("it starts");
    until("something is offered", || !scene.inputs().is_empty());
    scene.world.kill();
    fs::remove_dir_all(&scene.world.store).expect("a store");
    scene.world.start();
    until("something is offered again", || !scene.inputs().is_empty());
    let pid = child.id().to_string();
    let told = Command::new("kill").args(["-INT", &pid]).status();
    assert!(told.expect("every system has `kill`").success());
    let output = child.wait_with_output().expect("it ends");
    assert!(
        text(&output).contains("going on alone"),
        "{}",
        text(&output)
    );
    let (own, there) = (scene.corpus("a"), scene.inputs());
    assert!(own.is_subset(&there), "{} of {}", there.len(), own.len());
    let (audit, code) = scene.run("audit t.wasm --fuel 100k --out all");
    assert_eq!(code, Some(0), "{audit}");
    assert_eq!(scene.names("all/findings"), scene.names("a/findings"));
}

/// A process that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_page_shows_what_lies_at_the_server() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let output = scene
        .fuzz("a", 1, "--execs 20000")
        .output()
        .expect("it starts");
    let found = scene.names("a/findings");
    let mut server = Ends(scene.command("serve").spawn().expect("it starts"));
    let mut line = String::new();
    let stdout = server.0.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let address = line
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split('/').next());
    let address = address.unwrap_or_else(|| panic!("no address in {line:?}"));
    let entries = format!("\"entries\":{},", count(&output, "offered"));
    let findings = format!("\"findings_total\":{},", found.len());
    let shows = |what: &[&str]| {
        until("the page shows it", || {
            let mut stream = TcpStream::connect(address).expect("a page");
            let ask = b"GET /state.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
            stream.write_all(ask).expect("asked");
            let mut state = String::new();
            stream.read_to_string(&mut state).expect("an answer");
            what.iter().all(|part| state.contains(part))
        });
    };
    shows(&[&entries, &findings, "\"is_there\":true"]);
    let mut campaign = Ends(
        scene
            .fuzz("b", 2, "--execs 100000000")
            .spawn()
            .expect("it starts"),
    );
    shows(&["\"doing\":\"fuzz-"]);
    campaign.0.kill().expect("ours");
    scene.world.kill();
    shows(&["\"is_there\":false"]);
}
