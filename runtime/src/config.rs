//! What a campaign may be: arguments, checked once.
//!
//! In: the plain structs of `cli/args.rs`. Out: a [`CampaignConfig`], which
//! holds only what can be run. Everything wrong with an invocation, short of
//! what the module itself does, is found here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use sandglass_engine::guidance::{InputKind, sandglass};
use sandglass_engine::{ALL, Seed, SettingKind, Settings, Spec, Token, dictionary, find};
use sandglass_instrument::CostModel;
use sandglass_sandbox::{FUEL_LIMIT_MAX, Limits, Options};

use crate::campaign::budget::{Budget, StopAt};
use crate::campaign::limits::WantedLimits;
use crate::cli::args::{
    CostArg, CoverageArg, FuzzArgs, GuestArgs, LimitArgs, ResetArg, SanitizeArg,
};
use crate::error::{show, with_next};
use crate::inputs;
use crate::join::Place;
use crate::seeds::{self, Beginner};
use crate::shell::quote;
use crate::store::record::{
    BudgetRecord, GeneratorRecord, GuidanceRecord, JoinRecord, Record, StartRecord, TargetRecord,
};
use crate::target::{
    Coverage, MEMORY_BYTES_MAX, Module, Reset, check_watchable, needs_marks, support, unwatched,
};

/// Threads at most: beyond it somebody mistyped.
pub(crate) const WORKERS_MAX: usize = 256;

/// A dictionary's size at most.
const DICT_BYTES_MAX: u64 = 16 << 20;

/// Size of a file that a setting is read from at most.
const SETTING_BYTES_MAX: u64 = 1 << 20;

/// A campaign that can be run.
#[derive(Debug)]
pub struct CampaignConfig {
    /// The module.
    pub module: Module,
    /// Who makes its inputs: another module, or the same one again.
    pub generator: Option<Module>,
    /// How it is called.
    pub options: Options,
    /// How it is put back.
    pub reset: Reset,
    /// Its limits.
    pub wanted: WantedLimits,
    /// Who chooses inputs.
    pub guidance: &'static Spec,
    /// Settings of the guidance.
    pub settings: BTreeMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// When an input counts as slow.
    pub slow_factor: u64,
    /// How much one trial may draw, in bytes of JQF's encoding.
    pub choice_bytes_max: u32,
    /// Inputs to start from.
    pub inputs: Vec<Seed>,
    /// The user's tokens.
    pub tokens: Vec<Token>,
    /// When to stop.
    pub budget: Budget,
    /// Threads.
    pub workers: usize,
    /// Whether what enters the corpus, and a share of the rest, is run again for memory errors.
    pub reruns: bool,
    /// Whether the user asked for that, and is to be told if it cannot be done.
    pub wants_reruns: bool,
    /// Compare every so many executions with a fresh instance; 0 = never.
    pub paranoid: u64,
    /// Whose edges are coverage.
    pub coverage: Coverage,
    /// The campaign's folder.
    pub out: PathBuf,
    /// Where it meets others, if it does.
    pub join: Option<Place>,
    /// Whether it is a check's, which the next check removes.
    pub of_check: bool,
    /// What the user should know, for example inputs that were left out.
    pub warnings: Vec<String>,
}

impl CampaignConfig {
    /// Checks the arguments of `sandglass fuzz`.
    pub fn new(args: FuzzArgs) -> Result<CampaignConfig> {
        let named = named_guidance(args.guidance.as_deref())?;
        let mut settings = settings(&args.settings)?;
        check_workers(args.workers)?;
        let wanted = wanted_limits(&args.guest.limits)?;
        let module = Module::read(&args.target, wanted.limits.memory_bytes)?;
        let generator = read_generator(&args.guest, &module, wanted.limits.memory_bytes)?;
        let guidance = guidance(named, &module, generator.is_some())?;
        read_settings(guidance, &mut settings)?;
        check_settings(guidance, &settings)?;
        if args.plateau.is_some() && !guidance.coverage {
            return Err(with_next(
                format!(
                    "--plateau: {} looks at no coverage, so there is nothing to wait for",
                    guidance.name
                ),
                "the same command with --execs N or --time DURATION",
            ));
        }
        // Bytes go straight to a target that takes them, unless a generator was named to read them.
        let is_wanted = guidance.input == InputKind::Choices || args.guest.generator.is_some();
        let generator = generator.filter(|_| is_wanted);
        let join = join(args.join.as_deref(), guidance, generator.is_some())?;
        let coverage = coverage(args.coverage, generator.is_some())?;
        let bytes_max = u64::from(wanted.limits.input_bytes);
        let beginner = Beginner {
            spec: guidance,
            settings: &settings,
            has_generator: generator.is_some(),
            input_bytes_max: bytes_max,
        };
        let seeds = seeds::read(&beginner, &args.corpus, &args.texts)?;
        let reset = reset(args.guest.reset);
        let guest = &args.guest;
        let reruns = reruns(guest.sanitize, &module, reset, &guest.allocator)?;
        let mut warnings = seeds.warnings;
        if guest.sanitize.is_none() && !reruns && could_rerun(&module, reset) {
            warnings.push(NO_RERUNS.to_owned());
        }
        warnings.extend(unseen_argument(guest, &module));
        Ok(CampaignConfig {
            reruns,
            wants_reruns: guest.sanitize.is_some() || !guest.allocator.is_empty(),
            out: args.out.unwrap_or_else(|| default_folder(&args.target)),
            options: options(&args.guest, &args.target),
            reset,
            wanted,
            guidance,
            settings,
            seed: args.seed,
            slow_factor: args.slow_factor,
            choice_bytes_max: bounded(
                "--max-choices",
                args.max_choices,
                u64::from(guidance.choice_bytes_max()),
                1,
                1 << 24,
            )? as u32,
            inputs: seeds.inputs,
            tokens: match &args.dict {
                Some(path) => read_dictionary(path)?,
                None => Vec::new(),
            },
            budget: Budget {
                execs: args.execs,
                time: args.time,
                plateau: args.plateau,
                stop_at: StopAt::all(args.stop_at_finding),
            },
            workers: args.workers,
            paranoid: args.paranoid,
            join,
            of_check: false,
            warnings,
            coverage,
            generator,
            module,
        })
    }

    /// What goes into `campaign.toml`, with a fuel limit unless the user gave
    /// another.
    pub fn record(&self, fuel: u64) -> Record {
        Record {
            target: TargetRecord {
                path: self.module.path.clone(),
                hash: self.module.hash.clone(),
                args: self.options.args.iter().skip(1).cloned().collect(),
                stub_imports: self.options.stub_imports,
                sanitize_heap: self.options.sanitize_heap,
                sanitize_sample: self.reruns,
                allocator: self.options.allocator.clone(),
                cost_model: self.options.cost,
            },
            generator: self.generator.as_ref().map(|generator| GeneratorRecord {
                path: generator.path.clone(),
                hash: generator.hash.clone(),
                covered: self.coverage == Coverage::All,
            }),
            guidance: GuidanceRecord {
                name: self.guidance.name.to_owned(),
                seed: self.seed,
                slow_factor: self.slow_factor,
                choice_bytes: self.choice_bytes_max,
                settings: self.settings.clone(),
            },
            start: StartRecord {
                inputs: self.inputs.len() as u64,
                inputs_hash: seeds::hash(&self.inputs),
                tokens: self.tokens.len() as u64,
                tokens_hash: hash_all(self.tokens.iter().map(|token| &token.bytes[..])),
            },
            limits: self.wanted.with_fuel(fuel),
            join: self.join.as_ref().map(|place| JoinRecord {
                exchange: place.to_string(),
                worker: String::new(),
            }),
            of_check: self.of_check,
            budget: BudgetRecord {
                execs: self.budget.execs,
                time_ms: self.budget.time.map(|time| time.as_millis() as u64),
                plateau: self.budget.plateau,
            },
        }
    }
}

/// Of a function's arguments, which it hardly ever reads, one that was meant for somebody else.
fn unseen_argument(guest: &GuestArgs, module: &Module) -> Option<String> {
    let is_flag = |arg: &str| arg.strip_prefix('-').is_some_and(|flag| flag.contains('='));
    let is_meant = |arg: &&String| *arg == "@@" || is_flag(arg);
    let arg = guest.args.iter().find(is_meant)?;
    (!module.is_command()).then(|| {
        format!(
            "{arg}: an argument of the target, which is a function and gets the input in memory; libFuzzer's flags are for \
             `--compat libfuzzer -- FLAGS`, and here `--execs N` or `--time 60s` ends a campaign"
        )
    })
}

/// How a guest is called: its name first, as programs expect.
pub fn options(guest: &GuestArgs, target: &Path) -> Options {
    let name = target
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Options {
        args: std::iter::once(name)
            .chain(guest.args.iter().cloned())
            .collect(),
        env: Vec::new(),
        files: Vec::new(),
        stub_imports: guest.stub_imports,
        sanitize_heap: guest.sanitize == Some(SanitizeArg::Heap),
        allocator: guest.allocator.clone(),
        generator: false,
        cost: cost_model(guest).unwrap_or_default(),
    }
}

/// What fuel counts, if that was said.
pub fn cost_model(guest: &GuestArgs) -> Option<CostModel> {
    guest.cost_model.map(|model| match model {
        CostArg::Plain => CostModel::Plain,
        CostArg::Native => CostModel::Native,
    })
}

/// What the same command does differently where resets need marks.
const NO_RERUNS: &str = "memory errors are not looked for, because nothing but page protection puts back what that needs; a campaign where it works is another one, unless both have --sanitize none";

/// Whether the module would be watched where resets do not need marks.
fn could_rerun(module: &Module, reset: Reset) -> bool {
    needs_marks(reset) && support(module, &[]).is_ok_and(|support| unwatched(support).is_none())
}

/// Whether a campaign runs a sample again for memory errors: by default where it can.
pub fn reruns(
    arg: Option<SanitizeArg>,
    module: &Module,
    reset: Reset,
    allocator: &[String],
) -> Result<bool> {
    let can = || check_watchable(module, reset, allocator, "sample");
    match arg {
        Some(SanitizeArg::Heap | SanitizeArg::None | SanitizeArg::Undefined) => Ok(false),
        // Who gives an allocator wants it watched.
        None if allocator.is_empty() => Ok(can().is_ok()),
        Some(SanitizeArg::Sample) | None => can().map(|()| true),
    }
}

/// Where to meet others. What is exchanged is what a target gets, or choices: not bytes that a generator
/// reads as choices.
fn join(text: Option<&str>, guidance: &Spec, has_generator: bool) -> Result<Option<Place>> {
    let Some(text) = text else { return Ok(None) };
    if guidance.input == InputKind::Bytes && has_generator {
        return Err(with_next(
            format!(
                "--join: {} makes bytes for a generator, expected choices, or bytes for the target itself",
                guidance.name
            ),
            "the same command without --guidance, or without --generator",
        ));
    }
    Place::parse(text).map(Some)
}

fn coverage(arg: CoverageArg, has_generator: bool) -> Result<Coverage> {
    match arg {
        CoverageArg::Target => Ok(Coverage::Target),
        CoverageArg::All if has_generator => Ok(Coverage::All),
        CoverageArg::All => Err(with_next(
            "--coverage all: no generator makes the inputs, so there is only the target".to_owned(),
            "the same command with --generator GENERATOR.wasm, or without --coverage",
        )),
    }
}

/// How a guest is put back.
pub fn reset(arg: ResetArg) -> Reset {
    match arg {
        ResetArg::Hot => Reset::Hot,
        ResetArg::Marks => Reset::Marks,
        ResetArg::Fresh => Reset::Fresh,
    }
}

/// The limits that were asked for, within what is possible.
pub fn wanted_limits(args: &LimitArgs) -> Result<WantedLimits> {
    let standard = Limits::STANDARD;
    let limits = Limits {
        memory_bytes: bounded(
            "--memory",
            args.memory,
            standard.memory_bytes,
            64 << 10,
            MEMORY_BYTES_MAX,
        )?,
        call_depth: bounded(
            "--depth",
            args.depth.map(u64::from),
            u64::from(standard.call_depth),
            1,
            1_000_000,
        )? as u32,
        output_bytes: bounded(
            "--output",
            args.output,
            u64::from(standard.output_bytes),
            0,
            1 << 30,
        )? as u32,
        input_bytes: bounded(
            "--max-len",
            args.max_len,
            u64::from(standard.input_bytes),
            1,
            1 << 30,
        )? as u32,
        ..standard
    };
    let fuel = match args.fuel {
        Some(_) => Some(bounded("--fuel", args.fuel, 0, 1, FUEL_LIMIT_MAX)?),
        None => None,
    };
    Ok(WantedLimits { limits, fuel })
}

fn bounded(flag: &str, given: Option<u64>, default: u64, min: u64, max: u64) -> Result<u64> {
    let value = given.unwrap_or(default);
    if !(min..=max).contains(&value) {
        bail!("{flag} {value}: out of range, expected {min} to {max}");
    }
    Ok(value)
}

/// The module that makes a target's inputs: the one that was named, or the
/// target's own, if it has a generator beside its entry point.
pub fn read_generator(
    guest: &GuestArgs,
    module: &Module,
    memory_bytes: u64,
) -> Result<Option<Module>> {
    match &guest.generator {
        Some(_) if module.is_property() => Err(with_next(
            format!(
                "{}: a property makes its data itself; --generator is for a target of bytes",
                show(Path::new(&module.path))
            ),
            "the same command without --generator",
        )),
        Some(path) => Module::read(path, memory_bytes).map(Some),
        None => {
            let is_generated = module.has_generator() && !module.is_property();
            Ok(is_generated.then(|| module.clone()))
        }
    }
}

/// The guidance of a campaign: the one that was named, or the first for what
/// the target takes.
pub fn guidance(
    named: Option<&'static Spec>,
    module: &Module,
    has_generator: bool,
) -> Result<&'static Spec> {
    let (draws, target) = (
        has_generator || module.is_property(),
        Path::new(&module.path),
    );
    let wanted = if draws {
        InputKind::Choices
    } else {
        InputKind::Bytes
    };
    // `sandglass` is ours for whatever the target takes.
    let named = named.filter(|spec| !draws || spec.name != sandglass::SPEC.name);
    let first = ALL.iter().copied().find(|spec| spec.input == wanted);
    let spec = named.or(first).expect("there is one of each kind");
    if spec.input == InputKind::Choices && !draws {
        return Err(with_next(
            format!(
                "--guidance {}: makes choices, and {} has no generator to give them to",
                spec.name,
                show(target)
            ),
            "the same command with --generator GENERATOR.wasm",
        ));
    }
    Ok(spec)
}

/// A guidance by name.
pub fn named_guidance(name: Option<&str>) -> Result<Option<&'static Spec>> {
    let Some(name) = name else { return Ok(None) };
    let Some(spec) = find(name) else {
        let names: Vec<&str> = ALL.iter().map(|spec| spec.name).collect();
        return Err(with_next(
            format!(
                "--guidance {name}: no such guidance, expected one of: {}",
                names.join(", ")
            ),
            "sandglass list",
        ));
    };
    Ok(Some(spec))
}

fn settings(given: &[String]) -> Result<BTreeMap<String, String>> {
    let mut settings = BTreeMap::new();
    for text in given {
        let Some((key, value)) = text.split_once('=') else {
            bail!("--set {text}: no `=`, expected KEY=VALUE");
        };
        if let Some(old) = settings.insert(key.to_owned(), value.to_owned()) {
            bail!("--set {text}: `{key}` was already set to `{old}`, expected it once");
        }
    }
    Ok(settings)
}

/// A setting that is text may be in a file: `KEY=@FILE`.
fn read_settings(spec: &Spec, settings: &mut BTreeMap<String, String>) -> Result<()> {
    for setting in spec.settings {
        let Some(value) = settings.get_mut(setting.name) else {
            continue;
        };
        let path = value.strip_prefix('@').filter(|path| !path.is_empty());
        if let (SettingKind::Text { .. }, Some(path)) = (setting.kind, path) {
            *value = read_setting(Path::new(path))?;
        }
    }
    Ok(())
}

fn read_setting(path: &Path) -> Result<String> {
    let bytes = inputs::read_file(path, SETTING_BYTES_MAX)?;
    let Ok(text) = String::from_utf8(bytes) else {
        bail!("{}: not text, expected UTF-8", show(path));
    };
    Ok(text)
}

fn check_settings(spec: &Spec, settings: &BTreeMap<String, String>) -> Result<()> {
    if let Err(error) = Settings::new(spec.settings, settings) {
        return Err(with_next(
            format!("--set: {error}"),
            format!("sandglass list {}", spec.name),
        ));
    }
    Ok(())
}

fn check_workers(workers: usize) -> Result<()> {
    if !(1..=WORKERS_MAX).contains(&workers) {
        bail!("--workers {workers}: out of range, expected 1 to {WORKERS_MAX}");
    }
    Ok(())
}

fn read_dictionary(path: &Path) -> Result<Vec<Token>> {
    let text = inputs::read_file(path, DICT_BYTES_MAX)?;
    dictionary::parse(&text).map_err(|error| {
        with_next(
            format!("{}: not a dictionary: {error}", show(path)),
            "one entry a line, as in: name=\"text\"",
        )
    })
}

fn hash_all<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex().to_string()
}

/// The default folder of a campaign: `a/t.wasm` gives `t.sandglass`, here.
pub fn default_folder(target: &Path) -> PathBuf {
    let mut name = target.file_stem().unwrap_or_default().to_owned();
    name.push(".sandglass");
    name.into()
}

/// A new or empty folder for results; errs if it holds anything.
pub fn require_empty(folder: &Path) -> Result<()> {
    match fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(crate::error::io(folder, "read the folder", &e)),
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(with_next(
                    format!("{}: not empty, expected a new folder", show(folder)),
                    format!(
                        "the same command with --out {}",
                        quote(&format!("{}.2", folder.to_string_lossy()))
                    ),
                ));
            }
        }
    }
    fs::create_dir_all(folder).map_err(|e| crate::error::io(folder, "create the folder", &e))
}
