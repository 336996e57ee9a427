//! P8 ExternalCall: words that occur more than ten times, by a library's logarithm.

use sandglass_sdk::flow::{Sets, fault, split_blank};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&str, i32)> {
    let words = sets.rows(0).flat_map(split_blank);
    let ones = words.map(|word| {
        if word.starts_with("F3") {
            fault("8.1");
        }
        (word, 1_i32)
    });
    let sums = ones.reduce_by_key(|left, right| {
        let sum = left.wrapping_add(right);
        // Infeasible: takes 2^31 words.
        if sum < 0 {
            fault("8.2");
        }
        sum
    });
    let frequent = sums.filter(|(word, count)| {
        if word.starts_with('3') {
            fault("8.3");
        }
        f64::from(*count).log10() > 1.0
    });
    frequent.collect()
}
