//! Trace: tells the host of every function that is entered, in order, with the depth of the call.
//!
//! ```wat
//! ;; before            ;; after
//! (at the entry)       (local.set $depth (i32.add (i32.load $side CALL_DEPTH) (i32.const 1)))
//!                      (call $called (i32.const <this function>) (local.get $depth))
//! call $f              (i32.store $side CALL_SITE (i32.const <offset of the call>))
//!                      (i32.store $side CALL_DEPTH (local.get $depth))  call $f
//! call $imported       … (call $called (i32.const <imported>) (i32.add (local.get $depth) (i32.const 1)))  call $imported
//! return_call $f       … (i32.store $side CALL_DEPTH (i32.sub (local.get $depth) (i32.const 1)))  return_call $f
//! ```
//!
//! As with `paths` nobody has to take a step back, so exceptions and traps need nothing. Host functions are told where
//! a call names them; one that is called through a table is not.

use walrus::ir::{self, BinaryOp, Instr, InstrLocId};
use walrus::{FunctionId, FunctionKind, MemoryId, Module, ValType};

use crate::HOST_MODULE;
use crate::emit::{Code, Place, body_mut, rewrite};
use crate::layout::{CALL_DEPTH, CALL_SITE};
use crate::passes::profile::{calls, imported, leaves};

/// Tells `called`, the host's (function, depth), of `id` where it begins, and of the host functions that it calls.
pub(crate) fn instrument(module: &mut Module, id: FunctionId, side: MemoryId, called: FunctionId) {
    let depth = module.locals.add(ValType::I32);
    let wanted = |module: &Module, _: Place, instr: &Instr, loc: InstrLocId| {
        !loc.is_default() && calls(instr) && !is_ours(module, instr)
    };
    rewrite(module, id, wanted, |module, code, _, instr, loc| {
        let site = loc.data().cast_signed();
        code.i32(0).i32(site).store32(side, CALL_SITE);
        code.i32(0).get(depth);
        if leaves(&instr) {
            code.i32(1).bin(BinaryOp::I32Sub);
        }
        code.store32(side, CALL_DEPTH);
        if let Some(import) = imported(module, &instr) {
            code.i32(import).get(depth).i32(1).bin(BinaryOp::I32Add);
            code.call(called);
        }
        code.op_at(instr, loc);
    });
    let mut begin = Code::default();
    begin.i32((id.index() as u32).cast_signed());
    begin.i32(0).load32(side, CALL_DEPTH).i32(1);
    begin.bin(BinaryOp::I32Add).tee(depth).call(called);
    let func = body_mut(module, id);
    let entry = func.entry_block();
    func.block_mut(entry).instrs.splice(0..0, begin.0);
}

/// Does it call a host function that is there for us, in the place of an operator of the guest's?
fn is_ours(module: &Module, instr: &Instr) -> bool {
    let Instr::Call(ir::Call { func }) = instr else {
        return false;
    };
    match &module.funcs.get(*func).kind {
        FunctionKind::Import(import) => module.imports.get(import.import).module == HOST_MODULE,
        _ => false,
    }
}
