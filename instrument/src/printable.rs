//! Text of a guest made safe to print: names, paths and messages come from files that nobody vouches for.
//!
//! In: any text. Out: one line without control characters, of bounded length. A terminal that prints it cannot be
//! told to move its cursor, change its title or show the letters in another order. Letters of every script stay.
//! Nothing here knows where the text came from or where it goes.

use std::fmt::Write;

/// The most characters (not bytes) that [`printable`] lets through: long enough for a path or a template instance,
/// short enough for one message.
pub const PRINTABLE_CHARS: usize = 512;

/// `text` with whatever could act on a terminal written as an escape, cut after [`PRINTABLE_CHARS`] characters.
///
/// `\n`, `\r` and `\t` keep their usual names, everything else becomes `\u{1b}`. A text that was cut ends in `…`.
/// Backslashes stay as they are, so the result is for reading and cannot be turned back.
pub fn printable(text: &str) -> String {
    printable_max(text, PRINTABLE_CHARS)
}

/// [`printable`] with another limit.
pub fn printable_max(text: &str, chars_max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(chars_max.saturating_mul(4)));
    let mut count = 0;
    for c in text.chars() {
        let start = out.len();
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if acts(c) => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
        // An escape counts as many characters as it shows, otherwise a text of controls would be eight times as long.
        count += out[start..].chars().count();
        if count > chars_max {
            out.truncate(start);
            out.push('…');
            return out;
        }
    }
    out
}

/// [`printable`] for bytes that need not be UTF-8: what is not becomes `\u{fffd}`, shown as `�`.
pub fn printable_bytes(bytes: &[u8]) -> String {
    // Four bytes a character at most, so nothing beyond can be shown; a huge slice is not decoded for nothing.
    let cut = bytes.len().min(PRINTABLE_CHARS * 4 + 4);
    printable(&String::from_utf8_lossy(&bytes[..cut]))
}

/// Whether a character does something other than standing there: controls (C0, C1), line and paragraph separators,
/// bidirectional marks, embeddings, overrides and isolates, invisible operators and joiners, byte order marks,
/// annotations, and the tag block, which can carry text that no one sees.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0xad
            | 0x61c
            | 0x115f..=0x1160
            | 0x180e
            | 0x200b..=0x200f
            | 0x2028..=0x202e
            | 0x2060..=0x206f
            | 0x3164
            | 0xfeff
            | 0xfff9..=0xfffb
            | 0x1d173..=0x1d17a
            | 0xe0000..=0xe0fff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_all_scripts_stay() {
        for text in [
            "main",
            "größe",
            "函数",
            "функция",
            "दृश्य",
            "a\\b \"c\" `d`",
            "🦀",
        ] {
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn what_acts_is_escaped() {
        assert_eq!(printable("a\x1b[31mb\x07"), "a\\u{1b}[31mb\\u{7}");
        assert_eq!(printable("a\nb\rc\td\0"), "a\\nb\\rc\\td\\u{0}");
        assert_eq!(printable("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(printable("x\u{202e}cba\u{2066}"), "x\\u{202e}cba\\u{2066}");
        assert_eq!(
            printable("\u{2028}\u{200b}\u{feff}\u{e0041}"),
            "\\u{2028}\\u{200b}\\u{feff}\\u{e0041}"
        );
    }

    #[test]
    fn length_is_bounded_in_characters_shown() {
        let long = printable(&"é".repeat(10_000));
        assert_eq!(long.chars().count(), PRINTABLE_CHARS + 1);
        assert!(long.ends_with('…'));
        assert!(printable(&"\x1b".repeat(10_000)).chars().count() <= PRINTABLE_CHARS + 1);
        assert_eq!(printable_max("abc", 3), "abc");
        assert_eq!(printable_max("abcd", 3), "abc…");
        assert_eq!(printable_max("ab", 0), "…");
    }

    #[test]
    fn bytes_are_decoded_loosely() {
        assert_eq!(printable_bytes(b"a\xffb\x1b"), "a\u{fffd}b\\u{1b}");
        assert!(printable_bytes(&vec![b'x'; 1 << 20]).len() < 4096);
    }

    #[test]
    fn nothing_that_acts_survives() {
        for c in (0..=0x10ffff).filter_map(char::from_u32) {
            let shown = printable(&c.to_string());
            assert!(!shown.chars().any(acts), "{:x}", u32::from(c));
        }
    }
}
