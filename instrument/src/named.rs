//! Named functions: which functions of a module have one of the names that somebody looks for, and
//! what their types are.
//!
//! In: the original file. Names come from exports or, failing that, from the name section. A module
//! may call anything what it likes: whoever acts on a name checks the type, and trusts nothing else.

use std::collections::BTreeMap;

use wasmparser::{
    CompositeInnerType, ExternalKind, KnownCustom, Name, Parser, Payload, TypeRef, ValType,
};

/// What is looked at of a module.
#[derive(Default)]
pub(crate) struct Functions<'a> {
    /// Parameters and results of each type; `None` for what is no function of i32s.
    types: Vec<Option<(usize, usize)>>,
    /// The same as text, for messages.
    texts: Vec<String>,
    /// The type of each function, imported ones first.
    of: Vec<u32>,
    imported: u32,
    /// The first function of each name that is looked for.
    exported: BTreeMap<&'a str, u32>,
    /// All functions of each such name.
    named: BTreeMap<&'a str, Vec<u32>>,
}

impl<'a> Functions<'a> {
    /// Reads `wasm`; `wanted` says which name, of those looked for, a name means.
    pub(crate) fn read(
        wasm: &[u8],
        wanted: impl Fn(&str) -> Option<&'a str>,
    ) -> wasmparser::Result<Functions<'a>> {
        let mut found = Functions::default();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::TypeSection(section) => {
                    for ty in section.into_iter().flatten().flat_map(|g| g.into_types()) {
                        found.texts.push(match &ty.composite_type.inner {
                            CompositeInnerType::Func(ty) => {
                                format!("{} -> {}", list(ty.params()), list(ty.results()))
                            }
                            _ => String::new(),
                        });
                        found.types.push(match &ty.composite_type.inner {
                            CompositeInnerType::Func(ty) => {
                                let mut all = ty.params().iter().chain(ty.results());
                                all.all(|ty| *ty == ValType::I32)
                                    .then(|| (ty.params().len(), ty.results().len()))
                            }
                            _ => None,
                        });
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        if let TypeRef::Func(ty) = import?.ty {
                            found.of.push(ty);
                            found.imported += 1;
                        }
                    }
                }
                Payload::FunctionSection(section) => {
                    for ty in section {
                        found.of.push(ty?);
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        if let (ExternalKind::Func, Some(name)) = (export.kind, wanted(export.name))
                        {
                            found.exported.entry(name).or_insert(export.index);
                        }
                    }
                }
                Payload::CustomSection(section) => {
                    let KnownCustom::Name(names) = section.as_known() else {
                        continue;
                    };
                    // A damaged name section is no reason not to run a module.
                    for names in names.into_iter().map_while(Result::ok) {
                        let Name::Function(names) = names else {
                            continue;
                        };
                        for naming in names.into_iter().map_while(Result::ok) {
                            if let Some(name) = wanted(naming.name) {
                                found.named.entry(name).or_default().push(naming.index);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// A function of the module's own with this name.
    pub(crate) fn named(&self, name: &str) -> Option<u32> {
        let named = || self.named.get(name).and_then(|all| all.first());
        let found = self.exported.get(name).or_else(named);
        found.copied().filter(|index| *index >= self.imported)
    }

    /// Do several functions have this name, and no export says which is meant?
    pub(crate) fn is_ambiguous(&self, name: &str) -> bool {
        let several = self.named.get(name).is_some_and(|all| all.len() > 1);
        several && !self.exported.contains_key(name)
    }

    /// How many there are, imported ones included.
    pub(crate) fn count(&self) -> u32 {
        self.of.len() as u32
    }

    /// How many of them are imported: they come first.
    pub(crate) fn imported(&self) -> u32 {
        self.imported
    }

    /// The type of a function, as `[i32] -> []`.
    pub(crate) fn type_text(&self, function: u32) -> &str {
        let ty = self.of.get(function as usize);
        ty.and_then(|ty| self.texts.get(*ty as usize))
            .map_or("", String::as_str)
    }

    /// Does it take so many i32s, and return so many?
    pub(crate) fn is_i32(&self, function: u32, params: usize, results: usize) -> bool {
        let ty = self.of.get(function as usize);
        let ty = ty.and_then(|ty| self.types.get(*ty as usize));
        ty == Some(&Some((params, results)))
    }
}

fn list(types: &[ValType]) -> String {
    let types = types.iter().map(ToString::to_string);
    format!("[{}]", types.collect::<Vec<_>>().join(" "))
}

/// The one of `all` that `name` means: itself, or the end of a mangled one, as in
/// `_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc`, or of a private one of Zig's C library, as in
/// `.Lc.malloc.realloc` or, with debug information, `c.malloc.realloc`.
pub(crate) fn one_of(
    name: &str,
    all: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    let private = name.strip_prefix(".L").unwrap_or(name).strip_prefix("c.");
    let private = private.and_then(|name| name.split_once('.'));
    let name = private.map_or(name, |(_, function)| function);
    all.into_iter().find(|wanted| {
        name == *wanted
            || (name.starts_with("_RNv")
                && name.strip_suffix(wanted).is_some_and(|rest| {
                    // An identifier is its length, and an underscore if it begins with one.
                    rest.strip_suffix('_')
                        .is_some_and(|rest| rest.ends_with(&wanted.len().to_string()))
                }))
    })
}
