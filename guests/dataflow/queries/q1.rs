//! Q1 of TPC-DS: customers of stores in Tennessee who returned more than 1.2 times what customers of their store did on average,
//! in 2000. Data sets: store_returns, date_dim, store, customer.

#[macro_use]
mod mutants;
mod columns;

use columns::{customer, date_dim, store, store_returns};
use sandglass_sdk::flow::{Sets, double, int};

query!(program);

pub fn program(sets: &Sets) -> Vec<&str> {
    let days = sets.cells(1);
    let days = days.filter(|day| is!(0: int(day[date_dim::YEAR]), ==, 2000));
    let days = days.map(|day| (day[date_dim::DATE_SK], ()));
    let returns = sets.cells(0).map(|row| {
        let by = (row[store_returns::STORE], row[store_returns::CUSTOMER]);
        (
            row[store_returns::RETURNED_DATE],
            (by, double(row[store_returns::RETURN_AMT])),
        )
    });
    let returned = returns.join(days).map(|(_, (returned, ()))| returned);
    let totals = returned.reduce_by_key(|a, b| a + b);
    let totals = totals.map(|((store, customer), total)| (store, (customer, total)));
    let averages = totals.clone().group_by_key().map_values(|totals| {
        let sum: f64 = totals.iter().map(|(_, total)| total).sum();
        sum / totals.len() as f64
    });
    let above = totals.join(averages);
    let above = above.filter(|(_, ((_, total), average))| is!(1: *total, >, average * 1.2));
    let stores = sets.cells(2);
    let stores = stores.filter(|row| is!(2: row[store::STATE], ==, "TN"));
    let stores = stores.map(|row| (row[store::STORE_SK], ()));
    let above = above.join(stores);
    let above = above.map(|(_, (((customer, _), _), ()))| (customer, ()));
    let customers = sets.cells(3);
    let customers = customers.map(|row| (row[customer::CUSTOMER_SK], row[customer::CUSTOMER_ID]));
    let ids = above.join(customers).map(|(_, ((), id))| id);
    ids.sort_by(Ord::cmp).take(100)
}
