//! Small modules of which it is known what each decision depends on.

use sandglass_sandbox::{Build, on_guest_thread};

use super::{ALL, sandbox};

/// A module's body, and for each decision in the order of execution the bytes of both sides.
struct Case {
    name: &'static str,
    /// Other definitions.
    module: &'static str,
    /// `$p` is where the input lies; `call $is` takes what is to be looked at.
    body: &'static str,
    expected: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "bytes of a word keep apart through shifts, masks and memory",
        module: "",
        body: "
            (local.set $x (i32.load (local.get $p)))
            (call $is (local.get $x))
            (call $is (i32.shr_u (local.get $x) (i32.const 16)))
            (call $is (i32.and (local.get $x) (i32.const 0xff00)))
            (call $is (i32.shl (local.get $x) (i32.const 24)))
            (call $is (i32.shr_u (local.get $x) (i32.const 4)))
            (i64.store (i32.const 64) (i64.load offset=1 (local.get $p)))
            (call $is (i32.load8_u (i32.const 67)))
            (call $is (i32.load16_u (i32.const 70)))
            (call $is (i32.rotl (i32.load (i32.const 64)) (i32.const 8)))
            (call $is (i32.and (i32.rotl (i32.load (i32.const 64)) (i32.const 8)) (i32.const 255)))",
        expected: &["0..4", "2..4", "1..2", "0..1", "0..4", "4..5", "7..9", "1..5", "4..5"],
    },
    Case {
        name: "what was written over has no label",
        module: "",
        body: "
            (i32.store (i32.const 64) (i32.load (local.get $p)))
            (i32.store8 (i32.const 65) (i32.const 0))
            (call $is (i32.load (i32.const 64)))
            (memory.copy (i32.const 128) (i32.const 64) (i32.const 3))
            (call $is (i32.load16_u (i32.const 129)))
            (memory.fill (i32.const 64) (i32.load8_u offset=9 (local.get $p)) (i32.const 3))
            (call $is (i32.load (i32.const 64)))
            (memory.fill (i32.const 64) (i32.const 0) (i32.const 4))
            (call $is (i32.load (i32.const 64)))",
        expected: &["0..1 2..4", "2..3", "3..4 9..10"],
    },
    Case {
        name: "unions, and what is nothing",
        module: "",
        body: "
            (local.set $x (i32.add (i32.load8_u (local.get $p)) (i32.load8_u offset=5 (local.get $p))))
            (call $is (local.get $x))
            (call $is (i32.mul (local.get $x) (i32.load8_u offset=1 (local.get $p))))
            (call $is (i32.and (local.get $x) (i32.const 0)))
            (call $is (i32.const 7))
            (call $is (i32.trunc_f64_s (f64.convert_i32_u (i32.load8_s offset=2 (local.get $p)))))",
        expected: &["0..1 5..6", "0..2 5..6", "2..3"],
    },
    Case {
        name: "calls: direct, indirect, tail calls, several results",
        module: "
            (type $two (func (param i32 i32) (result i32 i32)))
            (func $swap (param $a i32) (param $b i32) (result i32 i32)
              local.get $b
              local.get $a)
            (func $last (param $a i32) (param $b i32) (result i32 i32)
              (return_call_indirect (type $two) (local.get $b) (local.get $a) (i32.const 0)))
            (func $direct (param $a i32) (param $b i32) (result i32 i32)
              (return_call $swap (local.get $a) (local.get $b)))
            (func $none (param $a i32) (result i32) (i32.const 3))
            (table funcref (elem $swap $last))",
        body: "
            (call $swap (i32.load8_u (local.get $p)) (i32.load8_u offset=1 (local.get $p)))
            (call $is) (call $is)
            (call_indirect (type $two)
              (i32.load8_u (local.get $p)) (i32.load8_u offset=1 (local.get $p)) (i32.const 1))
            (call $is) (call $is)
            (call $direct (i32.const 1) (i32.load8_u offset=3 (local.get $p)))
            (call $is) (call $is)
            (call $is (call $none (i32.load8_u (local.get $p))))",
        expected: &["0..1", "1..2", "1..2", "0..1", "3..4"],
    },
    Case {
        name: "globals, blocks with values, loops with parameters, branches with values",
        module: "(global $g (mut i64) (i64.const 0))",
        body: "
            (global.set $g (i64.load (local.get $p)))
            (call $is (i32.wrap_i64 (global.get $g)))
            (call $is (block $b (result i32)
              (i32.load8_u offset=1 (local.get $p))
              (br_if $b (i32.eqz (i32.load8_u offset=2 (local.get $p))))
              (i32.load8_u offset=3 (local.get $p))
              i32.add))
            (i32.load8_u offset=8 (local.get $p))
            (loop $l (param i32) (result i32)
              (i32.add (i32.load8_u offset=9 (local.get $p)))
              (local.set $x (i32.add (local.get $x) (i32.const 1)))
              (br_if $l (i32.lt_u (local.get $x) (i32.const 3))))
            (call $is)
            (call $is (if (result i32) (i32.load8_u offset=10 (local.get $p))
              (then (i32.load8_u offset=11 (local.get $p)))
              (else (i32.const 0))))
            (call $is (select
              (i32.load8_u offset=12 (local.get $p)) (i32.load8_u offset=13 (local.get $p)) (local.get $p)))",
        expected: &[
            "0..4", "2..3", "1..2 3..4", "8..10", "10..11", "11..12", "12..13",
        ],
    },
    Case {
        name: "exceptions carry labels",
        module: "
            (tag $e (param i32 i64))
            (func $throw (param $a i32) (throw $e (local.get $a) (i64.const 1)))",
        body: "
            (block $caught (result i32 i64)
              (try_table (catch $e $caught) (call $throw (i32.load8_u offset=6 (local.get $p))))
              unreachable)
            (drop)
            (call $is)",
        expected: &["6..7"],
    },
    Case {
        name: "exceptions that go to the end of a function carry labels, as do results that come there otherwise",
        module: "
            (tag $e (param i32 i64))
            (tag $one (param i32))
            (func $throw (param $a i32) (param $does i32)
              (if (local.get $does) (then (throw $e (local.get $a) (i64.const 1)))))
            (func $caught (param $a i32) (param $b i32) (param $does i32) (result i32 i64)
              (try_table (catch $e 0) (call $throw (local.get $a) (local.get $does)))
              (local.get $b)
              (i64.const 2))
            (func $left (param $a i32) (result i32)
              (try_table (result i32) (catch $one 0) (return (local.get $a))))",
        body: "
            (call $caught
              (i32.load8_u offset=6 (local.get $p)) (i32.load8_u offset=7 (local.get $p)) (i32.const 1))
            (drop)
            (call $is)
            (call $caught
              (i32.load8_u offset=6 (local.get $p)) (i32.load8_u offset=7 (local.get $p)) (i32.const 0))
            (drop)
            (call $is)
            (call $is (call $left (i32.load8_u offset=8 (local.get $p))))",
        expected: &["6..7", "7..8", "8..9"],
    },
    Case {
        name: "tables of constants depend on the index, the heap does not",
        module: r#"(data (i32.const 1024) "abcdefgh")"#,
        body: "
            (call $is (i32.load8_u offset=1024 (i32.and (i32.load8_u (local.get $p)) (i32.const 7))))
            (call $is (i32.load8_u offset=64 (i32.load8_u (local.get $p))))",
        // An address each, too.
        expected: &["0..1", "0..1", "0..1"],
    },
    Case {
        name: "ranges longer than 256 bytes",
        module: "",
        body: "
            (loop $l
              (local.set $y (i32.add (local.get $y)
                (i32.load8_u (i32.add (local.get $p) (local.get $x)))))
              (local.set $x (i32.add (local.get $x) (i32.const 1)))
              (br_if $l (i32.lt_u (local.get $x) (i32.const 300))))
            (call $is (local.get $y))
            (call $is (i32.add (local.get $y) (i32.load8_u offset=300 (local.get $p))))
            (call $is (i32.add (local.get $y) (i32.load8_u offset=302 (local.get $p))))",
        expected: &["0..300", "0..301", "0..300 302..303"],
    },
    Case {
        name: "vectors",
        module: "",
        body: "
            (local.set $v (v128.load (local.get $p)))
            (call $is (i32x4.extract_lane 2 (local.get $v)))
            (call $is (i8x16.extract_lane_u 15 (local.get $v)))
            (v128.store (i32.const 64) (local.get $v))
            (call $is (i32.load8_u (i32.const 70)))
            (call $is (i8x16.bitmask (i8x16.eq (local.get $v) (v128.const i64x2 0 0))))",
        expected: &["8..12", "15..16", "6..7", "0..16"],
    },
    Case {
        name: "of 32 memories, those from the 18th on have no labels",
        module: "
            (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1)
            (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1)
            (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1)
            (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1) (memory 1 1)
            (memory 1 1) (memory 1 1) (memory 1 1)",
        body: "
            (i32.store 16 (i32.const 0) (i32.load (local.get $p)))
            (call $is (i32.load8_u 16 (i32.const 1)))
            (memory.copy 17 0 (i32.const 0) (local.get $p) (i32.const 4))
            (call $is (i32.load 17 (i32.const 0)))
            (i32.store 17 (i32.const 0) (i32.load (local.get $p)))
            (call $is (i32.load 17 (i32.const 0)))
            (memory.copy 16 17 (i32.const 0) (i32.const 0) (i32.const 2))
            (call $is (i32.load 16 (i32.const 0)))",
        expected: &["1..2", "2..4"],
    },
];

#[test]
fn what_is_known_of_small_modules_is_what_is_found() {
    on_guest_thread(|| {
        for case in CASES {
            let text = format!(
                r#"(module
                  (memory (export "memory") 1)
                  {}
                  (func $is (param $value i32) (if (i32.eq (local.get $value) (i32.const 99)) (then nop)))
                  (func (export "LLVMFuzzerTestOneInput") (param $p i32) (param $size i32) (result i32)
                    (local $x i32) (local $y i32) (local $v v128)
                    {}
                    i32.const 0))"#,
                case.module, case.body
            );
            let wasm = wat::parse_str(&text).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let mut sandbox = sandbox(&wasm, Build::Dependence);
            let input = (0..400).map(|n| (n % 90 + 1) as u8).collect::<Vec<_>>();
            for round in 0..2 {
                let found = sandbox.depend(&input, ALL);
                let sides = found.events.iter().map(|event| {
                    let left = event.left_bytes.iter().map(|range| format!("{range:?}"));
                    assert!(event.right_bytes.is_empty(), "{}", case.name);
                    left.collect::<Vec<_>>().join(" ")
                });
                let sides = sides.collect::<Vec<_>>();
                assert_eq!(sides, case.expected, "{}, round {round}", case.name);
            }
        }
    });
}
