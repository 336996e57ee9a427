//! What we accept: one validating pass over a module before anything else touches it.
//!
//! In: the bytes of a file that nobody vouches for. Out: [`Facts`] about a module that walrus and wasmtime can take
//! in bounded time and memory, or one [`Refusal`] that names the thing, its place, what was expected and what to do.
//! It does not know which imports the sandbox provides, and it runs nothing.
//!
//! Entry points are judged apart ([`Facts::target`], [`Facts::generator`]), because a module can be one or the other.

mod body;
mod container;
mod entry;
mod facts;
mod feature;
mod limits;
mod pass;

pub use entry::EntryKind;
pub use facts::{Export, Facts, Import, Item, Memory};
pub use limits::AcceptLimits;

/// Why a file cannot be used; its text is a lower-case fragment that can follow a file name and a colon.
///
/// Names from the file in it have been through [`printable`](crate::printable::printable).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of reason it is.
    pub reason: Reason,
    message: String,
}

/// The kinds of reasons, for callers that treat some of them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Not a core WebAssembly module at all: a component, a text, an archive, an object file.
    NotAModule,
    /// The file ends before its sections do.
    Truncated,
    /// The module breaks a rule of WebAssembly.
    Malformed,
    /// The module uses a proposal that cannot run here or not deterministically.
    Feature,
    /// Something is larger than [`AcceptLimits`] allows.
    Limit,
    /// Nothing to start, or something with the wrong type.
    Entry,
    /// An import or export uses a name that instrumentation needs.
    ReservedName,
}

impl Refusal {
    fn new(reason: Reason, message: impl Into<String>) -> Refusal {
        Refusal {
            reason,
            message: message.into(),
        }
    }
}

/// Checks `wasm` in one pass and says what is in it.
///
/// Costs about what validation costs: 10 ms per MB of code; memory is bounded by the size of the file.
///
/// # Errors
///
/// Refuses what is not a valid core module, what needs a proposal that we do not run, and what exceeds `limits`.
pub fn check(wasm: &[u8], limits: &AcceptLimits) -> Result<Facts, Refusal> {
    container::check(wasm, limits)?;
    pass::run(wasm, limits)
}

#[cfg(test)]
mod tests;
