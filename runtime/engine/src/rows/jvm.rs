//! Numbers as the JVM reads and writes them: what published tools for dataflow programs do to cells.
//!
//! In: text. Out: numbers, and text again. `Integer.parseInt`, `Float.parseFloat` without its hexadecimal
//! form, and `Float.toString`, for which the shortest digits are taken, as Java 19 and later do.

/// An optional sign and decimal digits, of 32 bits.
pub fn int(text: &[u8]) -> Option<i32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// What `Float.parseFloat` takes: blanks around it, `NaN`, `Infinity`, an exponent, and a letter `f` or `d`
/// at its end.
pub fn float(text: &[u8]) -> Option<f32> {
    let text = text.trim_ascii();
    let (negative, rest) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let size = match rest {
        b"NaN" => f32::NAN,
        b"Infinity" => f32::INFINITY,
        _ => {
            let digits = match rest.split_last() {
                Some((b'f' | b'F' | b'd' | b'D', digits)) => digits,
                _ => rest,
            };
            // Rust takes what Java takes, and names of numbers and further signs.
            if !digits.first()?.is_ascii_digit() && digits[0] != b'.' {
                return None;
            }
            std::str::from_utf8(digits).ok()?.parse().ok()?
        }
    };
    Some(if negative { -size } else { size })
}

/// `Float.toString`: decimal from 10⁻³ up to 10⁷, scientific beyond.
pub fn float_text(value: f32) -> String {
    let size = value.abs();
    match () {
        () if value.is_nan() => "NaN".to_owned(),
        () if value.is_infinite() && value > 0.0 => "Infinity".to_owned(),
        () if value.is_infinite() => "-Infinity".to_owned(),
        () if size == 0.0 || (1e-3..1e7).contains(&size) => format!("{value:?}"),
        () => {
            let text = format!("{value:E}");
            match text.split_once('E') {
                Some((digits, exponent)) if !digits.contains('.') => {
                    format!("{digits}.0E{exponent}")
                }
                _ => text,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(int(b"+12"), Some(12));
        assert_eq!(int(b"-2147483648"), Some(i32::MIN));
        for text in [
            &b"2147483648"[..],
            b"",
            b"-",
            b" 1",
            b"1.0",
            b"\xff",
            b"1e3",
        ] {
            assert_eq!(int(text), None, "{text:?}");
        }
    }

    #[test]
    fn floats() {
        for (text, value) in [
            (&b"1.5"[..], 1.5),
            (b" -2e3 ", -2000.0),
            (b".5f", 0.5),
            (b"5.", 5.0),
            (b"+7D", 7.0),
            (b"-Infinity", f32::NEG_INFINITY),
        ] {
            assert_eq!(float(text), Some(value), "{text:?}");
        }
        assert!(float(b"NaN").is_some_and(f32::is_nan));
        for text in [
            &b""[..],
            b"-",
            b"nan",
            b"inf",
            b"infinity",
            b"--1",
            b"1 2",
            b"f",
            b".",
            b"1e",
            b"0x1p3",
        ] {
            assert!(float(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn floats_are_written_as_java_writes_them() {
        for (value, text) in [
            (1.8e9, "1.8E9"),
            (1e9, "1.0E9"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (0.001, "0.001"),
            (0.0005, "5.0E-4"),
            (-1.234_567e10, "-1.234567E10"),
            (f32::NAN, "NaN"),
            (f32::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }
}
