//! The stacks of traps: what a replay shows of an instrumented guest is what the original shows.
//!
//! Function and offset of every frame are held against the backtrace of the same module as it is, in
//! plain wasmtime. For the demo guests functions and lines are held against their source, too,
//! callers and inlined calls included, at `-O0` and `-O2`, in C and in Rust.

use std::sync::Arc;

use sandglass_guests::{C_DEMO, DEMOS, Demo, RUST_DEMO};
use sandglass_instrument::symbols::{Frame, Symbols};
use sandglass_sandbox::{Build, Limits, Options, Program, RawFrame, Sandbox, on_guest_thread};
use sandglass_tests::trapping::trapping;
use wasmtime::{Config, Engine, Linker, Module, Store, WasmBacktrace};

#[test]
fn stacks_are_those_of_the_original() {
    // Commands want a system, uncaught exceptions have no stack.
    let mut guests = trapping(|guest| {
        guest.text.contains("LLVMFuzzerTestOneInput") && !guest.expect().ends_with("exception")
    });
    for demo in DEMOS {
        for bug in demo
            .bugs
            .iter()
            .filter(|bug| bug.expect.starts_with("trap"))
        {
            for (level, wasm) in [("-O0", demo.wasm_o0), ("-O2", demo.wasm)] {
                let name = format!("{} {level}, {}", demo.name, bug.what);
                guests.push((name, wasm.to_vec(), bug.witness));
            }
        }
    }
    let engine = plain_engine();
    let mut wrong = Vec::new();
    for (name, wasm, input) in &guests {
        let found = replay(wasm, input);
        let wanted = original(&engine, wasm, input);
        assert!(!wanted.is_empty(), "{name} does not trap as it is");
        if found != wanted {
            wrong.push(format!("{name}: {found:x?}, expected {wanted:x?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        guests.len(),
        wrong.join("\n")
    );
    assert!(guests.len() > 40, "only {} guests trap", guests.len());
}

/// A function of a demo, and text of the line that it is at.
type At = (&'static str, &'static str);

/// What the stack of each bug is, innermost first, in the demo's own source.
const STACKS: [(Demo, &str, &[At]); 5] = [
    (
        RUST_DEMO,
        "self.palette[index]",
        &[
            ("colour", "self.palette[index]"),
            ("pixels", "self.colour(index)"),
            ("record", "self.pixels(body)?"),
            ("decode", "message.record(&mut reader)?"),
            ("LLVMFuzzerTestOneInput", "match Message::decode("),
        ],
    ),
    (
        RUST_DEMO,
        "sum / points",
        &[
            ("centre", "sum / points"),
            ("path", "centre(sum, points)"),
            ("record", "self.path(Reader { rest: body })?"),
            ("decode", "message.record(&mut reader)?"),
            ("LLVMFuzzerTestOneInput", "match Message::decode("),
        ],
    ),
    (
        C_DEMO,
        "1000000 / rate",
        &[
            ("interval", "1000000 / rate"),
            ("assign", "s->interval = interval(s->rate)"),
            ("parse", "if (assign(current, key, t)) return -1"),
            ("LLVMFuzzerTestOneInput", "return parse(&t)"),
        ],
    ),
    (
        C_DEMO,
        "device.filters[choice](x)",
        &[
            ("filtered", "device.filters[choice](x)"),
            ("set_filter", "filtered(choice, device.gain)"),
            ("assign", "return set_filter(value)"),
            ("parse", "if (assign(current, key, t)) return -1"),
            ("LLVMFuzzerTestOneInput", "return parse(&t)"),
        ],
    ),
    (
        C_DEMO,
        "device.buffer[size - 1] = 0",
        &[
            ("clear_last", "device.buffer[size - 1] = 0"),
            ("set_size", "clear_last(size)"),
            ("assign", "return set_size(value)"),
            ("parse", "if (assign(current, key, t)) return -1"),
            ("LLVMFuzzerTestOneInput", "return parse(&t)"),
        ],
    ),
];

#[test]
fn functions_and_lines_are_those_of_the_source() {
    let mut wrong = Vec::new();
    for (demo, line, wanted) in &STACKS {
        let bug = demo.bugs.iter().find(|bug| bug.line == *line);
        let witness = bug.expect("the demo has this bug").witness;
        for (level, wasm) in [("-O0", demo.wasm_o0), ("-O2", demo.wasm)] {
            let symbols = Symbols::new(wasm);
            let frames = replay(wasm, witness)
                .iter()
                .flat_map(|raw| symbols.frames(raw.offset.expect("every frame has an operator")))
                .filter(|frame| {
                    frame
                        .file
                        .as_ref()
                        .is_some_and(|file| file.ends_with(demo.name))
                })
                // The panic handler is in this file, too.
                .filter(|frame| !frame.function.ends_with("rust_begin_unwind"))
                .collect::<Vec<_>>();
            let found = frames
                .iter()
                .map(|frame| at(demo, frame))
                .collect::<Vec<_>>();
            let fits = found.len() == wanted.len()
                && found
                    .iter()
                    .zip(*wanted)
                    .all(|((function, line), (wanted, text))| {
                        function == wanted && line.contains(text)
                    });
            if !fits {
                wrong.push(format!(
                    "{} {level}: {found:#?}, expected {wanted:#?}",
                    demo.name
                ));
            }
            // What the bug is in was inlined, at least where the compiler optimises.
            if level == "-O2" && !frames.first().is_some_and(|frame| frame.inlined) {
                wrong.push(format!(
                    "{} {level}: {line} is in no inlined function",
                    demo.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A frame's function, without its path, and the text of its line.
fn at<'a>(demo: &Demo, frame: &'a Frame) -> (&'a str, &'static str) {
    let function = frame.function.split(['(', '<']).next().unwrap_or_default();
    let function = function.rsplit("::").next().unwrap_or_default();
    let line = frame.line.expect("frames with a file have a line") as usize;
    (
        function,
        demo.source.lines().nth(line - 1).unwrap_or_default(),
    )
}

/// The stack as `sandglass repro` gets it.
fn replay(wasm: &[u8], input: &[u8]) -> Vec<RawFrame> {
    on_guest_thread(|| {
        let program = Program::build(wasm, Build::Exact, &Options::default(), None);
        let program = Arc::new(program.expect("builds"));
        let mut sandbox = Sandbox::new(&program, &Limits::STANDARD).expect("starts");
        sandbox.replay(input).frames
    })
}

/// As exact builds are compiled: explicit checks, so that every trap has its operator.
fn plain_engine() -> Engine {
    let mut config = Config::new();
    config.wasm_exceptions(true).signals_based_traps(false);
    Engine::new(&config).expect("the configuration is valid")
}

/// The stack of the module as it is.
fn original(engine: &Engine, wasm: &[u8], input: &[u8]) -> Vec<RawFrame> {
    let module = Module::new(engine, wasm).expect("compiles");
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine)
        .instantiate(&mut store, &module)
        .expect("imports nothing");
    let memory = instance.get_memory(&mut store, "memory");
    let memory = memory.expect("reactors export it");
    // A memory that cannot grow belongs to a guest that does not look at its input.
    let grown = memory.grow(&mut store, 16);
    let address = grown.map_or(0, |pages| pages as u32 * 65536);
    memory
        .write(&mut store, address as usize, input)
        .expect("there is room");
    let run = instance.get_typed_func::<(u32, u32), i32>(&mut store, "LLVMFuzzerTestOneInput");
    let ended = run
        .expect("it is a reactor")
        .call(&mut store, (address, input.len() as u32));
    let Err(error) = ended else { return Vec::new() };
    let stack = error.downcast_ref::<WasmBacktrace>();
    let frames = stack.map(|stack| stack.frames()).unwrap_or_default();
    let frames = frames.iter().map(|frame| RawFrame {
        function: frame.func_index(),
        offset: frame.module_offset().map(|offset| offset as u32),
    });
    frames.collect()
}
