//! Solving comparisons behind a generator: what a comparison wants becomes the value of the draw that it read.
//!
//! In: a tree of choices, and its run with the operands of comparisons. Out: patches that would make comparisons come
//! out as they never have. Nobody follows data through generator and target: an operand belongs to a draw if the draw's value
//! can be recognized in it, and whether that was right shows when the child runs. So it works through whatever the
//! generator does on the way, as long as the target undoes it: numbers printed and read again, text in base64.
//!
//! - A number is recognized as it is, in the other byte order, as a float's bits, or a small constant away: the
//!   index of a character, a length less one. Whatever the distance, the draw moves by as much as the operand should.
//! - Numbers drawn at one place, or the first of them, are recognized by their sum, and share what is missing.
//! - A decimal number within a text is recognized in a comparison of texts that differ in their digits.
//! - Texts (`choice/texts.rs`) are recognized as [`crate::solve`] recognizes operands in an input, in either case of letters and backwards
//!   as well; and by their length, or that of one of their words.
//!
//! The idea is the input-to-state correspondence of REDQUEEN, of choices in place of bytes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Domain;
use super::numbers::{Numbers, choice};
use super::pool::Pool;
use super::sites::{Key, Site, Sites, key, orderings, text_key};
use super::texts::{Text, texts};
use super::tree::{Patch, Tree};
use crate::solve::encode::{bytes, sign_extend};
use crate::solve::patience::Patience;
use crate::solve::{Room, Tier, ranked};
use crate::trial::{Compare, CompareText, Detail};

/// An execution behind a generator is dear, and most comparisons read no draw: a hopeless site costs some 30.
const PATIENCE: Patience = Patience {
    per_site: 8,
    tries: 8,
};
/// Draws that one operand is looked for in. Which ones of more, is another matter each time.
const PLACES_MAX: usize = 8;
/// Candidates of one run, of which the best are chosen.
const CANDIDATES_MAX: usize = 2048;
/// Solutions of texts that are candidates, for each that is chosen: each is a text written anew.
const TEXT_CANDIDATES: usize = 8;
/// What an operand may be beyond a draw: a length less one or more one, a digit, a letter, a printable character.
const BEYOND: [i64; 6] = [1, -1, 0x30, 0x61, 0x41, 0x20];
/// The longest text whose length is solved.
const LENGTH_MAX: u64 = 256;
/// Where sites of texts begin among those of numbers.
const TEXT_SITES: u32 = 1 << 31;

/// Patches that are made together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solution {
    pub(super) patches: Vec<Patch>,
    /// The comparison that they are for.
    pub site: Key,
}

impl Solution {
    /// The tree with the patches.
    pub fn apply(&self, tree: &Tree) -> Tree {
        tree.patched(&self.patches)
    }
}

/// At most `limit` solutions for a run of `tree`, no two the same, the most promising first. How the run's comparisons came
/// out is learnt, and which of them nothing was recognized in: that is as much in vain as a solution.
pub fn solve(tree: &Tree, detail: &Detail, sites: &mut Sites, limit: usize) -> Vec<Solution> {
    let known = sites.see(&detail.compares);
    if detail.compares.is_empty() && detail.texts.is_empty() {
        return Vec::new();
    }
    let texts = texts(tree, detail.target_input());
    let mut solver = Solver {
        tree,
        sites,
        numbers: Numbers::of(tree),
        words: by_length(tree, &texts),
        texts,
        found: Vec::new(),
        allowance: 0,
        site: Site::default(),
        key: 0,
    };
    let mut blank = BTreeSet::new();
    for (compare, &site) in detail.compares.iter().zip(&known) {
        if solver.begin(key(compare), site) {
            solver.compare(compare);
            blank.insert(key(compare));
        }
    }
    for text in &detail.texts {
        let key = text_key(text);
        if solver.begin(key, solver.sites.of(key)) {
            solver.bytes(&text.left, &text.right);
            solver.bytes(&text.right, &text.left);
        }
    }
    solver.pool(detail, &known, limit);
    for candidate in &solver.found {
        blank.remove(&candidate.solution.site);
    }
    let chosen = solver.choose(limit);
    for site in blank {
        sites.tried(site, false);
    }
    chosen
}

/// A solution that might be chosen.
struct Candidate {
    /// The lower, the sooner: how odd the encoding is, and how easily its operand is met by chance.
    doubt: u32,
    solution: Solution,
}

struct Solver<'a> {
    tree: &'a Tree,
    sites: &'a Sites,
    numbers: Numbers,
    texts: Vec<Text>,
    /// By length: which texts may take another one, and words of them; which text, and where in it.
    words: BTreeMap<usize, Vec<(usize, usize)>>,
    found: Vec<Candidate>,
    /// Of the site at work: what remains, what is known of it, and which it is.
    allowance: u32,
    site: Site,
    key: Key,
}

impl Solver<'_> {
    /// Turns to a site. False if it gets nothing this time.
    fn begin(&mut self, key: Key, site: Site) -> bool {
        let turn = self.sites.turn();
        self.site = site;
        self.allowance = PATIENCE.allowance(key as u32, self.site.barren, turn);
        self.key = key;
        self.allowance > 0
    }

    fn propose(&mut self, doubt: u32, patches: Vec<Patch>) {
        if self.allowance > 0 && self.found.len() < CANDIDATES_MAX {
            self.allowance -= 1;
            let site = self.key;
            let solution = Solution { patches, site };
            self.found.push(Candidate { doubt, solution });
        }
    }

    /// Of many places some, from another one on each time.
    fn some<T: Copy>(&self, places: &[T]) -> Vec<T> {
        let from = match places.len() {
            0..=PLACES_MAX => 0,
            count => self.sites.turn() as usize * PLACES_MAX % count,
        };
        let places = places[from..].iter().chain(&places[..from]);
        places.take(PLACES_MAX).copied().collect()
    }

    fn compare(&mut self, compare: &Compare) {
        let wishes = [
            (Ordering::Equal, 0, Tier::Plain),
            (Ordering::Greater, 1, Tier::Near),
            (Ordering::Less, -1, Tier::Near),
        ];
        for (ordering, more, tier) in wishes {
            // Which of the two the operator reads is not known.
            let is_so = orderings(compare) == [ordering; 2];
            if is_so || self.site.has_come_out(compare, ordering) {
                continue;
            }
            let (left, right) = (compare.left, compare.right);
            self.number(compare.width, left, right.wrapping_add_signed(more), tier);
            if !compare.constant {
                self.number(
                    compare.width,
                    right,
                    left.wrapping_sub(more.cast_unsigned()),
                    tier,
                );
            }
        }
        let is_open = !self.site.has_come_out(compare, Ordering::Equal);
        if let (true, Some((left, right))) = (is_open, words(compare)) {
            self.numerals(&left, &right);
        }
    }

    /// Draws that are recognized in `from` take what makes it `to`.
    fn number(&mut self, width: u8, from: u64, to: u64, tier: Tier) {
        if self.allowance == 0 {
            return;
        }
        let by = sign_extend(to.wrapping_sub(from), width);
        if self.move_those_at(width, from, by, tier) {
            return;
        }
        let encoded = tier.max(Tier::Encoded);
        let turned = |operand| u64::from_le_bytes(padded(&bytes(operand, width, true)));
        let by_turned = sign_extend(turned(to).wrapping_sub(turned(from)), width);
        if width > 1 && self.move_those_at(width, turned(from), by_turned, encoded) {
            return;
        }
        self.sums(width, from, by, encoded);
        self.lengths(from, to, encoded);
        self.floats(width, from, to, encoded);
        for beyond in BEYOND {
            if self.allowance == 0 {
                return;
            }
            let value = from.wrapping_sub(beyond.cast_unsigned());
            self.move_those_at(width, value, by, encoded);
        }
    }

    /// Moves draws of a value; whether there are any.
    fn move_those_at(&mut self, width: u8, value: u64, by: i64, tier: Tier) -> bool {
        let places = self.numbers.equal_to(self.tree, value, width);
        let magnitude = sign_extend(value, width).unsigned_abs();
        let doubt = chance(magnitude) + places.len().checked_ilog2().unwrap_or(0);
        for at in self.some(&places) {
            let Some((draw, old)) = choice(self.tree, at) else {
                continue;
            };
            if let Some((new, is_exact)) = moved(draw.domain, old, by, width) {
                let tier = if is_exact { tier } else { Tier::Near };
                self.propose(doubt + tier as u32, vec![Patch::of_value(at, draw, new)]);
            }
        }
        !places.is_empty()
    }

    /// The first draws of a place, whose sum is the operand, share what is missing.
    fn sums(&mut self, width: u8, from: u64, by: i64, tier: Tier) {
        let magnitude = sign_extend(from, width).unsigned_abs();
        for (site, count) in self.numbers.with_sum(from, width) {
            let places = self.numbers.of_site[&site][..count].to_vec();
            let from = self.sites.turn() as usize % places.len();
            let order = places[from..].iter().chain(&places[..from]);
            let (mut left, mut patches) = (i128::from(by), Vec::new());
            for &at in order {
                let Some((draw, old)) = choice(self.tree, at) else {
                    continue;
                };
                let Domain::Int { lo, hi } = draw.domain else {
                    continue;
                };
                let old = i128::from(old.cast_signed());
                let new = (old + left).clamp(lo.into(), hi.into());
                left -= new - old;
                if new != old {
                    let new = (new as i64).cast_unsigned();
                    patches.push(Patch::of_value(at, draw, new));
                }
            }
            if left == 0 && !patches.is_empty() {
                patches.sort_by_key(|patch| patch.at);
                self.propose(tier as u32 + chance(magnitude), patches);
            }
        }
    }

    /// Texts of this length, and words of texts, take the other.
    fn lengths(&mut self, from: u64, to: u64, tier: Tier) {
        if from > LENGTH_MAX || to > LENGTH_MAX {
            return;
        }
        let fitting = self
            .words
            .get(&(from as usize))
            .map_or(&[][..], Vec::as_slice);
        for (nth, start) in self.some(fitting) {
            let text = &self.texts[nth];
            let (before, word) = text.bytes.split_at(start);
            let (word, after) = word.split_at(from as usize);
            // Letters that differ, so that they can be told apart in what comes next.
            let letters = (b'a'..=b'z').cycle().skip(word.len());
            let longer = word.iter().copied().chain(letters).take(to as usize);
            let new: Vec<u8> = before.iter().copied().chain(longer).collect();
            if let Some(patches) = text.write(self.tree, &[&new, after].concat()) {
                self.propose(tier as u32 + 1, patches);
            }
        }
    }

    /// Floats whose bits the operand has.
    fn floats(&mut self, width: u8, from: u64, to: u64, tier: Tier) {
        for at in self.some(&self.numbers.floats) {
            let Some((draw, old)) = choice(self.tree, at) else {
                continue;
            };
            let narrow = f64::from_bits(old) as f32;
            let new = match width {
                8 if old == from => to,
                4 if u64::from(narrow.to_bits()) == from => {
                    f64::from(f32::from_bits(to as u32)).to_bits()
                }
                _ => continue,
            };
            if draw.domain.has(new) {
                self.propose(tier as u32, vec![Patch::of_value(at, draw, new)]);
            }
        }
    }

    /// A comparison of texts: of the bytes of a number, or of texts with numbers in them.
    fn bytes(&mut self, from: &[u8], to: &[u8]) {
        if let (true, width @ (1 | 2 | 4 | 8)) = (from.len() == to.len(), from.len()) {
            let number = |bytes| u64::from_le_bytes(padded(bytes));
            self.number(width as u8, number(from), number(to), Tier::Encoded);
        }
        self.numerals(from, to);
    }

    /// Draws whose decimal text stands in `from` where `to` has another number.
    fn numerals(&mut self, from: &[u8], to: &[u8]) {
        let others: BTreeMap<usize, i64> = numerals(to).into_iter().collect();
        for (at, here) in numerals(from) {
            let Some(&there) = others.get(&at) else {
                continue;
            };
            let by = there.wrapping_sub(here);
            if by != 0 {
                self.move_those_at(8, here.cast_unsigned(), by, Tier::Encoded);
            }
        }
    }

    /// Solves texts: one after the other, as they are and as a target may have changed them, they are an input.
    fn pool(&mut self, detail: &Detail, known: &[Site], limit: usize) {
        let pool = Pool::of(&self.texts, self.sites.turn() as usize);
        let open = |(compare, site): &(&Compare, &Site)| {
            compare.left != compare.right && !site.has_come_out(compare, Ordering::Equal)
        };
        let compares = detail.compares.iter().zip(known).filter(open);
        let compares: Vec<Compare> = compares.map(|(compare, _)| *compare).collect();
        let numbered = (TEXT_SITES..)
            .zip(&detail.texts)
            .map(|(site, text)| CompareText {
                site,
                ..text.clone()
            });
        let numbered: Vec<CompareText> = numbered.collect();
        let key_of = |site: u32| match site.checked_sub(TEXT_SITES) {
            Some(nth) => text_key(&detail.texts[nth as usize]),
            None => site.into(),
        };
        let room = Room {
            input_bytes_max: usize::MAX,
            limit: TEXT_CANDIDATES * limit,
            appends: false,
            patience: PATIENCE,
        };
        let tries = |site| match detail.compares.binary_search_by_key(&site, |c| c.site) {
            Ok(nth) => known[nth].barren,
            Err(_) => self.sites.of(key_of(site)).barren,
        };
        let operands = (&compares[..], &numbered[..]);
        let solutions = ranked(&pool.bytes, operands, room, self.sites.turn(), tries);
        for (tier, solution) in solutions {
            if let Some(patches) = pool.patches(self.tree, &self.texts, &solution.edits) {
                let read: u32 = solution.edits.iter().map(|edit| edit.remove).sum();
                let doubt = tier as u32 + chance(1 << (8 * read.saturating_sub(1)).min(63));
                let site = key_of(solution.site);
                let solution = Solution { patches, site };
                self.found.push(Candidate { doubt, solution });
            }
        }
    }

    /// The most promising: what was tried least, and of one site one after the other.
    fn choose(self, limit: usize) -> Vec<Solution> {
        let mut of_site: BTreeMap<Key, (u32, u32)> = BTreeMap::new();
        let mut ranked = Vec::new();
        for candidate in &self.found {
            let site = candidate.solution.site;
            let (impatience, nth) = of_site
                .entry(site)
                .or_insert_with(|| (PATIENCE.impatience(self.sites.of(site).barren), 0));
            ranked.push((*impatience + *nth + candidate.doubt, candidate));
            *nth += 1;
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let mut known = BTreeSet::new();
        let new = ranked.into_iter().map(|(_, candidate)| &candidate.solution);
        new.filter(|solution| known.insert(&solution.patches))
            .take(limit)
            .cloned()
            .collect()
    }
}

/// How easily an operand is met by chance: flags, lengths and characters are everywhere.
fn chance(magnitude: u64) -> u32 {
    match magnitude {
        0..0x100 => 2,
        0x100..0x1_0000 => 1,
        _ => 0,
    }
}

/// Texts that may become longer or shorter, and what is between their punctuation, by length.
fn by_length(tree: &Tree, texts: &[Text]) -> BTreeMap<usize, Vec<(usize, usize)>> {
    let mut words: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (nth, text) in texts.iter().enumerate() {
        if !text.is_elastic(tree) {
            continue;
        }
        words.entry(text.bytes.len()).or_default().push((nth, 0));
        let mut start = 0;
        for word in text.bytes.split(|byte| byte.is_ascii_punctuation()) {
            if word.len() < text.bytes.len() {
                words.entry(word.len()).or_default().push((nth, start));
            }
            start += word.len() + 1;
        }
    }
    words
}

/// A number of the domain that is `by` more as far as `width` bytes say, and true; else the nearest that is another
/// than `old`.
fn moved(domain: Domain, old: u64, by: i64, width: u8) -> Option<(u64, bool)> {
    let Domain::Int { lo, hi } = domain else {
        return None;
    };
    let whole = 1i128 << (8 * u32::from(width));
    let old = i128::from(old.cast_signed());
    let wanted = old + i128::from(by);
    let all = [wanted, wanted + whole, wanted - whole];
    let exact = all
        .into_iter()
        .find(|new| (i128::from(lo)..=i128::from(hi)).contains(new));
    let new = exact.unwrap_or(wanted.clamp(lo.into(), hi.into()));
    (new != old).then_some(((new as i64).cast_unsigned(), exact.is_some()))
}

fn padded(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    word
}

/// The operands of an inlined comparison of texts, if they look like that.
fn words(compare: &Compare) -> Option<(Vec<u8>, Vec<u8>)> {
    if compare.width < 4 {
        return None;
    }
    let word = |operand| bytes(operand, compare.width, false).to_vec();
    let (left, right) = (word(compare.left), word(compare.right));
    let is_text = |word: &[u8]| word.iter().all(|byte| (b' '..=b'~').contains(byte));
    (is_text(&left) && is_text(&right)).then_some((left, right))
}

/// The decimal numbers in a text, and where each begins; those that fit 64 bits.
fn numerals(text: &[u8]) -> Vec<(usize, i64)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let digits = text[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let number = text[at..at + digits]
            .iter()
            .try_fold(0i64, |number, digit| {
                number.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
            });
        if let (1.., Some(number)) = (digits, number) {
            let is_negative = at > 0 && text[at - 1] == b'-';
            found.push(if is_negative {
                (at - 1, -number)
            } else {
                (at, number)
            });
        }
        at += digits.max(1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::strings::STRING_SITE;
    use super::super::tree::Token;
    use super::super::{Draw, Role};
    use super::*;

    fn int(lo: i64, hi: i64) -> Domain {
        Domain::Int { lo, hi }
    }

    fn token(site: u32, domain: Domain, value: i64) -> Token {
        let role = Role::Value;
        Token::Choice {
            draw: Draw { site, role, domain },
            value: value.cast_unsigned(),
            bytes: 0,
        }
    }

    /// A tree of choices, each from a place of its own.
    fn numbers(choices: &[(Domain, i64)]) -> Tree {
        let tokens = choices.iter().zip(0..);
        let tokens = tokens.map(|(&(domain, value), site)| token(site, domain, value));
        Tree {
            tokens: tokens.collect(),
            payload: Vec::new(),
        }
    }

    /// A tree of one request for a known string, which came to this.
    fn known(text: &[u8]) -> Tree {
        let len = text.len() as u32;
        let coin = Domain::Bool { num: 1, den: 2 };
        let entry = Domain::Bytes { min: len, max: len };
        Tree {
            tokens: vec![
                token(1, coin, 1),
                token(1, int(0, 3), 2),
                token(STRING_SITE, entry, len.into()),
            ],
            payload: text.to_vec(),
        }
    }

    fn compare(width: u8, left: u64, right: u64) -> Compare {
        Compare {
            site: 7,
            width,
            left,
            right,
            constant: true,
        }
    }

    fn of_numbers(compares: &[Compare]) -> Detail {
        Detail {
            compares: compares.to_vec(),
            ..Detail::default()
        }
    }

    fn of_texts(left: &[u8], right: &[u8]) -> Detail {
        let (left, right) = (left.to_vec(), right.to_vec());
        Detail {
            texts: vec![CompareText {
                site: 3,
                left,
                right,
            }],
            ..Detail::default()
        }
    }

    fn solved(tree: &Tree, detail: &Detail) -> Vec<Tree> {
        let solutions = solve(tree, detail, &mut Sites::default(), 1_000);
        solutions
            .iter()
            .map(|solution| solution.apply(tree))
            .collect()
    }

    /// The values of all children.
    fn values(tree: &Tree, detail: &Detail) -> Vec<Vec<i64>> {
        let value = |token: &Token| match token {
            Token::Choice { value, .. } => Some(value.cast_signed()),
            _ => None,
        };
        let children = solved(tree, detail).into_iter();
        children
            .map(|child| child.tokens.iter().filter_map(value).collect())
            .collect()
    }

    /// The first choice of all children, of which there is one.
    fn first(domain: Domain, value: i64, compare: Compare) -> Vec<i64> {
        let children = values(&numbers(&[(domain, value)]), &of_numbers(&[compare]));
        children.iter().map(|child| child[0]).collect()
    }

    /// The texts of all children.
    fn entries(old: &[u8], detail: &Detail) -> Vec<String> {
        let text = |child: &Tree| {
            let Some(Token::Choice { draw, value, bytes }) = child.tokens.get(2) else {
                unreachable!("the third is the text")
            };
            String::from_utf8_lossy(child.bytes(*bytes, draw, *value)).into_owned()
        };
        solved(&known(old), detail).iter().map(text).collect()
    }

    const WIDE: Domain = Domain::Int {
        lo: i32::MIN as i64,
        hi: i32::MAX as i64,
    };

    #[test]
    fn a_number_becomes_what_is_wanted_and_its_neighbours() {
        assert_eq!(
            first(WIDE, 77_777, compare(8, 77_777, 0x5eed_1234)),
            [0x5eed_1234, 0x5eed_1235]
        );
        assert_eq!(first(WIDE, 77_777, compare(8, 77_777, 5)), [5, 4]);
        // Nobody wrote it.
        assert_eq!(first(WIDE, 77_777, compare(8, 66_666, 5)), [0; 0]);
        // A constant cannot be changed.
        assert_eq!(first(WIDE, 77_777, compare(8, 5, 77_777)), [0; 0]);
        let both = Compare {
            constant: false,
            ..compare(8, 5, 77_777)
        };
        assert_eq!(first(WIDE, 77_777, both), [5, 4]);
    }

    #[test]
    fn narrow_operands_are_of_either_sign() {
        assert_eq!(first(WIDE, -5, compare(4, 0xffff_fffb, 70_000))[0], 70_000);
        assert_eq!(
            first(WIDE, -5_000, compare(4, 0xffff_ec78, 0xffff_0000))[0],
            -65_536
        );
        let unsigned = int(0, u32::MAX.into());
        assert_eq!(
            first(unsigned, 77_777, compare(4, 77_777, 0xffff_fff0))[0],
            0xffff_fff0
        );
        assert_eq!(first(int(0, 255), 200, compare(1, 200, 7))[0], 7);
    }

    #[test]
    fn what_a_domain_lacks_is_approached() {
        assert_eq!(
            first(int(0, 90_000), 77_777, compare(8, 77_777, 500_000)),
            [90_000]
        );
        assert_eq!(
            first(int(0, 77_777), 77_777, compare(8, 77_777, 500_000)),
            [0; 0]
        );
    }

    #[test]
    fn numbers_are_recognized_turned_round_and_a_little_away() {
        let unsigned = int(0, u32::MAX.into());
        assert_eq!(
            first(unsigned, 0x0102_0304, compare(4, 0x0403_0201, 0xefbe_adde))[0],
            0xdead_beef
        );
        assert_eq!(
            first(int(0, 9), 3, compare(4, b'3'.into(), b'7'.into()))[0],
            7
        );
        assert_eq!(first(int(0, 99), 30, compare(4, 31, 50))[0], 49);
        assert_eq!(first(int(0, 99), 30, compare(4, 80, 50)), [0; 0]);
    }

    #[test]
    fn numbers_are_recognized_by_their_bytes() {
        let tree = numbers(&[(int(0, u32::MAX.into()), 0x0102_0304)]);
        for (left, right) in [
            ([4, 3, 2, 1], [0xef, 0xbe, 0xad, 0xde]),
            ([1, 2, 3, 4], [0xde, 0xad, 0xbe, 0xef]),
        ] {
            assert_eq!(values(&tree, &of_texts(&left, &right)), [[0xdead_beef]]);
            assert_eq!(values(&tree, &of_texts(&right, &left)), [[0xdead_beef]]);
        }
    }

    #[test]
    fn floats_are_recognized_by_their_bits() {
        let domain = Domain::float(0.0, 100.0);
        let (old, new) = (2.5f64, 77.25f64);
        let bits = |value: f64| value.to_bits().cast_signed();
        let wide = compare(8, old.to_bits(), new.to_bits());
        assert_eq!(first(domain, bits(old), wide), [bits(new), bits(new) + 1]);
        let narrow = compare(
            4,
            (old as f32).to_bits().into(),
            (new as f32).to_bits().into(),
        );
        assert_eq!(first(domain, bits(old), narrow)[0], bits(new));
        let outside = compare(8, old.to_bits(), 100.0f64.to_bits());
        assert_eq!(first(domain, bits(old), outside), [0; 0]);
    }

    #[test]
    fn summands_share_what_is_missing() {
        let list = |values: &[i64]| Tree {
            tokens: values
                .iter()
                .map(|&value| token(4, int(0, 9_999), value))
                .collect(),
            payload: Vec::new(),
        };
        let detail = |sum, wanted| of_numbers(&[compare(8, sum, wanted)]);
        let children = values(&list(&[10, 20, 9_000]), &detail(9_030, 20_000));
        // Another one of them is the first each time.
        assert_eq!(children[0], [10, 9_999, 9_991]);
        // The first two, without the last.
        let children = values(&list(&[10, 20, 9_000]), &detail(30, 500));
        assert!(children.contains(&vec![10, 490, 9_000]), "{children:?}");
        let children = values(&list(&[10, 20, 9_000]), &detail(9_030, 3));
        assert_eq!(children[0], [3, 0, 0]);
        // There is not so much room, and another sum is another.
        assert!(values(&list(&[10, 20, 9_000]), &detail(9_030, 30_000)).is_empty());
        assert!(values(&list(&[10, 20, 9_000]), &detail(9_031, 20_000)).is_empty());
    }

    #[test]
    fn decimals_within_texts_are_recognized() {
        let tree = numbers(&[(int(-500, 500), 123)]);
        assert_eq!(
            values(&tree, &of_texts(b"kind-x123", b"kind-x342")),
            [[342]]
        );
        let inlined = |text: &[u8; 8]| u64::from_le_bytes(*text);
        let inlined = compare(8, inlined(b"kind 123"), inlined(b"kind 342"));
        assert_eq!(values(&tree, &of_numbers(&[inlined])), [[342]]);
        assert_eq!(
            values(&tree, &of_texts(b"kind-x124", b"kind-x342")),
            [[0i64; 1]; 0]
        );
        let tree = numbers(&[(int(-500, 500), -31)]);
        assert_eq!(values(&tree, &of_texts(b"n=-31", b"n=-77")), [[-77]]);
    }

    #[test]
    fn texts_are_recognized_in_either_case_and_backwards() {
        assert_eq!(
            entries(b"say hello", &of_texts(b"hello", b"world"))[0],
            "say world"
        );
        let loud = entries(b"say hello", &of_texts(b"HELLO", b"WORLD"));
        assert!(loud.iter().any(|child| child == "say WORLD"), "{loud:?}");
        assert_eq!(
            entries(b"say hello", &of_texts(b"olleh", b"dlrow"))[0],
            "say world"
        );
        assert!(entries(b"say hello", &of_texts(b"hallo", b"world")).is_empty());
        // Nor is what lies beyond a text its own.
        assert!(entries(b"say hello", &of_texts(b"hello\xff", b"world!")).is_empty());
    }

    #[test]
    fn words_of_texts_are_solved_together() {
        let word = |text: &[u8; 4]| u64::from(u32::from_le_bytes(*text));
        let site = |site, left, right| Compare {
            site,
            ..compare(4, word(left), word(right))
        };
        let detail = of_numbers(&[site(1, b"abcd", b"open"), site(2, b"efgh", b"door")]);
        let children = entries(b"-abcdefgh", &detail);
        for expected in ["-openefgh", "-opendoor", "-abcddoor"] {
            assert!(
                children.iter().any(|child| child == expected),
                "{children:?}"
            );
        }
    }

    #[test]
    fn a_text_takes_the_length_that_is_wanted() {
        let children = |wanted| entries(b"four", &of_numbers(&[compare(4, 4, wanted)]));
        assert!(
            children(6).iter().any(|child| child == "fouref"),
            "{:?}",
            children(6)
        );
        assert!(children(2).iter().any(|child| child == "fo"));
        assert!(!children(300).iter().any(|child| child.len() == 300));
        let words = entries(b"a/four/b", &of_numbers(&[compare(4, 4, 6)]));
        assert!(words.iter().any(|child| child == "a/fouref/b"), "{words:?}");
    }

    #[test]
    fn how_a_comparison_has_come_out_is_not_tried_again() {
        let tree = numbers(&[(WIDE, 77_777)]);
        let mut sites = Sites::default();
        let mut children = |seen: &[u64]| {
            let seen: Vec<Compare> = seen.iter().map(|&left| compare(8, left, 500)).collect();
            sites.see(&seen);
            let solutions = solve(
                &tree,
                &of_numbers(&[compare(8, 77_777, 500)]),
                &mut sites,
                9,
            );
            solutions
                .iter()
                .map(|solution| solution.apply(&tree).tokens[0])
                .collect::<Vec<_>>()
        };
        let to = |value| token(0, WIDE, value);
        assert_eq!(children(&[]), [to(500), to(499)]);
        assert_eq!(children(&[500]), [to(499)]);
        assert!(children(&[3]).is_empty());
    }

    /// Sites take turns, and of each the fresh ones come first.
    #[test]
    fn the_least_tried_come_first_and_no_two_are_the_same() {
        let tree = numbers(&[(WIDE, 77_777), (WIDE, 66_666)]);
        let site = |site, left| Compare {
            site,
            ..compare(8, left, 5)
        };
        let detail = of_numbers(&[site(1, 77_777), site(2, 66_666), site(3, 77_777)]);
        let mut sites = Sites::default();
        let order = |sites: &mut Sites, limit| {
            let solutions = solve(&tree, &detail, sites, limit);
            solutions
                .iter()
                .map(|solution| solution.site)
                .collect::<Vec<_>>()
        };
        assert_eq!(order(&mut sites, 9), [1, 2, 1, 2]);
        assert_eq!(order(&mut sites, 3), [1, 2, 1]);
        (0..9).for_each(|_| sites.tried(1, false));
        // What the third wants is the same, and was not tried for it.
        assert_eq!(order(&mut sites, 2), [2, 3]);
    }

    /// A wide operand comes before one that is everywhere, whatever the order of the sites.
    #[test]
    fn what_is_met_by_chance_comes_later() {
        let mut choices = vec![(WIDE, 7); 20];
        choices.push((WIDE, 77_777));
        let site = |site, left| Compare {
            site,
            ..compare(8, left, 5)
        };
        let detail = of_numbers(&[site(1, 7), site(2, 77_777)]);
        let solutions = solve(&numbers(&choices), &detail, &mut Sites::default(), 1);
        assert_eq!(solutions[0].site, 2);
    }

    #[test]
    fn of_many_places_others_are_tried_each_time() {
        let tree = numbers(&[(WIDE, 77_777); 40]);
        let detail = of_numbers(&[compare(8, 77_777, 5)]);
        let (mut sites, mut tried) = (Sites::default(), BTreeSet::new());
        for _ in 0..40 {
            let solutions = solve(&tree, &detail, &mut sites, 1_000);
            assert!(solutions.len() <= PATIENCE.per_site as usize);
            tried.extend(solutions.into_iter().map(|solution| solution.patches[0].at));
        }
        assert_eq!(tried.len(), 40);
    }

    #[test]
    fn where_nothing_is_recognized_is_looked_at_ever_less() {
        let tree = numbers(&[(WIDE, 77_777)]);
        let mut sites = Sites::default();
        let barren = |sites: &Sites| [7, 8].map(|key| sites.of(key).barren);
        let blank = Compare {
            site: 8,
            ..compare(8, 66_666, 5)
        };
        let detail = of_numbers(&[compare(8, 77_777, 5), blank]);
        solve(&tree, &detail, &mut sites, 9);
        assert_eq!(barren(&sites), [0, 1]);
        (0..200).for_each(|_| drop(solve(&tree, &detail, &mut sites, 9)));
        let [_, looks] = barren(&sites);
        assert!((32..100).contains(&looks), "{looks}");
    }

    #[test]
    fn without_comparisons_there_is_nothing_to_solve() {
        assert!(solved(&known(b"text"), &Detail::default()).is_empty());
    }
}
