//! `sandglass build`: from sources to a module, and the command that fuzzes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use sandglass_instrument::accept::EntryKind;

use crate::build::Checks;
use crate::build::cargo_fuzz::Project;
use crate::build::compiler::Wanted;
use crate::build::sources::{self, Sources};
use crate::error::{exit_code, io, show, with_next};
use crate::report::Sink;
use crate::report::plain::number;
use crate::shell::{quote, quote_path};
use crate::target::{MEMORY_BYTES_MAX, Module};

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
    let is_sources = args.what.iter().any(|word| sources::is_source(word));
    let built = match is_sources {
        true => build_sources(&args)?,
        false => build_target(&args)?,
    };
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

/// Makes the folder of a file, before minutes of compiling.
fn make_place(out: &Path) -> Result<()> {
    let Some(folder) = out.parent().filter(|f| !f.as_os_str().is_empty()) else {
        return Ok(());
    };
    fs::create_dir_all(folder).map_err(|e| io(folder, "create", &e))
}
