//! What the operators without control flow do: how many steps each takes, and where it loads and stores.
//!
//! A *step* is an operator that computes a value from values: arithmetic, a load through a pointer, a call. What a
//! compiler adds without the source asking for it takes none: copies, joins, comparisons and negations of conditions
//! (in the three-address code that SpotOn reads they are part of the branch), and changes of width.

use wasmparser::{MemArg, Operator};

use crate::influence::graph::{Kind, Node};

/// An operator that loads or stores.
pub(super) enum Access {
    Load(MemArg),
    Store(MemArg),
}

pub(super) fn access(operator: &Operator<'_>) -> Option<Access> {
    match operator {
        Operator::I32Load { memarg }
        | Operator::I64Load { memarg }
        | Operator::F32Load { memarg }
        | Operator::F64Load { memarg }
        | Operator::I32Load8S { memarg }
        | Operator::I32Load8U { memarg }
        | Operator::I32Load16S { memarg }
        | Operator::I32Load16U { memarg }
        | Operator::I64Load8S { memarg }
        | Operator::I64Load8U { memarg }
        | Operator::I64Load16S { memarg }
        | Operator::I64Load16U { memarg }
        | Operator::I64Load32S { memarg }
        | Operator::I64Load32U { memarg }
        | Operator::V128Load { memarg } => Some(Access::Load(*memarg)),
        Operator::I32Store { memarg }
        | Operator::I64Store { memarg }
        | Operator::F32Store { memarg }
        | Operator::F64Store { memarg }
        | Operator::I32Store8 { memarg }
        | Operator::I32Store16 { memarg }
        | Operator::I64Store8 { memarg }
        | Operator::I64Store16 { memarg }
        | Operator::I64Store32 { memarg }
        | Operator::V128Store { memarg } => Some(Access::Store(*memarg)),
        _ => None,
    }
}

/// The constant that an operator makes.
pub(super) fn constant(operator: &Operator<'_>) -> Option<i64> {
    match operator {
        // An address is not negative.
        Operator::I32Const { value } => Some(i64::from(*value as u32)),
        Operator::I64Const { value } => Some(*value),
        _ => None,
    }
}

/// How many steps an operator with these operands takes: 0 or 1.
pub(super) fn steps(operator: &Operator<'_>, operands: &[&Node]) -> u32 {
    let second = match operands {
        [_, second] => match second.kind {
            Kind::Const(value) => Some(value),
            _ => None,
        },
        _ => None,
    };
    let is_free = match operator {
        Operator::I32Eqz
        | Operator::I64Eqz
        | Operator::I32Eq
        | Operator::I32Ne
        | Operator::I32LtS
        | Operator::I32LtU
        | Operator::I32GtS
        | Operator::I32GtU
        | Operator::I32LeS
        | Operator::I32LeU
        | Operator::I32GeS
        | Operator::I32GeU
        | Operator::I64Eq
        | Operator::I64Ne
        | Operator::I64LtS
        | Operator::I64LtU
        | Operator::I64GtS
        | Operator::I64GtU
        | Operator::I64LeS
        | Operator::I64LeU
        | Operator::I64GeS
        | Operator::I64GeU
        | Operator::F32Eq
        | Operator::F32Ne
        | Operator::F32Lt
        | Operator::F32Gt
        | Operator::F32Le
        | Operator::F32Ge
        | Operator::F64Eq
        | Operator::F64Ne
        | Operator::F64Lt
        | Operator::F64Gt
        | Operator::F64Le
        | Operator::F64Ge
        | Operator::RefIsNull
        | Operator::RefEq => true,
        Operator::I32WrapI64
        | Operator::I64ExtendI32S
        | Operator::I64ExtendI32U
        | Operator::I32Extend8S
        | Operator::I32Extend16S
        | Operator::I64Extend8S
        | Operator::I64Extend16S
        | Operator::I64Extend32S
        | Operator::F32DemoteF64
        | Operator::F64PromoteF32
        | Operator::I32ReinterpretF32
        | Operator::I64ReinterpretF64
        | Operator::F32ReinterpretI32
        | Operator::F64ReinterpretI64
        | Operator::RefAsNonNull => true,
        // A join in one operator.
        Operator::Select | Operator::TypedSelect { .. } => true,
        // A narrow type kept in a wide one.
        Operator::I32And | Operator::I64And => {
            matches!(second, Some(1 | 0xff | 0xffff | 0xffff_ffff))
        }
        Operator::I32Shl | Operator::I32ShrS => matches!(second, Some(16 | 24)),
        Operator::I64Shl | Operator::I64ShrS => matches!(second, Some(32 | 48 | 56)),
        _ => false,
    };
    u32::from(!is_free)
}
