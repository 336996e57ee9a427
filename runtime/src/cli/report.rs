//! `sandglass report`: a campaign as a page.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::error::{exit_code, io, show};
use crate::report::Sink;
use crate::report::html::{Link, html};

/// `sandglass report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The campaign's folder
    pub campaign: PathBuf,
    /// Where the page goes [default: CAMPAIGN.html]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The page of `sandglass cover --html`, to lead to
    #[arg(long, value_name = "FILE")]
    pub cover: Option<PathBuf>,
    /// The page of `sandglass perf --html`, to lead to
    #[arg(long, value_name = "FILE")]
    pub perf: Option<PathBuf>,
}

pub(super) fn run(args: ReportArgs) -> Result<u8> {
    let mut links = Vec::new();
    for (name, path) in [("coverage", &args.cover), ("cost", &args.perf)] {
        let Some(path) = path else { continue };
        let path = path.to_string_lossy();
        // A page leads to its neighbours, by names that mean the same wherever it is put.
        if path.contains(':') || path.starts_with('/') {
            bail!(
                "{}: expected a path relative to the page, as in cover.html",
                show(path.as_ref().as_ref())
            );
        }
        links.push(Link {
            name,
            path: path.into_owned(),
        });
    }
    let page = html(&args.campaign, &links)?;
    let out = args
        .out
        .unwrap_or_else(|| args.campaign.with_extension("html"));
    fs::write(&out, page).map_err(|e| io(&out, "write", &e))?;
    Sink::stdout().line(&format!("wrote {}", show(&out)));
    Ok(exit_code::FINE)
}
