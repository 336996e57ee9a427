//! Programs of others: finding and running them.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Result, bail};

use crate::error::{printable, reason};

/// A program on `PATH`, or nothing.
///
/// Windows adds `.exe`; empty entries of `PATH` are not the current folder.
pub fn find(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?)
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join(&file))
        .find(|path| path.is_file())
}

/// Runs a command whose messages the user sees.
///
/// # Errors
///
/// When it cannot be started or fails; `who` and `doing` say what was tried, as
/// in `zig` and `compile a.c`.
pub fn run(command: &mut Command, who: &str, doing: &str) -> Result<()> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("{who} could not {doing}: {status}; its messages are above"),
        Err(error) => bail!("{who}: cannot run: {}", reason(&error)),
    }
}

/// What a command printed if it succeeded.
pub fn ask(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = || String::from_utf8(output.stdout).ok();
    output.status.success().then(text)?
}

/// The first line in which a command says what is wrong.
pub fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let mut lines = text.lines();
    let line = lines.clone().find(|line| line.contains("error"));
    printable(line.or_else(|| lines.next()).unwrap_or("no message"))
}
