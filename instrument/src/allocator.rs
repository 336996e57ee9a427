//! Allocator: which functions of a module give out and take back heap blocks.
//!
//! In: the original file. Out: two function indices, found by export or, failing that, by the name
//! section. A module may call anything `malloc`: what is found is a guess that the types agree
//! with, good enough to make room in the heap before the snapshot, and not to be trusted.

use sandglass_abi as abi;

use crate::named::{Functions, one_of};

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
    let names = || KNOWN.iter().flat_map(|(_, alloc, free)| [*alloc, *free]);
    let functions = Functions::read(wasm, |name| one_of(name, names())).ok()?;
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
