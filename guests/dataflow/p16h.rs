//! P16 with harder faults: how many people of each age live at one place, and their mean income.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&'static str, (i32, i32))> {
    let people = sets
        .cells(0)
        .map(|cells| (cells[0], int(cells[1]), int(cells[2])));
    let here = people.filter(|(zip, _, _)| *zip == "90024");
    let steps = here.map(|(_, age, income)| {
        if (40..=65).contains(&age) {
            ("40-65", (income, 1_i32))
        } else if (20..40).contains(&age) {
            ("20-39", (income, 1))
        } else if age < 20 {
            ("0-19", (income, 1))
        } else {
            (">65", (income, 1))
        }
    });
    let sums = steps.reduce_by_key(|left, right| (left.0.wrapping_add(right.0), left.1 + right.1));
    let means = sums.map_values(|(sum, count)| {
        if sum == 1_000_000 && count == 7 {
            fault("h16.1");
        }
        (count, sum / count)
    });
    let means = means.collect();
    let of = |step| {
        means
            .iter()
            .find(|(other, _)| *other == step)
            .map(|of| of.1)
    };
    if let (Some(young), Some(middle), Some(old)) = (of("0-19"), of("20-39"), of("40-65"))
        && [young.0, middle.0, old.0] == [3; 3]
        && young.1.wrapping_sub(middle.1) == 100
        && middle.1.wrapping_sub(old.1) == 100
    {
        fault("h16.2");
    }
    means
}
