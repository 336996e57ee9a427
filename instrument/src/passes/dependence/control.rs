//! Labels across blocks, loops and calls: what is left where for whoever goes on.

use walrus::ir::{self, Instr, InstrLocId, InstrSeqId};
use walrus::{FunctionId, FunctionKind, TypeId};

use super::effect::{block, carries};
use super::walk::{Goal, Value, Walk};
use crate::emit::{Code, body, body_mut};
use crate::labels::{SiteKind, argument, payload, result};

impl Walk<'_> {
    /// Prepares what a block, or the first of two arms, leaves; how high the stack is below its
    /// parameters.
    pub(super) fn enter(&mut self, code: &mut Code, arms: &[InstrSeqId]) -> usize {
        self.keep(code, None);
        let ty = body(self.module, self.id).block(arms[0]).ty;
        let (params, results) = block(self.module, ty);
        let mut exits = vec![false; results.len()];
        for arm in arms {
            let other = self.pass.carriers.exits(*arm, &results);
            exits
                .iter_mut()
                .zip(other)
                .for_each(|(exit, other)| *exit |= other);
        }
        let goals = self.goals_for(arms, &exits);
        self.goals.insert(arms[0], goals);
        self.stack.len() - params.len()
    }

    pub(super) fn goals_for(&mut self, seqs: &[InstrSeqId], which: &[bool]) -> Vec<Goal> {
        let is_landing = seqs.iter().any(|seq| self.pass.carriers.is_landing(*seq));
        let goals = which.iter().enumerate().map(|(n, carries)| match carries {
            false => Goal::Nowhere,
            true if is_landing => Goal::Memory(payload(n)),
            true => self.another().map_or(Goal::Nowhere, Goal::Local),
        });
        goals.collect()
    }

    /// After a block: its results, on the stack as it was below its parameters.
    pub(super) fn exit(&mut self, code: &mut Code, height: usize, seq: InstrSeqId) {
        self.stack.truncate(height);
        self.stack.resize(height, Value::PLAIN);
        let goals = self.goals[&seq].clone();
        self.arrive(code, &goals);
    }

    pub(super) fn enter_loop(
        &mut self,
        code: &mut Code,
        seq: InstrSeqId,
        instr: Instr,
        loc: InstrLocId,
    ) {
        self.keep(code, None);
        let ty = body(self.module, self.id).block(seq).ty;
        let (params, results) = block(self.module, ty);
        let heads = self.pass.carriers.heads(seq, &params);
        let goals = self.goals_for(&[seq], &heads);
        self.goals.insert(seq, goals.clone());
        self.leave(code, seq);
        let height = self.stack.len() - params.len();
        self.stack.truncate(height);
        // What comes out at the end is no branch to it.
        let exits = self.pass.carriers.exits(seq, &results);
        let ends = exits.iter().map(|carries| match carries {
            true => self.another().map_or(Goal::Nowhere, Goal::Local),
            false => Goal::Nowhere,
        });
        let ends = ends.collect::<Vec<_>>();
        let mut begin = Code::default();
        self.arrive(&mut begin, &goals);
        let instrs = std::mem::take(&mut body_mut(self.module, self.id).block_mut(seq).instrs);
        let mut inside = begin;
        let mut goes_on = true;
        for (n, (instr, loc)) in instrs.iter().enumerate() {
            goes_on = self.operator(&mut inside, instr.clone(), *loc, &instrs[n + 1..]);
            if !goes_on {
                break;
            }
        }
        if goes_on {
            self.goals.insert(seq, ends.clone());
            self.leave(&mut inside, seq);
        }
        body_mut(self.module, self.id).block_mut(seq).instrs = inside.0;
        code.op_at(instr, loc);
        self.stack.truncate(height);
        self.stack.resize(height, Value::PLAIN);
        self.arrive(code, &ends);
    }

    pub(super) fn types(&self, ty: TypeId) -> Vec<bool> {
        let params = self.module.types.params(ty);
        params.iter().map(|ty| carries(*ty)).collect()
    }

    /// Which parameters of a function have labels.
    pub(super) fn parameters(&self, func: FunctionId) -> Vec<bool> {
        match &self.module.funcs.get(func).kind {
            FunctionKind::Local(body) => {
                let args = body.args.iter();
                args.map(|arg| self.pass.carriers.local(self.module, *arg))
                    .collect()
            }
            _ => {
                vec![
                    false;
                    self.module
                        .types
                        .params(self.module.funcs.get(func).ty())
                        .len()
                ]
            }
        }
    }

    /// Stores the labels of the last values on the stack at their places, where there are any.
    pub(super) fn give(&mut self, code: &mut Code, which: &[bool], place: fn(usize) -> u32) {
        let from = self.stack.len() - which.len();
        for (n, _) in which.iter().enumerate().filter(|(_, carries)| **carries) {
            code.i32(0);
            self.label(code, self.stack[from + n].label);
            code.store32(self.pass.labels, place(n));
        }
    }

    /// Pushes what a call returned.
    pub(super) fn take(&mut self, code: &mut Code, which: &[bool]) {
        let goals = which.iter().enumerate().map(|(n, carries)| match carries {
            true => Goal::Memory(result(n)),
            false => Goal::Nowhere,
        });
        let goals = goals.collect::<Vec<_>>();
        self.arrive(code, &goals);
    }

    /// The results of what is called have no labels unless it says so.
    pub(super) fn forget(&mut self, code: &mut Code, which: &[bool]) {
        for (n, _) in which.iter().enumerate().filter(|(_, carries)| **carries) {
            code.i32(0).i32(0).store32(self.pass.labels, result(n));
        }
    }

    /// What goes before an indirect call; takes its operands off the stack.
    pub(super) fn indirect(
        &mut self,
        code: &mut Code,
        instr: &Instr,
        loc: InstrLocId,
        ty: TypeId,
    ) -> Vec<bool> {
        let target = self.pop();
        let table = match instr {
            Instr::CallIndirect(ir::CallIndirect { table, .. })
            | Instr::ReturnCallIndirect(ir::ReturnCallIndirect { table, .. }) => Some(*table),
            _ => None,
        };
        if table.is_some_and(|table| !self.module.tables.get(table).table64) {
            self.top_event(code, loc, SiteKind::Index, target);
        }
        let takes = self.types(ty);
        self.give(code, &takes, argument);
        self.stack.truncate(self.stack.len() - takes.len());
        let results = self.module.types.results(ty);
        let leaves = results.iter().map(|ty| carries(*ty)).collect::<Vec<_>>();
        self.forget(code, &leaves);
        leaves
    }
}
