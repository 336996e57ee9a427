//! `#` and eight hexadecimal digits, the number 0xC0DEF00D.
#![no_std]
mod planted;
use planted::{INVALID, VALID, fault};

fn target(data: &[u8]) -> i32 {
    let [b'#', digits @ ..] = data else { return INVALID };
    let Some(digits) = digits.get(..8) else { return INVALID };
    let mut value = 0u32;
    for digit in digits {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return INVALID,
        };
        value = value << 4 | u32::from(digit);
    }
    if value == 0xC0DE_F00D {
        fault();
    }
    VALID
}
