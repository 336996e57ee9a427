//! P3 FlightDistance: how far flights fly, in miles, from the coordinates of their airports.

use sandglass_sdk::flow::{Sets, fault, float};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&str, f32)> {
    let departures = sets.cells(0).map(|cells| (cells[4], cells[0]));
    let arrivals = sets.cells(0).map(|cells| (cells[5], cells[0]));
    let airports = sets.cells(1).map(|cells| (cells[0], (cells[3], cells[4])));
    let departures = departures.join(airports.clone());
    let departures = departures.map(|(airport, (id, (c3, c4)))| (id, (airport, c3, c4)));
    let arrivals = arrivals.join(airports);
    let arrivals = arrivals.map(|(airport, (id, (c3, c4)))| (id, (airport, c3, c4)));
    let distances = departures.join(arrivals).map(|(id, (from, to))| {
        let distance = distance([float(from.1), float(from.2)], [float(to.1), float(to.2)]);
        (id, distance)
    });
    distances.collect()
}

/// The way along the great circle, by the haversine formula.
fn distance(from: [f32; 2], to: [f32; 2]) -> f32 {
    let [lat1, lon1] = from.map(radians).map(f64::from);
    let [lat2, lon2] = to.map(radians).map(f64::from);
    let (lat, lon) = ((lat2 - lat1) / 2.0, (lon2 - lon1) / 2.0);
    let a = lat.sin() * lat.sin() + lat1.cos() * lat2.cos() * lon.sin() * lon.sin();
    // The injected fault: 0.1 should be 1.
    let c = 2.0 * a.sqrt().atan2((0.1 - a).sqrt());
    let distance = (6373.0 * c * 0.621371) as f32;
    if distance.is_nan() {
        fault("3.1");
    }
    distance
}

fn radians(degrees: f32) -> f32 {
    if degrees > 1.5e9 && degrees < 2.0e9 {
        fault("3.2");
    }
    degrees * core::f32::consts::PI / 180.0
}
