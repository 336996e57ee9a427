//! The pass over a module's sections: limits first, then the validator, then what is worth knowing.

use wasmparser::{
    CompositeInnerType, ConstExpr, DataKind, ElementItems, ElementKind, ExternalKind,
    FuncValidatorAllocations, GlobalType, KnownCustom, MemoryType, Name, Operator, Parser, Payload,
    TableType, TypeRef, ValType, ValidPayload, Validator,
};

use super::entry::ENTRIES;
use super::facts::{Export, Facts, Hidden, Import, Item, Memory};
use super::feature::{self, Used, bit};
use super::{AcceptLimits, Reason, Refusal, body};
use crate::printable::printable_max;

/// Names that instrumented modules give to exports of their own.
const RESERVED: &str = "__sandglass";

const PAGE_BYTES: u64 = 65_536;

/// Reads, validates and measures all of `wasm`, whose header and section sizes have been checked.
pub(super) fn run(wasm: &[u8], limits: &AcceptLimits) -> Result<Facts, Refusal> {
    let mut pass = Pass {
        limits,
        validator: Validator::new_with_features(feature::accepted(limits.gc)),
        facts: Facts::default(),
        used: Used::default(),
        allocations: FuncValidatorAllocations::default(),
        counts: Counts::default(),
        signatures: Vec::new(),
        imported_functions: Vec::new(),
        exported_functions: Vec::new(),
        table_sizes: Vec::new(),
    };
    for payload in Parser::new(0).parse_all(wasm) {
        pass.payload(payload.map_err(malformed)?)?;
    }
    pass.facts.features = pass.used.names();
    Ok(pass.facts)
}

/// An error of the validator in our words: a proposal that we know by name, or a rule that is broken.
pub(super) fn malformed(error: wasmparser::Error) -> Refusal {
    if let Some(missing) = error.missing_wasm_feature() {
        return feature::refusal(missing, error.offset());
    }
    // Messages quote names from the file.
    let message = printable_max(error.message(), 300);
    Refusal::new(
        Reason::Malformed,
        format!(
            "malformed module at offset {:#x}: {message}",
            error.offset()
        ),
    )
}

struct Pass<'a> {
    limits: &'a AcceptLimits,
    validator: Validator,
    facts: Facts,
    used: Used,
    allocations: FuncValidatorAllocations,
    counts: Counts,
    /// One entry a type: its text when it is a function type.
    signatures: Vec<Option<String>>,
    /// Type index and position in `facts.imports` of each imported function.
    imported_functions: Vec<(u32, usize)>,
    /// Function index and position in `facts.exports` of each exported function.
    exported_functions: Vec<(u32, usize)>,
    /// Elements at start of each table.
    table_sizes: Vec<u64>,
}

/// Running totals that imports and sections share.
#[derive(Default)]
struct Counts {
    types: u64,
    functions: u64,
    globals: u64,
    tags: u64,
    memory_bytes: u64,
    element_items: u64,
}

/// Refuses `found` when it is above `limit`.
fn within(what: &str, found: u64, limit: u64) -> Result<(), Refusal> {
    if found <= limit {
        return Ok(());
    }
    Err(Refusal::new(
        Reason::Limit,
        format!("module has {found} {what}, expected at most {limit}"),
    ))
}

impl Pass<'_> {
    fn payload(&mut self, payload: Payload<'_>) -> Result<(), Refusal> {
        self.limit(&payload)?;
        match self.validator.payload(&payload).map_err(malformed)? {
            ValidPayload::Func(function, body) => {
                self.facts.compile_us += body::check(
                    function,
                    &body,
                    self.limits,
                    &mut self.used,
                    &mut self.allocations,
                )?;
                let limit = self.limits.module_compile_us;
                within(
                    "microseconds of estimated compile time",
                    self.facts.compile_us,
                    limit,
                )?;
            }
            ValidPayload::End(types) => self.resolve(types.as_ref()),
            ValidPayload::Ok | ValidPayload::Parser(_) => {}
        }
        self.note(payload)
    }

    /// Holds a section against the limits. It runs before the validator, whose own limits say less.
    fn limit(&mut self, payload: &Payload<'_>) -> Result<(), Refusal> {
        let limits = self.limits;
        match payload {
            Payload::TypeSection(section) => {
                within("types", u64::from(section.count()), limits.types)?;
                for group in section.clone() {
                    self.counts.types += group.map_err(malformed)?.types().len() as u64;
                    within("types", self.counts.types, limits.types)?;
                }
            }
            Payload::ImportSection(section) => {
                within("imports", u64::from(section.count()), limits.imports)?
            }
            Payload::FunctionSection(section) => {
                self.counts.functions += u64::from(section.count());
                within("functions", self.counts.functions, limits.functions)?;
            }
            Payload::TableSection(section) => {
                let count = self.table_sizes.len() as u64 + u64::from(section.count());
                within("tables", count, limits.tables)?;
                for table in section.clone() {
                    self.table(&table.map_err(malformed)?.ty)?;
                }
            }
            Payload::MemorySection(section) => {
                let count = self.facts.memories.len() as u64 + u64::from(section.count());
                within("memories", count, limits.memories)?;
                for memory in section.clone() {
                    self.memory(&memory.map_err(malformed)?, false)?;
                }
            }
            Payload::TagSection(section) => {
                self.counts.tags += u64::from(section.count());
                within("tags", self.counts.tags, limits.tags)?;
            }
            Payload::GlobalSection(section) => {
                self.counts.globals += u64::from(section.count());
                within("globals", self.counts.globals, limits.globals)?;
            }
            Payload::ExportSection(section) => {
                within("exports", u64::from(section.count()), limits.exports)?
            }
            Payload::ElementSection(section) => {
                within(
                    "element segments",
                    u64::from(section.count()),
                    limits.element_segments,
                )?;
                for element in section.clone() {
                    self.counts.element_items += match element.map_err(malformed)?.items {
                        ElementItems::Functions(items) => u64::from(items.count()),
                        ElementItems::Expressions(_, items) => u64::from(items.count()),
                    };
                    within(
                        "items in element segments",
                        self.counts.element_items,
                        limits.element_items,
                    )?;
                }
            }
            Payload::DataCountSection { count, .. } => {
                within("data segments", u64::from(*count), limits.data_segments)?;
            }
            Payload::DataSection(section) => within(
                "data segments",
                u64::from(section.count()),
                limits.data_segments,
            )?,
            Payload::CodeSectionStart { size, count, .. } => {
                within("functions with a body", u64::from(*count), limits.functions)?;
                within("bytes of code", u64::from(*size), limits.code_bytes)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn memory(&mut self, ty: &MemoryType, imported: bool) -> Result<(), Refusal> {
        // A custom page size changes what a page is; the validator refuses it right after this.
        let bytes = ty.initial.saturating_mul(PAGE_BYTES);
        if ty.page_size_log2.is_none() && !ty.shared {
            self.counts.memory_bytes = self.counts.memory_bytes.saturating_add(bytes);
        }
        let limit = self.limits.memory_bytes;
        if self.counts.memory_bytes > limit {
            let message = format!(
                "memory {} needs {} MiB at start, the limit is {} MiB; raise the memory limit, or link with a smaller \
                 `-Wl,--initial-memory` or `-Wl,-z,stack-size`",
                self.facts.memories.len(),
                bytes >> 20,
                limit >> 20
            );
            return Err(Refusal::new(Reason::Limit, message));
        }
        if ty.memory64 {
            self.used.note(bit::memory64);
        }
        self.facts.memories.push(Memory {
            initial_pages: ty.initial,
            maximum_pages: ty.maximum,
            memory64: ty.memory64,
            imported,
        });
        if self.facts.memories.len() > 1 {
            self.used.note(bit::multi_memory);
        }
        Ok(())
    }

    fn table(&mut self, ty: &TableType) -> Result<(), Refusal> {
        self.table_sizes.push(ty.initial);
        self.facts.table_elements = self.facts.table_elements.saturating_add(ty.initial);
        if self.table_sizes.len() > 1 {
            self.used.note(bit::reference_types);
        }
        within(
            "table elements at start",
            self.facts.table_elements,
            self.limits.table_elements,
        )
    }

    fn note(&mut self, payload: Payload<'_>) -> Result<(), Refusal> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    for ty in group.map_err(malformed)?.into_types() {
                        let signature = match &ty.composite_type.inner {
                            CompositeInnerType::Func(ty) => {
                                if ty.results().len() > 1 {
                                    self.used.note(bit::multi_value);
                                }
                                Some(signature(ty.params(), ty.results()))
                            }
                            _ => {
                                self.used.note(bit::gc);
                                None
                            }
                        };
                        self.signatures.push(signature);
                    }
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.map_err(malformed)?;
                    let item = self.imported(import.ty)?;
                    self.facts.imports.push(Import {
                        module: import.module.to_string(),
                        name: import.name.to_string(),
                        item,
                    });
                }
            }
            Payload::FunctionSection(section) => self.facts.functions = section.count(),
            Payload::GlobalSection(section) => {
                for global in section {
                    let global = global.map_err(malformed)?;
                    self.constant(&global.init_expr);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export.map_err(malformed)?;
                    self.export(export.name, export.kind, export.index)?;
                }
            }
            Payload::StartSection { func, .. } => self.facts.start = Some(func),
            Payload::ElementSection(section) => {
                for (index, element) in section.into_iter().enumerate() {
                    let element = element.map_err(malformed)?;
                    let count = match &element.items {
                        ElementItems::Functions(items) => items.count(),
                        ElementItems::Expressions(_, items) => {
                            self.used.note(bit::reference_types);
                            items.count()
                        }
                    };
                    if let ElementKind::Active {
                        table_index,
                        offset_expr,
                    } = element.kind
                    {
                        let offset = self.constant(&offset_expr);
                        let table = self
                            .table_sizes
                            .get(table_index.unwrap_or(0) as usize)
                            .copied();
                        fits(
                            "element",
                            index,
                            offset,
                            u64::from(count),
                            table,
                            element.range.start,
                        )?;
                    }
                }
            }
            Payload::DataSection(section) => {
                for (index, data) in section.into_iter().enumerate() {
                    let data = data.map_err(malformed)?;
                    self.facts.data_bytes += data.data.len() as u64;
                    if let DataKind::Active {
                        memory_index,
                        offset_expr,
                    } = data.kind
                    {
                        let offset = self.constant(&offset_expr);
                        let memory = self.facts.memories.get(memory_index as usize);
                        // An imported memory may be larger than it asks for.
                        let bytes = memory
                            .filter(|m| !m.imported)
                            .map(|m| m.initial_pages.saturating_mul(PAGE_BYTES));
                        fits(
                            "data",
                            index,
                            offset,
                            data.data.len() as u64,
                            bytes,
                            data.range.start,
                        )?;
                    }
                }
            }
            Payload::CodeSectionStart { range, .. } => {
                self.facts.code_start = range.start as u64;
                self.facts.code_bytes = range.len() as u64;
            }
            Payload::CustomSection(section) => self.custom(&section)?,
            _ => {}
        }
        Ok(())
    }

    fn imported(&mut self, ty: TypeRef) -> Result<Item, Refusal> {
        Ok(match ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => {
                self.counts.functions += 1;
                self.facts.imported_functions += 1;
                self.imported_functions
                    .push((index, self.facts.imports.len()));
                let signature = self.signatures.get(index as usize).cloned().flatten();
                Item::Function(signature.unwrap_or_default())
            }
            TypeRef::Table(ty) => {
                within(
                    "tables",
                    self.table_sizes.len() as u64 + 1,
                    self.limits.tables,
                )?;
                self.table(&ty)?;
                // It may be larger than it asks for, so segments are not held against it.
                self.table_sizes.pop();
                self.table_sizes.push(u64::MAX);
                Item::Table
            }
            TypeRef::Memory(ty) => {
                within(
                    "memories",
                    self.facts.memories.len() as u64 + 1,
                    self.limits.memories,
                )?;
                self.memory(&ty, true)?;
                Item::Memory(self.facts.memories.len() as u32 - 1)
            }
            TypeRef::Global(GlobalType { mutable, .. }) => {
                self.counts.globals += 1;
                if mutable {
                    self.used.note(bit::mutable_globals);
                }
                Item::Global
            }
            TypeRef::Tag(_) => {
                self.counts.tags += 1;
                Item::Tag
            }
        })
    }

    fn export(&mut self, name: &str, kind: ExternalKind, index: u32) -> Result<(), Refusal> {
        if name.starts_with(RESERVED) {
            let message = format!(
                "export `{}` clashes with the names that instrumentation uses; rename it so that it does not begin \
                 with `{RESERVED}`",
                printable_max(name, 80)
            );
            return Err(Refusal::new(Reason::ReservedName, message));
        }
        let item = match kind {
            ExternalKind::Func | ExternalKind::FuncExact => {
                self.exported_functions
                    .push((index, self.facts.exports.len()));
                // The type is known once all sections are: see `resolve`.
                Item::Function(String::new())
            }
            ExternalKind::Memory => Item::Memory(index),
            ExternalKind::Table => Item::Table,
            ExternalKind::Global => Item::Global,
            ExternalKind::Tag => Item::Tag,
        };
        self.facts.exports.push(Export {
            name: name.to_string(),
            item,
        });
        Ok(())
    }

    /// Fills in the types of exported functions.
    fn resolve(&mut self, types: wasmparser::types::TypesRef<'_>) {
        for &(function, position) in &self.exported_functions {
            if function >= types.function_count() {
                continue;
            }
            let ty = &types[types.core_function_at(function)];
            if let CompositeInnerType::Func(ty) = &ty.composite_type.inner {
                self.facts.exports[position].item =
                    Item::Function(signature(ty.params(), ty.results()));
            }
        }
    }

    /// The value of an integer constant expression of one operator; notes the proposals that others need.
    fn constant(&mut self, expression: &ConstExpr<'_>) -> Option<u64> {
        let mut reader = expression.get_operators_reader();
        let mut value = None;
        for position in 0.. {
            let Ok(operator) = reader.read() else {
                return None;
            };
            self.used.note_operator(&operator);
            match operator {
                Operator::I32Const { value: v } if position == 0 => {
                    value = Some(u64::from(v.cast_unsigned()))
                }
                Operator::I64Const { value: v } if position == 0 => value = Some(v.cast_unsigned()),
                Operator::End => return value,
                _ => value = None,
            }
            if position == 1 {
                self.used.note(bit::extended_const);
            }
        }
        None
    }

    fn custom(&mut self, section: &wasmparser::CustomSectionReader<'_>) -> Result<(), Refusal> {
        let name = section.name();
        self.facts.custom_bytes += section.data().len() as u64;
        match name {
            ".debug_info" | ".debug_line" => self.facts.has_dwarf |= !section.data().is_empty(),
            "linking" => {
                let message = "is an object file (it has a `linking` section), expected a linked module; link it with \
                    `wasm-ld`, or compile without `-c` and `-r`";
                return Err(Refusal::new(Reason::NotAModule, message));
            }
            "dylink" | "dylink.0" => {
                let message = "is a dynamic library (it has a `dylink` section), expected a module of its own; link \
                    without `-shared` and `-sSIDE_MODULE`";
                return Err(Refusal::new(Reason::NotAModule, message));
            }
            "name" => {
                self.facts.has_names = true;
                self.hidden_entries(section);
            }
            _ => {}
        }
        Ok(())
    }

    /// Looks for entry functions in the name section. A broken name section is no reason to refuse anything.
    fn hidden_entries(&mut self, section: &wasmparser::CustomSectionReader<'_>) {
        let KnownCustom::Name(names) = section.as_known() else {
            return;
        };
        for subsection in names {
            let Ok(subsection) = subsection else { return };
            let Name::Function(functions) = subsection else {
                continue;
            };
            for naming in functions {
                let Ok(naming) = naming else { break };
                for name in ENTRIES {
                    let mangled = format!("_Z{}{name}", name.len());
                    let cpp = naming
                        .name
                        .strip_prefix(name)
                        .is_some_and(|rest| rest.starts_with('('));
                    let found = match naming.name {
                        exact if exact == *name => Hidden {
                            name,
                            mangled: false,
                        },
                        other if cpp || other.starts_with(&mangled) => Hidden {
                            name,
                            mangled: true,
                        },
                        _ => continue,
                    };
                    if !self.facts.hidden_entries.contains(&found) {
                        self.facts.hidden_entries.push(found);
                    }
                }
            }
        }
    }
}

/// Refuses an active segment that is known not to fit: it would trap before anything ran.
fn fits(
    kind: &str,
    index: usize,
    offset: Option<u64>,
    count: u64,
    size: Option<u64>,
    at: usize,
) -> Result<(), Refusal> {
    let (Some(offset), Some(size)) = (offset, size) else {
        return Ok(());
    };
    if offset.saturating_add(count) <= size {
        return Ok(());
    }
    let (into, unit) = if kind == "data" {
        ("memory", "bytes")
    } else {
        ("table", "elements")
    };
    let message = format!(
        "{kind} segment {index} at offset {at:#x} does not fit: it puts {count} {unit} at {offset:#x}, its {into} has \
         {size:#x} at start; link with more `--initial-{into}`"
    );
    Err(Refusal::new(Reason::Malformed, message))
}

/// A function type as messages show it: `[i32 i32] -> [i32]`.
fn signature(params: &[ValType], results: &[ValType]) -> String {
    let list = |types: &[ValType]| {
        types
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    format!("[{}] -> [{}]", list(params), list(results))
}
