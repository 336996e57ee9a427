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

/// The input of an entry; errs with a fragment that says what it is instead.
pub fn decode(file: &[u8]) -> Result<Vec<u8>, &'static str> {
    const NONE: &str = "not an entry of Hypothesis' database";
    let (&head, rest) = file.split_first().ok_or(NONE)?;
    let (tag, short) = (head >> 5, head & LONG);
    if !(1..=4).contains(&tag) {
        return Err(if tag == 0 {
            "choices of other kinds than bytes and text"
        } else {
            NONE
        });
    }
    let (length, payload) = match short {
        LONG => leb128(rest).ok_or(NONE)?,
        short => (usize::from(short), rest),
    };
    if payload.len() < length {
        return Err(NONE);
    }
    match (tag, payload.len() == length) {
        (3 | 4, true) => Ok(payload.to_vec()),
        (3 | 4, false) => Err("several choices, expected one of bytes or text"),
        _ => Err("choices of other kinds than bytes and text"),
    }
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
        assert_eq!(decode(b"\x86000000"), Ok(b"000000".to_vec()));
        assert_eq!(decode(b"\x82\xc3\xa9"), Ok("é".into()));
        assert_eq!(decode(b"\x60"), Ok(Vec::new()));
        let mut long = vec![0x7f, 41];
        long.extend([7; 41]);
        assert_eq!(decode(&long), Ok(vec![7; 41]));
        let mut longer = vec![0x7f, 0x80 | 44, 2];
        longer.extend([7; 300]);
        assert_eq!(decode(&longer), Ok(vec![7; 300]));
    }

    #[test]
    fn everything_else_says_what_it_is() {
        for (file, why) in [
            (&b""[..], "not an entry"),
            (b"\x01", "other kinds"),
            (b"\x41\x07", "other kinds"),
            (b"\x61a\x61b", "several"),
            (b"\x63ab", "not an entry"),
            (b"\x7f\x80\x80\x80\x80\x80\x01", "not an entry"),
            (b"\x7f\xff\xff\xff\xff\x7f", "not an entry"),
            (b"\xe1a", "not an entry"),
        ] {
            let error = decode(file).unwrap_err();
            assert!(error.contains(why), "{file:?}: {error}");
        }
    }
}
