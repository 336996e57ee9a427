//! Depth: a limit on recursive calls, so that stack overflow is a verdict and not an accident.
//!
//! Only functions that can be active twice at once are counted; chains of others are bounded by
//! the program text. What is left of the depth lies in a global of ours, and the least that was left in
//! another:
//!
//! ```wat
//! ;; before            ;; after
//! BODY                 global.get $left  i32.const 1  i32.sub  global.set $left
//!                      global.get $left  global.get $least  i32.lt_s  if  call $deeper  end
//!                      block $body (result …)  BODY, `return` being `br $body`  end
//!                      global.get $left  i32.const 1  i32.add  global.set $left
//! ```
//!
//! `$deeper` notes the new depth, or ends the run if nothing is left. A run calls it as often as it is
//! deep, so that the greatest depth of every run costs no more than the limit alone would.
//!
//! A tail call gives its frame back first. A function that catches saves the depth in a local
//! and restores it where an exception lands. Traps and exits need nothing: the entry wrapper
//! sets the depth before each run.

use walrus::ir::{self, BinaryOp, Instr, InstrSeqId, InstrSeqType};
use walrus::{
    ConstExpr, FunctionBuilder, FunctionId, GlobalId, LocalFunction, LocalId, MemoryId, Module,
    ValType,
};

use crate::emit::{Code, sequence, sequences};
use crate::layout::{DEPTH_LIMIT, LEAST_DEPTH};

/// Depth that set-up functions may use before the host has set a limit.
const DEFAULT: i32 = 10_000;

/// What counted functions share.
#[derive(Clone, Copy)]
pub(crate) struct Depth {
    /// What is left.
    left: GlobalId,
    /// The least that was left in this run; never negative.
    least: GlobalId,
    /// Called where less is left than ever.
    deeper: FunctionId,
    side: MemoryId,
}

/// Adds the globals, and the function that `overflow` ends runs for.
pub(crate) fn functions(module: &mut Module, side: MemoryId, overflow: FunctionId) -> Depth {
    let initial = || ConstExpr::Value(ir::Value::I32(DEFAULT));
    let [left, least] =
        [(); 2].map(|()| (module.globals).add_local(ValType::I32, true, false, initial()));
    module.exports.add("__sandglass_depth", left);
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    builder.name("__sandglass_deeper".into());
    let mut over = builder.dangling_instr_seq(None);
    over.call(overflow);
    let over = over.id();
    let fine = builder.dangling_instr_seq(None).id();
    let mut body = Code::default();
    body.global_get(left).i32(0).bin(BinaryOp::I32LtS);
    body.op(ir::IfElse {
        consequent: over,
        alternative: fine,
    });
    body.global_get(left).global_set(least);
    body.i32(0).global_get(left).store32(side, LEAST_DEPTH);
    *builder.func_body().instrs_mut() = body.0;
    Depth {
        left,
        least,
        deeper: builder.finish(vec![], &mut module.funcs),
        side,
    }
}

impl Depth {
    /// Begins a run: the host's limit is left.
    pub(crate) fn begin(self, code: &mut Code) {
        let limit = |code: &mut Code| {
            code.i32(0).load32(self.side, DEPTH_LIMIT);
        };
        limit(code);
        code.global_set(self.left);
        limit(code);
        code.global_set(self.least);
        code.i32(0);
        limit(code);
        code.store32(self.side, LEAST_DEPTH);
    }

    /// Where an exception lands: as much is left as `saved` says.
    pub(crate) fn restore(self, code: &mut Code, saved: LocalId) {
        code.get(saved).global_set(self.left);
    }
}

/// Prepares `id`: returns the local that holds the depth if the function has handlers.
pub(crate) fn saved_local(module: &mut Module, id: FunctionId) -> Option<LocalId> {
    let func = module.funcs.get(id).kind.unwrap_local();
    has_handlers(func).then(|| module.locals.add(ValType::I32))
}

/// Can exceptions land in `func`?
pub(crate) fn has_handlers(func: &LocalFunction) -> bool {
    sequences(func).into_iter().any(|seq| {
        func.block(seq)
            .instrs
            .iter()
            .any(|(i, _)| matches!(i, Instr::TryTable(_)))
    })
}

/// Wraps the body of `id`. `recursive` functions count; others only save the depth for their
/// handlers.
pub(crate) fn instrument(
    module: &mut Module,
    id: FunctionId,
    depth: Depth,
    recursive: bool,
    saved: Option<LocalId>,
) {
    let func = module.funcs.get_mut(id).kind.unwrap_local_mut();
    let left = depth.left;
    let mut before = Code::default();
    if recursive {
        before
            .global_get(left)
            .i32(1)
            .bin(BinaryOp::I32Sub)
            .global_set(left);
        let mut deeper = Code::default();
        deeper.call(depth.deeper);
        before
            .global_get(left)
            .global_get(depth.least)
            .bin(BinaryOp::I32LtS)
            .when(func, deeper);
    }
    if let Some(saved) = saved {
        before.global_get(left).set(saved);
    }
    if !recursive {
        let entry = func.entry_block();
        func.block_mut(entry).instrs.splice(0..0, before.0);
        return;
    }
    wrap(module, id, before, &mut |code| leave(code, left));
}

/// Runs `before`, then the body of `id`; `leave` goes to every exit of it.
pub(crate) fn wrap(
    module: &mut Module,
    id: FunctionId,
    mut before: Code,
    leave: &mut dyn FnMut(&mut Code),
) {
    let results = module.types.results(module.funcs.get(id).ty()).to_vec();
    let ty = InstrSeqType::new(&mut module.types, &[], &results);
    let func = module.funcs.get_mut(id).kind.unwrap_local_mut();
    let entry = func.entry_block();
    let instrs = std::mem::take(&mut func.block_mut(entry).instrs);
    let body = sequence(func, ty, Code(instrs));
    before.op(ir::Block { seq: body });
    leave(&mut before);
    func.block_mut(entry).instrs = before.0;
    for seq in sequences(func) {
        if seq != entry {
            retarget(&mut func.block_mut(seq).instrs, entry, body, leave);
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
