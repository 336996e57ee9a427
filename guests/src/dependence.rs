//! The cases of `guests/dependence`: how values come from the input.

/// The cases' names; the first byte of the input is the number of one.
pub const MICRO_CASES: [&str; 15] = [
    "bits", "casts", "match", "hash", "decimal", "table", "sort", "structs", "text", "calls",
    "varint", "choose", "places", "base64", "floats",
];

/// The module, as optimised as its name says.
pub const MICRO: [(&str, &[u8]); 2] = [
    ("O2", include_bytes!("../dependence/wasm/micro-O2.wasm")),
    ("O0", include_bytes!("../dependence/wasm/micro-O0.wasm")),
];
