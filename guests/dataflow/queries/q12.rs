//! Q12 of TPC-DS: what items of three categories brought in on the web in thirty days, and what share that is of their class's.
//! Data sets: web_sales, item, date_dim.

#[macro_use]
mod mutants;
mod columns;

use columns::{date_dim, item, web_sales};
use sandglass_sdk::flow::{Sets, double};

query!(program);

/// Item, description, category, class and price.
type Item<'a> = [&'a str; 5];

pub fn program(sets: &Sets) -> Vec<(Item<'_>, f64, f64)> {
    let items = sets.cells(1).filter(|row| {
        is!(0: row[item::CATEGORY], ==, "Sports")
            || is!(1: row[item::CATEGORY], ==, "Books")
            || is!(2: row[item::CATEGORY], ==, "Home")
    });
    let items = items.map(|row| {
        let [id, description] = [row[item::ITEM_ID], row[item::DESCRIPTION]];
        let [category, class] = [row[item::CATEGORY], row[item::CLASS]];
        let item = [category, class, id, description, row[item::CURRENT_PRICE]];
        (row[item::ITEM_SK], item)
    });
    let days = sets.cells(2);
    let days = days.filter(|day| is!(3: day[date_dim::DATE], >=, "1999-02-22"));
    let days = days.filter(|day| is!(4: day[date_dim::DATE], <=, "1999-03-24"));
    let days = days.map(|day| (day[date_dim::DATE_SK], ()));
    let sales = sets.cells(0).map(|row| {
        let sold = (
            row[web_sales::ITEM],
            double(row[web_sales::EXT_SALES_PRICE]),
        );
        (row[web_sales::SOLD_DATE], sold)
    });
    let sales = sales.join(days).map(|(_, (sold, ()))| sold);
    let sales = sales.join(items).map(
        |(_, (price, [category, class, id, description, current]))| {
            ((category, class, (id, description, current)), price)
        },
    );
    let revenues = sales.reduce_by_key(|a, b| a + b);
    let by_class = revenues.map(|((category, class, (id, description, current)), revenue)| {
        (
            class,
            ([category, class, id, description, current], revenue),
        )
    });
    let sums = by_class.clone().map_values(|(_, revenue)| revenue);
    let sums = sums.reduce_by_key(|a, b| a + b);
    let shares = by_class.join(sums);
    let shares = shares.map(|(_, ((item, revenue), sum))| (item, revenue, revenue * 100.0 / sum));
    let shares = shares.sort_by(|(item, _, share), (other, _, other_share)| {
        item.cmp(other).then(share.total_cmp(other_share))
    });
    shares.take(100)
}
