//! The cost model: how much fuel one operator is worth.
//!
//! Version 1 is plain counting. It counts the operators of the *original* module that do
//! something: structure (`block`, `loop`, `end`, `else`), `nop` and `drop` are free, which also
//! makes the count immune to walrus dropping and reordering them. Bulk operators cost one plus
//! one per eight bytes (or per element of a table), host calls one plus what the host says.

use walrus::ir::Instr;
use wasmparser::Operator;

/// The version of the cost model; part of every recorded fuel figure.
pub const COST_VERSION: u32 = 1;

/// Bytes of a bulk operation that cost one unit of fuel, as a shift.
pub(crate) const BULK_SHIFT: i32 = 3;

/// What a throw costs beside its operator. Unwinding takes 17 us, as long as some 30,000 plain
/// operators; without this a loop of throws would run for minutes under the default limit.
pub(crate) const THROW: u32 = 1_000;

/// Fuel of one operator, without the part that depends on sizes at run time.
pub(crate) fn cost(instr: &Instr) -> u64 {
    match instr {
        Instr::Block(_) | Instr::Loop(_) | Instr::TryTable(_) | Instr::Try(_) | Instr::Drop(_) => 0,
        Instr::Unreachable(_) => 0,
        _ => 1,
    }
}

/// Does an operator of the original module cost nothing? The same rule as [`cost`]'s, for those that
/// walrus drops, too.
pub(crate) fn is_free(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::TryTable { .. }
            | Operator::Else
            | Operator::End
            | Operator::Nop
            | Operator::Drop
            | Operator::Unreachable
    )
}
