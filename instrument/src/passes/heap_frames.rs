//! Heap frames: a gap above each frame of the stack that nobody may use while it is there.
//!
//! A frame is made 16 bytes larger at its upper end, and the shadow of these is [`FRAME`] until its function is left. A
//! function whose frame is not understood stays as it is (see `frames`).
//!
//! ```wat
//! ;; before                        ;; after
//! global.get $sp                   global.get $sp
//! i32.const 48                     i32.const 48
//! i32.sub                          i32.sub  i32.const 16  i32.sub
//! local.tee $frame                 local.tee $frame
//! global.set $sp                   global.set $sp
//!                                  (i32.store16 $shadow (local.tee $gap <where the gap's shadow lies>) (i32.const <FRAME twice>))
//! BODY                             block  BODY, `return` being `br`
//! local.get $frame                 local.get $frame
//! i32.const 48                     i32.const 48
//! i32.add                          i32.add
//! global.set $sp                   i32.const 16  i32.add  global.set $sp
//!                                  end  (i32.store16 $shadow (local.get $gap) (i32.const 0))
//! ```
//!
//! Gaps are made only where the module starts its stack, so that the host knows what to clear after a run that
//! did not return; elsewhere `$gap` is a place that belongs to no memory. An exception leaves functions
//! without clearing: where one lands, the host clears what lies below.

use walrus::ir::{self, BinaryOp};
use walrus::{FunctionId, GlobalId, LocalId, MemoryId, Module, ValType};

use crate::emit::{Code, body, body_mut};
use crate::frames::{Frame, STACK_ALIGNMENT};
use crate::passes::depth::{has_handlers, wrap};

/// Shadow of the gap above a frame.
pub const FRAME: u8 = 0x7e;

/// Bytes of the gap: as many as keep the stack aligned.
const GAP: i32 = STACK_ALIGNMENT.cast_signed();

/// Both granules of a gap.
const FORBIDDEN: i32 = FRAME as i32 * 0x101;

/// Shadow of addresses that no guest memory has: those end at a GiB, and these are at two.
const NOWHERE: i32 = 1 << 28;

/// What the frames of a module have in common.
pub(crate) struct Frames {
    pub(crate) shadow: MemoryId,
    pub(crate) pointer: GlobalId,
    /// Where gaps may lie: the first address, and one past the last.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The host's: `(stack pointer, end)`; clears the gaps between.
    pub(crate) landed: FunctionId,
}

/// What is left to do in a function once other passes were there.
#[derive(Clone, Copy, Default)]
pub(crate) struct Leaving {
    /// Holds where the shadow of its gap is.
    gap: Option<LocalId>,
    /// Holds the stack pointer, if exceptions land here.
    landing: Option<LocalId>,
}

impl Frames {
    /// Appended to the operator that takes the frame.
    pub(crate) fn enlarge(&self, code: &mut Code) {
        code.i32(GAP).bin(BinaryOp::I32Sub);
    }

    /// Before the stack pointer is set to where a frame ends.
    pub(crate) fn skip(&self, code: &mut Code) {
        code.i32(GAP).bin(BinaryOp::I32Add);
    }

    /// Once the frame is made.
    pub(crate) fn forbid(&self, module: &mut Module, code: &mut Code, frame: &Frame) -> LocalId {
        let [address, gap] = [(); 2].map(|()| module.locals.add(ValType::I32));
        code.global_get(self.pointer);
        match frame.set {
            Some(_) => code.i32(frame.bytes.cast_signed()).bin(BinaryOp::I32Add),
            // The stack pointer is where it was.
            None => code.i32(GAP).bin(BinaryOp::I32Sub),
        };
        code.tee(address)
            .i32(crate::GRANULE_SHIFT.cast_signed())
            .bin(BinaryOp::I32ShrU);
        code.i32(NOWHERE);
        code.get(address)
            .i32(self.start.cast_signed())
            .bin(BinaryOp::I32Sub);
        code.i32((self.end - self.start).cast_signed())
            .bin(BinaryOp::I32LtU);
        code.op(ir::Select { ty: None });
        code.tee(gap).i32(FORBIDDEN);
        self.store(code);
        gap
    }

    fn store(&self, code: &mut Code) {
        let kind = ir::StoreKind::I32_16 { atomic: false };
        code.store(self.shadow, kind, 1, 0);
    }

    /// Keeps what landing exceptions need, if any land in `id`.
    pub(crate) fn leaving(
        &self,
        module: &mut Module,
        id: FunctionId,
        gap: Option<LocalId>,
    ) -> Leaving {
        let landing = has_handlers(body(module, id)).then(|| module.locals.add(ValType::I32));
        if let Some(local) = landing {
            let mut keep = Code::default();
            keep.global_get(self.pointer);
            // The gap itself, which is the highest of its frame's, stays.
            if gap.is_some() {
                keep.i32(GAP).bin(BinaryOp::I32Sub);
            }
            keep.set(local);
            let func = body_mut(module, id);
            let entry = func.entry_block();
            func.block_mut(entry).instrs.splice(0..0, keep.0);
        }
        Leaving { gap, landing }
    }

    /// What a landing exception runs.
    pub(crate) fn land(&self, code: &mut Code, leaving: Leaving) {
        if let Some(landing) = leaving.landing {
            code.global_get(self.pointer).get(landing).call(self.landed);
        }
    }

    /// Clears the gap at every exit of `id`.
    pub(crate) fn leave(&self, module: &mut Module, id: FunctionId, leaving: Leaving) {
        if let Some(gap) = leaving.gap {
            wrap(module, id, Code::default(), &mut |code| {
                code.get(gap).i32(0);
                self.store(code);
            });
        }
    }
}
