//! Drawing: one trial's draws, from the source to the record.
//!
//! In: draws and spans, in the generator's order. Out: values, and in the end the sequence. Every
//! limit is kept here: a generator that draws without end is stopped, and one that asks for the
//! impossible is told so. After a stop, nothing more can be drawn.

use super::indexed::flat;
use super::jqf;
use super::known::Tries;
use super::paths::Step;
use super::source::Source;
use super::strings::Strings;
use super::{ChoiceNode, ChoiceSequence, Domain, Draw, Role, Span};

/// Spans of one trial; they are not bounded by the draws.
const SPANS_MAX: usize = 1 << 16;
/// Spans that are open at once.
const DEPTH_MAX: usize = 1 << 12;

/// Why there are no more answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The limit, or the end of the source.
    Overrun,
    /// The domain is empty or no domain at all.
    Impossible,
}

/// One trial's draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    source: Source,
    sequence: ChoiceSequence,
    /// What may still be drawn, in bytes of JQF's encoding.
    bytes_left: u32,
    /// Spans that are open, as indices.
    open: Vec<u32>,
    wants_paths: bool,
    tries: Option<Box<Tries>>,
    /// The target's strings, if the generator may draw them.
    strings: Option<Strings>,
}

impl Drawing {
    /// Draws from a source, up to `bytes_max` bytes' worth in JQF's encoding.
    pub fn new(source: Source, bytes_max: u32) -> Drawing {
        Drawing {
            source,
            sequence: ChoiceSequence::default(),
            bytes_left: bytes_max,
            open: Vec::new(),
            wants_paths: false,
            tries: None,
            strings: None,
        }
    }

    /// The same, with what to draw instead where the input that comes of it is known.
    pub(crate) fn with_tries(self, tries: Option<Tries>) -> Drawing {
        Drawing {
            tries: tries.map(Box::new),
            ..self
        }
    }

    /// The same, with strings to draw.
    pub fn with_strings(self, strings: Option<Strings>) -> Drawing {
        Drawing { strings, ..self }
    }

    pub(super) fn strings(&self) -> Option<&Strings> {
        self.strings.as_ref()
    }

    pub(super) fn source(&mut self) -> &mut Source {
        &mut self.source
    }

    /// The next three choices, of a source that has them beforehand.
    pub(super) fn upcoming(&self) -> Option<[Option<&ChoiceNode>; 3]> {
        match &self.source {
            Source::Replay(replay) => Some(replay.upcoming()),
            _ => None,
        }
    }

    /// Records a node that nobody is asked for; of bytes, their text. It costs one byte of what may be drawn.
    pub(super) fn write_down(&mut self, node: ChoiceNode, bytes: &[u8]) -> Result<(), Stop> {
        self.bytes_left = self.bytes_left.checked_sub(1).ok_or(Stop::Overrun)?;
        if self.wants_paths && !self.located(&node.draw) {
            return Err(Stop::Overrun);
        }
        self.sequence.nodes.push(node);
        self.sequence.payload.extend_from_slice(bytes);
        Ok(())
    }

    /// What to draw instead where the input that comes of it is known. Whoever runs a generator takes it out
    /// before and asks it afterwards; the outcome is that of the last try.
    pub fn take_tries(&mut self) -> Option<Box<Tries>> {
        let tries = self.tries.take()?;
        Some(Box::new(tries.with_strings(self.strings.clone())))
    }

    /// The same, recording where each draw happens. What answers by the place needs it.
    pub fn with_paths(self) -> Drawing {
        Drawing {
            wants_paths: true,
            ..self
        }
    }

    /// The input, if it is one as it stands, for which no generator is asked.
    pub fn text(&self) -> Option<&[u8]> {
        match &self.source {
            Source::Replay(replay) => replay.text(),
            _ => None,
        }
    }

    /// Who answers, of a drawing that has not begun.
    pub(crate) fn into_source(self) -> Source {
        self.source
    }

    /// Whether somebody wants to know where the next draw happens.
    #[inline]
    pub fn wants_paths(&self) -> bool {
        self.wants_paths
    }

    /// Says where the next draw happens.
    pub fn locate(&mut self, steps: impl Iterator<Item = Step>) {
        self.sequence.paths.push(steps);
    }

    /// Makes room for so many draws: to grow on the way costs more than the draws.
    pub fn reserve(&mut self, draws: usize) {
        self.sequence.nodes.reserve(draws);
    }

    /// Draws so far.
    pub fn draws(&self) -> usize {
        self.sequence.nodes.len()
    }

    /// Answers a draw; bytes are in [`Drawing::last_bytes`] then.
    #[inline(always)]
    pub fn draw(&mut self, site: u32, role: Role, domain: Domain) -> Result<u64, Stop> {
        if !domain.is_possible() {
            return Err(Stop::Impossible);
        }
        let width = jqf::width(domain) as u32;
        // A byte at least: what costs nothing can be had without end.
        let left = self.bytes_left.checked_sub(width.max(1));
        // Nobody makes bytes that there is no room for.
        let left = left.filter(|left| match domain {
            Domain::Bytes { min, .. } => min <= *left,
            _ => true,
        });
        let left = left.ok_or(Stop::Overrun)?;
        if self.wants_paths && !self.located(&Draw { site, role, domain }) {
            return Err(Stop::Overrun);
        }
        let ChoiceSequence { nodes, payload, .. } = &mut self.sequence;
        // What is asked for is written down before it is answered, once and for all: a copy would be
        // read as a whole just after it was written in parts.
        nodes.push(ChoiceNode {
            draw: Draw { site, role, domain },
            bits: 0,
            value: 0,
        });
        let node = nodes.last_mut().expect("pushed above");
        let Some(answer) = self.source.answer(&node.draw, payload) else {
            nodes.pop();
            return Err(Stop::Overrun);
        };
        let bytes = match domain {
            Domain::Bytes { .. } => answer.value as u32,
            _ => 0,
        };
        let Some(left) = left.checked_sub(bytes) else {
            payload.truncate(payload.len() - bytes as usize);
            nodes.pop();
            return Err(Stop::Overrun);
        };
        self.bytes_left = left;
        node.bits = answer.bits;
        node.value = answer.value;
        Ok(answer.value)
    }

    /// Tells the source where this draw happens; false if there is no room for another path. Out of
    /// line: what few guidances want must cost the others nothing.
    #[cold]
    #[inline(never)]
    fn located(&mut self, draw: &Draw) -> bool {
        let ChoiceSequence { nodes, paths, .. } = &mut self.sequence;
        if paths.is_full() {
            return false;
        }
        if paths.len() <= nodes.len() {
            paths.push(std::iter::once(flat(draw, nodes.len())));
        }
        self.source.locate(paths.last_key());
        true
    }

    /// The bytes of the last draw, which was one of so many bytes.
    pub fn last_bytes(&self, len: usize) -> &[u8] {
        &self.sequence.payload[self.sequence.payload.len() - len..]
    }

    /// Draws an integer between `lo` and `hi`.
    pub fn int(&mut self, site: u32, role: Role, lo: i64, hi: i64) -> Result<i64, Stop> {
        self.draw(site, role, Domain::Int { lo, hi })
            .map(u64::cast_signed)
    }

    /// Draws a boolean with even odds.
    pub fn coin(&mut self, site: u32, role: Role) -> Result<bool, Stop> {
        self.draw(site, role, Domain::Bool { num: 1, den: 2 })
            .map(|value| value == 1)
    }

    /// Opens a span.
    pub fn open(&mut self, label: u32) -> Result<(), Stop> {
        if self.sequence.spans.len() >= SPANS_MAX || self.open.len() >= DEPTH_MAX {
            return Err(Stop::Overrun);
        }
        self.source.open(label);
        let at = self.sequence.nodes.len() as u32;
        self.open.push(self.sequence.spans.len() as u32);
        self.sequence.spans.push(Span {
            label,
            first: at,
            end: at,
            depth: self.open.len() as u32 - 1,
            discarded: false,
        });
        Ok(())
    }

    /// Closes the innermost span. Closing what nobody opened does nothing: a generator may be
    /// unwound from anywhere.
    pub fn close(&mut self, discarded: bool) {
        if let Some(at) = self.open.pop() {
            self.source.close();
            let end = self.sequence.nodes.len() as u32;
            let span = &mut self.sequence.spans[at as usize];
            span.end = end;
            span.discarded = discarded;
        }
    }

    /// What was drawn. Spans that are open end here.
    pub fn finish(mut self) -> ChoiceSequence {
        while !self.open.is_empty() {
            self.close(false);
        }
        self.sequence.paths.truncate(self.sequence.nodes.len());
        self.sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn fresh(bytes_max: u32) -> Drawing {
        Drawing::new(Source::Fresh(Rng::new(1)), bytes_max)
    }

    #[test]
    fn endless_draws_are_stopped() {
        let mut drawing = fresh(100);
        let count = (0..).take_while(|_| drawing.int(0, Role::Value, 0, 9).is_ok());
        assert_eq!(count.count(), 25);
        let mut drawing = fresh(100);
        let empty = Domain::Bytes { min: 0, max: 0 };
        let count = (0..).take_while(|_| drawing.draw(0, Role::Value, empty).is_ok());
        assert_eq!(count.count(), 100);
        let mut drawing = fresh(100);
        let long = Domain::Bytes { min: 101, max: 101 };
        assert_eq!(drawing.draw(0, Role::Value, long), Err(Stop::Overrun));
        assert!(drawing.finish().is_sound());
        let mut drawing = fresh(100);
        let count = (0..).take_while(|_| drawing.open(1).is_ok()).count();
        assert_eq!(count, DEPTH_MAX);
    }

    #[test]
    fn the_impossible_is_refused() {
        let mut drawing = fresh(100);
        assert_eq!(drawing.int(0, Role::Value, 1, 0), Err(Stop::Impossible));
        assert_eq!(drawing.finish(), ChoiceSequence::default());
    }

    #[test]
    fn spans_nest_whatever_the_generator_does() {
        let mut drawing = fresh(100);
        drawing.close(true);
        drawing.open(1).unwrap();
        drawing.coin(0, Role::Structure).unwrap();
        drawing.open(2).unwrap();
        drawing.coin(0, Role::Value).unwrap();
        drawing.close(true);
        drawing.coin(0, Role::Value).unwrap();
        let sequence = drawing.finish();
        let spans: Vec<_> = sequence
            .spans
            .iter()
            .map(|s| (s.label, s.first, s.end, s.depth, s.discarded))
            .collect();
        assert_eq!(spans, [(1, 0, 3, 0, false), (2, 1, 2, 1, true)]);
        assert!(sequence.is_sound());
    }
}
