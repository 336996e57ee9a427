//! Sources: who answers a generator's draws.
//!
//! A source is made in a worker from the batch's plan, answers the draws of one trial, and is thrown
//! away; what it answered is in the record. It may look at what it is told (draws and spans) and at
//! nothing else, so the same plan gives the same answers on any worker.

use super::indexed::Indexed;
use super::jqf::Tape;
use super::policy::Policy;
use super::replay::Replay;
use super::split::Split;
use super::tree::Aligned;
use super::{Domain, Draw};
use crate::rng::Rng;

/// The answer to a draw. Bytes are appended to the payload beside it.
///
/// Not in the order of a [`ChoiceNode`](super::ChoiceNode): there both would be read as one of 16
/// bytes just after they were written apart, and the processor waits for that longer than a draw takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// As in a [`ChoiceNode`](super::ChoiceNode).
    pub value: u64,
    /// What the value was decoded from; else the value.
    pub bits: u64,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Bytes, in JQF's encoding.
    Tape(Tape),
    /// Two tapes, one for each role.
    Split(Split),
    /// Choices made before, repaired where they do not fit any more.
    Replay(Replay),
    /// What similar choices have led to.
    Policy(Policy),
    /// Bytes by where they are asked for; see [`Drawing::with_paths`](super::Drawing::with_paths).
    Indexed(Indexed),
    /// Choices by their spans and sites.
    Aligned(Aligned),
    /// Nobody in particular: each value of the domain alike.
    Fresh(Rng),
}

impl Source {
    /// Answers a draw from a possible domain; nothing if there are no choices left.
    #[inline]
    pub fn answer(&mut self, draw: &Draw, payload: &mut Vec<u8>) -> Option<Answer> {
        match self {
            Source::Tape(tape) => tape.answer(draw, payload),
            Source::Split(split) => split.answer(draw, payload),
            Source::Replay(replay) => replay.answer(draw, payload),
            Source::Policy(policy) => Some(policy.answer(draw, payload)),
            Source::Indexed(indexed) => Some(indexed.answer(draw, payload)),
            Source::Aligned(aligned) => Some(aligned.answer(draw, payload)),
            Source::Fresh(rng) => Some(fresh(draw.domain, rng, payload)),
        }
    }
}

impl Source {
    /// Learns the number of the path of the next draw.
    pub fn locate(&mut self, key: u64) {
        if let Source::Indexed(indexed) = self {
            indexed.locate(key);
        }
    }

    /// Learns that the next draw belongs to the last one.
    pub fn follow(&mut self) {
        if let Source::Aligned(aligned) = self {
            aligned.follow();
        }
    }

    /// The text that a request for a known string gets instead of one of the table, if this source has one for it.
    pub fn entry(&mut self) -> Option<&[u8]> {
        match self {
            Source::Aligned(aligned) => aligned.entry(),
            _ => None,
        }
    }

    /// Learns that a span was opened.
    pub fn open(&mut self, label: u32) {
        match self {
            Source::Policy(policy) => policy.open(label),
            Source::Aligned(aligned) => aligned.open(label),
            _ => {}
        }
    }

    /// Learns that the innermost span was closed.
    pub fn close(&mut self) {
        match self {
            Source::Policy(policy) => policy.close(),
            Source::Aligned(aligned) => aligned.close(),
            _ => {}
        }
    }
}

/// A uniform value of a domain; bytes have the lengths of JQF's strings.
#[inline]
pub fn fresh(domain: Domain, rng: &mut Rng, payload: &mut Vec<u8>) -> Answer {
    let value = match domain {
        Domain::Bool { num, den } => u64::from(rng.below(den) < num),
        Domain::Int { lo, hi } => {
            let size = hi.wrapping_sub(lo).wrapping_add(1).cast_unsigned();
            lo.wrapping_add_unsigned(below(rng, size)).cast_unsigned()
        }
        // The decoder of JQF is uniform here: 53 bits of mantissa, and a length of mean 10.
        Domain::Float { .. } | Domain::Bytes { .. } => {
            super::jqf::decode(domain, rng.word(), super::jqf::Reading::Whole)
        }
    };
    if let Domain::Bytes { .. } = domain {
        payload.extend((0..value).map(|_| rng.word() as u8));
    }
    Answer { bits: value, value }
}

/// A number in `[0, n)`; 0 stands for 2⁶⁴.
#[inline]
pub(super) fn below(rng: &mut Rng, n: u64) -> u64 {
    match n {
        0 => rng.word(),
        _ => ((u128::from(rng.word()) * u128::from(n)) >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_values_are_uniform() {
        let mut rng = Rng::new(5);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            let answer = fresh(Domain::Int { lo: -3, hi: 3 }, &mut rng, &mut Vec::new());
            counts[(answer.value.cast_signed() + 3) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&n| (9_500..10_500).contains(&n)),
            "{counts:?}"
        );
        let mut payload = Vec::new();
        for domain in [
            Domain::Int {
                lo: i64::MIN,
                hi: i64::MAX,
            },
            Domain::Bool { num: 0, den: 3 },
            Domain::Bool { num: 3, den: 3 },
            Domain::float(-1.5, 2.5),
            Domain::Bytes { min: 3, max: 5 },
        ] {
            for _ in 0..1_000 {
                let answer = fresh(domain, &mut rng, &mut payload);
                assert!(domain.has(answer.value), "{domain:?} {}", answer.value);
            }
        }
    }
}
