//! The same fuel on every run, whatever compiles the program: `tests/fuel/vectors.txt` has that of
//! checked-in programs on checked-in inputs, in both units, and Cranelift's levels of optimisation agree.
//!
//! A line is a guest, which of its inputs, a hash of both, and the fuel in each unit. A change to a cost comes with a new
//! `COST_VERSION`; then `BLESS=1` accepts what comes out now. Without one it accepts other guests and inputs only.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use sandglass_engine::Interest;
use sandglass_guests::{BENCH, COSTLY, DEMOS, PLANTED, PLANTED_SEED, WAT};
use sandglass_instrument::{COST_VERSION, CostModel, HOST_MODULE, Probes, instrument, layout};
use sandglass_sandbox::{
    Build, Limits, Options, Program, Sandbox, THREAD_STACK_BYTES, on_guest_thread,
};
use wasmtime::{Config, Engine, Linker, Module, OptLevel, Store, StoreLimitsBuilder};

const LIMITS: Limits = Limits {
    fuel: 50_000_000,
    input_bytes: 1 << 16,
    ..Limits::STANDARD
};

/// A program and its inputs.
struct Guest {
    name: &'static str,
    wasm: Vec<u8>,
    inputs: Vec<Vec<u8>>,
}

fn guests() -> Vec<Guest> {
    let guest = |name, wasm: &[u8], inputs: &[&[u8]]| Guest {
        name,
        wasm: wasm.to_vec(),
        inputs: inputs.iter().map(|input| input.to_vec()).collect(),
    };
    let mut found = Vec::new();
    for wat in WAT {
        let wasm = wat::parse_str(wat.text).expect("guests assemble");
        found.push(guest(wat.name, &wasm, &[wat.input(), b"x"]));
    }
    for costly in COSTLY {
        let inputs: [&[u8]; 3] = [b"the quick brown fox", &[b'a'; 200], &[7, 6, 5, 4, 3, 2, 1]];
        found.push(guest(costly.name, costly.wasm, &inputs));
    }
    for bench in BENCH {
        found.push(guest(bench.name, bench.wasm, &[bench.input]));
    }
    for planted in PLANTED {
        found.push(guest(
            planted.name,
            planted.wasm,
            &[PLANTED_SEED, planted.witness],
        ));
    }
    for demo in DEMOS {
        let bugs = demo.bugs.iter().map(|bug| bug.witness);
        let inputs: Vec<&[u8]> = demo.seeds.iter().copied().chain(bugs).collect();
        found.push(guest(demo.name, demo.wasm, &inputs));
    }
    found
}

/// Fuel of each input, as campaigns count it; nothing for the guests that are there to be refused.
fn fuel(guest: &Guest, cost: CostModel) -> Option<Vec<u64>> {
    let options = Options {
        cost,
        ..Options::default()
    };
    let program = Program::build(&guest.wasm, Build::Fast, &options, None).ok()?;
    let program = Arc::new(program);
    let mut sandbox = Sandbox::new(&program, &LIMITS).ok()?;
    let interest = Interest::new(program.probe_map().probes.len() as u32, 0);
    let run = |input: &Vec<u8>| sandbox.run(input, &interest, false).fuel;
    Some(guest.inputs.iter().map(run).collect())
}

#[test]
fn fuel_is_that_of_the_table_of_this_version() {
    let mut found = format!("costs {COST_VERSION}\n");
    on_guest_thread(|| {
        for guest in guests() {
            let fuel = |cost| fuel(&guest, cost).unwrap_or_default();
            let [plain, native] = [CostModel::Plain, CostModel::Native].map(fuel);
            let fuel = plain.iter().zip(native).zip(&guest.inputs);
            for (nth, ((plain, native), input)) in fuel.enumerate() {
                let hash = hash(&guest.wasm, input);
                let [plain, native] = [*plain, native].map(cost);
                let _ = writeln!(found, "{} {nth} {hash} {plain} {native}", guest.name);
            }
        }
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuel/vectors.txt");
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if std::env::var_os("BLESS").is_some() {
        let changed = changed_within_a_version(&expected, &found);
        assert!(
            changed.is_empty(),
            "the same guests and inputs cost something else: a new COST_VERSION first. {changed:?}"
        );
        std::fs::write(&path, found).expect("the folder can be written");
        return;
    }
    let changed = found
        .lines()
        .zip(expected.lines())
        .find(|(new, old)| new != old);
    assert!(
        found == expected,
        "fuel changed, and COST_VERSION with it? then BLESS=1. First: {changed:?}"
    );
}

/// What a run cost; where one was stopped is no cost of anything.
fn cost(fuel: u64) -> String {
    match fuel > LIMITS.fuel {
        true => "over".into(),
        false => fuel.to_string(),
    }
}

/// Of a guest and an input.
fn hash(wasm: &[u8], input: &[u8]) -> String {
    let mut hashing = blake3::Hasher::new();
    hashing.update(blake3::hash(wasm).as_bytes()).update(input);
    hashing.finalize().to_hex()[..8].to_owned()
}

/// Lines of `new` whose guest and input cost something else in `old`, if both are of one version of the costs.
fn changed_within_a_version<'a>(old: &str, new: &'a str) -> Vec<&'a str> {
    if old.lines().next() != new.lines().next() {
        return Vec::new();
    }
    // The guest, which input, and the hash; then what it costs.
    fn split(line: &str) -> Option<(&str, &str)> {
        let (end, _) = line.match_indices(' ').nth(2)?;
        Some(line.split_at(end))
    }
    let costs: BTreeMap<&str, &str> = old.lines().filter_map(split).collect();
    let is_changed = |line: &&str| {
        split(line).is_some_and(|(of, cost)| costs.get(of).is_some_and(|old| *old != cost))
    };
    new.lines().filter(is_changed).collect()
}

#[test]
fn figures_of_a_version_stay() {
    let old = "costs 1\na 0 01234567 5 6\nb 0 89abcdef 7 8\n";
    let new =
        |version, a, b| format!("costs {version}\na 0 01234567 {a}\nb 0 {b}\nc 0 00000000 1 1\n");
    let changed = |new: &str| changed_within_a_version(old, new).join(";");
    assert_eq!(changed(&new(1, "5 6", "89abcdef 7 8")), "");
    assert_eq!(changed(&new(1, "5 7", "89abcdef 7 8")), "a 0 01234567 5 7");
    // Another module of the same name, and a new version.
    assert_eq!(changed(&new(1, "5 6", "fedcba98 9 9")), "");
    assert_eq!(changed(&new(2, "5 7", "89abcdef 9 9")), "");
}

/// Fuel of each input as an engine of that level counts it, each in a fresh instance; nothing for a
/// program that imports more than we give it.
fn fuel_at(guest: &Guest, level: OptLevel) -> Option<Vec<u64>> {
    let made = instrument(&guest.wasm, Probes::FAST).ok()?;
    let mut config = Config::new();
    config.cranelift_opt_level(level);
    // As the sandbox: calls are limited by their depth, not by what frames take.
    config.max_wasm_stack(512 << 20);
    config.async_stack_size(THREAD_STACK_BYTES);
    config.wasm_exceptions(true).wasm_multi_memory(true);
    config.wasm_memory64(true).wasm_function_references(true);
    let engine = Engine::new(&config).expect("the options agree");
    let module = Module::new(&engine, &made.wasm).expect("it is valid");
    let mut linker = Linker::new(&engine);
    let ended = || Err(wasmtime::Error::msg("ended"));
    let stop = move |_: i32| -> wasmtime::Result<()> { ended() };
    linker.func_wrap(HOST_MODULE, "unreachable", stop).ok()?;
    let stop = move || -> wasmtime::Result<()> { ended() };
    linker.func_wrap(HOST_MODULE, "overflow", stop).ok()?;
    let stop = move |_: i64| -> wasmtime::Result<i64> { ended().map(|()| 0) };
    linker.func_wrap(HOST_MODULE, "floor", stop).ok()?;
    let pre = linker.instantiate_pre(&module).ok()?;
    let run = |input: &Vec<u8>| {
        let bytes = usize::try_from(LIMITS.memory_bytes).expect("we have 64 bits");
        let limits = StoreLimitsBuilder::new().memory_size(bytes).build();
        let mut store = Store::new(&engine, limits);
        store.limiter(|limits| limits);
        let instance = pre.instantiate(&mut store).expect("it was before");
        for name in ["__sandglass_init", "_initialize", "sandglass_setup"] {
            if let Ok(func) = instance.get_typed_func::<(), ()>(&mut store, name) {
                func.call(&mut store, ()).ok()?;
            }
        }
        let memory = instance.get_memory(&mut store, "__sandglass_memory_0")?;
        let malloc = instance.get_typed_func::<u32, u32>(&mut store, "malloc");
        let at = match malloc {
            Ok(malloc) => malloc
                .call(&mut store, LIMITS.input_bytes)
                .expect("it returns"),
            Err(_) => (memory.grow(&mut store, layout::INPUT_PAGES).ok()? << 16) as u32,
        };
        let save = instance.get_typed_func::<(), ()>(&mut store, "__sandglass_save");
        save.expect("it is ours")
            .call(&mut store, ())
            .expect("it returns");
        memory
            .write(&mut store, at as usize, input)
            .expect("there is room");

        let side = instance.get_memory(&mut store, "__sandglass_side")?;
        let counters = made.probe_map.layout.counters as usize;
        side.data_mut(&mut store)[counters..][..4 * made.probe_map.probes.len()].fill(0);
        let mut put = |at: u32, value: &[u8]| side.write(&mut store, at as usize, value).unwrap();
        put(layout::BUDGET, &LIMITS.fuel.to_le_bytes());
        put(layout::DEPTH_LIMIT, &LIMITS.call_depth.to_le_bytes());
        let run = instance.get_typed_func::<(u32, u32), i32>(&mut store, "__sandglass_run");
        // How it ends does not matter here.
        let _ = run.ok()?.call(&mut store, (at, input.len() as u32));

        let bytes = side.data(&store);
        let word = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
        let weights = made.probe_map.probes.iter().enumerate();
        let counted = weights.map(|(n, probe)| u64::from(probe.weight) * word(counters + 4 * n));
        let extra = layout::EXTRA_FUEL as usize;
        Some(counted.sum::<u64>() + (word(extra + 4) << 32 | word(extra)))
    };
    guest.inputs.iter().map(run).collect()
}

#[test]
fn every_level_of_optimisation_counts_the_same() {
    let mut compared = 0;
    for guest in guests() {
        let levels = [OptLevel::None, OptLevel::Speed, OptLevel::SpeedAndSize];
        let [none, speed, size] = levels.map(|level| on_guest_thread(|| fuel_at(&guest, level)));
        assert_eq!(none, speed, "{}", guest.name);
        assert_eq!(none, size, "{}", guest.name);
        let expected = on_guest_thread(|| fuel(&guest, CostModel::Plain));
        let (Some(found), Some(expected)) = (none, expected) else {
            continue;
        };
        let [found, expected] = [found, expected].map(|all| all.into_iter().map(cost));
        assert!(found.clone().eq(expected), "{}: as the sandbox", guest.name);
        compared += found.len();
    }
    assert!(compared > 60, "{compared}");
}
