//! Parse: cells of a row, and numbers, as programs on the JVM read them.

use alloc::vec::Vec;

/// The parts of `row` between separators. As on the JVM, empty parts at the end are dropped; what has no separator is one
/// part, even if it is empty.
pub fn split(row: &str, separator: char) -> Vec<&str> {
    jvm(row, row.split(separator).collect())
}

/// The parts of `row` between single blanks: space, tab, vertical tab, form feed or carriage return, which the JVM's `\s`
/// matches. As [`split`] otherwise.
pub fn split_blank(row: &str) -> Vec<&str> {
    let blanks = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];
    jvm(row, row.split(blanks).collect())
}

fn jvm<'a>(row: &'a str, mut parts: Vec<&'a str>) -> Vec<&'a str> {
    if parts.len() == 1 {
        return Vec::from([row]);
    }
    while parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    parts
}

/// A 32-bit integer: an optional sign and decimal digits.
///
/// # Panics
/// On anything else.
#[track_caller]
pub fn int(text: &str) -> i32 {
    match text.parse() {
        Ok(number) => number,
        Err(_) => panic!("not an integer: {text:?}"),
    }
}

/// A 32-bit float by the JVM's grammar: blanks around it, a sign, `NaN` or `Infinity`, or a decimal number with an optional
/// exponent and an optional `f`, `F`, `d` or `D` behind. Hexadecimal floats are not read.
///
/// # Panics
/// On anything else.
#[track_caller]
pub fn float(text: &str) -> f32 {
    match decimal(text).and_then(|text| text.parse().ok()) {
        Some(number) => number,
        None => panic!("not a number: {text:?}"),
    }
}

/// A 64-bit float, as [`float`].
///
/// # Panics
/// On anything else.
#[track_caller]
pub fn double(text: &str) -> f64 {
    match decimal(text).and_then(|text| text.parse().ok()) {
        Some(number) => number,
        None => panic!("not a number: {text:?}"),
    }
}

/// What Rust reads as the JVM would: Rust knows more names for what is no number, and no `f` behind.
fn decimal(text: &str) -> Option<&str> {
    let text = text.trim_matches(|c| c <= ' ');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "NaN" || unsigned == "Infinity" {
        return Some(text);
    }
    let text = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let is_known = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    text.bytes().all(is_known).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn splitting_drops_empty_parts_at_the_end_only() {
        assert_eq!(split("a,b", ','), ["a", "b"]);
        assert_eq!(split(",a,,b,,", ','), ["", "a", "", "b"]);
        assert_eq!(split("", ','), [""]);
        assert_eq!(split("a", ','), ["a"]);
        assert!(split(",,", ',').is_empty());
        assert_eq!(split_blank("a  b\tc "), ["a", "", "b", "c"]);
    }

    #[test]
    fn integers_are_those_of_the_jvm() {
        assert_eq!(
            ["7", "+7", "-07", "2147483647"].map(int),
            [7, 7, -7, i32::MAX]
        );
        for wrong in ["", "+", " 7", "7 ", "7.0", "2147483648", "0x7"] {
            assert!(catch_unwind(|| int(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn floats_are_those_of_the_jvm() {
        let right = [" 1.5 ", "1.5f", "+1.5D", ".15e1", "15E-1"];
        assert_eq!(right.map(float), [1.5; 5]);
        assert_eq!(double("1.8E9"), 1.8e9);
        assert!(float("NaN").is_nan() && float("-NaN").is_nan());
        assert_eq!(double("-Infinity"), f64::NEG_INFINITY);
        for wrong in [
            "", " ", "f", "nan", "inf", "infinity", "1,5", "1.5ff", "1e", ".",
        ] {
            assert!(catch_unwind(|| float(wrong)).is_err(), "{wrong}");
        }
    }
}
