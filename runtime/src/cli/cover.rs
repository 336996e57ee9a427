//! `sandglass cover`: what of the source a corpus reaches.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use sandglass_engine::Interest;
use sandglass_engine::guidance::InputKind;
use sandglass_sandbox::{Build, Limits, Program, on_guest_thread};

use super::args::CoverArgs;
use super::called::call_of_paths;
use super::case::{bytes_alone, expect_choices};
use crate::check::known::findings;
use crate::config::{default_folder, reset};
use crate::cover::json::{self, Ran};
use crate::cover::source::Sources;
use crate::cover::{Compared, Cover, html, lcov, text};
use crate::error::{exit_code, io, show, with_next};
use crate::event::{Event, Warning};
use crate::inputs::{self, Input};
use crate::report::Sink;
use crate::report::plain::plural;
use crate::shell::quote_path;
use crate::store::finding;
use crate::target::{MEMORY_BYTES_MAX, Module, Reset, Target, again};

pub(super) fn run(args: CoverArgs) -> Result<u8> {
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
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
            format!("sandglass fuzz {}", quote_path(&args.target)),
        ));
    }
    let (options, limits) = call_of_paths(&corpus, &args.target, &args.guest)?;
    let is_property = module.is_property();
    let paths = with_findings(&corpus, is_property)?;
    let bytes_max = u64::from(limits.input_bytes);
    let read = match is_property {
        true => inputs::read_beside_campaigns(&paths, InputKind::Choices, bytes_max)?,
        false => {
            let kind = InputKind::Bytes;
            bytes_alone(inputs::read_beside_campaigns(&paths, kind, bytes_max)?)?
        }
    };
    if read.inputs.is_empty() {
        bail!(
            "{}: no inputs, expected at least one regular file",
            show(&corpus[0])
        );
    }
    let target = Target::new(module, options, reset(args.guest.reset))?;
    let seen = on_guest_thread(|| run_all(&target, &limits, &read.inputs))?;
    let (wasm, map) = (&target.module.wasm, seen.program.probe_map());
    let mut cover = Cover::with_compared(wasm, map, &seen.counts, &seen.compared)?;
    cover.find_types(wasm, lines_shown(&args));
    let mut sink = Sink::stdout();
    let ran = Ran {
        target: &target.module.path,
        target_hash: &target.module.hash,
        inputs: read.inputs.len() as u64,
        findings: seen.findings,
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
        sink.line("no lines: build C, C++, Rust and Zig with debug information (-g, or debug = true) to see the source; compilers of Go and AssemblyScript write none");
    }
    for line in text::text(&cover, args.libraries) {
        sink.line(&line);
    }
    write_files(&args, &cover, &ran, |path| {
        sink.line(&format!("wrote {}", show(path)));
    })?;
    Ok(exit_code::FINE)
}

/// How many lines with branches that never went some of their ways the longest of the reports shows.
fn lines_shown(args: &CoverArgs) -> usize {
    match args {
        CoverArgs { json: true, .. } => usize::MAX,
        CoverArgs { html: Some(_), .. } => html::ROWS_MAX,
        _ => text::BLOCKED_MAX,
    }
}

/// The same paths; in place of each campaign, wherever it lies, its corpus and the inputs that its findings gave to the
/// target. They reach source, too. Of a property, which gets no bytes, the choices of both.
fn with_findings(corpus: &[PathBuf], is_property: bool) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in corpus {
        let mut campaigns = inputs::campaigns(std::slice::from_ref(path))?;
        // Not the one that a path lies in.
        campaigns.retain(|campaign| campaign.starts_with(path));
        if campaigns.first() != Some(path) {
            paths.push(path.clone());
        }
        for campaign in campaigns {
            let kept = campaign.join(if is_property { "choices" } else { "corpus" });
            paths.extend(Some(kept).filter(|folder| folder.is_dir()));
            if is_property {
                let folders = findings(&campaign)?.into_iter();
                paths.extend(folders.map(|folder| folder.join("choices")));
            } else {
                paths.extend(broken_by(&campaign)?);
            }
        }
    }
    Ok(paths)
}

/// The inputs of a campaign's findings that have reached the target: not what broke a generator.
fn broken_by(campaign: &Path) -> Result<Vec<PathBuf>> {
    let mut inputs = Vec::new();
    for folder in findings(campaign)? {
        if finding::read(&folder)?.0.kind != "generator" {
            inputs.push(folder.join("input"));
        }
    }
    Ok(inputs)
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

/// What running all inputs shows.
struct Seen {
    /// The build that counted.
    program: Arc<Program>,
    /// Of all runs together, by probe.
    counts: Vec<u64>,
    /// Runs that were findings.
    findings: u64,
    compared: Compared,
}

impl Seen {
    fn count(&mut self, is_finding: bool, counts: &[(u32, u32)]) {
        self.findings += u64::from(is_finding);
        for (probe, count) in counts {
            let sum = &mut self.counts[*probe as usize];
            *sum = sum.saturating_add(u64::from(*count));
        }
    }
}

/// Runs all inputs. The build that records comparisons counts as the fast one does, so one run suffices; beside the builds
/// that do what it does not (watch the heap, leave marks) it needs a second one.
fn run_all(target: &Target, limits: &Limits, inputs: &[Input]) -> Result<Seen> {
    let counting = match target.campaign_build() {
        Build::Fast => Build::Compares,
        other => other,
    };
    let program = target.program(counting)?;
    let mut seen = Seen {
        counts: vec![0; program.probe_map().probes.len()],
        program,
        findings: 0,
        compared: Compared::default(),
    };
    let mut builds = vec![counting, Build::Compares];
    builds.dedup();
    for build in builds {
        let program = target.program(build)?;
        let map = program.probe_map();
        let interest = Interest::new(map.probes.len() as u32, 0);
        let mut sandbox = target.sandbox(build, limits)?;
        for input in inputs {
            if target.reset() == Reset::Fresh {
                sandbox = target.sandbox(build, limits)?;
            }
            let outcome = match target.is_property() {
                true => {
                    let choices = expect_choices(&input.path, &input.bytes)?;
                    sandbox.check(again(&choices), &interest, true)
                }
                false => sandbox.run(&input.bytes, &interest, true),
            };
            let detail = outcome.detail.expect("asked for");
            let memory_bytes = detail.peaks.memory_pages << 16;
            seen.compared
                .add(&map.compares, &detail.compares, memory_bytes);
            if build == counting {
                seen.count(outcome.exit.is_finding(), &detail.counts);
            }
        }
    }
    Ok(seen)
}
