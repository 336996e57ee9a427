//! `-merge=1 TO FROM…`: adds to a corpus the files of others that cover more, in libFuzzer's lines.
//!
//! As there, files are taken from the smallest on if anything that they cover is new (`Merger::Merge`);
//! with `-set_cover_merge=1` each time the one with most that is new. Findings cover nothing and stay where they are.
//! What is left out of libFuzzer's lines is about its processes and its control file: here there are neither.

use std::collections::BTreeSet;
use std::slice;
use std::sync::Arc;

use anyhow::Result;
use sandglass_sandbox::{Limits, on_guest_thread};

use super::super::args::FuzzArgs;
use super::super::cmin::{candidate, run_all};
use super::super::profile::refuse_property;
use super::flags::{Flags, Mode};
use super::unit;
use crate::config::{options, reset, wanted_limits};
use crate::cover_set::{Candidate, smallest_cover};
use crate::error::{exit_code, show};
use crate::inputs;
use crate::report::Sink;
use crate::store::atomic::{Durability, write_plain};
use crate::target::{Module, Target};

pub(super) fn merge(mut args: FuzzArgs, flags: &Flags, out: &mut Sink) -> Result<u8> {
    flags.apply(&mut args);
    let (to, from) = match &args.corpus[..] {
        [to, from @ ..] if !from.is_empty() => (to, from),
        // Nor is it an error there.
        _ => {
            out.line("INFO: Merge requires two or more corpus dirs");
            return Ok(exit_code::FINE);
        }
    };
    let wanted = wanted_limits(&args.guest.limits)?;
    let module = Module::read(&args.target, wanted.limits.memory_bytes)?;
    refuse_property(&module, &args.target)?;
    let limits = wanted.with_fuel(Limits::STANDARD.fuel);
    let bytes_max = u64::from(limits.input_bytes);
    let old = inputs::read_all(slice::from_ref(to), bytes_max)?;
    let mut new = inputs::read_all(from, bytes_max)?;
    for warning in old.warnings.iter().chain(&new.warnings) {
        out.line(&format!("WARNING: {warning}"));
    }
    new.inputs.sort_by_key(|input| input.bytes.len());
    out.line(&format!(
        "MERGE-OUTER: {} files, {} in the initial corpus, 0 processed earlier",
        old.inputs.len() + new.inputs.len(),
        old.inputs.len()
    ));
    let target = Arc::new(Target::new(
        module,
        options(&args.guest, &args.target),
        reset(args.guest.reset),
    )?);
    let (before, outcomes) = on_guest_thread(|| -> Result<_> {
        let before = run_all(&target, &limits, &old.inputs)?;
        Ok((before, run_all(&target, &limits, &new.inputs)?))
    })?;
    for (input, outcome) in new.inputs.iter().zip(&outcomes) {
        if outcome.exit.is_finding() {
            let file = show(&input.path);
            out.line(&format!("MERGE-INNER: '{file}' caused a failure"));
        }
    }
    let covered: BTreeSet<u64> = (before.iter())
        .flat_map(|outcome| candidate(outcome).features)
        .collect();
    let mut candidates: Vec<Candidate> = outcomes.iter().map(candidate).collect();
    for candidate in &mut candidates {
        candidate
            .features
            .retain(|feature| !covered.contains(feature));
    }
    let chosen = match flags.mode {
        Mode::SetCoverMerge => smallest_cover(&candidates),
        _ => with_something_new(&candidates),
    };
    let mut features = BTreeSet::new();
    for &index in &chosen {
        let (name, bytes) = unit(&new.inputs[index].bytes);
        write_plain(&to.join(name), &bytes, Durability::Process)?;
        features.extend(candidates[index].features.iter().copied());
    }
    let edges = |features: &BTreeSet<u64>| -> BTreeSet<u64> {
        // Of a feature, what is above the bucket of its count.
        features.iter().map(|feature| feature >> 8).collect()
    };
    out.line(&format!(
        "MERGE-OUTER: {} new files with {} new features added; {} new coverage edges",
        chosen.len(),
        features.len(),
        edges(&features).difference(&edges(&covered)).count()
    ));
    Ok(exit_code::FINE)
}

/// Those that cover what none before them does.
fn with_something_new(candidates: &[Candidate]) -> Vec<usize> {
    let mut covered = BTreeSet::new();
    let mut chosen = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let before = covered.len();
        covered.extend(candidate.features.iter().copied());
        if covered.len() > before {
            chosen.push(index);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_adds_nothing_is_left_out() {
        let candidates = [&[1, 2][..], &[2], &[], &[2, 3]].map(|features| Candidate {
            bytes: 1,
            features: features.to_vec(),
        });
        assert_eq!(with_something_new(&candidates), [0, 3]);
    }
}
