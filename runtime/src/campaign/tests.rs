//! Whole campaigns over a scripted target: the same folder whatever happens.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::bail;
use sandglass_engine::feedback::trace_hash;
use sandglass_engine::{Detail, Exit, Interest, MemoryError, Seed, State, TrapKind, Variant};
use sandglass_instrument::symbols::Frame;

use super::budget::StopAt;
use super::workers::Runner;
use super::*;
use crate::event::Event;
use crate::store;
use crate::store::record::tests::sample;

/// A guest of a few lines: counts letters, traps on `bug`, loops on `~`.
struct Scripted {
    /// Executions over all workers; an error when it reaches the limit.
    executed: Arc<AtomicU64>,
    dies_at: u64,
    sleep: Duration,
    /// Executions before it becomes sleepy.
    awake: u64,
}

impl Runner for Scripted {
    fn run(
        &mut self,
        _trial: u64,
        variant: Variant,
        input: &[u8],
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        // Reruns do not count, but nobody lives longer for them.
        let first = u64::from(variant != Variant::Heap);
        let executed = self.executed.fetch_add(first, Ordering::Relaxed);
        if executed >= self.dies_at {
            bail!("killed");
        }
        if executed >= self.awake {
            std::thread::sleep(self.sleep);
        }
        let mut counts = BTreeMap::new();
        for (index, byte) in input.iter().enumerate() {
            *counts.entry(u32::from(*byte) % 61).or_insert(0) += 1;
            if *byte == b"bug"[index.min(2)] {
                *counts.entry(61 + index.min(2) as u32).or_insert(0) += 1;
            }
        }
        let counts: Vec<(u32, u32)> = counts.into_iter().collect();
        let exit = match variant {
            Variant::Heap if input.len() % 5 == 4 => Exit::Memory(MemoryError::HeapOverflow),
            _ => exit_of(input),
        };
        let fuel = 10 + input.len() as u64;
        let is_new = counts
            .iter()
            .any(|&(probe, count)| interest.is_new(exit, probe, count));
        let wants = wants_detail || is_new || interest.wants(exit, 7, fuel, input.len() as u32);
        Ok(Outcome {
            exit,
            site: 7,
            fuel,
            input_bytes: input.len() as u32,
            stage: 0,
            detail: wants.then(|| {
                Box::new(Detail {
                    input: input.to_vec(),
                    trace_hash: trace_hash(&counts),
                    counts,
                    ..Detail::default()
                })
            }),
        })
    }
}

fn exit_of(input: &[u8]) -> Exit {
    match input {
        [b'b', b'u', ..] => Exit::Trap(TrapKind::Unreachable),
        [.., b'~'] => Exit::Hang,
        [first, ..] if *first < 32 => Exit::Invalid,
        _ => Exit::Valid,
    }
}

pub(super) struct Frames;

impl Replayer for Frames {
    fn costliest(&mut self, detail: &Detail) -> Result<Ending> {
        self.ending(Variant::Fast, Exit::Valid, detail)
    }

    fn ending(&mut self, _: Variant, _: Exit, detail: &Detail) -> Result<Ending> {
        let input = &detail.input;
        let frames = vec![Frame {
            function: format!("f{}", input.get(2).is_some_and(|b| *b == b'g')),
            raw_name: String::new(),
            file: None,
            line: Some(1),
            column: None,
            inlined: false,
            func_index: 0,
        }];
        Ok(Ending {
            frames,
            ..Ending::default()
        })
    }
}

/// Is told how far it is after each batch.
struct Attentive;

impl Reporter for Attentive {
    fn report(&mut self, _: &Event) {}

    fn pulse_interval_ms(&self) -> u64 {
        0
    }
}

/// How a session is run.
#[derive(Clone)]
pub(super) struct How {
    pub(super) execs: u64,
    pub(super) workers: usize,
    pub(super) dies_at: u64,
    pub(super) sleep: Duration,
    pub(super) awake: u64,
    pub(super) time: Option<Duration>,
    pub(super) stop_at: StopAt,
}

pub(super) const HOW: How = How {
    execs: 20_000,
    workers: 1,
    dies_at: u64::MAX,
    sleep: Duration::ZERO,
    awake: 0,
    time: None,
    stop_at: StopAt {
        hangs: false,
        out_of_memory: false,
        others: false,
    },
};

fn session(root: &Path, how: How) -> Result<Summary> {
    session_among(root, how, 1, None)
}

/// The same with another seed, among others.
pub(super) fn session_among(
    root: &Path,
    how: How,
    seed: u64,
    join: Option<Join>,
) -> Result<Summary> {
    let record = sample();
    let spec = sandglass_engine::find("afl").unwrap();
    let config = Config {
        input_bytes_max: 64,
        seeds: [&b"hello"[..], b"bt", b"but"].map(Seed::from).to_vec(),
        slow_factor: 100,
        reruns: true,
        ..Config::bare(spec, seed, 64)
    };
    let (store, resumed) = store::open(root)?.begin::<State>(&record)?;
    let before_ms = resumed.as_ref().map_or(0, |r| r.elapsed_ms);
    let is_resumed = resumed.is_some();
    let engine = match resumed {
        Some(resumed) => Engine::resume(config.clone(), resumed.state)?,
        None => Engine::new(config.clone())?,
    };
    let budget = Budget {
        execs: Some(how.execs),
        time: how.time,
        plateau: None,
        stop_at: how.stop_at,
    };
    let clock = Clock::start(&budget, before_ms);
    let stop = Stop {
        deadline: clock.deadline(),
        ..Stop::default()
    };
    let executed = Arc::new(AtomicU64::new(0));
    let runners = (0..how.workers).map(|_| {
        Box::new(Scripted {
            executed: Arc::clone(&executed),
            dies_at: how.dies_at,
            sleep: how.sleep,
            awake: how.awake,
        }) as Box<dyn Runner>
    });
    let mut pool = Pool::new(runners.collect(), stop.clone());
    let session = Session {
        record: &record,
        config: &config,
        budget,
        stop,
        clock,
        entry: "reactor",
        workers: how.workers,
        replayer: &mut Frames,
        own: OwnCode::unknown(),
        join,
        reporter: &mut Attentive,
    };
    run(session, engine, store, &mut pool, is_resumed)
}

/// Every file of a campaign with its contents; times and the number of workers
/// are blanked out of the events.
fn folder(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if path.is_dir() {
                pending.push(path);
            } else if name == Path::new("events.jsonl") {
                let text = fs::read_to_string(&path).unwrap();
                files.insert(
                    name,
                    text.lines().map(|line| timeless(line) + "\n").collect(),
                );
            } else if name != Path::new("checkpoint") {
                files.insert(name, fs::read(&path).unwrap().escape_ascii().to_string());
            }
        }
    }
    files
}

fn timeless(line: &str) -> String {
    let mut event: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
    for field in ["elapsed_ms", "execs_per_sec", "workers"] {
        event.remove(field);
    }
    serde_json::to_string(&event).unwrap()
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let roots: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let hashes: Vec<String> = [1, 2, 5]
        .iter()
        .zip(&roots)
        .map(|(&workers, root)| {
            session(root.path(), How { workers, ..HOW })
                .unwrap()
                .state_hash
        })
        .collect();
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2]);
    assert_eq!(folder(roots[0].path()), folder(roots[1].path()));
    assert_eq!(folder(roots[0].path()), folder(roots[2].path()));
    let findings = fs::read_dir(roots[0].path().join("findings"))
        .unwrap()
        .count();
    assert!(findings >= 2, "the script has bugs to find");
    let memory = fs::read_dir(roots[0].path().join("findings")).unwrap();
    let memory = memory.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("memory-")
    });
    assert!(memory.count() > 0, "and others that only reruns see");
}

#[test]
fn a_campaign_that_dies_anywhere_ends_where_an_undisturbed_one_does() {
    let undisturbed = tempfile::tempdir().unwrap();
    let expected = session(undisturbed.path(), HOW).unwrap();
    for (round, dies_at) in [0, 1, 700, 1_024, 1_025, 5_000, 12_345, 19_999]
        .into_iter()
        .enumerate()
    {
        let root = tempfile::tempdir().unwrap();
        let how = How {
            dies_at,
            workers: 1 + round % 2,
            ..HOW
        };
        session(root.path(), how).unwrap_err();
        let log = root.path().join("events.jsonl");
        let mut torn = fs::read(&log).unwrap();
        torn.extend_from_slice(b"{\"event\":\"torn");
        fs::write(&log, torn).unwrap();
        let resumed = session(root.path(), HOW).unwrap();
        assert_eq!(resumed.state_hash, expected.state_hash, "died at {dies_at}");
        assert_eq!(
            folder(root.path()),
            folder(undisturbed.path()),
            "died at {dies_at}"
        );
    }
}

#[test]
fn a_finding_ends_a_session_with_its_batch_whoever_runs_it() {
    let stop_at = StopAt {
        others: true,
        ..StopAt::default()
    };
    let mut ends = Vec::new();
    for workers in [1, 3] {
        let root = tempfile::tempdir().unwrap();
        let how = How {
            workers,
            stop_at,
            ..HOW
        };
        let summary = session(root.path(), how.clone()).unwrap();
        assert_eq!(summary.ended, Ended::Finding);
        assert!(summary.counters.execs < HOW.execs);
        let at_first = summary.counters.execs;
        ends.push((at_first, summary.state_hash));
        // What an earlier session has found does not end this one.
        let later = session(root.path(), how).unwrap();
        assert!(later.counters.execs > at_first);
    }
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn findings_of_other_kinds_do_not_end_a_session() {
    let root = tempfile::tempdir().unwrap();
    let stop_at = StopAt {
        out_of_memory: true,
        ..StopAt::default()
    };
    let summary = session(root.path(), How { stop_at, ..HOW }).unwrap();
    assert_eq!(summary.ended, Ended::Execs);
    assert!(summary.counters.unique_findings > 0);
}

#[test]
fn more_executions_later_equal_as_many_at_once() {
    let at_once = tempfile::tempdir().unwrap();
    let expected = session(at_once.path(), HOW).unwrap();
    let root = tempfile::tempdir().unwrap();
    for execs in [1, 1_000, 1_024, 3_001, 10_000, 10_001] {
        let summary = session(root.path(), How { execs, ..HOW }).unwrap();
        assert_eq!(
            (summary.counters.execs, summary.ended),
            (execs, Ended::Execs)
        );
    }
    let summary = session(root.path(), HOW).unwrap();
    assert_eq!(summary.state_hash, expected.state_hash);
    assert_eq!(folder(root.path()), folder(at_once.path()));
    // Once more, with nothing left to do.
    assert_eq!(
        session(root.path(), HOW).unwrap().state_hash,
        expected.state_hash
    );
}

/// A campaign of that length that nothing stops, and its folder.
fn undisturbed(execs: u64) -> (Summary, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    let summary = session(root.path(), How { execs, ..HOW }).unwrap();
    (summary, root)
}

#[test]
fn a_batch_that_takes_too_long_is_given_up_and_repeated() {
    for workers in [1, 3] {
        let root = tempfile::tempdir().unwrap();
        let slow = How {
            execs: 3_000,
            workers,
            sleep: Duration::from_millis(40),
            time: Some(Duration::from_millis(100)),
            ..HOW
        };
        let began = Instant::now();
        let summary = session(root.path(), slow).unwrap();
        assert_eq!(summary.ended, Ended::Time);
        // What was done counts, and is what a campaign of that length does.
        let execs = summary.counters.execs;
        assert!(execs > 0, "workers {workers}");
        let (as_long, _) = undisturbed(execs);
        assert_eq!(summary.state_hash, as_long.state_hash, "{execs} executions");
        assert_eq!(summary.counters, as_long.counters, "with its reruns");
        assert!(
            began.elapsed() < Duration::from_secs(6),
            "{:?}",
            began.elapsed()
        );
        let how = How {
            execs: 3_000,
            ..HOW
        };
        let resumed = session(root.path(), how).unwrap();
        let (expected, _) = undisturbed(3_000);
        assert_eq!(resumed.state_hash, expected.state_hash);
    }
}

#[test]
fn a_batch_that_becomes_slow_is_given_up_as_a_whole() {
    for workers in [1, 3] {
        // On a busy machine the batches before may be slow as well, and then a part is judged: one of many
        // tries must meet a quiet moment.
        let went_back = (0..100).any(|_| becomes_slow(workers) <= 3_000);
        assert!(went_back, "workers {workers}");
    }
}

/// A campaign that goes on from 3,000 executions and becomes slow after some batches: how many
/// executions count in the end. Where it ends, and where it goes on to, is checked.
fn becomes_slow(workers: usize) -> u64 {
    let (_, root) = undisturbed(3_000);
    let slow = How {
        execs: 8_000,
        workers,
        sleep: Duration::from_millis(40),
        awake: 5_000,
        time: Some(Duration::from_millis(400)),
        ..HOW
    };
    // Batches were fast until then, so there is only the checkpoint to go back to.
    let summary = session(root.path(), slow).unwrap();
    assert_eq!(summary.ended, Ended::Time);
    let execs = summary.counters.execs;
    let (as_long, as_long_root) = undisturbed(execs);
    assert_eq!(summary.state_hash, as_long.state_hash, "{execs} executions");
    let corpus = |root: &Path| -> Vec<PathBuf> {
        let all = folder(root).into_keys();
        all.filter(|path| path.starts_with("corpus")).collect()
    };
    assert_eq!(corpus(root.path()), corpus(as_long_root.path()));
    let how = How {
        execs: 8_000,
        ..HOW
    };
    let resumed = session(root.path(), how).unwrap();
    assert_eq!(resumed.state_hash, undisturbed(8_000).0.state_hash);
    execs
}

/// Whatever stops a campaign may stop it again at the same place: what was found before is on disk.
#[test]
fn findings_outlive_the_host() {
    let undisturbed = tempfile::tempdir().unwrap();
    session(undisturbed.path(), HOW).unwrap();
    let mut found = 0;
    for entry in fs::read_dir(undisturbed.path().join("findings")).unwrap() {
        let entry = entry.unwrap();
        let (record, _) = store::finding::read(&entry.path()).unwrap();
        // Reruns come after their batch.
        let afters: &[u64] = match &record.kind[..] {
            "memory" => &[2_000],
            _ => &[1, 2_000],
        };
        for after in afters {
            let root = tempfile::tempdir().unwrap();
            for workers in [1, 3] {
                let how = How {
                    dies_at: record.trial + after,
                    workers,
                    ..HOW
                };
                if session(root.path(), how).is_err() {
                    let place = root.path().join("findings").join(entry.file_name());
                    assert!(place.join("finding.json").exists(), "{}", place.display());
                    found += 1;
                }
            }
        }
    }
    assert!(found >= 4, "the script has bugs to find");
}

#[test]
fn findings_say_what_replay_needs() {
    let root = tempfile::tempdir().unwrap();
    session(root.path(), HOW).unwrap();
    for entry in fs::read_dir(root.path().join("findings")).unwrap() {
        let folder = entry.unwrap().path();
        let (record, input) = store::finding::read(&folder).unwrap();
        match &record.kind[..] {
            "slow" => {}
            "memory" => assert!(record.sanitize_heap && !exit_of(&input).is_finding()),
            _ => assert!(!record.sanitize_heap && exit_of(&input).is_finding()),
        }
        assert_eq!(
            folder.file_name().unwrap().to_str().unwrap(),
            record.folder_name()
        );
        assert_eq!(record.limits, sample().limits);
    }
}

#[test]
fn the_first_checkpoint_with_anything_in_it_comes_soon() {
    assert_eq!(time_to_next(None), CHECKPOINT_FIRST);
    assert_eq!(time_to_next(Some(0)), CHECKPOINT_FIRST);
    assert_eq!(time_to_next(Some(1)), CHECKPOINT_EVERY);
}
