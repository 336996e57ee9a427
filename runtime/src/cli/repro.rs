//! `sandglass repro`: replays inputs or findings exactly.
//!
//! A finding's folder brings its limits and arguments along; flags on the
//! command line come before them. Whatever a guest wrote is escaped.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use sandglass_instrument::accept::AcceptLimits;
use sandglass_sandbox::{Limits, on_guest_thread, use_baseline_cpu};
use serde::Serialize;

use super::args::{CpuArg, ReproArgs};
use super::case::{Case, exact_for, read_case_of_any};
use crate::config::reset;
use crate::error::{OurFault, exit_code, io, printable, show, with_next};
use crate::export::bundle;
use crate::report::Sink;
use crate::report::plain::number;
use crate::stack;
use crate::store::finding::FindingRecord;
use crate::target::{Exact, Keep, MEMORY_BYTES_MAX, Module, Replayed, Target};
use crate::trace::Trace;

/// Lines of a guest's output that are shown.
const OUTPUT_LINES_MAX: usize = 200;

pub(super) fn run(args: ReproArgs) -> Result<u8> {
    if args.cpu == CpuArg::Baseline {
        use_baseline_cpu();
    }
    let mut out = Sink::stdout();
    if bundle::is_bundle(&args.target) {
        return run_bundle(&args, &mut out);
    }
    if args.files.is_empty() {
        return Err(with_next(
            format!(
                "{}: nothing to replay, and it is no bundle",
                show(&args.target)
            ),
            "sandglass repro TARGET.wasm FILE, with an input or a finding's folder",
        ));
    }
    if let (Some(file), 2..) = (&args.coredump, args.files.len()) {
        let count = args.files.len();
        bail!(
            "--coredump {}: a core dump is of one run; expected one input, and not {count}",
            show(file)
        );
    }
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    let cases = args
        .files
        .iter()
        .map(|path| read_case_of_any(path, &module, &args.guest))
        .collect::<Result<Vec<Case>>>()?;
    let mut code = exit_code::FINE;
    for case in &cases {
        if !args.json && is_of_another(case, &module) {
            out.line(&format!(
                "warning: {}: finding of another module; it is replayed under its limits, and may end otherwise",
                show(&case.path)
            ));
        }
        let (target, limits) = exact_for(case, &module, &args.target, &args.guest)?;
        code = code.max(replay(&args, &mut out, case, (&target, limits), None)?);
    }
    Ok(code)
}

/// Replays what a bundle holds: a bundle comes with its module, and has to end as it says.
fn run_bundle(args: &ReproArgs, out: &mut Sink) -> Result<u8> {
    if !args.files.is_empty() {
        bail!(
            "{}: a bundle, which has its own input; expected no others",
            show(&args.target)
        );
    }
    let bundle = bundle::read(&args.target)?;
    let damaged = |why: String| anyhow!("{}: damaged bundle: {why}", show(&args.target));
    let accept = AcceptLimits::standard(MEMORY_BYTES_MAX);
    let path = args.target.to_string_lossy();
    let module = Module::check(&path, bundle.target.clone(), &accept)?;
    let generator = match (&bundle.generator, &bundle.record.generator_hash) {
        (Some(wasm), _) => Some(Module::check(&path, wasm.clone(), &accept)?),
        (None, Some(hash)) if *hash == module.hash => Some(module.clone()),
        (None, Some(_)) => return Err(damaged("the generator is missing".to_owned())),
        (None, None) => None,
    };
    let case = Case {
        path: args.target.clone(),
        input: bundle.input.clone(),
        choices: bundle.sequence().map_err(damaged)?,
        record: Some(bundle.record.clone()),
    };
    let (options, limits) = case.call(Path::new(&bundle.target_name), &args.guest)?;
    let target = Target::new(module, options, reset(args.guest.reset))?;
    let target = Arc::new(target.with_generator(generator)?);
    replay(args, out, &case, (&target, limits), Some(&bundle.stack))
}

/// Replays a case and shows it; errs if it differs from its record, which only our own fault can
/// cause when the limits are the same.
fn replay(
    args: &ReproArgs,
    out: &mut Sink,
    case: &Case,
    (target, limits): (&Arc<Target>, Limits),
    stack: Option<&Vec<String>>,
) -> Result<u8> {
    let keep = Keep {
        calls: args.trace,
        state: args.coredump.is_some(),
    };
    let mut exact = Exact::new(target, &limits).keeping(keep);
    let (replayed, value) = on_guest_thread(|| {
        let (replayed, shown) = case.replay(&mut exact, target)?;
        let input = shown.as_ref().map_or(&case.input, |shown| &shown.input);
        anyhow::Ok((replayed, target.debugged(&limits, input)?))
    })?;
    if args.json {
        out.line(&json(case, &replayed, value));
    } else {
        let stack = replayed.ending.lines();
        let stack = if args.trace {
            stack
        } else {
            stack::fold(&stack)
        };
        print(out, case, (&replayed, &stack), value.as_deref());
    }
    if let Some(file) = &args.coredump {
        dump(file, case, &replayed)?;
        if !args.json {
            out.line(&format!("    core dump: {}", show(file)));
        }
    }
    let record = case.record.as_ref();
    let is_same = |record: &&FindingRecord| {
        record.target_hash == target.module.hash
            && record.limits == limits
            && record.sanitize_heap == target.options.sanitize_heap
    };
    if let Some(record) = record.filter(is_same) {
        let lines = replayed.ending.lines();
        let other_stack = stack.filter(|stack| **stack != lines);
        if let Some(difference) = difference(record, &replayed) {
            return Err(OurFault(format!("{}: {difference}", show(&case.path))).into());
        }
        if other_stack.is_some() {
            let fault = format!("{}: another stack than was recorded", show(&case.path));
            return Err(OurFault(fault).into());
        }
    }
    Ok(if replayed.outcome.exit.is_finding() {
        exit_code::FINDINGS
    } else {
        exit_code::FINE
    })
}

/// Whether it was found in another module: before a fault was mended, for example.
fn is_of_another(case: &Case, module: &Module) -> bool {
    let record = case.record.as_ref();
    record.is_some_and(|record| record.target_hash != module.hash)
}

/// Writes the core dump.
fn dump(file: &Path, case: &Case, replayed: &Replayed) -> Result<()> {
    let Some(core) = &replayed.core else {
        bail!(
            "--coredump {}: {} ended with `{}`, outside of the guest; expected an input that ends inside of it, as traps do",
            show(file),
            show(&case.path),
            stack::exit_text(replayed.outcome.exit)
        );
    };
    fs::write(file, core).map_err(|error| io(file, "write", &error))
}

/// How a replay differs from what was recorded under the same limits.
fn difference(record: &FindingRecord, replayed: &Replayed) -> Option<String> {
    let outcome = &replayed.outcome;
    let is_same_end = record.kind == "slow" || record.exit == stack::exit_text(outcome.exit);
    (!is_same_end || record.fuel != outcome.fuel).then(|| {
        format!(
            "replay ended with `{}` after {} fuel, recorded was `{}` after {}",
            stack::exit_text(outcome.exit),
            outcome.fuel,
            record.exit,
            record.fuel
        )
    })
}

fn print(
    out: &mut Sink,
    case: &Case,
    (replayed, stack): (&Replayed, &[String]),
    value: Option<&str>,
) {
    let outcome = &replayed.outcome;
    let in_campaigns = if replayed.fuel_exact == outcome.fuel {
        String::new()
    } else {
        format!(", {} in campaigns", number(outcome.fuel))
    };
    out.line(&format!(
        "{}: {} ({} bytes, {} fuel{in_campaigns})",
        show(&case.path),
        replayed.ending.title(outcome.exit),
        number(u64::from(outcome.input_bytes)),
        number(replayed.fuel_exact)
    ));
    if let Some(expected) = expected(case) {
        out.line(&format!(
            "    slow: {} times the {} fuel that its size explains",
            number(outcome.fuel / expected.max(1)),
            number(expected)
        ));
    }
    for line in stack {
        out.line(&format!("    {line}"));
    }
    for line in replayed.trace.iter().flat_map(Trace::lines) {
        out.line(&format!("    {line}"));
    }
    let value = value.unwrap_or_default().as_bytes();
    for (name, bytes) in [
        ("value", value),
        ("stdout", &replayed.stdout),
        ("stderr", &replayed.stderr),
    ] {
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines().take(OUTPUT_LINES_MAX) {
            out.line(&format!("    {name}: {}", printable(line)));
        }
        let left = text.lines().count().saturating_sub(OUTPUT_LINES_MAX);
        if left > 0 {
            out.line(&format!("    {name}: ... {left} more lines"));
        }
    }
}

/// What a slow input was expected to cost, if it was recorded.
fn expected(case: &Case) -> Option<u64> {
    case.record.as_ref()?.expected
}

/// One replay as JSON.
#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    file: String,
    kind: &'static str,
    finding: bool,
    title: String,
    site: u32,
    /// As campaigns count it.
    fuel: u64,
    fuel_exact: u64,
    /// Of a slow input: what its size explains.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<u64>,
    input_bytes: u32,
    edges: usize,
    stack: Vec<String>,
    stdout: String,
    stderr: String,
    /// What a cargo-fuzz target makes of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a Trace>,
}

fn json(case: &Case, replayed: &Replayed, value: Option<String>) -> String {
    let outcome = &replayed.outcome;
    let line = Line {
        event: "replay",
        file: case.path.to_string_lossy().into_owned(),
        kind: outcome.exit.kind(),
        finding: outcome.exit.is_finding(),
        title: replayed.ending.title(outcome.exit),
        site: outcome.site,
        fuel: outcome.fuel,
        fuel_exact: replayed.fuel_exact,
        expected: expected(case),
        input_bytes: outcome.input_bytes,
        edges: outcome
            .detail
            .as_ref()
            .map_or(0, |detail| detail.counts.len()),
        stack: replayed.ending.lines(),
        stdout: String::from_utf8_lossy(&replayed.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&replayed.stderr).into_owned(),
        value,
        trace: replayed.trace.as_ref(),
    };
    serde_json::to_string(&line).expect("a replay is plain data")
}
