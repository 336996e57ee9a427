//! Code sequences that several passes insert: small builders over walrus's instructions.
//!
//! Everything a pass inserts carries the default location, which is how later passes tell the
//! guest's own operators from ours.

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{
    self, BinaryOp, Instr, InstrLocId, InstrSeqId, InstrSeqType, LoadKind, MemArg, StoreKind,
    UnaryOp, Value,
};
use walrus::{
    FunctionId, GlobalId, LocalFunction, LocalId, MemoryId, Module, ModuleTypes, ValType,
};

/// A run of instructions under construction.
#[derive(Default)]
pub(crate) struct Code(pub(crate) Vec<(Instr, InstrLocId)>);

impl Code {
    /// Appends an instruction of ours.
    pub(crate) fn op(&mut self, instr: impl Into<Instr>) -> &mut Code {
        self.0.push((instr.into(), InstrLocId::default()));
        self
    }

    /// Appends an instruction that stands for the guest's own at `loc`.
    pub(crate) fn op_at(&mut self, instr: impl Into<Instr>, loc: InstrLocId) -> &mut Code {
        self.0.push((instr.into(), loc));
        self
    }

    pub(crate) fn i32(&mut self, value: i32) -> &mut Code {
        self.op(ir::Const {
            value: Value::I32(value),
        })
    }

    pub(crate) fn i64(&mut self, value: i64) -> &mut Code {
        self.op(ir::Const {
            value: Value::I64(value),
        })
    }

    pub(crate) fn get(&mut self, local: LocalId) -> &mut Code {
        self.op(ir::LocalGet { local })
    }

    pub(crate) fn set(&mut self, local: LocalId) -> &mut Code {
        self.op(ir::LocalSet { local })
    }

    pub(crate) fn tee(&mut self, local: LocalId) -> &mut Code {
        self.op(ir::LocalTee { local })
    }

    pub(crate) fn global_get(&mut self, global: GlobalId) -> &mut Code {
        self.op(ir::GlobalGet { global })
    }

    pub(crate) fn global_set(&mut self, global: GlobalId) -> &mut Code {
        self.op(ir::GlobalSet { global })
    }

    pub(crate) fn call(&mut self, func: FunctionId) -> &mut Code {
        self.op(ir::Call { func })
    }

    pub(crate) fn bin(&mut self, op: BinaryOp) -> &mut Code {
        self.op(ir::Binop { op })
    }

    pub(crate) fn un(&mut self, op: UnaryOp) -> &mut Code {
        self.op(ir::Unop { op })
    }

    pub(crate) fn br(&mut self, block: InstrSeqId) -> &mut Code {
        self.op(ir::Br { block })
    }

    /// `i32.load` at a constant offset from the address on the stack.
    pub(crate) fn load32(&mut self, memory: MemoryId, offset: u32) -> &mut Code {
        self.load(memory, LoadKind::I32 { atomic: false }, 4, offset)
    }

    pub(crate) fn load64(&mut self, memory: MemoryId, offset: u32) -> &mut Code {
        self.load(memory, LoadKind::I64 { atomic: false }, 8, offset)
    }

    pub(crate) fn load(
        &mut self,
        memory: MemoryId,
        kind: LoadKind,
        align: u32,
        offset: u32,
    ) -> &mut Code {
        let arg = MemArg {
            align,
            offset: offset.into(),
        };
        self.op(ir::Load { memory, kind, arg })
    }

    pub(crate) fn store32(&mut self, memory: MemoryId, offset: u32) -> &mut Code {
        self.store(memory, StoreKind::I32 { atomic: false }, 4, offset)
    }

    pub(crate) fn store64(&mut self, memory: MemoryId, offset: u32) -> &mut Code {
        self.store(memory, StoreKind::I64 { atomic: false }, 8, offset)
    }

    pub(crate) fn store8(&mut self, memory: MemoryId, offset: u32) -> &mut Code {
        self.store(memory, StoreKind::I32_8 { atomic: false }, 1, offset)
    }

    pub(crate) fn store(
        &mut self,
        memory: MemoryId,
        kind: StoreKind,
        align: u32,
        offset: u32,
    ) -> &mut Code {
        let arg = MemArg {
            align,
            offset: offset.into(),
        };
        self.op(ir::Store { memory, kind, arg })
    }

    /// `memory[offset] += 1`, 32 bits, wrapping.
    pub(crate) fn count(&mut self, memory: MemoryId, offset: u32) -> &mut Code {
        self.i32(0)
            .i32(0)
            .load32(memory, offset)
            .i32(1)
            .bin(BinaryOp::I32Add)
            .store32(memory, offset)
    }

    /// `if (the value on the stack) { then }`.
    pub(crate) fn when(&mut self, func: &mut LocalFunction, then: Code) -> &mut Code {
        let consequent = sequence(func, InstrSeqType::Simple(None), then);
        let alternative = sequence(func, InstrSeqType::Simple(None), Code::default());
        self.op(ir::IfElse {
            consequent,
            alternative,
        })
    }
}

/// The type of what a store takes.
pub(crate) fn stored_type(kind: StoreKind) -> ValType {
    match kind {
        StoreKind::I32 { .. } | StoreKind::I32_8 { .. } | StoreKind::I32_16 { .. } => ValType::I32,
        StoreKind::I64 { .. }
        | StoreKind::I64_8 { .. }
        | StoreKind::I64_16 { .. }
        | StoreKind::I64_32 { .. } => ValType::I64,
        StoreKind::F32 => ValType::F32,
        StoreKind::F64 => ValType::F64,
        StoreKind::V128 => ValType::V128,
    }
}

/// A new instruction sequence of `func` holding `code`.
pub(crate) fn sequence(func: &mut LocalFunction, ty: InstrSeqType, code: Code) -> InstrSeqId {
    let mut seq = func.builder_mut().dangling_instr_seq(ty);
    *seq.instrs_mut() = code.0;
    seq.id()
}

/// The module's functions by index.
pub(crate) fn by_index(module: &Module) -> BTreeMap<u32, FunctionId> {
    let all = module.funcs.iter();
    all.map(|func| (func.id().index() as u32, func.id()))
        .collect()
}

/// The body of a function of the guest's.
pub(crate) fn body(module: &Module, id: FunctionId) -> &LocalFunction {
    module.funcs.get(id).kind.unwrap_local()
}

/// The same, to be changed.
pub(crate) fn body_mut(module: &mut Module, id: FunctionId) -> &mut LocalFunction {
    module.funcs.get_mut(id).kind.unwrap_local_mut()
}

/// A sequence and a position in it.
pub(crate) type Place = (InstrSeqId, usize);

/// Rewrites operators of `id` one by one: `rewrite` appends what takes the place of each that is
/// `wanted`, the others stay. Sequences come parents first; those that `rewrite` adds are left
/// alone, and places are those from before.
pub(crate) fn rewrite(
    module: &mut Module,
    id: FunctionId,
    wanted: impl Fn(&Module, Place, &Instr, InstrLocId) -> bool,
    mut rewrite: impl FnMut(&mut Module, &mut Code, Place, Instr, InstrLocId),
) {
    for seq in sequences(body(module, id)) {
        let instrs = &body(module, id).block(seq).instrs;
        let mut numbered = instrs.iter().enumerate();
        // Most sequences have nothing to rewrite, and need not be built again.
        if !numbered.any(|(n, (instr, loc))| wanted(module, (seq, n), instr, *loc)) {
            continue;
        }
        let instrs = std::mem::take(&mut body_mut(module, id).block_mut(seq).instrs);
        let mut code = Code::default();
        for (position, (instr, loc)) in instrs.into_iter().enumerate() {
            if wanted(module, (seq, position), &instr, loc) {
                rewrite(module, &mut code, (seq, position), instr, loc);
            } else {
                code.op_at(instr, loc);
            }
        }
        body_mut(module, id).block_mut(seq).instrs = code.0;
    }
}

/// Parameters and results of a block's type.
pub(crate) fn signature(types: &ModuleTypes, ty: InstrSeqType) -> (Vec<ValType>, Vec<ValType>) {
    match ty {
        InstrSeqType::Simple(None) => (vec![], vec![]),
        InstrSeqType::Simple(Some(result)) => (vec![], vec![result]),
        InstrSeqType::MultiValue(ty) => {
            let (params, results) = types.params_results(ty);
            (params.to_vec(), results.to_vec())
        }
    }
}

/// Locals of a function at most, parameters included, as wasm has it.
const FUNCTION_LOCALS_MAX: usize = 50_000;

/// Locals that are left for operators that are worked on, by all passes together: those take three dozen each at most.
const LOCALS_SPARE: usize = 100;

/// Parameters, and the locals that a function uses: others are not written out.
pub(crate) fn locals(func: &LocalFunction) -> BTreeSet<LocalId> {
    let mut used = func.args.iter().copied().collect::<BTreeSet<_>>();
    for seq in sequences(func) {
        let instrs = func.block(seq).instrs.iter();
        used.extend(instrs.filter_map(|(instr, _)| match instr {
            Instr::LocalGet(ir::LocalGet { local })
            | Instr::LocalSet(ir::LocalSet { local })
            | Instr::LocalTee(ir::LocalTee { local }) => Some(*local),
            _ => None,
        }));
    }
    used
}

/// How many locals a pass may add to a function that uses these.
pub(crate) fn room_for_locals(used: &BTreeSet<LocalId>) -> usize {
    FUNCTION_LOCALS_MAX.saturating_sub(used.len() + LOCALS_SPARE)
}

/// Every instruction sequence that can be reached from the entry, parents before children.
pub(crate) fn sequences(func: &LocalFunction) -> Vec<InstrSeqId> {
    let mut found = vec![func.entry_block()];
    let mut next = 0;
    while next < found.len() {
        let id = found[next];
        next += 1;
        for (instr, _) in &func.block(id).instrs {
            match instr {
                Instr::Block(ir::Block { seq }) | Instr::Loop(ir::Loop { seq }) => found.push(*seq),
                Instr::TryTable(ir::TryTable { seq, .. }) => found.push(*seq),
                Instr::IfElse(ir::IfElse {
                    consequent,
                    alternative,
                }) => found.extend([*consequent, *alternative]),
                _ => {}
            }
        }
    }
    found
}

/// The sequences within an operator.
pub(crate) fn nested(instr: &Instr) -> Vec<InstrSeqId> {
    match instr {
        Instr::Block(ir::Block { seq })
        | Instr::Loop(ir::Loop { seq })
        | Instr::TryTable(ir::TryTable { seq, .. }) => vec![*seq],
        Instr::IfElse(ir::IfElse {
            consequent,
            alternative,
        }) => vec![*consequent, *alternative],
        _ => Vec::new(),
    }
}

/// The number on the stack as 64 bits: zeros above it, floats by their bits.
pub(crate) fn widen(code: &mut Code, ty: ValType) {
    match ty {
        ValType::I32 => code.un(UnaryOp::I64ExtendUI32),
        ValType::F32 => code
            .un(UnaryOp::I32ReinterpretF32)
            .un(UnaryOp::I64ExtendUI32),
        ValType::F64 => code.un(UnaryOp::I64ReinterpretF64),
        _ => code,
    };
}
