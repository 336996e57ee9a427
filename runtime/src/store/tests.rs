//! The folder as a whole: begin, stop anywhere, resume.

use sandglass_engine::Reason;

use super::*;
use crate::event::{Kept, Start, Warning};
use record::tests::sample;

type State = Vec<u64>;

fn begin(root: &Path) -> (Store, Option<Resumed<State>>) {
    let opened = open(root).unwrap();
    opened.check(&sample()).unwrap();
    opened.begin(&sample()).unwrap()
}

fn kept(id: u32) -> Event {
    kept_in(id, "f".into())
}

fn kept_in(id: u32, file: String) -> Event {
    Event::Kept(Kept {
        id,
        trial: u64::from(id) * 10,
        file,
        bytes: 1,
        reason: "new edge".into(),
        new_edges: 1,
        made_by: None,
        elapsed_ms: 0,
    })
}

fn message<T>(result: Result<T>) -> String {
    crate::error::describe(&result.err().expect("an error"))
}

#[test]
fn a_campaign_killed_after_its_checkpoint_repeats_the_rest() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("c.sandglass");
    let (mut store, resumed) = begin(&folder);
    assert!(resumed.is_none());
    store.record_event(&kept(1));
    store
        .checkpoint(&sample(), &Snapshot::of(10, 5, &State::from([1, 2])))
        .unwrap();
    store.record_event(&kept(2));
    store.flush_events().unwrap();
    drop(store);
    let log = folder.join("events.jsonl");
    let mut torn = fs::read(&log).unwrap();
    torn.extend_from_slice(b"{\"event\":\"ke");
    fs::write(&log, torn).unwrap();

    let (mut store, resumed) = begin(&folder);
    let resumed = resumed.unwrap();
    assert_eq!((resumed.state, resumed.elapsed_ms), (vec![1, 2], 5));
    store.record_event(&kept(2));
    store.flush_events().unwrap();
    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(
        text,
        format!("{}\n{}\n", kept(1).to_json(), kept(2).to_json())
    );
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("c.sandglass");
    let (mut store, _) = begin(&folder);
    let small = Snapshot::of(10, 5, &State::from([1, 2]));
    store.checkpoint(&sample(), &small).unwrap();
    let large = Snapshot::of(20, 9, &vec![u64::MAX; 1_000]);
    let refused = store.checkpoint_within(5_000, &sample(), &large);
    let text = message(refused);
    assert!(
        text.contains("bytes, expected at most 5000") && text.contains("--out NEW_FOLDER"),
        "{text}"
    );
    drop(store);
    let (_, resumed) = begin(&folder);
    assert_eq!(resumed.unwrap().state, [1, 2]);
}

#[test]
fn a_campaign_killed_before_its_first_checkpoint_starts_again() {
    let root = tempfile::tempdir().unwrap();
    let (mut store, _) = begin(root.path());
    store.record_event(&kept(1));
    store.flush_events().unwrap();
    drop(store);
    let (_store, resumed) = begin(root.path());
    assert!(resumed.is_none());
    assert_eq!(fs::read(root.path().join("events.jsonl")).unwrap(), b"");
}

#[test]
fn session_events_stay_out_of_the_log() {
    let root = tempfile::tempdir().unwrap();
    let (mut store, _) = begin(root.path());
    store.record_event(&Event::Warning(Warning { text: "w".into() }));
    store.record_event(&Event::Start(Start {
        target: "t".into(),
        target_hash: "aa".into(),
        entry: "reactor".into(),
        generator: None,
        guidance: "afl".into(),
        seed: 1,
        inputs: 0,
        tokens: 0,
        fuel_limit: 1,
        edges_total: 1,
    }));
    store.flush_events().unwrap();
    let text = fs::read_to_string(root.path().join("events.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(text.starts_with("{\"event\":\"start\""), "{text}");
}

#[test]
fn two_on_one_folder_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let (store, _) = begin(root.path());
    let text = message(open(root.path()));
    assert!(
        text.contains("in use by another sandglass process"),
        "{text}"
    );
    drop(store);
    begin(root.path());
}

#[test]
fn another_campaign_is_refused_by_both_values() {
    let root = tempfile::tempdir().unwrap();
    drop(begin(root.path()));
    let mut now = sample();
    now.guidance.seed = 77;
    let text = message(open(root.path()).unwrap().check(&now));
    assert!(text.contains("seed: was 1, now 77"), "{text}");
}

#[test]
fn damage_is_refused_with_a_way_out() {
    let root = tempfile::tempdir().unwrap();
    let (mut store, _) = begin(root.path());
    store.record_event(&kept(1));
    store
        .checkpoint(&sample(), &Snapshot::of(10, 5, &State::from([1])))
        .unwrap();
    drop(store);
    let checkpoint = root.path().join("checkpoint");
    let log = root.path().join("events.jsonl");
    let toml = root.path().join("campaign.toml");
    let again = || open(root.path()).and_then(|o| o.begin::<State>(&sample()));
    for (path, damaged, expected) in [
        (&checkpoint, &b"SAND"[..], "not a checkpoint"),
        (&checkpoint, b"", "not a checkpoint"),
        (&checkpoint, b"SANDCKPT\x01", "checkpoint has 9 bytes"),
        (&log, b"", "event log has 0 bytes"),
        (&log, b"{\"event\":\"kept\"}\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "event log is corrupt"),
        (&toml, b"[target", "campaign record is corrupt"),
        (&toml, b"\xff", "campaign record is corrupt: not UTF-8"),
    ] {
        let intact = fs::read(path).unwrap();
        fs::write(path, damaged).unwrap();
        let text = message(again());
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\n  next: "), "{text}");
        fs::write(path, intact).unwrap();
    }
    assert!(again().is_ok());
}

#[test]
fn a_foreign_folder_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("thesis.tex"), "x").unwrap();
    let text = message(open(root.path()));
    assert!(text.contains("it holds `thesis.tex`"), "{text}");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}

#[test]
fn what_is_called_like_ours_is_no_campaign_by_that() {
    for foreign in [
        "tmp/notes.txt",
        "corpus/00112233445566778899aabbccddeeff",
        "events.jsonl",
        "checkpoint",
    ] {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(foreign);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}\n").unwrap();
        let text = message(open(root.path()));
        assert!(text.contains(&format!("it holds `{foreign}`")), "{text}");
        assert_eq!(fs::read(&path).unwrap(), b"{}\n");
    }
}

#[test]
fn a_campaign_killed_before_its_record_starts_again() {
    let root = tempfile::tempdir().unwrap();
    for folder in ["corpus", "findings", "tmp"] {
        fs::create_dir(root.path().join(folder)).unwrap();
    }
    for (file, text) in [
        ("lock", ""),
        ("events.jsonl", ""),
        ("tmp/campaign.toml", "[ta"),
    ] {
        fs::write(root.path().join(file), text).unwrap();
    }
    let (_store, resumed) = begin(root.path());
    assert!(resumed.is_none());
    assert_eq!(fs::read_dir(root.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn of_tmp_only_what_is_ours_is_removed() {
    let root = tempfile::tempdir().unwrap();
    drop(begin(root.path()));
    let tmp = root.path().join("tmp");
    let theirs = ["notes.txt", "old/notes.txt"];
    let ours = [
        "status.json",
        "00112233445566778899aabbccddeeff",
        "stack-overflow-0011223344556677/input",
        "trap-0011223344556677.older/input",
    ];
    for file in theirs.iter().chain(&ours) {
        let path = tmp.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    drop(begin(root.path()));
    let left = fs::read_dir(&tmp).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["notes.txt", "old"]);
    assert!(tmp.join("old/notes.txt").exists());
}

#[test]
fn a_finding_that_gave_way_to_none_goes_back() {
    let root = tempfile::tempdir().unwrap();
    drop(begin(root.path()));
    let (lost, kept) = ("trap-0011223344556677", "hang-8899aabbccddeeff");
    let write = |path: PathBuf, text: &str| {
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("input"), text).unwrap();
    };
    let (tmp, findings) = (root.path().join("tmp"), root.path().join("findings"));
    write(tmp.join(format!("{lost}.older")), "of before");
    write(tmp.join(lost), "half of it");
    write(tmp.join(format!("{kept}.older")), "of before");
    write(findings.join(kept), "newer");
    drop(begin(root.path()));
    let input = |name: &str| fs::read_to_string(findings.join(name).join("input")).unwrap();
    assert_eq!((&*input(lost), &*input(kept)), ("of before", "newer"));
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let elsewhere = tempfile::tempdir().unwrap();
    let victim = elsewhere.path().join("00112233445566778899aabbccddeeff");
    fs::write(&victim, "theirs").unwrap();
    for name in ["corpus", "findings", "choices", "tmp"] {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(name);
        symlink(elsewhere.path(), &path).unwrap();
        let text = message(open(root.path()));
        assert!(text.contains(&format!("it holds `{name}`")), "{text}");
        fs::remove_file(&path).unwrap();
        drop(begin(root.path()));
        let _ = fs::remove_dir(&path);
        symlink(elsewhere.path(), &path).unwrap();
        let text = message(open(root.path()));
        assert!(
            text.contains(&format!("/{name}: a symbolic link, expected a folder")),
            "{text}"
        );
        assert!(text.contains("\n  next: mv "), "{text}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "x").unwrap();
        let text = message(open(root.path()));
        assert!(text.contains(": a file, expected a folder"), "{text}");
    }
    assert_eq!(fs::read(&victim).unwrap(), b"theirs");
}

/// A folder of a campaign that was left after a checkpoint.
fn with_checkpoint() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let (mut store, _) = begin(root.path());
    store
        .checkpoint(&sample(), &Snapshot::of(10, 5, &State::from([1])))
        .unwrap();
    root
}

#[test]
fn a_folder_in_the_place_of_a_file_is_refused_with_a_way_out() {
    let root = with_checkpoint();
    let again = || open(root.path()).and_then(|o| o.begin::<State>(&sample()));
    for file in [
        "campaign.toml",
        "checkpoint",
        "events.jsonl",
        "lock",
        "status.json",
    ] {
        let (path, aside) = (root.path().join(file), root.path().join("aside"));
        let is_there = fs::rename(&path, &aside).is_ok();
        fs::create_dir(&path).unwrap();
        let text = message(again());
        assert!(
            text.contains(&format!("/{file}: a folder, expected a regular file")),
            "{text}"
        );
        assert!(text.contains("\n  next: "), "{text}");
        fs::remove_dir(&path).unwrap();
        if is_there {
            fs::rename(&aside, &path).unwrap();
        }
    }
    let (store, _) = again().unwrap();
    let abc = testcase(b"abc");
    fs::create_dir(root.path().join("corpus").join(input_name(b"abc"))).unwrap();
    let text = message(store.restore_corpus([&abc].into_iter()));
    assert!(
        text.contains(": a folder, expected a regular file"),
        "{text}"
    );
    assert!(text.contains("\n  next: mv "), "{text}");
}

#[test]
fn files_that_are_too_long_are_not_read() {
    let root = with_checkpoint();
    let again = || open(root.path()).and_then(|o| o.begin::<State>(&sample()));
    for (file, expected) in [
        (
            "checkpoint",
            "checkpoint has 1099511627776 bytes, expected ",
        ),
        (
            "campaign.toml",
            "has 1099511627776 bytes, expected at most 16777216",
        ),
    ] {
        let path = root.path().join(file);
        let giant = OpenOptions::new().write(true).open(path).unwrap();
        let bytes = giant.metadata().unwrap().len();
        giant.set_len(1 << 40).unwrap();
        let text = message(again());
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\n  next: sandglass fuzz "), "{text}");
        giant.set_len(bytes).unwrap();
    }
    assert!(again().is_ok());
}

#[test]
fn of_the_corpus_only_what_the_log_told_of_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let inputs: [&[u8]; 4] = [b"before", b"after", b"theirs", b"torn"];
    let [before, after, theirs, torn] = inputs.map(input_name);
    let (mut store, _) = begin(root.path());
    let testcases = [testcase(b"before")];
    store.keep_testcase(&testcases[0]);
    store.record_event(&kept_in(1, before.clone()));
    store
        .checkpoint(&sample(), &Snapshot::of(10, 5, &State::from([1])))
        .unwrap();
    store.keep_testcase(&testcase(b"after"));
    store.record_event(&kept_in(2, after.clone()));
    // The log says so before the file is there.
    store.write_corpus().unwrap();
    drop(store);
    let corpus = root.path().join("corpus");
    let there = || {
        let all = [&before, &after, &theirs, &torn].into_iter();
        all.map(|name| corpus.join(name).exists())
            .collect::<Vec<_>>()
    };
    fs::write(corpus.join(&theirs), "theirs").unwrap();
    fs::write(corpus.join(&torn), "torn").unwrap();
    assert_eq!(there(), [true; 4]);
    let (store, _) = begin(root.path());
    store.restore_corpus(testcases.iter()).unwrap();
    assert_eq!(there(), [true, false, true, true]);
    drop(store);
    // Without a checkpoint nothing of the corpus is lost.
    fs::remove_file(root.path().join("checkpoint")).unwrap();
    fs::remove_file(root.path().join("events.jsonl")).unwrap();
    drop(begin(root.path()));
    let (store, _) = begin(root.path());
    store.restore_corpus([].into_iter()).unwrap();
    assert_eq!(there(), [true, false, true, true]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_gives_way_to_a_testcase_unread() {
    let root = tempfile::tempdir().unwrap();
    let (store, _) = begin(root.path());
    let corpus = root.path().join("corpus");
    let testcases = [testcase(b"pipe"), testcase(b"zero")];
    let [pipe, zero] = [b"pipe", b"zero"].map(|input| corpus.join(input_name(input)));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
    assert_eq!(store.restore_corpus(testcases.iter()).unwrap(), 2);
    for path in [pipe, zero] {
        assert!(fs::symlink_metadata(path).unwrap().is_file());
    }
}

#[test]
fn the_corpus_is_restored_whatever_happened_to_its_files() {
    let root = tempfile::tempdir().unwrap();
    let (mut store, _) = begin(root.path());
    let inputs: [&[u8]; 3] = [b"", b"abc", b"defg"];
    let testcases: Vec<Testcase> = inputs.iter().map(|input| testcase(input)).collect();
    let names: Vec<String> = (testcases.iter())
        .map(|testcase| store.keep_testcase(testcase))
        .collect();
    let corpus = root.path().join("corpus");
    assert!(!corpus.join(&names[1]).exists());
    store.write_corpus().unwrap();
    fs::write(corpus.join(&names[1]), "torn").unwrap();
    fs::remove_file(corpus.join(&names[2])).unwrap();
    assert_eq!(store.restore_corpus(testcases.iter()).unwrap(), 2);
    for (input, name) in inputs.iter().zip(&names) {
        assert_eq!(&fs::read(corpus.join(name)).unwrap(), input);
    }
    store.drop_testcase(names[1].clone());
    store.drop_testcase(names[1].clone());
    // It may be all there is until its shorter form is written.
    assert!(corpus.join(&names[1]).exists());
    store.write_corpus().unwrap();
    assert!(!corpus.join(&names[1]).exists());
    // Kept and dropped at once: nothing comes of it.
    store.keep_testcase(&testcases[1]);
    store.drop_testcase(names[1].clone());
    store.write_corpus().unwrap();
    assert!(!corpus.join(&names[1]).exists());
    // Dropped and kept at once: it stays.
    store.drop_testcase(names[0].clone());
    store.keep_testcase(&testcases[0]);
    store.write_corpus().unwrap();
    assert!(corpus.join(&names[0]).exists());
}

fn testcase(bytes: &[u8]) -> Testcase {
    Testcase {
        bytes: bytes.into(),
        made: None,
        choices: None,
        fuel: 1,
        edges: 1,
        trace_hash: 0,
        valid: true,
        depth: 1,
        parent: None,
        reason: Reason::Edge,
        trial: 0,
    }
}

#[test]
fn choices_lie_beside_their_input() {
    let root = tempfile::tempdir().unwrap();
    let (mut store, _) = begin(root.path());
    let text = "sandglass choices 1\nint 0 value 0 9 = 7\n";
    let choices = sandglass_engine::choice::text::from_text(text).unwrap();
    let made = Testcase {
        choices: Some(sandglass_engine::choice::Packed::new(&choices)),
        ..testcase(b"seven")
    };
    let name = store.keep_testcase(&made);
    store.write_corpus().unwrap();
    let read = |folder: &str| fs::read(root.path().join(folder).join(&name)).unwrap();
    assert_eq!(
        (read("corpus"), read("choices")),
        (b"seven".to_vec(), text.into())
    );
    fs::remove_dir_all(root.path().join("choices")).unwrap();
    assert_eq!(store.restore_corpus([&made].into_iter()).unwrap(), 1);
    assert_eq!(read("choices"), text.as_bytes());
}

#[test]
fn a_finding_is_whole_or_absent() {
    let root = tempfile::tempdir().unwrap();
    let (store, _) = begin(root.path());
    store.keep_finding(&finding::tests::sample()).unwrap();
    let folder = root.path().join("findings/trap-00112233445566ff");
    for file in ["input", "finding.json", "stack.txt", "repro"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    assert_eq!(fs::read_dir(root.path().join("tmp")).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().unwrap();
    let (mut store, _) = begin(root.path());
    store.record_event(&kept(1));
    store
        .checkpoint(&sample(), &Snapshot::of(10, 5, &State::from([1])))
        .unwrap();
    // The temporary file of the next checkpoint lands on a full device.
    symlink("/dev/full", root.path().join("tmp/checkpoint")).unwrap();
    store.record_event(&kept(2));
    let text = message(store.checkpoint(&sample(), &Snapshot::of(20, 6, &State::from([2]))));
    assert!(
        text.contains("tmp/checkpoint: cannot write: no space left on device"),
        "{text}"
    );
    drop(store);
    let (_store, resumed) = begin(root.path());
    assert_eq!(resumed.unwrap().state, vec![1]);
}
