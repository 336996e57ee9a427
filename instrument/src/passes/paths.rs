//! Paths: where in the run a draw happens, as its execution index.
//!
//! The index of a draw is a step for each active call between the entry point and the draw, that of
//! the draw last: which call it is (its offset in the original file), and how often this invocation of
//! its caller has made that call so far. Only calls from which a draw can be reached are steps, so
//! other functions cost nothing. The steps of the active calls lie in the side memory, one after the
//! other; [`PATH_TOP`] says where they end.
//!
//! ```wat
//! ;; before            ;; after
//! (at the entry)       (local.set $base (i32.load $side PATH_TOP))
//! call $f              (i32.store $side path (local.get $base) <offset of the call>)
//!                      (local.set $n (i32.add (local.get $n) (i32.const 1)))
//!                      (i32.store $side path+4 (local.get $base) (local.get $n))
//!                      (i32.store $side PATH_TOP (i32.add (local.get $base) (i32.const 8)))
//!                      call $f
//! ```
//!
//! Nobody has to take a step back: a function reads the end where it begins, and whoever calls it has
//! just written it. So exceptions, tail calls and traps need nothing. The counts are locals, which
//! begin at nought in each invocation, as the index wants it; where a function has more calls than it may have locals, the
//! last ones count together. Calls that are nested deeper than
//! [`PATH_STEPS`] write over the last step.

use std::collections::BTreeMap;

use walrus::ir::{BinaryOp, Instr, InstrLocId};
use walrus::{FunctionId, LocalId, MemoryId, Module, ValType};

use crate::calls::CallGraph;
use crate::emit::{Code, Place, body, body_mut, locals, rewrite, room_for_locals};
use crate::layout::{PATH_STEP_BYTES, PATH_STEPS, PATH_TOP};

/// Steps through the calls of `id` from which a draw can be reached; `path` is the address of the
/// first step.
pub(crate) fn instrument(
    module: &mut Module,
    id: FunctionId,
    graph: &CallGraph,
    side: MemoryId,
    path: u32,
) {
    let mut counts: BTreeMap<u32, LocalId> = BTreeMap::new();
    let base = module.locals.add(ValType::I32);
    let room = room_for_locals(&locals(body(module, id)));
    let mut shared = None;
    let wanted = |_: &Module, _: Place, instr: &Instr, loc: InstrLocId| {
        !loc.is_default() && graph.may_draw(instr)
    };
    rewrite(module, id, wanted, |module, code, _, instr, loc| {
        let call = loc.data();
        // Where there is no room for another, calls count together.
        let count = match shared.filter(|_| counts.len() >= room) {
            Some(last) => last,
            None => *(counts.entry(call)).or_insert_with(|| module.locals.add(ValType::I32)),
        };
        shared = Some(count);
        code.get(base).i32(call.cast_signed()).store32(side, path);
        code.get(base)
            .get(count)
            .i32(1)
            .bin(BinaryOp::I32Add)
            .tee(count)
            .store32(side, path + 4);
        code.i32(0)
            .get(base)
            .i32(PATH_STEP_BYTES as i32)
            .bin(BinaryOp::I32Add)
            .store32(side, PATH_TOP);
        code.op_at(instr, loc);
    });
    if counts.is_empty() {
        return;
    }
    let deepest = ((PATH_STEPS - 1) * PATH_STEP_BYTES).cast_signed();
    let mut begin = Code::default();
    begin.i32(0).load32(side, PATH_TOP).tee(base).i32(deepest);
    begin.get(base).i32(deepest).bin(BinaryOp::I32LtU);
    begin.op(walrus::ir::Select { ty: None }).set(base);
    let func = body_mut(module, id);
    let entry = func.entry_block();
    func.block_mut(entry).instrs.splice(0..0, begin.0);
}
