//! `sandglass check`: replays what is known, runs a fixed number of executions, and says what does
//! not end as it should. For CI: the same everywhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use sandglass_engine::choice::text::HEADER;
use sandglass_engine::guidance::InputKind;
use sandglass_engine::{Interest, Variant};
use sandglass_sandbox::{Limits, Options, on_guest_thread};
use serde::Serialize;

use super::args::{CheckArgs, CoverageArg, FuzzArgs, GuestArgs};
use super::case::{self, Case, exact_for, read_finding};
use crate::campaign::start::start;
use crate::campaign::workers::Runner as _;
use crate::check::known::{Folder, findings, known, open};
use crate::check::{Checked, Group, Report, What, junit, sarif};
use crate::config::{CampaignConfig, default_folder, options, reset, wanted_limits};
use crate::error::{exit_code, io, printable, show, with_next};
use crate::event::{Ended, Event, Warning};
use crate::inputs::Input;
use crate::report::plain::{number, plural};
use crate::report::{Reporter, Sink};
use crate::stack;
use crate::store::finding::repro_command;
use crate::store::record::Record;
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Replayed, Target, Worker};

/// Of what failed, so much is printed; the reports have all.
const FAILURES_MAX: usize = 50;

pub(super) fn run(args: CheckArgs) -> Result<u8> {
    let wanted = wanted_limits(&args.guest)?;
    let module = Module::read(&args.target, wanted.limits.memory_bytes)?;
    let folders = read_folders(&args, &module, wanted.limits.input_bytes)?;
    let mut out = Sink::stdout();
    for warning in folders.iter().flat_map(|folder| &folder.warnings) {
        warn(&mut out, args.json, warning);
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
            format!("{}: nothing to check: no inputs, no findings, no executions", show(&args.target)),
            "the same command with a folder, or with --execs N",
        ));
    }
    write_reports(&args, &report)?;
    if args.json {
        print_json(&mut out, &report);
    } else {
        print(&mut out, &args, &report);
    }
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
        folders.push(known(path, module.is_property(), input_bytes.into())?);
    }
    for path in &args.open {
        folders.push(open(path)?);
    }
    Ok(folders)
}

/// Who replays. Targets are kept: there may be many findings, and each would have to be compiled.
struct Checker<'a> {
    args: &'a CheckArgs,
    module: &'a Module,
    /// Of the first campaign among the folders.
    record: Option<&'a Record>,
    targets: Vec<(Options, Arc<Target>)>,
    /// What the campaign starts from.
    passed: Vec<Vec<u8>>,
    /// Kinds and keys of what is not fixed yet.
    open: BTreeSet<(String, String)>,
}

impl<'a> Checker<'a> {
    fn new(args: &'a CheckArgs, module: &'a Module, folders: &'a [Folder]) -> Checker<'a> {
        Checker {
            args,
            module,
            record: folders.iter().find_map(|folder| folder.record.as_ref()),
            targets: Vec::new(),
            passed: Vec::new(),
            open: BTreeSet::new(),
        }
    }

    fn target(&mut self, options: &Options) -> Result<Arc<Target>> {
        if let Some((_, target)) = self.targets.iter().find(|(known, _)| known == options) {
            return Ok(Arc::clone(target));
        }
        let reset = reset(self.args.guest.reset);
        let target = Arc::new(Target::new(self.module.clone(), options.clone(), reset)?);
        self.targets.push((options.clone(), Arc::clone(&target)));
        Ok(target)
    }

    /// How inputs are called, and their limits: as in the campaign among the folders, unless flags say otherwise.
    fn call(&self) -> Result<(Options, Limits)> {
        let mut options = options(&self.args.guest, &self.args.target);
        if let Some(record) = self.record {
            if self.args.guest.args.is_empty() {
                options.args.extend(record.target.args.iter().cloned());
            }
            options.stub_imports |= record.target.stub_imports;
        }
        let limits = case::limits(&self.args.guest, self.record.map(|record| &record.limits))?;
        Ok((options, limits))
    }

    fn replay_all(&mut self, folders: &[Folder], report: &mut Report) -> Result<()> {
        for folder in folders {
            if !folder.inputs.is_empty() {
                self.inputs(folder, report)?;
            }
            for path in &folder.findings {
                let checked = self.finding(path, folder.what, &folder.name)?;
                report.checked.push(checked);
            }
        }
        Ok(())
    }

    fn inputs(&mut self, folder: &Folder, report: &mut Report) -> Result<()> {
        let (options, limits) = self.call()?;
        let target = self.target(&options)?;
        let mut exact = Exact::new(&target, &limits);
        let mut worker = None;
        let mut count = 0;
        for input in &folder.inputs {
            let is_choices = input.bytes.starts_with(format!("{HEADER}\n").as_bytes());
            if is_choices || self.module.is_property() {
                let checked = self.choices(input, &folder.name)?;
                report.checked.extend(checked);
                count += 1;
                continue;
            }
            if worker.is_none() {
                let worker_new = Worker::new(&target, &limits, 0)?;
                let interest = Interest::new(worker_new.probes(), 0);
                worker = Some((worker_new, interest));
            }
            let (runner, interest) = worker.as_mut().expect("made above");
            let outcome = runner.run(1, Variant::Fast, &input.bytes, interest, false)?;
            count += 1;
            if outcome.exit.is_finding() {
                let replayed = exact.replay(&input.bytes)?;
                let mut one = checked(What::Input, &folder.name, &input.path, &replayed);
                one.failure = Some("is a finding".to_owned());
                report.checked.push(one);
            } else {
                self.passed.push(input.bytes.clone());
            }
        }
        report.groups.push(Group {
            name: folder.name.clone(),
            inputs: count,
        });
        Ok(())
    }

    /// An input that is choices: nothing, or how it fails.
    fn choices(&mut self, input: &Input, group: &str) -> Result<Option<Checked>> {
        let case = case::read_file(&input.path, &self.args.guest)?;
        if case.choices.is_none() {
            bail!(
                "{}: not choices, and a property gets no bytes; expected a file of a campaign's choices/",
                show(&input.path)
            );
        }
        let replayed = self.replay(case)?;
        Ok(replayed.outcome.exit.is_finding().then(|| Checked {
            failure: Some("is a finding".to_owned()),
            ..checked(What::Input, group, &input.path, &replayed)
        }))
    }

    /// Replays a case as it was recorded.
    fn replay(&mut self, mut case: Case) -> Result<Replayed> {
        if !case.needs_choices(self.module) {
            case.choices = None;
        }
        let guest: &GuestArgs = &self.args.guest;
        let (options, limits) = case::call(&case, &self.args.target, guest)?;
        let target = match case.choices {
            Some(_) => exact_for(&case, self.module, &self.args.target, guest)?.0,
            None => self.target(&options)?,
        };
        Ok(case.replay(&mut Exact::new(&target, &limits), &target)?.0)
    }

    fn finding(&mut self, path: &Path, what: What, group: &str) -> Result<Checked> {
        let case = read_finding(path)?;
        let record = case.record.clone().expect("a finding has one");
        let input = case.input.clone();
        let limits = case::call(&case, &self.args.target, &self.args.guest)?.1;
        let is_same_build = record.target_hash == self.module.hash && record.limits == limits;
        let replayed = self.replay(case)?;
        let outcome = &replayed.outcome;
        let mut one = checked(what, group, path, &replayed);
        let is_slow = record.kind == "slow";
        let is_finding = outcome.exit.is_finding();
        if is_slow && !is_finding {
            let budget = record.budget.unwrap_or(record.fuel);
            one.kind = "slow".to_owned();
            one.key = record.key.clone();
            one.budget = Some(budget);
            if outcome.fuel > budget {
                one.failure = Some(format!(
                    "costs {} fuel, its budget is {}",
                    number(outcome.fuel),
                    number(budget)
                ));
            }
        } else if what == What::Open {
            let ended = stack::exit_text(outcome.exit);
            // Another build has other lines, and costs something else.
            let is_same = record.exit == ended && (!is_same_build || record.fuel == outcome.fuel);
            if !is_finding {
                one.failure = Some("is fixed: no longer a finding".to_owned());
            } else if !is_same {
                one.failure = Some(format!("ends otherwise: was {}", printable(&record.exit)));
            }
            self.open.insert((one.kind.clone(), one.key.clone()));
        } else if is_finding {
            let why = match what {
                What::New => "new",
                _ => "is a finding",
            };
            one.failure = Some(why.to_owned());
        }
        if !is_finding && !is_slow && !self.module.is_property() {
            self.passed.push(input);
        }
        Ok(one)
    }
}

fn checked(what: What, group: &str, path: &Path, replayed: &Replayed) -> Checked {
    let outcome = &replayed.outcome;
    Checked {
        what,
        group: group.to_owned(),
        path: path.to_owned(),
        failure: None,
        title: stack::title(outcome.exit, &replayed.frames),
        kind: outcome.exit.kind().to_owned(),
        key: format!("{:016x}", stack::key(outcome.exit, outcome.site, &replayed.frames).0),
        frames: replayed.frames.clone(),
        fuel: outcome.fuel,
        budget: None,
    }
}

/// A campaign of so many executions from what passed; its findings are replayed and kept.
fn campaign(
    args: &CheckArgs,
    seeds: Vec<Vec<u8>>,
    checker: &mut Checker<'_>,
    report: &mut Report,
) -> Result<()> {
    let default = || default_folder(&args.target).with_extension("check");
    let out = args.out.clone().unwrap_or_else(default);
    let folder = out.join("campaign");
    // Each check begins one anew; only what a campaign made is removed.
    if folder.join("campaign.toml").exists() {
        fs::remove_dir_all(&folder).map_err(|e| io(&folder, "remove", &e))?;
    }
    let mut config = config(args, checker, &folder)?;
    if config.guidance.input == InputKind::Bytes && config.generator.is_none() {
        let mut seen = BTreeSet::new();
        config.inputs = seeds;
        config.inputs.retain(|seed| seen.insert(*blake3::hash(seed).as_bytes()));
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
    report.execs = summary.counters.execs;
    report.state_hash = summary.state_hash;
    for made in findings(&folder)? {
        let kept = keep(&made, &out.join("findings"))?;
        let one = on_guest_thread(|| checker.finding(&made, What::New, "campaign"))?;
        let is_open = checker.open.contains(&(one.kind.clone(), one.key.clone()));
        if !is_open {
            report.checked.push(Checked { path: kept, ..one });
        }
    }
    Ok(())
}

fn config(args: &CheckArgs, checker: &Checker<'_>, folder: &Path) -> Result<CampaignConfig> {
    let mut guest = args.guest.clone();
    if let Some(record) = checker.record {
        if guest.args.is_empty() {
            guest.args.clone_from(&record.target.args);
        }
        guest.stub_imports |= record.target.stub_imports;
        if let (None, Some(generator)) = (&guest.generator, &record.generator) {
            guest.generator = Some(PathBuf::from(&generator.path));
        }
    }
    let mut config = CampaignConfig::new(FuzzArgs {
        target: args.target.clone(),
        corpus: Vec::new(),
        guidance: None,
        settings: Vec::new(),
        seed: args.seed,
        execs: Some(args.execs),
        time: None,
        plateau: None,
        workers: args.workers,
        dict: None,
        coverage: CoverageArg::Target,
        out: Some(folder.to_owned()),
        json: false,
        slow_factor: SLOW_FACTOR,
        max_choices: None,
        paranoid: 0,
        guest,
    })?;
    if let Some(record) = checker.record {
        let limits = case::limits(&args.guest, Some(&record.limits))?;
        config.wanted.limits = limits;
        config.wanted.fuel = Some(limits.fuel);
    }
    Ok(config)
}

/// As in campaigns.
const SLOW_FACTOR: u64 = 100;

/// Copies a finding to where it stays. One of that name is left alone.
fn keep(made: &Path, findings: &Path) -> Result<PathBuf> {
    let place = findings.join(made.file_name().unwrap_or_default());
    if place.join("finding.json").exists() {
        return Ok(place);
    }
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

fn print(out: &mut Sink, args: &CheckArgs, report: &Report) {
    let failures: Vec<&Checked> = report.failures().collect();
    for one in failures.iter().take(FAILURES_MAX) {
        let why = one.failure.as_deref().unwrap_or_default();
        out.line(&format!("FAILED {}: {why}: {}", show(&one.path), one.title));
        for line in stack::lines(&one.frames).iter().take(FRAMES_MAX) {
            out.line(&format!("    {line}"));
        }
        let command = repro_command(&args.target.to_string_lossy(), &one.path);
        out.line(&format!("    replay: {command}"));
    }
    if failures.len() > FAILURES_MAX {
        let more = (failures.len() - FAILURES_MAX) as u64;
        out.line(&format!("and {} more", number(more)));
    }
    let open = match report.count(What::Open) {
        0 => String::new(),
        n => format!(", {} not fixed yet", plural(n, "finding")),
    };
    let campaign = match report.execs {
        0 => String::new(),
        n => format!(", {}", plural(n, "execution")),
    };
    out.line(&format!(
        "{}: replayed {}, {}{open}{campaign}: {}",
        report.target,
        plural(report.inputs(), "input"),
        plural(report.count(What::Finding), "finding"),
        match failures.len() {
            0 => "all as it should be".to_owned(),
            n => format!("{} failed", number(n as u64)),
        }
    ));
}

/// Frames of each stack that are printed.
const FRAMES_MAX: usize = 8;

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Checked {
        what: &'static str,
        file: String,
        ok: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<&'a str>,
        kind: &'a str,
        key: &'a str,
        title: &'a str,
        fuel: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        budget: Option<u64>,
        stack: Vec<String>,
    },
    Summary {
        target: &'a str,
        target_hash: &'a str,
        inputs: u64,
        findings: u64,
        open: u64,
        new: u64,
        execs: u64,
        failed: usize,
        state_hash: &'a str,
    },
}

fn print_json(out: &mut Sink, report: &Report) {
    let mut line = |line: &Line<'_>| {
        out.line(&serde_json::to_string(line).expect("numbers and text"));
    };
    for one in &report.checked {
        line(&Line::Checked {
            what: one.what.name(),
            file: show(&one.path),
            ok: one.failure.is_none(),
            failure: one.failure.as_deref(),
            kind: &one.kind,
            key: &one.key,
            title: &one.title,
            fuel: one.fuel,
            budget: one.budget,
            stack: stack::lines(&one.frames),
        });
    }
    line(&Line::Summary {
        target: &report.target,
        target_hash: &report.target_hash,
        inputs: report.inputs(),
        findings: report.count(What::Finding),
        open: report.count(What::Open),
        new: report.count(What::New),
        execs: report.execs,
        failed: report.failures().count(),
        state_hash: &report.state_hash,
    });
}
