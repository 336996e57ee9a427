//! Harnesses in AssemblyScript.
//!
//! The compiler is the package `assemblyscript` of npm. It is given `support.ts` beside the harness: an allocator for
//! inputs, and what a failed check calls. It writes names, and no lines that anybody else could read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::{names, tool};
use crate::error::{io, show, with_next};

const SUPPORT: &str = include_str!("support.ts");

/// Optimised as far as names stay; memory that is given back is used again.
const FLAGS: &[&str] = &[
    "-O2",
    "--debug",
    "--runtime",
    "incremental",
    "--use",
    "abort=sandglass_abort",
];

/// Compiles files to `out`; `flags` are the compiler's.
///
/// # Errors
///
/// When the compiler is not there or fails, and for checks, which the language always has.
pub(super) fn build(files: &[&Path], is_checked: bool, flags: &[String], out: &Path) -> Result<()> {
    if is_checked {
        bail!(
            "{}: AssemblyScript checks on its own, expected no --sanitize undefined",
            show(files[0])
        );
    }
    let work = tempfile::tempdir()?;
    let support = work.path().join("sandglass.ts");
    fs::write(&support, SUPPORT).map_err(|e| io(&support, "write", &e))?;
    let mut command = Command::new(find(files[0])?);
    command.args(files).arg(&support).args(FLAGS).args(flags);
    command.arg("--outFile").arg(out);
    tool::run(&mut command, "asc", &format!("build {}", show(out)))?;
    let wasm = fs::read(out).map_err(|e| io(out, "read", &e))?;
    let wasm = names::without_folder(&wasm, work.path())?;
    fs::write(out, wasm).map_err(|e| io(out, "write", &e))
}

/// The compiler that was installed where the harness is or above, or the one on `PATH`.
fn find(file: &Path) -> Result<PathBuf> {
    let place = std::path::absolute(file).map_err(|e| io(file, "find", &e))?;
    let local = place
        .ancestors()
        .skip(1)
        .map(|folder| folder.join("node_modules/.bin/asc"))
        .find(|path| path.is_file());
    local.or_else(|| tool::find("asc")).ok_or_else(|| {
        with_next(
            "no compiler for AssemblyScript, expected `asc` in node_modules or on PATH",
            "npm install assemblyscript",
        )
    })
}
