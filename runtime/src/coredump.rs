//! Core dumps: where a run ended and what it left, for debuggers.
//!
//! The format is that of WebAssembly's tool conventions
//! (<https://github.com/WebAssembly/tool-conventions/blob/main/Coredump.md>), as wasmtime writes it: a module that is
//! not meant to be run, with the original module's memories in the data section, its globals as constants, and the
//! stack in a custom section. Indices and offsets are those of the original module. Locals and operands are not
//! there: compiled code has no place for them, which the format allows.

use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::{GlobalLeft, MemoryLeft, RawFrame, State};
use wasm_encoder::{
    ConstExpr, CoreDumpInstancesSection, CoreDumpModulesSection, CoreDumpSection,
    CoreDumpStackSection, DataSection, GlobalSection, GlobalType, HeapType, MemorySection,
    MemoryType, Module, ValType,
};

/// Bytes of a page.
const PAGE_BYTES: usize = 1 << 16;

/// The core dump of a run of the module that `name` names. `stack` is innermost first; at most
/// as many frames as replays keep.
pub fn encode(name: &str, symbols: &Symbols, stack: &[RawFrame], state: &State) -> Vec<u8> {
    let mut dump = Module::new();
    dump.section(&CoreDumpSection::new(name));
    let (mut memories, mut data) = (MemorySection::new(), DataSection::new());
    for (index, memory) in (0..).zip(&state.memories) {
        memories.memory(MemoryType {
            minimum: (memory.bytes.len() / PAGE_BYTES) as u64,
            maximum: None,
            memory64: memory.is_64,
            shared: false,
            page_size_log2: None,
        });
        segments(&mut data, index, memory);
    }
    let mut globals = GlobalSection::new();
    for global in &state.globals {
        let (val_type, value) = constant(*global);
        let ty = GlobalType {
            val_type,
            mutable: false,
            shared: false,
        };
        globals.global(ty, &value);
    }
    let mut modules = CoreDumpModulesSection::new();
    modules.module(name);
    let mut instances = CoreDumpInstancesSection::new();
    let all = |count: usize| 0..u32::try_from(count).unwrap_or(u32::MAX);
    instances.instance(0, all(state.memories.len()), all(state.globals.len()));
    let mut thread = CoreDumpStackSection::new("main");
    for frame in stack {
        let start = symbols.function_range(frame.function);
        let start = start.map_or(0, |range| range.start);
        // An unknown place is the function's start, by convention.
        let offset = frame
            .offset
            .map_or(0, |offset| offset.saturating_sub(start));
        thread.frame(0, frame.function, offset, [], []);
    }
    dump.section(&memories).section(&globals).section(&data);
    dump.section(&modules).section(&instances).section(&thread);
    dump.finish()
}

/// What of each page is not zero: pages of a gibibyte are far fewer segments than a module may have.
fn segments(data: &mut DataSection, index: u32, memory: &MemoryLeft) {
    for (page, bytes) in memory.bytes.chunks(PAGE_BYTES).enumerate() {
        let is_set = |byte: &u8| *byte != 0;
        let (Some(first), Some(last)) = (
            bytes.iter().position(is_set),
            bytes.iter().rposition(is_set),
        ) else {
            continue;
        };
        let address = page * PAGE_BYTES + first;
        let address = match memory.is_64 {
            true => ConstExpr::i64_const(address as i64),
            false => ConstExpr::i32_const((address as u32).cast_signed()),
        };
        data.active(index, &address, bytes[first..=last].iter().copied());
    }
}

/// A global's value; references are null, as there is nothing that they could refer to.
fn constant(global: GlobalLeft) -> (ValType, ConstExpr) {
    match global {
        GlobalLeft::I32(value) => (ValType::I32, ConstExpr::i32_const(value)),
        GlobalLeft::I64(value) => (ValType::I64, ConstExpr::i64_const(value)),
        GlobalLeft::F32(bits) => {
            let value = ConstExpr::f32_const(f32::from_bits(bits).into());
            (ValType::F32, value)
        }
        GlobalLeft::F64(bits) => {
            let value = ConstExpr::f64_const(f64::from_bits(bits).into());
            (ValType::F64, value)
        }
        GlobalLeft::V128(value) => (ValType::V128, ConstExpr::v128_const(value.cast_signed())),
        GlobalLeft::Function => (ValType::FUNCREF, ConstExpr::ref_null(HeapType::FUNC)),
        GlobalLeft::Other => (ValType::EXTERNREF, ConstExpr::ref_null(HeapType::EXTERN)),
    }
}
