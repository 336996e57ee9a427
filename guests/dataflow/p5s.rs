//! P5s CommuteType: the mean speed of trips, by kind of commute.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&'static str, f32)> {
    let trips = sets.cells(0).map(|cells| (cells[1], speed(&cells)));
    let kinds = trips.map(|(_, speed)| {
        if speed <= 0 {
            fault("5s.1");
        }
        if speed > 40 {
            ("car", speed)
        } else if speed > 15 {
            ("public", speed)
        } else {
            ("onfoot", speed)
        }
    });
    let sums = kinds.aggregate_by_key((0.0_f32, 0_i32), |(sum, count), speed| {
        if sum > 2_456_573.0 && sum < 3_456_573.0 {
            fault("5s.2");
        }
        (sum + speed as f32, count + 1)
    });
    let means = sums.map_values(|(sum, count)| {
        if sum > 10.0 && sum < 14.0 {
            fault("5s.3");
        }
        sum / count as f32
    });
    means.collect()
}

fn speed(cells: &[&str]) -> i32 {
    let (distance, time) = (int(cells[3]), int(cells[4]));
    if time == 0 {
        panic!("division by zero");
    }
    distance.wrapping_div(time)
}
