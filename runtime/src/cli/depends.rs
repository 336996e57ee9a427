//! `sandglass depends`: which bytes of an input, or draws, decide what: the operands of comparisons, branches and
//! switches, addresses, divisors and sizes, by the line of the source.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Result;
use sandglass_engine::ChoiceSequence;
use sandglass_instrument::labels::{DependenceSite, EVENTS_MAX, SiteKind};
use sandglass_instrument::printable::printable_bytes;
use sandglass_instrument::symbols::{Frame, Symbols};
use sandglass_sandbox::{
    Build, DependenceEvent, DependenceLimits, Dependences, FlowTold, on_guest_thread,
};
use serde::Serialize;

use super::args::DependsArgs;
use super::case::{exact_for, read_case, refuse_sanitize};
use super::profile::refuse_property;
use super::{depends_cells, depends_draws};
use crate::error::{exit_code, show};
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::stack;
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Target};

/// What is shown of one operator: the first of those that differ.
const SHOWN_MAX: usize = 4;
/// Operators that are shown.
const SITES_MAX: usize = 200;
/// Bytes of the input that are shown beside their range.
const TEXT_MAX: usize = 16;
/// Ranges of bytes that are shown of one side, for people and for programs.
const RANGES_MAX: usize = 16;
const JSON_RANGES_MAX: usize = 64;

/// An event as JSON has it.
#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    kind: &'static str,
    relation: &'static str,
    function: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    offset: u32,
    outcome: u32,
    left: u64,
    right: u64,
    /// Ranges: first byte, one past the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_bytes: Option<Vec<(u32, u32)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    right_bytes: Option<Vec<(u32, u32)>>,
    /// The same of draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_draws: Option<Vec<(u32, u32)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    right_draws: Option<Vec<(u32, u32)>>,
    /// Ranges that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    left_more: usize,
    #[serde(skip_serializing_if = "is_zero")]
    right_more: usize,
}

/// The last line of JSON.
#[derive(Serialize)]
struct Summary<'a> {
    event: &'static str,
    target: &'a str,
    target_hash: &'a str,
    exit: String,
    fuel: u64,
    input_bytes: u32,
    events: usize,
    repeated: u32,
    dropped: u32,
    saturated: u32,
}

/// What decides.
#[derive(Clone, Copy)]
pub(super) enum Of<'a> {
    /// Bytes of this input.
    Bytes(&'a [u8]),
    /// These choices.
    Draws(&'a ChoiceSequence),
}

pub(super) fn run(args: &DependsArgs) -> Result<u8> {
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    if args.draws || module.is_property() && !args.cells {
        return depends_draws::run(args, &module);
    }
    refuse_property(&module, &args.target)?;
    refuse_sanitize(&args.guest, "depends")?;
    let case = read_case(&args.file, &module, &args.guest)?;
    let (target, limits) = exact_for(&case, &module, &args.target, &args.guest)?;
    let (input, found, told, sites) = on_guest_thread(|| {
        let input = case.bytes(&mut Exact::new(&target, &limits))?;
        let mut sandbox = target.sandbox(Build::Dependence, &limits)?;
        let sites = sandbox.program().probe_map().dependence.clone();
        let limits = DependenceLimits::STANDARD;
        let (found, told) = match args.cells {
            true => sandbox.depend_flow(&input, limits),
            false => (sandbox.depend(&input, limits), FlowTold::default()),
        };
        anyhow::Ok((input, found, told, sites))
    })?;
    let symbols = Symbols::new(&module.wasm);
    let mut out = Sink::stdout();
    let run = (&found, &told);
    let cells = args
        .cells
        .then(|| depends_cells::shown(&input, args.delimiter, run, &sites, &symbols));
    if let Some(cells) = &cells
        && args.json
    {
        depends_cells::json(&mut out, cells);
        return Ok(exit_code::FINE);
    }
    if args.json {
        json(
            &mut out,
            &module,
            Of::Bytes(&input),
            &found,
            &sites,
            &symbols,
        );
        return Ok(exit_code::FINE);
    }
    out.line(&format!(
        "{}: {} ({}, {} fuel)",
        show(&case.path),
        stack::exit_text(found.outcome.exit),
        plural(u64::from(found.outcome.input_bytes), "byte"),
        number(found.outcome.fuel),
    ));
    match &cells {
        Some(cells) => depends_cells::text(&mut out, cells),
        None => text(&mut out, Of::Bytes(&input), &found, &sites, &symbols),
    }
    warn(&mut out, Of::Bytes(&input), &found, &target);
    Ok(exit_code::FINE)
}

/// Says what is not as it seems.
pub(super) fn warn(out: &mut Sink, of: Of<'_>, found: &Dependences, target: &Target) {
    for warning in warnings(of, found) {
        out.line(&format!("warning: {warning}"));
    }
    if target.options.sanitize_heap {
        out.line("warning: this build does not look for memory errors; sandglass repro does");
    }
}

fn warnings(of: Of<'_>, found: &Dependences) -> Vec<String> {
    let (what, whole, given) = match of {
        Of::Bytes(_) => ("byte", "the whole input", found.outcome.input_bytes),
        Of::Draws(choices) => ("draw", "all draws", choices.nodes.len() as u32),
    };
    let mut warnings = Vec::new();
    if found.dropped > 0 {
        warnings.push(format!(
            "{} left out: there is room for the first {} of an operator and {} in all",
            plural(u64::from(found.dropped), "event"),
            number(DependenceLimits::STANDARD.site_events.into()),
            number(EVENTS_MAX.into())
        ));
    }
    if found.saturated > 0 {
        warnings.push(format!(
            "{} of {what}s did not fit and became {whole}",
            plural(u64::from(found.saturated), "set")
        ));
    }
    if found.followed_bytes < given {
        warnings.push(format!(
            "only the first {} {what}s were followed",
            number(u64::from(found.followed_bytes))
        ));
    }
    warnings
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Operators in the order in which they were first reached.
pub(super) fn text(
    out: &mut Sink,
    of: Of<'_>,
    found: &Dependences,
    sites: &[DependenceSite],
    symbols: &Symbols,
) {
    let mut order = Vec::new();
    let mut of_site: BTreeMap<u32, Vec<&DependenceEvent>> = BTreeMap::new();
    for event in &found.events {
        let events = of_site.entry(event.site).or_default();
        if events.is_empty() {
            order.push(event.site);
        }
        events.push(event);
    }
    if order.is_empty() {
        out.line(match of {
            Of::Bytes(_) => "nothing that it decides depends on the input",
            Of::Draws(_) => "nothing that it decides depends on a draw",
        });
    }
    for number in order.iter().take(SITES_MAX) {
        let site = &sites[*number as usize];
        let frames = symbols.frames(site.offset);
        let events = &of_site[number];
        let times = match (of, found.counts[*number as usize]) {
            // Those of bytes that no draw decides are among them.
            (Of::Draws(_), _) | (_, 1) => String::new(),
            (_, times) => format!(", {times} times"),
        };
        out.line(&format!("{}: {}{times}", place(frames.first()), what(site)));
        let mut shown: Vec<&DependenceEvent> = Vec::new();
        for event in events {
            if shown.len() < SHOWN_MAX && !shown.contains(event) {
                shown.push(event);
            }
        }
        for event in &shown {
            out.line(&format!("    {}", operands(event, site, of)));
        }
        let known = events.iter().filter(|event| shown.contains(event)).count();
        if known < events.len() {
            out.line(&format!("    … {} more", events.len() - known));
        }
    }
    if order.len() > SITES_MAX {
        out.line(&format!("… {} more operators", order.len() - SITES_MAX));
    }
}

fn what(site: &DependenceSite) -> String {
    match site.kind {
        SiteKind::Compare => format!("compare {}", site.relation.text()),
        kind => kind.name().to_owned(),
    }
}

fn place(frame: Option<&Frame>) -> String {
    let Some(frame) = frame else {
        return "?".into();
    };
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{} at {file}:{line}", frame.function),
        _ => frame.function.clone(),
    }
}

/// Both sides, and what came of it.
fn operands(event: &DependenceEvent, site: &DependenceSite, of: Of<'_>) -> String {
    let left = side(event.left, &event.left_bytes, of);
    if site.kind != SiteKind::Compare {
        return match site.kind {
            SiteKind::Switch => left,
            SiteKind::Branch => format!("{left}: {}", event.outcome != 0),
            _ => left,
        };
    }
    let right = side(event.right, &event.right_bytes, of);
    format!(
        "{left} {} {right}: {}",
        site.relation.text(),
        event.outcome != 0
    )
}

/// `65 [3 "A"]`, `65 [draw 3]`, or the value alone.
fn side(value: u64, bytes: &[Range<u32>], of: Of<'_>) -> String {
    if bytes.is_empty() {
        return value.to_string();
    }
    let ranges = bytes.iter().take(RANGES_MAX).map(|range| match of {
        Of::Bytes(input) => some_bytes(range, input),
        Of::Draws(choices) => depends_draws::some_draws(range, choices),
    });
    let ranges = ranges.collect::<Vec<_>>().join(", ");
    match bytes.len().saturating_sub(RANGES_MAX) {
        0 => format!("{value} [{ranges}]"),
        more => format!("{value} [{ranges}, … {more} more]"),
    }
}

/// Bytes of an input, by their place, and what they are.
fn some_bytes(range: &Range<u32>, input: &[u8]) -> String {
    let end = (range.end as usize).min(range.start as usize + TEXT_MAX);
    let text = input.get(range.start as usize..end.min(input.len()));
    let cut = if end < range.end as usize { "…" } else { "" };
    let text = printable_bytes(text.unwrap_or_default());
    match range.end - range.start {
        1 => format!("{} \"{text}\"", range.start),
        _ => format!("{}-{} \"{text}{cut}\"", range.start, range.end - 1),
    }
}

pub(super) fn json(
    out: &mut Sink,
    module: &Module,
    of: Of<'_>,
    found: &Dependences,
    sites: &[DependenceSite],
    symbols: &Symbols,
) {
    let mut known: BTreeMap<u32, Vec<Frame>> = BTreeMap::new();
    for event in &found.events {
        let site = &sites[event.site as usize];
        let frames = known
            .entry(event.site)
            .or_insert_with(|| symbols.frames(site.offset));
        let frame = frames.first();
        let pairs = |bytes: &[Range<u32>]| {
            let shown = bytes.iter().take(JSON_RANGES_MAX);
            Some(shown.map(|range| (range.start, range.end)).collect())
        };
        let (left, right) = (pairs(&event.left_bytes), pairs(&event.right_bytes));
        let (bytes, draws) = match of {
            Of::Bytes(_) => ((left, right), (None, None)),
            Of::Draws(_) => ((None, None), (left, right)),
        };
        let more = |bytes: &[Range<u32>]| bytes.len().saturating_sub(JSON_RANGES_MAX);
        let line = Line {
            event: "depends",
            kind: site.kind.name(),
            relation: site.relation.text(),
            function: frame.map_or("", |frame| &frame.function),
            file: frame.and_then(|frame| frame.file.as_deref()),
            line: frame.and_then(|frame| frame.line),
            offset: site.offset,
            outcome: event.outcome,
            left: event.left,
            right: event.right,
            left_bytes: bytes.0,
            right_bytes: bytes.1,
            left_draws: draws.0,
            right_draws: draws.1,
            left_more: more(&event.left_bytes),
            right_more: more(&event.right_bytes),
        };
        out.line(&serde_json::to_string(&line).expect("a line is plain data"));
    }
    let summary = Summary {
        event: "summary",
        target: &module.path,
        target_hash: &module.hash,
        exit: stack::exit_text(found.outcome.exit),
        fuel: found.outcome.fuel,
        input_bytes: found.outcome.input_bytes,
        events: found.events.len(),
        repeated: found.repeated,
        dropped: found.dropped,
        saturated: found.saturated,
    };
    out.line(&serde_json::to_string(&summary).expect("a summary is plain data"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_ranges_the_first_are_shown() {
        let ranges: Vec<Range<u32>> = (0..100).map(|n| 2 * n..2 * n + 1).collect();
        let text = side(7, &ranges, Of::Bytes(&[b'x'; 200]));
        assert!(text.starts_with("7 [0 \"x\", 2 \"x\", "), "{text}");
        assert!(text.ends_with(", 30 \"x\", … 84 more]"), "{text}");
        assert_eq!(side(7, &ranges[..1], Of::Bytes(b"x")), "7 [0 \"x\"]");
    }
}
