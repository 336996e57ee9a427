//! Loops: of every shape that never ends, and some that do.

use wasm_encoder::{BlockType, Catch, InstructionSink, MemArg, TagKind, TagType};

use super::super::build::{Parts, UNIT_TYPE, WORD_TYPE, target};
use super::super::{Expect, Hostile};
use super::{WORD, ends, with_tag};

/// Endless loops of every shape. Each passes the same block again and again, some of them without any operator.
pub(super) fn loops() -> Vec<Hostile> {
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
