//! One campaign of one arm, with the collector beside it: a line of results.

use std::sync::Arc;

use sandglass_benches::{run_batch, thread_cpu_ns};
use sandglass_engine::choice::ChoiceSequence;
use sandglass_engine::choice::jqf::TAPE_BYTES_MAX;
use sandglass_engine::{Config, Decision, Engine, Interest, Judging, Outcome, Seed, Token};
use sandglass_guests::{FIXED_IN, generator, seeds, subject};
use sandglass_instrument::accept::AcceptLimits;
use sandglass_instrument::multipliers::multipliers;
use sandglass_instrument::tokens::tokens;
use sandglass_runtime::campaign::workers::{Pool, Stop};
use sandglass_runtime::target::{Exact, Module, Reset, Target, Worker};
use sandglass_sandbox::{Limits, Options, on_guest_thread};
use serde_json::{Value, json};

use crate::Result;
use crate::arms::{Arm, Input, Pairing};
use crate::collector::Collector;
use crate::faults::Faults;
use crate::repeats::Repeats;
use crate::speed::Clock;

/// When a campaign ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Budget {
    /// After so many executions.
    Execs(u64),
    /// After so many seconds of CPU time, those of the collector not counted.
    CpuSeconds(f64),
    /// After as many as make so many of the reference machine (`speed.rs`).
    ReferenceSeconds(f64),
}

/// A subject with its generator, compiled once for all campaigns.
pub(crate) struct Prepared {
    pub(crate) name: String,
    /// A later version of the subject.
    later: Option<Arc<Target>>,
    plain: Arc<Target>,
    pub(crate) generated: Arc<Target>,
    seeds: Vec<Vec<u8>>,
}

impl Prepared {
    /// Reads and compiles. Errs if the subject is not built; the text says how to build it.
    pub(crate) fn new(pairing: &Pairing) -> Result<Prepared> {
        let wasm = subject(&pairing.subject).map_err(|missing| missing.to_string())?;
        let seeds = seeds(&pairing.subject);
        let generator = generator(&pairing.generator).wasm;
        let mut prepared = Prepared::of(&pairing.subject, wasm, generator, seeds)?;
        let later = FIXED_IN.iter().find(|(old, _)| *old == pairing.subject);
        if let Some((_, later)) = later {
            let wasm = subject(later).map_err(|missing| missing.to_string())?;
            prepared.later = Some(Prepared::of(later, wasm, generator, Vec::new())?.plain);
        }
        Ok(prepared)
    }

    /// A demo with a generator of JSON, and one seed.
    #[cfg(test)]
    pub(crate) fn demo() -> Prepared {
        let demo = sandglass_guests::DEMOS.first().expect("a demo");
        let json = sandglass_guests::generator("json").wasm;
        let prepared = Prepared::of("demo", demo.wasm.to_vec(), json, vec![b"{}".to_vec()]);
        prepared.expect("a demo is a target")
    }

    fn of(name: &str, wasm: Vec<u8>, generator: &[u8], seeds: Vec<Vec<u8>>) -> Result<Prepared> {
        let limits = AcceptLimits::standard(Limits::STANDARD.memory_bytes);
        let module = |name: &str, wasm| Module::check(name, wasm, &limits);
        let target = || Target::new(module(name, wasm.clone())?, Options::default(), Reset::Hot);
        let generator = module("generator", generator.to_vec())?;
        Ok(Prepared {
            plain: Arc::new(target()?),
            generated: Arc::new(target()?.with_generator(Some(generator))?),
            name: name.to_owned(),
            later: None,
            seeds,
        })
    }

    /// Runs one campaign; its results as an object.
    pub(crate) fn campaign(&self, arm: Arm, seed: u64, budget: Budget) -> Result<Value> {
        let result = on_guest_thread(|| self.run(arm, seed, budget));
        result.map_err(|e| format!("{}, {}, seed {seed}: {e}", self.name, arm.name).into())
    }

    fn run(&self, arm: Arm, seed: u64, budget: Budget) -> Result<Value> {
        // One limit of fuel for all arms.
        let limits = Limits::STANDARD;
        let (target, seeds) = match arm.input {
            Input::Generated => (&self.generated, Vec::new()),
            Input::GeneratedAndText => {
                let texts = self.seeds.iter().cloned().map(ChoiceSequence::of_text);
                let seeds = texts.map(|text| Seed::Choices(Arc::new(text))).collect();
                (&self.generated, seeds)
            }
            Input::Text => {
                let seeds = self.seeds.iter().cloned().map(Seed::Bytes).collect();
                (&self.plain, seeds)
            }
        };
        let spec = arm.spec()?;
        let worker = Worker::new(target, &limits, 0)?.for_guidance(spec, TAPE_BYTES_MAX)?;
        let mut engine = Engine::new(config(target, arm, seed, worker.probes(), seeds)?)?;
        let mut exact = Exact::new(target, &limits);
        let mut later = match &self.later {
            Some(later) => {
                let sandbox = later.sandbox(later.campaign_build(), &limits)?;
                let probes = sandbox.program().probe_map().probes.len() as u32;
                Some((sandbox, Interest::new(probes, 0)))
            }
            None => None,
        };
        let mut collector = Collector::new(&self.name, target, &limits)?;
        let mut faults = Faults::draw(&collector.faulty_arms());
        let mut repeats = Repeats::default();
        let mut shown = Vec::new();
        let stop = Stop::default();
        let mut pool = Pool::new(vec![Box::new(worker)], stop);
        let mut progress = Progress::new(budget);
        let mut bugs = Vec::new();
        while let Some(left) = progress.left(&engine) {
            let batch = Arc::new(engine.next_batch(left));
            let mut judging = Judging::of(&batch);
            let mut titles = Vec::new();
            run_batch(&mut pool, &batch, &mut |outcomes| {
                let first = judging.judged();
                for (i, outcome) in outcomes.iter_mut().enumerate() {
                    if !judging.wants_more() {
                        break;
                    }
                    let trial = batch.first_trial() + (first + i) as u64;
                    if engine.wants_stack(&batch, outcome) {
                        let title = symbolise(outcome, &mut exact)?;
                        titles.extend(title.map(|title| (trial, title)));
                    }
                    engine.judge(&mut judging, std::slice::from_ref(outcome));
                }
                // The guidance may have dropped the last ones.
                let judged = &outcomes[..judging.judged() - first];
                let mut new = Vec::new();
                progress.apart(|| {
                    for (i, outcome) in judged.iter().enumerate() {
                        let trial = batch.first_trial() + (first + i) as u64;
                        new.extend(faults.see(outcome).into_iter().map(|fault| (fault, trial)));
                    }
                    for (i, outcome) in judged.iter().enumerate() {
                        repeats.see(&batch, first + i, outcome);
                    }
                    judged.iter().try_for_each(|outcome| collector.see(outcome))
                })?;
                if !new.is_empty() {
                    let cpu_s = rounded(progress.cpu_s());
                    shown.extend(
                        new.iter()
                            .map(|(fault, trial)| json!([fault, trial, cpu_s])),
                    );
                }
                Ok(judging.wants_more())
            })?;
            let decisions = engine.end_batch(judging);
            for decision in decisions {
                if let Decision::Finding {
                    key,
                    first: true,
                    trial,
                    input,
                    ..
                } = decision
                {
                    let fixed = later.as_mut().map(|(later, interest)| {
                        progress.apart(|| !later.run(&input, interest, false).exit.is_finding())
                    });
                    let title = titles.iter().find(|(of, _)| *of == trial);
                    bugs.push(json!({
                        "key": key.to_string(),
                        "title": title.map(|(_, title)| title),
                        "trial": trial,
                        "cpu_s": rounded(progress.cpu_s()),
                        "fixed": fixed,
                    }));
                }
            }
            progress.note(&engine, &collector);
        }
        progress.point(&engine, &collector);
        let reference_s = rounded(progress.reference_s());
        let stats = engine.stats();
        let mut result = progress.points.last().expect("just noted").clone();
        result["row"] = "eval".into();
        result["subject"] = self.name.clone().into();
        result["arm"] = arm.name.into();
        result["seed"] = seed.into();
        result["budget"] = match budget {
            Budget::Execs(execs) => format!("{execs} executions").into(),
            Budget::CpuSeconds(seconds) => format!("{seconds} CPU seconds").into(),
            Budget::ReferenceSeconds(seconds) => format!("{seconds} reference CPU seconds").into(),
        };
        result["reference_s"] = reference_s.into();
        result["findings"] = stats.findings.into();
        result["stages"] = json!(stats.stages);
        result["corpus"] = stats.corpus.into();
        result["state_hash"] = engine.state_hash().into();
        result["bugs"] = bugs.into();
        result["faults"] = faults.len().into();
        result["same_input"] = repeats.same_input.into();
        result["same_choices"] = repeats.same_choices.into();
        result["shown"] = shown.into();
        let goals = collector.goals();
        result["goals"] = goals
            .map(|(name, is_reached)| (name.to_owned(), is_reached.into()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        result["own_bits"] = collector.reached_bits(true).into();
        result["all_bits"] = collector.reached_bits(false).into();
        result["curve"] = progress.points.into();
        Ok(result)
    }
}

/// What the engine of a campaign is told.
pub(crate) fn config(
    target: &Target,
    arm: Arm,
    seed: u64,
    probes: u32,
    seeds: Vec<Seed>,
) -> Result<Config> {
    let spec = arm.spec()?;
    let given = arm.settings.iter();
    let tokens = tokens(&target.module.wasm).into_iter();
    Ok(Config {
        seed,
        probes,
        input_bytes_max: Limits::STANDARD.input_bytes,
        fuel_limit: Limits::STANDARD.fuel,
        // The same for all arms, ours included.
        choice_bytes_max: TAPE_BYTES_MAX,
        seeds,
        tokens: tokens.map(Token::automatic).collect(),
        multipliers: multipliers(&target.module.wasm),
        settings: given
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        slow_factor: 0,
        targets: target.targets(spec)?,
        reruns: false,
        takes_texts: target.generator.is_some(),
        watches: false,
        spec,
    })
}

/// The key of a finding's stack; its title.
fn symbolise(outcome: &mut Outcome, exact: &mut Exact) -> Result<Option<String>> {
    let (exit, site) = (outcome.exit, outcome.site);
    match &mut outcome.detail {
        Some(detail) if exit.is_finding() => {
            let ending = exact.ending(exit, detail)?;
            detail.stack = Some(ending.key(exit, site));
            Ok(Some(ending.title(exit)))
        }
        _ => Ok(None),
    }
}

/// How far a campaign is, and its curve.
struct Progress {
    budget: Budget,
    /// CPU time of this thread when the campaign began, nanoseconds.
    began: u64,
    /// What was spent apart from the campaign since.
    apart: u64,
    clock: Clock,
    next: u64,
    points: Vec<Value>,
}

impl Progress {
    fn new(budget: Budget) -> Progress {
        Progress {
            budget,
            clock: Clock::new(),
            began: thread_cpu_ns(),
            apart: 0,
            next: 100,
            points: Vec::new(),
        }
    }

    /// Executions that are left; nothing at the end.
    fn left(&mut self, engine: &Engine) -> Option<u64> {
        let execs = engine.stats().execs;
        let has_time = match self.budget {
            Budget::Execs(all) => return Some(all - execs).filter(|left| *left > 0),
            Budget::CpuSeconds(seconds) => self.cpu_s() < seconds,
            Budget::ReferenceSeconds(seconds) => self.reference_s() < seconds,
        };
        // So that curves have points at the same executions.
        has_time.then(|| self.next - execs)
    }

    fn reference_s(&mut self) -> f64 {
        let seconds = self.clock.read(self.cpu_s());
        if self.clock.is_due() {
            let before = thread_cpu_ns();
            self.clock.measure();
            self.apart += thread_cpu_ns() - before;
        }
        seconds
    }

    fn cpu_s(&self) -> f64 {
        (thread_cpu_ns() - self.began - self.apart) as f64 / 1e9
    }

    /// Does something that is not the campaign's.
    fn apart<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = thread_cpu_ns();
        let done = work();
        self.apart += thread_cpu_ns() - before;
        done
    }

    /// Adds points of the curve as they are due: after 100, 200, 500, 1,000, … executions.
    fn note(&mut self, engine: &Engine, collector: &Collector) {
        let execs = engine.stats().execs;
        if execs < self.next {
            return;
        }
        while execs >= self.next {
            let leading = self.next / 10u64.pow(self.next.ilog10());
            self.next = match leading {
                1 => self.next * 2,
                2 => self.next / 2 * 5,
                _ => self.next * 2,
            };
        }
        self.point(engine, collector);
    }

    fn point(&mut self, engine: &Engine, collector: &Collector) {
        let (stats, reached, cpu_s) = (engine.stats(), collector.reached(), self.cpu_s());
        let mut point = json!({
            "execs": stats.execs,
            "cpu_s": rounded(cpu_s),
            "valid": stats.valid,
            "without_input": stats.without_input,
            "branches": reached.branches,
            "own": reached.own,
            "semantic": reached.semantic,
            "valid_semantic": reached.valid_semantic,
            "goals": collector.goals().filter(|(_, is_reached)| *is_reached).count(),
        });
        if let Some(diversity) = engine.diversity() {
            let hill = diversity.raw();
            point["unique"] = diversity.unique_traces().into();
            point["diverse_valid"] = diversity.diverse_valid().into();
            point["b0"] = hill.b0.into();
            point["b1"] = rounded(hill.b1).into();
            point["b2"] = rounded(hill.b2).into();
        }
        self.points.push(point);
    }
}

/// To thousandths: results are kept.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arms::ARMS;

    /// Every arm runs, and comes out the same again.
    #[test]
    fn campaigns_repeat_exactly() {
        let prepared = Prepared::demo();
        for arm in ARMS {
            let run = || {
                let result = prepared.campaign(*arm, 3, Budget::Execs(300));
                result.expect("it ends well")
            };
            let (first, second) = (run(), run());
            assert_eq!(first["execs"], 300);
            assert!(first["branches"].as_u64() > Some(0), "{first}");
            for key in ["state_hash", "branches", "valid"] {
                assert_eq!(first[key], second[key], "{}: {key}", arm.name);
            }
            // But for when they showed.
            let shown = |result: &Value, key: &str, what: &[&str]| -> Vec<Value> {
                let rows = result[key].as_array().expect("rows").iter();
                let of = |row: &Value| match row.as_array() {
                    Some(row) => json!(row[..2]),
                    None => json!(what.iter().map(|what| &row[*what]).collect::<Vec<_>>()),
                };
                rows.map(of).collect()
            };
            assert_ne!(first["shown"], json!([]), "{}: no fault showed", arm.name);
            for (key, what) in [("bugs", &["key", "trial", "title"][..]), ("shown", &[])] {
                let (first, second) = (shown(&first, key, what), shown(&second, key, what));
                assert_eq!(first, second, "{}: {key}", arm.name);
            }
        }
    }
}
