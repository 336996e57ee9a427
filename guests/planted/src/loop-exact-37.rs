//! The input starts with exactly 37 equal bytes.
#![no_std]
mod planted;
use planted::{INVALID, VALID, fault};

fn target(data: &[u8]) -> i32 {
    let Some(first) = data.first() else { return INVALID };
    let mut run = 0;
    for byte in data {
        if byte != first {
            break;
        }
        run += 1;
    }
    if run == 37 {
        fault();
    }
    VALID
}
