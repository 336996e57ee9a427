//! Labels: which bytes of the input a value was computed from, as 32 bits.
//!
//! The dependence pass gives every number a label, and every byte of memory. What lies where in the
//! memory of labels, how a label is encoded and what set of input bytes it stands for is all here.
//!
//! ```text
//! 0                        nothing of the input
//! 00…                      a node: the union of two labels
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
/// Of a node, its number.
pub(crate) const INDEX: u32 = RANGE - 1;
/// Of a range, the first input byte.
pub(crate) const BASE: u32 = (1 << LENGTH_SHIFT) - 1;
pub(crate) const LENGTH_SHIFT: u32 = 22;
#[cfg(test)]
pub(crate) const POSITION_SHIFT: u32 = 26;

/// Bytes of an input that get labels; a label has no bits for more. What follows has none.
pub const INPUT_BYTES_MAX: u32 = BASE - 16;
/// Nodes that a run may make: at most half of the slots.
pub const NODES_MAX: u32 = 1 << 19;
/// Events that are kept of a run.
pub const EVENTS_MAX: u32 = 1 << 16;

/// u32, number of the next free granule.
pub const NEXT: u32 = 0;
/// u32, nodes made.
pub const NODES: u32 = 4;
/// u32, nodes that there was no room for.
pub const SATURATED: u32 = 8;
/// u32, events kept.
pub const EVENTS: u32 = 12;
/// u32, events that there was no room for.
pub const DROPPED: u32 = 16;
/// u32, events that are kept of one site.
pub const SITE_EVENTS_MAX: u32 = 20;
/// u32, nodes that may be made.
pub const NODES_LIMIT: u32 = 24;
/// Sixteen labels: the bytes of a value that is worked on.
#[cfg(test)]
pub(crate) const LANES: u32 = 64;
/// Sixteen more.
#[cfg(test)]
pub(crate) const OTHER_LANES: u32 = 128;
/// The labels of the arguments of the call that is being made.
pub const ARGUMENTS: u32 = 256;
/// The labels of the results of the latest call.
pub const RESULTS: u32 = ARGUMENTS + 4 * VALUES_MAX;
/// The labels of what the latest exception carries.
pub const PAYLOAD: u32 = RESULTS + 4 * VALUES_MAX;
/// Most parameters or results that a function has.
pub(crate) const VALUES_MAX: u32 = 1000;
/// What a run leaves behind here has to be cleared.
pub const PASSING_BYTES: u32 = 3 * 4 * VALUES_MAX;

/// u32 each: the label of a node, where its hash says, or the next free slot after that.
pub const SLOTS: u32 = 1 << 16;
const SLOTS_SHIFT: u32 = 20;
/// Nodes, in granules of 16 bytes. A union is one: left, right, its slot, 0. A value in lanes has one
/// with the union, a hash, its slot and the number of lanes, and the lanes after it.
pub const ARENA: u32 = SLOTS + (4 << SLOTS_SHIFT);
pub(crate) const GRANULES: u32 = 1 << 20;
/// The first granule that is not 0 or [`EVERYTHING`].
pub const FIRST_GRANULE: u32 = 2;
/// Events, [`EVENT_BYTES`] each: u32 address of the site's counter, u32 outcome, u64 left, u64 right,
/// u32 label of left, u32 label of right.
pub const EVENT_LIST: u32 = ARENA + 16 * GRANULES;
/// Bytes of an event.
pub const EVENT_BYTES: u32 = 32;
/// First byte of what depends on the module.
const OWN: u32 = EVENT_LIST + EVENTS_MAX * EVENT_BYTES;

/// The names that the library of functions uses, with their values.
#[cfg(test)]
pub(crate) const NAMES: [(&str, u32); 32] = [
    ("EVERYTHING", EVERYTHING),
    ("IN_LANES", IN_LANES),
    ("RANGE", RANGE),
    ("INDEX", INDEX),
    ("BASE", BASE),
    ("LENGTH_SHIFT", LENGTH_SHIFT),
    ("POSITION_SHIFT", POSITION_SHIFT),
    ("NEXT", NEXT),
    ("NODES", NODES),
    ("SATURATED", SATURATED),
    ("EVENTS", EVENTS),
    ("DROPPED", DROPPED),
    ("SITE_EVENTS_MAX", SITE_EVENTS_MAX),
    ("NODES_LIMIT", NODES_LIMIT),
    ("LANES", LANES),
    ("OTHER_LANES", OTHER_LANES),
    ("SLOTS", SLOTS),
    ("SLOT_SHIFT", 32 - SLOTS_SHIFT),
    ("SLOT_MASK", (1 << SLOTS_SHIFT) - 1),
    ("GRANULES", GRANULES),
    ("EVENTS_MAX", EVENTS_MAX),
    ("ARENA", ARENA),
    ("ARENA_4", ARENA + 4),
    ("ARENA_8", ARENA + 8),
    ("ARENA_12", ARENA + 12),
    ("ARENA_16", ARENA + 16),
    ("EVENT_LIST", EVENT_LIST),
    ("EVENT_LIST_4", EVENT_LIST + 4),
    ("EVENT_LIST_8", EVENT_LIST + 8),
    ("EVENT_LIST_16", EVENT_LIST + 16),
    ("EVENT_LIST_24", EVENT_LIST + 24),
    ("EVENT_LIST_28", EVENT_LIST + 28),
];

/// Where the labels of one module lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelLayout {
    /// First label of a global; a u32 each.
    pub globals: u32,
    /// First counter of a site; a u32 each.
    pub counters: u32,
    /// One past the last byte in use; 0 if the module was built without labels.
    pub end: u32,
}

impl LabelLayout {
    pub(crate) fn new(globals: u32, sites: u32) -> LabelLayout {
        let counters = (OWN + globals * 4).next_multiple_of(64);
        LabelLayout {
            globals: OWN,
            counters,
            end: counters + sites * 4,
        }
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
            let at = (ARENA + (label & INDEX) * 16) as usize;
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
