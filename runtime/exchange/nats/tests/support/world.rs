//! What faults are made with: a real server, a proxy before it, players as processes.
#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sandglass_exchange::{Able, Claim, Cursor, Entry, EntryId, Error, Exchange};
use sandglass_nats::{Address, Nats, Settings};

/// A test gives up on what it waits for after this; nothing takes a tenth of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Quick ones: a deadline and a lease that tests need not wait long for.
pub(crate) const SETTINGS: Settings = Settings {
    deadline: Duration::from_secs(2),
    ack_wait: Duration::from_millis(1500),
};

/// Whether there is a server to test with; says so if not.
pub(crate) fn is_there() -> bool {
    let found = Command::new("nats-server").arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        skip("no nats-server in PATH; `apt-get install nats-server` brings one");
    }
    is_there
}

/// Says why a test does nothing, past the capture of tests that pass.
pub(crate) fn skip(why: &str) {
    writeln!(std::io::stderr(), "skipped: {why}").expect("somebody listens");
}

/// Waits for something to become true.
pub(crate) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A folder, a server's store in it, a server while it runs, and a proxy whose address never changes.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: PathBuf,
    pub(crate) proxy: Proxy,
    server: Option<Child>,
    pub(crate) configuration: String,
}

impl World {
    /// Without a server yet.
    pub(crate) fn empty() -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("store");
        World {
            store,
            folder,
            proxy: Proxy::start(),
            server: None,
            configuration: String::new(),
        }
    }

    /// With a server.
    pub(crate) fn new() -> World {
        let mut world = World::empty();
        world.start();
        world
    }

    pub(crate) fn start(&mut self) {
        let folder = self.folder.path();
        let configuration = folder.join("server.conf");
        let store = self.store.display();
        let text = format!(
            "{}\njetstream {{ store_dir: \"{store}\" }}\n",
            self.configuration
        );
        self.start_with(&configuration, &text);
    }

    pub(crate) fn start_with(&mut self, configuration: &Path, text: &str) {
        let folder = self.folder.path();
        std::fs::write(configuration, text).expect("a configuration");
        let log = std::fs::File::create(folder.join("server.log")).expect("a log");
        let server = Command::new("nats-server")
            .args(["-a", "127.0.0.1", "-p", "-1", "-c"])
            .arg(configuration)
            .arg("--ports_file_dir")
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("nats-server starts");
        let ports = folder.join(format!("nats-server_{}.ports", server.id()));
        self.server = Some(server);
        let mut port = None;
        until("the server tells its port", || {
            let text = std::fs::read_to_string(&ports).unwrap_or_default();
            let after = text.split("://127.0.0.1:").nth(1).unwrap_or_default();
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            port = digits.parse().ok().filter(|_| after.contains(']'));
            port.is_some()
        });
        self.proxy.to(port.expect("a port"));
    }

    /// SIGKILL: what it had not written is lost.
    pub(crate) fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().expect("ours");
            server.wait().expect("ours");
        }
    }

    pub(crate) fn server_pid(&self) -> u32 {
        self.server.as_ref().expect("a server").id()
    }

    /// What the server said last.
    pub(crate) fn server_log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default()
    }

    pub(crate) fn url(&self, campaign: &str) -> String {
        format!("nats://127.0.0.1:{}/{campaign}", self.proxy.port)
    }

    /// A client in this process.
    pub(crate) fn join(&self, campaign: &str) -> Nats {
        join(&self.url(campaign))
    }

    /// The same, past the proxy.
    pub(crate) fn join_directly(&self, campaign: &str) -> Nats {
        join(&self.url_directly(campaign))
    }

    pub(crate) fn url_directly(&self, campaign: &str) -> String {
        let port = self.proxy.to.load(Ordering::Relaxed);
        format!("nats://127.0.0.1:{port}/{campaign}")
    }

    /// All entries that the server has. Each record of the stream is one of them, or refused.
    pub(crate) fn entries(&self, campaign: &str) -> (Vec<Entry>, u64) {
        let mut nats = self.join(campaign);
        let entries = all(&mut nats);
        (entries, nats.refused())
    }

    pub(crate) fn ids(&self, campaign: &str) -> BTreeSet<EntryId> {
        let (entries, _) = self.entries(campaign);
        let ids: BTreeSet<EntryId> = entries.iter().map(Entry::id).collect();
        assert_eq!(ids.len(), entries.len(), "an entry lies there twice");
        ids
    }

    pub(crate) fn player(&self, mode: &str, campaign: &str, worker: &str) -> Builder {
        let mut command = Command::new(env!("CARGO_BIN_EXE_play"));
        command.arg(mode).arg(self.url(campaign)).arg(worker);
        command.arg(self.truth(worker));
        Builder { command }
    }

    pub(crate) fn truth(&self, worker: &str) -> PathBuf {
        self.folder.path().join(format!("{worker}.truth"))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.kill();
    }
}

fn join(url: &str) -> Nats {
    let address = Address::parse(url).expect("an address");
    let mut nats = Nats::open(&address, SETTINGS).expect("a client");
    nats.wait(PATIENCE).expect("a server");
    nats
}

/// Reads everything, from the beginning.
pub(crate) fn all(exchange: &mut dyn Exchange) -> Vec<Entry> {
    let (mut cursor, mut found) = (Cursor::default(), Vec::new());
    loop {
        let before = cursor.clone();
        let more = retry(|| exchange.tail(&mut cursor, 512));
        found.extend(more);
        if cursor == before {
            return found;
        }
    }
}

/// Does something until somebody is there.
pub(crate) fn retry<T>(mut what: impl FnMut() -> Result<T, Error>) -> T {
    let started = Instant::now();
    loop {
        match what() {
            Ok(done) => return done,
            Err(Error::Away(why)) => {
                assert!(started.elapsed() < PATIENCE, "nobody came back: {why}");
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// The job that there is for whoever can do as much: a busy server may take longer to hand it out than a claim waits.
pub(crate) fn job_for(exchange: &mut impl Exchange, able: &Able, lease: Duration) -> Claim {
    let mut claim = None;
    until("a job is handed out", || {
        claim = retry(|| exchange.claim(able, lease));
        claim.is_some()
    });
    claim.expect("it was just there")
}

/// A player before it starts.
pub(crate) struct Builder {
    pub(crate) command: Command,
}

impl Builder {
    pub(crate) fn with(mut self, key: &str, value: impl ToString) -> Builder {
        self.command.arg(format!("{key}={}", value.to_string()));
        self
    }

    pub(crate) fn start(mut self) -> Player {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a player starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                kept.lock().expect("no panics").push(line);
            }
        });
        Player {
            stdin: child.stdin.take(),
            child,
            lines,
        }
    }
}

/// A process that plays a campaign.
pub(crate) struct Player {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Player {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("no panics").clone()
    }

    /// The last number that it told under a name.
    pub(crate) fn number(&self, key: &str) -> u64 {
        let lines = self.lines();
        let mut words = lines.iter().rev().flat_map(|line| line.split(' '));
        let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        value.and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.expect("kill").success());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("ours");
        self.child.wait().expect("ours");
    }

    /// Asks it to end, and waits.
    pub(crate) fn stop(&mut self) {
        drop(self.stdin.take());
        let child = &mut self.child;
        until("a player ends", || {
            child.try_wait().expect("ours").is_some()
        });
        assert!(child.wait().expect("ours").success(), "a player failed");
    }

    /// Resident memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        resident(self.child.id())
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // It may have ended long since.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// What a proxy does to what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Hands on.
    Pass,
    /// Nothing passes, and nobody is told.
    Silent,
    /// Connections break, and new ones are refused.
    Broken,
    /// The server's side is closed, ours is not.
    HalfClosed,
    /// Hands on this many milliseconds later.
    Late(u64),
}

/// A TCP proxy on a port of its own.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    to: Arc<AtomicU16>,
    mode: Arc<Mutex<Mode>>,
    is_over: Arc<AtomicBool>,
    pub(crate) connections: Arc<AtomicU64>,
}

impl Proxy {
    fn start() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let proxy = Proxy {
            port: listener.local_addr().expect("bound").port(),
            to: Arc::default(),
            mode: Arc::new(Mutex::new(Mode::Pass)),
            is_over: Arc::default(),
            connections: Arc::default(),
        };
        let (to, mode) = (proxy.to.clone(), proxy.mode.clone());
        let (is_over, connections) = (proxy.is_over.clone(), proxy.connections.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let port = to.load(Ordering::Relaxed);
                let is_broken = *mode.lock().expect("no panics") == Mode::Broken;
                let server = TcpStream::connect(("127.0.0.1", port));
                let (Ok(server), false) = (server, is_broken) else {
                    continue;
                };
                connections.fetch_add(1, Ordering::Relaxed);
                let pair = (client.try_clone(), server.try_clone());
                let (Ok(client_too), Ok(server_too)) = pair else {
                    continue;
                };
                let (up, down) = (mode.clone(), mode.clone());
                std::thread::spawn(move || pump(client, server, &up, false));
                std::thread::spawn(move || pump(server_too, client_too, &down, true));
            }
        });
        proxy
    }

    pub(crate) fn to(&self, port: u16) {
        self.to.store(port, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, mode: Mode) {
        *self.mode.lock().expect("no panics") = mode;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, mode: &Mutex<Mode>, is_down: bool) {
    let tick = Duration::from_millis(20);
    from.set_read_timeout(Some(tick)).expect("not zero");
    let mut bytes = vec![0; 64 << 10];
    loop {
        let now = *mode.lock().expect("no panics");
        match now {
            Mode::Silent => {
                std::thread::sleep(tick);
                continue;
            }
            Mode::Broken => break,
            Mode::HalfClosed if is_down => break,
            _ => (),
        }
        let count = match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e)
                if matches!(
                    e.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ) =>
            {
                continue;
            }
            Err(_) => break,
        };
        if let Mode::Late(milliseconds) = now {
            std::thread::sleep(Duration::from_millis(milliseconds));
        }
        // What was read when the line fell silent waits with it.
        while *mode.lock().expect("no panics") == Mode::Silent {
            std::thread::sleep(tick);
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // Either may be closed already. In a half-closed line only the way down ends.
    let _ = to.shutdown(Shutdown::Write);
    if *mode.lock().expect("no panics") == Mode::Broken {
        let _ = from.shutdown(Shutdown::Both);
    }
}
