//! Bytes 4 to 7, little-endian, are 0x6B8B4567.
#![no_std]
mod planted;
use planted::{INVALID, VALID, fault};

fn target(data: &[u8]) -> i32 {
    let Some(word) = data.get(4..8) else { return INVALID };
    let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
    if value == 0x6B8B_4567 {
        fault();
    }
    VALID
}
