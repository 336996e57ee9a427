//! Backwards from values of one function: which types and which parameters they depend on, and at what distance.
//!
//! In: a graph and values to start from. Out: a [`Cone`], nearest first, so that what the budget cuts off is the
//! farthest. Calls are walked through by the summaries of the functions that they call.

use std::collections::BTreeMap;

use super::graph::{Graph, Kind, Site, Value};
use super::summary::Summary;
use super::types::{Name, Types};

/// What values depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cone {
    pub(super) types: BTreeMap<Name, u32>,
    /// Parameters of the function.
    pub(super) params: BTreeMap<u32, u32>,
    /// Whether the budget ended the walk.
    pub(super) is_cut: bool,
}

/// What all walks share.
pub(super) struct Walker<'t, 'd> {
    pub(super) types: &'t mut Types<'d>,
    /// By function: `None` where nothing but the signature counts.
    pub(super) summaries: BTreeMap<u32, Summary>,
    /// Nodes that one walk visits at most.
    pub(super) steps_max: u64,
    /// No walk goes farther than this.
    pub(super) distance_max: u32,
    /// In which walk each value was last seen.
    seen: Vec<u32>,
    walk: u32,
    /// What is left of the steps for all walks together.
    pub(super) work: u64,
}

/// Operands of one value that take no step more: joins of many ways have many.
const OPERANDS_FREE: u64 = 16;

/// The values to come, by distance.
type Coming = BTreeMap<u32, Vec<Value>>;

impl<'t, 'd> Walker<'t, 'd> {
    pub(super) fn new(
        types: &'t mut Types<'d>,
        steps_max: u64,
        distance_max: u32,
        work: u64,
    ) -> Walker<'t, 'd> {
        Walker {
            types,
            summaries: BTreeMap::new(),
            steps_max,
            distance_max,
            seen: Vec::new(),
            walk: 0,
            work,
        }
    }

    /// What `values` depend on; their own types are at distance `start`.
    pub(super) fn cone(&mut self, graph: &Graph, values: &[Value], start: u32) -> Cone {
        if self.seen.len() < graph.nodes.len() {
            self.seen.resize(graph.nodes.len(), 0);
        }
        self.walk = self.walk.wrapping_add(1);
        if self.walk == 0 {
            self.seen.fill(0);
            self.walk = 1;
        }
        let mut cone = Cone::default();
        let mut coming = Coming::from([(start, values.to_vec())]);
        let mut left = self.steps_max;
        while let Some((distance, values)) = coming.pop_first() {
            if distance > self.distance_max {
                break;
            }
            // Those that take no step come within the same distance.
            let mut values = values;
            while let Some(value) = values.pop() {
                if std::mem::replace(&mut self.seen[value as usize], self.walk) == self.walk {
                    continue;
                }
                let node = graph.node(value);
                let cost = 1 + node.from.len() as u64 / OPERANDS_FREE;
                if cost > left || !self.take(cost) {
                    cone.is_cut = true;
                    return cone;
                }
                left -= cost;
                for die in &node.types {
                    for name in self.types.names_of(*die) {
                        lower(&mut cone.types, *name, distance);
                    }
                }
                match node.kind {
                    Kind::Const(_) | Kind::Opaque => {}
                    Kind::Param(param) => lower(&mut cone.params, param, distance),
                    Kind::Op { step: 0 } => values.extend(&node.from),
                    Kind::Op { step } => {
                        let then = coming.entry(distance.saturating_add(step)).or_default();
                        then.extend(&node.from);
                    }
                    Kind::Result { site, .. } => {
                        let site = &graph.sites[site as usize];
                        self.through(site, None, distance, &mut cone, &mut coming);
                    }
                    Kind::Behind { site, arg } => {
                        let site = &graph.sites[site as usize];
                        self.through(site, Some(arg), distance, &mut cone, &mut coming);
                    }
                }
            }
        }
        cone.types.retain(|_, at| *at <= self.distance_max);
        cone.params.retain(|_, at| *at <= self.distance_max);
        cone
    }

    /// Takes `steps` of all walks' together, or says that there are not so many.
    pub(super) fn take(&mut self, steps: u64) -> bool {
        match self.work.checked_sub(steps) {
            Some(rest) => self.work = rest,
            None => self.work = 0,
        }
        self.work > 0
    }

    /// From what a call returns, or leaves behind an argument, to what that depends on.
    fn through(
        &mut self,
        site: &Site,
        behind: Option<u32>,
        distance: u32,
        cone: &mut Cone,
        coming: &mut Coming,
    ) {
        let further = |by: u32| distance.saturating_add(by);
        let summary = site.callee.and_then(|callee| self.summaries.get(&callee));
        let mut work = site.args.len();
        let Some(summary) = summary else {
            // Nothing is known of the body: every argument may be what the result is made of.
            let others = site.args.iter().enumerate();
            let others = others.filter(|(arg, _)| Some(*arg as u32) != behind);
            let then = coming.entry(further(1)).or_default();
            then.extend(others.map(|(_, value)| *value));
            self.take(work as u64);
            return;
        };
        let inner = match behind {
            None => Some(&summary.returned),
            Some(arg) => summary.stored.get(&arg),
        };
        if behind.is_none() && summary.is_method {
            let then = coming.entry(further(1)).or_default();
            then.extend(site.args.first());
        }
        for (name, at) in inner.iter().flat_map(|inner| &inner.types) {
            lower(&mut cone.types, *name, further(1).saturating_add(*at));
        }
        work += inner.map_or(0, |inner| inner.types.len() + inner.params.len());
        for (param, at) in inner.iter().flat_map(|inner| &inner.params) {
            if let Some(value) = site.args.get(*param as usize) {
                let then = coming.entry(further(2).saturating_add(*at)).or_default();
                then.push(*value);
            }
        }
        self.take(work as u64);
    }
}

/// Keeps the nearest.
pub(super) fn lower<K: Ord>(map: &mut BTreeMap<K, u32>, key: K, distance: u32) {
    let known = map.entry(key).or_insert(distance);
    *known = (*known).min(distance);
}
