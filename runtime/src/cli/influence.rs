//! `sandglass inspect --influence`: which types decide the branches of a module, or of one line.

use std::path::Path;

use anyhow::{Result, bail};
use sandglass_instrument::influence::{
    BranchInfluence, InfluenceOptions, Influences, SourceLine, influences,
};
use sandglass_instrument::printable::printable_bytes;
use serde::Serialize;

use super::args::{InspectArgs, Place};
use crate::error::show;
use crate::report::Sink;
use crate::report::plain::plural;
use crate::target::Module;

/// Types and strings of a module that are shown to people.
const LISTED_MAX: usize = 40;

/// A target as JSON has it.
#[derive(Serialize)]
struct Target<'a> {
    function: u32,
    offset: u32,
    file: Option<&'a str>,
    line: Option<u32>,
    /// Nearest first.
    types: Vec<(&'a str, u32)>,
    is_cut: bool,
}

/// All of it as JSON.
#[derive(Serialize)]
struct Report<'a> {
    event: &'static str,
    target: &'a str,
    targets: Vec<Target<'a>>,
    types: Vec<(&'a str, u32)>,
    strings: Vec<String>,
    missing: Option<String>,
    skipped: u32,
}

pub(super) fn run(args: &InspectArgs, place: &Place, module: &Module) -> Result<()> {
    let options = InfluenceOptions {
        own: args.own.clone(),
        ..InfluenceOptions::standard()
    };
    let found = influences(&module.wasm, &options);
    let wanted: Vec<&BranchInfluence> = match place {
        Place::All => found.targets.iter().collect(),
        Place::Line(file, line) => found.at_line(file, *line).collect(),
    };
    let mut out = Sink::stdout();
    if args.json {
        let report = report(&module.path, &found, &wanted);
        out.line(&serde_json::to_string(&report).expect("a report is plain data"));
        return Ok(());
    }
    if let Some(why) = &found.missing {
        bail!(
            "{}: no types influence its branches: {why}",
            show(&args.target)
        );
    }
    match place {
        Place::All => print_all(&mut out, &args.target, &found),
        Place::Line(file, line) if wanted.is_empty() => {
            bail!(
                "{}: {file}:{line} has no branches of the application",
                show(&args.target)
            )
        }
        Place::Line(..) => {
            for target in wanted {
                print_target(&mut out, target);
            }
        }
    }
    Ok(())
}

fn print_all(out: &mut Sink, path: &Path, found: &Influences) {
    let with_types = found
        .targets
        .iter()
        .filter(|target| !target.types.is_empty());
    out.line(&format!(
        "{}: {}, {} with types",
        show(path),
        plural(found.targets.len() as u64, "branching operator"),
        with_types.count(),
    ));
    if found.skipped > 0 {
        out.line(&format!(
            "{} left out: too much work",
            plural(u64::from(found.skipped), "function")
        ));
    }
    out.line("types, all branches together:");
    for (name, distance) in nearest_first(found).into_iter().take(LISTED_MAX) {
        out.line(&format!("    {distance:>3} {name}"));
    }
    rest(out, found.types.len());
    out.line("strings:");
    for text in found.strings.iter().take(LISTED_MAX) {
        out.line(&format!("    \"{}\"", printable_bytes(text)));
    }
    rest(out, found.strings.len());
}

/// Says how many were not shown.
fn rest(out: &mut Sink, count: usize) {
    if count > LISTED_MAX {
        out.line(&format!(
            "    ... {} more (--json lists all)",
            count - LISTED_MAX
        ));
    } else if count == 0 {
        out.line("    none");
    }
}

fn print_target(out: &mut Sink, target: &BranchInfluence) {
    let line = match &target.line {
        Some(SourceLine { file, line }) => format!("{file}:{line}"),
        None => "no line".to_owned(),
    };
    out.line(&format!(
        "{line}: branch at {:#x} of function {}",
        target.offset, target.function
    ));
    for (name, distance) in &target.types {
        out.line(&format!("    {distance:>3} {name}"));
    }
    if target.types.is_empty() {
        out.line("    no types");
    }
    if target.is_cut {
        out.line("    ... what is farther away was not looked at");
    }
}

fn nearest_first(found: &Influences) -> Vec<(&str, u32)> {
    let types = found.types.iter();
    let mut types: Vec<(&str, u32)> = types.map(|(name, at)| (name.as_str(), *at)).collect();
    types.sort_by_key(|(name, distance)| (*distance, *name));
    types
}

fn report<'a>(path: &'a str, found: &'a Influences, wanted: &[&'a BranchInfluence]) -> Report<'a> {
    let target = |target: &&'a BranchInfluence| Target {
        function: target.function,
        offset: target.offset,
        file: target.line.as_ref().map(|line| &*line.file),
        line: target.line.as_ref().map(|line| line.line),
        types: target
            .types
            .iter()
            .map(|(name, at)| (&**name, *at))
            .collect(),
        is_cut: target.is_cut,
    };
    Report {
        event: "influence",
        target: path,
        targets: wanted.iter().map(target).collect(),
        types: nearest_first(found),
        strings: found
            .strings
            .iter()
            .map(|text| printable_bytes(text))
            .collect(),
        missing: found.missing.as_ref().map(ToString::to_string),
        skipped: found.skipped,
    }
}
