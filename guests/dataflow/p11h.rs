//! P11 with a harder fault: the sum of each film's ratings above four.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&str, i32)> {
    let ratings = sets.cells(0).map(|cells| (cells[0], (int(cells[1]), 1)));
    let good = ratings.filter(|(_, (rating, _))| *rating > 4);
    let sums = good.reduce_by_key(|left, right| (left.0.wrapping_add(right.0), left.1 + right.1));
    let sums = sums.collect();
    for (_, (sum, count)) in &sums {
        if *count == 3 && *sum > 100 && sums.iter().any(|(_, other)| *other == (*sum, 5)) {
            fault("h11.1");
        }
    }
    let sums = sums.into_iter();
    sums.map(|(title, (sum, _))| (title, sum)).collect()
}
