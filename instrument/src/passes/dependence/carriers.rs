//! Carriers: the locals, globals, parameters and results that can have a label at all.
//!
//! Constants, loop counters and stack pointers never do, and what never has a label costs nothing. Found
//! by walking over all functions until nothing is added: memory can have any label, the rest has what
//! flows into it. Where that takes too many rounds, everything is a carrier.

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{self, Instr, InstrSeqId};
use walrus::{FunctionId, FunctionKind, GlobalId, LocalId, Module};

use super::effect::{block, carries, effect};
use crate::calls::{address_taken, draws};
use crate::emit::sequences;
use crate::flow::catch_label;

/// Rounds over all functions. Real modules need four to eight: one more than calls are deep before
/// something else that carries is met.
const ROUNDS_MAX: usize = 16;

/// Locals of one function that are followed; what is kept in others has no label. Unoptimised code alone
/// has more than a few hundred.
const LOCALS_MAX: usize = 20_000;

#[derive(Default)]
pub(super) struct Carriers {
    locals: BTreeSet<LocalId>,
    globals: BTreeSet<GlobalId>,
    /// Of blocks what they leave, of functions what they return; which of several values.
    exits: BTreeMap<InstrSeqId, Vec<bool>>,
    /// What loops begin with.
    heads: BTreeMap<InstrSeqId, Vec<bool>>,
    /// Functions that may be called from anywhere.
    open: BTreeSet<FunctionId>,
    /// Imports whose results the host labels.
    draws: BTreeSet<FunctionId>,
    /// Blocks that exceptions go to.
    landings: BTreeSet<InstrSeqId>,
    everything: bool,
    changed: bool,
}

impl Carriers {
    /// Of a module, before anything of ours is in it.
    pub(super) fn find(module: &Module, functions: &[FunctionId]) -> Carriers {
        let mut found = Carriers {
            open: address_taken(module),
            draws: draws(module),
            ..Carriers::default()
        };
        for &id in functions {
            let FunctionKind::Local(body) = &module.funcs.get(id).kind else {
                continue;
            };
            let (params, results) = module.types.params_results(body.ty());
            if found.open.contains(&id) {
                let args = params.iter().zip(&body.args);
                let args = args.filter(|(ty, _)| carries(**ty));
                found.locals.extend(args.map(|(_, local)| *local));
            }
            let all = results
                .iter()
                .map(|ty| carries(*ty) && found.open.contains(&id));
            found.exits.insert(body.entry_block(), all.collect());
            for seq in sequences(body) {
                for (instr, _) in &body.block(seq).instrs {
                    if let Instr::TryTable(ir::TryTable { catches, .. }) = instr {
                        found.landings.extend(catches.iter().map(catch_label));
                    }
                }
            }
        }
        for _ in 0..ROUNDS_MAX {
            found.changed = false;
            for &id in functions {
                found.function(module, id);
            }
            if !found.changed {
                return found;
            }
        }
        found.everything = true;
        found
    }

    /// Those of a function's locals that can have a label, as many as there is room for.
    pub(super) fn of_function(
        &self,
        module: &Module,
        used: &BTreeSet<LocalId>,
        room: usize,
    ) -> Vec<LocalId> {
        let wanted = used.iter().copied();
        let wanted = wanted.filter(|local| self.local(module, *local));
        wanted.take(LOCALS_MAX.min(room)).collect()
    }

    pub(super) fn local(&self, module: &Module, local: LocalId) -> bool {
        let all = || self.everything && carries(module.locals.get(local).ty());
        self.locals.contains(&local) || all()
    }

    pub(super) fn global(&self, module: &Module, global: GlobalId) -> bool {
        let all = || self.everything && carries(module.globals.get(global).ty);
        self.globals.contains(&global) || all()
    }

    /// Which results of a function.
    pub(super) fn results(&self, module: &Module, id: FunctionId) -> Vec<bool> {
        let func = module.funcs.get(id);
        let results = module.types.results(func.ty());
        let all = || results.iter().map(|ty| carries(*ty)).collect();
        match &func.kind {
            FunctionKind::Local(_) if self.everything => all(),
            FunctionKind::Local(body) => self.exits[&body.entry_block()].clone(),
            _ if self.draws.contains(&id) => all(),
            _ => vec![false; results.len()],
        }
    }

    /// Which of the values that a block leaves; `which` are those that have the type for it.
    pub(super) fn exits(&self, seq: InstrSeqId, which: &[bool]) -> Vec<bool> {
        self.known(self.exits.get(&seq), which)
    }

    /// Which of the values that a loop begins with.
    pub(super) fn heads(&self, seq: InstrSeqId, which: &[bool]) -> Vec<bool> {
        self.known(self.heads.get(&seq), which)
    }

    fn known(&self, known: Option<&Vec<bool>>, which: &[bool]) -> Vec<bool> {
        match known {
            Some(known) if !self.everything => known.clone(),
            _ => which.to_vec(),
        }
    }

    /// Do exceptions go to the end of this block?
    pub(super) fn is_landing(&self, seq: InstrSeqId) -> bool {
        self.landings.contains(&seq)
    }

    fn function(&mut self, module: &Module, id: FunctionId) {
        let body = module.funcs.get(id).kind.unwrap_local();
        let mut walk = Walk {
            all: self,
            module,
            loops: BTreeSet::new(),
            entry: body.entry_block(),
            id,
        };
        walk.sequence(body.entry_block(), &mut Vec::new());
    }

    fn local_carries(&mut self, local: LocalId, does: bool) {
        self.changed |= does && self.locals.insert(local);
    }

    /// Adds to what is known of a block; the values are the last of `stack`.
    fn merge(changed: &mut bool, known: &mut [bool], stack: &[bool]) {
        let values = &stack[stack.len().saturating_sub(known.len())..];
        for (known, value) in known.iter_mut().zip(values) {
            *changed |= *value && !*known;
            *known |= value;
        }
    }
}

struct Walk<'a> {
    all: &'a mut Carriers,
    module: &'a Module,
    loops: BTreeSet<InstrSeqId>,
    entry: InstrSeqId,
    id: FunctionId,
}

impl Walk<'_> {
    fn branch(&mut self, to: InstrSeqId, stack: &[bool]) {
        let all = &mut *self.all;
        let known = if self.loops.contains(&to) {
            all.heads.get_mut(&to)
        } else {
            all.exits.get_mut(&to)
        };
        Carriers::merge(&mut all.changed, known.expect("it is open"), stack);
    }

    /// Enters a block whose parameters lie on the stack, and leaves its results there.
    fn nested(&mut self, seq: InstrSeqId, stack: &mut Vec<bool>, is_loop: bool) {
        let func = self.module.funcs.get(self.id).kind.unwrap_local();
        let (params, results) = block(self.module, func.block(seq).ty);
        let all = &mut *self.all;
        let is_landing = all.landings.contains(&seq);
        if is_loop {
            self.loops.insert(seq);
            let known = all
                .heads
                .entry(seq)
                .or_insert_with(|| vec![false; params.len()]);
            if is_landing {
                known.clone_from(&params);
            }
            Carriers::merge(&mut all.changed, known, stack);
            let height = stack.len() - params.len();
            stack.truncate(height);
            stack.extend(known.iter());
        }
        let known = all
            .exits
            .entry(seq)
            .or_insert_with(|| vec![false; results.len()]);
        if is_landing && !is_loop {
            known.clone_from(&results);
        }
        let height = stack.len() - params.len();
        self.sequence(seq, stack);
        stack.truncate(height);
        stack.extend(&self.all.exits[&seq]);
    }

    /// To the end, or to where control does not go on.
    fn sequence(&mut self, id: InstrSeqId, stack: &mut Vec<bool>) {
        let module = self.module;
        let func = module.funcs.get(self.id).kind.unwrap_local();
        for (instr, _) in &func.block(id).instrs {
            match instr {
                Instr::Block(ir::Block { seq }) | Instr::TryTable(ir::TryTable { seq, .. }) => {
                    self.nested(*seq, stack, false);
                    continue;
                }
                Instr::Loop(ir::Loop { seq }) => {
                    self.nested(*seq, stack, true);
                    continue;
                }
                Instr::IfElse(ir::IfElse {
                    consequent,
                    alternative,
                }) => {
                    stack.pop();
                    let mut other = stack.clone();
                    self.nested(*consequent, stack, false);
                    self.nested(*alternative, &mut other, false);
                    for (value, other) in stack.iter_mut().zip(other) {
                        *value |= other;
                    }
                    continue;
                }
                Instr::Br(ir::Br { block }) => {
                    self.branch(*block, stack);
                    return;
                }
                Instr::Return(_) => {
                    self.branch(self.entry, stack);
                    return;
                }
                Instr::BrTable(ir::BrTable { blocks, default }) => {
                    stack.pop();
                    for target in blocks.iter().chain([default]) {
                        self.branch(*target, stack);
                    }
                    return;
                }
                Instr::BrIf(ir::BrIf { block }) => {
                    stack.pop();
                    self.branch(*block, stack);
                    continue;
                }
                Instr::BrOnNull(ir::BrOnNull { block }) => {
                    stack.pop();
                    self.branch(*block, stack);
                    stack.push(false);
                    continue;
                }
                Instr::BrOnNonNull(ir::BrOnNonNull { block }) => {
                    self.branch(*block, stack);
                    stack.pop();
                    continue;
                }
                Instr::Unreachable(_) | Instr::Throw(_) | Instr::ThrowRef(_) => return,
                _ => {}
            }
            let (taken, left) = effect(module, instr);
            let operands = stack.split_off(stack.len() - taken);
            let any = operands.contains(&true);
            match instr {
                Instr::LocalGet(ir::LocalGet { local }) => {
                    stack.push(self.all.locals.contains(local));
                }
                Instr::LocalSet(ir::LocalSet { local }) => self.all.local_carries(*local, any),
                Instr::LocalTee(ir::LocalTee { local }) => {
                    self.all.local_carries(*local, any);
                    stack.push(any);
                }
                Instr::GlobalGet(ir::GlobalGet { global }) => {
                    stack.push(self.all.globals.contains(global));
                }
                Instr::GlobalSet(ir::GlobalSet { global }) => {
                    self.all.changed |= any && self.all.globals.insert(*global);
                }
                Instr::Call(ir::Call { func }) => {
                    self.arguments(*func, &operands);
                    stack.extend(self.all.results(module, *func));
                }
                Instr::ReturnCall(ir::ReturnCall { func }) => {
                    self.arguments(*func, &operands);
                    self.same_results(*func);
                    return;
                }
                Instr::CallIndirect(ir::CallIndirect { ty, .. })
                | Instr::CallRef(ir::CallRef { ty }) => {
                    stack.extend(module.types.results(*ty).iter().map(|ty| carries(*ty)));
                }
                Instr::ReturnCallIndirect(ir::ReturnCallIndirect { ty, .. })
                | Instr::ReturnCallRef(ir::ReturnCallRef { ty }) => {
                    let results = module.types.results(*ty).iter().map(|ty| carries(*ty));
                    self.branch(self.entry, &results.collect::<Vec<_>>());
                    return;
                }
                Instr::Load(_) | Instr::LoadSimd(_) => stack.resize(stack.len() + left, true),
                Instr::Const(_)
                | Instr::MemorySize(_)
                | Instr::MemoryGrow(_)
                | Instr::TableSize(_)
                | Instr::TableGrow(_)
                | Instr::TableGet(_)
                | Instr::RefNull(_)
                | Instr::RefIsNull(_)
                | Instr::RefFunc(_)
                | Instr::RefAsNonNull(_) => stack.resize(stack.len() + left, false),
                _ => stack.resize(stack.len() + left, any),
            }
        }
        self.branch_to_end(id, stack);
    }

    fn branch_to_end(&mut self, id: InstrSeqId, stack: &[bool]) {
        let all = &mut *self.all;
        let known = all.exits.get_mut(&id).expect("it is open");
        Carriers::merge(&mut all.changed, known, stack);
    }

    fn arguments(&mut self, callee: FunctionId, operands: &[bool]) {
        if let FunctionKind::Local(body) = &self.module.funcs.get(callee).kind {
            for (local, does) in body.args.iter().zip(operands) {
                self.all.local_carries(*local, *does);
            }
        }
    }

    /// A function that is called in the place of this one returns what this one does.
    fn same_results(&mut self, callee: FunctionId) {
        let theirs = self.all.results(self.module, callee);
        self.branch(self.entry, &theirs);
        if let FunctionKind::Local(body) = &self.module.funcs.get(callee).kind {
            let ours = self.all.exits[&self.entry].clone();
            let known = self.all.exits.get_mut(&body.entry_block());
            Carriers::merge(&mut self.all.changed, known.expect("all have one"), &ours);
        }
    }
}
