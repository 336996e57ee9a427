//! `sandglass min`: the smallest input with the same finding, or for a slow
//! input with at least half of its cost, in total, per byte or at its size.

use std::fmt;
use std::fs;
use std::io::stderr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use sandglass_engine::choice::text::to_text;
use sandglass_engine::shrink::{Shrunk, shrink};
use sandglass_engine::{ChoiceSequence, Exit, StackKey};
use sandglass_sandbox::{Limits, on_guest_thread};

use super::args::{MinArgs, SlowArg};
use super::case::{Case, exact_for, read_case};
use crate::error::{exit_code, io, show, with_next};
use crate::minimise::{Minimised, minimise};
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::shell::quote_path;
use crate::stack;
use crate::store::finding::repro_bare;
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Replayed, Target};

/// What every smaller input must do as well.
enum Wanted {
    /// The same finding.
    Finding(Exit, StackKey),
    /// At least half of what it costs.
    Slow(Slow),
}

impl Wanted {
    /// What is kept of `before`, in words.
    fn title(&self, before: &Replayed) -> String {
        match self {
            Wanted::Finding(exit, _) => before.ending.title(*exit),
            Wanted::Slow(slow) => slow.title(),
        }
    }
}

/// What half of a slow input's cost is.
struct Slow {
    of: SlowArg,
    fuel: u64,
    bytes: u32,
}

impl Slow {
    /// Whether so much fuel is enough for an input of this size.
    fn holds(&self, fuel: u64, bytes: u32) -> bool {
        match self.of {
            SlowArg::Total => fuel >= self.fuel.div_ceil(2),
            SlowArg::Size => fuel >= self.fuel.div_ceil(2) && bytes == self.bytes,
            SlowArg::PerByte => {
                let costs = |fuel: u64, bytes: u32| u128::from(fuel) * u128::from(bytes);
                bytes > 0 && 2 * costs(fuel, self.bytes) >= costs(self.fuel, bytes)
            }
        }
    }

    fn title(&self) -> String {
        let half = self.fuel.div_ceil(2);
        match self.of {
            SlowArg::Total => format!("at least {} fuel", number(half)),
            SlowArg::Size => format!("at least {} fuel at this size", number(half)),
            SlowArg::PerByte => {
                let each = self.fuel.div_ceil(2 * u64::from(self.bytes.max(1)));
                format!("at least {} fuel a byte", number(each))
            }
        }
    }
}

pub(super) fn run(args: MinArgs) -> Result<u8> {
    if let (Some(out), 2..) = (&args.out, args.files.len()) {
        return Err(with_next(
            format!(
                "--out {}: a place for one smaller input, and there are {}",
                show(out),
                args.files.len()
            ),
            "the same command without --out, or for each of them",
        ));
    }
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    let interrupted = super::interruption()?;
    for file in &args.files {
        minimise_file(&args, &module, file, &interrupted)?;
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(exit_code::FINE)
}

fn minimise_file(
    args: &MinArgs,
    module: &Module,
    file: &Path,
    interrupted: &AtomicBool,
) -> Result<()> {
    let case = read_case(file, module, &args.guest)?;
    let (target, limits) = exact_for(&case, module, &args.target, &args.guest)?;
    if let Some(choices) = &case.choices
        && (target.generator.is_some() || case.needs_choices(&target.module))
    {
        return shrink_choices(args, &case, choices, &target, &limits, interrupted);
    }
    let out = args.out.clone().unwrap_or_else(|| default_out(&case));
    let (before, wanted, found) = on_guest_thread(|| -> Result<_> {
        let mut exact = Exact::new(&target, &limits);
        let before = exact.replay(&case.input)?;
        let wanted = wanted(args, &case, &before)?;
        let mut progress = Progress::new("bytes", case.input.len());
        let mut best = case.input.clone();
        let found = minimise(&case.input, args.execs, &mut |input| {
            go_on(interrupted)?;
            let holds = holds(&wanted, &exact.replay(input)?);
            progress.tried(input.len(), holds);
            if holds {
                best.clear();
                best.extend_from_slice(input);
            }
            Ok(holds)
        });
        let found = match found {
            Err(error) if error.is::<Interrupted>() => Minimised {
                input: best,
                execs: progress.execs,
                is_minimal: false,
            },
            found => found?,
        };
        Ok((before, wanted, found))
    })?;
    fs::write(&out, &found.input).map_err(|e| io(&out, "write", &e))?;
    let mut sink = Sink::stdout();
    let what = wanted.title(&before);
    sink.line(&format!(
        "{}: {} bytes, from {} in {} executions{}; {what}",
        show(&out),
        number(found.input.len() as u64),
        number(case.input.len() as u64),
        number(found.execs),
        stopped(found.is_minimal, interrupted),
    ));
    let command = repro_bare(&module.path, &out, &target.options);
    sink.line(&format!("    replay: {command}"));
    Ok(())
}

/// The simplest choices with the same finding, and the input that the generator makes of them.
fn shrink_choices(
    args: &MinArgs,
    case: &Case,
    choices: &ChoiceSequence,
    target: &Arc<Target>,
    limits: &Limits,
    interrupted: &AtomicBool,
) -> Result<()> {
    let (what, input, found) = on_guest_thread(|| -> Result<_> {
        let mut exact = Exact::new(target, limits);
        let (before, shown) = exact.replay_choices(choices)?;
        let wanted = wanted(args, case, &before)?;
        let mut input = shown.input;
        let mut progress = Progress::new("choices", shown.choices.nodes.len());
        let mut best = shown.choices.clone();
        let found = shrink(shown.choices, args.execs, &mut |candidate| {
            go_on(interrupted)?;
            let (replayed, shown) = exact.try_choices(candidate)?;
            let holds = holds(&wanted, &replayed);
            progress.tried(shown.choices.nodes.len(), holds);
            if !holds {
                return Ok::<_, anyhow::Error>(None);
            }
            if shown.choices.nodes.len() <= best.nodes.len() {
                best.clone_from(&shown.choices);
            }
            Ok(Some(shown.choices))
        });
        let found = match found {
            Err(error) if error.is::<Interrupted>() => Shrunk {
                choices: best,
                execs: progress.execs,
                is_minimal: false,
            },
            found => found?,
        };
        if found.choices != *choices {
            input = exact.replay_choices(&found.choices)?.1.input;
        }
        Ok((wanted.title(&before), input, found))
    })?;
    let out = args.out.clone().unwrap_or_else(|| match case.record {
        Some(_) => case.path.join("choices.min"),
        None => default_out(case),
    });
    fs::write(&out, to_text(&found.choices)).map_err(|e| io(&out, "write", &e))?;
    let mut sink = Sink::stdout();
    sink.line(&format!(
        "{}: {}, from {} in {} executions{}; {what}",
        show(&out),
        plural(found.choices.nodes.len() as u64, "choice"),
        number(choices.nodes.len() as u64),
        number(found.execs),
        stopped(found.is_minimal, interrupted),
    ));
    if !input.is_empty() {
        sink.line(&format!("    input: {}", input.escape_ascii()));
    }
    let command = repro_bare(&target.module.path, &out, &target.options);
    sink.line(&format!("    replay: {command}"));
    Ok(())
}

/// Ends a search at once; what it has come to is kept.
#[derive(Debug)]
struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Errs with [`Interrupted`] once there was a Ctrl-C.
fn go_on(interrupted: &AtomicBool) -> Result<()> {
    match interrupted.load(Ordering::Relaxed) {
        true => Err(Interrupted.into()),
        false => Ok(()),
    }
}

/// Why a search ended before its time.
fn stopped(is_minimal: bool, interrupted: &AtomicBool) -> &'static str {
    match (is_minimal, interrupted.load(Ordering::Relaxed)) {
        (true, _) => "",
        (false, true) => " (stopped by Ctrl-C)",
        (false, false) => " (stopped by --execs)",
    }
}

/// Says now and then how small it has become, on standard error: an input that takes its time is run thousands of times.
struct Progress {
    unit: &'static str,
    from: usize,
    smallest: usize,
    execs: u64,
    said: Instant,
}

impl Progress {
    const EVERY: Duration = Duration::from_secs(5);

    fn new(unit: &'static str, from: usize) -> Progress {
        Progress {
            unit,
            from,
            smallest: from,
            execs: 0,
            said: Instant::now(),
        }
    }

    fn tried(&mut self, size: usize, holds: bool) {
        self.execs += 1;
        if holds {
            self.smallest = self.smallest.min(size);
        }
        if self.said.elapsed() >= Progress::EVERY {
            self.said = Instant::now();
            Sink::new(Box::new(stderr())).line(&self.line());
        }
    }

    fn line(&self) -> String {
        format!(
            "    {} of {} {} after {} executions",
            number(self.smallest as u64),
            number(self.from as u64),
            self.unit,
            number(self.execs)
        )
    }
}

fn wanted(args: &MinArgs, case: &Case, before: &Replayed) -> Result<Wanted> {
    let outcome = &before.outcome;
    let record = case.record.as_ref();
    let is_slow = record.is_some_and(|record| record.kind == "slow");
    if let Some(of) = args.slow.or(is_slow.then_some(SlowArg::Total)) {
        return Ok(Wanted::Slow(Slow {
            of,
            fuel: outcome.fuel,
            bytes: outcome.input_bytes,
        }));
    }
    if !outcome.exit.is_finding() {
        return Err(with_next(
            format!(
                "{}: no finding (it ended with `{}`), expected an input that fails",
                show(&case.path),
                stack::exit_text(outcome.exit)
            ),
            format!("sandglass repro TARGET.wasm {}", quote_path(&case.path)),
        ));
    }
    Ok(Wanted::Finding(outcome.exit, key(before)))
}

fn holds(wanted: &Wanted, replayed: &Replayed) -> bool {
    match wanted {
        Wanted::Finding(exit, stack) => replayed.outcome.exit == *exit && key(replayed) == *stack,
        Wanted::Slow(slow) => slow.holds(replayed.outcome.fuel, replayed.outcome.input_bytes),
    }
}

fn key(replayed: &Replayed) -> StackKey {
    let outcome = &replayed.outcome;
    replayed.ending.key(outcome.exit, outcome.site)
}

fn default_out(case: &Case) -> PathBuf {
    let mut name = if case.record.is_some() {
        case.path.join("input").into_os_string()
    } else {
        case.path.clone().into_os_string()
    };
    name.push(".min");
    name.into()
}
