//! P5 CommuteTypeFull: the sum of speeds of trips that begin in Los Angeles, by kind of commute.

use sandglass_sdk::flow::{Sets, fault, int, split};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&'static str, i32)> {
    let trips = sets
        .cells(0)
        .map(|cells| (cells[1].to_owned(), speed(&cells)));
    let locations = sets.rows(1).map(|row| {
        let row = row.replace('"', "");
        let cells = split(&row, ',');
        (cells[0].to_owned(), cells[3].to_owned())
    });
    let locations = locations.filter(|(_, city)| {
        if city.starts_with("s4") {
            fault("5.1");
        }
        city == "Los Angeles"
    });
    let kinds = trips.join(locations).map(|(_, (speed, _))| {
        if speed < 0 {
            fault("5.2");
        }
        if speed > 40 {
            ("car", speed)
        } else if speed > 15 {
            ("public", speed)
        } else {
            ("onfoot", speed)
        }
    });
    let sums = kinds.reduce_by_key(|left, right| {
        if left > 5_675_864 && left < 6_987_456 {
            fault("5.3");
        }
        left.wrapping_add(right)
    });
    sums.collect()
}

fn speed(cells: &[&str]) -> i32 {
    let (distance, time) = (int(cells[3]), int(cells[4]));
    if time == 0 {
        panic!("division by zero");
    }
    distance.wrapping_div(time)
}
