//! A harness and what it needs, from files in C, C++, Zig, AssemblyScript or Go.
//!
//! C and C++ are compiled one file at a time and looked at before they are
//! linked: which of the functions that the sandbox calls are defined decides
//! what is exported, and what no library here can provide gets a message in
//! words instead of the linker's.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::compiler::{self, Compiler, Language, Wanted};
use super::object::{self, Object};
use super::{
    DRAWING, ENTRY, OPTIONAL_EXPORTS, STACK_BYTES, assembly_script, go, headers, support, tool,
    undefined,
};
use crate::error::{io, show, with_next};

/// Exported where they are defined, as the C library does: inputs go to
/// memory that the harness could have allocated itself.
const ALLOCATOR: &[&str] = &["malloc", "free"];

/// What compilers call `main`, with and without arguments.
const MAIN: &[&str] = &["main", "__main_argc_argv", "__main_void", "__original_main"];

/// What a file is, by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Source(Language),
    Zig,
    AssemblyScript,
    Go,
    /// Compiled already: an object or an archive, for the linker.
    Compiled,
}

/// What is to be built.
#[derive(Debug)]
pub struct Sources {
    files: Vec<(PathBuf, Kind)>,
}

/// Whether a word of the command line means a file and not a fuzz target, whose name has no extension.
pub fn is_source(path: &Path) -> bool {
    path.extension().is_some() || path.is_file()
}

impl Sources {
    /// Sorts files by language.
    ///
    /// # Errors
    ///
    /// When one is not there, is in another language, two are in Zig, or languages do not go together.
    pub fn new(paths: &[PathBuf]) -> Result<Sources> {
        let mut files = Vec::new();
        for path in paths {
            let Some(kind) = kind(path) else {
                return Err(with_next(
                    format!(
                        "{}: not a source, expected a file .c, .cc, .cpp, .cxx, .zig, .ts, .go, .o or .a",
                        show(path)
                    ),
                    next_for(path),
                ));
            };
            if !path.is_file() {
                bail!("{}: no such file, expected a source", show(path));
            }
            files.push((path.clone(), kind));
        }
        let mut zig = files.iter().filter(|(_, kind)| *kind == Kind::Zig);
        if let (Some(_), Some((second, _))) = (zig.next(), zig.next()) {
            bail!(
                "{}: a second file in Zig, expected one that imports the others",
                show(second)
            );
        }
        for (alone, language) in [(Kind::AssemblyScript, "AssemblyScript"), (Kind::Go, "Go")] {
            let other = files.iter().find(|(_, kind)| *kind != alone);
            if let (true, Some((other, _))) = (files.iter().any(|(_, kind)| *kind == alone), other)
            {
                bail!(
                    "{}: beside files in {language}, expected those alone",
                    show(other)
                );
            }
        }
        Ok(Sources { files })
    }

    /// Compiles and links to `out`; `flags` are the compiler's. With `is_checked`, undefined behaviour ends a run.
    ///
    /// # Errors
    ///
    /// When no compiler is there, or it fails; its messages have been shown
    /// then.
    pub fn build(
        &self,
        wanted: Option<Wanted>,
        is_checked: bool,
        flags: &[String],
        out: &Path,
    ) -> Result<()> {
        let (first, files) = (self.files[0].1, self.paths());
        match first {
            Kind::AssemblyScript => return assembly_script::build(&files, is_checked, flags, out),
            Kind::Go => return go::build(&files, is_checked, flags, out),
            Kind::Source(_) | Kind::Zig | Kind::Compiled => {}
        }
        refuse_sanitizers(flags)?;
        let work = tempfile::tempdir()?;
        if self.files.iter().any(|(_, kind)| *kind == Kind::Zig) {
            return self.build_zig(is_checked, flags, out, work.path());
        }
        let compiler = Compiler::find(wanted, work.path())?;
        let mut ours = headers::flags(work.path())?;
        if is_checked {
            ours.extend(undefined::C_FLAGS.map(str::to_owned));
        }
        let mut linked = Vec::new();
        let (mut objects, mut archives) = (Vec::new(), Vec::new());
        // Objects with link time optimisation may define anything, and so may what flags bring.
        let mut is_known = !flags.iter().any(|flag| brings_code(flag));
        // What came compiled may check on its own: Zig does so unless a build is optimised.
        let mut checks = is_checked;
        for (index, (path, kind)) in self.files.iter().enumerate() {
            let object = match kind {
                Kind::Source(language) => {
                    let object = work.path().join(format!("{index}.o"));
                    compile(&compiler, *language, path, (&ours, flags), &object)?;
                    object
                }
                _ => path.clone(),
            };
            let bytes = fs::read(&object).map_err(|e| io(&object, "read", &e))?;
            checks |= object::checks(&bytes);
            let parsed = Object::parse(&bytes);
            match Object::parse_archive(&bytes) {
                Some(archive) => archives.push(archive),
                None => is_known &= parsed.is_some(),
            }
            objects.push((path, parsed.unwrap_or_default()));
            linked.push(object);
        }
        for (path, object) in &objects {
            no_exceptions(path, object)?;
        }
        let needs = |name: &str| objects.iter().any(|(_, object)| object.needs(name));
        if needs("LLVMFuzzerMutate") {
            let object = work.path().join("mutate.o");
            fs::write(&object, support::mutate()).map_err(|e| io(&object, "write", &e))?;
            linked.push(object);
        }
        if checks {
            linked.push(undefined::object(&compiler, work.path())?);
        }
        if needs("__c_longjmp") {
            linked.push(longjmp_tag(&compiler, work.path())?);
        }
        let defines = |name: &str| objects.iter().any(|(_, object)| object.defines(name));
        let draws = DRAWING.iter().any(|name| defines(name));
        let mut command = compiler.driver(self.language());
        // Of an archive a linker takes what is wanted.
        let has = |name: &str| defines(name) || archives.iter().any(|of| of.defines(name));
        let is_missing = !draws && !has(ENTRY);
        if is_missing && objects.iter().any(|(_, object)| object.mangles(ENTRY)) {
            return Err(self.no_harness(&objects));
        }
        if is_missing && is_known {
            // A program is a target as it is; one that calls a harness is a driver of one.
            if needs(ENTRY) || !MAIN.iter().any(|name| has(name)) {
                return Err(self.no_harness(&objects));
            }
        } else {
            // What is not known may define it, or the linker says that it is missing.
            let entry = (!draws || defines(ENTRY)).then_some(&ENTRY);
            let optional = OPTIONAL_EXPORTS.iter().filter(|name| defines(name));
            let exports = entry.into_iter().chain(ALLOCATOR).chain(optional);
            command
                .arg("-mexec-model=reactor")
                .args(exports.map(|name| format!("-Wl,--export={name}")));
        }
        command
            .args(OPTIMISED)
            .args(flags)
            .args(compiler.link_flags())
            .arg(format!("-Wl,-z,stack-size={STACK_BYTES}"))
            .args(&linked)
            .arg("-o")
            .arg(out);
        tool::run(
            &mut command,
            compiler.name(),
            &format!("link {}", show(out)),
        )
    }

    /// Why there is nothing that could be called.
    fn no_harness(&self, objects: &[(&PathBuf, Object)]) -> anyhow::Error {
        if let Some((path, _)) = objects.iter().find(|(_, object)| object.mangles(ENTRY)) {
            return with_next(
                format!(
                    "{}: {ENTRY} is a C++ function, expected extern \"C\" before it",
                    show(path)
                ),
                "sandglass init cpp try    # an example",
            );
        }
        with_next(
            format!(
                "{}: no harness, expected sources that define {ENTRY}, or main",
                show(&self.files[0].0)
            ),
            match self.language() {
                Language::C => "sandglass init c try    # an example",
                Language::Cxx => "sandglass init cpp try    # an example",
            },
        )
    }

    fn paths(&self) -> Vec<&Path> {
        self.files.iter().map(|(path, _)| &**path).collect()
    }

    /// C++ needs its own libraries; the linker's driver adds them.
    fn language(&self) -> Language {
        let cxx = Kind::Source(Language::Cxx);
        match self.files.iter().any(|(_, kind)| *kind == cxx) {
            true => Language::Cxx,
            false => Language::C,
        }
    }

    /// Zig compiles everything at once, other languages' files too.
    fn build_zig(&self, is_checked: bool, flags: &[String], out: &Path, work: &Path) -> Result<()> {
        let Compiler::Zig(words) = Compiler::find(Some(Wanted::Zig), work)? else {
            unreachable!("asked for Zig");
        };
        let built = work.join("out.wasm");
        let mut command = compiler::zig(&words);
        command
            .args([
                "build-exe",
                "-target",
                "wasm32-wasi",
                "-fno-entry",
                "-rdynamic",
            ])
            .args(["-O", "ReleaseSafe", "-fno-strip", "--stack"])
            .arg(STACK_BYTES.to_string());
        // Zig checks its own in this mode; files in other languages only trap, without a name.
        if is_checked && self.files.len() > 1 {
            command.args(undefined::ZIG_FLAGS).arg("-cflags");
            command.args(undefined::HANDLER_FLAGS).arg("--");
            command
                .arg(undefined::source(work)?)
                .args(["-cflags", "--"]);
        }
        command
            .args(self.files.iter().map(|(path, _)| path))
            .args(flags)
            .arg(format!("-femit-bin={}", built.display()));
        // A program without an entry has no constructors to run; with the C
        // library it has.
        if self.files.len() > 1 {
            command.args(["-lc", "-mexec-model=reactor"]);
        }
        tool::run(&mut command, "zig", &format!("build {}", show(out)))?;
        fs::copy(&built, out).map_err(|e| io(out, "write", &e))?;
        Ok(())
    }
}

/// As the subjects of our measurements are built.
const OPTIMISED: &[&str] = &["-O2", "-g"];

fn kind(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()? {
        "c" => Some(Kind::Source(Language::C)),
        "cc" | "cpp" | "cxx" | "c++" | "C" => Some(Kind::Source(Language::Cxx)),
        "zig" => Some(Kind::Zig),
        "ts" => Some(Kind::AssemblyScript),
        "go" => Some(Kind::Go),
        "o" | "a" => Some(Kind::Compiled),
        _ => None,
    }
}

/// Sanitizers need a runtime of their system, which wasm has none of; the flag is the first thing that users of libFuzzer type.
fn refuse_sanitizers(flags: &[String]) -> Result<()> {
    let named = |flag: &&String| {
        let of = flag.strip_prefix("-fsanitize=").unwrap_or("");
        of.split(',')
            .any(|name| ["fuzzer", "address", "memory", "thread", "leak"].contains(&name))
    };
    let Some(flag) = flags.iter().find(named) else {
        return Ok(());
    };
    Err(with_next(
        format!(
            "{flag}: no such sanitizer for wasm; coverage and memory errors are looked for without any flag"
        ),
        "the same command without it; then sandglass fuzz --sanitize heap for memory errors of every execution",
    ))
}

/// What someone with this file may have wanted.
fn next_for(path: &Path) -> String {
    match path.extension().and_then(|e| e.to_str()) {
        Some("rs") => "cargo fuzz init, then sandglass build NAME in the crate".into(),
        Some("wasm") => format!("sandglass fuzz {}", show(path)),
        _ => "sandglass build --help".into(),
    }
}

fn compile(
    compiler: &Compiler,
    language: Language,
    path: &Path,
    (ours, flags): (&[String], &[String]),
    object: &Path,
) -> Result<()> {
    let mut command = compiler.driver(language);
    if language == Language::Cxx {
        // Else every `std::vector` would refer to what cannot be linked.
        command.arg("-fno-exceptions");
    }
    command
        .args(OPTIMISED)
        // Flags of the other phase, and of the other language, are no mistake.
        .arg("-Wno-unused-command-line-argument")
        .args(ours)
        .args(flags.iter().filter(|flag| is_for(flag, language)))
        .arg("-c")
        .arg(path)
        .arg("-o")
        .arg(object);
    tool::run(
        &mut command,
        compiler.name(),
        &format!("compile {}", show(path)),
    )
}

/// Whether a flag is for this language: a standard is for one only, and what is
/// for the linker is for none.
fn is_for(flag: &str, language: Language) -> bool {
    let is_cxx = |standard: &str| standard.contains("++");
    match flag.strip_prefix("-std=") {
        Some(standard) => is_cxx(standard) == (language == Language::Cxx),
        None => !flag.starts_with("-Wl,") && !flag.starts_with("-l"),
    }
}

/// Whether a flag may bring functions that nobody has looked at: libraries, but for the C library's own, archives and objects.
fn brings_code(flag: &str) -> bool {
    let is_foreign = |name: &str| name != "m" && name != "c" && !name.starts_with("wasi-emulated-");
    flag.strip_prefix("-l").is_some_and(is_foreign) || flag.ends_with(".a") || flag.ends_with(".o")
}

/// Refuses what throws: the C++ libraries that come with these compilers are
/// built without exceptions, and a linker would only miss names.
fn no_exceptions(path: &Path, object: &Object) -> Result<()> {
    if object.needs("__cxa_throw") {
        bail!(
            "{}: throws C++ exceptions, which no C++ library for WebAssembly can; expected code that is compiled with -fno-exceptions",
            show(path)
        );
    }
    Ok(())
}

/// The tag that `longjmp` throws, which C libraries leave undefined.
fn longjmp_tag(compiler: &Compiler, work: &Path) -> Result<PathBuf> {
    let source = work.join("longjmp.s");
    let text = ".globl __c_longjmp\n.tagtype __c_longjmp i32\n__c_longjmp:\n";
    fs::write(&source, text).map_err(|e| io(&source, "write", &e))?;
    let object = work.join("longjmp.o");
    let mut command = compiler.driver(Language::C);
    command.args(["-mexception-handling", "-c"]);
    command.arg(&source).arg("-o").arg(&object);
    tool::run(&mut command, compiler.name(), "assemble the tag of longjmp")?;
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standard_is_for_its_language() {
        assert!(is_for("-std=c++20", Language::Cxx));
        assert!(!is_for("-std=c++20", Language::C));
        assert!(is_for("-std=gnu11", Language::C));
        assert!(!is_for("-std=gnu11", Language::Cxx));
        assert!(is_for("-DX=1", Language::C) && is_for("-DX=1", Language::Cxx));
        assert!(!is_for("-lm", Language::C));
    }

    #[test]
    fn libraries_may_have_a_harness() {
        assert!(
            ["-lharb", "lib/libharb.a", "a.o"]
                .iter()
                .all(|flag| brings_code(flag))
        );
        assert!(
            !["-lm", "-lwasi-emulated-signal", "-L.", "-O2"]
                .iter()
                .any(|flag| brings_code(flag))
        );
    }

    #[test]
    fn names_are_targets_and_extensions_are_sources() {
        assert!(!is_source(Path::new("parse_header")));
        assert!(is_source(Path::new("nowhere/parse.cc")));
        assert!(is_source(Path::new("parse.py")));
    }
}
