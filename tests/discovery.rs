//! Every planted fault is found: in two seeds by an ordinary `cargo test`, in at least nine of ten
//! with `SANDGLASS_FULL=1`, which also prints what it took.
//!
//! A campaign here is what `sandglass fuzz` does with one worker, without files: the default
//! guidance, [`PLANTED_SEED`] as the only seed, tokens of the module, the standard limits, and an
//! end at the first finding. Campaigns are functions of their seed, so these numbers are, too.
//!
//! For experiments: `SANDGLASS_FAULTS` names the faults, separated by commas, `SANDGLASS_SEEDS` the
//! number of seeds, `SANDGLASS_SET` settings of the guidance as `name=value,…`, and
//! `SANDGLASS_GUIDANCE` the guidance. Then nothing is asserted.

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use sandglass_engine::{Config, Decision, Engine, Exit, Scratch, Token, Variant, find};
use sandglass_guests::{PLANTED, PLANTED_SEED, Planted};
use sandglass_instrument::multipliers::multipliers;
use sandglass_instrument::tokens::tokens;
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

const EXECS_MAX: u64 = 2_000_000;

#[test]
fn planted_faults_are_found() {
    let is_full = env::var_os("SANDGLASS_FULL").is_some();
    let given = |name: &str| env::var(name).ok().filter(|text| !text.is_empty());
    let (faults, settings) = (given("SANDGLASS_FAULTS"), given("SANDGLASS_SET"));
    let guidance = given("SANDGLASS_GUIDANCE").unwrap_or("sandglass".to_owned());
    let is_experiment = settings.is_some() || guidance != "sandglass";
    let settings: BTreeMap<String, String> = settings
        .iter()
        .flat_map(|text| text.split(','))
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let seeds = given("SANDGLASS_SEEDS").map_or(if is_full { 10 } else { 2 }, |n| {
        n.parse().expect("a number of seeds")
    });
    let wanted = |planted: &&Planted| {
        faults
            .as_ref()
            .is_none_or(|names| names.split(',').any(|name| name == planted.name))
    };
    let mut table = format!(
        "{:18} {:>7} {:>10} {:>10}\n",
        "fault", "found", "median", "max"
    );
    let mut missed = Vec::new();
    for planted in PLANTED.iter().filter(wanted) {
        let mut execs = on_guest_thread(|| campaigns(planted, seeds, &guidance, &settings));
        let found = execs.iter().flatten().count() as u64;
        // In an ordinary test one seed of two may fail where nine of ten have to succeed.
        if found * 10 < seeds * if is_full { 9 } else { 5 } {
            missed.push(planted.name);
        }
        execs.sort_by_key(|execs| execs.unwrap_or(u64::MAX));
        let shown = |at: usize| execs[at].map_or("-".to_owned(), |execs| execs.to_string());
        let (median, max) = (shown((execs.len() - 1) / 2), shown(execs.len() - 1));
        let row = format!(
            "{:18} {:>7} {median:>10} {max:>10}\n",
            planted.name,
            format!("{found}/{seeds}")
        );
        if is_full {
            show(&row);
        }
        table.push_str(&row);
    }
    assert!(
        is_experiment || missed.is_empty(),
        "not found: {}\n{table}",
        missed.join(", ")
    );
}

/// Rows as they come: a full table takes minutes.
#[expect(clippy::print_stderr, reason = "this is the report that was asked for")]
fn show(row: &str) {
    eprint!("{row}");
}

/// Executions until the fault was found, for seeds 0, 1, 2…; none if it was not.
fn campaigns(
    planted: &Planted,
    seeds: u64,
    guidance: &str,
    settings: &BTreeMap<String, String>,
) -> Vec<Option<u64>> {
    let program = |build| {
        let program = Program::build(planted.wasm, build, &Options::default(), None);
        Arc::new(program.unwrap_or_else(|error| panic!("{}: {error}", planted.name)))
    };
    let (fast, compares) = (program(Build::Fast), program(Build::Compares));
    let limits = Limits::STANDARD;
    let sandbox = |program| Sandbox::new(program, &limits).expect("planted faults need no set-up");
    let mut sandboxes = [sandbox(&fast), sandbox(&compares)];
    (0..seeds)
        .map(|seed| {
            let config = Config {
                seed,
                probes: fast.probe_map().probes.len() as u32,
                input_bytes_max: limits.input_bytes,
                fuel_limit: limits.fuel,
                choice_bytes_max: 0,
                seeds: vec![PLANTED_SEED[..].into()],
                tokens: tokens(planted.wasm)
                    .into_iter()
                    .map(Token::automatic)
                    .collect(),
                multipliers: multipliers(planted.wasm),
                settings: settings.clone(),
                slow_factor: 100,
                targets: Arc::default(),
                reruns: false,
                takes_texts: false,
                watches: false,
                spec: find(guidance).expect("a guidance"),
            };
            campaign(
                Engine::new(config).expect("settings of the guidance"),
                &mut sandboxes,
            )
        })
        .collect()
}

fn campaign(mut engine: Engine, [fast, compares]: &mut [Sandbox; 2]) -> Option<u64> {
    let (mut scratch, mut input) = (Scratch::default(), Vec::new());
    while engine.stats().execs < EXECS_MAX {
        let batch = engine.next_batch(EXECS_MAX - engine.stats().execs);
        let outcomes = (0..batch.len()).map(|index| {
            batch.build(index, &mut scratch, &mut input);
            let sandbox = match batch.variant(index) {
                Variant::Fast => &mut *fast,
                Variant::Compares => &mut *compares,
                Variant::Heap | Variant::Dependence => unreachable!("nothing is run again"),
            };
            sandbox.run(&input, batch.interest(), batch.wants_detail(index))
        });
        let outcomes = outcomes.collect();
        for decision in engine.finish_batch(&batch, outcomes) {
            if let Decision::Finding {
                exit: Exit::Trap(_),
                trial,
                ..
            } = decision
            {
                return Some(trial + 1);
            }
        }
    }
    None
}
