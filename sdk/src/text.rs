//! Characters and strings.

use core::ops::RangeInclusive;

use crate::Site;
#[cfg(feature = "alloc")]
use crate::sys;

/// The longest string that the host keeps.
#[cfg(feature = "alloc")]
const KNOWN_BYTES_MAX: usize = 256;

/// Characters to draw from, by index: a range, several ranges, or the characters of a string.
pub trait Alphabet {
    /// How many there are.
    fn size(&self) -> u32;
    /// The one at `index`, which is below that.
    fn letter(&self, index: u32) -> char;
}

/// The first and the last code point that is no character, in the middle of the others.
const SURROGATES: RangeInclusive<u32> = 0xd800..=0xdfff;
const SURROGATE_COUNT: u32 = 0x800;

/// A range across the surrogates leaves them out.
impl Alphabet for RangeInclusive<char> {
    fn size(&self) -> u32 {
        let (lo, hi) = (*self.start() as u32, *self.end() as u32);
        let gap = if lo < *SURROGATES.start() && hi > *SURROGATES.end() {
            SURROGATE_COUNT
        } else {
            0
        };
        (hi + 1).saturating_sub(lo).saturating_sub(gap)
    }

    fn letter(&self, index: u32) -> char {
        let lo = *self.start() as u32;
        let code = lo + index;
        let gap = if lo < *SURROGATES.start() && code >= *SURROGATES.start() {
            SURROGATE_COUNT
        } else {
            0
        };
        char::from_u32(code + gap).expect("the index is below the size")
    }
}

impl<const N: usize> Alphabet for [RangeInclusive<char>; N] {
    fn size(&self) -> u32 {
        self.iter().map(Alphabet::size).sum()
    }

    fn letter(&self, mut index: u32) -> char {
        for range in self {
            if index < range.size() {
                return range.letter(index);
            }
            index -= range.size();
        }
        unreachable!("the index is below the size")
    }
}

impl Alphabet for &str {
    fn size(&self) -> u32 {
        self.chars().count() as u32
    }

    fn letter(&self, index: u32) -> char {
        let found = self.chars().nth(index as usize);
        found.expect("the index is below the size")
    }
}

impl Site {
    /// One character.
    #[inline]
    pub fn char(self, alphabet: impl Alphabet) -> char {
        alphabet.letter(self.int(0..alphabet.size()))
    }

    /// As many characters as the range allows: first how many, then each.
    #[cfg(feature = "alloc")]
    pub fn string(
        self,
        count: RangeInclusive<usize>,
        alphabet: impl Alphabet,
    ) -> alloc::string::String {
        let count = self.part(0).int(count);
        let size = alphabet.size();
        (0..count)
            .map(|_| alphabet.letter(self.part(1).int(0..size)))
            .collect()
    }

    /// A string that the target's own code names, where the guidance has a table of these and a coin says so; else `other`.
    /// Guidances without such a table (`zest`) draw nothing here.
    #[cfg(feature = "alloc")]
    pub fn known_or(self, other: impl FnOnce() -> alloc::string::String) -> alloc::string::String {
        let mut buffer = [0; KNOWN_BYTES_MAX];
        let known = sys::draw_string(self, &mut buffer);
        // The host's texts are whole characters; what had to be cut may end within one.
        known.map_or_else(other, |count| {
            alloc::string::String::from_utf8_lossy(&buffer[..count]).into_owned()
        })
    }

    /// A word of the dictionary with a probability of `num`/`den`, else `other`.
    #[cfg(feature = "alloc")]
    pub fn word_or(
        self,
        dictionary: &[&str],
        num: u32,
        den: u32,
        other: impl FnOnce() -> alloc::string::String,
    ) -> alloc::string::String {
        if self.part(0).chance(num, den) {
            self.part(1).word(dictionary).into()
        } else {
            other()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{Source, run};
    use crate::value;

    #[test]
    fn a_range_across_the_surrogates_leaves_them_out() {
        let all = '\0'..=char::MAX;
        assert_eq!(all.size(), 0x11_0000 - 0x800);
        assert_eq!(all.letter(0xd7ff), '\u{d7ff}');
        assert_eq!(all.letter(0xd800), '\u{e000}');
        assert_eq!(all.letter(all.size() - 1), char::MAX);
        assert_eq!(('\u{e000}'..='\u{e001}').letter(1), '\u{e001}');
    }

    #[test]
    fn alphabets_are_counted_and_indexed() {
        let letters = ['a'..='c', 'X'..='X'];
        let spelt: std::string::String = (0..letters.size()).map(|i| letters.letter(i)).collect();
        assert_eq!(spelt, "abcX");
        assert_eq!("äb".letter(1), 'b');
        let none = 'b'..='a';
        assert_eq!(none.size(), 0);
    }

    #[test]
    fn without_a_host_no_string_is_known() {
        let run = run(Source::Seeded(1), || value!().known_or(|| "own".into()));
        assert_eq!((run.drawn.len(), run.done().as_str()), (0, "own"));
    }

    #[test]
    fn strings_have_the_length_and_the_letters_asked_for() {
        for seed in 0..100 {
            let run = run(Source::Seeded(seed), || value!().string(1..=4, 'a'..='c'));
            let text = run.done();
            assert!((1..=4).contains(&text.len()), "seed {seed}: {text}");
            assert!(
                text.chars().all(|c| ('a'..='c').contains(&c)),
                "seed {seed}: {text}"
            );
        }
    }
}
