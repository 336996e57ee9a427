//! Findings: two crashes, one bug?
//!
//! In: outcomes that are findings. Out: a key for each, and how often each key was met. Two findings
//! are one if they are of one kind and ended with one stack; where nobody symbolised the stack, the
//! site stands in for it. Two slow inputs are one if most of their fuel was spent in one stack.

use std::cmp::Ordering;
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

/// What is remembered of the slow inputs whose costliest stack is the same: the costliest by the byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowRecord {
    /// What it cost.
    pub fuel: u64,
    /// Its size.
    pub input_bytes: u32,
    /// Its trial, counted from 0 over the campaign.
    pub trial: u64,
    /// How many slow inputs had this stack.
    pub count: u64,
}

/// Whether a slow input is worth telling of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlowNews {
    /// The first of its stack.
    First,
    /// It costs more by the byte than those before.
    Costlier,
    /// It does not.
    None,
}

/// All slow inputs of a campaign, by the stack that spent most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowFindings {
    by_stack: BTreeMap<StackKey, SlowRecord>,
}

impl SlowFindings {
    /// Records one.
    pub(crate) fn add(
        &mut self,
        stack: StackKey,
        (fuel, input_bytes): (u64, u32),
        trial: u64,
    ) -> SlowNews {
        let mut news = SlowNews::None;
        let record = self.by_stack.entry(stack).or_insert_with(|| {
            news = SlowNews::First;
            SlowRecord {
                fuel,
                input_bytes,
                trial,
                count: 0,
            }
        });
        record.count += 1;
        let before = (record.fuel, u64::from(record.input_bytes));
        if by_the_byte((fuel, u64::from(input_bytes)), before).is_gt() {
            (record.fuel, record.input_bytes, record.trial) = (fuel, input_bytes, trial);
            news = SlowNews::Costlier;
        }
        news
    }

    /// Ascending by stack.
    pub fn iter(&self) -> impl Iterator<Item = (&StackKey, &SlowRecord)> {
        self.by_stack.iter()
    }

    /// How many stacks.
    pub fn len(&self) -> usize {
        self.by_stack.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_stack.is_empty()
    }

    /// What is remembered of a stack.
    pub fn get(&self, stack: StackKey) -> Option<&SlowRecord> {
        self.by_stack.get(&stack)
    }
}

/// Compares two inputs, each by its fuel and its size: greater is what costs more for each byte.
///
/// Plain fuel would favour whatever is longest, and what the corpus leads one to expect is another thing in
/// another campaign, or an hour later. Fuel by the byte is a property of the input alone, so it does not matter
/// where, and in which order, inputs are found. Sizes count one more, because an empty input costs something, too.
pub fn by_the_byte((fuel, bytes): (u64, u64), (other, other_bytes): (u64, u64)) -> Ordering {
    let scaled = u128::from(fuel) * (u128::from(other_bytes) + 1);
    scaled.cmp(&(u128::from(other) * (u128::from(bytes) + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_stack_the_costliest_by_the_byte_stays() {
        let mut slow = SlowFindings::default();
        let (one, other) = (StackKey(1), StackKey(2));
        assert_eq!(slow.add(one, (1_000, 9), 1), SlowNews::First);
        // As much by the byte, less, and in another stack.
        assert_eq!(slow.add(one, (2_000, 19), 2), SlowNews::None);
        assert_eq!(slow.add(one, (1_999, 19), 3), SlowNews::None);
        assert_eq!(slow.add(other, (10, 19), 4), SlowNews::First);
        assert_eq!(slow.add(one, (101, 0), 5), SlowNews::Costlier);
        assert_eq!(slow.add(one, (1_001, 9), 6), SlowNews::None);
        let record = slow.get(one).unwrap();
        assert_eq!((record.fuel, record.input_bytes), (101, 0));
        assert_eq!((record.trial, record.count), (5, 5));
        assert_eq!(slow.len(), 2);
    }

    #[test]
    fn nothing_overflows() {
        let most = (u64::MAX, u64::MAX);
        assert_eq!(by_the_byte(most, most), Ordering::Equal);
        assert_eq!(by_the_byte((u64::MAX, 0), most), Ordering::Greater);
    }
}
