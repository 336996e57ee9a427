//! Numeric operators: the label of a result, from the labels of the operands.
//!
//! Most results depend on every byte of their operands. Bitwise operators and shifts, rotations and
//! conversions by whole bytes keep bytes apart.

use walrus::ir::{self, BinaryOp, InstrLocId, UnaryOp};
use walrus::{FunctionId, ValType};

use super::events::{Operand, Outcome};
use super::walk::{Label, Use, Value, Walk};
use crate::emit::Code;
use crate::labels::{Relation, SiteKind};

/// The type of the operands and the relation, if it compares two numbers.
pub(super) fn comparison(op: BinaryOp) -> Option<(ValType, Relation)> {
    use BinaryOp as B;
    use Relation as R;
    use ValType::{F32, F64, I32, I64};
    Some(match op {
        B::I32Eq => (I32, R::Eq),
        B::I32Ne => (I32, R::Ne),
        B::I32LtS => (I32, R::Lt),
        B::I32LtU => (I32, R::LtU),
        B::I32GtS => (I32, R::Gt),
        B::I32GtU => (I32, R::GtU),
        B::I32LeS => (I32, R::Le),
        B::I32LeU => (I32, R::LeU),
        B::I32GeS => (I32, R::Ge),
        B::I32GeU => (I32, R::GeU),
        B::I64Eq => (I64, R::Eq),
        B::I64Ne => (I64, R::Ne),
        B::I64LtS => (I64, R::Lt),
        B::I64LtU => (I64, R::LtU),
        B::I64GtS => (I64, R::Gt),
        B::I64GtU => (I64, R::GtU),
        B::I64LeS => (I64, R::Le),
        B::I64LeU => (I64, R::LeU),
        B::I64GeS => (I64, R::Ge),
        B::I64GeU => (I64, R::GeU),
        B::F32Eq => (F32, R::Eq),
        B::F32Ne => (F32, R::Ne),
        B::F32Lt => (F32, R::Lt),
        B::F32Gt => (F32, R::Gt),
        B::F32Le => (F32, R::Le),
        B::F32Ge => (F32, R::Ge),
        B::F64Eq => (F64, R::Eq),
        B::F64Ne => (F64, R::Ne),
        B::F64Lt => (F64, R::Lt),
        B::F64Gt => (F64, R::Gt),
        B::F64Le => (F64, R::Le),
        B::F64Ge => (F64, R::Ge),
        _ => return None,
    })
}

/// Bytes of a number.
pub(super) fn width(ty: ValType) -> u8 {
    match ty {
        ValType::I64 | ValType::F64 => 8,
        _ => 4,
    }
}

/// An operator with two operands that is no comparison of numbers.
pub(super) fn binary(walk: &mut Walk, code: &mut Code, op: BinaryOp, loc: InstrLocId) {
    use BinaryOp as B;
    let (right, left) = (walk.pop(), walk.pop());
    if let Some(ty) = divides(op) {
        let divisor = walk.scratch(Use::Right, ty);
        code.tee(divisor);
        let site = (loc, SiteKind::Divide, Relation::None, width(ty));
        let operands = [Operand::Local(divisor, ty), Operand::Constant(0)];
        walk.event(
            code,
            site,
            [right.label, Label::None],
            Outcome::None,
            operands,
        );
    }
    code.op_at(ir::Binop { op }, loc);
    let count = match op {
        B::I32And | B::I32Or | B::I32Xor => 4,
        B::I64And | B::I64Or | B::I64Xor => 8,
        B::V128And | B::V128Or | B::V128Xor | B::V128AndNot => 16,
        B::I8x16Eq | B::I8x16Ne => 16,
        B::I32Shl | B::I32ShrU | B::I32Rotl | B::I32Rotr => {
            return moved(walk, code, op, [left, right], 4);
        }
        B::I64Shl | B::I64ShrU | B::I64Rotl | B::I64Rotr => {
            return moved(walk, code, op, [left, right], 8);
        }
        _ => return walk.join(code, left, right),
    };
    if matches!(op, B::I32And | B::I64And)
        && let Some((value, mask)) = masked(left, right)
    {
        return masking(walk, code, value, mask, count);
    }
    if left.label == Label::None || right.label == Label::None || left.label == right.label {
        let value = if left.label == Label::None {
            right
        } else {
            left
        };
        return walk.push(code, value.label, value.flat);
    }
    let bitwise = walk.library().bitwise;
    walk.both(code, left.label, right.label, |code| {
        code.i32(count).call(bitwise);
    });
    walk.push_label(code, left.flat && right.flat);
}

/// The operand that is no constant, and the constant.
fn masked(left: Value, right: Value) -> Option<(Value, u64)> {
    match (left.constant, right.constant) {
        (None, Some(mask)) => Some((left, mask)),
        (Some(mask), None) => Some((right, mask)),
        _ => None,
    }
}

/// The bytes of which the mask keeps a bit.
fn masking(walk: &mut Walk, code: &mut Code, value: Value, mask: u64, count: i32) {
    let kept = (0..count).filter(|n| mask >> (8 * n) & 0xff != 0);
    let kept = kept.fold(0, |kept, n| kept | 1 << n);
    if kept == 0 {
        return walk.stack.push(Value::PLAIN);
    }
    if kept == (1 << count) - 1 {
        return walk.push(code, value.label, value.flat);
    }
    let mask = walk.library().mask;
    in_lanes(walk, code, value, &[kept, count], mask);
}

/// Shifts and rotations: by whole bytes, bytes keep apart.
fn moved(walk: &mut Walk, code: &mut Code, op: BinaryOp, operands: [Value; 2], count: i32) {
    use BinaryOp as B;
    let [value, by] = operands;
    let Some(bits) = by.constant.map(|bits| (bits % (8 * count as u64)) as i32) else {
        return walk.join(code, value, by);
    };
    if bits % 8 != 0 {
        return walk.join(code, value, by);
    }
    let bytes = bits / 8;
    if bytes == 0 {
        return walk.push(code, value.label, value.flat);
    }
    let library = walk.library();
    let (function, bytes) = match op {
        B::I32Shl | B::I64Shl => (library.shift_up, bytes),
        B::I32ShrU | B::I64ShrU => (library.shift_down, bytes),
        B::I32Rotl | B::I64Rotl => (library.rotate_up, bytes),
        _ => (library.rotate_up, count - bytes),
    };
    in_lanes(walk, code, value, &[bytes, count], function);
}

/// A label in lanes as a function of the library changes it; a set stays as it is.
fn in_lanes(walk: &mut Walk, code: &mut Code, value: Value, with: &[i32], function: FunctionId) {
    if value.label == Label::None || value.flat {
        return walk.push(code, value.label, value.flat);
    }
    walk.label(code, value.label);
    walk.if_in_lanes(code, value.label, |code| {
        for number in with {
            code.i32(*number);
        }
        code.call(function);
    });
    walk.push_label(code, false);
}

/// An operator with one operand that is no test for zero.
pub(super) fn unary(walk: &mut Walk, code: &mut Code, op: UnaryOp, loc: InstrLocId) {
    use UnaryOp as U;
    let value = walk.pop();
    code.op_at(ir::Unop { op }, loc);
    let library = walk.library();
    match op {
        U::I64ExtendUI32
        | U::I32ReinterpretF32
        | U::I64ReinterpretF64
        | U::F32ReinterpretI32
        | U::F64ReinterpretI64
        | U::V128Not => walk.push(code, value.label, value.flat),
        U::I32WrapI64 => in_lanes(walk, code, value, &[0xf, 8], library.mask),
        U::I64ExtendSI32 | U::I64Extend32S => in_lanes(walk, code, value, &[4, 8], library.extend),
        U::I32Extend8S => in_lanes(walk, code, value, &[1, 4], library.extend),
        U::I32Extend16S => in_lanes(walk, code, value, &[2, 4], library.extend),
        U::I64Extend8S => in_lanes(walk, code, value, &[1, 8], library.extend),
        U::I64Extend16S => in_lanes(walk, code, value, &[2, 8], library.extend),
        U::I8x16ExtractLaneU { idx } => lane(walk, code, value, idx.into(), 1),
        U::I16x8ExtractLaneU { idx } => lane(walk, code, value, idx.into(), 2),
        U::I32x4ExtractLane { idx } | U::F32x4ExtractLane { idx } => {
            lane(walk, code, value, idx.into(), 4);
        }
        U::I64x2ExtractLane { idx } | U::F64x2ExtractLane { idx } => {
            lane(walk, code, value, idx.into(), 8);
        }
        _ => walk.join(code, value, Value::PLAIN),
    }
}

/// One lane of a vector, of so many bytes.
fn lane(walk: &mut Walk, code: &mut Code, value: Value, index: i32, bytes: i32) {
    let library = walk.library();
    if index > 0 {
        in_lanes(walk, code, value, &[index * bytes, 16], library.shift_down);
    } else {
        walk.push(code, value.label, value.flat);
    }
    let value = walk.pop();
    in_lanes(walk, code, value, &[(1 << bytes) - 1, 16], library.mask);
}

/// The type of the operands of a division, which may trap.
fn divides(op: BinaryOp) -> Option<ValType> {
    use BinaryOp as B;
    match op {
        B::I32DivS | B::I32DivU | B::I32RemS | B::I32RemU => Some(ValType::I32),
        B::I64DivS | B::I64DivU | B::I64RemS | B::I64RemU => Some(ValType::I64),
        _ => None,
    }
}
