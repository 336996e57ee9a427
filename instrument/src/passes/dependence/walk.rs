//! One function: its operators one after the other, with the label of each value on the stack.
//!
//! A label is in a local of ours: the one that stands for a local of the guest's, or the one for its
//! place on the stack. Most are known to be nothing, and cost nothing. What a block leaves goes through
//! locals of its own; where exceptions may land, through the memory of labels, for nothing of ours runs
//! on their way.
//!
//! Where a function has so many locals, or blocks with results, that there is no room for all of ours, what is left over
//! has no label.

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{self, BinaryOp, Instr, InstrLocId, InstrSeqId, InstrSeqType, UnaryOp};
use walrus::{FunctionId, LocalId, MemoryId, Module, ValType};

use super::effect::effect;
use super::library::Library;
use super::{Dependence, operators};
use crate::emit::{Code, body, body_mut, locals, room_for_locals, sequence};
use crate::labels::{SiteKind, VALUES_MAX, argument, payload, result};

/// Where the label of a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label {
    /// It is nothing.
    None,
    /// In the local for this place on the stack.
    Slot(usize),
    /// In the local that stands for this one of the guest's.
    Local(LocalId),
    /// In this local of ours, for as long as an operator is worked on.
    Scratch(LocalId),
}

/// A value on the stack.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) label: Label,
    /// Is the label a set, not lanes?
    pub(super) flat: bool,
    pub(super) constant: Option<u64>,
    /// Is it the outcome of a comparison that was recorded?
    pub(super) compared: bool,
}

impl Value {
    pub(super) const PLAIN: Value = Value {
        label: Label::None,
        flat: true,
        constant: None,
        compared: false,
    };
}

/// Where the labels of what a block leaves go.
#[derive(Clone, Copy)]
pub(super) enum Goal {
    Nowhere,
    Local(LocalId),
    Memory(u32),
}

/// What a scratch local is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Address,
    Left,
    Right,
    Size,
    Outcome,
    Label,
    Count,
}

pub(super) struct Walk<'a> {
    pub(super) pass: &'a mut Dependence,
    pub(super) module: &'a mut Module,
    pub(super) id: FunctionId,
    pub(super) stack: Vec<Value>,
    /// Locals for the labels of places on the stack.
    pub(super) slots: Vec<LocalId>,
    /// From locals of the guest's to those of their labels.
    pub(super) twins: BTreeMap<LocalId, LocalId>,
    /// How many more locals there may be for labels.
    room: usize,
    pub(super) scratch: Vec<(Use, ValType, LocalId)>,
    pub(super) goals: BTreeMap<InstrSeqId, Vec<Goal>>,
}

/// Rewrites `id`.
pub(super) fn function(pass: &mut Dependence, module: &mut Module, id: FunctionId) {
    let func = body(module, id);
    let args = func.args.clone();
    let entry = func.entry_block();
    let used = locals(func);
    let room = room_for_locals(&used);
    // A quarter is for places on the stack and what blocks leave.
    let carriers = pass.carriers.of_function(module, &used, room / 4 * 3);
    let room = room - carriers.len();
    let twins = carriers.into_iter().map(|local| {
        let twin = module.locals.add(ValType::I32);
        (local, twin)
    });
    let twins = twins.collect::<BTreeMap<_, _>>();
    let results = pass.carriers.results(module, id);
    let goal = |(n, carries): (usize, &bool)| match carries {
        true => Goal::Memory(result(n)),
        false => Goal::Nowhere,
    };
    let goals = results.iter().enumerate().map(goal).collect();
    let labels = pass.labels;
    let mut walk = Walk {
        pass,
        module,
        id,
        stack: Vec::new(),
        slots: Vec::new(),
        twins,
        room,
        scratch: Vec::new(),
        goals: BTreeMap::from([(entry, goals)]),
    };
    let mut begin = Code::default();
    for (n, arg) in args.iter().enumerate() {
        if let Some(twin) = walk.twins.get(arg) {
            begin.i32(0).load32(labels, argument(n));
            begin.set(*twin);
        }
    }
    walk.sequence(entry);
    let func = body_mut(module, id);
    func.block_mut(entry).instrs.splice(0..0, begin.0);
}

impl Walk<'_> {
    /// Rewrites a sequence whose parameters lie on the stack; leaves its results' labels where they
    /// belong.
    pub(super) fn sequence(&mut self, id: InstrSeqId) {
        let instrs = std::mem::take(&mut body_mut(self.module, self.id).block_mut(id).instrs);
        let mut code = Code::default();
        let mut goes_on = true;
        for (n, (instr, loc)) in instrs.iter().enumerate() {
            let rest = &instrs[n + 1..];
            goes_on = self.operator(&mut code, instr.clone(), *loc, rest);
            if !goes_on {
                break;
            }
        }
        if goes_on {
            self.leave(&mut code, id);
        }
        body_mut(self.module, self.id).block_mut(id).instrs = code.0;
    }

    /// Puts labels where those of what `to` leaves go, or of what it begins with.
    pub(super) fn leave(&mut self, code: &mut Code, to: InstrSeqId) {
        let goals = self.goals[&to].clone();
        let from = self.stack.len() - goals.len();
        for (goal, n) in goals.into_iter().zip(from..) {
            match goal {
                Goal::Nowhere => {}
                Goal::Local(local) => {
                    self.label(code, self.stack[n].label);
                    code.set(local);
                }
                Goal::Memory(address) => {
                    code.i32(0);
                    self.label(code, self.stack[n].label);
                    code.store32(self.pass.labels, address);
                }
            }
        }
    }

    /// Pushes values with the labels that lie there.
    pub(super) fn arrive(&mut self, code: &mut Code, goals: &[Goal]) {
        for goal in goals {
            match *goal {
                Goal::Nowhere => {
                    self.stack.push(Value::PLAIN);
                    continue;
                }
                Goal::Local(local) => code.get(local),
                Goal::Memory(address) => code.i32(0).load32(self.pass.labels, address),
            };
            self.push_label(code, false);
        }
    }

    /// Makes the label that the code leaves on the stack that of a new value.
    pub(super) fn push_label(&mut self, code: &mut Code, flat: bool) {
        let Some(slot) = self.slot(self.stack.len()) else {
            code.op(ir::Drop {});
            return self.stack.push(Value::PLAIN);
        };
        code.set(slot);
        self.stack.push(Value {
            label: Label::Slot(self.stack.len()),
            flat,
            ..Value::PLAIN
        });
    }

    /// Pushes a value that has this label.
    pub(super) fn push(&mut self, code: &mut Code, label: Label, flat: bool) {
        match label {
            Label::Slot(n) if n != self.stack.len() => {
                self.label(code, label);
                self.push_label(code, flat);
            }
            label => self.stack.push(Value {
                label,
                flat,
                ..Value::PLAIN
            }),
        }
    }

    pub(super) fn pop(&mut self) -> Value {
        self.stack.pop().expect("the module is valid")
    }

    /// The local for a place on the stack, if there is room for it.
    fn slot(&mut self, n: usize) -> Option<LocalId> {
        while self.slots.len() <= n {
            let slot = self.another()?;
            self.slots.push(slot);
        }
        Some(self.slots[n])
    }

    /// Another local for a label, if there is room for it.
    pub(super) fn another(&mut self) -> Option<LocalId> {
        self.room = self.room.checked_sub(1)?;
        Some(self.module.locals.add(ValType::I32))
    }

    /// Code that leaves a label on the stack.
    pub(super) fn label(&mut self, code: &mut Code, label: Label) {
        match label {
            Label::None => code.i32(0),
            Label::Slot(n) => code.get(self.slots[n]),
            Label::Local(local) => code.get(self.twins[&local]),
            Label::Scratch(local) => code.get(local),
        };
    }

    /// The same, lanes forgotten.
    pub(super) fn set(&mut self, code: &mut Code, value: Value) {
        self.label(code, value.label);
        if value.label != Label::None && !value.flat {
            let set = self.pass.library.set;
            self.if_in_lanes(code, value.label, |code| {
                code.call(set);
            });
        }
    }

    /// With a label on the stack: if it is one in lanes, another in its place.
    pub(super) fn if_in_lanes(
        &mut self,
        code: &mut Code,
        label: Label,
        change: impl FnOnce(&mut Code),
    ) {
        code.i32(0).bin(BinaryOp::I32LtS);
        let (mut then, mut otherwise) = (Code::default(), Code::default());
        self.label(&mut then, label);
        change(&mut then);
        self.label(&mut otherwise, label);
        self.choose(code, then, otherwise);
    }

    /// `if (result i32)`
    pub(super) fn choose(&mut self, code: &mut Code, then: Code, otherwise: Code) {
        let func = body_mut(self.module, self.id);
        let ty = InstrSeqType::Simple(Some(ValType::I32));
        let consequent = sequence(func, ty, then);
        let alternative = sequence(func, ty, otherwise);
        code.op(ir::IfElse {
            consequent,
            alternative,
        });
    }

    /// `if else`
    pub(super) fn if_else(&mut self, code: &mut Code, then: Code, otherwise: Code) {
        let func = body_mut(self.module, self.id);
        let ty = InstrSeqType::Simple(None);
        let consequent = sequence(func, ty, then);
        let alternative = sequence(func, ty, otherwise);
        code.op(ir::IfElse {
            consequent,
            alternative,
        });
    }

    /// `if`
    pub(super) fn when(&mut self, code: &mut Code, then: Code) {
        code.when(body_mut(self.module, self.id), then);
    }

    pub(super) fn scratch(&mut self, purpose: Use, ty: ValType) -> LocalId {
        let known = self.scratch.iter();
        let mut known = known.filter(|(known, of, _)| *known == purpose && *of == ty);
        if let Some((_, _, local)) = known.next() {
            return *local;
        }
        let local = self.module.locals.add(ty);
        self.scratch.push((purpose, ty, local));
        local
    }

    /// Pushes the union of two values.
    pub(super) fn join(&mut self, code: &mut Code, left: Value, right: Value) {
        if left.label == Label::None || right.label == Label::None || left.label == right.label {
            let value = if left.label == Label::None {
                right
            } else {
                left
            };
            if value.label == Label::None || value.flat {
                self.push(code, value.label, true);
            } else {
                self.set(code, value);
                self.push_label(code, true);
            }
            return;
        }
        let join = self.pass.library.join;
        self.both(code, left.label, right.label, |code| {
            code.call(join);
        });
        self.push_label(code, true);
    }

    /// A label made of two, or none if neither is one.
    pub(super) fn both(
        &mut self,
        code: &mut Code,
        left: Label,
        right: Label,
        make: impl FnOnce(&mut Code),
    ) {
        self.label(code, left);
        self.label(code, right);
        code.bin(BinaryOp::I32Or);
        let (mut then, mut otherwise) = (Code::default(), Code::default());
        self.label(&mut then, left);
        self.label(&mut then, right);
        make(&mut then);
        otherwise.i32(0);
        self.choose(code, then, otherwise);
    }

    /// Moves labels that lie in twins of locals to their slots: the local is about to be set, or may be
    /// in a block that is entered.
    pub(super) fn keep(&mut self, code: &mut Code, of: Option<LocalId>) {
        for n in 0..self.stack.len() {
            let Label::Local(local) = self.stack[n].label else {
                continue;
            };
            if of.is_none_or(|of| of == local) {
                self.stack[n].label = match self.slot(n) {
                    Some(slot) => {
                        self.label(code, Label::Local(local));
                        code.set(slot);
                        Label::Slot(n)
                    }
                    None => Label::None,
                };
            }
        }
    }

    /// Rewrites one operator; `rest` is what follows it. False if control does not go on.
    pub(super) fn operator(
        &mut self,
        code: &mut Code,
        instr: Instr,
        loc: InstrLocId,
        rest: &[(Instr, InstrLocId)],
    ) -> bool {
        match &instr {
            Instr::Block(ir::Block { seq }) | Instr::TryTable(ir::TryTable { seq, .. }) => {
                let (seq, height) = (*seq, self.enter(code, &[*seq]));
                self.sequence(seq);
                code.op_at(instr, loc);
                self.exit(code, height, seq);
            }
            Instr::Loop(ir::Loop { seq }) => {
                let seq = *seq;
                self.enter_loop(code, seq, instr, loc);
            }
            Instr::IfElse(ir::IfElse {
                consequent,
                alternative,
            }) => {
                let (consequent, alternative) = (*consequent, *alternative);
                let condition = self.pop();
                self.top_event(code, loc, SiteKind::Branch, condition);
                let height = self.enter(code, &[consequent, alternative]);
                let goals = self.goals[&consequent].clone();
                self.goals.insert(alternative, goals);
                let before = self.stack.clone();
                self.sequence(consequent);
                self.stack = before;
                self.sequence(alternative);
                code.op_at(instr, loc);
                self.exit(code, height, consequent);
            }
            Instr::Br(ir::Br { block }) => {
                self.leave(code, *block);
                code.op_at(instr, loc);
                return false;
            }
            Instr::Return(_) => {
                let entry = body(self.module, self.id).entry_block();
                self.leave(code, entry);
                code.op_at(instr, loc);
                return false;
            }
            Instr::BrIf(ir::BrIf { block }) => {
                let condition = self.pop();
                self.top_event(code, loc, SiteKind::Branch, condition);
                self.leave(code, *block);
                code.op_at(instr, loc);
            }
            Instr::BrTable(ir::BrTable { blocks, default }) => {
                let index = self.pop();
                self.top_event(code, loc, SiteKind::Switch, index);
                let targets = blocks.iter().chain([default]).copied();
                for target in targets.collect::<BTreeSet<_>>() {
                    self.leave(code, target);
                }
                code.op_at(instr, loc);
                return false;
            }
            Instr::BrOnNull(ir::BrOnNull { block }) => {
                self.pop();
                self.leave(code, *block);
                self.stack.push(Value::PLAIN);
                code.op_at(instr, loc);
            }
            Instr::BrOnNonNull(ir::BrOnNonNull { block }) => {
                self.leave(code, *block);
                self.pop();
                code.op_at(instr, loc);
            }
            Instr::Throw(ir::Throw { tag }) => {
                let takes = self.types(self.module.tags.get(*tag).ty());
                self.give(code, &takes, payload);
                code.op_at(instr, loc);
                return false;
            }
            Instr::ThrowRef(_) | Instr::Unreachable(_) => {
                code.op_at(instr, loc);
                return false;
            }
            Instr::Call(ir::Call { func }) => {
                let func = *func;
                let takes = self.parameters(func);
                self.give(code, &takes, argument);
                self.stack.truncate(self.stack.len() - takes.len());
                code.op_at(instr, loc);
                let leaves = self.pass.carriers.results(self.module, func);
                self.take(code, &leaves);
            }
            Instr::ReturnCall(ir::ReturnCall { func }) => {
                let takes = self.parameters(*func);
                self.give(code, &takes, argument);
                let leaves = self.pass.carriers.results(self.module, self.id);
                self.forget(code, &leaves);
                code.op_at(instr, loc);
                return false;
            }
            Instr::CallIndirect(ir::CallIndirect { ty, .. })
            | Instr::CallRef(ir::CallRef { ty }) => {
                let leaves = self.indirect(code, &instr, loc, *ty);
                code.op_at(instr, loc);
                self.take(code, &leaves);
            }
            Instr::ReturnCallIndirect(ir::ReturnCallIndirect { ty, .. })
            | Instr::ReturnCallRef(ir::ReturnCallRef { ty }) => {
                self.indirect(code, &instr, loc, *ty);
                code.op_at(instr, loc);
                return false;
            }
            Instr::LocalGet(ir::LocalGet { local }) => {
                let label = match self.twins.contains_key(local) {
                    true => Label::Local(*local),
                    false => Label::None,
                };
                self.push(code, label, false);
                code.op_at(instr, loc);
            }
            Instr::LocalSet(ir::LocalSet { local }) | Instr::LocalTee(ir::LocalTee { local }) => {
                let local = *local;
                let is_tee = matches!(instr, Instr::LocalTee(_));
                code.op_at(instr, loc);
                let value = self.pop();
                if value.label != Label::Local(local)
                    && let Some(twin) = self.twins.get(&local).copied()
                {
                    self.keep(code, Some(local));
                    self.label(code, value.label);
                    code.set(twin);
                }
                if is_tee {
                    self.stack.push(value);
                }
            }
            Instr::GlobalGet(ir::GlobalGet { global }) => {
                let global = *global;
                code.op_at(instr, loc);
                if self.pass.carriers.global(self.module, global) {
                    let address = self.pass.global(global);
                    code.i32(0).load32(self.pass.labels, address);
                    self.push_label(code, false);
                } else {
                    self.stack.push(Value::PLAIN);
                }
            }
            Instr::GlobalSet(ir::GlobalSet { global }) => {
                let global = *global;
                code.op_at(instr, loc);
                let value = self.pop();
                if self.pass.carriers.global(self.module, global) {
                    code.i32(0);
                    self.label(code, value.label);
                    code.store32(self.pass.labels, self.pass.global(global));
                }
            }
            Instr::Const(ir::Const { value }) => {
                let constant = match *value {
                    ir::Value::I32(value) => Some(u64::from(value.cast_unsigned())),
                    ir::Value::I64(value) => Some(value.cast_unsigned()),
                    _ => None,
                };
                code.op_at(instr, loc);
                self.stack.push(Value {
                    constant,
                    ..Value::PLAIN
                });
            }
            Instr::Drop(_) => {
                self.pop();
                code.op_at(instr, loc);
            }
            Instr::Select(_) => self.select(code, instr, loc),
            Instr::Binop(ir::Binop { op }) => {
                let op = *op;
                match operators::comparison(op) {
                    Some((ty, relation)) => self.compare(code, op, ty, relation, loc, rest),
                    None => operators::binary(self, code, op, loc),
                }
            }
            Instr::Unop(ir::Unop { op }) => {
                let op = *op;
                match op {
                    UnaryOp::I32Eqz => self.is_zero(code, op, ValType::I32, loc, rest),
                    UnaryOp::I64Eqz => self.is_zero(code, op, ValType::I64, loc, rest),
                    _ => operators::unary(self, code, op, loc),
                }
            }
            Instr::Load(_)
            | Instr::LoadSimd(_)
            | Instr::Store(_)
            | Instr::MemoryCopy(_)
            | Instr::MemoryFill(_)
            | Instr::MemoryInit(_)
            | Instr::MemoryGrow(_) => super::memory::operator(self, code, instr, loc),
            _ => {
                let (taken, left) = effect(self.module, &instr);
                let operands = self.stack.split_off(self.stack.len() - taken);
                code.op_at(instr, loc);
                self.all_in_each(code, &operands, left);
            }
        }
        true
    }

    /// Pushes values each of which depends on all of these; references do not.
    pub(super) fn all_in_each(&mut self, code: &mut Code, operands: &[Value], left: usize) {
        let base = self.stack.len();
        if left == 0 {
            return;
        }
        // Above all operands, so that no label is written over before it is read.
        let height = base + operands.len();
        self.stack.resize(height, Value::PLAIN);
        let mut whole = Value::PLAIN;
        for operand in operands {
            self.join(code, whole, *operand);
            whole = self.pop();
        }
        self.stack.truncate(base);
        for _ in 0..left {
            self.push(code, whole.label, true);
        }
    }

    pub(super) fn library(&self) -> Library {
        self.pass.library
    }

    /// The library that works on this memory's shadow.
    pub(super) fn library_of(&self, memory: MemoryId) -> Library {
        self.pass.shadows[&memory].1
    }
}

const _: () = assert!(VALUES_MAX >= 1000, "what wasm allows");
