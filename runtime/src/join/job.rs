//! Finite jobs: what somebody asks for and any worker with the module can do, with the same answer.
//!
//! | kind | inputs | answer |
//! | --- | --- | --- |
//! | minimise | one that fails | the smallest with the same finding; of choices, choices |
//! | replay | any | a line of JSON for each: how it ended, fuel, edges |
//! | distil | any | names of the smallest set with the same coverage, a line each, ascending |
//! | cover | any | LCOV's tracefile |
//!
//! An input that begins as a file of choices does is one. An answer is a function of the job and the
//! module; why there is none is an answer, too.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use sandglass_engine::choice::replay::{After, Replay};
use sandglass_engine::choice::text::{in_file, to_text};
use sandglass_engine::feedback::bucket;
use sandglass_engine::shrink::shrink;
use sandglass_engine::{ChoiceSequence, Drawing, Interest, Outcome, Source, Variant};
use sandglass_exchange::{Job, JobKind};
use sandglass_sandbox::Limits;

use crate::campaign::workers::Runner as _;
use crate::cover::{Cover, lcov};
use crate::cover_set::{Candidate, smallest_cover};
use crate::minimise::minimise;
use crate::stack;
use crate::store::input_name;
use crate::target::{Exact, Replayed, Target, Worker};

/// Kinds of jobs by the names that users type. Partitions of reference data are nobody's yet.
pub const KINDS: [(&str, JobKind); 4] = [
    ("minimise", JobKind::Minimise),
    ("replay", JobKind::Replay),
    ("distil", JobKind::Distil),
    ("cover", JobKind::Cover),
];

/// Executions of a job that says nothing about it.
pub const EXECS: u64 = 100_000;

/// A job's name for its kind.
pub fn name(kind: JobKind) -> &'static str {
    let named = KINDS.iter().find(|(_, named)| *named == kind);
    named.map_or("partition", |(name, _)| name)
}

/// Does a job, with the fuel that it asks for. Errs where there is no answer, with the reason; it is the same for everybody. On a guest
/// thread only.
pub fn perform(job: &Job, target: &Arc<Target>, limits: &Limits) -> Result<Vec<u8>> {
    let fuel = setting(job, "fuel")?
        .ok_or_else(|| anyhow!("no fuel=N, expected what an execution may take"))?;
    let limits = Limits {
        fuel: fuel.max(1),
        ..*limits
    };
    match job.kind {
        JobKind::Minimise => minimised(job, target, &limits),
        JobKind::Replay => replayed(job, target, &limits),
        JobKind::Distil => distilled(job, target, &limits),
        JobKind::Cover => covered(job, target, &limits),
        JobKind::Partition => bail!("nothing here does partitions"),
    }
}

/// A setting that is a number.
fn setting(job: &Job, name: &str) -> Result<Option<u64>> {
    let Some(value) = job.setting(name) else {
        return Ok(None);
    };
    let number = value
        .parse()
        .map_err(|_| anyhow!("{name}={value:.40}: no number"))?;
    Ok(Some(number))
}

/// What an input is, if it is choices.
fn choices(input: &[u8], target: &Target) -> Result<Option<ChoiceSequence>> {
    let draws = target.is_property() || target.generator.is_some();
    match draws {
        true => Ok(in_file(input).transpose()?),
        false => Ok(None),
    }
}

fn minimised(job: &Job, target: &Arc<Target>, limits: &Limits) -> Result<Vec<u8>> {
    let [input] = &job.inputs[..] else {
        bail!("{} inputs, expected one", job.inputs.len());
    };
    let execs = setting(job, "execs")?.unwrap_or(EXECS);
    let mut exact = Exact::new(target, limits);
    let identity = |replayed: &Replayed| {
        let (exit, site) = (replayed.outcome.exit, replayed.outcome.site);
        (exit, replayed.ending.key(exit, site))
    };
    let check = |replayed: &Replayed| match replayed.outcome.exit.is_finding() {
        true => Ok(identity(replayed)),
        false => bail!(
            "it ends with `{}`, expected a finding",
            stack::exit_text(replayed.outcome.exit)
        ),
    };
    if let Some(choices) = choices(input, target)? {
        let (before, shown) = exact.replay_choices(&choices)?;
        let wanted = check(&before)?;
        let found = shrink(shown.choices, execs, &mut |candidate| {
            let (replayed, shown) = exact.try_choices(candidate)?;
            Ok::<_, anyhow::Error>((identity(&replayed) == wanted).then_some(shown.choices))
        })?;
        return Ok(to_text(&found.choices).into_bytes());
    }
    let wanted = check(&exact.replay(input)?)?;
    let found = minimise(input, execs, &mut |input| {
        Ok(identity(&exact.replay(input)?) == wanted)
    })?;
    Ok(found.input)
}

/// All inputs of a job, run for what they cover.
fn run_all(job: &Job, target: &Arc<Target>, limits: &Limits) -> Result<Vec<Outcome>> {
    let mut worker = Worker::new(target, limits, 0)?;
    let interest = Interest::new(worker.probes(), 0);
    let run = |input: &Vec<u8>| match choices(input, target)? {
        Some(choices) => {
            let replay = Replay::new(Arc::new(choices), After::Stops);
            let drawing = Drawing::new(Source::Replay(replay), u32::MAX);
            worker.run_drawing(1, Variant::Fast, drawing, &interest, true)
        }
        None if target.is_property() => bail!("bytes for a property, expected choices"),
        None => {
            let input = &input[..input.len().min(limits.input_bytes as usize)];
            worker.run_bytes(1, input, &interest)
        }
    };
    job.inputs.iter().map(run).collect()
}

fn replayed(job: &Job, target: &Arc<Target>, limits: &Limits) -> Result<Vec<u8>> {
    let mut lines = String::new();
    for (input, outcome) in job.inputs.iter().zip(run_all(job, target, limits)?) {
        let line = serde_json::json!({
            "input": input_name(input),
            "exit": stack::exit_text(outcome.exit),
            "is_finding": outcome.exit.is_finding(),
            "fuel": outcome.fuel,
            "edges": outcome.detail.map_or(0, |detail| detail.counts.len()),
        });
        lines.push_str(&format!("{line}\n"));
    }
    Ok(lines.into_bytes())
}

fn distilled(job: &Job, target: &Arc<Target>, limits: &Limits) -> Result<Vec<u8>> {
    let outcomes = run_all(job, target, limits)?;
    let candidates = job.inputs.iter().zip(&outcomes).map(|(input, outcome)| {
        let detail = outcome
            .detail
            .as_ref()
            .filter(|_| !outcome.exit.is_finding());
        let counts = detail.map_or(&[][..], |detail| &detail.counts);
        let features = counts.iter();
        Candidate {
            bytes: input.len() as u64,
            features: features
                .map(|&(probe, count)| u64::from(probe) << 8 | u64::from(bucket(count)))
                .collect(),
        }
    });
    let chosen = smallest_cover(&candidates.collect::<Vec<_>>());
    let mut names: Vec<String> = chosen
        .iter()
        .map(|&at| input_name(&job.inputs[at]))
        .collect();
    names.sort_unstable();
    names.dedup();
    Ok(names
        .iter()
        .flat_map(|name| format!("{name}\n").into_bytes())
        .collect())
}

fn covered(job: &Job, target: &Arc<Target>, limits: &Limits) -> Result<Vec<u8>> {
    let program = target.program(target.campaign_build())?;
    let mut counts = vec![0u64; program.probe_map().probes.len()];
    for outcome in run_all(job, target, limits)? {
        for (probe, count) in outcome.detail.expect("it was asked for").counts {
            if let Some(sum) = counts.get_mut(probe as usize) {
                *sum = sum.saturating_add(u64::from(count));
            }
        }
    }
    let cover = Cover::new(&target.module.wasm, program.probe_map(), &counts)?;
    Ok(lcov::lcov(&cover).into_bytes())
}
