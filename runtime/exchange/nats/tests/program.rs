//! The program: its messages and exit codes, word by word, and the interface through its pipe.
//!
//! `BLESS=1` writes what it says now to `tests/program.txt`; read the difference.

#[path = "support/mod.rs"]
mod support;
#[path = "support/world.rs"]
mod world;

use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sandglass_exchange::pipe::PipeExchange;
use sandglass_exchange::{Error, Exchange, conformance};
use world::{World, is_there};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sandglass-nats"))
}

/// What it says with stdin closed, ports left out.
fn said(script: &mut String, shown: &str, arguments: &[&str]) {
    let output = program().args(arguments).stdin(Stdio::null()).output();
    let output = output.expect("the program starts");
    writeln!(script, "$ sandglass-nats {shown}").expect("a string");
    for bytes in [&output.stdout, &output.stderr] {
        script.push_str(&String::from_utf8_lossy(bytes));
    }
    let code = output.status.code().expect("no signal");
    writeln!(script, "exit code {code}\n").expect("a string");
}

fn compare(script: &str, name: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, script).expect("a golden file");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        script, golden,
        "{name} is not what it says; BLESS=1 updates it"
    );
}

#[test]
fn what_it_says_without_a_server() {
    let mut script = String::new();
    said(&mut script, "", &[]);
    said(&mut script, "a b", &["a", "b"]);
    said(&mut script, "--help", &["--help"]);
    let addresses = [
        "127.0.0.1:4222/png",
        "http://127.0.0.1/png",
        "nats://127.0.0.1",
        "nats://127.0.0.1/a.b",
        "nats://127.0.0.1:port/png",
        "nats://me:secret@127.0.0.1/",
        "nats:///png",
    ];
    for address in addresses {
        said(&mut script, address, &[address]);
    }
    // Nobody listens on the port of discarded packets; it goes on until stdin ends, at once.
    said(
        &mut script,
        "nats://127.0.0.1:9/png",
        &["nats://127.0.0.1:9/png"],
    );
    compare(&script, "program.txt");
}

#[test]
fn what_it_says_with_a_server() {
    if !is_there() {
        return;
    }
    let mut script = String::new();
    let mut say = |world: &World, what: &str, campaign: &str| {
        let url = match campaign.split_once('@') {
            Some((password, campaign)) => world
                .url(campaign)
                .replace("://", &format!("://{password}@")),
            None => world.url(campaign),
        };
        let mut one = String::new();
        said(&mut one, what, &[&url]);
        script.push_str(&one.replace(&format!("127.0.0.1:{}", world.proxy.port), "SERVER"));
    };
    let mut world = World::new();
    say(&world, "(a server with JetStream)", "png");
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            other_stream(&world, "CORPUS_taken", "c.taken.*").await;
            other_stream(&world, "orders", "c.orders.>").await;
        });
    }
    say(
        &world,
        "(a stream of that name with other settings)",
        "taken",
    );
    say(&world, "(another stream with its subjects)", "orders");
    world.kill();
    world.configuration = "authorization { user: me, password: secret }".into();
    world.start();
    say(&world, "(a server that wants a password)", "png");
    say(&world, "(the same, and its password)", "me:secret@png");
    world.kill();
    world.configuration = "max_payload: 4096".into();
    world.start();
    say(&world, "(a server that takes small messages only)", "png");
    world.kill();
    let configuration = world.folder.path().join("plain.conf");
    world.start_with(&configuration, "");
    say(&world, "(a server without JetStream)", "png");
    compare(&script, "program-server.txt");
}

/// An operator's stream, or another program's.
async fn other_stream(world: &World, name: &str, subjects: &str) {
    let client = async_nats::connect(world.url("")).await.expect("a server");
    let jetstream = async_nats::jetstream::new(client);
    let config = async_nats::jetstream::stream::Config {
        name: name.into(),
        subjects: vec![subjects.into()],
        max_age: Duration::from_secs(60),
        ..Default::default()
    };
    jetstream.create_stream(config).await.expect("a stream");
}

/// The program, and the interface through its pipe.
struct Relay {
    child: Child,
}

impl Relay {
    fn start(mut command: Command, url: &str) -> (Relay, PipeExchange) {
        let mut child = command
            .arg(url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (reader, writer) = (child.stdout.take(), child.stdin.take());
        let (reader, writer) = (reader.expect("piped"), writer.expect("piped"));
        let exchange = PipeExchange::new(reader, writer, Duration::from_secs(20));
        (Relay { child }, exchange.expect("the program answers"))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn through_its_pipe_it_is_an_exchange() {
    if !is_there() {
        return;
    }
    let world = World::new();
    // Made first, with a short patience: the program would let a test wait for leases of ten seconds.
    drop(world.join("test"));
    let mut relays = Vec::new();
    conformance::check(&mut |_| {
        let (relay, exchange) = Relay::start(program(), &world.url("test"));
        relays.push(relay);
        Box::new(exchange)
    });
}

#[test]
fn a_server_that_cannot_be_used_may_be_mended() {
    if !is_there() {
        return;
    }
    let mut world = World::empty();
    let configuration = world.folder.path().join("plain.conf");
    world.start_with(&configuration, "");
    let (_relay, mut exchange) = Relay::start(program(), &world.url("test"));
    match exchange.offer(&support::entry(1, 1, "a")) {
        Err(Error::Failed(why)) => assert!(why.contains("no JetStream"), "{why}"),
        other => panic!("{other:?}"),
    }
    world.kill();
    world.start();
    world::until("it is mended", || {
        exchange.offer(&support::entry(1, 1, "a")).is_ok()
    });
}

#[test]
fn it_ends_when_its_campaign_does() {
    if !is_there() {
        return;
    }
    let world = World::new();
    let (mut relay, exchange) = Relay::start(program(), &world.url("test"));
    drop(exchange);
    world::until("it ends", || {
        relay.child.try_wait().expect("ours").is_some()
    });
    assert!(relay.child.wait().expect("ours").success());
}

#[test]
fn it_speaks_tls() {
    if !is_there() {
        return;
    }
    let mut world = World::empty();
    let (key, certificate) = (
        world.folder.path().join("key"),
        world.folder.path().join("cert"),
    );
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ])
        .args(["-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    if !made.is_ok_and(|output| output.status.success()) {
        world::skip("no openssl that makes a certificate");
        return;
    }
    let (key, cert) = (key.display(), certificate.display());
    world.configuration = format!("tls {{ cert_file: \"{cert}\", key_file: \"{key}\" }}");
    world.start();
    let url = format!("tls://localhost:{}/test", world.proxy.port);
    let mut trusting = program();
    trusting.env("SSL_CERT_FILE", &certificate);
    let (_relay, mut exchange) = Relay::start(trusting, &url);
    exchange.offer(&support::entry(1, 1, "a")).expect("kept");
    let (_relay, mut doubting) = Relay::start(program(), &url);
    let refused = doubting.offer(&support::entry(1, 1, "a"));
    assert!(matches!(refused, Err(Error::Away(_))));
}
