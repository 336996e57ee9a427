//! Check: what is known of a target, replayed, and what does not end as it should.
//!
//! The verb (`cli/check.rs`) runs things; here is what they come to, and the reports of it beside
//! (`check/`). Nothing in it depends on time or on the machine.

use std::path::PathBuf;

use sandglass_instrument::symbols::Frame;

use crate::store::finding::repro_command;

pub mod junit;
pub mod known;
pub mod sarif;

/// Why something was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An input, which must not be a finding.
    Input,
    /// A finding that must not be one any more, or a slow input that must keep to its budget.
    Finding,
    /// A finding that is not fixed yet, and must end as it did.
    Open,
    /// A finding that people said is no bug: it may end as it likes.
    Ignored,
    /// A finding that the campaign made.
    New,
}

impl What {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            What::Input => "input",
            What::Finding => "finding",
            What::Open => "open",
            What::Ignored => "ignored",
            What::New => "new",
        }
    }
}

/// Something that was replayed.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Why.
    pub what: What,
    /// The folder that it came from, as the user gave it; printable.
    pub group: String,
    /// What `sandglass repro` takes.
    pub path: PathBuf,
    /// Why the check fails; `None` if it does not for this.
    pub failure: Option<String>,
    /// How it ended and where, in a line; printable.
    pub title: String,
    /// The kind of its end; `slow` for one of a slow input.
    pub kind: String,
    /// What tells its end from others of the kind, 16 hexadecimal digits.
    pub key: String,
    /// Where it ended, innermost frame first.
    pub frames: Vec<Frame>,
    /// What it cost, as campaigns count it.
    pub fuel: u64,
    /// What it may cost, if that is limited to less than a run's limit.
    pub budget: Option<u64>,
    /// Flags of `sandglass repro` beside the path: how memory errors were looked for, if nothing at `path`
    /// says so.
    pub flags: String,
}

impl Checked {
    /// The command that replays it.
    pub fn replay(&self, target: &str) -> String {
        repro_command(target, &self.path) + &self.flags
    }
}

/// The inputs of one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The folder, as the user gave it; printable.
    pub name: String,
    /// How many were replayed, those that failed included.
    pub inputs: u64,
}

/// What a check came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The module, as the user gave it; printable.
    pub target: String,
    /// blake3 of the module, hexadecimal.
    pub target_hash: String,
    /// Folders with inputs, in the order given.
    pub groups: Vec<Group>,
    /// All findings, and the inputs that failed.
    pub checked: Vec<Checked>,
    /// Executions of the campaign; 0 = there was none.
    pub execs: u64,
    /// State of the campaign, for comparison between machines; empty without one.
    pub state_hash: String,
}

impl Report {
    /// What fails the check.
    pub fn failures(&self) -> impl Iterator<Item = &Checked> {
        self.checked.iter().filter(|one| one.failure.is_some())
    }

    /// How many inputs were replayed.
    pub fn inputs(&self) -> u64 {
        self.groups.iter().map(|group| group.inputs).sum()
    }

    /// How many findings of these were replayed.
    pub fn count(&self, what: What) -> u64 {
        self.checked.iter().filter(|one| one.what == what).count() as u64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Report {
        let frame = Frame {
            function: "parse<'a>".into(),
            raw_name: String::new(),
            file: Some("src/my lib.rs".into()),
            line: Some(7),
            column: Some(3),
            inlined: false,
            func_index: 1,
        };
        let one = |what, failure: Option<&str>| Checked {
            what,
            group: "known & co".into(),
            path: "known & co/x".into(),
            failure: failure.map(str::to_owned),
            title: "trap: unreachable in parse<'a> at src/my lib.rs:7:3".into(),
            kind: "trap".into(),
            key: "00112233445566ff".into(),
            frames: vec![frame.clone()],
            fuel: 12,
            budget: None,
            flags: String::new(),
        };
        Report {
            target: "t.wasm".into(),
            target_hash: "aa".into(),
            groups: vec![Group {
                name: "known & co".into(),
                inputs: 3,
            }],
            checked: vec![
                one(What::Input, Some("is a finding")),
                one(What::Finding, None),
                one(What::Open, None),
                one(What::New, Some("new")),
            ],
            execs: 1000,
            state_hash: "bb".into(),
        }
    }
}
