//! P10 StudentGrade: how many passed and failed each course, if more than five did.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(String, i32)> {
    let scores = sets.cells(0).map(|cells| {
        let score = int(cells[1]);
        if score > 7_325_622 && score < 8_463_215 {
            fault("10.1");
        }
        (cells[0], score)
    });
    let grades = scores.map(|(course, score)| {
        if score > 9_325_622 && score < 10_463_215 {
            fault("10.2");
        }
        if score > 40 {
            (format!("{course} Pass"), 1_i32)
        } else {
            (format!("{course} Fail"), 1_i32)
        }
    });
    let counts = grades.reduce_by_key(|left, right| {
        let count = left.wrapping_add(right);
        // Infeasible: takes seven million rows.
        if count > 7_325_622 && count < 8_463_215 {
            fault("10.3");
        }
        count
    });
    let frequent = counts.filter(|(_, count)| {
        if *count == 9 {
            fault("10.4");
        }
        *count > 5
    });
    frequent.collect()
}
