//! The cost of `--sanitize heap`, beside that of AddressSanitizer.
//!
//! The six programs of `overhead` (and n-body, which is not in the mean) run their fixed input in turns: in the build that
//! campaigns use, in the one that watches memory, and in the first again as a control, reset included; then natively, by
//! clang with libFuzzer's counters, without and with `-fsanitize=address`, and without again.
//!
//! Of these only SQLite has an allocator; the others show what checks of loads and stores cost. n-body costs most, 3.7: nearly all
//! its operators are loads and stores of floats in one global array, and its time is in compiled code but for 1 %.
//!
//! A time is CPU time of one run, and a figure the quotient of the 20th percentiles of all runs: other work on the machine
//! only ever adds. Prints a Markdown table. Without clang (`CLANG=…`, clang-14 else) there is no native half, and SQLite
//! needs `guests/build-subjects.sh sqlite`. `CASE=name` measures one program, `HEAP=1` only runs it in the build that watches,
//! for a profiler.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use sandglass_benches::{
    Size, geometric_mean, heading, println, programs, quantile, sandbox, thread_cpu_ns,
};
use sandglass_engine::Interest;
use sandglass_sandbox::{Build, on_guest_thread};

fn main() {
    let size = Size::from_args();
    heading("memory", size);
    let programs = programs();
    let rounds = size.pick(1, 41);
    let only_heap = std::env::var_os("HEAP").is_some();
    // Compiling SQLite takes longer than a test should.
    let folder = (size == Size::Large && !only_heap)
        .then(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory"));
    println!(
        "| program | plain, us | heap / plain | plain / plain | native, us | ASan / native | native / native |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let (mut heap, mut asan) = (Vec::new(), Vec::new());
    for (name, wasm, input) in &programs {
        let mut natives = folder
            .as_deref()
            .map_or_else(Vec::new, |folder| natives(folder, name, input));
        let (wasm_times, native_times) = on_guest_thread(|| {
            if only_heap {
                let mut run = in_sandbox(name, wasm, Build::Heap, input);
                (0..1000).for_each(|_| run());
                return (vec![1.0; 3], Vec::new());
            }
            let builds = [Build::Fast, Build::Heap, Build::Fast];
            let mut sandboxes = builds.map(|build| in_sandbox(name, wasm, build, input));
            let mut times = vec![Vec::new(); 3 + natives.len()];
            // The first round is warming up.
            for round in 0..=rounds {
                let guests = sandboxes.iter_mut().map(cpu_ns);
                let all: Vec<f64> = guests.chain(natives.iter_mut().map(Native::run)).collect();
                if round > 0 {
                    times
                        .iter_mut()
                        .zip(all)
                        .for_each(|(times, time)| times.push(time));
                }
            }
            let mut times: Vec<f64> = times.iter_mut().map(|times| quantile(times, 0.2)).collect();
            let native = times.split_off(3);
            (times, native)
        });
        let ratio = |times: &[f64], n: usize| times[n] / times[0];
        let native = match native_times.as_slice() {
            [] => "| – | – | –".to_owned(),
            times => format!(
                "| {:.0} | {:.2} | {:.2}",
                times[0] / 1e3,
                ratio(times, 1),
                ratio(times, 2)
            ),
        };
        println!(
            "| {name} | {:.0} | {:.2} | {:.2} {native} |",
            wasm_times[0] / 1e3,
            ratio(&wasm_times, 1),
            ratio(&wasm_times, 2)
        );
        if *name != "nbody" {
            heap.push(ratio(&wasm_times, 1));
            asan.extend((!native_times.is_empty()).then(|| ratio(&native_times, 1)));
        }
    }
    if !heap.is_empty() {
        let native = match asan.as_slice() {
            [] => "–".to_owned(),
            asan => format!("{:.2}", geometric_mean(asan)),
        };
        println!(
            "| geometric mean | | {:.2} | | | {native} | |",
            geometric_mean(&heap)
        );
    }
}

/// A run in a sandbox of its own, which must end well.
fn in_sandbox(name: &str, wasm: &[u8], build: Build, input: &[u8]) -> impl FnMut() {
    let mut sandbox = sandbox(wasm, build);
    let interest = Interest::new(sandbox.program().probe_map().probes.len() as u32, 0);
    move || {
        let exit = sandbox.run(input, &interest, false).exit;
        assert!(!exit.is_finding(), "{name}: {exit:?}");
    }
}

/// CPU time of a call. The kernel brings its count up to date when a thread gives its core away.
fn cpu_ns(call: &mut impl FnMut()) -> f64 {
    let now = || {
        std::thread::sleep(Duration::from_micros(1));
        thread_cpu_ns()
    };
    let start = now();
    call();
    (now() - start) as f64
}

/// A native build that waits to be told to run: `benches/memory/timed.c`.
struct Native {
    child: Child,
    tell: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Native {
    fn start(program: &Path, input: &Path) -> Native {
        let mut child = Command::new(program)
            .arg(input)
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let tell = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Native {
            child,
            tell,
            answers,
        }
    }

    /// Nanoseconds of CPU time of one run.
    fn run(&mut self) -> f64 {
        self.tell.write_all(b"r").expect("it listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        line.trim().parse().expect("nanoseconds")
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plain, with AddressSanitizer, plain; none if there is no clang.
fn natives(folder: &Path, name: &str, input: &[u8]) -> Vec<Native> {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang-14".to_owned());
    if Command::new(&clang).arg("--version").output().is_err() {
        println!("{clang}: no such program, so there are no native builds");
        return Vec::new();
    }
    fs::create_dir_all(folder).expect("a folder");
    let given = folder.join(format!("{name}.input"));
    fs::write(&given, input).expect("written");
    let built = |is_address| match name {
        "sqlite" => build_sqlite(&clang, is_address),
        _ => build_small(&clang, folder, name, is_address),
    };
    let (plain, address) = (built(false), built(true));
    let programs = [&plain, &address, &plain];
    programs
        .map(|program| Native::start(program, &given))
        .into()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A program of `guests/bench`, with the optimisation of `guests/build-small.sh`.
fn build_small(clang: &str, folder: &Path, name: &str, is_address: bool) -> PathBuf {
    let suffix = if is_address { "-asan" } else { "" };
    let out = folder.join(format!("{name}{suffix}"));
    let mut command = Command::new(clang);
    command
        .args(["-O2", "-g", "-w", "-fno-builtin"])
        .arg("-fsanitize-coverage=inline-8bit-counters")
        .args(is_address.then_some("-fsanitize=address"))
        .arg(root().join(format!("guests/bench/{name}.c")))
        .arg(root().join("benches/memory/timed.c"))
        .args(["-lm", "-o"])
        .arg(&out);
    assert!(command.status().expect("clang runs").success(), "{name}");
    out
}

fn build_sqlite(clang: &str, is_address: bool) -> PathBuf {
    let (sanitizer, suffix) = if is_address {
        ("address", "-asan")
    } else {
        ("none", "")
    };
    let status = Command::new(root().join("guests/build-subjects.sh"))
        .arg("sqlite")
        .env("KIT", "native")
        .env("SAN", sanitizer)
        .env("CLANG", clang)
        .env("DRIVER", root().join("benches/memory/timed.c"))
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("it runs").success(), "sqlite");
    root().join(format!("target/subjects-timed/sqlite{suffix}"))
}
