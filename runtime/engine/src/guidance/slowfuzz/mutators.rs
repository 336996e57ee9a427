//! The thirteen mutators of libFuzzer, as SlowFuzz has them: each may be told where to start.
//!
//! In: an input, which is not empty, and what there is to write into it. Out: the input changed, and
//! where. `FuzzerMutate.cpp` and `FuzzerCrossOver.cpp` of SlowFuzz; the numbers are its names.
//!
//! | number | mutator |
//! | --- | --- |
//! | 0 | erase up to half of the bytes |
//! | 1 | insert a byte |
//! | 2 | insert 3 to 128 times the same byte |
//! | 3, 4 | change a byte, a bit |
//! | 5 | shuffle up to 8 bytes |
//! | 6 | change a decimal number |
//! | 7 | add −10..=10 to an integer of 1, 2, 4 or 8 bytes, of either order; perhaps negate it |
//! | 8 | copy a part over another, or in between |
//! | 9 | cross with another input |
//! | 10, 11, 12 | write a word of the user's, of recorded comparisons, or one that has helped |
//!
//! Departures: there are no words of 11. A part of another input goes into this one in 9, where the
//! code has it in what a buffer holds from earlier mutations, all of which becomes the input; later
//! versions of libFuzzer have that right.

use serde::{Deserialize, Serialize};

use super::{below, coin};
use crate::corpus::{Corpus, TestcaseId};
use crate::rng::Rng;

/// How many there are.
pub(super) const MUTATORS: usize = 13;

/// Half of the bytes that are written are one of these. The code means to draw from a longer list, of
/// which it only ever sees so many: it takes the size of a pointer for that of the text.
const SPECIAL: &[u8; 7] = b"!*'();:";

/// What mutators write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Materials<'a> {
    /// The longest input.
    pub(super) bytes_max: usize,
    /// Other inputs.
    pub(super) corpus: &'a Corpus,
    /// The user's words.
    pub(super) words: &'a [Vec<u8>],
    /// Words that were in mutations that were kept.
    pub(super) persistent: &'a [Vec<u8>],
}

/// What was done where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) mutator: usize,
    pub(super) start: usize,
    /// The word that was written.
    pub(super) word: Option<Vec<u8>>,
}

/// Applies a mutator, starting at `start` if it can; nothing if it cannot be applied.
pub(super) fn apply(
    mutator: usize,
    bytes: &mut Vec<u8>,
    start: Option<usize>,
    materials: &Materials<'_>,
    rng: &mut Rng,
) -> Option<Place> {
    let max = materials.bytes_max;
    let mut word = None;
    let start = match mutator {
        0 => erase(bytes, start, rng),
        1 => insert_byte(bytes, start, max, rng),
        2 => insert_repeated(bytes, start, max, rng),
        3 => change_byte(bytes, start, rng),
        4 => change_bit(bytes, start, rng),
        5 => shuffle(bytes, start, rng),
        6 => change_decimal(bytes, start, rng),
        7 => change_binary(bytes, start, rng),
        8 => copy_part(bytes, start, max, rng),
        9 => cross_over(bytes, start, materials, rng),
        10 | 12 => {
            let words = match mutator {
                10 => materials.words,
                _ => materials.persistent,
            };
            let chosen = words.get(below(rng, words.len()))?;
            word = Some(chosen.clone());
            add_word(bytes, chosen, start, max, rng)
        }
        _ => None,
    };
    Some(Place {
        mutator,
        start: start?,
        word,
    })
}

/// Where to start: as told if that is below `places`, else anywhere below.
fn at(start: Option<usize>, places: usize, rng: &mut Rng) -> usize {
    let drawn = below(rng, places);
    start.filter(|&start| start < places).unwrap_or(drawn)
}

/// `RandCh`.
fn character(rng: &mut Rng) -> u8 {
    match coin(rng) {
        true => rng.word() as u8,
        false => SPECIAL[below(rng, SPECIAL.len())],
    }
}

fn erase(bytes: &mut Vec<u8>, start: Option<usize>, rng: &mut Rng) -> Option<usize> {
    if bytes.len() == 1 {
        return None;
    }
    let count = below(rng, bytes.len() / 2) + 1;
    let from = at(start, bytes.len() - count + 1, rng);
    bytes.drain(from..from + count);
    Some(from)
}

fn insert_byte(
    bytes: &mut Vec<u8>,
    start: Option<usize>,
    max: usize,
    rng: &mut Rng,
) -> Option<usize> {
    if bytes.len() >= max {
        return None;
    }
    let to = at(start, bytes.len() + 1, rng);
    bytes.insert(to, character(rng));
    Some(to)
}

fn insert_repeated(
    bytes: &mut Vec<u8>,
    start: Option<usize>,
    max: usize,
    rng: &mut Rng,
) -> Option<usize> {
    const LEAST: usize = 3;
    if bytes.len() + LEAST >= max {
        return None;
    }
    let most = (max - bytes.len()).min(128);
    let count = below(rng, most - LEAST + 1) + LEAST;
    let to = at(start, bytes.len() + 1, rng);
    // Preference for 0x00 and 0xff.
    let byte = match (coin(rng), coin(rng)) {
        (true, _) => rng.word() as u8,
        (false, true) => 0,
        (false, false) => 255,
    };
    bytes.splice(to..to, std::iter::repeat_n(byte, count));
    Some(to)
}

fn change_byte(bytes: &mut [u8], start: Option<usize>, rng: &mut Rng) -> Option<usize> {
    let to = at(start, bytes.len(), rng);
    bytes[to] = character(rng);
    Some(to)
}

fn change_bit(bytes: &mut [u8], start: Option<usize>, rng: &mut Rng) -> Option<usize> {
    let to = at(start, bytes.len(), rng);
    bytes[to] ^= 1 << rng.below(8);
    Some(to)
}

fn shuffle(bytes: &mut [u8], start: Option<usize>, rng: &mut Rng) -> Option<usize> {
    let count = below(rng, bytes.len().min(8)) + 1;
    let from = at(start, bytes.len() - count, rng);
    let part = &mut bytes[from..from + count];
    for last in (1..count).rev() {
        part.swap(last, below(rng, last + 1));
    }
    Some(from)
}

fn change_decimal(bytes: &mut [u8], start: Option<usize>, rng: &mut Rng) -> Option<usize> {
    let from = at(start, bytes.len(), rng);
    let from = from + bytes[from..].iter().position(u8::is_ascii_digit)?;
    let digits = bytes[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let count = digits.count();
    let digits = &mut bytes[from..from + count];
    let value = digits.iter().fold(0u64, |value, digit| {
        value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
    });
    let mut value = match rng.below(5) {
        0 => value.wrapping_add(1),
        1 => value.wrapping_sub(1),
        2 => value / 2,
        3 => value.wrapping_mul(2),
        _ => rng.word() % value.wrapping_mul(value).max(1),
    };
    for digit in digits.iter_mut().rev() {
        *digit = (value % 10) as u8 + b'0';
        value /= 10;
    }
    Some(from)
}

fn change_binary(bytes: &mut [u8], start: Option<usize>, rng: &mut Rng) -> Option<usize> {
    let width = 1usize << rng.below(4);
    if bytes.len() < width {
        return None;
    }
    let from = at(start, bytes.len() - width + 1, rng);
    let part = &mut bytes[from..from + width];
    let add = (i64::from(rng.below(21)) - 10) as u64;
    let is_big = coin(rng);
    if is_big {
        part.reverse();
    }
    let value = part
        .iter()
        .rfold(0u64, |value, &byte| value << 8 | u64::from(byte));
    write(part, value.wrapping_add(add));
    if is_big {
        part.reverse();
    }
    if add == 0 || coin(rng) {
        let value = part
            .iter()
            .rfold(0u64, |value, &byte| value << 8 | u64::from(byte));
        write(part, value.wrapping_neg());
    }
    Some(from)
}

/// An integer, its lowest byte first.
fn write(part: &mut [u8], value: u64) {
    let width = part.len();
    part.copy_from_slice(&value.to_le_bytes()[..width]);
}

fn copy_part(
    bytes: &mut Vec<u8>,
    start: Option<usize>,
    max: usize,
    rng: &mut Rng,
) -> Option<usize> {
    let from = bytes.clone();
    match coin(rng) {
        true => Some(copy_part_of(&from, bytes, start, rng)),
        false => insert_part_of(&from, bytes, start, max, rng),
    }
}

/// Overwrites a part with one of `from`.
fn copy_part_of(from: &[u8], bytes: &mut [u8], start: Option<usize>, rng: &mut Rng) -> usize {
    let to = at(start, bytes.len(), rng);
    let count = (below(rng, bytes.len() - to) + 1).min(from.len());
    let source = below(rng, from.len() - count + 1);
    bytes[to..to + count].copy_from_slice(&from[source..source + count]);
    to
}

/// Inserts a part of `from`.
fn insert_part_of(
    from: &[u8],
    bytes: &mut Vec<u8>,
    start: Option<usize>,
    max: usize,
    rng: &mut Rng,
) -> Option<usize> {
    if bytes.len() >= max {
        return None;
    }
    let count = below(rng, (max - bytes.len()).min(from.len())) + 1;
    let source = below(rng, from.len() - count + 1);
    let to = at(start, bytes.len() + 1, rng);
    bytes.splice(to..to, from[source..source + count].iter().copied());
    Some(to)
}

fn cross_over(
    bytes: &mut Vec<u8>,
    start: Option<usize>,
    materials: &Materials<'_>,
    rng: &mut Rng,
) -> Option<usize> {
    let count = materials.corpus.len();
    if count < 2 {
        return None;
    }
    let other = materials.corpus.get(TestcaseId(below(rng, count) as u32));
    let other = &other.bytes;
    match rng.below(3) {
        0 => {
            *bytes = interleave(bytes, other, materials.bytes_max, rng);
            Some(0)
        }
        1 => insert_part_of(other, bytes, start, materials.bytes_max, rng)
            .or_else(|| Some(copy_part_of(other, bytes, start, rng))),
        _ => Some(copy_part_of(other, bytes, start, rng)),
    }
}

/// Parts of both in turn, up to a random length: `CrossOver`.
fn interleave(left: &[u8], right: &[u8], max: usize, rng: &mut Rng) -> Vec<u8> {
    let max = below(rng, max) + 1;
    let mut out = Vec::new();
    let (mut now, mut next) = (left, right);
    while out.len() < max && !(now.is_empty() && next.is_empty()) {
        if !now.is_empty() {
            let most = (max - out.len()).min(now.len());
            let (part, rest) = now.split_at(below(rng, most) + 1);
            out.extend_from_slice(part);
            now = rest;
        }
        std::mem::swap(&mut now, &mut next);
    }
    out
}

fn add_word(
    bytes: &mut Vec<u8>,
    word: &[u8],
    start: Option<usize>,
    max: usize,
    rng: &mut Rng,
) -> Option<usize> {
    if coin(rng) {
        if bytes.len() + word.len() > max {
            return None;
        }
        let drawn = below(rng, bytes.len() + 1);
        let to = start.filter(|&start| start < bytes.len()).unwrap_or(drawn);
        bytes.splice(to..to, word.iter().copied());
        return Some(to);
    }
    if word.len() > bytes.len() {
        return None;
    }
    let to = below(rng, bytes.len() - word.len());
    bytes[to..to + word.len()].copy_from_slice(word);
    Some(to)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::corpus::{Reason, Testcase};

    fn corpus(inputs: &[&[u8]]) -> Corpus {
        let mut corpus = Corpus::default();
        for input in inputs {
            corpus.add(Testcase {
                bytes: Arc::from(*input),
                made: None,
                choices: None,
                fuel: 1,
                edges: 1,
                trace_hash: 0,
                valid: true,
                depth: 1,
                parent: None,
                reason: Reason::Seed,
                trial: 0,
            });
        }
        corpus
    }

    /// Everything that a mutator makes of an input of at most so many bytes, with where it starts.
    fn all(
        mutator: usize,
        input: &[u8],
        start: Option<usize>,
        max: usize,
    ) -> BTreeSet<(usize, Vec<u8>)> {
        let corpus = corpus(&[b"XYZ", b"XYZ"]);
        let words = [b"word".to_vec()];
        let materials = Materials {
            bytes_max: max,
            corpus: &corpus,
            words: &words,
            persistent: &words,
        };
        let made = (0..3_000).filter_map(|seed| {
            let mut bytes = input.to_vec();
            let place = apply(mutator, &mut bytes, start, &materials, &mut Rng::new(seed))?;
            assert!(
                !bytes.is_empty() && bytes.len() <= max,
                "{mutator}: {bytes:?}"
            );
            Some((place.start, bytes))
        });
        made.collect()
    }

    #[test]
    fn nothing_is_empty_or_too_long() {
        for mutator in 0..MUTATORS {
            for len in 1..12 {
                for start in [None, Some(0), Some(5), Some(100)] {
                    for max in [len, len + 1, len + 4, 200] {
                        all(mutator, &b"ab12cd345678"[..len], start, max);
                    }
                }
            }
        }
    }

    #[test]
    fn erases_up_to_half() {
        let lengths: BTreeSet<usize> = (all(0, b"abcdefgh", None, 20).iter())
            .map(|(_, made)| made.len())
            .collect();
        assert_eq!(Vec::from_iter(lengths), [4, 5, 6, 7]);
        assert!(all(0, b"a", None, 20).is_empty());
    }

    #[test]
    fn inserts_one_or_many() {
        for (start, made) in all(1, b"abc", None, 4) {
            assert_eq!([&made[..start], &made[start + 1..]].concat(), b"abc");
        }
        assert!(all(1, b"abc", None, 3).is_empty());
        let mut counts = BTreeSet::new();
        for (start, made) in all(2, b"abc", None, 2_000) {
            let count = made.len() - 3;
            assert_eq!([&made[..start], &made[start + count..]].concat(), b"abc");
            assert!(
                made[start..start + count]
                    .iter()
                    .all(|&byte| byte == made[start])
            );
            counts.insert(count);
        }
        assert_eq!((counts.first(), counts.last()), (Some(&3), Some(&128)));
        assert!(all(2, b"abc", None, 6).is_empty());
    }

    #[test]
    fn half_of_the_characters_are_one_of_seven() {
        let mut rng = Rng::new(1);
        let drawn: Vec<u8> = (0..10_000).map(|_| character(&mut rng)).collect();
        let special = drawn.iter().filter(|byte| SPECIAL.contains(byte));
        assert!(special.count().abs_diff(5_137) < 200);
        assert_eq!(BTreeSet::from_iter(drawn).len(), 256);
    }

    #[test]
    fn changes_stay_where_they_are_told() {
        for mutator in [3, 4] {
            for (start, made) in all(mutator, b"abcdef", Some(2), 6) {
                assert_eq!((start, made.len()), (2, 6));
                assert_eq!([&made[..2], &made[3..]].concat(), b"abdef");
            }
        }
        for (_, made) in all(5, b"abcdefghijkl", None, 12) {
            let changed: Vec<usize> = (0..12).filter(|&i| made[i] != b"abcdefghijkl"[i]).collect();
            assert!(changed.is_empty() || changed[changed.len() - 1] - changed[0] < 8);
            assert_eq!(BTreeSet::from_iter(&made).len(), 12);
        }
    }

    #[test]
    fn numbers_change_in_place() {
        let made: BTreeSet<Vec<u8>> = all(6, b"a010b", Some(0), 5)
            .into_iter()
            .map(|(_, made)| made)
            .collect();
        for expected in [b"a011b", b"a009b", b"a005b", b"a020b"] {
            assert!(made.contains(&expected[..]), "{made:?}");
        }
        assert!(all(6, b"abc", None, 5).is_empty());
        for (start, made) in all(7, &[100], None, 1) {
            assert_eq!(start, 0);
            let near = |value: u8| (90..=110).contains(&value);
            assert!(near(made[0]) || near(made[0].wrapping_neg()), "{made:?}");
        }
        let wide = all(7, &[0, 0, 0, 5], Some(0), 4);
        assert!(wide.contains(&(0, vec![0, 0, 0, 6])) && wide.contains(&(0, vec![1, 0, 0, 5])));
    }

    #[test]
    fn parts_are_copied_from_itself_and_from_others() {
        for (_, made) in all(8, b"abcdef", None, 12) {
            assert!(made.len() >= 6 && made.iter().all(|byte| b"abcdef".contains(byte)));
        }
        let crossed = all(9, b"abc", None, 6);
        let has = |text: &[u8]| crossed.iter().any(|(_, made)| made == text);
        assert!(has(b"aXYZbc") && has(b"aXY") && has(b"aXbc") && has(b"aXbYcZ"));
    }

    #[test]
    fn words_are_inserted_or_overwrite() {
        for mutator in [10, 12] {
            let made: BTreeSet<Vec<u8>> = all(mutator, b"abcde", None, 9)
                .into_iter()
                .map(|(_, made)| made)
                .collect();
            assert!(made.contains(&b"abcdeword"[..]) && made.contains(&b"worde"[..]));
            // Off by one as there: it never reaches the end.
            assert!(!made.contains(&b"aword"[..]));
        }
        assert!(all(11, b"abcde", None, 9).is_empty());
    }
}
