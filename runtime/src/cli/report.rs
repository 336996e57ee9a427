//! `sandglass report`: a campaign as a page.

use std::fs;
use std::path::{Path, PathBuf};

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
    let out = match args.out {
        Some(out) => out,
        None => page_of(&args.campaign)?,
    };
    fs::write(&out, page).map_err(|e| io(&out, "write", &e))?;
    Sink::stdout().line(&format!("wrote {}", show(&out)));
    Ok(exit_code::FINE)
}

/// The page beside a campaign's folder: of `x.sandglass` it is `x.html`, and of two folders it is never one.
fn page_of(campaign: &Path) -> Result<PathBuf> {
    // `.` has no name by itself.
    let folder = match campaign.file_name() {
        Some(_) => campaign.to_owned(),
        None => fs::canonicalize(campaign).map_err(|e| io(campaign, "read", &e))?,
    };
    let name = folder.file_name().unwrap_or("report".as_ref());
    let name = name.to_string_lossy();
    let stem = name.strip_suffix(".sandglass").unwrap_or(&name);
    Ok(folder.with_file_name(format!("{stem}.html")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_campaign_has_a_page_of_its_own() {
        let page = |campaign: &str| page_of(campaign.as_ref()).unwrap();
        assert_eq!(page("a/x.sandglass"), Path::new("a/x.html"));
        assert_eq!(page("a.b/x.v1"), Path::new("a.b/x.v1.html"));
        assert_eq!(page("x/"), Path::new("x.html"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(page(".").parent(), here.parent());
    }
}
