//! What can keep a module from being run. What a guest does while it runs is never an error.

use sandglass_instrument::InstrumentError;

/// Why a module, or an instance of it, could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The instrumentation failed.
    #[error(transparent)]
    Instrument(#[from] InstrumentError),
    /// wasmtime refused the module.
    #[error("wasmtime cannot compile it: {0}")]
    Compile(String),
    /// It imports something that nobody provides.
    #[error("imports {}, which sandglass does not provide; expected wasi_snapshot_preview1 and sandglass functions only", .0.join(", "))]
    Imports(Vec<String>),
    /// The entry point, or another export, has a type that we cannot call.
    #[error("export `{name}` has type {found}, expected {expected}")]
    ExportType {
        /// The export.
        name: String,
        /// Its type.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// It could not be instantiated.
    #[error("cannot be instantiated: {0}")]
    Instantiate(String),
    /// A set-up function did not run to completion.
    #[error("{function} failed before the first run: {reason}{details}")]
    Setup {
        /// Which one.
        function: String,
        /// How it ended.
        reason: String,
        /// Where, and what it wrote last, for the same line.
        details: String,
    },
    /// There is no room for the input.
    #[error(
        "no room for inputs of {0} bytes: `malloc` has none to give, or is not exported and memory cannot grow; lower --max-len, or export malloc"
    )]
    NoInputRoom(u32),
    /// The virtual system was set up wrongly.
    #[error("{0}")]
    System(String),
    /// The machine refused memory.
    #[error("cannot map memory: {0}")]
    Memory(#[from] std::io::Error),
    /// The cache folder cannot be trusted or used.
    #[error("{0}")]
    Cache(String),
}
