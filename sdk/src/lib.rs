//! What a guest's author links.
//!
//! A target needs nothing of this: `LLVMFuzzerTestOneInput`, exported, is enough.
//!
//! ```no_run
//! /// Runs one input: 0 if it was accepted, -1 if it was rejected. A panic is a finding.
//! #[unsafe(no_mangle)]
//! pub extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
//!     // SAFETY: the host passes the address and length of an input that it has put there.
//!     let input = unsafe { std::slice::from_raw_parts(data, size) };
//!     match std::str::from_utf8(input) {
//!         Ok(text) if text.len() < 100 => sandglass_sdk::VALID,
//!         _ => sandglass_sdk::INVALID,
//!     }
//! }
//! ```
//!
//! Names and codes are the contract's, `sandglass-abi`.
#![no_std]

pub use sandglass_abi::*;
