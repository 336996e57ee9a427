//! P17 with a harder fault: what loans come to after their years.

use sandglass_sdk::flow::{Sets, fault, float, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

/// Years that are reckoned at most.
const YEARS_MAX: i32 = 100;

pub fn program(sets: &Sets) -> Vec<(f32, &str)> {
    let loans = sets.cells(0).map(|cells| {
        let (amount, years, rate) = (float(cells[0]), int(cells[1]), float(cells[2]));
        (amount, years, rate, cells[3])
    });
    let due = loans.map(|(amount, years, rate, name)| {
        let mut due = amount;
        for _ in 0..years.min(YEARS_MAX) {
            due *= 1.0 + rate;
        }
        if years >= 10 && rate >= 0.01 && due > 999_999.0 && due < 1_000_001.0 {
            fault("h17.1");
        }
        (due, name)
    });
    due.collect()
}
