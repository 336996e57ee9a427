//! Instrumentation: bytes of a module in, the same module with probes out, and what each probe
//! means.
//!
//! [`instrument`] is a function from bytes to bytes. It knows nothing of engines and cannot run
//! anything. The instrumented module computes what the original computes; beside that it keeps
//! counters in a memory of its own (see [`layout`]), which the host reads after each run with
//! the help of the [`ProbeMap`].
//!
//! ```text
//! compares, dependence, heap, marks ─▶ flow ─▶ edges ─▶ profile ─▶ depth ─▶ bulk fuel, NaNs, flags ─▶ exits, paths, trace ─▶ heap's wrappers, blocks, entry
//! ```
#![forbid(unsafe_code)]

pub mod accept;
mod addresses;
pub mod allocator;
mod calls;
pub mod carried;
mod cost;
mod customs;
mod emit;
mod error;
mod executed;
mod flow;
mod frames;
mod heap_functions;
mod heap_given;
pub mod influence;
pub mod labels;
pub mod layout;
pub mod library;
mod loops;
pub mod multipliers;
mod named;
mod nans;
mod passes;
pub mod printable;
mod probes;
mod spending;
pub mod symbols;
pub mod tokens;
mod unset;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use walrus::ir::InstrLocId;
use walrus::{
    CodeTransform, CustomSection, FunctionId, FunctionKind, Module, ModuleConfig, ValType,
};

pub use cost::{COST_VERSION, CostModel, HOST_WORK};
pub use error::InstrumentError;
pub use executed::{Spent, executed, spent};
pub use heap_functions::{HeapSupport, Text, heap_functions, heap_support};
pub use passes::heap::{CONSTANT, GRANULE_SHIFT};
pub use passes::heap_frames::FRAME;
pub use passes::marks::BLOCK_SHIFT;
pub use probes::{
    ArmKind, BodyRange, CompareSite, FunctionProbes, HeapMap, Probe, ProbeMap, Probes,
};

use allocator::Allocator;
use calls::CallGraph;
use cost::Costs;
use emit::{Code, body};
use heap_functions::{HeapFunctions, Role};
use layout::Layout;
use loops::Loops;
use passes::{
    blocks, compares, dependence, depth, edges, entry, exits, fuel, globals, heap, heap_room,
    heap_wrap, marks, paths, profile, trace,
};
use spending::Spending;

/// Module name of the imports that instrumented modules have of the host.
pub const HOST_MODULE: &str = "sandglass:host";

/// The version of the passes: part of the key under which compiled modules are cached.
pub const PASS_VERSION: u32 = 29;

/// Entry points, in the order in which they are looked for.
pub const ENTRY_POINTS: [&str; 4] = [
    "LLVMFuzzerTestOneInput",
    "sandglass_property",
    "_start",
    GENERATOR_ENTRY,
];

/// The entry point of generators.
const GENERATOR_ENTRY: &str = "sandglass_generate";

/// Largest guest memory that any build supports, in bytes: shadows and marks lie in memories of their own, beside
/// it or above.
pub const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// The same in pages of 64 KiB.
const MEMORY_PAGES_MAX: u64 = MEMORY_BYTES_MAX >> 16;

/// An instrumented module.
#[derive(Clone, Debug)]
pub struct Instrumented {
    /// The module with probes.
    pub wasm: Vec<u8>,
    /// What they mean.
    pub probe_map: ProbeMap,
}

/// Instruments `wasm`, once [`accept`] has found that we take it.
///
/// # Errors
/// When the module is refused or walrus cannot read it, or no entry point is exported and
/// `probes.entry` is set.
pub fn instrument(wasm: &[u8], probes: Probes) -> Result<Instrumented, InstrumentError> {
    instrument_with(wasm, probes, &[])
}

/// The same, with functions of the allocator that the user named: see [`heap_support`]. They matter where
/// `probes.heap` is set.
///
/// # Errors
/// As for [`instrument`], and when what is given is wrong.
pub fn instrument_with(
    wasm: &[u8],
    probes: Probes,
    given: &[String],
) -> Result<Instrumented, InstrumentError> {
    let facts = accept::check(wasm, &accept::AcceptLimits::standard(MEMORY_BYTES_MAX))?;
    if probes.entry {
        facts.generator().or_else(|_| facts.target().map(|_| ()))?;
    }
    // walrus and our own walks recurse along the nesting of blocks, which `accept` bounds.
    const STACK_BYTES: usize = 512 << 20;
    std::thread::scope(|scope| {
        let work = std::thread::Builder::new().stack_size(STACK_BYTES);
        let work = work.spawn_scoped(scope, || Instrumenter::new(wasm, probes, given)?.run());
        match work.expect("a thread for the instrumentation").join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

struct Instrumenter {
    module: Module,
    probes: Probes,
    /// The guest's own functions, by original index.
    functions: Vec<FunctionId>,
    /// The operators whose NaNs show, by original offset.
    visible_nans: Vec<(u32, nans::Kind)>,
    /// Functions named like comparisons, by original index.
    named: BTreeMap<u32, compares::TextKind>,
    code: Arc<Mutex<Transform>>,
    allocator: Option<Allocator>,
    heap: Option<WatchedHeap>,
    /// Functions of the heap whose blocks are counted, by original index.
    block_functions: Vec<(u32, Role)>,
    costs: Costs,
}

/// What of a heap is to be watched.
struct WatchedHeap {
    functions: HeapFunctions,
    map: HeapMap,
    /// What the first global starts with, if it can be a stack pointer.
    stack_top: Option<u32>,
}

impl Instrumenter {
    fn new(wasm: &[u8], probes: Probes, given: &[String]) -> Result<Instrumenter, InstrumentError> {
        let mut config = ModuleConfig::new();
        config
            .generate_dwarf(false)
            .generate_name_section(false)
            .generate_producers_section(false);
        config
            .preserve_code_transform(true)
            .only_stable_features(false);
        let mut module = config
            .parse(&customs::without_customs(wasm))
            .map_err(|error| InstrumentError::Parse(format!("{error:#}")))?;
        // Of no use in the copy: code moves.
        let customs = module.customs.iter().map(|(id, _)| id).collect::<Vec<_>>();
        for id in customs {
            module.customs.delete(id);
        }
        let code = Arc::new(Mutex::new(Transform::default()));
        module.customs.add(Witness(code.clone()));
        let functions = module
            .funcs
            .iter()
            .filter(|f| matches!(f.kind, FunctionKind::Local(_)));
        let mut functions = functions.map(|f| f.id()).collect::<Vec<_>>();
        functions.sort();
        let costs = Costs::new(probes.cost, wasm)
            .map_err(|error| InstrumentError::Parse(error.to_string()))?;
        let visible_nans = if probes.nans {
            nans::visible(wasm, probes.compares || probes.dependence)
        } else {
            Vec::new()
        };
        let heap = match probes.heap {
            true => Some(WatchedHeap::find(wasm, given)?),
            false => None,
        };
        Ok(Instrumenter {
            module,
            probes,
            functions,
            visible_nans,
            named: if probes.compares {
                compares::named(wasm)
            } else {
                BTreeMap::new()
            },
            code,
            allocator: allocator::find(wasm).or_else(|| heap.as_ref()?.functions.allocator()),
            heap,
            block_functions: match probes.profile {
                true => HeapFunctions::find(wasm, &[])?.0.roles,
                false => Vec::new(),
            },
            costs,
        })
    }

    fn run(mut self) -> Result<Instrumented, InstrumentError> {
        let graph = CallGraph::new(&self.module);
        let entry = self.entry_point()?;
        let memories = self
            .module
            .memories
            .iter()
            .map(|m| m.id())
            .collect::<Vec<_>>();
        if self.probes.entry {
            for (n, id) in memories.iter().enumerate() {
                self.module
                    .exports
                    .add(&format!("__sandglass_memory_{n}"), *id);
            }
        }
        if self.probes.globals {
            let globals = self.module.globals.iter().map(|global| global.id());
            for id in globals.collect::<Vec<_>>() {
                let name = format!("__sandglass_global_{}", id.index());
                self.module.exports.add(&name, id);
            }
        }
        if self.probes.entry {
            if !self.probes.generator {
                entry::make_room(&mut self.module);
            }
            if let Some(allocator) = &self.allocator {
                heap_room::export(&mut self.module, allocator);
            }
        }
        let state = globals::State::find(&mut self.module);
        let mut dependence = self.probes.dependence.then(|| {
            let always = self.probes.every_comparison;
            dependence::prepare(&mut self.module, &self.functions, MEMORY_PAGES_MAX, always)
        });
        let marks = self
            .probes
            .marks
            .then(|| marks::memories(&mut self.module, &memories, MEMORY_PAGES_MAX));

        // Sizes first: the side memory's layout must be known before code refers to it.
        let mut compare_sites = Vec::new();
        let mut sites = BTreeMap::new();
        if self.probes.compares {
            for &id in &self.functions {
                let first = compare_sites.len();
                let found = compares::find(&self.module, id, &mut compare_sites);
                sites.insert(id, (first as u32, found));
            }
        }
        let arms = self.count_arms(&graph);
        let spending = match self.probes.ticks {
            true => Spending::new(&self.module, &graph, &self.costs),
            false => Spending::default(),
        };
        let probe_count = self.functions.len() as u32 + arms.iter().sum::<u32>();
        let function_count = self.module.funcs.iter().count() as u32;
        let layout = Layout::new(
            state.saved_globals(),
            probe_count,
            compare_sites.len() as u32,
            self.probes.paths,
            self.probes.profile.then_some(function_count),
        );
        let pages = layout.pages();
        let side = self
            .module
            .memories
            .add_local(false, false, pages, Some(pages), None);
        self.module.exports.add("__sandglass_side", side);

        let host = self.host_functions();
        let fuel = fuel::functions(
            &mut self.module,
            side,
            SETUP_FUEL.cast_signed(),
            host.floor,
            self.probes.profile.then_some(layout.nodes),
        );
        let enter = host
            .ask
            .map(|ask| profile::enter_function(&mut self.module, side, &layout, ask));
        let heap = self.watch_heap();
        let block = self.count_blocks();
        let depth = depth::functions(&mut self.module, side, host.overflow);
        let log = self
            .probes
            .compares
            .then(|| compares::log_function(&mut self.module, side));

        let mut map = ProbeMap {
            layout,
            memories: memories.len() as u32,
            compares: compare_sites,
            heap: self.heap.as_ref().map(|heap| heap.map.clone()),
            blocks: block.is_some(),
            cost: self.probes.cost,
            ..ProbeMap::default()
        };
        map.adoptable = state.adoptable();
        let (mut arm_probes, mut gaps) = (Vec::new(), Vec::new());
        for (position, id) in self.functions.clone().into_iter().enumerate() {
            let index = id.index() as u32;
            let loops = Loops::of(body(&self.module, id));
            if let (Some(log), Some((first, sites))) = (log, sites.get(&id)) {
                let first = layout.compares + first * layout::COMPARE_BYTES;
                compares::instrument(&mut self.module, id, sites, log, first);
            }
            let watched = heap.as_ref().map(|(heap, _)| {
                let entry = self.entry_offset(id);
                let (leaving, frame) = heap.instrument(&mut self.module, id, entry);
                gaps.extend(frame.map(|bytes| (index, bytes)));
                (heap, leaving)
            });
            if let Some(dependence) = &mut dependence {
                dependence.instrument(&mut self.module, id);
            }
            if let Some(marks) = &marks {
                marks::instrument(&mut self.module, id, marks);
            }
            let mut flow = flow::analyse(
                self.module.funcs.get(id).kind.unwrap_local(),
                &graph,
                &self.costs,
                spending.left_in(id, &graph),
            );
            let recursive = graph.is_recursive(id);
            let ticks = (recursive || spending.is_heavy(id)) && self.probes.ticks;
            let left = spending::plan(&mut flow, ticks);
            if !self.probes.ticks {
                flow.decisions
                    .values_mut()
                    .flat_map(|d| &mut d.arms)
                    .for_each(|arm| arm.ticks = false);
            }
            if self.probes.rests {
                map.rests.append(&mut flow.rests);
            }
            let arms_start = self.functions.len() as u32 + arm_probes.len() as u32;
            map.probes.push(Probe {
                function: index,
                offset: self.entry_offset(id),
                kind: ArmKind::Entry,
                weight: clamp(flow.entry.weight),
            });
            for (_, decision) in edges::arms_in_order(&flow) {
                arm_probes.extend(decision.arms.iter().map(|arm| Probe {
                    function: index,
                    offset: decision.offset,
                    kind: arm.kind,
                    weight: clamp(arm.segment.weight),
                }));
            }
            let arms_end = self.functions.len() as u32 + arm_probes.len() as u32;
            map.functions.push(FunctionProbes {
                index,
                arms_start,
                arms_end,
                recursive,
            });

            let saved = depth::saved_local(&mut self.module, id);
            let tally = enter.map(|_| profile::Tally::new(&mut self.module, side, &layout));
            let counters = edges::Counters {
                tally,
                memory: self.probes.counts.then_some(side),
                entry: layout.counters + position as u32 * 4,
                arms: layout.counters + arms_start * 4,
            };
            let purse = fuel::purse(&mut self.module, id, &flow, &fuel, &loops);
            let landing = || {
                let mut code = Code::default();
                fuel::on_landing(&mut code, &purse);
                if let Some(saved) = saved {
                    depth.restore(&mut code, saved);
                }
                if let Some((heap, leaving)) = watched {
                    heap.land(&mut code, leaving);
                }
                code
            };
            if self.probes.counts || self.probes.ticks {
                edges::instrument(
                    &mut self.module,
                    id,
                    &flow,
                    &counters,
                    &purse,
                    ticks,
                    &landing,
                );
                let left = Some(left).filter(|left| *left > 0 && spending.is_heavy(id));
                fuel::keep_in_step(&mut self.module, id, &purse, left);
            }
            if let (Some(enter), Some(tally)) = (enter, &tally) {
                profile::instrument(&mut self.module, id, tally, enter);
            }
            if let Some((heap, leaving)) = watched {
                heap.leave(&mut self.module, id, leaving);
            }
            if self.probes.depth {
                depth::instrument(&mut self.module, id, depth, recursive, saved);
            }
            fuel::charge_bulk(&mut self.module, id, &fuel);
            passes::nans::instrument(&mut self.module, id, &self.visible_nans);
            if self.probes.entry {
                globals::flag_irreversible(&mut self.module, id, side);
                exits::instrument(&mut self.module, id, host.unreachable);
            }
            if self.probes.paths {
                paths::instrument(&mut self.module, id, &graph, side, layout.path);
            }
            if let Some(called) = host.called {
                trace::instrument(&mut self.module, id, side, called);
            }
            if let (Some(report), Some(&kind)) = (host.report, self.named.get(&index)) {
                compares::instrument_by_name(&mut self.module, id, index, kind, report);
            }
        }
        if let Some(dependence) = dependence {
            (map.labels, map.dependence) = dependence.finish(&mut self.module);
        }
        if let Some(heap) = &mut map.heap {
            heap.gaps = gaps;
        }
        map.rests.sort_unstable();
        map.probes.extend(arm_probes);
        assert_eq!(
            map.probes.len() as u32,
            probe_count,
            "arms were counted before the passes ran"
        );
        if let Some((_, keeper)) = &heap {
            self.wrap_allocator(keeper, memories[0]);
        }
        if let Some(tell) = block {
            let roles = self.by_id(&self.block_functions);
            blocks::wrap(&mut self.module, &self.functions, &roles, tell, memories[0]);
        }
        if let Some(entry) = entry {
            entry::functions(&mut self.module, side, depth, &fuel, entry, &state);
        }
        let wasm = self.module.emit_wasm();
        self.finish(wasm, map)
    }

    fn entry_point(&self) -> Result<Option<FunctionId>, InstrumentError> {
        if !self.probes.entry {
            return Ok(None);
        }
        let names = if self.probes.generator {
            &[GENERATOR_ENTRY][..]
        } else {
            &ENTRY_POINTS
        };
        let found = names
            .iter()
            .find_map(|name| entry::exported(&self.module, name));
        found.map(Some).ok_or(InstrumentError::NoEntry)
    }

    fn count_arms(&self, graph: &CallGraph) -> Vec<u32> {
        let arms = self.functions.iter().map(|&id| {
            let flow = flow::analyse(
                self.module.funcs.get(id).kind.unwrap_local(),
                graph,
                &self.costs,
                Spending::default().left_in(id, graph),
            );
            flow.decisions.values().map(|d| d.arms.len() as u32).sum()
        });
        arms.collect()
    }

    fn entry_offset(&self, id: FunctionId) -> u32 {
        let func = self.module.funcs.get(id).kind.unwrap_local();
        let located = func
            .block(func.entry_block())
            .instrs
            .iter()
            .find(|(_, loc)| !loc.is_default());
        located.map_or(0, |(_, loc)| loc.data())
    }

    /// Adds what checks accesses, where there is a memory that can be watched.
    fn watch_heap(&mut self) -> Option<(heap::Heap, heap_wrap::Keeper)> {
        let watched = self.heap.take()?;
        let memory = self.narrow_memory()?;
        let mut import = |name: &str, params: usize, results: usize| {
            let (params, results) = (vec![ValType::I32; params], vec![ValType::I32; results]);
            import(&mut self.module, name, &params, &results)
        };
        let judge = heap::Judge {
            access: import("heap_access", 3, 0),
            range: import("heap_range", 4, 0),
            text: import("heap_text", 6, 0),
            stack: import("heap_stack", 2, 0),
            landed: import("heap_landed", 2, 0),
        };
        let keeper = heap_wrap::Keeper {
            want: import("heap_want", 2, 1),
            given: import("heap_given", 1, 1),
            spare: import("heap_spare", 0, 1),
            release: import("heap_release", 2, 1),
            next: import("heap_next", 0, 1),
            size: import("heap_size", 2, 1),
            length: import("heap_length", 1, 1),
            raw_size: import("heap_raw_size", 1, 1),
            raw_alignment: import("heap_raw_alignment", 1, 1),
        };
        let heap = heap::Heap::new(
            &mut self.module,
            &watched.functions,
            &judge,
            memory,
            watched.map.null_bytes,
            watched.stack_top,
            watched.map.frames,
        );
        self.heap = Some(watched);
        Some((heap, keeper))
    }

    fn wrap_allocator(&mut self, keeper: &heap_wrap::Keeper, memory: walrus::MemoryId) {
        let Some(watched) = &self.heap else { return };
        let roles = self.by_id(&watched.functions.roles);
        heap_wrap::wrap(&mut self.module, &self.functions, &roles, keeper, memory);
    }

    /// Whom to tell of blocks, where they are known and wanted.
    fn count_blocks(&mut self) -> Option<FunctionId> {
        self.narrow_memory()?;
        let params = [ValType::I32; 3];
        let is_known = !self.block_functions.is_empty();
        is_known.then(|| import(&mut self.module, "block", &params, &[]))
    }

    /// The first memory, if its addresses have 32 bits.
    fn narrow_memory(&self) -> Option<walrus::MemoryId> {
        let memory = self.module.memories.iter().next();
        Some(memory.filter(|memory| !memory.memory64)?.id())
    }

    fn by_id(&self, roles: &[(u32, Role)]) -> Vec<(FunctionId, Role)> {
        let ids = emit::by_index(&self.module);
        let roles = roles.iter().map(|(index, role)| (ids[index], *role));
        roles.collect()
    }

    fn host_functions(&mut self) -> Host {
        let mut import = |name: &str, params: &[ValType], results: &[ValType]| {
            import(&mut self.module, name, params, results)
        };
        let i = ValType::I32;
        Host {
            unreachable: import("unreachable", &[i], &[]),
            overflow: import("overflow", &[], &[]),
            floor: (self.probes.counts).then(|| import("floor", &[ValType::I64], &[ValType::I64])),
            report: self
                .probes
                .compares
                .then(|| import("compare", &[i, i, i, i, i], &[])),
            ask: self
                .probes
                .profile
                .then(|| import("enter", &[i, i, i], &[i])),
            called: self.probes.calls.then(|| import("called", &[i, i], &[])),
        }
    }

    fn finish(self, wasm: Vec<u8>, mut map: ProbeMap) -> Result<Instrumented, InstrumentError> {
        let transform = std::mem::take(&mut *self.code.lock().expect("the witness does not panic"));
        map.offsets = transform.offsets;
        map.offsets.sort_unstable();
        let ours = |id: FunctionId| self.functions.binary_search(&id).is_err();
        map.bodies = transform
            .bodies
            .into_iter()
            .map(|(id, range)| BodyRange {
                start: range.start as u32,
                end: range.end as u32,
                function: if ours(id) {
                    u32::MAX
                } else {
                    id.index() as u32
                },
            })
            .collect();
        map.bodies.sort_unstable_by_key(|body| body.start);
        Ok(Instrumented {
            wasm,
            probe_map: map,
        })
    }
}

impl WatchedHeap {
    fn find(wasm: &[u8], given: &[String]) -> Result<WatchedHeap, InstrumentError> {
        let (functions, support) = HeapFunctions::find(wasm, given)?;
        let stack_top = heap_functions::stack_top(wasm);
        let constants = functions.constants.iter();
        let null_bytes = functions.null_bytes(stack_top);
        let map = HeapMap {
            support,
            null_bytes,
            frames: functions.frames(stack_top, null_bytes),
            gaps: Vec::new(),
            stack_top: functions.stack_low(stack_top).and(stack_top).unwrap_or(0),
            static_end: functions.data_end.max(stack_top.unwrap_or(0)),
            constants: constants.map(|range| (range.start, range.end)).collect(),
        };
        Ok(WatchedHeap {
            functions,
            map,
            stack_top,
        })
    }
}

fn import(module: &mut Module, name: &str, params: &[ValType], results: &[ValType]) -> FunctionId {
    let ty = module.types.add(params, results);
    module.add_import_func(HOST_MODULE, name, ty).0
}

/// Fuel that all set-up functions together may spend: seconds.
pub const SETUP_FUEL: u64 = 1_000_000_000;

struct Host {
    unreachable: FunctionId,
    overflow: FunctionId,
    floor: Option<FunctionId>,
    report: Option<FunctionId>,
    ask: Option<FunctionId>,
    called: Option<FunctionId>,
}

fn clamp(weight: u64) -> u32 {
    u32::try_from(weight).unwrap_or(u32::MAX)
}

/// Where operators and bodies went.
#[derive(Default, Debug)]
struct Transform {
    offsets: Vec<(u32, u32)>,
    bodies: Vec<(FunctionId, Range<usize>)>,
}

/// A custom section that is only there to be told where code went.
#[derive(Debug)]
struct Witness(Arc<Mutex<Transform>>);

impl CustomSection for Witness {
    fn name(&self) -> &str {
        "sandglass"
    }

    fn data(&self, _: &walrus::IdsToIndices) -> std::borrow::Cow<'_, [u8]> {
        std::borrow::Cow::Borrowed(&[])
    }

    fn apply_code_transform(&mut self, transform: &CodeTransform) {
        let mut seen = self.0.lock().expect("nobody panics holding it");
        let known = |(id, _): &&(InstrLocId, usize)| !id.is_default();
        seen.offsets = transform
            .instruction_map
            .iter()
            .filter(known)
            .map(|(id, at)| (*at as u32, id.data()))
            .collect();
        seen.bodies = transform.function_ranges.clone();
    }
}
