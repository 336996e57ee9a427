//! Every run ends, and soon after its limit: endless programs of every kind that the passes treat
//! apart, in every build. And runs that trap pay for what ran.

use std::sync::Arc;

use sandglass_engine::{Exit, Interest};
use sandglass_instrument::CostModel;
use sandglass_sandbox::{Build, Limits, Options, Program, Sandbox, on_guest_thread};

const BUILDS: [Build; 4] = [Build::Fast, Build::Marks, Build::Compares, Build::Exact];

/// A name, what is declared beside the entry, and the entry's body.
const ENDLESS: &[(&str, &str, &str)] = &[
    ("a loop", "", "(loop $l (br $l))"),
    (
        "a conditional branch",
        "",
        "(loop $l (br_if $l (i32.const 1)))",
    ),
    ("a switch", "", "(loop $l (br_table $l $l (local.get 1)))"),
    (
        "a switch whose other way out is free",
        "",
        "(block $out (loop $l (br_table $l $out (i32.const 0))))",
    ),
    (
        "a call in a loop",
        "(func $f)",
        "(loop $l (call $f) (br $l))",
    ),
    (
        "a loop in a call in a loop",
        "(func $f (param i32) (loop $l (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))",
        "(loop $l (call $f (i32.const 3)) (br $l))",
    ),
    ("a tail call", "(func $f (return_call $f))", "(call $f)"),
    (
        "two tail calls, one indirect",
        "(type $t (func)) (table funcref (elem $g)) (func $f (return_call $g)) (func $g (return_call_indirect (type $t) (i32.const 0)))",
        "(call $f)",
    ),
    (
        "work in bulk",
        "",
        "(loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br $l))",
    ),
    (
        "work in bulk in a call",
        "(func $f (param i32)
           (loop $l
             (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536))
             (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))",
        "(loop $l (call $f (i32.const 2)) (br $l))",
    ),
    (
        "work in bulk in a wide memory",
        "(memory $wide i64 1)",
        "(loop $l (memory.fill $wide (i64.const 0) (i32.const 1) (i64.const 65536)) (br $l))",
    ),
    (
        "exceptions",
        "(tag $e)",
        "(loop $l (block $h (try_table (catch $e $h) (throw $e))) (br $l))",
    ),
];

/// Programs that are endless enough: 60 functions, each of which calls the next one twice by `call`, and a loop whose turn is long
/// before it branches.
fn long() -> Vec<(&'static str, String, String)> {
    let chain = |beside: &str, call: &dyn Fn(u32) -> String| {
        let functions = (0..60).map(|n| {
            let next = call(n + 1);
            format!("(func $f{n} {next} {next})")
        });
        format!("{beside} {} (func $f60)", functions.collect::<String>())
    };
    let direct = chain("", &|n| format!("(call $f{n})"));
    let names = (0..61).map(|n| format!("$f{n} ")).collect::<String>();
    let table = format!("(type $t (func)) (table funcref (elem {names}))");
    let indirect = chain(&table, &|n| {
        format!("(call_indirect (type $t) (i32.const {n}))")
    });
    let work = "(drop (i32.const 1))".repeat(2_000);
    let part = "(if (local.get 0) (then nop) (else nop))".repeat(20);
    let call = |body: &str| body.to_owned();
    vec![
        ("calls without a cycle", direct, call("(call $f0)")),
        (
            "indirect calls without a cycle",
            indirect,
            call("(call $f0)"),
        ),
        (
            "a switch at the end of a long turn",
            String::new(),
            format!("(block $out (loop $l {work} (br_table $l $out (i32.const 0))))"),
        ),
        (
            "many decisions in a turn",
            String::new(),
            format!("(loop $l {part} (br $l))"),
        ),
        (
            "much work in a call in a loop",
            format!("(func $f {work})"),
            call("(loop $l (call $f) (br $l))"),
        ),
    ]
}

#[test]
fn endless_runs_are_stopped_near_their_limit() {
    let limits = Limits {
        fuel: 1_000_000,
        input_bytes: 16,
        ..Limits::STANDARD
    };
    on_guest_thread(|| {
        let endless = ENDLESS
            .iter()
            .map(|&(name, beside, body)| (name, beside.to_owned(), body.to_owned()));
        for (name, beside, body) in endless.chain(long()) {
            let text = format!(
                r#"(module
                     (memory (export "memory") 1)
                     {beside}
                     (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                       {body}
                       (i32.const 0)))"#
            );
            let wasm = wat::parse_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let models = CostModel::ALL.into_iter();
            let mut spent: Vec<(CostModel, u64)> = Vec::new();
            for (cost, build) in models.flat_map(|cost| BUILDS.map(|build| (cost, build))) {
                let options = Options {
                    cost,
                    ..Options::default()
                };
                let program = Program::build(&wasm, build, &options, None);
                let program = Arc::new(program.unwrap_or_else(|error| panic!("{name}: {error}")));
                let mut sandbox = Sandbox::new(&program, &limits).expect("it does nothing yet");
                let outcome = sandbox.replay(b"input").outcome;
                assert_eq!(outcome.exit, Exit::Hang, "{name} ({build:?})");
                // A run stops at the first point where it spends after the limit; what is known
                // only afterwards, or spent at its least, may double it.
                assert!(
                    outcome.fuel > limits.fuel,
                    "{name} ({build:?}): {} spent",
                    outcome.fuel
                );
                // A switch spends the least that may follow it, and costs five instructions.
                let factor = match cost {
                    CostModel::Plain => 3,
                    CostModel::Native => 6,
                };
                assert!(
                    outcome.fuel < factor * limits.fuel,
                    "{name} ({build:?}): {} spent",
                    outcome.fuel
                );
                spent.push((cost, outcome.fuel));
            }
            for of_model in spent.chunk_by(|a, b| a.0 == b.0) {
                let is_first = |of: &(CostModel, u64)| *of == of_model[0];
                assert!(of_model.iter().all(is_first), "{name}: {spent:?}");
            }
        }
    });
}

/// An interpreter whose operator 1 costs a thousand times what operator 0 does: all that can be spent at its loop is what 0 costs. Operator 2 calls, and with
/// operator 3 it ends.
fn interpreter() -> Vec<u8> {
    let work = "(drop (i32.const 1))".repeat(1_000);
    let text = format!(
        r#"(module
             (memory (export "memory") 1)
             (func $f)
             (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
               (block $end
                 (loop $next
                   (block $call
                     (block $dear
                       (br_table $next $dear $call $end (i32.load8_u (local.get 0))))
                     {work}
                     (br $next))
                   (call $f)
                   (br $next)))
               (i32.const 0)))"#
    );
    wat::parse_str(text).expect("it is well-formed")
}

#[test]
fn an_interpreters_endless_loop_is_stopped_near_its_limit() {
    let limits = Limits {
        fuel: 10_000_000,
        ..Limits::STANDARD
    };
    let wasm = interpreter();
    on_guest_thread(|| {
        let mut stopped = Vec::new();
        for build in [Build::Profile, Build::Heap].into_iter().chain(BUILDS) {
            let program = Program::build(&wasm, build, &Options::default(), None).unwrap();
            let mut sandbox = Sandbox::new(&Arc::new(program), &limits).expect("no set-up");
            // A run begins with the whole of its budget, whatever the one before has asked for.
            for input in [[1], [0], [2], [1]] {
                let outcome = sandbox.replay(&input).outcome;
                assert_eq!(outcome.exit, Exit::Hang, "{build:?}");
                assert!(outcome.fuel > limits.fuel, "{build:?}: {}", outcome.fuel);
                stopped.push((input[0], outcome.fuel));
            }
            let outcome = sandbox.replay(&[3]).outcome;
            assert_eq!(outcome.exit, Exit::Valid, "{build:?}");
        }
        stopped.sort_unstable();
        stopped.dedup();
        let [cheap, dear, calling] = stopped[..] else {
            panic!("not the same in every build: {stopped:?}");
        };
        assert!(cheap.1 < limits.fuel + limits.fuel / 20, "{cheap:?}");
        assert!(calling.1 < limits.fuel + limits.fuel / 20, "{calling:?}");
        // The first part alone is a 64th of the limit, and a unit of it costs up to a thousand.
        assert!(dear.1 < 8 * limits.fuel, "{dear:?}");
    });
}

/// A recursion whose frames have each used much that they have not spent when its deepest one asks, in functions that
/// have a loop that calls nothing; and one such loop in which bulk work asks.
#[test]
fn no_run_below_its_limit_is_a_hang() {
    let either = |turns: usize| {
        let work = "(drop (i32.const 1))".repeat(turns);
        format!("(if (local.get $n) (then {work}) (else {work}))")
    };
    let fill =
        |bytes: u32| format!("(memory.fill (i32.const 70000) (i32.const 0) (i32.const {bytes}))");
    let less = "(i32.sub (local.get $n) (i32.const 1))";
    let recursion = format!(
        "(func $r (param $n i32) (local $i i32)
           (loop $l
             (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 3))))
           {}
           (if (local.get $n) (then (call $r {less})) (else {})))
         (func $f (param $n i32) (call $r (i32.mul (local.get $n) (i32.const 10))))",
        either(5_000),
        fill(1_600_000)
    );
    let turns = format!(
        "(func $f (param $n i32) (loop $l {} {} (br_if $l (local.tee $n {less}))))",
        either(100_000),
        fill(64)
    );
    let limits = Limits {
        fuel: 10_000_000,
        ..Limits::STANDARD
    };
    on_guest_thread(|| {
        for (functions, inputs) in [
            (recursion, (60..240).step_by(10)),
            (turns, (94..112).step_by(1)),
        ] {
            let text = format!(
                r#"(module
                     (memory (export "memory") 60)
                     {functions}
                     (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                       (call $f (i32.load8_u (local.get 0)))
                       (i32.const 0)))"#
            );
            let wasm = wat::parse_str(&text).expect("it is well-formed");
            for build in BUILDS {
                let program = Program::build(&wasm, build, &Options::default(), None).unwrap();
                let mut sandbox = Sandbox::new(&Arc::new(program), &limits).expect("no set-up");
                let mut over = 0;
                for input in inputs.clone() {
                    let outcome = sandbox.replay(&[input]).outcome;
                    let is_over = outcome.fuel > limits.fuel;
                    let is_hang = outcome.exit == Exit::Hang;
                    assert_eq!(is_hang, is_over, "{build:?} {input}: {}", outcome.fuel);
                    over += u32::from(is_over);
                }
                assert!((2..=16).contains(&over), "{build:?}: {over} of 18");
            }
        }
    });
}

/// Branches that look at a reference have no arms, so nothing would end a loop of them.
#[test]
fn loops_by_reference_are_refused() {
    for body in [
        "(loop $l (drop (br_on_null $l (ref.null extern))))",
        "(ref.func $f) (loop $l (param (ref func)) (br_on_non_null $l))",
    ] {
        let text = format!(
            r#"(module
                 (memory (export "memory") 1)
                 (func $f) (elem declare func $f)
                 (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) {body} (i32.const 0)))"#
        );
        let wasm = wat::parse_str(&text).expect("it assembles");
        let refused = Program::build(&wasm, Build::Fast, &Options::default(), None);
        let message = refused.expect_err("it is refused").to_string();
        assert!(message.contains("typed function references"), "{message}");
    }
}

/// A name, what is declared beside the entry, the entry's body, and the operators that run before the
/// trap, that one included, counted by hand.
const CUT_SHORT: &[(&str, &str, &str, u64)] = &[
    // Nothing is behind the operator.
    ("the last operator", "", "(drop (i32.div_u (i32.const 1) (i32.const 0))) unreachable", 3),
    // Behind it are a load, an addition, the result.
    (
        "in the middle",
        "",
        "(i32.store (i32.const -4) (i32.const 7)) (local.set 0 (i32.add (i32.load (i32.const 0)) (i32.const 1)))",
        3,
    ),
    (
        "unreachable in an arm",
        "",
        "(if (i32.eqz (i32.const 0)) (then (local.set 0 (i32.const 1)) unreachable) (else nop))",
        5,
    ),
    // The entry: two and the call. `$f`: two and the call. `$g`: three.
    (
        "in a call in a call",
        "(func $f (local i32) (local.set 0 (i32.const 1)) (call $g) (local.set 0 (i32.const 2)))
         (func $g (drop (i32.load8_u (i32.const -1))) (drop (i32.const 3)))",
        "(local.set 0 (i32.const 1)) (call $f) (local.set 0 (i32.const 2))",
        8,
    ),
    // Two rounds of eleven operators (the load fits at 65528 and at 65532), then four of the third.
    (
        "in the third round of a loop",
        "",
        "(local.set 0 (i32.const 65524))
         (loop $l
           (local.set 0 (i32.add (i32.load (i32.add (local.get 0) (i32.const 4))) (i32.add (local.get 0) (i32.const 4))))
           (br_if $l (i32.const 1)))",
        2 + 11 + 11 + 4,
    ),
    (
        "a null function",
        "(table 1 funcref) (type $t (func))",
        "(call_indirect (type $t) (i32.const 0)) (local.set 0 (i32.const 1))",
        2,
    ),
    // The tail call has left its caller: one for each call, three in `$h`.
    (
        "behind a tail call",
        "(func $t (return_call $h)) (func $h (drop (i32.rem_u (i32.const 1) (i32.const 0))))",
        "(call $t) (local.set 0 (i32.const 1))",
        5,
    ),
    // Four operators, and nothing for the bytes, which were not filled; the call that may throw ends a
    // segment.
    (
        "in bulk, below a call that may throw",
        "(tag $e) (func $f (param i32) (if (local.get 0) (then (throw $e)))
           (memory.fill (i32.const 0) (i32.const 0) (i32.const 65537)) (local.set 0 (i32.const 2)))",
        "(call $f (i32.const 0)) (local.set 0 (i32.const 1))",
        2 + 2 + 4,
    ),
];

#[test]
fn runs_that_are_cut_short_pay_for_what_ran() {
    on_guest_thread(|| {
        for (name, beside, body, wanted) in CUT_SHORT {
            let text = format!(
                r#"(module
                     (memory (export "memory") 1 1)
                     {beside}
                     (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
                       {body}
                       (i32.const 0))
                     (func (export "malloc") (param i32) (result i32) (i32.const 8)))"#
            );
            let wasm = wat::parse_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let program = Program::build(&wasm, Build::Exact, &Options::default(), None);
            let program = Arc::new(program.unwrap_or_else(|error| panic!("{name}: {error}")));
            let limits = Limits {
                input_bytes: 16,
                ..Limits::STANDARD
            };
            let mut sandbox = Sandbox::new(&program, &limits).expect("it does nothing yet");
            let replay = sandbox.replay(b"input");
            assert!(
                matches!(replay.outcome.exit, Exit::Trap(_)),
                "{name}: {:?}",
                replay.outcome
            );
            let stack = replay.frames.iter().filter_map(|frame| frame.offset);
            let exact = replay.outcome.fuel - program.probe_map().cut_short(stack);
            assert_eq!(exact, *wanted, "{name}: {replay:?}");
        }
    });
}

/// What runs may take is not what set-up may, which is done again where an instance cannot be brought back.
#[test]
fn runs_may_be_given_less_than_set_up() {
    let spoils = [
        ("", "(drop (memory.grow (i32.const 1)))"),
        (
            "(data $d \"x\")",
            "(data.drop $d) (drop (memory.grow (i32.const 1)))",
        ),
    ];
    on_guest_thread(|| {
        for (declared, spoil) in spoils {
            let wasm = wat::parse_str(format!(
                r#"(module {declared} (memory (export "memory") 1 9)
                  (func (export "_initialize") (local $n i32)
                    (loop $l
                      (local.set $n (i32.add (local.get $n) (i32.const 1)))
                      (br_if $l (i32.lt_u (local.get $n) (i32.const 100000)))))
                  (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $length i32) (result i32)
                    {spoil}
                    (if (i32.eqz (local.get $length)) (then (return (i32.const 0))))
                    (loop $l (br $l))
                    unreachable))"#
            ))
            .unwrap();
            for build in BUILDS {
                let program = Program::build(&wasm, build, &Options::default(), None).unwrap();
                let limits = Limits {
                    fuel: 1_000_000,
                    ..Limits::STANDARD
                };
                let mut sandbox = Sandbox::new(&Arc::new(program), &limits).unwrap();
                let interest = Interest::new(sandbox.program().probe_map().probes.len() as u32, 0);
                sandbox.set_fuel_max(Some(5_000));
                for _ in 0..3 {
                    let outcome = sandbox.run(b"", &interest, false);
                    assert_eq!(outcome.exit, Exit::Valid, "{build:?}, {spoil}");
                    let outcome = sandbox.run(b"x", &interest, false);
                    assert_eq!(outcome.exit, Exit::Hang, "{build:?}, {spoil}");
                    assert!((5_001..10_000).contains(&outcome.fuel), "{}", outcome.fuel);
                }
                assert!(sandbox.renewals() > 3, "{build:?}, {spoil}");
                sandbox.set_fuel_max(None);
                let outcome = sandbox.run(b"x", &interest, false);
                assert!(outcome.fuel > 1_000_000, "{}", outcome.fuel);
            }
        }
    });
}
