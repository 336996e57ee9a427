//! Records (type, length, value) fill the input; types 1, 2, 3 in this order; the value of 3 is 55 AA.
#![no_std]
mod planted;
use planted::{INVALID, VALID, fault};

fn target(mut data: &[u8]) -> i32 {
    let mut next = 1;
    let mut armed = false;
    if data.is_empty() {
        return INVALID;
    }
    while let [kind, length, rest @ ..] = data {
        let length = usize::from(*length);
        if length > rest.len() {
            return INVALID;
        }
        let (value, rest) = rest.split_at(length);
        match (*kind, next) {
            (1, 1) | (2, 2) => next += 1,
            (3, 3) => {
                next += 1;
                if let [high, low] = value {
                    armed = *high == 0x55 && *low == 0xAA;
                }
            }
            (1..=3, _) => return INVALID,
            _ => {}
        }
        data = rest;
    }
    if !data.is_empty() {
        return INVALID;
    }
    if next == 4 && armed {
        fault();
    }
    VALID
}
