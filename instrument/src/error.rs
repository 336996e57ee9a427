//! What can go wrong while instrumenting.

/// Why a module could not be instrumented.
#[derive(Debug, thiserror::Error)]
pub enum InstrumentError {
    /// We do not take it.
    #[error(transparent)]
    Refused(#[from] crate::accept::Refusal),
    /// walrus could not read it.
    #[error("cannot be read: {0}")]
    Parse(String),
    /// What the user said of its allocator is wrong.
    #[error("allocator {0}")]
    Given(String),
    /// Nothing to run.
    #[error("exports no entry point, expected one of {}", crate::ENTRY_POINTS.join(", "))]
    NoEntry,
}
