//! Q15 of TPC-DS: what catalog sales in the second quarter of 2001 brought in by zip code, of some zip codes and states, and of dear
//! sales anywhere. Data sets: catalog_sales, customer, customer_address, date_dim.

#[macro_use]
mod mutants;
mod columns;

use columns::{catalog_sales, customer, customer_address, date_dim};
use sandglass_sdk::flow::{Sets, double, int};

query!(program);

pub fn program(sets: &Sets) -> Vec<(&str, f64)> {
    let addresses = sets.cells(2).map(|row| {
        let place = (row[customer_address::ZIP], row[customer_address::STATE]);
        (row[customer_address::ADDRESS_SK], place)
    });
    let customers = sets.cells(1);
    let customers = customers.map(|row| (row[customer::ADDRESS], row[customer::CUSTOMER_SK]));
    let places = customers.join(addresses).map(|(_, places)| places);
    let days = sets.cells(3);
    let days = days.filter(|day| is!(0: int(day[date_dim::QUARTER]), ==, 2));
    let days = days.filter(|day| is!(1: int(day[date_dim::YEAR]), ==, 2001));
    let days = days.map(|day| (day[date_dim::DATE_SK], ()));
    let sales = sets.cells(0).map(|row| {
        let sold = (
            row[catalog_sales::BILL_CUSTOMER],
            double(row[catalog_sales::SALES_PRICE]),
        );
        (row[catalog_sales::SOLD_DATE], sold)
    });
    let sales = sales.join(days).map(|(_, (sold, ()))| sold);
    let sales = sales.join(places);
    let sales = sales.filter(|(_, (price, (zip, state)))| {
        let zip = zip.get(..5).unwrap_or(zip);
        is!(2: zip, ==, "85669")
            || is!(3: zip, ==, "86197")
            || is!(4: zip, ==, "88274")
            || is!(5: zip, ==, "83405")
            || is!(6: zip, ==, "86475")
            || is!(7: zip, ==, "85392")
            || is!(8: zip, ==, "85460")
            || is!(9: zip, ==, "80348")
            || is!(10: zip, ==, "81792")
            || is!(11: *state, ==, "CA")
            || is!(12: *state, ==, "WA")
            || is!(13: *state, ==, "GA")
            || is!(14: *price, >, 500.0)
    });
    let sums = sales.map(|(_, (price, (zip, _)))| (zip, price));
    let sums = sums.reduce_by_key(|a, b| a + b);
    sums.sort_by(|(zip, _), (other, _)| zip.cmp(other))
        .take(100)
}
