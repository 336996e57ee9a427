//! Numerals: the number that a cell holds, and how another is written in its place.
//!
//! In: the text of a cell. Out: its number, if it is one but for a character before and one behind that are neither
//! letters nor digits (`$15000`, `"00601"`); and the text again with another number, in the same form.

use std::ops::Range;

/// The number of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// Digits, with a sign or without.
    Whole(i64),
    /// With a point or an exponent.
    Real(f64),
}

/// Where the numeral of a cell stands.
fn place(text: &[u8]) -> Range<usize> {
    let is_edge = |byte: u8| !byte.is_ascii_alphanumeric() && !b"+-.".contains(&byte);
    let start = usize::from(text.first().is_some_and(|&byte| is_edge(byte)));
    let end = text.len() - usize::from(text.len() > start && is_edge(text[text.len() - 1]));
    start..end.max(start)
}

/// The number of a cell, if it holds one.
pub(super) fn read(text: &[u8]) -> Option<Value> {
    let digits = std::str::from_utf8(&text[place(text)]).ok()?;
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    match digits.parse() {
        Ok(whole) => Some(Value::Whole(whole)),
        Err(_) => digits.parse().ok().map(Value::Real),
    }
}

/// Digits that a number is filled up to with zeros.
const WIDTH_MAX: usize = 1000;

/// The text with another number: as many digits as before where it began with zeros, and a real one only if it
/// has to be.
pub(super) fn write(text: &[u8], value: Value) -> Vec<u8> {
    let place = place(text);
    let old = &text[place.clone()];
    let digits = match value {
        Value::Whole(whole) => {
            let width = match old.first() {
                // More is no number that anybody counts in, and more than can be asked for.
                Some(b'0') if old.len() > 1 => old.len().min(WIDTH_MAX),
                _ => 0,
            };
            format!("{whole:0width$}")
        }
        Value::Real(real) if real.fract() == 0.0 && real.abs() < 1e18 => format!("{real:.0}"),
        Value::Real(real) => format!("{real}"),
    };
    [&text[..place.start], digits.as_bytes(), &text[place.end..]].concat()
}

/// The value and a whole number more.
pub(super) fn plus(value: Value, by: i64) -> Option<Value> {
    match value {
        Value::Whole(whole) => whole.checked_add(by).map(Value::Whole),
        Value::Real(real) => Some(Value::Real(real + by as f64)),
    }
}

/// Another text of the same form: its letters and digits, counted `steps` on from the last. It is longer where there
/// are no more of its length. Texts of different steps differ.
pub(super) fn fresh(text: &[u8], steps: u32) -> Vec<u8> {
    let mut out = text.to_vec();
    let mut carry = steps;
    for byte in out.iter_mut().rev() {
        let (first, count) = match byte {
            b'0'..=b'9' => (b'0', 10),
            b'a'..=b'z' => (b'a', 26),
            b'A'..=b'Z' => (b'A', 26),
            _ => continue,
        };
        let sum = u32::from(*byte - first) + carry;
        *byte = first + (sum % count) as u8;
        carry = sum / count;
        if carry == 0 {
            return out;
        }
    }
    out.extend_from_slice(carry.to_string().as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use Value::{Real, Whole};

    #[test]
    fn numbers_are_cells_of_their_own() {
        for (text, value) in [
            ("12", Some(Whole(12))),
            ("-7", Some(Whole(-7))),
            ("$15000", Some(Whole(15_000))),
            ("\"00601\"", Some(Whole(601))),
            ("0.25", Some(Real(0.25))),
            ("1.5E9", Some(Real(1.5e9))),
            ("CS186", None),
            ("2017-07-12", None),
            ("", None),
            ("$", None),
            ("nan", None),
            ("TRUE", None),
        ] {
            assert_eq!(read(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn what_is_written_has_the_form_of_what_was_read() {
        for (text, value, expected) in [
            ("12", Whole(-3), "-3"),
            ("$15000", Whole(7), "$7"),
            ("\"00601\"", Whole(45), "\"00045\""),
            ("0.25", Real(1.5e9), "1500000000"),
            ("0.25", Real(0.5), "0.5"),
        ] {
            assert_eq!(write(text.as_bytes(), value), expected.as_bytes());
            assert_eq!(
                read(expected.as_bytes()).map(|read| write(text.as_bytes(), read)),
                Some(expected.into())
            );
        }
    }

    #[test]
    fn fresh_texts_differ_and_keep_their_form() {
        assert_eq!(fresh(b"trip19", 1), b"trip20");
        assert_eq!(fresh(b"www.Zz.com", 2), b"www.Zz.coo");
        assert_eq!(fresh(b"99", 1), b"001");
        assert_eq!(fresh(b"", 3), b"3");
        assert_eq!(fresh(b"\"7\"", 1), b"\"8\"");
        let all: std::collections::BTreeSet<_> = (0..500).map(|n| fresh(b"ab9", n)).collect();
        assert_eq!(all.len(), 500);
    }
}
