//! Labels: which bytes of the input a value was computed from, as 32 bits.
//!
//! The dependence pass gives every number a label, and every byte of memory. What lies where in the
//! memory of labels, how a label is encoded and what set of input bytes it stands for is all here.
//!
//! ```text
//! 0                        nothing of the input
//! 000…                     a node: the union of two labels
//! 001  length-1  base      a range of more than 256 bytes, among the first 16 KiB of the input
//! 01  length-1  base       a range: `length` bytes of the input from `base` on
//! 11  position  length-1  base   bytes of the input, as they are: the value's byte number `position`
//!                          is the input's at `base`, and so on; its other bytes are constant
//! 10…                      a node: a label for each byte of the value
//! ```
//!
//! The last two say more than which bytes a value depends on: they survive copies, shifts and masks by
//! whole bytes. Any other operator forgets it and keeps the set. Nodes are hash-consed: equal sets that
//! came about in the same way have one label.
//!
//! The number of nodes is bounded. Where there is no room for another, a union becomes
//! [`EVERYTHING`], and a value whose bytes differ gets the union of their labels: sets only grow.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The label of what may depend on any byte: a union that there was no room for.
pub const EVERYTHING: u32 = 1;
/// Set in the labels of what has a label for each byte.
pub(crate) const IN_LANES: u32 = 1 << 31;
/// Set in the labels that name input bytes themselves.
pub(crate) const RANGE: u32 = 1 << 30;
/// Set in the labels that name more than 256 input bytes.
pub(crate) const LONG: u32 = 1 << 29;
/// Of a node, its number.
pub(crate) const INDEX: u32 = LONG - 1;
/// Of a range, the first input byte.
pub(crate) const BASE: u32 = (1 << LENGTH_SHIFT) - 1;
pub(crate) const LENGTH_SHIFT: u32 = 22;
/// The same of a long range.
pub(crate) const LONG_SHIFT: u32 = 14;
pub(crate) const LONG_BASE: u32 = (1 << LONG_SHIFT) - 1;
#[cfg(test)]
pub(crate) const POSITION_SHIFT: u32 = 26;

/// Bytes of an input that get labels; a label has no bits for more. What follows has none.
pub const INPUT_BYTES_MAX: u32 = BASE - 16;
/// Nodes that a run may make: at most half of the slots.
pub const NODES_MAX: u32 = 1 << 19;
/// Events that are kept of a run.
pub const EVENTS_MAX: u32 = 1 << 16;

/// A shadow has a memory beside it, with a byte for each block of the shadow, which is not 0 if a label was written
/// there: bytes of a block, as a shift. A page, so that what is looked at afterwards is what takes memory anyway.
pub const TOUCHED_SHIFT: u32 = 12;

/// u32 each: where the latest event lies whose hash says so, if there are many.
pub const KNOWN_MANY: u32 = 1 << 14;
/// Of a hash, the bits that do not say which.
#[cfg(test)]
pub(crate) const KNOWN_MANY_SHIFT: u32 = 20;
/// Bytes of those.
pub const KNOWN_MANY_BYTES: u32 = 4 << 12;

/// The number of a node each, where its hash says, or the next free slot after that: two bytes as long as that
/// is enough, then four.
pub const SLOTS: u32 = 1 << 16;
/// As many as a page holds: what [`SLOTS_SHIFT`] begins with.
pub const SLOTS_SHIFT_FIRST: u32 = 21;
/// There are never more than twice as many as nodes.
pub(crate) const SLOTS_SHIFT_LEAST: u32 = 12;
/// Nodes, in granules of 8 bytes. A union is one: left, right. A value in lanes has one with the union and the
/// number of lanes, marked by `IN_LANES`, and the lanes after it.
pub const ARENA: u32 = SLOTS + (4 << (32 - SLOTS_SHIFT_LEAST));
pub(crate) const GRANULES: u32 = 1 << 21;
/// The first granule that is not 0 or [`EVERYTHING`].
pub const FIRST_GRANULE: u32 = 2;
/// Events, one after the other, see [`Event`].
pub const EVENT_LIST: u32 = ARENA + 8 * GRANULES;
/// Bytes of an event at most.
const EVENT_BYTES_MAX: u32 = 32;

/// What every run uses lies together from here on: in one page, if the module is small.
pub const HEADER: u32 = EVENT_LIST + EVENTS_MAX * EVENT_BYTES_MAX;
/// u32, number of the next free granule.
pub const NEXT: u32 = HEADER;
/// u32, nodes made.
pub const NODES: u32 = HEADER + 4;
/// u32, nodes that there was no room for.
pub const SATURATED: u32 = HEADER + 8;
/// u32, events kept.
pub const EVENTS: u32 = HEADER + 12;
/// u32, events that there was no room for in all.
pub const DROPPED: u32 = HEADER + 16;
/// u32, events that are looked at of one site.
pub const SITE_EVENTS_MAX: u32 = HEADER + 20;
/// u32, nodes that may be made.
pub const NODES_LIMIT: u32 = HEADER + 24;
/// u32, there are two to the power of 32 minus this slots.
pub const SLOTS_SHIFT: u32 = HEADER + 28;
/// u32, where the next event will lie.
pub const EVENTS_END: u32 = HEADER + 32;
/// u32, not 0 if events are kept that are the same as one before.
pub const REPEATS: u32 = HEADER + 36;
/// u32, events that were not kept because they were the same as one before.
pub const REPEATED: u32 = HEADER + 40;
/// u32, bytes of a slot, as a shift: 1 or 2.
pub const SLOT_SHIFT: u32 = HEADER + 44;
/// u32, which of the tables of known events is in use, and the bits of a hash that it leaves out.
pub const KNOWN_AT: u32 = HEADER + 48;
/// The other half.
pub const KNOWN_SHIFT: u32 = HEADER + 52;
/// Sixteen labels: the bytes of a value that is worked on.
#[cfg(test)]
pub(crate) const LANES: u32 = HEADER + 64;
/// Sixteen more.
#[cfg(test)]
pub(crate) const OTHER_LANES: u32 = HEADER + 128;
/// Labels that are passed on: of each place three, so that those of the first places lie together.
pub const PASSING: u32 = HEADER + 256;
/// Places that lie there; the others lie from 0 on.
const PASSING_NEAR: u32 = 64;
/// Most parameters or results that a function has.
pub(crate) const VALUES_MAX: u32 = 1000;
/// As [`KNOWN_MANY`], if there are few.
pub const KNOWN_FEW: u32 = PASSING + 12 * PASSING_NEAR;
/// Of a hash, the bits that do not say which.
pub const KNOWN_FEW_SHIFT: u32 = 23;
/// Bytes of those.
pub const KNOWN_FEW_BYTES: u32 = 4 << 9;
/// So many events are few.
#[cfg(test)]
pub(crate) const KNOWN_FEW_EVENTS: u32 = 1 << 10;
/// First byte of what depends on the module.
const OWN: u32 = KNOWN_FEW + KNOWN_FEW_BYTES;

/// The label of an argument of the call that is being made.
pub(crate) const fn argument(n: usize) -> u32 {
    let n = n as u32;
    12 * n + if n < PASSING_NEAR { PASSING } else { 0 }
}

/// The label of a result of the latest call.
pub(crate) const fn result(n: usize) -> u32 {
    argument(n) + 4
}

/// The label of what the latest exception carries.
pub(crate) const fn payload(n: usize) -> u32 {
    argument(n) + 8
}

/// Counters lie below: an event has no bits for more.
pub(crate) const COUNTERS_END: u32 = HEADER + (4 << 22);

/// The names that the library of functions uses, with their values.
#[cfg(test)]
pub(crate) const NAMES: [(&str, u32); 40] = [
    ("EVERYTHING", EVERYTHING),
    ("IN_LANES", IN_LANES),
    ("RANGE", RANGE),
    ("LONG", LONG),
    ("INDEX", INDEX),
    ("BASE", BASE),
    ("LENGTH_SHIFT", LENGTH_SHIFT),
    ("LONG_BASE", LONG_BASE),
    ("LONG_SHIFT", LONG_SHIFT),
    ("POSITION_SHIFT", POSITION_SHIFT),
    ("HEADER", HEADER),
    ("NEXT", NEXT),
    ("NODES", NODES),
    ("SATURATED", SATURATED),
    ("EVENTS", EVENTS),
    ("DROPPED", DROPPED),
    ("SITE_EVENTS_MAX", SITE_EVENTS_MAX),
    ("NODES_LIMIT", NODES_LIMIT),
    ("SLOTS_SHIFT", SLOTS_SHIFT),
    ("SLOT_SHIFT", SLOT_SHIFT),
    ("EVENTS_END", EVENTS_END),
    ("REPEATS", REPEATS),
    ("REPEATED", REPEATED),
    ("KNOWN_AT", KNOWN_AT),
    ("KNOWN_SHIFT", KNOWN_SHIFT),
    ("KNOWN_MANY", KNOWN_MANY),
    ("KNOWN_MANY_SHIFT", KNOWN_MANY_SHIFT),
    ("KNOWN_FEW_EVENTS", KNOWN_FEW_EVENTS),
    ("LANES", LANES),
    ("OTHER_LANES", OTHER_LANES),
    ("SLOTS", SLOTS),
    ("SLOTS_SHIFT_LEAST", SLOTS_SHIFT_LEAST),
    ("GRANULES", GRANULES),
    ("FIRST_GRANULE", FIRST_GRANULE),
    ("EVENTS_MAX", EVENTS_MAX),
    ("ARENA", ARENA),
    ("COPIED", IN_LANES | RANGE),
    ("ARENA_4", ARENA + 4),
    ("ARENA_8", ARENA + 8),
    ("TOUCHED_SHIFT", TOUCHED_SHIFT),
];

/// Where the labels of one module lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelLayout {
    /// Most parameters or results that anything has.
    pub values: u32,
    /// First label of a global; a u32 each.
    pub globals: u32,
    /// First counter of a site; a u32 each.
    pub counters: u32,
    /// One past the last byte in use; 0 if the module was built without labels.
    pub end: u32,
}

impl LabelLayout {
    pub(crate) fn new(values: u32, globals: u32, sites: u32) -> LabelLayout {
        let counters = (OWN + globals * 4).next_multiple_of(64);
        LabelLayout {
            values,
            globals: OWN,
            counters,
            end: counters + sites * 4,
        }
    }

    /// Where labels lie that are passed on: near and far.
    pub fn passing(&self) -> [Range<u32>; 2] {
        let near = 12 * self.values.min(PASSING_NEAR);
        [PASSING..PASSING + near, near..12 * self.values]
    }

    /// Pages of 64 KiB.
    pub(crate) fn pages(&self) -> u64 {
        u64::from(self.end.div_ceil(65536))
    }
}

/// The label of one input byte in memory; 0 if it has none.
pub fn of_byte(index: u32) -> u32 {
    if index < INPUT_BYTES_MAX {
        RANGE | index
    } else {
        0
    }
}

/// An event as the memory of labels has it: a u32, then both labels and both operands in as many bytes as it says.
/// The lowest 22 bits are the word after [`HEADER`] that counts for its site. Then come two bits each: for a
/// label 0 (none), 1 (a node, u16), 2 (a byte of the input, u16) or 3 (u32), for an operand 0 (it is 0), 1 (u8),
/// 2 (u32) or 3 (u64), and the outcome: 0, 1, or 2 for that of a switch, which is the left operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Address of the counter of its site.
    pub counter: u32,
    /// What came out.
    pub outcome: u32,
    /// The operands.
    pub operands: [u64; 2],
    /// Their labels.
    pub labels: [u32; 2],
}

impl Event {
    /// The event that `bytes` begin with, and how long it is; nothing if it is not whole.
    pub fn read(bytes: &[u8]) -> Option<(Event, usize)> {
        let mut at = 0;
        let mut number = |size: usize| {
            let mut value = [0; 8];
            value[..size].copy_from_slice(bytes.get(at..at + size)?);
            at += size;
            Some(u64::from_le_bytes(value))
        };
        let head = number(4)? as u32;
        let code = |shift: u32| (head >> shift & 3) as usize;
        let mut label = |code: usize| {
            let value = number([0, 2, 2, 4][code])? as u32;
            Some(if code == 2 { RANGE | value } else { value })
        };
        let labels = [label(code(22))?, label(code(24))?];
        let mut operand = |code: usize| number([0, 1, 4, 8][code]);
        let operands = [operand(code(26))?, operand(code(28))?];
        let event = Event {
            counter: HEADER + 4 * (head & 0x3f_ffff),
            outcome: match code(30) {
                2 => operands[0] as u32,
                outcome => outcome as u32,
            },
            operands,
            labels,
        };
        Some((event, at))
    }
}

/// Nodes that are looked at to say what the labels of one run stand for: seconds. A guest can make sets
/// that take longer.
const LOOKS_MAX: usize = 1 << 24;

/// What the labels of a run stand for.
pub struct Sets<'a> {
    memory: &'a [u8],
    input_bytes: u32,
    known: BTreeMap<u32, Arc<[Range<u32>]>>,
    looks: usize,
}

impl<'a> Sets<'a> {
    /// `memory` is the memory of labels from its start; `input_bytes` is how long the input is, which is
    /// what [`EVERYTHING`] and sets that take too long come to.
    pub fn new(memory: &'a [u8], input_bytes: u32) -> Sets<'a> {
        Sets {
            memory,
            input_bytes,
            known: BTreeMap::new(),
            looks: LOOKS_MAX,
        }
    }

    /// The input bytes that a label stands for: ascending ranges that do not touch.
    pub fn of(&mut self, label: u32) -> Arc<[Range<u32>]> {
        if let Some(known) = self.known.get(&label) {
            return known.clone();
        }
        let whole = std::iter::once(0..self.input_bytes);
        let found = (self.collect(label)).unwrap_or_else(|| whole.collect());
        let found: Arc<[_]> = found.into();
        self.known.insert(label, found.clone());
        found
    }

    /// Nothing where that is everything.
    fn collect(&mut self, label: u32) -> Option<Vec<Range<u32>>> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut waiting = vec![label];
        while let Some(label) = waiting.pop() {
            if label == 0 || !seen.insert(label) {
                continue;
            }
            self.looks = self.looks.checked_sub(1)?;
            if label == EVERYTHING {
                return None;
            }
            if label & RANGE != 0 {
                let bits = if label & IN_LANES != 0 { 15 } else { 255 };
                let start = label & BASE;
                found.push(start..start + (label >> LENGTH_SHIFT & bits) + 1);
                continue;
            }
            if label & IN_LANES == 0 && label & LONG != 0 {
                let start = label & LONG_BASE;
                found.push(start..start + (label >> LONG_SHIFT & LONG_BASE) + 1);
                continue;
            }
            let at = (ARENA + (label & INDEX) * 8) as usize;
            let word = |at: usize| {
                let bytes = self.memory.get(at..at + 4)?;
                Some(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
            };
            waiting.push(word(at)?);
            if label & IN_LANES == 0 {
                waiting.push(word(at + 4)?);
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u32>> = Vec::new();
        for range in found {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        Some(joined)
    }
}

/// What kind of operator a site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SiteKind {
    /// A comparison of two numbers; its operands, and 0 or 1.
    Compare,
    /// `br_if`, `if` or `select` on something that is no comparison; the condition and 0, and 0 or 1.
    Branch,
    /// `br_table`; the index and 0, and the index.
    Switch,
    /// A load, store or indirect call whose address was computed from the input; the address and 0, and 0.
    Index,
    /// A division; the divisor and 0, and 0.
    Divide,
    /// How much memory is copied, filled or asked for; the size and 0, and 0.
    Size,
}

impl SiteKind {
    /// A short name for reports, lower case.
    pub fn name(self) -> &'static str {
        match self {
            SiteKind::Compare => "compare",
            SiteKind::Branch => "branch",
            SiteKind::Switch => "switch",
            SiteKind::Index => "index",
            SiteKind::Divide => "divide",
            SiteKind::Size => "size",
        }
    }
}

/// An operator whose operands are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependenceSite {
    /// Function index in the original module.
    pub function: u32,
    /// Offset of the operator in the original file.
    pub offset: u32,
    /// What it does.
    pub kind: SiteKind,
    /// How it compares.
    pub relation: Relation,
    /// Bytes of each operand: 4 or 8.
    pub width: u8,
}

/// How the sides of a comparison are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Relation {
    /// Not at all: the site is no comparison.
    None,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`, signed, or of floats
    Lt,
    /// `<`, unsigned
    LtU,
    /// `>`, signed, or of floats
    Gt,
    /// `>`, unsigned
    GtU,
    /// `<=`, signed, or of floats
    Le,
    /// `<=`, unsigned
    LeU,
    /// `>=`, signed, or of floats
    Ge,
    /// `>=`, unsigned
    GeU,
}

impl Relation {
    /// As it is written; unsigned ones with a `u` behind.
    pub fn text(self) -> &'static str {
        match self {
            Relation::None => "",
            Relation::Eq => "==",
            Relation::Ne => "!=",
            Relation::Lt => "<",
            Relation::LtU => "<u",
            Relation::Gt => ">",
            Relation::GtU => ">u",
            Relation::Le => "<=",
            Relation::LeU => "<=u",
            Relation::Ge => ">=",
            Relation::GeU => ">=u",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_it_is_written() {
        // Site 3; a node and a byte of the input; 7 and 0x1234; a switch's outcome.
        let head = 3 | 1 << 22 | 2 << 24 | 1 << 26 | 2 << 28 | 2_u32 << 30;
        let mut bytes = head.to_le_bytes().to_vec();
        bytes.extend([9, 1, 5, 0, 7, 0x34, 0x12, 0, 0]);
        let event = Event {
            counter: HEADER + 12,
            outcome: 7,
            operands: [7, 0x1234],
            labels: [0x109, RANGE | 5],
        };
        assert_eq!(Event::read(&bytes), Some((event, bytes.len())));
        assert_eq!(Event::read(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn long_ranges_are_labels_of_their_own() {
        let label = LONG | 299 << LONG_SHIFT | 100;
        let found = Sets::new(&[], 1 << 20).of(label);
        assert_eq!(&found[..], std::slice::from_ref(&(100..400)));
    }
}
