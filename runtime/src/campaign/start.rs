//! From a checked configuration to a finished session: the order of things.
//!
//! The folder is opened and locked first, so that nothing is compiled for a
//! campaign that cannot run; the fuel limit is measured only for a new one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, anyhow};
use sandglass_engine::engine::shares;
use sandglass_engine::guidance::InputKind;
use sandglass_engine::{Config, Engine, Seed, State, Token};
use sandglass_exchange::WorkerId;
use sandglass_instrument::multipliers::multipliers;
use sandglass_instrument::tokens::tokens;
use sandglass_sandbox::{Build, Limits, on_guest_thread};

use super::budget::Clock;
use super::join::{Join, Joining};
use super::limits::{self, MEASURED_SEEDS_MAX};
use super::own_code::OwnCode;
use super::workers::{Pool, Runner, Stop};
use super::{Session, run};
use crate::config::CampaignConfig;
use crate::error::{show, with_next};
use crate::event::{Event, Summary, Warning};
use crate::join::{draw_worker, meaning::meaning};
use crate::report::Reporter;
use crate::report::plain::plural;
use crate::store::record::{JoinRecord, Record};
use crate::store::status::Status;
use crate::store::{self, Opened, Store};
use crate::target::{Replays, Target, Worker};

/// Runs a session of a campaign: a new one, or the next one of the folder's.
pub fn start(
    config: CampaignConfig,
    reporter: &mut (dyn Reporter + Send),
    interrupted: Arc<AtomicBool>,
) -> Result<Summary> {
    on_guest_thread(move || Starting::new(config)?.go(reporter, interrupted))
}

struct Starting {
    config: CampaignConfig,
    target: Arc<Target>,
    opened: Opened,
    /// Where it met others before.
    joined: Option<JoinRecord>,
}

impl Starting {
    fn new(mut config: CampaignConfig) -> Result<Starting> {
        let (module, options) = (config.module.clone(), config.options.clone());
        let target = Target::of_campaign(module, options, config.reset, config.reruns)?
            .with_generator(config.generator.clone())?
            .with_coverage(config.coverage);
        config.reruns = config.reruns && can_rerun(&target, &mut config)?;
        let opened = store::open(&config.out)?;
        if let Some(before) = &opened.record {
            // What was measured then is part of the campaign now.
            opened.check(&config.record(before.limits.fuel))?;
            require_more(&config)?;
            config.wanted.fuel = Some(before.limits.fuel);
        }
        let before = opened.record.as_ref();
        Ok(Starting {
            config,
            target: Arc::new(target),
            joined: before.and_then(|before| before.join.clone()),
            opened,
        })
    }

    fn go(self, reporter: &mut dyn Reporter, interrupted: Arc<AtomicBool>) -> Result<Summary> {
        let Starting {
            config,
            target,
            opened,
            joined,
        } = self;
        for text in &config.warnings {
            reporter.report(&Event::Warning(Warning { text: text.clone() }));
        }
        let mut first = worker(&target, &config.wanted.for_measuring(), &config)?;
        let mut record = config.record(fuel_limit(&config, &mut first)?);
        record.join = match record.join {
            Some(now) => Some(JoinRecord {
                worker: worker_name(joined.as_ref()).0,
                ..now
            }),
            None => joined,
        };
        // Before anything is written: a campaign that is refused has met nobody.
        let join = join(&config, &record)?;
        first.set_fuel_limit(record.limits.fuel);
        let engine_config = engine_config(&config, &record, first.probes(), &target)?;
        let (store, resumed) = opened.begin::<State>(&record)?;
        let is_resumed = resumed.is_some();
        let before_ms = resumed.as_ref().map_or(0, |resumed| resumed.elapsed_ms);
        let engine = engine(&engine_config, resumed.map(|resumed| resumed.state), &store)?;
        let clock = Clock::start(&config.budget, before_ms);
        let stop = Stop {
            interrupted,
            deadline: clock.deadline(),
        };
        let runners = runners(first, &target, &record.limits, &config)?;
        let mut pool = Pool::new(runners, stop.clone());
        let session = Session {
            record: &record,
            config: &engine_config,
            budget: config.budget,
            stop,
            clock,
            entry: target.entry()?,
            workers: config.workers,
            replayer: &mut Replays::new(&target, &record.limits),
            own: OwnCode::of(&target)?,
            join,
            reporter,
        };
        run(session, engine, store, &mut pool, is_resumed)
    }
}

/// Refuses a budget that the campaign is past: its last checkpoint is behind what its folder says, so a session
/// that ends at once would take that back.
fn require_more(config: &CampaignConfig) -> Result<()> {
    let Some(wanted) = config.budget.execs else {
        return Ok(());
    };
    let done = done(&config.out);
    if done <= wanted {
        return Ok(());
    }
    Err(with_next(
        format!(
            "{}: {} are done, expected --execs to be no less: it counts those of all sessions",
            show(&config.out),
            plural(done, "execution"),
        ),
        "the same command with a greater --execs, or with --time in its place",
    ))
}

/// Executions that a campaign goes on from. Without a checkpoint it starts again, whatever its folder says.
fn done(root: &Path) -> u64 {
    let status = root.join("checkpoint").exists().then(|| Status::read(root));
    status.flatten().map_or(0, |status| status.counters.execs)
}

/// Whether the build that watches memory starts: a target may do wrong before its first input. Errs if it does not
/// and the user wants it.
fn can_rerun(target: &Target, config: &mut CampaignConfig) -> Result<bool> {
    let limits = config.wanted.for_measuring();
    match target.sandbox(Build::Heap, &limits) {
        Ok(_) => Ok(true),
        Err(error) if config.wants_reruns => Err(error),
        Err(error) => {
            // What fails without watching memory, too, fails for its own reason.
            target.sandbox(target.campaign_build(), &limits)?;
            let text = format!("memory errors are not looked for: {error:#}");
            config.warnings.push(text);
            Ok(false)
        }
    }
}

fn fuel_limit(config: &CampaignConfig, worker: &mut Worker) -> Result<u64> {
    if let Some(fuel) = config.wanted.fuel {
        return Ok(fuel);
    }
    if config.guidance.input == InputKind::Choices {
        // Seeds are choices: what they cost the target is not known before they are made.
        return Ok(limits::fuel_limit(Vec::new()));
    }
    let mut inputs: Vec<&[u8]> = Vec::new();
    for seed in config.inputs.iter().take(MEASURED_SEEDS_MAX) {
        if let Seed::Bytes(bytes) = seed {
            inputs.push(bytes);
        }
    }
    if inputs.is_empty() {
        // Without seeds a campaign starts from something like the empty input.
        inputs.push(b"");
    }
    Ok(limits::fuel_limit(worker.measure(inputs.into_iter())?))
}

fn engine_config(
    config: &CampaignConfig,
    record: &Record,
    probes: u32,
    target: &Target,
) -> Result<Config> {
    let mut all_tokens = config.tokens.clone();
    all_tokens.extend(
        tokens(&target.module.wasm)
            .into_iter()
            .map(Token::automatic),
    );
    Ok(Config {
        seed: config.seed,
        probes,
        input_bytes_max: record.limits.input_bytes,
        fuel_limit: record.limits.fuel,
        choice_bytes_max: config.choice_bytes_max,
        seeds: config.inputs.clone(),
        tokens: all_tokens,
        multipliers: multipliers(&target.module.wasm),
        settings: config.settings.clone(),
        slow_factor: config.slow_factor,
        targets: target.targets(config.guidance)?,
        reruns: config.reruns,
        takes_texts: target.generator.is_some(),
        watches: target.options.sanitize_heap,
        spec: config.guidance,
    })
}

fn engine(config: &Config, state: Option<State>, store: &Store) -> Result<Engine> {
    match state {
        None => Ok(Engine::new(config.clone())?),
        Some(state) => Engine::resume(config.clone(), state)
            .map_err(|error| anyhow!("{}/checkpoint: {error}", show(store.root()))),
    }
}

/// The name under which the campaign has met others before, or a new one.
fn worker_name(before: Option<&JoinRecord>) -> WorkerId {
    let before = before.and_then(|before| WorkerId::new(&*before.worker).ok());
    before.unwrap_or_else(draw_worker)
}

/// Meets others, if that is wanted.
fn join(config: &CampaignConfig, record: &Record) -> Result<Option<Join>> {
    let (Some(place), Some(joined)) = (config.join.clone(), &record.join) else {
        return Ok(None);
    };
    let me = WorkerId(joined.worker.clone());
    let joining = Joining {
        place: place.to_string(),
        prices: place.prices(),
        me: me.clone(),
        open: Box::new(move || place.open(&me)),
        spec: config.guidance,
        module: meaning(record),
        shares: shares(config.guidance, &config.settings),
        findings: config.out.join("findings"),
    };
    Join::start(joining).map(Some)
}

fn runners(
    first: Worker,
    target: &Arc<Target>,
    limits: &Limits,
    config: &CampaignConfig,
) -> Result<Vec<Box<dyn Runner>>> {
    let mut runners: Vec<Box<dyn Runner>> = vec![Box::new(first)];
    for _ in 1..config.workers {
        runners.push(Box::new(worker(target, limits, config)?));
    }
    Ok(runners)
}

fn worker(target: &Arc<Target>, limits: &Limits, config: &CampaignConfig) -> Result<Worker> {
    Worker::new(target, limits, config.paranoid)?
        .for_guidance(config.guidance, config.choice_bytes_max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Counters;

    #[test]
    fn what_was_done_counts_with_its_checkpoint() {
        let root = tempfile::tempdir().unwrap();
        let status = Status {
            counters: Counters {
                execs: 700,
                ..Counters::default()
            },
            ..Status::default()
        };
        std::fs::write(root.path().join(Status::FILE), status.to_json()).unwrap();
        assert_eq!(done(root.path()), 0);
        std::fs::write(root.path().join("checkpoint"), "").unwrap();
        assert_eq!(done(root.path()), 700);
    }
}
