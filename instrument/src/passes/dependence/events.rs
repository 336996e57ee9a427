//! What is recorded: comparisons, branches, switches and selections, with their operands and labels.

use walrus::ValType;
use walrus::ir::{self, BinaryOp, Instr, InstrLocId, UnaryOp};

use super::operators;
use super::walk::{Label, Use, Value, Walk};
use crate::emit::{Code, widen};
use crate::labels::{COUNTERS_END, DependenceSite, Relation, SITE_EVENTS_MAX, SiteKind};

impl Walk<'_> {
    /// A new site; the address of its counter, or 0 if there are too many.
    pub(super) fn site(
        &mut self,
        loc: InstrLocId,
        kind: SiteKind,
        relation: Relation,
        width: u8,
    ) -> i32 {
        let counter = self.pass.counters + 4 * self.pass.sites.len() as u32;
        self.pass.sites.push(DependenceSite {
            function: self.id.index() as u32,
            offset: loc.data(),
            kind,
            relation,
            width,
        });
        match counter < COUNTERS_END {
            true => counter.cast_signed(),
            false => 0,
        }
    }

    /// Records something at a new site if one of the labels is one. `outcome` leaves what came out on the
    /// stack, an i32, and `operands` left and right.
    pub(super) fn event(
        &mut self,
        code: &mut Code,
        site: (InstrLocId, SiteKind, Relation, u8),
        labels: [Label; 2],
        outcome: impl FnOnce(&mut Code),
        operands: impl FnOnce(&mut Code),
    ) {
        let (loc, kind, relation, width) = site;
        let counter = self.site(loc, kind, relation, width);
        let decides = matches!(
            kind,
            SiteKind::Compare | SiteKind::Branch | SiteKind::Switch
        );
        let always = self.pass.always && decides;
        let some = labels.map(|label| label != Label::None);
        if counter == 0 || (some == [false; 2] && !always) {
            return;
        }
        let mut kept = Code::default();
        outcome(&mut kept);
        above(&mut kept);
        kept.i64(counter.into()).bin(BinaryOp::I64Or);
        operands(&mut kept);
        self.labels(&mut kept, labels);
        kept.call(self.pass.library.event);
        let mut record = Code::default();
        self.count(&mut record, counter);
        self.when(&mut record, kept);
        if always {
            code.0.extend(record.0);
            return;
        }
        match some {
            [true, true] => {
                self.label(code, labels[0]);
                self.label(code, labels[1]);
                code.bin(BinaryOp::I32Or);
            }
            [true, false] => self.label(code, labels[0]),
            _ => self.label(code, labels[1]),
        }
        self.when(code, record);
    }

    /// Code that leaves two labels on the stack, the first one below the other in an i64.
    fn labels(&mut self, code: &mut Code, labels: [Label; 2]) {
        self.label(code, labels[0]);
        code.un(UnaryOp::I64ExtendUI32);
        if labels[1] != Label::None {
            self.label(code, labels[1]);
            above(code);
            code.bin(BinaryOp::I64Or);
        }
    }

    /// Counts an event; leaves whether it is one of the first of its site.
    fn count(&mut self, code: &mut Code, counter: i32) {
        let counter = counter.cast_unsigned();
        let labels = self.pass.labels;
        let count = self.scratch(Use::Count, ValType::I32);
        code.i32(0).i32(0).load32(labels, counter);
        code.i32(1).bin(BinaryOp::I32Add).tee(count);
        code.store32(labels, counter).get(count);
        code.i32(0).load32(labels, SITE_EVENTS_MAX);
        code.bin(BinaryOp::I32LeU);
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
        let relation = Relation::None;
        self.event(
            code,
            (loc, kind, relation, 4),
            [value.label, Label::None],
            |code| {
                match kind {
                    SiteKind::Branch => code.get(local).i32(0).bin(BinaryOp::I32Ne),
                    SiteKind::Switch => code.get(local),
                    _ => code.i32(0),
                };
            },
            |code| {
                code.get(local).un(UnaryOp::I64ExtendUI32).i64(0);
            },
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
        let labels = [left.label, right.label];
        self.event(
            code,
            (loc, SiteKind::Compare, relation, width),
            labels,
            |code| {
                code.get(outcome);
            },
            |code| {
                widen(code.get(a), ty);
                widen(code.get(b), ty);
            },
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
                |code| {
                    code.get(outcome);
                },
                |code| {
                    widen(code.get(a), ty);
                    code.i64(0);
                },
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

/// The outcome of what has none.
pub(super) fn nothing(code: &mut Code) {
    code.i32(0);
}

/// Makes the i32 on the stack the upper half of an i64.
pub(super) fn above(code: &mut Code) {
    code.un(UnaryOp::I64ExtendUI32)
        .i64(32)
        .bin(BinaryOp::I64Shl);
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
