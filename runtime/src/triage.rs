//! Triage: how bad a finding is, and what people have decided about it.
//!
//! A decision lies in the folder of its finding, as `triage.toml`, and goes wherever that goes. Campaigns neither read nor
//! write it: what is found does not depend on what anybody thinks of it. `sandglass check` does.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};

use crate::error::{io, show, with_next};
use crate::inputs::read_file;
use crate::shell::quote_path;
use crate::store::atomic::{Durability, write_plain};
use crate::store::finding::FindingRecord;

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// A bug that is not fixed yet: a check expects it to end as it did.
    Open,
    /// No bug: a check does not mind how it ends.
    Ignored,
}

impl Decision {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Open => "open",
            Decision::Ignored => "ignored",
        }
    }
}

/// The contents of `triage.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triage {
    /// What was decided.
    pub decision: Decision,
    /// Why, or where it is tracked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// Its file in the folder of a finding.
const FILE: &str = "triage.toml";

/// A note is a line or two.
pub const NOTE_BYTES_MAX: usize = 8 << 10;

/// A note whose every character is escaped, and more.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// What was decided about the finding in a folder, if anything was. Errs on a file that says something else.
pub fn read(folder: &Path) -> Result<Option<Triage>> {
    let path = folder.join(FILE);
    if fs::metadata(&path).is_err_and(|e| e.kind() == ErrorKind::NotFound) {
        return Ok(None);
    }
    let bytes = read_file(&path, FILE_BYTES_MAX)?;
    let parsed = String::from_utf8(bytes)
        .map_err(|_| "not UTF-8".to_owned())
        .and_then(|text| toml::from_str(&text).map_err(|e| e.message().to_owned()));
    parsed.map(Some).map_err(|why| {
        with_next(
            anyhow!("{}: not a decision: {why}", show(&path)).to_string(),
            format!(
                "sandglass triage {} --clear {}",
                quote_path(folder.parent().unwrap_or(folder)),
                quote_path(Path::new(folder.file_name().unwrap_or_default()))
            ),
        )
    })
}

/// Writes down what was decided, or that nothing is.
pub fn write(folder: &Path, triage: Option<&Triage>) -> Result<()> {
    let path = folder.join(FILE);
    match triage {
        Some(triage) => {
            let text = toml::to_string(triage).expect("two words");
            write_plain(&path, text.as_bytes(), Durability::Machine)
        }
        None => match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(io(&path, "remove", &e)),
            _ => Ok(()),
        },
    }
}

/// How bad a finding is, worst first. It is a guess by its kind: what an attacker can make of it nobody knows without
/// looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Memory was or would have been used wrongly: natively that is undefined.
    High,
    /// The program ends, or does not: anybody who may give it input can stop it.
    Medium,
    /// It costs too much.
    Low,
    /// The harness or the generator is wrong, not the target.
    Harness,
}

impl Severity {
    /// Of a finding by its record.
    pub fn of(record: &FindingRecord) -> Severity {
        let is_address = ["trap: out-of-bounds", "trap: table-out-of-bounds"];
        match record.kind.as_str() {
            // Nothing lies there: natively that ends the program.
            "memory" if record.exit == "memory error: null-access" => Severity::Medium,
            "memory" => Severity::High,
            "trap" if is_address.contains(&record.exit.as_str()) => Severity::High,
            "slow" => Severity::Low,
            "harness-error" | "generator" | "bad-draw" => Severity::Harness,
            _ => Severity::Medium,
        }
    }

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
            Severity::Harness => "harness",
        }
    }
}

#[cfg(test)]
mod tests {
    use sandglass_engine::{Exit, MemoryError, TrapKind};

    use super::*;
    use crate::store::finding::tests::sample;

    #[test]
    fn decisions_are_read_back_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        let triage = Triage {
            decision: Decision::Open,
            note: "issue \"12\"\nsecond line".into(),
        };
        write(folder.path(), Some(&triage)).unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(triage));
        write(folder.path(), None).unwrap();
        write(folder.path(), None).unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        for wrong in ["decision = \"fixed\"", "note = \"x\"", "decision", "\u{0}"] {
            fs::write(folder.path().join(FILE), wrong).unwrap();
            assert!(read(folder.path()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_touches_memory_is_worst() {
        let of = |kind: &str, exit: &str| {
            let mut record = sample().record;
            record.kind = kind.into();
            record.exit = exit.into();
            Severity::of(&record)
        };
        let out_of_bounds = crate::stack::exit_text(Exit::Trap(TrapKind::OutOfBounds));
        assert_eq!(of("trap", &out_of_bounds), Severity::High);
        assert_eq!(of("memory", "memory error: use-after-free"), Severity::High);
        let null = crate::stack::exit_text(Exit::Memory(MemoryError::NullAccess));
        assert_eq!(of("memory", &null), Severity::Medium);
        assert_eq!(of("trap", "trap: unreachable"), Severity::Medium);
        assert_eq!(of("hang", "hang: fuel limit reached"), Severity::Medium);
        assert_eq!(of("slow", "valid"), Severity::Low);
        assert_eq!(of("harness-error", ""), Severity::Harness);
    }
}
