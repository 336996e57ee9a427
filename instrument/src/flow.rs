//! Segments: where control flow decides, and how much fuel lies between two decisions.
//!
//! A *segment* is what runs from one arm of a decision up to and including the next decision,
//! across joins: which operators those are is known when the module is instrumented. So a
//! counter per arm tells both the coverage and the fuel: `fuel = sum of count x weight`, and
//! the guest pays for neither the joins nor the fuel.
//!
//! Decisions are `br_if`, `if`, `br_table`, a branch back to a loop, the return of a call that
//! may throw, and the arrival of an exception. A run that is cut short (trap, exit, limit) is
//! charged for the whole of every segment that it entered; what of it lies behind each operator at
//! which a run can end is known, too, so that the host can take it off again.

use std::collections::BTreeMap;
use walrus::LocalFunction;
use walrus::ir::{self, Instr, InstrLocId, InstrSeqId};

use crate::calls::CallGraph;
use crate::cost::Costs;
use crate::emit::Place;
use crate::probes::ArmKind;

/// An arm of a decision.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) kind: ArmKind,
    /// Fuel from here to the next decision, that one included.
    pub(crate) weight: u64,
    /// Does control go back to the head of a loop?
    pub(crate) back: bool,
    /// Does it spend from the budget? All that go back do.
    pub(crate) ticks: bool,
}

/// A place where control flow decides.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// Offset of the deciding operator in the original file.
    pub(crate) offset: u32,
    pub(crate) arms: Vec<Arm>,
}

/// The decisions of one function.
#[derive(Default)]
pub(crate) struct Flow {
    /// Fuel of the first segment.
    pub(crate) entry_weight: u64,
    /// By sequence and position in it.
    pub(crate) decisions: BTreeMap<Place, Decision>,
    /// Operators at which a run can end, or call what ends it: offset in the original file, and the
    /// fuel of what follows it in its segment, where that is not nothing.
    pub(crate) rests: Vec<(u32, u32)>,
}

/// Where an arm leads, while loops are still being measured.
#[derive(Clone, Copy)]
enum Goal {
    Known(u64),
    Head(InstrSeqId),
}

struct Walk<'a> {
    func: &'a LocalFunction,
    calls: &'a CallGraph,
    costs: &'a Costs,
    /// Fuel of what follows a branch to a block that is open.
    exits: BTreeMap<InstrSeqId, Goal>,
    /// Arms that wait for the fuel of a loop's first segment.
    waiting: BTreeMap<InstrSeqId, Vec<(Place, usize)>>,
    flow: Flow,
}

/// Finds the decisions of `func` and weighs its segments. Recursion follows the nesting of
/// blocks, which `accept` bounds.
pub(crate) fn analyse(func: &LocalFunction, calls: &CallGraph, costs: &Costs) -> Flow {
    let mut walk = Walk {
        func,
        calls,
        costs,
        exits: BTreeMap::new(),
        waiting: BTreeMap::new(),
        flow: Flow::default(),
    };
    let entry = func.entry_block();
    walk.exits.insert(entry, Goal::Known(0));
    walk.flow.entry_weight = walk.sequence(entry, 0);
    debug_assert!(walk.waiting.is_empty());
    walk.flow
}

impl Walk<'_> {
    /// Weighs a sequence from its end to its start; `after` is the fuel of what follows it.
    /// Returns the fuel of the segment that begins at its first operator.
    fn sequence(&mut self, id: InstrSeqId, after: u64) -> u64 {
        let func = self.func;
        let mut ahead = after;
        for (position, (instr, loc)) in func.block(id).instrs.iter().enumerate().rev() {
            let at = (id, position);
            let cost = self.costs.of(instr, *loc);
            match instr {
                Instr::Block(ir::Block { seq }) => {
                    self.exits.insert(*seq, Goal::Known(ahead));
                    ahead = self.sequence(*seq, ahead);
                }
                Instr::Loop(ir::Loop { seq }) => {
                    self.exits.insert(*seq, Goal::Head(*seq));
                    ahead = self.sequence(*seq, ahead);
                    for (decision, arm) in self.waiting.remove(seq).unwrap_or_default() {
                        let decision = self
                            .flow
                            .decisions
                            .get_mut(&decision)
                            .expect("it was recorded");
                        decision.arms[arm].weight = ahead;
                    }
                }
                Instr::TryTable(ir::TryTable { seq, catches }) => {
                    let arms = catches.iter().enumerate();
                    let arms =
                        arms.map(|(n, c)| (ArmKind::Caught(n as u32), self.exits[&catch_label(c)]));
                    let arms = arms.collect::<Vec<_>>();
                    self.exits.insert(*seq, Goal::Known(ahead));
                    ahead = self.sequence(*seq, ahead);
                    self.decide(at, *loc, arms);
                }
                Instr::IfElse(ir::IfElse {
                    consequent,
                    alternative,
                }) if !loc.is_default() => {
                    self.exits.insert(*consequent, Goal::Known(ahead));
                    self.exits.insert(*alternative, Goal::Known(ahead));
                    let then = self.sequence(*consequent, ahead);
                    let otherwise = self.sequence(*alternative, ahead);
                    self.decide(
                        at,
                        *loc,
                        vec![
                            (ArmKind::Then, Goal::Known(then)),
                            (ArmKind::Else, Goal::Known(otherwise)),
                        ],
                    );
                    ahead = cost;
                }
                Instr::BrIf(ir::BrIf { block }) => {
                    let taken = self.exits[block];
                    self.decide(
                        at,
                        *loc,
                        vec![
                            (ArmKind::Taken, taken),
                            (ArmKind::NotTaken, Goal::Known(ahead)),
                        ],
                    );
                    ahead = cost;
                }
                Instr::BrTable(ir::BrTable { blocks, default }) => {
                    let slots = blocks
                        .iter()
                        .enumerate()
                        .map(|(n, b)| (ArmKind::Case(n as u32), self.exits[b]));
                    let mut arms = slots.collect::<Vec<_>>();
                    arms.push((ArmKind::Default, self.exits[default]));
                    self.decide(at, *loc, arms);
                    ahead = cost;
                }
                Instr::Br(ir::Br { block }) => {
                    ahead = match self.exits[block] {
                        Goal::Known(fuel) => fuel + cost,
                        head => {
                            self.decide(at, *loc, vec![(ArmKind::BackEdge, head)]);
                            cost
                        }
                    };
                }
                Instr::Return(_)
                | Instr::ReturnCall(_)
                | Instr::ReturnCallIndirect(_)
                | Instr::ReturnCallRef(_)
                | Instr::Throw(_)
                | Instr::ThrowRef(_) => ahead = cost,
                Instr::Unreachable(_) => ahead = 0,
                _ if loc.is_default() => {}
                _ if self.calls.may_throw(instr) => {
                    self.decide(at, *loc, vec![(ArmKind::Returned, Goal::Known(ahead))]);
                    ahead = cost;
                }
                _ => {
                    if ahead > 0 && can_end(instr) {
                        let rest = u32::try_from(ahead).unwrap_or(u32::MAX);
                        self.flow.rests.push((loc.data(), rest));
                    }
                    ahead += cost;
                }
            }
        }
        ahead
    }

    fn decide(&mut self, at: (InstrSeqId, usize), loc: InstrLocId, arms: Vec<(ArmKind, Goal)>) {
        let offset = if loc.is_default() { 0 } else { loc.data() };
        let arms = arms
            .into_iter()
            .enumerate()
            .map(|(index, (kind, goal))| match goal {
                Goal::Known(weight) => Arm {
                    kind,
                    weight,
                    back: false,
                    ticks: false,
                },
                Goal::Head(head) => {
                    self.waiting.entry(head).or_default().push((at, index));
                    Arm {
                        kind,
                        weight: 0,
                        back: true,
                        ticks: true,
                    }
                }
            });
        let arms = arms.collect();
        self.flow.decisions.insert(at, Decision { offset, arms });
    }
}

/// Can a run end at this operator? Not at those of which there are most.
fn can_end(instr: &Instr) -> bool {
    !matches!(
        instr,
        Instr::Const(_)
            | Instr::LocalGet(_)
            | Instr::LocalSet(_)
            | Instr::LocalTee(_)
            | Instr::GlobalGet(_)
            | Instr::GlobalSet(_)
            | Instr::Drop(_)
            | Instr::Select(_)
    )
}

/// Where a handler goes.
pub(crate) fn catch_label(catch: &ir::TryTableCatch) -> InstrSeqId {
    match catch {
        ir::TryTableCatch::Catch { label, .. }
        | ir::TryTableCatch::CatchRef { label, .. }
        | ir::TryTableCatch::CatchAll { label }
        | ir::TryTableCatch::CatchAllRef { label } => *label,
    }
}
