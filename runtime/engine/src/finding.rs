//! Findings: two crashes, one bug?
//!
//! In: outcomes that are findings. Out: a key for each, and how often each key was met. Two findings
//! are one if they are of one kind and ended with one stack; where nobody symbolised the stack, the
//! site stands in for it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::trial::{Exit, StackKey};

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FindingKind {
    /// The harness broke its contract.
    HarnessError,
    /// The guest trapped.
    Trap,
    /// The fuel limit was reached.
    Hang,
    /// The limit of call depth was reached, or the end of the stack.
    StackOverflow,
    /// The memory limit was reached, and the guest could not cope.
    OutOfMemory,
    /// The guest drew from a domain without values.
    BadDraw,
    /// The generator broke, whatever way.
    Generator,
    /// The guest did to memory what it must not.
    Memory,
}

impl FindingKind {
    /// The kind of an exit, if it is a finding.
    pub fn of(exit: Exit) -> Option<FindingKind> {
        match exit {
            Exit::HarnessError(_) => Some(FindingKind::HarnessError),
            Exit::Trap(_) => Some(FindingKind::Trap),
            Exit::Hang => Some(FindingKind::Hang),
            Exit::StackOverflow | Exit::StackEnd => Some(FindingKind::StackOverflow),
            Exit::OutOfMemory => Some(FindingKind::OutOfMemory),
            Exit::BadDraw => Some(FindingKind::BadDraw),
            Exit::Generator(_) => Some(FindingKind::Generator),
            Exit::Memory(_) => Some(FindingKind::Memory),
            Exit::Valid
            | Exit::Invalid
            | Exit::ExitCode(_)
            | Exit::OutputLimit
            | Exit::Overrun
            | Exit::NoInput
            | Exit::Rejected => None,
        }
    }

    /// As in [`Exit::kind`].
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::HarnessError => "harness-error",
            FindingKind::Trap => "trap",
            FindingKind::Hang => "hang",
            FindingKind::StackOverflow => "stack-overflow",
            FindingKind::OutOfMemory => "oom",
            FindingKind::BadDraw => "bad-draw",
            FindingKind::Generator => "generator",
            FindingKind::Memory => "memory",
        }
    }
}

/// What makes a finding different from the others. Displayed as `<kind>-<16 hex digits>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FindingKey {
    /// Its kind.
    pub kind: FindingKind,
    /// Its stack; without one, the site.
    pub stack: StackKey,
}

impl fmt::Display for FindingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.kind.name(), self.stack.0)
    }
}

/// What is remembered of one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRecord {
    /// How the first one ended.
    pub exit: Exit,
    /// Where the first one ended.
    pub site: u32,
    /// The trial of the first one, counted from 0 over the campaign.
    pub trial: u64,
    /// BLAKE3 of the first one's input.
    pub input_hash: [u8; 32],
    /// How many trials with detail had this key.
    pub count: u64,
}

/// All findings of a campaign, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    by_key: BTreeMap<FindingKey, FindingRecord>,
}

impl Findings {
    /// Records one finding; true if it is the first with its key.
    pub(crate) fn add(&mut self, key: FindingKey, first: impl FnOnce() -> FindingRecord) -> bool {
        let mut is_first = false;
        let record = self.by_key.entry(key).or_insert_with(|| {
            is_first = true;
            first()
        });
        record.count += 1;
        is_first
    }

    /// Ascending by key.
    pub fn iter(&self) -> impl Iterator<Item = (&FindingKey, &FindingRecord)> {
        self.by_key.iter()
    }

    /// How many keys.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// What is remembered of a key.
    pub fn get(&self, key: &FindingKey) -> Option<&FindingRecord> {
        self.by_key.get(key)
    }
}
