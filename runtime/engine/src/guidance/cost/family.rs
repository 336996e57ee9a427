//! Families: elements of an input that are alike but for a few places, made anew after a pattern that
//! differs a little.
//!
//! In: an input. Out: copies of one of its lines or words, which was changed in one way, up to its own
//! length, to twice that, or to the limit. The places count in which elements of that length differ.
//! [`number`](super::repeat::number) comes upon words that collide; which of them are shorter, so that
//! there is room for more, is then found step by step, as no change of a single one would show.

use super::repeat::{around, numbered, room};
use crate::rng::Rng;

/// Elements that are looked at to see where they differ.
const SAMPLES: usize = 16;

/// Elements after a changed pattern in place of the input.
pub(super) fn family(input: &[u8], bytes_max: usize, rng: &mut Rng) -> Option<Vec<u8>> {
    let mut pattern = Pattern::of(input, rng)?;
    pattern.change(rng);
    let count = room(input.len(), input.len(), bytes_max, rng) / pattern.bytes.len();
    let places = pattern.places(rng);
    let mut out = numbered(&pattern.bytes, &places, 0..count.max(1));
    out.truncate(bytes_max);
    Some(out)
}

/// An element, and which of its bytes count.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    bytes: Vec<u8>,
    counts: Vec<bool>,
}

impl Pattern {
    /// That of some line or word; nothing if most others have another length, or none differs, or they
    /// have little in common.
    fn of(input: &[u8], rng: &mut Rng) -> Option<Pattern> {
        if input.is_empty() {
            return None;
        }
        let is_inside: fn(u8) -> bool = match rng.below(2) {
            0 => |byte| byte != b'\n',
            _ => |byte| byte.is_ascii_alphanumeric(),
        };
        let mut element = || &input[around(input, rng.index(input.len()), is_inside)];
        let bytes = element().to_vec();
        let mut counts = vec![false; bytes.len()];
        let mut alike = 0;
        for _ in 0..SAMPLES {
            let other = element();
            if other.len() == bytes.len() {
                alike += 1;
                let differs = bytes.iter().zip(other).map(|(one, other)| one != other);
                counts.iter_mut().zip(differs).for_each(|(c, d)| *c |= d);
            }
        }
        let places = counts.iter().filter(|counts| **counts).count();
        let is_family = alike > SAMPLES / 2 && (1..=bytes.len() / 2).contains(&places);
        is_family.then_some(Pattern { bytes, counts })
    }

    /// One change: shorter, longer, another byte, or another place that counts. The last byte ends it.
    fn change(&mut self, rng: &mut Rng) {
        let body = self.bytes.len() - 1;
        if body == 0 {
            return;
        }
        let from = rng.index(body);
        let to = from + 1 + rng.index((body - from).min(1 + body / 2));
        match rng.below(6) {
            0 | 1 => {
                self.bytes.drain(from..to);
                self.counts.drain(from..to);
            }
            2 => {
                let (bytes, counts) = (
                    self.bytes[from..to].to_vec(),
                    self.counts[from..to].to_vec(),
                );
                self.bytes.splice(to..to, bytes);
                self.counts.splice(to..to, counts);
            }
            3 => self.bytes[from] = rng.below(256) as u8,
            4 => self.counts[from] = !self.counts[from],
            _ => {
                let other = rng.index(body);
                self.counts.swap(from, other);
            }
        }
    }

    /// The places that count, the lowest digit first.
    fn places(&self, rng: &mut Rng) -> Vec<usize> {
        let all = 0..self.bytes.len();
        let mut places: Vec<usize> = all.filter(|&at| self.counts[at]).collect();
        for end in (1..places.len()).rev() {
            places.swap(end, rng.index(end + 1));
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Thirty words of twelve letters that differ in two places.
    fn words() -> Vec<u8> {
        numbered(b"abcdefghijkl\n", &[3, 7], 0..30)
    }

    #[test]
    fn the_places_that_count_are_seen() {
        let found = (0..50).filter_map(|seed| Pattern::of(&words(), &mut Rng::new(seed)));
        let mut both = 0;
        for pattern in found {
            let counts: Vec<usize> = (0..13).filter(|&at| pattern.counts[at]).collect();
            assert!(counts.iter().all(|at| [3, 7].contains(at)), "{counts:?}");
            both += usize::from(counts.len() == 2);
        }
        assert!(both > 20, "{both}");
        for other in [
            &b""[..],
            b"one\none\none\n",
            b"and two\nwords alike\nare no family\n",
        ] {
            let found = (0..50).filter_map(|seed| Pattern::of(other, &mut Rng::new(seed)));
            assert_eq!(found.count(), 0, "{}", other.escape_ascii());
        }
    }

    #[test]
    fn all_elements_change_alike() {
        let (mut shorter, mut longer, mut other) = (0, 0, 0);
        for seed in 0..500 {
            let child = family(&words(), 390, &mut Rng::new(seed)).unwrap();
            assert!(child.len() <= 390);
            let lines: Vec<&[u8]> = child.split(|byte| *byte == b'\n').collect();
            let whole: BTreeSet<&[u8]> = lines[..lines.len() - 1].iter().copied().collect();
            let Some(one) = whole.first() else { continue };
            if whole.iter().any(|word| word.len() != one.len()) {
                continue;
            }
            let same = (0..one.len()).filter(|&at| whole.iter().all(|word| word[at] == one[at]));
            let varied = one.len() - same.count();
            assert!(varied <= 4, "seed {seed}: {varied}");
            shorter += usize::from(one.len() < 12 && whole.len() >= 30);
            longer += usize::from(one.len() > 12);
            other += usize::from(one.len() == 12 && !words().starts_with(one));
        }
        assert!(
            shorter > 20 && longer > 20 && other > 20,
            "{shorter} {longer} {other}"
        );
    }
}
