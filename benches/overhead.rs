//! Overhead: the build that campaigns use against the plain module.
//!
//! Six programs (and an n-body, heavy in floats, that is not in the mean) run their fixed input
//! in the plain module under wasmtime and in [`Build::Fast`] through the sandbox, reset and
//! reading of counters included; then in [`Build::Profile`], likewise, and in [`Build::Heap`], against [`Build::Fast`]. Then the parts: counters alone, with ticks, depth alone, visible
//! NaNs alone, everything.
//!
//! `CASE=name` measures one program.
//!
//! Limit: a counter costs a read-modify-write of memory (about five cycles of latency where one
//! arm follows itself at once), so tight loops cannot come below that.

use sandglass_benches::{Size, geometric_mean, heading, in_turns, println, programs, sandbox};
use sandglass_engine::Interest;
use sandglass_instrument::{HOST_MODULE, Probes, SETUP_FUEL, instrument};
use sandglass_sandbox::{Build, on_guest_thread};
use wasmtime::{Engine, Instance, Linker, Memory, Module, Store, TypedFunc};

fn main() {
    let size = Size::from_args();
    heading("overhead", size);
    let programs = programs();
    let most = size.pick(1, 31);
    let parts = [
        ("counts", true, false, false, false),
        ("ticks", true, true, false, false),
        ("depth", false, false, true, false),
        ("nans", false, false, false, true),
        ("all", true, true, true, true),
    ];
    println!(
        "{:12} {:>10} {:>9} {:>7} {:>8} {:>9} {}",
        "program",
        "plain us",
        "fast us",
        "ratio",
        "profile",
        "heap/fast",
        parts.map(|p| format!("{:>8}", p.0)).join("")
    );
    let (mut ratios, mut profile_ratios, mut heap_ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut part_ratios = vec![Vec::new(); parts.len()];
    for (name, wasm, input) in &programs {
        let (times, checks) = on_guest_thread(|| {
            let mut plain = Plain::new(wasm, input);
            let mut fast = sandbox(wasm, Build::Fast);
            let mut profiling = sandbox(wasm, Build::Profile);
            let mut heap = sandbox(wasm, Build::Heap);
            let interest = Interest::new(fast.program().probe_map().probes.len() as u32, 0);
            let mut fuel = fast.run(input, &interest, false).fuel;
            // The runs of a part share one budget, that of its set-up, which loops that call nothing cannot ask about.
            let affordable = (SETUP_FUEL / fuel.max(1)).saturating_sub(2);
            let rounds = most.min(affordable.max(1) as usize);
            let mut run_fast = || fuel = fast.run(input, &interest, false).fuel;
            let mut profiled = 0;
            let mut run_profile = || profiled = profiling.run(input, &interest, false).fuel;
            let mut ending = None;
            let mut run_heap = || ending = Some(heap.run(input, &interest, false).exit);
            let mut partial = parts.map(|(_, counts, ticks, depth, nans)| {
                let probes = Probes {
                    counts,
                    ticks,
                    depth,
                    nans,
                    entry: false,
                    generator: false,
                    ..Probes::FAST
                };
                Plain::new(&instrument(wasm, probes).expect("instruments").wasm, input)
            });
            let mut run_plain = || plain.run();
            let mut things: Vec<&mut dyn FnMut()> = vec![
                &mut run_plain,
                &mut run_fast,
                &mut run_profile,
                &mut run_heap,
            ];
            let mut runs = partial
                .iter_mut()
                .map(|p| move || p.run())
                .collect::<Vec<_>>();
            things.extend(runs.iter_mut().map(|r| r as &mut dyn FnMut()));
            in_turns(1, 1, &mut things);
            let times = in_turns(rounds, 1, &mut things);
            assert_eq!(profiled, fuel, "{name}: both count alike");
            let ending = ending.expect("it ran");
            assert!(
                !ending.is_finding(),
                "{name}: no memory error, but {ending:?}"
            );
            let renewals = fast.renewals() as f64 / (rounds + 1) as f64;
            (
                times,
                format!(
                    "fuel {fuel}, {} hot pages, {renewals:.2} new instances a run",
                    fast.hot_pages()
                ),
            )
        });
        let (ratio, profile) = (times[1] / times[0], times[2] / times[0]);
        let heap = times[3] / times[1];
        let columns = times[4..]
            .iter()
            .map(|t| format!("{:8.3}", t / times[0]))
            .collect::<String>();
        println!(
            "{name:12} {:10.0} {:9.0} {ratio:7.3} {profile:8.3} {heap:9.3} {columns}  {checks}",
            times[0] / 1e3,
            times[1] / 1e3
        );
        if *name != "nbody" {
            ratios.push(ratio);
            profile_ratios.push(profile);
            heap_ratios.push(heap);
            part_ratios
                .iter_mut()
                .zip(&times[4..])
                .for_each(|(all, t)| all.push(t / times[0]));
        }
    }
    if ratios.is_empty() {
        return;
    }
    let columns = part_ratios
        .iter()
        .map(|all| format!("{:8.3}", geometric_mean(all)))
        .collect::<String>();
    println!(
        "{:12} {:>10} {:>9} {:7.3} {:8.3} {:9.3} {columns}",
        "geomean",
        "",
        "",
        geometric_mean(&ratios),
        geometric_mean(&profile_ratios),
        geometric_mean(&heap_ratios)
    );
}

/// A module under plain wasmtime.
struct Plain {
    store: Store<()>,
    run: TypedFunc<(u32, u32), i32>,
    at: (u32, u32),
}

impl Plain {
    fn new(wasm: &[u8], input: &[u8]) -> Plain {
        let mut config = wasmtime::Config::new();
        config.memory_may_move(false);
        let engine = Engine::new(&config).expect("a plain engine");
        let module = Module::new(&engine, wasm).expect("compiles");
        let mut linker: Linker<()> = Linker::new(&engine);
        let mut store = Store::new(&engine, ());
        linker
            .func_wrap(HOST_MODULE, "floor", |_: i64| i64::MIN)
            .expect("the first of that name");
        linker
            .define_unknown_imports_as_default_values(&mut store, &module)
            .expect("stubs");
        let instance: Instance = linker.instantiate(&mut store, &module).expect("starts");
        for name in ["_initialize"] {
            if let Ok(start) = instance.get_typed_func::<(), ()>(&mut store, name) {
                start.call(&mut store, ()).expect("initialises");
            }
        }
        if let Ok(start) =
            instance.get_typed_func::<(u32, u32), i32>(&mut store, "LLVMFuzzerInitialize")
        {
            start.call(&mut store, (0, 0)).expect("initialises");
        }
        let memory: Memory = instance
            .get_memory(&mut store, "memory")
            .expect("has a memory");
        let address = match instance.get_typed_func::<u32, u32>(&mut store, "malloc") {
            Ok(malloc) => malloc
                .call(&mut store, input.len() as u32)
                .expect("allocates"),
            Err(_) => (memory.grow(&mut store, 16).expect("grows") * 65536) as u32,
        };
        memory
            .write(&mut store, address as usize, input)
            .expect("fits");
        let run = instance
            .get_typed_func(&mut store, "LLVMFuzzerTestOneInput")
            .expect("has the entry");
        Plain {
            store,
            run,
            at: (address, input.len() as u32),
        }
    }

    fn run(&mut self) {
        self.run.call(&mut self.store, self.at).expect("runs");
    }
}
