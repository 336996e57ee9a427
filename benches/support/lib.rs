//! What the measurements share: sizes, timing beside a control, and how figures are printed.
//!
//! `cargo bench` runs the large size; `cargo test` runs the small one, so that benches cannot
//! rot. Machines are noisy: a figure is the ratio of two things measured in turns in one run, and
//! nothing fails because of a time.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use sandglass_guests::{BENCH, BENCH_SQLITE_INPUT, subject};
use sandglass_sandbox::{Build, FUEL_LIMIT_MAX, Limits, Options, Program, Sandbox};

/// Prints a line of figures. Whoever reads them may go away at any time: a measurement does not end because `| head` did,
/// so this takes the place of the standard macro, which panics then.
#[macro_export]
macro_rules! println {
    () => {
        $crate::print_line(format_args!(""))
    };
    ($($text:tt)*) => {
        $crate::print_line(format_args!($($text)*))
    };
}

mod batches;
pub mod results;
pub mod stats;

pub use batches::{Error, run_batch};

/// How much to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Under `cargo test`: enough to show that the bench works.
    Small,
    /// Under `cargo bench`.
    Large,
}

impl Size {
    /// As the command line says: cargo passes `--bench` to benches only.
    pub fn from_args() -> Size {
        if std::env::args().any(|arg| arg == "--bench") {
            Size::Large
        } else {
            Size::Small
        }
    }

    /// One of two values.
    pub fn pick<T>(self, small: T, large: T) -> T {
        match self {
            Size::Small => small,
            Size::Large => large,
        }
    }
}

/// The programs that builds are compared on, with the input of each: the six, without SQLite where that is not
/// built, and an n-body. `CASE=name` leaves one.
pub fn programs() -> Vec<(&'static str, Vec<u8>, &'static [u8])> {
    let mut programs = BENCH
        .iter()
        .map(|bench| (bench.name, bench.wasm.to_vec(), bench.input))
        .collect::<Vec<_>>();
    match subject("sqlite") {
        Ok(wasm) => programs.push(("sqlite", wasm, BENCH_SQLITE_INPUT)),
        Err(missing) => println!("{missing}"),
    }
    if let Ok(only) = std::env::var("CASE") {
        programs.retain(|(name, ..)| *name == only);
    }
    programs
}

/// An instance of a module whose runs may take as much fuel as there is. On a guest thread only.
///
/// Panics if the module cannot be built or started.
pub fn sandbox(wasm: &[u8], build: Build) -> Sandbox {
    let program = Program::build(wasm, build, &Options::default(), None).expect("builds");
    let limits = Limits {
        fuel: FUEL_LIMIT_MAX,
        ..Limits::STANDARD
    };
    Sandbox::new(&Arc::new(program), &limits).expect("starts")
}

/// Nanoseconds per call of several things measured in turns: for each the 20th percentile of
/// `rounds` rounds of `calls` calls (other work on the machine only ever adds time).
pub fn in_turns(rounds: usize, calls: usize, things: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut times = vec![Vec::with_capacity(rounds); things.len()];
    for _ in 0..rounds {
        for (thing, times) in things.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..calls {
                thing();
            }
            times.push(start.elapsed().as_nanos() as f64 / calls as f64);
        }
    }
    times.iter_mut().map(|times| quantile(times, 0.2)).collect()
}

/// A quantile of `values`, which are sorted by it.
pub fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q).round() as usize]
}

/// CPU time of this thread: the first number of its `schedstat` (Linux).
///
/// # Panics
/// Where there is none.
pub fn thread_cpu_ns() -> u64 {
    let path = std::path::Path::new("/proc/thread-self/schedstat");
    let text = std::fs::read_to_string(path);
    let text = text.unwrap_or_else(|e| panic!("{}: {e}; this needs Linux", path.display()));
    let first = text.split_whitespace().next();
    first
        .and_then(|number| number.parse().ok())
        .expect("nanoseconds")
}

/// The geometric mean.
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// Prints what was measured where: the machine and the commit.
pub fn heading(name: &str, size: Size) {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown", |(_, n)| n);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("# {name} ({size:?}), {cpu} x {cores}, commit {}", COMMIT);
}

/// What [`println!`] does.
pub fn print_line(text: std::fmt::Arguments<'_>) {
    // There is nobody left to tell if this fails.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The commit that this was built of, with a `+` if files were changed; or `unknown`.
pub const COMMIT: &str = env!("SANDGLASS_COMMIT");
