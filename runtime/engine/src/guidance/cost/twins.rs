//! Twins: words that a hash takes for one.
//!
//! In: an input, and numbers that the target multiplies by. Out: copies of a part of the input, each with another word
//! in one place, all of them equal to `hash = hash * m + byte`, from whatever it starts: Bernstein's (33), that of Java and of
//! Kernighan and Ritchie (31), and most others that are written down in one line. As numbers to the base `m` with bytes as
//! digits such words are the same number, so the hash may be cut to any width and taken by any modulus. Crosby and Wallach
//! (*Denial of Service via Algorithmic Complexity Attacks*, USENIX Security 2003) made theirs so.
//!
//! Not for hashes that mix by other operators: FNV and djb2a (exclusive or), Murmur, SipHash. A digit has to be worth more than the base, so bytes
//! make none for `m` beyond 255.

use std::ops::Range;

use super::repeat::{around, hole, replace, room};
use crate::rng::Rng;

/// What words are made of, ascending: what most formats take for one, and whatever can be seen.
const ALPHABETS: [&[u8]; 2] = [
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    b"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~",
];

/// Letters of the longest word.
const LETTERS_MAX: usize = 64;

/// Numbers stay below this, so that nothing overflows.
const NUMBER_MAX: u128 = 1 << 112;

/// Words of the same hash in place of a part of the input.
pub(super) fn twins(
    input: &[u8],
    multipliers: &[u8],
    bytes_max: usize,
    rng: &mut Rng,
) -> Option<Vec<u8>> {
    if input.is_empty() || multipliers.is_empty() {
        return None;
    }
    let hash = Hash {
        base: multipliers[rng.index(multipliers.len())].into(),
        alphabet: ALPHABETS[rng.index(ALPHABETS.len())],
    };
    let (fragment, word) = place(input, rng);
    let before = &input[fragment.start..word.start];
    let after = &input[word.end..fragment.end];
    let hole = hole(input.len(), fragment, rng);
    let room = room(input.len(), hole.len(), bytes_max, rng);
    let count = |letters: usize| (room / (before.len() + letters + after.len())).max(1);
    let words = match rng.below(2) {
        0 => hash.words(word.len().clamp(2, LETTERS_MAX), count, rng),
        _ => hash.shortest(count, rng),
    };
    // Who begins at the end of a word sees it turned round.
    let is_turned = rng.below(8) == 0;
    let mut copies = Vec::with_capacity(room);
    for mut word in words {
        if is_turned {
            word.reverse();
        }
        copies.extend_from_slice(before);
        copies.extend_from_slice(&word);
        copies.extend_from_slice(after);
    }
    Some(replace(input, hole, &copies, bytes_max))
}

/// What is copied, a word with what ends it or its line, and the word in it.
fn place(input: &[u8], rng: &mut Rng) -> (Range<usize>, Range<usize>) {
    let at = rng.index(input.len());
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric();
    let element = around(input, at, is_inside);
    let end = match is_inside(input[element.end - 1]) {
        true => element.end,
        false => element.end - 1,
    };
    let word = element.start..end;
    let fragment = match rng.below(3) {
        0 => around(input, at, |byte| byte != b'\n'),
        _ => element,
    };
    (
        fragment.start.min(word.start)..fragment.end.max(word.end),
        word,
    )
}

/// `hash = hash * base + byte`, of words of some letters.
#[derive(Clone, Copy, Debug)]
struct Hash {
    base: u128,
    alphabet: &'static [u8],
}

impl Hash {
    /// Of the shortest words of which there are enough for their length; else of the longest.
    fn shortest(self, count: impl Fn(usize) -> usize, rng: &mut Rng) -> Vec<Vec<u8>> {
        let mut words = Vec::new();
        for letters in 2..=LETTERS_MAX {
            let Some(weights) = self.weights(letters) else {
                break;
            };
            words = self.twins_of(self.number(&weights, rng), &weights, count(letters));
            if words.len() == count(letters) {
                break;
            }
        }
        words
    }

    /// Of words of so many letters, or of as many as there can be.
    fn words(self, letters: usize, count: impl Fn(usize) -> usize, rng: &mut Rng) -> Vec<Vec<u8>> {
        let fits = (2..=letters)
            .rev()
            .find_map(|letters| self.weights(letters));
        let weights = fits.unwrap_or_else(|| vec![1]);
        self.twins_of(self.number(&weights, rng), &weights, count(weights.len()))
    }

    /// What a letter is worth in each place, the first one most; nothing if numbers would be too large.
    fn weights(self, letters: usize) -> Option<Vec<u128>> {
        let mut weights = vec![1; letters];
        for at in (0..letters.saturating_sub(1)).rev() {
            weights[at] = weights[at + 1] * self.base;
            if weights[at] >= NUMBER_MAX / (256 * LETTERS_MAX as u128) {
                return None;
            }
        }
        Some(weights)
    }

    /// Some word as a number. Its letters are of the middle of the alphabet, where most others have the same number.
    fn number(self, weights: &[u128], rng: &mut Rng) -> u128 {
        let quarter = self.alphabet.len() / 4;
        let mut letter = || self.alphabet[quarter + rng.index(2 * quarter)];
        weights
            .iter()
            .map(|weight| weight * u128::from(letter()))
            .sum()
    }

    /// Words of this number, at most so many, in the order of the alphabet. A place takes every letter that leaves what the
    /// places behind it can make up; only gaps of the alphabet lead nowhere.
    fn twins_of(self, number: u128, weights: &[u128], words_max: usize) -> Vec<Vec<u8>> {
        let (least, most) = (self.alphabet[0], self.alphabet[self.alphabet.len() - 1]);
        let mut behind = vec![0; weights.len() + 1];
        for at in (0..weights.len()).rev() {
            behind[at] = behind[at + 1] + weights[at];
        }
        let mut words = Vec::new();
        let mut word = Vec::with_capacity(weights.len());
        let mut rest = number;
        // The letter to try next in the place behind `word`.
        let mut next = least;
        let mut steps = words_max.saturating_mul(weights.len()).saturating_mul(8);
        while words.len() < words_max && steps > 0 {
            steps -= 1;
            let at = word.len();
            let fits = (at < weights.len()).then(|| {
                let (weight, behind) = (weights[at], behind[at + 1]);
                let low = rest
                    .saturating_sub(u128::from(most) * behind)
                    .div_ceil(weight);
                let high = rest.saturating_sub(u128::from(least) * behind) / weight;
                let low = low.max(next.into());
                let letters = self.alphabet.iter().copied();
                let mut letters = letters.skip_while(|letter| u128::from(*letter) < low);
                letters.next().filter(|letter| u128::from(*letter) <= high)
            });
            if let Some(Some(letter)) = fits {
                rest -= u128::from(letter) * weights[at];
                word.push(letter);
                next = least;
                continue;
            }
            if fits.is_none() && rest == 0 {
                words.push(word.clone());
            }
            let Some(last) = word.pop() else { break };
            rest += u128::from(last) * weights[word.len()];
            next = last + 1;
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn hash(word: &[u8], base: u32, start: u32) -> u32 {
        let step = |hash: u32, byte: &u8| hash.wrapping_mul(base).wrapping_add((*byte).into());
        word.iter().fold(start, step)
    }

    #[test]
    fn words_have_the_same_hash_and_are_different() {
        for base in [5, 31, 33, 37] {
            for alphabet in ALPHABETS {
                let linear = Hash { base, alphabet };
                let words = linear.shortest(|_| 5_000, &mut Rng::new(base as u64));
                let all: BTreeSet<&[u8]> = words.iter().map(|word| &word[..]).collect();
                assert_eq!(all.len(), words.len());
                assert_eq!(words.len(), 5_000, "{base}");
                for start in [0, 5381] {
                    let hash = |word: &Vec<u8>| hash(word, base as u32, start);
                    let first = hash(&words[0]);
                    assert!(words.iter().all(|word| hash(word) == first), "{base}");
                }
                let alphabet: BTreeSet<u8> = alphabet.iter().copied().collect();
                assert!(words.iter().flatten().all(|byte| alphabet.contains(byte)));
            }
        }
    }

    /// Words of ten thousand need no more letters than there are numbers for.
    #[test]
    fn words_are_short() {
        let linear = Hash {
            base: 33,
            alphabet: ALPHABETS[0],
        };
        let letters: Vec<usize> = (0..20)
            .map(|seed| linear.shortest(|_| 10_000, &mut Rng::new(seed))[0].len())
            .collect();
        assert!(
            letters.iter().all(|letters| (10..=16).contains(letters)),
            "{letters:?}"
        );
    }

    #[test]
    fn all_words_of_a_number_are_found() {
        const FEW: &[u8] = b"abcdefghijkl";
        let linear = Hash {
            base: 5,
            alphabet: FEW,
        };
        let weights = linear.weights(3).unwrap();
        let number = u128::from(b'f') * 31;
        let found = linear.twins_of(number, &weights, 1_000);
        let mut expected = Vec::new();
        for (a, b, c) in FEW
            .iter()
            .flat_map(|a| (FEW.iter()).flat_map(move |b| FEW.iter().map(move |c| (*a, *b, *c))))
        {
            if u128::from(a) * 25 + u128::from(b) * 5 + u128::from(c) == number {
                expected.push(vec![a, b, c]);
            }
        }
        assert!(expected.len() > 3);
        assert_eq!(found, expected);
    }

    #[test]
    fn words_stand_where_words_stood() {
        let input = b"{\"one\": 1}\n{\"two\": 2}\n";
        let (mut lines, mut words) = (0, 0);
        for seed in 0..300 {
            let child = twins(input, &[33], 4_000, &mut Rng::new(seed)).unwrap();
            assert!(child.len() <= 4_000);
            let line: Vec<&[u8]> = child.split(|byte| *byte == b'\n').collect();
            let keys: BTreeSet<u32> = (line.iter())
                .filter_map(|line| line.strip_prefix(b"{\"")?.strip_suffix(b"\": 1}"))
                .map(|key| hash(key, 33, 5381))
                .collect();
            lines += usize::from(line.len() > 50 && keys.len() <= 2);
            words += usize::from(line.len() < 5 && child.len() > 1_000);
        }
        assert!(lines > 10 && words > 10, "{lines} {words}");
        assert_eq!(twins(input, &[], 4_000, &mut Rng::new(1)), None);
        assert_eq!(twins(b"", &[33], 4_000, &mut Rng::new(1)), None);
        // A base of which bytes are no digits has no two words of a number.
        assert!(twins(input, &[255], 4_000, &mut Rng::new(1)).is_some());
    }
}
