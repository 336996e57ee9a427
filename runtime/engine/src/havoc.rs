//! Mutation of bytes: the havoc stage of AFL 2.52b.
//!
//! In: a parent, tables, a random stream. Out: a child. The operators, their weights and their
//! constants are those of `fuzz_one` in `afl-fuzz.c` 2.52b:
//!
//! | case | operator |
//! | --- | --- |
//! | 0 | flip a bit |
//! | 1–3 | an interesting value of 8, 16, 32 bits, little or big endian |
//! | 4–9 | subtract or add 1..=35 to 8, 16, 32 bits, little or big endian |
//! | 10 | xor a byte with 1..=255 |
//! | 11, 12 | delete a block |
//! | 13 | insert a block: 3 of 4 times a copy, else one byte repeated |
//! | 14 | overwrite a block: 3 of 4 times a copy, else one byte repeated |
//! | 15, 16 | overwrite with, insert a token; only if there are tokens |
//!
//! Departures:
//! - Random numbers are scaled by multiplication, not by remainder, and one 64-bit word serves all
//!   draws of cases 0–10. The bias is below 1/200 of any one choice.
//! - AFL allows larger blocks from the second and third queue cycle on, once it has run for ten
//!   minutes. We have no clock: [`Tables::block_level`] is set by the guidance from trials.
//! - AFL does not insert when fewer than 32 KiB are left below its 1 MiB limit; here a block is
//!   limited to what is left below `input_bytes_max`, so small limits still allow insertion.
//! - AFL never sees an empty input. Here an empty parent grows by one random byte first.
//!
//! Speed: cases 0–10 (73 % of the operators) are one path without unpredictable branches: load
//! four bytes, and, xor, add by table, store. That is why the working buffer has slack at its end.

use crate::dictionary::{Token, TokenSource};
use crate::rng::{Rng, scale};

/// `ARITH_MAX`.
const ARITH_MAX: u32 = 35;
/// `HAVOC_BLK_SMALL`, `_MEDIUM`, `_LARGE`, `_XL`.
const BLOCKS: [u32; 4] = [32, 128, 1_500, 32_768];
/// `HAVOC_STACK_POW2`.
const STACK_POW2: u32 = 7;
/// Blocks of up to this size, all at the first block level, take a path without unpredictable
/// branches.
const CHUNK: usize = 32;
/// How much is moved at a time when a gap is opened or closed.
const STEP: usize = 64;
/// Bytes behind the input that the fast paths may load and store.
const SLACK: usize = STEP;

const INTERESTING_8: [i32; 9] = [-128, -1, 0, 1, 16, 32, 64, 100, 127];
const INTERESTING_16: [i32; 10] = [-32768, -129, 128, 255, 256, 512, 1000, 1024, 4096, 32767];
const INTERESTING_32: [i32; 8] = [
    i32::MIN,
    -100_663_046,
    -32_769,
    32_768,
    65_535,
    65_536,
    100_663_045,
    i32::MAX,
];

/// One of the cases 0–10: `new = ((old & keep) ^ value) + value'`, where `value` is one of `count`
/// entries of [`VALUES`] from `first`, and is added if `adds` is all ones, else xored.
#[derive(Clone, Copy)]
struct Simple {
    /// Bytes that change: 1, 2 or 4.
    width: u32,
    keep: u32,
    adds: u32,
    first: u32,
    count: u32,
}

const VALUE_COUNT: usize = 8 + 9 + 19 + 27 + 2 * ARITH_MAX as usize + 255;

const fn tables() -> ([Simple; 16], [u32; 1024]) {
    let mut values = [0u32; 1024];
    let mut end = 0;
    let nothing = Simple {
        width: 1,
        keep: u32::MAX,
        adds: 0,
        first: 0,
        count: 1,
    };
    let mut simple = [nothing; 16];

    while end < 8 {
        values[end] = 1 << end;
        end += 1;
    }
    simple[0] = Simple {
        count: 8,
        ..nothing
    };

    // The three lists are prefixes of one: AFL's 16-bit list contains the 8-bit one, and so on.
    let interesting = end;
    let mut i = 0;
    while i < 27 {
        values[end] = if i < 9 {
            INTERESTING_8[i] as u32
        } else if i < 19 {
            INTERESTING_16[i - 9] as u32
        } else {
            INTERESTING_32[i - 19] as u32
        };
        i += 1;
        end += 1;
    }
    let counts = [9, 19, 27];
    let mut w = 0;
    while w < 3 {
        simple[1 + w] = Simple {
            width: 1 << w,
            keep: 0,
            adds: 0,
            first: interesting as u32,
            count: counts[w],
        };
        w += 1;
    }

    let minus = end;
    let plus = end + ARITH_MAX as usize;
    let mut i = 0;
    while i < ARITH_MAX as usize {
        values[minus + i] = (i as u32 + 1).wrapping_neg();
        values[plus + i] = i as u32 + 1;
        i += 1;
    }
    end += 2 * ARITH_MAX as usize;
    let mut case = 4;
    while case < 10 {
        simple[case] = Simple {
            width: 1 << ((case - 4) / 2),
            keep: u32::MAX,
            adds: u32::MAX,
            first: if case % 2 == 0 {
                minus as u32
            } else {
                plus as u32
            },
            count: ARITH_MAX,
        };
        case += 1;
    }

    simple[10] = Simple {
        first: end as u32,
        count: 255,
        ..nothing
    };
    let mut i = 0;
    while i < 255 {
        values[end] = i + 1;
        i += 1;
        end += 1;
    }
    assert!(end <= VALUE_COUNT + 8);
    (simple, values)
}

const TABLES: ([Simple; 16], [u32; 1024]) = tables();
static SIMPLE: [Simple; 16] = TABLES.0;
static VALUES: [u32; 1024] = TABLES.1;

/// What havoc reads besides the parent. Shared by all trials of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    user: Tokens,
    automatic: Tokens,
    input_bytes_max: u32,
    block_level: u32,
    stack_pow2: u32,
    appends: bool,
}

/// Tokens, one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tokens {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Tokens {
    fn push(&mut self, token: &[u8]) {
        self.bytes.extend_from_slice(token);
        self.ends.push(self.bytes.len() as u32);
    }

    fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 {
            0
        } else {
            self.ends[at - 1] as usize
        };
        &self.bytes[start..self.ends[at] as usize]
    }
}

impl Tables {
    /// Tables for inputs of at most `input_bytes_max` bytes (at least 1), with AFL's defaults.
    pub fn new(tokens: &[Token], input_bytes_max: u32) -> Tables {
        let mut tables = Tables {
            user: Tokens::default(),
            automatic: Tokens::default(),
            input_bytes_max: input_bytes_max.max(1),
            block_level: 1,
            stack_pow2: STACK_POW2,
            appends: false,
        };
        for token in tokens.iter().filter(|token| !token.bytes.is_empty()) {
            match token.source {
                TokenSource::User => tables.user.push(&token.bytes),
                TokenSource::Automatic => tables.automatic.push(&token.bytes),
            }
        }
        tables
    }

    /// The longest input that havoc makes.
    pub fn input_bytes_max(&self) -> u32 {
        self.input_bytes_max
    }

    /// How large blocks may get, as AFL's `rlim`: 1 up to 32 bytes, 2 up to 128, 3 up to 32 KiB.
    pub fn block_level(&self) -> u32 {
        self.block_level
    }

    pub(crate) fn with_block_level(mut self, level: u32) -> Tables {
        self.block_level = level.clamp(1, 3);
        self
    }

    /// The number of stacked operators is 2^(1 + below(n)); AFL's n is 7.
    pub(crate) fn with_stack_pow2(mut self, n: u32) -> Tables {
        self.stack_pow2 = n.clamp(1, 10);
        self
    }

    /// Whether a block may also be inserted behind the last byte. In AFL it may not.
    pub(crate) fn with_appends(mut self, appends: bool) -> Tables {
        self.appends = appends;
        self
    }
}

/// AFL's `choose_block_len`: a length in `[1, limit]`, with larger ones from higher levels.
///
/// The length follows from the low half of `draw`; only higher levels draw more.
#[inline]
fn block_len(limit: u32, level: u32, draw: u64, rng: &mut Rng) -> u32 {
    let class = if level <= 1 { 0 } else { rng.below(level) };
    let (mut min, max) = match class {
        0 => (1, BLOCKS[0]),
        1 => (BLOCKS[0], BLOCKS[1]),
        _ if rng.below(10) != 0 => (BLOCKS[1], BLOCKS[2]),
        _ => (BLOCKS[2], BLOCKS[3]),
    };
    if min >= limit {
        min = 1;
    }
    min + scale(draw, max.min(limit) - min + 1)
}

/// Replaces `out` by a mutant of `parent`, at most `tables.input_bytes_max` long and not empty.
///
/// `work` is the caller's and may hold anything; nothing is allocated once both buffers have grown.
pub fn havoc(parent: &[u8], tables: &Tables, rng: &mut Rng, work: &mut Vec<u8>, out: &mut Vec<u8>) {
    let max = tables.input_bytes_max as usize;
    let mut len = parent.len().min(max);
    make_room(work, len + 1);
    work[..len].copy_from_slice(&parent[..len]);
    if len == 0 {
        work[0] = rng.word() as u8;
        len = 1;
    }
    let has_tokens = tables.user.ends.len() + tables.automatic.ends.len() > 0;
    let cases = if has_tokens { 17 } else { 15 };
    let stack = 2u32 << rng.below(tables.stack_pow2);
    for _ in 0..stack {
        let word = rng.word();
        let case = ((word >> 48) * cases) >> 16;
        if case <= 10 {
            simple(work, len, case as usize, word);
        } else {
            len = block(work, len, case, word, tables, rng);
        }
    }
    out.clear();
    out.extend_from_slice(&work[..len]);
}

/// Cases 0–10. Bits of `word`: 0–31 where, 32–46 which value, 47 whether big endian.
#[inline(always)]
fn simple(work: &mut [u8], len: usize, case: usize, word: u64) {
    let s = SIMPLE[case & 15];
    let width = s.width as usize;
    if len < width {
        return;
    }
    let at = scale(word, (len - width + 1) as u32) as usize;
    let pick = ((word >> 32) & 0x7fff) as u32;
    let value = VALUES[(s.first + ((pick * s.count) >> 15)) as usize & 1023];
    let Some(place) = work[at..].first_chunk_mut::<4>() else {
        return;
    };
    let all = u32::from_le_bytes(*place);
    let unused = 32 - 8 * s.width;
    let mask = u32::MAX >> unused;
    // The high bytes are the lower ones of the swapped word, so one shift aligns any width.
    let swapped = all.swap_bytes() >> unused;
    let big = ((word >> 47) as u32 & 1).wrapping_neg();
    let old = (swapped & big) | (all & !big);
    let new = ((old & s.keep) ^ (value & !s.adds)).wrapping_add(value & s.adds);
    let back = (new << unused).swap_bytes();
    let new = (back & big) | (new & !big);
    *place = ((all & !mask) | (new & mask)).to_le_bytes();
}

/// What is written into a block of at most [`CHUNK`] bytes; bytes behind the block are ignored.
type Chunk = [u8; CHUNK];

/// Cases 11–16; gives the new length. Bits of `word`: 0–31 where, 32–33 what fills the block.
#[inline]
fn block(
    work: &mut Vec<u8>,
    len: usize,
    case: u64,
    word: u64,
    tables: &Tables,
    rng: &mut Rng,
) -> usize {
    let below = |n: usize| scale(word, n as u32) as usize;
    let level = tables.block_level;
    if case <= 12 {
        if len < 2 {
            return len;
        }
        let n = block_len(len as u32 - 1, level, rng.word(), rng) as usize;
        close_gap(work, below(len - n + 1), n, len);
        return len - n;
    }
    if case >= 15 {
        let token = pick_token(tables, rng);
        return write_token(work, len, token, case == 15, word, tables);
    }
    let inserts = case == 13;
    let room = (tables.input_bytes_max as usize - len) as u32;
    if if inserts { room == 0 } else { len < 2 } {
        return len;
    }
    let copies = (word >> 32) & 3 != 0;
    let limit = match (inserts, copies) {
        (true, true) => room.min(len as u32),
        (true, false) => room.min(BLOCKS[3]),
        (false, _) => len as u32 - 1,
    };
    let draw = rng.word();
    let n = block_len(limit, level, draw, rng) as usize;
    let places = if inserts {
        len + usize::from(tables.appends)
    } else {
        len - n + 1
    };
    let to = below(places);
    let from = if copies {
        scale(draw >> 32, (len - n.min(len) + 1) as u32) as usize
    } else {
        0
    };
    let grown = if inserts { len + n } else { len };
    make_room(work, grown);
    if n <= CHUNK {
        let chunk: Chunk = if copies {
            *work[from..]
                .first_chunk()
                .expect("there is slack behind the input")
        } else {
            [filler(work, len, draw, rng); CHUNK]
        };
        if inserts {
            open_gap(work, to, n, len);
        }
        put(work, to, n, &chunk);
    } else {
        large_block(
            work,
            len,
            Large {
                to,
                from,
                n,
                inserts,
                copies,
            },
            draw,
            rng,
        );
    }
    grown
}

/// A block longer than [`CHUNK`].
struct Large {
    to: usize,
    from: usize,
    n: usize,
    inserts: bool,
    copies: bool,
}

#[cold]
fn large_block(work: &mut [u8], len: usize, block: Large, draw: u64, rng: &mut Rng) {
    let Large {
        to,
        from,
        n,
        inserts,
        copies,
    } = block;
    let byte = filler(work, len, draw, rng);
    if inserts {
        work.copy_within(to..len, to + n);
    }
    if !copies {
        work[to..to + n].fill(byte);
    } else if inserts {
        // Opening the gap moved what lay behind it, so the source is in two parts.
        let before = to.saturating_sub(from).min(n);
        work.copy_within(from..from + before, to);
        work.copy_within(from + before + n..from + n + n, to + before);
    } else {
        work.copy_within(from..from + n, to);
    }
}

/// Cases 15 and 16.
fn write_token(
    work: &mut Vec<u8>,
    len: usize,
    token: &[u8],
    overwrites: bool,
    word: u64,
    tables: &Tables,
) -> usize {
    let n = token.len();
    let fits = if overwrites {
        n <= len
    } else {
        len + n <= tables.input_bytes_max as usize
    };
    if !fits {
        return len;
    }
    let places = if overwrites { len - n + 1 } else { len + 1 };
    let at = scale(word, places as u32) as usize;
    let grown = if overwrites { len } else { len + n };
    make_room(work, grown);
    if !overwrites {
        open_gap(work, at, n, len);
    }
    work[at..at + n].copy_from_slice(token);
    grown
}

/// Writes the first `n` bytes of a chunk without a branch on `n`.
#[inline]
fn put(work: &mut [u8], at: usize, n: usize, chunk: &Chunk) {
    let place: &mut Chunk = work[at..]
        .first_chunk_mut()
        .expect("there is slack behind the input");
    for i in 0..CHUNK {
        place[i] = if i < n { chunk[i] } else { place[i] };
    }
}

/// Moves what lies behind `at + n` to `at`. Reads and writes up to a step of slack behind the end.
///
/// For short inputs this is one step, where a call of memmove would branch on lengths that nothing
/// can predict.
#[inline]
fn close_gap(work: &mut [u8], at: usize, n: usize, len: usize) {
    let mut to = at;
    while to + n < len {
        let step: [u8; STEP] = *work[to + n..]
            .first_chunk()
            .expect("there is slack behind the input");
        *work[to..]
            .first_chunk_mut()
            .expect("it lies before what was read") = step;
        to += STEP;
    }
}

/// Moves what lies behind `at` to `at + n`, from the end. There must be slack behind `len + n`.
#[inline]
fn open_gap(work: &mut [u8], at: usize, n: usize, len: usize) {
    let mut steps = (len - at).div_ceil(STEP);
    while steps > 0 {
        steps -= 1;
        let from = at + steps * STEP;
        let step: [u8; STEP] = *work[from..]
            .first_chunk()
            .expect("it lies before what is written");
        *work[from + n..]
            .first_chunk_mut()
            .expect("there is slack behind the input") = step;
    }
}

/// The byte that fills a block: a random one or one of the input.
fn filler(work: &[u8], len: usize, draw: u64, rng: &mut Rng) -> u8 {
    let word = rng.word();
    let own = work[scale(word, len as u32) as usize];
    if draw >> 63 == 1 {
        (word >> 32) as u8
    } else {
        own
    }
}

/// A fair coin between the user's and the automatic tokens, if there are both; then a uniform one.
fn pick_token<'a>(tables: &'a Tables, rng: &mut Rng) -> &'a [u8] {
    let automatic = tables.automatic.ends.len();
    let user = tables.user.ends.len();
    if user == 0 || (automatic > 0 && rng.below(2) == 1) {
        tables.automatic.get(rng.index(automatic))
    } else {
        tables.user.get(rng.index(user))
    }
}

/// Grows `work` to `len` and the slack.
#[inline]
fn make_room(work: &mut Vec<u8>, len: usize) {
    if work.len() < len + SLACK {
        grow(work, len);
    }
}

#[cold]
fn grow(work: &mut Vec<u8>, len: usize) {
    work.resize((len + SLACK).next_power_of_two().max(4096), 0);
}

/// Replaces `out` by uniformly random bytes; every power of two up to `max` is equally likely to
/// bound the length.
pub(crate) fn random(max: u32, rng: &mut Rng, out: &mut Vec<u8>) {
    let bits = u32::BITS - max.leading_zeros();
    let bound = 1u64 << rng.below(bits + 1);
    let len = rng.below(bound.min(u64::from(max) + 1) as u32) as usize;
    out.clear();
    out.resize(len, 0);
    for chunk in out.chunks_mut(8) {
        let word = rng.word().to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(parent: &[u8], tables: &Tables, seed: u64, work: &mut Vec<u8>) -> Vec<u8> {
        let mut out = vec![9; 3];
        havoc(parent, tables, &mut Rng::new(seed), work, &mut out);
        out
    }

    #[test]
    fn children_are_neither_empty_nor_too_long() {
        let tokens = [
            Token::user(&b"abc"[..]),
            Token::automatic(&b"0123456789abcdef"[..]),
        ];
        let mut rng = Rng::new(5);
        for round in 0..40_000 {
            let max = 1 + rng.below(200);
            let level = 1 + rng.below(3);
            let count = rng.index(3);
            let tables = Tables::new(&tokens[..count], max).with_block_level(level);
            let parent: Vec<u8> = (0..rng.index(220)).map(|_| rng.word() as u8).collect();
            let mut work = Vec::new();
            let out = child(&parent, &tables, round, &mut work);
            assert!(!out.is_empty() && out.len() <= max as usize, "seed {round}");
        }
    }

    #[test]
    fn a_child_is_a_function_of_its_arguments() {
        let tables = Tables::new(&[], 1 << 20).with_block_level(3);
        let parent = [7; 100];
        let mut dirty = vec![0xee; 1 << 16];
        for seed in 0..500 {
            let clean = child(&parent, &tables, seed, &mut Vec::new());
            assert_eq!(
                clean,
                child(&parent, &tables, seed, &mut dirty),
                "seed {seed}"
            );
        }
    }

    /// Each of the cases 0–10 against a plain restatement of AFL's code.
    #[test]
    fn simple_operators_do_what_afl_does() {
        let mut rng = Rng::new(11);
        for _ in 0..200_000 {
            let len = 1 + rng.index(12);
            let mut work: Vec<u8> = (0..len + SLACK).map(|_| rng.word() as u8).collect();
            let before = work.clone();
            let case = rng.index(11);
            let word = rng.word();
            simple(&mut work, len, case, word);
            let width = [1, 1, 2, 4, 1, 1, 2, 2, 4, 4, 1][case];
            if len < width {
                assert_eq!(work, before);
                continue;
            }
            let at = scale(word, (len - width + 1) as u32) as usize;
            let big = (word >> 47) & 1 == 1;
            let read = |bytes: &[u8]| {
                let mut value = 0u32;
                for i in 0..width {
                    let byte = bytes[at + if big { i } else { width - 1 - i }];
                    value = value << 8 | u32::from(byte);
                }
                value
            };
            let mask = u32::MAX >> (32 - 8 * width);
            let (old, new) = (read(&before), read(&work));
            let signed = (new << (32 - 8 * width)) as i32 >> (32 - 8 * width);
            match case {
                0 => assert_eq!((old ^ new).count_ones(), 1),
                1 => assert!(INTERESTING_8.contains(&signed)),
                2 => assert!(INTERESTING_8.contains(&signed) || INTERESTING_16.contains(&signed)),
                3 => assert!(
                    INTERESTING_8.contains(&signed)
                        || INTERESTING_16.contains(&signed)
                        || INTERESTING_32.contains(&signed)
                ),
                4 | 6 | 8 => assert!((1..=35).contains(&(old.wrapping_sub(new) & mask))),
                5 | 7 | 9 => assert!((1..=35).contains(&(new.wrapping_sub(old) & mask))),
                _ => assert_ne!(old, new),
            }
            let touched = at..at + width;
            assert!((0..work.len()).all(|i| touched.contains(&i) || work[i] == before[i]));
        }
    }

    #[test]
    fn every_value_of_every_simple_operator_can_come() {
        for (case, s) in SIMPLE.iter().enumerate().take(11) {
            let mut seen = vec![0; s.count as usize];
            for pick in 0..0x8000u32 {
                seen[((pick * s.count) >> 15) as usize] += 1;
            }
            let (low, high) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
            assert!(*low > 0 && high - low <= 1, "case {case}");
        }
    }

    #[test]
    fn insertion_copies_a_block_of_the_old_input() {
        let tables = Tables::new(&[], 1 << 16);
        for seed in 0..5_000 {
            let parent: Vec<u8> = (0..50).collect();
            let mut work = parent.clone();
            work.resize(200, 0);
            let mut rng = Rng::new(seed);
            let word = rng.word();
            let len = block(&mut work, 50, 13, word, &tables, &mut rng);
            let to = scale(word, 50) as usize;
            let n = len - 50;
            assert_eq!(work[..to], parent[..to]);
            assert_eq!(work[to + n..len], parent[to..]);
            let middle = &work[to..to + n];
            let copied = parent
                .windows(n.clamp(1, 50))
                .any(|window| window == middle);
            let filled = middle.iter().all(|&byte| byte == middle[0]);
            assert!(copied || filled, "seed {seed}: {middle:?}");
        }
    }

    #[test]
    fn block_lengths_keep_within_their_class() {
        let mut rng = Rng::new(2);
        let mut draw = |limit, level| block_len(limit, level, rng.word(), &mut rng);
        for _ in 0..20_000 {
            assert!((1..=32).contains(&draw(40_000, 1)));
            assert!((1..=128).contains(&draw(40_000, 2)));
            assert!((1..=32_768).contains(&draw(40_000, 3)));
            assert!((1..=5).contains(&draw(5, 3)));
            assert_eq!(draw(1, 3), 1);
        }
    }

    #[test]
    fn random_inputs_keep_the_limit() {
        let mut rng = Rng::new(4);
        let mut out = Vec::new();
        let mut longest = 0;
        for _ in 0..2_000 {
            random(100, &mut rng, &mut out);
            longest = longest.max(out.len());
        }
        assert!((65..=100).contains(&longest));
    }
}
