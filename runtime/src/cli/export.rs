//! `sandglass export`: a finding or an input as a test, a program, bytes or a bundle; a corpus as other
//! fuzzers keep theirs.
//!
//! What is exported is replayed first, so that what the export says of it is true of this module.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use sandglass_engine::choice::text::to_text;
use sandglass_instrument::accept::EntryKind;
use sandglass_sandbox::{Limits, on_guest_thread};

use super::args::{GuestArgs, LimitArgs};
use super::case::{Case, exact_for, read_bytes, read_case};
use super::profile::refuse_property;
use crate::config::{require_empty, wanted_limits};
use crate::corpora::{self, Tool};
use crate::error::{exit_code, io, printable, show, with_next};
use crate::export::bundle::Bundle;
use crate::export::{Exported, c, file_name, rust};
use crate::inputs;
use crate::report::Sink;
use crate::report::plain::{number, plural};
use crate::shell::quote_path;
use crate::store::finding::{FindingRecord, repro_bare, repro_command};
use crate::target::{Exact, MEMORY_BYTES_MAX, Module, Replayed, Target};

/// `sandglass export`
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The module
    pub target: PathBuf,
    /// A finding's folder or an input; for a corpus, folders of inputs or of campaigns
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// What to make of it
    #[arg(long = "as", value_name = "FORMAT", value_enum)]
    pub format: Format,
    /// The function that the test calls with the bytes, as in my_crate::parse
    #[arg(long, value_name = "PATH", required_if_eq("format", "rust-test"))]
    pub call: Option<String>,
    /// Where it goes: a file [default: KIND-KEY with an ending], or for a corpus a new folder
    #[arg(long, value_name = "PATH", required_if_eq_any([
        ("format", "libfuzzer"), ("format", "afl"), ("format", "honggfuzz"), ("format", "go"),
    ]))]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// See [`ExportArgs::format`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A test for `cargo test` that calls the function of --call
    RustTest,
    /// A program in C or C++ that calls LLVMFuzzerTestOneInput
    C,
    /// The input as it is
    Bytes,
    /// One file with the module, the input, and how it ends, for `sandglass repro`
    Bundle,
    /// A corpus of libFuzzer and cargo-fuzz
    Libfuzzer,
    /// Inputs for AFL and AFL++
    Afl,
    /// A corpus of honggfuzz
    Honggfuzz,
    /// A corpus of Go's, for testdata/fuzz/NAME
    Go,
}

impl Format {
    fn tool(self) -> Option<Tool> {
        match self {
            Format::RustTest | Format::C | Format::Bytes | Format::Bundle => None,
            Format::Libfuzzer => Some(Tool::LibFuzzer),
            Format::Afl => Some(Tool::Afl),
            Format::Honggfuzz => Some(Tool::Honggfuzz),
            Format::Go => Some(Tool::Go),
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Format::RustTest => ".rs",
            Format::C => ".c",
            Format::Bundle => ".bundle",
            _ => "",
        }
    }
}

pub(super) fn run(args: ExportArgs) -> Result<u8> {
    let module = Module::read(&args.target, MEMORY_BYTES_MAX)?;
    if let Some(tool) = args.format.tool() {
        return corpus(&args, tool);
    }
    let [file] = &args.files[..] else {
        return Err(with_next(
            format!(
                "{} files: expected one, a single finding or input",
                args.files.len()
            ),
            "the same command for each of them",
        ));
    };
    let mut case = read_case(file, &module, &args.guest)?;
    if !case.needs_choices(&module) {
        case.choices = None;
    }
    refuse_choices(&args, &module, &case)?;
    let (target, limits) = exact_for(&case, &module, &args.target, &args.guest)?;
    let (replayed, shown) =
        on_guest_thread(|| case.replay(&mut Exact::new(&target, &limits), &target))?;
    if let Some(shown) = shown.filter(|_| case.record.is_none()) {
        case.input = shown.input;
    }
    let record = record(&case, &target, &limits, &replayed);
    let out = match &args.out {
        Some(out) => out.clone(),
        None => PathBuf::from(file_name(&record) + args.format.ending()),
    };
    let bytes = bytes(&args, &case, &target, &record, &replayed);
    fs::write(&out, &bytes).map_err(|e| io(&out, "write", &e))?;
    let mut sink = Sink::stdout();
    sink.line(&format!(
        "{}: {} ({})",
        show(&out),
        printable(&record.title),
        plural(bytes.len() as u64, "byte")
    ));
    if args.format == Format::Bundle {
        sink.line(&format!("    replay: sandglass repro {}", quote_path(&out)));
    }
    Ok(exit_code::FINE)
}

/// Bytes that say nothing without the sandbox, and programs without a harness to call.
fn refuse_choices(args: &ExportArgs, module: &Module, case: &Case) -> Result<()> {
    let as_bundle = "the same command with --as bundle";
    if args.format != Format::Bundle && case.choices.is_some() {
        return Err(with_next(
            format!(
                "{}: choices, which only the sandbox can give to anybody",
                show(&case.path)
            ),
            as_bundle,
        ));
    }
    let is_source = matches!(args.format, Format::RustTest | Format::C);
    if args.format == Format::C && module.facts.target() == Ok(EntryKind::Command) {
        return Err(with_next(
            format!(
                "{}: a command, which has no LLVMFuzzerTestOneInput to call",
                show(&args.target)
            ),
            "the same command with --as bytes, for its standard input",
        ));
    }
    if let (true, Some(call)) = (is_source, &args.call)
        && !rust::is_path(call)
    {
        bail!("--call {call}: not the path of a function, expected one as in my_crate::parse");
    }
    Ok(())
}

/// What is true of it here and now; where it was found stays.
fn record(case: &Case, target: &Target, limits: &Limits, replayed: &Replayed) -> FindingRecord {
    let outcome = &replayed.outcome;
    let now = crate::replayed::record(
        &case.input,
        case.choices.as_ref(),
        (target, limits),
        replayed,
    );
    let Some(found) = &case.record else {
        return now;
    };
    let found = found.clone();
    let is_slow = found.kind == "slow" && !outcome.exit.is_finding();
    FindingRecord {
        kind: if is_slow { found.kind } else { now.kind },
        key: if is_slow { found.key } else { now.key },
        title: if is_slow { found.title } else { now.title },
        expected: found.expected,
        budget: found.budget,
        made_by: found.made_by,
        guidance: found.guidance,
        seed: found.seed,
        trial: found.trial,
        ..now
    }
}

/// What goes into the file.
fn bytes(
    args: &ExportArgs,
    case: &Case,
    target: &Target,
    record: &FindingRecord,
    replayed: &Replayed,
) -> Vec<u8> {
    let stack = replayed.ending.lines();
    let exported = Exported {
        record,
        input: &case.input,
        stack: &stack,
        command: match &case.record {
            None => repro_bare(&args.target.to_string_lossy(), &case.path, &target.options),
            Some(_) => repro_command(&args.target.to_string_lossy(), &case.path),
        },
    };
    match args.format {
        Format::RustTest => {
            let call = args.call.as_deref().expect("clap asks for it");
            rust::rust(&exported, call).into_bytes()
        }
        Format::C => c::c(&exported, &target.module.wasm).into_bytes(),
        Format::Bundle => bundle(args, case, target, record, stack).to_bytes(),
        Format::Bytes => case.input.clone(),
        Format::Libfuzzer | Format::Afl | Format::Honggfuzz | Format::Go => {
            unreachable!("a corpus has many files")
        }
    }
}

fn bundle(
    args: &ExportArgs,
    case: &Case,
    target: &Target,
    record: &FindingRecord,
    stack: Vec<String>,
) -> Bundle {
    let generator = target.generator.as_ref().map(|generator| &generator.module);
    let other = generator.filter(|generator| generator.hash != target.module.hash);
    let name = args.target.file_name().unwrap_or_default();
    Bundle {
        record: record.clone(),
        stack,
        target_name: name.to_string_lossy().into_owned(),
        target: target.module.wasm.clone(),
        generator: other.map(|generator| generator.wasm.clone()),
        input: case.input.clone(),
        choices: case.choices.as_ref().map(to_text),
    }
}

fn corpus(args: &ExportArgs, tool: Tool) -> Result<u8> {
    let limits = wanted_limits(&args.guest.limits)?.limits;
    // Nothing else is wanted of the target, which need not be there.
    if let Ok(module) = Module::read(&args.target, MEMORY_BYTES_MAX) {
        refuse_property(&module, &args.target)?;
    }
    let read = read_bytes(&args.files, limits.input_bytes.into())?;
    let out = args.out.as_ref().expect("clap asks for it");
    require_empty(out)?;
    let mut sink = Sink::stdout();
    for warning in &read.warnings {
        sink.line(&format!("warning: {warning}"));
    }
    let mut names = BTreeSet::new();
    for (at, input) in read.inputs.iter().enumerate() {
        let (name, bytes) = corpora::export(tool, at, &input.bytes);
        let path = out.join(&name);
        fs::write(&path, bytes).map_err(|e| io(&path, "write", &e))?;
        names.insert(name);
    }
    sink.line(&format!(
        "{}: {} for {}",
        show(out),
        plural(names.len() as u64, "input"),
        tool.name()
    ));
    Ok(exit_code::FINE)
}

/// `sandglass import`
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Folders of the other tool
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Which tool
    #[arg(long, value_name = "TOOL", value_enum)]
    pub from: From,
    /// Where the inputs go; what is there stays
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Size of an input
    #[arg(long = "max-len", value_name = "BYTES", value_parser = crate::campaign::budget::parse_bytes)]
    pub max_len: Option<u64>,
}

/// See [`ImportArgs::from`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum From {
    /// libFuzzer and cargo-fuzz: a folder of inputs
    Libfuzzer,
    /// AFL and AFL++: the output folder, or its queue, crashes or hangs
    Afl,
    /// honggfuzz: its workspace
    Honggfuzz,
    /// Go: a folder of testdata/fuzz, or of its cache
    Go,
    /// Hypothesis: .hypothesis/examples; tests of one value of bytes or text
    Hypothesis,
    /// JQF: its output folder; seeds for zest and a generator that draws as JQF's does
    Jqf,
}

pub(super) fn import(args: ImportArgs) -> Result<u8> {
    let tool = match args.from {
        From::Libfuzzer => Tool::LibFuzzer,
        From::Afl => Tool::Afl,
        From::Honggfuzz => Tool::Honggfuzz,
        From::Go => Tool::Go,
        From::Hypothesis => Tool::Hypothesis,
        From::Jqf => Tool::Jqf,
    };
    let wanted = LimitArgs {
        max_len: args.max_len,
        ..LimitArgs::default()
    };
    let limits = wanted_limits(&wanted)?.limits;
    if args.out.join("campaign.toml").exists() {
        return Err(with_next(
            format!(
                "{}: a campaign's folder, whose corpus it writes itself",
                show(&args.out)
            ),
            "the same command with --out NEW_FOLDER, to begin a campaign with",
        ));
    }
    let read = inputs::read_all(&args.folders, limits.input_bytes.into())?;
    let (inputs, warnings) = corpora::import(tool, read);
    let mut sink = Sink::stdout();
    for warning in &warnings {
        sink.line(&format!("warning: {}", crate::error::printable(warning)));
    }
    if inputs.is_empty() {
        bail!("{}: no inputs of {}", show(&args.folders[0]), tool.name());
    }
    fs::create_dir_all(&args.out).map_err(|e| io(&args.out, "create the folder", &e))?;
    let mut written = 0;
    for input in &inputs {
        let path = args.out.join(crate::store::input_name(input));
        if !path.exists() {
            fs::write(&path, input).map_err(|e| io(&path, "write", &e))?;
            written += 1;
        }
    }
    sink.line(&format!(
        "{}: {} from {}, {} new",
        show(&args.out),
        plural(inputs.len() as u64, "input"),
        tool.name(),
        number(written)
    ));
    Ok(exit_code::FINE)
}
