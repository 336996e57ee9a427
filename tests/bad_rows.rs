//! Data sets that no program expects: none, empty ones, ragged rows, other delimiters and encodings, rows of 10 MB, sets
//! that never join. A campaign on them ends in time, and either says what is wrong or finds what there is to find.
//!
//! All are given to P2 of `guests/dataflow`, which joins customers (`id,name,town`) with orders (`order,id,date,item`), by
//! the program as users start it.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sandglass_guests::dataflow;
use serde_json::Value;
use tempfile::TempDir;

/// What a campaign may take on a busy machine: the longest takes a few seconds.
const TIME_MAX: Duration = Duration::from_secs(300);

/// The size of a large row.
const ROW_BYTES: usize = 10_000_000;

/// What one run of the program came to.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn events(&self, kind: &str) -> Vec<Value> {
        let lines = self
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}: no JSON")));
        lines.filter(|line: &Value| line["event"] == kind).collect()
    }

    fn summary(&self) -> Value {
        let last = self.events("summary").pop();
        last.unwrap_or_else(|| panic!("no summary: {}{}", self.stdout, self.stderr))
    }

    fn number(&self, name: &str) -> u64 {
        self.summary()[name].as_u64().expect("a number")
    }

    fn texts(&self, kind: &str, name: &str) -> Vec<String> {
        let events = self.events(kind);
        let texts = events.iter().map(|event| event[name].as_str());
        texts.map(|text| text.expect("a text").to_owned()).collect()
    }

    /// Whether a finding says this.
    fn finds(&self, text: &str) -> bool {
        let titles = self.texts("finding", "title");
        titles.iter().any(|title| title.ends_with(text))
    }
}

/// A folder with P2, and what is done in it.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let wasm = dataflow("p2").expect("it is one").wasm;
        fs::write(folder.path().join("p2.wasm"), wasm).expect("written");
        fs::create_dir(folder.path().join("rows")).expect("made");
        Place(folder)
    }

    fn with(seed: &[u8]) -> Place {
        let place = Place::new();
        fs::write(place.path().join("rows/seed"), seed).expect("written");
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program, and kills it if it takes too long.
    fn run(&self, arguments: &str) -> Ended {
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| self.path().join(name));
        let mut child = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
            .args(arguments.split(' '))
            .current_dir(self.path())
            .env("SANDGLASS_CACHE", self.path().join("cache"))
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).expect("made"))
            .stderr(File::create(&stderr).expect("made"))
            .spawn()
            .expect("it starts");
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("it is ours") {
                break status;
            }
            if start.elapsed() > TIME_MAX {
                child.kill().expect("it is ours");
                child.wait().expect("it is ours");
                panic!("{arguments}: hangs, expected an end within {TIME_MAX:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let read = |path| String::from_utf8_lossy(&fs::read(path).expect("read")).into_owned();
        Ended {
            code: status.code(),
            stdout: read(&stdout),
            stderr: read(&stderr),
        }
    }

    /// A campaign that has to make all its executions.
    fn fuzz(&self, guidance: &str, execs: u64, more: &str) -> Ended {
        let out = format!("out-{guidance}");
        let ended = self.run(&format!(
            "fuzz p2.wasm rows --guidance {guidance} --execs {execs} --json --out {out}{more}"
        ));
        assert_eq!(ended.number("execs"), execs, "{}", ended.stderr);
        let has_found = ended.number("unique_findings") > 0;
        assert_eq!(ended.code, Some(i32::from(has_found)), "{}", ended.stderr);
        ended
    }
}

/// Rows that are separated otherwise all fail, and nothing is selected of them.
#[test]
fn data_sets_of_which_every_row_fails_are_refused() {
    let place = Place::new();
    for name in ["one", "two"] {
        fs::write(place.path().join(name), "c1\tn\tt\nc2\tn\tt\n").expect("written");
    }
    let ended = place.run("rows p2.wasm one two --out selected");
    assert_eq!(ended.code, Some(2), "{}{}", ended.stdout, ended.stderr);
    let said = "one, line 1: trap: unreachable, as with every other row";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    let made = fs::read_dir(place.path().join("selected"));
    assert!(made.is_ok_and(|mut made| made.next().is_none()));
}

/// What P2 says of rows that are too short, of the first and of the second data set.
const SHORT: &str = "index out of bounds: the len is 1 but the index is 1";

#[test]
fn what_cannot_be_read_is_told() {
    let place = Place::new();
    let missing = place.run("fuzz p2.wasm nowhere --guidance codep --execs 10 --out out");
    assert_eq!(missing.code, Some(2));
    let told = "error: nowhere: no such folder, expected a folder of inputs\n";
    assert!(missing.stderr.starts_with(told), "{}", missing.stderr);
    assert!(!place.path().join("out").exists());
}

/// A link to nothing cannot be read by anyone, while modes mean nothing to root.
#[cfg(unix)]
#[test]
fn one_file_that_cannot_be_read_leaves_the_others() {
    let place = Place::with(b"c1,Ann,X\n\x1co1,c1,1700000000,i\n");
    std::os::unix::fs::symlink("nothing", place.path().join("rows/broken")).expect("made");
    let ended = place.fuzz("codep", 100, "");
    let left_out = ["left out 1 corpus file: unreadable: rows/broken"];
    assert_eq!(ended.texts("warning", "text"), left_out);
    assert_eq!(ended.events("start")[0]["inputs"], 1);
}

/// A seed without rows is as none: what is made has rows.
#[test]
fn without_rows_a_campaign_begins_with_its_own() {
    for guidance in ["codep", "depfuzz", "bigfuzz", "random-rows"] {
        let of = |place: &Place| place.fuzz(guidance, 1_000, "").number("edges");
        let none = of(&Place::new());
        for seed in [&b""[..], b"\x1c", b"\x1c\x1c\x1c"] {
            let edges = of(&Place::with(seed));
            // One execution less is left.
            assert!(
                edges * 10 >= none * 9,
                "{guidance} {seed:?}: {edges} of {none}"
            );
        }
    }
}

/// The first that breaks is named; what the others cover is found by leaving rows out.
#[test]
fn ragged_rows_are_findings_and_more_is_found() {
    let customers = (0..40).map(|n| match n {
        7 => "c7\n\n".to_owned(),
        9 => "c9,Cid,Z,,,more\n".to_owned(),
        n => format!("c{n},Ann,X\n"),
    });
    let orders = (0..40).map(|n| match n {
        11 => "o11,c2\n,,,\n".to_owned(),
        13 => "o13,c3,1700000000,i,extra,extra\n".to_owned(),
        n => format!("o{n},c{n},1700000000,i\n"),
    });
    let rows = customers.collect::<String>() + "\x1c" + &orders.collect::<String>();
    let ended = Place::with(rows.as_bytes()).fuzz("codep", 20_000, "");
    let first = &ended.events("finding")[0];
    let named = r#"match error: ["o11", "c2"]"#;
    assert_eq!(first["trial"], 0);
    assert!(
        first["title"]
            .as_str()
            .is_some_and(|title| title.ends_with(named))
    );
    assert!(ended.finds(SHORT));
    let titles = ended.texts("finding", "title");
    assert!(ended.finds("fault 2.1"), "{titles:?}");
}

/// The program's own message has the row, from which one sees that it was not split.
#[test]
fn another_delimiter_is_a_finding() {
    let rows = "c1;Ann;X\nc2;Bob;Y\n\x1co1;c1;1700000000;i\no2;c2;1700000000;i\n";
    let place = Place::with(rows.as_bytes());
    for more in ["", " --set delimiter=;"] {
        let ended = place.fuzz("codep", 2_000, more);
        assert!(ended.finds(r#"match error: ["o1;c1;1700000000;i"]"#));
        fs::remove_dir_all(place.path().join("out-codep")).expect("removed");
    }
    let wrong = place.run("fuzz p2.wasm rows --guidance codep --set delimiter=:: --execs 10");
    assert_eq!(wrong.code, Some(2));
    let told = "has the value `::`, expected one character or `tab`";
    assert!(wrong.stderr.contains(told), "{}", wrong.stderr);
}

/// Latin-1, UTF-8, UTF-16, a byte order mark, NUL and CRLF in one file.
#[test]
fn encodings_may_be_mixed() {
    let mut rows = b"c\xe9,Ann,X\nc\xc3\xa9,Bob,Y\n\xff\xfec\x001\x00,Cid,Z\n\x1c".to_vec();
    rows.extend(
        b"o1,c\xe9,1700000000,i\no2,c\xc3\xa9,1700000000,i\n\xef\xbb\xbfo3,c\xe9,1700000000,i\r\n",
    );
    let place = Place::with(&rows);
    let cells = place.run("depends p2.wasm rows/seed --cells");
    assert!(cells.stdout.contains("{0.0, 1.1}"), "{}", cells.stdout);
    let joined = "    3 pairs of equal keys\n";
    assert!(cells.stdout.contains(joined), "{}", cells.stdout);
    let ended = place.fuzz("codep", 5_000, "");
    assert!(
        ended.finds("fault 2.1"),
        "{:?}",
        ended.texts("finding", "title")
    );
}

/// `--cells` says it, and `codep` makes a key of the other.
#[test]
fn sets_that_never_join_are_joined() {
    let rows = "c1,Ann,X\nc2,Bob,Y\n\x1co1,d1,1700000000,i\no2,d2,1700000000,i\n";
    let place = Place::with(rows.as_bytes());
    let cells = place.run("depends p2.wasm rows/seed --cells");
    let told = "join at depth 2, guests/dataflow/p2.rs:16: no two keys are equal\n";
    assert!(cells.stdout.ends_with(told), "{}", cells.stdout);
    let ended = place.fuzz("codep", 20_000, "");
    assert!(
        ended.finds("fault 2.1"),
        "{:?}",
        ended.texts("finding", "title")
    );
}

/// A cell of 10 MB, a key of as many in both data sets, and five million cells.
fn large() -> [(&'static str, Vec<u8>); 3] {
    let orders = "\x1co1,c1,1700000000,i\no2,c2,1700000000,i\n";
    let key = "k".repeat(ROW_BYTES);
    [
        (
            "cell",
            format!("c1,{},X\nc2,Bob,Y\n{orders}", "A".repeat(ROW_BYTES)),
        ),
        (
            "key",
            format!("{key},Ann,X\nc2,Bob,Y\n\x1co1,{key},1700000000,i\no2,c2,1700000000,i\n"),
        ),
        (
            "cells",
            format!(
                "c1,Ann,X,{}\nc2,Bob,Y\n{orders}",
                "1,".repeat(ROW_BYTES / 2)
            ),
        ),
    ]
    .map(|(name, text)| (name, text.into_bytes()))
}

/// What lets them run.
const LARGE: &str = " --max-len 24000000 --fuel 4000000000";

#[test]
fn rows_of_ten_megabytes_are_left_out_by_default() {
    for (name, seed) in large() {
        let ended = Place::with(&seed).fuzz("codep", 100, "");
        let told = ["left out 1 corpus file: larger than 1048576 bytes (--max-len): rows/seed"];
        assert_eq!(ended.texts("warning", "text"), told, "{name}");
        assert_eq!(ended.events("start")[0]["inputs"], 0, "{name}");
    }
}

/// They are run and changed, and what is behind the join is reached, as it is not without a seed.
#[test]
fn rows_of_ten_megabytes_run_where_they_may() {
    for (name, seed) in large() {
        let ended = Place::with(&seed).fuzz("codep", 36, LARGE);
        check_joined(name, &ended);
    }
}

/// The same of the smallest cells that fill an input of the default size.
#[test]
fn a_row_may_be_half_a_million_cells() {
    let cells = "1,".repeat(500_000);
    let rows = format!("c1,Ann,X,{cells}\nc2,Bob,Y\n\x1co1,c1,1700000000,i\n");
    let place = Place::with(rows.as_bytes());
    check_joined("codep", &place.fuzz("codep", 100, ""));
    for guidance in ["depfuzz", "bigfuzz", "random-rows", "jazzer"] {
        place.fuzz(guidance, 100, "");
    }
}

fn check_joined(name: &str, ended: &Ended) {
    assert!(
        ended.events("warning").is_empty(),
        "{name}: {}",
        ended.stdout
    );
    assert_eq!(ended.events("start")[0]["inputs"], 1, "{name}");
    let own = ended.summary()["own"]["edges"].as_u64();
    assert!(own.is_some_and(|own| own > 15), "{name}: {own:?}");
}
