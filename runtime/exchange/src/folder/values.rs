//! Values that only one can change at a time.
//!
//! A file holds the revision, eight bytes, little-endian, then the value. A damaged one is as if it had
//! never been put: whoever still has the value puts it again.

use super::FILES_MOST;
use super::broken::{Broken, Version};
use super::files::{Files, Found};
use crate::codec::{VALUE_BYTES_MOST, at_most};
use crate::{Current, Error, Key, Revision};

pub(super) fn get(files: &Files, key: &Key, broken: &mut Broken) -> Result<Current, Error> {
    key.check()?;
    let body = match files.read("values", &key.0, VALUE_BYTES_MOST + 8)? {
        Found::Nothing => return Ok(Current::default()),
        Found::Body(body) if body.len() >= 8 => body,
        Found::Body(body) => return Ok(refuse(key, Version::of(&body), broken)),
        Found::Damaged(version) => return Ok(refuse(key, version, broken)),
    };
    let (revision, value) = body.split_at(8);
    Ok(Current {
        revision: Revision(u64::from_le_bytes(revision.try_into().expect("8 bytes"))),
        value: Some(value.to_vec()),
    })
}

/// Nobody can make anything of what is there.
fn refuse(key: &Key, version: Version, broken: &mut Broken) -> Current {
    broken.found("values", &key.0, version);
    Current::default()
}

pub(super) fn put_if(
    files: &Files,
    key: &Key,
    expected: Revision,
    value: &[u8],
    broken: &mut Broken,
) -> Result<Result<Revision, Current>, Error> {
    key.check()?;
    at_most(value.len(), VALUE_BYTES_MOST)?;
    let _held = files.lock(&key.0)?;
    let there = get(files, key, broken)?;
    if there.revision != expected {
        return Ok(Err(there));
    }
    if expected == Revision(0) && files.names("values")?.len() >= FILES_MOST {
        return Err(Error::Refused(format!("full: {FILES_MOST} values")));
    }
    let revision = Revision(expected.0.wrapping_add(1));
    let body = [&revision.0.to_le_bytes()[..], value].concat();
    files.write("values", &key.0, &body)?;
    Ok(Ok(revision))
}

pub(super) fn keys(files: &Files) -> Result<Vec<Key>, Error> {
    let names = files.names("values")?;
    Ok(names.into_iter().filter_map(|n| Key::new(n).ok()).collect())
}
