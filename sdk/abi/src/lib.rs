//! The contract between host and guest: names of exports and imports, codes, version.
//!
//! The only place where a name or number crosses between the two sides.
#![no_std]

/// Version of the contract; a guest built for another one is told so.
pub const ABI_VERSION: u32 = 1;

/// Export `(ptr: i32, len: i32) -> i32`: runs one input. libFuzzer's name and meaning.
pub const TEST_ONE_INPUT: &str = "LLVMFuzzerTestOneInput";
/// Export `(argc: i32, argv: i32) -> i32`: libFuzzer's set-up, run before the snapshot.
pub const INITIALIZE: &str = "LLVMFuzzerInitialize";
/// Export `() -> ()`: a WASI reactor's constructors, run before the snapshot.
pub const REACTOR_INITIALIZE: &str = "_initialize";
/// Export `() -> ()`: a WASI command.
pub const START: &str = "_start";
/// Export `() -> ()`: costly set-up, run before the snapshot.
pub const SETUP: &str = "sandglass_setup";
/// Export `() -> ()`: a generator, which draws and emits.
pub const GENERATE: &str = "sandglass_generate";
/// Export `() -> i32`: a property, which draws and checks.
pub const PROPERTY: &str = "sandglass_property";

/// What a target returns for an input that it accepts.
pub const VALID: i32 = 0;
/// What a target returns for an input that it rejects.
pub const INVALID: i32 = -1;
