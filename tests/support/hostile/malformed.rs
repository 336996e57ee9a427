//! Modules that break one rule of WebAssembly each.

use std::borrow::Cow;

use wasm_encoder::{ConstExpr, Elements, ExportKind, GlobalType, MemArg, ValType};

use super::build::{Parts, TARGET_TYPE, UNIT_TYPE, full, raw, target, uleb};
use super::{Expect, Hostile};

pub(super) fn all() -> Vec<Hostile> {
    let mut all = sections();
    all.extend(counts_that_lie());
    all.extend(indices());
    all.extend(bodies());
    all.extend(segments());
    all
}

fn bad(name: &str, bytes: Vec<u8>, fragment: &'static str) -> Hostile {
    Hostile::new(
        format!("malformed-{name}"),
        bytes,
        Expect::Refused(fragment),
    )
}

fn sections() -> Vec<Hostile> {
    let full = full().bytes();
    let mut overlong = b"\0asm\x01\0\0\0".to_vec();
    overlong.extend([1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]);
    let mut too_large = b"\0asm\x01\0\0\0".to_vec();
    too_large.extend([1, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0]);
    let mut huge = b"\0asm\x01\0\0\0".to_vec();
    huge.extend([10, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    let mut twice = full.clone();
    twice.extend_from_slice(&full[8..]);
    let mut trailing = full.clone();
    trailing.extend([14, 0]);
    vec![
        bad(
            "section-size-of-7-bytes",
            overlong,
            "malformed size of the type section",
        ),
        bad(
            "section-size-over-32-bits",
            too_large,
            "malformed size of the type section",
        ),
        bad("section-size-4-gib", huge, "cut short"),
        bad("all-sections-twice", twice, "section"),
        bad("unknown-section-14", trailing, "malformed section id: 14"),
        bad(
            "unknown-section-127",
            raw(&[(127, b"x")]),
            "malformed section id",
        ),
        bad(
            "sections-out-of-order",
            raw(&[(3, &[0]), (1, &[0])]),
            "section out of order",
        ),
        bad(
            "two-memory-sections",
            raw(&[(5, &[1, 0, 1]), (5, &[1, 0, 1])]),
            "section",
        ),
        bad(
            "junk-after-types",
            raw(&[(1, &[0, 0xde, 0xad])]),
            "section size mismatch",
        ),
        bad("empty-type-section", raw(&[(1, &[])]), "unexpected end"),
        bad("empty-code-section", raw(&[(10, &[])]), "unexpected end"),
        bad(
            "start-section-of-two",
            raw(&[(8, &[0, 0])]),
            "unexpected content",
        ),
        bad(
            "custom-name-longer-than-section",
            raw(&[(0, &[200, 1, b'x'])]),
            "unexpected end",
        ),
        bad(
            "custom-name-not-utf8",
            raw(&[(0, &[2, 0xff, 0xfe])]),
            "malformed UTF-8",
        ),
        bad("custom-section-empty", raw(&[(0, &[])]), "unexpected end"),
    ]
}

/// Every section with a count of four thousand million items that are not there.
fn counts_that_lie() -> Vec<Hostile> {
    (1..=13u8)
        .filter(|id| ![8, 12].contains(id))
        .map(|id| {
            let lie = raw(&[(id, &uleb(u64::from(u32::MAX)))]);
            // Limits or the reader stop it, nobody allocates for it.
            Hostile::new(
                format!("malformed-count-lies-in-section-{id}"),
                lie,
                Expect::Refused("at"),
            )
        })
        .collect()
}

fn indices() -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |name: &str, fragment: &'static str, spoil: &dyn Fn(&mut Parts)| {
        let mut parts = Parts::with_memory();
        parts.idle_target();
        spoil(&mut parts);
        all.push(bad(name, parts.bytes(), fragment));
    };
    add("more-functions-than-bodies", "inconsistent lengths", &|p| {
        p.functions.function(UNIT_TYPE);
    });
    add("more-bodies-than-functions", "inconsistent lengths", &|p| {
        p.code.raw(&[0, 0x0b]);
    });
    add("function-of-unknown-type", "unknown type", &|p| {
        p.raw_function(99, &[0, 0x0b]);
    });
    add("export-twice", "duplicate export name", &|p| {
        p.exports.export("memory", ExportKind::Memory, 0);
    });
    add("export-twice-with-escapes", "\\u{1b}[31m", &|p| {
        p.exports.export("\x1b[31m", ExportKind::Memory, 0);
        p.exports.export("\x1b[31m", ExportKind::Memory, 0);
    });
    add("export-of-unknown-function", "unknown function", &|p| {
        p.exports.export("f", ExportKind::Func, 1_000_000);
    });
    add("export-of-unknown-memory", "unknown memory", &|p| {
        p.exports.export("m", ExportKind::Memory, 7);
    });
    add("export-of-unknown-global", "unknown global", &|p| {
        p.exports.export("g", ExportKind::Global, u32::MAX);
    });
    add("start-of-unknown-function", "unknown function", &|p| {
        p.start = Some(77)
    });
    add(
        "start-with-parameters",
        "invalid start function type",
        &|p| p.start = Some(0),
    );
    add("global-of-wrong-type", "type mismatch", &|p| {
        p.globals.global(
            GlobalType {
                val_type: ValType::I64,
                mutable: false,
                shared: false,
            },
            &ConstExpr::i32_const(0),
        );
    });
    add("global-refers-to-itself", "unknown global", &|p| {
        p.globals.global(
            GlobalType {
                val_type: ValType::I32,
                mutable: false,
                shared: false,
            },
            &ConstExpr::global_get(0),
        );
    });
    add(
        "memory-maximum-below-minimum",
        "size minimum must not be greater than maximum",
        &|p| p.memory(2, Some(1)),
    );
    add("export-name-not-utf8", "malformed UTF-8", &|p| {
        p.exports = wasm_encoder::ExportSection::new();
        p.customs.clear();
        p.exports.export("ab", ExportKind::Memory, 0);
    });
    // wasm-encoder writes text only: spoil the bytes.
    if let Some(last) = all.last_mut() {
        let at = last
            .bytes
            .windows(3)
            .position(|window| window == b"\x02ab")
            .unwrap_or_default();
        last.bytes[at + 1..at + 3].copy_from_slice(&[0xc3, 0x28]);
    }
    all
}

fn bodies() -> Vec<Hostile> {
    let body = |name: &str, bytes: &[u8], fragment| {
        let mut parts = Parts::with_memory();
        let index = parts.raw_function(TARGET_TYPE, bytes);
        parts
            .exports
            .export("LLVMFuzzerTestOneInput", ExportKind::Func, index);
        bad(&format!("body-{name}"), parts.bytes(), fragment)
    };
    let unaligned = target(|f| {
        f.i32_const(0).i32_load(MemArg {
            offset: 0,
            align: 9,
            memory_index: 0,
        });
    });
    vec![
        body("empty", &[], "unexpected end"),
        body("without-end", &[0, 0x41, 0], "control frames remain"),
        body(
            "with-bytes-after-end",
            &[0, 0x41, 0, 0x0b, 0x01],
            "operators remaining after end",
        ),
        body(
            "two-ends",
            &[0, 0x41, 0, 0x0b, 0x0b],
            "operators remaining after end",
        ),
        body("unknown-opcode", &[0, 0xff, 0x0b], "illegal opcode"),
        body(
            "unknown-prefixed-opcode",
            &[0, 0xfc, 0xff, 0x7f, 0x0b],
            "unknown 0xfc subopcode",
        ),
        body(
            "stack-underflow",
            &[0, 0x1a, 0x41, 0, 0x0b],
            "type mismatch",
        ),
        body("wrong-result", &[0, 0x42, 0, 0x0b], "type mismatch"),
        body("nothing-left", &[0, 0x0b], "type mismatch"),
        body("unknown-local", &[0, 0x20, 99, 0x0b], "unknown local"),
        body("unknown-global", &[0, 0x23, 99, 0x0b], "unknown global"),
        body(
            "unknown-function",
            &[0, 0x10, 99, 0x41, 0, 0x0b],
            "unknown function",
        ),
        body(
            "unknown-table",
            &[0, 0x41, 0, 0x11, 0, 9, 0x0b],
            "unknown table",
        ),
        body("branch-too-deep", &[0, 0x0c, 77, 0x0b], "unknown label"),
        body(
            "else-without-if",
            &[0, 0x05, 0x0b],
            "`else` found outside `If` block",
        ),
        body(
            "overlong-constant",
            &[0, 0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x0b],
            "invalid var",
        ),
        body(
            "br-table-count-lies",
            &[0, 0x41, 0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x0b],
            "at offset",
        ),
        body(
            "locals-count-lies",
            &[0xff, 0xff, 0xff, 0xff, 0x0f],
            "at offset",
        ),
        bad(
            "load-aligned-to-512",
            unaligned,
            "alignment must not be larger than natural",
        ),
    ]
}

fn segments() -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |name: &str, fragment: &'static str, spoil: &dyn Fn(&mut Parts)| {
        let mut parts = full();
        spoil(&mut parts);
        all.push(bad(name, parts.bytes(), fragment));
    };
    add("data-beyond-memory", "does not fit", &|p| {
        p.data
            .active(0, &ConstExpr::i32_const(65_530), *b"0123456789");
        p.data_count = Some(2);
    });
    add("data-at-minus-one", "does not fit", &|p| {
        p.data.active(0, &ConstExpr::i32_const(-1), *b"01");
        p.data_count = Some(2);
    });
    add("data-for-unknown-memory", "unknown memory", &|p| {
        p.data.active(5, &ConstExpr::i32_const(0), *b"0");
        p.data_count = Some(2);
    });
    add("data-count-lies", "data count", &|p| {
        p.data_count = Some(1000)
    });
    add("data-offset-of-wrong-type", "type mismatch", &|p| {
        p.data.active(0, &ConstExpr::i64_const(0), *b"0");
        p.data_count = Some(2);
    });
    add("elements-beyond-table", "does not fit", &|p| {
        p.elements.active(
            None,
            &ConstExpr::i32_const(1),
            Elements::Functions(Cow::Borrowed(&[1, 2])),
        );
    });
    add("elements-at-minus-one", "does not fit", &|p| {
        p.elements.active(
            None,
            &ConstExpr::i32_const(-1),
            Elements::Functions(Cow::Borrowed(&[1])),
        );
    });
    add("elements-for-unknown-table", "unknown table", &|p| {
        p.elements.active(
            Some(9),
            &ConstExpr::i32_const(0),
            Elements::Functions(Cow::Borrowed(&[1])),
        );
    });
    add("element-unknown-function", "unknown function", &|p| {
        p.elements
            .passive(Elements::Functions(Cow::Borrowed(&[u32::MAX])));
    });
    all
}
