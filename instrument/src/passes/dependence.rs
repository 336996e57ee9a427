//! Dependence: which bytes of the input every value was computed from.
//!
//! Each number on the stack, in a local, a global or a call gets a label beside it (see
//! [`crate::labels`]), and so does each byte of memory, in a *shadow* memory four times as large. Where
//! a program decides something by values that depend on the input (a comparison, a branch, a switch), or
//! uses one as an address, a divisor or a size, the values and their labels are recorded.
//!
//! ```wat
//! ;; before                    ;; after
//! local.get $x  local.get $y   local.get $x  local.get $y
//! i32.add                      i32.add
//!                              (i32.or (local.get $x') (local.get $y'))
//!                              if (result i32)  (call $join (local.get $x') (local.get $y'))
//!                              else  i32.const 0  end  local.set $slot
//! ```
//!
//! Labels of arguments and results pass through the memory of labels, so function types stay what they
//! are and indirect calls need nothing. What the host gives has no label unless the host says so: of a
//! guest that draws, results of draws have the number of the draw in the place of an input byte's.
//!
//! What is followed, and what is not:
//! - data: operators, memory, calls, bulk operators, exceptions. Of an exception that is thrown again by
//!   reference, labels are those of the latest one thrown;
//! - `select`, whose result depends on its condition, too; but not branches: `if (c) x = 1` leaves `x`
//!   without a label;
//! - table look-ups: what is loaded from where the module's initialised data lies depends on the
//!   address. Elsewhere an address is recorded, and that is all: what is found in a heap does not depend
//!   on every pointer that led there;
//! - references, table elements and how long the input is have no labels, and indices of tables of 64 bits are not recorded.
//!
//! An engine takes so many memories and locals and no more: what is kept in the last of more than 24 memories has no
//! label, nor has what there is no local for (see [`walk`]). Modules and functions that large hardly exist.

mod carriers;
mod control;
mod effect;
mod events;
mod landings;
mod library;
mod memory;
mod operators;
mod walk;

use std::collections::BTreeMap;

use walrus::ir::Value;
use walrus::{ConstExpr, DataKind, FunctionId, GlobalId, MemoryId, Module};

use crate::labels::{DependenceSite, LabelLayout, TOUCHED_SHIFT};
use carriers::Carriers;
use library::{Library, Shadow};

/// Pages of a memory at most.
const SHADOW_PAGES_MAX: u64 = 1 << 16;

/// Memories of a module at most, as wasm has it.
const MEMORIES_MAX: usize = 100;

/// Of how many memories there are shadows, of so many. Beside each is one with marks, of each shadow one that says where
/// it was written; and there are those of labels and of counters.
fn shadow_count(memories: usize) -> usize {
    memories.min(((MEMORIES_MAX - 2) / 2).saturating_sub(memories))
}

/// What the rewriting of all functions shares.
pub(crate) struct Dependence {
    labels: MemoryId,
    /// Of each memory its shadow, and the library that works on it; of the first ones, if there are many.
    shadows: BTreeMap<MemoryId, (Shadow, Library)>,
    /// Of each memory where in its shadow zeros may be written that belong nowhere.
    nowhere: BTreeMap<MemoryId, i32>,
    library: Library,
    carriers: Carriers,
    /// Where globals have their labels.
    globals: BTreeMap<GlobalId, u32>,
    /// Where initialised data lies.
    data: BTreeMap<MemoryId, (u32, u32)>,
    /// First counter of a site.
    counters: u32,
    /// Record comparisons, branches and switches without labels, too?
    always: bool,
    sites: Vec<DependenceSite>,
}

/// Adds the memories and functions. `pages_max` bounds each guest memory, in pages of 64 KiB. Call it
/// before anything of ours is in the module.
pub(crate) fn prepare(
    module: &mut Module,
    functions: &[FunctionId],
    pages_max: u64,
    always: bool,
) -> Dependence {
    for &id in functions {
        landings::at_end(module, id);
    }
    let carriers = Carriers::find(module, functions);
    let data = data(module);
    let layout = LabelLayout::new(0, module.globals.iter().count() as u32, 0);
    let globals = module.globals.iter().zip(0..);
    let globals = globals.map(|(global, n): (_, u32)| (global.id(), layout.globals + 4 * n));
    let globals = globals.collect();
    let memories = module.memories.iter().map(|m| (m.id(), m.maximum));
    let memories = memories.collect::<Vec<_>>();
    let labels = module.memories.add_local(false, false, 0, None, None);
    module.exports.add("__sandglass_labels", labels);
    let mut shadows = BTreeMap::new();
    let mut nowhere = BTreeMap::new();
    let shadowed = shadow_count(memories.len());
    for (n, (memory, maximum)) in memories.into_iter().take(shadowed).enumerate() {
        // Four bytes for each that the memory can ever have; what never has a label costs nothing.
        let pages = 4 * maximum.unwrap_or(pages_max).min(pages_max);
        // And a page of nothing; where there is no room for one, the last bytes have no labels.
        let pages = (pages + 1).min(SHADOW_PAGES_MAX);
        nowhere.insert(memory, (((pages << 16) - 64) as u32).cast_signed());
        let shadow = module
            .memories
            .add_local(false, false, pages, Some(pages), None);
        module
            .exports
            .add(&format!("__sandglass_shadow_{n}"), shadow);
        let pages = (pages << 16 >> TOUCHED_SHIFT).div_ceil(1 << 16);
        let touched = module
            .memories
            .add_local(false, false, pages, Some(pages), None);
        module
            .exports
            .add(&format!("__sandglass_touched_{n}"), touched);
        let shadow = Shadow {
            labels: shadow,
            touched,
        };
        shadows.insert(memory, (shadow, Library::add(module, labels, shadow)));
    }
    let first = shadows.values().next().map(|(_, library)| *library);
    let library = first.unwrap_or_else(|| {
        let none = Shadow {
            labels,
            touched: labels,
        };
        Library::add(module, labels, none)
    });
    Dependence {
        labels,
        shadows,
        nowhere,
        library,
        carriers,
        globals,
        data,
        counters: layout.counters,
        always,
        sites: Vec::new(),
    }
}

impl Dependence {
    /// Follows labels through `id`.
    pub(crate) fn instrument(&mut self, module: &mut Module, id: FunctionId) {
        walk::function(self, module, id);
    }

    /// Makes room for what was found. Where labels lie, and what is recorded.
    pub(crate) fn finish(self, module: &mut Module) -> (LabelLayout, Vec<DependenceSite>) {
        let globals = self.globals.len() as u32;
        let types = module.types.iter().filter_map(|ty| ty.as_function());
        let values = types.map(|ty| ty.params().len().max(ty.results().len()));
        let values = values.max().unwrap_or(0) as u32;
        let layout = LabelLayout::new(values, globals, self.sites.len() as u32);
        let labels = module.memories.get_mut(self.labels);
        (labels.initial, labels.maximum) = (layout.pages(), Some(layout.pages()));
        (layout, self.sites)
    }

    fn global(&self, global: GlobalId) -> u32 {
        self.globals[&global]
    }

    /// Where initialised data of a memory begins, and how many bytes further it ends.
    fn data_of(&self, memory: MemoryId) -> (u32, u32) {
        self.data.get(&memory).copied().unwrap_or_default()
    }
}

/// From the first to the last byte that the module's segments initialise.
fn data(module: &Module) -> BTreeMap<MemoryId, (u32, u32)> {
    let mut found: BTreeMap<MemoryId, (u32, u32)> = BTreeMap::new();
    for data in module.data.iter() {
        let DataKind::Active { memory, offset } = &data.kind else {
            continue;
        };
        let start = match offset {
            ConstExpr::Value(Value::I32(start)) => start.cast_unsigned(),
            ConstExpr::Value(Value::I64(start)) => u32::try_from(*start).unwrap_or(u32::MAX),
            _ => continue,
        };
        let end = start.saturating_add(data.value.len() as u32);
        let known = found.entry(*memory).or_insert((start, end));
        *known = (known.0.min(start), known.1.max(end));
    }
    found.values_mut().for_each(|(start, end)| *end -= *start);
    found
}

#[cfg(test)]
mod tests {
    use wasmparser::{Validator, WasmFeatures};

    use super::shadow_count;
    use crate::{Probes, instrument};

    /// The entry of a module of which there are labels, and what else it has.
    fn labelled(beside: &str, body: &str) {
        let text = format!(
            r#"(module (memory (export "memory") 1) {beside}
              (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) {body} (i32.const 0)))"#
        );
        let wasm = wat::parse_str(text).expect("it is well-formed");
        let made = instrument(&wasm, Probes::DEPENDENCE).expect("it is accepted");
        let mut validator = Validator::new_with_features(WasmFeatures::all());
        validator.validate_all(&made.wasm).expect("it is a module");
    }

    #[test]
    fn the_first_of_many_memories_have_shadows() {
        let shadows = [0, 1, 24, 25, 32].map(shadow_count);
        assert_eq!(shadows, [0, 1, 24, 24, 17]);
        for count in [24, 25, 32] {
            let memories = "(memory 1) ".repeat(count - 1);
            let each = (0..count).map(|n| {
                format!(
                    "(i32.store {n} (local.get 0) (i32.load8_u {n} (local.get 0)))
                     (v128.store {n} (local.get 0) (v128.load32_splat {n} (local.get 0)))
                     (memory.copy {n} 0 (local.get 0) (local.get 0) (local.get 1))
                     (memory.copy 0 {n} (local.get 0) (local.get 0) (local.get 1))
                     (memory.fill {n} (local.get 0) (i32.load8_u (local.get 0)) (local.get 1))
                     (memory.init {n} $data (local.get 0) (i32.const 0) (local.get 1))
                     (drop (memory.grow {n} (memory.size {n})))"
                )
            });
            let data = r#"(data $data "1234")"#;
            labelled(&format!("{memories} {data}"), &each.collect::<String>());
        }
    }

    /// There are never more locals than a function may have, whatever there are labels for.
    #[test]
    fn locals_of_large_functions_have_labels_while_there_is_room() {
        const LOCALS: usize = 49_000;
        let locals = "i32 ".repeat(LOCALS);
        let sets = (3..LOCALS).map(|n| format!("(local.set {n} (local.get 2))"));
        let sets = sets.collect::<String>();
        let blocks = "(drop (block (result i32) (local.get 2)))".repeat(400);
        let deep = "(local.get 2) (i32.load (local.get 2))".repeat(200);
        let sum = "i32.add ".repeat(399);
        let body = format!(
            "(local {locals}) (local.set 2 (i32.load8_u (local.get 0))) {sets} {blocks}
             {deep} (local.set 2 (i32.load8_u (local.get 0))) {sum} drop"
        );
        labelled("", &body);
    }
}
