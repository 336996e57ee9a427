//! Tables that queries begin with: a few rows of each, in the layout of TPC-DS, in which every key that a row has is one of a row
//! of the other table. What no query reads is filled with letters and numbers.
//!
//! Row n of a table has the keys of row n of the others, the first few; DepFuzz's tuples say so, and of the others nothing is told.
//! Texts and numbers are drawn from what the benchmark's generator has there, so few rows pass a filter, and seldom those that
//! belong together.

use super::{Draw, Sets};
use crate::programs::find;

/// Rows of a table of sales or returns, and of any other.
const FACTS: u32 = 16;
const OTHERS: u32 = 8;

/// What the key of the first day is: days are counted since 4713 BC.
const FIRST_DAY: u32 = 2_450_815;

/// The data sets of a query.
pub(crate) fn tables(query: &str, draw: &mut Draw) -> Sets {
    let names = names(query);
    let schema = find(query).expect("it is a query").schema.split(';');
    let mut table = |(name, kinds): (&&str, &str)| {
        let rows = match name.ends_with("sales") || name.ends_with("returns") {
            true => FACTS,
            false => OTHERS,
        };
        (0..rows).map(|nth| row(draw, name, kinds, nth)).collect()
    };
    names.iter().zip(schema).map(&mut table).collect()
}

/// The tables of its data sets.
fn names(query: &str) -> &'static [&'static str] {
    match query {
        "q1" => &["store_returns", "date_dim", "store", "customer"],
        "q3" => &["store_sales", "date_dim", "item"],
        "q6" => &[
            "customer_address",
            "customer",
            "store_sales",
            "date_dim",
            "item",
        ],
        "q7" => &[
            "store_sales",
            "customer_demographics",
            "date_dim",
            "item",
            "promotion",
        ],
        "q12" => &["web_sales", "item", "date_dim"],
        "q15" => &["catalog_sales", "customer", "customer_address", "date_dim"],
        "q19" => &[
            "date_dim",
            "store_sales",
            "item",
            "customer",
            "customer_address",
            "store",
        ],
        "q20" => &["catalog_sales", "item", "date_dim"],
        other => panic!("{other}: no such query"),
    }
}

/// A row: what a query reads, and between it what has the right kind.
fn row(draw: &mut Draw, table: &str, kinds: &str, nth: u32) -> String {
    let known = known(draw, table, nth);
    let cell = |(column, kind)| {
        let given = known.iter().find(|(known, _)| *known == column);
        match (given, kind) {
            (Some((_, text)), _) => text.clone(),
            (None, 'n') => draw.of(0, 99).to_string(),
            (None, _) => draw.letters(4),
        }
    };
    let cells: Vec<_> = kinds.chars().enumerate().map(cell).collect();
    cells.join(",")
}

/// Columns that a query reads, with their texts.
fn known(draw: &mut Draw, table: &str, nth: u32) -> Vec<(usize, String)> {
    const STATES: [&str; 8] = ["TN", "GA", "CA", "WA", "TX", "OH", "VA", "NY"];
    const CATEGORIES: [&str; 10] = [
        "Books",
        "Children",
        "Electronics",
        "Home",
        "Jewelry",
        "Men",
        "Music",
        "Shoes",
        "Sports",
        "Women",
    ];
    const CLASSES: [&str; 4] = ["arts", "camping", "bedding", "classical"];
    const EDUCATION: [&str; 7] = [
        "Primary",
        "Secondary",
        "College",
        "2 yr Degree",
        "4 yr Degree",
        "Advanced Degree",
        "Unknown",
    ];
    // The key of a row of another table: of that of the same number, or of any.
    let key = |draw: &mut Draw| match nth < OTHERS {
        true => nth + 1,
        false => draw.of(1, OTHERS),
    };
    let day = |draw: &mut Draw| (FIRST_DAY + key(draw)).to_string();
    let money = |draw: &mut Draw, most| format!("{}.{:02}", draw.of(1, most), draw.of(0, 99));
    let zip = |draw: &mut Draw| draw.of(10_000, 99_999).to_string();
    let own = (nth + 1).to_string();
    let mut known = Vec::new();
    let mut keys = |columns: &[usize], draw: &mut Draw| {
        known.push((0, day(draw)));
        known.extend(
            columns
                .iter()
                .map(|column| (*column, key(draw).to_string())),
        );
    };
    match table {
        "store_sales" => {
            keys(&[2, 3, 4, 7, 8], draw);
            known.push((10, draw.of(1, 100).to_string()));
            known.extend([12, 13, 15, 19].map(|column| (column, money(draw, 300))));
        }
        "store_returns" => {
            keys(&[3, 7], draw);
            known.push((11, money(draw, 300)));
        }
        "catalog_sales" => {
            keys(&[3, 15], draw);
            known.extend([21, 23].map(|column| (column, money(draw, 300))));
        }
        "web_sales" => {
            keys(&[3], draw);
            known.push((23, money(draw, 300)));
        }
        "date_dim" => {
            let (year, month) = (draw.of(1998, 2002), draw.of(1, 12));
            known.push((0, (FIRST_DAY + nth + 1).to_string()));
            known.push((2, format!("{year}-{month:02}-{:02}", draw.of(1, 28))));
            let numbers = [(3, (year - 1900) * 12 + month - 1), (6, year), (8, month)];
            known.extend(numbers.map(|(column, number)| (column, number.to_string())));
            known.push((10, month.div_ceil(3).to_string()));
        }
        "item" => {
            known.push((5, money(draw, 99)));
            known.push((10, draw.one(&CLASSES).to_owned()));
            known.push((12, draw.one(&CATEGORIES).to_owned()));
            known.extend([
                (13, draw.of(1, 1000).to_string()),
                (20, draw.of(1, 100).to_string()),
            ]);
        }
        "store" => known.extend([(24, draw.one(&STATES).to_owned()), (25, zip(draw))]),
        "customer" => known.push((4, own.clone())),
        "customer_address" => {
            known.extend([(8, draw.one(&STATES).to_owned()), (9, zip(draw))]);
        }
        "customer_demographics" => {
            known.push((1, draw.one(&["M", "F"]).to_owned()));
            known.push((2, draw.one(&["M", "S", "D", "W", "U"]).to_owned()));
            known.push((3, draw.one(&EDUCATION).to_owned()));
        }
        "promotion" => {
            known.extend([9, 14].map(|column| (column, draw.one(&["N", "Y"]).to_owned())))
        }
        other => panic!("{other}: no such table"),
    }
    if !known.iter().any(|(column, _)| *column == 0) {
        known.push((0, own));
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::QUERIES;
    use crate::seeds::{Rows, seed};
    use sandglass_engine::rows::{DataSets, tuples};
    use sandglass_guests::QUERIES as GUESTS;

    /// The first rows of a tuple's columns have the same texts, and all rows as many cells as there are kinds.
    #[test]
    fn keys_are_there_and_rows_have_all_columns() {
        for (query, guest) in QUERIES.iter().zip(GUESTS) {
            assert_eq!(query.name, guest.program.name);
            let sets = DataSets::parse(&seed(query.name, Rows::Reduced), b',');
            let kinds: Vec<_> = query.schema.split(';').collect();
            assert_eq!(kinds.len(), guest.program.sets);
            assert_eq!(sets.sets(), kinds.len());
            for (set, kinds) in kinds.iter().enumerate() {
                for row in 0..sets.rows(set) {
                    assert_eq!(sets.columns(set, row), kinds.len(), "{} {set}", query.name);
                }
            }
            let named = format!("Data sets: {}.", names(query.name).join(", "));
            assert!(
                guest.program.source.replace("\n//!", "").contains(&named),
                "{named}"
            );
            for tuple in tuples::parse(query.tuples).unwrap() {
                let texts = tuple.iter().map(|at| {
                    let [set, row, column] = [at.set, at.row, at.column].map(|n| n as usize);
                    sets.cell(set, row, column)
                });
                let texts: Vec<_> = texts.collect();
                assert_eq!(texts[0], texts[1], "{} {tuple:?}", query.name);
            }
        }
    }
}
