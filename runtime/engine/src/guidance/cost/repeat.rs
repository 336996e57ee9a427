//! Repetition: a fragment of an input, many times over.
//!
//! In: an input. Out: the same with a part of it replaced by copies of a fragment, up to its own
//! length, to twice that, or to the limit. What makes a program slow is mostly a lot of the same: a run
//! of spaces, one letter, a key again, brackets within brackets. Regulator (McLaughlin et al., USENIX
//! Security 2022) repeats every substring of an input; Singularity (Wei et al., FSE 2018) finds such
//! patterns by other means. Copies may be *numbered*: some characters of each count up, so that all
//! differ and yet have the rest in common, as words must that collide in a hash table.

use std::ops::Range;

use crate::rng::Rng;

/// Most characters of a copy that count.
const DIGITS_MAX: u32 = 4;
/// Fragments that no input need hold: what patterns, numbers and lists are made of.
pub(super) const COMMON: &[u8] = b" aA0\n\t,()[]{}<>/\\.-+\"'\0\xff";

/// Copies of one fragment in place of a part of the input.
pub(super) fn repeat(input: &[u8], bytes_max: usize, rng: &mut Rng) -> Vec<u8> {
    let (fragment, near) = fragment(input, rng);
    let hole = hole(input.len(), near, rng);
    let count = room(input.len(), hole.len(), bytes_max, rng) / fragment.len();
    let copies = fragment.repeat(count.max(1));
    replace(input, hole, &copies, bytes_max)
}

/// Copies of one fragment that are numbered.
pub(super) fn number(input: &[u8], bytes_max: usize, rng: &mut Rng) -> Vec<u8> {
    let (fragment, near) = fragment(input, rng);
    let hole = hole(input.len(), near, rng);
    let count = room(input.len(), hole.len(), bytes_max, rng) / fragment.len();
    let digits = digits(&fragment, rng);
    let first = rng.below(1_000) as usize;
    let copies = numbered(&fragment, &digits, first..first + count.max(1));
    replace(input, hole, &copies, bytes_max)
}

/// A copy for each number, with `digits` as the places that count, the lowest first.
pub(super) fn numbered(fragment: &[u8], digits: &[usize], numbers: Range<usize>) -> Vec<u8> {
    let mut copies = Vec::with_capacity(fragment.len() * numbers.len());
    for number in numbers {
        let start = copies.len();
        copies.extend_from_slice(fragment);
        let mut left = number;
        for &at in digits {
            let (lowest, letters) = alphabet(fragment[at]);
            copies[start + at] = lowest + (left % letters) as u8;
            left /= letters;
        }
    }
    copies
}

/// As many copies of one fragment before a place as of another behind it.
pub(super) fn nest(input: &[u8], bytes_max: usize, rng: &mut Rng) -> Vec<u8> {
    let ((open, from), (close, to)) = (fragment(input, rng), fragment(input, rng));
    let (from, to) = (from.start.min(to.start), from.start.max(to.start));
    let both = open.len() + close.len();
    let count = (room(input.len(), 0, bytes_max, rng) / both).max(1);
    let mut out = input[..from].to_vec();
    out.extend(open.repeat(count));
    out.extend_from_slice(&input[from..to]);
    out.extend(close.repeat(count));
    out.extend_from_slice(&input[to..]);
    out.truncate(bytes_max);
    out
}

/// What is repeated, and where it stands: a byte, a few, a word, a line, any part, or something common
/// at any place.
fn fragment(input: &[u8], rng: &mut Rng) -> (Vec<u8>, Range<usize>) {
    let at = rng.index(input.len());
    if input.is_empty() || rng.below(8) == 0 {
        return (vec![COMMON[rng.index(COMMON.len())]], at..at);
    }
    let part = match rng.below(5) {
        0 => at..at + 1,
        1 => at..(at + 2 + rng.index(3)).min(input.len()),
        2 => around(input, at, |byte| byte.is_ascii_alphanumeric()),
        3 => around(input, at, |byte| byte != b'\n'),
        _ => at..at + 1 + rng.index(input.len() - at),
    };
    (input[part.clone()].to_vec(), part)
}

/// The bytes around a place that are of a kind, and the one that ends them.
pub(super) fn around(input: &[u8], at: usize, is_inside: impl Fn(u8) -> bool) -> Range<usize> {
    let start = input[..at].iter().rposition(|&byte| !is_inside(byte));
    let end = input[at..].iter().position(|&byte| !is_inside(byte));
    let end = end.map_or(input.len(), |end| at + end + 1);
    start.map_or(0, |start| start + 1)..end
}

/// What copies replace: nothing behind the fragment, all from it on, all up to it, any part, or all.
pub(super) fn hole(len: usize, near: Range<usize>, rng: &mut Rng) -> Range<usize> {
    match rng.below(6) {
        0 | 1 => near.end..near.end,
        2 => near.start..len,
        3 => 0..near.end,
        4 => {
            let (one, other) = (rng.index(len + 1), rng.index(len + 1));
            one.min(other)..one.max(other)
        }
        _ => 0..len,
    }
}

/// How many bytes of copies there may be: as many as they replace, as double the input, as reach the
/// limit, or fewer than that.
pub(super) fn room(len: usize, hole: usize, bytes_max: usize, rng: &mut Rng) -> usize {
    let kept = len - hole;
    let limit = bytes_max.saturating_sub(kept);
    match rng.below(5) {
        0 | 1 if hole > 0 => hole,
        0..=2 => (hole + len).min(limit),
        3 => rng.index(limit + 1),
        _ => limit,
    }
}

pub(super) fn replace(
    input: &[u8],
    hole: Range<usize>,
    copies: &[u8],
    bytes_max: usize,
) -> Vec<u8> {
    let mut out = input[..hole.start].to_vec();
    out.extend_from_slice(copies);
    out.extend_from_slice(&input[hole.end..]);
    out.truncate(bytes_max);
    out
}

/// Places of a fragment that count, the lowest digit first: letters and digits if there are any, else
/// anything.
fn digits(fragment: &[u8], rng: &mut Rng) -> Vec<usize> {
    let of_kind = |is_kind: fn(&u8) -> bool| -> Vec<usize> {
        (0..fragment.len())
            .filter(|&at| is_kind(&fragment[at]))
            .collect()
    };
    let mut places = of_kind(u8::is_ascii_alphanumeric);
    if places.is_empty() {
        places = of_kind(|_| true);
    }
    let count = 1 + rng.below(DIGITS_MAX) as usize;
    let mut chosen = Vec::new();
    while chosen.len() < count && !places.is_empty() {
        chosen.push(places.swap_remove(rng.index(places.len())));
    }
    chosen
}

/// The bytes that a character counts through: the first, and how many.
fn alphabet(byte: u8) -> (u8, usize) {
    match byte {
        b'a'..=b'z' => (b'a', 26),
        b'A'..=b'Z' => (b'A', 26),
        b'0'..=b'9' => (b'0', 10),
        _ => (0, 256),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn made(
        make: fn(&[u8], usize, &mut Rng) -> Vec<u8>,
        input: &[u8],
        bytes_max: usize,
    ) -> BTreeSet<Vec<u8>> {
        let made = (0..20_000).map(|seed| make(input, bytes_max, &mut Rng::new(seed)));
        made.inspect(|made| assert!(made.len() <= bytes_max))
            .collect()
    }

    #[test]
    fn any_part_may_be_repeated_in_any_place() {
        let made = made(repeat, b"y x", 12);
        for expected in [
            &b"y          x"[..], // one run of spaces, up to the limit
            b"y     x",
            b"yyy",
            b"            ",
            b"y xy xy xy x",
            b"yyyyyyyyyy x",
            b"y xxxxxxxxxx",
        ] {
            assert!(made.contains(expected), "{}", expected.escape_ascii());
        }
        // Something common that the input does not have.
        assert!(made.contains(&b"y((((((((( x"[..]) || made.contains(&b"(((((((((((("[..]));
    }

    #[test]
    fn lengths_stay_double_or_reach_the_limit() {
        let lengths: Vec<usize> = (0..5_000)
            .map(|seed| repeat(b"abcd", 64, &mut Rng::new(seed)).len())
            .collect();
        let share = |len| lengths.iter().filter(|&&l| l == len).count();
        assert!(share(4) > 500 && share(8) > 500 && share(64) > 500);
    }

    #[test]
    fn numbered_copies_differ_in_few_places() {
        let input = b"qwertyuiop\n";
        let mut found = 0;
        for seed in 0..2_000 {
            let made = number(input, 1_100, &mut Rng::new(seed));
            let words: Vec<&[u8]> = made.split(|&byte| byte == b'\n').collect();
            let whole = words.iter().filter(|word| word.len() == 10);
            let different: BTreeSet<_> = whole.collect();
            let varies = |at: usize| {
                let here: BTreeSet<u8> = different.iter().map(|word| word[at]).collect();
                here.len() > 1
            };
            let varying = (0..10).filter(|&at| varies(at)).count();
            if different.len() > 50 {
                assert!(varying <= 4, "seed {seed}: {varying}");
                found += usize::from(different.len() >= 99);
            }
        }
        assert!(found > 10, "{found}");
    }

    #[test]
    fn what_opens_and_closes_is_repeated_alike() {
        let made = made(nest, b"(x)", 20);
        assert!(made.contains(&b"(((((x)))))"[..]) && made.contains(&b"((((((((x))))))))"[..]));
    }

    #[test]
    fn an_empty_input_becomes_copies_of_something_common() {
        for make in [repeat, number, nest] {
            let lengths: BTreeSet<usize> = made(make, b"", 6).iter().map(Vec::len).collect();
            assert!(lengths.last() == Some(&6) && !lengths.contains(&0));
        }
    }
}
