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
    let folder = named(campaign)?;
    let mut name = folder.file_name().unwrap_or("report".as_ref()).to_owned();
    if folder.extension().is_some_and(|last| last == "sandglass") {
        name = folder.file_stem().unwrap_or(&name).to_owned();
    }
    name.push(".html");
    Ok(folder.with_file_name(name))
}

/// The folder by a path with a name: `.` and `..` have none by themselves.
pub(super) fn named(folder: &Path) -> Result<PathBuf> {
    match folder.file_name() {
        Some(_) => Ok(folder.to_owned()),
        None => fs::canonicalize(folder).map_err(|e| io(folder, "read", &e)),
    }
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
