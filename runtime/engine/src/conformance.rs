//! What every guidance must satisfy, as functions to call from tests.
//!
//! In: a guidance, by its [`Spec`]. Out: a panic that says what it broke. The target is a toy: a
//! function from bytes to a trace, with a bug behind a few conditions.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::batch::{Batch, Scratch};
use crate::choice::{ChoiceSequence, Drawing, Role, Stop};
use crate::engine::{Config, Decision, Engine, State};
use crate::feedback::{Interest, trace_hash};
use crate::guidance::Spec;
use crate::trial::{Compare, Detail, Exit, Outcome, Peaks, Reached, TrapKind, Variant};

/// What a toy target did.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// How it ended; `None` is valid.
    pub exit: Option<Exit>,
    /// Where, if it trapped.
    pub site: u32,
    /// What it cost.
    pub fuel: u64,
    /// Hit counts by probe.
    pub counts: BTreeMap<u32, u32>,
    /// What it compared.
    pub compares: Vec<Compare>,
    /// Which draws reached which of its decisions.
    pub reached: Vec<Reached>,
    /// What it took at most.
    pub peaks: Peaks,
}

impl Trace {
    /// Counts one hit of a probe, at a cost of 10 fuel.
    pub fn hit(&mut self, probe: u32) {
        *self.counts.entry(probe).or_default() += 1;
        self.fuel += 10;
    }

    /// Compares with a constant: records the operands, and hits `site` or `site + 1`.
    pub fn equal(&mut self, site: u32, width: u8, left: u64, right: u64) -> bool {
        self.compares.push(Compare {
            site,
            width,
            left,
            right,
            constant: true,
        });
        self.hit(site + u32::from(left == right));
        left == right
    }
}

/// What a sandbox makes of a trace: detail only if the batch or the worker's interest asks for it.
pub fn observe(
    trace: Trace,
    input: &[u8],
    choices: Option<ChoiceSequence>,
    batch: &Batch,
    trial: usize,
    interest: &Interest,
) -> Outcome {
    let exit = trace.exit.unwrap_or(Exit::Valid);
    let counts: Vec<(u32, u32)> = trace.counts.into_iter().collect();
    let input_bytes = input.len() as u32;
    let wanted = batch.wants_detail(trial)
        || interest.wants(exit, trace.site, trace.fuel, input_bytes)
        || counts
            .iter()
            .any(|&(probe, count)| interest.is_new(exit, probe, count));
    let compares = if batch.variant(trial) == Variant::Compares {
        trace.compares
    } else {
        Vec::new()
    };
    let reached = if batch.variant(trial) == Variant::Dependence {
        trace.reached
    } else {
        Vec::new()
    };
    let detail = wanted.then(|| {
        Box::new(Detail {
            reached,
            input: input.to_vec(),
            trace_hash: trace_hash(&counts),
            counts,
            compares,
            choices: choices.map(Box::new),
            peaks: trace.peaks,
            ..Detail::default()
        })
    });
    Outcome {
        exit,
        site: trace.site,
        fuel: trace.fuel,
        input_bytes,
        stage: 0,
        detail,
    }
}

/// Runs one trial of a batch: on bytes, or on what [`generate`] makes of its draws.
pub fn run_trial(
    batch: &Batch,
    trial: usize,
    target: &dyn Fn(&[u8]) -> Trace,
    interest: &Interest,
    scratch: &mut Scratch,
) -> Outcome {
    let Some(mut drawing) = batch.drawing(trial) else {
        let mut input = Vec::new();
        batch.build(trial, scratch, &mut input);
        return observe(target(&input), &input, None, batch, trial, interest);
    };
    if let Some(text) = drawing.text() {
        let choices = Some(ChoiceSequence::of_text(text.to_vec()));
        return observe(target(text), text, choices, batch, trial, interest);
    }
    let mut tries = drawing.take_tries();
    let made = loop {
        let made = generate(&mut drawing);
        let input = made.as_deref().ok();
        match tries.as_mut().and_then(|tries| tries.next(input)) {
            Some(instead) => drawing = instead,
            None => break made,
        }
    };
    let choices = Some(drawing.finish());
    let failed = |exit| Trace {
        exit: Some(exit),
        ..Trace::default()
    };
    let (trace, input) = match made {
        Ok(input) if input.len() <= batch.input_bytes_max() => (target(&input), input),
        Ok(_) | Err(Stop::Overrun) => (failed(Exit::Overrun), Vec::new()),
        Err(Stop::Impossible) => (failed(Exit::BadDraw), Vec::new()),
    };
    observe(trace, &input, choices, batch, trial, interest)
}

/// A toy generator: a number of bytes, then each byte. Now and then it draws without end.
pub fn generate(drawing: &mut Drawing) -> Result<Vec<u8>, Stop> {
    let count = drawing.int(0, Role::Structure, 0, 20)?;
    drawing.open(1)?;
    let mut bytes = Vec::new();
    for _ in 0..count {
        bytes.push(drawing.int(1, Role::Value, 0, 255)? as u8);
    }
    drawing.close(false);
    while bytes.first() == Some(&b'~') {
        drawing.coin(2, Role::Unknown)?;
    }
    Ok(bytes)
}

/// Executes a batch with so many workers, who take turns; the order is theirs, the result is not.
pub fn execute(batch: &Batch, target: &dyn Fn(&[u8]) -> Trace, workers: usize) -> Vec<Outcome> {
    let mut outcomes: Vec<Option<Outcome>> = vec![None; batch.len()];
    for worker in (0..workers).rev() {
        let mut scratch = Scratch::default();
        for trial in (worker..batch.len()).step_by(workers) {
            let outcome = run_trial(batch, trial, target, batch.interest(), &mut scratch);
            outcomes[trial] = Some(outcome);
        }
    }
    outcomes
        .into_iter()
        .map(|outcome| outcome.expect("every trial has a worker"))
        .collect()
}

/// Probes of [`toy`].
pub const TOY_PROBES: u32 = 64;

/// A toy with a bug that takes two correct bytes in a row and a loop count, and an invalid side. Its
/// calls nest as deep as there are different bytes.
pub fn toy(input: &[u8]) -> Trace {
    let mut trace = Trace::default();
    trace.hit(0);
    let byte = |at: usize| u64::from(input.get(at).copied().unwrap_or(0));
    let magic = [(10, b'F'), (12, b'U')];
    let right = magic
        .iter()
        .enumerate()
        .take_while(|(i, (site, wanted))| trace.equal(*site, 1, byte(*i), u64::from(*wanted)))
        .count();
    for _ in input.iter().skip(3).filter(|&&byte| byte > b'x') {
        trace.hit(20);
    }
    trace.peaks.call_depth = input.iter().collect::<BTreeSet<_>>().len() as u32;
    if right == magic.len() {
        trace.exit = Some(Exit::Trap(TrapKind::Unreachable));
        trace.site = 77;
    } else if right == 0 {
        trace.exit = Some(Exit::Invalid);
    }
    trace
}

/// A campaign's configuration over [`toy`].
pub fn config(spec: &'static Spec, seed: u64) -> Config {
    Config {
        input_bytes_max: 64,
        seeds: vec![b"hello".to_vec().into(), Vec::new().into()],
        slow_factor: 100,
        reruns: false,
        ..Config::bare(spec, seed, TOY_PROBES)
    }
}

/// Everything that happened, for comparison.
fn run(
    engine: &mut Engine,
    target: &dyn Fn(&[u8]) -> Trace,
    trials: u64,
    workers: usize,
) -> Vec<Decision> {
    let mut decisions = Vec::new();
    while engine.stats().execs < trials {
        let batch = engine.next_batch(trials - engine.stats().execs);
        let outcomes = execute(&batch, target, workers);
        decisions.extend(engine.finish_batch(&batch, outcomes));
    }
    decisions
}

fn engine(spec: &'static Spec, seed: u64) -> Engine {
    Engine::new(config(spec, seed)).expect("defaults are right")
}

/// The same seed gives the same decisions and the same state; another seed does not.
pub fn is_a_function_of_its_seed(spec: &'static Spec) {
    let campaign = |seed| {
        let mut engine = engine(spec, seed);
        let decisions = run(&mut engine, &toy, 20_000, 1);
        (decisions, engine.state_hash())
    };
    assert_eq!(campaign(1), campaign(1), "{}: the same seed", spec.name);
    assert_ne!(campaign(1).1, campaign(2).1, "{}: another seed", spec.name);
}

/// The number of workers changes nothing.
pub fn does_not_see_workers(spec: &'static Spec) {
    let campaign = |workers| {
        let mut engine = engine(spec, 3);
        let decisions = run(&mut engine, &toy, 20_000, workers);
        (decisions, engine.state_hash())
    };
    let one = campaign(1);
    for workers in [2, 3, 16] {
        assert_eq!(one, campaign(workers), "{}: {workers} workers", spec.name);
    }
}

/// Trials after which a state is written down and read, at the next end of a batch.
const RESUME_EVERY: u64 = 700;

/// A state written down and read again goes on as if nothing had happened. `copy` writes and reads.
pub fn resumes(spec: &'static Spec, copy: &dyn Fn(&State) -> State) {
    let mut whole = engine(spec, 5);
    let expected = run(&mut whole, &toy, 30_000, 1);
    let mut decisions = Vec::new();
    let mut state: Option<State> = None;
    loop {
        let mut part = match &state {
            None => engine(spec, 5),
            Some(state) => {
                Engine::resume(config(spec, 5), copy(state)).expect("it is the same campaign")
            }
        };
        if part.stats().execs >= 30_000 {
            assert_eq!(
                part.state_hash(),
                whole.state_hash(),
                "{}: state after resuming",
                spec.name
            );
            break;
        }
        // Small batches go by in groups: writing down a state takes as long as many trials.
        let until = (part.stats().execs + RESUME_EVERY).min(30_000);
        while part.stats().execs < until {
            let batch = part.next_batch(30_000 - part.stats().execs);
            let outcomes = execute(&batch, &toy, 1);
            decisions.extend(part.finish_batch(&batch, outcomes));
        }
        state = Some(part.checkpoint().clone());
    }
    assert_eq!(
        decisions, expected,
        "{}: decisions after resuming",
        spec.name
    );
}

/// A state of another campaign is refused.
pub fn refuses_other_states(spec: &'static Spec) {
    let state = engine(spec, 5).checkpoint().clone();
    let error = Engine::resume(config(spec, 6), state).expect_err("the seed differs");
    assert_eq!(
        error.to_string(),
        "the campaign was begun with seed 5, expected 6"
    );
}

/// The toy's bug is found within so many trials, for each of ten seeds.
pub fn finds_the_planted_bug(spec: &'static Spec, trials: u64) {
    for seed in 0..10 {
        // No empty seed: AFL's havoc cannot append, so what grew from nothing stays short for long.
        let seeds = vec![b"hello, world".to_vec().into()];
        let config = Config {
            seeds,
            ..config(spec, seed)
        };
        let mut engine = Engine::new(config).expect("defaults are right");
        while engine.stats().execs < trials && engine.stats().findings == 0 {
            let next = engine.stats().execs + u64::from(spec.lookahead);
            run(&mut engine, &toy, next.min(trials), 1);
        }
        assert_eq!(
            engine.stats().unique_findings,
            1,
            "{}: seed {seed}, {trials} trials",
            spec.name
        );
    }
}

/// Coverage never shrinks, nor the corpus but by those of whom it is told, valid coverage is part of coverage, inputs keep their limit,
/// and a testcase's trace is what the record says.
pub fn grows_only(spec: &'static Spec) {
    let mut engine = engine(spec, 8);
    let mut before = engine.stats().clone();
    for _ in 0..30 {
        let batch = engine.next_batch(u64::MAX);
        assert!(batch.len() <= spec.lookahead as usize);
        let outcomes = execute(&batch, &toy, 1);
        let exits: Vec<Exit> = outcomes.iter().map(|outcome| outcome.exit).collect();
        let decisions = engine.finish_batch(&batch, outcomes);
        let dropped = (decisions.iter())
            .filter(|decision| matches!(decision, Decision::Dropped { .. }))
            .count() as u32;
        let now = engine.stats().clone();
        let judged = (now.execs - before.execs) as usize;
        assert!(judged >= 1 && (judged == batch.len() || spec.lookahead > spec.batch));
        let findings = exits[..judged]
            .iter()
            .filter(|exit| exit.is_finding())
            .count() as u64;
        assert!(
            now.edges >= before.edges
                && now.valid_edges >= before.valid_edges
                && now.corpus + dropped >= before.corpus
        );
        assert!(now.valid_edges <= now.edges);
        assert_eq!(now.findings, before.findings + findings);
        assert_eq!(now.execs, now.valid + now.invalid + now.findings);
        before = now;
    }
    let mut covered = BTreeSet::new();
    for (id, testcase) in engine.corpus().iter() {
        assert!(testcase.bytes.len() <= 64);
        let counts: Vec<(u32, u32)> = toy(&testcase.bytes).counts.into_iter().collect();
        assert_eq!(
            trace_hash(&counts),
            testcase.trace_hash,
            "{}: testcase {}",
            spec.name,
            id.0
        );
        covered.extend(counts.into_iter().map(|(probe, _)| probe));
    }
    assert!(covered.len() as u32 <= engine.stats().edges);
}

/// Detail that nobody needed changes nothing: judging is a function of what the outcomes say.
pub fn tolerates_stale_interest(spec: &'static Spec) {
    let campaign = |stale: bool| {
        let mut engine = engine(spec, 4);
        let mut old = engine.interest();
        while engine.stats().execs < 20_000 {
            let batch = engine.next_batch(20_000 - engine.stats().execs);
            let mut scratch = Scratch::default();
            let mut outcomes = Vec::new();
            for trial in 0..batch.len() {
                let interest = if stale { &old } else { batch.interest() };
                outcomes.push(run_trial(&batch, trial, &toy, interest, &mut scratch));
            }
            engine.finish_batch(&batch, outcomes);
            if engine.stats().execs < 5_000 {
                old = engine.interest();
            }
        }
        (engine.corpus().clone(), engine.stats().clone())
    };
    assert_eq!(
        campaign(false),
        campaign(true),
        "{}: stale interest",
        spec.name
    );
}

/// However far ahead it plans, it does the same: the batches handed out are cut at random.
pub fn does_not_see_lookahead(spec: &'static Spec) {
    let campaign = |cut: bool| {
        let mut engine = engine(spec, 9);
        let (mut rng, mut decisions) = (crate::Rng::new(1), Vec::new());
        while engine.stats().execs < 20_000 {
            let left = 20_000 - engine.stats().execs;
            let room = match cut {
                true => left.min(1 + u64::from(rng.below(5))),
                false => left,
            };
            let batch = engine.next_batch(room);
            let outcomes = execute(&batch, &toy, 1);
            decisions.extend(engine.finish_batch(&batch, outcomes));
        }
        (decisions, engine.state_hash())
    };
    assert_eq!(campaign(false), campaign(true), "{}: cut", spec.name);
}

/// Seeds are run once each, and then something else; so is whatever breaks.
pub fn goes_on(spec: &'static Spec) {
    let breaks = |_: &[u8]| Trace {
        exit: Some(Exit::Hang),
        ..Trace::default()
    };
    let targets: [fn(&[u8]) -> Trace; 2] = [breaks, toy];
    for target in targets {
        for seeds in [vec![], vec![vec![3; 40].into(), vec![5; 50].into()]] {
            let config = Config {
                seeds,
                ..config(spec, 7)
            };
            let mut engine = Engine::new(config).expect("defaults are right");
            let inputs = std::cell::RefCell::new(BTreeSet::new());
            let target = |input: &[u8]| {
                inputs.borrow_mut().insert(input.to_vec());
                target(input)
            };
            run(&mut engine, &target, 2_000, 1);
            let different = inputs.borrow().len();
            assert!(different > 200, "{}: {different} inputs", spec.name);
        }
    }
}

/// A target that always breaks, one without probes, and a campaign without seeds go on regardless.
pub fn survives_poor_targets(spec: &'static Spec) {
    let breaks = |_: &[u8]| Trace {
        exit: Some(Exit::Hang),
        fuel: u64::MAX / 100_000,
        ..Trace::default()
    };
    let targets: [fn(&[u8]) -> Trace; 3] = [breaks, |_| Trace::default(), toy];
    for target in targets {
        for (seeds, input_bytes_max) in [
            (vec![], 1),
            (vec![Vec::new().into()], 8),
            (vec![vec![0; 5_000].into(); 2], 4_000),
        ] {
            let config = Config {
                seeds,
                input_bytes_max,
                ..config(spec, 1)
            };
            let mut engine = Engine::new(config).expect("defaults are right");
            run(&mut engine, &target, 5_000, 1);
            assert_eq!(engine.stats().execs, 5_000);
            let longest = engine
                .corpus()
                .iter()
                .map(|(_, testcase)| testcase.bytes.len())
                .max();
            assert!(longest.unwrap_or(0) <= input_bytes_max as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guidance::ALL;

    fn through_bincode(state: &State) -> State {
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(state, config).unwrap();
        let (copy, used): (State, usize) =
            bincode::serde::decode_from_slice(&bytes, config).unwrap();
        assert_eq!(used, bytes.len());
        assert_eq!(bincode::serde::encode_to_vec(&copy, config).unwrap(), bytes);
        copy
    }

    #[test]
    fn every_guidance_is_a_function_of_its_seed() {
        ALL.iter().for_each(|spec| is_a_function_of_its_seed(spec));
    }

    #[test]
    fn no_guidance_sees_workers() {
        ALL.iter().for_each(|spec| does_not_see_workers(spec));
    }

    #[test]
    fn every_guidance_resumes() {
        ALL.iter().for_each(|spec| resumes(spec, &through_bincode));
    }

    #[test]
    fn every_guidance_refuses_other_states() {
        ALL.iter().for_each(|spec| refuses_other_states(spec));
    }

    #[test]
    fn every_guidance_only_grows() {
        ALL.iter().for_each(|spec| grows_only(spec));
    }

    #[test]
    fn every_guidance_tolerates_stale_interest() {
        ALL.iter().for_each(|spec| tolerates_stale_interest(spec));
    }

    #[test]
    fn every_guidance_survives_poor_targets() {
        ALL.iter().for_each(|spec| survives_poor_targets(spec));
    }

    #[test]
    fn every_guidance_goes_on() {
        ALL.iter().for_each(|spec| goes_on(spec));
    }

    #[test]
    fn nobody_sees_how_far_they_look_ahead() {
        let ahead = ALL.iter().filter(|spec| spec.lookahead > spec.batch);
        ahead.for_each(|spec| does_not_see_lookahead(spec));
    }

    #[test]
    fn the_planted_bug_is_found() {
        for spec in ALL {
            let trials = match spec.name {
                "sandglass" => 20_000,
                "afl" | "zest" | "zest-paper" => 500_000,
                _ => continue, // The control finds it by chance alone, once in 65,536.
            };
            finds_the_planted_bug(spec, trials);
        }
    }
}
