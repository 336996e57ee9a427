//! Bytes 8 to 15, little-endian, are one 64-bit constant.
#![no_std]
mod planted;
use planted::{INVALID, VALID, fault};

fn target(data: &[u8]) -> i32 {
    let Some((word, _)) = data.get(8..).and_then(|rest| rest.split_first_chunk::<8>()) else {
        return INVALID;
    };
    if u64::from_le_bytes(*word) == 0x9E37_79B9_7F4A_7C15 {
        fault();
    }
    VALID
}
