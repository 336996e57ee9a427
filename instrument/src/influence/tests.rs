//! The walk on small modules in text form. Parameters have types: that of parameter `k` of function `f` is a pointer to a
//! structure of the name `f.k`, so what a branch depends on can be read off.

use super::build::{self, Context};
use super::debug::{Debug, Function, Spot, Type, Variable};
use super::targets::{unify, walk};
use super::*;

/// For each branch, the types and distances, in the order of the code.
fn walked(text: &str) -> Vec<Vec<String>> {
    walked_with(text, &InfluenceOptions::standard())
}

fn walked_with(text: &str, options: &InfluenceOptions) -> Vec<Vec<String>> {
    let wasm = wat::parse_str(text).expect("the text is a module");
    let outline = Outline::new(&wasm);
    let debug = parameters_with_types(&outline);
    let context = Context {
        outline: &outline,
        debug: &debug,
        code_start: 0,
    };
    let mut graphs = BTreeMap::new();
    for (position, body) in outline.bodies.iter().enumerate() {
        let index = outline.index_of(position);
        let graph = build::graph(&context, index, body, &mut 1_000_000).expect("it is small");
        graphs.insert(index, graph);
    }
    let walked = walk(&context, &graphs, options);
    let mut found = Vec::new();
    for target in walked.targets {
        let types = target.types.iter();
        let types = types.map(|(name, at)| format!("{}@{at}", walked.names[*name as usize]));
        let mut types = types.collect::<Vec<_>>();
        types.sort();
        found.push(types);
    }
    found
}

fn parameters_with_types(outline: &Outline<'_>) -> Debug {
    let mut debug = Debug::default();
    for (position, body) in outline.bodies.iter().enumerate() {
        let index = outline.index_of(position);
        let mut function = Function::default();
        let reader = body.get_operators_reader().expect("it has operators");
        let first = reader.original_position() as u32;
        for param in 0..outline.arity_of(index).0 as u32 {
            let die = (index * 100 + param) * 2;
            let structure = Type {
                tag: gimli::DW_TAG_structure_type,
                name: format!("{index}.{param}"),
                bytes: 64,
                ..Type::default()
            };
            let pointer = Type {
                tag: gimli::DW_TAG_pointer_type,
                target: Some(die),
                ..Type::default()
            };
            debug.types.insert(die, structure);
            debug.types.insert(die + 1, pointer);
            function.variables.push(Variable {
                spot: Spot::Local(param),
                start: 0,
                // Only as it is passed: what is assigned later is another variable.
                end: first + 1,
                ty: die + 1,
            });
        }
        debug.functions.insert(body.range().start as u32, function);
    }
    debug
}

#[test]
fn copies_and_comparisons_take_no_step() {
    let found = walked(
        "(module (func (param i32 i32) (local i32)
            (local.set 2 (local.get 0))
            (br_if 0 (i32.gt_s (local.get 2) (i32.const 3)))
            (br_if 0 (i32.eqz (i32.add (local.get 2) (local.get 1))))
            (if (i32.and (i32.const 1) (i32.const 1)) (then))))",
    );
    assert_eq!(found, [vec!["0.0@1"], vec!["0.0@2", "0.1@2"], vec![]]);
}

#[test]
fn a_load_depends_on_its_address() {
    let found = walked(
        "(module (memory 1) (func (param i32)
            (br_if 0 (i32.load offset=8 (i32.load offset=4 (local.get 0))))))",
    );
    assert_eq!(found, [["0.0@3"]]);
}

#[test]
fn the_last_definition_counts() {
    let found = walked(
        "(module (func (param i32 i32) (local i32)
            (local.set 2 (local.get 0))
            (br_if 0 (local.get 2))
            (local.set 2 (local.get 1))
            (br_if 0 (local.get 2))))",
    );
    assert_eq!(found, [["0.0@1"], ["0.1@1"]]);
}

#[test]
fn ends_of_blocks_join_what_leads_there() {
    let found = walked(
        "(module (func (param i32 i32 i32) (result i32) (local i32)
            (if (local.get 2)
                (then (local.set 3 (local.get 0)))
                (else (local.set 3 (local.get 1))))
            (br_if 0 (i32.const 0) (local.get 3))
            (drop)
            (if (result i32) (local.get 2) (then (local.get 0)) (else (local.get 1)))
            (br_if 0 (i32.const 0) (block (result i32) (br 0 (local.get 2))))
            (drop)
            (drop)
            (i32.const 0)))",
    );
    // The condition of an `if` is control, not data.
    let both = vec!["0.0@1", "0.1@1"];
    let condition = vec!["0.2@1"];
    assert_eq!(
        found,
        [
            condition.clone(),
            both,
            condition.clone(),
            condition.clone()
        ]
    );
}

#[test]
fn heads_of_loops_join_what_comes_back() {
    let found = walked(
        "(module (func (param i32 i32 i32) (local i32)
            (local.set 3 (local.get 0))
            (loop
                (br_if 0 (local.get 3))
                (local.set 3 (local.get 1))
                (br_if 0 (local.get 2))
                (br_if 0 (local.get 3)))))",
    );
    assert_eq!(
        found,
        [vec!["0.0@1", "0.1@1"], vec!["0.2@1"], vec!["0.1@1"]]
    );
}

#[test]
fn stores_to_the_frame_reach_its_loads() {
    let found = walked(
        "(module (memory 1) (global $sp (mut i32) (i32.const 1024))
          (func (param i32 i32) (local $fp i32)
            (global.set $sp (local.tee $fp (i32.sub (global.get $sp) (i32.const 16))))
            (i32.store offset=12 (local.get $fp) (local.get 0))
            (i32.store offset=8 (local.get $fp) (local.get 1))
            (br_if 0 (i32.load offset=12 (local.get $fp)))
            (br_if 0 (i32.load (i32.add (local.get $fp) (i32.const 8))))
            (loop
                (br_if 0 (i32.load offset=12 (local.get $fp)))
                (i32.store offset=12 (local.get $fp) (i32.load offset=4 (local.get 1))))))",
    );
    // The last one: what was there, and what the loop stores.
    let last = vec!["0.0@1"];
    assert_eq!(found, [vec!["0.0@1"], vec!["0.1@1"], last]);
    let found = walked(
        "(module (memory 1) (func (param i32 i32)
            (i32.store (i32.const 2048) (local.get 0))
            (loop
                (br_if 1 (i32.load (i32.const 2048)))
                (i32.store (i32.const 2048) (local.get 1))
                (br 0))))",
    );
    assert_eq!(found, [["0.0@1", "0.1@1"]]);
}

#[test]
fn calls_are_walked_through_and_out_again_where_they_were_made() {
    let found = walked(
        "(module
          (func $first (param i32 i32) (result i32) (local.get 0))
          (func (param i32 i32) (br_if 0 (call $first (local.get 0) (local.get 1))))
          (func (param i32) (drop (call $first (local.get 0) (i32.const 0)))))",
    );
    // A step to what is returned, and one to the argument. What the third function passes does not matter.
    assert_eq!(found, [["0.0@2", "1.0@3"]]);
}

#[test]
fn parameters_depend_on_all_arguments() {
    let found = walked(
        "(module
          (func $check (param i32) (br_if 0 (local.get 0)))
          (func $middle (param i32) (call $check (local.get 0)))
          (func (param i32) (call $middle (local.get 0)))
          (func (param i32) (call $check (i32.mul (local.get 0) (i32.const 2)))))",
    );
    assert_eq!(found, [["0.0@1", "1.0@2", "2.0@3", "3.0@3"]]);
}

#[test]
fn what_a_call_stores_behind_a_pointer_is_a_result() {
    let found = walked(
        "(module (memory 1) (global $sp (mut i32) (i32.const 1024))
          (func $put (param i32 i32) (i32.store (local.get 0) (local.get 1)))
          (func (param i32) (local $fp i32)
            (local.set $fp (i32.sub (global.get $sp) (i32.const 16)))
            (call $put (i32.add (local.get $fp) (i32.const 8)) (local.get 0))
            (br_if 0 (i32.load offset=8 (local.get $fp)))
            (br_if 0 (i32.load offset=4 (local.get $fp)))))",
    );
    assert_eq!(found, [vec!["0.1@2", "1.0@3"], vec![]]);
}

#[test]
fn of_what_has_no_body_every_argument_counts() {
    let found = walked(
        "(module
          (import \"m\" \"f\" (func $f (param i32 i32) (result i32)))
          (table 1 funcref)
          (type $t (func (param i32) (result i32)))
          (func (param i32 i32 i32)
            (br_if 0 (call $f (local.get 0) (local.get 1)))
            (br_if 0 (call_indirect (type $t) (local.get 0) (local.get 2)))))",
    );
    let expected = [["1.0@2", "1.1@2"], ["1.0@2", "1.2@2"]];
    assert_eq!(found, expected);
}

#[test]
fn circles_of_calls_end() {
    let found = walked(
        "(module
          (func $even (param i32 i32) (result i32)
            (if (result i32) (local.get 0)
                (then (call $odd (local.get 1) (local.get 0)))
                (else (local.get 1))))
          (func $odd (param i32 i32) (result i32) (call $even (local.get 0) (local.get 1)))
          (func (param i32 i32) (br_if 0 (call $even (local.get 0) (local.get 1)))))",
    );
    // The argument that is passed as the other one comes out after two calls more.
    assert_eq!(
        found[1],
        ["0.0@6", "0.1@2", "1.0@9", "1.1@5", "2.0@7", "2.1@3"]
    );
}

#[test]
fn tables_and_references_decide_too() {
    let found = walked(
        "(module (func (param i32 funcref)
            (block (block (br_table 0 1 0 (local.get 0))))
            (drop (block (result funcref)
                (br_on_non_null 0 (local.get 1))
                (ref.null func)))
            (block (drop (br_on_null 0 (local.get 1))))))",
    );
    assert_eq!(found, [["0.0@1"], ["0.1@1"], ["0.1@1"]]);
}

#[test]
fn what_lies_beyond_the_limits_is_left_out() {
    let text = "(module (memory 1) (func (param i32 i32)
        (br_if 0 (i32.mul (i32.load (i32.load (i32.load (local.get 0)))) (local.get 1)))))";
    let mut options = InfluenceOptions::standard();
    assert_eq!(walked_with(text, &options), [["0.0@5", "0.1@2"]]);
    options.distance_max = 4;
    assert_eq!(walked_with(text, &options), [["0.1@2"]]);
    options = InfluenceOptions::standard();
    options.branch_steps = 4;
    assert_eq!(walked_with(text, &options), [["0.1@2"]]);
}

#[test]
fn the_target_with_the_most_types_gives_the_distance() {
    let target = |offset, types: &[(&str, u32)]| BranchInfluence {
        function: 0,
        offset,
        line: None,
        types: types
            .iter()
            .map(|(name, at)| ((*name).into(), *at))
            .collect(),
        is_cut: false,
    };
    let targets = [
        target(1, &[("a", 1)]),
        target(2, &[("a", 3), ("b", 5)]),
        target(3, &[("b", 2), ("c", 9)]),
    ];
    let unified = unify(&targets);
    let unified = unified.iter().map(|(name, at)| (name.as_str(), *at));
    assert_eq!(unified.collect::<Vec<_>>(), [("a", 3), ("b", 5), ("c", 9)]);
}

#[test]
fn strings_are_those_that_reachable_code_names() {
    let wasm = wat::parse_str(
        r#"(module (memory 1)
          (type $t (func))
          (table funcref (elem $tabled))
          (func $print (param i32 i32))
          (func $used (call $print (i32.const 1024) (i32.const 0)))
          (func $tabled (call $print (i32.const 1040) (i32.const 5)))
          (func $unused (call $print (i32.const 1030) (i32.const 0)))
          (func (export "_start") (call $used) (call_indirect (type $t) (i32.const 0)))
          (data (i32.const 1024) "hello\00other\00")
          (data (i32.const 1040) "worldwide\01x"))"#,
    )
    .expect("the text is a module");
    let outline = Outline::new(&wasm);
    let roots = [outline.exports["_start"]];
    let found = strings::strings(&outline, &roots, &|_| Some(strings::Ends::Zeros));
    assert_eq!(found, [b"hello".to_vec(), b"world".to_vec()]);
    assert!(strings::strings(&outline, &roots, &|_| None).is_empty());
}

/// In Rust code names a text beside its length, or the place that holds its address and its length.
#[test]
fn strings_of_rust_are_as_long_as_they_say() {
    let wasm = wat::parse_str(
        r#"(module (memory 1)
          (func $print (param i32 i32))
          (func $equal (param i32 i32))
          (func (export "_start")
            (call $print (i32.const 1024) (i32.const 5))
            (call $equal (i32.const 0) (i32.const 1042))
            (call $equal (i32.const 0) (i32.const 1050)))
          (data (i32.const 1024) "helloworldsrc/a.rs")
          (data (i32.const 1042) "\05\04\00\00\05\00\00\00\0a\04\00\00\08\00\00\00"))"#,
    )
    .expect("the text is a module");
    let outline = Outline::new(&wasm);
    let roots = [outline.exports["_start"]];
    let found = strings::strings(&outline, &roots, &|_| Some(strings::Ends::Lengths));
    // `src/a.rs` is where a panic would be.
    assert_eq!(found, [b"hello".to_vec(), b"world".to_vec()]);
}

#[test]
fn without_debug_information_there_are_no_types_and_a_reason() {
    let wasm = wat::parse_str("(module (func (param i32) (br_if 0 (local.get 0))))");
    let found = influences(&wasm.expect("a module"), &InfluenceOptions::standard());
    assert_eq!(found.missing, Some(Missing::Dwarf));
    assert!(found.targets.is_empty() && found.types.is_empty());
    let found = influences(b"no module", &InfluenceOptions::standard());
    assert_eq!(found.missing, Some(Missing::Dwarf));
}

#[test]
fn what_is_not_valid_does_no_harm() {
    // Operators that find nothing on the stack, and labels that do not exist.
    let bodies: [&[u8]; 6] = [
        &[0x6a, 0x0d, 0x05, 0x0b],
        &[0x0b, 0x0b, 0x0b],
        &[0x05, 0x05, 0x0b],
        &[0x0f, 0x6a, 0x1a, 0x0c, 0x7f, 0x0b],
        &[0x20, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x21, 0x07, 0x0b],
        &[0x10, 0x63, 0x11, 0x09, 0x00, 0x0e, 0x01, 0x09, 0x08, 0x0b],
    ];
    for code in bodies {
        let mut wasm = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a".to_vec();
        wasm.extend([code.len() as u8 + 3, 1, code.len() as u8 + 1, 0]);
        wasm.extend(code);
        let outline = Outline::new(&wasm);
        let debug = Debug::default();
        let context = Context {
            outline: &outline,
            debug: &debug,
            code_start: 0,
        };
        for body in &outline.bodies {
            let _ = build::graph(&context, 0, body, &mut 1_000_000);
        }
    }
}

/// Loops in loops with branches to all of them, and thousands of locals: each local would be joined at each label.
#[test]
fn a_function_that_takes_too_much_work_is_given_up() {
    let (locals, loops) = (2000, 150);
    let mut text = String::from("(module (func (param i32) (local");
    text.push_str(&" i32".repeat(locals));
    text.push(')');
    for number in 0..loops {
        text.push_str(&format!("(loop $l{number} (block "));
    }
    for round in 0..300 {
        let local = |factor: usize| 1 + round * factor % locals;
        let (to, left, right) = (local(7), local(13), local(29));
        text.push_str(&format!(
            "(local.set {to} (i32.add (local.get {left}) (local.get {right}))) (block (br_table"
        ));
        for number in 0..loops {
            text.push_str(&format!(" {}", 1 + number * 2));
        }
        text.push_str(&format!(" 0 (local.get {})))", local(3)));
    }
    for number in (0..loops).rev() {
        text.push_str(&format!(") (br_if $l{number} (local.get {})))", 1 + number));
    }
    text.push_str("))");
    let wasm = wat::parse_str(&text).expect("the text is a module");
    let outline = Outline::new(&wasm);
    let debug = Debug::default();
    let context = Context {
        outline: &outline,
        debug: &debug,
        code_start: 0,
    };
    let mut work = 1_000_000;
    let graph = build::graph(&context, 0, &outline.bodies[0], &mut work);
    assert!(graph.is_none());
    assert!(work < 1_000_000);
}
