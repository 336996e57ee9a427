//! An equality of 12 bytes that the compiler turns into loads, xor and or.
#![no_std]
mod planted;
use planted::{INVALID, VALID, fault};

fn target(data: &[u8]) -> i32 {
    let Some((head, _)) = data.split_first_chunk::<12>() else { return INVALID };
    if head == b"\xffhourglass\x80\x01" {
        fault();
    }
    VALID
}
