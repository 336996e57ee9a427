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
//! Speed: cases 0–10 (73 % of the operators) are one path without unpredictable branches (`simple`).

mod block;
mod simple;
mod tables;

pub use tables::Tables;

use block::{block, make_room};
use simple::simple;

use crate::rng::Rng;

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
    let has_tokens = tables.user.len() + tables.automatic.len() > 0;
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
    use super::block::SLACK;
    use super::simple::{INTERESTING_8, INTERESTING_16, INTERESTING_32};
    use super::*;
    use crate::dictionary::Token;
    use crate::rng::scale;

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
