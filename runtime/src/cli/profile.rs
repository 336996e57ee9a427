//! The profile half of `sandglass perf`: which functions, lines and call
//! stacks spend the fuel of an input or a folder, beside another if one likes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use sandglass_sandbox::{Limits, Options, on_guest_thread};

use super::args::{GuestArgs, PerfArgs};
use super::called::call_of_paths;
use super::case::{Case, exact_for, read_bytes, read_case};
use super::perf;
use crate::config::{reset, wanted_limits};
use crate::error::{exit_code, io, printable, show, with_next};
use crate::event::{Event, Warning};
use crate::inputs::Input;
use crate::perun::PerunFiles;
use crate::profile::campaign::{Campaign, campaign};
use crate::profile::html::{Change, Page, html};
use crate::profile::tree::Side;
use crate::profile::{
    Profile, Run, csv, folded, heap_bytes, json, peaks, profile, speedscope, text,
};
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::shell::quote_path;
use crate::stack::exit_text;
use crate::target::{MEMORY_BYTES_MAX, Module, Target};

/// What is to be run, and how.
struct Asked {
    target: Arc<Target>,
    limits: Limits,
    inputs: Vec<Input>,
    warnings: Vec<String>,
    /// Of a single input what it is.
    case: Option<Case>,
}

pub(super) fn run(args: &PerfArgs) -> Result<u8> {
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    refuse_property(&module, &args.target)?;
    let asked = asked(&module, args)?;
    let base = match &args.against {
        Some(path) => read(path, &module, &args.guest)?,
        None => (Vec::new(), Vec::new()),
    };
    let profile =
        on_guest_thread(|| profile(&asked.target, &asked.limits, &asked.inputs, &base.0))?;
    // Before anything is printed: it can fail. The text for people shows less, and needs no law.
    let page = match args.json || args.html.is_some() || args.csv.is_some() {
        true => Some(page(args, &module, &asked, &base.0, &profile)?),
        false => None,
    };
    let perun = match &args.perun_out {
        Some(_) => Some(PerunFiles::of(&args.file, &asked.inputs, &profile.runs)?),
        None => None,
    };
    let mut out = Sink::stdout();
    if args.json {
        for text in asked.warnings.iter().chain(&base.1) {
            let text = text.clone();
            out.line(&Event::Warning(Warning { text }).to_json());
        }
        for line in json::json(
            page.as_ref().expect("made above"),
            &module.path,
            &module.hash,
        ) {
            out.line(&line);
        }
    } else {
        for warning in asked.warnings.iter().chain(&base.1) {
            out.line(&format!("warning: {warning}"));
        }
        // Of a campaign that kept nothing there is nothing to tell.
        if !profile.runs.is_empty() {
            print(&mut out, args, &profile);
        }
    }
    let title = args.file.to_string_lossy();
    let mut wrote = |path: &Option<PathBuf>, contents: &dyn Fn() -> String| -> Result<()> {
        let Some(path) = path else { return Ok(()) };
        fs::write(path, contents()).map_err(|e| io(path, "write", &e))?;
        if !args.json {
            out.line(&format!("wrote {}", show(path)));
        }
        Ok(())
    };
    wrote(&args.folded, &|| folded::folded(&profile.tree, Side::Now))?;
    wrote(&args.speedscope, &|| {
        speedscope::speedscope(&profile, &title)
    })?;
    if let Some(page) = &page {
        wrote(&args.csv, &|| csv::csv(page))?;
        wrote(&args.html, &|| html(page))?;
    }
    if let Some((folder, files)) = args.perun_out.as_ref().zip(perun) {
        files.write(folder)?;
        if !args.json {
            out.line(&format!("wrote {}", show(folder)));
        }
    }
    Ok(exit_code::FINE)
}

fn print(out: &mut Sink, args: &PerfArgs, profile: &Profile) {
    out.line(&heading(&args.file, profile.side(Side::Now)));
    if let Some(path) = &args.against {
        out.line(&format!(
            "against {}",
            heading(path, profile.side(Side::Before))
        ));
    }
    for line in text::text(profile) {
        out.line(&line);
    }
}

fn page<'a>(
    args: &PerfArgs,
    module: &Module,
    asked: &'a Asked,
    base: &'a [Input],
    profile: &'a Profile,
) -> Result<Page<'a>> {
    let law = match &asked.case {
        Some(case) => Some(perf::law(args.pump, case, &asked.target, &asked.limits)?),
        None => None,
    };
    let campaign = campaign(&args.file, &profile.runs)?;
    Ok(Page {
        title: args.file.to_string_lossy().into_owned(),
        about: about(&module.path, args.against.as_deref()),
        profile,
        change: change(campaign.as_ref(), base, &asked.inputs),
        campaign,
        law,
    })
}

/// The two inputs that were given; of a campaign the costliest and its seed.
fn change<'a>(
    campaign: Option<&Campaign>,
    base: &'a [Input],
    inputs: &'a [Input],
) -> Option<Change<'a>> {
    let of_campaign = campaign.and_then(|campaign| campaign.costliest.as_ref());
    let named = |file: &str| inputs.iter().find(|input| input.path.ends_with(file));
    let (seed, mutant, rules) = match (base, inputs, of_campaign) {
        ([seed], [mutant], _) => (seed, mutant, Vec::new()),
        ([], _, Some(of)) => (named(&of.seed)?, named(&of.file)?, of.rules.clone()),
        _ => return None,
    };
    Some(Change {
        seed_name: show(&seed.path),
        seed: &seed.bytes,
        mutant_name: show(&mutant.path),
        mutant: &mutant.bytes,
        rules,
    })
}

fn about(target: &str, against: Option<&Path>) -> String {
    let against = against.map_or(String::new(), |path| format!(", against {}", show(path)));
    format!("in {target}{against}")
}

/// Whether it is a folder, and not that of a finding.
pub(super) fn is_folder_of_inputs(path: &Path) -> bool {
    path.is_dir() && !path.join("finding.json").exists()
}

/// For verbs whose inputs are bytes.
pub(super) fn refuse_property(module: &Module, path: &Path) -> Result<()> {
    if !module.is_property() {
        return Ok(());
    }
    Err(with_next(
        format!(
            "{}: a property makes its data itself; expected a target of bytes",
            show(path)
        ),
        "sandglass show TARGET.wasm FINDING    # what one run of it draws",
    ))
}

/// For a single input of bytes.
pub(super) fn refuse_choices(case: &Case) -> Result<()> {
    if case.choices.is_none() || case.record.is_some() {
        return Ok(());
    }
    Err(with_next(
        format!(
            "{}: choices, expected an input of bytes to profile",
            show(&case.path)
        ),
        "sandglass show TARGET.wasm FILE    # what they come to",
    ))
}

fn asked(module: &Module, args: &PerfArgs) -> Result<Asked> {
    let (path, target, guest) = (&args.file, &args.target, &args.guest);
    let (inputs, mut warnings) = read_any(path, module, guest)?;
    if inputs.is_empty() {
        // Perun's files are of findings, too.
        if args.perun_out.is_none() {
            return Err(no_inputs_to_profile(path));
        }
        warnings.push(format!(
            "{}: no input was kept, so that there are findings alone",
            show(path)
        ));
    }
    let case = match is_folder_of_inputs(path) {
        true => None,
        false => Some(read_case(path, module, guest)?),
    };
    let (target, limits) = if let Some(case) = &case {
        exact_for(case, module, target, guest)?
    } else {
        let (options, limits) = call_for_costs(path, target, guest)?;
        let target = Target::new(module.clone(), options, reset(guest.reset))?;
        (Arc::new(target), limits)
    };
    Ok(Asked {
        target,
        limits,
        inputs,
        warnings,
        case,
    })
}

/// How the inputs of a campaign are called to see what they cost: without watching memory, and with as much fuel as inputs
/// of no campaign get, unless that campaign had more.
pub(super) fn call_for_costs(
    path: &Path,
    target: &Path,
    guest: &GuestArgs,
) -> Result<(Options, Limits)> {
    let (options, mut limits) = call_of_paths(&[path.to_owned()], target, guest)?;
    let options = Options {
        sanitize_heap: false,
        allocator: Vec::new(),
        ..options
    };
    let wanted = wanted_limits(&guest.limits)?;
    limits.fuel = wanted
        .with_fuel(limits.fuel.max(Limits::STANDARD.fuel))
        .fuel;
    Ok((options, limits))
}

/// The inputs of a file, a finding, or a folder, which has at least one; and what was left out.
pub(super) fn read(
    path: &Path,
    module: &Module,
    guest: &GuestArgs,
) -> Result<(Vec<Input>, Vec<String>)> {
    let read = read_any(path, module, guest)?;
    match read.0.is_empty() {
        true => Err(no_inputs(path)),
        false => Ok(read),
    }
}

fn no_inputs(path: &Path) -> anyhow::Error {
    anyhow!(
        "{}: no inputs, expected at least one regular file",
        show(path)
    )
}

/// That, and of a campaign what it has instead.
fn no_inputs_to_profile(path: &Path) -> anyhow::Error {
    let findings = path.join("findings");
    if !findings.is_dir() {
        return no_inputs(path);
    }
    with_next(
        format!(
            "{}: no inputs, expected at least one regular file",
            show(path)
        ),
        format!(
            "sandglass perf TARGET.wasm {}    # its findings",
            quote_path(&findings)
        ),
    )
}

/// As [`read`]; a folder may be empty.
fn read_any(path: &Path, module: &Module, guest: &GuestArgs) -> Result<(Vec<Input>, Vec<String>)> {
    if is_folder_of_inputs(path) {
        let limits = wanted_limits(&guest.limits)?.limits;
        let read = read_bytes(&[path.to_owned()], u64::from(limits.input_bytes))?;
        return Ok((read.inputs, read.warnings));
    }
    let case = read_case(path, module, guest)?;
    refuse_choices(&case)?;
    let input = Input {
        path: path.to_owned(),
        bytes: case.input,
    };
    Ok((vec![input], Vec::new()))
}

/// One line on a set of runs.
fn heading(path: &Path, runs: &[Run]) -> String {
    let fuel: u64 = runs.iter().map(|run| run.fuel).sum();
    let most = peaks(runs);
    let heap = heap_bytes(runs).map(|bytes| plural(bytes, "byte"));
    let peaks = format!(
        "{} of memory, {}depth {}",
        plural(most.memory_pages, "page"),
        heap.map_or(String::new(), |bytes| format!("{bytes} of heap, ")),
        number(most.call_depth.into())
    );
    if let [run] = runs {
        return format!(
            "{}: {} ({}, {} fuel, {peaks})",
            show(path),
            exit_text(run.exit),
            plural(run.bytes, "byte"),
            number(run.fuel),
        );
    }
    let costliest = runs.iter().max_by_key(|run| run.fuel);
    let costliest = costliest.map_or(String::new(), |run| {
        format!("; at most {} ({})", number(run.fuel), printable(&run.name))
    });
    format!(
        "{}: {}, {} fuel{costliest}, {peaks}",
        show(path),
        plural(runs.len() as u64, "input"),
        number(fuel)
    )
}
