//! Labels: the memory of labels of an instance, and the shadows of its memories
//! ([`Build::Dependence`](crate::Build::Dependence)).
//!
//! Before a run the bytes of the input get their labels; after it, what was recorded is read, and
//! everything is nothing again: shadows where labels were written, counters where something was counted.
//! Short runs write little of either.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use sandglass_engine::Outcome;
use sandglass_instrument::ProbeMap;
use sandglass_instrument::labels::{self, Event, LabelLayout, Sets};

use crate::pages::{PAGE, Region};

/// Events that are looked at of one site: the first.
const SITE_EVENTS_MAX: u32 = 1 << 10;

/// Blocks of shadow that are cleared one by one, a page and 0.1 us each; of more, the system takes back
/// all pages.
const CLEARED_MAX: usize = 1 << 12;

/// Counters that are looked at in the time that it takes to read an event: with so many times as many events as
/// that, all are cleared.
const COUNTERS_PER_EVENT: usize = 16;

/// Bytes of most events.
const EVENT_BYTES: usize = 10;

/// Which bytes of an input a run depends on, where, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependences {
    /// How it ended; detail included.
    pub outcome: Outcome,
    /// What it decided, in the order of execution; what is the same as before in all is left out.
    pub events: Vec<DependenceEvent>,
    /// Events that there was no room for.
    pub dropped: u32,
    /// How often each operator decided something by the input, those that were left out included; by site.
    pub counts: Vec<u32>,
    /// Events that were left out because they were the same as one before.
    pub repeated: u32,
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
    /// Events that are looked at of one site: the first.
    pub site_events: u32,
    /// Are they all kept, those that are the same as one before, too?
    pub repeats: bool,
    /// Sets that are made; at most [`labels::NODES_MAX`].
    pub nodes: u32,
}

impl DependenceLimits {
    /// Enough for what people read.
    pub const STANDARD: DependenceLimits = DependenceLimits {
        site_events: SITE_EVENTS_MAX,
        repeats: false,
        nodes: labels::NODES_MAX,
    };
}

/// The memories of one instance.
#[derive(Clone)]
pub(crate) struct Labels {
    pub(crate) memory: Arc<Region>,
    /// Of each of the guest's memories.
    pub(crate) shadows: Vec<Shadow>,
    /// Where labels lie, and what is recorded.
    pub(crate) map: Arc<ProbeMap>,
}

/// The labels of the bytes of a memory.
#[derive(Clone)]
pub(crate) struct Shadow {
    /// Four bytes for each.
    pub(crate) labels: Arc<Region>,
    /// A byte for each of its blocks, see [`labels::TOUCHED_SHIFT`].
    pub(crate) touched: Arc<Region>,
}

impl Labels {
    /// Nothing has happened, and there is room for so much.
    pub(crate) fn begin(&self, limits: DependenceLimits) {
        let header = [
            (labels::NEXT, labels::FIRST_GRANULE),
            (labels::NODES, 0),
            (labels::SATURATED, 0),
            (labels::DROPPED, 0),
            (labels::SITE_EVENTS_MAX, limits.site_events),
            (labels::NODES_LIMIT, limits.nodes.min(labels::NODES_MAX)),
            (labels::SLOTS_SHIFT, labels::SLOTS_SHIFT_FIRST),
            (labels::EVENTS_END, labels::EVENT_LIST),
            (labels::SLOT_SHIFT, 1),
            (labels::REPEATS, limits.repeats.into()),
            (labels::REPEATED, 0),
            (labels::EVENT_LATEST, 0),
            (labels::EVENTS_FULL, 0),
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
        self.touch(address, bytes);
    }

    /// What lies there was drawn: all of it depends on these draws.
    pub(crate) fn drawn(&self, address: u32, bytes: u32, draws: Range<u32>) {
        self.words(address, bytes).fill(labels::of_range(draws));
        self.touch(address, bytes);
    }

    /// What the host is about to return depends on these draws.
    pub(crate) fn returned(&self, draws: Range<u32>) {
        let label = labels::of_range(draws);
        (self.memory).write(labels::result(0) as usize, &label.to_le_bytes());
    }

    fn touch(&self, address: u32, bytes: u32) {
        if let (Some(shadow), 1..) = (self.shadows.first(), bytes) {
            let block = |byte: u32| (4 * byte as usize) >> labels::TOUCHED_SHIFT;
            let (first, last) = (block(address), block(address + bytes - 1));
            for block in first..=last {
                shadow.touched.write(block, &[1]);
            }
        }
    }

    /// What lies there has no labels.
    pub(crate) fn plain(&self, address: u32, bytes: u32) {
        clear(self.words(address, bytes));
    }

    /// The labels of what lies there; none of what has no shadow.
    pub(crate) fn at(&self, address: u32, bytes: u32) -> Vec<u32> {
        let end = 4 * (u64::from(address) + u64::from(bytes));
        match self.shadows.first() {
            Some(shadow) if end <= shadow.labels.size() as u64 => {
                self.words(address, bytes).to_vec()
            }
            _ => Vec::new(),
        }
    }

    /// What the labels of the run stand for.
    pub(crate) fn sets(&self, input_bytes: u32) -> Sets<'_> {
        Sets::new(self.memory.bytes(0, self.memory.size()), input_bytes)
    }

    fn words(&self, address: u32, bytes: u32) -> &mut [u32] {
        match self.shadows.first() {
            Some(shadow) => shadow.labels.words(4 * address as usize, bytes as usize),
            None => &mut [],
        }
    }

    /// What was recorded, of an input of so many bytes.
    pub(crate) fn read(&self, outcome: Outcome, input_bytes: u32) -> Dependences {
        let repeats = self.word(labels::REPEATS) != 0;
        let mut sets = self.sets(input_bytes);
        let (mut found, mut known) = (Vec::new(), HashSet::new());
        let (mut dropped, mut repeated) = (self.dropped(), self.word(labels::REPEATED));
        for event in self.events() {
            if found.len() == labels::EVENTS_MAX as usize {
                dropped += 1;
            } else if !repeats && !known.insert(event) {
                repeated += 1;
            } else {
                found.push(DependenceEvent {
                    site: event.site,
                    outcome: event.outcome,
                    left: event.operands[0],
                    right: event.operands[1],
                    left_bytes: sets.of(event.labels[0]),
                    right_bytes: sets.of(event.labels[1]),
                });
            }
        }
        Dependences {
            outcome,
            events: found,
            dropped,
            counts: self.counts().to_vec(),
            repeated,
            saturated: self.word(labels::SATURATED),
            nodes: self.word(labels::NODES),
            followed_bytes: input_bytes.min(labels::INPUT_BYTES_MAX),
        }
    }

    /// The events, in order.
    fn events(&self) -> impl Iterator<Item = Event> {
        let mut bytes = self.recorded();
        std::iter::from_fn(move || {
            if bytes.is_empty() {
                return None;
            }
            let event = Event::read(bytes, &self.map.dependence);
            let (event, size) = event.expect("our own code wrote it, and all of it");
            bytes = &bytes[size..];
            Some(event)
        })
    }

    /// The events, one after the other.
    fn recorded(&self) -> &[u8] {
        let end = match self.word(labels::EVENTS_FULL) {
            0 => self.word(labels::EVENTS_END),
            end => end,
        };
        &self.memory.bytes(0, end as usize)[labels::EVENT_LIST as usize..]
    }

    fn layout(&self) -> LabelLayout {
        self.map.labels
    }

    /// Of each site how often it was to record something.
    fn counts(&self) -> &mut [u32] {
        let (first, end) = (self.layout().counters, self.layout().end);
        self.memory
            .words(first as usize, (end - first) as usize / 4)
    }

    /// Events past the limit of a site, or of the run.
    fn dropped(&self) -> u32 {
        let max = self.word(labels::SITE_EVENTS_MAX);
        let past = self.counts().iter().map(|count| count.saturating_sub(max));
        past.fold(self.word(labels::DROPPED), u32::saturating_add)
    }

    fn word(&self, at: u32) -> u32 {
        let bytes = self.memory.bytes(at as usize, 4);
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    /// Nothing has a label any more. `marks` say what was written of each memory of the guest's.
    pub(crate) fn clear(&self, guests: &[Arc<Region>], marks: &[Arc<Region>]) {
        let part = |from: u32, bytes: u32| self.memory.words(from as usize, bytes as usize / 4);
        if self.word(labels::EVENT_LATEST) != 0 {
            clear(part(labels::KNOWN, labels::KNOWN_BYTES));
        }
        let layout = self.layout();
        for passing in layout.passing() {
            clear(part(passing.start, passing.end - passing.start));
        }
        clear(part(layout.globals, layout.counters - layout.globals));
        self.clear_counts();
        if self.word(labels::NODES) > 0 {
            let slots = 1 << (32 - self.word(labels::SLOTS_SHIFT));
            part(labels::SLOTS, slots << self.word(labels::SLOT_SHIFT)).fill(0);
        }
        for ((shadow, guest), marks) in self.shadows.iter().zip(guests).zip(marks) {
            clear_touched(shadow, marks, guest.size().div_ceil(PAGE));
        }
    }

    /// No site has counted anything. A site that has is that of an event, unless there was no room for one.
    fn clear_counts(&self) {
        let counts = self.counts();
        let events = self.recorded().len() / EVENT_BYTES;
        let has_all = self.word(labels::DROPPED) == 0 && self.word(labels::SITE_EVENTS_MAX) > 0;
        if !has_all || events > counts.len() / COUNTERS_PER_EVENT {
            return clear(counts);
        }
        self.events()
            .for_each(|event| counts[event.site as usize] = 0);
    }
}

/// Makes words zero, and writes none that are: a page that nobody wrote takes no memory.
fn clear(words: &mut [u32]) {
    for words in words.chunks_mut(PAGE / 4) {
        if words.iter().fold(0, |any, word| any | word) != 0 {
            words.fill(0);
        }
    }
}

/// Blocks of shadow for a page.
const SHADOW_BLOCKS: usize = (4 * PAGE) >> labels::TOUCHED_SHIFT;
const _: () = assert!(SHADOW_BLOCKS == 4, "a word of them is read at once");

/// Clears what was touched among the first `blocks` of the guest's pages. Where labels are, the guest has written:
/// only what lies below marks is looked at.
fn clear_touched(shadow: &Shadow, marks: &Region, blocks: usize) {
    const BLOCK: usize = 1 << labels::TOUCHED_SHIFT;
    let labels = &shadow.labels;
    let blocks = (blocks.min(marks.size())).min(labels.size() / BLOCK / SHADOW_BLOCKS);
    let touched = shadow.touched.words(0, blocks);
    let marks = marks.words(0, blocks.div_ceil(4));
    let marked = || (0..).zip(&*marks).filter(|(_, marks)| **marks != 0);
    let pages = marked().flat_map(|(n, _)| 4 * n..(4 * n + 4).min(blocks));
    let mut room = CLEARED_MAX;
    for page in pages {
        if touched[page] == 0 {
            continue;
        }
        let which = touched[page].to_le_bytes();
        touched[page] = 0;
        for (block, _) in which.iter().enumerate().filter(|(_, which)| **which != 0) {
            if room == 0 {
                labels.discard();
                return clear(touched);
            }
            room -= 1;
            labels
                .words((page * SHADOW_BLOCKS + block) * BLOCK, BLOCK / 4)
                .fill(0);
        }
    }
}
