//! What operators do with NaNs: a table.

use wasmparser::Operator;

use super::{Kind, Lanes};

/// What an operator does with the floats that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Makes NaNs whose bits are open; those of its operands, floats of these lanes, do not show.
    Makes(Kind, Lanes, usize),
    /// Hands its operands on, or one of them, or lanes of them, at most with another sign.
    HandsOn(Lanes, usize),
    /// Hands its first operand on and shows the sign of its second.
    CopiesSign,
    /// Tells whether they are equal, or which is greater.
    Compares(Lanes),
    /// Turns them into integers.
    Converts(Lanes),
    /// May show every bit.
    Observes,
}

pub(super) fn role(operator: &Operator<'_>) -> Role {
    use Operator as O;
    const F32: Lanes = Lanes::F32;
    const F64: Lanes = Lanes::F64;
    match operator {
        O::F32Add | O::F32Sub | O::F32Mul | O::F32Div | O::F32Min | O::F32Max => {
            Role::Makes(Kind::F32, F32, 2)
        }
        O::F32Sqrt | O::F32Ceil | O::F32Floor | O::F32Trunc | O::F32Nearest => {
            Role::Makes(Kind::F32, F32, 1)
        }
        O::F32DemoteF64 => Role::Makes(Kind::F32, F64, 1),
        O::F64Add | O::F64Sub | O::F64Mul | O::F64Div | O::F64Min | O::F64Max => {
            Role::Makes(Kind::F64, F64, 2)
        }
        O::F64Sqrt | O::F64Ceil | O::F64Floor | O::F64Trunc | O::F64Nearest => {
            Role::Makes(Kind::F64, F64, 1)
        }
        O::F64PromoteF32 => Role::Makes(Kind::F64, F32, 1),
        O::F32x4Add | O::F32x4Sub | O::F32x4Mul | O::F32x4Div | O::F32x4Min | O::F32x4Max => {
            Role::Makes(Kind::F32x4, F32, 2)
        }
        O::F32x4Sqrt | O::F32x4Ceil | O::F32x4Floor | O::F32x4Trunc | O::F32x4Nearest => {
            Role::Makes(Kind::F32x4, F32, 1)
        }
        O::F32x4DemoteF64x2Zero => Role::Makes(Kind::F32x4, F64, 1),
        O::F64x2Add | O::F64x2Sub | O::F64x2Mul | O::F64x2Div | O::F64x2Min | O::F64x2Max => {
            Role::Makes(Kind::F64x2, F64, 2)
        }
        O::F64x2Sqrt | O::F64x2Ceil | O::F64x2Floor | O::F64x2Trunc | O::F64x2Nearest => {
            Role::Makes(Kind::F64x2, F64, 1)
        }
        O::F64x2PromoteLowF32x4 => Role::Makes(Kind::F64x2, F32, 1),

        O::F32Neg | O::F32Abs | O::F32x4Neg | O::F32x4Abs | O::F32x4Splat => Role::HandsOn(F32, 1),
        O::F64Neg | O::F64Abs | O::F64x2Neg | O::F64x2Abs | O::F64x2Splat => Role::HandsOn(F64, 1),
        O::F32x4ExtractLane { .. } => Role::HandsOn(F32, 1),
        O::F64x2ExtractLane { .. } => Role::HandsOn(F64, 1),
        O::F32x4ReplaceLane { .. } | O::F32x4PMin | O::F32x4PMax => Role::HandsOn(F32, 2),
        O::F64x2ReplaceLane { .. } | O::F64x2PMin | O::F64x2PMax => Role::HandsOn(F64, 2),
        O::F32Copysign | O::F64Copysign => Role::CopiesSign,

        O::F32Eq | O::F32Ne | O::F32Lt | O::F32Gt | O::F32Le | O::F32Ge => Role::Compares(F32),
        O::F64Eq | O::F64Ne | O::F64Lt | O::F64Gt | O::F64Le | O::F64Ge => Role::Compares(F64),
        O::F32x4Eq | O::F32x4Ne | O::F32x4Lt | O::F32x4Gt | O::F32x4Le | O::F32x4Ge => {
            Role::Compares(F32)
        }
        O::F64x2Eq | O::F64x2Ne | O::F64x2Lt | O::F64x2Gt | O::F64x2Le | O::F64x2Ge => {
            Role::Compares(F64)
        }

        O::I32TruncF32S | O::I32TruncF32U | O::I64TruncF32S | O::I64TruncF32U => {
            Role::Converts(F32)
        }
        O::I32TruncSatF32S | O::I32TruncSatF32U | O::I64TruncSatF32S | O::I64TruncSatF32U => {
            Role::Converts(F32)
        }
        O::I32TruncF64S | O::I32TruncF64U | O::I64TruncF64S | O::I64TruncF64U => {
            Role::Converts(F64)
        }
        O::I32TruncSatF64S | O::I32TruncSatF64U | O::I64TruncSatF64S | O::I64TruncSatF64U => {
            Role::Converts(F64)
        }
        O::I32x4TruncSatF32x4S | O::I32x4TruncSatF32x4U => Role::Converts(F32),
        O::I32x4TruncSatF64x2SZero | O::I32x4TruncSatF64x2UZero => Role::Converts(F64),
        _ => Role::Observes,
    }
}
