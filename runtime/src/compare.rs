//! Two builds of one target on one corpus: what ends otherwise, what costs more, what is reached.
//!
//! In: profiles of the same inputs in both builds. Out: [`Comparison`], which a gate can be made of.
//! Costs of runs that come to their end are exact, so any difference is one of the builds. Functions are matched by name.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, bail};
use sandglass_engine::Exit;
use sandglass_instrument::ENTRY_POINTS;
use sandglass_instrument::accept::EntryKind;
use sandglass_instrument::symbols::Symbols;
use sandglass_sandbox::Limits;

use crate::cover::{Cover, Share};
use crate::error::show;
use crate::inputs::Input;
use crate::profile::tree::{FunctionCost, Side};
use crate::profile::{Profile, Profiler};
use crate::target::{Module, Target};

pub mod checks;
pub mod growth;

/// One input in both builds.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Where it came from.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// How it ended, in the new build and in the old one.
    pub exits: [Exit; 2],
    /// Its fuel.
    pub fuel: [u64; 2],
}

impl Pair {
    /// Does it end as before?
    pub fn same_verdict(&self) -> bool {
        self.exits[0] == self.exits[1]
    }

    /// Is it a finding that was none?
    pub fn is_new_finding(&self) -> bool {
        self.exits[0].is_finding() && !self.exits[1].is_finding()
    }

    /// Can its costs be compared? Of a run that breaks off, the part of the segment that did not run
    /// counts, too, so findings of both builds cannot.
    pub fn has_costs(&self) -> bool {
        self.same_verdict() && !self.exits[0].is_finding()
    }

    /// Does it end as before, no finding, and cost more than `percent`, in thousandths, beyond what it did?
    pub fn is_slower(&self, percent: u64) -> bool {
        let [new, old] = self.fuel.map(u128::from);
        self.has_costs() && new * 100_000 > old * (100_000 + u128::from(percent))
    }
}

/// What of a build a corpus reaches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reached {
    /// Functions of the module.
    pub functions: Share,
    /// Source lines; none without debug information.
    pub lines: Share,
    /// Arms of branches, function entries.
    pub edges: Share,
}

/// Both builds; of pairs the new one comes first.
#[derive(Debug)]
pub struct Comparison {
    /// Every input.
    pub pairs: Vec<Pair>,
    /// The stacks of both, without inputs that are findings in both.
    pub profile: Profile,
    /// Functions whose own cost differs, the greatest difference first.
    pub changed: Vec<FunctionCost>,
    /// Functions that only one of them enters.
    pub only: [Vec<Arc<str>>; 2],
    /// What is reached.
    pub reached: [Reached; 2],
}

impl Comparison {
    /// New cost by old cost of the inputs that end as before, findings apart: the median, and the geometric mean. None
    /// without such inputs.
    pub fn ratios(&self) -> Option<(f64, f64)> {
        let same = self.pairs.iter().filter(|pair| pair.has_costs());
        let mut ratios: Vec<f64> = same
            .map(|pair| pair.fuel[0].max(1) as f64 / pair.fuel[1].max(1) as f64)
            .collect();
        if ratios.is_empty() {
            return None;
        }
        ratios.sort_by(f64::total_cmp);
        let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
        let mean = (logarithms / ratios.len() as f64).exp();
        let middle = ratios.len() / 2;
        let median = match ratios.len() % 2 {
            0 => f64::midpoint(ratios[middle - 1], ratios[middle]),
            _ => ratios[middle],
        };
        Some((median, mean))
    }
}

/// Refuses modules that cannot be builds of one target.
pub fn check(new: &Module, old: &Module) -> Result<()> {
    let path = |module: &Module| show(std::path::Path::new(&module.path));
    let (new_path, old_path) = (path(new), path(old));
    // Whether there is an entry at all is said where targets are made.
    if let (Ok(is), Ok(was)) = (new.facts.target(), old.facts.target())
        && is != was
    {
        bail!(
            "{new_path}: {}, but {old_path} is {}; expected two builds of one target",
            kind(is),
            kind(was)
        );
    }
    let (names, old_names) = (names(new), names(old));
    if !names.is_empty() && !old_names.is_empty() && names.is_disjoint(&old_names) {
        bail!(
            "{new_path}: none of its {} named functions is in {old_path}; expected two builds of one target",
            names.len()
        );
    }
    Ok(())
}

fn kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Reactor => "a reactor (LLVMFuzzerTestOneInput)",
        EntryKind::Property => "a property (sandglass_property)",
        EntryKind::Command => "a command (_start)",
    }
}

/// Whether any target may have a function of this name, because the host looks for it.
fn is_for_the_host(name: &str) -> bool {
    ENTRY_POINTS.contains(&name)
        || ["_initialize", "LLVMFuzzerInitialize", "malloc", "free"].contains(&name)
}

/// The functions of a module that have names which are the program's own.
fn names(module: &Module) -> BTreeSet<String> {
    let symbols = Symbols::new(&module.wasm);
    let first = module.facts.imported_functions;
    let names = (first..first + module.facts.functions).map(|at| symbols.function_name(at));
    let is_own = |name: &String| !name.starts_with("func[") && !is_for_the_host(name);
    names.filter(is_own).collect()
}

/// Runs the inputs in both. On a guest thread only.
pub fn compare(
    new: &Arc<Target>,
    old: &Arc<Target>,
    limits: &Limits,
    inputs: &[Input],
) -> Result<Comparison> {
    let mut profile = Profile {
        cost: new.options.cost,
        ..Profile::default()
    };
    let mut profilers = [Profiler::new(new, limits)?, Profiler::new(old, limits)?];
    for input in inputs {
        let measured = (profilers.each_mut()).map(|profiler| profiler.measure(input));
        // Where exactly a run broke off says nothing about the builds.
        if measured.iter().any(|(run, _)| !run.exit.is_finding()) {
            for ((profiler, side), (_, stacks)) in
                profilers.iter_mut().zip(Side::ALL).zip(&measured)
            {
                profiler.add(stacks, &mut profile.tree, side);
            }
        }
        let [(new, _), (old, _)] = measured;
        profile.runs.push(new);
        profile.base.push(old);
    }
    let reached = [
        reached_by(new, &profilers[0])?,
        reached_by(old, &profilers[1])?,
    ];
    profile.lines = profilers[0].lines()?;
    profile.blocks = profilers[0].blocks();
    profile.tree.finish();
    profile.functions = profile.tree.functions();
    let pairs = profile
        .runs
        .iter()
        .zip(&profile.base)
        .map(|(new, old)| Pair {
            name: new.name.clone(),
            bytes: new.bytes,
            exits: [new.exit, old.exit],
            fuel: [new.fuel, old.fuel],
        });
    let functions = profile.functions.iter();
    let only = Side::ALL.map(|side| {
        let other = 1 - side as usize;
        let here = functions.clone().filter(|f| f.calls[other] == 0);
        here.map(|f| Arc::clone(&f.name)).collect()
    });
    let mut changed: Vec<FunctionCost> = functions
        .filter(|f| f.own[0] != f.own[1])
        .cloned()
        .collect();
    changed.sort_by_key(|f| {
        (
            std::cmp::Reverse(f.own[0].abs_diff(f.own[1])),
            f.name.clone(),
        )
    });
    Ok(Comparison {
        pairs: pairs.collect(),
        changed,
        only,
        reached,
        profile,
    })
}

fn reached_by(target: &Target, profiler: &Profiler) -> Result<Reached> {
    let counts = profiler.counts();
    let functions = profiler.map().functions.len();
    let cover = Cover::new(&target.module.wasm, profiler.map(), counts)?;
    let mut lines = Share::default();
    for file in cover.files.values() {
        lines += file.lines_share();
    }
    Ok(Reached {
        functions: Share::of(counts[..functions].iter()),
        lines,
        edges: Share::of(counts.iter()),
    })
}
