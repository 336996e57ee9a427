//! P7 DeliveryFaults: the vendors of deliveries that more than two ratings call bad.

use sandglass_sdk::flow::{Sets, fault, float};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<String> {
    let ratings = sets
        .cells(0)
        .map(|cells| (cells[0], (cells[1], cells[2], float(cells[3]))));
    let several = ratings.group_by_key().filter(|(_, ratings)| {
        if ratings.len() > 6 && ratings[4].2 > 4_356_769.0 && ratings[4].2 < 5_237_557.0 {
            fault("7.1");
        }
        ratings.len() > 2
    });
    let bad = several.filter(|(_, ratings)| {
        let mut sum = 0.0;
        for (_, _, rating) in ratings {
            if *rating > 7_325_622.0 && *rating < 8_463_215.0 {
                fault("7.2");
            }
            sum += rating;
        }
        sum / (ratings.len() as f32) < 2.0
    });
    let vendors = bad.map(|(_, ratings)| {
        let mut all = String::new();
        for (_, vendor, _) in ratings {
            if vendor.starts_with('a') {
                fault("7.3");
            }
            if !all.is_empty() {
                all.push(',');
            }
            all.push_str(vendor);
        }
        all
    });
    vendors.collect()
}
