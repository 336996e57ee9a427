//! A photo arrives in a bucket: its metadata go into a table, and photos of one year to an album of their own.
#![allow(dead_code, reason = "nobody reads why a handler gives up")]

use aws_lambda_events::s3::{S3Event, S3EventRecord};
use cloud::{Cloud, CloudError, Item};
use exif::{Exif, Field, In, Reader, Tag, Value};

cloud::handler!(handle);

/// What is known of a photo.
struct ImageMetadata {
    camera: Option<String>,
    year: Option<u32>,
    orientation: u32,
    position: Option<(f64, f64)>,
}

enum Failure {
    Event,
    Cloud(CloudError),
    Exif(exif::Error),
}

fn handle(cloud: &mut Cloud) -> Result<(), Failure> {
    let event: S3Event = serde_json::from_slice(cloud.event()).map_err(|_| Failure::Event)?;
    for record in event.records {
        photo(cloud, record)?;
    }
    Ok(())
}

fn photo(cloud: &mut Cloud, record: S3EventRecord) -> Result<(), Failure> {
    let name = record.event_name.unwrap_or_default();
    let (Some(bucket), Some(key)) = (record.s3.bucket.name, record.s3.object.key) else {
        return Err(Failure::Event);
    };
    if name.starts_with("ObjectRemoved") {
        cloud.delete_item("photos", &key);
        return Ok(());
    }
    if !name.starts_with("ObjectCreated") || !(key.ends_with(".jpg") || key.ends_with(".tif")) {
        cloud.log("not a photo");
        return Ok(());
    }
    let body = cloud.get_object(&bucket, &key).map_err(Failure::Cloud)?;
    let mut body = std::io::Cursor::new(body);
    let exif: Exif = Reader::new().read_from_container(&mut body).map_err(Failure::Exif)?;
    let metadata = read(&exif);
    if metadata.year == Some(2012) {
        album_of_the_year(cloud, &key).map_err(Failure::Cloud)?;
    }
    let item = item(&metadata);
    cloud.put_items("photos", vec![(key, item)]).map_err(Failure::Cloud)
}

/// The album that somebody asked for.
fn album_of_the_year(cloud: &mut Cloud, key: &str) -> Result<(), CloudError> {
    cloud.put_object("album-2012", key, b"see photos".to_vec())
}

fn read(exif: &Exif) -> ImageMetadata {
    let field = |tag: Tag| exif.get_field(tag, In::PRIMARY);
    let orientation = field(Tag::Orientation).and_then(|field| field.value.get_uint(0));
    ImageMetadata {
        camera: field(Tag::Model).or(field(Tag::Make)).and_then(text),
        year: field(Tag::DateTimeOriginal).or(field(Tag::DateTime)).and_then(year),
        orientation: orientation.filter(|turned| (1..=8).contains(turned)).unwrap_or(1),
        position: position(exif),
    }
}

fn text(field: &Field) -> Option<String> {
    match &field.value {
        Value::Ascii(texts) if !texts.is_empty() => String::from_utf8(texts[0].clone()).ok(),
        _ => None,
    }
}

fn year(field: &Field) -> Option<u32> {
    let Value::Ascii(texts) = &field.value else { return None };
    let taken = exif::DateTime::from_ascii(texts.first()?).ok()?;
    Some(taken.year.into())
}

fn position(exif: &Exif) -> Option<(f64, f64)> {
    let degrees = |tag: Tag, side: Tag, other: &str| {
        let Value::Rational(parts) = &exif.get_field(tag, In::PRIMARY)?.value else { return None };
        let [degrees, minutes, seconds] = parts.get(..3)? else { return None };
        let angle = degrees.to_f64() + minutes.to_f64() / 60.0 + seconds.to_f64() / 3600.0;
        let side = exif.get_field(side, In::PRIMARY).and_then(text)?;
        Some(if side == other { -angle } else { angle })
    };
    let latitude = degrees(Tag::GPSLatitude, Tag::GPSLatitudeRef, "S")?;
    let longitude = degrees(Tag::GPSLongitude, Tag::GPSLongitudeRef, "W")?;
    (latitude.abs() <= 90.0 && longitude.abs() <= 180.0).then_some((latitude, longitude))
}

fn item(metadata: &ImageMetadata) -> Item {
    let mut item = Item::new();
    if let Some(camera) = &metadata.camera {
        let maker = match camera.as_str() {
            known if known.starts_with("Canon") => "canon",
            known if known.starts_with("NIKON") => "nikon",
            known if known.contains("iPhone") => "apple",
            _ => "other",
        };
        item.insert("maker".to_owned(), maker.to_owned());
    }
    if let Some(year) = metadata.year {
        item.insert("year".to_owned(), year.to_string());
    }
    if metadata.orientation > 4 {
        item.insert("turned".to_owned(), "yes".to_owned());
    }
    if let Some((latitude, longitude)) = metadata.position {
        item.insert("position".to_owned(), format!("{latitude:.3},{longitude:.3}"));
    }
    item
}
