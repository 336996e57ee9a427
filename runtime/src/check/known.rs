//! What folders hold that are given to a check: inputs, findings, or campaigns, which have both.
//!
//! A folder with a folder of a finding in it is one of findings; any other one is one of inputs. Campaigns in it are folders
//! by themselves.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use sandglass_engine::guidance::InputKind;

use super::What;
use crate::error::{io, show, with_next};
use crate::inputs::{self, Input};
use crate::store::read_record;
use crate::store::record::Record;

/// What one folder holds.
#[derive(Debug)]
pub struct Folder {
    /// As the user gave it; printable.
    pub name: String,
    /// Inputs, in the order of their names.
    pub inputs: Vec<Input>,
    /// Folders of findings, in the order of their names.
    pub findings: Vec<PathBuf>,
    /// What they are there for.
    pub what: What,
    /// Of a campaign.
    pub record: Option<Record>,
    /// What was left out.
    pub warnings: Vec<String>,
}

/// Reads what is known in a folder and in the campaigns in it: see [`known`].
pub fn all_known(path: &Path, is_property: bool, input_bytes_max: u64) -> Result<Vec<Folder>> {
    let mut folders = vec![known(path, is_property, input_bytes_max)?];
    for campaign in inputs::campaigns(&[path.to_owned()])? {
        if campaign != path && campaign.starts_with(path) {
            folders.push(known(&campaign, is_property, input_bytes_max)?);
        }
    }
    let has_more = folders.len() > 1;
    folders.retain(|folder| {
        let is_empty = folder.inputs.is_empty() && folder.findings.is_empty();
        !(has_more && is_empty && folder.record.is_none())
    });
    Ok(folders)
}

/// Reads what is known in one folder. Of campaigns of a property the choices are taken, because it gets no bytes.
/// Errs if a folder is missing, or a file in it cannot be read whole: a gate does not pass over what it was told to replay.
pub fn known(path: &Path, is_property: bool, input_bytes_max: u64) -> Result<Folder> {
    let mut folder = Folder {
        name: show(path),
        inputs: Vec::new(),
        findings: findings(path)?,
        what: What::Finding,
        record: None,
        warnings: Vec::new(),
    };
    let of_inputs = if path.join("campaign.toml").exists() {
        folder.record = read_record(path)?;
        let choices = path.join("choices");
        match is_property {
            true if choices.is_dir() => choices,
            true => return Ok(folder),
            false => path.to_owned(),
        }
    } else if folder.findings.is_empty() {
        path.to_owned()
    } else {
        return Ok(folder);
    };
    let read = match (is_property, &folder.record) {
        (true, _) => {
            inputs::read_beside_campaigns(&[of_inputs], InputKind::Choices, input_bytes_max)?
        }
        (false, Some(_)) => inputs::read_all(&[of_inputs], input_bytes_max)?,
        (false, None) => {
            inputs::read_beside_campaigns(&[of_inputs], InputKind::Bytes, input_bytes_max)?
        }
    };
    if let Some(unread) = read.unread {
        return Err(with_next(
            format!("{}; a check replays all that it is told", unread.what),
            match unread.is_too_large {
                true => "the same command with --max-len BYTES, or without the file",
                false => "the same command without the file",
            },
        ));
    }
    folder.inputs = read.inputs;
    folder.warnings = read.warnings;
    Ok(folder)
}

/// Reads findings that are not fixed yet. There may be none, and no folder: Git keeps no empty ones.
/// Errs if what is there are no findings.
pub fn open(path: &Path) -> Result<Folder> {
    let findings = findings(path)?;
    let mut warnings = Vec::new();
    if !path.exists() {
        let name = show(path);
        warnings.push(format!("{name}: no such folder, so no finding is open"));
    } else if findings.is_empty() && holds_something(path)? {
        bail!(
            "{}: no findings, expected the folder of one, or a folder of such",
            show(path)
        );
    }
    Ok(Folder {
        name: show(path),
        inputs: Vec::new(),
        findings,
        what: What::Open,
        record: None,
        warnings,
    })
}

/// Whether there is anything but notes of other tools; a campaign without findings is as good as empty.
fn holds_something(path: &Path) -> Result<bool> {
    if path.join("campaign.toml").exists() {
        return Ok(false);
    }
    let entries = fs::read_dir(path).map_err(|e| io(path, "read the folder", &e))?;
    for entry in entries {
        let name = entry
            .map_err(|e| io(path, "read the folder", &e))?
            .file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folders of findings in a folder, in the order of their names; it may be one itself, or a campaign.
pub fn findings(path: &Path) -> Result<Vec<PathBuf>> {
    let is_finding = |path: &Path| path.join("finding.json").is_file();
    if is_finding(path) {
        return Ok(vec![path.to_owned()]);
    }
    let folder = match path.join("campaign.toml").exists() {
        true => path.join("findings"),
        false => path.to_owned(),
    };
    // What is missing or no folder is told by whoever reads the inputs.
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(&folder).map_err(|e| io(&folder, "read the folder", &e))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|e| io(&folder, "read the folder", &e))?
            .path();
        if is_finding(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_of_inputs_or_of_findings() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        };
        make("plain/sub/input");
        make("plain/a");
        make("found/trap-1/finding.json");
        make("found/trap-1/input");
        make("found/notes");
        let read = |name: &str| known(&root.path().join(name), false, 100).unwrap();
        let plain = read("plain");
        assert_eq!((plain.inputs.len(), plain.findings.len()), (2, 0));
        let found = read("found");
        assert_eq!((found.inputs.len(), found.findings.len()), (0, 1));
        assert_eq!(read("found/trap-1").findings.len(), 1);
        assert!(open(&root.path().join("plain")).is_err());
        make("fixed/.gitkeep");
        let fixed = open(&root.path().join("fixed")).unwrap();
        assert!(fixed.findings.is_empty() && fixed.warnings.is_empty());
        let missing = open(&root.path().join("nowhere")).unwrap();
        assert_eq!((missing.findings.len(), missing.warnings.len()), (0, 1));
        assert!(known(&root.path().join("nowhere"), false, 100).is_err());
    }
}
