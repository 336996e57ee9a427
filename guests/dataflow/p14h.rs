//! P14 with a harder fault: numbers whose series of halves and 3n + 1 has 25 members.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(i32, i32)> {
    let numbers = sets.cells(0).map(|cells| (int(cells[0]), int(cells[1])));
    let lengths = numbers.map(|(first, number)| (first, number, series(number)));
    let right = lengths.filter(|(first, number, (length, largest))| {
        if *length == 25 && first == largest && largest > number {
            fault("h14.1");
        }
        *length == 25
    });
    let right = right.collect().into_iter();
    right
        .map(|(_, number, (length, _))| (number, length))
        .collect()
}

/// Members of the series, at most 30, and the largest; 0 and the number itself for what is not positive.
fn series(number: i32) -> (i32, i32) {
    if number <= 0 {
        return (0, number);
    }
    let (mut member, mut count, mut largest) = (number, 1, number);
    while member != 1 && count < 30 {
        member = if member % 2 == 0 {
            member / 2
        } else {
            member.wrapping_mul(3).wrapping_add(1)
        };
        largest = largest.max(member);
        count += 1;
    }
    (count, largest)
}
