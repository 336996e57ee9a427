//! Landings: a block for exceptions that go to the end of a function.
//!
//! What an exception carries has its labels elsewhere than what a function returns, and behind a function's end there is
//! no room for code that moves them. Behind a block's there is:
//!
//! ```wat
//! ;; before                                ;; after
//! (func (result i32)                       (func (result i32)
//!   try_table (catch $tag 0) … end)          block $landing (result i32)
//!                                              try_table (catch $tag $landing) … end
//!                                            end)
//! ```
//!
//! Branches to the end stay as they are.

use walrus::ir::{self, Instr, InstrSeqId, InstrSeqType, TryTableCatch};
use walrus::{FunctionId, LocalFunction, Module};

use super::effect::carries;
use crate::emit::{Code, body, body_mut, sequence, sequences};
use crate::flow::catch_label;

/// Gives `id` such a block if it needs one.
pub(super) fn at_end(module: &mut Module, id: FunctionId) {
    let func = body(module, id);
    let results = module.types.results(func.ty()).to_vec();
    let entry = func.entry_block();
    if !results.iter().any(|ty| carries(*ty)) || !catches_to(func, entry) {
        return;
    }
    let ty = InstrSeqType::new(&mut module.types, &[], &results);
    let func = body_mut(module, id);
    let instrs = std::mem::take(&mut func.block_mut(entry).instrs);
    // The function begins where it did.
    let mut locs = instrs.iter().map(|(_, loc)| *loc);
    let first = locs.find(|loc| !loc.is_default());
    let landing = sequence(func, ty, Code(instrs));
    let mut code = Code::default();
    code.op_at(ir::Block { seq: landing }, first.unwrap_or_default());
    func.block_mut(entry).instrs = code.0;
    for seq in sequences(func) {
        for (instr, _) in &mut func.block_mut(seq).instrs {
            if let Instr::TryTable(ir::TryTable { catches, .. }) = instr {
                let all = catches.iter_mut().map(label_mut);
                all.filter(|label| **label == entry)
                    .for_each(|label| *label = landing);
            }
        }
    }
}

fn catches_to(func: &LocalFunction, to: InstrSeqId) -> bool {
    let all = sequences(func).into_iter();
    let mut all = all.flat_map(|seq| &func.block(seq).instrs);
    all.any(|(instr, _)| match instr {
        Instr::TryTable(ir::TryTable { catches, .. }) => {
            catches.iter().any(|catch| catch_label(catch) == to)
        }
        _ => false,
    })
}

fn label_mut(catch: &mut TryTableCatch) -> &mut InstrSeqId {
    match catch {
        TryTableCatch::Catch { label, .. }
        | TryTableCatch::CatchRef { label, .. }
        | TryTableCatch::CatchAll { label }
        | TryTableCatch::CatchAllRef { label } => label,
    }
}
