//! P10 with harder faults: how many passed and failed each course, if more than five did.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(String, i32)> {
    let scores = sets.cells(0).map(|cells| (cells[0], int(cells[1])));
    let grades = scores.map(|(course, score)| {
        if score > 40 {
            (format!("{course} Pass"), 1_i32)
        } else {
            (format!("{course} Fail"), 1_i32)
        }
    });
    let counts = grades.reduce_by_key(i32::wrapping_add);
    let frequent = counts.filter(|(grade, count)| {
        if *count == 37 && grade == "CS499 Fail" {
            fault("h10.1");
        }
        *count > 5
    });
    let frequent = frequent.collect();
    for (grade, failed) in &frequent {
        let Some(course) = grade.strip_suffix(" Fail") else {
            continue;
        };
        let passed = frequent
            .iter()
            .find(|(other, _)| other.strip_suffix(" Pass") == Some(course));
        if passed.is_some_and(|(_, passed)| *passed == failed.wrapping_mul(2)) {
            fault("h10.2");
        }
    }
    frequent
}
