//! `sandglass worker`: does finite jobs that somebody asked for.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use sandglass_exchange::{Able, Beat, Claim, Error, JobResult};
use sandglass_sandbox::on_guest_thread;

use super::joined::{Joined, JoinedArgs};
use crate::campaign::budget::{parse_count, parse_duration};
use crate::error::{OurFault, exit_code, printable};
use crate::join::{Connection, job};
use crate::report::Sink;
use crate::report::plain::{number, plural};

/// `sandglass worker`
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct WorkerArgs {
    /// The module
    pub target: PathBuf,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its own docs would become help text")]
    pub joined: JoinedArgs,
    /// End after so many jobs
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub jobs: Option<u64>,
    /// End when there was nothing to do for so long [default: never]
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub idle: Option<Duration>,
    /// How long a job is ours after our last sign of life
    #[arg(long, value_name = "T", default_value = "30s", value_parser = parse_duration)]
    pub lease: Duration,
    /// Most fuel of one execution that a job may ask for
    #[arg(long, value_name = "N", default_value = "10G", value_parser = parse_count)]
    pub fuel_most: u64,
}

const HELP: &str = "\
`sandglass submit` asks for jobs. A worker that is lost loses nothing: after its lease somebody else does the job, with the same
answer, and the first one stays. A job that was handed out five times and never finished is given up and listed.";

/// Between two looks for a job.
const POLL: Duration = Duration::from_millis(200);
/// Between two attempts to reach somebody who is away.
const REOPEN_EVERY: Duration = Duration::from_secs(5);
/// Between two signs of life, and two looks at what was given up.
const BEAT_EVERY: Duration = Duration::from_secs(5);

pub(super) fn run(args: &WorkerArgs) -> Result<u8> {
    let joined = Joined::new(&args.target, &args.joined)?;
    let interrupted = super::interruption()?;
    let able = Able {
        module: joined.meaning,
        fuel_most: args.fuel_most,
    };
    let exchange = Mutex::new(joined.open()?);
    let mut away = Away::default();
    let mut sink = Sink::stdout();
    sink.line(&format!(
        "{}: doing jobs from {}",
        printable(&joined.target.module.path),
        joined.place
    ));
    let (mut done, mut poisoned) = (0, Vec::new());
    let (mut idle_since, mut beaten) = (Instant::now(), None::<Instant>);
    while !interrupted.load(std::sync::atomic::Ordering::Relaxed)
        && args.jobs.is_none_or(|jobs| done < jobs)
    {
        if beaten.is_none_or(|at| at.elapsed() >= BEAT_EVERY) {
            beaten = Some(Instant::now());
            away_is_fine(&joined, beat(&exchange, &joined, "idle"))?;
            let given_up =
                away_is_fine(&joined, lock(&exchange).exchange.poisoned())?.unwrap_or_default();
            for id in given_up {
                if !poisoned.contains(&id) {
                    sink.line(&format!(
                        "given up: job {}, handed out as often as may be and never done",
                        id.hex()
                    ));
                    poisoned.push(id);
                }
            }
        }
        let claimed = lock(&exchange).exchange.claim(&able, args.lease);
        away.note(&claimed, &exchange, &joined, &mut sink);
        let claim = away_is_fine(&joined, claimed)?.flatten();
        let Some(claim) = claim else {
            if args.idle.is_some_and(|idle| idle_since.elapsed() >= idle) {
                break;
            }
            std::thread::sleep(POLL);
            continue;
        };
        work(&claim, &exchange, &joined, args, (&mut sink, &mut away))?;
        done += 1;
        idle_since = Instant::now();
    }
    sink.line(&format!("{} done", plural(done, "job")));
    Ok(exit_code::FINE)
}

type Shared = Mutex<Connection>;

fn lock(exchange: &Shared) -> std::sync::MutexGuard<'_, Connection> {
    exchange.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether somebody was there when we asked last, and when we went there last.
#[derive(Default)]
struct Away {
    is_away: bool,
    went: Option<Instant>,
}

impl Away {
    /// Looks at an answer. If nobody gave one, says so once, and goes there anew now and then: a relay that has died stays dead.
    fn note<T>(
        &mut self,
        answer: &Result<T, Error>,
        exchange: &Shared,
        joined: &Joined,
        sink: &mut Sink,
    ) {
        let Err(Error::Away(why)) = answer else {
            self.is_away &= answer.is_err();
            return;
        };
        if !std::mem::replace(&mut self.is_away, true) {
            let why = printable(why);
            sink.line(&format!("{}: {why}; trying again", joined.place));
        }
        if self.went.is_none_or(|at| at.elapsed() >= REOPEN_EVERY) {
            self.went = Some(Instant::now());
            // A folder that we are in already lets nobody else have our name, and that is no harm.
            if let Ok(fresh) = joined.place.open(&joined.me) {
                *lock(exchange) = fresh;
            }
        }
    }
}

/// Who is away may come back; nothing else gets better by waiting.
fn away_is_fine<T>(joined: &Joined, result: Result<T, Error>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Away(_)) => Ok(None),
        Err(error) => Err(joined.error(&error)),
    }
}

fn beat(exchange: &Shared, joined: &Joined, doing: &str) -> Result<(), Error> {
    lock(exchange).exchange.beat(&Beat {
        worker: joined.me.clone(),
        doing: doing.to_owned(),
        execs: 0,
        corpus: 0,
        edges: 0,
        findings: 0,
        refused: 0,
    })
}

/// Does a job, giving signs of life meanwhile.
fn work(
    claim: &Claim,
    exchange: &Shared,
    joined: &Joined,
    args: &WorkerArgs,
    (sink, away): (&mut Sink, &mut Away),
) -> Result<()> {
    let (job, name) = (&claim.job, &claim.id.hex()[..16]);
    let what = job::name(job.kind);
    let (ended, is_ended) = channel::<()>();
    let performed = std::thread::scope(|scope| {
        let signs = scope.spawn(move || {
            while is_ended.recv_timeout(args.lease / 3) == Err(RecvTimeoutError::Timeout) {
                // Whoever lost the lease does no harm: the answer is the same.
                let _ = lock(exchange).exchange.extend(claim);
                let _ = beat(exchange, joined, what);
            }
        });
        let performed = on_guest_thread(|| job::perform(job, &joined.target, &joined.limits));
        drop(ended);
        signs.join().expect("signs of life do not panic");
        performed
    });
    let outcome = match performed {
        Ok(answer) => Ok(answer),
        Err(error) if error.downcast_ref::<OurFault>().is_some() => return Err(error),
        Err(error) => Err(printable(&format!("{error:#}"))),
    };
    let came_to = match &outcome {
        Ok(answer) => format!("{} bytes", number(answer.len() as u64)),
        Err(why) => why.clone(),
    };
    let result = JobResult {
        job: claim.id,
        outcome,
    };
    let since = Instant::now();
    let told = loop {
        let told = lock(exchange).exchange.finish(claim, &result);
        away.note(&told, exchange, joined, sink);
        let is_away = matches!(told, Err(Error::Away(_)));
        if !is_away || since.elapsed() >= args.lease {
            break told;
        }
        std::thread::sleep(POLL);
    };
    match away_is_fine(joined, told)? {
        Some(()) => sink.line(&format!("job {name}, {what}: {came_to}")),
        None => sink.line(&format!(
            "job {name}, {what}: left alone, nobody is there to tell the answer to"
        )),
    }
    Ok(())
}
