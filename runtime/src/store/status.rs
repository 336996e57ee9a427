//! `status.json`: where a campaign stood at its last checkpoint or at the end of its last session, for whoever watches it
//! from outside.
//!
//! What the log does not say and the checkpoint says to us alone: how many were valid, what each operator
//! led to. Nothing reads it to go on, so it is not forced to disk; and like the log it says nothing
//! that differs between equal campaigns.

use std::path::Path;

use sandglass_engine::guidance::OperatorRecord;
use serde::{Deserialize, Serialize};

use crate::event::Counters;

/// The contents of `status.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The counters.
    #[serde(flatten)]
    pub counters: Counters,
    /// What the guidance's operators or rules have led to, where it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<OperatorRecord>,
}

impl Status {
    /// The name of its file.
    pub const FILE: &'static str = "status.json";

    /// As the file has it.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a status is plain data") + "\n"
    }

    /// That of a campaign's folder; `None` if there is none that we understand.
    pub fn read(root: &Path) -> Option<Status> {
        let bytes = super::read_plain(&root.join(Status::FILE), STATUS_BYTES_MAX)?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// More has no campaign of ours.
const STATUS_BYTES_MAX: u64 = 1 << 20;
