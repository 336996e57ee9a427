//! The target's own strings, as a generator may draw them.
//!
//! SpotOn's table: "a string draw: with the option on, a fair coin selects a uniform entry of the table".
//! In: the table, and requests for a string. Out: one of them, or word that the generator has to make its
//! own. A request is up to three nodes: the coin, which entry, and the entry itself, so that choices mean
//! the same where there is no table any more. On tapes only the first two have bytes, as in SpotOn.
//!
//! A tree of choices ([`super::tree`]) keeps the entry as it was, or as it was changed: then a request gets a text
//! that no table has, which is how what the target compares with comes to be drawn ([`super::solve`]).

use std::sync::Arc;

use super::drawing::{Drawing, Stop};
use super::{ChoiceNode, Domain, Draw, Role};

/// The table, in an order of the target's. Not empty.
pub type Strings = Arc<[Vec<u8>]>;

/// Where the nodes with the entries themselves are: no place in any generator.
pub const STRING_SITE: u32 = 0x5f73_7472;

/// Steps that tell the three nodes of a request apart where the place of each draw matters: the host
/// appends one to the path of the request for each node but the first.
pub const PARTS: [u32; 3] = [0, 1, 2];

/// Even odds, written as no generator does: choices that are given again must not take a draw of the generator's own for the coin
/// of a request that had no table.
const COIN: Domain = Domain::Bool {
    num: 1 << 30,
    den: 1 << 31,
};

/// The bytes of a node that were copied from the table, so that no tape holds them.
#[inline]
pub(super) fn is_entry(draw: &Draw) -> bool {
    draw.site == STRING_SITE && matches!(draw.domain, Domain::Bytes { .. })
}

impl Drawing {
    /// Answers a request for a string of at most `max` bytes: how many there are in
    /// [`Drawing::last_bytes`] then, or nothing if the generator has to make its own. `locate` is told which
    /// of [`PARTS`] comes next.
    pub fn string(
        &mut self,
        (site, role): (u32, Role),
        max: u32,
        mut locate: impl FnMut(&mut Drawing, u32),
    ) -> Result<Option<u32>, Stop> {
        let coin = Draw {
            site,
            role,
            domain: COIN,
        };
        let Some(count) = self.strings_at(&coin) else {
            return Ok(None);
        };
        locate(self, PARTS[0]);
        if self.draw(site, role, COIN)? == 0 {
            return Ok(None);
        }
        let which = Domain::Int {
            lo: 0,
            hi: count - 1,
        };
        locate(self, PARTS[1]);
        self.source().follow();
        let nth = self.draw(site, role, which)?;
        locate(self, PARTS[2]);
        self.entry(nth, max).map(Some)
    }

    /// How many strings this request has the choice of; nothing if it is to be answered as if there were none.
    fn strings_at(&self, coin: &Draw) -> Option<i64> {
        if let Some(strings) = self.strings() {
            return Some(strings.len() as i64);
        }
        // Choices that are given again say it themselves.
        let [first, second, third] = self.upcoming()?;
        match (first, second, third) {
            (Some(first), ..) if first.draw != *coin => None,
            (Some(first), ..) if first.value == 0 => Some(1),
            (Some(_), Some(second), Some(third)) if is_entry(&third.draw) => {
                match second.draw.domain {
                    Domain::Int { lo: 0, hi } if hi < i64::MAX => Some(hi + 1),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Copies an entry, or gives again the one that was copied then.
    fn entry(&mut self, nth: u64, max: u32) -> Result<u32, Stop> {
        let Some(strings) = self.strings() else {
            let upcoming = self.upcoming().and_then(|[entry, ..]| entry);
            let bytes = upcoming.map_or(0, |entry| entry.value as u32).min(max);
            let domain = Domain::Bytes {
                min: bytes,
                max: bytes,
            };
            return Ok(self.draw(STRING_SITE, Role::Value, domain)? as u32);
        };
        let strings = Arc::clone(strings);
        // A generator is promised whole characters, which a changed text need not have.
        let own = self.source().entry();
        let own = own.filter(|text| std::str::from_utf8(text).is_ok());
        let own = own.map(<[u8]>::to_vec);
        let text = own.as_deref().unwrap_or(&strings[nth as usize]);
        let text = &text[..text.len().min(max as usize)];
        let bytes = text.len() as u32;
        let domain = Domain::Bytes {
            min: bytes,
            max: bytes,
        };
        let draw = Draw {
            site: STRING_SITE,
            role: Role::Value,
            domain,
        };
        let value = u64::from(bytes);
        self.write_down(
            ChoiceNode {
                draw,
                bits: value,
                value,
            },
            text,
        )?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::jqf::{End, Reading, Tape, tape_bytes, tape_of, tape_starts};
    use super::super::replay::{After, Replay};
    use super::super::text::{from_text, to_text};
    use super::super::tree::{Aligned, Token, Tree};
    use super::super::{ChoiceSequence, Source};
    use super::*;
    use crate::rng::Rng;

    fn table() -> Strings {
        [&b"GPS"[..], b"Orientation", b"x"]
            .map(<[u8]>::to_vec)
            .into_iter()
            .collect()
    }

    fn tape(bytes: &[u8], seed: u64) -> Source {
        Source::Tape(Tape::new(
            bytes.to_vec(),
            End::Extends,
            Reading::Whole,
            Rng::new(seed),
        ))
    }

    /// What a generator of three strings makes, each between two bytes: those of the table, else `-`.
    fn three(mut drawing: Drawing, max: u32) -> (Vec<u8>, ChoiceSequence) {
        let mut made = Vec::new();
        for _ in 0..3 {
            let byte = drawing.int(1, Role::Value, 0, 255).expect("there is room");
            made.push(byte as u8);
            match drawing
                .string((2, Role::Value), max, |_, _| {})
                .expect("there is room")
            {
                Some(bytes) => made.extend_from_slice(drawing.last_bytes(bytes as usize)),
                None => made.push(b'-'),
            }
        }
        (made, drawing.finish())
    }

    /// A byte for the coin, four for the entry, and none for its text.
    #[test]
    fn a_string_costs_a_coin_and_an_index() {
        let bytes = [7, 1, 1, 0, 0, 0, 8, 0, 9, 1, 5, 0, 0, 0];
        let drawing = Drawing::new(tape(&bytes, 1), 100).with_strings(Some(table()));
        let (made, choices) = three(drawing, 4);
        // Entry 1 is cut to the generator's room; 5 is 2 modulo 3.
        assert_eq!(made, b"\x07Orie\x08-\x09x");
        assert!(choices.is_sound());
        assert_eq!(tape_of(&choices, Reading::Whole, |_| true), bytes);
        assert_eq!(tape_bytes(&choices) as usize, bytes.len());
        assert_eq!(tape_starts(&choices), [0, 1, 2, 6, 6, 7, 8, 9, 10, 14, 14]);
    }

    /// Without a table a request leaves nothing behind, whatever is drawn next at its place.
    #[test]
    fn a_coin_of_the_generators_own_is_none_of_a_request() {
        let drawn = |source| {
            let mut drawing = Drawing::new(source, 100);
            let string = drawing.string((7, Role::Value), 9, |_, _| {});
            let own = drawing.coin(7, Role::Value).expect("there is room");
            (string.expect("there is room"), own, drawing.finish())
        };
        for byte in [0, 1] {
            let (string, own, choices) = drawn(tape(&[byte], 1));
            assert_eq!((string, u8::from(own)), (None, byte));
            let replay = Replay::new(Arc::new(choices.clone()), After::Stops);
            assert_eq!(drawn(Source::Replay(replay)), (None, own, choices));
        }
    }

    #[test]
    fn half_are_of_the_table_and_each_entry_alike() {
        let mut counts = [0u32; 4];
        for seed in 0..3_000 {
            let mut drawing = Drawing::new(tape(&[], seed), 100).with_strings(Some(table()));
            let drawn = drawing
                .string((2, Role::Value), 64, |_, _| {})
                .expect("there is room");
            let text = drawn.map(|bytes| drawing.last_bytes(bytes as usize).to_vec());
            let at = text.map_or(3, |text| {
                table()
                    .iter()
                    .position(|known| *known == text)
                    .expect("it is one")
            });
            counts[at] += 1;
        }
        assert!(
            counts[..3].iter().all(|n| (430..570).contains(n)),
            "{counts:?}"
        );
        assert!((1_400..1_600).contains(&counts[3]), "{counts:?}");
    }

    /// Without a table nothing is drawn, so published guidances see the generator as it was.
    #[test]
    fn without_a_table_there_is_no_draw() {
        let (made, choices) = three(Drawing::new(tape(&[1, 1, 2, 1, 3], 1), 100), 64);
        assert_eq!(
            (made.as_slice(), choices.nodes.len()),
            (&b"\x01-\x01-\x02-"[..], 3)
        );
    }

    /// Choices hold the texts: given again without a table, from a file as well, they make the same.
    #[test]
    fn choices_mean_the_same_without_the_table() {
        for seed in 0..200 {
            let drawing = Drawing::new(tape(&[], seed), 100).with_strings(Some(table()));
            let (made, choices) = three(drawing, 64);
            let read = from_text(&to_text(&choices)).expect("it was written");
            for given in [choices.clone(), read] {
                let replay = Replay::new(Arc::new(given), After::Stops);
                let (again, same) = three(Drawing::new(Source::Replay(replay), 1_000), 64);
                assert_eq!(again, made, "seed {seed}");
                assert!(same.same_choices(&choices), "seed {seed}");
            }
            // And those that were drawn without one.
            let (plain, choices) = three(Drawing::new(tape(&[], seed), 100), 64);
            let replay = Replay::new(Arc::new(choices), After::Stops);
            let (again, _) = three(Drawing::new(Source::Replay(replay), 1_000), 64);
            assert_eq!(again, plain, "seed {seed}");
        }
    }

    /// A path of its own for each node of a request.
    #[test]
    fn the_host_is_told_of_each_node() {
        let mut parts = Vec::new();
        let mut drawing = Drawing::new(tape(&[1], 1), 100).with_strings(Some(table()));
        let drawn = drawing.string((2, Role::Value), 64, |_, part| parts.push(part));
        assert!(drawn.expect("there is room").is_some());
        assert_eq!(parts, PARTS);
    }

    /// A tree gives every request what it got, whatever becomes of the others: no text is read as a coin.
    #[test]
    fn requests_stay_apart_in_trees() {
        let again = |tree: &Tree| {
            let source = Source::Aligned(Aligned::new(tree.clone(), Rng::new(77)));
            let (made, choices) = three(Drawing::new(source, 100).with_strings(Some(table())), 64);
            (made, choices)
        };
        for seed in 0..50 {
            let drawing = Drawing::new(tape(&[], seed), 100).with_strings(Some(table()));
            let (made, choices) = three(drawing, 64);
            let tree = Tree::from(&choices);
            assert_eq!(again(&tree).0, made, "seed {seed}");
            let parts = |choices: &ChoiceSequence| {
                let coins = choices
                    .nodes
                    .iter()
                    .enumerate()
                    .filter(|(_, node)| node.draw.domain == COIN);
                let ends = coins.map(|(at, node)| if node.value == 0 { at + 1 } else { at + 3 });
                ends.scan(0, |from, end| {
                    let part = choices.nodes[*from..end]
                        .iter()
                        .map(|node| (node.draw.site, node.value));
                    *from = end;
                    Some(part.collect::<Vec<_>>())
                })
                .collect::<Vec<_>>()
            };
            let before = parts(&choices);
            let coins = tree.tokens.iter().enumerate();
            let coins = coins.filter(
                |(_, token)| matches!(token, Token::Choice { draw, .. } if draw.domain == COIN),
            );
            for (nth, (at, _)) in coins.enumerate() {
                let mut flipped = tree.clone();
                if let Token::Choice { value, .. } = &mut flipped.tokens[at] {
                    *value = 1 - *value;
                }
                let after = parts(&again(&flipped).1);
                for other in (0..3).filter(|other| *other != nth) {
                    assert_eq!(after[other], before[other], "seed {seed}");
                }
                assert_ne!(after[nth], before[nth], "seed {seed}");
            }
        }
    }

    /// A text of a tree need not be one of the table; half characters are.
    #[test]
    fn a_tree_may_have_texts_of_its_own() {
        let drawing = Drawing::new(tape(&[7, 1, 1, 0, 0, 0], 1), 100).with_strings(Some(table()));
        let tree = Tree::from(&three(drawing, 64).1);
        for (text, expected) in [
            (&b"own"[..], &b"\x07own"[..]),
            (b"\xc3\xa4", b"\x07\xc3\xa4"),
            (b"\xc3", b"\x07Orientation"),
        ] {
            let mut own = tree.clone();
            let Token::Choice { draw, value, bytes } = &mut own.tokens[3] else {
                unreachable!("there are no spans")
            };
            assert!(is_entry(draw));
            (*value, *bytes) = (text.len() as u64, own.payload.len() as u32);
            own.payload.extend_from_slice(text);
            let source = Source::Aligned(Aligned::new(own, Rng::new(77)));
            let (made, choices) = three(Drawing::new(source, 100).with_strings(Some(table())), 64);
            assert!(made.starts_with(expected), "{made:?}");
            // Given again without the tree, it is the same.
            let replay = Replay::new(Arc::new(choices), After::Stops);
            assert_eq!(
                three(Drawing::new(Source::Replay(replay), 1_000), 64).0,
                made
            );
        }
    }
}
