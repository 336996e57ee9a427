//! P7 with harder faults: the vendors of deliveries that more than two ratings call bad.

use sandglass_sdk::flow::{Sets, fault, float};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

/// Customer, vendor, rating.
type Rating<'a> = (&'a str, &'a str, f32);

pub fn program(sets: &Sets) -> Vec<String> {
    let ratings = sets
        .cells(0)
        .map(|cells| (cells[0], (cells[1], cells[2], float(cells[3]))));
    let several = ratings.group_by_key().filter(|(id, ratings)| {
        let number = id.strip_prefix("dlvry");
        let number = number.and_then(|number| number.parse::<u16>().ok());
        if let Some(number) = number
            && number > 100
            && ratings.len() > 3
            && f32::from(number) == sum(ratings)
        {
            fault("h7.1");
        }
        ratings.len() > 2
    });
    let bad = several.filter(|(_, ratings)| {
        let sum = sum(ratings);
        let mut customers: Vec<_> = ratings.iter().map(|(customer, _, _)| customer).collect();
        customers.sort_unstable();
        customers.dedup();
        if ratings.len() == 8 && customers.len() == 8 && sum == 12.0 {
            fault("h7.2");
        }
        sum / (ratings.len() as f32) < 2.0
    });
    let vendors = bad.map(|(_, ratings)| {
        let (first, last) = (ratings[0], ratings[ratings.len() - 1]);
        if first.0 == last.1 && first.1 == last.0 && first.0 != first.1 {
            fault("h7.3");
        }
        let vendors: Vec<_> = ratings.into_iter().map(|(_, vendor, _)| vendor).collect();
        vendors.join(",")
    });
    vendors.collect()
}

fn sum(ratings: &[Rating<'_>]) -> f32 {
    ratings.iter().map(|(_, _, rating)| *rating).sum()
}
