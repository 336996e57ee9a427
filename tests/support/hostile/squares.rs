//! Modules of which somebody might look at everything with everything: calls times functions, values times places,
//! handlers times calls. As text, in some ten thousand lines each.

use std::fmt::Write as _;

use super::{Expect, Hostile};

const MANY: usize = 8_000;

pub(super) fn all() -> Vec<Hostile> {
    let runs = [
        ("calls-through-a-type", calls_through_a_type(MANY)),
        ("chain-of-calls", chain_of_calls(MANY)),
        ("types-that-are-called", types_that_are_called(2_000)),
        ("differences-in-locals", differences_in_locals(MANY)),
        ("ranges-and-branches", ranges_and_branches(500, 2_000)),
        ("references-in-globals", references_in_globals(1_000)),
    ];
    let runs = runs.map(|(name, text)| hostile(name, &text, Expect::Runs));
    let handlers = handlers(1_000, 1_000);
    let refused = Expect::Refused("estimated compile time");
    runs.into_iter()
        .chain([hostile("handlers-and-calls", &handlers, refused)])
        .collect()
}

fn hostile(name: &str, text: &str, expect: Expect) -> Hostile {
    let bytes = wat::parse_str(text).expect("the text is right");
    Hostile::new(format!("square-{name}"), bytes, expect)
}

/// A target with this body, in a module with these other fields.
fn target(fields: &str, locals: &str, body: &str) -> String {
    format!(
        r#"(module (type $unit (func)) (memory (export "memory") 16) {fields}
          (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) {locals} {body} i32.const 0))"#
    )
}

fn each(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut all, nth| {
        let _ = writeln!(all, "{}", text(nth));
        all
    })
}

/// Functions of one type, each of which calls through the table that they all lie in.
fn calls_through_a_type(count: usize) -> String {
    let functions = each(count, |n| {
        format!("(func $f{n} (call_indirect (type $unit) (i32.const 0)))")
    });
    let names = each(count, |n| format!("$f{n}"));
    let table = format!("(table funcref (elem {names}))");
    target(&format!("{functions} {table}"), "", "")
}

/// Each function calls the next one, and the last one throws.
fn chain_of_calls(count: usize) -> String {
    let functions = each(count, |n| format!("(func $f{n} (call $f{}))", n + 1));
    let fields = format!("(tag $t) {functions} (func $f{count} (throw $t))");
    target(&fields, "", "")
}

/// Types that differ in their parameters, each called several times.
fn types_that_are_called(count: usize) -> String {
    let bits = |n: usize| each(12, |bit| ["i32", "i64"][n >> bit & 1].to_owned());
    let types = each(count, |n| {
        format!("(type $t{n} (func (param {})))", bits(n))
    });
    let call = |n: usize| {
        let zeros = each(12, |bit| {
            format!("({}.const 0)", ["i32", "i64"][n >> bit & 1])
        });
        format!("(call_indirect (type $t{n}) {zeros} (i32.const 0))")
    };
    let calls = each(2 * count, |n| call(n % count));
    let fields = format!("{types} (table 1 funcref) (func {calls})");
    target(&fields, "", "")
}

/// An `or` of differences, each of whose steps is a local.
fn differences_in_locals(count: usize) -> String {
    let step = "(i32.xor (local.get 0) (local.get 1)) i32.or";
    let steps = each(count, |n| format!("{step} local.tee {}", n + 2));
    let body = format!("i32.const 0 {steps} (if (then unreachable))");
    target("", &format!("(local {})", "i32 ".repeat(count)), &body)
}

/// Loads that are apart, and then branches to one block.
fn ranges_and_branches(loads: usize, branches: usize) -> String {
    let loads = each(loads, |n| {
        format!("(drop (i32.load offset={} (local.get 0)))", 512 * n)
    });
    let branches = each(branches, |_| "(br_if 0 (local.get 1))".to_owned());
    target("", "", &format!("{loads} (block {branches})"))
}

/// Globals of references, which a reset puts back.
fn references_in_globals(count: usize) -> String {
    let globals = each(count, |_| {
        "(global (mut funcref) (ref.null func))".to_owned()
    });
    target(&globals, "", "")
}

/// Calls below one `try_table` with many handlers.
fn handlers(count: usize, calls: usize) -> String {
    let catches = "(catch_all 0) ".repeat(count);
    let calls = "(call $f) ".repeat(calls);
    let fields = "(tag $t) (func $f (throw $t))";
    let body = format!("(block (try_table {catches} {calls}))");
    target(fields, "", &body)
}
