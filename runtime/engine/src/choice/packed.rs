//! Packed: a record of choices in few bytes, for what is kept and seldom read.
//!
//! In: a record. Out: the same again. A corpus holds a record for each of its testcases, for as long as the campaign lasts, and
//! most of them are read once or twice. As nodes a choice takes 56 bytes and a span 20; packed a choice of JavaScript takes
//! five, spans included: the draws of a generator are few, so each is written down once, and numbers are as long as they have
//! to be.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ChoiceNode, ChoiceSequence, Domain, Draw, Paths, Role, Span};

/// A record of choices. What is read from a file is sound ([`ChoiceSequence::is_sound`]), or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Packed(Arc<[u8]>);

impl Packed {
    /// Packs a record. [`ChoiceSequence::paths`] follow from the rest, and are left out.
    pub fn new(choices: &ChoiceSequence) -> Packed {
        let mut to = Writer::default();
        let mut draws = BTreeMap::new();
        to.number(choices.nodes.len() as u64);
        for node in &choices.nodes {
            let is_plain = node.bits == node.value;
            to.known(&mut draws, node.draw, is_plain, Writer::draw);
            to.signed(node.value);
            if !is_plain {
                to.number(node.bits);
            }
        }
        to.number(choices.payload.len() as u64);
        to.0.extend_from_slice(&choices.payload);
        let mut labels = BTreeMap::new();
        let mut before = 0;
        to.number(choices.spans.len() as u64);
        for span in &choices.spans {
            to.known(&mut labels, span.label, span.discarded, |to, label| {
                to.number(label.into());
            });
            // What is recorded begins in order and ends after it begins; anything else takes more bytes, and comes out the same.
            to.number(u64::from(span.first).wrapping_sub(before));
            to.number(u64::from(span.end).wrapping_sub(span.first.into()));
            to.number(span.depth.into());
            before = span.first.into();
        }
        Packed(to.0.into())
    }

    /// How many bytes it takes.
    pub fn size(&self) -> usize {
        self.0.len()
    }

    /// The record, without paths.
    pub fn unpack(&self) -> ChoiceSequence {
        read(&self.0).expect("it was packed, or read once before")
    }
}

impl From<Packed> for Vec<u8> {
    fn from(packed: Packed) -> Vec<u8> {
        packed.0.to_vec()
    }
}

impl TryFrom<Vec<u8>> for Packed {
    type Error = &'static str;

    fn try_from(bytes: Vec<u8>) -> Result<Packed, &'static str> {
        let is_sound = read(&bytes).is_some_and(|choices| choices.is_sound());
        match is_sound {
            true => Ok(Packed(bytes.into())),
            false => Err("damaged choices"),
        }
    }
}

/// Nothing if these are no packed choices.
fn read(bytes: &[u8]) -> Option<ChoiceSequence> {
    let mut from = Reader(bytes);
    let mut draws = Vec::new();
    // A node and a span take two bytes at least, so a length that lies cannot ask for much.
    let nodes = from.length()?;
    let nodes = (0..nodes).map(|_| {
        let (draw, is_plain) = from.known(&mut draws, Reader::draw)?;
        let value = from.signed()?;
        let bits = match is_plain {
            true => value,
            false => from.number()?,
        };
        Some(ChoiceNode { draw, bits, value })
    });
    let nodes = nodes.collect::<Option<Vec<_>>>()?;
    let payload = from.length()?;
    let payload = from.take(payload)?.to_vec();
    let mut labels = Vec::new();
    let mut before = 0u64;
    let spans = from.length()?;
    let spans = (0..spans).map(|_| {
        let (label, discarded) = from.known(&mut labels, Reader::small)?;
        before = before.wrapping_add(from.number()?);
        let end = before.wrapping_add(from.number()?);
        Some(Span {
            label,
            first: u32::try_from(before).ok()?,
            end: u32::try_from(end).ok()?,
            depth: from.small()?,
            discarded,
        })
    });
    let spans = spans.collect::<Option<Vec<_>>>()?;
    from.0.is_empty().then_some(ChoiceSequence {
        nodes,
        payload,
        spans,
        paths: Paths::default(),
    })
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    /// Seven bits a byte, the lowest first; the eighth says that there are more.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A number in two's complement: small ones of both signs are short.
    fn signed(&mut self, number: u64) {
        let sign = (number.cast_signed() >> 63).cast_unsigned();
        self.number(number << 1 ^ sign);
    }

    /// A thing by its number, with a flag; a new one follows its number.
    fn known<T: Ord + Copy>(
        &mut self,
        known: &mut BTreeMap<T, u64>,
        thing: T,
        flag: bool,
        write: impl FnOnce(&mut Writer, T),
    ) {
        let next = known.len() as u64;
        let number = *known.entry(thing).or_insert(next);
        self.number(number << 1 | u64::from(flag));
        if number == next {
            write(self, thing);
        }
    }

    fn draw(&mut self, draw: Draw) {
        self.number(draw.site.into());
        let (kind, lo, hi) = match draw.domain {
            Domain::Bool { num, den } => (0, num.into(), den.into()),
            Domain::Int { lo, hi } => (1, lo.cast_unsigned(), hi.cast_unsigned()),
            Domain::Float { lo, hi } => (2, lo, hi),
            Domain::Bytes { min, max } => (3, min.into(), max.into()),
        };
        let role = match draw.role {
            Role::Unknown => 0,
            Role::Structure => 1,
            Role::Value => 2,
            Role::Text => 3,
        };
        self.0.push(kind << 2 | role);
        self.signed(lo);
        self.signed(hi);
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = *self.take(1)? else { return None };
            let part = u64::from(byte & 0x7f);
            // The last byte has one bit.
            if part << shift >> shift != part {
                return None;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<u64> {
        let number = self.number()?;
        Some(number >> 1 ^ (number & 1).wrapping_neg())
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// How many of something follow that takes a byte at least.
    fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(self.number()?).ok()?;
        (length <= self.0.len()).then_some(length)
    }

    fn known<T: Copy>(
        &mut self,
        known: &mut Vec<T>,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<(T, bool)> {
        let number = self.number()?;
        let index = usize::try_from(number >> 1).ok()?;
        if index == known.len() {
            known.push(read(self)?);
        }
        Some((*known.get(index)?, number & 1 == 1))
    }

    fn draw(&mut self) -> Option<Draw> {
        let site = self.small()?;
        let [kind] = *self.take(1)? else { return None };
        let (lo, hi) = (self.signed()?, self.signed()?);
        let small = |number: u64| u32::try_from(number).ok();
        let domain = match kind >> 2 {
            0 => Domain::Bool {
                num: small(lo)?,
                den: small(hi)?,
            },
            1 => Domain::Int {
                lo: lo.cast_signed(),
                hi: hi.cast_signed(),
            },
            2 => Domain::Float { lo, hi },
            3 => Domain::Bytes {
                min: small(lo)?,
                max: small(hi)?,
            },
            _ => return None,
        };
        let role = match kind & 3 {
            0 => Role::Unknown,
            1 => Role::Structure,
            2 => Role::Value,
            _ => Role::Text,
        };
        Some(Draw { site, role, domain })
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawing::Drawing;
    use super::super::jqf::{End, Reading, Tape};
    use super::super::source::Source;
    use super::*;
    use crate::rng::Rng;

    fn domain(rng: &mut Rng) -> Domain {
        let int = |lo, hi| Domain::Int { lo, hi };
        match rng.index(6) {
            0 => Domain::Bool { num: 1, den: 3 },
            1 => int(-7, 300),
            2 => int(i64::MIN, i64::MAX),
            3 => Domain::float(-1.5, 2.5),
            4 => Domain::Bytes { min: 0, max: 9 },
            _ => int(0, rng.index(500) as i64),
        }
    }

    /// What a hundred steps at random draw, from nothing or from a tape, whose bits are not the values.
    fn record(seed: u64) -> ChoiceSequence {
        let mut rng = Rng::new(seed);
        let fresh = Rng::new(rng.word());
        let source = match rng.index(2) {
            0 => Source::Fresh(fresh),
            _ => {
                let tape = (0..200).map(|_| rng.word() as u8).collect();
                Source::Tape(Tape::new(tape, End::Extends, Reading::OffByOne, fresh))
            }
        };
        let mut drawing = Drawing::new(source, 10_000);
        for _ in 0..rng.index(200) {
            match rng.index(4) {
                0 => drawing
                    .open([3, 0x7fff_ffff][rng.index(2)])
                    .expect("there is room"),
                1 => drawing.close(rng.index(5) == 0),
                _ => {
                    let role = [Role::Unknown, Role::Structure, Role::Value][rng.index(3)];
                    let drawn = drawing.draw(rng.index(5) as u32, role, domain(&mut rng));
                    drawn.expect("there is room");
                }
            }
        }
        drawing.finish()
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        for seed in 0..300 {
            let choices = record(seed);
            let packed = Packed::new(&choices);
            assert_eq!(packed.unpack(), choices, "seed {seed}");
            let bytes = Vec::from(packed.clone());
            assert_eq!(Packed::try_from(bytes), Ok(packed), "seed {seed}");
        }
    }

    /// Cut or changed anywhere it is refused, or is another sound record.
    #[test]
    fn damage_is_refused() {
        let bytes = Vec::from(Packed::new(&record(7)));
        assert!(bytes.len() > 100);
        for end in 0..bytes.len() {
            assert!(Packed::try_from(bytes[..end].to_vec()).is_err(), "{end}");
        }
        let mut rng = Rng::new(1);
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] = rng.word() as u8;
            if let Ok(packed) = Packed::try_from(bytes) {
                assert!(packed.unpack().is_sound(), "{at}");
            }
        }
        let many = [0xff, 0xff, 0xff, 0xff, 0x0f];
        assert!(Packed::try_from(many.to_vec()).is_err());
    }

    /// A hundred numbers below 128 of one kind in a span.
    #[test]
    fn a_choice_takes_two_bytes() {
        let source = Source::Fresh(Rng::new(1));
        let mut drawing = Drawing::new(source, 10_000);
        drawing.open(9).expect("there is room");
        for _ in 0..100 {
            drawing.int(0, Role::Value, 0, 60).expect("there is room");
        }
        let packed = Packed::new(&drawing.finish());
        assert!(packed.size() < 220, "{}", packed.size());
    }
}
