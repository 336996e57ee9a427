//! P5 with harder faults: the sum of speeds of trips that begin in Los Angeles, by kind of commute.

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
        let density = cells.get(9).and_then(|cell| cell.parse::<i32>().ok());
        (cells[0].to_owned(), (cells[3].to_owned(), density))
    });
    let locations = locations.filter(|(_, (city, _))| city == "Los Angeles");
    let kinds = trips.join(locations).map(|(_, (speed, (_, density)))| {
        if speed > 1_000 && density == Some(speed) {
            fault("h5.1");
        }
        if speed > 40 {
            ("car", (speed, 1))
        } else if speed > 15 {
            ("public", (speed, 1))
        } else {
            ("onfoot", (speed, 1))
        }
    });
    let sums = kinds.reduce_by_key(|left, right| {
        let (sum, count) = (left.0.wrapping_add(right.0), left.1 + right.1);
        if sum == 1_000_003 && count == 5 {
            fault("h5.2");
        }
        (sum, count)
    });
    let sums = sums.collect().into_iter();
    let sums: Vec<_> = sums.map(|(kind, (sum, _))| (kind, sum)).collect();
    let sum_of = |kind| sums.iter().find(|(other, _)| *other == kind).map(|of| of.1);
    if let (Some(car), Some(public), Some(37)) = (sum_of("car"), sum_of("public"), sum_of("onfoot"))
        && car == public.wrapping_mul(10)
    {
        fault("h5.3");
    }
    sums
}

fn speed(cells: &[&str]) -> i32 {
    let (distance, time) = (int(cells[3]), int(cells[4]));
    if time == 0 {
        panic!("division by zero");
    }
    distance.wrapping_div(time)
}
