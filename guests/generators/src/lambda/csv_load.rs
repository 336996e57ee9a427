//! Files of orders: rows of cells under a header.

use sandglass_sdk::{one_of, span, structure, value};

use super::{Cloud, key, text};

const COLUMNS: &[&str] = &["order_id", "customer", "amount", "currency", "status"];

/// For the handler that puts orders into a table.
pub fn csv_load() -> Vec<u8> {
    let mut cloud = Cloud::of_files(|| {
        let (ending, delimiter) =
            *structure!().pick(&[(".csv", ','), (".tsv", '\t'), (".txt", ';')]);
        (key(ending), file(delimiter).into_bytes())
    });
    for customer in ["c1", "c2"] {
        if structure!().boolean() {
            cloud.item("customers", customer, &["name"]);
        }
    }
    cloud.into_bytes()
}

fn file(delimiter: char) -> String {
    // Whoever wrote the file knew the columns, or had some of their own.
    let mut columns: Vec<String> = Vec::new();
    let is_known = structure!().chance(1, 4);
    for column in COLUMNS {
        match is_known {
            true => columns.push((*column).to_owned()),
            false => columns.push(cell(text(), delimiter)),
        }
    }
    let mut file = columns.join(&delimiter.to_string());
    file.push('\n');
    for _ in structure!().repeat_while(0..=40, 7, 8) {
        let _span = span!("Order");
        if structure!().chance(1, 32) {
            file.push_str("# a comment\n");
        }
        let row: Vec<String> = (0..columns.len())
            .map(|column| cell(value(column), delimiter))
            .collect();
        let count = if structure!().chance(1, 32) {
            value!().int(0..=row.len())
        } else {
            row.len()
        };
        file.push_str(&row[..count].join(&delimiter.to_string()));
        file.push_str(if value!().chance(1, 8) { "\r\n" } else { "\n" });
    }
    file
}

fn value(column: usize) -> String {
    let _span = span!("StringRecord");
    match column {
        0 => one_of!(structure!(); 7 => format!("o{}", value!().int(0..=9)), 1 => text()),
        1 => one_of!(structure!(); 7 => format!("c{}", value!().int(1..=3)), 1 => text()),
        2 => one_of!(structure!(); 7 => amount(), 1 => text()),
        _ => one_of!(structure!(); 1 => String::new(), 1 => text()),
    }
}

fn amount() -> String {
    let whole = value!().int(-100..=99_999);
    one_of!(structure!();
        whole.to_string(),
        format!("{whole}.{}", value!().int(0..=9)),
        format!("{whole}.{:02}", value!().int(0..=99)),
        format!("{whole}.{:03}", value!().int(0..=999)))
}

/// A cell with what it needs around it, mostly.
fn cell(text: String, delimiter: char) -> String {
    let is_special =
        |character: char| character == delimiter || matches!(character, '"' | '\n' | '\r');
    let quotes = text.contains(is_special) || value!().chance(1, 16);
    match quotes && value!().chance(15, 16) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}
