//! Proposals: which ones run here, which ones a module uses, and what to tell the compiler about the others.

use wasmparser::{Operator, WasmFeatures};

use super::{Reason, Refusal};

/// Everything wasmtime 48 runs deterministically.
const ACCEPTED: WasmFeatures = WasmFeatures::WASM2
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::MULTI_MEMORY)
    .union(WasmFeatures::MEMORY64)
    .union(WasmFeatures::EXCEPTIONS);

/// What the collector's types need on top.
const GC: WasmFeatures = WasmFeatures::FUNCTION_REFERENCES.union(WasmFeatures::GC);

/// The proposals that a validator may let through.
pub(super) fn accepted(gc: bool) -> WasmFeatures {
    if gc { ACCEPTED.union(GC) } else { ACCEPTED }
}

/// A proposal that we refuse: the flag, its name, why, and how to build without.
struct Refused {
    feature: WasmFeatures,
    name: &'static str,
    why: &'static str,
    instead: &'static str,
}

/// In the order in which they are looked for, since a message about an atomic operator may name several.
const REFUSED: &[Refused] = &[
    Refused {
        feature: WasmFeatures::LEGACY_EXCEPTIONS,
        name: "legacy exceptions (`try`, `catch`, `delegate`)",
        why: "wasmtime runs the standard encoding (`try_table`) only",
        instead: "compile and link with `-mllvm -wasm-use-legacy-eh=false`",
    },
    Refused {
        feature: WasmFeatures::THREADS,
        name: "threads (shared memory or atomic operators)",
        why: "they are not deterministic",
        instead: "compile without `-pthread` and `-matomics` (Rust: without `-C target-feature=+atomics`)",
    },
    Refused {
        feature: WasmFeatures::SHARED_EVERYTHING_THREADS,
        name: "shared-everything threads",
        why: "they are not deterministic",
        instead: "compile without `-pthread`",
    },
    Refused {
        feature: WasmFeatures::RELAXED_SIMD,
        name: "relaxed SIMD",
        why: "its results differ between machines",
        instead: "compile with `-mno-relaxed-simd` (Rust: `-C target-feature=-relaxed-simd`)",
    },
    Refused {
        feature: WasmFeatures::CUSTOM_PAGE_SIZES,
        name: "custom page sizes",
        why: "snapshots work on pages of 64 KiB",
        instead: "link without `--page-size`",
    },
    Refused {
        feature: WasmFeatures::STACK_SWITCHING,
        name: "stack switching (continuations)",
        why: "the instrumentation cannot follow them",
        instead: "compile without it; for C, `-fno-coroutines` or an Asyncify build",
    },
    Refused {
        feature: WasmFeatures::WIDE_ARITHMETIC,
        name: "wide arithmetic (128-bit operators)",
        why: "wasmtime 48 does not enable it",
        instead: "compile with `-mno-wide-arithmetic`",
    },
    Refused {
        feature: WasmFeatures::GC,
        name: "garbage-collected types",
        why: "they are switched off here",
        instead: "compile to linear memory",
    },
    Refused {
        feature: WasmFeatures::FUNCTION_REFERENCES,
        name: "typed function references",
        why: "they are switched off here",
        instead: "compile with `-mno-gc`",
    },
    Refused {
        feature: WasmFeatures::MEMORY_CONTROL,
        name: "memory control (`memory.discard`)",
        why: "wasmtime does not run it",
        instead: "compile without it",
    },
    Refused {
        feature: WasmFeatures::CUSTOM_DESCRIPTORS,
        name: "custom descriptors",
        why: "wasmtime does not run them",
        instead: "compile without them",
    },
    Refused {
        feature: WasmFeatures::COMPACT_IMPORTS,
        name: "the compact import section",
        why: "wasmtime does not read it",
        instead: "link without it",
    },
];

/// The refusal for a module that needs `missing`, first seen at `offset`.
pub(super) fn refusal(missing: WasmFeatures, offset: usize) -> Refusal {
    let known = REFUSED
        .iter()
        .find(|refused| missing.intersects(refused.feature));
    let message = match known {
        Some(refused) => {
            format!(
                "uses {} at offset {offset:#x}, but {}; {}",
                refused.name, refused.why, refused.instead
            )
        }
        None => format!(
            "uses a proposal that does not run here ({missing:?}) at offset {offset:#x}; compile without it"
        ),
    };
    Refusal::new(Reason::Feature, message)
}

/// A set of proposals, one bit each, so that noting an operator costs an `or`.
#[derive(Default, Clone, Copy)]
pub(super) struct Used(u32);

macro_rules! proposals {
    ($($ident:ident $bit:literal $name:literal)*) => {
        /// One constant for each proposal, named as wasmparser's operator table names it.
        #[expect(non_upper_case_globals, reason = "the names are pasted from wasmparser's operator table")]
        pub(super) mod bit {
            $(pub(in crate::accept) const $ident: u32 = 1 << $bit;)*
        }
        /// Bit and published name.
        const NAMES: &[(u32, &str)] = &[$((bit::$ident, $name)),*];
    };
}

proposals! {
    mvp 0 "mvp"
    exceptions 1 "exceptions"
    tail_call 2 "tail-call"
    reference_types 3 "reference-types"
    sign_extension 4 "sign-extension"
    saturating_float_to_int 5 "nontrapping-fptoint"
    bulk_memory 6 "bulk-memory"
    simd 7 "simd128"
    relaxed_simd 8 "relaxed-simd"
    threads 9 "threads"
    gc 10 "gc"
    function_references 11 "function-references"
    memory_control 12 "memory-control"
    legacy_exceptions 13 "legacy-exceptions"
    stack_switching 14 "stack-switching"
    wide_arithmetic 15 "wide-arithmetic"
    shared_everything_threads 16 "shared-everything-threads"
    custom_descriptors 17 "custom-descriptors"
    multi_value 18 "multivalue"
    multi_memory 19 "multi-memory"
    memory64 20 "memory64"
    mutable_globals 21 "mutable-globals"
    extended_const 22 "extended-const"
}

impl Used {
    /// Adds one of the constants.
    pub(super) fn note(&mut self, bits: u32) {
        self.0 |= bits;
    }

    /// Adds the proposal that brought an operator.
    pub(super) fn note_operator(&mut self, operator: &Operator<'_>) {
        self.0 |= proposal(operator);
    }

    /// The names of all but the first version's, in a fixed order.
    pub(super) fn names(self) -> Vec<&'static str> {
        NAMES
            .iter()
            .skip(1)
            .filter(|(bits, _)| self.0 & bits != 0)
            .map(|&(_, name)| name)
            .collect()
    }
}

macro_rules! define_proposal {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
        /// The bit of the proposal that an operator belongs to.
        fn proposal(operator: &Operator<'_>) -> u32 {
            match operator {
                $(Operator::$op $({ $($arg: _),* })? => bit::$proposal,)*
                // The enum may grow with the next wasmparser; the validator knows those operators then.
                _ => 0,
            }
        }
    };
}
wasmparser::for_each_operator!(define_proposal);
