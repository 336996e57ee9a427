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

use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::{self, Instr, InstrLocId, InstrSeqId};
use walrus::{FunctionId, LocalFunction};

use crate::calls::CallGraph;
use crate::cost::Costs;
use crate::emit::Place;
use crate::probes::ArmKind;

/// What comes after a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// A decision.
    Decides(Place),
    /// The caller.
    Returns,
    /// Nothing of this function: a trap, or an exception.
    Dies,
}

/// What runs between two decisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Fuel, the decision that ends it included.
    pub(crate) weight: u64,
    /// The least that functions called in it have used and not spent.
    pub(crate) left: u64,
    pub(crate) end: End,
}

impl Segment {
    /// One that ends so, and has done nothing yet but what costs this.
    fn ending(end: End, weight: u64) -> Segment {
        Segment {
            weight,
            left: 0,
            end,
        }
    }

    /// The same behind something that costs so much.
    fn after(self, cost: u64) -> Segment {
        Segment {
            weight: self.weight + cost,
            ..self
        }
    }
}

/// An arm of a decision.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) kind: ArmKind,
    /// What runs from here on.
    pub(crate) segment: Segment,
    /// Does control go back to the head of a loop?
    pub(crate) back: bool,
    /// Does it spend from the budget? All that go back do.
    pub(crate) ticks: bool,
    /// How much: see `spending`.
    pub(crate) spends: u64,
}

/// A place where control flow decides.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// Offset of the deciding operator in the original file.
    pub(crate) offset: u32,
    pub(crate) arms: Vec<Arm>,
}

impl Decision {
    /// Is it a `br_table` that spends? It does so once, whichever arm it takes.
    pub(crate) fn is_spending_switch(&self) -> bool {
        let is_switch = (self.arms.last()).is_some_and(|arm| arm.kind == ArmKind::Default);
        is_switch && self.arms.iter().any(|arm| arm.ticks)
    }
}

/// The decisions of one function.
pub(crate) struct Flow {
    /// The first segment.
    pub(crate) entry: Segment,
    /// By sequence and position in it.
    pub(crate) decisions: BTreeMap<Place, Decision>,
    /// Operators at which a run can end, or call what ends it: offset in the original file, and the
    /// fuel of what follows it in its segment, where that is not nothing.
    pub(crate) rests: Vec<(u32, u32)>,
}

/// Where an arm leads, while loops are still being measured.
#[derive(Clone, Copy)]
enum Goal {
    Known(Segment),
    Head(InstrSeqId),
}

/// The least that functions have used and not spent when they return.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    /// By whom is called directly.
    pub(crate) of: &'a BTreeMap<FunctionId, u64>,
    /// All whom indirect calls may reach.
    pub(crate) indirect: u64,
}

struct Walk<'a> {
    func: &'a LocalFunction,
    calls: &'a CallGraph,
    costs: &'a Costs,
    left: Left<'a>,
    /// Fuel of what follows a branch to a block that is open.
    exits: BTreeMap<InstrSeqId, Goal>,
    /// Arms that wait for the fuel of a loop's first segment.
    waiting: BTreeMap<InstrSeqId, Vec<(Place, usize)>>,
    flow: Flow,
}

/// Finds the decisions of `func` and weighs its segments; `left` is what those that it calls leave unspent. Recursion
/// follows the nesting of blocks, which `accept` bounds.
pub(crate) fn analyse(
    func: &LocalFunction,
    calls: &CallGraph,
    costs: &Costs,
    left: Left<'_>,
) -> Flow {
    let returns = Segment::ending(End::Returns, 0);
    let mut walk = Walk {
        func,
        calls,
        costs,
        left,
        exits: BTreeMap::new(),
        waiting: BTreeMap::new(),
        flow: Flow {
            entry: returns,
            decisions: BTreeMap::new(),
            rests: Vec::new(),
        },
    };
    let entry = func.entry_block();
    walk.exits.insert(entry, Goal::Known(returns));
    walk.flow.entry = walk.sequence(entry, returns);
    debug_assert!(walk.waiting.is_empty());
    walk.flow
}

impl Walk<'_> {
    /// Weighs a sequence from its end to its start; `after` is what follows it.
    /// Returns the segment that begins at its first operator.
    fn sequence(&mut self, id: InstrSeqId, after: Segment) -> Segment {
        let func = self.func;
        let mut ahead = after;
        for (position, (instr, loc)) in func.block(id).instrs.iter().enumerate().rev() {
            let at = (id, position);
            let cost = self.costs.of(instr, *loc);
            let decides = Segment::ending(End::Decides(at), cost);
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
                        decision.arms[arm].segment = ahead;
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
                    ahead = decides;
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
                    ahead = decides;
                }
                Instr::BrTable(ir::BrTable { blocks, default }) => {
                    let slots = blocks
                        .iter()
                        .enumerate()
                        .map(|(n, b)| (ArmKind::Case(n as u32), self.exits[b]));
                    let mut arms = slots.collect::<Vec<_>>();
                    arms.push((ArmKind::Default, self.exits[default]));
                    self.decide(at, *loc, arms);
                    ahead = decides;
                }
                Instr::Br(ir::Br { block }) => {
                    ahead = match self.exits[block] {
                        Goal::Known(segment) => segment.after(cost),
                        head => {
                            self.decide(at, *loc, vec![(ArmKind::BackEdge, head)]);
                            decides
                        }
                    };
                }
                Instr::Return(_)
                | Instr::ReturnCall(_)
                | Instr::ReturnCallIndirect(_)
                | Instr::ReturnCallRef(_) => ahead = Segment::ending(End::Returns, cost),
                Instr::Throw(_) | Instr::ThrowRef(_) => ahead = Segment::ending(End::Dies, cost),
                Instr::Unreachable(_) => ahead = Segment::ending(End::Dies, 0),
                _ if loc.is_default() => {}
                _ if self.calls.may_throw(instr) => {
                    self.decide(at, *loc, vec![(ArmKind::Returned, Goal::Known(ahead))]);
                    ahead = decides;
                    ahead.left = self.left_by(instr);
                }
                _ => {
                    if ahead.weight > 0 && can_end(instr) {
                        let rest = u32::try_from(ahead.weight).unwrap_or(u32::MAX);
                        self.flow.rests.push((loc.data(), rest));
                    }
                    ahead = ahead.after(cost);
                    ahead.left = ahead.left.saturating_add(self.left_by(instr));
                }
            }
        }
        ahead
    }

    /// What a call leaves unspent at least.
    fn left_by(&self, instr: &Instr) -> u64 {
        match instr {
            Instr::Call(ir::Call { func }) => self.left.of.get(func).copied().unwrap_or(0),
            Instr::CallIndirect(_) | Instr::CallRef(_) => self.left.indirect,
            _ => 0,
        }
    }

    fn decide(&mut self, at: (InstrSeqId, usize), loc: InstrLocId, arms: Vec<(ArmKind, Goal)>) {
        let offset = if loc.is_default() { 0 } else { loc.data() };
        let arms = arms
            .into_iter()
            .enumerate()
            .map(|(index, (kind, goal))| match goal {
                Goal::Known(segment) => Arm {
                    kind,
                    segment,
                    back: false,
                    ticks: false,
                    spends: 0,
                },
                Goal::Head(head) => {
                    self.waiting.entry(head).or_default().push((at, index));
                    Arm {
                        kind,
                        segment: Segment::ending(End::Dies, 0),
                        back: true,
                        ticks: true,
                        spends: 0,
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

/// Where an operator may branch to.
pub(crate) fn targets(instr: &Instr) -> BTreeSet<InstrSeqId> {
    match instr {
        Instr::Br(ir::Br { block })
        | Instr::BrIf(ir::BrIf { block })
        | Instr::BrOnNull(ir::BrOnNull { block })
        | Instr::BrOnNonNull(ir::BrOnNonNull { block })
        | Instr::BrOnCast(ir::BrOnCast { block, .. })
        | Instr::BrOnCastFail(ir::BrOnCastFail { block, .. }) => BTreeSet::from([*block]),
        Instr::BrTable(ir::BrTable { blocks, default }) => {
            blocks.iter().chain([default]).copied().collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Does control never go on behind an operator?
pub(crate) fn leaves(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::Br(_)
            | Instr::BrTable(_)
            | Instr::Return(_)
            | Instr::Unreachable(_)
            | Instr::Throw(_)
            | Instr::ThrowRef(_)
            | Instr::ReturnCall(_)
            | Instr::ReturnCallIndirect(_)
            | Instr::ReturnCallRef(_)
    )
}
