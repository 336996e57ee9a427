//! Signs of life: a file for each worker, and a count that grows with every sign.

use std::collections::BTreeMap;
use std::time::Instant;

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

    pub(super) fn live(&mut self, files: &Files, refused: &mut u64) -> Result<Vec<Beat>, Error> {
        let mut live = Vec::new();
        let mut seen = BTreeMap::new();
        for name in files.names("beats")? {
            let Some((sign, beat)) = read(files, &name)? else {
                *refused += 1;
                continue;
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

/// A worker's last sign; `None` if it cannot be believed.
fn read(files: &Files, name: &str) -> Result<Option<(u64, Beat)>, Error> {
    let Found::Body(body) = files.read("beats", name, Beat::BYTES_MOST + 8)? else {
        return Ok(None);
    };
    let Some((sign, beat)) = body.split_first_chunk::<8>() else {
        return Ok(None);
    };
    let beat = codec::decode::<Beat>(beat).ok();
    let beat = beat.filter(|beat| beat.worker.0 == name);
    Ok(beat.map(|beat| (u64::from_le_bytes(*sign), beat)))
}
