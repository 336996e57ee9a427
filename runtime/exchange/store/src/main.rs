//! The program: `pull URL DIR`, and `push DIR URL`.
//!
//! Exit codes: 0 when it is done, 1 when something was refused, each of which is named, and the rest is done, 2 for a
//! wrong invocation, 3 when the bucket or a folder fails.

use std::future::Future;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use sandglass_store::{Bucket, Error, Pulled, PushOptions, Pushed, Refused, pull, push};

/// Of what was refused, so many are named.
const NAMED_MOST: usize = 100;

const USAGE: &str = "\
usage: sandglass-store pull URL DIR
       sandglass-store push DIR URL [--check] [--delete]

Fetches a corpus from a bucket, or pushes one there: only what is new, by its content. URL is s3://BUCKET/PREFIX,
gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER; how to get in is what the environment says
(AWS_ACCESS_KEY_ID and so on). What is not what its name says is refused, and named. With --check, what is in the
bucket already is fetched, and replaced where it is not what its name says; without it only sizes are compared. With
--delete, inputs that DIR does not have are removed from the bucket: after `sandglass cmin`.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--help" | "-h"] => say(USAGE),
        ["--version" | "-V"] => say(concat!("sandglass-store ", env!("CARGO_PKG_VERSION"), "\n")),
        ["pull", url, folder] => pulled(url, Path::new(folder)),
        ["push", ref rest @ ..] => match push_arguments(rest) {
            Some((folder, url, options)) => pushed(Path::new(folder), url, options),
            None => wrong(),
        },
        _ => wrong(),
    }
}

fn wrong() -> ExitCode {
    eprint!("error: `pull URL DIR` or `push DIR URL` is expected\n{USAGE}");
    ExitCode::from(2)
}

/// A folder and a URL, with options anywhere, each once.
fn push_arguments<'a>(rest: &[&'a str]) -> Option<(&'a str, &'a str, PushOptions)> {
    let mut options = PushOptions::default();
    let mut places = Vec::new();
    for argument in rest {
        let option = match *argument {
            "--delete" => &mut options.removes,
            "--check" => &mut options.checks,
            place if !place.starts_with("--") => {
                places.push(place);
                continue;
            }
            _ => return None,
        };
        if std::mem::replace(option, true) {
            return None;
        }
    }
    let [folder, url] = places[..] else {
        return None;
    };
    Some((folder, url, options))
}

fn pulled(url: &str, folder: &Path) -> ExitCode {
    let done = within(url, |bucket| async move { pull(&bucket, folder).await });
    let Pulled {
        new,
        known,
        refused,
        others,
    } = match done {
        Ok(pulled) => pulled,
        Err(error) => return fail(&error),
    };
    let summary = format!(
        "{new} fetched, {known} known, {} refused, {others} of other names\n",
        refused.len()
    );
    let next = "where the right ones are: sandglass-store push DIR URL --check";
    told(&summary, &refused, Some(next))
}

fn pushed(folder: &Path, url: &str, options: PushOptions) -> ExitCode {
    let done = within(
        url,
        |bucket| async move { push(folder, &bucket, options).await },
    );
    let Pushed {
        new,
        known,
        replaced,
        refused,
        removed,
    } = match done {
        Ok(pushed) => pushed,
        Err(error) => return fail(&error),
    };
    let summary = format!(
        "{new} pushed, {known} known, {replaced} replaced, {} refused, {removed} removed\n",
        refused.len()
    );
    told(&summary, &refused, None)
}

/// Names what was refused, and says what was done.
fn told(summary: &str, refused: &[Refused], next: Option<&str>) -> ExitCode {
    for Refused { name, why } in refused.iter().take(NAMED_MOST) {
        eprintln!("refused: {}: {why}", name.escape_debug());
    }
    if let Some(more) = refused.len().checked_sub(NAMED_MOST).filter(|n| *n > 0) {
        eprintln!("refused: {more} more");
    }
    if let (false, Some(next)) = (refused.is_empty(), next) {
        eprintln!("  next: {next}");
    }
    match say(summary) {
        ExitCode::SUCCESS if !refused.is_empty() => ExitCode::from(1),
        said => said,
    }
}

/// Does something with a bucket, on this thread.
fn within<T, F: Future<Output = Result<T, Error>>>(
    url: &str,
    work: impl FnOnce(Bucket) -> F,
) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system has what a runtime needs");
    runtime.block_on(async { work(Bucket::open(url)?).await })
}

fn say(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}

fn fail(error: &Error) -> ExitCode {
    eprintln!("error: {error}");
    match error {
        Error::Address { .. } | Error::Nothing(_) => ExitCode::from(2),
        Error::Bucket(_) | Error::Object { .. } | Error::File { .. } => ExitCode::from(3),
    }
}
