//! What functions return and store, in terms of their parameters: return→result, without walking a body at every call.
//!
//! In: the graphs of all application functions. Out: a [`Summary`] each. Callees come first; in a circle of calls
//! summaries are made again until nothing changes, [`ROUNDS_MAX`] times at most.

use std::collections::{BTreeMap, BTreeSet};

use super::cone::{Cone, Walker};
use super::graph::{Graph, Value};

/// How often one function is summed up. Distances that a longer way round a circle of calls would still lower are of
/// types that are far away.
const ROUNDS_MAX: u32 = 4;

/// What a call of a function does with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) returned: Cone,
    /// What is stored behind each parameter that is a pointer.
    pub(super) stored: BTreeMap<u32, Cone>,
    /// The first parameter is the object that it is called on.
    pub(super) is_method: bool,
}

/// Sums up all functions into `walker.summaries`.
pub(super) fn sum_up(
    walker: &mut Walker<'_, '_>,
    graphs: &BTreeMap<u32, Graph>,
    is_method: &dyn Fn(u32) -> bool,
) {
    let order = callees_first(graphs);
    let mut callers: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (function, graph) in graphs {
        for callee in graph.sites.iter().filter_map(|site| site.callee) {
            callers.entry(callee).or_default().insert(*function);
        }
    }
    let mut rank = BTreeMap::new();
    for (position, function) in order.iter().enumerate() {
        rank.insert(*function, position);
        let empty = Summary {
            is_method: is_method(*function),
            ..Summary::default()
        };
        walker.summaries.insert(*function, empty);
    }
    let mut rounds: BTreeMap<u32, u32> = BTreeMap::new();
    let mut work: BTreeSet<(usize, u32)> = order.into_iter().enumerate().collect();
    while let Some((_, function)) = work.pop_first() {
        let round = rounds.entry(function).or_default();
        *round += 1;
        if *round > ROUNDS_MAX {
            continue;
        }
        let summary = summary(walker, &graphs[&function], is_method(function));
        if walker.summaries.get(&function) != Some(&summary) {
            walker.summaries.insert(function, summary);
            for caller in callers.get(&function).into_iter().flatten() {
                work.insert((rank[caller], *caller));
            }
        }
    }
}

fn summary(walker: &mut Walker<'_, '_>, graph: &Graph, is_method: bool) -> Summary {
    let returned: Vec<Value> = graph.returns.iter().flatten().copied().collect();
    let mut stored: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for (param, value) in &graph.stored {
        stored.entry(*param).or_default().push(*value);
    }
    let stored = stored
        .into_iter()
        .map(|(param, values)| (param, walker.cone(graph, &values, 0)));
    let stored = stored.collect();
    Summary {
        returned: walker.cone(graph, &returned, 0),
        stored,
        is_method,
    }
}

/// All functions, each after those that it calls where that is possible: a depth-first walk with a stack of its own.
fn callees_first(graphs: &BTreeMap<u32, Graph>) -> Vec<u32> {
    let callees = |function: u32| {
        let mut callees = graphs[&function]
            .sites
            .iter()
            .filter_map(|site| site.callee)
            .filter(|callee| graphs.contains_key(callee))
            .collect::<Vec<_>>();
        callees.sort_unstable();
        callees.dedup();
        callees.into_iter()
    };
    let mut seen = BTreeSet::new();
    let mut order = Vec::new();
    for root in graphs.keys() {
        if !seen.insert(*root) {
            continue;
        }
        let mut open = vec![(*root, callees(*root))];
        while let Some((function, rest)) = open.last_mut() {
            match rest.next() {
                Some(callee) if seen.insert(callee) => open.push((callee, callees(callee))),
                Some(_) => {}
                None => {
                    order.push(*function);
                    open.pop();
                }
            }
        }
    }
    order
}
