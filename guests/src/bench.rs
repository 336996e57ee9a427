//! The programs of `guests/bench`, on which the cost of instrumentation is measured.

/// One measured program: the work is fixed by the input, the answer is always 0, and the export
/// `checksum` ([] -> i64) tells what was computed since the module's start.
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
pub const BENCH: &[Bench] = &[
    Bench {
        name: "json",
        wasm: include_bytes!("../bench/wasm/json.wasm"),
        input: include_bytes!("../bench/inputs/json"),
    },
    Bench {
        name: "sort",
        wasm: include_bytes!("../bench/wasm/sort.wasm"),
        input: include_bytes!("../bench/inputs/sort"),
    },
    Bench {
        name: "interpreter",
        wasm: include_bytes!("../bench/wasm/interpreter.wasm"),
        input: include_bytes!("../bench/inputs/interpreter"),
    },
    Bench {
        name: "regex",
        wasm: include_bytes!("../bench/wasm/regex.wasm"),
        input: include_bytes!("../bench/inputs/regex"),
    },
    Bench {
        name: "inflate",
        wasm: include_bytes!("../bench/wasm/inflate.wasm"),
        input: include_bytes!("../bench/inputs/inflate"),
    },
    Bench {
        name: "nbody",
        wasm: include_bytes!("../bench/wasm/nbody.wasm"),
        input: include_bytes!("../bench/inputs/nbody"),
    },
];

/// The input for SQLite, when it is measured beside the others.
pub const BENCH_SQLITE_INPUT: &[u8] = include_bytes!("../bench/inputs/sqlite");
