//! Labels: the memory of labels of an instance, and the shadows of its memories
//! ([`Build::Dependence`](crate::Build::Dependence)).
//!
//! Before a run the bytes of the input get their labels; after it, what was recorded is read, and
//! everything is nothing again: shadows where the marks of stores say that memory was written.

use std::ops::Range;
use std::sync::Arc;

use sandglass_engine::Outcome;
use sandglass_instrument::labels::{self, LabelLayout, Sets};

use crate::pages::{PAGE, Region};

/// Events that are kept of one site: the first.
const SITE_EVENTS_MAX: u32 = 1 << 10;

/// Blocks of shadow that are cleared one by one, 16 KiB and 0.3 us each; of more, the system takes back
/// all pages.
const CLEARED_MAX: usize = 1 << 10;

/// Which bytes of an input a run depends on, where, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependences {
    /// How it ended; detail included.
    pub outcome: Outcome,
    /// What it decided, in the order of execution.
    pub events: Vec<DependenceEvent>,
    /// Events that there was no room for.
    pub dropped: u32,
    /// Unions that there was no room for: each became the whole input.
    pub saturated: u32,
    /// Sets that were made.
    pub nodes: u32,
    /// Bytes of the input that were followed, from its start.
    pub followed_bytes: u32,
}

/// A decision, an address, a divisor or a size, and what it was computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependenceEvent {
    /// Which operator, as an index of [`ProbeMap::dependence`](sandglass_instrument::ProbeMap).
    pub site: u32,
    /// What came out: 0 or 1, or which case of a switch.
    pub outcome: u32,
    /// The left operand, zero-extended; floats as their bits.
    pub left: u64,
    /// The right one.
    pub right: u64,
    /// Which bytes of the input the left operand was computed from: ascending, not touching.
    pub left_bytes: Arc<[Range<u32>]>,
    /// The same of the right one.
    pub right_bytes: Arc<[Range<u32>]>,
}

/// How much a run may record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DependenceLimits {
    /// Events that are kept of one site: the first.
    pub site_events: u32,
    /// Sets that are made; at most [`labels::NODES_MAX`].
    pub nodes: u32,
}

impl DependenceLimits {
    /// Enough for what people read.
    pub const STANDARD: DependenceLimits = DependenceLimits {
        site_events: SITE_EVENTS_MAX,
        nodes: labels::NODES_MAX,
    };
}

/// The memories of one instance.
#[derive(Clone)]
pub(crate) struct Labels {
    pub(crate) memory: Arc<Region>,
    /// Of each of the guest's memories.
    pub(crate) shadows: Vec<Arc<Region>>,
    pub(crate) layout: LabelLayout,
}

impl Labels {
    /// Nothing has happened, and there is room for so much.
    pub(crate) fn begin(&self, limits: DependenceLimits) {
        let header = [
            (labels::NEXT, labels::FIRST_GRANULE),
            (labels::NODES, 0),
            (labels::SATURATED, 0),
            (labels::EVENTS, 0),
            (labels::DROPPED, 0),
            (labels::SITE_EVENTS_MAX, limits.site_events),
            (labels::NODES_LIMIT, limits.nodes.min(labels::NODES_MAX)),
        ];
        for (at, value) in header {
            self.memory.write(at as usize, &value.to_le_bytes());
        }
    }

    /// What lies at `address` of the first memory are the input's bytes from `from` on.
    pub(crate) fn input(&self, address: u32, from: u32, bytes: u32) {
        let words = self.words(address, bytes);
        for (word, index) in words.iter_mut().zip(from..) {
            *word = labels::of_byte(index);
        }
    }

    /// What lies there has no labels.
    pub(crate) fn plain(&self, address: u32, bytes: u32) {
        self.words(address, bytes).fill(0);
    }

    /// The labels of what lies there; none of what has no shadow.
    pub(crate) fn at(&self, address: u32, bytes: u32) -> Vec<u32> {
        let end = 4 * (u64::from(address) + u64::from(bytes));
        match self.shadows.first() {
            Some(shadow) if end <= shadow.size() as u64 => self.words(address, bytes).to_vec(),
            _ => Vec::new(),
        }
    }

    /// What the labels of the run stand for.
    pub(crate) fn sets(&self, input_bytes: u32) -> Sets<'_> {
        Sets::new(self.memory.bytes(0, self.memory.size()), input_bytes)
    }

    fn words(&self, address: u32, bytes: u32) -> &mut [u32] {
        match self.shadows.first() {
            Some(shadow) => shadow.words(4 * address as usize, bytes as usize),
            None => &mut [],
        }
    }

    /// What was recorded, of an input of so many bytes.
    pub(crate) fn read(&self, outcome: Outcome, input_bytes: u32) -> Dependences {
        let events = self.word(labels::EVENTS).min(labels::EVENTS_MAX);
        let bytes = self.memory.bytes(0, self.memory.size());
        let mut sets = self.sets(input_bytes);
        let mut found = Vec::with_capacity(events as usize);
        for n in 0..events {
            let at = (labels::EVENT_LIST + n * labels::EVENT_BYTES) as usize;
            let word = |n: usize| {
                let bytes = bytes[at + 4 * n..at + 4 * n + 4].try_into();
                u32::from_le_bytes(bytes.expect("four bytes"))
            };
            let long = |n: usize| u64::from(word(n)) | u64::from(word(n + 1)) << 32;
            found.push(DependenceEvent {
                site: (word(0) - self.layout.counters) / 4,
                outcome: word(1),
                left: long(2),
                right: long(4),
                left_bytes: sets.of(word(6)),
                right_bytes: sets.of(word(7)),
            });
        }
        Dependences {
            outcome,
            events: found,
            dropped: self.word(labels::DROPPED),
            saturated: self.word(labels::SATURATED),
            nodes: self.word(labels::NODES),
            followed_bytes: input_bytes.min(labels::INPUT_BYTES_MAX),
        }
    }

    fn word(&self, at: u32) -> u32 {
        let bytes = self.memory.bytes(at as usize, 4);
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    /// Nothing has a label any more. `marks` say what was written of each memory.
    pub(crate) fn clear(&self, marks: &[Arc<Region>]) {
        let zero = |from: u32, to: u32| {
            let words = (to - from) as usize / 4;
            self.memory.words(from as usize, words).fill(0);
        };
        zero(labels::ARGUMENTS, labels::ARGUMENTS + labels::PASSING_BYTES);
        zero(self.layout.globals, self.layout.end);
        self.clear_slots();
        for (shadow, marks) in self.shadows.iter().zip(marks) {
            clear_marked(shadow, marks);
        }
    }

    /// Empties the slots of the nodes that were made.
    fn clear_slots(&self) {
        let next = self.word(labels::NEXT);
        let slots = labels::SLOTS..labels::ARENA;
        let all = self
            .memory
            .words(slots.start as usize, (slots.end - slots.start) as usize / 4);
        // Half as many as there are slots: as fast as finding them.
        if next > all.len() as u32 / 16 {
            all.fill(0);
            return;
        }
        let mut granule = labels::FIRST_GRANULE;
        while granule < next {
            let at = labels::ARENA + 16 * granule;
            all[self.word(at + 8) as usize] = 0;
            granule += 1 + self.word(at + 12).div_ceil(4);
        }
    }
}

/// Bytes of shadow for a page.
const SHADOW_PAGE: usize = 4 * PAGE;

fn clear_marked(shadow: &Region, marks: &Region) {
    let blocks = (shadow.size() / SHADOW_PAGE).min(marks.size());
    let marks = marks.bytes(0, blocks);
    let marked = || (0..blocks).filter(|block| marks[*block] != 0);
    if marked().count() > CLEARED_MAX {
        shadow.discard();
        return;
    }
    for block in marked() {
        shadow.words(block * SHADOW_PAGE, SHADOW_PAGE / 4).fill(0);
    }
}
