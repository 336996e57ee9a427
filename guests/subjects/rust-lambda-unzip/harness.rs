//! An archive arrives in a bucket: its files are put beside it.
#![allow(dead_code, reason = "nobody reads why a handler gives up")]

use std::io::Read as _;

use aws_lambda_events::s3::{S3Event, S3EventRecord};
use cloud::{Cloud, CloudError, Item};
use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

cloud::handler!(handle);

const FILE_BYTES_MAX: u64 = 1 << 16;
const FILES_MAX: usize = 16;

enum Failure {
    Event,
    Cloud(CloudError),
    Zip(ZipError),
    Refused(&'static str),
}

/// A file of an archive.
struct Unpacked {
    name: String,
    kind: &'static str,
    body: Vec<u8>,
}

fn handle(cloud: &mut Cloud) -> Result<(), Failure> {
    let event: S3Event = serde_json::from_slice(cloud.event()).map_err(|_| Failure::Event)?;
    for record in event.records {
        unzip(cloud, record)?;
    }
    Ok(())
}

fn unzip(cloud: &mut Cloud, record: S3EventRecord) -> Result<(), Failure> {
    let (Some(bucket), Some(key)) = (record.s3.bucket.name, record.s3.object.key) else {
        return Err(Failure::Event);
    };
    let Some(folder) = key.strip_suffix(".zip") else {
        cloud.log(format!("{key} is no archive"));
        return Ok(());
    };
    let body = cloud.get_object(&bucket, &key).map_err(Failure::Cloud)?.to_vec();
    let mut archive = ZipArchive::new(std::io::Cursor::new(body)).map_err(Failure::Zip)?;
    if archive.len() > FILES_MAX {
        return Err(Failure::Refused("too many files"));
    }
    if archive.comment() == b"do not unpack" {
        return Err(Failure::Refused("its comment says so"));
    }
    let mut index = Item::new();
    for nth in 0..archive.len() {
        let mut file = archive.by_index(nth).map_err(Failure::Zip)?;
        if file.is_dir() || file.name().starts_with("__MACOSX/") {
            continue;
        }
        let unpacked = unpack(&mut file)?;
        drop(file);
        index.insert(unpacked.name.clone(), unpacked.kind.to_owned());
        let key = format!("{folder}/{}", unpacked.name);
        cloud.put_object(&bucket, &key, unpacked.body).map_err(Failure::Cloud)?;
    }
    cloud.put_items("archives", vec![(key, index)]).map_err(Failure::Cloud)
}

fn unpack<R: std::io::Read>(file: &mut ZipFile<'_, R>) -> Result<Unpacked, Failure> {
    let Some(path) = file.enclosed_name() else {
        return Err(Failure::Refused("it leaves its folder"));
    };
    if file.size() > FILE_BYTES_MAX || file.size() > 1000 * file.compressed_size().max(1) {
        return Err(Failure::Refused("a bomb"));
    }
    if file.encrypted() {
        return Err(Failure::Refused("a secret"));
    }
    let name = path.to_string_lossy().into_owned();
    let mut body = Vec::new();
    let read = file.take(FILE_BYTES_MAX).read_to_end(&mut body);
    read.map_err(|error| Failure::Zip(error.into()))?;
    let kind = match name.rsplit_once('.') {
        Some((_, "html" | "htm")) => "text/html",
        Some((_, "json")) if body.starts_with(b"{") => "application/json",
        Some((_, "csv")) => "text/csv",
        Some((_, "zip")) => return Err(Failure::Refused("an archive within an archive")),
        _ if body.starts_with(b"%PDF-") => "application/pdf",
        _ if std::str::from_utf8(&body).is_ok() => "text/plain",
        _ => "application/octet-stream",
    };
    Ok(Unpacked { name, kind, body })
}
