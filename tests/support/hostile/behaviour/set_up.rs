//! Set-up: what goes wrong before the snapshot.

use wasm_encoder::{BlockType, ExportKind, InstructionSink, ValType};

use super::super::build::{Parts, TARGET_TYPE, UNIT_TYPE, WORD_TYPE};
use super::super::{Expect, Hostile};

/// A function exported as `name`, beside an idle target.
fn beside(name: &str, ty: u32, body: impl FnOnce(&mut InstructionSink<'_>)) -> Vec<u8> {
    let mut parts = Parts::with_memory();
    let index = parts.function(ty, &[], body);
    parts.exports.export(name, ExportKind::Func, index);
    parts.idle_target().bytes()
}

/// What goes wrong before the snapshot.
pub(super) fn set_up() -> Vec<Hostile> {
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
            malloc(-1).idle_target().bytes(),
            Expect::FailsSetUp("no room"),
        ),
        Hostile::new(
            "set-up-malloc-returns-null",
            malloc(0).idle_target().bytes(),
            Expect::FailsSetUp("no room"),
        ),
        Hostile::new(
            "set-up-malloc-returns-last-byte",
            malloc(65_535).idle_target().bytes(),
            Expect::FailsSetUp("no room"),
        ),
        Hostile::new(
            "set-up-malloc-returns-minus-four-for-arguments",
            initialized(malloc(-4)).idle_target().bytes(),
            Expect::FailsSetUp("no room"),
        ),
        Hostile::new(
            "set-up-malloc-has-no-room-for-arguments",
            initialized(allocating(Parts::with_memory(), |f| {
                // 32 bytes are what the arguments take.
                f.local_get(0).i32_const(32).i32_eq();
                f.if_(BlockType::Result(ValType::I32));
                f.i32_const(-4).else_().i32_const(1024).end();
            }))
            .idle_target()
            .bytes(),
            Expect::Ends("valid"),
        ),
        Hostile::new(
            "set-up-malloc-without-a-memory",
            {
                let mut parts = initialized(allocating(Parts::empty(), |f| {
                    f.i32_const(65_536);
                }));
                let ty = parts.types.len();
                parts.types.ty().function([], [ValType::I32]);
                let index = parts.function(ty, &[], |f| {
                    f.i32_const(0);
                });
                parts
                    .exports
                    .export("sandglass_property", ExportKind::Func, index);
                parts.bytes()
            },
            Expect::Ends("valid"),
        ),
    ]
}

/// A module with an allocator that always returns this.
fn malloc(value: i32) -> Parts {
    allocating(Parts::with_memory(), |f| {
        f.i32_const(value);
    })
}

/// Exports a `malloc` with this body, and a `free`.
fn allocating(mut parts: Parts, malloc: impl FnOnce(&mut InstructionSink<'_>)) -> Parts {
    let index = parts.function(WORD_TYPE, &[], malloc);
    parts.exports.export("malloc", ExportKind::Func, index);
    let ty = parts.types.len();
    parts.types.ty().function([ValType::I32], []);
    let index = parts.function(ty, &[], |_| {});
    parts.exports.export("free", ExportKind::Func, index);
    parts
}

/// Exports a `LLVMFuzzerInitialize` that expects no arguments.
fn initialized(mut parts: Parts) -> Parts {
    let index = parts.function(TARGET_TYPE, &[], |f| {
        f.local_get(0).local_get(1).i32_or().if_(BlockType::Empty);
        f.unreachable().end().i32_const(0);
    });
    parts
        .exports
        .export("LLVMFuzzerInitialize", ExportKind::Func, index);
    parts
}
