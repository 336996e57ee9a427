//! Valid modules that misbehave when they run: loops, recursion, growth, traps, exits, and calls to WASI with lies.

mod growth;
mod loops;
mod recursion;
mod set_up;
mod traps;
mod wasi;

use std::borrow::Cow;

use wasm_encoder::{
    ConstExpr, Elements, InstructionSink, MemArg, RefType, TableType, TagKind, TagType,
};

use super::build::{Parts, UNIT_TYPE};
use super::{Expect, Hostile};

pub(super) fn all() -> Vec<Hostile> {
    let mut all = loops::loops();
    all.extend(recursion::recursion());
    all.extend(growth::growth());
    all.extend(traps::traps());
    all.extend(traps::results());
    all.extend(set_up::set_up());
    all.extend(wasi::wasi());
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
