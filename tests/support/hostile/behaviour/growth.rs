//! Growth: memories and tables that grow, are refused, and shrink with the reset.

use std::borrow::Cow;

use wasm_encoder::{BlockType, ConstExpr, Elements, GlobalType, RefType, TableType, ValType};

use super::super::build::{Parts, target};
use super::super::{Expect, Hostile};
use super::{INPUT_PAGES, WORD, ends, with_table};

pub(super) fn growth() -> Vec<Hostile> {
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
