//! Signs of life: a file for each worker, and a count that grows with every sign.

use std::collections::BTreeMap;
use std::time::Instant;

use super::broken::{Broken, Version};
use super::files::{Files, Found};
use crate::Error;
use crate::codec::{self, Record, encode_checked};
use crate::exchange::LIVE;
use crate::record::{Beat, WorkerId};

#[derive(Default)]
pub(super) struct Beats {
    given: u64,
    /// The last sign of each worker, and when we saw it first; `None` if it was old already then.
    seen: BTreeMap<WorkerId, (u64, Option<Instant>)>,
}

impl Beats {
    pub(super) fn beat(&mut self, files: &Files, beat: &Beat) -> Result<(), Error> {
        self.given += 1;
        let body = [&self.given.to_le_bytes()[..], &encode_checked(beat)?].concat();
        files.write("beats", &beat.worker.0, &body)
    }

    pub(super) fn live(&mut self, files: &Files, broken: &mut Broken) -> Result<Vec<Beat>, Error> {
        let mut live = Vec::new();
        let mut seen = BTreeMap::new();
        for name in files.names("beats")? {
            let (sign, beat) = match read(files, &name)? {
                Read::Sign(sign, beat) => (sign, beat),
                Read::Broken(version) => {
                    broken.found("beats", &name, version);
                    continue;
                }
                Read::Gone => continue,
            };
            let since = match self.seen.get(&beat.worker) {
                Some((last, since)) if *last == sign => *since,
                Some(_) => Some(Instant::now()),
                // The folder's clock says whether the first one that we see is old.
                None => match files.age("beats", &name) {
                    Some(age) if age > LIVE => None,
                    _ => Some(Instant::now()),
                },
            };
            seen.insert(beat.worker.clone(), (sign, since));
            if since.is_some_and(|since| since.elapsed() < LIVE) {
                live.push(beat);
            }
        }
        self.seen = seen;
        Ok(live)
    }
}

/// What a worker's file comes to.
enum Read {
    /// Its last sign, and what that says.
    Sign(u64, Beat),
    /// Nobody can believe it.
    Broken(Version),
    /// It was there when the names were read.
    Gone,
}

fn read(files: &Files, name: &str) -> Result<Read, Error> {
    let body = match files.read("beats", name, Beat::BYTES_MOST + 8)? {
        Found::Body(body) => body,
        Found::Damaged(version) => return Ok(Read::Broken(version)),
        Found::Nothing => return Ok(Read::Gone),
    };
    let sign = body.split_first_chunk::<8>().and_then(|(sign, beat)| {
        let beat = codec::decode::<Beat>(beat).ok()?;
        (beat.worker.0 == name).then_some(Read::Sign(u64::from_le_bytes(*sign), beat))
    });
    Ok(sign.unwrap_or_else(|| Read::Broken(Version::of(&body))))
}
