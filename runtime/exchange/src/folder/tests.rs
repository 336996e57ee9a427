//! The folder with several workers of one process; other processes are in the package's `tests`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;
use crate::conformance::{ABLE, beat, entry, job, result_of, tail_until};
use crate::exchange::DELIVERIES_MOST;
use crate::{Claim, codec};

const LONG: Duration = Duration::from_secs(3600);

fn join(path: &Path, worker: &str) -> Folder {
    Folder::join(path, &WorkerId::new(worker).unwrap()).unwrap()
}

fn all(folder: &mut Folder) -> Vec<Entry> {
    folder.tail(&mut Cursor::default(), usize::MAX).unwrap()
}

fn inputs(folder: &mut Folder) -> Vec<Vec<u8>> {
    let mut inputs: Vec<Vec<u8>> = all(folder).into_iter().map(|e| e.input).collect();
    inputs.sort_unstable();
    inputs
}

#[test]
fn conforms() {
    let folder = tempfile::tempdir().unwrap();
    crate::conformance::check(&mut |worker| Box::new(join(folder.path(), worker)));
}

#[test]
fn a_name_is_of_one_living_worker() {
    let folder = tempfile::tempdir().unwrap();
    let mut a = join(folder.path(), "a");
    a.offer(&entry(b"x")).unwrap();
    let again = Folder::join(folder.path(), &WorkerId::new("a").unwrap());
    assert!(matches!(again, Err(Error::Refused(_))));
    drop(a);
    let mut a = join(folder.path(), "a");
    assert_eq!(a.offer(&entry(b"x")).unwrap(), Offered::Known);
    assert_eq!(a.offer(&entry(b"y")).unwrap(), Offered::New);
    assert_eq!(inputs(&mut a), [b"x", b"y"]);
}

#[test]
fn another_version_or_folder_is_not_joined() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("exchange"), "sandglass exchange 2\n").unwrap();
    let joined = Folder::join(folder.path(), &WorkerId::new("a").unwrap());
    assert!(matches!(joined, Err(Error::Refused(_))));
}

#[test]
fn one_that_says_much_does_not_keep_the_others_from_being_heard() {
    let folder = tempfile::tempdir().unwrap();
    let mut a = join(folder.path(), "a");
    for n in 0..1_000u32 {
        a.offer(&entry(&n.to_le_bytes())).unwrap();
    }
    join(folder.path(), "b").offer(&entry(b"from b")).unwrap();
    let mut cursor = Cursor::default();
    let first = a.tail(&mut cursor, 10).unwrap();
    assert_eq!(first.len(), 10);
    assert!(first.iter().any(|e| e.input == b"from b"));
    assert_eq!(tail_until(&mut a, &mut cursor, 991).len(), 991);
}

#[test]
fn an_answer_ends_when_it_has_enough_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut a = join(folder.path(), "a");
    for n in 0..12u8 {
        a.offer(&entry(&vec![n; 1 << 20])).unwrap();
    }
    let mut cursor = Cursor::default();
    let first = a.tail(&mut cursor, 99).unwrap();
    assert_eq!(first.len(), codec::TAIL_BYTES >> 20);
    assert_eq!(tail_until(&mut a, &mut cursor, 12 - first.len()).len(), 4);
}

#[test]
fn one_of_many_wins() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::new("count").unwrap();
    let count = |worker: u32| {
        let mut folder = join(folder.path(), &format!("w{worker}"));
        for _ in 0..50 {
            loop {
                let there = folder.get(&key).unwrap();
                let value = there.value.map_or(0, |v| v[0]);
                if folder
                    .put_if(&key, there.revision, &[value + 1])
                    .unwrap()
                    .is_ok()
                {
                    break;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || count(worker));
        }
    });
    let there = join(folder.path(), "last").get(&key).unwrap();
    assert_eq!(there.value, Some(vec![200]));
    assert_eq!(there.revision, Revision(200));
}

#[test]
fn a_job_is_claimed_by_one_of_many() {
    const JOBS: u32 = 150;
    let folder = tempfile::tempdir().unwrap();
    let together = std::sync::Barrier::new(3);
    let claims = |worker: u32| {
        let mut folder = join(folder.path(), &format!("w{worker}"));
        let mut ids = Vec::new();
        for n in 0..JOBS {
            if worker == 0 {
                folder.submit(&job(n)).unwrap();
            }
            together.wait();
            ids.extend(folder.claim(&ABLE, LONG).unwrap().map(|claim| claim.id));
            together.wait();
        }
        ids
    };
    let mut claimed = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|w| scope.spawn(move || claims(w))).collect();
        let ids = workers.into_iter().flat_map(|w| w.join().unwrap());
        ids.collect::<Vec<_>>()
    });
    let mut expected: Vec<JobId> = (0..JOBS).map(|n| job(n).id()).collect();
    expected.sort_unstable();
    claimed.sort_unstable();
    assert_eq!(claimed, expected);
}

fn only_file(folder: &Path, name: &str) -> PathBuf {
    let mut files = fs::read_dir(folder.join(name)).unwrap();
    files.next().unwrap().unwrap().path()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn damaged_files_are_left_out_counted_and_can_be_said_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut a = join(path, "a");
    let key = Key::new("k").unwrap();
    for damage in [
        (|path| flip(path, 25)) as fn(&Path),
        |path| fs::write(path, b"").unwrap(),
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
            fs::remove_dir(path).unwrap();
            symlink("/dev/zero", path).unwrap();
        },
    ] {
        let before = a.refused();
        a.put_if(&key, Revision(0), b"value").unwrap().unwrap();
        damage(&only_file(path, "values"));
        assert_eq!(a.get(&key).unwrap(), Current::default());
        assert!(a.refused() > before);

        a.submit(&job(1)).unwrap();
        damage(&only_file(path, "jobs"));
        assert_eq!(a.claim(&ABLE, LONG).unwrap(), None);
        assert_eq!(a.submit(&job(1)).unwrap(), Offered::New);
        let claim = a.claim(&ABLE, LONG).unwrap().unwrap();
        damage(&only_file(path, "leases"));
        let again = a.claim(&ABLE, LONG).unwrap().unwrap();
        assert_eq!(again, Claim { ..claim.clone() });
        a.finish(&claim, &result_of(claim.id)).unwrap();
        damage(&only_file(path, "results"));
        assert_eq!(a.result(claim.id).unwrap(), None);
        let again = a.claim(&ABLE, LONG).unwrap().unwrap();
        a.finish(&again, &result_of(claim.id)).unwrap();
        let result = a.result(claim.id).unwrap();
        assert_eq!(result, Some(result_of(claim.id)));

        a.put_if(&key, Revision(0), b"value").unwrap().unwrap();
        for name in ["values", "jobs", "results"] {
            fs::remove_file(only_file(path, name)).unwrap();
        }
    }
}

/// Who looks every few seconds would else count one broken file for ever.
#[test]
fn what_is_broken_counts_once_until_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut a = join(path, "a");
    let key = Key::new("k").unwrap();
    for (file, look) in [
        (
            "beats/w",
            (|a| assert_eq!(a.live().unwrap(), [])) as fn(&mut Folder),
        ),
        ("values/k", |a| {
            let key = Key::new("k").unwrap();
            assert_eq!(a.get(&key).unwrap(), Current::default());
        }),
    ] {
        let file = path.join(file);
        let sealed = crate::frame::seal(b"short");
        let mut count = a.refused();
        for bytes in [&b""[..], b"nonsense", &sealed, b"nonsense"] {
            fs::write(&file, bytes).unwrap();
            (0..3).for_each(|_| look(&mut a));
            count += 1;
            assert_eq!(a.refused(), count, "{bytes:?}");
        }
        fs::remove_file(&file).unwrap();
        symlink("/dev/zero", &file).unwrap();
        (0..3).for_each(|_| look(&mut a));
        assert_eq!(a.refused(), count + 1);
    }
    let before = a.refused();
    a.put_if(&key, Revision(0), b"value").unwrap().unwrap();
    assert_eq!(a.get(&key).unwrap().value.as_deref(), Some(&b"value"[..]));
    assert_eq!(a.refused(), before);
}

/// All files below a folder, and what is in them.
fn everything(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let folders = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for path in folders {
        match path.is_dir() {
            true => files.extend(everything(&path)),
            false => files.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    files.sort_unstable();
    files
}

#[test]
fn whoever_looks_on_reads_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let away = Folder::look_on(path).err();
    assert!(matches!(away, Some(Error::Away(_))), "{away:?}");
    assert_eq!(everything(path), []);
    let mut a = join(path, "a");
    a.offer(&entry(b"x")).unwrap();
    a.submit(&job(1)).unwrap();
    let key = Key::new("k").unwrap();
    a.put_if(&key, Revision(0), b"value").unwrap().unwrap();
    let beat = beat();
    a.beat(&beat).unwrap();
    let before = everything(path);
    let mut looks_on = Folder::look_on(path).unwrap();
    assert_eq!(all(&mut looks_on), [entry(b"x")]);
    assert_eq!(looks_on.live().unwrap(), std::slice::from_ref(&beat));
    assert_eq!(looks_on.keys().unwrap(), std::slice::from_ref(&key));
    let there = looks_on.get(&key).unwrap();
    assert_eq!(there.value.as_deref(), Some(&b"value"[..]));
    let refused = [
        looks_on.offer(&entry(b"y")).err(),
        looks_on.submit(&job(2)).err(),
        looks_on.claim(&ABLE, LONG).err(),
        looks_on.result(job(1).id()).err(),
        looks_on.poisoned().err(),
        looks_on.put_if(&key, there.revision, b"").err(),
        looks_on.beat(&beat).err(),
    ];
    for error in refused {
        assert!(matches!(error, Some(Error::Refused(_))), "{error:?}");
    }
    assert_eq!(everything(path), before);
    // And sees what comes.
    a.offer(&entry(b"z")).unwrap();
    assert_eq!(inputs(&mut looks_on), [b"x", b"z"]);
}

/// Says that a sealed file's record is of a later version.
fn renew(path: &Path) {
    let mut body = crate::frame::open(&fs::read(path).unwrap())
        .unwrap()
        .to_vec();
    body[0] += 1;
    fs::write(path, crate::frame::seal(&body)).unwrap();
}

/// Who is older than its neighbours leaves them their jobs and results.
#[test]
fn what_a_later_version_wrote_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut a = join(path, "a");
    a.submit(&job(1)).unwrap();
    let file = only_file(path, "jobs");
    renew(&file);
    let newer = fs::read(&file).unwrap();
    for _ in 0..=DELIVERIES_MOST {
        assert_eq!(a.claim(&ABLE, Duration::ZERO).unwrap(), None);
    }
    assert_eq!(a.poisoned().unwrap(), []);
    assert_eq!(a.submit(&job(1)).unwrap(), Offered::Known);
    assert_eq!(fs::read(&file).unwrap(), newer);
    fs::remove_file(file).unwrap();

    a.submit(&job(2)).unwrap();
    let claim = a.claim(&ABLE, LONG).unwrap().unwrap();
    a.finish(&claim, &result_of(claim.id)).unwrap();
    let file = only_file(path, "results");
    renew(&file);
    let newer = fs::read(&file).unwrap();
    assert_eq!(a.result(claim.id).unwrap(), None);
    a.finish(&claim, &result_of(claim.id)).unwrap();
    assert_eq!(fs::read(&file).unwrap(), newer);
    assert_eq!(a.claim(&ABLE, LONG).unwrap(), None);
    assert_eq!(a.refused(), 0);
}

#[test]
fn hostile_records_in_a_shard_are_left_out_and_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut a = join(folder.path(), "a");
    let mut other_version = codec::encode(&entry(b"version"));
    other_version[0] += 1;
    let mut trailing = codec::encode(&entry(b"trailing"));
    trailing.push(0);
    let large = codec::encode(&entry(&vec![0; codec::INPUT_BYTES_MOST + 1]));
    let job = codec::encode(&job(1));
    let shard = folder.path().join("shards/hostile.log");
    let mut log = crate::log::Log::open(&shard).unwrap();
    for body in [&other_version[..], &trailing, &large, &job, b""] {
        log.append(body).unwrap();
    }
    log.append(&codec::encode(&entry(b"good"))).unwrap();
    for name in ["no name.log", "link.log", "folder.log", "pipe", "..log"] {
        fs::write(folder.path().join("shards").join(name), "x").unwrap();
    }
    let link = folder.path().join("shards/zero.log");
    symlink("/dev/zero", link).unwrap();
    assert_eq!(a.offer(&entry(b"good")).unwrap(), Offered::Known);
    assert_eq!(inputs(&mut a), [b"good"]);
    assert_eq!(a.refused(), 5);
    let others = join(folder.path(), "b").tail(&mut Cursor::default(), 9);
    assert_eq!(others.unwrap().len(), 1);
}

/// What would be written through a link, or waited for, is refused or taken away; nobody else's file changes.
#[test]
fn links_and_pipes_in_the_place_of_files_lead_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    drop(join(path, "a"));
    let victim = path.join("victim");
    fs::write(&victim, "precious").unwrap();
    for number in 0..8 {
        symlink(&victim, path.join(format!("passing/a.{number}"))).unwrap();
    }
    let mut a = join(path, "a");
    a.beat(&beat()).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    drop(a);

    let shard = path.join("shards/a.log");
    fs::remove_file(&shard).unwrap();
    symlink(&victim, &shard).unwrap();
    assert!(Folder::join(path, &WorkerId::new("a").unwrap()).is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    fs::remove_file(&shard).unwrap();

    let pipe = |at: &Path| {
        fs::remove_file(at).ok();
        let made = std::process::Command::new("mkfifo").arg(at).status();
        assert!(made.unwrap().success());
    };
    for number in 0..64 {
        pipe(&path.join(format!("locks/{number:02x}")));
    }
    let mut a = join(path, "a");
    assert!(
        a.put_if(&Key("k".to_owned()), Revision::default(), b"v")
            .is_err()
    );
    drop(a);
    pipe(&path.join("exchange"));
    let refused = Folder::join(path, &WorkerId::new("a").unwrap());
    assert!(matches!(refused, Err(Error::Refused(_))));
}

#[test]
fn a_folder_that_is_removed_is_away_and_can_be_joined_again() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("exchange");
    let mut a = join(&path, "a");
    a.offer(&entry(b"x")).unwrap();
    fs::remove_dir_all(&path).unwrap();
    assert!(matches!(a.offer(&entry(b"y")), Err(Error::Away(_))));
    assert!(matches!(a.submit(&job(1)), Err(Error::Away(_))));
    drop(a);
    let mut a = join(&path, "a");
    for input in [b"x", b"y"] {
        assert_eq!(a.offer(&entry(input)).unwrap(), Offered::New);
    }
}

#[test]
fn a_shard_that_is_removed_or_cut_is_away_and_can_be_joined_again() {
    let folder = tempfile::tempdir().unwrap();
    let shard = folder.path().join("shards/a.log");
    let cut = |bytes| {
        fs::OpenOptions::new()
            .write(true)
            .open(&shard)
            .unwrap()
            .set_len(bytes)
    };
    for is_cut in [false, true] {
        let mut a = join(folder.path(), "a");
        assert_eq!(a.offer(&entry(b"x")).unwrap(), Offered::New);
        match is_cut {
            false => fs::remove_file(&shard).unwrap(),
            true => cut(30).unwrap(),
        }
        // What it had acknowledged is gone, so it may not go on as if nothing had been.
        assert!(matches!(a.offer(&entry(b"y")), Err(Error::Away(_))));
        assert!(matches!(a.offer(&entry(b"x")), Err(Error::Away(_))));
    }
    let mut a = join(folder.path(), "a");
    assert_eq!(a.offer(&entry(b"x")).unwrap(), Offered::New);
}

#[test]
fn a_lock_that_is_not_given_back_is_not_waited_for_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let mut a = join(folder.path(), "a");
    let b = join(folder.path(), "b");
    let _held = b.files.lock("k").unwrap();
    let key = Key::new("k").unwrap();
    let put = a.put_if(&key, Revision(0), b"");
    assert!(matches!(put, Err(Error::Away(_))));
    assert_eq!(a.offer(&entry(b"x")).unwrap(), Offered::New);
}

#[test]
fn what_the_dead_were_writing_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let living = join(folder.path(), "living");
    let passing = folder.path().join("passing");
    for name in ["living.7", "dead.0", "dead-too.12"] {
        fs::write(passing.join(name), "").unwrap();
    }
    let _next = join(folder.path(), "next");
    assert_eq!(
        only_file(folder.path(), "passing"),
        passing.join("living.7")
    );
    assert_eq!(fs::read_dir(&passing).unwrap().count(), 1);
    drop(living);
}

fn set_clocks(path: &Path, time: std::time::SystemTime) {
    for file in fs::read_dir(path).unwrap() {
        let file = file.unwrap().path();
        if file.is_dir() {
            set_clocks(&file, time);
        } else {
            let file = fs::OpenOptions::new().write(true).open(file).unwrap();
            file.set_modified(time).unwrap();
        }
    }
}

/// A wall clock that jumps shows in the folder as files from long ago or far ahead.
#[test]
fn clocks_that_jump_end_no_lease() {
    let folder = tempfile::tempdir().unwrap();
    let mut a = join(folder.path(), "a");
    let mut b = join(folder.path(), "b");
    a.submit(&job(1)).unwrap();
    let first = a.claim(&ABLE, LONG).unwrap().unwrap();
    let years = Duration::from_secs(10 * 365 * 24 * 3600);
    let now = std::time::SystemTime::now();
    for time in [now - years, now + years] {
        set_clocks(folder.path(), time);
        assert_eq!(b.claim(&ABLE, LONG).unwrap(), None);
        a.extend(&first).unwrap();
        set_clocks(folder.path(), time);
        assert_eq!(b.claim(&ABLE, LONG).unwrap(), None);
    }
    a.finish(&first, &result_of(first.id)).unwrap();
    a.submit(&job(2)).unwrap();
    a.claim(&ABLE, Duration::from_millis(1)).unwrap().unwrap();
    set_clocks(folder.path(), now + years);
    let since = std::time::Instant::now();
    while b.claim(&ABLE, LONG).unwrap().is_none() {
        assert!(since.elapsed() < Duration::from_secs(60));
    }
}
