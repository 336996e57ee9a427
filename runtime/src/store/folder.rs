//! What a campaign's folder may be before anything in it is written or removed.
//!
//! In: the path of a folder, which may be anybody's. A campaign fills folders and removes files in them, so
//! each has to be its own: no link that leads elsewhere, and nothing that was there before it. Nothing is
//! opened here, so nothing is waited for.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::is_our_name;
use crate::error::{io, show, with_next};
use crate::shell::quote_path;

/// The folders of a campaign.
const FOLDERS: [&str; 4] = ["choices", "corpus", "findings", "tmp"];

/// The files that are written in `tmp/` first, apart from testcases.
const WRITTEN: [&str; 3] = ["campaign.toml", "checkpoint", "status.json"];

const A_FILE: &str = "a file";
const A_FOLDER: &str = "a folder";

/// Refuses to fill a folder that holds something else: without a record, all but what a campaign that died
/// before it had one has left there.
pub(super) fn refuse_foreign(root: &Path) -> Result<()> {
    let names = names_in(root)?;
    if names.iter().any(|name| name == "campaign.toml") {
        return Ok(());
    }
    for name in names {
        if let Some(foreign) = foreign(root, &name)? {
            return Err(with_next(
                format!(
                    "{}: not a campaign folder (it holds `{}`), expected an empty or missing folder",
                    show(root),
                    show(&foreign)
                ),
                "the same command with --out NEW_FOLDER",
            ));
        }
    }
    Ok(())
}

/// What of an entry stood there before any campaign. One that died before it had a record has left empty folders
/// and files, and perhaps the record in `tmp/`.
fn foreign(root: &Path, name: &OsStr) -> Result<Option<PathBuf>> {
    let path = root.join(name);
    let meta = fs::symlink_metadata(&path).map_err(|e| io(&path, "read", &e))?;
    if meta.is_dir() && FOLDERS.iter().any(|folder| name == *folder) {
        let mut inside = names_in(&path)?;
        inside.retain(|inside| name != "tmp" || inside != "campaign.toml");
        return Ok(inside.first().map(|inside| Path::new(name).join(inside)));
    }
    let is_left = meta.is_file() && meta.len() == 0 && (name == "events.jsonl" || name == "lock");
    Ok((!is_left).then(|| name.into()))
}

/// Refuses a campaign's folder in which one of its folders, or a file that is written without being read, is
/// something else: through a link, files would be removed that are not ours.
pub(super) fn refuse_strange(root: &Path) -> Result<()> {
    for folder in FOLDERS {
        let path = root.join(folder);
        if let Some(found) = kind(&path).filter(|found| *found != A_FOLDER) {
            return Err(with_next(
                format!(
                    "{}: {found}, expected a folder of the campaign's own, or nothing there yet",
                    show(&path)
                ),
                move_away(&path),
            ));
        }
    }
    for file in ["lock", "status.json"] {
        let path = root.join(file);
        require_file(&path).map_err(|e| with_next(e.to_string(), move_away(&path)))?;
    }
    Ok(())
}

/// Refuses what would never end, or would make us wait, when it is opened or read, and what leads elsewhere.
pub(super) fn require_file(path: &Path) -> Result<()> {
    match kind(path) {
        None | Some(A_FILE) => Ok(()),
        Some(found) => bail!(
            "{}: {found}, expected a regular file, or nothing there yet",
            show(path)
        ),
    }
}

/// Refuses a folder where a file is to be put. What else is there gives way to the file.
pub(super) fn refuse_folder(path: &Path) -> Result<()> {
    if is_folder(path) {
        require_file(path).map_err(|e| with_next(e.to_string(), move_away(path)))?;
    }
    Ok(())
}

/// Whether it is a folder, and no link to one.
pub(super) fn is_folder(path: &Path) -> bool {
    kind(path) == Some(A_FOLDER)
}

/// Removes what a session that was killed has left in `tmp/`: what is called as we call it. A finding that had given
/// way to a newer one, which did not come to its place any more, goes back to `findings/`.
pub(super) fn empty_tmp(tmp: &Path, findings: &Path) -> Result<()> {
    for name in names_in(tmp)? {
        let path = tmp.join(&name);
        let name = name.to_string_lossy();
        if let Some(of) = name.strip_suffix(".older")
            && is_finding(of)
            && is_folder(&path)
            && kind(&findings.join(of)).is_none()
        {
            let place = findings.join(of);
            fs::rename(&path, &place).map_err(|e| io(&place, "put back", &e))?;
            continue;
        }
        let removed = match is_folder(&path) {
            true if is_finding(&name) => fs::remove_dir_all(&path),
            false if is_our_name(&name) || WRITTEN.contains(&&*name) => fs::remove_file(&path),
            _ => continue,
        };
        removed.map_err(|e| io(&path, "remove", &e))?;
    }
    Ok(())
}

/// Whether a folder in `tmp/` is a finding on its way to its place, or one that gave way to it.
fn is_finding(name: &str) -> bool {
    let name = name.strip_suffix(".older").unwrap_or(name);
    let key = name.rsplit_once('-').map(|(_, key)| key);
    key.is_some_and(|key| key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What is there, a link not followed; `None` if nothing can be seen.
fn kind(path: &Path) -> Option<&'static str> {
    let found = fs::symlink_metadata(path).ok()?.file_type();
    Some(if found.is_dir() {
        A_FOLDER
    } else if found.is_file() {
        A_FILE
    } else if found.is_symlink() {
        "a symbolic link"
    } else {
        "neither a file nor a folder"
    })
}

fn move_away(path: &Path) -> String {
    format!(
        "mv {} ELSEWHERE    # then the same command again",
        quote_path(path)
    )
}

/// Sorted.
fn names_in(folder: &Path) -> Result<Vec<OsString>> {
    let failed = |e| io(folder, "read the folder", &e);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names = names
        .collect::<std::io::Result<Vec<OsString>>>()
        .map_err(failed)?;
    names.sort();
    Ok(names)
}
