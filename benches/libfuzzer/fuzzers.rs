//! The two fuzzers, run as their users run them: one process, one worker, seeds, a seed for the
//! random numbers, a maximum length.
//!
//! Both get the same CPU time, and are asked to end with SIGINT when it is used up. Departures
//! from defaults, all in libFuzzer's favour: it does not look for units of other processes every
//! second (`-reload=0`), does not symbolise what it covers (`-print_funcs=0`), does not look for
//! leaks; and where it ends at its first crash it is started again on its corpus.
//!
//! Sandglass' modules are instrumented and compiled before the first campaign ([`warm_up`]), as
//! libFuzzer's programs are; each campaign pays for its own start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{Ran, run};

/// Length of inputs at most, for both.
pub(crate) const INPUT_BYTES_MAX: u32 = 4096;

/// Which fuzzer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fuzzer {
    /// Ours, full reset before each run.
    Sandglass,
    /// libFuzzer without a sanitizer.
    Libfuzzer,
    /// libFuzzer with AddressSanitizer.
    LibfuzzerAsan,
}

/// A finished campaign.
#[derive(Clone, Debug)]
pub(crate) struct Campaign {
    /// Executions.
    pub(crate) execs: u64,
    /// CPU seconds, start and end included.
    pub(crate) cpu_s: f64,
    /// Seconds on the wall.
    pub(crate) wall_s: f64,
    /// Folders whose files are its corpus.
    pub(crate) corpus: Vec<PathBuf>,
    /// Different findings, or crashes after which it was started again.
    pub(crate) findings: u64,
}

impl Fuzzer {
    /// How results name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fuzzer::Sandglass => "sandglass",
            Fuzzer::Libfuzzer => "libfuzzer",
            Fuzzer::LibfuzzerAsan => "libfuzzer-asan",
        }
    }

    /// Fuzzes a subject from its seeds, for `budget` of CPU time or executions, in a new `folder`.
    ///
    /// # Panics
    /// When a program is missing or does not do what it should.
    pub(crate) fn campaign(
        self,
        subject: &str,
        seed: u64,
        budget: Budget,
        folder: &Path,
    ) -> Campaign {
        if folder.exists() {
            fs::remove_dir_all(folder).expect("a folder of ours");
        }
        fs::create_dir_all(folder).expect("a new folder");
        match self {
            Fuzzer::Sandglass => sandglass(subject, seed, budget, folder),
            _ => libfuzzer(self, subject, seed, budget, folder),
        }
    }
}

/// When a campaign ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    /// CPU seconds.
    Cpu(f64),
    /// Executions.
    Execs(u64),
}

/// Compiles a subject for campaigns and for replays of findings, into our own cache; a short campaign does. CPU seconds.
pub(crate) fn warm_up(subject: &str) -> f64 {
    let folder = work(&format!("warm-up-{}", std::process::id()));
    let campaign = Fuzzer::Sandglass.campaign(subject, 1, Budget::Execs(20_000), &folder);
    let mut repro = sandglass_command();
    let seeds = fs::read_dir(seeds(subject)).expect("every subject has seeds");
    let seeds = seeds.map(|entry| entry.expect("readable").path());
    repro.arg("repro").arg(module(subject)).args(seeds);
    let repro = run(&mut repro, None, &folder);
    assert!(
        repro.status.code() == Some(0),
        "{subject}: a seed does not run: {}{}",
        repro.stdout,
        repro.stderr
    );
    campaign.cpu_s + repro.cpu_s
}

fn sandglass(subject: &str, seed: u64, budget: Budget, folder: &Path) -> Campaign {
    let out = folder.join("campaign");
    let mut command = sandglass_command();
    command
        .arg("fuzz")
        .arg(module(subject))
        .arg(seeds(subject))
        .args(["--workers", "1", "--json"])
        .args(["--seed", &seed.to_string()])
        .args(["--max-len", &INPUT_BYTES_MAX.to_string()])
        .arg("--out")
        .arg(&out);
    let budget_s = match budget {
        Budget::Cpu(seconds) => Some(seconds),
        Budget::Execs(execs) => {
            command.args(["--execs", &execs.to_string()]);
            None
        }
    };
    let ran = run(&mut command, budget_s, folder);
    let summary = ran.stdout.lines().last().unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_str(summary)
        .unwrap_or_else(|e| panic!("{subject}: no summary ({e}): {}", ran.stderr));
    let number = |name: &str| {
        summary[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no `{name}` in {summary}"))
    };
    Campaign {
        execs: number("execs"),
        cpu_s: ran.cpu_s,
        wall_s: ran.wall_s,
        corpus: vec![out.join("corpus"), seeds(subject)],
        findings: number("unique_findings"),
    }
}

fn libfuzzer(fuzzer: Fuzzer, subject: &str, seed: u64, budget: Budget, folder: &Path) -> Campaign {
    let corpus = folder.join("corpus");
    fs::create_dir(&corpus).expect("a new folder");
    let mut total = Campaign {
        execs: 0,
        cpu_s: 0.0,
        wall_s: 0.0,
        corpus: vec![corpus.clone(), seeds(subject)],
        findings: 0,
    };
    loop {
        let mut command = libfuzzer_command(fuzzer, subject, folder);
        // A restart with the same seed would repeat itself.
        command.arg(format!("-seed={}", seed + 1_000_000 * total.findings));
        let (runs, left_s) = match budget {
            Budget::Cpu(seconds) => (None, Some(seconds - total.cpu_s)),
            Budget::Execs(execs) => (Some(execs - total.execs), None),
        };
        if let Some(runs) = runs {
            command.arg(format!("-runs={runs}"));
        }
        let ran = run(command.arg(&corpus).arg(seeds(subject)), left_s, folder);
        total.execs += executions(&ran);
        total.cpu_s += ran.cpu_s;
        total.wall_s += ran.wall_s;
        let done = match budget {
            Budget::Cpu(seconds) => ran.interrupted || total.cpu_s >= seconds,
            Budget::Execs(execs) => total.execs >= execs,
        };
        if done {
            return total;
        }
        assert!(
            total.findings < 1000,
            "{subject}: libFuzzer does not get going: {}",
            ran.stderr
        );
        total.findings += 1;
    }
}

/// libFuzzer with the settings that every measurement shares; artifacts go to `folder`.
pub(crate) fn libfuzzer_command(fuzzer: Fuzzer, subject: &str, folder: &Path) -> Command {
    let mut command = Command::new(native(fuzzer, subject));
    command
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .args(["-reload=0", "-print_funcs=0", "-detect_leaks=0"])
        .arg("-print_final_stats=1")
        .arg(format!("-artifact_prefix={}/", folder.display()));
    command
}

/// The number of executions that libFuzzer says it made. If it hung when it was interrupted, the last
/// number that it printed on the way: a power of two, or of something new.
pub(crate) fn executions(ran: &Ran) -> u64 {
    let line = |line: &str| {
        line.strip_prefix("stat::number_of_executed_units:")?
            .trim()
            .parse()
            .ok()
    };
    let progress = |line: &str| {
        let number = line.strip_prefix('#')?.split_whitespace().next()?;
        number.parse().ok()
    };
    let found = ran.stderr.lines().find_map(line).or_else(|| {
        let lines = ran.stderr.lines().rev();
        lines.filter(|_| ran.interrupted).find_map(progress)
    });
    found.unwrap_or_else(|| panic!("libFuzzer ended without its statistics: {}", ran.stderr))
}

fn sandglass_command() -> Command {
    let own = std::env::current_exe().expect("a program knows its path");
    let program = own.with_file_name("sandglass");
    assert!(
        program.exists(),
        "{} is missing: cargo build --release -p sandglass-runtime",
        program.display()
    );
    let mut command = Command::new(program);
    command.env("SANDGLASS_CACHE", cache());
    command
}

/// Where compiled modules are kept: apart from the user's own.
pub(crate) fn cache() -> PathBuf {
    work("cache")
}

/// A folder or file of ours below `target/libfuzzer`.
pub(crate) fn work(name: &str) -> PathBuf {
    root().join("target/libfuzzer").join(name)
}

/// The seeds of a subject.
pub(crate) fn seeds(subject: &str) -> PathBuf {
    root().join("guests/subjects").join(subject).join("seeds")
}

fn module(subject: &str) -> PathBuf {
    root().join(format!("target/subjects/{subject}.wasm"))
}

fn native(fuzzer: Fuzzer, subject: &str) -> PathBuf {
    let suffix = match fuzzer {
        Fuzzer::LibfuzzerAsan => "-asan",
        _ => "",
    };
    root().join(format!("target/subjects-native/{subject}{suffix}"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("benches lie in the workspace")
}
