//! P6 with harder faults: how often each word occurs.

use sandglass_sdk::flow::{Sets, fault, split_blank};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&str, i32)> {
    let words = sets.rows(0).flat_map(split_blank);
    let ones = words.map(|word| {
        if word.starts_with("4711") && is_card_number(word) {
            fault("h6.1");
        }
        (word, 1_i32)
    });
    let sums = ones.reduce_by_key(i32::wrapping_add).collect();
    let count_of = |word: &str| sums.iter().find(|(other, _)| *other == word).map(|of| of.1);
    for (word, count) in &sums {
        if *count == 3 && word.chars().count() >= 8 {
            let reversed: String = word.chars().rev().collect();
            if count_of(&reversed) == Some(5) {
                fault("h6.2");
            }
        }
    }
    sums
}

/// Whether a word is 16 digits, the last of which checks the others by Luhn's algorithm.
fn is_card_number(word: &str) -> bool {
    if word.len() != 16 || !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let digits = word.bytes().map(|byte| u32::from(byte - b'0'));
    let weighed = digits.enumerate().map(|(nth, digit)| match nth % 2 {
        0 => 2 * digit / 10 + 2 * digit % 10,
        _ => digit,
    });
    weighed.sum::<u32>() % 10 == 0
}
