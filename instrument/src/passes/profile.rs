//! Profile: the fuel of every call stack, in a tree whose nodes lie in the side memory.
//!
//! A node stands for the functions that are active, outermost first. One that is active already is not
//! entered a second time: a recursion goes back to the node of the first call, so the tree is as deep
//! as there are functions, and no deeper. Each probe adds what it weighs to the node of its function,
//! bulk operators and host calls add their part: the nodes together hold the fuel of the run.
//!
//! ```wat
//! ;; before            ;; after
//! (at the entry)       (local.set $node (call $enter (i32.load $side CURRENT_NODE) (i32.const <this function>)))
//! count(arm)           count(arm)  (i64.store $side nodes (local.get $node) (i64.add … (i64.const <weight>)))
//! call $f              (i32.store $side CURRENT_NODE (local.get $node))  call $f
//! call $imported       (i32.store $side CURRENT_NODE (call $enter (local.get $node) (i32.const <imported>)))  call $imported
//! return_call $f       (i32.store $side CURRENT_NODE <the parent of $node>)  return_call $f
//! ```
//!
//! As with `paths` nobody has to take a step back: a caller names its node before each call and each
//! operator that is charged for its size, and keeps it in a local. So exceptions and traps need nothing, and
//! what a tail call enters hangs where the frame was that it takes over.
//!
//! `$enter` finds the node in a table by caller and callee, or asks the host, which keeps the tree.

use walrus::ir::{self, BinaryOp, Instr, InstrLocId, InstrSeqType, UnaryOp};
use walrus::{FunctionBuilder, FunctionId, FunctionKind, LocalId, MemoryId, Module, ValType};

use crate::emit::{Code, Place, body_mut, rewrite};
use crate::layout::{CALL_SLOT_BYTES, CALL_SLOTS, CURRENT_NODE, Layout};
use crate::passes::fuel::is_charged;

/// Where the fuel of one function goes.
#[derive(Clone, Copy)]
pub(crate) struct Tally {
    side: MemoryId,
    /// Holds the place of its node.
    node: LocalId,
    nodes: u32,
    /// From the counter of a probe to its weight.
    to_weights: u32,
}

impl Tally {
    pub(crate) fn new(module: &mut Module, side: MemoryId, layout: &Layout) -> Tally {
        Tally {
            side,
            node: module.locals.add(ValType::I32),
            nodes: layout.nodes,
            to_weights: layout.weights - layout.counters,
        }
    }

    /// Adds what an arm weighs.
    pub(crate) fn add(&self, code: &mut Code, weight: u32) {
        if weight > 0 {
            self.add_to_node(code, |code| {
                code.i64(weight.into());
            });
        }
    }

    /// Adds what the slot of a switch weighs; `slot` is four times its number, `counter` the address of
    /// the first one's counter.
    pub(crate) fn add_slot(&self, code: &mut Code, slot: LocalId, counter: u32) {
        self.add_to_node(code, |code| {
            code.get(slot)
                .load32(self.side, counter + self.to_weights)
                .un(UnaryOp::I64ExtendUI32);
        });
    }

    fn add_to_node(&self, code: &mut Code, amount: impl FnOnce(&mut Code)) {
        code.get(self.node)
            .get(self.node)
            .load64(self.side, self.nodes);
        amount(code);
        code.bin(BinaryOp::I64Add).store64(self.side, self.nodes);
    }
}

/// Adds `(caller's node: i32, callee: i32) -> (node: i32)`, which also counts the call. `ask` is the
/// host's: (caller's node, callee, slot) -> node; it fills the slot.
pub(crate) fn enter_function(
    module: &mut Module,
    side: MemoryId,
    layout: &Layout,
    ask: FunctionId,
) -> FunctionId {
    let [caller, callee, slot, node] = [(); 4].map(|()| module.locals.add(ValType::I32));
    let mut builder = FunctionBuilder::new(
        &mut module.types,
        &[ValType::I32, ValType::I32],
        &[ValType::I32],
    );
    builder.name("__sandglass_enter".into());
    const { assert!(CALL_SLOTS.is_power_of_two() && CALL_SLOT_BYTES.is_power_of_two()) };
    let mut known = Code::default();
    known.get(slot).load32(side, layout.calls + 8);
    let mut unknown = Code::default();
    unknown.get(caller).get(callee).get(slot).call(ask);
    let arm = |builder: &mut FunctionBuilder, code: Code| {
        let mut arm = builder.dangling_instr_seq(InstrSeqType::Simple(Some(ValType::I32)));
        *arm.instrs_mut() = code.0;
        arm.id()
    };
    let (known, unknown) = (arm(&mut builder, known), arm(&mut builder, unknown));
    let mut body = Code::default();
    // Multiplication carries differences upwards: the slot is in the upper bits of the product.
    body.get(callee)
        .i32(0x85eb_ca6b_u32.cast_signed())
        .bin(BinaryOp::I32Mul)
        .get(caller)
        .bin(BinaryOp::I32Add)
        .i32(0x9e37_79b1_u32.cast_signed())
        .bin(BinaryOp::I32Mul)
        .i32(32 - CALL_SLOTS.ilog2().cast_signed())
        .bin(BinaryOp::I32ShrU)
        .i32(CALL_SLOT_BYTES.ilog2().cast_signed())
        .bin(BinaryOp::I32Shl)
        .tee(slot);
    body.load32(side, layout.calls)
        .get(caller)
        .bin(BinaryOp::I32Eq);
    body.get(slot)
        .load32(side, layout.calls + 4)
        .get(callee)
        .i32(1)
        .bin(BinaryOp::I32Add)
        .bin(BinaryOp::I32Eq)
        .bin(BinaryOp::I32And);
    body.op(ir::IfElse {
        consequent: known,
        alternative: unknown,
    });
    body.tee(node)
        .get(node)
        .load32(side, layout.nodes + 8)
        .i32(1)
        .bin(BinaryOp::I32Add)
        .store32(side, layout.nodes + 8)
        .get(node);
    *builder.func_body().instrs_mut() = body.0;
    builder.finish(vec![caller, callee], &mut module.funcs)
}

/// Enters the node of `id` where it begins, and names it to whatever it calls or is charged for.
pub(crate) fn instrument(module: &mut Module, id: FunctionId, tally: &Tally, enter: FunctionId) {
    let Tally {
        side, node, nodes, ..
    } = *tally;
    let wanted = |module: &Module, _: Place, instr: &Instr, loc: InstrLocId| {
        !loc.is_default() && (calls(instr) || is_charged(module, instr))
    };
    rewrite(module, id, wanted, |module, code, _, instr, loc| {
        code.i32(0).get(node);
        if leaves(&instr) {
            code.load32(side, nodes + 12);
        }
        if let Some(import) = imported(module, &instr) {
            code.i32(import).call(enter);
        }
        code.store32(side, CURRENT_NODE).op_at(instr, loc);
    });
    let mut begin = Code::default();
    begin.i32(0).load32(side, CURRENT_NODE);
    begin
        .i32((id.index() as u32).cast_signed())
        .call(enter)
        .set(node);
    let func = body_mut(module, id);
    let entry = func.entry_block();
    func.block_mut(entry).instrs.splice(0..0, begin.0);
}

/// Is it a call?
pub(crate) fn calls(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::Call(_) | Instr::CallIndirect(_) | Instr::CallRef(_)
    ) || leaves(instr)
}

/// Does it give the frame away?
pub(crate) fn leaves(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::ReturnCall(_) | Instr::ReturnCallIndirect(_) | Instr::ReturnCallRef(_)
    )
}

/// The index of the host function that it calls, if it names one.
pub(crate) fn imported(module: &Module, instr: &Instr) -> Option<i32> {
    let (Instr::Call(ir::Call { func }) | Instr::ReturnCall(ir::ReturnCall { func })) = instr
    else {
        return None;
    };
    matches!(module.funcs.get(*func).kind, FunctionKind::Import(_))
        .then(|| (func.index() as u32).cast_signed())
}
