//! Spending: how much each place that spends takes from the budget, and which functions spend though nothing goes back in them.
//!
//! What is spent must never exceed the fuel, or runs below the limit would be stopped; and it should be near it, or runs far over
//! the limit would go on. So a place that spends takes the least that any way to it has used since it last spent, its
//! own segment included: shortest ways through the decisions of a function. What a function has used and not spent when it
//! returns is its callers', if it is called directly.
//!
//! So a run that always goes the dear way has used several times what it has spent. The host is asked for that where loops
//! call (`fuel`), so what is said here of runs over the limit holds for the others.
//!
//! A run without a cycle can be long, too: of 30 functions each of which calls the next one twice, the last is called a billion
//! times. So a function by which more than [`HEAVY`] can be used without anything being spent spends where it begins and
//! where it returns. A run that is stopped has used at most so many times the limit, where ways differ as much as they can,
//! and mostly little more than the limit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use walrus::ir::{self, Instr};
use walrus::{FunctionId, Module};

use crate::calls::CallGraph;
use crate::cost::Costs;
use crate::emit::sequences;
use crate::flow::{Decision, End, Flow, Left, Segment, analyse};
use crate::probes::ArmKind;

/// What may be used without anything being spent. Less would have small functions spend.
const HEAVY: u64 = 4096;

/// What the functions of a module leave unspent.
#[derive(Default)]
pub(crate) struct Spending {
    /// The least that has been used and not spent when a function returns.
    left: BTreeMap<FunctionId, u64>,
    heavy: BTreeSet<FunctionId>,
    /// By type: of those that an indirect call may reach.
    types: Vec<Reached>,
    /// By function: the types by which it can be reached indirectly.
    reached_by: BTreeMap<FunctionId, usize>,
}

/// What is known of those that an indirect call of a type may reach.
#[derive(Default)]
struct Reached {
    /// Functions that nothing is known of.
    unknown: usize,
    /// The least that one of the others leaves, if there is one.
    left: Option<u64>,
    /// The most that one of the others can use without anything being spent.
    reach: u64,
}

impl Spending {
    /// Looks at all functions, those that are called before those that call them.
    pub(crate) fn new(module: &Module, graph: &CallGraph, costs: &Costs) -> Spending {
        let mut spending = Spending::default();
        for (number, functions) in graph.by_type().enumerate() {
            let before = spending.reached_by.len();
            (spending.reached_by).extend(functions.map(|func| (func, number)));
            spending.types.push(Reached {
                unknown: spending.reached_by.len() - before,
                ..Reached::default()
            });
        }
        // The most that a call can use without anything being spent, or a little more.
        let mut reach: BTreeMap<FunctionId, u64> = BTreeMap::new();
        for &id in graph.callees_first() {
            let func = module.funcs.get(id).kind.unwrap_local();
            let mut flow = analyse(func, graph, costs, spending.left_in(id, graph));
            let arms = flow.decisions.values().flat_map(|decision| &decision.arms);
            let weights = arms.map(|arm| arm.segment.weight);
            let mut most = weights.fold(flow.entry.weight, u64::saturating_add);
            let mut indirect = None;
            for seq in sequences(func) {
                for (instr, _) in &func.block(seq).instrs {
                    let called = match instr {
                        Instr::Call(ir::Call { func })
                        | Instr::ReturnCall(ir::ReturnCall { func }) => {
                            reach.get(func).copied().unwrap_or(0)
                        }
                        Instr::CallIndirect(_)
                        | Instr::CallRef(_)
                        | Instr::ReturnCallIndirect(_)
                        | Instr::ReturnCallRef(_) => *indirect.get_or_insert_with(|| {
                            let types = graph.types(id).map(|ty| spending.types[ty].reach);
                            types.max().unwrap_or(0)
                        }),
                        _ => continue,
                    };
                    most = most.saturating_add(called);
                }
            }
            let is_heavy = most > HEAVY;
            let left = plan(&mut flow, is_heavy || graph.is_recursive(id));
            if is_heavy {
                spending.heavy.insert(id);
            }
            let (most, left) = if is_heavy { (0, 0) } else { (most, left) };
            reach.insert(id, most);
            spending.left.insert(id, left);
            if let Some(ty) = spending.reached_by.get(&id) {
                let reached = &mut spending.types[*ty];
                reached.unknown -= 1;
                reached.left = Some(reached.left.map_or(left, |least| least.min(left)));
                reached.reach = reached.reach.max(most);
            }
        }
        spending
    }

    /// What those leave unspent whom a function calls.
    pub(crate) fn left_in(&self, func: FunctionId, graph: &CallGraph) -> Left<'_> {
        let least = |ty: usize| match self.types.get(ty) {
            Some(Reached {
                unknown: 0, left, ..
            }) => *left,
            _ => Some(0),
        };
        Left {
            of: &self.left,
            indirect: graph.types(func).filter_map(least).min().unwrap_or(0),
        }
    }

    /// Does it spend where it begins and where it returns?
    pub(crate) fn is_heavy(&self, func: FunctionId) -> bool {
        self.heavy.contains(&func)
    }
}

/// Says what each place of a function that spends takes. Returns the least that has been used and not spent when it
/// returns; 0 if it never does.
pub(crate) fn plan(flow: &mut Flow, ticks_at_entry: bool) -> u64 {
    let mut found: BTreeMap<End, u64> = BTreeMap::new();
    let mut waiting = BinaryHeap::new();
    let go = |waiting: &mut BinaryHeap<_>, segment: Segment, unspent: u64| {
        let used = unspent.saturating_add(segment.left);
        waiting.push(Reverse((used, segment.end)));
    };
    let entry = if ticks_at_entry { 0 } else { flow.entry.weight };
    go(&mut waiting, flow.entry, entry);
    for (at, decision) in &flow.decisions {
        // An exception comes from anywhere.
        if let Some(ArmKind::Caught(_)) = decision.arms.first().map(|arm| arm.kind) {
            waiting.push(Reverse((0, End::Decides(*at))));
        }
        let is_switch = decision.is_spending_switch();
        for arm in &decision.arms {
            if is_switch {
                let unspent = arm.segment.weight - least(decision);
                go(&mut waiting, arm.segment, unspent);
            } else if arm.ticks {
                go(&mut waiting, arm.segment, 0);
            }
        }
    }
    while let Some(Reverse((used, end))) = waiting.pop() {
        if found.contains_key(&end) {
            continue;
        }
        found.insert(end, used);
        let End::Decides(at) = end else { continue };
        let decision = &flow.decisions[&at];
        if decision.is_spending_switch() {
            continue;
        }
        for arm in decision.arms.iter().filter(|arm| !arm.ticks) {
            let unspent = used.saturating_add(arm.segment.weight);
            go(&mut waiting, arm.segment, unspent);
        }
    }
    for (at, decision) in &mut flow.decisions {
        let used = found.get(&End::Decides(*at)).copied().unwrap_or(0);
        let switch = decision.is_spending_switch().then(|| least(decision));
        for arm in &mut decision.arms {
            arm.spends = used.saturating_add(switch.unwrap_or(arm.segment.weight));
        }
    }
    found.get(&End::Returns).copied().unwrap_or(0)
}

/// The weight of a switch's lightest arm.
fn least(decision: &Decision) -> u64 {
    let weights = decision.arms.iter().map(|arm| arm.segment.weight);
    weights.min().unwrap_or(0)
}
