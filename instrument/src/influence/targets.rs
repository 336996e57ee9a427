//! From branches to the types that they depend on, and one map of types for all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::build::Context;
use super::callers::Callers;
use super::cone::{Walker, lower};
use super::graph::Graph;
use super::types::{Name, Types};
use super::{BranchInfluence, InfluenceOptions, SourceLine, TypeName, start_of, summary};
use crate::printable::printable_max;

/// Steps of all walks together: forty times what SQLite needs, some ten seconds at worst.
const WALK_STEPS_MAX: u64 = 200_000_000;

/// Types of all targets together, 24 bytes each. SQLite has one and a half million.
const ENTRIES_MAX: usize = 12_000_000;

/// Characters of a type's name.
const NAME_CHARS: usize = 256;

/// A target whose types are numbers still.
pub(super) struct Numbered {
    pub(super) function: u32,
    pub(super) offset: u32,
    pub(super) types: BTreeMap<Name, u32>,
    is_cut: bool,
}

/// What the walks found.
pub(super) struct Walked {
    /// By function, then in the order of the code.
    pub(super) targets: Vec<Numbered>,
    /// What the numbers of types mean.
    pub(super) names: Vec<String>,
    pub(super) steps: u64,
}

/// Walks from all branches of all graphs.
pub(super) fn walk(
    context: &Context<'_>,
    graphs: &BTreeMap<u32, Graph>,
    options: &InfluenceOptions,
) -> Walked {
    let debug = context.debug;
    let mut types = Types::new(debug);
    let mut walker = Walker::new(
        &mut types,
        options.branch_steps,
        options.distance_max,
        WALK_STEPS_MAX,
    );
    let is_method = |function: u32| {
        let start = start_of(context.outline, function);
        let start = start.and_then(|start| start.checked_sub(context.code_start));
        let known = start.and_then(|start| debug.functions.get(&start));
        known.is_some_and(|known| known.is_method)
    };
    summary::sum_up(&mut walker, graphs, &is_method);
    let mut callers = Callers::new(&mut walker, graphs, options.branch_steps.saturating_mul(16));
    let (mut targets, mut entries) = (Vec::new(), 0);
    let is_wanted = |offset: &u32| {
        let wanted = options.branches.as_ref();
        wanted.is_none_or(|wanted| wanted.contains(offset))
    };
    for (function, graph) in graphs {
        for branch in graph
            .branches
            .iter()
            .filter(|branch| is_wanted(&branch.offset))
        {
            let cone = walker.cone(graph, &[branch.operand], 1);
            let (mut types, mut is_cut) = (cone.types, cone.is_cut);
            for (param, at) in cone.params {
                let Some(further) = callers.types(&mut walker, (*function, param)) else {
                    is_cut = true;
                    continue;
                };
                for (name, further) in further {
                    let distance = at.saturating_add(*further);
                    if distance <= options.distance_max {
                        lower(&mut types, *name, distance);
                    }
                }
                is_cut |= !walker.take(further.len() as u64 / 4);
            }
            entries += types.len();
            if entries > ENTRIES_MAX {
                (types, is_cut) = (BTreeMap::new(), true);
            }
            targets.push(Numbered {
                function: *function,
                offset: branch.offset,
                types,
                is_cut,
            });
        }
    }
    Walked {
        targets,
        steps: WALK_STEPS_MAX - walker.work,
        names: types.names,
    }
}

/// Names that are safe to print, each made once.
#[derive(Default)]
pub(super) struct Names(BTreeMap<Name, TypeName>);

impl Names {
    pub(super) fn finish(
        &mut self,
        target: Numbered,
        line: Option<SourceLine>,
        texts: &[String],
    ) -> BranchInfluence {
        let name = |(name, at): (Name, u32)| {
            let text = || printable_max(&texts[name as usize], NAME_CHARS).into();
            let text: &TypeName = self.0.entry(name).or_insert_with(text);
            (text.clone(), at)
        };
        let mut types = target.types.into_iter().map(name).collect::<Vec<_>>();
        types.sort_by(|(a, near), (b, far)| (near, a).cmp(&(far, b)));
        // Names that were cut may be the same.
        let mut seen = BTreeSet::new();
        types.retain(|(name, _)| seen.insert(name.clone()));
        BranchInfluence {
            function: target.function,
            offset: target.offset,
            line,
            types,
            is_cut: target.is_cut,
        }
    }
}

/// One distance a type: from the target with the most types; of several such targets the first one's.
pub(super) fn unify(targets: &[BranchInfluence]) -> BTreeMap<String, u32> {
    let mut order = targets.iter().collect::<Vec<_>>();
    order.sort_by_key(|target| (std::cmp::Reverse(target.types.len()), target.offset));
    let mut unified = BTreeMap::new();
    for (name, distance) in order.into_iter().flat_map(|target| &target.types) {
        if !unified.contains_key(&**name) {
            unified.insert(name.to_string(), *distance);
        }
    }
    unified
}
