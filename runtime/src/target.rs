//! The module under test: read, checked, and compiled once for each purpose.
//!
//! In: a path and how the guest is called. Out: runners for a campaign and
//! replays for people. Every error names the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, anyhow, bail};
use sandglass_engine::choice::jqf::TAPE_BYTES_MAX;
use sandglass_engine::{Detail, Drawing, Exit, GeneratorFault, Interest, Outcome, Spec, Variant};
use sandglass_instrument::accept::{self, AcceptLimits, Facts};
use sandglass_instrument::printable::printable;
use sandglass_instrument::{HeapSupport, heap_support};

use sandglass_instrument::symbols::{Frame, Symbols};
use sandglass_sandbox::{
    Build, Cache, EntryKind, Limits, MemoryFault, Options, Program, RawFrame, Sandbox, SandboxError,
};

use crate::campaign::Replayer;
use crate::campaign::workers::Runner;
use crate::error::{OurFault, show, with_next};
use crate::inputs;
use crate::memory::Memory;
use crate::said::Said;
use crate::stack::Ending;
use crate::store::finding::quote;

mod drawn;
mod plain;
mod types;

pub use drawn::Shown;

/// The most memory that a 32-bit memory can have: for verbs whose limit is
/// known only after the module was read.
pub const MEMORY_BYTES_MAX: u64 = 4 << 30;

/// Bytes of an input that an error message shows.
const SHOWN_BYTES: usize = 64;

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

/// One replayed execution.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// How it ended. Its fuel is what campaigns count, by whole segments.
    pub outcome: Outcome,
    /// The operators that ran and what they cost: the same fuel without what an early end cut off.
    /// Equal to the former where a run returned, ran out of fuel or nested too deeply.
    pub fuel_exact: u64,
    /// Where, and what it did to memory if that ended it.
    pub ending: Ending,
    /// What it wrote.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

impl Module {
    /// Reads and checks a module whose memories start with at most
    /// `memory_bytes`.
    pub fn read(path: &Path, memory_bytes: u64) -> Result<Module> {
        let limits = AcceptLimits::standard(memory_bytes);
        let wasm = inputs::read_file(path, limits.module_bytes).map_err(|error| {
            with_next(
                format!("{error:#}"),
                "sandglass fuzz TARGET.wasm, with the path of a .wasm file",
            )
        })?;
        Module::check(&path.to_string_lossy(), wasm, &limits)
    }

    /// Checks a module that is in memory already.
    pub fn check(path: &str, wasm: Vec<u8>, limits: &AcceptLimits) -> Result<Module> {
        let facts = accept::check(&wasm, limits)
            .map_err(|refusal| anyhow!("{}: {refusal}", show(Path::new(path))))?;
        Ok(Module {
            path: path.to_owned(),
            hash: blake3::hash(&wasm).to_hex().to_string(),
            wasm,
            facts,
        })
    }
}

impl Target {
    /// Makes a target of a module; errs if it has nothing to start.
    pub fn new(module: Module, options: Options, reset: Reset) -> Result<Target> {
        Target::of_campaign(module, options, reset, false)
    }

    /// The same for a campaign; `samples` says whether it watches some executions for memory errors.
    pub fn of_campaign(
        module: Module,
        options: Options,
        reset: Reset,
        samples: bool,
    ) -> Result<Target> {
        if let Err(refusal) = module.facts.target() {
            return Err(with_next(
                format!("{}: {refusal}", show(Path::new(&module.path))),
                format!("sandglass inspect {}", quote(&module.path)),
            ));
        }
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

    /// The build of replays.
    fn exact_build(&self) -> Build {
        match self.options.sanitize_heap {
            true => Build::HeapExact,
            false => Build::Exact,
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
        // Only this message has a second line: the stack of a failed set-up.
        let text = error.to_string();
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let frames: Vec<&str> = rest.lines().map(str::trim).collect();
        let at = if frames.is_empty() {
            String::new()
        } else {
            format!(", at {}", frames.join(", "))
        };
        with_next(
            format!("{path}: {first}{at}"),
            format!("sandglass inspect {}", quote(&self.module.path)),
        )
    }
}

/// Errs where memory errors cannot be looked for: resets need marks, or there is nothing to look at.
/// `allocator` is what the user gave of it, `wanted` what stands behind `--sanitize`.
pub fn check_watchable(
    module: &Module,
    reset: Reset,
    allocator: &[String],
    wanted: &str,
) -> Result<()> {
    if needs_marks(reset) {
        return Err(with_next(
            format!("--sanitize {wanted} needs resets by page protection"),
            "the same command without --reset marks",
        ));
    }
    let is_narrow = (module.facts.memories.first()).is_some_and(|memory| !memory.memory64);
    let support = is_narrow.then(|| heap_support(&module.wasm, allocator));
    let support = support.transpose().map_err(|error| {
        with_next(
            format!(
                "{}: {}",
                show(Path::new(&module.path)),
                printable(&error.to_string())
            ),
            format!("sandglass inspect {}", quote(&module.path)),
        )
    })?;
    match unwatched(support) {
        None => Ok(()),
        Some(reason) => Err(with_next(
            format!(
                "{}: no heap to watch: {reason}",
                show(Path::new(&module.path))
            ),
            format!("sandglass inspect {}", quote(&module.path)),
        )),
    }
}

fn needs_marks(reset: Reset) -> bool {
    reset == Reset::Marks || !sandglass_sandbox::watching_works()
}

/// A worker of a campaign: a long-lived instance, and others for trials that want comparisons or are
/// run again for memory errors.
pub struct Worker {
    target: Arc<Target>,
    limits: Limits,
    fast: Sandbox,
    compares: Option<Sandbox>,
    heap: Option<Sandbox>,
    generator: Option<drawn::Generator>,
    /// For trials that need no counters.
    plain: Option<plain::Plain>,
    /// How what draws is built.
    drawing_build: Build,
    /// Whether bytes are a tape of choices: there is a generator, or the target is a property.
    draws: bool,
    /// How much of a tape may be read.
    choice_bytes_max: u32,
    /// Compare every so many trials with a fresh instance; 0 = never.
    paranoid: u64,
}

impl Worker {
    /// A worker for a campaign. On a guest thread only.
    pub fn new(target: &Arc<Target>, limits: &Limits, paranoid: u64) -> Result<Worker> {
        let mut worker = Worker {
            fast: target.sandbox(target.campaign_build(), limits)?,
            target: Arc::clone(target),
            limits: *limits,
            compares: None,
            heap: None,
            generator: None,
            plain: None,
            drawing_build: target.campaign_build(),
            draws: target.generator.is_some() || target.is_property(),
            choice_bytes_max: TAPE_BYTES_MAX,
            paranoid,
        };
        worker.generator = worker.new_generator()?;
        Ok(worker)
    }

    /// The same worker as `spec` needs it: without counters, if that looks at no coverage; with the
    /// place of each draw, if it wants that. A tape may be read up to `choice_bytes_max`. On a guest
    /// thread only.
    pub fn for_guidance(mut self, spec: &Spec, choice_bytes_max: u32) -> Result<Worker> {
        self.choice_bytes_max = choice_bytes_max;
        if !spec.coverage {
            self.plain = self.new_plain()?;
        }
        if spec.paths {
            self.drawing_build = Build::Paths;
            self.generator = self.new_generator()?;
            if self.target.is_property() {
                self.fast = self.target.sandbox(Build::Paths, &self.limits)?;
            }
        }
        Ok(self)
    }

    /// The fuel of each input, under this worker's limits.
    pub fn measure<'a>(&mut self, inputs: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u64>> {
        let interest = Interest::new(self.target_probes(), 0);
        inputs
            .map(|input| Ok(self.run(1, Variant::Fast, input, &interest, false)?.fuel))
            .collect()
    }

    /// Sets the fuel limit of later executions.
    pub fn set_fuel_limit(&mut self, fuel: u64) {
        self.limits.fuel = fuel;
        self.fast.set_fuel_limit(fuel);
        self.compares = None;
        self.heap = None;
        if let Some(generator) = &mut self.generator {
            generator.set_fuel_limit(fuel);
        }
        if let Some(plain) = &mut self.plain {
            plain.set_fuel_limit(fuel);
        }
    }

    /// Number of edge probes that are coverage.
    pub fn probes(&self) -> u32 {
        let of_generator = match (self.target.coverage, &self.generator) {
            (Coverage::All, Some(generator)) => generator.probes(),
            _ => 0,
        };
        self.target_probes() + of_generator
    }

    fn target_probes(&self) -> u32 {
        self.fast.program().probe_map().probes.len() as u32
    }

    fn compare(
        &mut self,
        trial: u64,
        variant: Variant,
        input: &[u8],
        outcome: &Outcome,
        interest: &Interest,
    ) -> Result<()> {
        let build = self.build(variant);
        let mut fresh = self.target.sandbox(build, &self.limits)?;
        let expected = fresh.run(input, interest, true);
        let used = self.sandbox(variant)?;
        let again = used.run(input, interest, true);
        let differs = used.difference().or_else(|| {
            let verdict = |outcome: &Outcome| {
                (
                    outcome.exit,
                    outcome.site,
                    outcome.fuel,
                    outcome.input_bytes,
                )
            };
            if verdict(outcome) != verdict(&expected) {
                Some(format!(
                    "verdict {:?}, of a fresh instance {:?}",
                    verdict(outcome),
                    verdict(&expected)
                ))
            } else if again != expected {
                Some("another trace than that of a fresh instance".to_owned())
            } else {
                None
            }
        });
        match differs {
            None => Ok(()),
            Some(differs) => Err(OurFault(format!(
                "{}: execution {trial} differs from a fresh instance: {differs}; input {}",
                show(Path::new(&self.target.module.path)),
                input[..input.len().min(SHOWN_BYTES)].escape_ascii()
            ))
            .into()),
        }
    }

    fn build(&self, variant: Variant) -> Build {
        match variant {
            Variant::Fast if self.target.is_property() => self.drawing_build,
            Variant::Fast => self.target.campaign_build(),
            Variant::Compares => Build::Compares,
            Variant::Heap => Build::Heap,
        }
    }

    fn sandbox(&mut self, variant: Variant) -> Result<&mut Sandbox> {
        let build = self.build(variant);
        let sandbox = match variant {
            Variant::Fast => return Ok(&mut self.fast),
            Variant::Compares => &mut self.compares,
            Variant::Heap => &mut self.heap,
        };
        if sandbox.is_none() {
            *sandbox = Some(self.target.sandbox(build, &self.limits)?);
        }
        Ok(sandbox.as_mut().expect("made above"))
    }
}

impl Worker {
    /// Runs the target on what it shall get.
    #[inline]
    fn run_target(
        &mut self,
        trial: u64,
        variant: Variant,
        input: &[u8],
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        if self.target.reset == Reset::Fresh {
            let build = self.build(variant);
            let fresh = self.target.sandbox(build, &self.limits)?;
            *self.sandbox(variant)? = fresh;
        }
        let outcome = self.sandbox(variant)?.run(input, interest, wants_detail);
        if self.paranoid > 0 && trial.is_multiple_of(self.paranoid) {
            self.compare(trial, variant, input, &outcome, interest)?;
        }
        Ok(outcome)
    }
}

impl Runner for Worker {
    #[inline]
    fn run(
        &mut self,
        trial: u64,
        variant: Variant,
        input: &[u8],
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        if self.draws {
            return self.run_tape(trial, variant, input, interest, wants_detail);
        }
        self.run_target(trial, variant, input, interest, wants_detail)
    }

    fn run_drawing(
        &mut self,
        trial: u64,
        variant: Variant,
        drawing: Drawing,
        interest: &Interest,
        wants_detail: bool,
    ) -> Result<Outcome> {
        if self.plain.is_some() && !wants_detail && variant == Variant::Fast {
            return self.draw_plain(trial, drawing, interest);
        }
        self.draw(trial, variant, drawing, interest, wants_detail)
    }
}

/// Replays inputs in the exact build. Compiled when first needed: most
/// campaigns begin long before their first finding.
pub struct Exact {
    target: Arc<Target>,
    build: Build,
    limits: Limits,
    sandbox: Option<Sandbox>,
    symbols: Option<Symbols>,
    generator: Option<Box<Exact>>,
}

impl Exact {
    /// For a target, under these limits.
    pub fn new(target: &Arc<Target>, limits: &Limits) -> Exact {
        Exact {
            build: target.exact_build(),
            target: Arc::clone(target),
            limits: *limits,
            sandbox: None,
            symbols: None,
            generator: None,
        }
    }

    /// The same for memory errors, whether or not all executions of the target are watched for them.
    pub fn watching(target: &Arc<Target>, limits: &Limits) -> Exact {
        Exact {
            build: Build::HeapExact,
            ..Exact::new(target, limits)
        }
    }

    /// Makes the instance now, not before the first replay. On a guest thread only.
    pub fn start(&mut self) -> Result<()> {
        self.exact_sandbox().map(|_| ())
    }

    /// Replays one input. On a guest thread only.
    pub fn replay(&mut self, input: &[u8]) -> Result<Replayed> {
        let sandbox = self.exact_sandbox()?;
        let replay = sandbox.replay(input);
        let fuel_exact = fuel_exact(sandbox, &replay.outcome, &replay.frames);
        Ok(Replayed {
            fuel_exact,
            ending: Ending {
                said: Said::of(replay.outcome.exit, &replay.stderr),
                ..self.ending_of(&replay.frames, replay.memory)
            },
            outcome: replay.outcome,
            stdout: replay.stdout,
            stderr: replay.stderr,
        })
    }

    fn ending_of(&mut self, frames: &[RawFrame], memory: Option<MemoryFault>) -> Ending {
        let memory = memory.map(|fault| {
            let block = fault.block.as_ref();
            let allocated = block.map_or(&[][..], |block| &block.allocated[..]);
            let freed = block.and_then(|block| block.freed.as_ref());
            Box::new(Memory {
                allocated: self.symbolise(allocated),
                freed: freed.map(|frames| self.symbolise(frames)),
                fault,
            })
        });
        Ending {
            frames: self.symbolise(frames),
            memory,
            said: None,
        }
    }

    fn symbolise(&mut self, raw: &[RawFrame]) -> Vec<Frame> {
        if raw.is_empty() {
            return Vec::new();
        }
        let wasm = &self.target.module.wasm;
        let symbols = self.symbols.get_or_insert_with(|| Symbols::new(wasm));
        raw.iter()
            .flat_map(|frame| symbolised(symbols, frame))
            .collect()
    }
}

impl Exact {
    /// How and where a finding ended.
    pub fn ending(&mut self, exit: Exit, detail: &Detail) -> Result<Ending> {
        match &detail.choices {
            // The input is known, so the generator need not make it again.
            Some(choices) if matches!(exit, Exit::Generator(_)) || self.target.is_property() => {
                Ok(self.replay_choices(choices)?.0.ending)
            }
            _ => Ok(self.replay(detail.target_input())?.ending),
        }
    }
}

/// Replays a campaign's findings, each in the variant in which it was seen.
pub struct Replays {
    exact: Exact,
    watching: Exact,
}

impl Replays {
    /// For a target, under these limits.
    pub fn new(target: &Arc<Target>, limits: &Limits) -> Replays {
        Replays {
            exact: Exact::new(target, limits),
            watching: Exact::watching(target, limits),
        }
    }
}

impl Replayer for Replays {
    fn ending(&mut self, variant: Variant, exit: Exit, detail: &Detail) -> Result<Ending> {
        match variant {
            Variant::Fast | Variant::Compares => self.exact.ending(exit, detail),
            Variant::Heap => self.watching.ending(exit, detail),
        }
    }
}

/// Why a heap cannot be watched, if it cannot.
pub(crate) fn unwatched(support: Option<HeapSupport>) -> Option<&'static str> {
    match support {
        None | Some(HeapSupport::Memory) => Some("no memory with 32-bit addresses"),
        Some(HeapSupport::NoNames) => Some(
            "no `malloc` and `free`, nor Rust's, among the names of its functions (a stripped module has none)",
        ),
        Some(HeapSupport::Ambiguous) => {
            Some("several functions are named `malloc` or `free`, and none is exported")
        }
        Some(HeapSupport::C | HeapSupport::Rust | HeapSupport::Both) => None,
    }
}

/// The fuel of a run without what its early end cut off.
fn fuel_exact(sandbox: &Sandbox, outcome: &Outcome, frames: &[RawFrame]) -> u64 {
    let cut_short = match outcome.exit {
        // These end between segments, or have more frames than are kept.
        Exit::Hang
        | Exit::StackOverflow
        | Exit::StackEnd
        | Exit::Generator(
            GeneratorFault::Hang | GeneratorFault::StackOverflow | GeneratorFault::StackEnd,
        ) => 0,
        _ => {
            let stack = frames.iter().filter_map(|frame| frame.offset);
            sandbox.program().probe_map().cut_short(stack)
        }
    };
    outcome.fuel - cut_short
}

fn symbolised(symbols: &Symbols, raw: &RawFrame) -> Vec<Frame> {
    let frames = raw.offset.map(|offset| symbols.frames(offset));
    frames
        .filter(|frames| !frames.is_empty())
        .unwrap_or_else(|| symbols.frames_of(raw.function))
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
        let cache = Cache::open(&folder).map_err(|error| anyhow!("{error}"));
        return cache.map(Some).context("SANDGLASS_CACHE");
    }
    let folder =
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    Ok(folder.and_then(|folder| Cache::open(&folder.join("sandglass")).ok()))
}

/// Refuses a finding of another module.
pub fn require_hash(module: &Module, finding: &Path, expected: &str) -> Result<()> {
    if module.hash == expected {
        return Ok(());
    }
    bail!(
        "{}: finding of another module: {} has hash {}, expected {expected}",
        show(finding),
        show(Path::new(&module.path)),
        module.hash
    )
}
