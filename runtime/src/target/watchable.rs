//! Whether memory errors can be looked for in a module, and why not.

use std::path::Path;

use anyhow::Result;
use sandglass_instrument::printable::printable;
use sandglass_instrument::{HeapSupport, heap_support};

use super::{Module, Reset};
use crate::error::{show, with_next};
use crate::shell::quote;

/// Errs where memory errors cannot be looked for: resets need marks, or there is nothing to look at.
/// `allocator` is what the user gave of it, `wanted` what stands behind `--sanitize`.
pub fn check_watchable(
    module: &Module,
    reset: Reset,
    allocator: &[String],
    wanted: &str,
) -> Result<()> {
    if needs_marks(reset) {
        return Err(with_next(
            format!("--sanitize {wanted} needs resets by page protection"),
            "the same command without --reset marks",
        ));
    }
    match unwatched(support(module, allocator)?) {
        None => Ok(()),
        Some(reason) => Err(with_next(
            format!(
                "{}: no heap to watch: {reason}",
                show(Path::new(&module.path))
            ),
            format!("sandglass inspect {}", quote(&module.path)),
        )),
    }
}

/// How the heap can be watched; nothing without a memory of 32-bit addresses. Errs when what is given of the allocator
/// is wrong.
pub(crate) fn support(module: &Module, allocator: &[String]) -> Result<Option<HeapSupport>> {
    let is_narrow = (module.facts.memories.first()).is_some_and(|memory| !memory.memory64);
    let support = is_narrow.then(|| heap_support(&module.wasm, allocator));
    support.transpose().map_err(|error| {
        with_next(
            format!(
                "{}: {}",
                show(Path::new(&module.path)),
                printable(&error.to_string())
            ),
            format!("sandglass inspect {}", quote(&module.path)),
        )
    })
}

/// Why a heap cannot be watched, if it cannot.
pub(crate) fn unwatched(support: Option<HeapSupport>) -> Option<&'static str> {
    match support {
        None | Some(HeapSupport::Memory) => Some("no memory with 32-bit addresses"),
        Some(HeapSupport::NoNames) => Some(
            "no `malloc` and `free`, nor Rust's, among the names of its functions (a stripped module has none)",
        ),
        Some(HeapSupport::Ambiguous) => {
            Some("several functions are named `malloc` or `free`, and none is exported")
        }
        Some(HeapSupport::C | HeapSupport::Rust | HeapSupport::Both) => None,
    }
}

/// Whether resets need marks: the user wants them, or page protection does not work here.
pub(crate) fn needs_marks(reset: Reset) -> bool {
    reset == Reset::Marks || !sandglass_sandbox::watching_works()
}
