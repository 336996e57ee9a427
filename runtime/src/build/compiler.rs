//! The compiler for C, C++ and Zig: whichever is there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

use super::tool;
use crate::error::{io, show, with_next};

/// What the target was called before there was a second WASI.
const OLD_TRIPLE: &str = "wasm32-wasi";

/// The names of the target: a C library lies in a folder of one of them.
const TRIPLES: [&str; 2] = ["wasm32-wasip1", OLD_TRIPLE];

/// The versions of clang whose names distributions put on `PATH`, newest first.
const CLANG_VERSIONS: std::ops::RangeInclusive<u32> = 11..=40;

/// The C++ of sources that name none: what Zig and clang from 16 on take by themselves. An older clang would take that of 2014,
/// and one harness would compile with one compiler and not with another. Flags of the user come later, and win.
const CXX_STANDARD: &str = "-std=gnu++17";

/// Which compiler a user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wanted {
    /// Zig, installed or from PyPI (`python3 -m ziglang`)
    Zig,
    /// Clang with wasi-libc; $WASI_SDK_PATH if it is set
    Clang,
}

/// A compiler that can make WebAssembly.
#[derive(Clone, Debug)]
pub enum Compiler {
    /// The words that start Zig: `zig`, or `python3 -m ziglang`.
    Zig(Vec<PathBuf>),
    /// The path of clang, whose C++ driver has the same with `++`, and the name
    /// under which its C library is installed.
    Clang(PathBuf, &'static str),
}

impl Compiler {
    /// Finds a compiler, in the order of [`Wanted`]. `$WASI_SDK_PATH` comes
    /// first: who sets it means it. `work` is a folder for trying clang.
    ///
    /// # Errors
    ///
    /// When there is none, with what is missing.
    pub fn find(wanted: Option<Wanted>, work: &Path) -> Result<Compiler> {
        let mut problems = Vec::new();
        let sdk = env::var_os("WASI_SDK_PATH");
        if let Some(sdk) = &sdk
            && wanted != Some(Wanted::Zig)
        {
            let clang = Path::new(sdk).join("bin").join("clang");
            if !clang.exists() && !clang.with_extension("exe").exists() {
                return Err(with_next(
                    format!(
                        "{}: no such program, expected by WASI_SDK_PATH",
                        show(&clang)
                    ),
                    "unset WASI_SDK_PATH",
                ));
            }
        }
        let orders: &[Wanted] = match wanted {
            Some(Wanted::Zig) => &[Wanted::Zig],
            Some(Wanted::Clang) => &[Wanted::Clang],
            None if sdk.is_some() => &[Wanted::Clang, Wanted::Zig],
            None => &[Wanted::Zig, Wanted::Clang],
        };
        for order in orders {
            let found = match order {
                Wanted::Zig => find_zig(),
                Wanted::Clang => find_clang(work, &mut problems)?,
            };
            if let Some(compiler) = found {
                return Ok(compiler);
            }
        }
        let mut message = match wanted {
            Some(Wanted::Zig) => "no Zig, expected `zig` on PATH or `python3 -m ziglang`".to_owned(),
            Some(Wanted::Clang) => "no clang that can link for wasm32-wasi".to_owned(),
            None => "no compiler for C, C++ and Zig, expected `zig` on PATH, `python3 -m ziglang`, or clang with wasi-libc"
                .to_owned(),
        };
        for problem in &problems {
            message.push_str("; ");
            message.push_str(problem);
        }
        let next = match wanted {
            Some(Wanted::Clang) => {
                "apt-get install clang lld wasi-libc libclang-rt-dev-wasm32 libc++-dev-wasm32, or set WASI_SDK_PATH"
            }
            _ => "python3 -m pip install ziglang",
        };
        Err(with_next(message, next))
    }

    /// What messages call it.
    pub fn name(&self) -> &'static str {
        match self {
            Compiler::Zig(_) => "zig",
            Compiler::Clang(..) => "clang",
        }
    }

    /// What linking needs behind all other flags.
    ///
    /// Clang runs `wasm-opt`, where one is on `PATH`, over what it links with an optimisation: names go, and debug information
    /// tells of other places than before. Zig takes its libraries as optimised as the link is, and runs nothing.
    pub fn link_flags(&self) -> &'static [&'static str] {
        match self {
            Compiler::Zig(_) => &[],
            Compiler::Clang(..) => &["-O0"],
        }
    }

    /// The start of a command line that compiles or links a language.
    pub fn driver(&self, language: Language) -> Command {
        match self {
            Compiler::Zig(words) => {
                let mut command = zig(words);
                command.arg(if language == Language::Cxx {
                    "c++"
                } else {
                    "cc"
                });
                command.args(["-target", "wasm32-wasi"]);
                command
            }
            Compiler::Clang(clang, triple) => {
                let mut command = match language {
                    Language::C => Command::new(clang),
                    Language::Cxx => Command::new(cxx_driver(clang)),
                };
                if language == Language::Cxx {
                    command.arg(CXX_STANDARD);
                }
                command.arg(format!("--target={triple}"));
                if *triple == OLD_TRIPLE {
                    // Newer versions complain of the name with every file.
                    command.arg("-Wno-deprecated");
                }
                command
            }
        }
    }
}

/// The languages of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C
    C,
    /// C++
    Cxx,
}

/// `zig` with nothing behind it.
pub fn zig(words: &[PathBuf]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn find_zig() -> Option<Compiler> {
    if let Some(zig) = tool::find("zig") {
        return Some(Compiler::Zig(vec![zig]));
    }
    let pythons = ["python3", "python"].into_iter().filter_map(tool::find);
    pythons
        .map(|python| vec![python, "-m".into(), "ziglang".into()])
        .find(|words| tool::ask(zig(words).arg("version")).is_some())
        .map(Compiler::Zig)
}

/// The first clang that links; `problems` learns why others do not.
fn find_clang(work: &Path, problems: &mut Vec<String>) -> Result<Option<Compiler>> {
    let sdk = env::var_os("WASI_SDK_PATH").map(|sdk| Path::new(&sdk).join("bin").join("clang"));
    let named = CLANG_VERSIONS
        .rev()
        .map(|version| format!("clang-{version}"));
    let names = std::iter::once("clang".to_owned()).chain(named);
    let candidates = sdk
        .into_iter()
        .chain(names.filter_map(|name| tool::find(&name)));
    for clang in candidates {
        let mut problem = None;
        for triple in TRIPLES {
            let compiler = Compiler::Clang(clang.clone(), triple);
            problem = try_clang(&compiler, work)?;
            if problem.is_none() {
                return Ok(Some(compiler));
            }
        }
        let name = Path::new(clang.file_name().unwrap_or_default());
        let problem = problem.unwrap_or_default();
        problems.push(format!("{} does not link: {problem}", show(name)));
    }
    Ok(None)
}

/// What clang says when it cannot make a module with the C library.
fn try_clang(compiler: &Compiler, work: &Path) -> Result<Option<String>> {
    let source = work.join("try.c");
    fs::write(
        &source,
        "#include <stdlib.h>\nvoid *f(void) { return malloc(1); }\n",
    )
    .map_err(|e| io(&source, "write", &e))?;
    let output = compiler
        .driver(Language::C)
        .args(["-mexec-model=reactor", "-Wl,--export=f", "-o"])
        .arg(work.join("try.wasm"))
        .arg(&source)
        .output();
    Ok(match output {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(tool::complaint(&output)),
        Err(error) => Some(error.to_string()),
    })
}

/// `clang++` of `clang`, `clang++-22` of `clang-22`.
fn cxx_driver(clang: &Path) -> PathBuf {
    let name = clang.file_name().unwrap_or_default().to_string_lossy();
    clang.with_file_name(name.replacen("clang", "clang++", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_for_cxx_has_its_version() {
        let driver = |clang: &str| cxx_driver(Path::new(clang));
        assert_eq!(
            driver("/usr/bin/clang-22"),
            Path::new("/usr/bin/clang++-22")
        );
        assert_eq!(driver("/opt/clang/clang"), Path::new("/opt/clang/clang++"));
    }
}
