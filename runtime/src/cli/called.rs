//! How a target is called: as was recorded, unless flags say otherwise.
//!
//! In: flags, and what a finding or campaign says of its target. Out: options and limits. Whoever runs again what a campaign
//! has kept asks here, or it would run it otherwise than the campaign did.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use sandglass_instrument::CostModel;
use sandglass_sandbox::{Limits, Options};

use super::args::{CostArg, GuestArgs, SanitizeArg};
use crate::config::{cost_model, options, wanted_limits};
use crate::error::{show, with_next};
use crate::inputs;
use crate::store::finding::FindingRecord;
use crate::store::read_record;
use crate::store::record::{Record, TargetRecord};

/// What is recorded of a call.
pub(super) struct Recorded<'a> {
    args: &'a [String],
    stub_imports: bool,
    sanitize: SanitizeArg,
    allocator: &'a [String],
    cost_model: CostModel,
}

impl<'a> From<&'a FindingRecord> for Recorded<'a> {
    fn from(record: &'a FindingRecord) -> Recorded<'a> {
        Recorded {
            args: &record.args,
            stub_imports: record.stub_imports,
            sanitize: match record.sanitize_heap {
                true => SanitizeArg::Heap,
                false => SanitizeArg::None,
            },
            allocator: &record.allocator,
            cost_model: record.cost_model,
        }
    }
}

impl<'a> From<&'a TargetRecord> for Recorded<'a> {
    fn from(record: &'a TargetRecord) -> Recorded<'a> {
        Recorded {
            args: &record.args,
            stub_imports: record.stub_imports,
            sanitize: match (record.sanitize_heap, record.sanitize_sample) {
                (true, _) => SanitizeArg::Heap,
                (_, true) => SanitizeArg::Sample,
                _ => SanitizeArg::None,
            },
            allocator: &record.allocator,
            cost_model: record.cost_model,
        }
    }
}

/// The flags that say what was recorded, where none were given.
pub(super) fn as_recorded(guest: &GuestArgs, recorded: &Recorded<'_>) -> GuestArgs {
    let mut guest = guest.clone();
    if guest.args.is_empty() {
        guest.args = recorded.args.to_vec();
    }
    guest.stub_imports |= recorded.stub_imports;
    guest.sanitize.get_or_insert(recorded.sanitize);
    if guest.allocator.is_empty() && guest.sanitize != Some(SanitizeArg::None) {
        guest.allocator = recorded.allocator.to_vec();
    }
    guest.cost_model.get_or_insert(match recorded.cost_model {
        CostModel::Plain => CostArg::Plain,
        CostModel::Native => CostArg::Native,
    });
    guest
}

/// The options of single runs, in none of which a sample is watched.
fn recorded_options(guest: &GuestArgs, target: &Path, recorded: &Recorded<'_>) -> Options {
    let mut options = options(&as_recorded(guest, recorded), target);
    if guest.allocator.is_empty() && !options.sanitize_heap {
        options.allocator.clear();
    }
    options
}

/// Of a finding, which lies at `place`, or of an input of which nothing is recorded. Errs where fuel is asked for that cannot be compared with what was recorded.
pub(super) fn call_of_finding(
    record: Option<&FindingRecord>,
    place: &Path,
    target: &Path,
    guest: &GuestArgs,
) -> Result<(Options, Limits)> {
    let Some(record) = record else {
        return Ok((options(guest, target), limits(guest, None)?));
    };
    if let Some(asked) = cost_model(guest)
        && asked != record.cost_model
    {
        bail!(
            "--cost-model {}: {} was counted with `{}`, and fuel of two models cannot be compared; expected that or no --cost-model",
            asked.name(),
            show(place),
            record.cost_model.name()
        );
    }
    let options = recorded_options(guest, target, &record.into());
    Ok((options, limits(guest, Some(&record.limits))?))
}

/// Of the inputs of a campaign, if they are of one.
pub(super) fn call_of_campaign(
    record: Option<&Record>,
    target: &Path,
    guest: &GuestArgs,
) -> Result<(Options, Limits)> {
    let limits = limits(guest, record.map(|record| &record.limits))?;
    let options = match record {
        Some(record) => recorded_options(guest, target, &(&record.target).into()),
        None => options(guest, target),
    };
    Ok((options, limits))
}

/// Of what several paths hold: as in the campaigns among them, whose limits are the largest of all. Errs where
/// campaigns among them were called otherwise than others, and flags do not say how.
pub(super) fn call_of_paths(
    paths: &[PathBuf],
    target: &Path,
    guest: &GuestArgs,
) -> Result<(Options, Limits)> {
    let mut found: Option<(PathBuf, Options, Limits)> = None;
    for campaign in inputs::campaigns(paths)? {
        let record = read_record(&campaign)?;
        let (options, limits) = call_of_campaign(record.as_ref(), target, guest)?;
        found = Some(match found {
            None => (campaign, options, limits),
            Some((first, before, most)) if before == options => {
                (first, before, largest(&most, &limits))
            }
            Some((first, before, _)) => {
                return Err(with_next(
                    format!(
                        "{}: a campaign with other options of the target than {}, expected one call for all",
                        show(&campaign),
                        show(&first),
                    ),
                    format!(
                        "the same command with one of them, or with {}",
                        deciding_flag(&before, &options)
                    ),
                ));
            }
        });
    }
    match found {
        Some((_, options, limits)) => Ok((options, limits)),
        None => call_of_campaign(None, target, guest),
    }
}

/// The flag that decides what two calls differ in first.
fn deciding_flag(a: &Options, b: &Options) -> &'static str {
    if a.args != b.args {
        "-- ARGS"
    } else if a.stub_imports != b.stub_imports {
        "--stub-imports"
    } else if a.cost != b.cost {
        "--cost-model plain"
    } else {
        "--sanitize none"
    }
}

fn largest(a: &Limits, b: &Limits) -> Limits {
    Limits {
        fuel: a.fuel.max(b.fuel),
        memory_bytes: a.memory_bytes.max(b.memory_bytes),
        call_depth: a.call_depth.max(b.call_depth),
        output_bytes: a.output_bytes.max(b.output_bytes),
        input_bytes: a.input_bytes.max(b.input_bytes),
        file_bytes: a.file_bytes.max(b.file_bytes),
    }
}

/// The limits that were recorded, unless flags say otherwise.
pub(super) fn limits(guest: &GuestArgs, recorded: Option<&Limits>) -> Result<Limits> {
    let wanted = wanted_limits(&guest.limits)?;
    let standard = Limits::STANDARD;
    let Some(recorded) = recorded else {
        return Ok(wanted.with_fuel(standard.fuel));
    };
    let flags = wanted.limits;
    Ok(Limits {
        fuel: wanted.fuel.unwrap_or(recorded.fuel),
        memory_bytes: chosen(
            flags.memory_bytes,
            standard.memory_bytes,
            recorded.memory_bytes,
        ),
        call_depth: chosen(flags.call_depth, standard.call_depth, recorded.call_depth),
        output_bytes: chosen(
            flags.output_bytes,
            standard.output_bytes,
            recorded.output_bytes,
        ),
        input_bytes: chosen(
            flags.input_bytes,
            standard.input_bytes,
            recorded.input_bytes,
        ),
        file_bytes: recorded.file_bytes,
    })
}

/// A flag that was given, else what was recorded.
fn chosen<T: PartialEq>(flag: T, default: T, recorded: T) -> T {
    if flag == default { recorded } else { flag }
}
