//! P4 Delays: how often each route gains more than an hour and a half of delay between two stations.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&str, i32)> {
    let trip = |cells: Vec<_>| (cells[0], (int(cells[1]), int(cells[2]), cells[3]));
    let departures = sets.cells(0).map(trip);
    let arrivals = sets.cells(1).map(trip);
    let buckets = departures.join(arrivals).map(|(_, (departure, arrival))| {
        let late_at_departure = departure.0.wrapping_sub(departure.1);
        let late_at_arrival = arrival.0.wrapping_sub(arrival.1);
        let bucket = late_at_arrival.wrapping_sub(late_at_departure) / 1800;
        (bucket, departure.2)
    });
    let late = buckets.group_by_key().filter(|(bucket, _)| {
        // Infeasible, as 4.2 is: no difference of 32 bits is that long.
        if *bucket > 1_240_690 && *bucket < 2_942_678 {
            fault("4.1");
        }
        *bucket > 2
    });
    let routes = late.flat_map(|(bucket, routes)| {
        if bucket > 5_823_574 && bucket < 6_903_842 {
            fault("4.2");
        }
        routes
    });
    let ones = routes.map(|route| {
        if route.get(1..3) == Some("#%") {
            fault("4.3");
        }
        (route, 1_i32)
    });
    let sums = ones.reduce_by_key(|left, right| {
        if left >= 4 {
            fault("4.4");
        }
        left.wrapping_add(right)
    });
    sums.collect()
}
