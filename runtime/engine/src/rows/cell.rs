//! How DepFuzz and BigFuzz change the text of one cell.
//!
//! In: text, the kind of its column, random numbers. Out: other text, which holds neither the delimiter nor
//! an end of a row if the old one did not. Characters are bytes here, where those of the JVM are of 16 bits.

use super::jvm;
use super::schema::Kind;
use crate::rng::Rng;

/// The printable characters without the blank.
const FIRST: u8 = 33;
const LAST: u8 = 126;
/// What is added to a number is below this: Java's `nextInt(Integer.MAX_VALUE)`.
const ADDEND: u32 = i32::MAX as u32;

/// A printable character, the blank aside.
pub fn printable(rng: &mut Rng) -> u8 {
    FIRST + rng.below(u32::from(LAST - FIRST) + 1) as u8
}

/// A printable character other than the delimiter, all of them as likely.
fn printable_but(delimiter: u8, rng: &mut Rng) -> u8 {
    if !(FIRST..=LAST).contains(&delimiter) {
        return printable(rng);
    }
    let at = FIRST + rng.below(u32::from(LAST - FIRST)) as u8;
    at + u8::from(at >= delimiter)
}

/// Appends the text of a cell after one mutation.
///
/// A number is read as a 32-bit integer, and a uniform one of [0, 2³¹ − 2] is added with wrap-around; else
/// as a float, and such an integer is added; what is neither stays. Of other text each character is replaced
/// with probability 1/2, so its length stays.
pub fn mutate(text: &[u8], kind: Kind, delimiter: u8, rng: &mut Rng, out: &mut Vec<u8>) {
    match kind {
        Kind::Number => {
            if let Some(value) = jvm::int(text) {
                let sum = value.wrapping_add(rng.below(ADDEND) as i32);
                out.extend_from_slice(sum.to_string().as_bytes());
            } else if let Some(value) = jvm::float(text) {
                let sum = value + rng.below(ADDEND) as f32;
                out.extend_from_slice(jvm::float_text(sum).as_bytes());
            } else {
                out.extend_from_slice(text);
            }
        }
        Kind::Other => out.extend(text.iter().map(|&old| match rng.below(2) {
            0 => old,
            _ => printable_but(delimiter, rng),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutated(text: &[u8], kind: Kind, rng: &mut Rng) -> Vec<u8> {
        let mut out = Vec::new();
        mutate(text, kind, b',', rng, &mut out);
        out
    }

    /// Never in [0, v): a sum is at least v, or it has wrapped around.
    #[test]
    fn integers_grow_or_wrap() {
        let mut rng = Rng::new(1);
        let (mut wrapped, mut high) = (0, 0);
        for _ in 0..20_000 {
            let text = mutated(b"1000000000", Kind::Number, &mut rng);
            let value: i32 = std::str::from_utf8(&text).unwrap().parse().unwrap();
            assert!(!(0..1_000_000_000).contains(&value), "{value}");
            wrapped += u32::from(value < 0);
            high += u32::from(value > 1_573_741_824);
        }
        // 10⁹ of 2³¹ wrap, 46.6 %; half of the others lie above the middle of what is left.
        assert!((9_000..9_600).contains(&wrapped), "{wrapped}");
        assert!((5_100..5_600).contains(&high), "{high}");
    }

    /// A window of 10⁶ is hit with probability 4.7 × 10⁻⁴.
    #[test]
    fn windows_are_hit_as_rarely_as_published() {
        let mut rng = Rng::new(2);
        let mut hits = 0;
        for _ in 0..200_000 {
            let text = mutated(b"7", Kind::Number, &mut rng);
            let value: i32 = std::str::from_utf8(&text).unwrap().parse().unwrap();
            hits += u32::from((8_463_216..9_463_215).contains(&value));
        }
        assert!((60..130).contains(&hits), "{hits}");
    }

    #[test]
    fn floats_and_what_is_no_number() {
        let mut rng = Rng::new(3);
        for _ in 0..100 {
            let text = mutated(b"0.5", Kind::Number, &mut rng);
            let value = jvm::float(&text).unwrap();
            assert!((0.5..2.2e9).contains(&value));
            assert!(value < 1e7 || text.contains(&b'E'));
        }
        for text in [&b"<testdummy>"[..], b"", b"12a"] {
            assert_eq!(mutated(text, Kind::Number, &mut rng), text);
        }
    }

    #[test]
    fn half_of_all_characters_are_replaced_by_printable_ones() {
        let mut rng = Rng::new(4);
        let (mut same, mut seen) = (0, [0u32; 256]);
        for _ in 0..20_000 {
            let text = mutated(b" \xff ", Kind::Other, &mut rng);
            assert_eq!(text.len(), 3);
            for (new, old) in text.into_iter().zip(*b" \xff ") {
                if new == old {
                    same += 1;
                } else {
                    seen[usize::from(new)] += 1;
                }
            }
        }
        assert!((29_300..30_700).contains(&same), "{same}");
        for (byte, count) in seen.into_iter().enumerate() {
            let allowed = (33..=126).contains(&byte) && byte != usize::from(b',');
            // 30,000 / 93 of each.
            let range = if allowed { 220..430 } else { 0..1 };
            assert!(range.contains(&count), "{byte}: {count}");
        }
    }

    /// Two given characters in front: (1/2 × 1/93)² where neither was there, 2.9 × 10⁻⁵.
    #[test]
    fn a_delimiter_that_is_not_printable_excludes_nothing() {
        let mut rng = Rng::new(5);
        let mut seen = [0u32; 256];
        for _ in 0..10_000 {
            seen[usize::from(printable_but(b'\t', &mut rng))] += 1;
        }
        assert_eq!(seen.iter().filter(|count| **count > 0).count(), 94);
    }
}
