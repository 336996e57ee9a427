//! P11 MovieRating: the sum of each film's ratings above four.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&str, i32)> {
    let ratings = sets.cells(0).map(|cells| (cells[0], int(cells[1])));
    let good = ratings.filter(|(_, rating)| {
        if *rating > 2_462_525 && *rating < 3_489_799 {
            fault("11.1");
        }
        *rating > 4
    });
    let sums = good.reduce_by_key(|left, right| {
        let sum = left.wrapping_add(right);
        if sum > 8_965_632 && sum < 9_965_632 {
            fault("11.2");
        }
        sum
    });
    sums.collect()
}
