//! `sandglass repro`: replays inputs or findings exactly.
//!
//! A finding's folder brings its limits and arguments along; flags on the
//! command line come before them. Whatever a guest wrote is escaped.

use anyhow::Result;
use sandglass_sandbox::on_guest_thread;
use serde::Serialize;

use super::args::ReproArgs;
use super::case::{Case, exact_for, read_case};
use crate::error::{OurFault, exit_code, printable, show};
use crate::report::Sink;
use crate::report::plain::number;
use crate::stack;
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Replayed};

/// Lines of a guest's output that are shown.
const OUTPUT_LINES_MAX: usize = 200;

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

/// Replays a case; also says how it differs from its record, which only our
/// own fault can cause when the limits are the same.
fn replay(args: &ReproArgs, module: &Module, case: &Case) -> Result<(Replayed, Option<String>)> {
    let (target, limits) = exact_for(case, module, &args.target, &args.guest)?;
    let (replayed, _) =
        on_guest_thread(|| case.replay(&mut Exact::new(&target, &limits), &target))?;
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
    if let Some(expected) = expected(case) {
        out.line(&format!(
            "    slow: {} times the {} fuel that its size explains",
            number(outcome.fuel / expected.max(1)),
            number(expected)
        ));
    }
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

/// What a slow input was expected to cost, if it was recorded.
fn expected(case: &Case) -> Option<u64> {
    case.record.as_ref()?.expected
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
    /// Of a slow input: what its size explains.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<u64>,
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
        expected: expected(case),
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
