//! P2 Customers: the three customers with most orders since a date get a reward, if each has three or more.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

pub fn program(sets: &Sets) -> Vec<(String, f32, String)> {
    let orders = sets.cells(1).map(|cells| {
        let [_, customer, date, item] = cells[..] else {
            panic!("match error: {cells:?}");
        };
        (customer, (item, int(date)))
    });
    let customers = sets.cells(0).map(|cells| (cells[0], cells[1]));
    let recent = customers.join(orders).filter(|(_, (_, (_, date)))| {
        if *date > 2_000_000 && *date < 3_000_000 {
            fault("2.1");
        }
        *date > 1_641_013_200
    });
    let counts = recent.group_by_key().map_values(|purchases| {
        if purchases.len() > 9 {
            fault("2.2");
        }
        purchases.len()
    });
    let frequent = counts.filter(|(id, count)| {
        if id.starts_with("ck") {
            fault("2.3");
        }
        *count >= 3
    });
    let best = frequent.sort_by(|a, b| b.1.cmp(&a.1)).take(3);
    if best.len() < 3 {
        return Vec::new(); // not enough customers
    }
    let reward = |(id, count): (&str, usize)| {
        if count == 4 {
            fault("2.4");
        }
        (
            id.to_owned(),
            100.0,
            format!("{count} purchases: a reward for {id}"),
        )
    };
    best.into_iter().map(reward).collect()
}
