//! Valid modules that misbehave when they run: loops, recursion, growth, traps, exits, and calls to WASI with lies.

use std::borrow::Cow;

use wasm_encoder::{
    BlockType, Catch, ConstExpr, Elements, ExportKind, GlobalType, InstructionSink, MemArg,
    RefType, TableType, TagKind, TagType, ValType,
};

use super::build::{Parts, TARGET_TYPE, UNIT_TYPE, WORD_TYPE, target};
use super::{Expect, Hostile};

pub(super) fn all() -> Vec<Hostile> {
    let mut all = loops();
    all.extend(recursion());
    all.extend(growth());
    all.extend(traps());
    all.extend(results());
    all.extend(set_up());
    all.extend(wasi());
    all
}

fn ends(name: &str, bytes: Vec<u8>, kind: &'static str) -> Hostile {
    Hostile::new(name, bytes, Expect::Ends(kind))
}

/// Pages that a guest without `malloc` is given for its input.
const INPUT_PAGES: i32 = 16;
/// Where the memory of such a guest ends, if it had one page.
const END: i32 = (1 + INPUT_PAGES) << 16;

const WORD: MemArg = MemArg {
    offset: 0,
    align: 2,
    memory_index: 0,
};

fn with_tag(body: impl FnOnce(&mut InstructionSink<'_>)) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts.tags.tag(TagType {
        kind: TagKind::Exception,
        func_type_idx: UNIT_TYPE,
    });
    parts.target(body).bytes()
}

fn with_table(minimum: u64, body: impl FnOnce(&mut InstructionSink<'_>)) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    parts.tables.table(TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum,
        maximum: None,
        shared: false,
    });
    parts.target(body);
    parts.elements.active(
        None,
        &ConstExpr::i32_const(0),
        Elements::Functions(Cow::Borrowed(&[0])),
    );
    parts.bytes()
}

/// Endless loops of every shape. Each passes the same block again and again, some of them without any operator.
fn loops() -> Vec<Hostile> {
    let looped = |name: &str, body: &dyn Fn(&mut InstructionSink<'_>)| {
        let bytes = target(|f| {
            body(f);
            f.unreachable();
        });
        ends(&format!("loop-{name}"), bytes, "hang")
    };
    vec![
        looped("of-nothing", &|f| {
            f.loop_(BlockType::Empty).br(0).end();
        }),
        looped("by-br-if", &|f| {
            f.loop_(BlockType::Empty).i32_const(1).br_if(0).end();
        }),
        looped("by-br-table", &|f| {
            f.loop_(BlockType::Empty)
                .local_get(0)
                .br_table([0, 0, 0], 0)
                .end();
        }),
        looped("by-if", &|f| {
            f.loop_(BlockType::Empty)
                .local_get(1)
                .if_(BlockType::Empty)
                .br(1)
                .else_()
                .br(1)
                .end()
                .end();
        }),
        looped("nested", &|f| {
            f.loop_(BlockType::Empty)
                .loop_(BlockType::Empty)
                .loop_(BlockType::Empty)
                .local_get(1)
                .br_if(2)
                .br(1)
                .end()
                .end()
                .end();
        }),
        looped("from-inner-block", &|f| {
            f.loop_(BlockType::Empty)
                .block(BlockType::Empty)
                .block(BlockType::Empty)
                .br(2)
                .end()
                .end()
                .end();
        }),
        looped("with-value", &|f| {
            f.i32_const(0)
                .loop_(BlockType::FunctionType(WORD_TYPE))
                .i32_const(1)
                .i32_add()
                .br(0)
                .end()
                .drop();
        }),
        looped("counting-64-bits", &|f| {
            f.loop_(BlockType::Empty)
                .i32_const(0)
                .i32_const(0)
                .i64_load(MemArg { align: 3, ..WORD })
                .i64_const(1)
                .i64_add()
                .i64_store(MemArg { align: 3, ..WORD })
                .br(0)
                .end();
        }),
        looped("dividing", &|f| {
            f.loop_(BlockType::Empty)
                .i32_const(7)
                .local_get(1)
                .i32_div_u()
                .drop()
                .br(0)
                .end();
        }),
        looped("filling-memory", &|f| {
            f.loop_(BlockType::Empty)
                .i32_const(0)
                .i32_const(1)
                .i32_const(65_536)
                .memory_fill(0)
                .br(0)
                .end();
        }),
        looped("copying-memory", &|f| {
            f.loop_(BlockType::Empty)
                .i32_const(1)
                .i32_const(0)
                .i32_const(65_535)
                .memory_copy(0, 0)
                .br(0)
                .end();
        }),
        looped("growing-by-nothing", &|f| {
            f.loop_(BlockType::Empty)
                .i32_const(0)
                .memory_grow(0)
                .drop()
                .br(0)
                .end();
        }),
        looped("asking-size", &|f| {
            f.loop_(BlockType::Empty).memory_size(0).drop().br(0).end();
        }),
        ends(
            "loop-by-exceptions",
            with_tag(|f| {
                f.loop_(BlockType::Empty)
                    .try_table(BlockType::Empty, [Catch::All { label: 0 }])
                    .throw(0)
                    .end()
                    .end()
                    .i32_const(0);
            }),
            "hang",
        ),
        ends(
            "loop-of-calls",
            {
                let mut parts = Parts::with_memory();
                let callee = parts.function(UNIT_TYPE, &[], |_| {});
                parts
                    .target(|f| {
                        f.loop_(BlockType::Empty)
                            .call(callee)
                            .br(0)
                            .end()
                            .unreachable();
                    })
                    .bytes()
            },
            "hang",
        ),
        ends(
            "loop-of-throws-in-callee",
            {
                let mut parts = Parts::with_memory();
                parts.tags.tag(TagType {
                    kind: TagKind::Exception,
                    func_type_idx: UNIT_TYPE,
                });
                let callee = parts.function(UNIT_TYPE, &[], |f| {
                    f.throw(0);
                });
                parts
                    .target(|f| {
                        f.loop_(BlockType::Empty)
                            .try_table(BlockType::Empty, [Catch::All { label: 0 }])
                            .call(callee)
                            .end()
                            .end()
                            .i32_const(0);
                    })
                    .bytes()
            },
            "hang",
        ),
        Hostile::new(
            "loop-of-allocations",
            {
                let mut parts = Parts::with_memory();
                let index = parts.types.len();
                parts.types.ty().array(&wasm_encoder::StorageType::I8, true);
                parts
                    .target(|f| {
                        f.loop_(BlockType::Empty)
                            .i32_const(1000)
                            .array_new_default(index)
                            .drop()
                            .br(0)
                            .end();
                        f.unreachable();
                    })
                    .bytes()
            },
            Expect::Refused("garbage-collected"),
        ),
    ]
}

fn recursion() -> Vec<Hostile> {
    let this = 0;
    let mutual = {
        let mut parts = Parts::with_memory();
        parts.function(TARGET_TYPE, &[], |f| {
            f.local_get(0).local_get(1).call(1);
        });
        parts
            .target(|f| {
                f.local_get(0).local_get(1).call(0);
            })
            .bytes()
    };
    let tail_mutual = {
        let mut parts = Parts::with_memory();
        parts.function(TARGET_TYPE, &[], |f| {
            f.local_get(1).local_get(0).return_call(1);
        });
        parts
            .target(|f| {
                f.local_get(1).local_get(0).return_call(0);
            })
            .bytes()
    };
    let big_frames = {
        let mut parts = Parts::with_memory();
        // Two thousand live values a frame: the native stack ends long before ten thousand calls.
        parts
            .target_with(&[(2_000, ValType::I64)], |f| {
                for local in 0..2_000 {
                    f.local_get(0)
                        .i64_extend_i32_u()
                        .i64_const(local)
                        .i64_add()
                        .local_set(2 + local as u32);
                }
                f.local_get(0).local_get(1).call(0).i64_extend_i32_u();
                for local in 0..2_000 {
                    f.local_get(2 + local).i64_xor();
                }
                f.i32_wrap_i64();
            })
            .bytes()
    };
    let many_arguments = {
        let mut parts = Parts::with_memory();
        let ty = parts.types.len();
        parts
            .types
            .ty()
            .function([ValType::I64; 1000], [ValType::I32]);
        parts.function(ty, &[], |f| {
            for local in 0..1000 {
                f.local_get(local);
            }
            f.call(0);
        });
        parts
            .target(|f| {
                for value in 0..1000 {
                    f.i64_const(value);
                }
                f.call(0);
            })
            .bytes()
    };
    let catching = with_tag(|f| {
        // Catches whatever happens below and calls itself again.
        f.loop_(BlockType::Empty)
            .try_table(BlockType::Empty, [Catch::All { label: 0 }])
            .local_get(0)
            .local_get(1)
            .call(this)
            .drop()
            .throw(0)
            .end()
            .end()
            .i32_const(0);
    });
    vec![
        ends(
            "recursion-endless",
            target(|f| {
                f.local_get(0).local_get(1).call(this);
            }),
            "stack-overflow",
        ),
        ends("recursion-mutual", mutual, "stack-overflow"),
        ends(
            "recursion-indirect",
            with_table(1, |f| {
                f.local_get(0)
                    .local_get(1)
                    .i32_const(0)
                    .call_indirect(0, TARGET_TYPE);
            }),
            "stack-overflow",
        ),
        Hostile::new(
            "recursion-by-reference",
            with_table(1, |f| {
                f.local_get(0)
                    .local_get(1)
                    .ref_func(this)
                    .call_ref(TARGET_TYPE);
            }),
            Expect::Refused("function references"),
        ),
        ends(
            "recursion-by-tail-calls",
            target(|f| {
                f.local_get(0).local_get(1).return_call(this);
            }),
            "hang",
        ),
        ends("recursion-by-mutual-tail-calls", tail_mutual, "hang"),
        ends(
            "recursion-by-indirect-tail-calls",
            with_table(1, |f| {
                f.local_get(0)
                    .local_get(1)
                    .i32_const(0)
                    .return_call_indirect(0, TARGET_TYPE);
            }),
            "hang",
        ),
        // Ten thousand calls of ten thousand operators: the fuel ends before the depth.
        ends("recursion-with-big-frames", big_frames, "hang"),
        ends(
            "recursion-with-many-arguments",
            many_arguments,
            "stack-overflow",
        ),
        Hostile::new("recursion-catching-everything", catching, Expect::Runs),
        ends(
            "recursion-exponential",
            target(|f| {
                // 2^40 calls, never more than 40 deep.
                f.local_get(1)
                    .i32_const(56)
                    .i32_ge_u()
                    .if_(BlockType::Empty)
                    .i32_const(0)
                    .return_()
                    .end()
                    .local_get(0)
                    .local_get(1)
                    .i32_const(1)
                    .i32_add()
                    .call(this)
                    .drop()
                    .local_get(0)
                    .local_get(1)
                    .i32_const(1)
                    .i32_add()
                    .call(this);
            }),
            "hang",
        ),
    ]
}

fn growth() -> Vec<Hostile> {
    vec![
        // Grows until growing fails, then stores beyond its end.
        ends(
            "growth-to-the-limit-then-trap",
            target(|f| {
                f.loop_(BlockType::Empty)
                    .i32_const(16)
                    .memory_grow(0)
                    .i32_const(-1)
                    .i32_ne()
                    .br_if(0)
                    .end()
                    .unreachable();
            }),
            "oom",
        ),
        ends(
            "growth-refused-and-accepted",
            target(|f| {
                f.i32_const(65_535).memory_grow(0).i32_const(-1).i32_ne();
            }),
            "valid",
        ),
        ends(
            "growth-for-ever",
            target(|f| {
                f.loop_(BlockType::Empty)
                    .i32_const(1)
                    .memory_grow(0)
                    .drop()
                    .br(0)
                    .end()
                    .unreachable();
            }),
            "hang",
        ),
        Hostile::new(
            "growth-of-a-table",
            with_table(1, |f| {
                f.loop_(BlockType::Empty)
                    .ref_null(wasm_encoder::HeapType::FUNC)
                    .i32_const(1_000_000)
                    .table_grow(0)
                    .i32_const(-1)
                    .i32_ne()
                    .br_if(0)
                    .end()
                    .i32_const(0);
            }),
            Expect::Runs,
        ),
        Hostile::new(
            "growth-of-arrays",
            {
                let mut parts = Parts::with_memory();
                let index = parts.types.len();
                parts.types.ty().array(&wasm_encoder::StorageType::I8, true);
                parts
                    .target(|f| {
                        f.i32_const(-1)
                            .array_new_default(index)
                            .array_len()
                            .drop()
                            .i32_const(0);
                    })
                    .bytes()
            },
            Expect::Refused("garbage-collected"),
        ),
        ends(
            "drops-its-segments",
            {
                let mut parts = Parts::with_memory();
                parts.tables.table(TableType {
                    element_type: RefType::FUNCREF,
                    table64: false,
                    minimum: 1,
                    maximum: None,
                    shared: false,
                });
                parts.target(|f| {
                    // Works once only, unless what was dropped comes back.
                    f.i32_const(0)
                        .i32_const(0)
                        .i32_const(4)
                        .memory_init(0, 0)
                        .data_drop(0);
                    f.i32_const(0)
                        .i32_const(0)
                        .i32_const(1)
                        .table_init(0, 0)
                        .elem_drop(0);
                    f.i32_const(0);
                });
                parts
                    .elements
                    .passive(Elements::Functions(Cow::Borrowed(&[0])));
                parts.data_count = Some(1);
                parts.data.passive(*b"data");
                parts.bytes()
            },
            "valid",
        ),
        ends(
            "remembers-in-everything",
            {
                let mut parts = Parts::with_memory();
                let global = GlobalType {
                    val_type: ValType::I64,
                    mutable: true,
                    shared: false,
                };
                parts.globals.global(global, &ConstExpr::i64_const(0));
                parts
                    .target(|f| {
                        // Returns 7 when anything is left of an earlier run.
                        f.global_get(0)
                            .i64_eqz()
                            .i32_eqz()
                            .i32_const(65_532)
                            .i32_load(WORD)
                            .i32_or()
                            .memory_size(0)
                            .i32_const(1 + INPUT_PAGES)
                            .i32_ne()
                            .i32_or()
                            .if_(BlockType::Empty)
                            .i32_const(7)
                            .return_()
                            .end();
                        f.i64_const(1).global_set(0);
                        f.i32_const(65_532).i32_const(1).i32_store(WORD);
                        f.i32_const(0).memory_grow(0).drop();
                        f.i32_const(0);
                    })
                    .bytes()
            },
            "valid",
        ),
    ]
}

fn traps() -> Vec<Hostile> {
    let trap = |name: &str, body: &dyn Fn(&mut InstructionSink<'_>)| {
        ends(&format!("trap-{name}"), target(|f| body(f)), "trap")
    };
    vec![
        trap("unreachable", &|f| {
            f.unreachable();
        }),
        trap("division-by-zero", &|f| {
            f.i32_const(1).i32_const(0).i32_div_s();
        }),
        trap("remainder-by-zero", &|f| {
            f.i64_const(1).i64_const(0).i64_rem_u().i32_wrap_i64();
        }),
        trap("division-overflow", &|f| {
            f.i32_const(i32::MIN).i32_const(-1).i32_div_s();
        }),
        trap("conversion-of-nan", &|f| {
            f.f64_const(f64::NAN.into()).i32_trunc_f64_s();
        }),
        trap("conversion-out-of-range", &|f| {
            f.f32_const(1e30.into()).i32_trunc_f32_u();
        }),
        trap("load-beyond-memory", &|f| {
            f.i32_const(END - 3).i32_load(WORD);
        }),
        trap("load-at-4-gib", &|f| {
            f.i32_const(-1).i32_load(MemArg {
                offset: u64::from(u32::MAX),
                align: 0,
                memory_index: 0,
            });
        }),
        trap("store-beyond-memory", &|f| {
            f.i32_const(-4).i32_const(1).i32_store(WORD).i32_const(0);
        }),
        trap("store-across-the-end", &|f| {
            f.i32_const(END - 1)
                .i64_const(-1)
                .i64_store(MemArg { align: 0, ..WORD })
                .i32_const(0);
        }),
        trap("fill-beyond-memory", &|f| {
            f.i32_const(1)
                .i32_const(0)
                .i32_const(END)
                .memory_fill(0)
                .i32_const(0);
        }),
        trap("copy-of-4-gib", &|f| {
            f.i32_const(0)
                .i32_const(0)
                .i32_const(-1)
                .memory_copy(0, 0)
                .i32_const(0);
        }),
        ends(
            "trap-call-of-null",
            with_table(2, |f| {
                f.local_get(0)
                    .local_get(1)
                    .i32_const(1)
                    .call_indirect(0, TARGET_TYPE);
            }),
            "trap",
        ),
        ends(
            "trap-call-beyond-table",
            with_table(2, |f| {
                f.local_get(0)
                    .local_get(1)
                    .i32_const(-1)
                    .call_indirect(0, TARGET_TYPE);
            }),
            "trap",
        ),
        ends(
            "trap-call-of-wrong-type",
            with_table(2, |f| {
                f.i32_const(0).call_indirect(0, UNIT_TYPE).i32_const(0);
            }),
            "trap",
        ),
        Hostile::new(
            "trap-call-of-null-reference",
            target(|f| {
                f.local_get(0)
                    .local_get(1)
                    .ref_null(wasm_encoder::HeapType::Concrete(TARGET_TYPE))
                    .call_ref(TARGET_TYPE);
            }),
            Expect::Refused("function references"),
        ),
        ends(
            "trap-uncaught-exception",
            with_tag(|f| {
                f.throw(0);
            }),
            "trap",
        ),
        ends(
            "trap-exception-through-frames",
            {
                let mut parts = Parts::with_memory();
                parts.tags.tag(TagType {
                    kind: TagKind::Exception,
                    func_type_idx: UNIT_TYPE,
                });
                parts.function(UNIT_TYPE, &[], |f| {
                    f.throw(0);
                });
                parts.function(UNIT_TYPE, &[], |f| {
                    f.call(0);
                });
                parts
                    .target(|f| {
                        f.call(1).i32_const(0);
                    })
                    .bytes()
            },
            "trap",
        ),
    ]
}

fn results() -> Vec<Hostile> {
    let returns = |value: i32, kind| {
        let bytes = target(|f| {
            f.i32_const(value);
        });
        ends(&format!("returns-{value}"), bytes, kind)
    };
    vec![
        returns(0, "valid"),
        returns(-1, "invalid"),
        returns(1, "harness-error"),
        returns(7, "harness-error"),
        returns(-2, "harness-error"),
        returns(i32::MIN, "harness-error"),
        returns(i32::MAX, "harness-error"),
    ]
}

/// A function exported as `name`, beside an idle target.
fn beside(name: &str, ty: u32, body: impl FnOnce(&mut InstructionSink<'_>)) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let index = parts.function(ty, &[], body);
    parts.exports.export(name, ExportKind::Func, index);
    parts.idle_target().bytes()
}

/// What goes wrong before the snapshot.
fn set_up() -> Vec<Hostile> {
    let fails = |name: &str, bytes, fragment| {
        Hostile::new(
            format!("set-up-{name}"),
            bytes,
            Expect::FailsSetUp(fragment),
        )
    };
    let start = |body: &dyn Fn(&mut InstructionSink<'_>)| {
        let mut parts = Parts::with_memory();
        let index = parts.function(UNIT_TYPE, &[], |f| body(f));
        parts.start = Some(index);
        parts.idle_target().bytes()
    };
    let endless = |f: &mut InstructionSink<'_>| {
        f.loop_(BlockType::Empty).br(0).end();
    };
    vec![
        fails(
            "start-traps",
            start(&|f| {
                f.unreachable();
            }),
            "start",
        ),
        fails("start-loops", start(&endless), "start"),
        fails(
            "start-recurses",
            start(&|f| {
                f.call(0);
            }),
            "start",
        ),
        fails(
            "initialize-traps",
            beside("_initialize", UNIT_TYPE, |f| {
                f.unreachable();
            }),
            "_initialize",
        ),
        fails(
            "initialize-loops",
            beside("_initialize", UNIT_TYPE, endless),
            "_initialize",
        ),
        fails(
            "setup-loops",
            beside("sandglass_setup", UNIT_TYPE, endless),
            "sandglass_setup",
        ),
        fails(
            "fuzzer-initialize-traps",
            beside("LLVMFuzzerInitialize", TARGET_TYPE, |f| {
                f.unreachable();
            }),
            "LLVMFuzzerInitialize",
        ),
        Hostile::new(
            "set-up-malloc-returns-minus-one",
            malloc(-1),
            Expect::FailsSetUp("no room"),
        ),
        Hostile::new(
            "set-up-malloc-returns-null",
            malloc(0),
            Expect::FailsSetUp("no room"),
        ),
        Hostile::new(
            "set-up-malloc-returns-last-byte",
            malloc(65_535),
            Expect::FailsSetUp("no room"),
        ),
    ]
}

/// A target with an allocator that always returns this.
fn malloc(value: i32) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let index = parts.function(WORD_TYPE, &[], |f| {
        f.i32_const(value);
    });
    parts.exports.export("malloc", ExportKind::Func, index);
    let ty = parts.types.len();
    parts.types.ty().function([ValType::I32], []);
    let index = parts.function(ty, &[], |_| {});
    parts.exports.export("free", ExportKind::Func, index);
    parts.idle_target().bytes()
}

/// A target that calls a function of WASI with these types in `body`, as function 0.
fn calls(
    name: &str,
    params: &[ValType],
    results: &[ValType],
    body: impl FnOnce(&mut InstructionSink<'_>),
) -> Vec<u8> {
    let mut parts = Parts::empty();
    let ty = parts.types.len();
    parts
        .types
        .ty()
        .function(params.iter().copied(), results.iter().copied());
    parts.import("wasi_snapshot_preview1", name, ty);
    parts.memory(1, None);
    parts.exports.export("memory", ExportKind::Memory, 0);
    parts.target(body).bytes()
}

fn wasi() -> Vec<Hostile> {
    use ValType::{I32, I64};
    let exit = |code: i32, name: &str, kind| {
        let bytes = calls("proc_exit", &[I32], &[], |f| {
            f.i32_const(code).call(0).i32_const(0);
        });
        ends(name, bytes, kind)
    };
    let in_start = {
        let mut parts = Parts::empty();
        let ty = parts.types.len();
        parts.types.ty().function([I32], []);
        parts.import("wasi_snapshot_preview1", "proc_exit", ty);
        parts.memory(1, None);
        parts.exports.export("memory", ExportKind::Memory, 0);
        let index = parts.function(UNIT_TYPE, &[], |f| {
            f.i32_const(1).call(0);
        });
        parts.exports.export("_initialize", ExportKind::Func, index);
        parts.idle_target().bytes()
    };
    vec![
        exit(0, "exit-0", "exit-code"),
        exit(1, "exit-1", "exit-code"),
        exit(-1, "exit-minus-1", "exit-code"),
        exit(134, "exit-134", "exit-code"),
        Hostile::new(
            "exit-in-initialize",
            in_start,
            Expect::FailsSetUp("_initialize"),
        ),
        ends(
            "output-without-end",
            calls("fd_write", &[I32; 4], &[I32], |f| {
                // One vector of 60,000 bytes, written for ever.
                f.i32_const(0).i32_const(16).i32_store(WORD);
                f.i32_const(4).i32_const(60_000).i32_store(WORD);
                f.loop_(BlockType::Empty);
                f.i32_const(1)
                    .i32_const(0)
                    .i32_const(1)
                    .i32_const(8)
                    .call(0)
                    .drop()
                    .br(0)
                    .end();
                f.unreachable();
            }),
            "output-limit",
        ),
        Hostile::new(
            "output-of-nothing-without-end",
            calls("fd_write", &[I32; 4], &[I32], |f| {
                f.loop_(BlockType::Empty);
                f.i32_const(1)
                    .i32_const(0)
                    .i32_const(0)
                    .i32_const(8)
                    .call(0)
                    .drop()
                    .br(0)
                    .end();
                f.unreachable();
            }),
            Expect::Ends("hang"),
        ),
        Hostile::new(
            "output-of-4-billion-vectors",
            calls("fd_write", &[I32; 4], &[I32], |f| {
                f.i32_const(1)
                    .i32_const(0)
                    .i32_const(-1)
                    .i32_const(8)
                    .call(0)
                    .drop()
                    .i32_const(0);
            }),
            Expect::Runs,
        ),
        Hostile::new(
            "output-from-beyond-memory",
            calls("fd_write", &[I32; 4], &[I32], |f| {
                f.i32_const(0).i32_const(65_530).i32_store(WORD);
                f.i32_const(4).i32_const(-1).i32_store(WORD);
                f.i32_const(1)
                    .i32_const(0)
                    .i32_const(1)
                    .i32_const(8)
                    .call(0)
                    .drop()
                    .i32_const(0);
            }),
            Expect::Runs,
        ),
        Hostile::new(
            "output-with-terminal-escapes",
            calls("fd_write", &[I32; 4], &[I32], |f| {
                f.i32_const(16)
                    .i32_const(i32::from_le_bytes(*b"\x1b[2J"))
                    .i32_store(WORD);
                f.i32_const(0).i32_const(16).i32_store(WORD);
                f.i32_const(4).i32_const(4).i32_store(WORD);
                f.i32_const(2)
                    .i32_const(0)
                    .i32_const(1)
                    .i32_const(8)
                    .call(0)
                    .drop()
                    .unreachable();
            }),
            Expect::Ends("trap"),
        ),
        Hostile::new(
            "random-beyond-memory",
            calls("random_get", &[I32; 2], &[I32], |f| {
                f.i32_const(8).i32_const(-1).call(0).drop().i32_const(0);
            }),
            Expect::Runs,
        ),
        ends(
            "random-without-end",
            calls("random_get", &[I32; 2], &[I32], |f| {
                f.loop_(BlockType::Empty)
                    .i32_const(0)
                    .i32_const(65_536)
                    .call(0)
                    .drop()
                    .br(0)
                    .end()
                    .unreachable();
            }),
            "hang",
        ),
        ends(
            "clock-waited-for",
            calls("clock_time_get", &[I32, I64, I32], &[I32], |f| {
                // Waits until a million seconds have passed.
                f.loop_(BlockType::Empty)
                    .i32_const(1)
                    .i64_const(1)
                    .i32_const(8)
                    .call(0)
                    .drop()
                    .i32_const(8)
                    .i64_load(MemArg { align: 3, ..WORD })
                    .i64_const(1_000_000_000_000_000)
                    .i64_lt_u()
                    .br_if(0)
                    .end()
                    .i32_const(0);
            }),
            "hang",
        ),
        Hostile::new(
            "path-out-of-the-box",
            calls(
                "path_open",
                &[I32, I32, I32, I32, I32, I64, I64, I32, I32],
                &[I32],
                |f| {
                    f.i32_const(16)
                        .i32_const(i32::from_le_bytes(*b"../."))
                        .i32_store(WORD);
                    f.i32_const(20)
                        .i32_const(i32::from_le_bytes(*b"./et"))
                        .i32_store(WORD);
                    f.i32_const(24)
                        .i32_const(i32::from_le_bytes(*b"c///"))
                        .i32_store(WORD);
                    f.i32_const(3)
                        .i32_const(1)
                        .i32_const(16)
                        .i32_const(12)
                        .i32_const(0);
                    f.i64_const(-1)
                        .i64_const(-1)
                        .i32_const(0)
                        .i32_const(8)
                        .call(0);
                    // Success would be a finding: a harness error of 7.
                    f.i32_eqz().i32_const(7).i32_mul();
                },
            ),
            Expect::Ends("valid"),
        ),
        Hostile::new(
            "read-of-4-billion-vectors",
            calls("fd_read", &[I32; 4], &[I32], |f| {
                f.i32_const(0)
                    .i32_const(0)
                    .i32_const(-1)
                    .i32_const(8)
                    .call(0)
                    .drop()
                    .i32_const(0);
            }),
            Expect::Runs,
        ),
        Hostile::new(
            "poll-for-ever",
            calls("poll_oneoff", &[I32; 4], &[I32], |f| {
                f.i32_const(0)
                    .i32_const(64)
                    .i32_const(1)
                    .i32_const(128)
                    .call(0)
                    .drop()
                    .i32_const(0);
            }),
            Expect::Runs,
        ),
    ]
}
