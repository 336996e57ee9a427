//! Texts: which choices of a tree read as text, and how another text is written in their place.
//!
//! In: a tree, and what the generator made of it. Out: texts, and patches that make them others. Three things are texts:
//! the entry of a request for a known string, a draw of bytes, and a run of draws from one place that spell one, a
//! character each. What the numbers of a run mean nobody says: an alphabet is a range of characters, or two, and which ones
//! follows from where the run stands in the input; of what is encoded there, the alphabets of its size that are usual.

use super::strings::is_entry;
use super::tree::{Patch, Token, Tree};
use super::{Domain, Draw};

/// Texts of one tree, and bytes of one text, that are looked at.
const TEXTS_MAX: usize = 256;
const TEXT_BYTES_MAX: usize = 1024;
/// The longest text that is written for a request; more than any guest of ours makes room for.
const ENTRY_BYTES_MAX: usize = 256;
/// Only this much of an input is searched for a run.
const SEARCHED_MAX: usize = 1 << 14;
/// Draws of a run, at least: fewer spell everything.
const RUN_MIN: usize = 2;
/// Draws that find their alphabet in the input, at least: one range, two ranges. Fewer stand there by chance.
const ONE_RANGE_MIN: usize = 4;
const TWO_RANGES_MIN: usize = 6;
/// What is no byte.
const OTHER: u8 = 0xff;

/// A text of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// As the target may read it.
    pub(super) bytes: Vec<u8>,
    holder: Holder,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    /// One choice of bytes.
    Whole { at: u32 },
    /// A choice for each character.
    Spelt { run: Run, alphabet: Alphabet },
}

/// Choices of one draw, one after the other, each by itself or each in a span of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    draw: Draw,
    at: Vec<u32>,
    /// Tokens from one to the next: 1, or 3 with spans around them. Of a single one nobody knows.
    gap: u32,
}

/// The number in front of what a draw of one range means: first value, and what is added to it; ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Alphabet(Vec<(i64, i64)>);

/// The texts of a tree of which a generator made `input`.
pub(super) fn texts(tree: &Tree, input: &[u8]) -> Vec<Text> {
    let whole = tree.tokens.iter().zip(0..).filter_map(|(token, at)| {
        let Token::Choice { draw, value, bytes } = token else {
            return None;
        };
        let bytes = tree.bytes(*bytes, draw, *value);
        let is_text = matches!(draw.domain, Domain::Bytes { .. }) && bytes.len() <= TEXT_BYTES_MAX;
        is_text.then(|| Text {
            bytes: bytes.to_vec(),
            holder: Holder::Whole { at },
        })
    });
    let mut texts: Vec<Text> = whole.take(TEXTS_MAX).collect();
    texts.extend(spelt(tree, input));
    texts
}

/// The texts that runs spell. What the longest run of a draw means, the others mean as well.
fn spelt(tree: &Tree, input: &[u8]) -> Vec<Text> {
    let mut runs = runs(tree);
    runs.sort_by_key(|run| (run.draw, std::cmp::Reverse(run.at.len())));
    let mut texts: Vec<Text> = Vec::new();
    for run in runs.into_iter().take(TEXTS_MAX) {
        let same = texts.last().and_then(|text| match &text.holder {
            Holder::Spelt {
                run: last,
                alphabet,
            } if last.draw == run.draw => Some(alphabet),
            _ => None,
        });
        let values: Vec<i64> = run.at.iter().map(|&at| value_at(tree, at)).collect();
        let alphabet = match same {
            Some(alphabet) => alphabet.clone(),
            None => Alphabet::of(
                &values,
                run.draw.domain,
                &input[..input.len().min(SEARCHED_MAX)],
            ),
        };
        texts.push(Text {
            bytes: alphabet.spell(&values),
            holder: Holder::Spelt { run, alphabet },
        });
    }
    texts
}

fn value_at(tree: &Tree, at: u32) -> i64 {
    match tree.tokens[at as usize] {
        Token::Choice { value, .. } => value.cast_signed(),
        _ => unreachable!("runs are of choices"),
    }
}

/// All runs of characters.
fn runs(tree: &Tree) -> Vec<Run> {
    let mut found: Vec<Run> = Vec::new();
    let mut last: Option<Run> = None;
    for (token, at) in tree.tokens.iter().zip(0u32..) {
        let Token::Choice { draw, .. } = token else {
            continue;
        };
        if let Some(run) = &mut last {
            let gap = at - run.at.last().expect("a run has a choice");
            let fits = gap == 1 || gap == 3 && is_next_span(&tree.tokens[at as usize - 2..]);
            if run.draw == *draw && fits && (run.gap == gap || run.at.len() == 1) {
                run.gap = gap;
                run.at.push(at);
                continue;
            }
        }
        let is_character = matches!(draw.domain, Domain::Int { lo, hi } if lo < hi && lo >= -128 && hi <= 0x11_0000);
        let next = is_character.then(|| Run {
            draw: *draw,
            at: vec![at],
            gap: 1,
        });
        found.extend(std::mem::replace(&mut last, next));
    }
    found.extend(last);
    found.retain(|run| run.at.len() >= RUN_MIN && (run.gap == 1 || is_in_spans(tree, run)));
    found
}

/// Whether the first and the last are as those between them: alone in a span.
fn is_in_spans(tree: &Tree, run: &Run) -> bool {
    let (first, last) = (run.at[0] as usize, run.at[run.at.len() - 1] as usize);
    let opens = first.checked_sub(1).map(|before| tree.tokens[before]);
    matches!(opens, Some(Token::Open { .. })) && tree.tokens.get(last + 1) == Some(&Token::Close)
}

/// Whether a span ends here and the next one begins.
fn is_next_span(tokens: &[Token]) -> bool {
    matches!(tokens, [Token::Close, Token::Open { .. }, ..])
}

impl Alphabet {
    /// What the values of a run mean, by where it stands in the input, else by how many characters there are.
    fn of(values: &[i64], domain: Domain, input: &[u8]) -> Alphabet {
        let usual = Alphabet::usual(domain);
        let spelt = usual.spell(values);
        let stands = input.windows(spelt.len()).any(|here| here == spelt);
        let found = (!stands).then(|| Alphabet::found(values, input)).flatten();
        found.unwrap_or(usual)
    }

    /// The alphabets of so many characters.
    fn usual(domain: Domain) -> Alphabet {
        let Domain::Int { lo, hi } = domain else {
            unreachable!("runs are of numbers")
        };
        let ranges: &[(i64, u8)] = match (lo, hi) {
            (0, 9) => &[(0, b'0')],
            (0, 25) => &[(0, b'a')],
            (0, 35) => &[(0, b'a'), (26, b'0')],
            (0, 51) => &[(0, b'a'), (26, b'A')],
            (0, 61) => &[(0, b'a'), (26, b'A'), (52, b'0')],
            (0, 94) => &[(0, b' ')],
            _ => return Alphabet(vec![(lo, 0)]),
        };
        let added = |&(first, letter): &(i64, u8)| (first, i64::from(letter) - first);
        Alphabet(ranges.iter().map(added).collect())
    }

    /// One range, else two, with which the values spell what stands somewhere in the input.
    fn found(values: &[i64], input: &[u8]) -> Option<Alphabet> {
        if values.len() < ONE_RANGE_MIN {
            return None;
        }
        let places = input.windows(values.len());
        let mut two = None;
        for here in places {
            match Alphabet::between(values, here) {
                Some(one) if one.0.len() == 1 => return Some(one),
                other if two.is_none() && values.len() >= TWO_RANGES_MIN => two = other,
                _ => {}
            }
        }
        two
    }

    /// At most two ranges with which these values are these bytes.
    fn between(values: &[i64], bytes: &[u8]) -> Option<Alphabet> {
        let mut ranges: [Option<(i64, i64, i64)>; 2] = [None; 2];
        for (&value, &byte) in values.iter().zip(bytes) {
            let added = i64::from(byte) - value;
            let fits = |range: &Option<(i64, i64, i64)>| range.is_none_or(|(.., of)| of == added);
            let range = ranges.iter_mut().find(|range| fits(range))?;
            let (least, most, _) = range.unwrap_or((value, value, added));
            *range = Some((least.min(value), most.max(value), added));
        }
        match ranges {
            [Some((.., added)), None] => Some(Alphabet(vec![(i64::MIN, added)])),
            [Some(one), Some(other)] => {
                let (low, high) = if one.0 < other.0 {
                    (one, other)
                } else {
                    (other, one)
                };
                (low.1 < high.0).then(|| Alphabet(vec![(i64::MIN, low.2), (high.0, high.2)]))
            }
            _ => None,
        }
    }

    fn range_of(&self, value: i64) -> i64 {
        let at = self.0.partition_point(|&(first, _)| first <= value);
        self.0[at.saturating_sub(1)].1
    }

    fn spell(&self, values: &[i64]) -> Vec<u8> {
        let letter = |&value: &i64| u8::try_from(value + self.range_of(value)).unwrap_or(OTHER);
        values.iter().map(letter).collect()
    }

    /// The value that means a byte.
    fn value(&self, byte: u8, domain: Domain) -> Option<i64> {
        let values = self.0.iter().map(|&(_, added)| i64::from(byte) - added);
        let fitting: Vec<i64> =
            (values.filter(|value| domain.has(value.cast_unsigned()))).collect();
        // Where one range ends and the other begins is known roughly.
        let means = |value: &&i64| **value + self.range_of(**value) == i64::from(byte);
        fitting.iter().find(means).or(fitting.first()).copied()
    }
}

impl Text {
    /// Patches that make it `new`, or as near to it as its draws allow; nothing if that changes nothing.
    pub(super) fn write(&self, tree: &Tree, new: &[u8]) -> Option<Vec<Patch>> {
        match &self.holder {
            Holder::Whole { at } => write_whole(tree, *at, new),
            Holder::Spelt { run, alphabet } => respell(tree, run, alphabet, new),
        }
    }

    /// Whether it may become longer or shorter.
    pub(super) fn is_elastic(&self, tree: &Tree) -> bool {
        match &self.holder {
            Holder::Whole { at } => match tree.tokens[*at as usize] {
                Token::Choice { draw, .. } if is_entry(&draw) => true,
                Token::Choice { draw, .. } => {
                    matches!(draw.domain, Domain::Bytes { min, max } if min < max)
                }
                _ => false,
            },
            Holder::Spelt { run, .. } => count_before(tree, run).is_some(),
        }
    }
}

fn write_whole(tree: &Tree, at: u32, new: &[u8]) -> Option<Vec<Patch>> {
    let Token::Choice {
        mut draw,
        value,
        bytes,
    } = tree.tokens[at as usize]
    else {
        return None;
    };
    let mut payload = new.to_vec();
    if is_entry(&draw) {
        if payload.len() > ENTRY_BYTES_MAX || std::str::from_utf8(&payload).is_err() {
            return None;
        }
        let len = payload.len() as u32;
        draw.domain = Domain::Bytes { min: len, max: len };
    } else if let Domain::Bytes { min, max } = draw.domain {
        let len = payload.len().clamp(min as usize, max as usize);
        payload.resize(len, 0);
    }
    if payload == tree.bytes(bytes, &draw_of(tree, at), value) {
        return None;
    }
    let token = Token::Choice {
        draw,
        value: payload.len() as u64,
        bytes: 0,
    };
    Some(vec![Patch {
        at,
        remove: 1,
        tokens: vec![token],
        payload,
    }])
}

fn draw_of(tree: &Tree, at: u32) -> Draw {
    match tree.tokens[at as usize] {
        Token::Choice { draw, .. } => draw,
        _ => unreachable!("it is a choice"),
    }
}

/// A run with other letters. Where it is told how many there are just before, there may be more or fewer.
fn respell(tree: &Tree, run: &Run, alphabet: &Alphabet, new: &[u8]) -> Option<Vec<Patch>> {
    let old: Vec<i64> = run.at.iter().map(|&at| value_at(tree, at)).collect();
    let mut values = old.clone();
    let mut patches = Vec::new();
    if new.len() != old.len()
        && let Some(count) = count_before(tree, run)
    {
        patches.push(count.patch(tree, new.len())?);
        values.resize(new.len(), *old.last()?);
    }
    for (value, &byte) in values.iter_mut().zip(new) {
        *value = alphabet.value(byte, run.draw.domain).unwrap_or(*value);
    }
    if values.len() == old.len() {
        let differ = run.at.iter().zip(values).zip(old);
        let patches = differ.filter(|((_, new), old)| new != old);
        let patches: Vec<Patch> = patches
            .map(|((&at, new), _)| Patch::of_value(at, run.draw, new.cast_unsigned()))
            .collect();
        return (!patches.is_empty()).then_some(patches);
    }
    let (first, last) = (run.at[0], *run.at.last()?);
    // A span around each, if there is one.
    let around = u32::from(run.gap == 3);
    let choice = |value: i64| Token::Choice {
        draw: run.draw,
        value: value.cast_unsigned(),
        bytes: 0,
    };
    let element = |value: i64| match around {
        0 => vec![choice(value)],
        _ => vec![tree.tokens[first as usize - 1], choice(value), Token::Close],
    };
    patches.push(Patch {
        at: first - around,
        remove: last + around + 1 - (first - around),
        tokens: values.into_iter().flat_map(element).collect(),
        payload: Vec::new(),
    });
    Some(patches)
}

/// The choice of how long a run is.
struct Count {
    at: u32,
    /// What it is beyond the length.
    beyond: i64,
}

impl Count {
    fn patch(&self, tree: &Tree, len: usize) -> Option<Patch> {
        let draw = draw_of(tree, self.at);
        let value = (len as i64 + self.beyond).cast_unsigned();
        (draw.domain.has(value)).then(|| Patch::of_value(self.at, draw, value))
    }
}

/// The choice just before a run, if it is the run's length, one more or one less.
fn count_before(tree: &Tree, run: &Run) -> Option<Count> {
    let before = tree.tokens[..run.at[0] as usize]
        .iter()
        .rposition(|token| !matches!(token, Token::Open { .. }))?;
    let Token::Choice { draw, value, .. } = tree.tokens[before] else {
        return None;
    };
    let beyond = value.cast_signed().checked_sub(run.at.len() as i64)?;
    let is_count = matches!(draw.domain, Domain::Int { .. }) && draw.site != run.draw.site;
    (is_count && (-1..=1).contains(&beyond)).then_some(Count {
        at: before as u32,
        beyond,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Drawing, Role, Source};
    use super::*;
    use crate::choice::tree::Aligned;
    use crate::rng::Rng;

    /// What is drawn, and what is made of it.
    type Generator = fn(&mut Drawing) -> Vec<u8>;

    /// The tree of a generator's run, and what it made.
    fn run(source: Source, generator: Generator) -> (Tree, Vec<u8>) {
        let mut drawing = Drawing::new(source, 1_000);
        let made = generator(&mut drawing);
        (Tree::from(&drawing.finish()), made)
    }

    /// What a generator makes when the text of its tree that begins with its input's first byte becomes `new`.
    fn rewritten(seed: u64, generator: Generator, new: &[u8]) -> Option<Vec<u8>> {
        let (tree, made) = run(Source::Fresh(Rng::new(seed)), generator);
        let texts = texts(&tree, &made);
        let text = texts
            .iter()
            .find(|text| !text.bytes.is_empty() && made.starts_with(&text.bytes));
        let text = text.unwrap_or_else(|| panic!("{made:?} {texts:?}"));
        let child = tree.patched(&text.write(&tree, new)?);
        let (_, made) = run(Source::Aligned(Aligned::new(child, Rng::new(9))), generator);
        Some(made)
    }

    fn letters(drawing: &mut Drawing, count: i64, size: i64, letter: fn(i64) -> u8) -> Vec<u8> {
        let draw = |_| {
            letter(
                drawing
                    .int(2, Role::Value, 0, size - 1)
                    .expect("there is room"),
            )
        };
        (0..count).map(draw).collect()
    }

    fn five_of_a_range(drawing: &mut Drawing) -> Vec<u8> {
        letters(drawing, 5, 40, |n| b'!' + n as u8)
    }

    fn eight_of_two_ranges(drawing: &mut Drawing) -> Vec<u8> {
        letters(drawing, 8, 12, |n| {
            if n < 6 {
                b'p' + n as u8
            } else {
                b'C' + n as u8 - 6
            }
        })
    }

    fn two_digits(drawing: &mut Drawing) -> Vec<u8> {
        letters(drawing, 2, 10, |n| b'0' + n as u8)
    }

    fn counted(drawing: &mut Drawing) -> Vec<u8> {
        let count = drawing.int(1, Role::Value, 4, 9).expect("there is room");
        let mut made = letters(drawing, count, 26, |n| b'a' + n as u8);
        made.push(drawing.int(3, Role::Value, 0, 255).expect("there is room") as u8);
        made
    }

    fn in_spans(drawing: &mut Drawing) -> Vec<u8> {
        let count = drawing.int(1, Role::Value, 4, 9).expect("there is room");
        let mut made = Vec::new();
        for _ in 0..count {
            drawing.open(7).expect("there is room");
            made.extend(letters(drawing, 1, 26, |n| b'a' + n as u8));
            drawing.close(false);
        }
        made.push(drawing.int(3, Role::Value, 0, 255).expect("there is room") as u8);
        made
    }

    fn bytes(drawing: &mut Drawing) -> Vec<u8> {
        let bytes = Domain::Bytes { min: 3, max: 6 };
        let count = drawing.draw(1, Role::Value, bytes).expect("there is room");
        drawing.last_bytes(count as usize).to_vec()
    }

    #[test]
    fn runs_are_spelt_anew() {
        assert_eq!(
            rewritten(1, five_of_a_range, b"*1%!5"),
            Some(b"*1%!5".to_vec())
        );
        assert_eq!(rewritten(1, two_digits, b"47"), Some(b"47".to_vec()));
        // Those that drew of one range alone do not know the other.
        let know = (0..20).filter(|&seed| {
            rewritten(seed, eight_of_two_ranges, b"prCuHtGD").as_deref() == Some(b"prCuHtGD")
        });
        assert!(know.count() > 15);
    }

    /// What no letter means stays.
    #[test]
    fn what_cannot_be_spelt_stays() {
        let (_, made) = run(Source::Fresh(Rng::new(1)), two_digits);
        let digit = if made[0] == b'1' { b'2' } else { b'1' };
        let expected = vec![digit, made[1]];
        assert_eq!(rewritten(1, two_digits, &[digit, b'x']), Some(expected));
    }

    #[test]
    fn a_run_whose_length_is_drawn_becomes_longer_or_shorter() {
        for generator in [counted as Generator, in_spans] {
            for seed in 0..10 {
                let (_, old) = run(Source::Fresh(Rng::new(seed)), generator);
                let last = &old[old.len() - 1..];
                for new in [&b"abcde"[..], b"zyxwvuts"] {
                    let made = rewritten(seed, generator, new).expect("it is another");
                    assert_eq!(made, [new, last].concat(), "seed {seed}");
                }
                // Of three there are none.
                assert_eq!(rewritten(seed, generator, b"abc"), None);
            }
        }
    }

    #[test]
    fn bytes_become_others_as_far_as_there_is_room() {
        assert_eq!(rewritten(1, bytes, b"abcd"), Some(b"abcd".to_vec()));
        assert_eq!(rewritten(1, bytes, b"a"), Some(b"a\0\0".to_vec()));
        assert_eq!(rewritten(1, bytes, b"abcdefgh"), Some(b"abcdef".to_vec()));
        let (_, made) = run(Source::Fresh(Rng::new(1)), bytes);
        assert_eq!(rewritten(1, bytes, &made), None);
    }
}
