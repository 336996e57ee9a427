//! Depth: a limit on recursive calls, so that stack overflow is a verdict and not an accident.
//!
//! Only functions that can be active twice at once are counted; chains of others are bounded by
//! the program text. The depth left lies in a global of ours:
//!
//! ```wat
//! ;; before            ;; after
//! BODY                 global.get $left  i32.const 1  i32.sub  global.set $left
//!                      global.get $left  i32.const 0  i32.lt_s  if  call $overflow  end
//!                      block $body (result …)  BODY, `return` being `br $body`  end
//!                      global.get $left  i32.const 1  i32.add  global.set $left
//! ```
//!
//! A tail call gives its frame back first. A function that catches saves the depth in a local
//! and restores it where an exception lands. Traps and exits need nothing: the entry wrapper
//! sets the depth before each run.

use walrus::ir::{self, BinaryOp, Instr, InstrSeqId, InstrSeqType};
use walrus::{FunctionId, GlobalId, LocalId, Module, ValType};

use crate::emit::{Code, sequence, sequences};

/// Prepares `id`: returns the local that holds the depth if the function has handlers.
pub(crate) fn saved_local(module: &mut Module, id: FunctionId) -> Option<LocalId> {
    let func = module.funcs.get(id).kind.unwrap_local();
    let catches = sequences(func).into_iter().any(|seq| {
        func.block(seq)
            .instrs
            .iter()
            .any(|(i, _)| matches!(i, Instr::TryTable(_)))
    });
    catches.then(|| module.locals.add(ValType::I32))
}

/// Wraps the body of `id`. `recursive` functions count; others only save the depth for their
/// handlers.
pub(crate) fn instrument(
    module: &mut Module,
    id: FunctionId,
    left: GlobalId,
    overflow: FunctionId,
    recursive: bool,
    saved: Option<LocalId>,
) {
    let results = module.types.results(module.funcs.get(id).ty()).to_vec();
    let ty = InstrSeqType::new(&mut module.types, &[], &results);
    let func = module.funcs.get_mut(id).kind.unwrap_local_mut();
    let entry = func.entry_block();
    let mut before = Code::default();
    if recursive {
        before
            .global_get(left)
            .i32(1)
            .bin(BinaryOp::I32Sub)
            .global_set(left);
        let mut over = Code::default();
        over.call(overflow);
        before
            .global_get(left)
            .i32(0)
            .bin(BinaryOp::I32LtS)
            .when(func, over);
    }
    if let Some(saved) = saved {
        before.global_get(left).set(saved);
    }
    if !recursive {
        func.block_mut(entry).instrs.splice(0..0, before.0);
        return;
    }
    let instrs = std::mem::take(&mut func.block_mut(entry).instrs);
    let body = sequence(func, ty, Code(instrs));
    before.op(ir::Block { seq: body });
    leave(&mut before, left);
    func.block_mut(entry).instrs = before.0;
    for seq in sequences(func) {
        if seq != entry {
            retarget(&mut func.block_mut(seq).instrs, entry, body, &mut |code| {
                leave(code, left)
            });
        }
    }
}

fn leave(code: &mut Code, left: GlobalId) {
    code.global_get(left)
        .i32(1)
        .bin(BinaryOp::I32Add)
        .global_set(left);
}

/// Branches to the function's own label, and returns, go to the end of the wrapped body; `leave`
/// goes before tail calls.
pub(crate) fn retarget(
    instrs: &mut Vec<(Instr, ir::InstrLocId)>,
    entry: InstrSeqId,
    body: InstrSeqId,
    leave: &mut dyn FnMut(&mut Code),
) {
    let swap = |label: &mut InstrSeqId| {
        if *label == entry {
            *label = body;
        }
    };
    let mut code = Code::default();
    for (mut instr, loc) in std::mem::take(instrs) {
        match &mut instr {
            Instr::Br(ir::Br { block }) | Instr::BrIf(ir::BrIf { block }) => swap(block),
            Instr::BrOnNull(ir::BrOnNull { block })
            | Instr::BrOnNonNull(ir::BrOnNonNull { block }) => swap(block),
            Instr::BrOnCast(ir::BrOnCast { block, .. })
            | Instr::BrOnCastFail(ir::BrOnCastFail { block, .. }) => swap(block),
            Instr::BrTable(ir::BrTable { blocks, default }) => {
                blocks.iter_mut().for_each(swap);
                swap(default);
            }
            Instr::TryTable(ir::TryTable { catches, .. }) => {
                catches.iter_mut().for_each(|catch| match catch {
                    ir::TryTableCatch::Catch { label, .. }
                    | ir::TryTableCatch::CatchRef { label, .. }
                    | ir::TryTableCatch::CatchAll { label }
                    | ir::TryTableCatch::CatchAllRef { label } => swap(label),
                })
            }
            Instr::Return(_) => instr = ir::Br { block: body }.into(),
            Instr::ReturnCall(_) | Instr::ReturnCallIndirect(_) | Instr::ReturnCallRef(_) => {
                leave(&mut code)
            }
            _ => {}
        }
        code.op_at(instr, loc);
    }
    *instrs = code.0;
}
