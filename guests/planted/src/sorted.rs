//! Eight 16-bit little-endian values, strictly ascending, the first above 0, the last above 0xF000.
#![no_std]
mod planted;
use planted::{INVALID, VALID, fault};

fn target(data: &[u8]) -> i32 {
    let Some(data) = data.get(..16) else { return INVALID };
    let mut last = 0;
    for pair in data.chunks_exact(2) {
        let value = u16::from_le_bytes([pair[0], pair[1]]);
        if value <= last {
            return INVALID;
        }
        last = value;
    }
    if last > 0xF000 {
        fault();
    }
    VALID
}
