//! P15 AgeAnalysis: ages of people at one place, in steps.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&'static str, i32)> {
    let people = sets
        .cells(0)
        .map(|cells| (cells[0], int(cells[1]), int(cells[2])));
    let here = people.filter(|(zip, _, _)| {
        if zip
            .parse()
            .is_ok_and(|zip: i32| zip > 4_328_520 && zip < 5_328_520)
        {
            fault("15.1");
        }
        *zip == "90024"
    });
    let steps = here.map(|(_, age, value)| {
        if (40..=65).contains(&age) {
            ("40-65", value)
        } else if (20..40).contains(&age) {
            ("20-39", value)
        } else if age < 20 {
            ("0-19", value)
        } else {
            // `>65`, and a division by zero in the original.
            fault("15.2")
        }
    });
    steps.collect()
}
