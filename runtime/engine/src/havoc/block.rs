//! Cases 11–16 of havoc: blocks and tokens that are deleted, inserted and overwritten.
//!
//! The working buffer has slack behind the input, so that short blocks are moved and written in whole
//! steps, without branches on lengths that nothing can predict.

use super::tables::Tables;
use crate::rng::{Rng, scale};

/// `HAVOC_BLK_SMALL`, `_MEDIUM`, `_LARGE`, `_XL`.
const BLOCKS: [u32; 4] = [32, 128, 1_500, 32_768];
/// Blocks of up to this size, all at the first block level, take a path without unpredictable
/// branches.
const CHUNK: usize = 32;
/// How much is moved at a time when a gap is opened or closed.
const STEP: usize = 64;
/// Bytes behind the input that the fast paths may load and store.
pub(super) const SLACK: usize = STEP;

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

/// What is written into a block of at most [`CHUNK`] bytes; bytes behind the block are ignored.
type Chunk = [u8; CHUNK];

/// Cases 11–16; gives the new length. Bits of `word`: 0–31 where, 32–33 what fills the block.
#[inline]
pub(super) fn block(
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
    let automatic = tables.automatic.len();
    let user = tables.user.len();
    if user == 0 || (automatic > 0 && rng.below(2) == 1) {
        tables.automatic.get(rng.index(automatic))
    } else {
        tables.user.get(rng.index(user))
    }
}

/// Grows `work` to `len` and the slack.
#[inline]
pub(super) fn make_room(work: &mut Vec<u8>, len: usize) {
    if work.len() < len + SLACK {
        grow(work, len);
    }
}

#[cold]
fn grow(work: &mut Vec<u8>, len: usize) {
    work.resize((len + SLACK).next_power_of_two().max(4096), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
