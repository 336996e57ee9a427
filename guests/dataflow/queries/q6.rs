//! Q6 of TPC-DS: states of which in January 2001 at least ten sales were of items that cost more than 1.2 times what those of their
//! category do on average. Data sets: customer_address, customer, store_sales, date_dim, item.

#[macro_use]
mod mutants;
mod columns;

use columns::{customer, customer_address, date_dim, item, store_sales};
use sandglass_sdk::flow::{Sets, double, int};

query!(program);

pub fn program(sets: &Sets) -> Vec<(&str, u32)> {
    let months = sets.cells(3);
    let months = months.filter(|day| is!(0: int(day[date_dim::YEAR]), ==, 2001));
    let months = months.filter(|day| is!(1: int(day[date_dim::MONTH]), ==, 1));
    let months = months
        .map(|day| int(day[date_dim::MONTH_SEQ]))
        .distinct()
        .take(1);
    let Some(&month) = months.first() else {
        return Vec::new();
    };
    let days = sets.cells(3);
    let days = days.filter(|day| is!(2: int(day[date_dim::MONTH_SEQ]), ==, month));
    let days = days.map(|day| (day[date_dim::DATE_SK], ()));
    let items = sets.cells(4).map(|row| {
        let priced = (row[item::ITEM_SK], double(row[item::CURRENT_PRICE]));
        (row[item::CATEGORY], priced)
    });
    let averages = items.clone().group_by_key().map_values(|items| {
        let sum: f64 = items.iter().map(|(_, price)| price).sum();
        sum / items.len() as f64
    });
    let items = items.join(averages);
    let items = items.filter(|(_, ((_, price), average))| is!(3: *price, >, average * 1.2));
    let items = items.map(|(_, ((item, _), _))| (item, ()));
    let addresses = sets.cells(0);
    let addresses = addresses.map(|row| {
        (
            row[customer_address::ADDRESS_SK],
            row[customer_address::STATE],
        )
    });
    let customers = sets.cells(1);
    let customers = customers.map(|row| (row[customer::ADDRESS], row[customer::CUSTOMER_SK]));
    let states = customers.join(addresses).map(|(_, states)| states);
    let sales = sets.cells(2).map(|row| {
        let sold = (row[store_sales::CUSTOMER], row[store_sales::ITEM]);
        (row[store_sales::SOLD_DATE], sold)
    });
    let sales = sales.join(days).map(|(_, (sold, ()))| sold);
    let sales = sales.join(states).map(|(_, of_item)| of_item);
    let sales = sales.join(items).map(|(_, (state, ()))| (state, 1));
    let counts = sales.reduce_by_key(|a, b| a + b);
    let counts = counts.filter(|(_, count)| is!(4: *count, >=, 10));
    let counts = counts.sort_by(|(state, count), (other_state, other_count)| {
        count.cmp(other_count).then(state.cmp(other_state))
    });
    counts.take(100)
}
