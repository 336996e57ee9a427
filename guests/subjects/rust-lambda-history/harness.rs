//! A file of measurements of the past arrives in a bucket: the mean of each month and station goes into a table.
#![allow(dead_code, reason = "nobody reads why a handler gives up")]

use std::collections::BTreeMap;

use aws_lambda_events::s3::{S3Event, S3EventRecord};
use chrono::{Datelike, NaiveDate};
use cloud::{Cloud, CloudError, Item};
use csv::ByteRecord;

cloud::handler!(handle);

enum Failure {
    Event,
    Cloud(CloudError),
    Csv(csv::Error),
    Measurement(&'static str),
}

/// One line of the file.
struct Measurement {
    station: String,
    date: NaiveDate,
    celsius: f64,
}

/// All of a month.
#[derive(Default)]
struct Month {
    sum: f64,
    count: u32,
    frost: u32,
    leap: bool,
}

fn handle(cloud: &mut Cloud) -> Result<(), Failure> {
    let event: S3Event = serde_json::from_slice(cloud.event()).map_err(|_| Failure::Event)?;
    for record in event.records {
        load(cloud, record)?;
    }
    Ok(())
}

fn load(cloud: &mut Cloud, record: S3EventRecord) -> Result<(), Failure> {
    let (Some(bucket), Some(key)) = (record.s3.bucket.name, record.s3.object.key) else {
        return Err(Failure::Event);
    };
    if !key.starts_with("history/") {
        cloud.log("not of the past");
        return Ok(());
    }
    let body = cloud.get_object(&bucket, &key).map_err(Failure::Cloud)?.to_vec();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(body.as_slice());
    let mut months: BTreeMap<(String, i32, u32), Month> = BTreeMap::new();
    let mut row = ByteRecord::new();
    while reader.read_byte_record(&mut row).map_err(Failure::Csv)? {
        if row.get(0) == Some(b"station") {
            continue;
        }
        let measurement = measurement(&row)?;
        add(&mut months, measurement);
    }
    for ((station, year, month), of) in months {
        let Some(known) = cloud.get_item("stations", &station).map_err(Failure::Cloud)? else {
            return Err(Failure::Measurement("unknown station"));
        };
        let name = known.get("name").cloned().unwrap_or_else(|| station.clone());
        let item = item(name, year, &of);
        cloud.put_items("months", vec![(format!("{station}-{year}-{month}"), item)]).map_err(Failure::Cloud)?;
    }
    Ok(())
}

fn measurement(row: &ByteRecord) -> Result<Measurement, Failure> {
    let text = |column: usize| {
        let bytes = row.get(column).ok_or(Failure::Measurement("a column is missing"))?;
        std::str::from_utf8(bytes).map_err(|_| Failure::Measurement("not UTF-8"))
    };
    let station = text(0)?.to_owned();
    let date = text(1)?;
    let formats = ["%Y-%m-%d", "%d.%m.%Y", "%Y/%j", "%b %d %Y"];
    let date = formats.iter().find_map(|format| NaiveDate::parse_from_str(date, format).ok());
    let date = date.ok_or(Failure::Measurement("no date"))?;
    let degrees: f64 = text(2)?.parse().map_err(|_| Failure::Measurement("no number"))?;
    let celsius = match row.get(3) {
        None | Some(b"C" | b"") => degrees,
        Some(b"F") => (degrees - 32.0) / 1.8,
        Some(b"K") if degrees >= 0.0 => degrees - 273.15,
        Some(_) => return Err(Failure::Measurement("no unit")),
    };
    if !(-90.0..=60.0).contains(&celsius) {
        return Err(Failure::Measurement("not of this planet"));
    }
    Ok(Measurement { station, date, celsius })
}

fn add(months: &mut BTreeMap<(String, i32, u32), Month>, of: Measurement) {
    let key = (of.station, of.date.year(), of.date.month());
    let month = months.entry(key).or_default();
    month.sum += of.celsius;
    month.count += 1;
    if of.celsius < 0.0 {
        month.frost += 1;
    }
    if of.date.leap_year() && of.date.ordinal() == 60 {
        month.leap = true;
    }
}

fn item(name: String, year: i32, month: &Month) -> Item {
    let mut item = Item::new();
    item.insert("name".to_owned(), name);
    item.insert("mean".to_owned(), format!("{:.1}", month.sum / f64::from(month.count)));
    if month.frost == month.count && month.count > 2 {
        item.insert("ice".to_owned(), "yes".to_owned());
    }
    if month.leap {
        item.insert("leap".to_owned(), "yes".to_owned());
    }
    let era = match year {
        ..1900 => "before instruments",
        1900..1950 => "by hand",
        1950..2000 => "by machine",
        _ => "by satellite",
    };
    item.insert("era".to_owned(), era.to_owned());
    item
}
