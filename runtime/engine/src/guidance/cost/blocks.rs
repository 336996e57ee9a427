//! Blocks and bytes: parts of an input copied, moved, removed, taken from another input, or changed.
//!
//! In: an input, and another one. Out: a child. Where havoc stacks many small changes, each of these
//! makes one, of any size.

use std::ops::Range;

use super::repeat::COMMON;
use crate::rng::Rng;
use crate::splice::splice;

/// Copies, moves or removes a part.
pub(super) fn block(input: &[u8], bytes_max: usize, rng: &mut Rng) -> Option<Vec<u8>> {
    let part = part(input.len(), rng)?;
    let mut out = input.to_vec();
    match rng.below(4) {
        0 => drop(out.drain(part)),
        1 => {
            let to = rng.index(out.len() + 1);
            out.splice(to..to, input[part].iter().copied());
        }
        2 => {
            let to = rng.index(out.len() - part.len() + 1);
            out.copy_within(part, to);
        }
        _ => {
            let moved: Vec<u8> = out.drain(part).collect();
            let to = rng.index(out.len() + 1);
            out.splice(to..to, moved);
        }
    }
    out.truncate(bytes_max);
    (out != input).then_some(out)
}

/// The head of one input before the tail of another, or a part of another within.
pub(super) fn cross(
    input: &[u8],
    other: &[u8],
    bytes_max: usize,
    rng: &mut Rng,
) -> Option<Vec<u8>> {
    if rng.below(2) == 0 {
        return splice(input, other, rng);
    }
    let part = &other[part(other.len(), rng)?];
    let to = rng.index(input.len() + 1);
    let end = match rng.below(2) {
        0 => to,
        _ => (to + part.len()).min(input.len()),
    };
    let mut out = input.to_vec();
    out.splice(to..end, part.iter().copied());
    out.truncate(bytes_max);
    (out != input).then_some(out)
}

/// Changes a byte, or the same byte wherever it stands, or removes or doubles it.
pub(super) fn byte(input: &[u8], bytes_max: usize, rng: &mut Rng) -> Option<Vec<u8>> {
    let mut out = input.to_vec();
    let at = rng.index(input.len());
    let old = *input.get(at)?;
    let new = match rng.below(4) {
        0 => input[rng.index(input.len())],
        1 => old ^ 1 << rng.below(8),
        2 => old.wrapping_add([1, 255][rng.index(2)]),
        _ => rng.word() as u8,
    };
    match rng.below(6) {
        0 => drop(out.remove(at)),
        1 => out.insert(at, old),
        2 => (out.iter_mut().filter(|byte| **byte == old)).for_each(|byte| *byte = new),
        _ => out[at] = new,
    }
    out.truncate(bytes_max);
    (out != input).then_some(out)
}

/// Another byte in one place, of those that most formats are made of, or one more.
pub(super) fn common_byte(input: &[u8], rng: &mut Rng) -> Vec<u8> {
    let byte = COMMON[rng.index(COMMON.len())];
    let at = rng.index(input.len() + 1);
    let end = match rng.below(4) {
        0 => at,
        _ => (at + 1).min(input.len()),
    };
    let mut out = input.to_vec();
    out.splice(at..end, [byte]);
    out
}

/// A part that is not empty; each power of two is as likely to bound its length.
fn part(len: usize, rng: &mut Rng) -> Option<Range<usize>> {
    if len == 0 {
        return None;
    }
    let bits = usize::BITS - len.leading_zeros();
    let longest = len.min(1 << rng.below(bits + 1));
    let count = 1 + rng.index(longest);
    let from = rng.index(len - count + 1);
    Some(from..from + count)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all(make: impl Fn(&mut Rng) -> Option<Vec<u8>>) -> BTreeSet<Vec<u8>> {
        (0..5_000)
            .filter_map(|seed| make(&mut Rng::new(seed)))
            .collect()
    }

    #[test]
    fn blocks_are_removed_inserted_copied_and_moved() {
        let made = all(|rng| block(b"abcd", 8, rng));
        for expected in [
            &b"abd"[..],
            b"",
            b"abcdcd",
            b"abcdabcd",
            b"ababcd",
            b"abab",
            b"cdab",
        ] {
            assert!(made.contains(expected), "{}", expected.escape_ascii());
        }
        assert!(made.iter().all(|made| made.len() <= 8));
    }

    #[test]
    fn crosses_have_parts_of_both() {
        let made = all(|rng| cross(b"abcd", b"WXYZ", 6, rng));
        for expected in [&b"aXYZ"[..], b"abWXcd", b"aXcd"] {
            assert!(made.contains(expected), "{}", expected.escape_ascii());
        }
        assert!(made.iter().all(|made| made.len() <= 6));
    }

    #[test]
    fn bytes_change_one_by_one_or_all_alike() {
        let made = all(|rng| byte(b"aba", 4, rng));
        for expected in [
            &b"bbb"[..],
            b"aaa",
            b"aca",
            b"cbc",
            b"ba",
            b"aaba",
            b"aba\xff",
        ] {
            assert_eq!(made.contains(expected), expected != b"aba\xff");
        }
        assert!(all(|rng| byte(b"", 4, rng)).is_empty());
    }
}
