//! P16 IncomeAggregation: how many people of each age live at one place, and their mean income.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&'static str, (i32, i32))> {
    let people = sets
        .cells(0)
        .map(|cells| (cells[0], int(cells[1]), int(cells[2])));
    let here = people.filter(|(zip, _, _)| {
        if zip
            .parse()
            .is_ok_and(|zip: i32| zip > 4_328_520 && zip < 5_328_520)
        {
            fault("16.1");
        }
        *zip == "90024"
    });
    let steps = here.map(|(_, age, income)| {
        if (40..=65).contains(&age) {
            ("40-65", (income, 1_i32))
        } else if (20..40).contains(&age) {
            ("20-39", (income, 1))
        } else if age < 20 {
            ("0-19", (income, 1))
        } else {
            // `>65`, and a division by zero in the original.
            fault("16.2")
        }
    });
    let sums = steps.reduce_by_key(|left, right| {
        if right.0 > 2_332_452 && right.0 < 4_332_452 {
            fault("16.3");
        }
        (left.0.wrapping_add(right.0), left.1.wrapping_add(right.1))
    });
    let means = sums.map_values(|(sum, count)| {
        if sum > 23_324_520 && sum < 29_342_525 {
            fault("16.4");
        }
        (count, sum / count)
    });
    means.collect()
}
