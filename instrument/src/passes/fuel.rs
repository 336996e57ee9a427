//! Fuel: what the weights of the edges cannot know, and when the host looks at the total.
//!
//! The fuel of a run is a function of its edge counts (see `flow`). What is left:
//! - bulk operators cost what their size says: a call of `charge` after each of them adds it
//!   to a counter of its own;
//! - an endless run must be stopped: every cycle of a program passes a back edge or the entry
//!   of a recursive function, and every [`TICKS_PER_BEAT`]-th pass of one of those *beats*; after
//!   [`BEATS_PER_VISIT`] beats the host sums up the counters and decides.
//!
//! ```wat
//! ;; before                     ;; after
//! memory.fill                   local.tee $n  memory.fill  local.get $n  call $charge
//! ```

use walrus::ir::{self, BinaryOp, Instr, UnaryOp};
use walrus::{FunctionBuilder, FunctionId, LocalId, MemoryId, Module, ValType};

use crate::cost::BULK_SHIFT;
use crate::emit::{Code, sequences};
use crate::layout::{BEATS, BEATS_PER_VISIT, EXTRA_FUEL, TICKS_PER_BEAT};

/// Bytes of bulk work that count as one beat, as a shift: about as long as a beat's ticks take.
const BULK_BEAT_SHIFT: i32 = 14;

/// The injected functions.
pub(crate) struct Fuel {
    /// `() -> ()`: one beat.
    pub(crate) beat: FunctionId,
    /// `(size: i32) -> ()`: charges a bulk operator.
    charge: FunctionId,
}

/// Adds `beat` and `charge`; `visit` is the host's function.
pub(crate) fn functions(module: &mut Module, side: MemoryId, visit: FunctionId) -> Fuel {
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    builder.name("__sandglass_beat".into());
    let body = spend(&mut builder, side, visit, None);
    *builder.func_body().instrs_mut() = body.0;
    let beat = builder.finish(vec![], &mut module.funcs);

    let size = module.locals.add(ValType::I32);
    let mut builder = FunctionBuilder::new(&mut module.types, &[ValType::I32], &[]);
    builder.name("__sandglass_charge".into());
    let mut body = Code::default();
    body.i32(0).i32(0).load64(side, EXTRA_FUEL).get(size).i32(BULK_SHIFT).bin(BinaryOp::I32ShrU);
    body.un(UnaryOp::I64ExtendUI32).bin(BinaryOp::I64Add).store64(side, EXTRA_FUEL);
    body.0.extend(spend(&mut builder, side, visit, Some(size)).0);
    *builder.func_body().instrs_mut() = body.0;
    let charge = builder.finish(vec![size], &mut module.funcs);
    Fuel { beat, charge }
}

/// `beats -= 1` (or by size); at or below zero: refill and visit the host.
fn spend(builder: &mut FunctionBuilder, side: MemoryId, visit: FunctionId, size: Option<LocalId>) -> Code {
    let mut then = builder.dangling_instr_seq(None);
    then.i32_const(0).i32_const(BEATS_PER_VISIT);
    let mut refill = Code::default();
    refill.store32(side, BEATS).call(visit);
    then.instrs_mut().extend(refill.0);
    let consequent = then.id();
    let alternative = builder.dangling_instr_seq(None).id();
    let mut code = Code::default();
    code.i32(0).i32(0).load32(side, BEATS);
    match size {
        None => code.i32(1),
        Some(size) => code.get(size).i32(BULK_BEAT_SHIFT).bin(BinaryOp::I32ShrU),
    };
    code.bin(BinaryOp::I32Sub).store32(side, BEATS);
    code.i32(0).load32(side, BEATS).i32(0).bin(BinaryOp::I32LeS);
    code.op(ir::IfElse { consequent, alternative });
    code
}

/// `if (count % TICKS_PER_BEAT == 0) beat()`, for a count on the stack.
pub(crate) fn tick(code: &mut Code, func: &mut walrus::LocalFunction, fuel: &Fuel) {
    let mut beat = Code::default();
    beat.call(fuel.beat);
    code.i32(TICKS_PER_BEAT - 1).bin(BinaryOp::I32And).un(UnaryOp::I32Eqz).when(func, beat);
}

/// Charges every bulk operator of a function for its size.
pub(crate) fn charge_bulk(module: &mut Module, id: FunctionId, fuel: &Fuel) {
    let mut local = None;
    let func = module.funcs.get_mut(id).kind.unwrap_local_mut();
    for seq in sequences(func) {
        let instrs = &func.block(seq).instrs;
        if !instrs.iter().any(|(i, loc)| !loc.is_default() && size_type(i, &module.memories, &module.tables).is_some()) {
            continue;
        }
        let mut code = Code::default();
        for (instr, loc) in std::mem::take(&mut func.block_mut(seq).instrs) {
            let size = size_type(&instr, &module.memories, &module.tables).filter(|_| !loc.is_default());
            if size == Some(ValType::I32) {
                let size = *local.get_or_insert_with(|| module.locals.add(ValType::I32));
                // After the operator: one that traps has not done its work.
                code.tee(size).op_at(instr, loc).get(size).call(fuel.charge);
                continue;
            }
            code.op_at(instr, loc);
        }
        func.block_mut(seq).instrs = code.0;
    }
}

/// The type of the size on top of the stack, for operators whose cost depends on it. Sizes of
/// 64-bit memories and tables are not charged: a run that uses them is bounded by its beats.
fn size_type(instr: &Instr, memories: &walrus::ModuleMemories, tables: &walrus::ModuleTables) -> Option<ValType> {
    let of = |wide: bool| Some(if wide { ValType::I64 } else { ValType::I32 });
    match instr {
        Instr::MemoryFill(ir::MemoryFill { memory }) => of(memories.get(*memory).memory64),
        Instr::MemoryCopy(ir::MemoryCopy { src, dst }) => of(memories.get(*src).memory64 && memories.get(*dst).memory64),
        Instr::MemoryInit(_) | Instr::TableInit(_) => Some(ValType::I32),
        Instr::TableFill(ir::TableFill { table }) => of(tables.get(*table).table64),
        Instr::TableCopy(ir::TableCopy { src, dst }) => of(tables.get(*src).table64 && tables.get(*dst).table64),
        _ => None,
    }
}
