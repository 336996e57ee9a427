//! boa_engine 0.16.0 (September 2022), for its bugs: whatever breaks it and not `rust-boa` has been fixed since.

use std::cell::RefCell;
use std::ffi::c_int;

use boa_old::Context;

thread_local! {
    static CONTEXT: RefCell<Context> = RefCell::default();
}

/// Makes the realm once, before the snapshot.
#[unsafe(no_mangle)]
pub extern "C" fn LLVMFuzzerInitialize(_: *mut c_int, _: *mut *mut *mut u8) -> c_int {
    CONTEXT.with_borrow(|_| 0)
}

sandglass_sdk::target!(|input: &[u8]| CONTEXT.with_borrow_mut(|context| {
    let script = context.parse(input).ok()?;
    sandglass_sdk::stage(1);
    context.compile(&script).ok().map(drop)
}));
