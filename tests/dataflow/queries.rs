//! What the queries of `guests/dataflow/queries` answer, worked out by hand.

#![expect(
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "the queries are modules of their own elsewhere"
)]

#[path = "../../guests/dataflow/queries/columns.rs"]
mod columns;
#[path = "../../guests/dataflow/queries/q1.rs"]
mod q1;
#[path = "../../guests/dataflow/queries/q12.rs"]
mod q12;
#[path = "../../guests/dataflow/queries/q15.rs"]
mod q15;
#[path = "../../guests/dataflow/queries/q19.rs"]
mod q19;
#[path = "../../guests/dataflow/queries/q20.rs"]
mod q20;
#[path = "../../guests/dataflow/queries/q3.rs"]
mod q3;
#[path = "../../guests/dataflow/queries/q6.rs"]
mod q6;
#[path = "../../guests/dataflow/queries/q7.rs"]
mod q7;

use columns::*;
use sandglass_sdk::flow::Sets;

/// Of each row the columns that are not `-`.
type Rows<'a> = &'a [&'a [(usize, &'a str)]];

fn sets(tables: &[Rows<'_>]) -> Sets {
    let table = |rows: &Rows<'_>| {
        let row = |cells: &&[(usize, &str)]| {
            let width = 1 + cells.iter().map(|(column, _)| *column).max().unwrap_or(0);
            let mut row = vec!["-"; width];
            cells.iter().for_each(|(column, text)| row[*column] = text);
            row.join(",") + "\n"
        };
        rows.iter().map(row).collect::<String>()
    };
    let texts: Vec<_> = tables.iter().map(table).collect();
    Sets::new(texts.join("\x1c").as_bytes())
}

#[test]
fn customers_who_return_more_than_most() {
    use store_returns::{CUSTOMER, RETURN_AMT, RETURNED_DATE, STORE};
    let returned = |day, customer, store, amount| {
        [
            (RETURNED_DATE, day),
            (CUSTOMER, customer),
            (STORE, store),
            (RETURN_AMT, amount),
        ]
    };
    let returns = [
        returned("d1", "c1", "s1", "10"),
        returned("d1", "c2", "s1", "5"),
        // Four times the other's of s1, together with what is on another day of the year.
        returned("d2", "c1", "s1", "10"),
        // Not that year.
        returned("d3", "c2", "s1", "500"),
        // Above the average of 10, but not by more than a fifth.
        returned("d1", "c1", "s2", "12"),
        returned("d1", "c2", "s2", "8"),
        // Above it in a store elsewhere.
        returned("d1", "c1", "s3", "100"),
        returned("d1", "c2", "s3", "1"),
    ];
    let returns: Vec<_> = returns.iter().map(|row| &row[..]).collect();
    let years = [("d1", "2000"), ("d2", "2000"), ("d3", "2001")];
    let days = years.map(|(day, year)| [(date_dim::DATE_SK, day), (date_dim::YEAR, year)]);
    let states = [("s1", "TN"), ("s2", "TN"), ("s3", "GA")];
    let stores = states.map(|(of, state)| [(store::STORE_SK, of), (store::STATE, state)]);
    let ids = [("c1", "Ann"), ("c2", "Ben")];
    let customers = ids.map(|(of, id)| [(customer::CUSTOMER_SK, of), (customer::CUSTOMER_ID, id)]);
    let sets = sets(&[
        &returns,
        &days.each_ref().map(|row| &row[..]),
        &stores.each_ref().map(|row| &row[..]),
        &customers.each_ref().map(|row| &row[..]),
    ]);
    assert_eq!(q1::program(&sets), ["Ann"]);
}

#[test]
fn brands_of_a_manufacturer_in_november() {
    let sold = |day, item, price| {
        let columns = [
            store_sales::SOLD_DATE,
            store_sales::ITEM,
            store_sales::EXT_SALES_PRICE,
        ];
        [(columns[0], day), (columns[1], item), (columns[2], price)]
    };
    let sales = [
        sold("d1", "i1", "1.5"),
        sold("d1", "i1", "2"),
        sold("d1", "i2", "7"),
        sold("d2", "i1", "1"),
        sold("d3", "i1", "90"),
        sold("d1", "i3", "90"),
    ];
    let days = [
        ("d1", "11", "2001"),
        ("d2", "11", "1999"),
        ("d3", "12", "2001"),
    ];
    let days = days.map(|(day, month, year)| {
        [
            (date_dim::DATE_SK, day),
            (date_dim::MONTH, month),
            (date_dim::YEAR, year),
        ]
    });
    let items = [("i1", "1", "128"), ("i2", "2", "128"), ("i3", "3", "129")];
    let items = items.map(|(of, brand, manufacturer)| {
        let made = (item::MANUFACTURER_ID, manufacturer);
        [
            (item::ITEM_SK, of),
            (item::BRAND_ID, brand),
            (item::BRAND, "b"),
            made,
        ]
    });
    let sets = sets(&[
        &sales.each_ref().map(|row| &row[..]),
        &days.each_ref().map(|row| &row[..]),
        &items.each_ref().map(|row| &row[..]),
    ]);
    let expected = [
        ((1999, "b", "1"), 1.0),
        ((2001, "b", "2"), 7.0),
        ((2001, "b", "1"), 3.5),
    ];
    assert_eq!(q3::program(&sets), expected);
}

#[test]
fn states_that_buy_what_is_dear() {
    let addresses = [("a1", "GA"), ("a2", "TN")];
    let addresses = addresses.map(|(of, state)| {
        [
            (customer_address::ADDRESS_SK, of),
            (customer_address::STATE, state),
        ]
    });
    let customers = [("c1", "a1"), ("c2", "a2")];
    let customers =
        customers.map(|(of, home)| [(customer::CUSTOMER_SK, of), (customer::ADDRESS, home)]);
    let sold = |customer, item, day| {
        [
            (store_sales::CUSTOMER, customer),
            (store_sales::ITEM, item),
            (store_sales::SOLD_DATE, day),
        ]
    };
    // Ten of c1's are dear and in that month, nine of c2's.
    let mut sales = vec![sold("c1", "i2", "d1"); 10];
    sales.extend([sold("c2", "i2", "d1"); 9]);
    sales.extend([sold("c2", "i1", "d1"), sold("c2", "i2", "d2")]);
    let days = [("d1", "1212", "2001", "1"), ("d2", "1213", "2001", "2")];
    let days = days.map(|(day, sequence, year, month)| {
        let when = [(date_dim::YEAR, year), (date_dim::MONTH, month)];
        [
            (date_dim::DATE_SK, day),
            (date_dim::MONTH_SEQ, sequence),
            when[0],
            when[1],
        ]
    });
    let items = [("i1", "12"), ("i2", "15"), ("i3", "9")];
    let items = items.map(|(of, price)| {
        [
            (item::ITEM_SK, of),
            (item::CURRENT_PRICE, price),
            (item::CATEGORY, "Books"),
        ]
    });
    let tables = |days: Rows<'_>| {
        sets(&[
            &addresses.each_ref().map(|row| &row[..]),
            &customers.each_ref().map(|row| &row[..]),
            &sales.iter().map(|row| &row[..]).collect::<Vec<_>>(),
            days,
            &items.each_ref().map(|row| &row[..]),
        ])
    };
    let all = tables(&days.each_ref().map(|row| &row[..]));
    assert_eq!(q6::program(&all), [("GA", 10)]);
    assert!(q6::program(&tables(&[])).is_empty());
}

#[test]
fn averages_of_what_single_men_buy() {
    let sold = |by, promotion, day, price| {
        let bought = [
            (store_sales::DEMOGRAPHICS, by),
            (store_sales::PROMOTION, promotion),
        ];
        let numbers = [(store_sales::QUANTITY, "3"), (store_sales::LIST_PRICE, "4")];
        let prices = [
            (store_sales::COUPON_AMT, "0"),
            (store_sales::SALES_PRICE, price),
        ];
        let what = [(store_sales::ITEM, "i1"), (store_sales::SOLD_DATE, day)];
        [bought, numbers, prices, what].concat()
    };
    // Each but the first two has one thing that is not asked for.
    let sales = [
        sold("p1", "mail", "d1", "1"),
        sold("p1", "event", "d1", "2"),
        sold("p1", "both", "d1", "90"),
        sold("p1", "mail", "d2", "90"),
        sold("p2", "mail", "d1", "90"),
        sold("p3", "mail", "d1", "90"),
        sold("p4", "mail", "d1", "90"),
    ];
    let people = [
        ("p1", "M", "S", "College"),
        ("p2", "M", "M", "College"),
        ("p3", "F", "S", "College"),
        ("p4", "M", "S", "Primary"),
    ];
    let people = people.map(|(of, gender, married, education)| {
        use customer_demographics::{DEMO_SK, EDUCATION, GENDER, MARITAL_STATUS};
        [
            (DEMO_SK, of),
            (GENDER, gender),
            (MARITAL_STATUS, married),
            (EDUCATION, education),
        ]
    });
    let days = [("d1", "2000"), ("d2", "2001")];
    let days = days.map(|(day, year)| [(date_dim::DATE_SK, day), (date_dim::YEAR, year)]);
    let promotions = [("mail", "Y", "N"), ("event", "N", "Y"), ("both", "Y", "Y")];
    let promotions = promotions.map(|(of, email, event)| {
        use promotion::{CHANNEL_EMAIL, CHANNEL_EVENT, PROMOTION_SK};
        [
            (PROMOTION_SK, of),
            (CHANNEL_EMAIL, email),
            (CHANNEL_EVENT, event),
        ]
    });
    let sets = sets(&[
        &sales.each_ref().map(|row| &row[..]),
        &people.each_ref().map(|row| &row[..]),
        &days.each_ref().map(|row| &row[..]),
        &[&[(item::ITEM_SK, "i1"), (item::ITEM_ID, "AAA")]],
        &promotions.each_ref().map(|row| &row[..]),
    ]);
    assert_eq!(q7::program(&sets), [("AAA", [3.0, 4.0, 0.0, 1.5])]);
}

#[test]
fn shares_of_a_class() {
    let items = [("i1", "Books"), ("i2", "Home"), ("i3", "Music")].map(|(of, category)| {
        let named = [
            (item::ITEM_SK, of),
            (item::ITEM_ID, of),
            (item::DESCRIPTION, "d"),
        ];
        let kind = [
            (item::CLASS, "c"),
            (item::CATEGORY, category),
            (item::CURRENT_PRICE, "9"),
        ];
        [named, kind].concat()
    });
    let days = [
        ("d1", "1999-02-21"),
        ("d2", "1999-02-22"),
        ("d3", "1999-03-24"),
        ("d4", "1999-03-25"),
    ];
    let days = days.map(|(of, date)| [(date_dim::DATE_SK, of), (date_dim::DATE, date)]);
    // Of the second day 1, of the third 3; 50 outside or of no such category.
    let sales = [
        ("d1", "i1", "50"),
        ("d2", "i1", "1"),
        ("d3", "i2", "3"),
        ("d4", "i2", "50"),
        ("d2", "i3", "50"),
    ];
    let tables = |columns: [usize; 3]| {
        let sales = sales
            .map(|(day, item, price)| [(columns[0], day), (columns[1], item), (columns[2], price)]);
        sets(&[
            &sales.each_ref().map(|row| &row[..]),
            &items.each_ref().map(|row| &row[..]),
            &days.each_ref().map(|row| &row[..]),
        ])
    };
    let expected = [
        (["Books", "c", "i1", "d", "9"], 1.0, 25.0),
        (["Home", "c", "i2", "d", "9"], 3.0, 75.0),
    ];
    use {catalog_sales as catalog, web_sales as web};
    let web = tables([web::SOLD_DATE, web::ITEM, web::EXT_SALES_PRICE]);
    assert_eq!(q12::program(&web), expected);
    let catalog = tables([catalog::SOLD_DATE, catalog::ITEM, catalog::EXT_SALES_PRICE]);
    assert_eq!(q20::program(&catalog), expected);
}

#[test]
fn catalog_sales_by_zip_code() {
    // Every code and state that is asked for, and a place that is not, where only dear sales count.
    let places = [
        ("80348", "TX"),
        ("81792", "TX"),
        ("83405", "TX"),
        ("85392", "TX"),
        ("85460", "TX"),
        ("85669-1", "TX"),
        ("86197", "TX"),
        ("86475", "TX"),
        ("88274", "TX"),
        ("10000", "WA"),
        ("10001", "CA"),
        ("10002", "GA"),
        ("20000", "TX"),
    ];
    let customers = places.map(|(of, _)| [(customer::CUSTOMER_SK, of), (customer::ADDRESS, of)]);
    let addresses = places.map(|(zip, state)| {
        use customer_address::{ADDRESS_SK, STATE, ZIP};
        [(ADDRESS_SK, zip), (ZIP, zip), (STATE, state)]
    });
    let mut sales = places.map(|(of, _)| (of, "1", "d1")).to_vec();
    sales.extend([
        ("20000", "500", "d1"),
        ("20000", "500.5", "d1"),
        ("81792", "90", "d2"),
        ("81792", "90", "d3"),
    ]);
    let sales = sales.iter().map(|&(customer, price, day)| {
        use catalog_sales::{BILL_CUSTOMER, SALES_PRICE, SOLD_DATE};
        [
            (BILL_CUSTOMER, customer),
            (SALES_PRICE, price),
            (SOLD_DATE, day),
        ]
    });
    let sales: Vec<_> = sales.collect();
    let days = [
        ("d1", "2", "2001"),
        ("d2", "3", "2001"),
        ("d3", "2", "2000"),
    ];
    let days = days.map(|(of, quarter, year)| {
        [
            (date_dim::DATE_SK, of),
            (date_dim::QUARTER, quarter),
            (date_dim::YEAR, year),
        ]
    });
    let sets = sets(&[
        &sales.iter().map(|row| &row[..]).collect::<Vec<_>>(),
        &customers.each_ref().map(|row| &row[..]),
        &addresses.each_ref().map(|row| &row[..]),
        &days.each_ref().map(|row| &row[..]),
    ]);
    let mut expected = places.map(|(zip, _)| (zip, 1.0));
    expected[12].1 = 500.5;
    expected.sort_unstable_by_key(|(zip, _)| *zip);
    assert_eq!(q15::program(&sets), expected);
}

#[test]
fn brands_of_a_manager_bought_far_from_home() {
    let sales = [
        ("c1", "i1", "d1", "1"),
        ("c2", "i1", "d1", "2"),
        ("c2", "i2", "d1", "4"),
        ("c2", "i3", "d1", "90"),
        ("c2", "i2", "d2", "90"),
        ("c2", "i2", "d3", "90"),
    ];
    let sales = sales.map(|(customer, item, day, price)| {
        let what = [
            (store_sales::ITEM, item),
            (store_sales::EXT_SALES_PRICE, price),
        ];
        let by = [
            (store_sales::CUSTOMER, customer),
            (store_sales::STORE, "s1"),
        ];
        [what, by, [(store_sales::SOLD_DATE, day); 2]].concat()
    });
    let items = [("i1", "8"), ("i2", "8"), ("i3", "9")].map(|(of, manager)| {
        let made = [(item::MANUFACTURER_ID, "5"), (item::MANUFACTURER, "m")];
        let brand = [(item::BRAND_ID, "1"), (item::BRAND, of)];
        [
            made,
            brand,
            [(item::ITEM_SK, of), (item::MANAGER_ID, manager)],
        ]
        .concat()
    });
    // The first lives where the store is.
    let homes = [("c1", "37000"), ("c2", "38000")];
    let customers = homes.map(|(of, _)| [(customer::CUSTOMER_SK, of), (customer::ADDRESS, of)]);
    let addresses = homes.map(|(of, zip)| {
        [
            (customer_address::ADDRESS_SK, of),
            (customer_address::ZIP, zip),
        ]
    });
    let days = [
        ("d1", "11", "1998"),
        ("d2", "12", "1998"),
        ("d3", "11", "1999"),
    ];
    let days = days.map(|(of, month, year)| {
        [
            (date_dim::DATE_SK, of),
            (date_dim::MONTH, month),
            (date_dim::YEAR, year),
        ]
    });
    let sets = sets(&[
        &days.each_ref().map(|row| &row[..]),
        &sales.each_ref().map(|row| &row[..]),
        &items.each_ref().map(|row| &row[..]),
        &customers.each_ref().map(|row| &row[..]),
        &addresses.each_ref().map(|row| &row[..]),
        &[&[(store::STORE_SK, "s1"), (store::ZIP, "37000-1")]],
    ]);
    let of = |brand, sum| (((brand, "1"), ("5", "m")), sum);
    assert_eq!(q19::program(&sets), [of("i2", 4.0), of("i1", 2.0)]);
}
