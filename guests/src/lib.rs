//! The guests that Sandglass is tested, measured and shown with, and their bytes.
//!
//! Small guests are part of this crate: hand-written text modules ([`WAT`]), planted faults ([`PLANTED`]),
//! demos with realistic bugs ([`DEMOS`]), measured programs ([`BENCH`]), small cases of data flow ([`MICRO`]), dataflow programs ([`DATAFLOW`], [`HARD`], [`QUERIES`]), programs with known worst cases ([`COSTLY`]) and
//! generators of inputs ([`GENERATORS`], whose sources are a crate of their own, `guests/generators`). Real libraries are built by
//! `guests/build-subjects.sh` and found by [`subject`].
//!
//! Memory errors with their good twins are [`TWINS`], undefined behaviour with its own [`UNDEFINED`].
//!
//! This crate knows nothing of how a guest is run: what a run must come to is given as text, see
//! [`Wat::expect`].

mod bench;
mod cost;
mod dataflow;
mod demo;
mod dependence;
mod generator;
mod goal;
mod heap;
#[cfg(test)]
mod paths;
mod planted;
mod semantic;
mod subject;
mod template;
mod undefined;
mod wat;

pub use bench::{BENCH, BENCH_SQLITE_INPUT, Bench};
pub use cost::{COSTLY, Costly};
pub use dataflow::{C_OPERATORS, C_P2, DATAFLOW, Dataflow, HARD, QUERIES, Query, dataflow};
pub use demo::{Bug, C_DEMO, DEMOS, Demo, RUST_DEMO};
pub use dependence::{MICRO, MICRO_CASES};
pub use generator::{GENERATORS, Generator, generator};
pub use goal::goal;
pub use heap::{Case, TWINS, Twins};
pub use planted::{PLANTED, PLANTED_SEED, Planted};
pub use semantic::{SEMANTIC, is_semantic};
pub use subject::{
    FIXED_IN, MEMORY_FIXED_IN, SUBJECTS, SubjectMissing, seeds, subject, subjects_built,
};
pub use template::{TEMPLATES, Template};
pub use undefined::{UNDEFINED, UNDEFINED_SOURCE, Undefined, undefined_cases};
pub use wat::{WAT, Wat, wat};
