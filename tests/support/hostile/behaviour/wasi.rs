//! WASI: exits, and calls with arguments that lie.

use wasm_encoder::{BlockType, ExportKind, InstructionSink, MemArg, ValType};

use super::super::build::{Parts, UNIT_TYPE};
use super::super::{Expect, Hostile};
use super::{WORD, ends};

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

pub(super) fn wasi() -> Vec<Hostile> {
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
