//! Choices: what a generator asked for, and what it was given.
//!
//! A generator draws typed values; a [`Source`] answers; a [`Drawing`] holds the two together during
//! one trial and records what happened as a [`ChoiceSequence`]. The sequence is the input: given it
//! again, the generator makes the same data. Bytes, as in the papers, are a way to write one down
//! ([`jqf`]), and values with their domains are another ([`replay`]).
//!
//! In: draws. Out: answers, and the record. This module knows neither wasm nor guidances.

pub mod aim;
pub mod crossover;
pub mod drawing;
pub mod edit;
mod encode;
pub mod geometric;
pub mod hints;
pub mod indexed;
pub mod influence;
pub mod jqf;
pub mod known;
mod numbers;
pub mod packed;
pub mod paths;
pub mod plan;
pub mod policy;
mod pool;
pub mod replay;
pub mod sites;
pub mod solve;
pub mod source;
pub mod split;
pub mod strings;
pub mod text;
mod texts;
pub mod tree;
pub mod typed;
mod whole;

use serde::{Deserialize, Serialize};

pub use drawing::{Drawing, Stop};
pub use packed::Packed;
pub use paths::Paths;
pub use plan::ChoicePlan;
pub use source::{Answer, Source};

/// What a draw decides, as far as its author says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    /// Nobody said.
    Unknown,
    /// Later draws depend on it.
    Structure,
    /// Nothing but the data depends on it.
    Value,
    /// It is the whole input, and no guest's draw: see [`ChoiceSequence::text`].
    Text,
}

impl Role {
    /// The role of a code of the contract; codes that it does not have mean that nobody said.
    pub fn from_code(code: i32) -> Role {
        match code {
            1 => Role::Structure,
            2 => Role::Value,
            _ => Role::Unknown,
        }
    }

    /// For reports.
    pub fn name(self) -> &'static str {
        match self {
            Role::Unknown => "unknown",
            Role::Structure => "structure",
            Role::Value => "value",
            Role::Text => "text",
        }
    }
}

/// What a draw may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Domain {
    /// True with probability `num / den`.
    Bool {
        /// How many cases.
        num: u32,
        /// Of how many.
        den: u32,
    },
    /// Each number from `lo` to `hi` alike.
    Int {
        /// The least.
        lo: i64,
        /// The greatest.
        hi: i64,
    },
    /// Uniform from `lo` up to and without `hi`; both as their bits, because states hold no floats.
    Float {
        /// The least, as bits.
        lo: u64,
        /// The bound, as bits.
        hi: u64,
    },
    /// Bytes, between `min` and `max` of them.
    Bytes {
        /// The fewest.
        min: u32,
        /// The most.
        max: u32,
    },
}

impl Domain {
    /// A domain of floats.
    pub fn float(lo: f64, hi: f64) -> Domain {
        Domain::Float {
            lo: lo.to_bits(),
            hi: hi.to_bits(),
        }
    }

    /// Whether there is anything to choose from. An interval of floats must be finite, and may be a
    /// single number.
    #[inline]
    pub fn is_possible(self) -> bool {
        match self {
            Domain::Bool { num, den } => den > 0 && num <= den,
            Domain::Int { lo, hi } => lo <= hi,
            Domain::Float { lo, hi } => {
                let (lo, hi) = (f64::from_bits(lo), f64::from_bits(hi));
                lo <= hi && (hi - lo).is_finite()
            }
            Domain::Bytes { min, max } => min <= max,
        }
    }

    /// Whether a value, as a [`ChoiceNode`] has it, is one of this domain.
    pub fn has(self, value: u64) -> bool {
        match self {
            Domain::Bool { num, den } => match value {
                0 => num < den,
                1 => num > 0,
                _ => false,
            },
            Domain::Int { lo, hi } => (lo..=hi).contains(&value.cast_signed()),
            Domain::Float { lo, hi } => {
                let value = f64::from_bits(value);
                let (lo, hi) = (f64::from_bits(lo), f64::from_bits(hi));
                value >= lo && (value < hi || value == lo)
            }
            Domain::Bytes { min, max } => (u64::from(min)..=u64::from(max)).contains(&value),
        }
    }

    /// The value that shrinking tends to: false, the number nearest to 0, the fewest bytes.
    pub fn simplest(self) -> u64 {
        match self {
            Domain::Bool { num, den } => u64::from(num == den),
            Domain::Int { lo, hi } => 0.clamp(lo, hi).cast_unsigned(),
            Domain::Float { lo, .. } => {
                let zero = 0f64.to_bits();
                if self.has(zero) { zero } else { lo }
            }
            Domain::Bytes { min, .. } => u64::from(min),
        }
    }
}

/// What a generator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Draw {
    /// Where in the generator, as its author numbers the places.
    pub site: u32,
    /// What it decides.
    pub role: Role,
    /// What it may come to.
    pub domain: Domain,
}

/// One draw and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceNode {
    /// What was asked for.
    pub draw: Draw,
    /// What the answer was decoded from; sources that do not decode give the value again.
    pub bits: u64,
    /// The answer: 0 or 1, a number's two's complement, a float's bits, or how many bytes.
    pub value: u64,
}

/// Draws that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The label's id: a hash of its text.
    pub label: u32,
    /// The first node.
    pub first: u32,
    /// One past the last node.
    pub end: u32,
    /// How many spans enclose it.
    pub depth: u32,
    /// Whether the generator threw its result away.
    pub discarded: bool,
}

/// Everything that a generator drew in one run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceSequence {
    /// The draws.
    pub nodes: Vec<ChoiceNode>,
    /// What draws of bytes came to, one after the other.
    pub payload: Vec<u8>,
    /// The spans, in the order in which they were opened.
    pub spans: Vec<Span>,
    /// Where each draw happened, if that was asked for. It follows from the rest, and is not stored.
    #[serde(skip)]
    pub paths: Paths,
}

impl ChoiceSequence {
    /// The nodes with the bytes that each of them drew, which are none unless it drew bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&ChoiceNode, &[u8])> {
        let mut at = 0;
        self.nodes.iter().map(move |node| {
            let len = match node.draw.domain {
                Domain::Bytes { .. } => node.value as usize,
                _ => 0,
            };
            at += len;
            (node, &self.payload[at - len..at])
        })
    }

    /// The same without what is not stored.
    pub(crate) fn to_keep(&self) -> ChoiceSequence {
        ChoiceSequence {
            paths: Paths::default(),
            nodes: self.nodes.clone(),
            payload: self.payload.clone(),
            spans: self.spans.clone(),
        }
    }

    /// Whether it could have been recorded: every value is in its domain, the payload is what the
    /// nodes say, spans lie within, and a text stands alone. For sequences that come from a file.
    pub fn is_sound(&self) -> bool {
        let mut payload = 0u64;
        for node in &self.nodes {
            if node.draw.role == Role::Text && self.text().is_none() {
                return false;
            }
            let domain = node.draw.domain;
            if !domain.is_possible() || !domain.has(node.value) {
                return false;
            }
            if let Domain::Bytes { .. } = domain {
                payload += node.value;
            }
        }
        let end = self.nodes.len() as u32;
        let fits = |span: &Span| span.first <= span.end && span.end <= end;
        payload == self.payload.len() as u64 && self.spans.iter().all(fits)
    }

    /// The same draws with the same answers, whatever they were decoded from.
    pub fn same_choices(&self, other: &ChoiceSequence) -> bool {
        let key = |node: &ChoiceNode| (node.draw, node.value);
        self.payload == other.payload
            && self.spans == other.spans
            && self.nodes.len() == other.nodes.len()
            && (self.nodes.iter().map(key)).eq(other.nodes.iter().map(key))
    }
}

#[cfg(test)]
impl ChoiceSequence {
    /// A draw of a byte for each of these, at a place of its own, with spans: label, first, end, depth.
    pub(crate) fn of_bytes(bytes: &[u8], spans: &[(u32, u32, u32, u32)]) -> ChoiceSequence {
        let mut choices = ChoiceSequence::default();
        for (&byte, nth) in bytes.iter().zip(1..) {
            choices
                .paths
                .push(std::iter::once(paths::Step { call: 7, nth }));
            choices.nodes.push(ChoiceNode {
                draw: Draw {
                    site: 0,
                    role: Role::Unknown,
                    domain: Domain::Int { lo: 0, hi: 255 },
                },
                bits: byte.into(),
                value: byte.into(),
            });
        }
        let span = |&(label, first, end, depth): &_| Span {
            label,
            first,
            end,
            depth,
            discarded: false,
        };
        choices.spans.extend(spans.iter().map(span));
        choices
    }
}

/// A label's id: the same for the same text, in every run and on every machine. 31 bits, so that it
/// is no negative number in wasm. FNV-1a.
pub fn label_id(text: &[u8]) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in text {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    ((hash ^ (hash >> 32)) & 0x7fff_ffff) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_domains_are_known() {
        for (domain, possible) in [
            (Domain::Bool { num: 0, den: 0 }, false),
            (Domain::Bool { num: 2, den: 1 }, false),
            (Domain::Bool { num: 0, den: 1 }, true),
            (Domain::Int { lo: 1, hi: 0 }, false),
            (
                Domain::Int {
                    lo: i64::MIN,
                    hi: i64::MAX,
                },
                true,
            ),
            (Domain::float(0.0, 0.0), true),
            (Domain::float(1.0, 0.0), false),
            (Domain::float(f64::NAN, 0.0), false),
            (Domain::float(f64::MIN, f64::MAX), false),
            (Domain::Bytes { min: 2, max: 1 }, false),
        ] {
            assert_eq!(domain.is_possible(), possible, "{domain:?}");
            if possible {
                assert!(domain.has(domain.simplest()), "{domain:?}");
            }
        }
    }

    #[test]
    fn the_simplest_is_near_nought() {
        let int = |lo, hi| Domain::Int { lo, hi }.simplest().cast_signed();
        assert_eq!((int(-5, 5), int(3, 9), int(-9, -3)), (0, 3, -3));
        assert_eq!(Domain::Bool { num: 1, den: 2 }.simplest(), 0);
        assert_eq!(Domain::Bool { num: 1, den: 1 }.simplest(), 1);
    }

    #[test]
    fn labels_are_a_function_of_their_text() {
        assert_eq!(label_id(b"element"), label_id(b"element"));
        assert_ne!(label_id(b"element"), label_id(b"text"));
        assert!(label_id(b"anything") <= i32::MAX as u32);
    }
}
