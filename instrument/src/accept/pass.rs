//! The pass over a module's sections: limits first, then the validator, then what is worth knowing.

mod bounds;
mod custom;

use wasmparser::{
    CompositeInnerType, ConstExpr, DataKind, ElementItems, ElementKind, ExternalKind,
    FuncValidatorAllocations, GlobalType, Operator, Parser, Payload, TypeRef, ValType,
    ValidPayload, Validator,
};

use super::facts::{Export, Facts, Import, Item};
use super::feature::{self, Used, bit};
use super::{AcceptLimits, Reason, Refusal, body};
use crate::HOST_MODULE;
use crate::printable::printable_max;
use bounds::within;

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
    locals: u64,
}

impl Pass<'_> {
    fn payload(&mut self, payload: Payload<'_>) -> Result<(), Refusal> {
        self.limit(&payload)?;
        match self.validator.payload(&payload).map_err(malformed)? {
            ValidPayload::Func(function, body) => {
                let measured = body::check(
                    function,
                    &body,
                    self.limits,
                    &mut self.used,
                    &mut self.allocations,
                )?;
                self.counts.locals += measured.locals;
                let limit = self.limits.module_locals;
                within("locals in all functions", self.counts.locals, limit)?;
                self.facts.compile_us += measured.compile_us;
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
                    if import.module == HOST_MODULE {
                        return Err(reserved_import(import.name));
                    }
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
}

/// Whoever calls what instrumented code alone may call could say to the host what never happened.
fn reserved_import(name: &str) -> Refusal {
    let message = format!(
        "import `{HOST_MODULE}.{}` clashes with the names that instrumentation uses; rename the module that it \
         comes from",
        printable_max(name, 80)
    );
    Refusal::new(Reason::ReservedName, message)
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
