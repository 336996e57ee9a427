//! `CR`, the little-endian CRC-32 of the payload, at least 8 bytes of payload.
#![no_std]
mod planted;
use planted::{INVALID, VALID, fault};

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| (c >> 1) ^ (0xEDB8_8320 & (c & 1).wrapping_neg()))
    })
}

fn target(data: &[u8]) -> i32 {
    let [b'C', b'R', a, b, c, d, payload @ ..] = data else { return INVALID };
    if payload.len() < 8 {
        return INVALID;
    }
    if crc32(payload) == u32::from_le_bytes([*a, *b, *c, *d]) {
        fault();
    }
    VALID
}
