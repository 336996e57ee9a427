//! One campaign: how costly the inputs become that it tries.

use std::sync::Arc;

use sandglass_benches::{run_batch, thread_cpu_ns};
use sandglass_engine::{Config, Engine, Interest, Judging, Outcome, Token, guidance};
use sandglass_instrument::accept::AcceptLimits;
use sandglass_instrument::multipliers::multipliers;
use sandglass_instrument::tokens::tokens;
use sandglass_runtime::campaign::workers::{Pool, Stop};
use sandglass_runtime::target::{Module, Reset, Target, Worker};
use sandglass_sandbox::{Limits, Options, on_guest_thread};

use crate::Result;
use crate::cases::{Case, Published, module};

/// A case, ready to be run.
pub(crate) struct Prepared {
    pub(crate) case: &'static Case,
    pub(crate) seed: Vec<u8>,
    pub(crate) target: Arc<Target>,
    limits: Limits,
}

/// How costly an input is, or the costliest of a campaign.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// Fuel.
    pub(crate) fuel: u64,
    /// How often the branch arm was taken that was taken most: PerfFuzz's measure.
    pub(crate) hits: u32,
    /// How often branch arms were taken in all, those that are counted: SlowFuzz's measure, and PerfFuzz's other one.
    pub(crate) path: u64,
}

/// What came of a campaign.
pub(crate) struct Reached {
    /// The costliest inputs, which need not be the same one.
    pub(crate) most: Cost,
    pub(crate) execs: u64,
    pub(crate) cpu_s: f64,
    pub(crate) findings: u64,
    pub(crate) state_hash: String,
}

/// When a campaign ends: whatever comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) execs: u64,
    pub(crate) cpu_s: f64,
    /// Fuel of an input that is costly enough, if any is.
    pub(crate) fuel: Option<u64>,
}

impl Prepared {
    pub(crate) fn new(case: &'static Case) -> Result<Prepared> {
        let limits = AcceptLimits::standard(Limits::STANDARD.memory_bytes);
        let module = Module::check(case.subject, module(case.subject)?, &limits)?;
        let target = Target::new(module, Options::default(), Reset::Hot)?;
        let mut prepared = Prepared {
            case,
            seed: (case.seed)(case.subject)?,
            target: Arc::new(target),
            limits: Limits {
                fuel: sandglass_sandbox::FUEL_LIMIT_MAX,
                input_bytes: case.bytes_max,
                ..Limits::STANDARD
            },
        };
        // Enough for what is best, and not so much that an endless run takes the whole campaign.
        let best = prepared.cost(&(case.best)())?.fuel;
        prepared.limits.fuel = (2 * best).clamp(Limits::STANDARD.fuel, prepared.limits.fuel);
        Ok(prepared)
    }

    /// What one input costs.
    pub(crate) fn cost(&self, input: &[u8]) -> Result<Cost> {
        on_guest_thread(|| {
            let mut sandbox = (self.target).sandbox(self.target.campaign_build(), &self.limits)?;
            let probes = sandbox.program().probe_map().probes.len() as u32;
            let outcome = sandbox.run(input, &Interest::new(probes, 0), true);
            if outcome.exit.is_finding() {
                return Err(format!("{}: {:?}", self.case.name, outcome.exit).into());
            }
            Ok(Cost::default().or(&outcome))
        })
    }

    /// Fuel of what is published, if anything is.
    pub(crate) fn published(&self) -> Result<Option<u64>> {
        Ok(match self.case.published {
            Published::Nothing => None,
            Published::Input(input) => Some(self.cost(&input())?.fuel),
            Published::Percent(percent) => Some(self.cost(&self.seed)?.fuel * percent / 100),
        })
    }

    pub(crate) fn campaign(&self, arm: &str, seed: u64, budget: Budget) -> Result<Reached> {
        on_guest_thread(|| self.run(arm, seed, budget))
    }

    fn run(&self, arm: &str, seed: u64, budget: Budget) -> Result<Reached> {
        let spec = guidance::find(arm).ok_or("no such guidance")?;
        let worker = Worker::new(&self.target, &self.limits, 0)?
            .for_guidance(spec, spec.choice_bytes_max())?;
        let found = tokens(&self.target.module.wasm).into_iter();
        let mut engine = Engine::new(Config {
            input_bytes_max: self.case.bytes_max,
            seeds: vec![self.seed.clone().into()],
            tokens: found.map(Token::automatic).collect(),
            multipliers: multipliers(&self.target.module.wasm),
            ..Config::bare(spec, seed, worker.probes())
        })?;
        let mut pool = Pool::new(vec![Box::new(worker)], Stop::default());
        let began = thread_cpu_ns();
        let cpu_s = || (thread_cpu_ns() - began) as f64 / 1e9;
        let mut most = Cost::default();
        let is_enough = |most: &Cost| budget.fuel.is_some_and(|fuel| most.fuel >= fuel);
        while engine.stats().execs < budget.execs && cpu_s() < budget.cpu_s && !is_enough(&most) {
            let batch = Arc::new(engine.next_batch(budget.execs - engine.stats().execs));
            let mut judging = Judging::of(&batch);
            run_batch(&mut pool, &batch, &mut |outcomes| {
                let first = judging.judged();
                engine.judge(&mut judging, outcomes);
                for outcome in &outcomes[..judging.judged() - first] {
                    if !outcome.exit.is_finding() {
                        most = most.or(outcome);
                    }
                }
                Ok(judging.wants_more())
            })?;
            engine.end_batch(judging);
        }
        Ok(Reached {
            most,
            execs: engine.stats().execs,
            cpu_s: cpu_s(),
            findings: engine.stats().findings,
            state_hash: engine.state_hash(),
        })
    }
}

impl Cost {
    fn or(self, outcome: &Outcome) -> Cost {
        let counts = outcome.detail.iter().flat_map(|detail| &detail.counts);
        let (mut hits, mut path) = (0, 0);
        for &(_, count) in counts {
            hits = count.max(hits);
            path += u64::from(count);
        }
        Cost {
            fuel: self.fuel.max(outcome.fuel),
            hits: self.hits.max(hits),
            path: self.path.max(path),
        }
    }
}
