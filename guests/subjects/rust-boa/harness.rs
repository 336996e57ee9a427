//! boa_engine: parse a script and compile it to byte code, without running it.

use std::cell::RefCell;
use std::ffi::c_int;

use boa_engine::{Context, Script, Source};

thread_local! {
    static CONTEXT: RefCell<Context> = RefCell::default();
}

/// Makes the realm once, before the snapshot.
#[unsafe(no_mangle)]
pub extern "C" fn LLVMFuzzerInitialize(_: *mut c_int, _: *mut *mut *mut u8) -> c_int {
    CONTEXT.with_borrow(|_| 0)
}

sandglass_sdk::target!(|input: &[u8]| CONTEXT.with_borrow_mut(|context| {
    let script = Script::parse(Source::from_bytes(input), None, context).ok()?;
    sandglass_sdk::stage(1);
    script.codeblock(context).ok().map(drop)
}));
