// What every planted fault in Rust shares: the panic handler (a trap), the export, and the fault itself.
use core::arch::wasm32::unreachable;

pub const VALID: i32 = 0;
pub const INVALID: i32 = -1;

/// The planted fault.
#[inline(always)]
pub fn fault() -> ! {
    unreachable()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unreachable()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    // SAFETY: the host passes a readable buffer of `size` bytes.
    super::target(unsafe { core::slice::from_raw_parts(data, size) })
}
