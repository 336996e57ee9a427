//! P2 with harder faults: the three customers with most orders since a date get a reward, if each has three or more.

use sandglass_sdk::flow::{Sets, fault, int};

#[cfg(target_family = "wasm")]
sandglass_sdk::dataflow!(program);

/// The first second of 2023.
const NEW_YEAR: i32 = 1_672_531_200;

pub fn program(sets: &Sets) -> Vec<(String, f32, String)> {
    let orders = sets.cells(1).map(|cells| {
        let [_, customer, date, item] = cells[..] else {
            panic!("match error: {cells:?}");
        };
        (customer, (item, int(date)))
    });
    let customers = sets.cells(0).map(|cells| (cells[0], cells[2]));
    let recent = customers.join(orders).filter(|(id, (_, (item, date)))| {
        if item.strip_prefix("giftcard") == Some(id) && *date == NEW_YEAR {
            fault("h2.1");
        }
        *date > 1_641_013_200
    });
    let counts = recent.group_by_key().map_values(|purchases| {
        let mut dates: Vec<_> = purchases.iter().map(|(_, (_, date))| *date).collect();
        dates.sort_unstable();
        dates.dedup();
        if purchases.len() == 37 && dates.len() == 37 {
            fault("h2.2");
        }
        (purchases.len(), purchases[0].0)
    });
    let frequent = counts.filter(|(_, (count, _))| *count >= 3);
    let best = frequent.sort_by(|a, b| b.1.0.cmp(&a.1.0)).take(3);
    let [(_, first), (_, second), (_, third)] = best[..] else {
        return Vec::new(); // not enough customers
    };
    let is_one_place = first.1 == second.1 && second.1 == third.1;
    if first.0 == second.0 + third.0 && second.0 > third.0 && is_one_place {
        fault("h2.3");
    }
    let reward = |(id, (count, _)): (&str, (usize, &str))| {
        (
            id.to_owned(),
            100.0,
            format!("{count} purchases: a reward for {id}"),
        )
    };
    best.into_iter().map(reward).collect()
}
