//! What every binding of [`Exchange`] does, as a test: call [`check`] with a way to join a fresh one.
//!
//! Bindings test what is their own besides: faults, bounds, other processes.

use std::time::{Duration, Instant};

use crate::exchange::DELIVERIES_MOST;
use crate::record::{Beat, Coverage, Entry, Job, JobId, JobKind, JobResult, WorkerId};
use crate::{Able, Claim, Current, Cursor, Error, Exchange, Key, Offered, Revision, codec};

/// How long a binding may take to hand on what it has accepted.
const PATIENCE: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(3600);
/// A lease that is over soon; bindings may make it longer, up to some seconds.
const SHORT: Duration = Duration::from_millis(50);

/// A worker that can do every [`job`].
pub const ABLE: Able = Able {
    module: [1; 32],
    fuel_most: 1_000,
};

type Join<'a> = &'a mut dyn FnMut(&str) -> Box<dyn Exchange>;

/// Two workers, `a` and `b`, join an empty exchange and use all of it.
///
/// Panics where the exchange does not do what its interface says.
pub fn check(join: Join<'_>) {
    let mut a = join("a");
    let mut b = join("b");
    entries(&mut *a, &mut *b);
    refusals(&mut *a);
    values(&mut *a, &mut *b);
    jobs(&mut *a, &mut *b);
    leases(&mut *a, &mut *b);
    poison(&mut *a, &mut *b);
    others(&mut *a, &mut *b);
    beats(&mut *a, &mut *b);
    // Whoever comes late reads all of it.
    let all = tail_until(&mut *join("c"), &mut Cursor::default(), 5);
    assert_eq!(all.len(), 5);
}

/// An entry of these bytes, from worker `a`.
pub fn entry(input: &[u8]) -> Entry {
    Entry {
        input: input.to_vec(),
        choices: None,
        claim: Some(Coverage {
            module: [1; 32],
            edges: vec![(1, 1), (70_000, 3)],
            fuel: 9,
            valid: true,
        }),
        worker: WorkerId("a".into()),
    }
}

/// A job that differs from others by its number.
pub fn job(number: u32) -> Job {
    Job {
        kind: JobKind::Replay,
        module: [1; 32],
        inputs: vec![number.to_le_bytes().to_vec()],
        settings: vec![format!("number={number}")],
    }
}

/// A result of a job.
pub fn result_of(job: JobId) -> JobResult {
    JobResult {
        job,
        outcome: Ok(job.0.to_vec()),
    }
}

/// A sign of life of worker `a`; all its counts differ.
pub fn beat() -> Beat {
    Beat {
        worker: WorkerId("a".into()),
        doing: "fuzz".into(),
        execs: 1,
        corpus: 2,
        edges: 3,
        findings: 4,
        refused: 5,
    }
}

/// Reads until there are that many different entries.
///
/// Panics if a minute does not suffice.
pub fn tail_until(exchange: &mut dyn Exchange, cursor: &mut Cursor, count: usize) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    wait_for("entries", || {
        let more = exchange.tail(cursor, 2).expect("can be read");
        assert!(more.len() <= 2);
        for entry in more {
            if found.iter().all(|other| other.id() != entry.id()) {
                found.push(entry);
            }
        }
        (found.len() >= count).then_some(())
    });
    found
}

fn wait_for<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(done) = done() {
            return done;
        }
        assert!(since.elapsed() < PATIENCE, "{what}: not in a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn entries(a: &mut dyn Exchange, b: &mut dyn Exchange) {
    let mut of_a = Cursor::default();
    let mut of_b = Cursor::default();
    assert_eq!(a.tail(&mut of_a, 9).expect("empty"), []);
    assert_eq!(a.offer(&entry(b"x")).expect("taken"), Offered::New);
    assert_eq!(a.offer(&entry(b"x")).expect("taken"), Offered::Known);
    assert_eq!(b.offer(&entry(b"x")).expect("taken"), Offered::Known);
    let mut other_claim = entry(b"x");
    other_claim.claim = None;
    assert_eq!(b.offer(&other_claim).expect("taken"), Offered::Known);
    assert_eq!(b.offer(&entry(b"")).expect("taken"), Offered::New);
    let mut chosen = entry(b"x");
    chosen.choices = Some("sandglass choices 1\n".into());
    assert_eq!(b.offer(&chosen).expect("taken"), Offered::New);
    let many = [entry(b"x"), entry(b"z"), entry(b"w")];
    let came = [Offered::Known, Offered::New, Offered::New].map(Some);
    assert_eq!(a.offer_all(&many).expect("taken"), came);
    assert_eq!(a.offer_all(&[]).expect("nothing"), []);
    let mut expected = vec![entry(b"x"), entry(b""), chosen, entry(b"z"), entry(b"w")];
    expected.sort_by_key(Entry::id);
    for mut found in [tail_until(a, &mut of_a, 5), tail_until(b, &mut of_b, 5)] {
        found.sort_by_key(Entry::id);
        assert_eq!(found, expected);
    }
    // News are what others have offered, and perhaps what we have.
    let theirs = |entry: &Entry| entry.choices.is_some() || entry.input.is_empty();
    let (mut cursor, mut found) = (Cursor::default(), Vec::new());
    wait_for("news of two entries", || {
        found.extend(a.news(&mut cursor, 9).expect("read"));
        (found.iter().filter(|entry| theirs(entry)).count() == 2).then_some(())
    });
    assert!(
        found.iter().all(|entry| expected.contains(entry)),
        "{found:?}"
    );
    assert_eq!(
        a.news(&mut cursor, 9)
            .expect("all was read")
            .iter()
            .filter(|entry| theirs(entry))
            .count(),
        0
    );
    assert_eq!(a.refused(), 0);
}

fn refusals(a: &mut dyn Exchange) {
    let large = entry(&vec![0; codec::INPUT_BYTES_MOST + 1]);
    assert!(matches!(a.offer(&large), Err(Error::Refused(_))));
    // One that is refused keeps none of the others from being taken.
    let many = [large, entry(b"x")];
    assert_eq!(
        a.offer_all(&many).expect("taken"),
        [None, Some(Offered::Known)]
    );
    assert_eq!(a.offer_all(&many[..1]).expect("asked"), [None]);
    let mut unnamed = entry(b"y");
    unnamed.worker = WorkerId("../y".into());
    assert!(matches!(a.offer(&unnamed), Err(Error::Refused(_))));
    let up = Key("../y".into());
    assert!(matches!(a.get(&up), Err(Error::Refused(_))));
    let put = a.put_if(&up, Revision(0), b"");
    assert!(matches!(put, Err(Error::Refused(_))));
    let key = Key("large".into());
    let put = a.put_if(&key, Revision(0), &vec![0; codec::VALUE_BYTES_MOST + 1]);
    assert!(matches!(put, Err(Error::Refused(_))));
}

fn values(a: &mut dyn Exchange, b: &mut dyn Exchange) {
    let key = Key("a-key_1".into());
    assert_eq!(a.get(&key).expect("read"), Current::default());
    let first = a.put_if(&key, Revision(0), b"one").expect("asked");
    let first = first.expect("nothing was there");
    assert!(first > Revision(0));
    let there = Current {
        revision: first,
        value: Some(b"one".to_vec()),
    };
    assert_eq!(b.get(&key).expect("read"), there);
    let late = b.put_if(&key, Revision(0), b"two").expect("asked");
    assert_eq!(late, Err(there));
    let second = b.put_if(&key, first, b"").expect("asked");
    let second = second.expect("as it was");
    assert!(second > first);
    let there = Current {
        revision: second,
        value: Some(vec![]),
    };
    assert_eq!(a.get(&key).expect("read"), there);
    assert_eq!(a.keys().expect("read"), [key]);
}

fn jobs(a: &mut dyn Exchange, b: &mut dyn Exchange) {
    assert_eq!(a.claim(&ABLE, LONG).expect("asked"), None);
    assert_eq!(a.submit(&job(1)).expect("taken"), Offered::New);
    assert_eq!(b.submit(&job(1)).expect("taken"), Offered::Known);
    let claim = b.claim(&ABLE, LONG).expect("asked").expect("a job");
    assert_eq!((&claim.job, claim.id), (&job(1), job(1).id()));
    assert_eq!(claim.deliveries, 1);
    assert_eq!(a.claim(&ABLE, LONG).expect("asked"), None);
    b.extend(&claim).expect("extended");
    assert_eq!(a.result(claim.id).expect("asked"), None);
    let wrong = result_of(job(2).id());
    assert!(matches!(b.finish(&claim, &wrong), Err(Error::Refused(_))));
    b.finish(&claim, &result_of(claim.id)).expect("finished");
    // The first result stays.
    let mut later = result_of(claim.id);
    later.outcome = Err("another".into());
    b.finish(&claim, &later).expect("finished again");
    let result = a.result(claim.id).expect("asked");
    assert_eq!(result, Some(result_of(claim.id)));
    assert_eq!(a.submit(&job(1)).expect("taken"), Offered::Known);
    assert_eq!(a.claim(&ABLE, LONG).expect("asked"), None);
}

fn claim(exchange: &mut dyn Exchange, lease: Duration) -> Claim {
    wait_for("a job", || exchange.claim(&ABLE, lease).expect("asked"))
}

fn leases(a: &mut dyn Exchange, b: &mut dyn Exchange) {
    a.submit(&job(3)).expect("taken");
    let first = claim(a, SHORT);
    let second = claim(b, LONG);
    assert_eq!((second.id, second.deliveries), (first.id, 2));
    // Who was too late still may tell its result, and no lease of its own comes back.
    a.extend(&first).expect("no fence");
    assert_eq!(a.claim(&ABLE, LONG).expect("asked"), None);
    a.finish(&first, &result_of(first.id)).expect("finished");
    b.finish(&second, &result_of(first.id)).expect("finished");
    let result = b.result(first.id).expect("asked");
    assert_eq!(result, Some(result_of(first.id)));
}

fn poison(a: &mut dyn Exchange, b: &mut dyn Exchange) {
    a.submit(&job(4)).expect("taken");
    let mut last = None;
    for delivery in 1..=DELIVERIES_MOST {
        let by: &mut dyn Exchange = if delivery % 2 == 0 { a } else { b };
        let claim = claim(by, SHORT);
        assert_eq!(claim.deliveries, delivery);
        last = Some(claim);
    }
    wait_for("a poisoned job", || {
        assert_eq!(a.claim(&ABLE, LONG).expect("asked"), None);
        let poison = a.poisoned().expect("asked");
        (poison == [job(4).id()]).then_some(())
    });
    // Unless somebody finishes it after all.
    let last = last.expect("delivered");
    b.finish(&last, &result_of(last.id)).expect("finished");
    assert_eq!(a.poisoned().expect("asked"), []);
}

/// Jobs of others: whoever cannot do them may look as often as it likes.
fn others(a: &mut dyn Exchange, b: &mut dyn Exchange) {
    let other_module = Able {
        module: [2; 32],
        ..ABLE
    };
    let poor = Able {
        fuel_most: 999,
        ..ABLE
    };
    let mut dear = job(5);
    dear.settings.insert(0, "fuel=1000".into());
    a.submit(&dear).expect("taken");
    for able in [&other_module, &poor] {
        for _ in 0..=DELIVERIES_MOST + 5 {
            assert_eq!(b.claim(able, SHORT).expect("asked"), None);
        }
    }
    assert_eq!(a.poisoned().expect("asked"), []);
    let claim = claim(a, LONG);
    assert_eq!((&claim.job, claim.deliveries), (&dear, 1));
    a.finish(&claim, &result_of(claim.id)).expect("finished");
}

fn beats(a: &mut dyn Exchange, b: &mut dyn Exchange) {
    let mut beat = beat();
    a.beat(&beat).expect("told");
    wait_for("a sign of life", || {
        let live = b.live().expect("asked");
        (live == [beat.clone()]).then_some(())
    });
    beat.execs = 2;
    a.beat(&beat).expect("told");
    wait_for("the next sign of life", || {
        let live = b.live().expect("asked");
        (live == [beat.clone()]).then_some(())
    });
}
