//! `sandglass submit`: asks for a finite job, and can wait for its answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use sandglass_exchange::{Job, JobKind, Offered};

use super::joined::{Joined, JoinedArgs};
use crate::campaign::budget::{parse_count, parse_duration};
use crate::error::{exit_code, io, printable, show, with_next};
use crate::inputs;
use crate::join::job::{self, KINDS};
use crate::output::print;
use crate::report::Sink;
use crate::store::finding::{self, FindingRecord};
use crate::target::require_hash;

/// `sandglass submit`
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct SubmitArgs {
    /// The module
    pub target: PathBuf,
    /// Inputs, folders of findings, or of inputs
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub joined: JoinedArgs,
    /// What is to be done
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(["minimise", "replay", "distil", "cover"]))]
    pub job: String,
    /// Executions at most, of a job that looks for something
    #[arg(long, value_name = "N", default_value_t = job::EXECS, value_parser = parse_count)]
    pub execs: u64,
    /// Wait for the answer, at most so long
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub wait: Option<Duration>,
    /// Where the answer goes [default: standard output]
    #[arg(long, value_name = "FILE", requires = "wait")]
    pub out: Option<PathBuf>,
}

const HELP: &str = "\
minimise: the smallest input with the same finding; replay: a line of JSON for each input; distil: the names of the smallest set
with the same coverage; cover: LCOV's tracefile. `sandglass worker` does them. The same job is asked for once, and its answer
stays: asking again gives it at once.";

/// Between two looks for the answer.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn run(args: &SubmitArgs) -> Result<u8> {
    let joined = Joined::new(&args.target, &args.joined)?;
    let kind = KINDS.iter().find(|(name, _)| *name == args.job);
    let kind = kind.expect("clap has checked it").1;
    let mut settings = vec![format!("fuel={}", joined.limits.fuel)];
    if kind == JobKind::Minimise {
        settings.insert(0, format!("execs={}", args.execs));
    }
    let job = Job {
        kind,
        module: joined.meaning,
        inputs: read(&args.files, &joined)?,
        settings,
    };
    if kind == JobKind::Minimise && job.inputs.len() != 1 {
        bail!("--job minimise: {} inputs, expected one", job.inputs.len());
    }
    let mut connection = joined.open()?;
    let exchange = &mut *connection.exchange;
    let offered = exchange
        .submit(&job)
        .map_err(|error| joined.error(&error))?;
    let mut sink = Sink::stdout();
    let Some(wait) = args.wait else {
        let before = match offered {
            Offered::New => "",
            Offered::Known => ", which was asked for before",
        };
        sink.line(&format!("job {}{before}", job.id().hex()));
        return Ok(exit_code::FINE);
    };
    let end = Instant::now() + wait;
    loop {
        let result = exchange
            .result(job.id())
            .map_err(|error| joined.error(&error))?;
        match result.map(|result| result.outcome) {
            Some(Ok(answer)) => return tell(&answer, args).map(|()| exit_code::FINE),
            Some(Err(why)) => bail!("job {}: {}", &job.id().hex()[..16], printable(&why)),
            None => {}
        }
        let poisoned = exchange.poisoned().map_err(|error| joined.error(&error))?;
        if poisoned.contains(&job.id()) {
            bail!(
                "job {}: given up, it was handed out as often as may be and never done",
                &job.id().hex()[..16]
            );
        }
        if Instant::now() >= end {
            return Err(with_next(
                format!("job {}: no answer yet", &job.id().hex()[..16]),
                "sandglass worker TARGET.wasm --join WHERE    # and ask again",
            ));
        }
        std::thread::sleep(POLL);
    }
}

fn tell(answer: &[u8], args: &SubmitArgs) -> Result<()> {
    if let Some(path) = &args.out {
        return fs::write(path, answer).map_err(|e| io(path, "write", &e));
    }
    print(answer);
    Ok(())
}

/// Refuses a finding that was made of another module, or with other options: a job is done as its submitter calls the module.
fn require_call(path: &Path, record: &FindingRecord, joined: &Joined) -> Result<()> {
    require_hash(&joined.target.module, path, &record.target_hash)?;
    if record.sanitize_heap == joined.called.sanitize_heap && record.args == joined.called.args {
        return Ok(());
    }
    Err(with_next(
        format!("{}: found with other options than these", show(path)),
        format!(
            "the same command with{}, and a worker with them, too",
            record.call_flags()
        ),
    ))
}

/// Inputs in order: of a finding its choices where it has some, else its input.
fn read(files: &[PathBuf], joined: &Joined) -> Result<Vec<Vec<u8>>> {
    let bytes_max = u64::from(joined.limits.input_bytes);
    let mut all = Vec::new();
    for path in files {
        if path.join("finding.json").exists() {
            let (record, input) = finding::read(path)?;
            require_call(path, &record, joined)?;
            let choices = finding::read_choices(path, &record)?;
            let text = choices.map(|c| sandglass_engine::choice::text::to_text(&c).into_bytes());
            all.push(text.unwrap_or(input));
            continue;
        }
        let read = inputs::read_all(std::slice::from_ref(path), bytes_max)?;
        if read.inputs.is_empty() {
            return Err(anyhow!(
                "{}: no inputs, expected at least one regular file",
                show(path)
            ));
        }
        all.extend(read.inputs.into_iter().map(|input| input.bytes));
    }
    Ok(all)
}
