//! Rules B.1 to B.6: what Perun does to binary files. One repetition each.
//!
//! In: lines of bytes. Out: the same lines with one change. Defects D5 (B.6) and D7 (B.5) are here.

use super::lines::Lines;
use super::rules::BuiltIn;
use crate::rng::Rng;

/// In the order in which Perun lists them.
pub(super) const RULES: [BuiltIn; 6] = [
    ("B.1", remove_zero_byte),
    ("B.2", insert_zero_byte),
    ("B.3", insert_byte),
    ("B.4", remove_byte),
    ("B.5", swap_bytes),
    ("B.6", flip_bit),
];

/// B.1: a line without one of its zero bytes.
fn remove_zero_byte(lines: &mut Lines<'_>, rng: &mut Rng) {
    let Some(line) = lines.any(rng) else { return };
    let chars = lines.line(line);
    let zeros: Vec<usize> = (0..chars.len()).filter(|&at| chars[at] == '\0').collect();
    if !zeros.is_empty() {
        let at = zeros[rng.index(zeros.len())];
        lines.edit(line).remove(at);
    }
}

/// B.2: a zero byte more.
fn insert_zero_byte(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some((line, at)) = lines.any_place(rng) {
        lines.edit(line).insert(at, '\0');
    }
}

/// B.3: some byte more.
fn insert_byte(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some((line, at)) = lines.any_place(rng) {
        lines.edit(line).insert(at, char::from(rng.word() as u8));
    }
}

/// B.4: a byte less.
fn remove_byte(lines: &mut Lines<'_>, rng: &mut Rng) {
    if let Some((line, at)) = lines.any_place(rng) {
        lines.edit(line).remove(at);
    }
}

/// B.5: two bytes in each other's place. With defect D7, within one line, the second write begins from
/// the line as it was, so that only the second place changes.
fn swap_bytes(lines: &mut Lines<'_>, rng: &mut Rng) {
    let (Some((line, at)), Some((other, there))) = (lines.any_place(rng), lines.any_place(rng))
    else {
        return;
    };
    let (first, second) = (lines.line(line)[at], lines.line(other)[there]);
    if !lines.is_compat() || line != other {
        lines.edit(line)[at] = second;
    }
    lines.edit(other)[there] = first;
}

/// B.6: another bit in a byte. With defect D5 a byte above 127 is written as UTF-8, in two bytes.
fn flip_bit(lines: &mut Lines<'_>, rng: &mut Rng) {
    let Some((line, at)) = lines.any_place(rng) else {
        return;
    };
    let is_compat = lines.is_compat();
    let chars = lines.edit(line);
    let flipped = char::from(u32::from(chars[at]) as u8 ^ 1 << rng.below(8));
    let mut buffer = [0; 4];
    match is_compat {
        false => chars[at] = flipped,
        true => {
            let encoded = flipped.encode_utf8(&mut buffer).bytes().map(char::from);
            chars.splice(at..=at, encoded);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guidance::perun::rules::tests::{all_of, once};

    #[test]
    fn b1_removes_a_zero_byte_of_the_line() {
        assert_eq!(all_of(remove_zero_byte, "\0a\0b", false), ["\0ab", "a\0b"]);
        assert_eq!(once(remove_zero_byte, "ab", 1, false), "ab");
    }

    #[test]
    fn b2_inserts_a_zero_byte() {
        assert_eq!(all_of(insert_zero_byte, "ab", false), ["\0ab", "a\0b"]);
    }

    #[test]
    fn b3_inserts_any_byte() {
        let inserted = all_of(insert_byte, "a", false);
        assert!(inserted.len() > 200 && inserted.iter().all(|bytes| bytes.ends_with('a')));
    }

    #[test]
    fn b4_removes_a_byte() {
        assert_eq!(all_of(remove_byte, "abc", false), ["ab", "ac", "bc"]);
    }

    #[test]
    fn b5_swaps_bytes_within_and_across_lines() {
        let swapped = all_of(swap_bytes, "a\nb", false);
        assert_eq!(swapped, ["\nab", "a\nb", "ab\n", "b\na"]);
    }

    /// Defect D7: within a line one byte changes.
    #[test]
    fn b5_of_perun_loses_the_first_write_within_a_line() {
        assert_eq!(
            all_of(swap_bytes, "abc", false),
            ["abc", "acb", "bac", "cba"]
        );
        let lost = all_of(swap_bytes, "abc", true);
        assert_eq!(lost, ["aac", "aba", "abb", "abc", "acc", "bbc", "cbc"]);
        assert!(all_of(swap_bytes, "a\nb", true).contains(&"b\na".to_owned()));
    }

    #[test]
    fn b6_flips_a_bit() {
        let flipped = all_of(flip_bit, "a", false);
        let expected = ["!", "A", "`", "c", "e", "i", "q", "\u{e1}"];
        assert_eq!(flipped, expected);
    }

    /// Defect D5: a byte above 127 becomes two.
    #[test]
    fn b6_of_perun_writes_utf8() {
        let flipped = all_of(flip_bit, "a", true);
        assert_eq!(flipped.last().unwrap(), "\u{c3}\u{a1}");
    }
}
