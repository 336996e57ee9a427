//! What holds values in a module, and the walk over its bodies.

use std::collections::BTreeMap;

use wasmparser::{
    CompositeInnerType, ExternalKind, FuncType, Parser, Payload, SubType, TypeRef, ValType,
};

use super::{Graph, Lanes, Node, body};

/// A node for each of several values that can be a float; empty when none can.
pub(super) type Slots = Vec<Option<Node>>;

/// The parameters and results of something that is called.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) params: Slots,
    pub(super) results: Slots,
}

/// What bodies refer to.
#[derive(Default)]
pub(super) struct Context {
    pub(super) types: Vec<SubType>,
    /// By function, imported ones first: its type.
    pub(super) function_types: Vec<u32>,
    /// By tag: its type.
    pub(super) tag_types: Vec<u32>,
    pub(super) functions: Vec<Ends>,
    pub(super) globals: Vec<Option<Node>>,
    /// By tag: the values that are thrown.
    pub(super) payloads: Vec<Slots>,
    /// By type: what goes through calls of functions that only have this type in common.
    indirect: BTreeMap<FuncType, Ends>,
    /// Are the operands of scalar comparisons visible?
    pub(super) comparisons: bool,
}

/// Fills `graph` from all of `wasm`.
pub(super) fn walk(
    wasm: &[u8],
    comparisons: bool,
    graph: &mut Graph,
) -> Result<(), wasmparser::Error> {
    let mut context = Context {
        comparisons,
        ..Context::default()
    };
    let mut imported = 0;
    let mut bodies = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::TypeSection(section) => {
                for group in section {
                    context.types.extend(group?.into_types());
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    context.import(import?.ty, graph);
                }
                imported = context.functions.len();
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    context.function(ty?, graph);
                }
            }
            Payload::TagSection(section) => {
                for tag in section {
                    context.tag(tag?.func_type_idx, graph);
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let node = slot(global?.ty.content_type, graph);
                    context.globals.push(node);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    context.export(export.kind, export.index, graph);
                }
            }
            Payload::CodeSectionEntry(code) => {
                body::walk(&code, imported + bodies, &context, graph)?;
                bodies += 1;
            }
            _ => {}
        }
    }
    Ok(())
}

impl Context {
    fn import(&mut self, ty: TypeRef, graph: &mut Graph) {
        match ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                self.function(ty, graph);
                let ends = self.functions.last().expect("it was added");
                observe(&ends.params, graph);
            }
            TypeRef::Global(ty) => {
                let node = slot(ty.content_type, graph);
                graph.observe(node, Lanes::BOTH);
                self.globals.push(node);
            }
            TypeRef::Tag(ty) => {
                self.tag(ty.func_type_idx, graph);
                observe(self.payloads.last().expect("it was added"), graph);
            }
            TypeRef::Memory(_) | TypeRef::Table(_) => {}
        }
    }

    fn function(&mut self, ty: u32, graph: &mut Graph) {
        let signature = self.signature(ty);
        let ends = Ends {
            params: slots(signature.params(), graph),
            results: slots(signature.results(), graph),
        };
        // It may be what a call through a table or a reference calls.
        if !ends.params.is_empty() || !ends.results.is_empty() {
            let signature = signature.clone();
            let through = self
                .indirect
                .entry(signature)
                .or_insert_with_key(|ty| Ends {
                    params: slots(ty.params(), graph),
                    results: slots(ty.results(), graph),
                });
            flow(&through.params, &ends.params, graph);
            flow(&ends.results, &through.results, graph);
        }
        self.function_types.push(ty);
        self.functions.push(ends);
    }

    fn tag(&mut self, ty: u32, graph: &mut Graph) {
        let payload = slots(self.signature(ty).params(), graph);
        self.tag_types.push(ty);
        self.payloads.push(payload);
    }

    fn export(&self, kind: ExternalKind, index: u32, graph: &mut Graph) {
        let index = index as usize;
        match kind {
            ExternalKind::Func | ExternalKind::FuncExact => {
                observe(&self.functions[index].results, graph)
            }
            ExternalKind::Global => graph.observe(self.globals[index], Lanes::BOTH),
            ExternalKind::Tag => observe(&self.payloads[index], graph),
            ExternalKind::Memory | ExternalKind::Table => {}
        }
    }

    pub(super) fn signature(&self, ty: u32) -> &FuncType {
        match &self.types[ty as usize].composite_type.inner {
            CompositeInnerType::Func(ty) => ty,
            _ => unreachable!("validated: functions, calls and tags have function types"),
        }
    }

    /// What goes through calls of no known function; nothing when no function has the type.
    pub(super) fn through(&self, ty: u32) -> Option<&Ends> {
        self.indirect.get(self.signature(ty))
    }
}

/// A slot for a value of this type.
pub(super) fn slot(ty: ValType, graph: &mut Graph) -> Option<Node> {
    matches!(ty, ValType::F32 | ValType::F64 | ValType::V128).then(|| graph.node())
}

pub(super) fn slots(types: &[ValType], graph: &mut Graph) -> Slots {
    let slots = types.iter().map(|&ty| slot(ty, graph)).collect::<Slots>();
    if slots.iter().any(Option::is_some) {
        slots
    } else {
        Slots::new()
    }
}

/// Each of some values becomes one of others.
pub(super) fn flow(from: &[Option<Node>], to: &[Option<Node>], graph: &mut Graph) {
    for (&from, &to) in from.iter().zip(to) {
        graph.flow(from, to);
    }
}

pub(super) fn observe(values: &[Option<Node>], graph: &mut Graph) {
    for &value in values {
        graph.observe(value, Lanes::BOTH);
    }
}
