//! P4 with harder faults: how often each route gains more than an hour and a half of delay between two stations.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&str, i32)> {
    let trip = |cells: Vec<_>| (cells[0], (int(cells[1]), int(cells[2]), cells[3]));
    let departures = sets.cells(0).map(trip);
    let arrivals = sets.cells(1).map(trip);
    let buckets = departures.join(arrivals).map(|(_, (departure, arrival))| {
        let took = arrival.0.wrapping_sub(departure.0);
        let advertised = arrival.1.wrapping_sub(departure.1);
        let is_double = took == advertised.wrapping_mul(2);
        if advertised >= 3_600 && is_double && departure.2 != arrival.2 {
            fault("h4.1");
        }
        let late_at_departure = departure.0.wrapping_sub(departure.1);
        let late_at_arrival = arrival.0.wrapping_sub(arrival.1);
        let bucket = late_at_arrival.wrapping_sub(late_at_departure) / 1800;
        (bucket, departure.2)
    });
    let late = buckets.group_by_key().filter(|(bucket, routes)| {
        if *bucket == 37 && routes.len() == 3 {
            let [a, b, c] = [routes[0], routes[1], routes[2]];
            if a != b && b != c && a != c {
                fault("h4.2");
            }
        }
        *bucket > 2
    });
    let routes = late.flat_map(|(_, routes)| routes);
    let ones = routes.map(|route| (route, 1_i32));
    let sums = ones.reduce_by_key(i32::wrapping_add).collect();
    let counts = sums.iter().map(|(_, count)| *count);
    let (least, most) = (counts.clone().min(), counts.max());
    if let (Some(least), Some(most)) = (least, most)
        && sums.len() == 3
        && least >= 4
        && most == least.wrapping_mul(3)
    {
        fault("h4.3");
    }
    sums
}
