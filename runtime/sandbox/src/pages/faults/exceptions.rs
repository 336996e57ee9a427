//! Exceptions: the fault handler of Windows.
//!
//! This is one of the files that may use `unsafe`. Contract: the handler allocates nothing, and passes on what
//! is not ours as if it were not there. The tests of `pages` have run with it under Wine, and on no Windows.
#![expect(unsafe_code, reason = "handles exceptions")]

use std::sync::Once;

use windows_sys::Win32::Foundation::EXCEPTION_ACCESS_VIOLATION;
use windows_sys::Win32::System::Diagnostics::Debug::{
    AddVectoredExceptionHandler, CONTEXT, EXCEPTION_CONTINUE_EXECUTION, EXCEPTION_CONTINUE_SEARCH,
    EXCEPTION_POINTERS,
};

use super::{TRAP_PC, make_hot};

/// An access violation's first word, if it was a write. Its second is where to.
const WRITE: usize = 1;

/// Does the handler know where a guest trapped?
pub(crate) const KNOWS_TRAP_PC: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Installs the fault handler in front of wasmtime's, which must exist by now.
pub(crate) fn install_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is a function of this file, and stays.
        let installed = unsafe { AddVectoredExceptionHandler(1, Some(on_exception)) };
        assert!(!installed.is_null(), "the system takes a handler");
    });
}

/// # Safety
/// The system calls it, with an exception of the thread that it calls it on.
unsafe extern "system" fn on_exception(exception: *mut EXCEPTION_POINTERS) -> i32 {
    // SAFETY: as promised; both parts are there, and nobody else holds them.
    let (record, context) =
        unsafe { (&*(*exception).ExceptionRecord, &*(*exception).ContextRecord) };
    let [what, address, ..] = record.ExceptionInformation;
    let is_write = record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION && what == WRITE;
    if is_write && make_hot(address) {
        return EXCEPTION_CONTINUE_EXECUTION;
    }
    TRAP_PC.set(program_counter(context));
    EXCEPTION_CONTINUE_SEARCH
}

/// Where the interrupted code was; 0 where we do not know how to tell.
fn program_counter(context: &CONTEXT) -> usize {
    #[cfg(target_arch = "x86_64")]
    return context.Rip as usize;
    #[cfg(target_arch = "aarch64")]
    return context.Pc as usize;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        0
    }
}
