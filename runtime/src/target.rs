//! The module under test: read, checked, and compiled once for each purpose.
//!
//! In: a path and how the guest is called. Out: programs and instances of them, for a campaign's workers
//! (`target/worker.rs`) and for replays (`target/exact.rs`). Every error names the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Result, anyhow};
use sandglass_instrument::accept::{self, AcceptLimits, Facts};
use sandglass_sandbox::{Build, Cache, EntryKind, Limits, Options, Program, Sandbox, SandboxError};

use crate::error::{show, with_next};
use crate::inputs;
use crate::shell::{quote, quote_path};

mod costliest;
mod debugged;
mod drawn;
mod exact;
mod looping;
mod plain;
mod reach;
mod types;
mod watchable;
mod worker;

pub use costliest::Costliest;
pub use drawn::Shown;
pub(crate) use drawn::again;
pub use exact::{Exact, Keep, Replayed, Replays};
pub use reach::{FollowedDraws, Reach};
pub use watchable::check_watchable;
pub(crate) use watchable::{needs_marks, support, unwatched};
pub use worker::Worker;

/// The most memory that a guest may have: for verbs whose limit is known only after the module was read.
pub use sandglass_instrument::MEMORY_BYTES_MAX;

/// A module that was read and accepted.
#[derive(Clone, Debug)]
pub struct Module {
    /// The path as the user gave it.
    pub path: String,
    /// Its bytes.
    pub wasm: Vec<u8>,
    /// blake3 of its bytes, hexadecimal.
    pub hash: String,
    /// What it is made of.
    pub facts: Facts,
}

impl Module {
    /// Whether a target of it draws its data itself.
    pub fn is_property(&self) -> bool {
        self.facts.target() == Ok(accept::EntryKind::Property)
    }

    /// Whether it is a program, which gets arguments.
    pub fn is_command(&self) -> bool {
        self.facts.target() == Ok(accept::EntryKind::Command)
    }

    /// The files that it carries, as [`Options::files`] has them.
    fn files(&self) -> impl Iterator<Item = (String, Vec<u8>)> {
        let files = self.facts.files.iter();
        files.map(|file| {
            let contents = self.wasm[file.contents.clone()].to_vec();
            (file.path.clone(), contents)
        })
    }

    /// Whether it has a generator.
    pub fn has_generator(&self) -> bool {
        self.facts.generator().is_ok()
    }
}

/// How a guest is put back before each execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// Pages that were written, found by page faults.
    Hot,
    /// Blocks that were written, found by injected marks.
    Marks,
    /// A new instance each time.
    Fresh,
}

/// Whose edges are coverage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// The target's alone. A property is all target.
    #[default]
    Target,
    /// Those of the generator module, too, numbered behind the target's: what Zest and the BeDivFuzz
    /// of 2022 saw, whose generators were instrumented like everything else.
    All,
}

/// A module with everything that running it needs.
#[derive(Debug)]
pub struct Target {
    /// The module.
    pub module: Module,
    /// How it is called.
    pub options: Options,
    /// Who makes its inputs of choices, if anybody does.
    pub generator: Option<Arc<Target>>,
    coverage: Coverage,
    reset: Reset,
    cache: Option<Cache>,
    programs: Mutex<BTreeMap<Build, Arc<Program>>>,
}

impl Module {
    /// Reads and checks a module whose memories start with at most
    /// `memory_bytes`.
    pub fn read(path: &Path, memory_bytes: u64) -> Result<Module> {
        let limits = AcceptLimits::standard(memory_bytes);
        let wasm = read_wasm(path, &limits)?;
        Module::check(&path.to_string_lossy(), wasm, &limits)
    }

    /// Checks a module that is in memory already.
    pub fn check(path: &str, wasm: Vec<u8>, limits: &AcceptLimits) -> Result<Module> {
        let facts = accept::check(&wasm, limits).map_err(|refusal| {
            let message = format!("{}: {refusal}", show(Path::new(path)));
            match wasm.starts_with(b"\0asm") {
                true => anyhow!(message),
                false => no_module(Path::new(path), message),
            }
        })?;
        Ok(Module {
            path: path.to_owned(),
            hash: blake3::hash(&wasm).to_hex().to_string(),
            wasm,
            facts,
        })
    }
}

/// Reads a file that the user named as a module; what it is is not looked at.
pub fn read_wasm(path: &Path, limits: &AcceptLimits) -> Result<Vec<u8>> {
    inputs::read_file(path, limits.module_bytes)
        .map_err(|error| no_module(path, format!("{error:#}")))
}

/// Something else than a module where one was expected: often what one is made of.
fn no_module(path: &Path, message: String) -> anyhow::Error {
    let is_project = path.join("fuzz/Cargo.toml").is_file() || path.join("Cargo.toml").is_file();
    let next = match is_project {
        true => format!("sandglass build --manifest-path {}", quote_path(path)),
        false => "sandglass build SOURCE.c, or give the path of a .wasm file".to_owned(),
    };
    with_next(message, next)
}

impl Target {
    /// Makes a target of a module; errs if it has nothing to start.
    pub fn new(module: Module, options: Options, reset: Reset) -> Result<Target> {
        Target::of_campaign(module, options, reset, false)
    }

    /// The same for a campaign; `samples` says whether it watches some executions for memory errors.
    pub fn of_campaign(
        module: Module,
        mut options: Options,
        reset: Reset,
        samples: bool,
    ) -> Result<Target> {
        if let Err(refusal) = module.facts.target() {
            return Err(with_next(
                format!("{}: {refusal}", show(Path::new(&module.path))),
                format!("sandglass inspect {}", quote(&module.path)),
            ));
        }
        // What the user gives comes later, and counts.
        options.files.splice(0..0, module.files());
        let target = Target::with_options(module, options, reset)?;
        target.check_sanitizing(samples)?;
        Ok(target)
    }

    fn with_options(module: Module, options: Options, reset: Reset) -> Result<Target> {
        Ok(Target {
            module,
            options,
            generator: None,
            coverage: Coverage::Target,
            reset,
            cache: open_cache()?,
            programs: Mutex::default(),
        })
    }

    fn check_sanitizing(&self, samples: bool) -> Result<()> {
        let all = self.options.sanitize_heap;
        match self.options.allocator.first() {
            Some(given) if !all && !samples => Err(with_next(
                format!("--allocator {given}: only --sanitize heap and sample watch an allocator"),
                "the same command with --sanitize heap",
            )),
            _ if all => check_watchable(&self.module, self.reset, &self.options.allocator, "heap"),
            _ => Ok(()),
        }
    }

    /// The build of replays, and of those that are to tell of calls.
    fn exact_build(&self, calls: bool) -> Build {
        match (self.options.sanitize_heap, calls) {
            (true, false) => Build::HeapExact,
            (false, false) => Build::Exact,
            (true, true) => Build::HeapCalls,
            (false, true) => Build::Calls,
        }
    }

    /// The module compiled for a purpose, from the cache or anew.
    pub fn program(&self, build: Build) -> Result<Arc<Program>> {
        let mut programs = self.programs.lock().expect("no compilation panicked");
        if let Some(program) = programs.get(&build) {
            return Ok(Arc::clone(program));
        }
        let program = Program::build(&self.module.wasm, build, &self.options, self.cache.as_ref())
            .map_err(|error| self.error(&error))?;
        let program = Arc::new(program);
        programs.insert(build, Arc::clone(&program));
        Ok(program)
    }

    /// The build that campaigns use.
    pub fn campaign_build(&self) -> Build {
        if needs_marks(self.reset) {
            Build::Marks
        } else if self.options.sanitize_heap {
            Build::Heap
        } else {
            Build::Fast
        }
    }

    /// How it is put back before each execution.
    pub fn reset(&self) -> Reset {
        self.reset
    }

    /// An instance of a build. On a guest thread only.
    pub fn sandbox(&self, build: Build, limits: &Limits) -> Result<Sandbox> {
        Sandbox::new(&self.program(build)?, limits).map_err(|error| self.error(&error))
    }

    /// What starts an execution, in one word.
    pub fn entry(&self) -> Result<&'static str> {
        Ok(match self.program(self.campaign_build())?.entry() {
            EntryKind::Reactor => "reactor",
            EntryKind::Command => "command",
            EntryKind::Property => "property",
            EntryKind::Generator => "generator",
        })
    }

    /// Whether it draws its data itself.
    pub fn is_property(&self) -> bool {
        self.module.is_property()
    }

    fn error(&self, error: &SandboxError) -> anyhow::Error {
        let path = show(Path::new(&self.module.path));
        let next = match error {
            SandboxError::Imports(_) => {
                "the same command with --stub-imports, whose stubs trap when they are called"
                    .to_owned()
            }
            _ => format!("sandglass inspect {}", quote(&self.module.path)),
        };
        with_next(format!("{path}: {error}"), next)
    }
}

/// The cache of compiled modules: `SANDGLASS_CACHE`, else the user's folder for
/// caches. Without either, or when the latter cannot be used, modules are
/// compiled each time; a folder that the user named has to work.
fn open_cache() -> Result<Option<Cache>> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(folder) = variable("SANDGLASS_CACHE") {
        let cache = Cache::open(&folder).map_err(|error| {
            with_next(
                format!("SANDGLASS_CACHE: {error}"),
                "the same command without that variable, or with a folder that only you can write",
            )
        });
        return cache.map(Some);
    }
    let folder = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    Ok(folder.and_then(|folder| Cache::open(&folder.join("sandglass")).ok()))
}

/// Refuses a finding of another module.
pub fn require_hash(module: &Module, finding: &Path, expected: &str) -> Result<()> {
    if module.hash == expected {
        return Ok(());
    }
    let input = match finding.join("choices").exists() {
        true => "choices",
        false => "input",
    };
    Err(with_next(
        format!(
            "{}: finding of another module: {} has hash {}, expected {expected}",
            show(finding),
            show(Path::new(&module.path)),
            module.hash
        ),
        format!(
            "the same command with {}, which may be of any",
            show(&finding.join(input))
        ),
    ))
}
