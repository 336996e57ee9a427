//! Q19 of TPC-DS: what the brands of manager 8 brought in in November 1998 from customers who live elsewhere than the store is.
//! Data sets: date_dim, store_sales, item, customer, customer_address, store.

#[macro_use]
mod mutants;
mod columns;

use columns::{customer, customer_address, date_dim, item, store, store_sales};
use sandglass_sdk::flow::{Sets, double, int};

query!(program);

/// Brand, its id, manufacturer, its id.
type Brand<'a> = ((&'a str, &'a str), (&'a str, &'a str));

pub fn program(sets: &Sets) -> Vec<(Brand<'_>, f64)> {
    let days = sets.cells(0);
    let days = days.filter(|day| is!(0: int(day[date_dim::MONTH]), ==, 11));
    let days = days.filter(|day| is!(1: int(day[date_dim::YEAR]), ==, 1998));
    let days = days.map(|day| (day[date_dim::DATE_SK], ()));
    let items = sets.cells(2);
    let items = items.filter(|row| is!(2: int(row[item::MANAGER_ID]), ==, 8));
    let items = items.map(|row| {
        let brand = (row[item::BRAND], row[item::BRAND_ID]);
        let manufacturer = (row[item::MANUFACTURER_ID], row[item::MANUFACTURER]);
        (row[item::ITEM_SK], (brand, manufacturer))
    });
    let sales = sets.cells(1).map(|row| {
        let price = double(row[store_sales::EXT_SALES_PRICE]);
        let sold = (row[store_sales::CUSTOMER], row[store_sales::STORE], price);
        (row[store_sales::SOLD_DATE], (row[store_sales::ITEM], sold))
    });
    let sales = sales.join(days).map(|(_, (sold, ()))| sold).join(items);
    let sales =
        sales.map(|(_, ((customer, store, price), brand))| (customer, (store, price, brand)));
    let addresses = sets.cells(4);
    let addresses = addresses.map(|row| {
        (
            row[customer_address::ADDRESS_SK],
            row[customer_address::ZIP],
        )
    });
    let customers = sets.cells(3);
    let customers = customers.map(|row| (row[customer::ADDRESS], row[customer::CUSTOMER_SK]));
    let homes = customers.join(addresses).map(|(_, homes)| homes);
    let sales = sales.join(homes);
    let sales = sales.map(|(_, ((store, price, brand), home))| (store, (price, brand, home)));
    let stores = sets.cells(5);
    let stores = stores.map(|row| (row[store::STORE_SK], row[store::ZIP]));
    let sales = sales.join(stores).filter(|(_, ((_, _, home), store))| {
        let [home, store] = [*home, *store].map(|zip| zip.get(..5).unwrap_or(zip));
        is!(3: home, !=, store)
    });
    let brands = sales.map(|(_, ((price, brand, _), _))| (brand, price));
    let brands = brands.reduce_by_key(|a, b| a + b);
    let brands = brands.sort_by(|(brand, sum), (other, other_sum)| {
        other_sum.total_cmp(sum).then(brand.cmp(other))
    });
    brands.take(100)
}
