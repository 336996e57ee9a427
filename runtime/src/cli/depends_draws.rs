//! `sandglass depends --draws`: which draws decide what, of a property, or of a target through its generator.

use std::ops::Range;

use anyhow::Result;
use sandglass_engine::ChoiceSequence;
use sandglass_engine::choice::Domain;
use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::{DependenceLimits, on_guest_thread};

use super::args::DependsArgs;
use super::case::{exact_for, no_input, read_case, refuse_sanitize};
use super::depends::{Of, json, text, warn};
use crate::error::{exit_code, show, with_next};
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::stack;
use crate::target::{Module, Reach, again};

pub(super) fn run(args: &DependsArgs, module: &Module) -> Result<u8> {
    refuse_sanitize(&args.guest, "depends")?;
    let case = read_case(&args.file, module, &args.guest)?;
    let choices = case
        .choices
        .as_ref()
        .filter(|choices| choices.text().is_none());
    let choices = choices.ok_or_else(|| {
        with_next(
            format!(
                "{}: an input that nobody drew, expected choices or a finding made of some for --draws",
                show(&case.path)
            ),
            "the same command without --draws    # which of its bytes decide what",
        )
    })?;
    let (target, limits) = exact_for(&case, module, &args.target, &args.guest)?;
    let (reached, sites) = on_guest_thread(|| {
        let mut reach = Reach::new(&target, &limits)?;
        let reached = reach.follow(again(choices), DependenceLimits::STANDARD, false);
        anyhow::Ok((reached, reach.probe_map().dependence.clone()))
    })?;
    let Ok(mut found) = reached.run else {
        return Err(no_input(&case.path));
    };
    // What depends on bytes that are in every input of the generator depends on no draw.
    (found.events).retain(|event| !event.left_bytes.is_empty() || !event.right_bytes.is_empty());
    found.saturated = found.saturated.saturating_add(reached.saturated);
    found.followed_bytes = reached.followed_draws;
    let symbols = Symbols::new(&module.wasm);
    let (mut out, of) = (Sink::stdout(), Of::Draws(&reached.choices));
    if args.json {
        json(&mut out, module, of, &found, &sites, &symbols);
        return Ok(exit_code::FINE);
    }
    out.line(&format!(
        "{}: {} ({}, {} fuel)",
        show(&case.path),
        stack::exit_text(found.outcome.exit),
        plural(reached.choices.nodes.len() as u64, "draw"),
        number(found.outcome.fuel),
    ));
    if !module.is_property() {
        out.line(&format!(
            "{} of {} of the input were computed from draws",
            number(reached.drawn_bytes as u64),
            plural(reached.input.len() as u64, "byte"),
        ));
    }
    text(&mut out, of, &found, &sites, &symbols);
    warn(&mut out, of, &found, &target);
    Ok(exit_code::FINE)
}

/// Draws by their number, from 0 on as `sandglass show` lists them; of a single one, what it came to.
pub(super) fn some_draws(range: &Range<u32>, choices: &ChoiceSequence) -> String {
    let first = range.start;
    if range.len() > 1 {
        return format!("draws {first}-{}", range.end - 1);
    }
    let Some(node) = choices.nodes.get(first as usize) else {
        return format!("draw {first}");
    };
    match node.draw.domain {
        Domain::Bool { .. } => format!("draw {first} = {}", node.value != 0),
        Domain::Int { .. } => format!("draw {first} = {}", node.value.cast_signed()),
        Domain::Float { .. } => format!("draw {first} = {:?}", f64::from_bits(node.value)),
        Domain::Bytes { .. } => format!("draw {first} = {}", plural(node.value, "byte")),
    }
}
