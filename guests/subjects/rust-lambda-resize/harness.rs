//! A picture arrives in a bucket: a small one is put into another bucket.
#![allow(dead_code, reason = "nobody reads why a handler gives up")]

use aws_lambda_events::s3::{S3Event, S3EventRecord};
use cloud::{Cloud, CloudError};
use image::{DynamicImage, ImageError, ImageFormat, ImageReader, Limits, imageops::FilterType};

cloud::handler!(handle);

const SIDE_MAX: u32 = 64;

enum Failure {
    Event(&'static str),
    Cloud(CloudError),
    Image(ImageError),
}

/// What is wanted of a picture.
struct Thumbnail {
    width: u32,
    height: u32,
    filter: FilterType,
}

fn handle(cloud: &mut Cloud) -> Result<(), Failure> {
    let event: S3Event = serde_json::from_slice(cloud.event()).map_err(|_| Failure::Event("no event"))?;
    for record in event.records {
        resize(cloud, record)?;
    }
    Ok(())
}

fn resize(cloud: &mut Cloud, record: S3EventRecord) -> Result<(), Failure> {
    let bucket = record.s3.bucket.name.ok_or(Failure::Event("no bucket"))?;
    let key = record.s3.object.key.ok_or(Failure::Event("no key"))?;
    let destination = format!("{bucket}-resized");
    if bucket.ends_with("-resized") {
        return Err(Failure::Event("source and destination are the same"));
    }
    let Some((_, ending)) = key.rsplit_once('.') else {
        return Err(Failure::Event("no type"));
    };
    let format = match ending {
        "png" => ImageFormat::Png,
        "bmp" => ImageFormat::Bmp,
        "pgm" | "ppm" => ImageFormat::Pnm,
        "jpg" | "gif" => {
            cloud.log(format!("{key}: not done yet"));
            return Ok(());
        }
        _ => return Err(Failure::Event("unsupported type")),
    };
    let body = cloud.get_object(&bucket, &key).map_err(Failure::Cloud)?;
    let picture = decode(body, format).map_err(Failure::Image)?;
    let wanted = wanted(cloud, &bucket, &picture)?;
    let small = match (picture.width(), picture.height()) {
        (width, height) if width <= wanted.width && height <= wanted.height => picture,
        _ => picture.resize(wanted.width, wanted.height, wanted.filter),
    };
    let mut written = std::io::Cursor::new(Vec::new());
    small.write_to(&mut written, ImageFormat::Bmp).map_err(Failure::Image)?;
    cloud.put_object(&destination, &key, written.into_inner()).map_err(Failure::Cloud)
}

fn decode(body: &[u8], format: ImageFormat) -> Result<DynamicImage, ImageError> {
    let mut reader = ImageReader::with_format(std::io::Cursor::new(body), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(256);
    limits.max_image_height = Some(256);
    limits.max_alloc = Some(1 << 20);
    reader.limits(limits);
    reader.decode()
}

/// As the bucket's settings say, which are in a table.
fn wanted(cloud: &Cloud, bucket: &str, picture: &DynamicImage) -> Result<Thumbnail, Failure> {
    let mut thumbnail = Thumbnail {
        width: SIDE_MAX,
        height: SIDE_MAX,
        filter: FilterType::Nearest,
    };
    let Ok(Some(settings)) = cloud.get_item("settings", bucket) else {
        return Ok(thumbnail);
    };
    if let Some(side) = settings.get("side") {
        let side: u32 = side.parse().map_err(|_| Failure::Event("side is no number"))?;
        thumbnail.width = side.clamp(1, SIDE_MAX);
        thumbnail.height = thumbnail.width;
    }
    thumbnail.filter = match settings.get("quality").map(String::as_str) {
        None | Some("fast") => FilterType::Nearest,
        Some("good") => FilterType::Triangle,
        Some("best") if picture.width() * picture.height() < 4096 => FilterType::Lanczos3,
        Some("best") => FilterType::CatmullRom,
        Some(_) => return Err(Failure::Event("unknown quality")),
    };
    Ok(thumbnail)
}
