//! The programs of `guests/cost`: small, with worst cases that are known.

/// One of them. Its input is bytes, of which it rejects more than 64 Ki.
#[derive(Clone, Copy, Debug)]
pub struct Costly {
    /// The source file's name without its ending.
    pub name: &'static str,
    /// The module.
    pub wasm: &'static [u8],
}

/// All of them.
pub const COSTLY: &[Costly] = &[
    Costly {
        name: "insertion-sort",
        wasm: include_bytes!("../cost/wasm/insertion-sort.wasm"),
    },
    Costly {
        name: "quicksort",
        wasm: include_bytes!("../cost/wasm/quicksort.wasm"),
    },
    Costly {
        name: "quicksort-hoare",
        wasm: include_bytes!("../cost/wasm/quicksort-hoare.wasm"),
    },
    Costly {
        name: "quicksort-bsd",
        wasm: include_bytes!("../cost/wasm/quicksort-bsd.wasm"),
    },
    Costly {
        name: "hash-table",
        wasm: include_bytes!("../cost/wasm/hash-table.wasm"),
    },
];
