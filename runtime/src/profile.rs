//! Profiles: which call stacks, functions, blocks and lines spend the fuel of a set of inputs.
//!
//! In: a target and inputs. Out: [`Profile`], the sums over all runs, beside those of a second set if
//! there is one to compare with; the reports beside (`profile/`) show it. Everything adds up: the own
//! fuel of all stacks is the fuel of all runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use sandglass_engine::{Exit, Peaks};
use sandglass_instrument::symbols::Symbols;
use sandglass_instrument::{CostModel, ProbeMap};
use sandglass_sandbox::{Build, Limits, ProfileFrame, Sandbox};

use crate::inputs::Input;
use crate::target::Target;

pub mod campaign;
pub mod csv;
pub mod folded;
pub mod html;
pub mod json;
pub mod lines;
pub mod speedscope;
mod stacks;
pub mod text;
pub mod tree;

use lines::{Block, Line};
use tree::{FunctionCost, Side, Tree};

/// Blocks that are kept, the costliest: a module has a hundred thousand.
const BLOCKS_MAX: usize = 200;

/// Lines that are kept, the costliest.
const LINES_MAX: usize = 2_000;

/// One input's run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where the input came from, as the user would type it.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// How it ended.
    pub exit: Exit,
    /// Its fuel, as campaigns count it.
    pub fuel: u64,
    /// What it took at most.
    pub peaks: Peaks,
    /// Bytes of the heap that it had in use at most, where the allocator is known.
    pub heap_bytes: Option<u64>,
}

/// The most that any of the runs took; nothing of none.
pub fn peaks(runs: &[Run]) -> Peaks {
    let all = || runs.iter().map(|run| run.peaks);
    Peaks {
        memory_pages: all().map(|of| of.memory_pages).max().unwrap_or(0),
        call_depth: all().map(|of| of.call_depth).max().unwrap_or(0),
    }
}

/// The most bytes of the heap that any of them had in use, where the allocator is known.
pub fn heap_bytes(runs: &[Run]) -> Option<u64> {
    runs.iter().filter_map(|run| run.heap_bytes).max()
}

/// Where the fuel of a set of runs went.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The runs, in the order of the inputs.
    pub runs: Vec<Run>,
    /// Those to compare with.
    pub base: Vec<Run>,
    /// The call stacks of both.
    pub tree: Tree,
    /// Functions, the costliest first by own fuel.
    pub functions: Vec<FunctionCost>,
    /// Source lines of the runs, the costliest first; empty without debug information.
    pub lines: Vec<Line>,
    /// Blocks of the runs, the costliest first.
    pub blocks: Vec<Block>,
    /// What fuel counts.
    pub cost: CostModel,
}

impl Profile {
    /// Fuel of all runs of a side.
    pub fn total(&self, side: Side) -> u64 {
        self.tree.total(side)
    }

    /// The runs of a side.
    pub fn side(&self, side: Side) -> &[Run] {
        match side {
            Side::Now => &self.runs,
            Side::Before => &self.base,
        }
    }
}

/// What runs a target for profiles. It holds the sums of all runs so far.
pub struct Profiler {
    sandbox: Sandbox,
    symbols: Symbols,
    wasm: Vec<u8>,
    names: BTreeMap<u32, Arc<str>>,
    /// Counts of all runs, by probe.
    counts: Vec<u64>,
}

impl Profiler {
    /// Compiles the target for profiles. On a guest thread only.
    pub fn new(target: &Arc<Target>, limits: &Limits) -> Result<Profiler> {
        let sandbox = target.sandbox(Build::Profile, limits)?;
        let probes = sandbox.program().probe_map().probes.len();
        Ok(Profiler {
            sandbox,
            symbols: Symbols::new(&target.module.wasm),
            wasm: target.module.wasm.clone(),
            names: BTreeMap::new(),
            counts: vec![0; probes],
        })
    }

    /// Runs an input and adds its stacks to a side of a tree. On a guest thread only.
    pub fn run(&mut self, input: &Input, tree: &mut Tree, side: Side) -> Run {
        let (run, profile) = self.measure(input);
        self.add(&profile, tree, side);
        run
    }

    /// Runs an input: what it came to, and its stacks, for [`add`](Profiler::add). On a guest thread only.
    pub fn measure(&mut self, input: &Input) -> (Run, sandglass_sandbox::Profile) {
        let profiled = self.sandbox.profile(&input.bytes);
        let outcome = &profiled.outcome;
        for (probe, count) in &outcome.detail.as_ref().expect("profiles have it").counts {
            let sum = &mut self.counts[*probe as usize];
            *sum = sum.saturating_add(u64::from(*count));
        }
        let run = Run {
            name: input.path.to_string_lossy().into_owned(),
            bytes: u64::from(outcome.input_bytes),
            exit: outcome.exit,
            fuel: outcome.fuel,
            peaks: outcome.detail.as_ref().expect("asked for").peaks,
            heap_bytes: profiled.profile.heap_bytes,
        };
        (run, profiled.profile)
    }

    /// Adds the stacks of a run to a side of a tree.
    pub fn add(&mut self, profile: &sandglass_sandbox::Profile, tree: &mut Tree, side: Side) {
        let (names, symbols) = (&mut self.names, &self.symbols);
        tree.add(&profile.nodes, side, &mut |frame| match frame {
            ProfileFrame::Root => Arc::from("all"),
            ProfileFrame::Rest => Arc::from("(stacks beyond what a profile holds)"),
            ProfileFrame::Function(index) => {
                let name = names.entry(index);
                Arc::clone(name.or_insert_with(|| tree::short(&symbols.function_name(index))))
            }
        });
    }

    /// Counts of all runs so far, by probe.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// What the probes mean.
    pub fn map(&self) -> &ProbeMap {
        self.sandbox.program().probe_map()
    }

    /// The source lines of all runs so far, the costliest first.
    pub fn lines(&self) -> Result<Vec<Line>> {
        let mut lines = lines::lines(&self.wasm, &self.symbols, self.map(), &self.counts)?;
        lines.truncate(LINES_MAX);
        Ok(lines)
    }

    /// The blocks of all runs so far, the costliest first.
    pub fn blocks(&self) -> Vec<Block> {
        lines::blocks(&self.symbols, self.map(), &self.counts, BLOCKS_MAX)
    }
}

/// Profiles inputs, beside others to compare with. On a guest thread only.
pub fn profile(
    target: &Arc<Target>,
    limits: &Limits,
    inputs: &[Input],
    base: &[Input],
) -> Result<Profile> {
    let mut profile = Profile {
        cost: target.options.cost,
        ..Profile::default()
    };
    let mut profiler = Profiler::new(target, limits)?;
    for input in inputs {
        let run = profiler.run(input, &mut profile.tree, Side::Now);
        profile.runs.push(run);
    }
    // Before the others run: lines and blocks are those of the inputs themselves.
    profile.lines = profiler.lines()?;
    profile.blocks = profiler.blocks();
    for input in base {
        let run = profiler.run(input, &mut profile.tree, Side::Before);
        profile.base.push(run);
    }
    profile.tree.finish();
    profile.functions = profile.tree.functions();
    Ok(profile)
}
