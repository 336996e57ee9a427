//! Targets from sources: what `sandglass build` does, without its printing.
//!
//! In: a crate with a cargo-fuzz folder, or files in C, C++, Zig, AssemblyScript or Go. Out: a module
//! that exports what the sandbox calls, with debug information. The compilers
//! are the user's own; what they print goes straight to the user, and only what
//! they cannot know (that one of them is missing, and what to type then) is
//! said here.
//!
//! ```text
//!  fuzz/Cargo.toml ─▶ cargo_fuzz ─────────────┐ cargo, for wasm32-wasip1, with `support`
//!  a.c b.cc ──▶ sources ─▶ compiler ─▶ object ─┤ zig or clang: compile, look, link
//!  a.zig    ──▶ sources ─▶ compiler ───────────┼─▶ module
//!  a.ts a.go ─▶ sources ─▶ assembly_script, go ┘ their own compilers, which link themselves
//! ```

use clap::ValueEnum;

mod assembly_script;
pub mod c_compiler;
pub mod cargo_fuzz;
pub mod compiler;
mod go;
mod headers;
mod names;
pub mod object;
pub mod sources;
pub mod support;
pub mod tool;
pub mod undefined;

/// The function that a harness must define.
pub const ENTRY: &str = "LLVMFuzzerTestOneInput";

/// What stands for [`ENTRY`] in a module that draws: a property, or a generator for other targets. The SDK's macros
/// export them.
pub const DRAWING: &[&str] = &["sandglass_property", "sandglass_generate"];

/// What the sandbox calls beside [`ENTRY`] where a harness defines it.
pub const OPTIONAL_EXPORTS: &[&str] = &[
    "LLVMFuzzerInitialize",
    "LLVMFuzzerCustomMutator",
    "LLVMFuzzerCustomCrossOver",
    "sandglass_setup",
];

/// What compilers put into a target, to end a run where it would go wrong unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Checks {
    /// Undefined behaviour: integer overflow, shifts, bounds, null and the like, by the compiler's own checks
    Undefined,
    /// Not a compiler's: `sandglass fuzz` watches the heap of any module
    #[value(hide = true)]
    Heap,
}

/// Bytes of stack: as much as the main thread has on Linux, so that what fits
/// there fits here. The linkers' own choice is 64 KiB to 16 MiB.
pub const STACK_BYTES: u32 = 8 << 20;
