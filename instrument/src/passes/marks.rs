//! Marks: a byte per 4 KiB block of each memory, set by every store.
//!
//! Only for hosts that cannot watch pages (see the sandbox's reset). The mark follows the store,
//! so a store that traps leaves none.
//!
//! ```wat
//! ;; before                 ;; after
//! i32.store offset=8        local.set $v  local.tee $a  local.get $v  i32.store offset=8
//!                           marks[(a + 8) >> 12] = 1  marks[(a + 8 + 3) >> 12] = 1
//! ```
//!
//! Bulk writes mark through a function, block by block.

use std::collections::BTreeMap;
use walrus::ir::{self, BinaryOp, Instr, InstrLocId, InstrSeqType, LoadSimdKind, UnaryOp};
use walrus::{FunctionBuilder, FunctionId, LocalId, MemoryId, Module, ValType};

use crate::emit::{Code, rewrite, stored_type};

/// Bytes of one block, as a shift.
pub const BLOCK_SHIFT: u32 = 12;

/// What marks the writes to each guest memory.
pub(crate) struct Marks {
    memories: BTreeMap<MemoryId, Mark>,
}

/// What marks the writes to one memory.
#[derive(Clone, Copy)]
struct Mark {
    /// A byte per block.
    marks: MemoryId,
    /// Marks a range.
    range: FunctionId,
    /// Type of the guest memory's addresses.
    address: ValType,
}

impl Mark {
    /// The address on the stack, in 32 bits. It was written to, so it lies in a memory that
    /// `pages_max` bounds, and fits.
    fn narrow(self, code: &mut Code) {
        narrow(code, self.address);
    }
}

fn narrow(code: &mut Code, ty: ValType) {
    if ty == ValType::I64 {
        code.un(UnaryOp::I32WrapI64);
    }
}

/// Adds a mark memory for each of the guest's memories, exported as `__sandglass_marks_N`.
/// `pages_max` bounds each of them, in pages of 64 KiB.
pub(crate) fn memories(module: &mut Module, guests: &[MemoryId], pages_max: u64) -> Marks {
    let guests = guests.iter().map(|id| {
        let memory = module.memories.get(*id);
        (*id, memory.maximum, memory.memory64)
    });
    let guests = guests.collect::<Vec<_>>();
    let mut memories = BTreeMap::new();
    for (n, (guest, maximum, wide)) in guests.into_iter().enumerate() {
        let blocks = maximum.unwrap_or(65536).min(pages_max) << (16 - BLOCK_SHIFT);
        let pages = blocks.div_ceil(65536).max(1);
        let marks = module
            .memories
            .add_local(false, false, pages, Some(pages), None);
        module.exports.add(&format!("__sandglass_marks_{n}"), marks);
        let range = mark_range(module, marks);
        let address = if wide { ValType::I64 } else { ValType::I32 };
        memories.insert(
            guest,
            Mark {
                marks,
                range,
                address,
            },
        );
    }
    Marks { memories }
}

/// `(address: i32, size: i32)`: marks every block of a range, nothing if it is empty.
fn mark_range(module: &mut Module, marks: MemoryId) -> FunctionId {
    let (address, size, block) = (
        module.locals.add(ValType::I32),
        module.locals.add(ValType::I32),
        module.locals.add(ValType::I32),
    );
    let mut builder = FunctionBuilder::new(&mut module.types, &[ValType::I32, ValType::I32], &[]);
    builder.name("__sandglass_mark_range".into());
    let head = builder.dangling_instr_seq(InstrSeqType::Simple(None)).id();
    let mut step = Code::default();
    step.get(block).i32(1).store8(marks, 0);
    step.get(block).i32(1).bin(BinaryOp::I32Add).tee(block);
    step.un(UnaryOp::I64ExtendUI32);
    step.get(address)
        .un(UnaryOp::I64ExtendUI32)
        .get(size)
        .un(UnaryOp::I64ExtendUI32)
        .bin(BinaryOp::I64Add);
    step.i64(1)
        .bin(BinaryOp::I64Sub)
        .i64(BLOCK_SHIFT.into())
        .bin(BinaryOp::I64ShrU);
    step.bin(BinaryOp::I64LeU).op(ir::BrIf { block: head });
    *builder.instr_seq(head).instrs_mut() = step.0;
    let mut then = Code::default();
    then.get(address)
        .i32(BLOCK_SHIFT.cast_signed())
        .bin(BinaryOp::I32ShrU)
        .set(block)
        .op(ir::Loop { seq: head });
    let consequent = builder.dangling_instr_seq(InstrSeqType::Simple(None)).id();
    *builder.instr_seq(consequent).instrs_mut() = then.0;
    let alternative = builder.dangling_instr_seq(InstrSeqType::Simple(None)).id();
    let mut body = Code::default();
    body.get(size).op(ir::IfElse {
        consequent,
        alternative,
    });
    *builder.func_body().instrs_mut() = body.0;
    builder.finish(vec![address, size], &mut module.funcs)
}

/// Adds marks after every write of `id`.
pub(crate) fn instrument(module: &mut Module, id: FunctionId, marks: &Marks) {
    let mut locals = Locals::default();
    let mark_of = |instr: &Instr| marks.memories.get(&written(instr)?).copied();
    let wanted = |_: &Module, _, instr: &Instr, loc: InstrLocId| {
        !loc.is_default() && mark_of(instr).is_some()
    };
    rewrite(module, id, wanted, |module, code, _, instr, loc| {
        let mark = mark_of(&instr).expect("it is wanted");
        match instr {
            Instr::Store(ir::Store { kind, arg, .. }) => {
                let value = locals.of(module, stored_type(kind));
                let address = locals.address(module, mark.address);
                let width = u64::from(kind.width());
                code.set(value).tee(address).get(value).op_at(instr, loc);
                mark_blocks(code, mark, address, arg.offset, width);
            }
            Instr::LoadSimd(ir::LoadSimd { kind, arg, .. }) => {
                let width = lane_width(kind).expect("it writes");
                let value = locals.of(module, ValType::V128);
                let address = locals.address(module, mark.address);
                code.set(value).tee(address).get(value).op_at(instr, loc);
                mark_blocks(code, mark, address, arg.offset, width);
            }
            _ => {
                let types = middle_and_size(module, &instr);
                bulk(module, &mut locals, code, mark, types, instr, loc);
            }
        }
    });
}

/// The memory that an operator writes to.
fn written(instr: &Instr) -> Option<MemoryId> {
    match instr {
        Instr::Store(ir::Store { memory, .. })
        | Instr::MemoryFill(ir::MemoryFill { memory })
        | Instr::MemoryCopy(ir::MemoryCopy { dst: memory, .. })
        | Instr::MemoryInit(ir::MemoryInit { memory, .. }) => Some(*memory),
        Instr::LoadSimd(ir::LoadSimd { memory, kind, .. }) => {
            lane_width(*kind).is_some().then_some(*memory)
        }
        Instr::AtomicRmw(_) | Instr::Cmpxchg(_) => {
            unreachable!("atomics are refused before the passes run")
        }
        _ => None,
    }
}

/// The types of the source (or value) and of the size that a bulk write takes.
fn middle_and_size(module: &Module, instr: &Instr) -> [ValType; 2] {
    match instr {
        Instr::MemoryFill(ir::MemoryFill { memory }) => {
            [ValType::I32, address_type(module, *memory)]
        }
        Instr::MemoryCopy(ir::MemoryCopy { src, dst }) => {
            let source = address_type(module, *src);
            let size = if source == ValType::I64 {
                address_type(module, *dst)
            } else {
                ValType::I32
            };
            [source, size]
        }
        _ => [ValType::I32; 2],
    }
}

fn address_type(module: &Module, memory: MemoryId) -> ValType {
    if module.memories.get(memory).memory64 {
        ValType::I64
    } else {
        ValType::I32
    }
}

/// A bulk write takes destination, source (or value) and size; `types` are those of the latter two.
fn bulk(
    module: &mut Module,
    locals: &mut Locals,
    code: &mut Code,
    mark: Mark,
    types: [ValType; 2],
    instr: Instr,
    loc: InstrLocId,
) {
    let (address, middle) = (
        locals.address(module, mark.address),
        locals.of(module, types[0]),
    );
    let size = locals.size(module, types[1]);
    code.set(size)
        .set(middle)
        .tee(address)
        .get(middle)
        .get(size)
        .op_at(instr, loc);
    mark.narrow(code.get(address));
    narrow(code.get(size), types[1]);
    code.call(mark.range);
}

/// Marks the first and the last byte of a write: it is shorter than a block.
fn mark_blocks(code: &mut Code, mark: Mark, address: LocalId, offset: u64, width: u64) {
    mark_block(code, mark, address, offset);
    if width > 1 {
        // What wraps around is outside of any memory: the write traps first.
        mark_block(code, mark, address, offset.wrapping_add(width - 1));
    }
}

fn mark_block(code: &mut Code, mark: Mark, address: LocalId, offset: u64) {
    mark.narrow(code.get(address));
    if offset == 0 {
        code.i32(BLOCK_SHIFT.cast_signed()).bin(BinaryOp::I32ShrU);
    } else {
        code.un(UnaryOp::I64ExtendUI32)
            .i64(offset.cast_signed())
            .bin(BinaryOp::I64Add);
        code.i64(BLOCK_SHIFT.into())
            .bin(BinaryOp::I64ShrU)
            .un(UnaryOp::I32WrapI64);
    }
    code.i32(1).store8(mark.marks, 0);
}

/// Bytes that a lane store writes; walrus files it under the loads.
fn lane_width(kind: LoadSimdKind) -> Option<u64> {
    match kind {
        LoadSimdKind::V128Store8Lane(_) => Some(1),
        LoadSimdKind::V128Store16Lane(_) => Some(2),
        LoadSimdKind::V128Store32Lane(_) => Some(4),
        LoadSimdKind::V128Store64Lane(_) => Some(8),
        _ => None,
    }
}

/// Scratch locals, by use and type.
#[derive(Default)]
struct Locals {
    addresses: Vec<(ValType, LocalId)>,
    sizes: Vec<(ValType, LocalId)>,
    values: Vec<(ValType, LocalId)>,
}

impl Locals {
    fn address(&mut self, module: &mut Module, ty: ValType) -> LocalId {
        one_of(&mut self.addresses, module, ty)
    }

    fn size(&mut self, module: &mut Module, ty: ValType) -> LocalId {
        one_of(&mut self.sizes, module, ty)
    }

    fn of(&mut self, module: &mut Module, ty: ValType) -> LocalId {
        one_of(&mut self.values, module, ty)
    }
}

fn one_of(known: &mut Vec<(ValType, LocalId)>, module: &mut Module, ty: ValType) -> LocalId {
    match known.iter().find(|(known, _)| *known == ty) {
        Some((_, local)) => *local,
        None => {
            let local = module.locals.add(ty);
            known.push((ty, local));
            local
        }
    }
}
