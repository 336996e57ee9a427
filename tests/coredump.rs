//! Core dumps: what `repro --coredump` writes is read by wasmparser, and says what the run left.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use wasmparser::{
    ConstExpr, DataKind, KnownCustom, Operator, Parser, Payload, Validator, WasmFeatures,
};

/// Sets a global and memory, and traps two calls deep.
const GUEST: &str = r#"(module
  (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
  (memory (export "memory") 2)
  (global $const i64 (i64.const -5))
  (global $state (mut i32) (i32.const 1))
  (global $ratio (mut f64) (f64.const 0.5))
  (data (i32.const 8) "from the start")
  (func $check (param $at i32)
    (global.set $state (i32.const 77))
    (i32.store8 (i32.const 70000) (i32.const 42))
    (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 33))
      (then unreachable)))
  (func (export "LLVMFuzzerTestOneInput") (param $at i32) (param $length i32) (result i32)
    (if (local.get $length) (then (call $check (local.get $at))))
    i32.const 0))"#;

fn sandglass(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sandglass-dup"))
        .args(args)
        .current_dir(folder)
        .env(
            "SANDGLASS_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"),
        )
        .output()
        .expect("the program starts")
}

/// What a core dump holds.
#[derive(Debug, Default, PartialEq)]
struct Dump {
    name: String,
    modules: Vec<String>,
    /// Of each instance: its memories and its globals.
    instances: Vec<(Vec<u32>, Vec<u32>)>,
    /// Function, and offset in it.
    frames: Vec<(u32, u32)>,
    memories: Vec<Vec<u8>>,
    globals: Vec<String>,
}

fn read(wasm: &[u8]) -> Dump {
    Validator::new_with_features(WasmFeatures::all())
        .validate_all(wasm)
        .expect("a core dump is a valid module");
    let mut dump = Dump::default();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.expect("it is valid") {
            Payload::MemorySection(memories) => {
                dump.memories = memories
                    .into_iter()
                    .map(|memory| vec![0; (memory.expect("read").initial as usize) << 16])
                    .collect();
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let global = global.expect("read");
                    assert!(!global.ty.mutable, "the convention has constants");
                    dump.globals.push(constant(&global.init_expr));
                }
            }
            Payload::DataSection(segments) => {
                for segment in segments {
                    let segment = segment.expect("read");
                    let DataKind::Active {
                        memory_index,
                        offset_expr,
                    } = segment.kind
                    else {
                        panic!("a passive segment");
                    };
                    let at: usize = constant(&offset_expr).parse().expect("an address");
                    let memory = &mut dump.memories[memory_index as usize];
                    memory[at..at + segment.data.len()].copy_from_slice(segment.data);
                }
            }
            Payload::CustomSection(section) => match section.as_known() {
                KnownCustom::CoreDump(core) => dump.name = core.name.to_owned(),
                KnownCustom::CoreDumpModules(modules) => {
                    dump.modules = modules.modules.iter().map(|name| (*name).into()).collect();
                }
                KnownCustom::CoreDumpInstances(instances) => {
                    let instances = instances.instances.into_iter();
                    dump.instances = instances.map(|one| (one.memories, one.globals)).collect();
                }
                KnownCustom::CoreDumpStack(stack) => {
                    assert_eq!(stack.name, "main");
                    let frames = stack.frames.iter();
                    dump.frames = frames.map(|f| (f.funcidx, f.codeoffset)).collect();
                    assert!(stack.frames.iter().all(|frame| frame.instanceidx == 0));
                }
                _ => panic!("a section `{}`", section.name()),
            },
            _ => {}
        }
    }
    dump
}

fn constant(expr: &ConstExpr<'_>) -> String {
    match expr.get_operators_reader().read().expect("read") {
        Operator::I32Const { value } => value.to_string(),
        Operator::I64Const { value } => value.to_string(),
        Operator::F64Const { value } => f64::from_bits(value.bits()).to_string(),
        other => panic!("{other:?}"),
    }
}

/// The operator of the original module that a frame stands at.
fn operator(wasm: &[u8], (function, offset): (u32, u32)) -> String {
    let mut bodies =
        Parser::new(0)
            .parse_all(wasm)
            .filter_map(|payload| match payload.expect("it is valid") {
                Payload::CodeSectionEntry(body) => Some(body),
                _ => None,
            });
    // One function is imported.
    let body = bodies.nth(function as usize - 1).expect("a body");
    let mut operators = body.get_operators_reader().expect("read");
    while !operators.eof() {
        let (operator, at) = operators.read_with_offset().expect("read");
        if at - body.range().start == offset as usize {
            return format!("{operator:?}");
        }
    }
    panic!("no operator of function {function} at {offset}");
}

#[test]
fn a_core_dump_says_what_the_run_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let wasm = wat::parse_str(GUEST).expect("it assembles");
    fs::write(folder.path().join("t.wasm"), &wasm).expect("written");
    fs::write(folder.path().join("bad"), "!hello").expect("written");
    let dumped = |name: &str, more: &[&str]| {
        let args = [&["repro", "t.wasm", "bad", "--coredump", name][..], more].concat();
        let output = sandglass(folder.path(), &args);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        fs::read(folder.path().join(name)).expect("it was written")
    };
    let bytes = dumped("core", &[]);
    let dump = read(&bytes);
    assert_eq!(
        (&*dump.name, &dump.modules[..]),
        ("t.wasm", &["t.wasm".to_owned()][..])
    );
    assert_eq!(dump.instances, [(vec![0], vec![0, 1, 2])]);
    // As they were at the trap, and not at the start.
    assert_eq!(dump.globals, ["-5", "77", "0.5"]);
    let [memory] = &dump.memories[..] else {
        panic!("{} memories", dump.memories.len());
    };
    assert_eq!(&memory[8..22], b"from the start");
    assert_eq!(memory[70_000], 42);
    assert!(memory.windows(6).any(|window| window == b"!hello"));
    let functions: Vec<u32> = dump.frames.iter().map(|frame| frame.0).collect();
    assert_eq!(functions, [1, 2]);
    assert_eq!(operator(&wasm, dump.frames[0]), "Unreachable");
    assert_eq!(
        operator(&wasm, dump.frames[1]),
        "Call { function_index: 1 }"
    );
    // The same in a second run, and in the build that tells of calls.
    assert_eq!(dumped("again", &[]), bytes);
    assert_eq!(dumped("traced", &["--trace"]), bytes);
}

/// Nothing of a memory is lost where it is large and mostly zero, and nothing of zeros is written.
#[test]
fn zeros_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = r#"(module (memory (export "memory") 1000)
      (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
        (i32.store8 (i32.const 65535999) (i32.const 1))
        unreachable))"#;
    let wasm = wat::parse_str(text).expect("it assembles");
    fs::write(folder.path().join("t.wasm"), wasm).expect("written");
    fs::write(folder.path().join("bad"), "").expect("written");
    let args = ["repro", "t.wasm", "bad", "--coredump", "core"];
    assert_eq!(sandglass(folder.path(), &args).status.code(), Some(1));
    let bytes = fs::read(folder.path().join("core")).expect("it was written");
    assert!(bytes.len() < 1_000, "{} bytes", bytes.len());
    let memory = &read(&bytes).memories[0];
    assert_eq!(memory[65_535_999], 1);
    assert_eq!(memory.iter().filter(|byte| **byte != 0).count(), 1);
}
