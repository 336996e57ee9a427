//! Allocator: which functions of a module give out and take back heap blocks.
//!
//! In: the original file. Out: two function indices, found by export or, failing that, by the name
//! section. A module may call anything `malloc`: what is found is a guess that the types agree
//! with, good enough to make room in the heap before the snapshot, and not to be trusted.

use std::collections::BTreeMap;

use sandglass_abi as abi;
use wasmparser::{
    CompositeInnerType, ExternalKind, KnownCustom, Name, Parser, Payload, TypeRef, ValType,
};

/// How the two functions are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// The contract's own: `sandglass_alloc(bytes) -> pointer`, `sandglass_free(pointer, bytes)`.
    Own,
    /// `malloc(bytes) -> pointer`, `free(pointer)`.
    C,
    /// `__rust_alloc(bytes, alignment) -> pointer`, `__rust_dealloc(pointer, bytes, alignment)`.
    Rust,
}

/// An allocator, by original function index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocator {
    /// Gives out a block.
    pub alloc: u32,
    /// Takes one back.
    pub free: u32,
    /// How to call them.
    pub convention: Convention,
}

const KNOWN: [(Convention, &str, &str); 3] = [
    (Convention::Own, abi::ALLOC, abi::FREE),
    (Convention::C, "malloc", "free"),
    (Convention::Rust, "__rust_alloc", "__rust_dealloc"),
];

impl Convention {
    /// Parameters of `alloc`, with its one result, and of `free`: all of them i32.
    fn arities(self) -> (usize, usize) {
        match self {
            Convention::Own => (1, 2),
            Convention::C => (1, 1),
            Convention::Rust => (2, 3),
        }
    }
}

/// The allocator of `wasm`; none if there is none, or its types are not as expected. C's comes
/// before Rust's: where both exist, Rust's calls it.
pub fn find(wasm: &[u8]) -> Option<Allocator> {
    let functions = Functions::read(wasm).ok()?;
    KNOWN.iter().find_map(|&(convention, alloc, free)| {
        let found = Allocator {
            alloc: functions.named(alloc)?,
            free: functions.named(free)?,
            convention,
        };
        let (params, free_params) = convention.arities();
        (functions.is_i32(found.alloc, params, 1) && functions.is_i32(found.free, free_params, 0))
            .then_some(found)
    })
}

/// What is looked at of a module.
#[derive(Default)]
struct Functions {
    /// Parameters and results of each type; `None` for what is no function of i32s.
    types: Vec<Option<(usize, usize)>>,
    /// The type of each function, imported ones first.
    of: Vec<u32>,
    imported: u32,
    /// The first function of each name that is looked for.
    exported: BTreeMap<&'static str, u32>,
    named: BTreeMap<&'static str, u32>,
}

impl Functions {
    fn read(wasm: &[u8]) -> wasmparser::Result<Functions> {
        let mut found = Functions::default();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::TypeSection(section) => {
                    for ty in section.into_iter().flatten().flat_map(|g| g.into_types()) {
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
                                found.named.entry(name).or_insert(naming.index);
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
    fn named(&self, name: &str) -> Option<u32> {
        let found = self.exported.get(name).or_else(|| self.named.get(name));
        found.copied().filter(|index| *index >= self.imported)
    }

    fn is_i32(&self, function: u32, params: usize, results: usize) -> bool {
        let ty = self.of.get(function as usize);
        let ty = ty.and_then(|ty| self.types.get(*ty as usize));
        ty == Some(&Some((params, results)))
    }
}

/// The name that is looked for and that `name` means: itself, or the end of a mangled one, as in
/// `_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc`.
fn wanted(name: &str) -> Option<&'static str> {
    let all = KNOWN.iter().flat_map(|(_, alloc, free)| [*alloc, *free]);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn find_in(text: &str) -> Option<Allocator> {
        find(&wat::parse_str(text).expect("assembles"))
    }

    #[test]
    fn c_by_export_before_name_and_before_rust() {
        let found = find_in(
            r#"(module
                 (func $free (param i32)) (func $malloc (param i32) (result i32) unreachable)
                 (func (export "malloc") (param i32) (result i32) unreachable)
                 (func $__rust_alloc (param i32 i32) (result i32) unreachable)
                 (func $__rust_dealloc (param i32 i32 i32)))"#,
        );
        let expected = Allocator {
            alloc: 2,
            free: 0,
            convention: Convention::C,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn the_contracts_own_comes_first() {
        let found = find_in(
            r#"(module
                 (func (export "malloc") (param i32) (result i32) unreachable)
                 (func (export "free") (param i32))
                 (func (export "sandglass_alloc") (param i32) (result i32) unreachable)
                 (func (export "sandglass_free") (param i32 i32)))"#,
        );
        let expected = Allocator {
            alloc: 2,
            free: 3,
            convention: Convention::Own,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn rust_by_mangled_name() {
        let found = find_in(
            r#"(module
                 (func $_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc (param i32 i32) (result i32)
                   unreachable)
                 (func $_RNvCsfLfy6EI15iL_7___rustc14___rust_dealloc (param i32 i32 i32)))"#,
        );
        let expected = Allocator {
            alloc: 0,
            free: 1,
            convention: Convention::Rust,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn other_types_imports_and_names_are_none() {
        for text in [
            r#"(module (func $malloc (param i64) (result i32) unreachable) (func $free (param i32)))"#,
            r#"(module (import "env" "malloc" (func (param i32) (result i32))) (func $free (param i32)))"#,
            r#"(module (func $my_malloc (param i32) (result i32) unreachable) (func $free (param i32)))"#,
            r#"(module (func $malloc (param i32) (result i32) unreachable))"#,
        ] {
            assert_eq!(find_in(text), None, "{text}");
        }
    }
}
