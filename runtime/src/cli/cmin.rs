//! `sandglass cmin`: the smallest corpus with the same coverage, in a new
//! folder. What is there is never changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use sandglass_engine::feedback::bucket;
use sandglass_engine::{Interest, Outcome, Variant};
use sandglass_sandbox::{Limits, on_guest_thread};

use super::args::CminArgs;
use super::called::call_of_paths;
use super::case::read_bytes;
use super::profile::refuse_property;
use super::report::named;
use crate::campaign::workers::Runner as _;
use crate::config::{require_empty, reset};
use crate::cover_set::{Candidate, smallest_cover};
use crate::error::{exit_code, io, show};
use crate::inputs::Input;
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::store::input_name;
use crate::target::{MEMORY_BYTES_MAX, Module, Target, Worker};

pub(super) fn run(args: CminArgs) -> Result<u8> {
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    refuse_property(&module, &args.target)?;
    if args.guest.generator.is_some() {
        bail!("--generator: cmin runs inputs of bytes as they are; expected no such option");
    }
    let (options, limits) = call_of_paths(&args.corpus, &args.target, &args.guest)?;
    let read = read_bytes(&args.corpus, u64::from(limits.input_bytes))?;
    let target = Arc::new(Target::new(module, options, reset(args.guest.reset))?);
    let out = args.out.map_or_else(|| default_out(&args.corpus[0]), Ok)?;
    if read.inputs.is_empty() {
        bail!(
            "{}: no inputs, expected at least one regular file",
            show(&args.corpus[0])
        );
    }
    require_empty(&out)?;
    let mut sink = Sink::stdout();
    for warning in &read.warnings {
        sink.line(&format!("warning: {warning}"));
    }
    let outcomes = on_guest_thread(|| run_all(&target, &limits, &read.inputs))?;
    let failing = outcomes
        .iter()
        .filter(|outcome| outcome.exit.is_finding())
        .count() as u64;
    let candidates: Vec<Candidate> = outcomes.iter().map(candidate).collect();
    let mut chosen = smallest_cover(&candidates);
    chosen.sort_unstable();
    for &index in &chosen {
        let bytes = &read.inputs[index].bytes;
        let path = out.join(input_name(bytes));
        fs::write(&path, bytes).map_err(|e| io(&path, "write", &e))?;
    }
    sink.line(&format!(
        "{}: {} of {} cover the same {} features",
        show(&out),
        number(chosen.len() as u64),
        plural(read.inputs.len() as u64, "input"),
        number(feature_count(&candidates)),
    ));
    if failing > 0 {
        sink.line(&format!("left out findings: {}", plural(failing, "input")));
    }
    Ok(exit_code::FINE)
}

pub(super) fn run_all(
    target: &Arc<Target>,
    limits: &Limits,
    inputs: &[Input],
) -> Result<Vec<Outcome>> {
    let mut worker = Worker::new(target, limits, 0)?;
    let interest = Interest::new(worker.probes(), 0);
    let outcomes = inputs
        .iter()
        .map(|input| worker.run(0, Variant::Fast, &input.bytes, &interest, true));
    outcomes.collect()
}

/// A feature is a probe with a bucket of its count, as in campaigns. Findings
/// cover nothing: a corpus of seeds must not fail.
pub(super) fn candidate(outcome: &Outcome) -> Candidate {
    let counts = match &outcome.detail {
        Some(detail) if !outcome.exit.is_finding() => &detail.counts[..],
        _ => &[],
    };
    Candidate {
        bytes: u64::from(outcome.input_bytes),
        features: counts
            .iter()
            .map(|&(probe, count)| u64::from(probe) << 8 | u64::from(bucket(count)))
            .collect(),
    }
}

fn feature_count(candidates: &[Candidate]) -> u64 {
    let all: std::collections::BTreeSet<u64> = candidates
        .iter()
        .flat_map(|c| c.features.iter().copied())
        .collect();
    all.len() as u64
}

/// `corpus.min` beside `corpus`.
fn default_out(folder: &Path) -> Result<PathBuf> {
    let folder = named(folder)?;
    let mut name = folder.file_name().unwrap_or("corpus".as_ref()).to_owned();
    name.push(".min");
    Ok(folder.with_file_name(name))
}
