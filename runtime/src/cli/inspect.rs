//! `sandglass inspect`: what a module is, before anything of it runs.

use std::path::Path;

use anyhow::Result;
use sandglass_instrument::accept::{Facts, Item};
use sandglass_instrument::carried::Carried;
use sandglass_instrument::printable::printable;
use sandglass_instrument::symbols::Symbols;
use sandglass_instrument::{HeapSupport, Probes, heap_functions};
use serde::Serialize;

use super::args::InspectArgs;
use super::influence;
use crate::error::{exit_code, show};
use crate::report::Sink;
use crate::report::plain::number;
use crate::target::{MEMORY_BYTES_MAX, Module, support, unwatched};

/// Names of a list that are shown to people.
const LISTED_MAX: usize = 40;

/// A function of the allocator.
#[derive(Serialize)]
struct HeapFunction {
    /// What it does, as after `--allocator`.
    role: &'static str,
    /// Its index.
    function: u32,
    /// Its name, safe to print; absent if it has none.
    name: Option<String>,
}

/// What is shown, and printed as JSON.
#[derive(Serialize)]
struct Inspection {
    event: &'static str,
    target: String,
    target_hash: String,
    bytes: u64,
    /// `reactor`, `command` or `property`; absent if there is nothing to start.
    entry: Option<String>,
    /// Why not, if so.
    entry_error: Option<String>,
    functions: u32,
    code_bytes: u64,
    data_bytes: u64,
    custom_bytes: u64,
    memories: Vec<String>,
    /// Files that it carries: paths and sizes.
    files: Vec<String>,
    features: Vec<String>,
    imports: Vec<String>,
    exports: Vec<String>,
    dwarf: bool,
    names: bool,
    malloc: bool,
    /// Whose blocks `--sanitize heap` watches; absent if none.
    heap: Option<&'static str>,
    /// Why it watches none, if so.
    heap_error: Option<&'static str>,
    /// The functions that it takes for the allocator's, if it watches any.
    allocator: Vec<HeapFunction>,
    /// Edge probes and comparison sites, if it can be instrumented.
    edges: Option<u64>,
    compares: Option<u64>,
}

pub(super) fn run(args: InspectArgs) -> Result<u8> {
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    if let Some(place) = &args.influence {
        influence::run(&args, place, &module)?;
        return Ok(exit_code::FINE);
    }
    let inspection = inspect(&module, &args.allocator)?;
    let mut out = Sink::stdout();
    if args.json {
        out.line(&serde_json::to_string(&inspection).expect("an inspection is plain data"));
    } else {
        print(&mut out, &inspection);
    }
    Ok(exit_code::FINE)
}

fn inspect(module: &Module, allocator: &[String]) -> Result<Inspection> {
    let facts = &module.facts;
    let (entry, entry_error) = match facts.target() {
        Ok(kind) => (Some(format!("{kind:?}").to_lowercase()), None),
        Err(refusal) => (None, Some(refusal.to_string())),
    };
    // A module without an entry point still has edges.
    let wants = Probes {
        entry: entry.is_some(),
        ..Probes::COMPARES
    };
    let map = sandglass_instrument::instrument(&module.wasm, wants)
        .ok()
        .map(|instrumented| instrumented.probe_map);
    let heap_support = support(module, allocator)?;
    let heap_error = unwatched(heap_support);
    let functions_of_heap = match heap_error {
        None => functions_of_heap(module, allocator),
        Some(_) => Vec::new(),
    };
    Ok(Inspection {
        event: "inspect",
        target: module.path.clone(),
        target_hash: module.hash.clone(),
        bytes: module.wasm.len() as u64,
        entry,
        entry_error,
        functions: facts.functions,
        code_bytes: facts.code_bytes,
        data_bytes: facts.data_bytes,
        custom_bytes: facts.custom_bytes,
        memories: memories(facts),
        files: files(facts),
        features: facts
            .features
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        imports: facts
            .imports
            .iter()
            .map(|import| {
                format!(
                    "{}.{} ({})",
                    printable(&import.module),
                    printable(&import.name),
                    item(&import.item)
                )
            })
            .collect(),
        exports: facts
            .exports
            .iter()
            .map(|export| format!("{} ({})", printable(&export.name), item(&export.item)))
            .collect(),
        dwarf: facts.has_dwarf,
        names: facts.has_names,
        malloc: facts.has_malloc(),
        heap: whose(heap_support),
        heap_error,
        allocator: functions_of_heap,
        edges: map.as_ref().map(|map| map.probes.len() as u64),
        compares: map.as_ref().map(|map| map.compares.len() as u64),
    })
}

/// Whose blocks can be watched.
fn whose(support: Option<HeapSupport>) -> Option<&'static str> {
    match support {
        Some(HeapSupport::C) => Some("malloc and free"),
        Some(HeapSupport::Rust) => Some("Rust's allocator"),
        Some(HeapSupport::Both) => Some("malloc and free, and Rust's allocator"),
        _ => None,
    }
}

/// The functions that are taken for the allocator's.
fn functions_of_heap(module: &Module, allocator: &[String]) -> Vec<HeapFunction> {
    let found = heap_functions(&module.wasm, allocator).unwrap_or_default();
    let symbols = Symbols::new(&module.wasm);
    let function = |(role, function)| {
        let frames = symbols.frames_of(function);
        let named = frames.into_iter().find(|frame| !frame.raw_name.is_empty());
        HeapFunction {
            role,
            function,
            name: named.map(|frame| frame.function),
        }
    };
    found.into_iter().map(function).collect()
}

fn memories(facts: &Facts) -> Vec<String> {
    let memory = |memory: &sandglass_instrument::accept::Memory| {
        let maximum = match memory.maximum_pages {
            Some(pages) => format!("at most {pages}"),
            None => "no maximum".to_owned(),
        };
        let width = if memory.memory64 { ", 64-bit" } else { "" };
        format!("{} pages at start, {maximum}{width}", memory.initial_pages)
    };
    facts.memories.iter().map(memory).collect()
}

fn files(facts: &Facts) -> Vec<String> {
    let file = |file: &Carried| {
        let bytes = number(file.contents.len() as u64);
        format!("{} ({bytes} bytes)", printable(&file.path))
    };
    facts.files.iter().map(file).collect()
}

fn item(item: &Item) -> String {
    match item {
        Item::Function(signature) => printable(signature),
        Item::Memory(_) => "memory".to_owned(),
        Item::Table => "table".to_owned(),
        Item::Global => "global".to_owned(),
        Item::Tag => "tag".to_owned(),
    }
}

fn print(out: &mut Sink, inspection: &Inspection) {
    let yes = |there: bool| if there { "yes" } else { "no" };
    out.line(&format!(
        "{}: {} bytes, hash {}",
        show(Path::new(&inspection.target)),
        number(inspection.bytes),
        inspection.target_hash
    ));
    match (&inspection.entry, &inspection.entry_error) {
        (Some(entry), _) => out.line(&format!("entry: {entry}")),
        (None, error) => out.line(&format!(
            "entry: none: {}",
            error.as_deref().unwrap_or_default()
        )),
    }
    out.line(&format!(
        "code: {} functions, {} bytes; data: {} bytes; custom sections: {} bytes",
        number(u64::from(inspection.functions)),
        number(inspection.code_bytes),
        number(inspection.data_bytes),
        number(inspection.custom_bytes)
    ));
    out.line(&format!(
        "debug information: lines {}, names {}; malloc exported: {}",
        yes(inspection.dwarf),
        yes(inspection.names),
        yes(inspection.malloc)
    ));
    match (inspection.heap, inspection.heap_error) {
        (Some(whose), _) => out.line(&format!(
            "memory errors (--sanitize heap): blocks of {whose}, the input, null, constant data; not what stays inside one block, among globals or in a frame"
        )),
        (None, error) => out.line(&format!(
            "memory errors (--sanitize heap): not watched: {}",
            error.unwrap_or_default()
        )),
    }
    if !inspection.allocator.is_empty() {
        let functions = inspection.allocator.iter();
        let functions = functions.map(|of| match &of.name {
            Some(name) if name != of.role => format!("{}=#{} ({name})", of.role, of.function),
            _ => format!("{}=#{}", of.role, of.function),
        });
        let functions = functions.collect::<Vec<_>>();
        out.line(&format!("allocator: {}", functions.join(", ")));
    }
    match (inspection.edges, inspection.compares) {
        (Some(edges), Some(compares)) => {
            out.line(&format!(
                "probes: {} edges, {} comparisons",
                number(edges),
                number(compares)
            ));
        }
        _ => out.line("probes: none, it cannot be instrumented"),
    }
    list(out, "memories", &inspection.memories);
    if !inspection.files.is_empty() {
        list(out, "files", &inspection.files);
    }
    list(out, "features", &inspection.features);
    list(out, "imports", &inspection.imports);
    list(out, "exports", &inspection.exports);
}

fn list(out: &mut Sink, what: &str, names: &[String]) {
    if names.is_empty() {
        out.line(&format!("{what}: none"));
        return;
    }
    out.line(&format!("{what}:"));
    for name in names.iter().take(LISTED_MAX) {
        out.line(&format!("    {name}"));
    }
    if names.len() > LISTED_MAX {
        out.line(&format!(
            "    ... {} more (--json lists all)",
            names.len() - LISTED_MAX
        ));
    }
}
