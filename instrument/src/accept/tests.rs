//! Tests of what is accepted and what is said about the rest.

use super::*;

const MIB: u64 = 1 << 20;

fn limits() -> AcceptLimits {
    AcceptLimits::standard(256 * MIB)
}

fn facts(text: &str) -> Facts {
    check(&wat::parse_str(text).expect("test module"), &limits()).expect("accepted")
}

fn refusal(text: &str) -> Refusal {
    check(&wat::parse_str(text).expect("test module"), &limits()).expect_err("refused")
}

const TARGET: &str =
    r#"(func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) i32.const 0)"#;

#[test]
fn facts_of_a_reactor() {
    let facts = facts(
        r#"(module
            (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
            (import "env" "base" (global i32))
            (memory (export "memory") 2 8)
            (table 3 funcref)
            (func $start)
            (start $start)
            (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) i32.const 0)
            (func (export "malloc") (param i32) (result i32) i32.const 0)
            (func (export "free") (param i32))
            (func $pair (result i32 i64) i32.const 0 i64.const 0)
            (data (i32.const 0) "hello")
            (@custom ".debug_info" "x"))"#,
    );
    assert_eq!(facts.target(), Ok(EntryKind::Reactor));
    assert!(facts.has_malloc());
    assert_eq!(facts.imports.len(), 2);
    assert_eq!(
        facts.imports[0].item,
        Item::Function("[i32] -> []".to_string())
    );
    assert_eq!(
        (facts.imports[1].module.as_str(), &facts.imports[1].item),
        ("env", &Item::Global)
    );
    assert_eq!((facts.imported_functions, facts.functions), (1, 5));
    assert_eq!(
        facts.memories[0],
        Memory {
            initial_pages: 2,
            maximum_pages: Some(8),
            memory64: false,
            imported: false
        }
    );
    assert_eq!(facts.table_elements, 3);
    assert_eq!(facts.data_bytes, 5);
    assert_eq!(facts.start, Some(1));
    assert!(facts.has_dwarf && facts.has_names && facts.code_bytes > 0);
    assert_eq!(facts.features, ["multivalue"]);
    assert_eq!(facts.export("memory"), Some(&Item::Memory(0)));
    assert_eq!(
        facts.function("LLVMFuzzerTestOneInput"),
        Some("[i32 i32] -> [i32]")
    );
}

#[test]
fn features_are_named_as_compilers_name_them() {
    let facts = facts(
        r#"(module
            (memory 1) (memory 1) (tag $t)
            (func (param i32) (result i32)
                (block (try_table (catch_all 0) throw $t))
                (memory.fill (i32.const 0) (i32.const 0) (i32.const 1))
                (drop (i8x16.splat (i32.const 1)))
                (drop (i32.trunc_sat_f32_s (f32.const 1)))
                (i32.extend8_s (local.get 0)))
            (func (param i32) (result i32) (return_call 0 (local.get 0)))
            (global i32 (i32.add (i32.const 1) (i32.const 2))))"#,
    );
    let expected = [
        "exceptions",
        "tail-call",
        "sign-extension",
        "nontrapping-fptoint",
        "bulk-memory",
        "simd128",
        "multi-memory",
        "extended-const",
    ];
    assert_eq!(facts.features, expected);
}

#[test]
fn entries_have_an_order() {
    let start = r#"(func (export "_start"))"#;
    let property = r#"(func (export "sandglass_property") (result i32) i32.const 0)"#;
    let memory = r#"(memory (export "memory") 1)"#;
    let kind = |parts: &[&str]| facts(&format!("(module {memory} {})", parts.concat())).target();
    assert_eq!(kind(&[start]), Ok(EntryKind::Command));
    assert_eq!(kind(&[start, property]), Ok(EntryKind::Property));
    // cargo-fuzz links a `_start` that must not be called.
    assert_eq!(kind(&[start, property, TARGET]), Ok(EntryKind::Reactor));
    let generator = facts(r#"(module (func (export "sandglass_generate")))"#);
    assert_eq!(generator.generator(), Ok(()));
    let message = generator.target().expect_err("not a target").to_string();
    assert!(message.contains("--generator"), "{message}");
    let message = facts(&format!("(module {memory} {TARGET})"))
        .generator()
        .expect_err("no generator")
        .to_string();
    assert!(message.contains("not as `--generator`"), "{message}");
}

#[test]
fn a_wrong_type_is_shown_beside_the_right_one() {
    let facts = facts(
        r#"(module (memory (export "memory") 1) (func (export "LLVMFuzzerTestOneInput") (param i32)))"#,
    );
    let refusal = facts.target().expect_err("wrong type");
    assert_eq!(refusal.reason, Reason::Entry);
    assert_eq!(
        refusal.to_string(),
        "export `LLVMFuzzerTestOneInput` has type [i32] -> [], expected [i32 i32] -> [i32]"
    );
}

#[test]
fn a_missing_entry_says_what_there_is_and_which_flag() {
    let message = |text: &str| facts(text).target().expect_err("no entry").to_string();
    assert_eq!(
        message(r#"(module (func (export "parse")) (func (export "_initialize")))"#),
        "exports no entry point: expected `LLVMFuzzerTestOneInput`, `sandglass_property` or `_start`, found \
         `parse`, `_initialize`; link with `-mexec-model=reactor -Wl,--export=LLVMFuzzerTestOneInput`, or as a command \
         with a `main`"
    );
    let typo = message(r#"(module (func (export "LLVMFuzzerTestOnInput")))"#);
    assert!(
        typo.ends_with("rename `LLVMFuzzerTestOnInput` to `LLVMFuzzerTestOneInput`"),
        "{typo}"
    );
    let hidden = message(r#"(module (func $LLVMFuzzerTestOneInput))"#);
    assert!(
        hidden.contains("link with `-Wl,--export=LLVMFuzzerTestOneInput`"),
        "{hidden}"
    );
    let mangled = message(r#"(module (func $_Z22LLVMFuzzerTestOneInputPKhm))"#);
    assert!(mangled.contains("extern \"C\""), "{mangled}");
    let demangled = message(
        r#"(module (func $"LLVMFuzzerTestOneInput(unsigned char const*, unsigned long)"))"#,
    );
    assert!(demangled.contains("extern \"C\""), "{demangled}");
}

#[test]
fn refused_proposals_name_the_flag() {
    let cases = [
        (r#"(module (memory 1 1 shared))"#, "-pthread"),
        (
            r#"(module (func (drop (i32x4.relaxed_trunc_f32x4_s (v128.const i64x2 0 0)))))"#,
            "-mno-relaxed-simd",
        ),
        (r#"(module (memory 1 (pagesize 1)))"#, "--page-size"),
        // `(func (try (do) (catch_all)))`, which the text format no longer knows.
        (
            r#"(module binary "\00asm\01\00\00\00" "\01\04\01\60\00\00" "\03\02\01\00" "\0a\08\01\06\00\06\40\19\0b\0b")"#,
            "-wasm-use-legacy-eh=false",
        ),
        (
            r#"(module (type $f (func)) (type (cont $f)))"#,
            "stack switching",
        ),
    ];
    for (text, flag) in cases {
        let refusal = refusal(text);
        assert_eq!(refusal.reason, Reason::Feature, "{refusal}");
        assert!(refusal.to_string().contains(flag), "{refusal}");
    }
}

#[test]
fn gc_is_off_unless_switched_on() {
    let wasm = wat::parse_str("(module (type (struct (field i32))))").expect("test module");
    let on = AcceptLimits {
        gc: true,
        ..limits()
    };
    assert!(check(&wasm, &on).is_ok());
    let refusal = check(&wasm, &limits()).expect_err("refused");
    assert_eq!(refusal.reason, Reason::Feature, "{refusal}");
    // Function references of the first kind are not part of it.
    let funcref = wat::parse_str("(module (table 1 funcref) (func (param funcref externref)))")
        .expect("test module");
    assert!(
        check(
            &funcref,
            &AcceptLimits {
                gc: false,
                ..limits()
            }
        )
        .is_ok()
    );
}

#[test]
fn limits_are_inclusive() {
    let wasm = wat::parse_str("(module (memory 1) (func (local i32 i32) block block end end))")
        .expect("test module");
    let with = |change: &dyn Fn(&mut AcceptLimits)| {
        let mut limits = limits();
        change(&mut limits);
        check(&wasm, &limits)
            .map(|_| ())
            .map_err(|refusal| (refusal.reason, refusal.to_string()))
    };
    assert_eq!(with(&|l| l.locals = 2), Ok(()));
    assert!(
        with(&|l| l.locals = 1)
            .is_err_and(|(reason, text)| reason == Reason::Limit && text.contains("2 locals"))
    );
    assert_eq!(with(&|l| l.nesting = 2), Ok(()));
    assert!(with(&|l| l.nesting = 1).is_err_and(|(_, text)| text.contains("nested blocks")));
    assert_eq!(with(&|l| l.memory_bytes = 65_536), Ok(()));
    assert!(
        with(&|l| l.memory_bytes = 65_535).is_err_and(
            |(_, text)| text.contains("needs 64 KiB at start, the limit is 65535 bytes")
        )
    );
    assert_eq!(with(&|l| l.module_bytes = wasm.len() as u64), Ok(()));
    assert!(with(&|l| l.module_bytes = wasm.len() as u64 - 1).is_err());
    assert_eq!(with(&|l| l.functions = 1), Ok(()));
    assert!(with(&|l| l.functions = 0).is_err());
}

#[test]
fn object_files_and_libraries_are_told_apart() {
    assert!(
        refusal(r#"(module (@custom "linking" "\02"))"#)
            .to_string()
            .contains("object file")
    );
    assert!(
        refusal(r#"(module (@custom "dylink.0" ""))"#)
            .to_string()
            .contains("dynamic library")
    );
}

#[test]
fn names_in_messages_cannot_act_on_a_terminal() {
    let text = "(module (memory (export \"__sandglass\\1b[2J\") 1))";
    assert!(
        refusal(text)
            .to_string()
            .contains("`__sandglass\\u{1b}[2J`")
    );
}

#[test]
fn what_instrumented_code_imports_is_its_own() {
    let refusal = refusal(r#"(module (import "sandglass:host" "enter\1b" (func)))"#);
    assert_eq!(refusal.reason, Reason::ReservedName);
    let text = refusal.to_string();
    assert!(text.contains("`sandglass:host.enter\\u{1b}`"), "{text}");
    facts(r#"(module (import "sandglass" "int" (func)))"#);
}

#[test]
fn inputs_go_to_the_first_memory() {
    let target = |memories: &str| facts(&format!("(module {memories} {TARGET})")).target();
    let second = target(r#"(memory 1) (memory (export "memory") 1)"#).expect_err("the second");
    assert_eq!(
        second.to_string(),
        "export `memory` is memory 1, expected memory 0; declare it before the others"
    );
    let first = target(r#"(memory (export "memory") 1) (memory i64 1)"#);
    assert_eq!(first, Ok(EntryKind::Reactor));
}

#[test]
fn any_cut_and_any_changed_byte_gives_an_answer() {
    let wasm = wat::parse_str(format!(
        r#"(module (memory (export "memory") 1) (table 2 funcref) (elem (i32.const 0) 0) (data (i32.const 8) "x")
            (global (mut i64) (i64.const 1)) {TARGET}
            (func (param i32) (result i32) (block (br_table 0 0 0 (local.get 0))) (i32.const 1)))"#
    ))
    .expect("test module");
    for end in 0..wasm.len() {
        let _ = check(&wasm[..end], &limits()).map(|facts| facts.target());
    }
    for at in 0..wasm.len() {
        for value in [0x00, 0x01, 0x40, 0x7f, 0x80, 0xff] {
            let mut spoiled = wasm.clone();
            spoiled[at] = value;
            let _ = check(&spoiled, &limits()).map(|facts| (facts.target(), facts.generator()));
        }
    }
}
