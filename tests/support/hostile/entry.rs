//! Modules with nothing to start, with the wrong thing to start, with names made to deceive, or with wishes.

use wasm_encoder::{
    ConstExpr, EntityType, ExportKind, GlobalType, MemoryType, RefType, TableType, ValType,
};

use super::build::{Parts, TARGET_TYPE, UNIT_TYPE, WORD_TYPE};
use super::{Expect, Hostile};

pub(super) fn all() -> Vec<Hostile> {
    let mut all = wrong_entries();
    all.extend(names());
    all.extend(wishes());
    all
}

fn case(name: &str, expect: Expect, spoil: &dyn Fn(&mut Parts)) -> Hostile {
    let mut parts = Parts::with_memory();
    spoil(&mut parts);
    Hostile::new(format!("entry-{name}"), parts.bytes(), expect)
}

/// Exports a function of this type as `name`.
fn export(parts: &mut Parts, name: &str, params: &[ValType], results: &[ValType]) {
    let ty = parts.types.len();
    parts
        .types
        .ty()
        .function(params.iter().copied(), results.iter().copied());
    let index = parts.function(ty, &[], |f| {
        f.unreachable();
    });
    parts.exports.export(name, ExportKind::Func, index);
}

fn wrong_entries() -> Vec<Hostile> {
    use ValType::{F64, I32, I64};
    const TARGET: &str = "LLVMFuzzerTestOneInput";
    let refused = Expect::Refused;
    vec![
        Hostile::new(
            "entry-none-and-no-memory",
            Parts::empty().bytes(),
            refused("found no exported function"),
        ),
        case("none", refused("no entry point"), &|_| {}),
        case(
            "returns-nothing",
            refused("has type [i32] -> [], expected [i32 i32] -> [i32]"),
            &|p| {
                export(p, TARGET, &[I32], &[]);
            },
        ),
        case(
            "takes-nothing",
            refused("has type [] -> [i32], expected"),
            &|p| export(p, TARGET, &[], &[I32]),
        ),
        case(
            "takes-floats",
            refused("has type [f64 f64] -> [i32]"),
            &|p| export(p, TARGET, &[F64, F64], &[I32]),
        ),
        case("takes-64-bit-pointers", refused("wasm32"), &|p| {
            export(p, TARGET, &[I64, I64], &[I32])
        }),
        case("returns-two", refused("-> [i32 i32], expected"), &|p| {
            export(p, TARGET, &[I32, I32], &[I32, I32])
        }),
        case("takes-a-thousand", refused("has type [i32 i32"), &|p| {
            export(p, TARGET, &[I32; 1000], &[I32])
        }),
        case("is-a-memory", refused("is a memory"), &|p| {
            p.exports.export(TARGET, ExportKind::Memory, 0);
        }),
        case("is-a-global", refused("is a global"), &|p| {
            p.globals.global(
                GlobalType {
                    val_type: I32,
                    mutable: false,
                    shared: false,
                },
                &ConstExpr::i32_const(0),
            );
            p.exports.export(TARGET, ExportKind::Global, 0);
        }),
        case(
            "start-takes-arguments",
            refused("export `_start` has type [i32] -> []"),
            &|p| {
                export(p, "_start", &[I32], &[]);
            },
        ),
        case(
            "property-returns-nothing",
            refused("`sandglass_property` has type [] -> []"),
            &|p| {
                export(p, "sandglass_property", &[], &[]);
            },
        ),
        case(
            "initialize-takes-arguments",
            refused("`_initialize` has type [i32] -> []"),
            &|p| {
                p.idle_target();
                export(p, "_initialize", &[I32], &[]);
            },
        ),
        case(
            "fuzzer-initialize-of-wrong-type",
            refused("`LLVMFuzzerInitialize` has type [] -> [i32]"),
            &|p| {
                p.idle_target();
                export(p, "LLVMFuzzerInitialize", &[], &[I32]);
            },
        ),
        case(
            "mutator-of-wrong-type",
            refused("`LLVMFuzzerCustomMutator` has type [i64] -> []"),
            &|p| {
                p.idle_target();
                export(p, "LLVMFuzzerCustomMutator", &[I64], &[]);
            },
        ),
        case(
            "setup-returns-something",
            refused("`sandglass_setup` has type [] -> [f64]"),
            &|p| {
                p.idle_target();
                export(p, "sandglass_setup", &[], &[F64]);
            },
        ),
        case("malloc-of-wrong-type", Expect::Ends("valid"), &|p| {
            p.idle_target();
            export(p, "malloc", &[F64], &[F64]);
        }),
        case("generator-as-target", refused("--generator"), &|p| {
            export(p, "sandglass_generate", &[], &[])
        }),
        case(
            "name-misspelt",
            refused("rename `LLVMFuzzerTestOneinput` to"),
            &|p| {
                export(p, "LLVMFuzzerTestOneinput", &[I32, I32], &[I32]);
            },
        ),
        case(
            "memory-not-exported",
            refused("does not export its memory"),
            &|p| {
                p.exports = wasm_encoder::ExportSection::new();
                p.idle_target();
            },
        ),
        case(
            "memory-is-a-function",
            refused("export `memory` is not a memory"),
            &|p| {
                p.exports = wasm_encoder::ExportSection::new();
                export(p, "memory", &[], &[]);
                p.idle_target();
            },
        ),
        Hostile::new(
            "entry-no-memory",
            Parts::empty().idle_target().bytes(),
            refused("has no memory"),
        ),
        Hostile::new(
            "entry-memory-imported",
            imported_memory(),
            refused("imports its memory as `env.memory`"),
        ),
        Hostile::new(
            "entry-memory-is-the-second",
            second_memory(false).idle_target().bytes(),
            refused("export `memory` is memory 1, expected memory 0"),
        ),
        Hostile::new(
            "entry-memory-is-behind-a-64-bit-one",
            second_memory(true).idle_target().bytes(),
            refused("export `memory` is memory 1, expected memory 0"),
        ),
        Hostile::new(
            "entry-memory-of-a-command-is-the-second",
            {
                let mut parts = second_memory(false);
                export(&mut parts, "_start", &[], &[]);
                parts.bytes()
            },
            refused("export `memory` is memory 1, expected memory 0"),
        ),
    ]
}

/// Two memories, of which the second is exported; the first has 64-bit addresses if `is_wide`.
fn second_memory(is_wide: bool) -> Parts {
    let mut parts = Parts::empty();
    parts.memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: is_wide,
        shared: false,
        page_size_log2: None,
    });
    parts.memory(1, None);
    parts.exports.export("memory", ExportKind::Memory, 1);
    parts
}

fn imported_memory() -> Vec<u8> {
    let mut parts = Parts::empty();
    let ty = MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    };
    parts
        .imports
        .import("env", "memory", EntityType::Memory(ty));
    parts.exports.export("memory", ExportKind::Memory, 0);
    parts.idle_target().bytes()
}

fn names() -> Vec<Hostile> {
    let also = |name: &str, text: &str, expect| {
        case(&format!("name-{name}"), expect, &|p| {
            p.idle_target();
            p.exports.export(text, ExportKind::Func, 0);
        })
    };
    let only = |name: &str, text: &str, fragment| {
        case(&format!("name-{name}"), Expect::Refused(fragment), &|p| {
            let index = p.function(TARGET_TYPE, &[], |f| {
                f.i32_const(0);
            });
            p.exports.export(text, ExportKind::Func, index);
        })
    };
    vec![
        also(
            "reserved",
            "__sandglass_counters",
            Expect::Refused("clashes"),
        ),
        also("reserved-alone", "__sandglass", Expect::Refused("clashes")),
        Hostile::new(
            "import-reserved",
            reserved_import(),
            Expect::Refused("clashes with the names"),
        ),
        also("empty", "", Expect::Ends("valid")),
        also("of-newlines", "\n\n\r\n", Expect::Ends("valid")),
        also(
            "of-100000-bytes",
            &"x".repeat(100_000),
            Expect::Ends("valid"),
        ),
        also(
            "over-100000-bytes",
            &"x".repeat(100_001),
            Expect::Refused("string size out of bounds"),
        ),
        also(
            "with-a-path",
            "../../../../etc/passwd",
            Expect::Ends("valid"),
        ),
        also(
            "with-html",
            "</script><script>alert(1)</script>",
            Expect::Ends("valid"),
        ),
        also("with-zero", "a\0b", Expect::Ends("valid")),
        only(
            "clears-the-screen",
            "\x1b[2J\x1b[1;1H",
            "\\u{1b}[2J\\u{1b}[1;1H",
        ),
        only(
            "sets-the-title",
            "\x1b]0;owned\x07",
            "\\u{1b}]0;owned\\u{7}",
        ),
        only("with-c1-controls", "\u{9b}31m", "\\u{9b}31m"),
        only("overrides-direction", "safe\u{202e}tpircs", "\\u{202e}"),
        only(
            "isolates-direction",
            "\u{2066}x\u{2069}",
            "\\u{2066}x\\u{2069}",
        ),
        only("zero-width", "LLVMFuzzerTest\u{200b}OneInput", "\\u{200b}"),
        only("with-a-newline", "ok\nerror: all is well", "ok\\nerror"),
        case("name-many-exports", Expect::Refused("more"), &|p| {
            let index = p.function(UNIT_TYPE, &[], |_| {});
            for number in 0..50_000 {
                p.exports
                    .export(&format!("function_{number}"), ExportKind::Func, index);
            }
        }),
    ]
}

/// Calls what instrumented code alone may call.
fn reserved_import() -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let ask = parts.import("sandglass:host", "enter", WORD_TYPE);
    parts
        .target(|f| {
            f.i32_const(0).call(ask);
        })
        .bytes()
}

/// Imports that no one grants.
fn wishes() -> Vec<Hostile> {
    let wish = |name: &str, module: &str, field: &str, fragment, ty: EntityType| {
        let mut parts = Parts::empty();
        parts.imports.import(module, field, ty);
        if matches!(ty, EntityType::Function(_)) {
            parts.imported = 1;
        }
        parts.memory(1, None);
        parts.exports.export("memory", ExportKind::Memory, 0);
        Hostile::new(
            format!("import-{name}"),
            parts.idle_target().bytes(),
            Expect::FailsSetUp(fragment),
        )
    };
    let table = TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: 1,
        maximum: None,
        shared: false,
    };
    let global = GlobalType {
        val_type: ValType::I32,
        mutable: true,
        shared: false,
    };
    let tag = wasm_encoder::TagType {
        kind: wasm_encoder::TagKind::Exception,
        func_type_idx: UNIT_TYPE,
    };
    vec![
        wish(
            "unknown-function",
            "env",
            "system",
            "env.system",
            EntityType::Function(WORD_TYPE),
        ),
        wish(
            "unknown-module",
            "wasi:sockets/tcp@0.2.0",
            "connect",
            "connect",
            EntityType::Function(WORD_TYPE),
        ),
        wish(
            "unknown-wasi-function",
            "wasi_snapshot_preview1",
            "proc_fork",
            "proc_fork",
            EntityType::Function(WORD_TYPE),
        ),
        wish(
            "wasi-of-wrong-type",
            "wasi_snapshot_preview1",
            "fd_write",
            "fd_write",
            EntityType::Function(UNIT_TYPE),
        ),
        wish(
            "sandglass-of-wrong-type",
            "sandglass",
            "draw_int",
            "draw_int",
            EntityType::Function(UNIT_TYPE),
        ),
        wish(
            "unknown-sandglass-function",
            "sandglass",
            "escape",
            "escape",
            EntityType::Function(UNIT_TYPE),
        ),
        wish(
            "name-with-escapes",
            "\x1b[31m",
            "\x1b[0m",
            "\\u{1b}[0m",
            EntityType::Function(UNIT_TYPE),
        ),
        wish(
            "empty-names",
            "",
            "",
            "import",
            EntityType::Function(UNIT_TYPE),
        ),
        wish(
            "table",
            "env",
            "__indirect_function_table",
            "__indirect_function_table",
            EntityType::Table(table),
        ),
        wish(
            "global",
            "env",
            "__stack_pointer",
            "__stack_pointer",
            EntityType::Global(global),
        ),
        wish(
            "tag",
            "env",
            "__cpp_exception",
            "__cpp_exception",
            EntityType::Tag(tag),
        ),
        wish(
            "wasi-as-global",
            "wasi_snapshot_preview1",
            "fd_write",
            "fd_write",
            EntityType::Global(global),
        ),
        wish(
            "instrumentation-name",
            "__sandglass",
            "counters",
            "counters",
            EntityType::Function(UNIT_TYPE),
        ),
    ]
}
