//! Order: the same elements, sorted in one of the ways that sorting and searching are slow on.
//!
//! In: an input. Out: the same with a part of it taken as bytes, integers, words or lines and put in
//! ascending, descending or organ-pipe order, reversed or shuffled; or a part of it made a ramp. The
//! worst case of an algorithm on sequences is often a matter of their order alone: arithmetic sequences
//! and permutations are among the patterns of Singularity (Wei et al., FSE 2018).

use crate::rng::Rng;

/// Puts a part of the input in order.
pub(super) fn order(input: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let mut out = input.to_vec();
    match rng.below(4) {
        0 => arrange_text(&mut out, b'\n', rng),
        1 => arrange_text(&mut out, b' ', rng),
        2 => {
            let (part, width) = integers(&mut out, rng)?;
            let mut elements: Vec<Vec<u8>> = part.chunks(width).map(<[u8]>::to_vec).collect();
            arrange(&mut elements, rng);
            part.copy_from_slice(&elements.concat());
        }
        _ => {
            let (part, width) = integers(&mut out, rng)?;
            ramp(part, width, rng);
        }
    }
    (out != input).then_some(out)
}

/// Any part, or all, as integers of this many bytes.
fn integers<'a>(bytes: &'a mut [u8], rng: &mut Rng) -> Option<(&'a mut [u8], usize)> {
    let width = 1usize << rng.below(4);
    let (one, other) = match rng.below(2) {
        0 => (0, bytes.len()),
        _ => (rng.index(bytes.len() + 1), rng.index(bytes.len() + 1)),
    };
    let from = one.min(other);
    let count = (one.max(other) - from) / width;
    (count > 1).then(|| (&mut bytes[from..from + count * width], width))
}

fn arrange_text(bytes: &mut Vec<u8>, end: u8, rng: &mut Rng) {
    let mut elements: Vec<Vec<u8>> = bytes
        .split(|&byte| byte == end)
        .map(<[u8]>::to_vec)
        .collect();
    // What follows the last end stays there.
    let rest = elements.pop().unwrap_or_default();
    arrange(&mut elements, rng);
    bytes.clear();
    for element in elements {
        bytes.extend(element);
        bytes.push(end);
    }
    bytes.extend(rest);
}

fn arrange(elements: &mut Vec<Vec<u8>>, rng: &mut Rng) {
    match rng.below(5) {
        0 => elements.sort(),
        1 => {
            elements.sort();
            elements.reverse();
        }
        2 => elements.reverse(),
        3 => {
            // Up and down again.
            elements.sort();
            let mut down = Vec::new();
            let mut is_down = false;
            elements.retain(|element| {
                is_down = !is_down;
                if !is_down {
                    down.push(element.clone());
                }
                is_down
            });
            elements.extend(down.into_iter().rev());
        }
        _ => {
            for last in (1..elements.len()).rev() {
                elements.swap(last, rng.index(last + 1));
            }
        }
    }
}

/// Integers that rise or fall by the same step, of either order of bytes.
fn ramp(part: &mut [u8], width: usize, rng: &mut Rng) {
    let first = rng.word();
    let step = 1 + u64::from(rng.below(3));
    let step = if rng.below(2) == 0 {
        step
    } else {
        step.wrapping_neg()
    };
    let is_big = rng.below(2) == 0;
    for (number, element) in part.chunks_mut(width).enumerate() {
        let value = first.wrapping_add(step.wrapping_mul(number as u64));
        element.copy_from_slice(&value.to_le_bytes()[..width]);
        if is_big {
            element.reverse();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn made(input: &[u8]) -> BTreeSet<Vec<u8>> {
        (0..5_000)
            .filter_map(|seed| order(input, &mut Rng::new(seed)))
            .collect()
    }

    #[test]
    fn elements_are_sorted_both_ways_or_up_and_down() {
        let bytes = made(b"31524");
        for expected in [b"12345", b"54321", b"42513", b"13542"] {
            assert!(bytes.contains(&expected[..]), "{}", expected.escape_ascii());
        }
        let lines = made(b"b\na\nc\nend");
        assert!(lines.contains(&b"a\nb\nc\nend"[..]) && lines.contains(&b"c\nb\na\nend"[..]));
        assert!(made(b"b a c ").contains(&b"c b a "[..]));
        let wide = made(&[2, 0, 1, 0]);
        assert!(wide.contains(&vec![1, 0, 2, 0]));
    }

    #[test]
    fn ramps_rise_and_fall() {
        let ramps = made(&[7; 6]);
        let has_step = |made: &Vec<u8>, step: u8| {
            made.windows(2)
                .all(|pair| pair[1] == pair[0].wrapping_add(step))
        };
        for step in [1, 2, 3, 255, 254, 253] {
            assert!(ramps.iter().any(|made| has_step(made, step)), "{step}");
        }
    }

    #[test]
    fn nothing_is_added_or_lost() {
        assert!(made(b"b\na\nc d").iter().all(|made| made.len() == 7));
        assert!(made(b"").is_empty() && made(b"x").is_empty());
    }
}
