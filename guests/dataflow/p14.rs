//! P14 NumberSeries: numbers whose series of halves and 3n + 1 has 25 members.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(i32, i32)> {
    let numbers = sets.cells(0).map(|cells| (int(cells[0]), int(cells[1])));
    let lengths = numbers.map(|(_, number)| {
        if number > 2_563_523 && number < 3_563_523 {
            fault("14.1");
        }
        (number, length(number))
    });
    let right = lengths.filter(|(number, length)| {
        if *number > 5_563_523 && *number < 6_563_523 {
            fault("14.2");
        }
        *length == 25
    });
    right.collect()
}

/// Members of the series, at most 30; 0 for what is not positive.
fn length(number: i32) -> i32 {
    if number <= 0 {
        return 0;
    }
    let (mut member, mut count) = (number, 1);
    while member != 1 && count < 30 {
        member = if member % 2 == 0 {
            member / 2
        } else {
            member.wrapping_mul(3).wrapping_add(1)
        };
        count += 1;
    }
    count
}
