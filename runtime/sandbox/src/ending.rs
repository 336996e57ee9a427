//! Ending: what wasmtime's errors say about how and where a run ended.

use sandglass_engine::{Exit, TrapKind};
use sandglass_instrument::ProbeMap;
use wasmtime::{Trap, WasmBacktrace};

use crate::program::Program;

/// A frame of a guest's stack, innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFrame {
    /// Function index in the original module.
    pub function: u32,
    /// Offset of the operator in the original file; `None` if unknown.
    pub offset: Option<u32>,
}

/// Which trap an error is; one that wasmtime does not name is `Other`.
pub(crate) fn trap(error: &wasmtime::Error) -> Exit {
    if error.is::<wasmtime::ThrownException>() {
        return Exit::Trap(TrapKind::UncaughtException);
    }
    if error.is::<wasmtime::GcHeapOutOfMemory<()>>() {
        return Exit::OutOfMemory;
    }
    let Some(trap) = error.downcast_ref::<Trap>() else {
        return Exit::Trap(TrapKind::Other);
    };
    Exit::Trap(match trap {
        Trap::UnreachableCodeReached => TrapKind::Unreachable,
        Trap::MemoryOutOfBounds => TrapKind::OutOfBounds,
        Trap::TableOutOfBounds => TrapKind::TableOutOfBounds,
        Trap::IndirectCallToNull | Trap::NullReference => TrapKind::NullReference,
        Trap::BadSignature => TrapKind::BadSignature,
        Trap::IntegerOverflow => TrapKind::IntegerOverflow,
        Trap::IntegerDivisionByZero => TrapKind::DivideByZero,
        Trap::BadConversionToInteger => TrapKind::BadConversion,
        // The native limit: the depth limit is there so that it is never met first.
        Trap::StackOverflow => return Exit::StackOverflow,
        _ => TrapKind::Other,
    })
}

/// The guest's frames of an error, by original function and offset. Functions of ours are left
/// out.
pub(crate) fn stack(error: &wasmtime::Error, program: &Program) -> Vec<RawFrame> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else {
        return Vec::new();
    };
    frames(backtrace, &program.map, imported_functions(program))
}

/// How many functions the instrumented module imports.
pub(crate) fn imported_functions(program: &Program) -> u32 {
    let imports = program.module.imports();
    let functions = imports.filter(|i| matches!(i.ty(), wasmtime::ExternType::Func(_)));
    functions.count() as u32
}

/// The guest's frames of a module with so many imported functions.
pub(crate) fn frames(backtrace: &WasmBacktrace, map: &ProbeMap, imported: u32) -> Vec<RawFrame> {
    let mut frames = Vec::new();
    for frame in backtrace.frames() {
        let body = match frame.module_offset() {
            Some(offset) => map.body(offset as u32),
            // Bodies are emitted in index order.
            None => frame
                .func_index()
                .checked_sub(imported)
                .and_then(|n| map.bodies.get(n as usize)),
        };
        let Some(body) = body.filter(|body| body.function != u32::MAX) else {
            continue;
        };
        let offset = frame
            .module_offset()
            .and_then(|offset| map.original_offset(offset as u32));
        frames.push(RawFrame {
            function: body.function,
            offset,
        });
    }
    frames
}
