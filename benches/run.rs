//! One run: what it costs to enter, leave and warm up a sandbox.
//!
//! - *empty*: 64 bytes of input, reset and feedback included, against an empty wasmtime call;
//! - *exit*: a run that ends in `unreachable`, against a trap by signal as wasmtime comes (a call
//!   that traps, with the stack that it captures), and against our own run that ends in a signal
//!   (no stack is captured there: the operator is told from the native instruction);
//! - *warm start*: SQLite from the cache to the first run (when it is built).
//!
//! Limit: the call itself (16 ns), the copy of the input and one hot page (25 ns).

use std::sync::Arc;
use std::time::Instant;

use sandglass_benches::{Size, heading, in_turns, println, quantile};
use sandglass_engine::Interest;
use sandglass_guests::subject;
use sandglass_sandbox::{Build, Cache, Limits, Options, Program, Sandbox, on_guest_thread};
use wasmtime::{Engine, Instance, Module, Store};

const EMPTY: &str = r#"(module (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) i32.const 0))"#;
/// Reads the input, so that the run is not wholly empty, and writes one page.
const WRITER: &str = r#"(module (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
    (i32.store (i32.const 64) (i32.load (local.get 0))) i32.const 0))"#;
const UNREACHABLE: &str = r#"(module (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) unreachable))"#;
const SIGNAL: &str = r#"(module (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (i32.load (i32.const -8))))"#;

fn main() {
    let size = Size::from_args();
    heading("run", size);
    on_guest_thread(|| {
        rates(size);
        warm_start();
    });
}

fn rates(size: Size) {
    let engine = Engine::default();
    let plain =
        wat::parse_str(r#"(module (func (export "f")) (func (export "trap") unreachable))"#);
    let module = Module::new(&engine, plain.expect("assembles")).expect("compiles");
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[]).expect("starts");
    let mut function = |name| {
        instance
            .get_typed_func::<(), ()>(&mut store, name)
            .expect("is there")
    };
    let (call, trap) = (function("f"), function("trap"));

    let mut sandboxes = [EMPTY, WRITER, UNREACHABLE, SIGNAL].map(sandbox);
    let interest = Interest::new(64, 0);
    let input = [7; 64];
    let mut executions = 0u64;
    let mut seen = interest.clone();
    for sandbox in &mut sandboxes {
        let outcome = sandbox.run(&input, &interest, true);
        let counts = outcome.detail.expect("asked for").counts;
        seen.all.absorb(&counts);
        seen.valid.absorb(&counts);
        seen.findings.absorb(outcome.exit, outcome.site, &counts);
    }
    let [empty, writer, exit, signal] = &mut sandboxes;
    let mut run_empty = || executions += u64::from(empty.run(&input, &seen, false).input_bytes);
    let mut run_writer = || drop(writer.run(&input, &seen, false));
    let mut run_exit = || drop(exit.run(&input, &seen, false));
    let mut run_signal = || drop(signal.run(&input, &seen, false));
    let calls = size.pick(100, 100_000);
    let mut control = || call.call(&mut store, ()).expect("runs");
    let fast = in_turns(
        size.pick(2, 21),
        calls,
        &mut [&mut control, &mut run_empty, &mut run_writer],
    );
    let mut stock = || drop(trap.call(&mut store, ()).expect_err("traps"));
    let ends = in_turns(
        size.pick(2, 11),
        calls / 50 + 1,
        &mut [&mut run_exit, &mut stock, &mut run_signal],
    );
    println!("empty wasmtime call {:.1} ns", fast[0]);
    println!(
        "empty run, 64 bytes {:.1} ns: {:.2} x the call (at most 4)",
        fast[1],
        fast[1] / fast[0]
    );
    println!(
        "run that writes     {:.1} ns: {:.2} x the call",
        fast[2],
        fast[2] / fast[0]
    );
    println!(
        "exit by unreachable {:.0} ns, a signal trap as it comes {:.0} ns: 1/{:.1} (at most 1/20)",
        ends[0],
        ends[1],
        ends[1] / ends[0]
    );
    println!(
        "a run of ours that ends in a signal {:.0} ns: the exit is 1/{:.1} of it",
        ends[2],
        ends[2] / ends[0]
    );
    println!("checksum {executions}");
}

fn sandbox(text: &str) -> Sandbox {
    let wasm = wat::parse_str(text).expect("assembles");
    let program = Program::build(&wasm, Build::Fast, &Options::default(), None).expect("builds");
    Sandbox::new(
        &Arc::new(program),
        &Limits {
            input_bytes: 4096,
            ..Limits::STANDARD
        },
    )
    .expect("starts")
}

fn warm_start() {
    let Ok(wasm) = subject("sqlite") else {
        println!("warm start: sqlite is not built: guests/build-subjects.sh sqlite");
        return;
    };
    let folder = std::env::temp_dir().join(format!("sandglass-bench-{}", std::process::id()));
    let cache = Cache::open(&folder).expect("a private folder");
    let mut times = Vec::new();
    for round in 0..12 {
        let start = Instant::now();
        let program =
            Program::build(&wasm, Build::Fast, &Options::default(), Some(&cache)).expect("builds");
        let built = start.elapsed();
        let sandbox = Sandbox::new(&Arc::new(program), &Limits::STANDARD).expect("starts");
        if round > 0 {
            times.push(start.elapsed().as_secs_f64() * 1e3);
        } else {
            println!(
                "cold start of SQLite {:.0} ms, set-up {:.1} ms",
                built.as_secs_f64() * 1e3,
                (start.elapsed() - built).as_secs_f64() * 1e3
            );
        }
        drop(sandbox);
    }
    println!(
        "warm start of SQLite {:.1} ms (at most 10)",
        quantile(&mut times, 0.5)
    );
    std::fs::remove_dir_all(&folder).expect("our own folder");
}
