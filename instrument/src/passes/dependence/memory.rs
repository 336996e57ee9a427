//! Memory: loads and stores, with a label per byte in the shadow of each memory.
//!
//! ```wat
//! ;; before              ;; after
//! i32.load offset=8      local.tee $a  i32.load offset=8
//!                        (v128.any_true (v128.load $shadow offset=32 (i32.shl (local.get $a) (i32.const 2))))
//!                        if (result i32)  call $load  else  i32.const 0  end
//! i32.store offset=8     local.set $v  local.tee $a  local.get $v  i32.store offset=8
//!                        (v128.store $shadow (select $its_labels $nowhere $any_of_them) (v128.const 0))
//! ```
//!
//! The guest's own access comes first: one that traps leaves no label, and what did not trap has an
//! address below a quarter of the shadow's size.
//!
//! Operators on a memory without a shadow stay as they are.

use walrus::ir::{
    self, BinaryOp, ExtendedLoad, Instr, InstrLocId, LoadKind, LoadSimdKind, MemArg, StoreKind,
    UnaryOp, Value as Constant,
};
use walrus::{LocalId, MemoryId, ValType};

use super::effect::effect;
use super::events::{Operand, Outcome};
use super::walk::{Label, Use, Value, Walk};
use crate::emit::Code;
use crate::labels::{RANGE, Relation, SiteKind, TOUCHED_SHIFT};

/// Bytes of the label of a byte, as a shift.
const LABEL_SHIFT: i32 = 2;

/// What a load makes of the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loaded {
    /// They are the lower ones, the others are zero.
    Bytes,
    /// The others repeat the sign.
    Signed,
    /// Anything.
    Mixed,
}

/// Rewrites an operator that works on memory.
pub(super) fn operator(walk: &mut Walk, code: &mut Code, instr: Instr, loc: InstrLocId) {
    if memory_of(&instr).is_some_and(|memory| !walk.pass.shadows.contains_key(&memory)) {
        let (taken, left) = effect(walk.module, &instr);
        let height = walk.stack.len() - taken;
        walk.stack.truncate(height);
        walk.stack.resize(height + left, Value::PLAIN);
        code.op_at(instr, loc);
        return;
    }
    match &instr {
        Instr::Load(ir::Load { memory, kind, arg }) => {
            let (memory, arg) = (*memory, *arg);
            let (bytes, loaded, into) = load_kind(*kind);
            let access = access(walk, code, memory, arg, Use::Address);
            code.op_at(instr, loc);
            let address = walk.pop();
            let of_address = keep(walk, code, address);
            load(walk, code, access, bytes, loaded, into);
            index(walk, code, access, of_address, loc);
        }
        Instr::LoadSimd(ir::LoadSimd { memory, kind, arg }) => {
            let (memory, arg) = (*memory, *arg);
            load_simd(walk, code, instr.clone(), loc, memory, *kind, arg);
        }
        Instr::Store(ir::Store { memory, kind, arg }) => {
            let (memory, arg) = (*memory, *arg);
            let (bytes, ty) = stored(*kind);
            let value = walk.scratch(Use::Left, ty);
            code.set(value);
            let access = access(walk, code, memory, arg, Use::Address);
            code.get(value).op_at(instr, loc);
            let (value, address) = (walk.pop(), walk.pop());
            store(walk, code, access, value, bytes);
            index_event(walk, code, access, address, loc);
        }
        _ => bulk(walk, code, instr, loc),
    }
}

/// The memory whose labels an operator reads or changes.
fn memory_of(instr: &Instr) -> Option<MemoryId> {
    match instr {
        Instr::Load(ir::Load { memory, .. })
        | Instr::LoadSimd(ir::LoadSimd { memory, .. })
        | Instr::Store(ir::Store { memory, .. })
        | Instr::MemoryFill(ir::MemoryFill { memory })
        | Instr::MemoryInit(ir::MemoryInit { memory, .. })
        | Instr::MemoryCopy(ir::MemoryCopy { dst: memory, .. }) => Some(*memory),
        _ => None,
    }
}

/// An access at an address that a local holds.
#[derive(Clone, Copy)]
pub(super) struct Access {
    memory: MemoryId,
    shadow: MemoryId,
    touched: MemoryId,
    address: LocalId,
    wide: bool,
    offset: u64,
}

impl Access {
    /// The address of the first label, without the offset.
    fn shadow_address(self, code: &mut Code) {
        narrow(code.get(self.address), self.wide);
        code.i32(LABEL_SHIFT).bin(BinaryOp::I32Shl);
    }

    /// The offset among the labels. What lies further out than any memory reaches is never accessed.
    fn shadow_offset(self) -> u32 {
        u32::try_from(self.offset << LABEL_SHIFT).unwrap_or(0)
    }

    /// The address of the first label.
    fn whole_address(self, code: &mut Code) {
        self.shadow_address(code);
        if self.shadow_offset() > 0 {
            code.i32(self.shadow_offset().cast_signed())
                .bin(BinaryOp::I32Add);
        }
    }

    /// The address that is accessed.
    pub(super) fn guest_address(self, code: &mut Code) {
        narrow(code.get(self.address), self.wide);
        if self.offset > 0 {
            code.i32((self.offset as u32).cast_signed())
                .bin(BinaryOp::I32Add);
        }
    }

    /// Are any of so many labels something?
    fn any(self, code: &mut Code, bytes: u32) {
        match bytes {
            1 => {
                self.shadow_address(code);
                code.load32(self.shadow, self.shadow_offset());
            }
            2 => {
                self.shadow_address(code);
                code.load64(self.shadow, self.shadow_offset());
                code.i64(0).bin(BinaryOp::I64Ne);
            }
            _ => {
                for n in 0..bytes / 4 {
                    self.shadow_address(code);
                    let offset = self.shadow_offset().saturating_add(16 * n);
                    code.load(self.shadow, LoadKind::V128, 4, offset);
                    if n > 0 {
                        code.bin(BinaryOp::V128Or);
                    }
                }
                code.un(UnaryOp::V128AnyTrue);
            }
        }
    }

    /// Takes so many labels away where there are any; else zeros go to a place where nothing lies: a page that
    /// never held a label is not written, and takes no memory. No branch: most stores have no label.
    fn clear(self, code: &mut Code, bytes: u32, nowhere: i32, place: LocalId) {
        self.whole_address(code);
        code.i32(nowhere);
        self.any(code, bytes);
        code.op(ir::Select { ty: None }).set(place);
        for n in 0..bytes.div_ceil(4) {
            code.get(place);
            match bytes {
                1 => code.i32(0).store32(self.shadow, 0),
                2 => code.i64(0).store64(self.shadow, 0),
                _ => {
                    let value = Constant::V128(0);
                    code.op(ir::Const { value });
                    code.store(self.shadow, StoreKind::V128, 4, 16 * n)
                }
            };
        }
    }
}

fn narrow(code: &mut Code, wide: bool) {
    if wide {
        code.un(UnaryOp::I32WrapI64);
    }
}

/// Keeps the address that lies on the stack.
fn access(walk: &mut Walk, code: &mut Code, memory: MemoryId, arg: MemArg, purpose: Use) -> Access {
    let wide = walk.module.memories.get(memory).memory64;
    let address = walk.scratch(purpose, address_type(wide));
    code.tee(address);
    let shadow = walk.pass.shadows[&memory].0;
    Access {
        memory,
        shadow: shadow.labels,
        touched: shadow.touched,
        address,
        wide,
        offset: arg.offset,
    }
}

fn address_type(wide: bool) -> ValType {
    if wide { ValType::I64 } else { ValType::I32 }
}

/// Pushes what was loaded.
fn load(walk: &mut Walk, code: &mut Code, access: Access, bytes: u32, loaded: Loaded, into: i32) {
    if bytes == 1 {
        access.any(code, 1);
        if loaded == Loaded::Bytes {
            // An input byte as it is: `RANGE | n` becomes the same in lanes.
            let label = walk.scratch(Use::Size, ValType::I32);
            code.tee(label)
                .get(label)
                .i32(0xffc0_0000_u32.cast_signed())
                .bin(BinaryOp::I32And)
                .i32(RANGE.cast_signed())
                .bin(BinaryOp::I32Eq);
            code.i32(31).bin(BinaryOp::I32Shl).bin(BinaryOp::I32Or);
        }
        return walk.push_label(code, loaded != Loaded::Bytes);
    }
    let library = walk.library_of(access.memory);
    access.any(code, bytes);
    let (mut then, mut otherwise) = (Code::default(), Code::default());
    access.whole_address(&mut then);
    then.i32(bytes.cast_signed()).call(library.load);
    match loaded {
        Loaded::Bytes => {}
        Loaded::Signed => {
            then.i32(bytes.cast_signed()).i32(into).call(library.extend);
        }
        Loaded::Mixed => {
            then.call(library.set);
        }
    }
    otherwise.i32(0);
    walk.choose(code, then, otherwise);
    walk.push_label(code, loaded == Loaded::Mixed);
}

/// Keeps the label of an address: that of what is loaded takes its place.
fn keep(walk: &mut Walk, code: &mut Code, address: Value) -> Option<LocalId> {
    if address.label == Label::None {
        return None;
    }
    let kept = walk.scratch(Use::Label, ValType::I32);
    walk.label(code, address.label);
    code.set(kept);
    Some(kept)
}

/// Records a labelled address, and makes what was loaded depend on it where that is a table's.
fn index(
    walk: &mut Walk,
    code: &mut Code,
    access: Access,
    of_address: Option<LocalId>,
    loc: InstrLocId,
) {
    let label = of_address.map_or(Label::None, Label::Scratch);
    let site = (loc, SiteKind::Index, Relation::None, 4);
    let operands = [Operand::Address(access), Operand::Constant(0)];
    let record = walk.record(site, [label, Label::None], Outcome::None, operands, false);
    let Some(of_address) = of_address else {
        return;
    };
    let (low, size) = walk.pass.data_of(access.memory);
    let loaded = walk.pop();
    let mut then = record.unwrap_or_default();
    access.guest_address(&mut then);
    then.get(of_address).un(UnaryOp::I64ExtendUI32);
    walk.label(&mut then, loaded.label);
    above(&mut then);
    then.bin(BinaryOp::I64Or);
    let data = u64::from(size) << 32 | u64::from(low);
    then.i64(data.cast_signed()).call(walk.library().index);
    let mut otherwise = Code::default();
    walk.label(&mut otherwise, loaded.label);
    code.get(of_address);
    walk.choose(code, then, otherwise);
    walk.push_label(code, loaded.flat);
}

/// Makes the i32 on the stack the upper half of an i64.
fn above(code: &mut Code) {
    code.un(UnaryOp::I64ExtendUI32)
        .i64(32)
        .bin(BinaryOp::I64Shl);
}

/// Records a labelled address.
fn index_event(walk: &mut Walk, code: &mut Code, access: Access, address: Value, loc: InstrLocId) {
    let site = (loc, SiteKind::Index, Relation::None, 4);
    let operands = [Operand::Address(access), Operand::Constant(0)];
    walk.event(
        code,
        site,
        [address.label, Label::None],
        Outcome::None,
        operands,
    );
}

fn clear(walk: &mut Walk, code: &mut Code, access: Access, bytes: u32) {
    let place = walk.scratch(Use::Count, ValType::I32);
    access.clear(code, bytes, walk.pass.nowhere[&access.memory], place);
}

/// Gives what was stored its labels.
fn store(walk: &mut Walk, code: &mut Code, access: Access, value: Value, bytes: u32) {
    if value.label == Label::None {
        return clear(walk, code, access, bytes);
    }
    let library = walk.library_of(access.memory);
    walk.label(code, value.label);
    let (mut then, mut otherwise) = (Code::default(), Code::default());
    if bytes == 1 {
        let place = walk.scratch(Use::Count, ValType::I32);
        access.whole_address(&mut then);
        then.tee(place);
        walk.label(&mut then, value.label);
        if !value.flat {
            walk.if_in_lanes(&mut then, value.label, |code| {
                code.call(library.byte);
            });
        }
        then.store32(access.shadow, 0);
        then.get(place)
            .i32(TOUCHED_SHIFT.cast_signed())
            .bin(BinaryOp::I32ShrU);
        then.i32(1).store8(access.touched, 0);
    } else {
        access.whole_address(&mut then);
        walk.label(&mut then, value.label);
        then.i32(bytes.cast_signed()).call(library.store);
    }
    clear(walk, &mut otherwise, access, bytes);
    walk.if_else(code, then, otherwise);
}

fn load_simd(
    walk: &mut Walk,
    code: &mut Code,
    instr: Instr,
    loc: InstrLocId,
    memory: MemoryId,
    kind: LoadSimdKind,
    arg: MemArg,
) {
    use LoadSimdKind as K;
    let (bytes, loaded) = match kind {
        K::V128Load32Zero => (4, Loaded::Bytes),
        K::V128Load64Zero => (8, Loaded::Bytes),
        K::Splat8 | K::V128Load8Lane(_) | K::V128Store8Lane(_) => (1, Loaded::Mixed),
        K::Splat16 | K::V128Load16Lane(_) | K::V128Store16Lane(_) => (2, Loaded::Mixed),
        K::Splat32 | K::V128Load32Lane(_) | K::V128Store32Lane(_) => (4, Loaded::Mixed),
        _ => (8, Loaded::Mixed),
    };
    let vector = walk.scratch(Use::Left, ValType::V128);
    match kind {
        K::V128Load8Lane(_)
        | K::V128Load16Lane(_)
        | K::V128Load32Lane(_)
        | K::V128Load64Lane(_) => {
            code.set(vector);
            let access = access(walk, code, memory, arg, Use::Address);
            code.get(vector).op_at(instr, loc);
            let (others, address) = (walk.pop(), walk.pop());
            // Above both operands.
            walk.stack.extend([Value::PLAIN; 2]);
            load(walk, code, access, bytes, loaded, 16);
            let lane = walk.pop();
            walk.stack.truncate(walk.stack.len() - 2);
            walk.join(code, others, lane);
            index_event(walk, code, access, address, loc);
        }
        K::V128Store8Lane(_)
        | K::V128Store16Lane(_)
        | K::V128Store32Lane(_)
        | K::V128Store64Lane(_) => {
            code.set(vector);
            let access = access(walk, code, memory, arg, Use::Address);
            code.get(vector).op_at(instr, loc);
            let (value, address) = (walk.pop(), walk.pop());
            // Every lane for the one that is stored.
            walk.join(code, value, Value::PLAIN);
            let value = walk.pop();
            store(walk, code, access, value, bytes);
            index_event(walk, code, access, address, loc);
        }
        _ => {
            let access = access(walk, code, memory, arg, Use::Address);
            code.op_at(instr, loc);
            let address = walk.pop();
            let of_address = keep(walk, code, address);
            load(walk, code, access, bytes, loaded, 16);
            index(walk, code, access, of_address, loc);
        }
    }
}

/// `memory.copy`, `fill`, `init` and `grow`.
fn bulk(walk: &mut Walk, code: &mut Code, instr: Instr, loc: InstrLocId) {
    let wide = |walk: &Walk, memory: MemoryId| walk.module.memories.get(memory).memory64;
    if let Instr::MemoryGrow(ir::MemoryGrow { memory }) = &instr {
        let pages = walk.pop();
        if !wide(walk, *memory) {
            walk.top_event(code, loc, SiteKind::Size, pages);
        }
        code.op_at(instr, loc);
        return walk.stack.push(Value::PLAIN);
    }
    let (to, from) = match &instr {
        Instr::MemoryCopy(ir::MemoryCopy { src, dst }) => (*dst, Some(*src)),
        Instr::MemoryFill(ir::MemoryFill { memory })
        | Instr::MemoryInit(ir::MemoryInit { memory, .. }) => (*memory, None),
        other => unreachable!("no bulk operator: {other:?}"),
    };
    let to_wide = wide(walk, to);
    let from_wide = from.is_some_and(|from| wide(walk, from));
    let size_wide = match instr {
        Instr::MemoryCopy(_) => to_wide && from_wide,
        Instr::MemoryFill(_) => to_wide,
        _ => false,
    };
    let size = walk.scratch(Use::Size, address_type(size_wide));
    let middle = walk.scratch(Use::Right, address_type(from_wide));
    let target = walk.scratch(Use::Address, address_type(to_wide));
    code.set(size).set(middle).tee(target);
    code.get(middle).get(size).op_at(instr, loc);
    let (size_value, middle_value, _) = (walk.pop(), walk.pop(), walk.pop());
    let shadow = walk.pass.shadows[&to].0.labels;
    let scaled = |code: &mut Code, local, wide| {
        narrow(code.get(local), wide);
        code.i32(LABEL_SHIFT).bin(BinaryOp::I32Shl);
    };
    let mut clear = Code::default();
    scaled(&mut clear, target, to_wide);
    scaled(&mut clear, size, size_wide);
    clear.call(walk.library_of(to).clear);
    match from {
        Some(from) if from == to => {
            scaled(code, target, to_wide);
            scaled(code, middle, from_wide);
            scaled(code, size, size_wide);
            code.call(walk.library_of(to).copy);
        }
        Some(from) if !walk.pass.shadows.contains_key(&from) => code.0.extend(clear.0),
        Some(from) => {
            // Between pages that never held a label, nothing is copied: they take no memory.
            let (src, other) = walk.pass.shadows[&from];
            let library = walk.library_of(to);
            let mut copy = Code::default();
            scaled(&mut copy, target, to_wide);
            scaled(&mut copy, middle, from_wide);
            scaled(&mut copy, size, size_wide);
            copy.op(ir::MemoryCopy {
                src: src.labels,
                dst: shadow,
            });
            scaled(&mut copy, target, to_wide);
            scaled(&mut copy, size, size_wide);
            copy.call(library.touch);
            scaled(code, middle, from_wide);
            scaled(code, size, size_wide);
            code.call(other.any);
            scaled(code, target, to_wide);
            scaled(code, size, size_wide);
            code.call(library.any).bin(BinaryOp::I32Or);
            walk.when(code, copy);
        }
        None if middle_value.label == Label::None => code.0.extend(clear.0),
        None => {
            let mut then = Code::default();
            scaled(&mut then, target, to_wide);
            walk.label(&mut then, middle_value.label);
            narrow(then.get(size), size_wide);
            then.call(walk.library_of(to).fill);
            walk.label(code, middle_value.label);
            walk.if_else(code, then, clear);
        }
    }
    let site = (loc, SiteKind::Size, Relation::None, 4);
    let operands = [
        Operand::Local(size, address_type(size_wide)),
        Operand::Constant(0),
    ];
    walk.event(
        code,
        site,
        [size_value.label, Label::None],
        Outcome::None,
        operands,
    );
}

/// Bytes that are read, what they make, and how many bytes the value has.
fn load_kind(kind: LoadKind) -> (u32, Loaded, i32) {
    let extended = |kind| match kind {
        ExtendedLoad::SignExtend => Loaded::Signed,
        _ => Loaded::Bytes,
    };
    match kind {
        LoadKind::I32 { .. } | LoadKind::F32 => (4, Loaded::Bytes, 4),
        LoadKind::I64 { .. } | LoadKind::F64 => (8, Loaded::Bytes, 8),
        LoadKind::V128 => (16, Loaded::Bytes, 16),
        LoadKind::I32_8 { kind } => (1, extended(kind), 4),
        LoadKind::I32_16 { kind } => (2, extended(kind), 4),
        LoadKind::I64_8 { kind } => (1, extended(kind), 8),
        LoadKind::I64_16 { kind } => (2, extended(kind), 8),
        LoadKind::I64_32 { kind } => (4, extended(kind), 8),
    }
}

/// Bytes that are written, and the type of the value.
fn stored(kind: StoreKind) -> (u32, ValType) {
    match kind {
        StoreKind::I32 { .. } => (4, ValType::I32),
        StoreKind::I32_8 { .. } => (1, ValType::I32),
        StoreKind::I32_16 { .. } => (2, ValType::I32),
        StoreKind::I64 { .. } => (8, ValType::I64),
        StoreKind::I64_8 { .. } => (1, ValType::I64),
        StoreKind::I64_16 { .. } => (2, ValType::I64),
        StoreKind::I64_32 { .. } => (4, ValType::I64),
        StoreKind::F32 => (4, ValType::F32),
        StoreKind::F64 => (8, ValType::F64),
        StoreKind::V128 => (16, ValType::V128),
    }
}
