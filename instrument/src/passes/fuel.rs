//! Fuel: a budget that ends endless runs, and what the weights of the edges cannot know.
//!
//! The fuel of a run is a function of its edge counts (see `flow`), and the host's verdict is
//! `fuel > limit`. What is left to do inside the guest is to stop in time. Every cycle of a
//! program passes a back edge or the entry of a recursive function; those, and functions that can do much
//! without a cycle, spend from a budget as large as the limit (how much says `spending`), and below zero the run
//! traps. What is spent never exceeds the fuel, so only runs over the limit are stopped.
//!
//! It falls short of the fuel where one way around a loop is dearer than another. So the budget has a floor, below
//! which the host is asked: it adds up the counts, and ends the run or lowers the floor. The budget stays what it is: what was
//! used and not spent is spent later, and would be taken off twice. Loops that call nothing do not ask (`loops`), and a build
//! without counts asks nowhere.
//!
//! The budget lies in a global of ours, and so does its floor. A function with a loop that calls nothing keeps the budget in a
//! local, flushed before calls and exits, and loaded again after calls and where exceptions land:
//!
//! ```wat
//! ;; before            ;; after
//! loop $l … br_if $l   local.set $b (global.get $budget)
//! end                  loop $l … if  count(taken)  local.tee $b (i64.sub $b w)  i64.lt_s 0
//!                        if  unreachable  end  br $l  end …  end
//! call $f              global.set $budget (local.get $b)  call $f  local.set $b (global.get $budget)
//! ```
//!
//! Bulk operators cost what their size says: a call of `charge` after each of them adds it to a
//! counter of its own, and spends it.

use walrus::ir::{self, BinaryOp, Instr, InstrLocId, InstrSeqId, InstrSeqType, UnaryOp};
use walrus::{
    FunctionBuilder, FunctionId, GlobalId, LocalFunction, LocalId, MemoryId, Module, ValType,
};

use crate::cost::{BULK_SHIFT, THROW};
use crate::emit::{Code, body, rewrite, sequence, sequences};
use crate::flow::Flow;
use crate::layout::{CURRENT_NODE, EXTRA_FUEL};
use crate::loops::{Loops, is_call};

/// The injected functions and global.
pub(crate) struct Fuel {
    /// i64: what may still be spent.
    pub(crate) budget: GlobalId,
    /// i64: what of it is left when the host is asked.
    pub(crate) floor: GlobalId,
    /// `() -> ()`: asks the host, which lowers the floor or ends the run; none where nothing is counted.
    ask: Option<FunctionId>,
    /// `(size: i32) -> ()`: charges a bulk operator.
    charge: FunctionId,
}

/// Adds the budget and its floor, `ask`, by way of the host's `next_floor`, and `charge`; of a profile, with the address of its `nodes`.
pub(crate) fn functions(
    module: &mut Module,
    side: MemoryId,
    initial: i64,
    next_floor: Option<FunctionId>,
    nodes: Option<u32>,
) -> Fuel {
    let initial = walrus::ConstExpr::Value(ir::Value::I64(initial));
    let budget = module.globals.add_local(ValType::I64, true, false, initial);
    let zero = walrus::ConstExpr::Value(ir::Value::I64(0));
    let floor = module.globals.add_local(ValType::I64, true, false, zero);
    let ask = next_floor.map(|next| {
        let mut body = Code::default();
        body.global_get(budget).call(next).global_set(floor);
        let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
        builder.name("__sandglass_ask".into());
        *builder.func_body().instrs_mut() = body.0;
        builder.finish(vec![], &mut module.funcs)
    });
    let size = module.locals.add(ValType::I32);
    let cost = module.locals.add(ValType::I64);
    let mut builder = FunctionBuilder::new(&mut module.types, &[ValType::I32], &[]);
    builder.name("__sandglass_charge".into());
    let over = match ask {
        Some(ask) => builder.dangling_instr_seq(None).call(ask).id(),
        None => builder.dangling_instr_seq(None).unreachable().id(),
    };
    let fine = builder.dangling_instr_seq(None).id();
    let mut body = Code::default();
    body.i32(0)
        .i32(0)
        .load64(side, EXTRA_FUEL)
        .get(size)
        .i32(BULK_SHIFT)
        .bin(BinaryOp::I32ShrU);
    body.un(UnaryOp::I64ExtendUI32)
        .tee(cost)
        .bin(BinaryOp::I64Add)
        .store64(side, EXTRA_FUEL);
    if let Some(nodes) = nodes {
        let node = module.locals.add(ValType::I32);
        body.i32(0)
            .load32(side, CURRENT_NODE)
            .tee(node)
            .get(node)
            .load64(side, nodes)
            .get(cost)
            .bin(BinaryOp::I64Add)
            .store64(side, nodes);
    }
    body.global_get(budget)
        .get(cost)
        .bin(BinaryOp::I64Sub)
        .global_set(budget);
    body.global_get(budget)
        .global_get(floor)
        .bin(BinaryOp::I64LtS);
    body.op(ir::IfElse {
        consequent: over,
        alternative: fine,
    });
    *builder.func_body().instrs_mut() = body.0;
    let charge = builder.finish(vec![size], &mut module.funcs);
    Fuel {
        budget,
        floor,
        ask,
        charge,
    }
}

/// Where a function spends from: the global itself, or a local that stands for it.
pub(crate) struct Purse<'a> {
    fuel: &'a Fuel,
    local: Option<LocalId>,
    /// Those of the original code: where the host is asked, and so where a run ends, is the same in every build.
    loops: &'a Loops,
}

impl Purse<'_> {
    /// Spends at a place in `seq`: `purse -= weight; if (purse < floor) ask`, or, where nobody asks, `unreachable` below zero.
    pub(crate) fn spend(
        &self,
        code: &mut Code,
        func: &mut LocalFunction,
        seq: InstrSeqId,
        weight: u64,
    ) {
        let weight = weight.clamp(1, i64::MAX as u64).cast_signed();
        let budget = self.fuel.budget;
        match self.local {
            None => {
                code.global_get(budget).i64(weight).bin(BinaryOp::I64Sub);
                code.global_set(budget).global_get(budget);
            }
            Some(local) => {
                code.get(local).i64(weight).bin(BinaryOp::I64Sub).tee(local);
            }
        }
        let mut over = Code::default();
        match self.fuel.ask.filter(|_| self.loops.may_ask(seq)) {
            Some(ask) => {
                code.global_get(self.fuel.floor);
                if let Some(local) = self.local {
                    over.get(local).global_set(budget);
                }
                over.call(ask);
            }
            None => {
                code.i64(0);
                over.op(ir::Unreachable {});
            }
        }
        code.bin(BinaryOp::I64LtS).when(func, over);
    }
}

/// Chooses where `id` spends from: a local, if it has a loop that calls nothing.
pub(crate) fn purse<'a>(
    module: &mut Module,
    id: FunctionId,
    flow: &Flow,
    fuel: &'a Fuel,
    loops: &'a Loops,
) -> Purse<'a> {
    let spends = flow
        .decisions
        .values()
        .flat_map(|d| &d.arms)
        .any(|arm| arm.ticks);
    let func = module.funcs.get(id).kind.unwrap_local();
    // As it is now: what is recorded in a loop may call.
    let stands = spends && Loops::of(func).quiet;
    Purse {
        fuel,
        local: stands.then(|| module.locals.add(ValType::I64)),
        loops,
    }
}

/// Loads a function's local purse at its start, and keeps it in step with the global elsewhere. What is `left` is
/// spent where it returns. Runs after the edges are in and before bulk operators are charged.
pub(crate) fn keep_in_step(module: &mut Module, id: FunctionId, purse: &Purse, left: Option<u64>) {
    let fuel = purse.fuel;
    let entry = body(module, id).entry_block();
    let Some(local) = purse.local else {
        if let Some(left) = left {
            let spend =
                |code: &mut Code, func: &mut LocalFunction| purse.spend(code, func, entry, left);
            enclose(module, id, |_| {}, spend);
        }
        return;
    };
    let load = |code: &mut Code| {
        code.global_get(fuel.budget).set(local);
    };
    let flush = |code: &mut Code| {
        code.get(local).global_set(fuel.budget);
    };
    // A bulk operator is followed by a call, once it is charged. Who asks has said what is left.
    let asks =
        |instr: &Instr| matches!(instr, Instr::Call(ir::Call { func }) if Some(*func) == fuel.ask);
    let wanted = |module: &Module, _, instr: &Instr, _| {
        (is_call(instr) && !asks(instr)) || leaves(instr) || is_charged(module, instr)
    };
    rewrite(module, id, wanted, |_, code, _, instr, loc| {
        let comes_back = !leaves(&instr);
        flush(code);
        code.op_at(instr, loc);
        if comes_back {
            load(code);
        }
    });
    enclose(module, id, load, |code, func| {
        if let Some(left) = left {
            purse.spend(code, func, entry, left);
        }
        flush(code);
    });
}

/// Puts something before a function's body and behind it, where it returns.
fn enclose(
    module: &mut Module,
    id: FunctionId,
    before: impl FnOnce(&mut Code),
    behind: impl FnOnce(&mut Code, &mut LocalFunction),
) {
    let results = module.types.results(module.funcs.get(id).ty()).to_vec();
    let ty = InstrSeqType::new(&mut module.types, &[], &results);
    let func = module.funcs.get_mut(id).kind.unwrap_local_mut();
    let entry = func.entry_block();
    let instrs = std::mem::take(&mut func.block_mut(entry).instrs);
    let body = sequence(func, ty, Code(instrs));
    let mut whole = Code::default();
    before(&mut whole);
    whole.op(ir::Block { seq: body });
    behind(&mut whole, func);
    func.block_mut(entry).instrs = whole.0;
    for seq in sequences(func) {
        if seq != entry {
            crate::passes::depth::retarget(
                &mut func.block_mut(seq).instrs,
                entry,
                body,
                &mut |_| {},
            );
        }
    }
}

/// What a landing exception runs so that the purse is right.
pub(crate) fn on_landing(code: &mut Code, purse: &Purse) {
    if let Some(local) = purse.local {
        code.global_get(purse.fuel.budget).set(local);
    }
}

/// Does it leave the function other than by a branch to its end?
fn leaves(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::ReturnCall(_)
            | Instr::ReturnCallIndirect(_)
            | Instr::ReturnCallRef(_)
            | Instr::Throw(_)
            | Instr::ThrowRef(_)
    )
}

/// Is it charged for more than its operator?
pub(crate) fn is_charged(module: &Module, instr: &Instr) -> bool {
    throws(instr) || size_type(instr, &module.memories, &module.tables).is_some()
}

fn throws(instr: &Instr) -> bool {
    matches!(instr, Instr::Throw(_) | Instr::ThrowRef(_))
}

/// Charges every bulk operator of a function for its size, and every throw for the unwinding.
pub(crate) fn charge_bulk(module: &mut Module, id: FunctionId, fuel: &Fuel) {
    let (mut narrow, mut wide) = (None, None);
    let size = |module: &Module, instr: &Instr| size_type(instr, &module.memories, &module.tables);
    let wanted = |module: &Module, _, instr: &Instr, loc: InstrLocId| {
        !loc.is_default() && is_charged(module, instr)
    };
    rewrite(module, id, wanted, |module, code, _, instr, loc| {
        // After the operator: one that traps has not done its work, and one that does not
        // has a size below that of a memory, which fits.
        match size(module, &instr) {
            Some(ValType::I64) => {
                let size = *wide.get_or_insert_with(|| module.locals.add(ValType::I64));
                code.tee(size)
                    .op_at(instr, loc)
                    .get(size)
                    .un(UnaryOp::I32WrapI64)
                    .call(fuel.charge);
            }
            Some(_) => {
                let size = *narrow.get_or_insert_with(|| module.locals.add(ValType::I32));
                code.tee(size).op_at(instr, loc).get(size).call(fuel.charge);
            }
            None => {
                code.i32((THROW << BULK_SHIFT).cast_signed())
                    .call(fuel.charge)
                    .op_at(instr, loc);
            }
        }
    });
}

/// The type of the size on top of the stack, for operators whose cost depends on it.
fn size_type(
    instr: &Instr,
    memories: &walrus::ModuleMemories,
    tables: &walrus::ModuleTables,
) -> Option<ValType> {
    let of = |wide: bool| Some(if wide { ValType::I64 } else { ValType::I32 });
    match instr {
        Instr::MemoryFill(ir::MemoryFill { memory }) => of(memories.get(*memory).memory64),
        Instr::MemoryCopy(ir::MemoryCopy { src, dst }) => {
            of(memories.get(*src).memory64 && memories.get(*dst).memory64)
        }
        Instr::MemoryInit(_) | Instr::TableInit(_) => Some(ValType::I32),
        Instr::TableFill(ir::TableFill { table }) => of(tables.get(*table).table64),
        Instr::TableCopy(ir::TableCopy { src, dst }) => {
            of(tables.get(*src).table64 && tables.get(*dst).table64)
        }
        _ => None,
    }
}
