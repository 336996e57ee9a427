//! The status screen in a real terminal, tmux's: figures while a campaign runs, lines when it has ended, and
//! nothing drawn where nobody looks. Without tmux most of it is left out, and says so.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sandglass_guests::C_DEMO;
use sandglass_tests::installed::left_out;

/// What the screen says and lines do not.
const ON_SCREEN: &str = "left to find";

/// A line of findings.
const FINDING: &str = "FINDING trap at execution";

/// A server of tmux of one's own, which ends with the test.
struct Tmux {
    folder: tempfile::TempDir,
}

impl Tmux {
    /// `None` where there is no tmux.
    fn new() -> Option<Tmux> {
        if Command::new("tmux").arg("-V").output().is_err() {
            left_out("tmux is not installed");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("demo.wasm"), C_DEMO.wasm_o0).unwrap();
        Some(Tmux { folder })
    }

    fn run(&self, args: &[&str]) -> String {
        let output = Command::new("tmux")
            .arg("-S")
            .arg(self.folder.path().join("tmux"))
            .args(["-f", "/dev/null"])
            .args(args)
            .env_remove("TMUX")
            .env_remove("CI")
            .env_remove("NO_COLOR")
            .env("TERM", "xterm")
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A terminal of 100 columns and 30 rows in which this runs.
    fn start(&self, command: &str) {
        let command = format!("cd '{}'; {command}", self.folder.path().display());
        let size = ["-x", "100", "-y", "30"];
        let session = ["new-session", "-d"];
        self.run(&[&session[..], &size, &["sh", "-c", &command]].concat());
    }

    fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    /// What is on the terminal and above it.
    fn shown(&self) -> String {
        self.run(&["capture-pane", "-p", "-J", "-S", "-200"])
    }

    /// The same, once it is so.
    fn wait_for(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let shown = self.shown();
            if is_so(&shown) {
                return shown;
            }
            assert!(
                began.elapsed() < Duration::from_secs(120),
                "waited for {what:?} in\n{shown}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn wait_for_text(&self, text: &str) -> String {
        self.wait_for(text, |shown| shown.contains(text))
    }

    /// Whether the terminal shows its second page, and its cursor.
    fn modes(&self) -> String {
        let modes = self.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        modes.trim().to_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

/// A campaign on the demo that is in the folder; it has findings.
fn campaign(options: &str) -> String {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache");
    format!(
        "SANDGLASS_CACHE='{}' '{}' fuzz demo.wasm --fuel 1M --out o {options}",
        cache.display(),
        env!("CARGO_BIN_EXE_sandglass-dup"),
    )
}

/// What follows the name of a figure.
fn figure<'a>(shown: &'a str, name: &str) -> &'a str {
    let (_, rest) = shown.split_once(name).unwrap_or_default();
    rest.split_whitespace().next().unwrap_or_default()
}

/// Lines of findings are there, each once, and the commands that replay them.
fn has_findings(shown: &str) {
    let lines: Vec<&str> = shown.lines().filter(|l| l.contains(FINDING)).collect();
    let mut once = lines.clone();
    once.sort_unstable();
    once.dedup();
    assert!(!lines.is_empty() && lines.len() == once.len(), "{shown}");
    let replays = shown.matches("    replay: sandglass repro demo.wasm o/findings/");
    assert!(replays.count() >= lines.len(), "{shown}");
}

#[test]
fn a_terminal_shows_figures_and_ctrl_c_brings_the_lines() {
    let Some(tmux) = Tmux::new() else { return };
    // The shell gets the signal, too, and should go on.
    tmux.start(&format!(
        "trap : INT; echo before; {}; echo done-$?; exec sleep 600",
        campaign("--time 10m")
    ));
    let shown = tmux.wait_for("a finding", |shown| {
        shown.contains(ON_SCREEN) && shown.contains("trap: ") && shown.contains("edges reached")
    });
    assert_eq!(tmux.modes(), "1 0");
    let execs: u64 = figure(&shown, "executions")
        .replace(',', "")
        .parse()
        .unwrap();
    assert!(execs > 0, "{shown}");
    for name in ["per second", "edges", "corpus", "valid", "cost record"] {
        assert!(
            figure(&shown, name).starts_with(|c: char| c.is_ascii_digit()),
            "{name}: {shown}"
        );
    }
    // The scale of the curve, and how far the session is.
    let is_foot = |line: &str| line.contains(" 0, 0.0s") && line.contains(" executions, ");
    assert!(shown.lines().any(is_foot), "{shown}");
    let head = shown.lines().next().unwrap_or_default();
    assert!(head.contains("s of 10m00s"), "{shown}");
    // It is alive, and what is typed does not stay.
    tmux.keys(&["x", "Enter", "y"]);
    tmux.wait_for("more executions", |shown| {
        let now = figure(shown, "executions").replace(',', "").parse();
        now.is_ok_and(|now: u64| now > execs)
    });
    // It follows the size.
    tmux.run(&["resize-window", "-x", "50", "-y", "12"]);
    tmux.wait_for("a smaller picture", |shown| {
        shown.lines().count() <= 12
            && shown.contains(ON_SCREEN)
            && shown.lines().all(|line| line.chars().count() <= 50)
    });
    tmux.run(&["resize-window", "-x", "100", "-y", "30"]);
    tmux.keys(&["C-c"]);
    let ended = tmux.wait_for_text("done-1");
    assert_eq!(tmux.modes(), "0 1");
    assert!(
        ended.contains("before\n") && !ended.contains(ON_SCREEN),
        "{ended}"
    );
    assert!(
        ended.contains("ended: interrupted; the same command goes on"),
        "{ended}"
    );
    has_findings(&ended);
}

#[test]
fn a_session_that_ends_by_itself_leaves_its_lines() {
    let Some(tmux) = Tmux::new() else { return };
    tmux.start(&format!(
        "{}; echo done-$?; exec sleep 600",
        campaign("--execs 300k")
    ));
    let ended = tmux.wait_for_text("done-1");
    assert_eq!(tmux.modes(), "0 1");
    assert!(!ended.contains(ON_SCREEN), "{ended}");
    assert!(ended.contains("ended: all executions done"), "{ended}");
    has_findings(&ended);
}

#[test]
fn a_suspended_session_lends_the_terminal_to_the_shell() {
    let Some(tmux) = Tmux::new() else { return };
    if Command::new("bash").arg("--version").output().is_err() {
        left_out("bash is not installed");
        return;
    }
    tmux.start("PS1='$ ' exec bash --norc --noprofile -i");
    let command = campaign("--time 10m");
    tmux.keys(&["-l", &command]);
    tmux.keys(&["Enter"]);
    tmux.wait_for_text(ON_SCREEN);
    tmux.keys(&["C-z"]);
    tmux.wait_for_text("Stopped");
    assert_eq!(tmux.modes(), "0 1");
    tmux.keys(&["-l", "fg"]);
    tmux.keys(&["Enter"]);
    tmux.wait_for_text(ON_SCREEN);
    assert_eq!(tmux.modes(), "1 0");
    tmux.keys(&["C-c"]);
    tmux.wait_for_text("ended: interrupted");
    assert_eq!(tmux.modes(), "0 1");
}

#[test]
fn who_wants_lines_gets_lines() {
    if Tmux::new().is_none() {
        return;
    }
    // Each on a server of its own: one that is ending still takes calls.
    let lines = |before: &str, options: &str| {
        let tmux = Tmux::new().unwrap();
        let command = campaign(&format!("--execs 20k {options}"));
        let path = tmux.folder.path().join("typed");
        // All that the terminal is sent.
        tmux.start(&format!("exec sh -c \"sleep 1; rm -rf o; export {before}; {command}; echo done-\\$?; exec sleep 600\""));
        tmux.run(&["pipe-pane", &format!("cat > '{}'", path.display())]);
        tmux.wait_for_text("done-");
        fs::read_to_string(&path).unwrap()
    };
    for (before, options) in [
        ("TERM=dumb", ""),
        ("CI=true", ""),
        ("X=", "--plain"),
        ("X=", "--json"),
    ] {
        let sent = lines(before, options);
        assert!(sent.contains("demo.wasm"), "{before} {options}: {sent}");
        assert!(!sent.contains("\u{1b}["), "{before} {options}: {sent:?}");
    }
    // This way of looking sees what there is to see.
    assert!(lines("X=", "").contains("\u{1b}[?1049h"));
}

#[test]
fn nothing_is_drawn_into_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("demo.wasm"), C_DEMO.wasm_o0).unwrap();
    let output = Command::new("sh")
        .args(["-c", &campaign("--execs 20k")])
        .current_dir(folder.path())
        .env("TERM", "xterm")
        .env_remove("CI")
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("ended: all executions done"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}
