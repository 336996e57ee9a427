//! NaN bits do not depend on the machine: random programs full of floats, instrumented, against the
//! same programs as they are under Cranelift's own switch, which makes every result canonical.
//!
//! Programs move floats through everything that hands them on: locals, globals, blocks, branches,
//! loops, calls, tables, exceptions, memory, lanes. NaNs with payloads come from constants and from
//! integers and must arrive as they are.
//!
//! `SANDGLASS_EXECS` is how many programs there are, `SANDGLASS_SEED` where the numbers start.
#![expect(clippy::print_stdout, reason = "prints its seed and what was compared")]

#[path = "nans/program.rs"]
mod program;

use sandglass_engine::rng::{Rng, derive};
use sandglass_instrument::{Probes, instrument};
use wasmtime::{Config, Engine, Linker, Module, Store};

/// Programs, unless asked otherwise: some seconds, most of it for compiling.
const PROGRAMS: u64 = 150;

#[test]
fn nan_bits_are_those_of_canonical_arithmetic() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().expect("a number"))
    };
    let programs = number("SANDGLASS_EXECS").unwrap_or(PROGRAMS);
    let seed = number("SANDGLASS_SEED").unwrap_or(1);
    let (plain, canonical) = (engine(false), engine(true));
    let mut matter = 0;
    for n in 0..programs {
        let wasm = program::random(&mut Rng::new(derive(seed, n)));
        let wanted = memory(&canonical, &wasm);
        for compares in [false, true] {
            let probes = Probes {
                compares,
                entry: false,
                ..Probes::FAST
            };
            let made = instrument(&wasm, probes).expect("instruments").wasm;
            let found = memory(&plain, &made);
            if let Some(at) = (0..wanted.len()).find(|&at| wanted[at] != found[at]) {
                let range = at & !15..(at & !15) + 16;
                panic!(
                    "SANDGLASS_SEED={seed}, program {n}, compares {compares}: {:02x?} at {:#x}, expected {:02x?}\n{}",
                    &found[range.clone()],
                    range.start,
                    &wanted[range.clone()],
                    wasmprinter::print_bytes(&wasm).expect("it is valid")
                );
            }
        }
        let probes = Probes {
            nans: false,
            entry: false,
            ..Probes::FAST
        };
        let without = instrument(&wasm, probes).expect("instruments").wasm;
        matter += u64::from(memory(&plain, &without) != wanted);
    }
    println!("SANDGLASS_SEED={seed}: {programs} programs, the pass matters in {matter}");
    // On a machine whose own NaNs are positive, too, payloads still differ.
    assert!(
        matter * 4 > programs,
        "it matters in {matter} of {programs}"
    );
}

fn engine(canonical: bool) -> Engine {
    let mut config = Config::new();
    config
        .wasm_exceptions(true)
        .cranelift_nan_canonicalization(canonical);
    Engine::new(&config).expect("the configuration is valid")
}

/// The memory as a run leaves it.
fn memory(engine: &Engine, wasm: &[u8]) -> Vec<u8> {
    let module = Module::new(engine, wasm).expect("it is valid");
    let mut store = Store::new(engine, ());
    let mut linker = Linker::new(engine);
    linker
        .define_unknown_imports_as_default_values(&mut store, &module)
        .expect("stubs");
    let instance = linker.instantiate(&mut store, &module).expect("starts");
    let run = instance.get_typed_func::<(), ()>(&mut store, "run");
    run.expect("programs export it")
        .call(&mut store, ())
        .expect("programs end");
    let memory = instance.get_memory(&mut store, "memory");
    memory.expect("programs export it").data(&store).to_vec()
}
