//! JQF's byte encoding: how many bytes each draw takes from a tape, and what they mean.
//!
//! The table of the versions up to 2024, with which all papers worked:
//!
//! | draw | bytes | value |
//! |---|---|---|
//! | boolean with even odds | 1 | the lowest bit |
//! | boolean with other odds, as JQF's generators write it | 4 | int in `[0, den)` below `num` |
//! | int in `[lo, hi]` of at most 2³¹ values | 4 | `next(31) mod n + lo`; the bias is part of it |
//! | the full range of a byte, short, int or long | 1, 2, 4, 8 | the bytes, little-endian |
//! | any other range | 8 | the bytes mod n, plus lo |
//! | float in `[lo, hi)` | 8 | 26 bits of the first word and 27 of the second, scaled |
//! | bytes, where their number is free | 8 + one each | geometric with mean 10, then the bytes |
//!
//! JQF's own ranges `[lo, hi]` never come to `hi`: [`Reading::OffByOne`]. Our contract says that they
//! do, so [`Reading::Whole`] is the default. JQF has no draw of bytes; the last line is its strings,
//! shortened by one so that the empty one is among them.

use serde::{Deserialize, Serialize};

use super::encode::bits_of;
use super::geometric::Geometric;
use super::source::Answer;
use super::strings::is_entry;
use super::{ChoiceSequence, Domain, Draw};
use crate::rng::Rng;

/// The longest tape: of JQF, and so of the papers.
pub const TAPE_BYTES_MAX: u32 = 10_240;

const LENGTHS: Geometric = Geometric::new(10);

/// What the bytes of a tape mean, where the papers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reading {
    /// The end of a range is part of it, as our contract has it.
    Whole,
    /// The end of a range never comes, as in JQF's source of randomness.
    OffByOne,
    /// The end of a range is part of it. Bytes are big-endian, a number that is in the range is kept,
    /// and a boolean is whether a signed byte is above nought.
    Zeugma,
}

/// What follows a tape's last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Random bytes, which become part of it.
    Extends,
    /// Nothing: the generator is stopped.
    Stops,
    /// Zeros, which become part of it.
    Zeros,
}

/// Bytes that draws are answered from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tape {
    bytes: Vec<u8>,
    at: usize,
    end: End,
    reading: Reading,
    rng: Rng,
}

impl Tape {
    /// A tape of these bytes; `rng` gives those that follow.
    pub fn new(bytes: Vec<u8>, end: End, reading: Reading, rng: Rng) -> Tape {
        Tape {
            bytes,
            at: 0,
            end,
            reading,
            rng,
        }
    }

    /// The next `count` bytes, at most 8, as a little-endian number.
    #[inline]
    fn read(&mut self, count: usize) -> Option<u64> {
        // Most reads are not near the end: one load, and what is too much is cut off.
        if let Some(ahead) = self.bytes.get(self.at..)
            && let Some(word) = ahead.first_chunk()
        {
            self.at += count;
            return Some(u64::from_le_bytes(*word) & (u64::MAX >> (64 - 8 * count)));
        }
        self.read_end(count)
    }

    #[cold]
    fn read_end(&mut self, count: usize) -> Option<u64> {
        let mut word = [0; 8];
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        if rest.len() >= count {
            word[..count].copy_from_slice(&rest[..count]);
        } else {
            if self.end == End::Stops {
                return None;
            }
            word[..rest.len()].copy_from_slice(rest);
            if self.end == End::Extends {
                let fresh = self.rng.word().to_le_bytes();
                word[rest.len()..count].copy_from_slice(&fresh[rest.len()..count]);
            }
        }
        self.at += count;
        Some(u64::from_le_bytes(word))
    }

    /// Answers a draw; bytes are appended to `payload`. Nothing if the tape has ended.
    #[inline]
    pub fn answer(&mut self, draw: &Draw, payload: &mut Vec<u8>) -> Option<Answer> {
        if let Domain::Int { lo, hi } = draw.domain
            && let Some(modulus) = small_modulus(lo, hi, self.reading)
        {
            let bits = self.read(4)?;
            let offset = next_31(bits) as u32 % modulus;
            let value = lo.wrapping_add(i64::from(offset)).cast_unsigned();
            return Some(Answer { bits, value });
        }
        let bits = match width(draw.domain) {
            0 => 0,
            count => self.read(count)?,
        };
        let value = decode(draw.domain, bits, self.reading);
        if let Domain::Bytes { .. } = draw.domain {
            let from = payload.len();
            for _ in 0..value {
                match self.read(1) {
                    Some(byte) => payload.push(byte as u8),
                    None => {
                        payload.truncate(from);
                        return None;
                    }
                }
            }
        }
        Some(Answer { bits, value })
    }
}

/// How many values a range has; 0 stands for 2⁶⁴.
#[inline]
fn size(lo: i64, hi: i64) -> u64 {
    hi.wrapping_sub(lo).wrapping_add(1).cast_unsigned()
}

/// What the 31 bits of an ordinary small range are taken modulo: nearly all draws are such, and are
/// answered without looking at what else there is. Nothing where [`decode`] has to look closer.
#[inline]
fn small_modulus(lo: i64, hi: i64, reading: Reading) -> Option<u32> {
    let size = size(lo, hi);
    let is_ordinary = (1..=0x8000_0000).contains(&size) && !matches!(size, 0x100 | 0x1_0000);
    match reading {
        Reading::Whole if is_ordinary => Some(size as u32),
        Reading::OffByOne if is_ordinary => Some((size as u32 - 1).max(1)),
        _ => None,
    }
}

/// Bytes that a draw takes from a tape, those of a payload not counted.
#[inline]
pub fn width(domain: Domain) -> usize {
    match domain {
        Domain::Bool { num, den } if even(num, den) => 1,
        Domain::Bool { .. } => 4,
        Domain::Int { lo, hi } => match size(lo, hi) {
            0 => 8,
            0x100 if lo == 0 || lo == -0x80 => 1,
            0x1_0000 if lo == 0 || lo == -0x8000 => 2,
            0x1_0000_0000 if lo == 0 || lo == -0x8000_0000 => 4,
            1..=0x8000_0000 => 4,
            _ => 8,
        },
        Domain::Float { .. } => 8,
        Domain::Bytes { min, max } if min == max => 0,
        Domain::Bytes { .. } => 8,
    }
}

#[inline]
fn even(num: u32, den: u32) -> bool {
    u64::from(num) * 2 == u64::from(den)
}

/// `next(31)` of JQF, from four bytes.
#[inline]
fn next_31(bits: u64) -> u64 {
    bits & 0x7fff_ffff
}

/// What [`width`] bytes mean for a possible domain.
#[inline]
pub fn decode(domain: Domain, bits: u64, reading: Reading) -> u64 {
    match reading {
        Reading::Whole => decode_jqf(domain, bits, false),
        Reading::OffByOne => decode_jqf(domain, bits, true),
        Reading::Zeugma => decode_zeugma(domain, bits),
    }
}

#[inline]
fn decode_jqf(domain: Domain, bits: u64, off_by_one: bool) -> u64 {
    match domain {
        Domain::Bool { num, den } if even(num, den) => bits & 1,
        // More than `next(31)` has, and than JQF asks for: all of the four bytes.
        Domain::Bool { num, den } if den > 1 << 31 => {
            u64::from((bits & 0xffff_ffff) % u64::from(den) < u64::from(num))
        }
        Domain::Bool { num, den } => u64::from(next_31(bits) % u64::from(den) < u64::from(num)),
        Domain::Int { lo, hi } => {
            let size = size(lo, hi);
            let offset = match (size, width(domain)) {
                (0, _) => return bits,
                // The full range of a smaller type: the bytes are the two's complement.
                (0x100, 1) if lo < 0 => (bits as i8 as i64).wrapping_sub(lo).cast_unsigned(),
                (0x1_0000, 2) if lo < 0 => (bits as i16 as i64).wrapping_sub(lo).cast_unsigned(),
                (0x1_0000_0000, 4) if lo < 0 => {
                    (bits as i32 as i64).wrapping_sub(lo).cast_unsigned()
                }
                (_, 1 | 2) | (0x1_0000_0000, 4) => bits,
                (_, width) => {
                    let bits = if width == 4 { next_31(bits) } else { bits };
                    modulo(bits, if off_by_one { (size - 1).max(1) } else { size })
                }
            };
            lo.wrapping_add_unsigned(offset).cast_unsigned()
        }
        Domain::Float { lo, hi } => {
            let (lo, hi) = (f64::from_bits(lo), f64::from_bits(hi));
            let unit = double_bits(bits) as f64 / (1u64 << 53) as f64;
            let value = lo + unit * (hi - lo);
            // Rounding may reach the bound, which is not part of the interval.
            let value = if value < hi { value } else { lo };
            value.to_bits()
        }
        Domain::Bytes { min, max } if min == max => u64::from(min),
        Domain::Bytes { min, max } => {
            let length = u64::from(min) + u64::from(LENGTHS.of_bits(double_bits(bits))) - 1;
            length.min(u64::from(max))
        }
    }
}

/// As Zeugma does, but that what is out of range is reduced as a signed number, and a word of its source as an unsigned one: other
/// values, as likely. What it has no word for (odds that are not even, floats, lengths) is as
/// in JQF, from the bytes in its order.
fn decode_zeugma(domain: Domain, bits: u64) -> u64 {
    let width = width(domain);
    if width == 0 {
        return decode_jqf(domain, bits, false);
    }
    let unused = 64 - 8 * width as u32;
    let bits = bits.swap_bytes() >> unused;
    let signed = (bits << unused).cast_signed() >> unused;
    match domain {
        Domain::Bool { num, den } if even(num, den) => u64::from(signed > 0),
        Domain::Int { lo, hi } if (lo..=hi).contains(&signed) => signed.cast_unsigned(),
        Domain::Int { lo, hi } => {
            // Not the whole of 64 bits, which has every number: the size fits.
            let offset = i128::from(signed).rem_euclid(i128::from(size(lo, hi)));
            lo.wrapping_add_unsigned(offset as u64).cast_unsigned()
        }
        _ => decode_jqf(domain, bits, false),
    }
}

/// `a % b`; dividing 64 bits takes several times as long as dividing 32.
#[inline]
fn modulo(a: u64, b: u64) -> u64 {
    match (u32::try_from(a), u32::try_from(b)) {
        (Ok(a), Ok(b)) => u64::from(a % b),
        _ => a % b,
    }
}

/// The 53 bits of a double: `next(26) << 27 | next(27)`.
fn double_bits(bits: u64) -> u64 {
    (bits & 0x3ff_ffff) << 27 | (bits >> 32) & 0x7ff_ffff
}

/// The bytes from which some draws of a sequence were decoded: a tape without what was never asked
/// for, and without texts that were copied from a table of strings. What no tape answered is encoded, to be read so.
pub fn tape_of(
    sequence: &ChoiceSequence,
    reading: Reading,
    has: impl Fn(&Draw) -> bool,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sequence.nodes.len() * 4 + sequence.payload.len());
    for (node, payload) in sequence.iter() {
        if has(&node.draw) {
            let bits = bits_of(node, reading);
            bytes.extend_from_slice(&bits.to_le_bytes()[..width(node.draw.domain)]);
            if !is_entry(&node.draw) {
                bytes.extend_from_slice(payload);
            }
        }
    }
    bytes
}

/// Where each draw's bytes begin in [`tape_of`] all draws, and where those of the last end.
pub fn tape_starts(sequence: &ChoiceSequence) -> Vec<u32> {
    let mut starts = Vec::with_capacity(sequence.nodes.len() + 1);
    let mut end = 0;
    starts.push(end);
    for (node, payload) in sequence.iter() {
        end += width(node.draw.domain) as u32;
        if !is_entry(&node.draw) {
            end += payload.len() as u32;
        }
        starts.push(end);
    }
    starts
}

/// The length of [`tape_of`] all draws.
pub fn tape_bytes(sequence: &ChoiceSequence) -> u32 {
    let widths = sequence.nodes.iter().map(|node| width(node.draw.domain));
    let entries = sequence.nodes.iter().filter(|node| is_entry(&node.draw));
    let copied = entries.map(|node| node.value as usize).sum::<usize>();
    (widths.sum::<usize>() + sequence.payload.len() - copied) as u32
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;

    fn tape(bytes: &[u8]) -> Tape {
        Tape::new(bytes.to_vec(), End::Stops, Reading::Whole, Rng::new(0))
    }

    fn draw(domain: Domain) -> Draw {
        Draw {
            site: 0,
            role: Role::Unknown,
            domain,
        }
    }

    fn int(lo: i64, hi: i64) -> Domain {
        Domain::Int { lo, hi }
    }

    /// Conformance item 1: the table, on fixed byte strings.
    #[test]
    fn bytes_are_accounted_for_as_in_jqf() {
        let half = Domain::Bool { num: 1, den: 2 };
        let long = int(i64::MIN, i64::MAX);
        let minus_two = (-2i64).cast_unsigned();
        for (domain, bytes, value) in [
            (half, &[0xfe][..], 0),
            (half, &[0x03], 1),
            (Domain::Bool { num: 3, den: 10 }, &[12, 0, 0, 0], 1),
            (Domain::Bool { num: 3, den: 10 }, &[13, 0, 0, 0], 0),
            (
                Domain::Bool {
                    num: 3_000_000_000,
                    den: 4_000_000_000,
                },
                &[0, 0, 0, 0xe0],
                0,
            ),
            // next(31) drops the highest bit, and n = 1 takes its four bytes as well.
            (int(0, 9), &[0x0d, 0, 0, 0x80], 3),
            (int(5, 5), &[1, 2, 3, 4], 5),
            (int(10, 16), &[8, 0, 0, 0], 11),
            // A power of two up to 256 depends on the first byte alone.
            (int(0, 15), &[0xab, 0xff, 0xff, 0xff], 0xb),
            (int(-128, 127), &[0xfe], minus_two),
            (int(0, 255), &[0xfe], 0xfe),
            (int(-0x8000, 0x7fff), &[0xfe, 0xff], minus_two),
            (
                int(-0x8000_0000, 0x7fff_ffff),
                &[0xfe, 0xff, 0xff, 0xff],
                minus_two,
            ),
            (int(0, 0xffff_ffff), &[0xfe, 0xff, 0xff, 0xff], 0xffff_fffe),
            (long, &[0xfe, 255, 255, 255, 255, 255, 255, 255], minus_two),
            // 2^40 + 1 values.
            (int(0, 1 << 40), &[1, 0, 0, 0, 0, 1, 0, 0], 0),
            (
                Domain::float(0.0, 1.0),
                &[0, 0, 0, 2, 0, 0, 0, 0],
                0.5f64.to_bits(),
            ),
            (
                Domain::float(0.0, 1.0),
                &[0, 0, 0, 2, 0, 0, 0, 8],
                0.5f64.to_bits(),
            ),
            (Domain::Bytes { min: 2, max: 2 }, b"ab", 2),
            (
                Domain::Bytes { min: 0, max: 9 },
                &[0, 0, 0, 0, 0, 0, 0, 0],
                0,
            ),
        ] {
            let mut tape = tape(bytes);
            let answer = tape.answer(&draw(domain), &mut Vec::new()).unwrap();
            assert_eq!(tape.at, bytes.len(), "{domain:?}");
            assert_eq!(answer.value, value, "{domain:?} {bytes:?}");
        }
    }

    #[test]
    fn a_range_of_jqf_never_comes_to_its_end() {
        let letters = int(i64::from(b'a'), i64::from(b'z'));
        let all = |reading| {
            (0..10_000u64)
                .map(|bits| decode(letters, bits, reading) as u8)
                .max()
        };
        assert_eq!(all(Reading::Whole), Some(b'z'));
        assert_eq!(all(Reading::OffByOne), Some(b'y'));
        assert_eq!(decode(int(3, 3), 9, Reading::OffByOne), 3);
    }

    #[test]
    fn what_follows_the_tape_is_random_and_recorded() {
        let mut payload = Vec::new();
        let byte = draw(int(0, 255));
        let mut ended = tape(&[7]);
        assert_eq!(ended.answer(&byte, &mut payload).unwrap().value, 7);
        assert_eq!(ended.answer(&byte, &mut payload), None);
        let mut zeros = Tape::new(vec![7], End::Zeros, Reading::Whole, Rng::new(0));
        let long = draw(int(0, 0xffff_ffff));
        assert_eq!(zeros.answer(&long, &mut payload).unwrap().value, 7);
        assert_eq!(zeros.answer(&long, &mut payload).unwrap().value, 0);

        let mut tape = Tape::new(vec![7], End::Extends, Reading::Whole, Rng::new(1));
        let mut sequence = ChoiceSequence::default();
        for domain in [
            int(0, 255),
            int(0, 99),
            Domain::Bytes { min: 0, max: 50 },
            Domain::float(-1.0, 1.0),
        ] {
            let draw = draw(domain);
            let Answer { bits, value } = tape.answer(&draw, &mut sequence.payload).unwrap();
            assert!(domain.has(value), "{domain:?} {value}");
            sequence
                .nodes
                .push(super::super::ChoiceNode { draw, bits, value });
        }
        let bytes = tape_of(&sequence, Reading::Whole, |_| true);
        assert_eq!(tape_bytes(&sequence) as usize, bytes.len());
        assert_eq!(bytes[0], 7);
        let mut again = Tape::new(bytes.clone(), End::Stops, Reading::Whole, Rng::new(9));
        let mut payload = Vec::new();
        for node in &sequence.nodes {
            let answer = again.answer(&node.draw, &mut payload).unwrap();
            assert_eq!((answer.bits, answer.value), (node.bits, node.value));
        }
        assert_eq!((again.at, payload), (bytes.len(), sequence.payload));
    }

    /// What is answered in short is what is answered at length.
    #[test]
    fn small_ranges_are_decoded_as_all_others() {
        let mut rng = Rng::new(7);
        let mut short = 0;
        for _ in 0..20_000 {
            let size = 1 + (rng.word() >> (32 + rng.below(32)));
            let lo = (rng.word() >> rng.below(64)).cast_signed();
            let Some(hi) = lo.checked_add_unsigned(size - 1) else {
                continue;
            };
            let bytes = rng.word().to_le_bytes();
            for reading in [Reading::Whole, Reading::OffByOne, Reading::Zeugma] {
                let mut tape = Tape::new(bytes.to_vec(), End::Stops, reading, Rng::new(0));
                let answer = tape.answer(&draw(int(lo, hi)), &mut Vec::new()).unwrap();
                assert_eq!(tape.at, width(int(lo, hi)), "{lo} {hi}");
                assert_eq!(answer.value, decode(int(lo, hi), answer.bits, reading));
                short += u32::from(small_modulus(lo, hi, reading).is_some());
            }
        }
        assert!(short > 20_000, "{short}");
    }

    #[test]
    fn every_answer_is_in_its_domain() {
        let mut rng = Rng::new(3);
        for _ in 0..20_000 {
            let (a, b) = (
                rng.word() as i64 >> rng.below(64),
                rng.word() as i64 >> rng.below(64),
            );
            let (lo, hi) = (a.min(b), a.max(b));
            for reading in [Reading::Whole, Reading::OffByOne, Reading::Zeugma] {
                let value = decode(int(lo, hi), rng.word(), reading);
                assert!(int(lo, hi).has(value), "{lo} {hi} {value}");
            }
            let domain = Domain::float(lo as f64, hi as f64);
            assert!(domain.has(decode(domain, rng.word(), Reading::Whole)));
        }
    }

    /// Bytes in the order of the tape, and what Zeugma takes them for.
    #[test]
    fn zeugma_reads_big_endian_and_keeps_what_is_in_range() {
        let read = |bytes: [u8; 8], domain| {
            let bits = u64::from_le_bytes(bytes) & (u64::MAX >> (64 - 8 * width(domain)));
            decode(domain, bits, Reading::Zeugma).cast_signed()
        };
        let word = |value: i32| {
            let [a, b, c, d] = value.to_be_bytes();
            [a, b, c, d, 0, 0, 0, 0]
        };
        assert_eq!(read(word(42), int(40, 50)), 42);
        assert_eq!(read(word(60), int(40, 50)), 40 + 60 % 11);
        assert_eq!(read(word(-1), int(0, 9)), 9);
        assert_eq!(read(word(-7), int(-10, 10)), -7);
        assert_eq!(read([0xff; 8], int(-0x80, 0x7f)), -1);
        assert_eq!(read([0xff; 8], int(0, 0xff)), 0xff);
        let all = int(i64::MIN, i64::MAX);
        assert_eq!(read([0, 0, 0, 0, 0, 0, 1, 2], all), 0x102);
        let coin = Domain::Bool { num: 1, den: 2 };
        for (byte, expected) in [(0, 0), (1, 1), (0x7f, 1), (0x80, 0), (0xff, 0)] {
            assert_eq!(read([byte; 8], coin), expected, "{byte}");
        }
    }
}
