//! `sandglass serve` as a client, an attacker and a browser see it. Without a browser those tests are left
//! out, and say so.
#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "says figures, and what is left out")]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use sandglass_exchange::codec::encode_checked;
use sandglass_exchange::{Beat, Coverage, Entry, Exchange, Folder, Key, Revision, WorkerId};
use sandglass_tests::browser::{load_ms, tag, visited};
use sandglass_tests::large::{self, HOSTILE};
use sandglass_tests::program::interrupt;
use serde_json::Value;

/// Until something that must happen has happened.
const PATIENCE: Duration = Duration::from_secs(120);

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandglass-dup"));
    command.env(
        "SANDGLASS_CACHE",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"),
    );
    command
}

/// A server of our own, ended with the test.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn of(folders: &[&Path], args: &[&str]) -> Server {
        let mut child = program()
            .arg("serve")
            .args(folders)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let address = address.and_then(|address| address.parse().ok());
        Server {
            address: address.unwrap_or_else(|| panic!("no address in {line:?}")),
            child,
        }
    }

    fn page(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.address
        ))
    }

    fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}");
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// What comes of these bytes.
    fn ask(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        Answer::from(stream)
    }

    /// Whether there is no place for another connection. Who sends too late to be heard is not told why.
    fn turns_away(&self) -> bool {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let mut text = String::new();
        let asked = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let told = asked.and_then(|()| stream.read_to_string(&mut text));
        told.is_err() || text.starts_with("HTTP/1.1 503 ")
    }

    fn until(&self, path: &str, what: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let state = self.json(path);
            if what(&state) {
                return state;
            }
            assert!(Instant::now() < end, "still {state}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn from(mut stream: TcpStream) -> Answer {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end =
            end.unwrap_or_else(|| panic!("no head in {:?}", bytes.escape_ascii().to_string()));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.unwrap(),
            head,
            body: bytes[end + 4..].to_vec(),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn small() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("c.sandglass");
    large::campaign(&root, 30, 3);
    (folder, root)
}

/// Everything below a folder: bytes, and when they were written.
fn contents(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            if path.is_dir() {
                folders.push(path.clone());
                files.insert(path, (Vec::new(), modified));
            } else {
                files.insert(path.clone(), (fs::read(path).unwrap(), modified));
            }
        }
    }
    files
}

#[test]
fn pages_and_json_are_served_and_nothing_is_touched() {
    let (_folder, root) = small();
    fs::write(root.join("cover.html"), "<h1>cover</h1>").unwrap();
    let before = contents(&root);
    let server = Server::of(&[&root], &[]);
    let state = server.json("/0/state.json");
    assert_eq!(state["format"], 1);
    assert_eq!(state["name"], "c.sandglass");
    assert_eq!(state["corpus"], 30);
    assert_eq!(state["edges"], 5);
    assert_eq!(state["bugs"], 3);
    assert_eq!(state["curve"].as_array().unwrap().len(), 33);
    assert_eq!(state["findings"][2]["title"], HOSTILE);
    let set = server.json("/state.json");
    assert_eq!(set["campaigns"][0]["corpus"], 30);
    assert_eq!(set["workers"][0]["worker"], "c.sandglass");
    let id = state["findings"][0]["id"].as_str().unwrap();
    let input = server.get(&format!("/0/finding/{id}/input"));
    assert_eq!(input.body, HOSTILE.as_bytes());
    assert!(input.head.contains("attachment"), "{}", input.head);
    for (path, part) in [
        ("/", "c.sandglass"),
        ("/0/", "How it goes"),
        ("/0/report", "How it went"),
        ("/0/coverage", "<h1>cover</h1>"),
        (&format!("/0/finding/{id}"), "sandglass repro"),
        ("/style.css", "--accent"),
        ("/live.js", "DOMParser"),
        ("/icon.svg", "<svg"),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.text().contains(part), "{part} is missing in {path}");
    }
    // Nobody made one.
    assert_eq!(server.get("/0/cost").status, 404);
    let head = server.ask("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(!head.head.contains("Content-Length: 0"), "{}", head.head);
    assert_eq!(contents(&root), before);
}

#[test]
fn several_campaigns_have_a_page_together() {
    let (_first, one) = small();
    let (_second, two) = small();
    let server = Server::of(&[&one, &two], &[]);
    let page = server.get("/").text();
    assert!(
        page.contains("2 campaigns") && page.contains("href=\"/1/\""),
        "{page}"
    );
    assert_eq!(page.matches("class=\"step s1\"").count(), 6);
    assert_eq!(server.get("/1/").status, 200);
    assert_eq!(server.get("/2/").status, 404);
}

#[test]
fn what_no_browser_of_ours_would_ask_is_refused() {
    let (folder, root) = small();
    fs::write(folder.path().join("secret"), "SECRET").unwrap();
    std::os::unix::fs::symlink("../secret", root.join("perf.html")).unwrap();
    std::os::unix::fs::symlink("../../../secret", root.join("findings/link")).unwrap();
    fs::remove_file(root.join("findings/trap-0000000000000001/input")).unwrap();
    std::os::unix::fs::symlink(
        "../../../secret",
        root.join("findings/trap-0000000000000001/input"),
    )
    .unwrap();
    let server = Server::of(&[&root], &[]);
    let status = |request: &str| {
        let answer = server.ask(request);
        assert!(
            answer.head.contains("default-src 'none'"),
            "{}",
            answer.head
        );
        assert!(!answer.text().contains("SECRET"), "{request}");
        answer.status
    };
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"] {
        let request = format!("{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(status(&request), 405, "{method}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", ""] {
        let request = format!("GET /state.json HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(status(&request), 421, "{host:?}");
    }
    assert_eq!(status("GET / HTTP/1.0\r\n\r\n"), 400);
    assert_eq!(status("nonsense\r\n\r\n"), 400);
    let ids = server.json("/0/state.json");
    let ids = ids["findings"].as_array().unwrap().iter();
    let inputs = ids.map(|one| format!("/0/finding/{}/input", one["id"].as_str().unwrap()));
    let codes: Vec<u16> = inputs.map(|path| server.get(&path).status).collect();
    assert_eq!(codes, [200, 404, 200], "the second one's input is a link");
    for path in [
        "/../secret",
        "/0/../../secret",
        "/0/..%2f..%2fsecret",
        "/%2e%2e/secret",
        "//etc/passwd",
        "/0//etc/passwd",
        "/0/finding/../../../secret",
        "/0/finding/trap-0000000000000000",
        "/0/campaign.toml",
        "/0/cover.html",
        "/0/cost",
        "/00/",
        "/+0/",
        "/-1/",
        "/99999999999999999999999/",
        "/0/finding//input",
        "/\u{0}",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!([400, 404].contains(&status(&request)), "{path}");
    }
    let long = format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a".repeat(5_000)
    );
    assert_eq!(status(&long), 414);
    let endless = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}",
        "a".repeat(9_000)
    );
    assert_eq!(status(&endless), 431);
    let body = "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(status(body), 413);
    // It is still there.
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn who_dawdles_or_comes_too_often_is_turned_away() {
    let (_folder, root) = small();
    let server = Server::of(&[&root], &[]);
    let dawdling: Vec<TcpStream> = (0..32)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
            stream
        })
        .collect();
    assert!(server.turns_away());
    for stream in dawdling {
        assert_eq!(Answer::from(stream).status, 408);
    }
    // Their places are free again, sooner or later.
    let end = Instant::now() + PATIENCE;
    while server.turns_away() {
        assert!(Instant::now() < end, "no place is given back");
    }
}

#[test]
fn other_machines_may_ask_only_if_that_was_said() {
    let (_folder, root) = small();
    let output = program()
        .arg("serve")
        .arg(&root)
        .args(["--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let server = Server::of(&[&root], &["--listen", "0.0.0.0:0", "--allow-remote"]);
    let local = SocketAddr::from(([127, 0, 0, 1], server.address.port()));
    for (host, status) in [("192.168.1.7:80", 200), ("evil.example", 421)] {
        let mut stream = TcpStream::connect(local).unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(Answer::from(stream).status, status, "{host}");
    }
}

#[test]
fn a_port_in_use_is_named_and_ctrl_c_ends_it() {
    let (_folder, root) = small();
    let mut server = Server::of(&[&root], &[]);
    let address = server.address.to_string();
    let output = program()
        .arg("serve")
        .arg(&root)
        .args(["--listen", &address])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        format!(
            "error: --listen {address}: address already in use\n  next: the same command with --listen 127.0.0.1:0, for a port that is free\n"
        )
    );
    interrupt(&server.child);
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

/// A campaign of the demo that goes on until it is killed.
fn fuzz(folder: &Path) -> Child {
    fs::write(folder.join("t.wasm"), sandglass_guests::RUST_DEMO.wasm).unwrap();
    program()
        .args(["fuzz", "t.wasm", "--out", "o", "--fuel", "100k", "--json"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_campaign_is_followed_while_it_runs_is_killed_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("o");
    let mut child = fuzz(folder.path());
    let end = Instant::now() + PATIENCE;
    while !root.join("campaign.toml").exists() {
        assert!(Instant::now() < end, "the campaign does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    let server = Server::of(&[&root], &[]);
    let state = server.until("/0/state.json", |state| {
        state["counters"]["execs"].as_u64() > Some(0) && state["corpus"].as_u64() > Some(3)
    });
    assert_eq!(state["state"], "running");
    child.kill().unwrap();
    child.wait().unwrap();
    let before = server.json("/0/state.json")["execs"].as_u64().unwrap();
    // Nobody holds the lock: it goes on although it is being looked at, and may cut its log.
    let mut child = fuzz(folder.path());
    server.until("/0/state.json", |state| {
        state["execs"].as_u64() > Some(before)
    });
    assert!(child.try_wait().unwrap().is_none(), "it was refused");
    interrupt(&child);
    child.wait().unwrap();
    let state = server.until("/0/state.json", |state| state["state"] == "ended");
    assert_eq!(state["ended"], "interrupted");
    assert_eq!(state["execs"], state["counters"]["execs"]);
}

/// Somebody who has joined others in a folder.
struct Peer {
    folder: Folder,
    me: WorkerId,
}

impl Peer {
    fn join(path: &Path) -> Peer {
        let me = WorkerId::new("w-1").unwrap();
        let folder = Folder::join(path, &me).unwrap();
        Peer { folder, me }
    }

    fn entry(&self, input: &[u8], edges: &[(u32, u8)]) -> Entry {
        Entry {
            input: input.to_vec(),
            choices: None,
            claim: Some(Coverage {
                module: [0xab; 32],
                edges: edges.to_vec(),
                fuel: 1,
                valid: true,
            }),
            worker: self.me.clone(),
        }
    }

    fn offer(&mut self, number: u32) {
        let entry = self.entry(&number.to_le_bytes(), &[(7, 1), (100 + number, 3)]);
        self.folder.offer(&entry).unwrap();
    }

    fn find(&mut self, name: &str) {
        let finding = encode_checked(&self.entry(b"boom", &[])).unwrap();
        let key = Key::new(format!("finding-{name}")).unwrap();
        let put = self.folder.put_if(&key, Revision(0), &finding);
        put.unwrap().unwrap();
    }

    fn beat(&mut self, execs: u64) {
        let beat = Beat {
            worker: self.me.clone(),
            doing: "fuzz".into(),
            execs,
            corpus: 2,
            edges: 3,
            findings: 1,
            refused: 0,
        };
        self.folder.beat(&beat).unwrap();
    }
}

#[test]
fn what_meets_is_shown_and_nothing_is_touched() {
    let (folder, root) = small();
    let meet = folder.path().join("meet");
    let mut peer = Peer::join(&meet);
    (0..3).for_each(|number| peer.offer(number));
    peer.find("trap-0123456789abcdef");
    peer.beat(1_234);
    let before = contents(&meet);
    let join = ["--join", meet.to_str().unwrap()];
    let server = Server::of(&[&root], &join);
    let state = server.until("/state.json", |state| state["meeting"]["entries"] == 3);
    let meeting = &state["meeting"];
    assert_eq!(meeting["is_there"], true);
    assert_eq!(meeting["modules"][0]["edges"], 4);
    assert_eq!(meeting["modules"][0]["module"], "ab".repeat(8));
    assert_eq!(meeting["findings_total"], 1);
    assert_eq!(meeting["findings"][0]["name"], "trap-0123456789abcdef");
    assert_eq!(meeting["findings"][0]["input_bytes"], 4);
    let workers = state["workers"].as_array().unwrap();
    let names: Vec<&str> = workers
        .iter()
        .map(|one| one["worker"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["c.sandglass", "w-1"]);
    assert_eq!(workers[1]["execs"], 1_234);
    let page = server.get("/").text();
    for part in [
        "Where campaigns meet",
        "trap-0123456789abcdef",
        "href=\"/0/\"",
        "1,234",
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    assert!(server.get("/0/").text().contains("Where campaigns meet"));
    assert_eq!(contents(&meet), before);
    // It follows what comes, and who goes.
    peer.offer(9);
    peer.beat(5_678);
    let state = server.until("/state.json", |state| {
        state["meeting"]["entries"] == 4 && state["workers"][1]["execs"] == 5_678
    });
    assert_eq!(state["meeting"]["modules"][0]["edges"], 5);
    drop(peer);
    fs::remove_dir_all(&meet).unwrap();
    let state = server.until("/state.json", |state| state["meeting"]["is_there"] == false);
    assert_eq!(state["workers"].as_array().unwrap().len(), 1, "{state}");
    // Whoever comes back is found again, with what is there now.
    let mut peer = Peer::join(&meet);
    peer.offer(1);
    server.until("/state.json", |state| {
        state["meeting"]["is_there"] == true && state["meeting"]["entries"] == 1
    });
}

/// What a browser has made of a page while it changed: our script alone ran, and nothing of a hostile name.
fn check_kept_up(dom: &str) {
    let tag = tag(dom);
    assert!(tag.contains("data-renewed=\""), "it never changed: {tag}");
    assert!(!tag.contains("broken"), "{tag}");
    assert!(!dom.contains("<img"), "a name became a part of the page");
    assert_eq!(dom.matches("<script").count(), 1, "ours alone");
    assert!(!dom.contains("No answer"), "it lost its server");
}

/// Without a campaign of our own, and in a place that is called like an attack.
#[test]
fn a_browser_shows_a_meeting_of_a_hostile_name_as_text_and_keeps_up() {
    let folder = tempfile::tempdir().unwrap();
    let meet = folder.path().join(HOSTILE.replace('/', "|"));
    let mut peer = Peer::join(&meet);
    peer.find("trap-0123456789abcdef");
    let server = Server::of(&[], &["--join", meet.to_str().unwrap()]);
    let is_over = AtomicBool::new(false);
    let dom = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                peer.offer(number);
                peer.beat(u64::from(number));
                number += 1;
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let dom = visited(folder.path(), &server.page("/"), 4000);
        is_over.store(true, Ordering::Relaxed);
        dom
    });
    let page = server.get("/").text();
    assert!(!page.contains("<img") && page.contains("&lt;img"), "{page}");
    let Some(dom) = dom else {
        println!("left out: no browser is installed");
        return;
    };
    check_kept_up(&dom);
    assert!(dom.contains("trap-0123456789abcdef"), "{dom}");
}

/// Adds a line to the log of a campaign, in two pieces.
fn append(root: &Path, line: &str) {
    let log = root.join("events.jsonl");
    let mut log = OpenOptions::new().append(true).open(log).unwrap();
    let (head, rest) = line.split_at(line.len() / 2);
    log.write_all(head.as_bytes()).unwrap();
    log.write_all(format!("{rest}\n").as_bytes()).unwrap();
}

#[test]
fn a_browser_shows_hostile_names_as_text_and_keeps_up() {
    let (folder, root) = small();
    // A file of the system can be called anything but for a slash.
    let name = HOSTILE.replace('/', "|");
    large::finding(&root, 7, Some(&name));
    let link = folder.path().join(format!("{name}.sandglass"));
    fs::rename(&root, &link).unwrap();
    let server = Server::of(&[&link], &[]);
    let is_over = AtomicBool::new(false);
    let dom = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut id = 30;
            while !is_over.load(Ordering::Relaxed) {
                append(&link, &large::kept(&link, id, true).to_json());
                id += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let dom = visited(folder.path(), &server.page("/"), 600);
        is_over.store(true, Ordering::Relaxed);
        dom
    });
    let Some(dom) = dom else {
        println!("left out: no browser is installed");
        return;
    };
    check_kept_up(&dom);
    assert_eq!(dom.matches("<details class=\"bug\"").count(), 4);
    assert!(dom.contains("&lt;img src=x onerror="), "names are shown");
    let kept = dom
        .split("inputs kept")
        .next()
        .and_then(|before| before.rsplit("<b>").next());
    // On a slow machine it is thousands, and those have commas.
    let kept = kept.and_then(|text| text.split('<').next()?.replace(',', "").parse::<u64>().ok());
    assert!(kept > Some(30), "{kept:?} inputs in the page");
}

#[test]
fn a_page_in_the_folder_runs_alone() {
    let (folder, root) = small();
    let page = r#"<!doctype html><html><head></head><body><script>
        const says = document.documentElement.dataset;
        says.ran = 1;
        fetch("/state.json").then(() => { says.broken = 1; }, () => { says.refused = 1; });
        const image = new Image();
        image.onload = () => { says.broken = 2; };
        image.onerror = () => { says.pictures = "none"; };
        image.src = "/icon.svg";
        try { localStorage.x = 1; says.broken = 3; } catch { says.origin = "none"; }
        </script></body></html>"#;
    fs::write(root.join("cover.html"), page).unwrap();
    let server = Server::of(&[&root], &[]);
    let Some(dom) = visited(folder.path(), &server.page("/0/coverage"), 5) else {
        println!("left out: no browser is installed");
        return;
    };
    let tag = tag(&dom);
    for wanted in [
        "data-ran=\"1\"",
        "data-refused=\"1\"",
        "data-pictures=\"none\"",
        "data-origin=\"none\"",
    ] {
        assert!(tag.contains(wanted), "{wanted} is missing in {tag}");
    }
    assert!(!tag.contains("broken"), "{tag}");
    // Nor does the report need more than it is given.
    let dom = visited(folder.path(), &server.page("/0/report"), 5).unwrap();
    assert!(
        dom.contains("How it went") && !dom.contains("<img"),
        "{dom}"
    );
}

#[test]
fn a_hundred_thousand_inputs_open_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("c.sandglass");
    large::campaign(&root, 100_000, 300);
    let server = Server::of(&[&root], &[]);
    let timed = |path: &str| {
        let began = Instant::now();
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}");
        (answer.text(), began.elapsed().as_millis() as f64)
    };
    let (_, first_ms) = timed("/");
    // Whatever is left of the log is read by then.
    server.until("/0/state.json", |state| state["behind_bytes"] == 0);
    let (page, again_ms) = timed("/");
    let (state, json_ms) = timed("/0/state.json");
    assert!(page.contains("<b>100,000</b>"), "all of them are counted");
    assert!(
        page.len() < 2 << 20 && state.len() < 1 << 20,
        "{} and {} bytes",
        page.len(),
        state.len()
    );
    // What a browser makes of it, with what it would have loaded.
    let style = format!("<style>{}</style>", server.get("/style.css").text());
    let whole = page.replace("<link rel=\"stylesheet\" href=\"/style.css\">", &style);
    let shown_ms = load_ms(folder.path(), &whole);
    let log_bytes = fs::metadata(root.join("events.jsonl")).unwrap().len();
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id()));
    let memory = status.unwrap_or_default();
    let memory = memory.lines().find(|line| line.starts_with("VmHWM"));
    println!(
        "log {log_bytes} bytes: first page {first_ms} ms, again {again_ms} ms, JSON {json_ms} ms ({} bytes), shown in {shown_ms:?} ms ({} bytes); {memory:?}",
        state.len(),
        page.len()
    );
    let all_ms = first_ms + shown_ms.unwrap_or(0.0);
    assert!(all_ms < 2_000.0, "opened in {all_ms} ms");
}
