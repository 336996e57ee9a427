//! Q7 of TPC-DS: averages of what single men with a college degree bought of each item in 2000, unless by a promotion that came by
//! e-mail and at an event. Data sets: store_sales, customer_demographics, date_dim, item, promotion.

#[macro_use]
mod mutants;
mod columns;

use columns::{customer_demographics, date_dim, item, promotion, store_sales};
use sandglass_sdk::flow::{Sets, double, int};

query!(program);

pub fn program(sets: &Sets) -> Vec<(&str, [f64; 4])> {
    let people = sets.cells(1);
    let people = people.filter(|row| is!(0: row[customer_demographics::GENDER], ==, "M"));
    let people = people.filter(|row| is!(1: row[customer_demographics::MARITAL_STATUS], ==, "S"));
    let people = people.filter(|row| is!(2: row[customer_demographics::EDUCATION], ==, "College"));
    let people = people.map(|row| (row[customer_demographics::DEMO_SK], ()));
    let days = sets.cells(2);
    let days = days.filter(|day| is!(3: int(day[date_dim::YEAR]), ==, 2000));
    let days = days.map(|day| (day[date_dim::DATE_SK], ()));
    let promotions = sets.cells(4).filter(|row| {
        is!(4: row[promotion::CHANNEL_EMAIL], ==, "N")
            || is!(5: row[promotion::CHANNEL_EVENT], ==, "N")
    });
    let promotions = promotions.map(|row| (row[promotion::PROMOTION_SK], ()));
    let items = sets.cells(3);
    let items = items.map(|row| (row[item::ITEM_SK], row[item::ITEM_ID]));
    let sales = sets.cells(0).map(|row| {
        let numbers = [
            store_sales::QUANTITY,
            store_sales::LIST_PRICE,
            store_sales::COUPON_AMT,
            store_sales::SALES_PRICE,
        ];
        let numbers = numbers.map(|column| double(row[column]));
        let sold = (row[store_sales::ITEM], numbers);
        let by = (row[store_sales::DEMOGRAPHICS], row[store_sales::PROMOTION]);
        (row[store_sales::SOLD_DATE], (by, sold))
    });
    let sales = sales.join(days);
    let sales = sales.map(|(_, (((by, promotion), sold), ()))| (by, (promotion, sold)));
    let sales = sales.join(people).map(|(_, (sold, ()))| sold);
    let sales = sales.join(promotions).map(|(_, (sold, ()))| sold);
    let sales = sales.join(items).map(|(_, (numbers, id))| (id, numbers));
    let averages = sales.group_by_key().map_values(|rows| {
        let mut sums = [0.0; 4];
        for row in &rows {
            sums.iter_mut()
                .zip(row)
                .for_each(|(sum, number)| *sum += number);
        }
        sums.map(|sum| sum / rows.len() as f64)
    });
    averages
        .sort_by(|(id, _), (other, _)| id.cmp(other))
        .take(100)
}
