//! Hints: values that comparisons wanted, for all draws of the kind that they were wanted of.
//!
//! In: solutions, whether or not anything came of them, and texts that were compared with. Out: values for draws. A draw is of the
//! kind of its place in the generator, and a wide number also of the kind of its domain: what one draw of a kind is compared
//! with today, another one may be tomorrow. Texts are for whatever takes a text. Of each kind the latest are remembered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::solve::Solution;
use super::strings::is_entry;
use super::tree::{Token, Tree};
use super::{Domain, Draw, Role};
use crate::rng::Rng;
use crate::solve::tokens;
use crate::trial::Detail;

/// Kinds, values of a kind, and texts that are remembered. By trying: the older are rarely asked for again.
const KINDS_MAX: usize = 1024;
const VALUES_MAX: usize = 16;
const TEXTS_MAX: usize = 256;
/// The longest text; as long as tokens of byte guidances are.
const TEXT_BYTES_MAX: usize = 32;
/// Numbers of fewer values are met by chance.
const WIDE: u64 = 1 << 16;

/// What draws have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Kind {
    /// The place.
    Site(u32),
    /// The domain.
    Domain(Domain),
}

/// Values worth drawing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    numbers: BTreeMap<Kind, VecDeque<u64>>,
    texts: VecDeque<Vec<u8>>,
    /// Places where a known string was asked for.
    requests: BTreeSet<u32>,
}

/// The kinds of a draw of a number.
fn kinds(draw: &Draw) -> impl Iterator<Item = Kind> {
    let (is_number, is_wide) = match draw.domain {
        Domain::Int { lo, hi } => (true, hi.wrapping_sub(lo).cast_unsigned() >= WIDE),
        Domain::Float { .. } => (true, false),
        _ => (false, false),
    };
    let site = is_number.then_some(Kind::Site(draw.site));
    let domain = is_wide.then_some(Kind::Domain(draw.domain));
    site.into_iter().chain(domain)
}

fn remember<T: PartialEq>(values: &mut VecDeque<T>, value: T, max: usize) {
    if values.contains(&value) {
        return;
    }
    if values.len() == max {
        values.pop_front();
    }
    values.push_back(value);
}

impl Hints {
    /// Learns what solutions of a run want, and what texts it compared.
    pub fn learn(&mut self, tree: &Tree, detail: &Detail, solutions: &[Solution]) {
        for (at, token) in tree.tokens.iter().enumerate().skip(2) {
            if let (Token::Choice { draw, .. }, Some(Token::Choice { draw: coin, .. })) =
                (token, tree.tokens.get(at - 2))
                && is_entry(draw)
                && self.requests.len() < KINDS_MAX
            {
                self.requests.insert(coin.site);
            }
        }
        for solution in solutions {
            // A part of what is wanted is worth nothing by itself.
            if let [patch] = &solution.patches[..]
                && let [Token::Choice { draw, value, .. }] = patch.tokens[..]
            {
                self.learn_choice(&draw, value, &patch.payload);
            }
        }
        for text in tokens(detail) {
            self.learn_text(&text);
        }
    }

    fn learn_choice(&mut self, draw: &Draw, value: u64, payload: &[u8]) {
        if let Domain::Bytes { .. } = draw.domain {
            self.learn_text(payload);
        }
        for kind in kinds(draw) {
            if self.numbers.len() < KINDS_MAX || self.numbers.contains_key(&kind) {
                let values = self.numbers.entry(kind).or_default();
                remember(values, value, VALUES_MAX);
            }
        }
    }

    fn learn_text(&mut self, text: &[u8]) {
        let is_printable = text.iter().all(|byte| (b' '..=b'~').contains(byte));
        if is_printable && (2..=TEXT_BYTES_MAX).contains(&text.len()) {
            remember(&mut self.texts, text.to_vec(), TEXTS_MAX);
        }
    }

    /// Whether there is something for a draw that came to this value.
    fn has(&self, draw: &Draw, value: u64) -> bool {
        match draw.domain {
            Domain::Bool { .. } => {
                value == 0 && !self.texts.is_empty() && self.requests.contains(&draw.site)
            }
            Domain::Bytes { max, .. } => max > 0 && !self.texts.is_empty(),
            _ => kinds(draw).any(|kind| self.numbers.contains_key(&kind)),
        }
    }

    /// Gives a draw of the tree another value; false if there is none for any.
    pub(super) fn give(&self, tree: &mut Tree, rng: &mut Rng) -> bool {
        let tokens = tree.tokens.iter().enumerate();
        let fitting = tokens.filter_map(|(at, token)| match token {
            Token::Choice { draw, value, .. } if self.has(draw, *value) => Some(at),
            _ => None,
        });
        let fitting: Vec<usize> = fitting.collect();
        let Some(&at) = fitting.get(rng.index(fitting.len())) else {
            return false;
        };
        let Token::Choice { draw, .. } = tree.tokens[at] else {
            unreachable!("it is a choice")
        };
        match draw.domain {
            Domain::Bool { .. } => self.request(tree, at, draw, rng),
            Domain::Bytes { .. } => {
                let text = &self.texts[rng.index(self.texts.len())];
                set_text(tree, at, draw, text);
            }
            _ => {
                let values = kinds(&draw)
                    .filter_map(|kind| self.numbers.get(&kind))
                    .flatten();
                let values: Vec<u64> = values
                    .copied()
                    .filter(|value| draw.domain.has(*value))
                    .collect();
                if let Some(&new) = values.get(rng.index(values.len()))
                    && let Token::Choice { value, .. } = &mut tree.tokens[at]
                {
                    *value = new;
                }
            }
        }
        true
    }

    /// Has a request answered that was not.
    fn request(&self, tree: &mut Tree, at: usize, coin: Draw, rng: &mut Rng) {
        let text = &self.texts[rng.index(self.texts.len())];
        let bytes = tree.payload.len() as u32;
        tree.payload.extend_from_slice(text);
        let len = text.len() as u32;
        let choice = |site, domain, value| Token::Choice {
            draw: Draw {
                site,
                role: coin.role,
                domain,
            },
            value,
            bytes,
        };
        let entry = Draw {
            site: super::strings::STRING_SITE,
            role: Role::Value,
            domain: Domain::Bytes { min: len, max: len },
        };
        let answered = [
            choice(coin.site, coin.domain, 1),
            choice(coin.site, Domain::Int { lo: 0, hi: 0 }, 0),
            Token::Choice {
                draw: entry,
                value: len.into(),
                bytes,
            },
        ];
        tree.tokens.splice(at..=at, answered);
        tree.link();
    }
}

/// Writes a text over a choice of bytes, as far as its domain has room.
fn set_text(tree: &mut Tree, at: usize, mut draw: Draw, text: &[u8]) {
    let mut text = text.to_vec();
    match draw.domain {
        Domain::Bytes { .. } if is_entry(&draw) => {
            let len = text.len() as u32;
            draw.domain = Domain::Bytes { min: len, max: len };
        }
        Domain::Bytes { min, max } => {
            text.resize(text.len().clamp(min as usize, max as usize), 0);
        }
        _ => unreachable!("it is a choice of bytes"),
    }
    tree.tokens[at] = Token::Choice {
        draw,
        value: text.len() as u64,
        bytes: tree.payload.len() as u32,
    };
    tree.payload.extend(text);
}

#[cfg(test)]
mod tests {
    use super::super::strings::Strings;
    use super::super::tree::{Aligned, Patch};
    use super::super::{Drawing, Source};
    use super::*;

    const WORD: Domain = Domain::Int { lo: 0, hi: 1 << 30 };

    fn draw(site: u32, domain: Domain) -> Draw {
        Draw {
            site,
            role: Role::Value,
            domain,
        }
    }

    /// Hints of one solution: a draw that becomes this.
    fn hints(draw: Draw, value: u64, payload: &[u8]) -> Hints {
        let patch = Patch {
            at: 0,
            remove: 1,
            tokens: vec![Token::Choice {
                draw,
                value,
                bytes: 0,
            }],
            payload: payload.to_vec(),
        };
        let solution = Solution {
            patches: vec![patch],
            site: 1,
        };
        let mut hints = Hints::default();
        hints.learn(&Tree::default(), &Detail::default(), &[solution]);
        hints
    }

    /// A tree of one choice.
    fn tree(draw: Draw, value: u64) -> Tree {
        let choice = Token::Choice {
            draw,
            value,
            bytes: 0,
        };
        Tree {
            tokens: vec![choice],
            payload: vec![b'-'; value as usize % 100],
        }
    }

    fn value(tree: &Tree) -> u64 {
        match tree.tokens[0] {
            Token::Choice { value, .. } => value,
            _ => unreachable!("there are only choices"),
        }
    }

    #[test]
    fn numbers_are_for_draws_of_their_place_or_their_wide_domain() {
        let narrow = Domain::Int { lo: 0, hi: 9 };
        for (learnt, given, is_of_kind) in [
            (draw(1, WORD), draw(1, WORD), true),
            (draw(1, WORD), draw(2, WORD), true),
            (draw(1, narrow), draw(1, narrow), true),
            (draw(1, narrow), draw(2, narrow), false),
        ] {
            let mut child = tree(given, 3);
            let gave = hints(learnt, 7, b"").give(&mut child, &mut Rng::new(1));
            assert_eq!(
                (gave, value(&child)),
                (is_of_kind, if is_of_kind { 7 } else { 3 })
            );
        }
        // Of the same place but another domain, what it does not hold is not given.
        let mut child = tree(draw(1, narrow), 3);
        hints(draw(1, WORD), 700, b"").give(&mut child, &mut Rng::new(1));
        assert_eq!(value(&child), 3);
    }

    #[test]
    fn texts_are_for_draws_of_bytes() {
        let bytes = |min, max| draw(3, Domain::Bytes { min, max });
        let hints = hints(bytes(0, 9), 5, b"hello");
        for (min, max, expected) in [(0, 9, &b"hello"[..]), (0, 3, b"hel"), (7, 9, b"hello\0\0")] {
            let mut child = tree(bytes(min, max), u64::from(min));
            assert!(hints.give(&mut child, &mut Rng::new(1)));
            let Token::Choice { draw, value, bytes } = child.tokens[0] else {
                unreachable!("there are only choices")
            };
            assert_eq!(child.bytes(bytes, &draw, value), expected);
        }
    }

    /// What asks for a known string gets a text that no table has.
    #[test]
    fn a_request_is_answered_with_a_text() {
        let table: Strings = [b"table".to_vec()].into_iter().collect();
        let run = |source| {
            let mut drawing = Drawing::new(source, 100).with_strings(Some(table.clone()));
            let drawn = drawing.string((2, Role::Value), 64, |_, _| {});
            let text = drawn
                .expect("there is room")
                .map(|bytes| drawing.last_bytes(bytes as usize).to_vec());
            (Tree::from(&drawing.finish()), text)
        };
        let all: Vec<_> = (0..9)
            .map(|seed| run(Source::Fresh(Rng::new(seed))))
            .collect();
        let (known, _) = all
            .iter()
            .find(|(_, text)| text.is_some())
            .expect("half of them");
        let (own, _) = all
            .iter()
            .find(|(_, text)| text.is_none())
            .expect("half of them");
        let mut hints = hints(draw(3, Domain::Bytes { min: 0, max: 9 }), 5, b"hello");
        assert!(
            !hints.give(&mut own.clone(), &mut Rng::new(1)),
            "no request is known"
        );
        hints.learn(known, &Detail::default(), &[]);
        for tree in [known, own] {
            let mut child = tree.clone();
            assert!(hints.give(&mut child, &mut Rng::new(1)));
            let (_, text) = run(Source::Aligned(Aligned::new(child, Rng::new(5))));
            assert_eq!(text.as_deref(), Some(&b"hello"[..]));
        }
    }

    #[test]
    fn the_latest_are_remembered() {
        let mut hints = Hints::default();
        for value in 0..100 {
            hints.learn_choice(&draw(value as u32 % 2, WORD), value, b"");
            hints.learn_text(format!("{value:09}").as_bytes());
        }
        let of_site = &hints.numbers[&Kind::Site(1)];
        assert_eq!((of_site.len(), of_site.back()), (VALUES_MAX, Some(&99)));
        (0..2 * KINDS_MAX as u32).for_each(|site| hints.learn_choice(&draw(site, WORD), 1, b""));
        (0..2 * TEXTS_MAX).for_each(|text| hints.learn_text(format!("{text}text").as_bytes()));
        assert_eq!(
            (hints.numbers.len(), hints.texts.len()),
            (KINDS_MAX, TEXTS_MAX)
        );
        hints.learn_text(&[b'x'; TEXT_BYTES_MAX + 1]);
        hints.learn_text(b"x\x01");
        assert_eq!(hints.texts.back().map(Vec::len), Some(7));
    }
}
