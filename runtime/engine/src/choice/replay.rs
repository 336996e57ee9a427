//! Replay: choices made before, given again.
//!
//! As long as the generator asks what it asked then, it gets what it got then. Where it asks for
//! something else, for example because an earlier choice was changed, the recorded answer is
//! repaired: the nearest legal value of the same kind, or the simplest one of another kind. What is
//! asked for beyond the end is [`After`]'s business.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::source::{Answer, fresh};
use super::{ChoiceNode, ChoiceSequence, Domain, Draw};
use crate::rng::Rng;

/// What follows the last recorded choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum After {
    /// Nothing: the generator is stopped.
    Stops,
    /// The simplest value of each domain.
    Simplest,
    /// Random values.
    Fresh(Rng),
}

/// Choices on their way to a generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    sequence: Arc<ChoiceSequence>,
    at: usize,
    payload_at: usize,
    after: After,
}

impl Replay {
    /// Gives these choices again. The sequence must be sound.
    pub fn new(sequence: Arc<ChoiceSequence>, after: After) -> Replay {
        Replay {
            sequence,
            at: 0,
            payload_at: 0,
            after,
        }
    }

    /// The input, if it is one as it stands.
    pub(super) fn text(&self) -> Option<&[u8]> {
        self.sequence.text()
    }

    /// The next three choices.
    pub(super) fn upcoming(&self) -> [Option<&ChoiceNode>; 3] {
        [0, 1, 2].map(|ahead| self.sequence.nodes.get(self.at + ahead))
    }

    /// Answers a draw with the next choice.
    #[inline]
    pub fn answer(&mut self, draw: &Draw, payload: &mut Vec<u8>) -> Option<Answer> {
        let Some(node) = self.sequence.nodes.get(self.at) else {
            return match &mut self.after {
                After::Stops => None,
                After::Simplest => Some(simplest(draw.domain, payload)),
                After::Fresh(rng) => Some(fresh(draw.domain, rng, payload)),
            };
        };
        self.at += 1;
        let old = match node.draw.domain {
            Domain::Bytes { .. } => {
                let from = self.payload_at;
                self.payload_at += node.value as usize;
                &self.sequence.payload[from..self.payload_at]
            }
            _ => &[],
        };
        if node.draw.domain == draw.domain {
            payload.extend_from_slice(old);
            return Some(Answer {
                bits: node.bits,
                value: node.value,
            });
        }
        Some(repair(
            node.draw.domain,
            node.value,
            old,
            draw.domain,
            payload,
        ))
    }
}

fn simplest(domain: Domain, payload: &mut Vec<u8>) -> Answer {
    let value = domain.simplest();
    if let Domain::Bytes { .. } = domain {
        payload.resize(payload.len() + value as usize, 0);
    }
    Answer { bits: value, value }
}

/// The value of `domain` nearest to one of another domain.
pub(super) fn repair(
    from: Domain,
    value: u64,
    old: &[u8],
    domain: Domain,
    payload: &mut Vec<u8>,
) -> Answer {
    let value = match (from, domain) {
        (Domain::Bool { .. }, Domain::Bool { .. }) if domain.has(value) => value,
        (Domain::Int { .. }, Domain::Int { lo, hi }) => {
            value.cast_signed().clamp(lo, hi).cast_unsigned()
        }
        (Domain::Float { .. }, Domain::Float { .. }) if domain.has(value) => value,
        (Domain::Bytes { .. }, Domain::Bytes { min, max }) => {
            let len = value.clamp(u64::from(min), u64::from(max));
            let kept = old.len().min(len as usize);
            payload.extend_from_slice(&old[..kept]);
            payload.resize(payload.len() + len as usize - kept, 0);
            return Answer {
                bits: len,
                value: len,
            };
        }
        _ => return simplest(domain, payload),
    };
    Answer { bits: value, value }
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;

    fn draw(domain: Domain) -> Draw {
        Draw {
            site: 0,
            role: Role::Unknown,
            domain,
        }
    }

    /// What a replay of one choice gives to another draw.
    fn repaired(from: Domain, value: i64, bytes: &[u8], to: Domain) -> (i64, Vec<u8>) {
        let sequence = ChoiceSequence {
            nodes: vec![ChoiceNode {
                draw: draw(from),
                bits: 0,
                value: value.cast_unsigned(),
            }],
            payload: bytes.to_vec(),
            spans: Vec::new(),
            ..ChoiceSequence::default()
        };
        assert!(sequence.is_sound());
        let mut replay = Replay::new(Arc::new(sequence), After::Stops);
        let mut payload = Vec::new();
        let answer = replay.answer(&draw(to), &mut payload).unwrap();
        assert!(to.has(answer.value));
        assert_eq!(replay.answer(&draw(to), &mut payload), None);
        (answer.value.cast_signed(), payload)
    }

    #[test]
    fn what_does_not_fit_is_repaired() {
        let int = |lo, hi| Domain::Int { lo, hi };
        let bytes = |min, max| Domain::Bytes { min, max };
        assert_eq!(repaired(int(0, 99), 42, b"", int(0, 99)).0, 42);
        assert_eq!(repaired(int(0, 99), 42, b"", int(0, 9)).0, 9);
        assert_eq!(repaired(int(0, 99), 42, b"", int(50, 99)).0, 50);
        assert_eq!(repaired(int(0, 99), 42, b"", bytes(2, 9)), (2, vec![0, 0]));
        assert_eq!(
            repaired(bytes(0, 9), 3, b"abc", bytes(0, 2)),
            (2, b"ab".to_vec())
        );
        assert_eq!(
            repaired(bytes(0, 9), 1, b"a", bytes(2, 2)),
            (2, b"a\0".to_vec())
        );
        let (no, yes) = (
            Domain::Bool { num: 0, den: 1 },
            Domain::Bool { num: 1, den: 1 },
        );
        assert_eq!(repaired(yes, 1, b"", no).0, 0);
        assert_eq!(repaired(int(0, 9), 5, b"", yes).0, 1);
    }

    #[test]
    fn after_the_end_comes_what_was_asked_for() {
        let empty = Arc::new(ChoiceSequence::default());
        let die = draw(Domain::Int { lo: 1, hi: 6 });
        let mut replay = Replay::new(empty.clone(), After::Simplest);
        assert_eq!(replay.answer(&die, &mut Vec::new()).unwrap().value, 1);
        let mut replay = Replay::new(empty, After::Fresh(Rng::new(1)));
        let values: Vec<u64> = (0..20)
            .map(|_| replay.answer(&die, &mut Vec::new()).unwrap().value)
            .collect();
        assert!(values.iter().any(|&value| value != values[0]), "{values:?}");
    }
}
