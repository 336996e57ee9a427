//! Which path is what. No path of a request becomes part of a path of a file: it names a campaign by its
//! number, a finding by an id that is looked up, or one of a few things by their names.

use std::path::PathBuf;

use super::http::Response;
use super::joined::Joined;
use super::watch::{FoundOne, Watch};
use super::{json, page};
use crate::error::describe;
use crate::report::html::{Link, html};
use crate::store::read_plain;

/// Bytes of a page that somebody put into the folder.
const PAGE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of an input: more has no input of a campaign.
const INPUT_BYTES_MAX: u64 = 1 << 30;

/// Pages of other verbs that are shown if they lie in the folder: how they are called here, and there.
pub(super) const PAGES: [(&str, &str); 2] = [("coverage", "cover.html"), ("cost", "perf.html")];

/// What is at a path.
pub(super) enum Found {
    /// It can be had at once.
    Response(Response),
    /// It has to be made.
    Report(Report),
}

/// A page that reads the whole campaign.
pub(super) struct Report {
    folder: PathBuf,
    links: Vec<Link>,
}

impl Report {
    /// The page, or why there is none.
    pub(super) fn make(&self) -> Response {
        match html(&self.folder, &self.links) {
            Ok(page) => Response::alone(page),
            Err(error) => Response::refusal(404, &describe(&error)),
        }
    }
}

/// What is at that path.
pub(super) fn route(joined: &Joined, path: &str) -> Found {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let campaign = |number: &str| {
        // One number has one spelling.
        let index: usize = number.parse().ok()?;
        let watch = joined.campaigns().get(index)?;
        (index.to_string() == number).then_some((index, watch))
    };
    let response = match parts[..] {
        [""] => match joined.campaigns() {
            [only] if joined.meeting().is_none() => {
                Some(Response::html(page::campaign(joined, 0, only)))
            }
            _ => Some(Response::html(page::set(joined))),
        },
        ["state.json"] => Some(as_json(&json::set(joined))),
        ["style.css"] => Some(Response::of("text/css; charset=utf-8", page::STYLE)),
        ["live.js"] => Some(Response::of("text/javascript; charset=utf-8", page::SCRIPT)),
        ["icon.svg"] => Some(Response::of("image/svg+xml", page::ICON)),
        [number, "report"] => {
            if let Some((_, watch)) = campaign(number) {
                return Found::Report(report(watch));
            }
            None
        }
        [number, ref rest @ ..] if !rest.is_empty() => {
            campaign(number).and_then(|(index, watch)| below(joined, index, watch, rest))
        }
        _ => None,
    };
    Found::Response(response.unwrap_or_else(|| Response::refusal(404, "no such page")))
}

/// What is below a campaign's address.
fn below(joined: &Joined, index: usize, watch: &Watch, path: &[&str]) -> Option<Response> {
    match path {
        [""] => Some(Response::html(page::campaign(joined, index, watch))),
        ["state.json"] => Some(as_json(&json::campaign(index, watch))),
        ["finding", id] => {
            let one = watch.found.get(id)?;
            Some(Response::html(page::finding(index, watch, one)))
        }
        ["finding", id, "input"] => input(watch.found.get(id)?),
        [name] => {
            let (_, file) = PAGES.iter().find(|(known, _)| known == name)?;
            let bytes = read_plain(&watch.folder.join(file), PAGE_BYTES_MAX)?;
            Some(Response::alone(bytes))
        }
        _ => None,
    }
}

fn as_json(value: &impl serde::Serialize) -> Response {
    Response::of("application/json", json::text(value))
}

fn input(one: &FoundOne) -> Option<Response> {
    read_plain(&one.path.join("input"), INPUT_BYTES_MAX).map(Response::download)
}

/// The report, with links to what lies beside it here.
fn report(watch: &Watch) -> Report {
    let links = PAGES.iter().filter(|(_, file)| has(watch, file));
    Report {
        folder: watch.folder.clone(),
        links: links
            .map(|(name, _)| Link {
                name,
                path: (*name).to_owned(),
            })
            .collect(),
    }
}

/// Whether a page of that name lies in the folder.
pub(super) fn has(watch: &Watch, file: &str) -> bool {
    let meta = std::fs::symlink_metadata(watch.folder.join(file));
    meta.is_ok_and(|meta| meta.is_file())
}
