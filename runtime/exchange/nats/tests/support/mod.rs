//! What tests and their players share: seeded entries, a campaign's truth in a file.
#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use sandglass_exchange::random::Random;
use sandglass_exchange::{Able, Entry, EntryId, WorkerId, decode, encode};

/// A worker that can do every job of the players.
pub(crate) const ABLE: Able = Able {
    module: [9; 32],
    fuel_most: 0,
};

/// The entry of a number: small, but every hundredth larger than one message.
pub(crate) fn entry(seed: u64, number: u64, worker: &str) -> Entry {
    let mut random = Random::new(seed.wrapping_mul(1 << 32) + number);
    let bytes = match number % 100 {
        99 => 600 << 10,
        _ => 16 + random.below(200) as usize,
    };
    let mut input = Vec::with_capacity(bytes + 8);
    while input.len() < bytes {
        input.extend(random.word().to_le_bytes());
    }
    Entry {
        input,
        choices: None,
        claim: None,
        worker: WorkerId(worker.to_owned()),
    }
}

/// Appends entries to a truth: length and bytes of each.
pub(crate) fn append(file: &mut impl Write, entry: &Entry) {
    let bytes = encode(entry);
    let mut frame = (bytes.len() as u32).to_le_bytes().to_vec();
    frame.extend(bytes);
    file.write_all(&frame).expect("a truth can be written");
}

/// Reads a truth, up to where its writer was killed; and how many bytes that is.
pub(crate) fn truth(path: &Path) -> (BTreeMap<EntryId, Entry>, u64) {
    let bytes = std::fs::read(path).unwrap_or_default();
    let (mut found, mut at) = (BTreeMap::new(), 0);
    while let Some((size, rest)) = bytes[at..].split_first_chunk::<4>() {
        let size = u32::from_le_bytes(*size) as usize;
        let Some(body) = rest.get(..size) else { break };
        let entry: Entry = decode(body).expect("a truth holds entries");
        found.insert(entry.id(), entry);
        at += 4 + size;
    }
    (found, at as u64)
}
