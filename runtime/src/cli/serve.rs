//! `sandglass serve`: a page of campaigns while they run.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use super::joined::require_exchange;
use crate::error::{exit_code, show, with_next};
use crate::join::Place;
use crate::report::Sink;
use crate::serve::http::Reach;
use crate::serve::{CAMPAIGNS_MAX, Server};

/// How long Ctrl-C may take.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// `sandglass serve`
#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub struct ServeArgs {
    /// Folders of campaigns, running or not; nothing in them is changed
    #[arg(required_unless_present = "join", value_name = "DIR")]
    pub campaigns: Vec<PathBuf>,
    /// Where campaigns meet, a folder or nats://HOST:PORT/CAMPAIGN: who is there, and what they say that they have
    #[arg(long, value_name = "WHERE")]
    pub join: Option<String>,
    /// Where the page is; port 0 is one that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = parse_address)]
    pub listen: SocketAddr,
    /// Let other machines ask, too: whoever reaches the address may read everything, and nothing is encrypted
    #[arg(long)]
    pub allow_remote: bool,
}

const SERVE_HELP: &str = "\
The page lives while campaigns run; without scripts it shows how they stood when it was loaded. /state.json and /N/state.json say the same to programs.
Pages that lie in a campaign's folder as cover.html (sandglass cover --html) and perf.html (sandglass perf --html) are linked to. Ctrl-C ends it.";

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "expected ADDRESS:PORT, as in 127.0.0.1:8080 or [::1]:0".to_owned())
}

pub(super) fn run(args: &ServeArgs) -> Result<u8> {
    let reach = reach(args)?;
    if args.campaigns.len() > CAMPAIGNS_MAX {
        bail!(
            "{} folders, expected at most {CAMPAIGNS_MAX}",
            args.campaigns.len()
        );
    }
    let interrupted = super::interruption()?;
    let place = args.join.as_deref().map(Place::parse).transpose()?;
    let met = place.as_ref().map(|place| format!("what meets at {place}"));
    if let Some(Place::Folder(path)) = &place {
        require_exchange(path)?;
    }
    let server = Server::bind(&args.campaigns, place, args.listen, reach)?;
    if reach == Reach::Anybody {
        super::complain(&format!(
            "warning: whoever reaches {} may read these campaigns, inputs included; nothing is encrypted",
            server.address()
        ));
    }
    let campaigns = match &args.campaigns[..] {
        [] => None,
        [only] => Some(show(only)),
        all => Some(format!("{} campaigns", all.len())),
    };
    let what = campaigns.into_iter().chain(met).collect::<Vec<_>>();
    Sink::stdout().line(&format!(
        "serving {} at http://{}/ (Ctrl-C ends it)",
        what.join(" and "),
        server.address()
    ));
    std::thread::Builder::new().spawn(move || server.run())?;
    // The process takes the thread with it: nothing that it does is left half done.
    while !interrupted.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(exit_code::FINE)
}

/// Who may ask. Errs if others could although that was not said.
fn reach(args: &ServeArgs) -> Result<Reach> {
    let is_loopback = args.listen.ip().is_loopback();
    match (is_loopback, args.allow_remote) {
        (true, false) => Ok(Reach::Loopback),
        (_, true) => Ok(Reach::Anybody),
        (false, false) => Err(with_next(
            format!(
                "--listen {}: other machines may reach this address, expected 127.0.0.1:PORT or [::1]:PORT",
                args.listen
            ),
            "the same command with --allow-remote, if all of them may read the campaigns",
        )),
    }
}
