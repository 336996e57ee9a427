//! A C compiler for crates that bring C sources.
//!
//! Their build scripts, by the crate `cc`, run what `CC_wasm32_wasip1` names and
//! else `clang`, with `--target=wasm32-wasip1`. Neither Zig nor a clang with an
//! older C library knows that name, so that a script of ours stands between
//! them. C++ is left out: Rust's own copy of the C library has no C++ library
//! beside it to link with.

use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::{env, fs};

use anyhow::Result;

#[cfg(unix)]
use super::compiler::{self, Compiler, Language};
#[cfg(unix)]
use super::undefined;
#[cfg(unix)]
use crate::{
    error::{io, with_next},
    shell::quote_path,
};

/// Where a user says which compiler it is; then it is none of our business.
#[cfg(unix)]
const SET_BY_USERS: &[&str] = &["CC_wasm32_wasip1", "CC_wasm32-wasip1", "TARGET_CC"];

/// What cargo needs for C.
#[derive(Debug, Default)]
pub struct ForCargo {
    /// Variables of its environment.
    pub variables: Vec<(&'static str, PathBuf)>,
    /// The object file with what checks call, to be linked.
    pub handlers: Option<Vec<u8>>,
}

/// Variables for cargo, if there is a compiler; scripts are written to `folder`. With `is_checked`, undefined behaviour in
/// C ends a run.
///
/// Without one there are none: most crates need none, and the others say so.
#[cfg(unix)]
pub fn find(folder: &Path, is_checked: bool) -> Result<ForCargo> {
    let set = SET_BY_USERS.iter().find(|name| env::var_os(name).is_some());
    match set {
        Some(name) if is_checked => {
            return Err(with_next(
                format!("{name} is set: a compiler of yours does not check C for us"),
                "the same command without that variable, or without --sanitize undefined",
            ));
        }
        Some(_) => return Ok(ForCargo::default()),
        None => {}
    }
    let work = tempfile::tempdir()?;
    let Ok(compiler) = Compiler::find(None, work.path()) else {
        return Ok(ForCargo::default());
    };
    let (mut driver, mut handlers) = (compiler.driver(Language::C), None);
    if is_checked {
        driver.args(undefined::C_FLAGS);
        let object = undefined::object(&compiler, work.path())?;
        handlers = Some(fs::read(&object).map_err(|e| io(&object, "read", &e))?);
    }
    let cc = write(folder, "cc", &driver)?;
    let mut variables = vec![("CC_wasm32_wasip1", cc)];
    // Beside clang, `cc` finds an archiver by itself.
    if let Compiler::Zig(words) = &compiler {
        let mut ar = compiler::zig(words);
        ar.arg("ar");
        variables.push(("AR_wasm32_wasip1", write(folder, "ar", &ar)?));
    }
    Ok(ForCargo {
        variables,
        handlers,
    })
}

/// As above; elsewhere a file of text is no program.
#[cfg(not(unix))]
pub fn find(_folder: &Path, _is_checked: bool) -> Result<ForCargo> {
    Ok(ForCargo::default())
}

/// Writes a script that runs a command with what it is given, but for the name
/// of the target, which the command has in its own words.
#[cfg(unix)]
fn write(folder: &Path, name: &str, command: &std::process::Command) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;

    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| quote_path(Path::new(word))).collect();
    let text = format!(
        "#!/bin/sh\n\
         for word in \"$@\"; do\n\
         \x20 shift\n\
         \x20 case $word in --target=*) ;; *) set -- \"$@\" \"$word\" ;; esac\n\
         done\n\
         exec {} \"$@\"\n",
        words.join(" ")
    );
    fs::create_dir_all(folder).map_err(|e| io(folder, "create", &e))?;
    let path = folder.join(name);
    fs::write(&path, text).map_err(|e| io(&path, "write", &e))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .map_err(|e| io(&path, "write", &e))?;
    Ok(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_script_replaces_the_name_of_the_target() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut echo = Command::new("echo");
        echo.args(["cc", "-target", "it is"]);
        let script = write(folder.path(), "cc", &echo).expect("written");
        let output = Command::new(script)
            .args(["-O3", "--target=wasm32-wasip1", "-c", "a b.c"])
            .output()
            .expect("sh runs it");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, "cc -target it is -O3 -c a b.c\n");
    }
}
