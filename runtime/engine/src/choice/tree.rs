//! Trees: choices by the spans that they were drawn in, and given again where they are asked for.
//!
//! In: a record, perhaps edited. Out: answers that stay with their draws. A recorded span is entered
//! when the generator opens one of the same label below the same parent, and a recorded choice is given
//! to a draw of the same site in the same span. So what is inserted, taken out or made anew moves
//! nothing else, where bytes would shift, and no place in the generator's code needs to be known.
//! What the record does not have is random, as in a trial from nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::replay::repair;
use super::source::{Answer, fresh};
use super::strings::is_entry;
use super::{ChoiceSequence, Domain, Draw};
use crate::rng::Rng;

/// A part of a tree, in the order of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Token {
    /// A span begins.
    Open {
        /// Its label.
        label: u32,
        /// Its [`Token::Close`].
        close: u32,
    },
    /// A choice.
    Choice {
        draw: Draw,
        value: u64,
        /// Where its bytes begin in the payload.
        bytes: u32,
    },
    /// The innermost span ends.
    Close,
}

/// Choices and the spans around them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    pub(super) tokens: Vec<Token>,
    pub(super) payload: Vec<u8>,
}

/// Tokens in the place of others; spans among them are whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Patch {
    /// Where.
    pub(super) at: u32,
    /// How many tokens go.
    pub(super) remove: u32,
    /// What comes instead. Bytes begin where they do in `payload`.
    pub(super) tokens: Vec<Token>,
    pub(super) payload: Vec<u8>,
}

impl Patch {
    /// A choice, which is not one of bytes, with another value.
    pub(super) fn of_value(at: u32, draw: Draw, value: u64) -> Patch {
        Patch {
            at,
            remove: 1,
            tokens: vec![Token::Choice {
                draw,
                value,
                bytes: 0,
            }],
            payload: Vec::new(),
        }
    }
}

impl From<&ChoiceSequence> for Tree {
    fn from(choices: &ChoiceSequence) -> Tree {
        let mut tokens = Vec::with_capacity(choices.nodes.len() + 2 * choices.spans.len());
        let mut nodes = choices.iter().enumerate().peekable();
        let mut bytes = 0;
        let mut up_to = |end: u32, tokens: &mut Vec<Token>| {
            while let Some((_, (node, payload))) = nodes.next_if(|&(n, _)| n < end as usize) {
                let (draw, value) = (node.draw, node.value);
                tokens.push(Token::Choice { draw, value, bytes });
                bytes += payload.len() as u32;
            }
        };
        let mut open: Vec<(u32, u32)> = Vec::new();
        for span in &choices.spans {
            while let Some((_, end)) = open.pop_if(|&mut (depth, _)| depth >= span.depth) {
                up_to(end, &mut tokens);
                tokens.push(Token::Close);
            }
            up_to(span.first, &mut tokens);
            let (label, close) = (span.label, 0);
            tokens.push(Token::Open { label, close });
            open.push((span.depth, span.end));
        }
        while let Some((_, end)) = open.pop() {
            up_to(end, &mut tokens);
            tokens.push(Token::Close);
        }
        up_to(u32::MAX, &mut tokens);
        let payload = choices.payload.clone();
        let mut tree = Tree { tokens, payload };
        tree.link();
        tree
    }
}

impl Tree {
    /// Tells every span where it ends. Call it after tokens have moved.
    pub(super) fn link(&mut self) {
        let mut open = Vec::new();
        for at in 0..self.tokens.len() {
            match self.tokens[at] {
                Token::Open { .. } => open.push(at),
                Token::Close => {
                    let begin = open.pop().expect("spans are closed once");
                    if let Token::Open { close, .. } = &mut self.tokens[begin] {
                        *close = at as u32;
                    }
                }
                Token::Choice { .. } => {}
            }
        }
    }

    /// How long it is: choices, and where spans begin and end.
    pub(crate) fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Puts tokens of a tree, whole spans or what is in one, in the place of some of this one's.
    pub(super) fn replace(&mut self, range: Range<usize>, from: &Tree, tokens: Range<usize>) {
        let mut new = from.tokens[tokens].to_vec();
        for token in &mut new {
            if let Token::Choice { bytes, .. } = token {
                *bytes += self.payload.len() as u32;
            }
        }
        if !from.payload.is_empty() {
            self.payload.extend_from_slice(&from.payload);
        }
        self.tokens.splice(range, new);
        self.link();
    }

    /// The same with patches, which are in the order of their places and do not overlap.
    pub(super) fn patched(&self, patches: &[Patch]) -> Tree {
        let mut tree = self.clone();
        for patch in patches.iter().rev() {
            let from = tree.payload.len() as u32;
            tree.payload.extend_from_slice(&patch.payload);
            let moved = patch.tokens.iter().map(|token| match *token {
                Token::Choice { draw, value, bytes } => Token::Choice {
                    draw,
                    value,
                    bytes: from + bytes,
                },
                other => other,
            });
            let range = patch.at as usize..(patch.at + patch.remove) as usize;
            tree.tokens.splice(range, moved);
        }
        tree.link();
        tree
    }

    /// The spans: label, and the tokens from its beginning to its end, both included.
    pub(super) fn spans(&self) -> impl Iterator<Item = (u32, Range<usize>)> {
        let tokens = self.tokens.iter().enumerate();
        tokens.filter_map(|(at, token)| match *token {
            Token::Open { label, close } => Some((label, at..close as usize + 1)),
            _ => None,
        })
    }

    /// What a choice of bytes came to; nothing of other choices.
    pub(super) fn bytes(&self, from: u32, draw: &Draw, value: u64) -> &[u8] {
        match draw.domain {
            Domain::Bytes { .. } => &self.payload[from as usize..from as usize + value as usize],
            _ => &[],
        }
    }
}

/// Answers draws from a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aligned {
    tree: Tree,
    /// The next token of the innermost span.
    at: usize,
    /// Where each open span ends in the tree; nothing for those that it does not have.
    open: Vec<Option<usize>>,
    /// Whether the next draw belongs to the one before.
    follows: bool,
    /// Tokens that were looked at, what was found included.
    passed: usize,
    /// Made once those are many.
    places: Option<Places>,
    rng: Rng,
}

/// Looks, in times the tokens of the tree, before there is an index: a generator that asks for what comes next needs one for each.
const PASSED: usize = 4;

/// Where the tokens of each kind are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Places {
    /// By the end of the span that they are in themselves, and what they are: ascending.
    by_span: BTreeMap<(usize, Sought), Vec<u32>>,
}

/// What is looked for in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sought {
    /// A span of this label.
    Span(u32),
    /// A choice at this site, of domains that are alike.
    Choice(u32, u8),
}

impl Sought {
    fn is(self, token: &Token) -> bool {
        Sought::of(token) == Some(self)
    }

    fn of(token: &Token) -> Option<Sought> {
        match token {
            Token::Open { label, .. } => Some(Sought::Span(*label)),
            Token::Choice { draw, .. } => Some(Sought::choice(draw)),
            Token::Close => None,
        }
    }

    /// What was chosen of one domain may be given to a draw from another of its kind only: a request for a known string
    /// draws a coin and a number at one site.
    fn choice(draw: &Draw) -> Sought {
        let kind = match draw.domain {
            Domain::Int { .. } => 0,
            Domain::Bool { .. } => 1,
            Domain::Float { .. } => 2,
            Domain::Bytes { .. } => 3,
        };
        Sought::Choice(draw.site, kind)
    }
}

impl Places {
    fn of(tree: &Tree) -> Places {
        let mut places = Places::default();
        let mut open = vec![tree.tokens.len()];
        for (at, token) in tree.tokens.iter().enumerate() {
            if let (Some(end), Some(sought)) = (open.last(), Sought::of(token)) {
                let of = places.by_span.entry((*end, sought)).or_default();
                of.push(at as u32);
            }
            match token {
                Token::Open { close, .. } => open.push(*close as usize),
                Token::Close => {
                    open.pop();
                }
                Token::Choice { .. } => {}
            }
        }
        places
    }

    /// The first from `at` on, in the span that ends at `end`.
    fn find(&self, end: usize, sought: Sought, at: usize) -> Option<usize> {
        let places = self.by_span.get(&(end, sought))?;
        let next = places.partition_point(|place| (*place as usize) < at);
        places.get(next).map(|place| *place as usize)
    }
}

impl Aligned {
    /// Whose choices it gives.
    #[cfg(test)]
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Gives the choices of a tree; `rng` makes what it does not have.
    pub fn new(tree: Tree, rng: Rng) -> Aligned {
        Aligned {
            tree,
            at: 0,
            open: Vec::new(),
            follows: false,
            passed: 0,
            places: None,
            rng,
        }
    }

    /// Where the innermost span ends, if the tree has it.
    fn end(&self) -> Option<usize> {
        match self.open.last() {
            None => Some(self.tree.tokens.len()),
            Some(end) => *end,
        }
    }

    /// From `at` on, the tokens of the innermost span itself, without those of spans within it.
    fn ahead(&self) -> impl Iterator<Item = (usize, Token)> {
        let (mut at, end) = (self.at, self.end().unwrap_or(0));
        std::iter::from_fn(move || {
            let here = (at < end).then(|| (at, self.tree.tokens[at]))?;
            at = match here.1 {
                Token::Open { close, .. } => close as usize + 1,
                _ => at + 1,
            };
            Some(here)
        })
    }

    /// The next of these in the innermost span itself.
    fn find(&mut self, sought: Sought) -> Option<(usize, Token)> {
        if let Some(places) = &self.places {
            let at = places.find(self.end()?, sought, self.at)?;
            return Some((at, self.tree.tokens[at]));
        }
        let mut passed = 0;
        let found = self.ahead().find(|(_, token)| {
            passed += 1;
            sought.is(token)
        });
        self.passed += passed;
        if self.passed > PASSED * self.tree.tokens.len() {
            self.places = Some(Places::of(&self.tree));
        }
        found
    }

    /// Answers a draw with the choice that was made there, or a new one.
    pub fn answer(&mut self, draw: &Draw, payload: &mut Vec<u8>) -> Answer {
        let sought = Sought::choice(draw);
        let found = match std::mem::take(&mut self.follows) {
            true => (self.ahead().next()).filter(|(_, token)| sought.is(token)),
            false => self.find(sought),
        };
        let Some((
            at,
            Token::Choice {
                draw: old,
                value,
                bytes: from,
            },
        )) = found
        else {
            return fresh(draw.domain, &mut self.rng, payload);
        };
        self.at = at + 1;
        let bytes = self.tree.bytes(from, &old, value);
        if old.domain == draw.domain {
            payload.extend_from_slice(bytes);
            return Answer { bits: value, value };
        }
        repair(old.domain, value, bytes, draw.domain, payload)
    }

    /// Learns that the next draw belongs to the last one: what was not recorded right behind it is new.
    pub fn follow(&mut self) {
        self.follows = true;
    }

    /// The text that was recorded right behind the last choice, if one was: what a request for a known string gets,
    /// whether or not the target's table has it.
    pub fn entry(&mut self) -> Option<&[u8]> {
        let (at, token) = self.ahead().next()?;
        let Token::Choice { draw, value, bytes } = token else {
            return None;
        };
        if !is_entry(&draw) {
            return None;
        }
        self.at = at + 1;
        Some(self.tree.bytes(bytes, &draw, value))
    }

    /// Learns that a span was opened.
    pub fn open(&mut self, wanted: u32) {
        let found = self.find(Sought::Span(wanted));
        if let Some((at, Token::Open { close, .. })) = found {
            self.at = at + 1;
            self.open.push(Some(close as usize));
        } else {
            self.open.push(None);
        }
    }

    /// Learns that the innermost span was closed.
    pub fn close(&mut self) {
        if let Some(Some(end)) = self.open.pop() {
            self.at = end + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Drawing, Role, Source};
    use super::*;

    const BYTE: Domain = Domain::Int { lo: 0, hi: 255 };

    /// What a generator does: draws at a site, opens a span, closes one.
    #[derive(Clone, Copy)]
    enum Act {
        Draw(u32),
        Open(u32),
        Close,
    }
    use Act::{Close, Draw as At, Open};

    /// What a generator that does this gets and records.
    fn run(source: Source, acts: &[Act]) -> (Vec<u64>, ChoiceSequence) {
        let mut drawing = Drawing::new(source, 1_000);
        let mut values = Vec::new();
        for act in acts {
            match *act {
                At(site) => values.push(
                    drawing
                        .draw(site, Role::Value, BYTE)
                        .expect("there is room"),
                ),
                Open(label) => drawing.open(label).expect("there is room"),
                Close => drawing.close(false),
            }
        }
        (values, drawing.finish())
    }

    /// The tree of a generator that did this, with the values that it drew.
    fn recorded(acts: &[Act]) -> (Vec<u64>, Tree) {
        let (values, choices) = run(Source::Fresh(Rng::new(1)), acts);
        (values, Tree::from(&choices))
    }

    fn again(tree: &Tree, acts: &[Act]) -> Vec<u64> {
        run(
            Source::Aligned(Aligned::new(tree.clone(), Rng::new(9))),
            acts,
        )
        .0
    }

    const LIST: &[Act] = &[
        At(1),
        Open(7),
        At(2),
        Close,
        Open(7),
        At(2),
        Open(8),
        At(3),
        At(3),
        Close,
        Close,
        At(4),
    ];

    #[test]
    fn what_asks_the_same_gets_the_same() {
        let (values, tree) = recorded(LIST);
        assert_eq!(again(&tree, LIST), values);
        let spans: Vec<_> = tree.spans().collect();
        assert_eq!(spans, [(7, 1..4), (7, 4..11), (8, 6..10)]);
    }

    /// Once much was looked at for nothing there is an index, which finds the same.
    #[test]
    fn an_index_finds_what_a_scan_finds() {
        let mut rng = Rng::new(3);
        let mut acts = || -> Vec<Act> {
            let mut depth = 0;
            let act = |_| match rng.below(4) {
                0 => {
                    depth += 1;
                    Open(rng.below(3))
                }
                1 if depth > 0 => {
                    depth -= 1;
                    Close
                }
                _ => At(rng.below(5)),
            };
            (0..200).map(act).collect()
        };
        for _ in 0..50 {
            let (_, tree) = recorded(&acts());
            let mut indexed = Aligned::new(tree.clone(), Rng::new(9));
            indexed.places = Some(Places::of(&tree));
            let asked = acts();
            assert_eq!(
                run(Source::Aligned(indexed), &asked).0,
                again(&tree, &asked)
            );
        }
    }

    /// An optional draw or span that comes or goes moves nothing else.
    #[test]
    fn what_is_new_or_gone_moves_nothing_else() {
        let (values, tree) = recorded(LIST);
        let [a, b, c, d, e, f] = values[..] else {
            panic!("{values:?}")
        };
        // A new draw and a new span in front, and one without the span within it.
        let new = [
            At(9),
            At(1),
            Open(5),
            At(2),
            Close,
            Open(7),
            At(2),
            Close,
            Open(7),
            At(2),
            Close,
            At(4),
        ];
        let got = again(&tree, &new);
        assert_eq!([got[1], got[3], got[4], got[5]], [a, b, c, f]);
        // What was skipped is not given to anybody else.
        assert!(got[2] != b && ![d, e].contains(&got[5]));
        // The first draw is gone, and the list has one more at its end.
        let new = [
            Open(7),
            At(2),
            Close,
            Open(7),
            At(2),
            Close,
            Open(7),
            At(2),
            Close,
            At(4),
        ];
        let got = again(&tree, &new);
        assert_eq!([got[0], got[1], got[3]], [b, c, f]);
    }

    /// What a span does not ask for any more is nobody else's.
    #[test]
    fn a_choice_stays_in_its_span() {
        let acts = [At(1), Open(7), At(2), Close, At(2), Open(7), At(2), Close];
        let (values, tree) = recorded(&acts);
        let got = again(
            &tree,
            &[At(1), Open(7), Close, At(2), Open(7), At(2), Close],
        );
        assert_eq!(got, [values[0], values[2], values[3]]);
        // Nor does it have what is outside of it.
        let got = again(&tree, &[At(1), Open(7), At(2), At(2), Close, At(2)]);
        assert_eq!([got[0], got[1], got[3]], values[..3]);
        assert_ne!(got[2], values[2]);
    }

    #[test]
    fn choices_of_another_domain_are_repaired_and_bytes_go_with_their_draws() {
        let bytes = Domain::Bytes { min: 3, max: 3 };
        let mut drawing = Drawing::new(Source::Fresh(Rng::new(1)), 100);
        drawing.draw(1, Role::Value, bytes).expect("there is room");
        let first = drawing.last_bytes(3).to_vec();
        drawing.draw(2, Role::Value, BYTE).expect("there is room");
        drawing.draw(3, Role::Value, bytes).expect("there is room");
        let last = drawing.last_bytes(3).to_vec();
        let tree = Tree::from(&drawing.finish());
        let mut drawing = Drawing::new(Source::Aligned(Aligned::new(tree, Rng::new(2))), 100);
        let narrow = Domain::Int { lo: 300, hi: 400 };
        assert_eq!(drawing.draw(2, Role::Value, narrow), Ok(300));
        drawing.draw(3, Role::Value, bytes).expect("there is room");
        assert_eq!(drawing.last_bytes(3), last);
        assert_ne!(first, last);
    }
}
