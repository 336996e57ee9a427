//! From parameters to the arguments of all calls, and on through callers: actual→formal.
//!
//! In: the graphs of all application functions, and their summaries. Out: the types that a parameter depends on through
//! whoever passes it. A walk goes to callers only, never down again, so it follows no call that does not happen; what a
//! callee makes of its arguments is in the summaries.

use std::collections::{BTreeMap, BTreeSet};

use super::cone::{Walker, lower};
use super::graph::{Graph, Value};
use super::types::Name;

/// A parameter of a function.
type Formal = (u32, u32);

/// What the arguments for one parameter depend on, over all calls.
#[derive(Default)]
struct Passed {
    types: BTreeMap<Name, u32>,
    params: BTreeMap<Formal, u32>,
}

/// Types of all parameters together that are kept, 40 bytes each. SQLite has a quarter of a million.
const KNOWN_MAX: usize = 4_000_000;

/// The ways from all parameters to what is passed for them.
pub(super) struct Callers {
    passed: BTreeMap<Formal, Passed>,
    known: BTreeMap<Formal, BTreeMap<Name, u32>>,
    known_count: usize,
    /// Entries that the walk from one parameter looks at.
    steps_max: u64,
    distance_max: u32,
}

impl Callers {
    /// Looks at the arguments of all calls of functions that have a graph.
    pub(super) fn new(
        walker: &mut Walker<'_, '_>,
        graphs: &BTreeMap<u32, Graph>,
        steps_max: u64,
    ) -> Callers {
        let mut passed: BTreeMap<Formal, Passed> = BTreeMap::new();
        for (caller, graph) in graphs {
            // The same value is passed in many calls.
            let mut wanted: BTreeMap<Value, BTreeSet<Formal>> = BTreeMap::new();
            for site in &graph.sites {
                let Some(callee) = site.callee.filter(|callee| graphs.contains_key(callee)) else {
                    continue;
                };
                for (arg, value) in site.args.iter().enumerate() {
                    let formals = wanted.entry(*value).or_default();
                    formals.insert((callee, arg as u32));
                }
            }
            for (value, formals) in wanted {
                // One step from the parameter to the argument.
                let cone = walker.cone(graph, &[value], 1);
                let entries = cone.types.len() + cone.params.len();
                if !walker.take((formals.len() * entries) as u64 / 4) {
                    continue;
                }
                for formal in formals {
                    let passed = passed.entry(formal).or_default();
                    for (name, at) in &cone.types {
                        lower(&mut passed.types, *name, *at);
                    }
                    for (param, at) in &cone.params {
                        lower(&mut passed.params, (*caller, *param), *at);
                    }
                }
            }
        }
        Callers {
            passed,
            known: BTreeMap::new(),
            known_count: 0,
            steps_max,
            distance_max: walker.distance_max,
        }
    }

    /// The types that parameter `formal` depends on through callers; `None` when all the work is done.
    pub(super) fn types(
        &mut self,
        walker: &mut Walker<'_, '_>,
        formal: Formal,
    ) -> Option<&BTreeMap<Name, u32>> {
        if !self.known.contains_key(&formal) {
            if self.known_count > KNOWN_MAX || walker.work == 0 {
                return None;
            }
            let found = self.walk(walker, formal);
            self.known_count += found.len();
            self.known.insert(formal, found);
        }
        self.known.get(&formal)
    }

    fn walk(&self, walker: &mut Walker<'_, '_>, formal: Formal) -> BTreeMap<Name, u32> {
        let mut found = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut coming = BTreeSet::from([(0u32, formal)]);
        let mut left = self.steps_max;
        while let Some((distance, formal)) = coming.pop_first() {
            if distance >= self.distance_max {
                break;
            }
            let Some(passed) = self.passed.get(&formal).filter(|_| seen.insert(formal)) else {
                continue;
            };
            let entries = (passed.types.len() + passed.params.len()) as u64;
            let Some(rest) = left.checked_sub(entries) else {
                break;
            };
            left = rest;
            // Entries are cheaper than values.
            if !walker.take(1 + entries / 4) {
                break;
            }
            for (name, at) in &passed.types {
                lower(&mut found, *name, distance.saturating_add(*at));
            }
            for (formal, at) in &passed.params {
                if !seen.contains(formal) {
                    coming.insert((distance.saturating_add(*at), *formal));
                }
            }
        }
        found.retain(|_, at| *at <= self.distance_max);
        found
    }
}
