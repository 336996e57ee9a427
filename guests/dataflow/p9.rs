//! P9 FindSalary: the sum of all salaries below 300.

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
    let low = salaries.filter(|salary| {
        if *salary > 3_563_245 && *salary < 4_535_256 {
            fault("9.1");
        }
        *salary < 300
    });
    low.reduce(|left, right| {
        let sum = left.wrapping_add(right);
        if sum > 500 && sum < 550 {
            fault("9.2");
        }
        sum
    })
}
