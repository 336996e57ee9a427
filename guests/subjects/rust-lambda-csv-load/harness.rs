//! A file of orders arrives in a bucket: its rows become items of a table.
#![allow(dead_code, reason = "nobody reads why a handler gives up")]

use aws_lambda_events::s3::{S3Event, S3EventRecord};
use cloud::{BATCH_MAX, Cloud, CloudError, Item};
use csv::{ReaderBuilder, StringRecord, Trim};

cloud::handler!(handle);

enum Failure {
    Event,
    Cloud(CloudError),
    Csv(csv::Error),
    Header(String),
    Row(u64),
}

/// Where each column is.
struct Columns {
    id: usize,
    customer: usize,
    amount: usize,
    currency: Option<usize>,
    status: Option<usize>,
}

/// One row.
struct Order {
    id: String,
    customer: String,
    cents: i64,
    currency: String,
    status: Status,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Open,
    Paid,
    Returned,
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
    let delimiter = match key.rsplit_once('.') {
        Some((_, "csv")) => b',',
        Some((_, "tsv")) => b'\t',
        Some((_, "txt")) => b';',
        _ => return Err(Failure::Event),
    };
    let body = cloud.get_object(&bucket, &key).map_err(Failure::Cloud)?.to_vec();
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .comment(Some(b'#'))
        .trim(Trim::All)
        .from_reader(body.as_slice());
    let columns = columns(reader.headers().map_err(Failure::Csv)?)?;
    let mut batch = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let record: StringRecord = record.map_err(Failure::Csv)?;
        let order = order(&columns, &record).ok_or(Failure::Row(row as u64))?;
        if order.status == Status::Returned && cloud.delete_item("orders", &order.id) {
            continue;
        }
        let known = cloud.get_item("customers", &order.customer);
        if let Ok(None) = known {
            cloud.log(format!("row {row}: a customer that nobody knows"));
            continue;
        }
        batch.push(item(order));
        if batch.len() == BATCH_MAX {
            cloud.put_items("orders", std::mem::take(&mut batch)).map_err(Failure::Cloud)?;
        }
    }
    cloud.put_items("orders", batch).map_err(Failure::Cloud)
}

fn columns(header: &StringRecord) -> Result<Columns, Failure> {
    let find = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
    let need = |name: &str| find(name).ok_or_else(|| Failure::Header(name.to_owned()));
    Ok(Columns {
        id: need("order_id")?,
        customer: need("customer")?,
        amount: need("amount")?,
        currency: find("currency"),
        status: find("status"),
    })
}

fn order(columns: &Columns, record: &StringRecord) -> Option<Order> {
    let optional = |column: Option<usize>| column.and_then(|column| record.get(column)).filter(|text| !text.is_empty());
    Some(Order {
        id: record.get(columns.id).filter(|id| !id.is_empty())?.to_owned(),
        customer: record.get(columns.customer)?.to_owned(),
        cents: cents(record.get(columns.amount)?)?,
        currency: match optional(columns.currency) {
            None | Some("EUR") => "EUR".to_owned(),
            Some(other @ ("USD" | "CHF")) => other.to_owned(),
            Some(_) => return None,
        },
        status: match optional(columns.status) {
            None | Some("open") => Status::Open,
            Some("paid") => Status::Paid,
            Some("returned") => Status::Returned,
            Some(_) => return None,
        },
    })
}

fn cents(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "00"));
    let negative = whole.starts_with('-');
    let whole: i64 = whole.parse().ok()?;
    let part: i64 = match part.len() {
        1 => part.parse::<i64>().ok()? * 10,
        2 => part.parse().ok()?,
        _ => return None,
    };
    let cents = whole.checked_mul(100)?;
    Some(if negative { cents - part } else { cents + part })
}

fn item(order: Order) -> (String, Item) {
    let mut item = Item::new();
    let cents = order.cents.to_string();
    item.insert("customer".to_owned(), order.customer);
    item.insert("cents".to_owned(), cents);
    item.insert("currency".to_owned(), order.currency);
    if order.cents >= 1_000_000 && order.status != Status::Paid {
        item.insert("approval".to_owned(), "needed".to_owned());
    }
    (order.id, item)
}
