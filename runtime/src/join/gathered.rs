//! What others have, as a folder that other verbs read.
//!
//! In: inputs and findings that were run here. Out: a folder laid out as a campaign's.
//!
//! ```text
//! DIR/corpus/NAME           inputs, as targets get them
//!     choices/NAME          the choices behind each, if there are any
//!     findings/KIND-KEY/    findings, to be replayed by `sandglass repro`
//! ```
//!
//! Names are made of what was run and of how it ended, and never taken from anybody.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::audit::Ran;
use crate::config::require_empty;
use crate::error::io;
use crate::store::input_name;

/// A folder that is being filled.
pub struct Gathered {
    root: PathBuf,
    /// Inputs so far, each once.
    pub inputs: u64,
    /// Findings so far.
    pub findings: u64,
}

impl Gathered {
    /// In a new folder, or an empty one; errs if there is something in it.
    pub fn new(root: &Path) -> Result<Gathered> {
        require_empty(root)?;
        for folder in ["corpus", "findings"] {
            let path = root.join(folder);
            fs::create_dir(&path).map_err(|e| io(&path, "create the folder", &e))?;
        }
        Ok(Gathered {
            root: root.to_owned(),
            inputs: 0,
            findings: 0,
        })
    }

    /// Keeps what was run.
    pub fn keep(&mut self, ran: Ran<'_>) -> Result<()> {
        match ran {
            Ran::Entry { input, choices } => {
                let name = input_name(choices.map_or(input, str::as_bytes));
                if let Some(text) = choices {
                    let path = self.root.join("choices");
                    fs::create_dir_all(&path).map_err(|e| io(&path, "create the folder", &e))?;
                    self.write("choices", &name, text.as_bytes())?;
                }
                self.inputs += u64::from(self.write("corpus", &name, input)?);
            }
            Ran::Finding(finding) => {
                finding.write(&self.root, &self.root.join("findings"))?;
                self.findings += 1;
            }
        }
        Ok(())
    }

    /// Writes a file; whether it is new.
    fn write(&self, folder: &str, name: &str, bytes: &[u8]) -> Result<bool> {
        let path = self.root.join(folder).join(name);
        if path.exists() {
            return Ok(false);
        }
        fs::write(&path, bytes).map_err(|e| io(&path, "write", &e))?;
        Ok(true)
    }
}
