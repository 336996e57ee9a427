//! Traps and answers: every way to break, and everything an entry point may return.

use wasm_encoder::{InstructionSink, MemArg, TagKind, TagType};

use super::super::build::{Parts, TARGET_TYPE, UNIT_TYPE, target};
use super::super::{Expect, Hostile};
use super::{END, WORD, ends, with_table, with_tag};

pub(super) fn traps() -> Vec<Hostile> {
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

pub(super) fn results() -> Vec<Hostile> {
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
