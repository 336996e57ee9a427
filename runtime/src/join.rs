//! Where other campaigns are met, and how to get there.
//!
//! In: what `--join` was given. Out: a connection to a shared folder, or to a relay that runs as a
//! child process and speaks to a server. It knows nothing of campaigns.

use std::collections::hash_map::RandomState;
use std::env::consts::EXE_SUFFIX;
use std::fmt;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use sandglass_exchange::pipe::PipeExchange;
use sandglass_exchange::{Error, Exchange, Folder, Hash, WorkerId};

use crate::error::{printable, reason, show, with_next};

pub mod audit;
pub mod finding;
pub mod gathered;
pub mod job;
pub mod meaning;

/// How long an answer of a relay may take: then it counts as away.
const PATIENCE: Duration = Duration::from_secs(5);

/// The program that speaks to a NATS server.
const RELAY: &str = "sandglass-nats";

/// What those do that fuzz, as their signs of life say, and what they did who left.
pub(crate) const FUZZES: &str = "fuzz";
pub(crate) const ENDED: &str = "ended";

/// What those do that divide the work of one module among them. To divide it with others, of which nobody
/// does the rest, would leave it undone.
pub(crate) fn fuzzes_together(module: &Hash) -> String {
    let hex = blake3::Hash::from(*module).to_hex();
    format!("{FUZZES}-{}", &hex[..16])
}

/// Where others are met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder that all can write.
    Folder(PathBuf),
    /// `nats://HOST:PORT/CAMPAIGN`, or `tls://…`.
    Nats(String),
}

/// What it costs to speak to others in one way, about, in nanoseconds of CPU: threads of this process, and a relay's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// A question or an offer, without what is in it.
    pub operation_ns: u64,
    /// Each entry that is told or heard.
    pub entry_ns: u64,
}

/// A way to the others, until it is dropped.
pub struct Connection {
    /// Through which everything goes.
    pub exchange: Box<dyn Exchange + Send>,
    _relay: Option<Relay>,
}

/// Ends its process when it is dropped.
struct Relay(Child);

impl Drop for Relay {
    fn drop(&mut self) {
        // It ends by itself when its input does; whether it is gone already does not matter.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Without its password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Folder(path) => f.write_str(&show(path)),
            Place::Nats(url) => f.write_str(&printable(&without_password(url))),
        }
    }
}

impl Place {
    /// What `--join` was given: a URL, or else a folder.
    pub fn parse(text: &str) -> Result<Place> {
        let is_url = text.contains("://") || ["nats:", "tls:"].iter().any(|s| text.starts_with(s));
        if !is_url {
            return Ok(Place::Folder(text.into()));
        }
        let (scheme, rest) = text.split_once("://").unwrap_or((text, ""));
        let wrong = |what: &str| {
            let text = without_password(text);
            with_next(
                format!(
                    "--join {}: {what}, expected nats://HOST:PORT/CAMPAIGN or a folder",
                    printable(&text)
                ),
                "the same command with --join nats://127.0.0.1:4222/my-campaign",
            )
        };
        if !["nats", "tls"].contains(&scheme) {
            return Err(wrong("no address that anybody here speaks"));
        }
        let campaign = rest.split_once('/').map_or("", |(_, campaign)| campaign);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        match campaign.is_empty() || campaign.len() > 64 || !campaign.chars().all(is_plain) {
            true => Err(wrong(
                "no name of a campaign of letters, digits, `-` and `_` at its end",
            )),
            false => Ok(Place::Nats(text.to_owned())),
        }
    }

    /// What it costs to speak there (`scale cost` in `benches/RESULTS.md`).
    pub fn prices(&self) -> Prices {
        match self {
            Place::Folder(_) => Prices {
                operation_ns: 60_000,
                entry_ns: 25_000,
            },
            Place::Nats(_) => Prices {
                operation_ns: 200_000,
                entry_ns: 50_000,
            },
        }
    }

    /// Goes there. Errs with [`Error::Away`] if nobody is there now, and otherwise if it will not help to
    /// try again.
    pub fn open(&self, me: &WorkerId) -> Result<Connection, Error> {
        match self {
            Place::Folder(path) => {
                refuse_foreign(path)?;
                Ok(Connection::of(Box::new(Folder::join(path, me)?)))
            }
            Place::Nats(url) => relay(url),
        }
    }
}

impl Place {
    /// Goes there to look on only. A server's streams are made if they are missing, a folder is left as it is.
    /// Errs as [`Place::open`].
    pub fn look_on(&self) -> Result<Connection, Error> {
        match self {
            Place::Folder(path) => {
                refuse_foreign(path)?;
                Ok(Connection::of(Box::new(Folder::look_on(path)?)))
            }
            Place::Nats(url) => relay(url),
        }
    }
}

impl Connection {
    /// Through something that is in this process.
    pub fn of(exchange: Box<dyn Exchange + Send>) -> Connection {
        Connection {
            exchange,
            _relay: None,
        }
    }
}

/// A URL with `***` in place of its password, or of the token that stands before its host.
fn without_password(url: &str) -> String {
    // A password may hold anything: what precedes the last `@` is no host.
    let Some((before, host)) = url.rsplit_once('@') else {
        return url.to_owned();
    };
    let (scheme, user) = match before.split_once("://") {
        Some((scheme, user)) => (format!("{scheme}://"), user),
        None => (String::new(), before),
    };
    let name = user.split_once(':').map_or("", |(name, _)| name);
    let colon = if name.is_empty() { "" } else { ":" };
    format!("{scheme}{name}{colon}***@{host}")
}

/// What a folder where campaigns meet may hold.
const NAMES: [&str; 10] = [
    "beats", "exchange", "jobs", "leases", "locks", "passing", "poison", "results", "shards",
    "values",
];

/// Refuses to fill a folder that holds something else.
fn refuse_foreign(path: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(Error::Refused(format!(
                "cannot be read as a folder: {}",
                reason(&error)
            )));
        }
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    match names.iter().find(|name| !NAMES.contains(&name.as_str())) {
        None => Ok(()),
        Some(foreign) => Err(Error::Refused(format!(
            "not a folder where campaigns meet (it holds `{}`), expected such a one, or an empty or missing one",
            printable(foreign)
        ))),
    }
}

/// The relay as a child process: beside this program, or else on the path.
fn relay(url: &str) -> Result<Connection, Error> {
    let beside = std::env::current_exe().ok().and_then(|own| {
        let path = own.parent()?.join(format!("{RELAY}{EXE_SUFFIX}"));
        path.is_file().then_some(path)
    });
    let program = beside.unwrap_or_else(|| Path::new(RELAY).to_owned());
    let child = Command::new(&program)
        .arg(url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Refused(format!(
                "no program `{RELAY}` beside this one or on the path, expected it for a server; type `cargo install --locked --path runtime/exchange/nats`, or meet in a folder"
            )),
            _ => Error::Failed(format!("{}: {}", show(&program), reason(&error))),
        })?;
    let mut relay = Relay(child);
    let (Some(input), Some(output), Some(errors)) = (
        relay.0.stdin.take(),
        relay.0.stdout.take(),
        relay.0.stderr.take(),
    ) else {
        return Err(Error::Failed("a child without its pipes".into()));
    };
    // What it has to say comes through the pipe; what else it prints must not fill up.
    let drained = std::thread::Builder::new()
        .name("relay's words".into())
        .spawn(move || io::copy(&mut { errors }, &mut io::sink()));
    drained.map_err(|e| Error::Failed(format!("no thread for the relay: {e}")))?;
    let exchange = PipeExchange::new(output, input, PATIENCE)?;
    Ok(Connection {
        exchange: Box::new(exchange),
        _relay: Some(relay),
    })
}

/// A name for this process that nobody else has.
pub fn draw_worker() -> WorkerId {
    // The only random numbers that the standard library has: keys of its hash maps.
    let word = || RandomState::new().build_hasher().finish();
    WorkerId(format!("w-{:016x}{:08x}", word(), word() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::Folder(folder.path().to_owned());
        let me = draw_worker();
        assert!(place.open(&me).is_ok(), "empty");
        assert!(place.open(&draw_worker()).is_ok(), "one of ours");
        fs::write(folder.path().join("diary"), "").unwrap();
        assert!(matches!(place.open(&draw_worker()), Err(Error::Refused(_))));
    }

    #[test]
    fn places() {
        let nats = |text: &str| Place::parse(text).map_err(|error| error.to_string());
        assert_eq!(nats("a/b"), Ok(Place::Folder("a/b".into())));
        let url = "nats://host:4222/json-1";
        assert_eq!(nats(url), Ok(Place::Nats(url.into())));
        assert!(nats("tls://me:secret@host/a_b").is_ok());
        for (url, shown) in [
            ("nats://me:secret@host:1/x", "nats://me:***@host:1/x"),
            ("nats://token@host/x", "nats://***@host/x"),
            ("nats://a:b:c@d@host/x", "nats://a:***@host/x"),
            ("nats://me:pa/ss@host/x", "nats://me:***@host/x"),
        ] {
            assert_eq!(Place::Nats(url.into()).to_string(), shown);
        }
        let refused = nats("redis://me:secret@x/y").unwrap_err();
        assert!(!refused.contains("secret"), "{refused}");
        for wrong in [
            "redis://x/y",
            "nats://x",
            "nats:me:secret@x/y",
            "nats://x/",
            "nats://x/a.b",
            "nats://x/a/b",
        ] {
            assert!(
                nats(wrong).unwrap_err().contains("expected nats://"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn workers_have_names_of_their_own() {
        let (one, two) = (draw_worker(), draw_worker());
        assert!(one.check().is_ok() && two.check().is_ok());
        assert_ne!(one, two);
    }
}
