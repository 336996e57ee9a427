//! Solving comparisons: writing what a comparison wants over what it read.
//!
//! In: a run that recorded the operands of its comparisons. Out: edits of its input that would make
//! comparisons come out otherwise, and operands that are worth having as tokens. The idea is the
//! input-to-state correspondence of REDQUEEN (Aschermann et al., NDSS 2019): where an operand
//! stands in the input, as it is or in a common encoding, it is replaced by the other operand.
//!
//! Encodings: 1, 2, 4 and 8 bytes in both byte orders, zero- or sign-extended; text without regard
//! to case; decimal and hexadecimal numbers. A comparison of twelve bytes that was compiled to
//! three of four is solved at once by a *chain*: neighbouring sites whose operands are neighbours in
//! the input. For ordered comparisons, one more and one less than wanted are tried as well.
//!
//! Departures from REDQUEEN: there is no colorization, so an operand may be found in wrong places
//! too, and the first eight are tried; there are no checksum patches.

pub(crate) mod encode;
pub(crate) mod patience;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::trial::{Compare, CompareText, Detail};
use encode::{Haystack, Number, Word, bytes};
use patience::Patience;

/// Places tried per needle.
const POSITIONS_MAX: usize = 8;
/// What guidances of bytes can afford: an execution costs them little.
const PATIENCE: Patience = Patience {
    per_site: 32,
    tries: 64,
};
/// How many records after one may continue its chain.
const CHAIN_REACH: usize = 8;
/// Operands up to this length become tokens, as AFL's `MAX_AUTO_EXTRA`.
const TOKEN_BYTES_MAX: usize = 32;

/// One replacement in an input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edit {
    /// Where.
    pub at: u32,
    /// How many bytes go.
    pub remove: u32,
    /// What comes instead.
    pub insert: Vec<u8>,
}

/// Edits that are to be made together, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solution {
    /// In the order in which they apply.
    pub edits: Vec<Edit>,
    /// The comparison that they are for.
    pub site: u32,
}

impl Solution {
    /// Replaces `out` by the input with the edits made.
    pub fn apply(&self, input: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(input);
        for edit in &self.edits {
            let start = (edit.at as usize).min(out.len());
            let end = (start + edit.remove as usize).min(out.len());
            out.splice(start..end, edit.insert.iter().copied());
        }
    }
}

/// How promising a solution is; the lower are tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// The operand as it stands, at full width; chains; texts.
    Plain,
    /// The operand in another encoding.
    Encoded,
    /// Several neighbouring sites at once.
    Window,
    /// One more or one less than wanted.
    Near,
}

/// An edit whose bytes lie in the solver's store. Thousands are made for one that is chosen.
#[derive(Clone, Copy)]
struct Draft {
    at: u32,
    remove: u32,
    /// Where its bytes begin in the store, and how many there are.
    from: u32,
    len: u32,
}

/// A solution whose edits lie in the solver's store.
#[derive(Clone, Copy)]
struct Candidate {
    tier: Tier,
    /// How often patience ran out with its site.
    impatience: u32,
    site: u32,
    from: u32,
    len: u32,
}

/// What may be proposed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// No input becomes longer.
    pub(crate) input_bytes_max: usize,
    /// At most so many solutions.
    pub(crate) limit: usize,
    /// Whether operands that are not found may be appended.
    pub(crate) appends: bool,
    /// How many of one site.
    pub(crate) patience: Patience,
}

struct Solver<'a> {
    input: Haystack<'a>,
    room: Room,
    bytes: Vec<u8>,
    drafts: Vec<Draft>,
    found: Vec<Candidate>,
    /// Of the site at work: what remains, and its impatience.
    allowance: u32,
    impatience: u32,
}

/// At most `limit` solutions, no two the same, the most promising first.
///
/// `tries` says how many solutions of a site were in vain: such sites come later, and get fewer;
/// `turn` counts the calls, and says whose turn it is among those that get hardly any.
pub fn solve(
    detail: &Detail,
    input_bytes_max: u32,
    limit: usize,
    turn: u32,
    tries: impl Fn(u32) -> u32,
) -> Vec<Solution> {
    let room = Room {
        input_bytes_max: input_bytes_max as usize,
        limit,
        appends: true,
        patience: PATIENCE,
    };
    let operands = (&detail.compares[..], &detail.texts[..]);
    let ranked = ranked(&detail.input, operands, room, turn, tries);
    ranked.into_iter().map(|(_, solution)| solution).collect()
}

/// The same, of comparisons that need not be all of a run, and with how promising each solution is.
pub(crate) fn ranked(
    input: &[u8],
    (compares, texts): (&[Compare], &[CompareText]),
    room: Room,
    turn: u32,
    tries: impl Fn(u32) -> u32,
) -> Vec<(Tier, Solution)> {
    if compares.is_empty() && texts.is_empty() {
        return Vec::new();
    }
    let mut solver = Solver {
        input: Haystack::new(input),
        room,
        bytes: Vec::new(),
        drafts: Vec::new(),
        found: Vec::new(),
        allowance: 0,
        impatience: 0,
    };
    for text in texts.iter().filter(|text| text.left != text.right) {
        if solver.begin(text.site, tries(text.site), turn) {
            solver.text(text.site, &text.left, &text.right);
            solver.text(text.site, &text.right, &text.left);
        }
    }
    // The freshest sites first, and no more of the others than it takes: most of what could be
    // proposed would not be chosen.
    let mut order = (0..compares.len()).collect::<Vec<_>>();
    order.sort_by_cached_key(|at| room.patience.impatience(tries(compares[*at].site)));
    for at in order {
        if solver.found.len() >= 2 * room.limit {
            break;
        }
        let records = &compares[at..];
        let compare = &records[0];
        if !solver.begin(compare.site, tries(compare.site), turn) {
            continue;
        }
        solver.chain(records);
        if compare.left != compare.right {
            solver.window(records);
            for (tier, delta) in [(Tier::Plain, 0), (Tier::Near, 1), (Tier::Near, u64::MAX)] {
                for (from, to) in directions(compare) {
                    solver.number(compare, tier, from, to.wrapping_add(delta));
                }
            }
        }
    }
    solver.choose()
}

/// Which operand may be replaced by which: never a constant, which cannot come from the input.
fn directions(compare: &Compare) -> impl Iterator<Item = (u64, u64)> {
    let there = (compare.left, compare.right);
    let back = (compare.right, compare.left);
    [Some(there), (!compare.constant).then_some(back)]
        .into_iter()
        .flatten()
}

impl Solver<'_> {
    /// Turns to a site. False if it gets nothing this time.
    fn begin(&mut self, site: u32, tries: u32, turn: u32) -> bool {
        self.impatience = self.room.patience.impatience(tries);
        self.allowance = self.room.patience.allowance(site, tries, turn);
        self.allowance > 0
    }

    /// Keeps a draft for the next candidate.
    fn draft(&mut self, at: usize, remove: usize, insert: &[u8]) {
        let from = self.bytes.len() as u32;
        self.bytes.extend_from_slice(insert);
        self.drafts.push(Draft {
            at: at as u32,
            remove: remove as u32,
            from,
            len: insert.len() as u32,
        });
    }

    /// Makes a candidate of the drafts from number `from` on.
    fn push(&mut self, tier: Tier, site: u32, from: usize) {
        let drafts = &self.drafts[from..];
        let grow: usize = drafts.iter().map(|draft| draft.len as usize).sum();
        let shrink: usize = drafts.iter().map(|draft| draft.remove as usize).sum();
        let len_after = (self.input.bytes.len() + grow).saturating_sub(shrink);
        if self.allowance == 0 || len_after > self.room.input_bytes_max {
            return;
        }
        self.allowance -= 1;
        self.found.push(Candidate {
            tier,
            impatience: self.impatience,
            site,
            from: from as u32,
            len: drafts.len() as u32,
        });
    }

    /// A candidate of one edit.
    fn propose(&mut self, tier: Tier, site: u32, at: usize, remove: usize, insert: &[u8]) {
        let from = self.drafts.len();
        self.draft(at, remove, insert);
        self.push(tier, site, from);
    }

    /// The most promising, in full, without those that were there before.
    fn choose(mut self) -> Vec<(Tier, Solution)> {
        self.found
            .sort_by_key(|candidate| (candidate.tier, candidate.impatience));
        let mut known = BTreeSet::new();
        let mut chosen = Vec::new();
        for candidate in &self.found {
            if chosen.len() == self.room.limit {
                break;
            }
            let drafts = &self.drafts[candidate.from as usize..][..candidate.len as usize];
            let edits = drafts.iter().map(|draft| Edit {
                at: draft.at,
                remove: draft.remove,
                insert: self.bytes[draft.from as usize..][..draft.len as usize].to_vec(),
            });
            let edits = edits.collect::<Vec<_>>();
            if known.insert(edits.clone()) {
                let site = candidate.site;
                chosen.push((candidate.tier, Solution { edits, site }));
            }
        }
        chosen
    }

    /// Places where `from` stands in the input, replaced by `to`, in every encoding. If there is
    /// none, the operand may lie past the end of the input: `to` is appended.
    fn number(&mut self, compare: &Compare, tier: Tier, from: u64, to: u64) {
        if self.allowance == 0 {
            return;
        }
        let number = Number {
            width: compare.width,
            from,
            to,
        };
        let site = compare.site;
        let mut found = false;
        for (needle, insert) in number.binary() {
            let full = needle.len() == usize::from(compare.width);
            let tier = if full { tier } else { tier.max(Tier::Encoded) };
            for at in self.places(&needle) {
                found = true;
                self.propose(tier, site, at, insert.len(), &insert);
            }
        }
        for edit in self.input.numerals(number, POSITIONS_MAX) {
            found = true;
            let (at, remove) = (edit.at as usize, edit.remove as usize);
            self.propose(tier.max(Tier::Encoded), site, at, remove, &edit.insert);
        }
        if !found && tier == Tier::Plain && self.room.appends {
            let end = self.input.bytes.len();
            let mut inserts = number
                .binary()
                .map(|(_, insert)| insert)
                .collect::<Vec<_>>();
            inserts.reverse();
            for insert in inserts {
                self.propose(Tier::Near, site, end, 0, &insert);
            }
        }
    }

    /// The first places where `needle` stands, at most [`POSITIONS_MAX`].
    fn places(&self, needle: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let mut places = [0; POSITIONS_MAX];
        let mut count = 0;
        for (slot, at) in places.iter_mut().zip(self.input.find(needle)) {
            *slot = at;
            count += 1;
        }
        places.into_iter().take(count)
    }

    /// Places where `from` stands in the input: replaced by `to`, and overwritten by it.
    fn text(&mut self, site: u32, from: &[u8], to: &[u8]) {
        if to.is_empty() {
            return;
        }
        let end = self.input.bytes.len();
        if from.is_empty() {
            if self.room.appends {
                self.propose(Tier::Plain, site, end, 0, to);
            }
            return;
        }
        let mut needle = from;
        let mut places = self.input.find_text(needle, POSITIONS_MAX);
        if places.is_empty() && from.len() > to.len() {
            // The operand runs on past what was compared, and past the input.
            needle = &from[..to.len()];
            places = self.input.find_text(needle, POSITIONS_MAX);
        }
        for at in places {
            self.propose(Tier::Plain, site, at, needle.len(), to);
            if needle.len() != to.len() {
                self.propose(Tier::Plain, site, at, to.len().min(end - at), to);
            }
        }
    }

    /// Begins chains at the first record: for each place and byte order, what lies next to it in
    /// the input and belongs to one of the following records.
    fn chain(&mut self, records: &[Compare]) {
        let first = &records[0];
        for big in [false, true] {
            for at in self.places(&bytes(first.left, first.width, big)) {
                let (mut start, mut end) = (at, at + usize::from(first.width));
                let drafts = self.drafts.len();
                let right = bytes(first.right, first.width, big);
                self.draft(at, right.len(), &right);
                let mut open = usize::from(first.left != first.right);
                for next in records.iter().skip(1).take(CHAIN_REACH) {
                    let width = usize::from(next.width);
                    let needle = bytes(next.left, next.width, big);
                    let beside = (start.saturating_sub(width)..=end).find(|&at| {
                        let grows = at < start || at + width > end;
                        grows && at + width >= start && self.input.stands_at(&needle, at)
                    });
                    // What follows directly is likelier than what overlaps.
                    let after = self.input.stands_at(&needle, end).then_some(end);
                    if let Some(at) = after.or(beside) {
                        start = start.min(at);
                        end = end.max(at + width);
                        let right = bytes(next.right, next.width, big);
                        self.draft(at, right.len(), &right);
                        open += usize::from(next.left != next.right);
                    }
                }
                if open > 1 {
                    self.push(Tier::Plain, first.site, drafts);
                } else {
                    self.drafts.truncate(drafts);
                }
            }
        }
    }

    /// The first two, three and four unsolved records at once, each at the first place it fits.
    fn window(&mut self, records: &[Compare]) {
        let mut taken: Vec<(usize, Word)> = Vec::new();
        let open = records.iter().filter(|record| record.left != record.right);
        for record in open.take(4) {
            let mut numbers = directions(record).map(|(from, to)| Number {
                width: record.width,
                from,
                to,
            });
            let Some(place) = numbers.find_map(|number| self.first_place(number, &taken)) else {
                break;
            };
            taken.push(place);
            if taken.len() > 1 {
                let from = self.drafts.len();
                for (at, insert) in &taken {
                    self.draft(*at, insert.len(), insert);
                }
                self.push(Tier::Window, records[0].site, from);
            }
        }
    }

    fn first_place(&self, number: Number, taken: &[(usize, Word)]) -> Option<(usize, Word)> {
        number.binary().find_map(|(needle, insert)| {
            let free = |at: &usize| {
                let end = at + insert.len();
                taken
                    .iter()
                    .all(|(other, word)| *at >= other + word.len() || *other >= end)
            };
            let mut places = self.places(&needle);
            places.find(free).map(|at| (at, insert))
        })
    }
}

/// Operands worth having as tokens: constants of more than a byte, characters, and texts that are not in the
/// input. Ascending, no two the same.
pub fn tokens(detail: &Detail) -> Vec<Vec<u8>> {
    if detail.compares.is_empty() && detail.texts.is_empty() {
        return Vec::new();
    }
    let input = Haystack::new(&detail.input);
    let mut tokens = BTreeSet::new();
    for compare in &detail.compares {
        let width = compare.width;
        let value = encode::sign_extend(compare.right, width);
        if !compare.constant || compare.left == compare.right {
            continue;
        }
        // Of small numbers only characters: what a byte was compared with, or switched over.
        let is_character = compare.left <= 0xff && (0x21..0x7f).contains(&value);
        if is_character {
            tokens.insert(vec![value as u8]);
        } else if !(-0x100..0x100).contains(&value) {
            for big in [false, true] {
                let word = bytes(compare.right, width, big);
                tokens.insert(significant(word.to_vec(), big));
            }
        }
    }
    for text in &detail.texts {
        for side in [&text.left, &text.right] {
            if (2..=TOKEN_BYTES_MAX).contains(&side.len()) && input.find(side).next().is_none() {
                tokens.insert(side.clone());
            }
        }
    }
    tokens.into_iter().collect()
}

/// Without the zeros that extended a narrower value, but not shorter than two bytes.
fn significant(mut bytes: Vec<u8>, big: bool) -> Vec<u8> {
    while bytes.len() > 2 {
        let outer = if big {
            bytes[0]
        } else {
            bytes[bytes.len() - 1]
        };
        if outer != 0 {
            break;
        }
        if big {
            bytes.remove(0);
        } else {
            bytes.pop();
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::CompareText;

    fn compare(site: u32, width: u8, left: u64, right: u64) -> Compare {
        Compare {
            site,
            width,
            left,
            right,
            constant: true,
        }
    }

    fn inputs(input: &[u8], compares: &[Compare], texts: &[(&[u8], &[u8])]) -> Vec<Vec<u8>> {
        let detail = Detail {
            input: input.to_vec(),
            compares: compares.to_vec(),
            texts: texts
                .iter()
                .map(|(left, right)| CompareText {
                    site: 0,
                    left: left.to_vec(),
                    right: right.to_vec(),
                })
                .collect(),
            ..Detail::default()
        };
        let solutions = solve(&detail, 64, 1000, 0, |_| 0);
        solutions
            .iter()
            .map(|solution| {
                let mut out = Vec::new();
                solution.apply(input, &mut out);
                out
            })
            .collect()
    }

    #[track_caller]
    fn solves(input: &[u8], compares: &[Compare], wanted: &[u8]) {
        let found = inputs(input, compares, &[]);
        let wanted = wanted.to_vec();
        assert!(
            found.contains(&wanted),
            "{wanted:02x?} is not among {found:02x?}"
        );
    }

    #[test]
    fn plain_operands_in_both_orders() {
        solves(
            b"xxabcdxx",
            &[compare(1, 4, 0x6463_6261, 0x4443_4241)],
            b"xxABCDxx",
        );
        solves(
            b"xxabcdxx",
            &[compare(1, 4, 0x6162_6364, 0x4142_4344)],
            b"xxABCDxx",
        );
        solves(b"..a", &[compare(1, 4, 0x61, 0x7a)], b"..z");
        solves(b"ab", &[compare(1, 8, 0x6261, 0x7a7a)], b"zz");
    }

    #[test]
    fn sign_extension_and_neighbours() {
        solves(
            b"\x80..",
            &[compare(1, 4, 0xffff_ff80, 0xffff_ff90)],
            b"\x90..",
        );
        solves(b"\x10..", &[compare(1, 4, 0x10, 0x40)], b"\x41..");
        solves(b"\x10..", &[compare(1, 4, 0x10, 0x40)], b"\x3f..");
    }

    #[test]
    fn what_lies_past_the_end_is_appended() {
        solves(b"F", &[compare(1, 1, 0, b'U'.into())], b"FU");
        solves(b"F", &[compare(1, 4, 0, 0x1234)], b"F\x12\x34");
    }

    #[test]
    fn numerals() {
        solves(b"n=12;", &[compare(1, 4, 12, 65_536)], b"n=65536;");
        solves(b"n=-5;", &[compare(1, 4, 0xffff_fffb, 7)], b"n=7;");
        solves(b"n=5;", &[compare(1, 4, 5, 0xffff_fff9)], b"n=-7;");
        solves(b"0012", &[compare(1, 4, 12, 345)], b"0345");
        solves(b"#ff.", &[compare(1, 4, 255, 0xabc)], b"#abc.");
        solves(b"#00FF", &[compare(1, 4, 255, 0xabc)], b"#0ABC");
    }

    #[test]
    fn an_inlined_memcmp_is_a_chain() {
        let input = b"..aaaabbbbcccc..";
        let words: Vec<Compare> = [(b"aaaa", b"GET "), (b"bbbb", b"HTTP"), (b"cccc", b"/1.1")]
            .iter()
            .enumerate()
            .map(|(i, (left, right))| {
                let word = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
                compare(i as u32, 4, word(left), word(right))
            })
            .collect();
        solves(input, &words, b"..GET HTTP/1.1..");
        // All zeros: every place looks right, and the first is tried.
        let zeros: Vec<Compare> = words
            .iter()
            .map(|word| Compare { left: 0, ..*word })
            .collect();
        solves(&[0; 12], &zeros, b"GET HTTP/1.1");
        // Eight and an overlapping eight.
        let (left, right) = (*b"aaaabbbbcccc", *b"GET HTTP/1.1");
        let at =
            |bytes: &[u8; 12], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let overlapping = [
            compare(0, 8, at(&left, 0), at(&right, 0)),
            compare(1, 8, at(&left, 4), at(&right, 4)),
        ];
        solves(input, &overlapping, b"..GET HTTP/1.1..");
    }

    #[test]
    fn separate_conditions_are_tried_together() {
        solves(
            b"aa..bb",
            &[compare(1, 2, 0x6161, 0x7878), compare(2, 2, 0x6262, 0x7979)],
            b"xx..yy",
        );
    }

    #[test]
    fn texts_of_other_lengths_and_cases() {
        let found = inputs(b"<Abc>", &[], &[(b"abc", b"script")]);
        assert!(found.contains(&b"<script>".to_vec()), "{found:?}");
        assert!(found.contains(&b"<script".to_vec()), "{found:?}");
        let found = inputs(b"<", &[], &[(b"", b"html")]);
        assert_eq!(found, [b"<html".to_vec()]);
    }

    #[test]
    fn nothing_grows_past_the_limit_or_comes_twice() {
        let found = inputs(&[b'a'; 62], &[], &[(b"aa", b"bbbbbb")]);
        assert!(found.iter().all(|input| input.len() <= 64));
        let distinct: BTreeSet<_> = found.iter().collect();
        assert_eq!(distinct.len(), found.len());
    }

    #[test]
    fn tokens_are_constants_and_texts() {
        let detail = Detail {
            input: b"abcd".to_vec(),
            compares: vec![
                compare(1, 4, 0, 0x0001_0203),
                compare(2, 4, 0, 7),
                compare(3, 4, 0, 0xffff_fff0),
            ],
            texts: vec![CompareText {
                site: 9,
                left: b"abcd".to_vec(),
                right: b"WORD".to_vec(),
            }],
            ..Detail::default()
        };
        let expected: [&[u8]; 3] = [b"\x01\x02\x03", b"\x03\x02\x01", b"WORD"];
        assert_eq!(tokens(&detail), expected);
    }

    #[test]
    fn never_panics() {
        let mut rng = crate::Rng::new(17);
        for _ in 0..3_000 {
            let input: Vec<u8> = (0..rng.index(40))
                .map(|_| b"0123abAB-\0\xff"[rng.index(11)])
                .collect();
            let value = |rng: &mut crate::Rng| match rng.below(3) {
                0 => u64::from(rng.below(300)),
                1 => rng.word(),
                _ => input
                    .get(..8)
                    .map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap())),
            };
            let compares: Vec<Compare> = (0..rng.below(6))
                .map(|site| {
                    let width = 1u8 << rng.below(4);
                    let mask = u64::MAX >> (64 - 8 * u32::from(width));
                    let (left, right) = (value(&mut rng) & mask, value(&mut rng) & mask);
                    let constant = rng.below(2) == 0;
                    Compare {
                        site,
                        width,
                        left,
                        right,
                        constant,
                    }
                })
                .collect();
            for found in inputs(&input, &compares, &[(&input[input.len() / 2..], b"xyz")]) {
                assert!(found.len() <= 64);
            }
        }
    }
}
