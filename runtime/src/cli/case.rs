//! What replaying verbs are given: an input, choices, or the folder of a
//! finding, and who is needed to run it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use sandglass_engine::ChoiceSequence;
use sandglass_engine::choice::text::{in_file, is_choices};
use sandglass_sandbox::{Limits, Options};

use super::args::{GuestArgs, SanitizeArg};
use super::called::call_of_finding;
use crate::config::{read_generator, reset, wanted_limits};
use crate::error::{show, with_next};
use crate::export::bundle;
use crate::inputs::{self, CHOICES_BYTES_MAX, Inputs};
use crate::shell::quote_path;
use crate::store::finding::{self, FindingRecord};
use crate::store::read_record;
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Replayed, Shown, Target, require_hash};

/// An input with what its folder says about it.
pub(super) struct Case {
    /// As the user gave it.
    pub(super) path: PathBuf,
    /// The input as the target gets it; empty if only choices are known.
    pub(super) input: Vec<u8>,
    /// The choices that it is made of, if they are known.
    pub(super) choices: Option<ChoiceSequence>,
    pub(super) record: Option<FindingRecord>,
}

impl Case {
    /// How it is called, and its limits: the record's, unless flags say otherwise.
    pub(super) fn call(&self, target: &Path, guest: &GuestArgs) -> Result<(Options, Limits)> {
        call_of_finding(self.record.as_ref(), &self.path, target, guest)
    }

    /// Whether the target needs the choices: bytes alone do not say what a property draws, or what
    /// broke a generator.
    pub(super) fn needs_choices(&self, module: &Module) -> bool {
        let is_generator = |record: &FindingRecord| record.kind == "generator";
        let is_input = self.record.is_some() || self.choices.is_none();
        !is_input || module.is_property() || self.record.as_ref().is_some_and(is_generator)
    }

    /// The input for what reads bytes and no choices: what the generator makes of those, if nothing else is known.
    pub(super) fn bytes(&self, exact: &mut Exact) -> Result<Cow<'_, [u8]>> {
        let Some(choices) = &self.choices else {
            return Ok(Cow::Borrowed(&self.input));
        };
        if self.record.is_some() && !self.input.is_empty() {
            return Ok(Cow::Borrowed(&self.input));
        }
        let made = exact.generate(choices)?.map(Cow::Owned);
        made.ok_or_else(|| no_input(&self.path))
    }

    /// Replays it: the input where that is enough, else the choices.
    pub(super) fn replay(
        &self,
        exact: &mut Exact,
        target: &Target,
    ) -> Result<(Replayed, Option<Shown>)> {
        match &self.choices {
            Some(choices) if self.needs_choices(&target.module) => {
                let (replayed, shown) = exact.replay_choices(choices)?;
                Ok((replayed, Some(shown)))
            }
            _ => Ok((exact.replay(&self.input)?, None)),
        }
    }
}

/// Choices from which a generator does not return.
pub(super) fn no_input(path: &Path) -> anyhow::Error {
    with_next(
        format!(
            "{}: choices that no input is made of, expected such as the generator returns from",
            show(path)
        ),
        "sandglass repro TARGET.wasm FILE    # how they end",
    )
}

/// Reads an input, choices, or the folder of a finding of this module.
pub(super) fn read_case(path: &Path, module: &Module, guest: &GuestArgs) -> Result<Case> {
    if !path.is_dir() {
        let case = read_file(path, guest)?;
        return match module.is_property() && case.choices.is_none() {
            true => Err(not_choices(path)),
            false => Ok(case),
        };
    }
    if !path.join("finding.json").exists() {
        bail!(
            "{}: a folder without finding.json, expected an input or a folder of findings/",
            show(path)
        );
    }
    let case = read_finding(path)?;
    let record = case.record.as_ref().expect("a finding has one");
    require_hash(module, path, &record.target_hash)?;
    Ok(case)
}

/// The same of a finding of any module, to see what becomes of it in this one.
pub(super) fn read_case_of_any(path: &Path, module: &Module, guest: &GuestArgs) -> Result<Case> {
    match path.join("finding.json").exists() {
        true => read_finding(path),
        false => read_case(path, module, guest),
    }
}

/// Reads the folder of a finding, of whatever module.
pub(super) fn read_finding(path: &Path) -> Result<Case> {
    let (record, input) = finding::read(path)?;
    Ok(Case {
        path: path.to_owned(),
        input,
        choices: finding::read_choices(path, &record)?,
        record: Some(record),
    })
}

pub(super) fn read_file(path: &Path, guest: &GuestArgs) -> Result<Case> {
    if bundle::is_bundle(path) {
        return Err(with_next(
            format!(
                "{}: a bundle, which has its own module; expected an input or a finding's folder",
                show(path)
            ),
            format!("sandglass repro {}", quote_path(path)),
        ));
    }
    let limits = wanted_limits(&guest.limits)?.limits;
    let bytes_max = u64::from(limits.input_bytes).max(CHOICES_BYTES_MAX);
    let error = |error: anyhow::Error| {
        with_next(
            format!("{error:#}"),
            "sandglass repro TARGET.wasm FILE, with an input or a finding's folder",
        )
    };
    let bytes = inputs::read_file(path, bytes_max).map_err(error)?;
    let case = |input, choices| Case {
        path: path.to_owned(),
        input,
        choices,
        record: None,
    };
    if let Some(choices) = read_choices(path, &bytes)? {
        return Ok(case(Vec::new(), Some(choices)));
    }
    let bytes = inputs::read_file(path, u64::from(limits.input_bytes)).map_err(error)?;
    Ok(case(bytes, None))
}

/// The choices that a file has; nothing if it is one of bytes. Errs if they are damaged.
fn read_choices(path: &Path, bytes: &[u8]) -> Result<Option<ChoiceSequence>> {
    let choices = in_file(bytes).transpose();
    choices.map_err(|e| anyhow!("{}: damaged choices: {e}", show(path)))
}

/// The choices that a property takes. Errs if the file has none, or damaged ones.
pub(super) fn expect_choices(path: &Path, bytes: &[u8]) -> Result<ChoiceSequence> {
    read_choices(path, bytes)?.ok_or_else(|| not_choices(path))
}

fn not_choices(path: &Path) -> anyhow::Error {
    anyhow!(
        "{}: not choices, and a property gets no bytes; expected a file of a campaign's choices/",
        show(path)
    )
}

/// Reads folders of inputs for a verb that takes bytes alone. Errs, beside what reading does, if there are choices among
/// them: run as bytes they would be inputs that nobody meant.
pub(super) fn read_bytes(paths: &[PathBuf], input_bytes_max: u64) -> Result<Inputs> {
    bytes_alone(inputs::read_all(paths, input_bytes_max)?)
}

/// What was read, if there are no choices in it: see [`read_bytes`].
pub(super) fn bytes_alone(read: Inputs) -> Result<Inputs> {
    let mut inputs = read.inputs.iter();
    match inputs.find(|input| is_choices(&input.bytes)) {
        None => Ok(read),
        Some(input) => Err(with_next(
            format!("{}: choices, expected inputs of bytes", show(&input.path)),
            "the same command with the corpus/ of that campaign",
        )),
    }
}

/// The target and limits of a case: the record's, unless flags say otherwise.
pub(super) fn exact_for(
    case: &Case,
    module: &Module,
    target: &Path,
    guest: &GuestArgs,
) -> Result<(Arc<Target>, Limits)> {
    let (options, limits) = case.call(target, guest)?;
    let target = Target::new(module.clone(), options, reset(guest.reset))?;
    let target = if case.choices.is_some() {
        target.with_generator(generator(case, module, guest)?)?
    } else {
        target
    };
    Ok((Arc::new(target), limits))
}

/// Refuses to look for memory errors in what counts or follows bytes: those builds watch nothing, and a cost with
/// watching would be no one's.
pub(super) fn refuse_sanitize(guest: &GuestArgs, command: &str) -> Result<()> {
    if !matches!(
        guest.sanitize,
        Some(SanitizeArg::Heap | SanitizeArg::Sample)
    ) {
        return Ok(());
    }
    Err(with_next(
        format!(
            "--sanitize: {command} takes a program as it is, without watching its memory; expected no such option"
        ),
        "sandglass check TARGET.wasm FOLDER --execs 0 --sanitize heap    # which inputs do wrong",
    ))
}

/// The generator of a case: named, the target's own, or the one of the campaign that it lies in.
fn generator(case: &Case, module: &Module, guest: &GuestArgs) -> Result<Option<Module>> {
    let mut found = read_generator(guest, module, MEMORY_BYTES_MAX)?;
    let mut expected = (case.record.as_ref()).and_then(|record| record.generator_hash.clone());
    if found.is_none() && !module.is_property() {
        // `choices/HASH`, `findings/KEY` and `findings/KEY/choices` lie so deep in it.
        for folder in case.path.ancestors().skip(1).take(3) {
            let record = read_record(folder)?;
            if let Some(generator) = record.and_then(|record| record.generator) {
                found = Some(Module::read(Path::new(&generator.path), MEMORY_BYTES_MAX)?);
                expected.get_or_insert(generator.hash);
                break;
            }
        }
    }
    if let (Some(generator), Some(expected)) = (&found, &expected) {
        require_hash(generator, &case.path, expected)?;
    }
    Ok(found)
}
