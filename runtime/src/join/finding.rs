//! Findings where campaigns meet: of each signature the smallest input that anybody has, and of slow inputs the
//! costliest by the byte.
//!
//! In: folders of `findings/`. Out: values of the exchange, named `finding-KIND-KEY` as the folder is,
//! each an entry. An input takes the place of another if it is less under (size of the input, its bytes,
//! the choices behind it), so that the order in which they come does not matter. What a slow input costs is a
//! claim, which an audit checks: whoever lies about it may hold a place, and is found out.

use std::cmp::Ordering;
use std::path::Path;

use sandglass_engine::by_the_byte;
use sandglass_engine::choice::text::to_text;
use sandglass_exchange::merge::put_least;
use sandglass_exchange::{Coverage, Entry, Error, Exchange, Hash, Key, WorkerId, codec, decode};

use crate::store::finding;

/// What a key of a finding begins with.
pub const PREFIX: &str = "finding-";

/// What a folder of a finding says, as an entry; nothing if it cannot be read, or is no finding. Its
/// claim has no edges: it says which module it was, and what the run cost.
pub fn read(folder: &Path, module: Hash, me: &WorkerId) -> Option<(Key, Entry)> {
    let name = folder.file_name()?.to_str()?;
    let (record, input) = finding::read(folder).ok()?;
    let choices = finding::read_choices(folder, &record).ok()?;
    let key = Key::new(format!("{PREFIX}{name}")).ok()?;
    let entry = Entry {
        input,
        choices: choices.as_ref().map(to_text),
        claim: Some(Coverage {
            module,
            edges: Vec::new(),
            fuel: record.fuel,
            valid: false,
        }),
        worker: me.clone(),
    };
    Some((key, entry))
}

/// What a key of a slow input begins with.
const SLOW: &str = "finding-slow-";

/// Puts a finding there, unless there is one of its signature that is no worse. Whether it stands there now.
pub fn put(exchange: &mut dyn Exchange, key: &Key, finding: &Entry) -> Result<bool, Error> {
    let bytes = codec::encode_checked(finding)?;
    let order = match key.0.starts_with(SLOW) {
        true => slow_order,
        false => order,
    };
    put_least(exchange, key, &bytes, order)
}

/// All findings there, by key; what cannot be believed is left out.
pub fn all(exchange: &mut dyn Exchange) -> Result<Vec<(Key, Entry)>, Error> {
    let mut findings = Vec::new();
    for key in keys(exchange)? {
        if let Some(finding) = get(exchange, &key)? {
            findings.push((key, finding));
        }
    }
    Ok(findings)
}

/// Their keys, ascending.
pub fn keys(exchange: &mut dyn Exchange) -> Result<Vec<Key>, Error> {
    let mut keys = exchange.keys()?;
    keys.retain(|key| key.0.starts_with(PREFIX));
    Ok(keys)
}

/// The finding of a key, if it can be believed.
pub fn get(exchange: &mut dyn Exchange, key: &Key) -> Result<Option<Entry>, Error> {
    let value = exchange.get(key)?.value;
    Ok(value.and_then(|value| decode::<Entry>(&value).ok()))
}

fn order(a: &[u8], b: &[u8]) -> Ordering {
    rank(a).cmp(&rank(b))
}

/// What costs more by the byte comes first.
fn slow_order(a: &[u8], b: &[u8]) -> Ordering {
    let cost = |bytes| {
        let finding = decode::<Entry>(bytes).ok()?;
        let fuel = finding.claim.map_or(0, |claim| claim.fuel);
        Some((fuel, finding.input.len() as u64))
    };
    let by_cost = match (cost(a), cost(b)) {
        (Some(a), Some(b)) => by_the_byte(b, a),
        _ => Ordering::Equal,
    };
    by_cost.then_with(|| order(a, b))
}

/// Less is better; what is no finding has no right to the place.
fn rank(bytes: &[u8]) -> (bool, usize, Vec<u8>, Option<String>) {
    match decode::<Entry>(bytes) {
        Ok(finding) => (false, finding.input.len(), finding.input, finding.choices),
        Err(_) => (true, 0, Vec::new(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_exchange::Revision;
    use sandglass_exchange::memory::{Faults, Memory};

    fn finding(input: &[u8]) -> Entry {
        Entry {
            input: input.to_vec(),
            choices: None,
            claim: None,
            worker: WorkerId("w-1".into()),
        }
    }

    /// Whatever the order, and whatever stood there first.
    #[test]
    fn the_smallest_stays() {
        let inputs: [&[u8]; 4] = [b"long input", b"b", b"ab", b"a"];
        for first in 0..inputs.len() {
            let memory = Memory::new(Faults::NONE);
            let mut exchange = memory.join();
            let key = Key::new("finding-trap-1").unwrap();
            assert!(exchange.put_if(&key, Revision(0), b"junk").unwrap().is_ok());
            for turn in 0..inputs.len() {
                let input = inputs[(first + turn) % inputs.len()];
                put(&mut exchange, &key, &finding(input)).unwrap();
            }
            let there = all(&mut exchange).unwrap();
            assert_eq!(there, [(key, finding(b"a"))]);
        }
    }

    #[test]
    fn the_slowest_by_the_byte_stays() {
        let slow = |input: &[u8], fuel| Entry {
            claim: Some(Coverage {
                module: [0; 32],
                edges: Vec::new(),
                fuel,
                valid: false,
            }),
            ..finding(input)
        };
        let costliest = slow(b"aaa", 900);
        // The third costs as much by the byte and is longer, the last says nothing.
        let all_of = [
            slow(b"a", 400),
            costliest.clone(),
            slow(b"aaaaaaa", 1_800),
            finding(b""),
        ];
        for first in 0..all_of.len() {
            let memory = Memory::new(Faults::NONE);
            let mut exchange = memory.join();
            let key = Key::new("finding-slow-1").unwrap();
            assert!(exchange.put_if(&key, Revision(0), b"junk").unwrap().is_ok());
            for turn in 0..all_of.len() {
                put(&mut exchange, &key, &all_of[(first + turn) % all_of.len()]).unwrap();
            }
            let there = all(&mut exchange).unwrap();
            assert_eq!(there, [(key, costliest.clone())]);
        }
    }
}
