//! Targets from sources: what `sandglass build` does, without its printing.
//!
//! In: a crate with a cargo-fuzz folder, or C, C++ and Zig files. Out: a module
//! that exports what the sandbox calls, with debug information. The compilers
//! are the user's own; what they print goes straight to the user, and only what
//! they cannot know (that one of them is missing, and what to type then) is
//! said here.
//!
//! ```text
//!  fuzz/Cargo.toml ─▶ cargo_fuzz ─────────────┐ cargo, for wasm32-wasip1, with `support`
//!  a.c b.cc ──▶ sources ─▶ compiler ─▶ object ─┤ zig or clang: compile, look, link
//!  a.zig    ──▶ sources ─▶ compiler ───────────┴─▶ module
//! ```

pub mod c_compiler;
pub mod cargo_fuzz;
pub mod compiler;
pub mod object;
pub mod sources;
pub mod support;
pub mod tool;

/// The function that a harness must define.
pub const ENTRY: &str = "LLVMFuzzerTestOneInput";

/// What the sandbox calls beside [`ENTRY`] where a harness defines it.
pub const OPTIONAL_EXPORTS: &[&str] = &[
    "LLVMFuzzerInitialize",
    "LLVMFuzzerCustomMutator",
    "LLVMFuzzerCustomCrossOver",
    "sandglass_setup",
];

/// Bytes of stack: as much as the main thread has on Linux, so that what fits
/// there fits here. The linkers' own choice is 64 KiB to 16 MiB.
pub const STACK_BYTES: u32 = 8 << 20;
