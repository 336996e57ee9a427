//! Undefined behaviour that ends the run: the flags of compilers, and what their checks call.
//!
//! `-fsanitize-trap` would need no library and tell no names. So the checks call handlers, which compilers call alike and
//! which are ours (`sdk/c/undefined.c`): compiler-rt's are built for no wasm, and Zig's add a megabyte and start another
//! line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::compiler::{Compiler, Language};
use super::tool;
use crate::error::io;

/// For C and C++. What is left out cannot be had: the types of functions are not where the check reads them (and wasm
/// checks them itself, with each indirect call), and `vptr` needs the type information of a C++ library's own runtime.
pub const C_FLAGS: [&str; 3] = [
    "-fsanitize=undefined",
    "-fno-sanitize=function,vptr",
    "-fno-sanitize-recover=all",
];

/// For C and C++ that Zig compiles with Zig's own: handlers there too, and ours.
pub const ZIG_FLAGS: [&str; 2] = ["-fsanitize-c=full", "-fno-ubsan-rt"];

/// For Rust, whose compiler checks what safe Rust can do.
pub const RUST_FLAGS: [&str; 2] = ["-Coverflow-checks=on", "-Cdebug-assertions=on"];

/// For the handlers themselves: they must not check, and `strlen` may not be there to be called.
pub const HANDLER_FLAGS: [&str; 4] = ["-O2", "-g0", "-fno-sanitize=all", "-fno-builtin"];

/// Writes the source of the handlers to a folder.
pub fn source(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("undefined.c");
    fs::write(&path, include_str!("../../../sdk/c/undefined.c"))
        .map_err(|e| io(&path, "write", &e))?;
    Ok(path)
}

/// Compiles the handlers, in a folder.
pub fn object(compiler: &Compiler, folder: &Path) -> Result<PathBuf> {
    let source = source(folder)?;
    let object = folder.join("undefined.o");
    let mut command = compiler.driver(Language::C);
    command.args(HANDLER_FLAGS).arg("-c").arg(source);
    command.arg("-o").arg(&object);
    tool::run(
        &mut command,
        compiler.name(),
        "compile the handlers of undefined behaviour",
    )?;
    Ok(object)
}
