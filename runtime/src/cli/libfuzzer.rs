//! `sandglass fuzz TARGET.wasm --compat libfuzzer -- FLAGS… CORPUS… | FILES…`: stands in for a libFuzzer
//! binary, for drivers that know only those.
//!
//! In: libFuzzer's arguments. Out: its lines on standard error, its names of files, its exit codes. Folders are
//! corpora, and the first of them gets what is new; if all are files, each is run once. As there, the
//! first finding ends it. The campaign's own folder is a temporary one unless `--out` names it.

mod flags;
mod merge;
mod minimize;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use sandglass_engine::Seed;
use sandglass_sandbox::{Limits, on_guest_thread};

use super::args::FuzzArgs;
use super::called::limits;
use super::profile::refuse_property;
use crate::campaign::start::start;
use crate::config::{self, CampaignConfig};
use crate::corpora::{Tool, export};
use crate::error::{exit_code, io, show, with_next};
use crate::event::Ended;
use crate::inputs;
use crate::report::Sink;
use crate::report::libfuzzer::{Lines, Seen, finding, prefix};
use crate::store::atomic::{Durability, write_plain};
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Target};
use flags::{FOLLOWED, Flags, Mode};

/// An artefact of any size that a campaign can have.
const INPUT_BYTES_MAX: u64 = 1 << 30;
/// What a shell gives who was interrupted, in libFuzzer's own list.
const INTERRUPTED: u8 = 72;

pub(super) fn run(mut args: FuzzArgs) -> Result<u8> {
    let flags = Flags::parse(&std::mem::take(&mut args.guest.args))?;
    let mut out = Sink::new(Box::new(std::io::stderr()));
    for warning in &flags.warnings {
        out.line(&format!("WARNING: {warning}"));
    }
    args.corpus.extend(flags.paths.iter().cloned());
    make_folders(&args.corpus, &flags)?;
    match flags.mode {
        Mode::Run => {}
        Mode::Help => {
            help(&args.target, &mut out);
            return Ok(exit_code::FINE);
        }
        Mode::Merge | Mode::SetCoverMerge => return merge::merge(args, &flags, &mut out),
        Mode::MinimizeCrash => return minimize::minimize(args, &flags, &mut out),
    }
    if !args.corpus.is_empty() && args.corpus.iter().all(|path| path.is_file()) {
        return run_files(args, &flags, &mut out);
    }
    fuzz(args, &flags, out)
}

/// Sees to it that artifacts can be written, before there is one; with `-create_missing_dirs` makes what is named and is
/// not there.
fn make_folders(corpus: &[PathBuf], flags: &Flags) -> Result<()> {
    let artifact = match &flags.exact_artifact_path {
        Some(path) => PathBuf::from(path),
        // A name behind the prefix, which may end in a part of it.
        None => PathBuf::from(format!("{}x", flags.artifact_prefix)),
    };
    let folder = artifact.parent().map(Path::to_owned);
    let artifacts = folder.filter(|folder| !folder.as_os_str().is_empty());
    if flags.creates_folders && flags.mode != Mode::Help {
        let missing = corpus.iter().chain(&artifacts);
        for path in missing.filter(|path| !path.exists()) {
            fs::create_dir_all(path).map_err(|e| io(path, "create the folder", &e))?;
        }
    }
    match artifacts.filter(|folder| !folder.is_dir()) {
        Some(folder) if matches!(flags.mode, Mode::Run | Mode::MinimizeCrash) => Err(with_next(
            format!(
                "{}: no such folder, expected one for artifacts",
                show(&folder)
            ),
            "the same command with -create_missing_dirs=1",
        )),
        _ => Ok(()),
    }
}

/// libFuzzer's help, of the flags that are followed.
fn help(target: &Path, out: &mut Sink) {
    let program = show(target);
    let flags = "[-flag1=val1 [-flag2=val2 ...] ]";
    out.line("Usage:");
    out.line("\nTo run fuzzing pass 0 or more directories.");
    out.line(&format!("{program} {flags} [dir1 [dir2 ...] ]"));
    out.line("\nTo run individual tests without fuzzing pass 1 or more files:");
    out.line(&format!("{program} {flags} file1 [file2 ...]"));
    out.line("\nFlags: (strictly in form -flag=value)");
    for (name, default, what) in FOLLOWED {
        out.line(&format!(" {name:<20}\t{default}\t{what}"));
    }
    out.line("\nOther flags of libFuzzer's are passed over.");
}

/// Runs each file once, up to the first that breaks the target. Files are run whole, whatever `-max_len` says.
fn run_files(mut args: FuzzArgs, flags: &Flags, out: &mut Sink) -> Result<u8> {
    flags.apply(&mut args);
    let sizes = args.corpus.iter().filter_map(|file| file.metadata().ok());
    let largest = sizes.map(|meta| meta.len()).max().unwrap_or(0);
    let standard = u64::from(Limits::STANDARD.input_bytes);
    args.guest.limits.max_len = Some(largest.clamp(standard, INPUT_BYTES_MAX));
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    refuse_property(&module, &args.target)?;
    let limits = limits(&args.guest, None)?;
    let options = config::options(&args.guest, &args.target);
    let target = Arc::new(Target::new(
        module,
        options,
        config::reset(args.guest.reset),
    )?);
    let files = &args.corpus;
    out.line(&format!("Running: {} inputs 1 time(s) each.", files.len()));
    on_guest_thread(|| {
        let mut exact = Exact::new(&target, &limits);
        for file in files {
            out.line(&format!("Running: {}", show(file)));
            let input = inputs::read_file(file, limits.input_bytes.into())?;
            let replayed = exact.replay(&input)?;
            let exit = replayed.outcome.exit;
            if exit.is_finding() {
                let seen = Seen {
                    kind: exit.kind().to_owned(),
                    title: replayed.ending.title(exit),
                    stack: replayed.ending.lines(),
                    folder: String::new(),
                };
                finding(out, &seen);
                return Ok(flags.exit_code(&seen.kind));
            }
            out.line(&format!("Executed {}", show(file)));
        }
        Ok(exit_code::FINE)
    })
}

fn fuzz(mut args: FuzzArgs, flags: &Flags, out: Sink) -> Result<u8> {
    flags.apply(&mut args);
    let first = args.corpus.first().cloned();
    if let Some(path) = args.corpus.iter().find(|path| !path.exists()) {
        bail!("{}: no such file or folder", show(path));
    }
    if let Some(folder) = &first
        && !folder.is_dir()
    {
        bail!(
            "{}: not a folder; expected folders, or files alone",
            show(folder)
        );
    }
    // Lives until the end, and what is in it that long.
    let temporary = tempfile::tempdir()?;
    let root = (args.out).get_or_insert_with(|| temporary.path().join("campaign"));
    let root = root.clone();
    let mut config = CampaignConfig::new(args)?;
    // The corpus is run whatever -runs says.
    let inputs = config.inputs.len() as u64;
    config.budget.execs = config.budget.execs.map(|execs| execs.max(inputs).max(1));
    config.budget.stop_at = flags.stop_at();
    let input = |seed: &Seed| match seed {
        Seed::Bytes(bytes) => Some(unit(bytes).0),
        Seed::Choices(choices) => choices.text().map(|text| unit(text).0),
    };
    let known: BTreeSet<String> = config.inputs.iter().filter_map(input).collect();
    let interrupted = super::interruption()?;
    let mut lines = Lines::new(out, flags.ignored());
    let summary = start(config, &mut lines, interrupted)?;
    let new_units = match &first {
        Some(folder) => add_new(&root, folder, &known)?,
        None => 0,
    };
    let (mut out, seen) = lines.into_seen();
    let mut code = exit_code::FINE;
    for seen in &seen {
        let is_ignored = flags.ignored().contains(&prefix(&seen.kind));
        if !is_ignored && code == exit_code::FINE {
            code = flags.exit_code(&seen.kind);
        }
        write_artefact(&root, seen, flags, &mut out)?;
    }
    if seen.is_empty() && summary.ended == Ended::Interrupted {
        code = INTERRUPTED;
    }
    let (execs, seconds) = (summary.counters.execs, summary.elapsed_ms / 1_000);
    out.line(&format!("Done {execs} runs in {seconds} second(s)"));
    if flags.print_final_stats {
        let stats = [
            ("number_of_executed_units", execs),
            ("average_exec_per_sec", summary.execs_per_sec),
            ("new_units_added", new_units),
        ];
        for (name, value) in stats {
            out.line(&format!("{:<32}{value}", format!("stat::{name}:")));
        }
    }
    Ok(code)
}

/// libFuzzer's name of an input, and what its file holds.
fn unit(input: &[u8]) -> (String, Vec<u8>) {
    export(Tool::LibFuzzer, 0, input)
}

/// Adds what is new in the campaign's corpus to a folder; how many inputs.
fn add_new(root: &Path, folder: &Path, known: &BTreeSet<String>) -> Result<u64> {
    let found = inputs::read_all(&[root.to_owned()], INPUT_BYTES_MAX)?;
    let mut new = 0;
    for input in found.inputs {
        let (name, bytes) = unit(&input.bytes);
        let path = folder.join(&name);
        if !known.contains(&name) && !path.exists() {
            write_plain(&path, &bytes, Durability::Process)?;
            new += 1;
        }
    }
    Ok(new)
}

fn write_artefact(root: &Path, seen: &Seen, flags: &Flags, out: &mut Sink) -> Result<()> {
    let file = root.join(&seen.folder).join("input");
    let input = inputs::read_file(&file, INPUT_BYTES_MAX)?;
    let path = match &flags.exact_artifact_path {
        Some(path) => PathBuf::from(path),
        // A prefix of the text, not a folder.
        None => PathBuf::from(format!(
            "{}{}{}",
            flags.artifact_prefix,
            prefix(&seen.kind),
            unit(&input).0
        )),
    };
    write_plain(&path, &input, Durability::Machine)?;
    out.line(&format!(
        "artifact_prefix='{}'; Test unit written to {}",
        flags.artifact_prefix,
        show(&path)
    ));
    Ok(())
}
