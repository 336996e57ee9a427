//! The runtime of Sandglass: campaigns, the store, reports, and the program
//! `sandglass`. The only package that owns time, files, threads and printing.
//!
//! ```text
//!  cli ── arguments ──▶ config ──▶ campaign::start
//!                                    │ opens store, compiles target, makes engine and workers
//!                                    ▼
//!      ┌───────────────────── campaign::run ──────────────────────┐
//!      │ engine.next_batch ─▶ campaign::workers ─▶ target::Worker │──▶ event ──▶ report
//!      │ engine.judge ◀───────── outcomes, stacks ◀─ target::Exact│        └──▶ store
//!      └──────────────────────────────────────────────────────────┘
//! ```
//!
//! The engine plans batches of trials and judges them in order; workers carry
//! them out in sandboxes, any number of them, with the same result; findings
//! are replayed in an exact build to learn their stacks; the store writes what
//! came of it so that a campaign killed at any moment resumes and ends where an
//! undisturbed one ends. Reporters are told events and asked nothing.
//!
//! Who wants to run untrusted code in a box, and to fuzz nothing, uses [`boxed::Boxed`].
//!
//! Who wants a campaign without the program uses [`campaign::run`] with an
//! engine, a store and [`campaign::workers::Runner`]s of their own: tests do.

pub mod boxed;
pub mod build;
pub mod campaign;
pub mod check;
pub mod cli;
pub mod codependence;
pub mod compare;
pub mod config;
pub mod coredump;
pub mod corpora;
pub mod cover;
pub mod cover_set;
pub mod error;
pub mod event;
pub mod export;
pub mod growth;
pub mod inputs;
pub mod join;
pub mod memory;
pub mod minimise;
mod output;
pub mod own;
mod page;
pub mod perun;
pub mod profile;
pub mod replayed;
pub mod report;
pub mod rows;
pub mod said;
mod seeds;
pub mod serve;
mod shell;
pub mod stack;
pub mod store;
pub mod target;
pub mod trace;
pub mod triage;
