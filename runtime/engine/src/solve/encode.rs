//! How a number may stand in an input, and where it does.
//!
//! In: an input, and a number that is to be replaced by another. Out: needles with what replaces
//! them, and places. It knows nothing of comparisons.

use super::Edit;

/// Only this much of an input is searched: what lies behind is rarely what a comparison read last,
/// and searching costs time that could be spent on trials.
const SEARCHED_MAX: usize = 1 << 16;
/// Numerals considered per input.
const NUMERALS_MAX: usize = 1_000;

/// A value of `width` bytes that is to become another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) width: u8,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// The value as a signed number of `width` bytes.
pub(crate) fn sign_extend(value: u64, width: u8) -> i64 {
    let unused = 64 - 8 * u32::from(width);
    (value << unused) as i64 >> unused
}

/// Up to eight bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    bytes: [u8; 8],
    len: u8,
}

impl std::ops::Deref for Word {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The low `width` bytes, 1 to 8.
pub(crate) fn bytes(value: u64, width: u8, big: bool) -> Word {
    let mut word = Word {
        bytes: value.to_le_bytes(),
        len: width,
    };
    if big {
        word.bytes[..usize::from(width)].reverse();
    }
    word
}

impl Number {
    /// Needles of all widths in which both values have a place, the widest first, little endian
    /// before big.
    pub(super) fn binary(self) -> impl Iterator<Item = (Word, Word)> {
        let orders = |width: u8| [false, true].into_iter().take(1 + usize::from(width > 1));
        let all = [8, 4, 2, 1].into_iter().filter(move |&width| {
            width == self.width
                || width < self.width && self.fits(self.from, width) && self.fits(self.to, width)
        });
        let all = all.flat_map(move |width| orders(width).map(move |big| (width, big)));
        all.map(move |(width, big)| (bytes(self.from, width, big), bytes(self.to, width, big)))
    }

    /// Whether extending the low bytes, by zeros or by the sign, gives the value back.
    fn fits(&self, value: u64, width: u8) -> bool {
        let mask = u64::MAX >> (64 - 8 * u32::from(self.width));
        let unused = 64 - 8 * u32::from(width);
        let zero = (value << unused) >> unused;
        let sign = sign_extend(value, width) as u64 & mask;
        value & mask == zero || value & mask == sign
    }
}

/// A run of digits in an input.
#[derive(Clone, Copy, Debug)]
struct Numeral {
    at: usize,
    len: usize,
    hexadecimal: bool,
    negative: bool,
    value: u64,
}

/// An input, indexed for searching.
#[derive(Debug)]
pub(super) struct Haystack<'a> {
    pub(super) bytes: &'a [u8],
    /// Where each byte value stands: offsets of `places`, by value.
    starts: Vec<u32>,
    places: Vec<u32>,
    numerals: Vec<Numeral>,
}

impl<'a> Haystack<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Haystack<'a> {
        let searched = &bytes[..bytes.len().min(SEARCHED_MAX)];
        let mut starts = vec![0u32; 257];
        for &byte in searched {
            starts[usize::from(byte) + 1] += 1;
        }
        for i in 0..256 {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut places = vec![0; searched.len()];
        for (at, &byte) in searched.iter().enumerate() {
            let slot = &mut next[usize::from(byte)];
            places[*slot as usize] = at as u32;
            *slot += 1;
        }
        Haystack {
            bytes,
            starts,
            places,
            numerals: numerals(searched),
        }
    }

    /// The places where the needle stands, in order; none for an empty one.
    pub(super) fn find<'b>(&'b self, needle: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
        let first = needle.first().into_iter();
        first
            .flat_map(|&first| self.with_byte(first))
            .filter(|&at| self.stands_at(needle, at))
    }

    /// The same without regard to ASCII case; places that agree in case come first.
    pub(super) fn find_text(&self, needle: &[u8], limit: usize) -> Vec<usize> {
        let mut found = self.find(needle).take(limit).collect::<Vec<_>>();
        let Some(&first) = needle.first() else {
            return found;
        };
        let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
        let others = (lower != upper)
            .then(|| self.with_byte(upper))
            .into_iter()
            .flatten();
        for at in self.with_byte(lower).chain(others) {
            if found.len() >= limit {
                break;
            }
            let here = self.bytes.get(at..at + needle.len());
            if here.is_some_and(|here| here.eq_ignore_ascii_case(needle)) && !found.contains(&at) {
                found.push(at);
            }
        }
        found
    }

    pub(super) fn stands_at(&self, needle: &[u8], at: usize) -> bool {
        self.bytes.get(at..at + needle.len()) == Some(needle)
    }

    /// Numerals that mean the value, rewritten to mean the other; leading zeros keep the length.
    pub(super) fn numerals(&self, number: Number, limit: usize) -> Vec<Edit> {
        let mask = u64::MAX >> (64 - 8 * u32::from(number.width));
        let signed = sign_extend(number.to, number.width);
        let mut edits = Vec::new();
        for numeral in &self.numerals {
            let value = if numeral.negative {
                numeral.value.wrapping_neg()
            } else {
                numeral.value
            };
            if value & mask != number.from & mask || (value & mask != value && !numeral.negative) {
                continue;
            }
            let to = number.to & mask;
            let mut texts = Vec::new();
            let digits = numeral.len - usize::from(numeral.negative);
            let padded =
                self.bytes[numeral.at + usize::from(numeral.negative)] == b'0' && digits > 1;
            let pad = if padded { digits } else { 0 };
            if numeral.hexadecimal {
                let here = &self.bytes[numeral.at..numeral.at + numeral.len];
                let upper = here.iter().any(u8::is_ascii_uppercase);
                texts.push(if upper {
                    format!("{to:0pad$X}")
                } else {
                    format!("{to:0pad$x}")
                });
            } else {
                if signed < 0 {
                    texts.push(format!("{signed}"));
                }
                texts.push(format!("{to:0pad$}"));
            }
            for text in texts {
                edits.push(Edit {
                    at: numeral.at as u32,
                    remove: numeral.len as u32,
                    insert: text.into_bytes(),
                });
            }
            if edits.len() >= limit {
                break;
            }
        }
        edits
    }

    fn with_byte(&self, byte: u8) -> impl Iterator<Item = usize> + '_ {
        let (from, to) = (
            self.starts[usize::from(byte)],
            self.starts[usize::from(byte) + 1],
        );
        self.places[from as usize..to as usize]
            .iter()
            .map(|&at| at as usize)
    }
}

/// All maximal runs of decimal and of hexadecimal digits that fit 64 bits.
fn numerals(bytes: &[u8]) -> Vec<Numeral> {
    let mut found = Vec::new();
    for hexadecimal in [false, true] {
        let radix = if hexadecimal { 16 } else { 10 };
        let is_digit = |byte: u8| char::from(byte).is_digit(radix);
        let mut at = 0;
        while at < bytes.len() && found.len() < NUMERALS_MAX {
            let len = bytes[at..]
                .iter()
                .take_while(|&&byte| is_digit(byte))
                .count();
            let text = std::str::from_utf8(&bytes[at..at + len]).unwrap_or("");
            if let Ok(value) = u64::from_str_radix(text, radix) {
                let negative = !hexadecimal && at > 0 && bytes[at - 1] == b'-';
                found.push(Numeral {
                    at: at - usize::from(negative),
                    len: len + usize::from(negative),
                    hexadecimal,
                    negative,
                    value,
                });
            }
            at += len.max(1);
        }
    }
    found
}
