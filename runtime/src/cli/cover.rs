//! `sandglass cover`: what of the source a corpus reaches.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use sandglass_engine::{Interest, Variant};
use sandglass_sandbox::{Build, Limits, on_guest_thread};

use super::args::CoverArgs;
use crate::campaign::workers::Runner as _;
use crate::config::{default_folder, options, reset, wanted_limits};
use crate::cover::json::{self, Ran};
use crate::cover::source::Sources;
use crate::cover::{Compared, Cover, html, lcov, text};
use crate::error::{exit_code, io, show, with_next};
use crate::event::{Event, Warning};
use crate::inputs::{self, Input};
use crate::report::Sink;
use crate::report::plain::plural;
use crate::store::finding::quote;
use crate::target::{Module, Target, Worker};

pub(super) fn run(args: CoverArgs) -> Result<u8> {
    let wanted = wanted_limits(&args.guest.limits)?;
    let module = Module::read(&args.target, wanted.limits.memory_bytes)?;
    if module.is_property() {
        return Err(with_next(
            format!(
                "{}: a property makes its data itself; cover needs a target of bytes",
                show(&args.target)
            ),
            "sandglass show TARGET.wasm FINDING    # what one run of it draws",
        ));
    }
    let limits = wanted.with_fuel(Limits::STANDARD.fuel);
    let corpus = match &args.corpus[..] {
        [] => vec![default_folder(&args.target)],
        folders => folders.to_vec(),
    };
    if let Some(missing) = corpus.iter().find(|path| !path.exists()) {
        return Err(with_next(
            format!(
                "{}: no such folder, expected one of inputs or of a campaign",
                show(missing)
            ),
            format!("sandglass fuzz {}", quote(&show(&args.target))),
        ));
    }
    let read = inputs::read_all(&corpus, u64::from(limits.input_bytes))?;
    if read.inputs.is_empty() {
        bail!(
            "{}: no inputs, expected at least one regular file",
            show(&corpus[0])
        );
    }
    let options = options(&args.guest, &args.target);
    let target = Arc::new(Target::new(module, options, reset(args.guest.reset))?);
    let (counts, failing, compared) = on_guest_thread(|| run_all(&target, &limits, &read.inputs))?;
    let program = target.program(target.campaign_build())?;
    let cover = Cover::with_compared(&target.module.wasm, program.probe_map(), &counts, &compared)?;
    let mut sink = Sink::stdout();
    let ran = Ran {
        target: &target.module.path,
        target_hash: &target.module.hash,
        inputs: read.inputs.len() as u64,
        findings: failing,
    };
    if args.json {
        for text in read.warnings {
            sink.line(&Event::Warning(Warning { text }).to_json());
        }
        write_files(&args, &cover, &ran, |_| {})?;
        json::json(&cover, ran)
            .iter()
            .for_each(|line| sink.line(line));
        return Ok(exit_code::FINE);
    }
    for warning in &read.warnings {
        sink.line(&format!("warning: {warning}"));
    }
    sink.line(&format!("{}: {}", show(&args.target), about(&ran)));
    if cover.files.is_empty() {
        sink.line("no lines: build the module with debug information (-g, or debug = true) to see its source");
    }
    for line in text::text(&cover, args.libraries) {
        sink.line(&line);
    }
    write_files(&args, &cover, &ran, |path| {
        sink.line(&format!("wrote {}", show(path)));
    })?;
    Ok(exit_code::FINE)
}

fn about(ran: &Ran<'_>) -> String {
    let findings = match ran.findings {
        0 => String::new(),
        n => format!(", {} among them", plural(n, "finding")),
    };
    format!("by {}{findings}", plural(ran.inputs, "input"))
}

/// Writes the reports that were asked for, and tells of each.
fn write_files(
    args: &CoverArgs,
    cover: &Cover,
    ran: &Ran<'_>,
    mut wrote: impl FnMut(&Path),
) -> Result<()> {
    if let Some(path) = &args.lcov {
        fs::write(path, lcov::lcov(cover)).map_err(|e| io(path, "write", &e))?;
        wrote(path);
    }
    if let Some(path) = &args.html {
        let root = args.source.clone().unwrap_or_else(|| PathBuf::from("."));
        let sources = Sources::below(&root);
        if sources.is_none() {
            bail!(
                "{}: no such folder, expected the one with the source",
                show(&root)
            );
        }
        let page = html::html(&html::Page {
            title: ran.target.to_owned(),
            about: format!("What of the source is reached {}.", about(ran)),
            cover,
            sources,
        });
        fs::write(path, page).map_err(|e| io(path, "write", &e))?;
        wrote(path);
    }
    Ok(())
}

/// The counts of all runs together, by probe; how many runs were findings; and what was compared, from a second run
/// of each in the build that records it.
fn run_all(
    target: &Arc<Target>,
    limits: &Limits,
    inputs: &[Input],
) -> Result<(Vec<u64>, u64, Compared)> {
    let mut worker = Worker::new(target, limits, 0)?;
    let interest = Interest::new(worker.probes(), 0);
    let mut counts = vec![0u64; worker.probes() as usize];
    let mut failing = 0;
    for input in inputs {
        let outcome = worker.run(0, Variant::Fast, &input.bytes, &interest, true)?;
        failing += u64::from(outcome.exit.is_finding());
        for (probe, count) in outcome.detail.expect("asked for").counts {
            let sum = &mut counts[probe as usize];
            *sum = sum.saturating_add(u64::from(count));
        }
    }
    let program = target.program(Build::Compares)?;
    let sites = &program.probe_map().compares;
    let mut compared = Compared::default();
    for input in inputs {
        let outcome = worker.run(0, Variant::Compares, &input.bytes, &interest, true)?;
        compared.add(sites, &outcome.detail.expect("asked for").compares);
    }
    Ok((counts, failing, compared))
}
