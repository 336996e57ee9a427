//! Pumps: an input as prefix + fragmentⁿ + suffix, and where to look for the fragment.
//!
//! In: bytes. Out: places, the most likely first: what is repeated already (longest repetitions
//! first), then short substrings all over the input, as Regulator's search for pumps tries them
//! (McLaughlin et al., USENIX Security 2022). Which of them costs most is for others to measure.

use std::collections::BTreeSet;

/// Longest period of a repetition that is looked for.
const PERIOD_MAX: usize = 256;

/// Longest input all of whose substrings are candidates.
const ALL_SUBSTRINGS_MAX: usize = 40;

/// Lengths of substrings tried in longer inputs.
const LENGTHS: [usize; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];

/// A way to read an input as a member of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pump {
    /// Where the fragment begins.
    pub start: usize,
    /// One past the fragment's last byte; more than `start`.
    pub end: usize,
    /// How often it stands there in a row; at least once.
    pub count: usize,
}

impl Pump {
    /// The fragment of the input.
    pub fn fragment(self, input: &[u8]) -> &[u8] {
        &input[self.start..self.end]
    }

    /// Bytes of the fragment.
    pub fn fragment_bytes(self) -> usize {
        self.end - self.start
    }

    /// One past the last repetition.
    fn suffix_start(self) -> usize {
        self.start + self.count * self.fragment_bytes()
    }

    /// Bytes of member `n` of an input of this length; `None` beyond 64 bits.
    pub fn member_bytes(self, input_bytes: usize, n: u64) -> Option<u64> {
        let fixed = (input_bytes - (self.suffix_start() - self.start)) as u64;
        fixed.checked_add(n.checked_mul(self.fragment_bytes() as u64)?)
    }

    /// Member `n`: the input with the fragment `n` times. The input itself is member `count`.
    pub fn member(self, input: &[u8], n: u64) -> Vec<u8> {
        let mut member = input[..self.start].to_vec();
        for _ in 0..n {
            member.extend_from_slice(self.fragment(input));
        }
        member.extend_from_slice(&input[self.suffix_start()..]);
        member
    }
}

/// At most `max` candidates, no two of the same family as far as a hash of two members tells.
pub fn candidates(input: &[u8], max: usize) -> Vec<Pump> {
    let mut families = BTreeSet::new();
    let mut found = repetitions(input);
    found.truncate(max);
    found.retain(|pump| families.insert(family(*pump, input)));
    for pump in substrings(input, max) {
        if found.len() >= max {
            break;
        }
        let fragment = pump.fragment(input);
        let is_repeated =
            input[pump.end..].starts_with(fragment) || input[..pump.start].ends_with(fragment);
        // Part of a repetition, which is a candidate already.
        if is_repeated || !is_primitive(fragment) {
            continue;
        }
        if families.insert(family(pump, input)) {
            found.push(pump);
        }
    }
    found
}

/// What is repeated at least twice in a row: those that cover most bytes first, then the shortest
/// periods, then the first places. `(ab)(ab)(ab)` is one, `(abab)` twice is the same thing.
pub fn repetitions(input: &[u8]) -> Vec<Pump> {
    let mut found = Vec::new();
    for period in 1..=PERIOD_MAX.min(input.len() / 2) {
        let mut start = 0;
        while start + period < input.len() {
            let equal = input[start..]
                .iter()
                .zip(&input[start + period..])
                .take_while(|(a, b)| a == b)
                .count();
            if equal >= period && is_primitive(&input[start..start + period]) {
                found.push(Pump {
                    start,
                    end: start + period,
                    count: (equal + period) / period,
                });
            }
            start += equal + 1;
        }
    }
    found.sort_by_key(|pump| {
        let covered = pump.suffix_start() - pump.start;
        (usize::MAX - covered, pump.fragment_bytes(), pump.start)
    });
    found
}

/// Substrings, all of a short input, else of some lengths at even distances; about `max`.
fn substrings(input: &[u8], max: usize) -> Vec<Pump> {
    let lengths: Vec<usize> = if input.len() <= ALL_SUBSTRINGS_MAX {
        (1..=input.len()).collect()
    } else {
        LENGTHS.to_vec()
    };
    let places = input.len() * lengths.len();
    let apart = places.div_ceil(max.max(1)).max(1);
    let of_length = |length: usize| {
        (0..=input.len() - length)
            .step_by(apart)
            .map(move |start| Pump {
                start,
                end: start + length,
                count: 1,
            })
    };
    lengths.into_iter().flat_map(of_length).collect()
}

fn is_primitive(text: &[u8]) -> bool {
    !(1..=text.len() / 2).any(|period| {
        text.len().is_multiple_of(period) && text.iter().zip(&text[period..]).all(|(a, b)| a == b)
    })
}

/// Two families with the same members 0 and 2 are the same.
fn family(pump: Pump, input: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in [&input[..pump.start], &input[pump.suffix_start()..]] {
        hasher.update(part);
    }
    hasher.update(blake3::hash(&pump.member(input, 2)).as_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn texts(input: &[u8]) -> Vec<(&[u8], usize)> {
        let pumps = repetitions(input);
        let text = |pump: &Pump| (pump.fragment(input), pump.count);
        pumps.iter().map(text).collect()
    }

    #[test]
    fn repetitions_are_found_longest_first() {
        assert_eq!(texts(b"xaaaay-ababab"), [(&b"ab"[..], 3), (&b"a"[..], 4)]);
        assert_eq!(texts(b"abcabcab"), [(&b"abc"[..], 2)]);
        assert_eq!(texts(b"abcdef"), []);
        assert_eq!(texts(b""), []);
    }

    #[test]
    fn members_have_the_length_that_is_said() {
        let input = b"<[[[>";
        let pump = repetitions(input)[0];
        assert_eq!(pump.member(input, 0), b"<>");
        assert_eq!(pump.member(input, 3), input);
        assert_eq!(pump.member(input, 5), b"<[[[[[>");
        for n in 0..9 {
            let bytes = pump.member(input, n).len() as u64;
            assert_eq!(pump.member_bytes(input.len(), n), Some(bytes));
        }
        assert_eq!(pump.member_bytes(5, u64::MAX), None);
    }

    #[test]
    fn every_substring_of_a_short_input_is_a_candidate_once() {
        let all = candidates(b"abc", 100);
        let text: Vec<&[u8]> = all.iter().map(|pump| pump.fragment(b"abc")).collect();
        assert_eq!(text, [&b"a"[..], b"b", b"c", b"ab", b"bc", b"abc"]);
        let run = candidates(b"aaa", 100);
        assert_eq!(run.len(), 1, "`aa` is `a` twice: {run:?}");
        assert_eq!(run[0].count, 3);
    }

    #[test]
    fn candidates_of_any_input_are_bounded_and_sound() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let letters = 1 + rng.below(4);
            let input: Vec<u8> = (0..rng.index(400))
                .map(|_| b'a' + rng.below(letters) as u8)
                .collect();
            let found = candidates(&input, 200);
            assert!(found.len() <= 200, "seed {seed}");
            assert_eq!(found.is_empty(), input.is_empty(), "seed {seed}");
            for pump in found {
                assert_eq!(
                    pump.member(&input, pump.count as u64),
                    input,
                    "seed {seed}: {pump:?}"
                );
            }
        }
    }
}
