//! What operators take from the stack and leave there.

use walrus::ir::{self, Instr, LoadSimdKind};
use walrus::{Module, RefType, ValType};

use crate::emit::signature;

/// Values taken, values left. Of what ends a sequence or holds others only what it takes counts.
pub(super) fn effect(module: &Module, instr: &Instr) -> (usize, usize) {
    let of = |ty| {
        let (params, results) = module.types.params_results(ty);
        (params.len(), results.len())
    };
    let indirect = |ty| {
        let (params, results) = of(ty);
        (params + 1, results)
    };
    match instr {
        Instr::Call(ir::Call { func }) | Instr::ReturnCall(ir::ReturnCall { func }) => {
            of(module.funcs.get(*func).ty())
        }
        Instr::CallIndirect(ir::CallIndirect { ty, .. })
        | Instr::ReturnCallIndirect(ir::ReturnCallIndirect { ty, .. })
        | Instr::CallRef(ir::CallRef { ty })
        | Instr::ReturnCallRef(ir::ReturnCallRef { ty }) => indirect(*ty),
        Instr::LocalGet(_)
        | Instr::GlobalGet(_)
        | Instr::Const(_)
        | Instr::MemorySize(_)
        | Instr::TableSize(_)
        | Instr::RefNull(_)
        | Instr::RefFunc(_) => (0, 1),
        Instr::LocalSet(_)
        | Instr::GlobalSet(_)
        | Instr::Drop(_)
        | Instr::BrIf(_)
        | Instr::IfElse(_)
        | Instr::BrTable(_)
        | Instr::ThrowRef(_) => (1, 0),
        Instr::LocalTee(_)
        | Instr::Unop(_)
        | Instr::Load(_)
        | Instr::MemoryGrow(_)
        | Instr::TableGet(_)
        | Instr::RefIsNull(_)
        | Instr::RefAsNonNull(_) => (1, 1),
        Instr::Binop(_) | Instr::TableGrow(_) | Instr::I8x16Swizzle(_) | Instr::I8x16Shuffle(_) => {
            (2, 1)
        }
        Instr::TernOp(_) | Instr::Select(_) | Instr::V128Bitselect(_) => (3, 1),
        Instr::Store(_) | Instr::TableSet(_) => (2, 0),
        Instr::MemoryInit(_)
        | Instr::MemoryCopy(_)
        | Instr::MemoryFill(_)
        | Instr::TableInit(_)
        | Instr::TableCopy(_)
        | Instr::TableFill(_) => (3, 0),
        Instr::LoadSimd(ir::LoadSimd { kind, .. }) => match kind {
            LoadSimdKind::V128Load8Lane(_)
            | LoadSimdKind::V128Load16Lane(_)
            | LoadSimdKind::V128Load32Lane(_)
            | LoadSimdKind::V128Load64Lane(_) => (2, 1),
            LoadSimdKind::V128Store8Lane(_)
            | LoadSimdKind::V128Store16Lane(_)
            | LoadSimdKind::V128Store32Lane(_)
            | LoadSimdKind::V128Store64Lane(_) => (2, 0),
            _ => (1, 1),
        },
        Instr::I64Add128(_) | Instr::I64Sub128(_) => (4, 2),
        Instr::I64MulWideS(_) | Instr::I64MulWideU(_) => (2, 2),
        Instr::Throw(ir::Throw { tag }) => (of(module.tags.get(*tag).ty()).0, 0),
        Instr::Block(_)
        | Instr::Loop(_)
        | Instr::TryTable(_)
        | Instr::Br(_)
        | Instr::Return(_)
        | Instr::Unreachable(_)
        | Instr::DataDrop(_)
        | Instr::ElemDrop(_)
        | Instr::BrOnNull(_)
        | Instr::BrOnNonNull(_) => (0, 0),
        other => unreachable!("refused before the passes run: {other:?}"),
    }
}

/// Can a value of this type have a label? References have none.
pub(super) fn carries(ty: ValType) -> bool {
    !matches!(ty, ValType::Ref(RefType { .. }))
}

/// How many values a block takes, and which of its results can have labels.
pub(super) fn block(module: &Module, ty: ir::InstrSeqType) -> (Vec<bool>, Vec<bool>) {
    let (params, results) = signature(&module.types, ty);
    let which = |types: Vec<ValType>| types.into_iter().map(carries).collect();
    (which(params), which(results))
}
