//! What handlers of a cloud's events are called with: the event, objects in buckets, and items of tables.
//!
//! As the generators of SpotOn's lambda programs: the event is chosen first, then the object's key, then its content; keys of
//! tables are given, what items hold is drawn; of three thousand files three are no file of their kind. A string is one that the
//! target is known to name, where the guidance has such a table, else ASCII, letters, any code points, or nothing. Spans are labelled with the
//! types of the handlers that are made of them.

use sandglass_sdk::{one_of, span, structure, value};

mod csv_load;
mod history;
mod image_year;
mod lookup;
mod resize;
mod survey;
mod unzip;

pub use csv_load::csv_load;
pub use history::history;
pub use image_year::image_year;
pub(crate) use lookup::base64;
pub use lookup::lookup;
pub use resize::resize;
pub use survey::survey;
pub use unzip::unzip;

/// An input in the making, as `guests/subjects/lambda/cloud` reads it.
#[derive(Default)]
struct Cloud {
    event: String,
    objects: Vec<(String, String, Vec<u8>)>,
    items: Vec<(String, String, Attributes)>,
}

type Attributes = Vec<(String, String)>;

impl Cloud {
    /// A cloud in which files arrived, each with a key and a content that `file` draws.
    fn of_files(mut file: impl FnMut() -> (String, Vec<u8>)) -> Cloud {
        let mut cloud = Cloud::default();
        let mut records = Vec::new();
        {
            let _span = span!("S3Event");
            for _ in structure!().repeat_while(1..=4, 1, 4) {
                let _span = span!("S3EventRecord");
                let name = event_name();
                let bucket = one_of!(value!(); 9 => "uploads".to_owned(), 1 => text());
                let (key, body) = file();
                records.push(record(&name, &bucket, &key, body.len()));
                // Now and then somebody was faster and took it away.
                if structure!().chance(15, 16) {
                    cloud.objects.push((bucket, key, malformed(body)));
                }
            }
        }
        cloud.event = format!("{{\"Records\":[{}]}}", records.join(","));
        cloud
    }

    /// Adds an item with this key, attributes of these names, and some of other names.
    fn item(&mut self, table: &str, key: &str, names: &[&str]) {
        let _span = span!("Item");
        let mut attributes = Attributes::new();
        for name in names {
            if structure!().chance(3, 4) {
                attributes.push(((*name).to_owned(), text()));
            }
        }
        for _ in structure!().repeat_while(0..=4, 1, 3) {
            attributes.push((text(), text()));
        }
        self.items
            .push((table.to_owned(), key.to_owned(), attributes));
    }

    fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.event.as_bytes());
        count(&mut bytes, self.objects.len());
        for (bucket, key, body) in &self.objects {
            put(&mut bytes, bucket.as_bytes());
            put(&mut bytes, key.as_bytes());
            put(&mut bytes, body);
        }
        count(&mut bytes, self.items.len());
        for (table, key, attributes) in &self.items {
            put(&mut bytes, table.as_bytes());
            put(&mut bytes, key.as_bytes());
            count(&mut bytes, attributes.len());
            for (name, value) in attributes {
                put(&mut bytes, name.as_bytes());
                put(&mut bytes, value.as_bytes());
            }
        }
        bytes
    }
}

fn put(bytes: &mut Vec<u8>, text: &[u8]) {
    count(bytes, text.len());
    bytes.extend_from_slice(text);
}

fn count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend_from_slice(&(count as u32).to_le_bytes());
}

/// A string of the target's, else one of any kind.
pub(crate) fn text() -> String {
    value!().known_or(|| {
        let length = |mean| value!().geometric(mean) as usize - 1;
        one_of!(structure!();
            value!().times(length(8)).map(|_| value!().char(' '..='~')).collect(),
            value!().times(length(8)).map(|_| value!().char(['a'..='z', 'A'..='Z'])).collect(),
            value!().times(length(8)).map(|_| value!().char('\0'..=char::MAX)).collect(),
            String::new())
    })
}

/// A key with this ending, or seldom another.
fn key(ending: &str) -> String {
    let _span = span!("S3Object");
    let stem = one_of!(structure!(); 3 => format!("file-{}", value!().int(0..=9)), 1 => text());
    let ending = one_of!(value!(); 15 => ending.to_owned(), 1 => text());
    format!("{stem}{ending}")
}

fn event_name() -> String {
    let names = [
        "ObjectCreated:Put",
        "ObjectCreated:Post",
        "ObjectCreated:CompleteMultipartUpload",
        "ObjectRemoved:Delete",
        "ReducedRedundancyLostObject",
    ];
    one_of!(value!(); 15 => names[value!().weighted(&[12, 2, 2, 2, 1])].to_owned(), 1 => text())
}

/// Three contents of a thousand are something else: cut, or made of any bytes.
fn malformed(body: Vec<u8>) -> Vec<u8> {
    if !structure!().chance(3, 1000) {
        return body;
    }
    one_of!(structure!();
        body[..value!().int(0..=body.len())].to_vec(),
        value!().bytes(0, 64))
}

fn record(name: &str, bucket: &str, key: &str, bytes: usize) -> String {
    let (name, bucket, key) = (json(name), json(bucket), json(key));
    let second = value!().int(0..=59);
    format!(
        "{{\"eventVersion\":\"2.1\",\"eventSource\":\"aws:s3\",\"awsRegion\":\"eu-north-1\",\"eventTime\":\"2024-02-29T12:30:{second:02}.000Z\",\
         \"eventName\":{name},\"userIdentity\":{{\"principalId\":\"P\"}},\"requestParameters\":{{\"sourceIPAddress\":\"127.0.0.1\"}},\
         \"responseElements\":{{}},\"s3\":{{\"s3SchemaVersion\":\"1.0\",\"configurationId\":\"c\",\"bucket\":{{\"name\":{bucket},\
         \"ownerIdentity\":{{\"principalId\":\"P\"}},\"arn\":\"arn\"}},\"object\":{{\"key\":{key},\"size\":{bytes},\"eTag\":\"e\",\"sequencer\":\"0\"}}}}}}"
    )
}

/// A text as JSON writes it.
fn json(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\0'..='\x1f' => json.push_str(&format!("\\u{:04x}", character as u32)),
            other => json.push(other),
        }
    }
    json + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_sdk::native::{Source, run};

    #[test]
    fn events_are_json_and_name_their_objects() {
        for seed in 0..200 {
            let run = run(Source::Seeded(seed), || {
                Cloud::of_files(|| (key(".x"), b"body".to_vec()))
            });
            let cloud = run.done();
            let event: serde_json::Value = serde_json::from_str(&cloud.event).expect("it is JSON");
            let records = event["Records"].as_array().expect("it is a list");
            assert!((1..=4).contains(&records.len()), "seed {seed}");
            for (bucket, key, _) in &cloud.objects {
                let is_named = |record: &serde_json::Value| {
                    record["s3"]["bucket"]["name"] == **bucket
                        && record["s3"]["object"]["key"] == **key
                };
                assert!(records.iter().any(is_named), "seed {seed}");
            }
        }
    }
}
