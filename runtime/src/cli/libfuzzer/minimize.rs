//! `-minimize_crash=1 FILE`: the smallest input with the same finding, in libFuzzer's lines.
//!
//! The search is that of `sandglass min`. What it comes to is the file that libFuzzer's last step would have written:
//! `minimized-from-SHA1`, or `-exact_artifact_path`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use sandglass_sandbox::on_guest_thread;

use super::super::args::FuzzArgs;
use super::super::called::limits;
use super::super::profile::refuse_property;
use super::flags::Flags;
use super::unit;
use crate::config;
use crate::error::{exit_code, show};
use crate::inputs;
use crate::minimise::minimise;
use crate::report::Sink;
use crate::store::atomic::{Durability, write_plain};
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Replayed, Target};

/// Executions at most, unless `-runs` says otherwise: as `sandglass min`.
const EXECS: u64 = 100_000;
/// What libFuzzer ends with when there is nothing to minimise.
const NOTHING_TO_DO: u8 = 1;

pub(super) fn minimize(mut args: FuzzArgs, flags: &Flags, out: &mut Sink) -> Result<u8> {
    flags.apply(&mut args);
    let [file] = &args.corpus[..] else {
        out.line("ERROR: -minimize_crash should be given one input file");
        return Ok(NOTHING_TO_DO);
    };
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    refuse_property(&module, &args.target)?;
    let limits = limits(&args.guest, None)?;
    let input = inputs::read_file(file, limits.input_bytes.into())?;
    let options = config::options(&args.guest, &args.target);
    let reset = config::reset(args.guest.reset);
    let target = Arc::new(Target::new(module, options, reset)?);
    let (name, size) = (show(file), input.len());
    out.line(&format!(
        "CRASH_MIN: minimizing crash input: '{name}' ({size} bytes)"
    ));
    let execs = flags.runs.filter(|&runs| runs > 0).unwrap_or(EXECS);
    let found = on_guest_thread(|| -> Result<_> {
        let mut exact = Exact::new(&target, &limits);
        let before = exact.replay(&input)?;
        if !before.outcome.exit.is_finding() {
            return Ok(None);
        }
        let found = minimise(&input, execs, &mut |input| {
            Ok(is_same(&before, &exact.replay(input)?))
        })?;
        Ok(Some(found.input))
    })?;
    let Some(found) = found else {
        out.line(&format!("ERROR: the input {name} did not crash"));
        return Ok(NOTHING_TO_DO);
    };
    out.line(&format!(
        "CRASH_MIN: '{name}' ({size} bytes) caused a crash. Will try to minimize it further"
    ));
    let path = match &flags.exact_artifact_path {
        Some(path) => PathBuf::from(path),
        None if found == input => file.clone(),
        None => {
            let hash = unit(&input).0;
            PathBuf::from(format!("{}minimized-from-{hash}", flags.artifact_prefix))
        }
    };
    if path != *file {
        write_plain(&path, &found, Durability::Machine)?;
        out.line(&format!(
            "artifact_prefix='{}'; Test unit written to {}",
            flags.artifact_prefix,
            show(&path)
        ));
    }
    out.line(&format!(
        "CRASH_MIN: failed to minimize beyond {} ({} bytes), exiting",
        show(&path),
        found.len()
    ));
    Ok(exit_code::FINE)
}

/// Whether two runs are the same finding.
fn is_same(one: &Replayed, other: &Replayed) -> bool {
    let key = |replayed: &Replayed| {
        let outcome = &replayed.outcome;
        replayed.ending.key(outcome.exit, outcome.site)
    };
    one.outcome.exit == other.outcome.exit && key(one) == key(other)
}
