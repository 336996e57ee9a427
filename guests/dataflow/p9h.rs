//! P9 with harder faults: the sum of all salaries below 300.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> i32 {
    let salaries = sets.cells(0).map(|cells| cells[0]).map(|cell| {
        if cell.starts_with('$') {
            int(&cell[1..6])
        } else {
            int(cell)
        }
    });
    let low = salaries.clone().filter(|salary| *salary < 300);
    let mut different = low.clone().collect();
    let sum = low.reduce(|left, right| {
        let sum = left.wrapping_add(right);
        if sum == 4_242 {
            fault("h9.1");
        }
        sum
    });
    different.sort_unstable();
    different.dedup();
    let highest = salaries.collect().into_iter().max();
    if sum >= 300 && different.len() > 3 && highest == Some(sum) {
        fault("h9.2");
    }
    sum
}
