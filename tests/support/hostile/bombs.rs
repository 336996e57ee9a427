//! Modules that are small to write and huge to compile, instantiate or walk.
//!
//! Those above a limit are refused. Those just below one are accepted, and must compile and run in bounded time: the
//! compiler's own limits may refuse them later, cleanly.

use std::borrow::Cow;

use wasm_encoder::{
    BlockType, CompositeInnerType, CompositeType, ConstExpr, Elements, EntityType, ExportKind,
    GlobalType, InstructionSink, MemArg, MemoryType, RefType, StructType, SubType, TableType,
    ValType,
};

use super::build::{Parts, TARGET_TYPE, UNIT_TYPE, full, raw, target, uleb};
use super::{Expect, Hostile};

pub(super) fn all() -> Vec<Hostile> {
    let mut all = bodies();
    all.extend(near_the_limits());
    all.extend(counts());
    all.extend(sizes());
    all
}

fn bomb(name: &str, bytes: Vec<u8>, fragment: &'static str) -> Hostile {
    Hostile::new(format!("bomb-{name}"), bytes, Expect::Refused(fragment))
}

fn near(name: &str, bytes: Vec<u8>) -> Hostile {
    Hostile::new(format!("near-{name}"), bytes, Expect::Runs)
}

/// A target that declares these many locals, each in its own group when `apart`.
fn locals(count: u32, apart: bool) -> Vec<u8> {
    let groups = if apart {
        vec![(1, ValType::I64); count as usize]
    } else {
        vec![(count, ValType::I64)]
    };
    let mut parts = Parts::with_memory();
    parts
        .target_with(&groups, |f| {
            f.i32_const(0);
        })
        .bytes()
}

/// A target with `depth` nested structures around nothing.
fn nested(depth: usize, kind: &str) -> Vec<u8> {
    target(|f| {
        f.block(BlockType::Empty);
        for _ in 0..depth {
            match kind {
                "block" => f.block(BlockType::Empty),
                "loop" => f.loop_(BlockType::Empty),
                "if" => f.local_get(0).if_(BlockType::Empty),
                _ => f.try_table(BlockType::Empty, [wasm_encoder::Catch::All { label: 0 }]),
            };
        }
        for level in 0..depth {
            // An exit at every level, so that none of them folds away.
            f.local_get(1).br_if((depth - level).min(3) as u32).end();
        }
        f.end().i32_const(0);
    })
}

/// A target with one `br_table` of `entries` targets and a default.
fn br_table(entries: u32) -> Vec<u8> {
    target(|f| {
        f.block(BlockType::Empty)
            .block(BlockType::Empty)
            .local_get(0);
        f.br_table((0..entries).map(|entry| entry & 1), 0);
        f.end().end().i32_const(0);
    })
}

/// A target with `count` locals, all of them used again after `branches` branches: Cranelift's table of definitions
/// has locals × blocks entries.
fn locals_and_branches(count: u32, branches: u32) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts
        .target_with(&[(count, ValType::I32)], |f| {
            for local in 0..count {
                f.local_get(0).local_set(2 + local);
            }
            for _ in 0..branches {
                f.block(BlockType::Empty).local_get(1).br_if(0).end();
            }
            f.i32_const(0);
            for local in 0..count {
                f.local_get(2 + local).i32_xor();
            }
            f.i32_eqz().drop().i32_const(0);
        })
        .bytes()
}

/// A target with `depth` nested loops, in whose heart `count` locals are read and written.
fn loops_and_locals(depth: u32, count: u32) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts
        .target_with(&[(count, ValType::I32)], |f| {
            for _ in 0..depth {
                f.loop_(BlockType::Empty);
            }
            for local in 0..count {
                f.local_get(2 + local)
                    .local_get(0)
                    .i32_add()
                    .local_set(2 + local);
            }
            for _ in 0..depth {
                f.local_get(2).i32_const(3).i32_eq().br_if(0).end();
            }
            f.i32_const(0);
        })
        .bytes()
}

/// A target of `calls` pairs of a call that gives a thousand values and one that takes them.
fn wide_calls(calls: u32) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let gives_type = parts.types.len();
    parts.types.ty().function([], [ValType::I64; 1000]);
    parts.types.ty().function([ValType::I64; 1000], []);
    let gives = parts.function(gives_type, &[], |f| {
        for value in 0..1000 {
            f.i64_const(value);
        }
    });
    let takes = parts.function(gives_type + 1, &[], |_| {});
    parts
        .target(|f| {
            for _ in 0..calls {
                f.call(gives).call(takes);
            }
            f.i32_const(0);
        })
        .bytes()
}

/// A target of `count` nested blocks that each pass on a thousand values.
fn wide_blocks(count: u32) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let ty = parts.types.len();
    parts
        .types
        .ty()
        .function([ValType::I32; 1000], [ValType::I32; 1000]);
    parts
        .target(|f| {
            for _ in 0..1000 {
                f.local_get(0);
            }
            for _ in 0..count {
                f.block(BlockType::FunctionType(ty)).end();
            }
            for _ in 0..1000 {
                f.drop();
            }
            f.i32_const(0);
        })
        .bytes()
}

/// A target with a body of about `bytes` bytes of straight arithmetic.
fn straight(bytes: usize) -> Vec<u8> {
    target(|f| {
        f.local_get(0);
        for number in 0..bytes / 4 {
            f.local_get(1);
            if number % 2 == 0 {
                f.i32_add();
            } else {
                f.i32_xor();
            }
            f.nop();
        }
        f.drop().i32_const(0);
    })
}

/// A target that reads `count` different words of memory and keeps them all alive until the end.
fn all_alive(count: u32) -> Vec<u8> {
    target(|f| {
        for index in 0..count {
            f.i32_const(0).i32_load(MemArg {
                offset: u64::from(index),
                align: 0,
                memory_index: 0,
            });
        }
        for _ in 1..count {
            f.i32_add();
        }
        f.i32_eqz().i32_const(1).i32_gt_u();
    })
}

/// A target with `count` locals, one of which changes in each of `branches` branches: the allocator of registers has
/// to look at all of them again and again.
fn locals_changed(count: u32, branches: u32) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts
        .target_with(&[(count, ValType::I32)], |f| {
            change_locals(f, count, branches)
        })
        .bytes()
}

fn change_locals(f: &mut InstructionSink<'_>, count: u32, branches: u32) {
    for local in 0..count {
        let memarg = MemArg {
            offset: u64::from(local),
            align: 0,
            memory_index: 0,
        };
        f.i32_const(0).i32_load(memarg).local_set(2 + local);
    }
    for branch in 0..branches {
        f.block(BlockType::Empty)
            .local_get(1)
            .br_if(0)
            .local_get(0)
            .local_set(2 + branch % count)
            .end();
    }
    f.i32_const(0);
    for local in 0..count {
        f.local_get(2 + local).i32_xor();
    }
    f.i32_const(-1).i32_eq();
}

/// A hundred functions, each slow to compile and below the limit for one.
fn many_slow_functions() -> Vec<u8> {
    let mut parts = Parts::with_memory();
    for _ in 0..100 {
        parts.function(TARGET_TYPE, &[(20, ValType::I32)], |f| {
            change_locals(f, 20, 10_000)
        });
    }
    parts.idle_target().bytes()
}

fn bodies() -> Vec<Hostile> {
    let overflow = {
        let mut parts = Parts::with_memory();
        let mut body = vec![2];
        body.extend(uleb(u64::from(u32::MAX)));
        body.push(0x7f);
        body.extend(uleb(u64::from(u32::MAX)));
        body.push(0x7f);
        body.extend([0x41, 0, 0x0b]);
        let index = parts.raw_function(TARGET_TYPE, &body);
        parts
            .exports
            .export("LLVMFuzzerTestOneInput", ExportKind::Func, index);
        parts.bytes()
    };
    vec![
        bomb(
            "locals-49901",
            locals(49_899, false),
            "locals, expected at most",
        ),
        bomb(
            "locals-49901-apart",
            locals(49_899, true),
            "locals, expected at most",
        ),
        bomb(
            "locals-4-billion",
            locals(u32::MAX, false),
            "locals, expected at most",
        ),
        bomb("locals-8-billion", overflow, "locals, expected at most"),
        bomb(
            "br-table-million",
            br_table(1_000_000),
            "targets in one `br_table`",
        ),
        bomb(
            "nested-blocks-100000",
            nested(100_000, "block"),
            "nested blocks",
        ),
        bomb(
            "nested-loops-100000",
            nested(100_000, "loop"),
            "nested blocks",
        ),
        bomb("nested-ifs-100000", nested(100_000, "if"), "nested blocks"),
        bomb(
            "nested-try-tables-100000",
            nested(100_000, "try"),
            "nested blocks",
        ),
        bomb(
            "locals-times-branches",
            locals_and_branches(19_000, 100_000),
            "locals times branches",
        ),
        bomb(
            "loops-times-locals",
            loops_and_locals(250, 2_000),
            "estimated compile time",
        ),
        bomb(
            "all-alive",
            all_alive(100_000),
            "values on the operand stack",
        ),
        bomb(
            "locals-changed-in-branches",
            locals_changed(300, 30_000),
            "estimated compile time",
        ),
        bomb(
            "branches-80000",
            locals_changed(1, 80_000),
            "estimated compile time",
        ),
        bomb(
            "estimates-together",
            many_slow_functions(),
            "estimated compile time",
        ),
        bomb("wide-calls", wide_calls(10_000), "values in operators"),
        bomb("wide-blocks", wide_blocks(100_000), "values in operators"),
        bomb("body-3-mib", straight(3 << 20), "bytes, expected at most"),
        bomb(
            "body-8-mib",
            straight(8 << 20),
            "function body size count exceeds limit",
        ),
        bomb(
            "parameters-1001",
            parameters(1001),
            "function params size is out of bounds",
        ),
        bomb(
            "results-1001",
            results(1001),
            "function returns size is out of bounds",
        ),
    ]
}

fn near_the_limits() -> Vec<Hostile> {
    vec![
        near("locals", locals(49_890, true)),
        near("nested-blocks", nested(1_900, "block")),
        near("nested-loops", nested(1_900, "loop")),
        near("nested-ifs", nested(1_900, "if")),
        near("nested-try-tables", nested(1_900, "try")),
        near("br-table", br_table(65_000)),
        near("locals-times-branches", locals_and_branches(100, 5_000)),
        near("loops-times-locals", loops_and_locals(50, 500)),
        near("locals-changed-in-branches", locals_changed(30, 2_500)),
        near("wide-calls", wide_calls(100)),
        near("wide-blocks", wide_blocks(100)),
        near("straight-body", straight(900_000)),
        near("all-alive", all_alive(5_000)),
        near("parameters", parameters(1000)),
        near("results", results(1000)),
        near("functions", functions(10_000)),
    ]
}

fn parameters(count: usize) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let ty = parts.types.len();
    parts
        .types
        .ty()
        .function(vec![ValType::F64; count], [ValType::I32]);
    let index = parts.function(ty, &[], |f| {
        f.i32_const(0);
    });
    parts
        .target(|f| {
            for _ in 0..count {
                f.f64_const(1.5.into());
            }
            f.call(index);
        })
        .bytes()
}

fn results(count: usize) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let ty = parts.types.len();
    parts.types.ty().function([], vec![ValType::F64; count]);
    let index = parts.function(ty, &[], |f| {
        for _ in 0..count {
            f.f64_const(0.5.into());
        }
    });
    parts
        .target(|f| {
            f.call(index);
            for _ in 0..count {
                f.drop();
            }
            f.i32_const(0);
        })
        .bytes()
}

/// Many functions that call one another.
fn functions(count: u32) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    for index in 0..count {
        parts.function(UNIT_TYPE, &[], |f| {
            if index > 0 {
                f.call(index - 1);
            }
        });
    }
    parts.idle_target().bytes()
}

fn counts() -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |name: &str, fragment: &'static str, spoil: &dyn Fn(&mut Parts)| {
        let mut parts = Parts::with_memory();
        parts.idle_target();
        spoil(&mut parts);
        all.push(bomb(name, parts.bytes(), fragment));
    };
    add("types-million", "types, expected at most", &|p| {
        for _ in 0..1_000_000 {
            p.types.ty().function([], []);
        }
    });
    // Ten bytes each.
    add(
        "locals-of-many-functions",
        "locals in all functions, expected at most",
        &|p| {
            for _ in 0..250 {
                p.function(TARGET_TYPE, &[(40_000, ValType::F64)], |f| {
                    f.i32_const(0);
                });
            }
        },
    );
    add("types-in-one-group", "types, expected at most", &|p| {
        p.types.ty().rec((0..60_000).map(|index| SubType {
            is_final: false,
            supertype_idx: None,
            composite_type: CompositeType {
                inner: CompositeInnerType::Struct(StructType {
                    fields: Box::new([field(index)]),
                }),
                shared: false,
                descriptor: None,
                describes: None,
            },
        }));
    });
    add("imports-20000", "imports, expected at most", &|p| {
        for number in 0..20_000 {
            let global = GlobalType {
                val_type: ValType::I32,
                mutable: false,
                shared: false,
            };
            p.imports
                .import("env", &format!("g{number}"), EntityType::Global(global));
        }
    });
    add("functions-300000", "functions, expected at most", &|p| {
        for _ in 0..300_000 {
            p.raw_function(UNIT_TYPE, &[0, 0x0b]);
        }
    });
    add(
        "functions-without-bodies",
        "functions, expected at most",
        &|p| {
            for _ in 0..1_000_000 {
                p.functions.function(UNIT_TYPE);
            }
        },
    );
    add("exports-200000", "exports, expected at most", &|p| {
        for number in 0..200_000 {
            p.exports.export(&number.to_string(), ExportKind::Memory, 0);
        }
    });
    add("globals-100000", "globals, expected at most", &|p| {
        let ty = GlobalType {
            val_type: ValType::I64,
            mutable: true,
            shared: false,
        };
        for _ in 0..100_000 {
            p.globals.global(ty, &ConstExpr::i64_const(-1));
        }
    });
    add("tags-100000", "tags, expected at most", &|p| {
        for _ in 0..100_000 {
            p.tags.tag(wasm_encoder::TagType {
                kind: wasm_encoder::TagKind::Exception,
                func_type_idx: UNIT_TYPE,
            });
        }
    });
    add("memories-1000", "memories, expected at most", &|p| {
        for _ in 0..1000 {
            p.memory(0, None);
        }
    });
    add("tables-1000", "tables, expected at most", &|p| {
        for _ in 0..1000 {
            p.tables.table(funcref_table(0));
        }
    });
    add(
        "element-segments-100000",
        "element segments, expected at most",
        &|p| {
            for _ in 0..100_000 {
                p.elements
                    .declared(Elements::Functions(Cow::Borrowed(&[0])));
            }
        },
    );
    add("elements-5-million", "items in element segments", &|p| {
        p.elements
            .passive(Elements::Functions(Cow::Owned(vec![0; 5_000_000])));
    });
    add(
        "data-segments-200000",
        "data segments, expected at most",
        &|p| {
            for _ in 0..200_000 {
                p.data.passive([]);
            }
        },
    );
    all.push(Hostile::new(
        "bomb-custom-sections-100000",
        custom_sections(),
        Expect::Ends("valid"),
    ));
    all.push(bomb(
        "rec-groups-empty-million",
        raw(&[(1, &empty_groups(1_000_000))]),
        "types, expected at most",
    ));
    all
}

fn field(index: u32) -> wasm_encoder::FieldType {
    wasm_encoder::FieldType {
        element_type: wasm_encoder::StorageType::Val(ValType::Ref(RefType {
            nullable: true,
            heap_type: wasm_encoder::HeapType::Concrete(index),
        })),
        mutable: true,
    }
}

fn funcref_table(minimum: u64) -> TableType {
    TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum,
        maximum: None,
        shared: false,
    }
}

fn custom_sections() -> Vec<u8> {
    let mut bytes = full().bytes();
    for _ in 0..100_000 {
        bytes.extend([0, 2, 1, b'x']);
    }
    bytes
}

fn empty_groups(count: u32) -> Vec<u8> {
    let mut bytes = uleb(u64::from(count));
    for _ in 0..count {
        bytes.extend([0x4e, 0]);
    }
    bytes
}

fn sizes() -> Vec<Hostile> {
    let memory = |name: &str, minimum: u64, memory64: bool| {
        let mut parts = Parts::empty();
        parts.memories.memory(MemoryType {
            minimum,
            maximum: None,
            memory64,
            shared: false,
            page_size_log2: None,
        });
        parts.exports.export("memory", ExportKind::Memory, 0);
        bomb(name, parts.idle_target().bytes(), "at start, the limit is")
    };
    let table = |name: &str, minimum: u64, table64: bool| {
        let mut parts = Parts::with_memory();
        parts.tables.table(TableType {
            table64,
            ..funcref_table(minimum)
        });
        bomb(name, parts.idle_target().bytes(), "table elements at start")
    };
    let mut sum = Parts::with_memory();
    for _ in 0..5 {
        sum.memory(1000, None);
    }
    let mut maximum = Parts::empty();
    maximum.memory(1, Some(65_536));
    maximum.exports.export("memory", ExportKind::Memory, 0);
    vec![
        memory("memory-4-gib", 65_536, false),
        memory("memory-just-over", 4_097, false),
        memory("memory-of-too-many-pages", 65_537, false),
        memory("memory-16-eib", 1 << 48, true),
        memory("memory-overflowing", u64::MAX, true),
        bomb(
            "memories-together",
            sum.idle_target().bytes(),
            "at start, the limit is",
        ),
        Hostile::new(
            "bomb-maximum-4-gib",
            maximum.idle_target().bytes(),
            Expect::Ends("valid"),
        ),
        table("table-10-million", 10_000_000, false),
        table("table-4-billion", u64::from(u32::MAX), false),
        table("table-64-bit", u64::MAX, true),
    ]
}
