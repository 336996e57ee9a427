//! Guidances: trials a second of each, against the target alone.
//!
//! The demo's decoder, which refuses JSON at its first byte: so what is measured is everything but the
//! target. The control replays inputs that the generator of JSON made: a run with reset and feedback.
//! *generator* adds the making of an input to each run; then come whole campaigns with planning and
//! judging, those of bytes without the generator, and with the demo's seeds. Rounds of all of them
//! are run in turns, so every campaign is as far as the others.
//!
//! Limit: two sandboxes' resets and the draws of a generator (some 20 ns each).

use std::sync::Arc;

use sandglass_benches::{Size, heading, in_turns, println, run_batch};
use sandglass_engine::guidance::{ALL, InputKind};
use sandglass_engine::{Config, Drawing, Engine, Interest, Judging, Rng, Source, Spec};
use sandglass_guests::{RUST_DEMO, generator};
use sandglass_instrument::CostModel;
use sandglass_instrument::accept::AcceptLimits;
use sandglass_runtime::campaign::workers::{Pool, Stop};
use sandglass_runtime::target::{Module, Reset, Target, Worker};
use sandglass_sandbox::{Limits, Options, on_guest_thread};

fn main() {
    let size = Size::from_args();
    heading("guidances", size);
    on_guest_thread(|| guidances(size));
}

fn target(with_generator: bool) -> Arc<Target> {
    let limits = AcceptLimits::standard(Limits::STANDARD.memory_bytes);
    let module = |name: &str, wasm: &[u8]| {
        Module::check(name, wasm.to_vec(), &limits).expect("it is a guest of ours")
    };
    let demo = module("demo", RUST_DEMO.wasm);
    let target = Target::new(demo, Options::default(), Reset::Hot).expect("it is a target");
    let generator = with_generator.then(|| module("generator", generator("json").wasm));
    Arc::new(target.with_generator(generator).expect("it is a generator"))
}

/// A campaign on one thread, without a store.
struct Campaign {
    engine: Engine,
    pool: Pool,
}

impl Campaign {
    fn new(spec: &'static Spec, target: &Arc<Target>) -> Campaign {
        let worker = Worker::new(target, &Limits::STANDARD, 0)
            .and_then(|worker| worker.for_guidance(spec, spec.choice_bytes_max()))
            .expect("it sets up");
        let seeds = match spec.input {
            InputKind::Bytes => RUST_DEMO.seeds.iter().map(|seed| (*seed).into()).collect(),
            InputKind::Choices => Vec::new(),
        };
        let config = Config {
            seeds,
            ..Config::bare(spec, 1, worker.probes())
        };
        Campaign {
            engine: Engine::new(config).expect("the settings are defaults"),
            pool: Pool::new(vec![Box::new(worker)], Stop::default()),
        }
    }

    fn round(&mut self, trials: u64) {
        let end = self.engine.stats().execs + trials;
        while self.engine.stats().execs < end {
            let batch = Arc::new(self.engine.next_batch(end - self.engine.stats().execs));
            let mut judging = Judging::of(&batch);
            let engine = &mut self.engine;
            let ran = run_batch(&mut self.pool, &batch, &mut |outcomes| {
                engine.judge(&mut judging, outcomes);
                Ok(judging.wants_more())
            });
            ran.expect("nothing fails");
            self.engine.end_batch(judging);
        }
    }
}

fn guidances(size: Size) {
    let (plain, drawn) = (target(false), target(true));
    let limits = Limits::STANDARD;
    let sandbox = |target: &Arc<Target>| {
        let build = target.campaign_build();
        target.sandbox(build, &limits).expect("it sets up")
    };
    let (mut alone, mut behind) = (sandbox(&plain), sandbox(&plain));
    let mut maker = {
        let limits = AcceptLimits::standard(limits.memory_bytes);
        let wasm = generator("json").wasm.to_vec();
        let module = Module::check("generator", wasm, &limits).expect("a guest of ours");
        sandbox(&Arc::new(
            Target::of_generator(module, false, CostModel::Plain, Reset::Hot).expect("a generator"),
        ))
    };
    let fresh = |seed| Drawing::new(Source::Fresh(Rng::new(seed)), 10_240);
    // A generator may give up: then there is no input.
    let made = (0..).map(|seed| maker.generate(fresh(seed)).input.to_vec());
    let inputs: Vec<Vec<u8>> = made.filter(|input| !input.is_empty()).take(500).collect();
    let probes = alone.program().probe_map().probes.len() as u32;
    let interest = Interest::new(probes, 0);

    let trials = size.pick(20, 2_000);
    let mut campaigns: Vec<Campaign> = (ALL.iter())
        .map(|spec| match spec.input {
            InputKind::Bytes => Campaign::new(spec, &plain),
            InputKind::Choices => Campaign::new(spec, &drawn),
        })
        .collect();
    let (mut turn, mut seed) = (0, 0);
    let mut replay = || {
        for _ in 0..trials {
            turn += 1;
            alone.run(&inputs[turn % inputs.len()], &interest, false);
        }
    };
    let mut generate = || {
        for _ in 0..trials {
            seed += 1;
            let input = maker.generate(fresh(seed)).input.to_vec();
            behind.run(&input, &interest, false);
        }
    };
    let mut rounds: Vec<Box<dyn FnMut() + '_>> = (campaigns.iter_mut())
        .map(|campaign| Box::new(|| campaign.round(trials)) as Box<dyn FnMut()>)
        .collect();
    let mut things: Vec<&mut dyn FnMut()> = vec![&mut replay, &mut generate];
    things.extend(
        rounds
            .iter_mut()
            .map(|round| &mut **round as &mut dyn FnMut()),
    );
    let times = in_turns(size.pick(1, 15), 1, &mut things);
    drop(things);

    let names = ["target alone", "generator"].into_iter();
    let names = names.chain(ALL.iter().map(|spec| spec.name));
    for (name, time) in names.zip(&times) {
        println!(
            "{name:16} {:>9.0} trials/s, {:.2} of the target alone",
            1e9 * trials as f64 / time,
            times[0] / time
        );
    }
}
