//! Fuel is what an independent count of the original's operators comes to: wasmtime's own fuel, with a
//! cost table of ours, over random programs whose decisions nest in every way, and real ones.

use std::fmt::Write;
use std::sync::Arc;

use sandglass_engine::{Interest, Rng};
use sandglass_guests::COSTLY;
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};
use wasmtime::{Config, Engine, Instance, Module, OperatorCost, Store, TypedFunc};

/// Where inputs of random programs lie.
const INPUT: u32 = 32;
const PROGRAMS: u64 = 300;

/// The original, which counts operators as we do.
struct Original {
    store: Store<()>,
    instance: Instance,
    run: TypedFunc<(u32, u32), i32>,
}

impl Original {
    fn new(wasm: &[u8]) -> Original {
        let mut cost = OperatorCost::new();
        // What walrus drops is free with us, and the rest of control flow is not.
        (cost.If, cost.Br, cost.BrIf, cost.BrTable, cost.Return) = (1, 1, 1, 1, 1);
        // Wasmtime takes one for every function that begins, which is what a call costs.
        (cost.Call, cost.CallIndirect) = (0, 0);
        let mut config = Config::new();
        config.consume_fuel(true).operator_cost(cost);
        let engine = Engine::new(&config).expect("the options agree");
        let module = Module::new(&engine, wasm).expect("it is valid");
        let mut store = Store::new(&engine, ());
        store.set_fuel(u64::MAX).expect("fuel is on");
        let instance = Instance::new(&mut store, &module, &[]).expect("it imports nothing");
        let run = instance
            .get_typed_func(&mut store, "LLVMFuzzerTestOneInput")
            .expect("it is a target");
        Original {
            store,
            instance,
            run,
        }
    }

    /// Operators of a run; nothing if it trapped.
    fn operators(&mut self, input: &[u8]) -> Option<u64> {
        let memory = self.instance.get_memory(&mut self.store, "memory");
        let memory = memory.expect("it exports its memory");
        let place = match self.instance.get_func(&mut self.store, "malloc") {
            Some(_) => INPUT,
            None => {
                let pages = memory.grow(&mut self.store, 1).expect("it may grow");
                (pages << 16) as u32
            }
        };
        memory
            .write(&mut self.store, place as usize, input)
            .expect("there is room");
        self.store.set_fuel(u64::MAX).expect("fuel is on");
        let ran = self.run.call(&mut self.store, (place, input.len() as u32));
        let left = self.store.get_fuel().expect("fuel is on");
        // But for the first, which nobody in the program calls.
        ran.ok().map(|_| u64::MAX - left - 1)
    }
}

/// A program of decisions within decisions.
struct Writer {
    rng: Rng,
    text: String,
    /// Loops so far: each counts down a local of its own.
    loops: u32,
    labels: u32,
}

impl Writer {
    /// A byte of the input that depends on where the program is, or a bit of it.
    fn value(&mut self) {
        let (add, bits) = (self.rng.below(16), [1, 3, 255][self.rng.index(3)]);
        let _ = write!(
            self.text,
            "(i32.and (i32.load8_u (i32.add (local.get 0) (i32.and (i32.add (local.get $x) (i32.const {add})) (i32.const 15)))) (i32.const {bits})) "
        );
    }

    fn work(&mut self) {
        self.text.push_str("(local.set $x (i32.add (local.get $x) ");
        self.value();
        self.text.push_str(")) ");
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..self.rng.below(4) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        if depth == 0 {
            return self.work();
        }
        let label = self.labels;
        self.labels += 1;
        match self.rng.below(9) {
            0 => self.work(),
            1 | 2 => {
                self.text.push_str("(if ");
                self.value();
                self.text.push_str("(then ");
                self.statements(depth - 1);
                self.text.push(')');
                if self.rng.below(2) == 0 {
                    self.text.push_str("(else ");
                    self.statements(depth - 1);
                    self.text.push(')');
                }
                self.text.push(')');
            }
            3 => {
                // A dead end that is taken for few inputs only.
                self.text.push_str("(if (i32.eq (i32.const 255) ");
                self.value();
                self.text.push_str(") (then unreachable)) ");
            }
            4 => {
                let _ = write!(self.text, "(block $b{label} ");
                self.statements(depth - 1);
                let _ = write!(self.text, "(br_if $b{label} ");
                self.value();
                self.text.push(')');
                self.statements(depth - 1);
                self.text.push(')');
            }
            5 => {
                let _ = write!(self.text, "(block $b{label} (block $c{label} ");
                self.statements(depth - 1);
                let _ = write!(
                    self.text,
                    "(br_table $b{label} $c{label} $b{label} $c{label} "
                );
                self.value();
                self.text.push_str(")) ");
                self.statements(depth - 1);
                self.text.push(')');
            }
            6 | 7 if self.loops < 6 => {
                let n = self.loops;
                self.loops += 1;
                let times = 1 + self.rng.below(4);
                let _ = write!(
                    self.text,
                    "(local.set $n{n} (i32.const {times})) (loop $l{label} "
                );
                self.statements(depth - 1);
                let count = format!("(local.tee $n{n} (i32.sub (local.get $n{n}) (i32.const 1)))");
                let back = match self.rng.below(2) {
                    0 => format!("(br_if $l{label} {count})"),
                    _ => format!("(if {count} (then (br $l{label})))"),
                };
                self.text.push_str(&back);
                self.statements(depth - 1);
                self.text.push(')');
            }
            _ => {
                self.text.push_str("(if ");
                self.value();
                self.text.push_str("(then (call $f (local.get 0)))) ");
            }
        }
    }
}

fn random(seed: u64) -> Vec<u8> {
    let mut writer = Writer {
        rng: Rng::new(seed),
        text: String::new(),
        loops: 0,
        labels: 0,
    };
    (0..4).for_each(|_| writer.statement(4));
    let locals: String = (0..writer.loops)
        .map(|n| format!("(local $n{n} i32)"))
        .collect();
    let text = format!(
        r#"(module
             (memory (export "memory") 1 1)
             (func $f (param i32) (if (i32.load8_u (local.get 0)) (then (return))) (i32.store8 (local.get 0) (i32.const 1)))
             (func (export "malloc") (param i32) (result i32) (i32.const {INPUT}))
             (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) (local $x i32) {locals}
               {}
               (i32.const 0)))"#,
        writer.text
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"))
}

/// Compares the two counts for each input; how many runs ended well.
fn check(name: &str, wasm: &[u8], inputs: &[Vec<u8>]) -> u64 {
    let program = Program::build(wasm, Build::Fast, &Options::default(), None);
    let program = Arc::new(program.unwrap_or_else(|error| panic!("{name}: {error}")));
    let limits = Limits {
        input_bytes: 64,
        ..Limits::STANDARD
    };
    let mut sandbox = Sandbox::new(&program, &limits).expect("it starts");
    let interest = Interest::new(program.probe_map().probes.len() as u32, 0);
    let mut ended = 0;
    for input in inputs {
        // A fresh one each time: it has no resets.
        let mut original = Original::new(wasm);
        let outcome = sandbox.run(input, &interest, false);
        let Some(operators) = original.operators(input) else {
            assert!(outcome.exit.is_finding(), "{name}: {input:?}");
            continue;
        };
        assert_eq!(outcome.fuel, operators, "{name}: {input:?}");
        ended += 1;
    }
    ended
}

#[test]
fn fuel_is_the_number_of_operators() {
    let mut rng = Rng::new(7);
    let mut inputs = |count: usize, len: usize| -> Vec<Vec<u8>> {
        let input = |_| (0..len).map(|_| rng.word() as u8).collect();
        (0..count).map(input).collect()
    };
    let mut ended = 0;
    on_guest_thread(|| {
        for seed in 0..PROGRAMS {
            ended += check(&format!("seed {seed}"), &random(seed), &inputs(3, 16));
        }
        for costly in COSTLY {
            check(costly.name, costly.wasm, &inputs(2, 64));
        }
    });
    // Few trap.
    assert!(ended > PROGRAMS * 2, "{ended}");
}
