//! `sandglass check`: replays what is known, runs a fixed number of executions, and says what does
//! not end as it should. For CI: the same everywhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use sandglass_engine::Seed;
use sandglass_engine::guidance::InputKind;
use sandglass_sandbox::on_guest_thread;

use super::args::{CheckArgs, CoverageArg, FuzzArgs};
use super::called::{as_recorded, limits};
use crate::campaign::start::start;
use crate::check::known::{Folder, all_known, findings, open};
use crate::check::{Checked, Report, What, junit, sarif};
use crate::config::{CampaignConfig, default_folder, wanted_limits};
use crate::error::{exit_code, io, printable, show, with_next};
use crate::event::{Ended, Event, Warning};
use crate::report::plain::{number, plural};
use crate::report::{Reporter, Sink};
use crate::store;
use crate::store::finding;
use crate::target::Module;

mod print;
mod replay;

use replay::Checker;

pub(super) fn run(args: CheckArgs) -> Result<u8> {
    let wanted = wanted_limits(&args.guest.limits)?;
    let module = Module::read(&args.target, wanted.limits.memory_bytes)?;
    let folders = read_folders(&args, &module, wanted.limits.input_bytes)?;
    let mut out = Sink::stdout();
    for warning in folders.iter().flat_map(|folder| &folder.warnings) {
        warn(&mut out, args.json, warning);
    }
    if folders.is_empty() {
        let folder = show(&default_folder(&args.target));
        let text =
            format!("{folder}: no such folder, and none is named: nothing known is replayed");
        warn(&mut out, args.json, &text);
    }
    let mut checker = Checker::new(&args, &module, &folders);
    let mut report = Report {
        target: show(&args.target),
        target_hash: module.hash.clone(),
        ..Report::default()
    };
    on_guest_thread(|| checker.replay_all(&folders, &mut report))?;
    let seeds = std::mem::take(&mut checker.passed);
    if args.execs > 0 {
        campaign(&args, seeds, &mut checker, &mut report)?;
    } else if report.inputs() + report.checked.len() as u64 == 0 {
        return Err(with_next(
            format!(
                "{}: nothing to check: no inputs, no findings, no executions",
                show(&args.target)
            ),
            "the same command with a folder, or with --execs N",
        ));
    }
    if args.json {
        print::json(&mut out, &report);
    } else {
        print::print(&mut out, &args, &report);
    }
    // What was found out is told, whether or not they can be written.
    write_reports(&args, &report)?;
    Ok(match report.failures().next() {
        None => exit_code::FINE,
        Some(_) => exit_code::FINDINGS,
    })
}

fn warn(out: &mut Sink, is_json: bool, text: &str) {
    if is_json {
        let text = text.to_owned();
        out.line(&Event::Warning(Warning { text }).to_json());
    } else {
        out.line(&format!("warning: {}", printable(text)));
    }
}

fn read_folders(args: &CheckArgs, module: &Module, input_bytes: u32) -> Result<Vec<Folder>> {
    let campaign = default_folder(&args.target);
    let paths = match &args.known[..] {
        // What is not named need not be there.
        [] if campaign.is_dir() => vec![campaign],
        paths => paths.to_vec(),
    };
    let mut folders = Vec::new();
    for path in &paths {
        folders.extend(all_known(path, module.is_property(), input_bytes.into())?);
    }
    for path in &args.open {
        folders.push(open(path)?);
    }
    Ok(folders)
}

/// A campaign of so many executions from what passed; its findings are replayed and kept.
fn campaign(
    args: &CheckArgs,
    mut seeds: Vec<Vec<u8>>,
    checker: &mut Checker<'_>,
    report: &mut Report,
) -> Result<()> {
    let default = || default_folder(&args.target).with_extension("check");
    let out = args.out.clone().unwrap_or_else(default);
    let folder = out.join("campaign");
    // Until what it found is read: each check begins a campaign anew.
    let _alone = store::hold(&out)?;
    store::remove_of_check(&folder)?;
    let mut config = config(args, checker, &folder)?;
    config.of_check = true;
    if config.guidance.input == InputKind::Bytes && config.generator.is_none() {
        let mut seen = BTreeSet::new();
        seeds.retain(|seed| seen.insert(*blake3::hash(seed).as_bytes()));
        config.inputs = seeds.into_iter().map(Seed::Bytes).collect();
    }
    let interrupted = super::interruption()?;
    let summary = start(config, &mut Quiet, interrupted)?;
    if summary.ended != Ended::Execs {
        bail!(
            "{}: interrupted after {} of {}: nothing is said about it",
            show(&args.target),
            number(summary.counters.execs),
            plural(args.execs, "execution")
        );
    }
    let counters = &summary.counters;
    if checker.module.is_property() && counters.valid + counters.findings == 0 {
        return Err(with_next(
            format!(
                "{}: no trial was valid in {}: nothing was tested, expected a property that takes some of what it draws",
                show(&args.target),
                plural(counters.execs, "execution")
            ),
            "draw what is right in place of rejecting what is not, or --max-choices 1M if it draws without end",
        ));
    }
    report.execs = counters.execs;
    report.state_hash = summary.state_hash;
    // What has failed already is one bug, and not two.
    let failed: BTreeSet<(String, String)> = report
        .failures()
        .map(|one| (one.kind.clone(), one.key.clone()))
        .collect();
    for made in findings(&folder)? {
        let one = on_guest_thread(|| checker.finding(&made, What::New, "campaign"))?;
        let bug = (one.kind.clone(), one.key.clone());
        if !failed.contains(&bug) && !checker.open.contains(&bug) {
            let path = keep(&made, &out.join("findings"))?;
            report.checked.push(Checked { path, ..one });
        }
    }
    Ok(())
}

fn config(args: &CheckArgs, checker: &Checker<'_>, folder: &Path) -> Result<CampaignConfig> {
    let mut guest = args.guest.clone();
    if let Some(record) = checker.record {
        guest = as_recorded(&guest, &(&record.target).into());
        if let (None, Some(generator)) = (&guest.generator, &record.generator) {
            guest.generator = Some(PathBuf::from(&generator.path));
        }
    }
    let mut config = CampaignConfig::new(FuzzArgs {
        target: args.target.clone(),
        corpus: Vec::new(),
        texts: Vec::new(),
        guidance: None,
        settings: Vec::new(),
        seed: args.seed,
        execs: Some(args.execs),
        time: None,
        plateau: None,
        stop_at_finding: false,
        workers: args.workers,
        dict: None,
        coverage: CoverageArg::Target,
        out: Some(folder.to_owned()),
        join: None,
        json: false,
        plain: true,
        compat: None,
        slow_factor: SLOW_FACTOR,
        max_choices: None,
        paranoid: 0,
        guest,
    })?;
    if let Some(record) = checker.record {
        let recorded = limits(&args.guest, Some(&record.limits))?;
        config.wanted.limits = recorded;
        config.wanted.fuel = Some(recorded.fuel);
    }
    Ok(config)
}

/// As in campaigns.
const SLOW_FACTOR: u64 = 100;

/// Copies a finding to where it stays. One of that name stays if it is of the same input and module; else it is replaced,
/// unless somebody has put something into its folder: then this one gets another name.
fn keep(made: &Path, findings: &Path) -> Result<PathBuf> {
    let (now, _) = finding::read(made)?;
    let mut nth = 0;
    let place = loop {
        let mut name = made.file_name().unwrap_or_default().to_owned();
        match nth {
            0 => {}
            1 => name.push(format!("-{}", &now.input_hash[..8])),
            _ => name.push(format!("-{}-{nth}", &now.input_hash[..8])),
        }
        let place = findings.join(name);
        if !place.exists() {
            break place;
        }
        let is_same = finding::read(&place).is_ok_and(|(there, _)| {
            there.input_hash == now.input_hash && there.target_hash == now.target_hash
        });
        if is_same {
            return Ok(place);
        }
        if finding::is_ours_alone(&place) {
            fs::remove_dir_all(&place).map_err(|e| io(&place, "remove", &e))?;
            break place;
        }
        nth += 1;
    };
    fs::create_dir_all(&place).map_err(|e| io(&place, "create the folder", &e))?;
    // The record comes last: it is what makes the folder one of a finding.
    for name in ["input", "choices", "stack.txt", "repro", "finding.json"] {
        let (from, to) = (made.join(name), place.join(name));
        if from.exists() {
            fs::copy(&from, &to).map_err(|e| io(&to, "write", &e))?;
        }
    }
    Ok(place)
}

/// Says nothing: what a campaign finds is in its folder.
struct Quiet;

impl Reporter for Quiet {
    fn report(&mut self, _event: &Event) {}

    fn pulse_interval_ms(&self) -> u64 {
        60_000
    }
}

fn write_reports(args: &CheckArgs, report: &Report) -> Result<()> {
    if let Some(path) = &args.junit {
        let text = junit::junit(report, &args.target.to_string_lossy());
        fs::write(path, text).map_err(|e| io(path, "write", &e))?;
    }
    if let Some(path) = &args.sarif {
        let root = std::env::current_dir().ok();
        let text = sarif::sarif(report, root.as_deref());
        fs::write(path, text).map_err(|e| io(path, "write", &e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::finding::tests::sample;

    #[test]
    fn what_people_put_into_a_finding_stays() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let (tmp, kept) = (folder("tmp"), folder("kept"));
        let made = |name: &str, input: &str| {
            let mut files = sample();
            files.input = input.into();
            files.record.input_hash = blake3::hash(input.as_bytes()).to_hex().to_string();
            let findings = folder(name);
            files.write(&tmp, &findings).unwrap();
            findings.join(files.record.folder_name())
        };
        let first = keep(&made("one", "a"), &kept).unwrap();
        // Of another input, in its place: nobody has touched it.
        assert_eq!(keep(&made("two", "b"), &kept).unwrap(), first);
        assert_eq!(fs::read(first.join("input")).unwrap(), b"b");
        fs::write(first.join("notes.md"), "mine").unwrap();
        let second = keep(&made("three", "c"), &kept).unwrap();
        assert_ne!(second, first);
        fs::write(second.join("notes.md"), "mine, too").unwrap();
        assert_eq!(keep(&made("four", "c"), &kept).unwrap(), second);
        // A name for each input, also where that has been taken.
        let input = second.join("input");
        fs::write(&input, "edited").unwrap();
        let third = keep(&made("five", "c"), &kept).unwrap();
        assert!(third != first && third != second);
        assert!(first.join("notes.md").exists() && second.join("notes.md").exists());
    }
}
