//! Recursion: calls that nest for ever, directly, mutually, by reference and by tail calls.

use wasm_encoder::{BlockType, Catch, ValType};

use super::super::build::{Parts, TARGET_TYPE, target};
use super::super::{Expect, Hostile};
use super::{ends, with_table, with_tag};

pub(super) fn recursion() -> Vec<Hostile> {
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
