//! Edges: a counter per function entry and per arm of every decision.
//!
//! ```wat
//! ;; before                 ;; after (a `count` is load, add, store at a constant address)
//! br_if $l                  if  count(taken)  br $l  else  count(not taken)  end
//! if A else B end           if  count(then) A  else  count(else) B  end
//! br_table $a $b $d         local.tee $i  counters[base + min(i, 2)] += 1  local.get $i  br_table …
//! br $loop                  count(back edge)  br $loop
//! call $may_throw           call $may_throw  count(returned)
//! ```
//!
//! A handler of a `try_table` gets a landing block of its own, so that an arrival can be counted
//! and the call depth restored there:
//!
//! ```wat
//! block $after (result R)
//!   block $landing (result P)
//!     try_table (result R) (catch $tag $landing) … end
//!     br $after
//!   end
//!   count(caught)  <landing code>  br $l
//! end
//! ```
//!
//! A build without counts has only what spends fuel and what handlers need.
//!
//! Joins have no probe: what runs after them is implied by the arms that lead there. A count
//! whose arm closes a cycle also spends fuel (see `fuel`).

use std::collections::BTreeMap;
use walrus::ir::{
    self, BinaryOp, Instr, InstrLocId, InstrSeqId, InstrSeqType, LoadKind, StoreKind, TryTableCatch,
};
use walrus::{FunctionId, LocalId, MemoryId, Module, RefType, ValType};

use crate::emit::{Code, Place, body, body_mut, rewrite, sequence, signature};
use crate::flow::{Arm, Decision, Flow, catch_label};
use crate::passes::fuel::Purse;
use crate::passes::profile::Tally;

/// Where a function's counters lie.
pub(crate) struct Counters {
    /// The side memory; none where nothing is counted.
    pub(crate) memory: Option<MemoryId>,
    /// Address of the function's entry counter.
    pub(crate) entry: u32,
    /// Address of the counter of its first arm.
    pub(crate) arms: u32,
    /// Where its fuel goes in a profile.
    pub(crate) tally: Option<Tally>,
}

/// Scratch locals of the function being rewritten.
struct Scratch {
    index: Option<LocalId>,
    slot: Option<LocalId>,
}

/// Rewrites `id`. `landing` makes the code that each arriving exception runs first.
/// Arms are numbered in the order of [`arms_in_order`].
pub(crate) fn instrument(
    module: &mut Module,
    id: FunctionId,
    flow: &Flow,
    counters: &Counters,
    purse: &Purse,
    ticks_at_entry: bool,
    landing: &dyn Fn() -> Code,
) {
    let mut numbers = BTreeMap::new();
    let mut next = 0u32;
    for (at, decision) in arms_in_order(flow) {
        numbers.insert(*at, counters.arms + next * 4);
        next += decision.arms.len() as u32;
    }
    let mut scratch = Scratch {
        index: None,
        slot: None,
    };
    // Without counts: what spends, and what has to run where an exception lands.
    let matters = |decision: &Decision, instr: &Instr| {
        counters.memory.is_some()
            || matches!(instr, Instr::TryTable(_))
            || decision.arms.iter().any(|arm| arm.ticks)
    };
    let wanted = |_: &Module, at: Place, instr: &Instr, _| {
        (flow.decisions.get(&at)).is_some_and(|decision| matters(decision, instr))
    };
    let mut heads = Vec::new();
    rewrite(module, id, wanted, |module, code, at, instr, loc| {
        let mut rewrite = Rewrite {
            module,
            id,
            counters,
            purse,
            scratch: &mut scratch,
            heads: &mut heads,
            seq: at.0,
            decision: &flow.decisions[&at],
            base: numbers[&at],
        };
        rewrite.decision(code, instr, loc, landing);
    });
    for (arm, code) in heads {
        let func = body_mut(module, id);
        func.block_mut(arm).instrs.splice(0..0, code.0);
    }
    let entry = Arm {
        kind: crate::probes::ArmKind::Entry,
        segment: flow.entry,
        back: false,
        ticks: ticks_at_entry,
        spends: flow.entry.weight,
    };
    let first = body(module, id).entry_block();
    let mut code = Code::default();
    probe(
        module,
        id,
        &mut code,
        counters,
        counters.entry,
        &entry,
        (purse, first),
    );
    let func = body_mut(module, id);
    func.block_mut(first).instrs.splice(0..0, code.0);
}

/// Decisions in the order of the original code, then of the tree (for equal offsets).
pub(crate) fn arms_in_order(flow: &Flow) -> Vec<(&Place, &Decision)> {
    let mut found: Vec<_> = flow.decisions.iter().collect();
    found.sort_by_key(|(at, decision)| (decision.offset, **at));
    found
}

struct Rewrite<'a> {
    module: &'a mut Module,
    id: FunctionId,
    counters: &'a Counters,
    purse: &'a Purse<'a>,
    scratch: &'a mut Scratch,
    /// What goes before the arms of `if`s, once all is rewritten: the places of decisions within them
    /// are those from before.
    heads: &'a mut Vec<(InstrSeqId, Code)>,
    /// Where the decision is.
    seq: InstrSeqId,
    decision: &'a Decision,
    base: u32,
}

impl Rewrite<'_> {
    fn decision(
        &mut self,
        code: &mut Code,
        instr: Instr,
        loc: InstrLocId,
        landing: &dyn Fn() -> Code,
    ) {
        match instr {
            Instr::BrIf(ir::BrIf { block }) => {
                let mut taken = self.probe(0);
                taken.op_at(ir::Br { block }, loc);
                let fallen = self.probe(1);
                let label = self.label_types(block);
                let ty = InstrSeqType::new(&mut self.module.types, &label, &label);
                let func = body_mut(self.module, self.id);
                let consequent = sequence(func, ty, taken);
                let alternative = sequence(func, ty, fallen);
                code.op(ir::IfElse {
                    consequent,
                    alternative,
                });
            }
            Instr::IfElse(ir::IfElse {
                consequent,
                alternative,
            }) => {
                for (arm, seq) in [consequent, alternative].into_iter().enumerate() {
                    let probe = self.probe(arm);
                    self.heads.push((seq, probe));
                }
                code.op_at(instr, loc);
            }
            Instr::BrTable(ref table) => {
                self.switch(code, table.blocks.len());
                code.op_at(instr, loc);
            }
            Instr::Br(_) => {
                code.0.extend(self.probe(0).0);
                code.op_at(instr, loc);
            }
            Instr::TryTable(ir::TryTable { seq, catches }) => {
                self.handlers(code, seq, catches, loc, landing)
            }
            _ => {
                code.op_at(instr, loc);
                code.0.extend(self.probe(0).0);
            }
        }
    }

    fn probe(&mut self, arm: usize) -> Code {
        let mut code = Code::default();
        let address = self.base + arm as u32 * 4;
        probe(
            self.module,
            self.id,
            &mut code,
            self.counters,
            address,
            &self.decision.arms[arm],
            (self.purse, self.seq),
        );
        code
    }

    /// Probes a `br_table` with `slots` slots and a default, whose index is on the stack.
    fn switch(&mut self, code: &mut Code, slots: usize) {
        if let Some(memory) = self.counters.memory {
            self.count_slot(code, slots, memory);
        }
        if self.decision.is_spending_switch() {
            // The same for whichever slot it takes.
            let func = body_mut(self.module, self.id);
            let spends = self.decision.arms[0].spends;
            self.purse.spend(code, func, self.seq, spends);
        }
    }

    /// Counts the slot whose index is on the stack, and leaves it there.
    fn count_slot(&mut self, code: &mut Code, slots: usize, memory: MemoryId) {
        let index = local(self.module, &mut self.scratch.index);
        let slot = local(self.module, &mut self.scratch.slot);
        let word = LoadKind::I32 { atomic: false };
        code.tee(index)
            .i32(slots as i32)
            .get(index)
            .i32(slots as i32)
            .bin(BinaryOp::I32LtU);
        // select takes its first operand when the condition holds: index, slots, index < slots.
        code.op(ir::Select { ty: None })
            .i32(2)
            .bin(BinaryOp::I32Shl)
            .tee(slot);
        code.get(slot)
            .load(memory, word, 4, self.base)
            .i32(1)
            .bin(BinaryOp::I32Add);
        code.store(memory, StoreKind::I32 { atomic: false }, 4, self.base);
        if let Some(tally) = &self.counters.tally {
            tally.add_slot(code, slot, self.base);
        }
        code.get(index);
    }

    /// Gives each handler a landing block around the `try_table`.
    fn handlers(
        &mut self,
        code: &mut Code,
        protected: InstrSeqId,
        catches: Vec<TryTableCatch>,
        loc: InstrLocId,
        landing: &dyn Fn() -> Code,
    ) {
        let func = body(self.module, self.id);
        let (params, results) = signature(&self.module.types, func.block(protected).ty);
        let after_ty = InstrSeqType::new(&mut self.module.types, &params, &results);
        let func = body_mut(self.module, self.id);
        let after = sequence(func, after_ty, Code::default());
        let mut landings = Vec::new();
        for catch in &catches {
            let payload = self.payload(catch);
            let ty = InstrSeqType::new(&mut self.module.types, &params, &payload);
            let func = body_mut(self.module, self.id);
            landings.push(sequence(func, ty, Code::default()));
        }
        let landed = catches
            .iter()
            .zip(&landings)
            .map(|(catch, &label)| match *catch {
                TryTableCatch::Catch { tag, .. } => TryTableCatch::Catch { tag, label },
                TryTableCatch::CatchRef { tag, .. } => TryTableCatch::CatchRef { tag, label },
                TryTableCatch::CatchAll { .. } => TryTableCatch::CatchAll { label },
                TryTableCatch::CatchAllRef { .. } => TryTableCatch::CatchAllRef { label },
            });
        let mut inner = Code::default();
        inner
            .op_at(
                ir::TryTable {
                    seq: protected,
                    catches: landed.collect(),
                },
                loc,
            )
            .br(after);
        for (arm, (catch, &block)) in catches.iter().zip(&landings).enumerate() {
            let func = body_mut(self.module, self.id);
            func.block_mut(block).instrs = std::mem::take(&mut inner).0;
            inner.op(ir::Block { seq: block });
            let probe = self.probe(arm);
            inner.0.extend(landing().0);
            inner.0.extend(probe.0);
            inner.br(catch_label(catch));
        }
        let func = body_mut(self.module, self.id);
        func.block_mut(after).instrs = inner.0;
        code.op(ir::Block { seq: after });
    }

    fn payload(&self, catch: &TryTableCatch) -> Vec<ValType> {
        let of = |tag| {
            self.module
                .types
                .params(self.module.tags.get(tag).ty)
                .to_vec()
        };
        match *catch {
            TryTableCatch::Catch { tag, .. } => of(tag),
            TryTableCatch::CatchRef { tag, .. } => [of(tag), vec![ValType::Ref(exnref())]].concat(),
            TryTableCatch::CatchAll { .. } => vec![],
            TryTableCatch::CatchAllRef { .. } => vec![ValType::Ref(exnref())],
        }
    }

    /// What a branch to `block` takes from the stack.
    fn label_types(&self, block: InstrSeqId) -> Vec<ValType> {
        let func = body(self.module, self.id);
        let (params, results) = signature(&self.module.types, func.block(block).ty);
        if self.decision.arms[0].back {
            params
        } else {
            results
        }
    }
}

/// What a handler receives: a caught exception is never null.
fn exnref() -> RefType {
    RefType {
        nullable: false,
        ..RefType::EXNREF
    }
}

fn probe(
    module: &mut Module,
    id: FunctionId,
    code: &mut Code,
    counters: &Counters,
    address: u32,
    arm: &Arm,
    (purse, seq): (&Purse, InstrSeqId),
) {
    if let Some(memory) = counters.memory {
        code.count(memory, address);
    }
    if let Some(tally) = &counters.tally {
        tally.add(code, crate::clamp(arm.segment.weight));
    }
    if arm.ticks {
        purse.spend(code, body_mut(module, id), seq, arm.spends);
    }
}

fn local(module: &mut Module, slot: &mut Option<LocalId>) -> LocalId {
    *slot.get_or_insert_with(|| module.locals.add(ValType::I32))
}
