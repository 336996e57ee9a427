//! Heap functions: which functions of a module give out, take back and read blocks of the heap, and
//! what of its memory is constant.
//!
//! In: the original file. Out: what the pass `heap` wraps and checks. Functions are found by export
//! or, failing that, by the name section, and only with the types that C and Rust give them; those that the user
//! gave come first (see `heap_given`).

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wasmparser::{
    ConstExpr, DataKind, KnownCustom, Name, Operator, Parser, Payload, ValType as Type,
};

use crate::allocator::{Allocator, Convention};
use crate::error::InstrumentError;
use crate::frames::STACK_ALIGNMENT;
use crate::heap_given;
use crate::named::{Functions, one_of};

/// What a function does with blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// `(bytes) -> pointer`
    Malloc,
    /// `(pointer)`
    Free,
    /// `(count, bytes) -> pointer`
    Calloc,
    /// `(pointer, bytes) -> pointer`
    Realloc,
    /// `(alignment, bytes) -> pointer`
    Aligned,
    /// `(place, alignment, bytes) -> error`
    PosixMemalign,
    /// `(pointer) -> bytes`
    UsableSize,
    /// `(text) -> pointer`
    Duplicate,
    /// `(bytes, alignment) -> pointer`
    RustAlloc,
    /// `(bytes, alignment) -> pointer`
    RustZeroed,
    /// `(pointer, bytes, alignment)`
    RustFree,
    /// `(pointer, old bytes, alignment, bytes) -> pointer`
    RustRealloc,
}

/// Names of each role, with the number of parameters and results. Of one role the first that is
/// there counts: the others are what it calls, or other names for it.
const ROLES: [(Role, &[&str], usize, usize); 12] = [
    (
        Role::Malloc,
        &[
            "malloc",
            "__libc_malloc",
            "emscripten_builtin_malloc",
            "dlmalloc",
        ],
        1,
        1,
    ),
    (
        Role::Free,
        &["free", "__libc_free", "emscripten_builtin_free", "dlfree"],
        1,
        0,
    ),
    (Role::Calloc, &["calloc", "__libc_calloc", "dlcalloc"], 2, 1),
    (
        Role::Realloc,
        &["realloc", "__libc_realloc", "dlrealloc"],
        2,
        1,
    ),
    (
        Role::Aligned,
        &["aligned_alloc", "memalign", "dlmemalign"],
        2,
        1,
    ),
    (
        Role::PosixMemalign,
        &["posix_memalign", "dlposix_memalign"],
        3,
        1,
    ),
    (Role::UsableSize, &["malloc_usable_size"], 1, 1),
    (Role::Duplicate, &["strdup", "__strdup"], 1, 1),
    (Role::RustAlloc, &["__rust_alloc"], 2, 1),
    (Role::RustZeroed, &["__rust_alloc_zeroed"], 2, 1),
    (Role::RustFree, &["__rust_dealloc"], 3, 0),
    (Role::RustRealloc, &["__rust_realloc"], 4, 1),
];

/// What a function of the C library reads and writes, as far as its arguments say it. Some of them
/// read whole words, past the end of a string, which is no error; their own accesses are not
/// checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Text {
    /// `(s)`: up to the terminator.
    Length = 1,
    /// `(s, c)`: up to that byte or the terminator.
    Find = 2,
    /// `(to, s)`: up to the terminator, and writes as much.
    Copy = 3,
    /// `(to, s, n)`: as much, at most `n`; writes `n`.
    CopyPadded = 4,
    /// `(s, c, n)`: up to that byte, at most `n`.
    FindIn = 5,
    /// `(to, s, n)`: up to the terminator; writes as much, at most `n`.
    CopyCut = 6,
    /// `(to, s, c, n)`: up to that byte, at most `n`, and writes as much.
    CopyUntil = 7,
    /// `(to, s, n)`: reads and writes `n`.
    Move = 8,
    /// `(to, c, n)`: writes `n`.
    Fill = 9,
    /// `(s, n)`: up to the terminator, at most `n`.
    LengthIn = 10,
}

const TEXTS: [(&str, Text, usize); 16] = [
    ("strnlen", Text::LengthIn, 2),
    ("strlen", Text::Length, 1),
    ("strchr", Text::Find, 2),
    ("__strchrnul", Text::Find, 2),
    ("strchrnul", Text::Find, 2),
    ("strcpy", Text::Copy, 2),
    ("stpcpy", Text::Copy, 2),
    ("__stpcpy", Text::Copy, 2),
    ("strncpy", Text::CopyPadded, 3),
    ("stpncpy", Text::CopyPadded, 3),
    ("__stpncpy", Text::CopyPadded, 3),
    ("memchr", Text::FindIn, 3),
    ("strlcpy", Text::CopyCut, 3),
    ("memccpy", Text::CopyUntil, 4),
    ("memcpy", Text::Move, 3),
    ("memset", Text::Fill, 3),
];

/// The null page: linkers put nothing below 1 KiB.
const NULL_BYTES: u32 = 1024;

/// What of a module's heap is known by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeapFunctions {
    /// Function index and role; C's if `malloc` and `free` are both there, Rust's likewise.
    pub(crate) roles: Vec<(u32, Role)>,
    /// Function index and what it does.
    pub(crate) texts: Vec<(u32, Text)>,
    /// Active data segments named `.rodata`, as addresses.
    pub(crate) constants: Vec<Range<u32>>,
    /// Is the first global named as linkers name the stack pointer?
    names_stack: bool,
    /// The lowest address of a data segment.
    pub(crate) data_start: Option<u32>,
    /// One past the highest, 0 if there is none.
    pub(crate) data_end: u32,
}

/// How the heap of a module is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeapSupport {
    /// Not at all: no `malloc` and `free`, nor Rust's, were found by name and type.
    #[default]
    NoNames,
    /// Not at all: several functions are named `malloc` or `free`, and none is exported.
    Ambiguous,
    /// Not at all: there is no memory, or it has 64-bit addresses.
    Memory,
    /// `malloc` and `free`.
    C,
    /// `__rust_alloc` and `__rust_dealloc`.
    Rust,
    /// Both, each with memory of its own.
    Both,
}

/// The names of what functions do, with the number of their parameters and results, all i32.
pub(crate) fn known() -> impl Iterator<Item = (&'static str, usize, usize)> {
    let roles = ROLES.iter().map(|role| (role.1[0], role.2, role.3));
    roles.chain(TEXTS.iter().map(|text| (text.0, text.2, 1)))
}

/// The functions of `wasm` that are taken for those of its heap, as the user would give them: what each does, and its
/// index. `given` and errors are as in [`heap_support`].
///
/// # Errors
/// When what is given means no function, or one of another type.
pub fn heap_functions(
    wasm: &[u8],
    given: &[String],
) -> Result<Vec<(&'static str, u32)>, InstrumentError> {
    let found = HeapFunctions::find(wasm, given)?.0;
    let role = |(index, role): &(u32, Role)| {
        let known = ROLES.iter().find(|known| known.0 == *role);
        (known.expect("it is one of them").1[0], *index)
    };
    Ok(found.roles.iter().map(role).collect())
}

/// How the heap of `wasm`, which was accepted, can be watched. `given` are functions that the user named, as
/// `malloc=my_alloc` or `malloc=#17`: they count before those that have a known name.
///
/// # Errors
/// When what is given means no function, or one of another type.
pub fn heap_support(wasm: &[u8], given: &[String]) -> Result<HeapSupport, InstrumentError> {
    Ok(HeapFunctions::find(wasm, given)?.1)
}

impl HeapFunctions {
    /// Looks through `wasm`, which was accepted; `given` as in [`heap_support`].
    pub(crate) fn find(
        wasm: &[u8],
        given: &[String],
    ) -> Result<(HeapFunctions, HeapSupport), InstrumentError> {
        let given = heap_given::resolve(wasm, given).map_err(InstrumentError::Given)?;
        let is_given = |name: &str| {
            let found = given.iter().find(|given| given.role == name);
            found.map(|given| given.function)
        };
        let names = || {
            let roles = ROLES.iter().flat_map(|role| role.1.iter().copied());
            roles.chain(TEXTS.iter().map(|text| text.0))
        };
        let Ok(functions) = Functions::read(wasm, |name| one_of(name, names())) else {
            return Ok(<_>::default());
        };
        let mut found = HeapFunctions::default();
        for &(role, names, params, results) in &ROLES {
            let fitting = |name: &&str| {
                let index = functions.named(name)?;
                functions.is_i32(index, params, results).then_some(index)
            };
            if let Some(index) = is_given(names[0]).or_else(|| names.iter().find_map(fitting)) {
                found.roles.push((index, role));
            }
        }
        for &(name, text, params) in &TEXTS {
            let index = functions.named(name);
            let index = index.filter(|index| functions.is_i32(*index, params, 1));
            if let Some(index) = is_given(name).or(index) {
                found.texts.push((index, text));
            }
        }
        let has = |role: Role| found.roles.iter().any(|(_, found)| *found == role);
        let c = has(Role::Malloc) && has(Role::Free);
        let rust = has(Role::RustAlloc) && has(Role::RustFree);
        let is_unclear = |name: &&str| is_given(name).is_none() && functions.is_ambiguous(name);
        let ambiguous = c && ["malloc", "free"].iter().any(is_unclear);
        let support = match (c, rust) {
            _ if ambiguous => HeapSupport::Ambiguous,
            (true, true) => HeapSupport::Both,
            (true, false) => HeapSupport::C,
            (false, true) => HeapSupport::Rust,
            (false, false) => HeapSupport::NoNames,
        };
        found.roles.retain(|(_, role)| match role {
            Role::RustAlloc | Role::RustZeroed | Role::RustFree | Role::RustRealloc => rust,
            _ => c && !ambiguous,
        });
        found.read_data(wasm);
        Ok((found, support))
    }

    /// C's `malloc` and `free`, whatever they are called.
    pub(crate) fn allocator(&self) -> Option<Allocator> {
        let of = |role: Role| self.roles.iter().find(|of| of.1 == role).map(|of| of.0);
        Some(Allocator {
            alloc: of(Role::Malloc)?,
            free: of(Role::Free)?,
            convention: Convention::C,
        })
    }

    /// Addresses below this are nobody's: [`NULL_BYTES`] at most, and none where the first data or
    /// the stack's last bytes lie there. A module without an allocator need not come from a compiler
    /// that keeps off address 0.
    pub(crate) fn null_bytes(&self, stack_top: Option<u32>) -> u32 {
        let Some(data) = self.data_start.filter(|_| !self.roles.is_empty()) else {
            return 0;
        };
        let stack = stack_top.filter(|top| *top <= data).map(|top| top / 16);
        NULL_BYTES.min(data).min(stack.unwrap_or(NULL_BYTES))
    }

    /// The stack, which grows down from `stack_top`, must not come below this: the end of the data before
    /// it, else address 0. Known only where the stack pointer has its name.
    pub(crate) fn stack_low(&self, stack_top: Option<u32>) -> Option<u32> {
        let top = stack_top.filter(|_| self.names_stack)?;
        Some(if self.data_end <= top {
            self.data_end
        } else {
            0
        })
    }

    /// Where gaps between frames may lie: the part of the stack that holds nothing else and that no other check is
    /// for. Nothing where the stack pointer has no name, or is not aligned.
    pub(crate) fn frames(&self, stack_top: Option<u32>, null_bytes: u32) -> Option<(u32, u32)> {
        let top = stack_top.filter(|top| top.is_multiple_of(STACK_ALIGNMENT))?;
        let low = self.stack_low(stack_top)?.max(null_bytes);
        let low = low.checked_next_multiple_of(STACK_ALIGNMENT)?;
        (low < top).then_some((low, top))
    }

    fn read_data(&mut self, wasm: &[u8]) {
        let mut segments = Vec::new();
        let mut constant = Vec::new();
        for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
            match payload {
                Payload::DataSection(section) => {
                    for data in section.into_iter().map_while(Result::ok) {
                        segments.push(match data.kind {
                            DataKind::Active {
                                memory_index: 0,
                                offset_expr,
                            } => constant_address(&offset_expr).map(|start| {
                                let bytes = u32::try_from(data.data.len()).unwrap_or(u32::MAX);
                                start..start.saturating_add(bytes)
                            }),
                            _ => None,
                        });
                    }
                }
                Payload::CustomSection(section) => {
                    let KnownCustom::Name(names) = section.as_known() else {
                        continue;
                    };
                    for names in names.into_iter().map_while(Result::ok) {
                        if let Name::Global(names) = &names {
                            let mut names = names.clone().into_iter().map_while(Result::ok);
                            self.names_stack |= names.any(|naming| {
                                naming.index == 0 && naming.name == "__stack_pointer"
                            });
                        }
                        if let Name::Data(names) = names {
                            let names = names.into_iter().map_while(Result::ok);
                            let named = names.filter(|naming| {
                                naming.name == ".rodata" || naming.name.starts_with(".rodata.")
                            });
                            constant.extend(named.map(|naming| naming.index as usize));
                        }
                    }
                }
                _ => {}
            }
        }
        let ranges = constant.iter().filter_map(|&n| segments.get(n)?.clone());
        self.constants = ranges.filter(|range| !range.is_empty()).collect();
        let ends = segments.iter().flatten().map(|range| range.end);
        self.data_end = ends.max().unwrap_or(0);
        let starts = segments.iter().flatten().map(|range| range.start);
        self.data_start = starts.min();
    }
}

fn constant_address(expr: &ConstExpr) -> Option<u32> {
    match expr.get_operators_reader().read().ok()? {
        Operator::I32Const { value } => Some(value.cast_unsigned()),
        _ => None,
    }
}

/// The value with which the first global starts, if it can be a stack pointer: where linkers put it.
pub(crate) fn stack_top(wasm: &[u8]) -> Option<u32> {
    let mut pages = None;
    for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
        match payload {
            Payload::MemorySection(section) if pages.is_none() => {
                pages = Some(section.into_iter().next()?.ok()?.initial);
            }
            Payload::GlobalSection(section) => {
                let first = section.into_iter().next()?.ok()?;
                let is_pointer = first.ty.mutable && first.ty.content_type == Type::I32;
                let top = constant_address(&first.init_expr).filter(|_| is_pointer)?;
                // What begins beyond memory is no stack.
                let is_in_memory =
                    pages.is_none_or(|pages: u64| u64::from(top) <= pages.saturating_mul(1 << 16));
                return Some(top).filter(|top| *top > 0 && is_in_memory);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> (HeapFunctions, HeapSupport) {
        HeapFunctions::find(&wat::parse_str(text).expect("assembles"), &[])
            .expect("nothing is given")
    }

    #[test]
    fn a_stack_lies_in_memory() {
        let top = |top: u32| {
            let text = format!(
                "(module (memory 2 4) (global (mut i32) (i32.const {})))",
                top.cast_signed()
            );
            stack_top(&wat::parse_str(text).expect("assembles"))
        };
        assert_eq!(top(131_072), Some(131_072));
        assert_eq!(top(131_073), None);
        assert_eq!(top(u32::MAX - 15), None);
        assert_eq!(top(0), None);
    }

    #[test]
    fn both_of_a_pair_are_needed() {
        let (found, support) = find(
            r#"(module
                 (func $malloc (param i32) (result i32) unreachable)
                 (func $__rust_alloc (param i32 i32) (result i32) unreachable)
                 (func $__rust_dealloc (param i32 i32 i32))
                 (func $strlen (param i32) (result i32) unreachable))"#,
        );
        assert_eq!(support, HeapSupport::Rust);
        assert_eq!(found.roles, [(1, Role::RustAlloc), (2, Role::RustFree)]);
        assert_eq!(found.texts, [(3, Text::Length)]);
    }

    #[test]
    fn names_that_say_nothing_are_not_used() {
        for (text, expected) in [
            ("(module (memory 1))", HeapSupport::NoNames),
            (
                "(module (func $malloc (param i64) (result i32) unreachable) (func $free (param i32)))",
                HeapSupport::NoNames,
            ),
        ] {
            let (found, support) = find(text);
            assert_eq!(support, expected, "{text}");
            assert!(found.roles.is_empty(), "{text}");
        }
    }

    #[test]
    fn the_stack_ends_where_data_does() {
        for (name, top, expected) in [
            ("__stack_pointer", 1024, Some(0)),
            ("__stack_pointer", 65536, Some(1027)),
            ("next", 65536, None),
        ] {
            let (found, _) = find(&format!(
                r#"(module (memory 1) (global ${name} (mut i32) (i32.const {top})) (data (i32.const 1024) "abc"))"#
            ));
            assert_eq!(found.stack_low(Some(top)), expected, "{name} {top}");
        }
    }

    #[test]
    fn constant_data_is_known_by_its_name() {
        let (found, _) = find(
            r#"(module (memory 1)
                 (data $.rodata (i32.const 1024) "abc") (data $.data (i32.const 1040) "d"))"#,
        );
        assert_eq!(found.constants.len(), 1);
        assert_eq!(found.constants[0], 1024..1027);
        assert_eq!(found.data_start, Some(1024));
    }
}
