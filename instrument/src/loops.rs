//! Loops: which of a function's loops call nothing.
//!
//! Those do not ask the host what the run has come to: a call in them, even one that is hardly ever made, costs them
//! registers, a tenth to a quarter of their time.

use std::collections::BTreeSet;

use walrus::LocalFunction;
use walrus::ir::{self, Instr, InstrSeqId};

use crate::emit::{nested, sequences};

/// The loops of a function.
pub(crate) struct Loops {
    /// Is there one that calls nothing?
    pub(crate) quiet: bool,
    /// Sequences whose innermost loop calls.
    noisy: BTreeSet<InstrSeqId>,
}

impl Loops {
    pub(crate) fn of(func: &LocalFunction) -> Loops {
        let calls = |seq: InstrSeqId| func.block(seq).instrs.iter().any(|(i, _)| is_call(i));
        // Children come after their parents: walk backwards, and let calls rise.
        let order = sequences(func);
        let mut calling = BTreeSet::new();
        let mut quiet = false;
        for &seq in order.iter().rev() {
            let mut any = calls(seq);
            for (instr, loc) in &func.block(seq).instrs {
                match instr {
                    // A check of ours, which calls only what it refuses.
                    Instr::IfElse(_) if loc.is_default() => {}
                    _ => any |= nested(instr).iter().any(|seq| calling.contains(seq)),
                }
                if let Instr::Loop(ir::Loop { seq }) = instr {
                    quiet |= !calling.contains(seq);
                }
            }
            if any {
                calling.insert(seq);
            }
        }
        let mut noisy = BTreeSet::new();
        for seq in order {
            for (instr, _) in &func.block(seq).instrs {
                match instr {
                    Instr::Loop(ir::Loop { seq }) => noisy.extend(calling.get(seq)),
                    _ if noisy.contains(&seq) => noisy.extend(nested(instr)),
                    _ => {}
                }
            }
        }
        Loops { quiet, noisy }
    }

    /// May the host be asked at a place in `seq`? Everywhere, if all loops call.
    pub(crate) fn may_ask(&self, seq: InstrSeqId) -> bool {
        !self.quiet || self.noisy.contains(&seq)
    }
}

pub(crate) fn is_call(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::Call(_) | Instr::CallIndirect(_) | Instr::CallRef(_)
    )
}
