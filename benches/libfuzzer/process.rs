//! Programs run as children, and the CPU time that they took.
//!
//! CPU time is user and system time of all threads, as the kernel adds it up when a child is
//! reaped (`cutime` and `cstime` of `/proc/self/stat`, in hundredths of a second). Other jobs on
//! the machine change it little; they change wall time a lot. Linux only, one child at a time.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Ticks of `/proc` in a second: `USER_HZ`, which is 100 wherever Linux runs.
const TICKS: f64 = 100.0;

/// Between two looks at a child's CPU time; the overrun is at most this.
const LOOK: Duration = Duration::from_millis(10);

/// CPU seconds that a child may take to end after it was asked to. One that was started where SIGINT
/// is ignored, as in the background of a script, never does.
fn grace_s(budget_s: f64) -> f64 {
    (budget_s / 6.0).max(1.0)
}

/// Time that a child may take to end, however little it works: libFuzzer's handler takes locks, and once
/// in a hundred campaigns it waited for one for ever.
const END_WITHIN: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 30 });

/// A child that ended.
pub(crate) struct Ran {
    /// CPU seconds, start-up and end included.
    pub(crate) cpu_s: f64,
    /// Seconds on the wall.
    pub(crate) wall_s: f64,
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// Whether we asked it to end, because its CPU time was used up.
    pub(crate) interrupted: bool,
    /// What it wrote to standard output.
    pub(crate) stdout: String,
    /// What it wrote to standard error.
    pub(crate) stderr: String,
}

/// Runs a command to its end; after `budget_s` CPU seconds it is asked to end, as by Ctrl-C, and
/// [`grace_s`] later it is killed. What it writes goes through files in `folder`, which must exist.
///
/// # Panics
/// When the world fails us: no such program, no `/proc`.
pub(crate) fn run(command: &mut Command, budget_s: Option<f64>, folder: &Path) -> Ran {
    let (out, err) = (folder.join("stdout.log"), folder.join("stderr.log"));
    let file = |path| File::create(path).expect("a file in the work folder");
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file(&out))
        .stderr(file(&err))
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}", command.get_program().display()));
    let mut interrupted = None;
    let (status, cpu_s) = loop {
        // What has been reaped before this child: `kill` is a child too.
        let before = reaped_s();
        if let Some(status) = wait(&mut child, budget_s.is_none()) {
            break (status, reaped_s() - before);
        }
        sleep(LOOK);
        let Some(budget_s) = budget_s else { continue };
        let used_s = used_s(child.id());
        let Some(since) = interrupted else {
            if used_s >= budget_s {
                interrupt(&child);
                interrupted = Some(Instant::now());
            }
            continue;
        };
        // A handler of signals that waits for a lock uses no CPU time, and never ends.
        if used_s >= budget_s + grace_s(budget_s) || since.elapsed() >= END_WITHIN {
            child.kill().expect("our own child");
        }
    };
    let read = |path| String::from_utf8_lossy(&fs::read(path).expect("just written")).into_owned();
    Ran {
        cpu_s,
        wall_s: began.elapsed().as_secs_f64(),
        status,
        interrupted: interrupted.is_some(),
        stdout: read(out),
        stderr: read(err),
    }
}

fn wait(child: &mut Child, to_the_end: bool) -> Option<ExitStatus> {
    match to_the_end {
        true => child.wait().map(Some),
        false => child.try_wait(),
    }
    .expect("our own child")
}

/// Sends SIGINT. With the program `kill`, because the system call is not to be had in safe Rust
/// without one more dependency.
fn interrupt(child: &Child) {
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
    // It may have ended just now; otherwise it would run for ever, so better tell.
    kill.expect("the program `kill` of procps or coreutils");
}

/// CPU seconds of a running (or unreaped) child.
fn used_s(pid: u32) -> f64 {
    let [own, _] = times_s(&format!("/proc/{pid}/stat"));
    own
}

/// CPU seconds of all children that were waited for.
fn reaped_s() -> f64 {
    let [_, children] = times_s("/proc/self/stat");
    children
}

fn times_s(path: &str) -> [f64; 2] {
    parse(&fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}; this needs Linux")))
}

/// User plus system seconds of a process, and of its reaped children: fields 14 to 17 of its `stat`
/// (proc(5)). The second field, the name, may hold anything.
fn parse(stat: &str) -> [f64; 2] {
    let (_, rest) = stat
        .rsplit_once(')')
        .expect("the name of a process is in parentheses");
    let ticks = rest
        .split_whitespace()
        .skip(11)
        .take(4)
        .map(|field| field.parse::<f64>().expect("a number of ticks"))
        .collect::<Vec<_>>();
    [(ticks[0] + ticks[1]) / TICKS, (ticks[2] + ticks[3]) / TICKS]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_may_hold_anything() {
        let stat = "9346 (a) b (c)) S 9343 9343 4751 0 -1 4194304 21891 103 0 0 39 2 7 11 20 0 1 0";
        assert_eq!(parse(stat), [0.41, 0.18]);
    }

    #[test]
    fn a_busy_child_is_stopped_by_its_cpu_time() {
        let folder = std::env::temp_dir().join(format!("sandglass-process-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let busy = run(
            Command::new("sh").args(["-c", "echo on; while :; do :; done"]),
            Some(0.2),
            &folder,
        );
        let deaf = run(
            Command::new("sh").args(["-c", "trap '' INT; while :; do :; done"]),
            Some(0.1),
            &folder,
        );
        let stuck =
            "trap 'sleep 10' INT; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 10";
        let stuck = run(Command::new("sh").args(["-c", stuck]), Some(0.02), &folder);
        let idle = run(Command::new("sleep").arg("0.1"), Some(5.0), &folder);
        fs::remove_dir_all(&folder).expect("our own folder");
        // Half a tick less: the difference of two sums of ticks is rounded.
        let least = |s: f64| s - 0.5 / TICKS;
        assert!(
            busy.interrupted && busy.cpu_s >= least(0.2),
            "{}",
            busy.cpu_s
        );
        assert_eq!(busy.stdout, "on\n");
        // On a busy machine its second of grace may take longer than it is given on the clock.
        let has_had_its_time = deaf.cpu_s >= least(1.1) || deaf.wall_s >= END_WITHIN.as_secs_f64();
        assert!(
            deaf.interrupted && has_had_its_time,
            "{} of {}",
            deaf.cpu_s,
            deaf.wall_s
        );
        assert!(stuck.interrupted && stuck.wall_s >= 2.0, "{}", stuck.wall_s);
        assert!(!idle.interrupted && idle.cpu_s < 0.1, "{}", idle.cpu_s);
        assert!(idle.status.success() && idle.wall_s >= 0.1);
    }
}
