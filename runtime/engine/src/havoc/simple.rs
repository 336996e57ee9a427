//! Cases 0–10 of havoc: one, two or four bytes become others.
//!
//! All are one path without unpredictable branches: load four bytes, and, xor, add by table, store.

use crate::rng::scale;

/// `ARITH_MAX`.
const ARITH_MAX: u32 = 35;
pub(super) const INTERESTING_8: [i32; 9] = [-128, -1, 0, 1, 16, 32, 64, 100, 127];
pub(super) const INTERESTING_16: [i32; 10] =
    [-32768, -129, 128, 255, 256, 512, 1000, 1024, 4096, 32767];
pub(super) const INTERESTING_32: [i32; 8] = [
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

/// Cases 0–10. Bits of `word`: 0–31 where, 32–46 which value, 47 whether big endian.
#[inline(always)]
pub(super) fn simple(work: &mut [u8], len: usize, case: usize, word: u64) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
