//! Influence: which types decide a branch, and from how far away. The static half of SpotOn.
//!
//! In: a module with DWARF. Out, for every branch of the application: the declared and inferred types of all that its
//! operand is computed from, each with its distance; one map of types for all branches together; and the strings that
//! the application's code names. What a fuzzer does with them is not known here. Nothing is run and nothing fails: without
//! debug information there are no types, and [`Influences::missing`] says why.
//!
//! ```text
//! lines ─▶ whose functions ─▶ DWARF: variables, types ─▶ graph of each function ─▶ summaries ─▶ callers ─▶ branches
//! ```
//!
//! **Source.** SpotOn's static phase: from the operands of every branch backwards over a def-use graph in SSA form,
//! depth-first over the call graph, each method once per encounter; actual→formal, return→result, receiver→result;
//! bodies of libraries are left out; not sensitive to fields. The analysis itself was not published, so the numbers are
//! ours. Where wasm is not Java:
//!
//! - A *step* is an operator that computes a value from values: arithmetic, a load through a pointer, a call, the way from
//!   a parameter to an argument. Copies, joins, comparisons, negations and changes of width take none: in the three-address
//!   code that SpotOn reads they do not exist or are part of the branch. The operand itself is at distance 1.
//! - A *variable* is a local, or a piece of memory that the debug information names: a slot of the frame, a static. A
//!   store to it connects with the loads that it reaches in the same function; parts of a structure are one. A variable's
//!   pointers, references, arrays and library wrappers are peeled at no cost, as in Java a variable is a reference.
//! - What a call stores behind a pointer is a result, too: structures are returned that way.
//! - A function without a body to walk (imported, of a library, called through a table) makes its result of all its
//!   arguments: there is no receiver to tell from the others. Where a first parameter is `this` or `self`, the result
//!   depends on it, as in the paper.
//! - A walk that went from a call into the callee comes back out of the same call (the paper's walk is not said to).
//! - Code inlined from libraries has no targets of its own, but is walked through.
//!
//! **Not followed:** memory behind pointers that are not named, across calls and through tables; control dependence;
//! globals across calls.
//!
//! **Bounds.** [`InfluenceOptions::branch_steps`] nodes a walk; steps of renaming in proportion to a function's operators;
//! four million values and 200 million steps in all. Walks go nearest first, so what a bound cuts off is the farthest. No
//! recursion; the answer is a function of the bytes and the options.

mod build;
mod callers;
mod cone;
mod debug;
mod graph;
mod outline;
mod ssa;
mod strings;
mod summary;
mod targets;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ENTRY_POINTS;
use crate::library::is_library;
use crate::symbols::{DebugInfo, LineRow, Symbols};
use build::Context;
use debug::Debug;
use graph::Graph;
use outline::Outline;
use strings::Ends;
use targets::{Names, unify, walk};

/// Values of all functions together, a hundred bytes each. SQLite has a quarter of a million.
const NODES_MAX: usize = 4_000_000;

/// Steps of renaming in all functions together: about as much.
const GRAPH_STEPS_MAX: u64 = 200_000_000;

/// The name of a type, with its namespaces and parameters, printable: `section`, `packets::Name`.
pub type TypeName = Arc<str>;

/// What may be asked for.
#[derive(Clone, Debug)]
pub struct InfluenceOptions {
    /// Source files that are a library's beside those that [`is_library`] knows: beginnings of paths, or of a path's parts.
    pub libraries: Vec<String>,
    /// Source files that are one's own whatever the lists say, in the same form: `naga-` for a crate of a registry.
    pub own: Vec<String>,
    /// Values that the walk from one branch, one argument or one result visits at most; 16 times as many entries of
    /// summaries on the way through callers.
    pub branch_steps: u64,
    /// Types farther away than this are not looked for. SpotOn has no such limit; its weights are 1/distance.
    pub distance_max: u32,
    /// Offsets of the branching operators that are asked about; `None` for all. The answer is about these alone, and takes
    /// less time the fewer they are.
    pub branches: Option<BTreeSet<u32>>,
}

impl InfluenceOptions {
    /// By trying: SQLite's answer does not change beyond the steps, and a weight of 1/32 is hardly ever drawn.
    pub fn standard() -> InfluenceOptions {
        InfluenceOptions {
            libraries: Vec::new(),
            own: Vec::new(),
            branch_steps: 8192,
            distance_max: 32,
            branches: None,
        }
    }
}

/// The types that influence one branch. All arms of a branch share its operand, so they share this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchInfluence {
    /// The function, imports counted first.
    pub function: u32,
    /// Offset of the branching operator in the file: that of its arms in a [`ProbeMap`](crate::ProbeMap).
    pub offset: u32,
    /// The line it is on: of the innermost inlined function.
    pub line: Option<SourceLine>,
    /// Types and their distances in steps, from 1: nearest first, then by name; each once.
    pub types: Vec<(TypeName, u32)>,
    /// Whether a bound ended the search.
    pub is_cut: bool,
}

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    /// The file, printable, as the compiler wrote it.
    pub file: Arc<str>,
    /// The line, from one.
    pub line: u32,
}

/// Why a module has no types.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// It has no DWARF.
    #[error("no DWARF; build the module with -g, or debug = true")]
    Dwarf,
    /// Its DWARF is beside it.
    #[error("the debug information is in another file, `{0}`")]
    External(String),
    /// Its DWARF was not read.
    #[error("{0}")]
    Ignored(String),
    /// No function is the application's.
    #[error("all lines of the debug information are of libraries")]
    OnlyLibraries,
    /// There are lines, but no variables or types.
    #[error(
        "the debug information has lines, but no types; build the module with -g, or debug = true"
    )]
    OnlyLines,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Influences {
    /// Branches of the application, ascending by offset; those that no type influences, too.
    pub targets: Vec<BranchInfluence>,
    /// The paper's unification: of all distances of a type the one from the target with the most types, of several such
    /// targets from the first.
    pub types: BTreeMap<String, u32>,
    /// Texts that application code reached from an entry point names, in the order of the code, each once.
    pub strings: Vec<Vec<u8>>,
    /// Why there are no types, if there cannot be any.
    pub missing: Option<Missing>,
    /// Application functions that took too much work or could not be read.
    pub skipped: u32,
    /// Whether the debug information was too large to be read to its end.
    pub is_cut: bool,
    /// Steps of all walks together: what the answer cost.
    pub steps: u64,
}

impl Influences {
    /// The targets on a line. `file` is the end of a path, as in `settings.c` or `src/lib.rs`.
    pub fn at_line<'a>(
        &'a self,
        file: &'a str,
        line: u32,
    ) -> impl Iterator<Item = &'a BranchInfluence> + 'a {
        let is_it = move |at: &SourceLine| {
            let rest = at.file.strip_suffix(file);
            at.line == line && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let targets = self.targets.iter();
        targets.filter(move |target| target.line.as_ref().is_some_and(is_it))
    }
}

/// Finds the types that influence the branches of `wasm`.
///
/// A module of 5 MB takes about a second or two. What is no module has no branches.
pub fn influences(wasm: &[u8], options: &InfluenceOptions) -> Influences {
    let symbols = Symbols::new(wasm);
    let outline = Outline::new(wasm);
    let own = own_functions(&symbols, &outline, options);
    let roots = ENTRY_POINTS
        .iter()
        .filter_map(|name| outline.exports.get(name).copied())
        .collect::<Vec<_>>();
    let whose = |function: u32| {
        let first = own.get(&function)?.first()?;
        Some(if first.file.ends_with(".rs") {
            Ends::Lengths
        } else {
            Ends::Zeros
        })
    };
    let mut found = Influences {
        strings: strings::strings(&outline, &roots, &whose),
        ..Influences::default()
    };
    found.missing = match symbols.debug_info() {
        DebugInfo::Dwarf if own.is_empty() => Some(Missing::OnlyLibraries),
        DebugInfo::Dwarf => None,
        DebugInfo::External(place) => Some(Missing::External(place)),
        DebugInfo::Ignored(why) => Some(Missing::Ignored(why)),
        DebugInfo::NamesOnly | DebugInfo::None => Some(Missing::Dwarf),
    };
    if found.missing.is_some() {
        return found;
    }
    let code_start = symbols.code_start();
    let starts = own.keys().filter_map(|index| start_of(&outline, *index));
    let starts = starts
        .filter_map(|start| start.checked_sub(code_start))
        .collect::<BTreeSet<_>>();
    let code_bytes = u32::try_from(wasm.len()).map_or(u32::MAX, |bytes| bytes - code_start);
    let debug = Debug::new(&symbols, code_bytes, &|start| starts.contains(&start));
    found.is_cut = debug.is_cut;
    let has_variables = |function: &debug::Function| !function.variables.is_empty();
    if !debug.functions.values().any(has_variables) {
        found.missing = Some(Missing::OnlyLines);
        return found;
    }
    let context = Context {
        outline: &outline,
        debug: &debug,
        code_start,
    };
    let graphs = graphs(&context, &own, &mut found.skipped);
    let walked = walk(&context, &graphs, options);
    found.steps = walked.steps;
    let mut names = Names::default();
    for target in walked.targets {
        let row = line_at(&own[&target.function], target.offset);
        // What was inlined from a library is not a target.
        if row.is_some_and(|row| is_of_library(&row.file, options)) {
            continue;
        }
        let line = row.map(|row| SourceLine {
            file: row.file.clone(),
            line: row.line,
        });
        found
            .targets
            .push(names.finish(target, line, &walked.names));
    }
    found.targets.sort_by_key(|target| target.offset);
    found.types = unify(&found.targets);
    found
}

/// The functions of the application, each with its lines.
fn own_functions(
    symbols: &Symbols,
    outline: &Outline<'_>,
    options: &InfluenceOptions,
) -> BTreeMap<u32, Vec<LineRow>> {
    let mut own = BTreeMap::new();
    for position in 0..outline.bodies.len() {
        let index = outline.index_of(position);
        let rows = symbols.lines_of_function(index);
        if let Some(first) = rows.first()
            && !is_of_library(&first.file, options)
        {
            own.insert(index, rows);
        }
    }
    own
}

fn is_of_library(path: &str, options: &InfluenceOptions) -> bool {
    let fits = |beginning: &String| {
        path.starts_with(beginning.as_str()) || path.contains(&format!("/{beginning}"))
    };
    if options.own.iter().any(fits) {
        return false;
    }
    options.libraries.iter().any(fits) || is_library(path)
}

/// File offset of a function's body.
fn start_of(outline: &Outline<'_>, index: u32) -> Option<u32> {
    let position = index.checked_sub(outline.imported)?;
    Some(outline.bodies.get(position as usize)?.range().start as u32)
}

fn graphs(
    context: &Context<'_>,
    own: &BTreeMap<u32, Vec<LineRow>>,
    skipped: &mut u32,
) -> BTreeMap<u32, Graph> {
    let mut graphs = BTreeMap::new();
    let (mut nodes, mut work) = (0, GRAPH_STEPS_MAX);
    for index in own.keys() {
        let position = index - context.outline.imported;
        let body = &context.outline.bodies[position as usize];
        match build::graph(context, *index, body, &mut work) {
            Some(graph) if nodes + graph.nodes.len() <= NODES_MAX => {
                nodes += graph.nodes.len();
                graphs.insert(*index, graph);
            }
            _ => *skipped += 1,
        }
    }
    graphs
}

fn line_at(rows: &[LineRow], offset: u32) -> Option<&LineRow> {
    let after = rows.partition_point(|row| row.offset <= offset);
    rows.get(after.checked_sub(1)?)
}
