//! Entries of Hypothesis' database: choices, one behind the other.
//!
//! ```text
//! 000x xxxv                       a bool
//! tttl llll [length] payload      t: 1 float, 2 integer, 3 bytes, 4 text; the length is LEB128 where l is all ones
//! ```
//!
//! A test of one `binary()` or `text()` makes one choice, which is its input. What other tests make of theirs only they
//! know. Source: `choices_to_bytes` in `hypothesis/database.py`, 6.120 and later.

/// Lengths of this and more are written behind.
const LONG: u8 = 0b1_1111;

/// The input of an entry of one choice of bytes or text; nothing if it has others, or is none.
pub fn decode(file: &[u8]) -> Option<Vec<u8>> {
    let (&head, rest) = file.split_first()?;
    let (tag, short) = (head >> 5, head & LONG);
    let (length, payload) = match short {
        LONG => leb128(rest)?,
        short => (usize::from(short), rest),
    };
    (matches!(tag, 3 | 4) && payload.len() == length).then(|| payload.to_vec())
}

/// A number of at most 32 bits, and what follows it.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value |= usize::from(byte & 0x7f).checked_shl(7 * at as u32)?;
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_choice_of_bytes_or_text_is_an_input() {
        // As Hypothesis 6.148 wrote them.
        assert_eq!(decode(b"\x86000000"), Some(b"000000".to_vec()));
        assert_eq!(decode(b"\x82\xc3\xa9"), Some("é".into()));
        assert_eq!(decode(b"\x60"), Some(Vec::new()));
        let mut long = vec![0x7f, 41];
        long.extend([7; 41]);
        assert_eq!(decode(&long), Some(vec![7; 41]));
        let mut longer = vec![0x7f, 0x80 | 44, 2];
        longer.extend([7; 300]);
        assert_eq!(decode(&longer), Some(vec![7; 300]));
    }

    #[test]
    fn everything_else_is_none() {
        for file in [
            &b""[..],
            b"\x01",
            b"\x41\x07",
            b"\x61a\x61b",
            b"\x63ab",
            b"\x7f\x80\x80\x80\x80\x80\x01",
            b"\x7f\xff\xff\xff\xff\x7f",
            b"\xe1a",
        ] {
            assert_eq!(decode(file), None, "{file:?}");
        }
    }
}
