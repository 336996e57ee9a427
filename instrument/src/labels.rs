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
/// Input bytes that such a label names at most.
const MOST_IN_RANGE: usize = 1 << 8;
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

/// u32 each: where the latest event lies whose hash says so, of those past `EVENT_LIST_LONG`.
pub const KNOWN: u32 = 1 << 14;
/// Of a hash of 64 bits, those that do not say which.
#[cfg(test)]
pub(crate) const KNOWN_SHIFT: u32 = 52;
/// Bytes of those.
pub const KNOWN_BYTES: u32 = 4 << 12;
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
#[cfg(test)]
const EVENT_BYTES_MAX: u32 = 28;
/// Bytes of all.
const EVENT_LIST_BYTES: u32 = EVENTS_MAX * 32;
/// From here on an event is not kept if it is the same as one lately: most runs are spared the time, and the others memory.
pub(crate) const EVENT_LIST_LONG: u32 = EVENT_LIST + (1 << 17);
/// Where events are written that there is no room for.
#[cfg(test)]
pub(crate) const EVENT_SINK: u32 = EVENT_LIST + EVENT_LIST_BYTES - EVENT_BYTES_MAX;
/// Behind this there may be no room for an event.
#[cfg(test)]
pub(crate) const EVENT_LIST_FULL: u32 = EVENT_SINK - EVENT_BYTES_MAX;

/// What every run uses lies together from here on: in one page, if the module is small.
pub const HEADER: u32 = EVENT_LIST + EVENT_LIST_BYTES;
/// u32, number of the next free granule.
pub const NEXT: u32 = HEADER;
/// u32, nodes made.
pub const NODES: u32 = HEADER + 4;
/// u32, nodes that there was no room for.
pub const SATURATED: u32 = HEADER + 8;
/// u32, events that there was no room for in all.
pub const DROPPED: u32 = HEADER + 12;
/// u32, events that are looked at of one site.
pub const SITE_EVENTS_MAX: u32 = HEADER + 16;
/// u32, nodes that may be made.
pub const NODES_LIMIT: u32 = HEADER + 20;
/// u32, there are two to the power of 32 minus this slots.
pub const SLOTS_SHIFT: u32 = HEADER + 24;
/// u32, where the next event will lie; no longer if there was no room for one.
pub const EVENTS_END: u32 = HEADER + 28;
/// u32, bytes of a slot, as a shift: 1 or 2.
pub const SLOT_SHIFT: u32 = HEADER + 32;
/// u32, not 0 if events are kept that are the same as one before.
pub const REPEATS: u32 = HEADER + 36;
/// u32, events that were not kept because they were the same as one before.
pub const REPEATED: u32 = HEADER + 40;
/// u32, where the latest event lies, if it lies past `EVENT_LIST_LONG`; else 0.
pub const EVENT_LATEST: u32 = HEADER + 44;
/// u32, where events end, if there was no room for one; else 0.
pub const EVENTS_FULL: u32 = HEADER + 48;
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
/// First byte of what depends on the module.
const OWN: u32 = PASSING + 12 * PASSING_NEAR;

/// The label of an argument of the call that is being made.
pub(crate) const fn argument(n: usize) -> u32 {
    let n = n as u32;
    12 * n + if n < PASSING_NEAR { PASSING } else { 0 }
}

/// The label of a result of the latest call.
pub const fn result(n: usize) -> u32 {
    argument(n) + 4
}

/// The label of what the latest exception carries.
pub(crate) const fn payload(n: usize) -> u32 {
    argument(n) + 8
}

/// Sites whose events are recorded.
pub(crate) const SITES_MAX: u32 = 1 << 22;

/// The names that the library of functions uses, with their values.
#[cfg(test)]
pub(crate) const NAMES: [(&str, u32); 36] = [
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
    ("NEXT", NEXT),
    ("NODES", NODES),
    ("SATURATED", SATURATED),
    ("NODES_LIMIT", NODES_LIMIT),
    ("SLOTS_SHIFT", SLOTS_SHIFT),
    ("SLOT_SHIFT", SLOT_SHIFT),
    ("REPEATS", REPEATS),
    ("REPEATED", REPEATED),
    ("KNOWN", KNOWN),
    ("KNOWN_SHIFT", KNOWN_SHIFT),
    ("EVENT_LATEST", EVENT_LATEST),
    ("EVENTS_FULL", EVENTS_FULL),
    ("EVENT_LIST_FULL", EVENT_LIST_FULL),
    ("EVENT_SINK", EVENT_SINK),
    ("DROPPED", DROPPED),
    ("LANES", LANES),
    ("OTHER_LANES", OTHER_LANES),
    ("SLOTS", SLOTS),
    ("SLOTS_SHIFT_LEAST", SLOTS_SHIFT_LEAST),
    ("GRANULES", GRANULES),
    ("FIRST_GRANULE", FIRST_GRANULE),
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

/// The label of what depends on these: [`EVERYTHING`] if they are too many for one, 0 if there are none or the first has none.
pub fn of_range(range: Range<u32>) -> u32 {
    match range.len() {
        0 => 0,
        1..=MOST_IN_RANGE => match of_byte(range.start) {
            0 => 0,
            first => first | (range.len() as u32 - 1) << LENGTH_SHIFT,
        },
        _ => EVERYTHING,
    }
}

/// An event. The memory of labels has a u16 of it: the lower 13 bits of the number of its site, a bit that says that 16 more
/// follow, and two for the outcome: 0, 1, or 2 for that of a switch, which is the left operand; then what is [`Recorded`] there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The number of its site.
    pub site: u32,
    /// What came out.
    pub outcome: u32,
    /// The operands.
    pub operands: [u64; 2],
    /// Their labels.
    pub labels: [u32; 2],
}

/// Bits of the number of a site that an event begins with.
const SITE_BITS: u32 = 13;
const SITE_IS_LONG: u32 = 1 << SITE_BITS;
/// Above them lies the outcome.
pub(crate) const OUTCOME_SHIFT: u32 = 14;
/// What stands for an outcome that is the left operand.
pub(crate) const OUTCOME_IS_LEFT: u32 = 2;

/// What an event of this site begins with, without the outcome, and its bytes: 2 or 4.
pub(crate) fn event_head(site: u32) -> (u32, u32) {
    match site >> SITE_BITS {
        0 => (site, 2),
        above => (site & (SITE_IS_LONG - 1) | SITE_IS_LONG | above << 16, 4),
    }
}

impl Event {
    /// The event that `bytes` begin with, and how long it is; nothing if it is not whole, or of no site.
    #[inline]
    pub fn read(bytes: &[u8], sites: &[DependenceSite]) -> Option<(Event, usize)> {
        let mut at = 0;
        let mut number = |size: u8| {
            let mut value = [0; 8];
            value[..size.into()].copy_from_slice(bytes.get(at..at + usize::from(size))?);
            at += usize::from(size);
            Some(u64::from_le_bytes(value))
        };
        let head = number(2)? as u32;
        let mut site = head & (SITE_IS_LONG - 1);
        if head & SITE_IS_LONG != 0 {
            site |= (number(2)? as u32) << SITE_BITS;
        }
        let recorded = &sites.get(site as usize)?.recorded;
        let (mut labels, mut operands) = ([0; 2], recorded.constants);
        for (label, is_there) in labels.iter_mut().zip(recorded.labels) {
            *label = number(if is_there { 4 } else { 0 })? as u32;
        }
        for (operand, size) in operands.iter_mut().zip(recorded.operands) {
            if size > 0 {
                *operand = number(size)?;
            }
        }
        let outcome = match head >> OUTCOME_SHIFT {
            OUTCOME_IS_LEFT => operands[0] as u32,
            outcome => outcome,
        };
        let event = Event {
            site,
            outcome,
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
        Some(joined(found))
    }
}

/// Ranges in order, those that touch or overlap as one.
pub fn joined(mut ranges: Vec<Range<u32>>) -> Vec<Range<u32>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u32>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
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
    /// What an event has of it.
    pub recorded: Recorded,
}

/// What is recorded of an operator each time, one after the other: labels, then operands. The rest is known beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Of which operands the label, a u32; that of the others is 0.
    pub labels: [bool; 2],
    /// Bytes of each operand, 4 or 8; 0 if it never changes.
    pub operands: [u8; 2],
    /// What operands are that never change.
    pub constants: [u64; 2],
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
        let site = |recorded| DependenceSite {
            function: 0,
            offset: 0,
            kind: SiteKind::Compare,
            relation: Relation::Eq,
            width: 8,
            recorded,
        };
        let sites = [
            site(Recorded::default()),
            site(Recorded {
                labels: [false, true],
                operands: [8, 0],
                constants: [0, 0x1234],
            }),
        ];
        // Of site 1, a switch's outcome; a node; 7.
        let mut bytes = (1 | 2_u16 << 14).to_le_bytes().to_vec();
        bytes.extend([9, 1, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 99]);
        let event = Event {
            site: 1,
            outcome: 7,
            operands: [7, 0x1234],
            labels: [0, 0x109],
        };
        assert_eq!(Event::read(&bytes, &sites), Some((event, 14)));
        assert_eq!(Event::read(&bytes[..13], &sites), None);
        assert_eq!(Event::read(&bytes, &sites[..1]), None);
        // Of a site that takes more.
        let sites = vec![site(Recorded::default()); 0x1_2346];
        for (number, expected) in [(0x1fff, 2), (0x2000, 4), (0x1_2345, 4)] {
            let (head, size) = event_head(number);
            let bytes = (head | 1 << OUTCOME_SHIFT).to_le_bytes();
            let (event, read) = Event::read(&bytes[..expected], &sites).unwrap();
            assert_eq!((event.site, event.outcome), (number, 1));
            assert_eq!((size as usize, read), (expected, expected));
        }
    }

    #[test]
    fn a_range_is_a_label_while_it_fits() {
        let of = |range| {
            let found = Sets::new(&[], 9_999).of(of_range(range));
            let found = found.iter().map(|range| (range.start, range.end));
            found.collect::<Vec<_>>()
        };
        assert_eq!(of(7..7), []);
        assert_eq!(of(7..8), [(7, 8)]);
        assert_eq!(of(7..7 + 256), [(7, 263)]);
        assert_eq!(of(7..7 + 257), [(0, 9_999)]);
        assert_eq!(of(INPUT_BYTES_MAX..INPUT_BYTES_MAX + 1), []);
    }

    #[test]
    fn long_ranges_are_labels_of_their_own() {
        let label = LONG | 299 << LONG_SHIFT | 100;
        let found = Sets::new(&[], 1 << 20).of(label);
        assert_eq!(&found[..], std::slice::from_ref(&(100..400)));
    }
}
