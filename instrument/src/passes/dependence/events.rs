//! What is recorded: comparisons, branches, switches and selections, with their operands and labels.

use walrus::ir::{self, BinaryOp, Instr, InstrLocId, StoreKind, UnaryOp};
use walrus::{LocalId, ValType};

use super::memory::Access;
use super::operators;
use super::walk::{Label, Use, Value, Walk};
use crate::emit::Code;
use crate::labels::{
    DependenceSite, EVENT_LIST_LONG, EVENTS_END, OUTCOME_IS_LEFT, OUTCOME_SHIFT, Recorded,
    Relation, SITE_EVENTS_MAX, SITES_MAX, SiteKind, event_head,
};

/// Where an operator lies, what it does, how it compares, and the bytes of its operands.
pub(super) type Site = (InstrLocId, SiteKind, Relation, u8);

/// What came out.
#[derive(Clone, Copy)]
pub(super) enum Outcome {
    /// 0: it has none.
    None,
    /// 0 or 1, in a local.
    Local(LocalId),
    /// Whether a local is not 0.
    IsSome(LocalId),
    /// The left operand.
    Left,
}

/// A number that is recorded.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Constant(u64),
    Local(LocalId, ValType),
    /// Where memory is accessed.
    Address(Access),
}

impl Operand {
    fn constant(self) -> Option<u64> {
        match self {
            Operand::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Its bytes in an event.
    fn bytes(self) -> u8 {
        match self {
            Operand::Constant(_) => 0,
            Operand::Local(_, ty) => operators::width(ty),
            Operand::Address(_) => 4,
        }
    }

    /// Code that leaves it on the stack, and how it is written.
    fn get(self, code: &mut Code) -> StoreKind {
        match self {
            Operand::Constant(_) => unreachable!("it is known beforehand"),
            Operand::Local(local, ty) => {
                code.get(local);
                match ty {
                    ValType::I64 => StoreKind::I64 { atomic: false },
                    ValType::F32 => StoreKind::F32,
                    ValType::F64 => StoreKind::F64,
                    _ => StoreKind::I32 { atomic: false },
                }
            }
            Operand::Address(access) => {
                access.guest_address(code);
                StoreKind::I32 { atomic: false }
            }
        }
    }
}

impl Walk<'_> {
    /// Records something at a new site if one of the labels is one.
    pub(super) fn event(
        &mut self,
        code: &mut Code,
        site: Site,
        labels: [Label; 2],
        outcome: Outcome,
        operands: [Operand; 2],
    ) {
        let decides = matches!(
            site.1,
            SiteKind::Compare | SiteKind::Branch | SiteKind::Switch
        );
        let always = self.pass.always && decides;
        let Some(record) = self.record(site, labels, outcome, operands, always) else {
            return;
        };
        if always {
            code.0.extend(record.0);
            return;
        }
        match labels {
            [Label::None, label] | [label, Label::None] => self.label(code, label),
            [left, right] => {
                self.label(code, left);
                self.label(code, right);
                code.bin(BinaryOp::I32Or);
            }
        }
        self.when(code, record);
    }

    /// Code that counts and records something at a new site. Nothing if it has no label and that is not `always` recorded, or if
    /// there are too many sites.
    pub(super) fn record(
        &mut self,
        (loc, kind, relation, width): Site,
        labels: [Label; 2],
        outcome: Outcome,
        operands: [Operand; 2],
        always: bool,
    ) -> Option<Code> {
        let number = self.pass.sites.len() as u32;
        let recorded = Recorded {
            labels: labels.map(|label| label != Label::None),
            operands: operands.map(Operand::bytes),
            constants: operands.map(|operand| operand.constant().unwrap_or(0)),
        };
        self.pass.sites.push(DependenceSite {
            function: self.id.index() as u32,
            offset: loc.data(),
            kind,
            relation,
            width,
            recorded,
        });
        if number >= SITES_MAX || (recorded.labels == [false; 2] && !always) {
            return None;
        }
        let mut code = Code::default();
        self.count(&mut code, self.pass.counters + 4 * number);
        let kept = self.kept(number, labels, outcome, operands);
        self.when(&mut code, kept);
        Some(code)
    }

    /// Counts an event; leaves whether it is one of the first of its site.
    fn count(&mut self, code: &mut Code, counter: u32) {
        let labels = self.pass.labels;
        let count = self.scratch(Use::Count, ValType::I32);
        code.i32(0).i32(0).load32(labels, counter);
        code.i32(1).bin(BinaryOp::I32Add).tee(count);
        code.store32(labels, counter).get(count);
        code.i32(0).load32(labels, SITE_EVENTS_MAX);
        code.bin(BinaryOp::I32LeU);
    }

    /// Writes an event. It counts from when the end is moved.
    fn kept(
        &mut self,
        number: u32,
        labels: [Label; 2],
        outcome: Outcome,
        operands: [Operand; 2],
    ) -> Code {
        let memory = self.pass.labels;
        let end = self.scratch(Use::Count, ValType::I32);
        let mut code = Code::default();
        code.i32(0).load32(memory, EVENTS_END).tee(end);
        code.i32(EVENT_LIST_LONG.cast_signed());
        code.bin(BinaryOp::I32GtU);
        let mut long = Code::default();
        long.get(end).call(self.pass.library.room).set(end);
        self.when(&mut code, long);
        code.get(end);
        let (head, mut at) = event_head(number);
        match outcome {
            Outcome::None => code.i32(head.cast_signed()),
            Outcome::Left => code.i32((head | OUTCOME_IS_LEFT << OUTCOME_SHIFT).cast_signed()),
            Outcome::Local(local) | Outcome::IsSome(local) => {
                code.get(local);
                if let Outcome::IsSome(_) = outcome {
                    code.i32(0).bin(BinaryOp::I32Ne);
                }
                code.i32(OUTCOME_SHIFT.cast_signed()).bin(BinaryOp::I32Shl);
                code.i32(head.cast_signed()).bin(BinaryOp::I32Or)
            }
        };
        let kind = match at {
            2 => StoreKind::I32_16 { atomic: false },
            _ => StoreKind::I32 { atomic: false },
        };
        code.store(memory, kind, 1, 0);
        for label in labels.into_iter().filter(|label| *label != Label::None) {
            code.get(end);
            self.label(&mut code, label);
            code.store(memory, StoreKind::I32 { atomic: false }, 1, at);
            at += 4;
        }
        for operand in operands.into_iter().filter(|operand| operand.bytes() > 0) {
            code.get(end);
            let kind = operand.get(&mut code);
            code.store(memory, kind, 1, at);
            at += u32::from(operand.bytes());
        }
        code.i32(0).get(end);
        code.i32(at.cast_signed()).bin(BinaryOp::I32Add);
        code.store32(memory, EVENTS_END);
        code
    }

    /// Records the i32 on top of the stack, which stays there.
    pub(super) fn top_event(
        &mut self,
        code: &mut Code,
        loc: InstrLocId,
        kind: SiteKind,
        value: Value,
    ) {
        if value.compared {
            return;
        }
        let local = self.scratch(Use::Right, ValType::I32);
        code.tee(local);
        let outcome = match kind {
            SiteKind::Branch => Outcome::IsSome(local),
            SiteKind::Switch => Outcome::Left,
            _ => Outcome::None,
        };
        self.event(
            code,
            (loc, kind, Relation::None, 4),
            [value.label, Label::None],
            outcome,
            [Operand::Local(local, ValType::I32), Operand::Constant(0)],
        );
    }

    /// The label of the value that was selected, and of the condition.
    pub(super) fn select(&mut self, code: &mut Code, instr: Instr, loc: InstrLocId) {
        let (condition, right, left) = (self.pop(), self.pop(), self.pop());
        self.top_event(code, loc, SiteKind::Branch, condition);
        let local = self.scratch(Use::Outcome, ValType::I32);
        code.tee(local).op_at(instr, loc);
        let base = self.stack.len();
        let selected = if left.label == right.label {
            Value {
                flat: left.flat && right.flat,
                label: left.label,
                ..Value::PLAIN
            }
        } else {
            self.label(code, left.label);
            self.label(code, right.label);
            code.get(local).op(ir::Select { ty: None });
            // Not in the way of the condition's.
            self.stack.resize(base + 3, Value::PLAIN);
            self.push_label(code, left.flat && right.flat);
            let value = self.pop();
            self.stack.truncate(base);
            value
        };
        if condition.label == Label::None {
            self.push(code, selected.label, selected.flat);
        } else {
            self.join(code, selected, condition);
        }
    }

    pub(super) fn compare(
        &mut self,
        code: &mut Code,
        op: BinaryOp,
        ty: ValType,
        relation: Relation,
        loc: InstrLocId,
        rest: &[(Instr, InstrLocId)],
    ) {
        let (right, left) = (self.pop(), self.pop());
        let (a, b) = (self.scratch(Use::Left, ty), self.scratch(Use::Right, ty));
        let outcome = self.scratch(Use::Outcome, ValType::I32);
        code.set(b)
            .tee(a)
            .get(b)
            .op_at(ir::Binop { op }, loc)
            .tee(outcome);
        let width = operators::width(ty);
        let operand = |value: Value, local| match value.constant {
            Some(constant) => Operand::Constant(constant),
            None => Operand::Local(local, ty),
        };
        self.event(
            code,
            (loc, SiteKind::Compare, relation, width),
            [left.label, right.label],
            Outcome::Local(outcome),
            [operand(left, a), operand(right, b)],
        );
        if decides(rest) {
            self.stack.push(Value::PLAIN);
        } else {
            self.join(code, left, right);
        }
        self.stack.last_mut().expect("pushed").compared = true;
    }

    /// `eqz`: a comparison with zero, or the negation of one.
    pub(super) fn is_zero(
        &mut self,
        code: &mut Code,
        op: UnaryOp,
        ty: ValType,
        loc: InstrLocId,
        rest: &[(Instr, InstrLocId)],
    ) {
        let value = self.pop();
        if value.compared {
            code.op_at(ir::Unop { op }, loc);
        } else {
            let a = self.scratch(Use::Left, ty);
            let outcome = self.scratch(Use::Outcome, ValType::I32);
            code.tee(a).op_at(ir::Unop { op }, loc).tee(outcome);
            let site = (loc, SiteKind::Compare, Relation::Eq, operators::width(ty));
            self.event(
                code,
                site,
                [value.label, Label::None],
                Outcome::Local(outcome),
                [Operand::Local(a, ty), Operand::Constant(0)],
            );
        }
        if decides(rest) {
            self.stack.push(Value::PLAIN);
        } else {
            self.join(code, value, Value::PLAIN);
        }
        self.stack.last_mut().expect("pushed").compared = true;
    }
}

/// Does what follows only decide by the value, so that nobody asks for its label?
fn decides(rest: &[(Instr, InstrLocId)]) -> bool {
    let by = |instr: Option<&(Instr, InstrLocId)>| {
        matches!(instr, Some((Instr::BrIf(_) | Instr::IfElse(_), _)))
    };
    let negates = matches!(
        rest.first(),
        Some((
            Instr::Unop(ir::Unop {
                op: UnaryOp::I32Eqz
            }),
            _
        ))
    );
    by(rest.first()) || (negates && by(rest.get(1)))
}
