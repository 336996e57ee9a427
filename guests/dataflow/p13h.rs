//! P13 with a harder fault: every line as it is.

use sandglass_sdk::flow::{Sets, fault};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<&str> {
    let lines = sets.rows(0).map(|line| {
        if line.strip_prefix("invoice ").is_some_and(is_leap_day) {
            fault("h13.1");
        }
        line
    });
    lines.collect()
}

/// Whether a text is the 29th of February of a year that has one, and the last digit of the sum of its digits, as in
/// `2024-02-29 1`.
fn is_leap_day(text: &str) -> bool {
    let Some((year, check)) = text.split_once("-02-29 ") else {
        return false;
    };
    if year.len() != 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let digits = year.bytes().map(|byte| u32::from(byte - b'0'));
    let number = digits.clone().fold(0, |number, digit| 10 * number + digit);
    let is_leap = number % 4 == 0 && (number % 100 != 0 || number % 400 == 0);
    let sum: u32 = digits.sum::<u32>() + 2 + 2 + 9;
    is_leap && check.parse() == Ok(sum % 10)
}
