//! The command line as clap sees it: plain structs, nothing checked beyond the
//! form of each value. `config.rs` turns them into what a campaign may be.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{EnumValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::audit::AuditArgs;
use super::build::BuildArgs;
use super::export::{ExportArgs, ImportArgs};
use super::init::InitArgs;
use super::manual::{CompletionsArgs, ManArgs};
use super::report::ReportArgs;
use super::run::RunArgs;
use super::serve::ServeArgs;
use super::submit::SubmitArgs;
use super::triage::TriageArgs;
use super::worker::WorkerArgs;
use crate::campaign::budget::{parse_bytes, parse_count, parse_duration};

/// A fuzzing runtime for WebAssembly modules.
#[derive(Debug, Parser)]
#[command(
    name = "sandglass",
    bin_name = "sandglass",
    version,
    about,
    after_help = "Exit codes: 0 fine, 1 findings were made (slow inputs alone do not count), 2 wrong invocation or unusable module, 3 our own fault.",
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a campaign: look for inputs that break a module
    Fuzz(FuzzArgs),
    /// Replay inputs or findings exactly: outcome, stack, output, fuel
    Repro(ReproArgs),
    /// Show what an input is: the choices it was made of, what it says, how it ends
    Show(ShowArgs),
    /// Show which bytes of an input decide what: comparisons, branches, addresses
    Depends(DependsArgs),
    /// Find the smallest input with the same finding
    Min(MinArgs),
    /// Find the smallest corpus with the same coverage
    Cmin(CminArgs),
    /// Of large data sets, find the few rows that cover what all of them do
    Rows(RowsArgs),
    /// Show which lines, functions and branches of the source a corpus reaches
    Cover(CoverArgs),
    /// Show what inputs cost: the law by which it grows when a part is repeated, or a profile
    Perf(PerfArgs),
    /// Compare two builds of one target on a corpus: verdicts, cost, coverage; a gate for CI
    Compare(CompareArgs),
    /// Show findings by how bad they are, and write down what is to be thought of them
    Triage(TriageArgs),
    /// Replay all that is known, then run a fixed number of executions: the gate for CI
    Check(CheckArgs),
    /// Make a page of a campaign: how it went, what it found, what it kept
    Report(ReportArgs),
    /// Show campaigns as a web page on this machine while they run
    Serve(ServeArgs),
    /// Make a test, a program, a bundle or bytes of a finding; or a corpus for another fuzzer
    Export(ExportArgs),
    /// Take the inputs out of another fuzzer's folders
    Import(ImportArgs),
    /// Show what a module is: entry point, imports, features, probes
    Inspect(InspectArgs),
    /// List guidances, or the settings of one
    List(ListArgs),
    /// Begin: a small project in a language, with a planted fault to find
    Init(InitArgs),
    /// Build a target: of a cargo-fuzz project, or from sources in C, C++, Zig, AssemblyScript or Go
    Build(BuildArgs),
    /// Run somebody else's program on somebody else's bytes, in a box
    Run(RunArgs),
    /// Fuzz a built-in guest with a planted bug and show what comes of it
    Demo(DemoArgs),
    /// Do finite jobs for campaigns that meet somewhere
    Worker(WorkerArgs),
    /// Ask workers for a finite job: minimise, replay, distil, cover
    Submit(SubmitArgs),
    /// Run what campaigns offered each other again, and compare it with what they claim
    Audit(AuditArgs),
    /// Print the completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page of the program or of a verb
    Man(ManArgs),
}

/// `sandglass fuzz`
#[derive(Debug, Args)]
pub struct FuzzArgs {
    /// The module to fuzz
    pub target: PathBuf,
    /// Folders of inputs to start from
    pub corpus: Vec<PathBuf>,
    /// Beside what a generator makes: a folder of files as the target reads them, to start from; may be repeated
    #[arg(long, value_name = "DIR")]
    pub texts: Vec<PathBuf>,
    /// Who chooses the inputs (see `sandglass list`)
    #[arg(long, value_name = "NAME")]
    pub guidance: Option<String>,
    /// A setting of the guidance; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// The campaign's seed: the same seed gives the same campaign
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// End after this many executions, counted over all sessions
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub execs: Option<u64>,
    /// End after this time: 5s, 2m, 1h
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub time: Option<Duration>,
    /// End after this many executions without new coverage
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub plateau: Option<u64>,
    /// End with the first batch that makes a finding, as other fuzzers do; slow inputs are none
    #[arg(long)]
    pub stop_at_finding: bool,
    /// Threads, or `auto` for as many as there are processors; the result does not depend on their number
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_workers)]
    pub workers: usize,
    /// A dictionary in the format of AFL and libFuzzer
    #[arg(long, value_name = "FILE")]
    pub dict: Option<PathBuf>,
    /// Whose edges are coverage
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t)]
    pub coverage: CoverageArg,
    /// The campaign's folder [default: TARGET.sandglass]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Meet other campaigns in a folder, or at nats://HOST:PORT/CAMPAIGN: offer what this one finds, take what they find
    #[arg(long, value_name = "WHERE")]
    pub join: Option<String>,
    /// One JSON object a line, the last one is the summary
    #[arg(long)]
    pub json: bool,
    /// Lines and no status screen, on a terminal too
    #[arg(long, conflicts_with = "json")]
    pub plain: bool,
    /// Take the arguments after `--`, name files and end as another fuzzer does
    #[arg(long, value_name = "FUZZER", value_enum, conflicts_with_all = ["json", "plain"])]
    pub compat: Option<CompatArg>,
    /// An input is slow when its fuel exceeds N times what its size explains; 0 = never
    #[arg(long = "slow-factor", value_name = "N", default_value_t = 100)]
    pub slow_factor: u64,
    /// Choices of an input, in bytes' worth of JQF's encoding [default: 10240 for published guidances, else 64K]
    #[arg(long = "max-choices", value_name = "BYTES", value_parser = parse_bytes, help_heading = "Limits")]
    pub max_choices: Option<u64>,
    /// Compare every Nth execution with a fresh instance; 0 = never
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_count)]
    pub paranoid: u64,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// See [`FuzzArgs::compat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompatArg {
    /// libFuzzer: -runs=N and the like, crash-SHA1, exit codes 77, 70, 71 and 72
    Libfuzzer,
}

/// See [`FuzzArgs::coverage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CoverageArg {
    /// Those of the target
    #[default]
    Target,
    /// Those of the generator, too, as in the papers of Zest and BeDivFuzz
    All,
}

/// What one execution may take.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArgs {
    /// Fuel of one execution [default: 1000 times the median of the seeds, 4 times the dearest, and 100M at least; for `run` 4000M]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Limits")]
    pub fuel: Option<u64>,
    /// Memory of the guest [default: 256M]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Limits")]
    pub memory: Option<u64>,
    /// Depth of calls, of functions that can recurse [default: 10000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub depth: Option<u32>,
    /// Bytes written to standard output and error [default: 1M]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Limits")]
    pub output: Option<u64>,
    /// Size of an input [default: 1M]
    #[arg(long = "max-len", value_name = "BYTES", value_parser = parse_bytes, help_heading = "Limits")]
    pub max_len: Option<u64>,
}

/// How a guest is called and limited: common to all verbs that run one.
#[derive(Clone, Debug, Default, Args)]
pub struct GuestArgs {
    /// Who makes inputs of choices [default: the target's own generator, if it has one]
    #[arg(long, value_name = "GENERATOR.wasm")]
    pub generator: Option<PathBuf>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub limits: LimitArgs,
    /// What fuel counts [default: plain, or what a finding or a campaign was counted with]
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Limits")]
    pub cost_model: Option<CostArg>,
    /// How a guest is put back before each execution
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub reset: ResetArg,
    /// Where to look for memory errors: overflows, uses after free and the like [default: a sample,
    /// where the target's allocator is known]
    #[arg(long, value_name = "WHERE", value_parser = EnumValueParser::<SanitizeArg>::new().try_map(watched))]
    pub sanitize: Option<SanitizeArg>,
    /// A function of the target's allocator, for --sanitize heap: `malloc=my_alloc`, or `malloc=#17` by its index
    #[arg(long, value_name = "ROLE=FUNCTION")]
    pub allocator: Vec<String>,
    /// Replace unknown imports by functions that trap when called
    #[arg(long)]
    pub stub_imports: bool,
    /// Arguments of a command; `@@` stands for the input's file
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

/// See [`GuestArgs::sanitize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SanitizeArg {
    /// In each execution: blocks of the heap, the null page, constant data, the end of the input
    Heap,
    /// In what enters the corpus of a campaign, and in one of 64 executions: run again for it
    Sample,
    /// Nowhere
    None,
    /// Not ours: `sandglass build` has a compiler check it
    #[value(hide = true)]
    Undefined,
}

/// Sends to the right command who asks for what is compiled in.
fn watched(what: SanitizeArg) -> Result<SanitizeArg, String> {
    match what {
        SanitizeArg::Heap | SanitizeArg::Sample | SanitizeArg::None => Ok(what),
        SanitizeArg::Undefined => Err(
            "undefined behaviour is checked by what the compiler puts in; build with sandglass build --sanitize undefined, and fuzz that without it"
                .to_owned(),
        ),
    }
}

/// See [`GuestArgs::cost_model`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CostArg {
    /// Operators: each that does something costs one
    Plain,
    /// Instructions that Cranelift emits for each operator on x86-64
    Native,
}

/// See [`GuestArgs::reset`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ResetArg {
    /// The pages that executions write, found by page faults (Linux)
    #[default]
    Hot,
    /// The blocks that executions write, found by injected marks
    Marks,
    /// A new instance each time: slow, and right by construction
    Fresh,
}

/// `sandglass repro`
#[derive(Debug, Args)]
pub struct ReproArgs {
    /// The module, or a bundle
    pub target: PathBuf,
    /// Inputs, or folders of findings; none for a bundle, which has its own
    pub files: Vec<PathBuf>,
    /// One JSON object for each replay
    #[arg(long)]
    pub json: bool,
    /// Show which functions the run entered, in order: the last 200 calls; and the stack with its frames of panic machinery
    #[arg(long)]
    pub trace: bool,
    /// Write what the run left where it ended, as a core dump for WebAssembly debuggers; of one input
    #[arg(long, value_name = "FILE")]
    pub coredump: Option<PathBuf>,
    /// The processor that guests are compiled for: it makes no difference to what they do
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    pub cpu: CpuArg,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// See [`ReproArgs::cpu`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CpuArg {
    /// This one, with all that it has
    #[default]
    Native,
    /// The least of its architecture, without any extension
    Baseline,
}

/// `sandglass show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The module
    pub target: PathBuf,
    /// A finding's folder, a file of `choices/`, or an input
    pub file: PathBuf,
    /// Executions at most, to find out which choices matter
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = parse_count)]
    pub execs: u64,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// `sandglass depends`
#[derive(Debug, Args)]
pub struct DependsArgs {
    /// The module
    pub target: PathBuf,
    /// An input, or the folder of a finding
    pub file: PathBuf,
    /// One JSON object for each decision, the last one is the summary
    #[arg(long)]
    pub json: bool,
    /// Of a dataflow program, show instead which cells of its data sets it needs to be equal, or uses together
    #[arg(long)]
    pub cells: bool,
    /// What separates the cells of a row
    #[arg(long, value_name = "BYTE", default_value = ",", value_parser = parse_delimiter, requires = "cells")]
    pub delimiter: u8,
    /// Show which draws of the generator decide it, not which bytes. Of a property it is always draws
    #[arg(long, conflicts_with = "cells")]
    pub draws: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// `sandglass min`
#[derive(Debug, Args)]
pub struct MinArgs {
    /// The module
    pub target: PathBuf,
    /// Inputs, or folders of findings: each is made smaller
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where the smaller input goes, of a single one [default: FILE.min]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Executions at most
    #[arg(long, value_name = "N", default_value = "100000", value_parser = parse_count)]
    pub execs: u64,
    /// Of what half must remain, however the input ends [default: total, for slow findings]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub slow: Option<SlowArg>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// See [`MinArgs::slow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SlowArg {
    /// The cost
    Total,
    /// The cost of a byte
    PerByte,
    /// The cost, at the size that the input has: only its bytes become simpler
    Size,
}

/// `sandglass cmin`
#[derive(Debug, Args)]
pub struct CminArgs {
    /// The module
    pub target: PathBuf,
    /// Folders of inputs; none of them is changed
    #[arg(required = true, value_name = "DIR")]
    pub corpus: Vec<PathBuf>,
    /// Where the smaller corpus goes: a new or empty folder [default: DIR.min]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// `sandglass rows`
#[derive(Debug, Args)]
pub struct RowsArgs {
    /// The module: a dataflow program
    pub target: PathBuf,
    /// The rows of each data set, in the order in which the program counts them; files may be larger than memory
    #[arg(required = true, value_name = "FILE")]
    pub sets: Vec<PathBuf>,
    /// Where testcases go: a new or empty folder [default: TARGET.rows]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What separates the cells of a row
    #[arg(long, value_name = "BYTE", default_value = ",", value_parser = parse_delimiter)]
    pub delimiter: u8,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// `sandglass cover`
#[derive(Debug, Args)]
pub struct CoverArgs {
    /// The module
    pub target: PathBuf,
    /// Folders of inputs, or of campaigns [default: TARGET.sandglass]
    #[arg(value_name = "DIR")]
    pub corpus: Vec<PathBuf>,
    /// Also write LCOV's tracefile, for genhtml and editors
    #[arg(long, value_name = "FILE")]
    pub lcov: Option<PathBuf>,
    /// Write a page that needs nothing else: files, branches, and your source line by line
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Where the source is that the page shows; nothing outside is read [default: this folder]
    #[arg(long, value_name = "DIR", requires = "html")]
    pub source: Option<PathBuf>,
    /// One JSON object a line for each file, the last one is the summary
    #[arg(long)]
    pub json: bool,
    /// List the files of libraries, too
    #[arg(long)]
    pub libraries: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

/// `sandglass perf`
#[derive(Debug, Args)]
#[command(after_help = PERF_HELP)]
pub struct PerfArgs {
    /// The module
    pub target: PathBuf,
    /// An input, the folder of a finding, or to profile a folder of inputs or of a campaign
    pub file: PathBuf,
    /// The part to repeat, in bytes, with its repetitions that follow [default: what costs most]
    #[arg(long, value_name = "START..END", value_parser = parse_range, conflicts_with = "profile")]
    pub pump: Option<(usize, usize)>,
    /// Show which functions and lines spend the fuel instead of the law
    #[arg(long)]
    pub profile: bool,
    /// Profile beside this: an input, or a folder
    #[arg(long, value_name = "PATH", conflicts_with = "pump")]
    pub against: Option<PathBuf>,
    /// Write the profile as a page that needs nothing else; of a single input with its law
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the profile as folded stacks, for flame graph tools
    #[arg(long, value_name = "FILE", conflicts_with = "pump")]
    pub folded: Option<PathBuf>,
    /// Write the profile as speedscope's JSON
    #[arg(long, value_name = "FILE", conflicts_with = "pump")]
    pub speedscope: Option<PathBuf>,
    /// Write the profile as a table
    #[arg(long, value_name = "FILE", conflicts_with = "pump")]
    pub csv: Option<PathBuf>,
    /// Write what a campaign of `perun` found as Perun does, into a new folder
    #[arg(long, value_name = "DIR", conflicts_with = "pump")]
    pub perun_out: Option<PathBuf>,
    /// One JSON object a line for all there is, the last one is the summary
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

impl PerfArgs {
    /// Whether a profile is asked for.
    pub(super) fn wants_profile(&self) -> bool {
        let files = [
            &self.against,
            &self.html,
            &self.folded,
            &self.speedscope,
            &self.csv,
            &self.perun_out,
        ];
        self.profile || files.iter().any(|file| file.is_some())
    }
}

const PERF_HELP: &str = "\
A profile is exact: every unit of fuel belongs to a call stack. Of a folder, and with an option that writes
or compares one, it is what you get; --profile asks for that of a single input.

Without it: a law. The family is the input with the part n times: n = 1 to 64 and doubled sizes after that, within the limits.
Its members must grow in cost; functions are shown by their own fuel, without that of what they call.
Tiers of a law: exact (predicted members that it had not seen to the last unit of fuel),
doubling (the exponent that repeated doubling tends to), model (the curve that extrapolates best).";

/// `sandglass compare`
#[derive(Debug, Args)]
#[command(after_help = COMPARE_HELP)]
pub struct CompareArgs {
    /// The build before
    pub old: PathBuf,
    /// The build after
    pub new: PathBuf,
    /// A folder of inputs or of a campaign, or a single input
    #[arg(value_name = "DIR")]
    pub corpus: PathBuf,
    /// Fail when an input costs more than this beyond its old cost: 0, 5, 2.5
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub max_slowdown: Option<u64>,
    /// Compare also the laws by which the costliest inputs grow when a part is repeated, of so many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub growth: Option<u32>,
    /// Fail when the cost of one of those grows faster than before [of 3, unless --growth says otherwise]
    #[arg(long)]
    pub no_faster_growth: bool,
    /// Say what Perun's checks say, in its verdicts: average amount, model order (with --growth), exclusive cost, integral
    #[arg(long)]
    pub checks: bool,
    /// Write what differs as a page that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// One JSON object a line for inputs and functions, the last one is the summary
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

const COMPARE_HELP: &str = "\
Costs of inputs that are no findings are exact, so 0 is a threshold that can be kept. The gate fails (exit code 1) when an input is a finding
that was none before, with --max-slowdown when one that ends as before costs more than allowed, and with --no-faster-growth when the
class of a law changes for the worse (n to n^2), exact or found by doubling: see `sandglass perf`.";

/// `sandglass check`
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub struct CheckArgs {
    /// The module
    pub target: PathBuf,
    /// Folders of inputs, of findings, or of campaigns [default: TARGET.sandglass]
    #[arg(value_name = "DIR")]
    pub known: Vec<PathBuf>,
    /// Findings that are not fixed yet: each must end as it did; may be repeated
    #[arg(long, value_name = "DIR")]
    pub open: Vec<PathBuf>,
    /// Executions of the campaign that follows; 0 = replay only
    #[arg(long, value_name = "N", default_value = "10000", value_parser = parse_count)]
    pub execs: u64,
    /// The seed of that campaign
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads, or `auto` for as many as there are processors; the result does not depend on their number
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_workers)]
    pub workers: usize,
    /// Where that campaign and its findings go [default: TARGET.check]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the results as JUnit's XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write what failed as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// One JSON object a line for each thing that was checked, the last one is the summary
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub guest: GuestArgs,
}

const CHECK_HELP: &str = "\
What is known fails the check (exit code 1) when
  an input is a finding,
  a finding is one still or again, unless it lies in a folder of --open,
  a slow finding costs more than its `budget` in finding.json, or without one than its `fuel`,
  a finding of --open does not end as it did: fixed ones belong among the others.
The campaign starts from the inputs that passed, and fails the check when it finds a bug that is not among those of --open.
Nothing depends on time: the same module, folders and options give the same result on every machine.";

/// A number of threads; `auto` is one for each processor.
fn parse_workers(text: &str) -> Result<usize, String> {
    match text {
        "auto" => {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            Ok(processors.min(crate::config::WORKERS_MAX))
        }
        number => (number.parse()).map_err(|_| "expected a number of threads, or auto".to_owned()),
    }
}

/// A percentage with up to three decimals, as thousandths of a percent.
fn parse_percent(text: &str) -> Result<u64, String> {
    let wrong = || "expected a percentage as in 0, 5 or 2.5".to_owned();
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().ok()).flatten()
    };
    let (whole, decimals, places) = match (digits(whole), digits(decimals), decimals.len()) {
        (Some(whole), Some(value), places @ 1..=3) => (whole, value, places as u32),
        _ => return Err(wrong()),
    };
    let thousandths = decimals * 10u64.pow(3 - places);
    whole
        .checked_mul(1000)
        .map(|whole| whole + thousandths)
        .filter(|percent| *percent <= 1_000_000_000)
        .ok_or_else(wrong)
}

/// One byte that may stand between cells.
fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if ![b'\n', sandglass_abi::FLOW_SEPARATOR].contains(byte) => Ok(*byte),
        _ => Err(
            "expected one byte, as in ; or \\t, that separates neither rows nor data sets"
                .to_owned(),
        ),
    }
}

/// A range of bytes as in `3..7`; the end is not part of it.
fn parse_range(text: &str) -> Result<(usize, usize), String> {
    let range = text
        .split_once("..")
        .and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
    match range {
        Some((start, end)) if start < end => Ok((start, end)),
        _ => Err("expected START..END, the first smaller, as in 3..7".to_owned()),
    }
}

/// `sandglass inspect`
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The module
    pub target: PathBuf,
    /// Show instead which types influence the branches of a line, or of the module, nearest first
    #[arg(
        long,
        value_name = "FILE:LINE",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = parse_place
    )]
    pub influence: Option<Place>,
    /// A beginning of a path whose sources are yours although they lie where libraries do; may be repeated
    #[arg(long, value_name = "PATH", requires = "influence")]
    pub own: Vec<String>,
    /// A function of the allocator, as for --sanitize heap: `malloc=my_alloc`, or `malloc=#17` by its index
    #[arg(long, value_name = "ROLE=FUNCTION", conflicts_with = "influence")]
    pub allocator: Vec<String>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// See [`InspectArgs::influence`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The whole module.
    All,
    /// A line of a file, named by the end of its path.
    Line(String, u32),
}

/// A line as in `parser.c:120`; nothing is everything.
fn parse_place(text: &str) -> Result<Place, String> {
    if text.is_empty() {
        return Ok(Place::All);
    }
    let place = text
        .rsplit_once(':')
        .and_then(|(file, line)| Some((file, line.parse().ok()?)));
    match place {
        Some((file, line)) if !file.is_empty() && line > 0 => {
            Ok(Place::Line(file.to_owned(), line))
        }
        _ => Err("expected FILE:LINE, as in parser.c:120".to_owned()),
    }
}

/// `sandglass list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// A guidance
    pub name: Option<String>,
}

/// `sandglass demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Which guest
    #[arg(value_enum, default_value_t)]
    pub guest: DemoGuest,
    /// Where the campaign goes [default: a folder in the system's place for temporary files]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// See [`DemoArgs::guest`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DemoGuest {
    /// Written in Rust
    #[default]
    Rust,
    /// Written in C
    C,
}
