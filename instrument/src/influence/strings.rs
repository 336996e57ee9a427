//! The table of strings: texts in data segments whose address is a constant in application code that the entry reaches.
//!
//! In: the module. Out: byte strings, each once, in the order of the code. C ends texts with a zero byte. Rust passes the
//! length beside the address, so a text is as long as a constant nearby says; what `println!` and its kind print has its
//! length in another form there, and comes out longer than it is. Where a text is compared, code may name the place in the data that
//! holds both its address and its length (a `&&str`). Addresses further on in tables of data are not in code and do not count.

use std::collections::{BTreeMap, BTreeSet};

use wasmparser::Operator;

use super::outline::Outline;

/// Strings that are kept.
const STRINGS_MAX: usize = 4096;

/// The longest and the shortest.
const BYTES_MAX: usize = 256;
const BYTES_MIN: usize = 2;

/// Rust's linker puts no data below.
const ADDRESS_MIN: u32 = 1024;

/// How many constants beside an address may be its length: without optimisation both pass through locals.
const NEIGHBOURS: usize = 2;

/// How a language says where texts end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    Zeros,
    Lengths,
}

/// The strings of the functions that are one's own, of those that `roots` reach.
pub(super) fn strings(
    outline: &Outline<'_>,
    roots: &[u32],
    whose: &dyn Fn(u32) -> Option<Ends>,
) -> Vec<Vec<u8>> {
    let data = Data::new(outline);
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (function, constants) in reachable(outline, roots, whose) {
        let Some(ends) = whose(function) else {
            continue;
        };
        for (position, address) in constants.iter().enumerate() {
            let after = constants[position + 1..].iter().take(NEIGHBOURS);
            let before = constants[..position].iter().rev().take(NEIGHBOURS);
            let lengths = after.chain(before).copied().collect::<Vec<_>>();
            let referred = match ends {
                Ends::Lengths => data.referred(*address),
                Ends::Zeros => None,
            };
            if let Some(text) = referred.or_else(|| data.text(*address, &lengths, ends))
                && found.len() < STRINGS_MAX
                && seen.insert(text)
            {
                found.push(text.to_vec());
            }
        }
    }
    found
}

/// The functions that `roots` reach, ascending, with the constants of those that are one's own. An indirect call reaches
/// all functions of its type in tables.
fn reachable(
    outline: &Outline<'_>,
    roots: &[u32],
    whose: &dyn Fn(u32) -> Option<Ends>,
) -> BTreeMap<u32, Vec<u64>> {
    let mut tabled: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for function in &outline.tabled {
        if let Some(ty) = outline.functions.get(*function as usize) {
            tabled.entry(*ty).or_default().insert(*function);
        }
    }
    let mut found = BTreeMap::new();
    let mut work = roots.to_vec();
    while let Some(function) = work.pop() {
        if found.contains_key(&function) {
            continue;
        }
        let mut constants = Vec::new();
        let body = function
            .checked_sub(outline.imported)
            .and_then(|position| outline.bodies.get(position as usize));
        let reader = body.and_then(|body| body.get_operators_reader().ok());
        for operator in reader.into_iter().flatten().map_while(Result::ok) {
            match operator {
                Operator::I32Const { value } => constants.push(u64::from(value as u32)),
                Operator::I64Const { value } => constants.push(value as u64),
                Operator::Call { function_index }
                | Operator::ReturnCall { function_index }
                | Operator::RefFunc { function_index } => work.push(function_index),
                Operator::CallIndirect { type_index, .. }
                | Operator::ReturnCallIndirect { type_index, .. } => {
                    // Once is enough.
                    work.extend(tabled.remove(&type_index).unwrap_or_default());
                }
                _ => {}
            }
        }
        if whose(function).is_none() {
            constants = Vec::new();
        }
        found.insert(function, constants);
    }
    found
}

/// The segments by address.
struct Data<'a> {
    segments: Vec<(u64, &'a [u8])>,
}

impl<'a> Data<'a> {
    fn new(outline: &Outline<'a>) -> Data<'a> {
        let mut segments = outline.data.clone();
        segments.sort_by_key(|(start, _)| *start);
        Data { segments }
    }

    /// The text of which `address` holds the address and then the length.
    fn referred(&self, address: u64) -> Option<&'a [u8]> {
        let (pair, _) = self.from(address)?.split_first_chunk::<8>()?;
        let word =
            |at: usize| u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        let length = usize::try_from(word(4)).ok()?;
        let text = self.from(u64::from(word(0)))?.get(..length)?;
        // An address among the first is a small number more often.
        let is_long = (BYTES_MIN..=BYTES_MAX).contains(&length) && word(0) >= ADDRESS_MIN;
        let is_text = text.iter().all(|byte| is_text(*byte)) && std::str::from_utf8(text).is_ok();
        // Where a panic happened begins with its file.
        (is_long && is_text && !text.ends_with(b".rs")).then_some(text)
    }

    /// What lies in a segment from `address` on.
    fn from(&self, address: u64) -> Option<&'a [u8]> {
        let after = (self.segments).partition_point(|(start, _)| *start <= address);
        let (start, bytes) = self.segments.get(after.checked_sub(1)?)?;
        bytes.get(usize::try_from(address - start).ok()?..)
    }

    /// The text at `address`: up to a zero byte, or as long as the first of `lengths` that is not too long.
    fn text(&self, address: u64, lengths: &[u64], ends: Ends) -> Option<&'a [u8]> {
        let rest = self.from(address)?;
        let rest = &rest[..rest.len().min(BYTES_MAX + 1)];
        let run = rest.iter().position(|byte| !is_text(*byte));
        let run = run.unwrap_or(rest.len());
        let fits = |length: &u64| (BYTES_MIN as u64..=run as u64).contains(length);
        let given = lengths.iter().find(|length| fits(length));
        let given = given.map(|length| *length as usize);
        let whole = (rest.get(run) == Some(&0)).then_some(run);
        let length = match ends {
            Ends::Zeros => whole.or(given)?,
            Ends::Lengths => given.or(whole)?,
        };
        let text = &rest[..length];
        let is_text = std::str::from_utf8(text).is_ok();
        (is_text && (BYTES_MIN..=BYTES_MAX).contains(&length)).then_some(text)
    }
}

/// What texts are made of: printable, white space, and what UTF-8 has beyond ASCII.
fn is_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x80..)
}
