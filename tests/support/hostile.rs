//! Hostile modules and files: what somebody who wishes us ill, or a broken build, would pass.
//!
//! Each is built from nothing by wasm-encoder, byte by byte or from text, so none is checked in. They are small to write down and
//! some are large to compile. No real module is among them; nothing here knows who consumes them.

mod behaviour;
mod bombs;
mod build;
mod debug;
mod entry;
mod features;
mod files;
mod malformed;
mod squares;

/// One hostile file.
#[derive(Debug, Clone)]
pub struct Hostile {
    /// Which one, in words joined by dashes; unique.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// What must come of it.
    pub expect: Expect,
}

/// What must come of a hostile file. The host survives in every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Refused before instrumentation, with a message that contains this.
    Refused(&'static str),
    /// Accepted, but it cannot be set up: an unknown import, a trap before the snapshot. The message contains this.
    FailsSetUp(&'static str),
    /// It is set up and runs; what a run comes to is anything.
    Runs,
    /// It is set up, and a run with a 16-byte input of `b'A'` ends in this kind of exit: `valid`, `invalid`,
    /// `exit-code`, `harness-error`, `trap`, `hang`, `stack-overflow`, `oom` or `output-limit`.
    Ends(&'static str),
}

impl Hostile {
    fn new(name: impl Into<String>, bytes: Vec<u8>, expect: Expect) -> Hostile {
        Hostile {
            name: name.into(),
            bytes,
            expect,
        }
    }
}

/// All of them, in a fixed order; builds about 60 MB in about a second.
pub fn modules() -> Vec<Hostile> {
    let mut all = files::all();
    all.extend(malformed::all());
    all.extend(features::all());
    all.extend(bombs::all());
    all.extend(entry::all());
    all.extend(debug::all());
    all.extend(behaviour::all());
    all.extend(squares::all());
    all
}
