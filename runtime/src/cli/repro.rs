//! `sandglass repro`: replays inputs or findings exactly.
//!
//! A finding's folder brings its limits and arguments along; flags on the
//! command line come before them. Whatever a guest wrote is escaped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use sandglass_sandbox::{Limits, on_guest_thread};
use serde::Serialize;

use super::args::{GuestArgs, ReproArgs};
use crate::config::{options, reset, wanted_limits};
use crate::error::{OurFault, exit_code, printable, show, with_next};
use crate::inputs;
use crate::report::Sink;
use crate::report::plain::number;
use crate::stack;
use crate::store::finding::{self, FindingRecord};
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Replayed, Target, require_hash};

/// Lines of a guest's output that are shown.
const OUTPUT_LINES_MAX: usize = 200;

/// An input with what its folder says about it.
pub(super) struct Case {
    /// As the user gave it.
    pub(super) path: PathBuf,
    pub(super) input: Vec<u8>,
    pub(super) record: Option<FindingRecord>,
}

pub(super) fn run(args: ReproArgs) -> Result<u8> {
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    let cases = args
        .files
        .iter()
        .map(|path| read_case(path, &module, &args.guest))
        .collect::<Result<Vec<Case>>>()?;
    let mut out = Sink::stdout();
    let mut code = exit_code::FINE;
    for case in &cases {
        let (replayed, is_as_recorded) = replay(&args, &module, case)?;
        if args.json {
            out.line(&json(case, &replayed));
        } else {
            print(&mut out, case, &replayed);
        }
        if let Some(difference) = is_as_recorded {
            return Err(OurFault(format!("{}: {difference}", show(&case.path))).into());
        }
        if replayed.outcome.exit.is_finding() {
            code = exit_code::FINDINGS;
        }
    }
    Ok(code)
}

/// Reads an input, or the folder of a finding of this module.
pub(super) fn read_case(path: &Path, module: &Module, guest: &GuestArgs) -> Result<Case> {
    if !path.is_dir() {
        let limits = wanted_limits(guest)?.limits;
        let read = inputs::read_file(path, u64::from(limits.input_bytes));
        let input = read.map_err(|error| {
            with_next(
                format!("{error:#}"),
                "sandglass repro TARGET.wasm FILE, with an input or a finding's folder",
            )
        })?;
        return Ok(Case {
            path: path.to_owned(),
            input,
            record: None,
        });
    }
    if !path.join("finding.json").exists() {
        bail!(
            "{}: a folder without finding.json, expected an input or a folder of findings/",
            show(path)
        );
    }
    let (record, input) = finding::read(path)?;
    require_hash(module, path, &record.target_hash)?;
    Ok(Case {
        path: path.to_owned(),
        input,
        record: Some(record),
    })
}

/// The target and limits of a case: the record's, unless flags say otherwise.
pub(super) fn exact_for(
    case: &Case,
    module: &Module,
    target: &Path,
    guest: &GuestArgs,
) -> Result<(Arc<Target>, Limits)> {
    let wanted = wanted_limits(guest)?;
    let mut options = options(guest, target);
    let mut limits = wanted.with_fuel(Limits::STANDARD.fuel);
    if let Some(record) = &case.record {
        let flags = wanted.limits;
        let standard = Limits::STANDARD;
        limits = Limits {
            fuel: wanted.fuel.unwrap_or(record.limits.fuel),
            memory_bytes: chosen(
                flags.memory_bytes,
                standard.memory_bytes,
                record.limits.memory_bytes,
            ),
            call_depth: chosen(
                flags.call_depth,
                standard.call_depth,
                record.limits.call_depth,
            ),
            output_bytes: chosen(
                flags.output_bytes,
                standard.output_bytes,
                record.limits.output_bytes,
            ),
            input_bytes: chosen(
                flags.input_bytes,
                standard.input_bytes,
                record.limits.input_bytes,
            ),
            file_bytes: record.limits.file_bytes,
        };
        if guest.args.is_empty() {
            options.args.extend(record.args.iter().cloned());
        }
        options.stub_imports |= record.stub_imports;
    }
    let target = Target::new(module.clone(), options, reset(guest.reset))?;
    Ok((Arc::new(target), limits))
}

/// A flag that was given, else what was recorded.
fn chosen<T: PartialEq>(flag: T, default: T, recorded: T) -> T {
    if flag == default { recorded } else { flag }
}

/// Replays a case; also says how it differs from its record, which only our
/// own fault can cause when the limits are the same.
fn replay(args: &ReproArgs, module: &Module, case: &Case) -> Result<(Replayed, Option<String>)> {
    let (target, limits) = exact_for(case, module, &args.target, &args.guest)?;
    let replayed = on_guest_thread(|| Exact::new(&target, &limits).replay(&case.input))?;
    let Some(record) = case
        .record
        .as_ref()
        .filter(|record| record.limits == limits)
    else {
        return Ok((replayed, None));
    };
    let outcome = &replayed.outcome;
    let is_same_end = record.kind == "slow" || record.exit == stack::exit_text(outcome.exit);
    let difference = (!is_same_end || record.fuel != outcome.fuel).then(|| {
        format!(
            "replay ended with `{}` after {} fuel, recorded was `{}` after {}",
            stack::exit_text(outcome.exit),
            outcome.fuel,
            record.exit,
            record.fuel
        )
    });
    Ok((replayed, difference))
}

fn print(out: &mut Sink, case: &Case, replayed: &Replayed) {
    let outcome = &replayed.outcome;
    let in_campaigns = if replayed.fuel_exact == outcome.fuel {
        String::new()
    } else {
        format!(", {} in campaigns", number(outcome.fuel))
    };
    out.line(&format!(
        "{}: {} ({} bytes, {} fuel{in_campaigns})",
        show(&case.path),
        stack::title(outcome.exit, &replayed.frames),
        number(u64::from(outcome.input_bytes)),
        number(replayed.fuel_exact)
    ));
    for line in stack::lines(&replayed.frames) {
        out.line(&format!("    {line}"));
    }
    for (name, bytes) in [("stdout", &replayed.stdout), ("stderr", &replayed.stderr)] {
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

/// One replay as JSON.
#[derive(Serialize)]
struct Line {
    event: &'static str,
    file: String,
    kind: &'static str,
    finding: bool,
    title: String,
    site: u32,
    /// As campaigns count it.
    fuel: u64,
    fuel_exact: u64,
    input_bytes: u32,
    edges: usize,
    stack: Vec<String>,
    stdout: String,
    stderr: String,
}

fn json(case: &Case, replayed: &Replayed) -> String {
    let outcome = &replayed.outcome;
    let line = Line {
        event: "replay",
        file: case.path.to_string_lossy().into_owned(),
        kind: outcome.exit.kind(),
        finding: outcome.exit.is_finding(),
        title: stack::title(outcome.exit, &replayed.frames),
        site: outcome.site,
        fuel: outcome.fuel,
        fuel_exact: replayed.fuel_exact,
        input_bytes: outcome.input_bytes,
        edges: outcome
            .detail
            .as_ref()
            .map_or(0, |detail| detail.counts.len()),
        stack: stack::lines(&replayed.frames),
        stdout: String::from_utf8_lossy(&replayed.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&replayed.stderr).into_owned(),
    };
    serde_json::to_string(&line).expect("a replay is plain data")
}
