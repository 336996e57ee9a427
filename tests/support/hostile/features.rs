//! Modules that need a proposal we refuse, and some that need an unusual one we accept.

use wasm_encoder::{
    BlockType, CompositeInnerType, CompositeType, ContType, ExportKind, MemArg, MemoryType,
    SubType, ValType,
};

use super::build::{Parts, TARGET_TYPE, UNIT_TYPE, target};
use super::{Expect, Hostile};

pub(super) fn all() -> Vec<Hostile> {
    let refused = |name: &str, bytes: Vec<u8>, fragment| {
        Hostile::new(format!("feature-{name}"), bytes, Expect::Refused(fragment))
    };
    let with_memory = |ty: MemoryType| {
        let mut parts = Parts::empty();
        parts.memories.memory(ty);
        parts.exports.export("memory", ExportKind::Memory, 0);
        parts.idle_target().bytes()
    };
    let plain = MemoryType {
        minimum: 1,
        maximum: Some(2),
        memory64: false,
        shared: false,
        page_size_log2: None,
    };
    let word = MemArg {
        offset: 0,
        align: 2,
        memory_index: 0,
    };
    vec![
        refused(
            "legacy-try",
            legacy(&[0x06, 0x40, 0x0b]),
            "-wasm-use-legacy-eh=false",
        ),
        refused(
            "legacy-catch",
            legacy(&[0x06, 0x40, 0x07, 0x00, 0x0b]),
            "-wasm-use-legacy-eh=false",
        ),
        refused(
            "legacy-catch-all",
            legacy(&[0x06, 0x40, 0x19, 0x0b]),
            "-wasm-use-legacy-eh=false",
        ),
        refused(
            "legacy-delegate",
            legacy(&[0x06, 0x40, 0x18, 0x00]),
            "-wasm-use-legacy-eh=false",
        ),
        refused(
            "shared-memory",
            with_memory(MemoryType {
                shared: true,
                ..plain
            }),
            "-pthread",
        ),
        refused(
            "imported-shared-memory",
            imported_shared_memory(),
            "-pthread",
        ),
        refused(
            "atomic-add",
            target(|f| {
                f.i32_const(0).i32_const(1).i32_atomic_rmw_add(word);
            }),
            "-pthread",
        ),
        refused(
            "atomic-wait",
            target(|f| {
                f.i32_const(0)
                    .i32_const(0)
                    .i64_const(-1)
                    .memory_atomic_wait32(word);
            }),
            "-pthread",
        ),
        refused(
            "atomic-fence",
            target(|f| {
                f.atomic_fence().i32_const(0);
            }),
            "-pthread",
        ),
        refused(
            "relaxed-simd",
            target(|f| {
                f.v128_const(0)
                    .i32x4_relaxed_trunc_f32x4_s()
                    .drop()
                    .i32_const(0);
            }),
            "-mno-relaxed-simd",
        ),
        refused(
            "relaxed-madd",
            target(|f| {
                f.v128_const(0)
                    .v128_const(0)
                    .v128_const(0)
                    .f32x4_relaxed_madd()
                    .drop()
                    .i32_const(0);
            }),
            "-mno-relaxed-simd",
        ),
        refused(
            "wide-arithmetic",
            target(|f| {
                f.i64_const(1)
                    .i64_const(2)
                    .i64_mul_wide_u()
                    .drop()
                    .drop()
                    .i32_const(0);
            }),
            "wide arithmetic",
        ),
        refused(
            "page-of-one-byte",
            with_memory(MemoryType {
                page_size_log2: Some(0),
                ..plain
            }),
            "custom page sizes",
        ),
        refused(
            "memory64",
            with_memory(MemoryType {
                memory64: true,
                ..plain
            }),
            "64-bit memory",
        ),
        refused("continuations", continuations(), "stack switching"),
        Hostile::new(
            "feature-multi-memory",
            multi_memory(),
            Expect::Ends("valid"),
        ),
        Hostile::new(
            "feature-second-memory-64-bit",
            second_memory64(),
            Expect::Ends("valid"),
        ),
        Hostile::new("feature-tail-call", tail_call(), Expect::Ends("valid")),
        Hostile::new("feature-try-table", try_table(), Expect::Ends("valid")),
        Hostile::new(
            "feature-gc-structs",
            gc_structs(),
            Expect::Refused("garbage-collected"),
        ),
    ]
}

/// A target whose body begins with these bytes.
fn legacy(bytes: &[u8]) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts.tags.tag(wasm_encoder::TagType {
        kind: wasm_encoder::TagKind::Exception,
        func_type_idx: UNIT_TYPE,
    });
    let mut body = vec![0];
    body.extend_from_slice(bytes);
    body.extend([0x41, 0, 0x0b]);
    let index = parts.raw_function(TARGET_TYPE, &body);
    parts
        .exports
        .export("LLVMFuzzerTestOneInput", ExportKind::Func, index);
    parts.bytes()
}

fn imported_shared_memory() -> Vec<u8> {
    let mut parts = Parts::empty();
    let ty = MemoryType {
        minimum: 1,
        maximum: Some(2),
        memory64: false,
        shared: true,
        page_size_log2: None,
    };
    parts.imports.import("env", "memory", ty);
    parts.idle_target().bytes()
}

fn continuations() -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts.types.ty().subtype(&SubType {
        is_final: true,
        supertype_idx: None,
        composite_type: CompositeType {
            inner: CompositeInnerType::Cont(ContType(UNIT_TYPE)),
            shared: false,
            descriptor: None,
            describes: None,
        },
    });
    parts.idle_target().bytes()
}

fn multi_memory() -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts.memory(1, None);
    parts.memory(0, Some(0));
    parts
        .target(|f| {
            let second = MemArg {
                offset: 8,
                align: 2,
                memory_index: 1,
            };
            f.i32_const(0)
                .i32_const(7)
                .i32_store(second)
                .i32_const(0)
                .i32_load(second)
                .i32_const(7)
                .i32_sub();
        })
        .bytes()
}

fn second_memory64() -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts.memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: true,
        shared: false,
        page_size_log2: None,
    });
    parts
        .target(|f| {
            f.i64_const(16).i32_load(MemArg {
                offset: 1 << 10,
                align: 2,
                memory_index: 1,
            });
        })
        .bytes()
}

fn tail_call() -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let callee = parts.function(TARGET_TYPE, &[], |f| {
        f.i32_const(0);
    });
    parts
        .target(|f| {
            f.local_get(0).local_get(1).return_call(callee);
        })
        .bytes()
}

fn try_table() -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts.tags.tag(wasm_encoder::TagType {
        kind: wasm_encoder::TagKind::Exception,
        func_type_idx: UNIT_TYPE,
    });
    parts
        .target(|f| {
            f.block(BlockType::Empty)
                .try_table(BlockType::Empty, [wasm_encoder::Catch::All { label: 0 }])
                .throw(0)
                .end()
                .end()
                .i32_const(0);
        })
        .bytes()
}

fn gc_structs() -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let index = parts.types.len();
    parts.types.ty().struct_([wasm_encoder::FieldType {
        element_type: wasm_encoder::StorageType::Val(ValType::I32),
        mutable: true,
    }]);
    parts
        .target(|f| {
            f.i32_const(0).struct_new(index).struct_get(index, 0);
        })
        .bytes()
}
