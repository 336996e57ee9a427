//! `sandglass show`: what an input is. The choices it was made of with the spans that they belong
//! to, which of them matter to how it ends, what was made of them, and how it ends.

use std::cell::Cell;

use anyhow::Result;
use sandglass_engine::ChoiceSequence;
use sandglass_engine::choice::text::{Event, events, line};
use sandglass_engine::matters::{Matters, matters};
use sandglass_instrument::printable::printable;
use sandglass_sandbox::on_guest_thread;

use super::args::ShowArgs;
use super::case::{exact_for, read_case};
use crate::error::{exit_code, show};
use crate::memory::Memory;
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::stack;
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Replayed, Shown};

/// Lines of choices, and of what was made of them, that are shown.
const LINES_MAX: usize = 1_000;

/// Fuel spent on finding out which choices matter: some seconds.
const FUEL_MAX: u64 = 10_000_000_000;

pub(super) fn run(args: ShowArgs) -> Result<u8> {
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    let case = read_case(&args.file, &module, &args.guest)?;
    let (target, limits) = exact_for(&case, &module, &args.target, &args.guest)?;
    let (replayed, shown, value) = on_guest_thread(|| {
        let mut exact = Exact::new(&target, &limits);
        match &case.choices {
            Some(choices) => {
                let (replayed, shown) = exact.replay_choices(choices)?;
                let known = tried(&mut exact, &shown, &replayed, args.execs)?;
                let value = target.debugged(&limits, &shown.input)?;
                anyhow::Ok((replayed, Some((shown, known)), value))
            }
            None => {
                let value = target.debugged(&limits, &case.input)?;
                Ok((exact.replay(&case.input)?, None, value))
            }
        }
    })?;
    let mut out = Sink::stdout();
    out.line(&format!(
        "{}: {} ({} bytes, {} fuel)",
        show(&case.path),
        replayed.ending.title(replayed.outcome.exit),
        number(u64::from(replayed.outcome.input_bytes)),
        number(replayed.outcome.fuel)
    ));
    let input = (shown.as_ref()).map_or(&case.input, |(shown, _)| &shown.input);
    if let Some((shown, known)) = &shown {
        choices(&mut out, shown, known);
    }
    if let Some(memory) = &replayed.ending.memory {
        for line in stack::fold(&replayed.ending.lines()) {
            out.line(&format!("    {line}"));
        }
        block(&mut out, memory);
    }
    text(&mut out, "value", value.unwrap_or_default().as_bytes());
    text(&mut out, "input", input);
    if let Some((shown, _)) = &shown {
        text(&mut out, "notes", &shown.notes);
    }
    Ok(exit_code::FINE)
}

/// Gives each draw other values, and says whether it all ends as before: for findings at the same
/// place.
fn tried(
    exact: &mut Exact,
    shown: &Shown,
    replayed: &Replayed,
    execs_max: u64,
) -> Result<Vec<Matters>> {
    let end = |of: &Replayed| {
        let key = of.ending.key(of.outcome.exit, of.outcome.site);
        (of.outcome.exit, of.outcome.exit.is_finding().then_some(key))
    };
    let (mut execs, fuel) = (0, Cell::new(0_u64));
    let mut test = |other: &ChoiceSequence| -> Result<bool> {
        let (other, shown) = exact.try_choices(other)?;
        fuel.set(fuel.get().saturating_add(shown.fuel));
        Ok(end(&other) == end(replayed))
    };
    matters(&shown.choices, &mut test, &mut || {
        execs += 1;
        execs <= execs_max && fuel.get() < FUEL_MAX
    })
}

/// One draw a line, indented by the spans around it; those that matter are marked.
fn choices(out: &mut Sink, shown: &Shown, known: &[Matters]) {
    let events = events(&shown.choices);
    let draws = shown.choices.nodes.len() as u64;
    let number_of = |what| known.iter().filter(|&&of| of == what).count() as u64;
    let mut header = format!("choices: {}", plural(draws, "draw"));
    if draws > 0 {
        header.push_str(&format!(
            "; {} decide how it ends (*), {} may be anything",
            number(number_of(Matters::Yes)),
            number(number_of(Matters::Anything))
        ));
    }
    match number_of(Matters::Unknown) {
        0 => {}
        unknown => header.push_str(&format!(", {} not tried (?)", number(unknown))),
    }
    out.line(&header);
    let mut known = known.iter();
    let mut depth = 1;
    for event in events.iter().take(LINES_MAX) {
        match event {
            Event::Open(span) => {
                let label = shown.labels.get(&span.label);
                let label = label.map_or_else(|| span.label.to_string(), |text| printable(text));
                out.line(&format!("{:width$}{label}", "", width = 2 * depth));
                depth += 1;
            }
            Event::Close(span) => {
                depth -= 1;
                if span.discarded {
                    out.line(&format!("{:width$}(discarded)", "", width = 2 * depth));
                }
            }
            Event::Node(node, payload) => {
                let mark = match known.next() {
                    Some(Matters::Yes) => "*",
                    Some(Matters::Anything) => " ",
                    Some(Matters::Unknown) | None => "?",
                };
                let text = line(node, payload);
                out.line(&format!(
                    "{mark} {:width$}{text}",
                    "",
                    width = 2 * depth - 2
                ));
            }
        }
    }
    if events.len() > LINES_MAX {
        out.line(&format!("  ... {} more lines", events.len() - LINES_MAX));
    }
}

/// The block that a memory error is about, as it was found.
fn block(out: &mut Sink, memory: &Memory) {
    let lines = memory.contents();
    if lines.is_empty() {
        return;
    }
    out.line("block:");
    for line in lines {
        out.line(&format!("  {line}"));
    }
}

/// Bytes of a guest: as text, safe to print.
fn text(out: &mut Sink, name: &str, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    out.line(&format!("{name}:"));
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    };
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().take(LINES_MAX) {
        out.line(&format!("  {}", printable(line)));
    }
    if lines.len() > LINES_MAX {
        out.line(&format!("  ... {} more lines", lines.len() - LINES_MAX));
    }
}
