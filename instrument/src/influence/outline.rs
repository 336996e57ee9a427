//! The outline of a module: types, functions, tables and data, as far as the walk needs them.
//!
//! In: the bytes. Out: who has which signature, whose address a table holds, which bytes lie where in memory. A broken
//! module leaves what came before the break.

use std::collections::BTreeMap;

use wasmparser::{
    CompositeInnerType, ConstExpr, DataKind, ElementItems, ElementKind, ExternalKind, FunctionBody,
    Operator, Parser, Payload, SubType, TypeRef,
};

/// Functions beyond this are not looked at: wasm's own limit.
const FUNCTIONS_MAX: usize = 1_000_000;

/// Entries of tables beyond this are not looked at.
const TABLED_MAX: usize = 1_000_000;

/// What one pass over the module found.
#[derive(Default)]
pub(super) struct Outline<'a> {
    pub(super) types: Vec<SubType>,
    /// The type of each function; imports count first.
    pub(super) functions: Vec<u32>,
    /// How many functions are imported.
    pub(super) imported: u32,
    /// The type of each tag.
    pub(super) tags: Vec<u32>,
    /// The bodies, in order: the first is that of function `imported`.
    pub(super) bodies: Vec<FunctionBody<'a>>,
    /// Functions whose address is taken in element segments, with repetitions.
    pub(super) tabled: Vec<u32>,
    /// Exported functions by name.
    pub(super) exports: BTreeMap<&'a str, u32>,
    /// Active data of the first memory: address and bytes, in the order of the file.
    pub(super) data: Vec<(u64, &'a [u8])>,
}

impl<'a> Outline<'a> {
    pub(super) fn new(wasm: &'a [u8]) -> Outline<'a> {
        let mut outline = Outline::default();
        // Offsets are 32 bits, as everywhere here.
        if u32::try_from(wasm.len()).is_ok() {
            for payload in Parser::new(0).parse_all(wasm) {
                let Ok(payload) = payload else { break };
                if outline.payload(payload).is_err() {
                    break;
                }
            }
        }
        outline
    }

    fn payload(&mut self, payload: Payload<'a>) -> Result<(), wasmparser::Error> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    self.types.extend(group?.into_types());
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    match import?.ty {
                        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                            self.functions.push(ty);
                            self.imported += 1;
                        }
                        TypeRef::Tag(tag) => self.tags.push(tag.func_type_idx),
                        _ => {}
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    if self.functions.len() < FUNCTIONS_MAX {
                        self.functions.push(ty?);
                    }
                }
            }
            Payload::TagSection(section) => {
                for tag in section {
                    self.tags.push(tag?.func_type_idx);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    if matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact) {
                        self.exports.entry(export.name).or_insert(export.index);
                    }
                }
            }
            Payload::ElementSection(section) => {
                for element in section {
                    let element = element?;
                    if !matches!(element.kind, ElementKind::Declared) {
                        self.element(element.items)?;
                    }
                }
            }
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::DataSection(section) => {
                for data in section {
                    let data = data?;
                    if let DataKind::Active {
                        memory_index: 0,
                        offset_expr,
                    } = data.kind
                        && let Some(address) = constant(&offset_expr)
                    {
                        self.data.push((address, data.data));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn element(&mut self, items: ElementItems<'a>) -> Result<(), wasmparser::Error> {
        match items {
            ElementItems::Functions(functions) => {
                for function in functions {
                    if self.tabled.len() < TABLED_MAX {
                        self.tabled.push(function?);
                    }
                }
            }
            ElementItems::Expressions(_, expressions) => {
                for expression in expressions {
                    let first = expression?.get_operators_reader().read();
                    if let Ok(Operator::RefFunc { function_index }) = first
                        && self.tabled.len() < TABLED_MAX
                    {
                        self.tabled.push(function_index);
                    }
                }
            }
        }
        Ok(())
    }

    /// How many parameters and results a type has; `None` if it is of no function.
    pub(super) fn arity(&self, ty: u32) -> Option<(usize, usize)> {
        match &self.types.get(ty as usize)?.composite_type.inner {
            CompositeInnerType::Func(function) => {
                Some((function.params().len(), function.results().len()))
            }
            _ => None,
        }
    }

    /// How many parameters and results function `index` has; none if there is no such function.
    pub(super) fn arity_of(&self, index: u32) -> (usize, usize) {
        let ty = self.functions.get(index as usize);
        ty.and_then(|ty| self.arity(*ty)).unwrap_or_default()
    }

    /// The index of the function with body number `position`.
    pub(super) fn index_of(&self, position: usize) -> u32 {
        self.imported + position as u32
    }
}

/// The value of an expression that is one constant.
fn constant(expression: &ConstExpr<'_>) -> Option<u64> {
    match expression.get_operators_reader().read().ok()? {
        Operator::I32Const { value } => Some(u64::from(value as u32)),
        Operator::I64Const { value } => Some(value as u64),
        _ => None,
    }
}
