//! Somebody who may publish, and publishes what he should not: refused, counted, and the connection stays.

#[path = "support/mod.rs"]
mod support;
#[path = "support/world.rs"]
mod world;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sandglass_exchange::codec::VERSION;
use sandglass_exchange::conformance::ABLE;
use sandglass_exchange::{
    Beat, Entry, Exchange, Job, JobKind, JobResult, Key, Offered, Revision, WorkerId, encode,
};
use world::{World, all, is_there, job_for, retry, until};

/// Speaks the protocol by hand: a client library would not send such things.
struct Enemy {
    reader: BufReader<TcpStream>,
}

impl Enemy {
    fn new(world: &World) -> Enemy {
        let stream = TcpStream::connect(("127.0.0.1", world.proxy.port)).expect("a server");
        stream
            .set_read_timeout(Some(world::PATIENCE))
            .expect("not zero");
        let mut enemy = Enemy {
            reader: BufReader::new(stream),
        };
        enemy.send(
            b"CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"protocol\":1}\r\n",
        );
        enemy.settle();
        enemy
    }

    fn send(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).expect("a server");
    }

    fn publish(&mut self, subject: &str, payload: &[u8]) {
        self.send(format!("PUB {subject} {}\r\n", payload.len()).as_bytes());
        self.send(payload);
        self.send(b"\r\n");
        self.settle();
    }

    fn publish_with(&mut self, subject: &str, headers: &[u8], payload: &[u8]) {
        let (head, total) = (headers.len(), headers.len() + payload.len());
        self.send(format!("HPUB {subject} {head} {total}\r\n").as_bytes());
        self.send(headers);
        self.send(payload);
        self.send(b"\r\n");
        self.settle();
    }

    /// What the server answers.
    fn ask(&mut self, subject: &str, payload: &str) -> String {
        let ask = format!(
            "SUB inbox 1\r\nPUB {subject} inbox {}\r\n{payload}\r\n",
            payload.len()
        );
        self.send(ask.as_bytes());
        let mut line = String::new();
        while !line.starts_with("MSG ") {
            line.clear();
            assert!(
                self.reader.read_line(&mut line).expect("a server") > 0,
                "thrown out"
            );
        }
        line.clear();
        self.reader.read_line(&mut line).expect("a server");
        line
    }

    /// Waits until the server has read everything.
    fn settle(&mut self) {
        self.send(b"PING\r\n");
        let mut line = String::new();
        while !line.starts_with("PONG") {
            line.clear();
            assert!(
                self.reader.read_line(&mut line).expect("a server") > 0,
                "thrown out"
            );
        }
    }
}

fn whole(record: &[u8]) -> Vec<u8> {
    [&[0], record].concat()
}

fn subject(entry: &Entry) -> String {
    format!("c.test.{}", entry.id().hex())
}

#[test]
fn entries_of_an_enemy_are_refused_and_counted() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let (mut a, mut b) = (world.join("test"), world.join("test"));
    let mut enemy = Enemy::new(&world);
    let connections = world.proxy.connections.load(Ordering::Relaxed);
    let e = |n| support::entry(5, n, "e");
    let good = |n| whole(&encode(&e(n)));

    retry(|| a.offer(&support::entry(1, 0, "a")));
    enemy.publish(&subject(&e(0)), b"");
    enemy.publish(&subject(&e(1)), b"\xff\xfe garbage");
    enemy.publish(&subject(&e(2)), &whole(b"garbage"));
    enemy.publish(&subject(&e(3)), &good(4));
    enemy.publish("c.test.not-a-hash", &good(5));
    enemy.publish(&subject(&e(6)), &good(6)[..20]);
    let mut newer = good(7);
    newer[1] = VERSION + 1;
    enemy.publish(&subject(&e(7)), &newer);
    let mut bomb = whole(&encode(&e(8)));
    bomb[3..12].fill(0xff);
    enemy.publish(&subject(&e(8)), &bomb);
    // Chunks that are not there, and a chunk that is another.
    enemy.publish(&subject(&e(9)), &[&[1][..], &[7; 32]].concat());
    let name = blake3::Hash::from_bytes([8; 32]).to_hex();
    enemy.publish(&format!("k.test.{name}"), b"not of that hash");
    enemy.publish(&subject(&e(10)), &[&[1][..], &[8; 32]].concat());
    // Headers that would break the connection of whoever is sent them.
    enemy.publish_with(
        &subject(&e(11)),
        b"NATS/1.0\r\nA: \xff\xfe\r\n\r\n",
        &good(11),
    );
    enemy.publish_with(&subject(&e(12)), b"nonsense\r\n\r\n", &good(12));
    enemy.publish_with(&subject(&e(13)), b"NATS/1.0 503\r\n\r\n", b"x");
    // A name that no cursor has room for.
    enemy.publish(&format!("c.test.{}", "x".repeat(300)), &good(16));
    let refused = 14;
    // The server itself keeps these out of the stream: too large; of another campaign.
    enemy.publish(&subject(&e(14)), &vec![0; 600 << 10]);
    enemy.publish(&subject(&e(15)).replace("test", "other"), &good(15));
    retry(|| a.offer(&support::entry(1, 1, "a")));

    let mut expected = vec![support::entry(1, 0, "a"), support::entry(1, 1, "a")];
    // Broken headers around what is right do no harm when they can be read at all.
    let found = all(&mut b);
    expected.retain(|entry| !found.contains(entry));
    assert!(expected.is_empty(), "what is honest passes");
    assert_eq!(found.len(), 2);
    assert_eq!(b.refused(), refused);
    assert_eq!(world.proxy.connections.load(Ordering::Relaxed), connections);
    b.offer(&support::entry(1, 2, "b"))
        .expect("the connection stays");
}

#[test]
fn values_results_and_beats_of_an_enemy_are_refused() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut client = world.join("test");
    let mut enemy = Enemy::new(&world);
    let beat = Beat {
        worker: WorkerId("somebody".into()),
        doing: "fuzz".into(),
        execs: 0,
        corpus: 0,
        edges: 0,
        findings: 0,
        refused: 0,
    };
    enemy.publish("b.test.another", &whole(&encode(&beat)));
    enemy.publish("b.test.third", b"garbage");
    enemy.publish("b.test.somebody", &whole(&encode(&beat)));
    assert_eq!(retry(|| client.live()), [beat]);
    assert_eq!(client.refused(), 2);

    let key = Key("winner".into());
    enemy.publish("v.test.winner", b"\x09garbage");
    let there = retry(|| client.get(&key));
    assert_eq!(there.value, None);
    let put = retry(|| client.put_if(&key, there.revision, b"honest"));
    assert!(put.expect("garbage can be replaced") > Revision(0));
    // A chunk that is another than its hash.
    let of_what = blake3::hash(b"what");
    enemy.publish(&format!("k.test.{}", of_what.to_hex()), b"not what");
    enemy.publish("v.test.winner", &[&[1], &of_what.as_bytes()[..]].concat());
    assert_eq!(retry(|| client.get(&key)).value, None);
    enemy.publish("v.test.no%key", &whole(b"x"));
    assert_eq!(retry(|| client.keys()), [key]);
    assert_eq!(client.refused(), 5);

    let of_another = JobResult {
        job: job(2).id(),
        outcome: Ok(vec![]),
    };
    enemy.publish(
        &format!("r.test.{}", job(1).id().hex()),
        &whole(&encode(&of_another)),
    );
    assert_eq!(retry(|| client.result(job(1).id())), None);
    assert_eq!(client.refused(), 6);
}

fn job(number: u8) -> Job {
    Job {
        kind: JobKind::Replay,
        module: [1; 32],
        inputs: vec![vec![number]],
        settings: vec![],
    }
}

fn name(job: &Job) -> String {
    name_of(VERSION, job)
}

/// The subject of a job whose record has that version.
fn name_of(version: u8, job: &Job) -> String {
    let module = "01".repeat(16);
    format!("w.test.{version}.{module}.0.{}", job.id().hex())
}

#[test]
fn jobs_of_an_enemy_are_thrown_away_and_newer_ones_left_to_newer_workers() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut client = world.join("test");
    let mut enemy = Enemy::new(&world);
    // These are in nobody's queue.
    enemy.publish("w.test.nonsense", b"x");
    enemy.publish(&format!("w.test.{VERSION}.a.b.c"), b"x");
    let queue = name(&job(1))
        .rsplit_once('.')
        .expect("a queue")
        .0
        .to_owned();
    enemy.publish(&format!("{queue}.nonsense"), b"x");
    let of_another = Job {
        module: [2; 32],
        ..job(6)
    };
    enemy.publish(&name(&of_another), &whole(&encode(&of_another)));
    enemy.publish(&name(&job(1)), &whole(b"\x01\x02garbage"));
    enemy.publish(&name(&job(2)), &whole(&encode(&job(3))));
    let mut newer = whole(&encode(&job(4)));
    newer[1] = VERSION + 1;
    // In its own queue, and where it cannot be.
    enemy.publish(&name_of(VERSION + 1, &job(4)), &newer);
    enemy.publish(&name(&job(4)), &newer);
    retry(|| client.submit(&job(5)));
    let claim = job_for(&mut client, &ABLE, Duration::from_secs(60));
    assert_eq!(claim.job, job(5));
    assert_eq!(client.refused(), 5);
    // What was thrown away can be asked for again.
    for thrown in [job(1), job(4)] {
        until("it is off the queue", || {
            retry(|| client.submit(&thrown)) == Offered::New
        });
    }
    // Whoever is newer still has its job, however often we have looked.
    for _ in 0..20 {
        retry(|| client.claim(&ABLE, Duration::from_secs(60)));
    }
    let state = enemy.ask(
        "$JS.API.STREAM.INFO.WORK_test",
        &format!(r#"{{"subjects_filter":"w.test.{}.>"}}"#, VERSION + 1),
    );
    assert!(
        state.contains(&format!("\"{}\":1", name_of(VERSION + 1, &job(4)))),
        "{state}"
    );
}

#[test]
fn leases_played_back_change_nothing_that_cannot_be_asked_for_again() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut client = world.join("test");
    let mut enemy = Enemy::new(&world);
    retry(|| client.submit(&job(1)));
    let claim = job_for(&mut client, &ABLE, Duration::from_secs(60));
    let result = JobResult {
        job: claim.id,
        outcome: Ok(b"honest".to_vec()),
    };
    // Acknowledged by somebody who has not done it: it is off the queue, and can be asked for again.
    enemy.publish(&claim.token, b"+ACK");
    until("it is off the queue", || {
        retry(|| client.submit(&job(1))) == Offered::New
    });
    retry(|| client.finish(&claim, &result));
    // A lease that is over, played back; a result after the first.
    let mut forged = result.clone();
    forged.outcome = Ok(b"forged".to_vec());
    for what in [&b"+WPI"[..], b"-NAK", b"+ACK", b"+TERM", b"garbage"] {
        enemy.publish(&claim.token, what);
    }
    enemy.publish(
        &format!("r.test.{}", claim.id.hex()),
        &whole(&encode(&forged)),
    );
    assert_eq!(retry(|| client.result(claim.id)), Some(result));
    until("the second asking ends without work", || {
        retry(|| client.claim(&ABLE, Duration::from_secs(60))).is_none()
    });
    // A claim that was never made here becomes no subject.
    let mut wrong = claim.clone();
    for token in [
        "",
        "c.test.x",
        "$JS.API.STREAM.DELETE.CORPUS_test",
        "$JS.ACK.WORK_test.workers.a b",
    ] {
        wrong.token = token.into();
        assert!(matches!(
            client.extend(&wrong),
            Err(sandglass_exchange::Error::Refused(_))
        ));
    }
}

/// Not as one would like it: such a job ends the connection of whoever is handed it, and the server
/// hands it out ten times. Then it lies still, and honest jobs have been done meanwhile.
#[test]
fn a_job_with_broken_headers_breaks_connections_but_not_for_ever() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let mut client = world.join("test");
    let mut enemy = Enemy::new(&world);
    enemy.publish_with(&name(&job(1)), b"NATS/1.0\r\nA: \xff\r\n\r\n", b"x");
    retry(|| client.submit(&job(2)));
    let mut claimed = None;
    until("the honest job", || {
        claimed = claimed
            .take()
            .or_else(|| retry(|| client.claim(&ABLE, Duration::from_secs(60))));
        claimed.is_some()
    });
    assert_eq!(claimed.expect("a job").job, job(2));
}
