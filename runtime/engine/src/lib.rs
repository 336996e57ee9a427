//! The engine of Sandglass: decides what to run next and what was learnt.
//!
//! It proposes batches of trials, somebody carries them through a target, and it judges the
//! outcomes in order. It never sees a guest, a file, a thread or a clock, so every strategy can be
//! tested, replayed and resumed without one.
#![forbid(unsafe_code)]

pub mod batch;
pub mod corpus;
pub mod dictionary;
mod digest;
pub mod engine;
pub mod feedback;
pub mod finding;
pub mod guidance;
pub mod havoc;
pub mod ratio;
pub mod rng;
pub mod schedule;
pub mod settings;
pub mod solve;
pub mod splice;
pub mod trial;
pub mod trim;

pub use batch::{Batch, Group, Plan, Scratch};
pub use corpus::{Corpus, Reason, Testcase, TestcaseId};
pub use dictionary::{DictionaryError, Token, TokenSource};
pub use engine::{Config, Decision, Engine, ResumeError, State, Stats};
pub use feedback::{Interest, Seen};
pub use finding::{FindingKey, FindingKind, FindingRecord, Findings};
pub use guidance::{ALL, Spec, find};
pub use ratio::Ratio;
pub use rng::Rng;
pub use settings::{Setting, SettingError, SettingKind, Settings};
pub use trial::{Compare, CompareText, Detail, Exit, Outcome, StackKey, Status, TrapKind, Variant};
