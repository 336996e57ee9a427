//! Files of measurements: stations, days, degrees.

use sandglass_sdk::{one_of, span, structure, value};

use super::{Cloud, key, text};

const STATIONS: &[&str] = &["north", "south", "summit"];

const MONTHS: &[&str] = &[
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// For the handler that keeps the means of months.
pub fn history() -> Vec<u8> {
    let mut cloud = Cloud::of_files(|| {
        let folder = one_of!(structure!(); 1 => "history/".to_owned(), 3 => text());
        (folder + &key(".csv"), file().into_bytes())
    });
    for station in STATIONS {
        if structure!().chance(3, 4) {
            cloud.item("stations", station, &["name"]);
        }
    }
    cloud.into_bytes()
}

fn file() -> String {
    let mut file = String::new();
    if structure!().boolean() {
        file.push_str("station,date,degrees,unit\n");
    }
    for _ in structure!().repeat_while(0..=24, 7, 8) {
        let _span = span!("Measurement");
        let station = one_of!(value!(); 15 => (*value!().pick(STATIONS)).to_owned(), 1 => plain());
        file.push_str(&format!("{station},{},{}", date(), degrees()));
        if structure!().boolean() {
            file.push_str(&format!(
                ",{}",
                one_of!(value!(); 1 => "C".to_owned(), 1 => plain())
            ));
        }
        file.push('\n');
    }
    file
}

/// A text that does not end its cell.
fn plain() -> String {
    text().replace([',', '\n', '\r', '"'], " ")
}

fn date() -> String {
    let _span = span!("NaiveDate");
    let year = value!().int(1850..=2030);
    let (month, day) = (value!().int(1..=12_usize), value!().int(1..=31_u32));
    one_of!(structure!();
        4 => format!("{year}-{month:02}-{day:02}"),
        2 => format!("{day:02}.{month:02}.{year}"),
        2 => format!("{year}/{:03}", value!().int(0..=367)),
        2 => format!("{} {day:02} {year}", MONTHS[month - 1]),
        1 => plain())
}

fn degrees() -> String {
    one_of!(structure!();
        6 => format!("{}.{}", value!().int(-40..=60), value!().int(0..=9)),
        2 => value!().int(0..=400).to_string(),
        1 => value!().float_bits().to_string(),
        1 => plain())
}
