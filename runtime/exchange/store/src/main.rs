//! The program: `pull URL DIR`, and `push DIR URL`.
//!
//! Exit codes: 0 when it is done, 1 when something in the bucket is not what it is called, 2 for a wrong invocation, 3
//! when the bucket or a folder fails.

use std::future::Future;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use sandglass_store::{Bucket, Error, Pulled, Pushed, pull, push};

const USAGE: &str = "\
usage: sandglass-store pull URL DIR
       sandglass-store push DIR URL [--delete]

Fetches a corpus from a bucket, or pushes one there: only what is new, by its content. URL is s3://BUCKET/PREFIX,
gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER; how to get in is what the environment says
(AWS_ACCESS_KEY_ID and so on). With --delete, inputs that DIR does not have are removed from the bucket: after
`sandglass cmin`.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--help" | "-h"] => say(USAGE),
        ["--version" | "-V"] => say(concat!("sandglass-store ", env!("CARGO_PKG_VERSION"), "\n")),
        ["pull", url, folder] => pulled(url, Path::new(folder)),
        ["push", folder, url] => pushed(Path::new(folder), url, false),
        ["push", "--delete", folder, url] | ["push", folder, url, "--delete"] => {
            pushed(Path::new(folder), url, true)
        }
        _ => {
            eprint!("error: `pull URL DIR` or `push DIR URL` is expected\n{USAGE}");
            ExitCode::from(2)
        }
    }
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
    let said = say(&format!(
        "{new} fetched, {known} known, {refused} refused, {others} of other names\n"
    ));
    if refused > 0 { ExitCode::from(1) } else { said }
}

fn pushed(folder: &Path, url: &str, removes: bool) -> ExitCode {
    let done = within(
        url,
        |bucket| async move { push(folder, &bucket, removes).await },
    );
    match done {
        Ok(Pushed {
            new,
            known,
            refused,
            removed,
        }) => say(&format!(
            "{new} pushed, {known} known, {refused} refused, {removed} removed\n"
        )),
        Err(error) => fail(&error),
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
        Error::Bucket(_) | Error::File { .. } => ExitCode::from(3),
    }
}
