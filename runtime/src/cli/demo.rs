//! `sandglass demo`: fuzzes a built-in guest and shows what comes of it.
//!
//! Everything a first user should see in a minute: a campaign, a bug, its
//! stack with source lines, the smallest input, and the command that replays
//! it. The guest is written into the campaign's neighbourhood so that the
//! command can be typed as it stands.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sandglass_guests::{C_DEMO, Demo, RUST_DEMO};

use super::args::{DemoArgs, DemoGuest, GuestArgs};
use crate::campaign::budget::{Budget, StopAt};
use crate::campaign::limits::WantedLimits;
use crate::campaign::start::start;
use crate::config::{self, CampaignConfig};
use crate::error::{exit_code, io};
use crate::report::Sink;
use crate::report::plain::{Plain, plural};
use crate::shell::quote_path;
use crate::store::finding::repro_command;
use crate::target::{Coverage, Module, Reset};

/// Executions of the demo: a few seconds, and enough for its bugs.
const EXECS: u64 = 100_000;

pub(super) fn run(args: DemoArgs) -> Result<u8> {
    let demo = match args.guest {
        DemoGuest::Rust => &RUST_DEMO,
        DemoGuest::C => &C_DEMO,
    };
    let folder = args.out.unwrap_or_else(|| default_folder(demo));
    let target = write_guest(&folder, demo)?;
    let out = folder.join("campaign");
    if is_campaign(&out) {
        fs::remove_dir_all(&out).map_err(|e| io(&out, "remove", &e))?;
    }
    let mut sink = Sink::stdout();
    sink.line(&format!(
        "fuzzing {}, a small parser with planted bugs:",
        demo.name
    ));
    for bug in demo.bugs {
        sink.line(&format!("  - {}", bug.what));
    }
    sink.line("");
    let config = campaign(demo, &target, &out)?;
    let interrupted = super::interruption()?;
    let mut reporter = Plain::new(Sink::stdout(), &config.module.path, &out, config.budget);
    let summary = start(config, &mut reporter, interrupted)?;
    sink.line("");
    let Some(finding) = first_finding(&out)? else {
        sink.line("found nothing, which should not happen: please report it");
        return Ok(exit_code::OUR_FAULT);
    };
    sink.line(&format!(
        "{} found. The first, again, as `repro` shows it:",
        plural(summary.counters.unique_findings, "bug")
    ));
    sink.line("");
    super::repro::run(super::args::ReproArgs {
        trace: false,
        coredump: None,
        target: target.clone(),
        files: vec![finding.clone()],
        cpu: super::args::CpuArg::Native,
        json: false,
        guest: GuestArgs::default(),
    })?;
    sink.line("");
    sink.line("Replay it, make its input small, or fuzz on:");
    // As it was begun: by cargo's alias, or from wherever the program lies.
    let program = match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(_) => "cargo ",
        None => "",
    };
    let target_text = target.to_string_lossy().into_owned();
    let repro = repro_command(&target_text, &finding);
    sink.line(&format!("    {program}{repro}"));
    sink.line(&format!(
        "    {program}{}",
        repro.replacen(" repro ", " min ", 1)
    ));
    sink.line(&format!(
        "    {program}sandglass fuzz {} {} --fuel 1M --time 30s",
        quote_path(&target),
        quote_path(&out.join("corpus"))
    ));
    Ok(exit_code::FINE)
}

/// Fuel of one execution: a hundred times what any good input of the demos
/// costs. The default would spend most of the demo in its endless loop.
const FUEL: u64 = 1_000_000;

/// In the place for temporary files, one per user of the same machine.
fn default_folder(demo: &Demo) -> PathBuf {
    let stem = Path::new(demo.name)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let user = std::env::var("USER").unwrap_or_default();
    let plain: String = user.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = match &*plain {
        "" => "sandglass-demo".to_owned(),
        user => format!("sandglass-demo-{user}"),
    };
    std::env::temp_dir().join(name).join(&*stem)
}

fn write_guest(folder: &Path, demo: &Demo) -> Result<PathBuf> {
    fs::create_dir_all(folder).map_err(|e| io(folder, "create the folder", &e))?;
    let stem = Path::new(demo.name).file_stem().unwrap_or_default();
    let path = folder.join(stem).with_extension("wasm");
    fs::write(&path, demo.wasm).map_err(|e| io(&path, "write", &e))?;
    Ok(path)
}

/// Whether there is an older demo: each one shows a campaign from its start.
/// Only a folder that a campaign made is removed.
fn is_campaign(out: &Path) -> bool {
    out.join("campaign.toml").exists()
}

fn campaign(demo: &Demo, target: &Path, out: &Path) -> Result<CampaignConfig> {
    let guest = GuestArgs::default();
    let wanted = WantedLimits {
        fuel: Some(FUEL),
        ..config::wanted_limits(&guest.limits)?
    };
    let module = Module::read(target, wanted.limits.memory_bytes).context("the built-in guest")?;
    let guidance = config::guidance(None, &module, false)?;
    Ok(CampaignConfig {
        join: None,
        of_check: false,
        reruns: config::reruns(None, &module, Reset::Hot, &[])?,
        wants_reruns: false,
        guidance,
        choice_bytes_max: guidance.choice_bytes_max(),
        module,
        options: config::options(&guest, target),
        reset: Reset::Hot,
        wanted,
        generator: None,
        settings: Default::default(),
        seed: 1,
        slow_factor: 100,
        inputs: demo.seeds.iter().map(|seed| (*seed).into()).collect(),
        tokens: Vec::new(),
        budget: Budget {
            execs: Some(EXECS),
            time: None,
            plateau: None,
            stop_at: StopAt::default(),
        },
        workers: 1,
        paranoid: 0,
        coverage: Coverage::Target,
        out: out.to_owned(),
        warnings: Vec::new(),
    })
}

/// The finding that the campaign made first, by its trial.
fn first_finding(out: &Path) -> Result<Option<PathBuf>> {
    let folder = out.join("findings");
    let entries = fs::read_dir(&folder).map_err(|e| io(&folder, "read the folder", &e))?;
    let mut first: Option<(u64, PathBuf)> = None;
    for entry in entries {
        let path = entry
            .map_err(|e| io(&folder, "read the folder", &e))?
            .path();
        let (record, _) = crate::store::finding::read(&path)?;
        // A trap has a stack worth seeing; other kinds only if there is none.
        let rank = record.trial + if record.kind == "trap" { 0 } else { 1 << 40 };
        if first.as_ref().is_none_or(|(best, _)| rank < *best) {
            first = Some((rank, path));
        }
    }
    Ok(first.map(|(_, path)| path))
}
