//! The programs of `guests/bench`, on which the cost of instrumentation is measured.

/// One measured program: the work is fixed by the input, the answer is always 0.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// The source file's name without its ending.
    pub name: &'static str,
    /// The module.
    pub wasm: &'static [u8],
    /// The input to measure it on.
    pub input: &'static [u8],
}

/// All of them. SQLite, which belongs to the same measurement, is a [`crate::subject`].
pub const BENCH: &[Bench] = &[];
