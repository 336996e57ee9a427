//! The engine of Sandglass: decides what to run next and what was learnt.
//!
//! It proposes batches of trials, somebody carries them through a target, and it judges the
//! outcomes in order. It never sees a guest, a file, a thread or a clock, so every strategy can be
//! tested, replayed and resumed without one.
//!
//! A complete campaign against a closure; a real one has a sandbox in the closure's place:
//!
//! ```
//! use sandglass_engine::conformance::{Trace, execute};
//! use sandglass_engine::{Config, Decision, Engine, Exit, TrapKind, find};
//!
//! // A target that breaks on inputs that begin with a magic number.
//! let target = |input: &[u8]| {
//!     let mut trace = Trace::default();
//!     trace.hit(0);
//!     let head = input.first_chunk().map_or(0, |head| u32::from_be_bytes(*head));
//!     if trace.equal(1, 4, head.into(), 0x7f45_4c46) {
//!         trace.exit = Some(Exit::Trap(TrapKind::Unreachable));
//!     }
//!     trace
//! };
//! let mut engine = Engine::new(Config {
//!     seed: 1,
//!     probes: 3,
//!     input_bytes_max: 1024,
//!     fuel_limit: 100_000_000,
//!     choice_bytes_max: 10_240,
//!     seeds: vec![b"something".to_vec().into()],
//!     tokens: vec![],
//!     multipliers: vec![],
//!     settings: Default::default(),
//!     slow_factor: 100,
//!     targets: Default::default(),
//!     reruns: false,
//!     takes_texts: false,
//!     watches: false,
//!     spec: find("sandglass").unwrap(),
//! })?;
//! let mut findings = Vec::new();
//! while engine.stats().execs < 10_000 && findings.is_empty() {
//!     let batch = engine.next_batch(10_000 - engine.stats().execs);
//!     let outcomes = execute(&batch, &target, 1);
//!     for decision in engine.finish_batch(&batch, outcomes) {
//!         if let Decision::Finding { input, first: true, .. } = decision {
//!             findings.push(input);
//!         }
//!     }
//! }
//! assert!(findings[0].starts_with(b"\x7fELF"));
//! # Ok::<(), sandglass_engine::SettingError>(())
//! ```
#![forbid(unsafe_code)]

pub mod batch;
pub mod choice;
pub mod conformance;
pub mod corpus;
pub mod dictionary;
mod digest;
pub mod engine;
pub mod feedback;
pub mod finding;
pub mod guidance;
pub mod havoc;
pub mod laws;
pub mod matters;
pub mod ratio;
pub mod rng;
pub mod rows;
pub mod schedule;
pub mod settings;
pub mod shrink;
pub mod solve;
pub mod splice;
pub mod trial;
pub mod trim;

pub use batch::{Batch, Group, Plan, Scratch};
pub use choice::{ChoiceSequence, Drawing, Source};
pub use corpus::{Corpus, Reason, Testcase, TestcaseId};
pub use dictionary::{DictionaryError, Token, TokenSource};
pub use engine::{
    Config, Decision, Engine, Judging, Part, RERUN_EVERY, Reruns, ResumeError, STATE_VERSION, Seed,
    State, Stats,
};
pub use feedback::{Interest, Seen};
pub use finding::{
    FindingKey, FindingKind, FindingRecord, Findings, SlowFindings, SlowRecord, by_the_byte,
};
pub use guidance::{ALL, Spec, find};
pub use ratio::Ratio;
pub use rng::Rng;
pub use settings::{Setting, SettingError, SettingKind, Settings};
pub use trial::{
    Compare, CompareText, Detail, Exit, GeneratorFault, Making, MemoryError, Outcome, Peaks,
    Reached, StackKey, Status, TrapKind, Variant,
};
