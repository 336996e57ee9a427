//! Q3 of TPC-DS: what the brands of manufacturer 128 brought in in Novembers, by year. Data sets: store_sales, date_dim, item.

#[macro_use]
mod mutants;
mod columns;

use columns::{date_dim, item, store_sales};
use sandglass_sdk::flow::{Sets, double, int};

query!(program);

pub fn program(sets: &Sets) -> Vec<((i32, &str, &str), f64)> {
    let days = sets.cells(1);
    let days = days.filter(|day| is!(0: int(day[date_dim::MONTH]), ==, 11));
    let days = days.map(|day| (day[date_dim::DATE_SK], int(day[date_dim::YEAR])));
    let items = sets.cells(2);
    let items = items.filter(|row| is!(1: int(row[item::MANUFACTURER_ID]), ==, 128));
    let items = items.map(|row| (row[item::ITEM_SK], (row[item::BRAND_ID], row[item::BRAND])));
    let sales = sets.cells(0).map(|row| {
        let sold = (
            row[store_sales::ITEM],
            double(row[store_sales::EXT_SALES_PRICE]),
        );
        (row[store_sales::SOLD_DATE], sold)
    });
    let sales = days.join(sales);
    let sales = sales.map(|(_, (year, (item, price)))| (item, (year, price)));
    let sales = sales.join(items);
    let sales = sales.map(|(_, ((year, price), (id, brand)))| ((year, brand, id), price));
    let brands = sales.reduce_by_key(|a, b| a + b);
    let brands = brands.sort_by(
        |((year, _, id), sum), ((other_year, _, other_id), other_sum)| {
            let by_sum = other_sum.total_cmp(sum);
            year.cmp(other_year).then(by_sum).then(id.cmp(other_id))
        },
    );
    brands.take(100)
}
