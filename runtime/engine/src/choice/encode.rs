//! Encoding: the bytes of a tape that stand for a value which no tape gave.
//!
//! In: a choice, and how tapes are read. Out: what [`decode`] makes the choice's value of. Choices that another campaign
//! made come as values, and so does what a replay had to repair; a guidance of tapes makes a tape of them.

use super::jqf::{Reading, decode, width};
use super::strings::is_entry;
use super::{ChoiceNode, Domain};

/// How many bits a double or a length is made of.
const DOUBLE_BITS: u32 = 53;

/// What a tape has for a choice: what it was decoded from, or what would be decoded to its value; where nothing is, as at the end
/// of a range that [`Reading::OffByOne`] does not reach, the nearest. An entry of a table of strings is as it was.
pub(super) fn bits_of(node: &ChoiceNode, reading: Reading) -> u64 {
    let domain = node.draw.domain;
    match is_entry(&node.draw) || decode(domain, node.bits, reading) == node.value {
        true => node.bits,
        false => encode(domain, node.value, reading),
    }
}

fn encode(domain: Domain, value: u64, reading: Reading) -> u64 {
    match reading {
        Reading::Whole | Reading::OffByOne => encode_jqf(domain, value, reading),
        Reading::Zeugma => encode_zeugma(domain, value),
    }
}

fn encode_jqf(domain: Domain, value: u64, reading: Reading) -> u64 {
    match domain {
        Domain::Bool { num, den } if u64::from(num) * 2 == u64::from(den) => value,
        // The first residue that is false; 0 is true.
        Domain::Bool { num, .. } if value == 0 => num.into(),
        Domain::Bool { .. } => 0,
        Domain::Int { lo, hi } => {
            let offset = value.wrapping_sub(lo.cast_unsigned());
            // The whole of a type is its two's complement.
            let own = truncated(value, width(domain));
            match decode(domain, own, reading) == value {
                true => own,
                false if offset == hi.wrapping_sub(lo).cast_unsigned() => {
                    let below = u64::from(reading == Reading::OffByOne).min(offset);
                    offset - below
                }
                false => offset,
            }
        }
        Domain::Float { .. } => {
            let value = f64::from_bits(value);
            let is_reached = |bits| f64::from_bits(decode(domain, bits, Reading::Whole)) >= value;
            double(is_reached)
        }
        Domain::Bytes { .. } => double(|bits| decode(domain, bits, Reading::Whole) >= value),
    }
}

/// In its order of bytes: the value itself where it fits, else by how much it is above the range's least.
fn encode_zeugma(domain: Domain, value: u64) -> u64 {
    let width = width(domain);
    if width == 0 {
        return 0;
    }
    let unused = 64 - 8 * width as u32;
    let word = match domain {
        Domain::Int { lo, .. } => {
            let fits = (value << unused).cast_signed() >> unused == value.cast_signed();
            match fits {
                true => value,
                false => value.wrapping_sub(lo.cast_unsigned()),
            }
        }
        _ => encode_jqf(domain, value, Reading::Whole),
    };
    (word << unused).swap_bytes()
}

fn truncated(value: u64, width: usize) -> u64 {
    match width {
        0 => 0,
        width => value & (u64::MAX >> (64 - 8 * width)),
    }
}

/// The bytes of the least double for which something holds that holds for all greater ones, or of the greatest.
fn double(holds: impl Fn(u64) -> bool) -> u64 {
    let bits = |double: u64| double >> 27 | (double & 0x7ff_ffff) << 32;
    let (mut low, mut high) = (0, (1 << DOUBLE_BITS) - 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(bits(middle)) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    bits(low)
}

#[cfg(test)]
mod tests {
    use super::super::drawing::Drawing;
    use super::super::jqf::{End, Tape, tape_of};
    use super::super::source::Source;
    use super::super::text::{from_text, to_text};
    use super::super::{ChoiceSequence, Role};
    use super::*;
    use crate::rng::Rng;

    const READINGS: [Reading; 3] = [Reading::Whole, Reading::OffByOne, Reading::Zeugma];

    fn int(lo: i64, hi: i64) -> Domain {
        Domain::Int { lo, hi }
    }

    /// Whatever a tape gives is encoded as something that gives the same.
    #[test]
    fn what_is_encoded_is_decoded() {
        let mut rng = Rng::new(5);
        let mut domains = vec![
            Domain::Bool { num: 1, den: 2 },
            Domain::Bool { num: 1, den: 8 },
            Domain::Bool { num: 7, den: 8 },
            Domain::Bool {
                num: 3_000_000_000,
                den: 4_000_000_000,
            },
            Domain::float(-1.5, 2.0),
            Domain::Bytes { min: 3, max: 40 },
            Domain::Bytes { min: 4, max: 4 },
            int(-0x80, 0x7f),
            int(0, 0xff),
            int(-0x8000, 0x7fff),
            int(0, 0xffff_ffff),
            int(i64::MIN, i64::MAX),
            int(-9, 1 << 40),
        ];
        for _ in 0..500 {
            let lo = (rng.word() >> rng.below(64)).cast_signed();
            let size = rng.word() >> (1 + rng.below(63));
            domains.extend(lo.checked_add_unsigned(size).map(|hi| int(lo, hi)));
        }
        for domain in domains {
            for reading in READINGS {
                for _ in 0..40 {
                    let bits = truncated(rng.word(), width(domain));
                    let value = decode(domain, bits, reading);
                    let encoded = encode(domain, value, reading);
                    assert_eq!(truncated(encoded, width(domain)), encoded);
                    assert_eq!(
                        decode(domain, encoded, reading),
                        value,
                        "{domain:?} {reading:?}"
                    );
                }
            }
        }
    }

    /// A range's end that no tape comes to.
    #[test]
    fn what_cannot_be_encoded_becomes_the_nearest() {
        let encoded = encode(int(3, 9), 9, Reading::OffByOne);
        assert_eq!(decode(int(3, 9), encoded, Reading::OffByOne), 8);
        let encoded = encode(int(3, 3), 3, Reading::OffByOne);
        assert_eq!(decode(int(3, 3), encoded, Reading::OffByOne), 3);
    }

    /// Choices that were written down and read again make a tape that a generator draws the same from.
    #[test]
    fn imported_choices_are_drawn_again() {
        let domains = [
            Domain::Bool { num: 1, den: 8 },
            int(5, 9),
            Domain::float(0.0, 10.0),
            Domain::Bytes { min: 0, max: 20 },
            int(-300, 300),
        ];
        let drawn = |tape: Tape| -> ChoiceSequence {
            let mut drawing = Drawing::new(Source::Tape(tape), 1000);
            for domain in domains {
                drawing.draw(1, Role::Value, domain).expect("there is room");
            }
            drawing.finish()
        };
        for (seed, reading) in (0..60).zip(READINGS.into_iter().cycle()) {
            let first = drawn(Tape::new(Vec::new(), End::Extends, reading, Rng::new(seed)));
            let read = from_text(&to_text(&first)).expect("we wrote it");
            let tape = tape_of(&read, reading, |_| true);
            let again = drawn(Tape::new(tape, End::Stops, reading, Rng::new(0)));
            let values = |of: &ChoiceSequence| -> Vec<u64> {
                of.nodes.iter().map(|node| node.value).collect()
            };
            assert_eq!(values(&again), values(&first));
            assert_eq!(again.payload, first.payload);
        }
    }
}
