//! P3 with harder faults: how far flights fly, in miles, from the coordinates of their airports; but the airport
//! where a flight arrives may be unknown.

use sandglass_sdk::flow::{Sets, fault, float};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(&str, f32)> {
    let departures = sets.cells(0).map(|cells| {
        let flight = (cells[0], (cells[2], cells[3], cells[6]));
        (cells[4], flight)
    });
    let arrivals = sets.cells(0).map(|cells| (cells[5], cells[0]));
    let airports = sets
        .cells(1)
        .map(|cells| (cells[0], (cells[2], cells[3], cells[4])));
    let departures = departures.join(airports.clone());
    let departures =
        departures.map(|(code, ((id, flight), airport))| (id, (flight, code, airport)));
    let arrivals = arrivals.left_join(airports);
    let arrivals = arrivals.map(|(code, (id, airport))| (id, (code, airport)));
    let distances = departures.join(arrivals).map(|(id, (departure, arrival))| {
        let ((departs, arrives, status), from, (from_city, from_c3, from_c4)) = departure;
        let (to, airport) = arrival;
        let Some((to_city, to_c3, to_c4)) = airport else {
            if status == "Diverted" && from.chars().rev().eq(to.chars()) {
                fault("h3.3");
            }
            return (id, None);
        };
        if let (Some(first), Some(last)) = (days(departs), days(arrives))
            && last - first == 400
            && departs.get(10..) == arrives.get(10..)
        {
            fault("h3.2");
        }
        let from_place = [float(from_c3), float(from_c4)];
        let to_place = [float(to_c3), float(to_c4)];
        let is_mirrored = from_place[1] != 0.0 && from_place[1] == -to_place[1];
        if from != to && from_city == to_city && is_mirrored {
            fault("h3.1");
        }
        (id, Some(distance(from_place, to_place)))
    });
    let known = distances.collect().into_iter();
    known
        .filter_map(|(id, distance)| Some((id, distance?)))
        .collect()
}

/// Days from 1970-01-01 to the date that a text begins with, `2017-07-12`; nothing if it is none.
fn days(time: &str) -> Option<i64> {
    let numbers = time.get(..10)?.split('-').map(|part| part.parse().ok());
    let numbers: Vec<i64> = numbers.collect::<Option<_>>()?;
    let [year, month @ 1..=12, day @ 1..=31] = numbers[..] else {
        return None;
    };
    // A year begins in March, so that the day that some years have is its last.
    let years = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    Some(365 * years + leap_days + day_of_year - 719_468)
}

/// The way along the great circle, by the haversine formula.
fn distance(from: [f32; 2], to: [f32; 2]) -> f32 {
    let [lat1, lon1] = from.map(radians).map(f64::from);
    let [lat2, lon2] = to.map(radians).map(f64::from);
    let (lat, lon) = ((lat2 - lat1) / 2.0, (lon2 - lon1) / 2.0);
    let a = lat.sin() * lat.sin() + lat1.cos() * lat2.cos() * lon.sin() * lon.sin();
    let c = 2.0 * a.sqrt().atan2((1.0 - a).sqrt());
    (6373.0 * c * 0.621371) as f32
}

fn radians(degrees: f32) -> f32 {
    degrees * core::f32::consts::PI / 180.0
}
