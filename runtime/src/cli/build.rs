//! `sandglass build`: from sources to a module, and the command that fuzzes it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use sandglass_instrument::accept::{AcceptLimits, EntryKind};
use sandglass_instrument::carried;
use sandglass_sandbox::Limits;

use super::guest_files::{self, parse_pair};
use crate::build::Checks;
use crate::build::cargo_fuzz::Project;
use crate::build::compiler::Wanted;
use crate::build::sources::{self, Sources};
use crate::error::{exit_code, io, printable, show, with_next};
use crate::report::Sink;
use crate::report::plain::number;
use crate::shell::{quote, quote_path};
use crate::target::{MEMORY_BYTES_MAX, Module, read_wasm};

/// `sandglass build`
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// A fuzz target of the crate here, or the sources of a harness in C, C++, Zig, AssemblyScript or Go
    #[arg(value_name = "NAME|SOURCES")]
    pub what: Vec<PathBuf>,
    /// The module [default: NAME.wasm, or the first source's name with .wasm]
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// A crate with a cargo-fuzz folder, or that folder, instead of the one here
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// The compiler for sources [default: the first that is there]
    #[arg(long, value_name = "NAME", value_enum)]
    pub compiler: Option<Wanted>,
    /// Compile checks in that end a run and name what went wrong
    #[arg(long, value_name = "WHAT", value_enum)]
    pub sanitize: Option<Checks>,
    /// A file that the target finds, also before its first input: the path that it sees, and one of yours that is copied
    /// into the module, or a folder of them; of a module that is there already, too
    #[arg(long = "file", value_name = "PATH=FILE", value_parser = parse_pair)]
    pub files: Vec<(String, String)>,
    /// Flags for cargo or for the compiler and linker
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<String>,
}

impl BuildArgs {
    fn is_checked(&self) -> bool {
        self.sanitize == Some(Checks::Undefined)
    }
}

/// What was built, and what there is to start from.
struct Built {
    out: PathBuf,
    corpus: Option<PathBuf>,
    /// What made it fail before.
    artifacts: Option<PathBuf>,
    dictionary: Option<PathBuf>,
}

pub(super) fn run(args: BuildArgs) -> Result<u8> {
    let start = Instant::now();
    if args.sanitize == Some(Checks::Heap) {
        return Err(with_next(
            "--sanitize heap is none of the compiler's checks; any module that is fuzzed can be watched",
            "sandglass build without it, then sandglass fuzz TARGET.wasm --sanitize heap",
        ));
    }
    let files = guest_files::read(&args.files, true, Limits::STANDARD.file_bytes)?;
    let is_sources = args.what.iter().any(|word| sources::is_source(word));
    let built = match &args.what[..] {
        [module] if is_module(module) && !files.is_empty() => copy_module(&args, module, &files)?,
        _ if is_sources => build_sources(&args)?,
        _ => build_target(&args)?,
    };
    carry(&built.out, &files)?;
    let module = Module::read(&built.out, MEMORY_BYTES_MAX)?;
    let out = quote(&module.path);
    let entry = module.facts.target();
    let is_target = matches!(
        entry,
        Ok(EntryKind::Reactor | EntryKind::Property | EntryKind::Command)
    );
    if !is_target && !module.has_generator() {
        return Err(with_next(
            format!("{}: built, but there is no harness in it", module.path),
            format!("sandglass inspect {out}"),
        ));
    }
    let mut sink = Sink::stdout();
    sink.line(&format!(
        "built {out}: {} bytes, {:.1}s",
        number(module.wasm.len() as u64),
        start.elapsed().as_secs_f64()
    ));
    if !is_target {
        sink.line(&format!(
            "  next: sandglass fuzz TARGET.wasm --generator {out} --time 60s"
        ));
        return Ok(exit_code::FINE);
    }
    let mut next = format!("sandglass fuzz {out}");
    if let Some(corpus) = built.corpus {
        next = format!("{next} {}", quote_path(&corpus));
    }
    if let Some(dictionary) = built.dictionary {
        next = format!("{next} --dict {}", quote_path(&dictionary));
    }
    sink.line(&format!("  next: {next} --time 60s"));
    if let Some(artifacts) = built.artifacts {
        let artifacts = quote_path(&artifacts);
        sink.line(&format!(
            "  or: sandglass check {out} {artifacts} --execs 0    # what cargo-fuzz found"
        ));
    }
    Ok(exit_code::FINE)
}

fn build_sources(args: &BuildArgs) -> Result<Built> {
    if let Some(path) = &args.manifest_path {
        bail!(
            "{}: --manifest-path goes with a fuzz target, expected no sources",
            show(path)
        );
    }
    let sources = Sources::new(&args.what)?;
    let name = args.what[0].with_extension("wasm");
    let beside = PathBuf::from(name.file_name().unwrap_or_default());
    let out = args.out.clone().unwrap_or(beside);
    make_place(&out)?;
    sources.build(args.compiler, args.is_checked(), &args.flags, &out)?;
    Ok(Built {
        out,
        corpus: None,
        artifacts: None,
        dictionary: None,
    })
}

fn build_target(args: &BuildArgs) -> Result<Built> {
    if args.compiler.is_some() {
        bail!("--compiler goes with sources; a fuzz target is built by cargo");
    }
    let name = match args.what.as_slice() {
        [] => None,
        [folder] if folder.is_dir() => {
            return Err(with_next(
                format!(
                    "{}: a folder, expected sources or the name of a fuzz target",
                    show(folder)
                ),
                format!(
                    "sandglass build --manifest-path {}, of a crate; sources are named one by one",
                    quote_path(folder)
                ),
            ));
        }
        [name] => Some(name.to_string_lossy()),
        [_, second, ..] => bail!(
            "{}: a second fuzz target, expected one at a time",
            show(second)
        ),
    };
    let place = args.manifest_path.as_deref().unwrap_or(Path::new("."));
    let project = Project::find(place)?;
    let target = project.choose(name.as_deref())?;
    let out = args.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{target}.wasm")));
    make_place(&out)?;
    let module = project.build(target, args.is_checked(), &args.flags)?;
    fs::copy(&module, &out).map_err(|e| io(&out, "write", &e))?;
    Ok(Built {
        corpus: project.inputs("corpus", target),
        artifacts: project.inputs("artifacts", target),
        dictionary: project.dictionary(target),
        out,
    })
}

fn is_module(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "wasm")
}

/// A module that somebody else has built, for what it is to carry.
fn copy_module(args: &BuildArgs, module: &Path, files: &[(String, Vec<u8>)]) -> Result<Built> {
    let is_compiled = args.compiler.is_some() || args.sanitize.is_some() || !args.flags.is_empty();
    if is_compiled || args.manifest_path.is_some() {
        bail!(
            "{}: a module already, expected no options of a compiler",
            show(module)
        );
    }
    let Some(out) = args.out.clone() else {
        return Err(with_next(
            format!(
                "{}: a module already, expected -o for the one with the files",
                show(module)
            ),
            format!(
                "the same command with -o {}",
                quote_path(&module.with_extension("with-files.wasm"))
            ),
        ));
    };
    let read = Module::read(module, MEMORY_BYTES_MAX)?;
    let there = read.facts.files.iter().map(|file| &file.path);
    let there = there.collect::<BTreeSet<_>>();
    if let Some((path, _)) = files.iter().find(|(path, _)| there.contains(path)) {
        bail!(
            "--file {}: {} has a file there already, expected another path",
            printable(path),
            show(module)
        );
    }
    make_place(&out)?;
    fs::write(&out, read.wasm).map_err(|e| io(&out, "write", &e))?;
    Ok(Built {
        out,
        corpus: None,
        artifacts: None,
        dictionary: None,
    })
}

/// Puts files into a module that was built.
fn carry(out: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let mut wasm = read_wasm(out, &AcceptLimits::standard(MEMORY_BYTES_MAX))?;
    for (path, contents) in files {
        carried::carry(&mut wasm, path, contents);
    }
    fs::write(out, &wasm).map_err(|e| io(out, "write", &e))
}

/// Makes the folder of a file, before minutes of compiling.
fn make_place(out: &Path) -> Result<()> {
    let Some(folder) = out.parent().filter(|f| !f.as_os_str().is_empty()) else {
        return Ok(());
    };
    fs::create_dir_all(folder).map_err(|e| io(folder, "create", &e))
}
