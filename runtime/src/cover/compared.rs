//! Compared: what comparisons were given, so that a branch which never went some way shows what it waits for.
//!
//! In: runs that recorded operands. Out: a few pairs for each comparison: of all that differ those that are closest, because
//! they say most about what is missing. Whether numbers have signs is not known; they are shown without.
//!
//! Two places in a buffer are no such pair: how far one is from the other is all that they say. A *walk* is a pair of which
//! neither is a constant of the program, that are four bytes wide, at least `ADDRESS_MIN`, within the memory that the run
//! had, and nearer to each other than `WALK_MAX`.

use std::collections::BTreeMap;
use std::fmt;

use sandglass_engine::Compare;
use sandglass_instrument::CompareSite;

/// Pairs that are kept of one comparison.
const PAIRS_MAX: usize = 2;

/// Below lie all numbers of 16 bits: lengths, counts, characters. A few addresses do, too, and are shown as numbers.
const ADDRESS_MIN: u64 = 1 << 16;

/// Farther apart two addresses are not taken to lie in one buffer; most are smaller, and most inputs.
const WALK_MAX: u64 = 1 << 16;

/// Pairs of a line that people are shown.
pub(super) const PAIRS_SHOWN: usize = 4;

/// A pair of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operands {
    /// Left, zero-extended.
    pub left: u64,
    /// Right, zero-extended.
    pub right: u64,
    /// Bytes of each.
    pub width: u8,
}

/// What a comparison was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// The closest pairs that differ, without walks.
    pub(super) pairs: Vec<Operands>,
    /// The fewest bytes between two addresses that were compared.
    pub(super) walk: Option<u64>,
}

/// By the offset of the comparison in the original file.
#[derive(Clone, Debug, Default)]
pub struct Compared(BTreeMap<u32, Given>);

impl Compared {
    /// Takes what a run recorded; `sites` are those of the build that did, and the run had `memory_bytes` in the end.
    pub fn add(&mut self, sites: &[CompareSite], seen: &[Compare], memory_bytes: u64) {
        for one in seen.iter().filter(|one| one.left != one.right) {
            let given = self.0.entry(sites[one.site as usize].offset).or_default();
            if is_walk(one, memory_bytes) {
                let apart = one.left.abs_diff(one.right);
                given.walk = Some(given.walk.map_or(apart, |least| least.min(apart)));
                continue;
            }
            let (left, right, width) = (one.left, one.right, one.width);
            let pair = Operands { left, right, width };
            let pairs = &mut given.pairs;
            if let Err(at) = pairs.binary_search_by_key(&pair.order(), Operands::order) {
                pairs.insert(at, pair);
                pairs.truncate(PAIRS_MAX);
            }
        }
    }

    /// Those from `start` to before `end`, ascending by offset.
    pub(super) fn within(&self, start: u32, end: u32) -> impl Iterator<Item = (u32, &Given)> {
        let range = self.0.range(start..end.max(start));
        range.map(|(offset, given)| (*offset, given))
    }
}

/// Whether operands look like two places in one buffer.
fn is_walk(one: &Compare, memory_bytes: u64) -> bool {
    let is_address = |value: u64| (ADDRESS_MIN..memory_bytes).contains(&value);
    !one.constant
        && one.width == 4
        && is_address(one.left)
        && is_address(one.right)
        && one.left.abs_diff(one.right) < WALK_MAX
}

impl Operands {
    /// The closest first.
    pub(super) fn order(&self) -> (u64, Operands) {
        (self.left.abs_diff(self.right), *self)
    }

    /// A number, and its bytes in memory where all are printable.
    fn operand(&self, value: u64) -> String {
        let bytes = &value.to_le_bytes()[..usize::from(self.width)];
        match bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) {
            true => format!("{value} {:?}", String::from_utf8_lossy(bytes)),
            false => value.to_string(),
        }
    }
}

impl fmt::Display for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} with {}",
            self.operand(self.left),
            self.operand(self.right)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_pairs_stay() {
        let site = |offset| CompareSite {
            offset,
            width: 4,
            constant: true,
        };
        let compare = |site, left, right| Compare {
            site,
            width: 4,
            left,
            right,
            constant: true,
        };
        let mut compared = Compared::default();
        let seen = [
            (1, 90, 50),
            (1, 50, 50),
            (1, 53, 50),
            (1, 10, 50),
            (0, 1, 2),
            (1, 53, 50),
        ];
        for (at, left, right) in seen {
            compared.add(&[site(70), site(30)], &[compare(at, left, right)], 0);
        }
        let found: Vec<(u32, Vec<String>)> = compared
            .within(0, 100)
            .map(|(offset, given)| {
                (
                    offset,
                    given.pairs.iter().map(Operands::to_string).collect(),
                )
            })
            .collect();
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(
            found,
            [
                (30, texts(&["53 with 50", "10 with 50"])),
                (70, texts(&["1 with 2"]))
            ]
        );
        assert_eq!(compared.within(31, 70).count(), 0);
        let text = Operands {
            left: 0x4646_4952,
            right: 7,
            width: 4,
        };
        assert_eq!(text.to_string(), "1179011410 \"RIFF\" with 7");
    }

    /// At each edge of the rule, one step beyond it.
    #[test]
    fn places_in_a_buffer_are_no_pairs() {
        let compare = |left, right| Compare {
            site: 0,
            width: 4,
            left,
            right,
            constant: false,
        };
        let site = CompareSite {
            offset: 5,
            width: 4,
            constant: false,
        };
        let memory_bytes = 0x50_0000;
        let given = |seen: &[Compare]| {
            let mut compared = Compared::default();
            compared.add(&[site], seen, memory_bytes);
            let all: Vec<Given> = compared
                .within(0, 9)
                .map(|(_, given)| given.clone())
                .collect();
            all[0].clone()
        };
        let walks = given(&[
            compare(0x41_0000, 0x41_0009),
            compare(0x41_0009, 0x41_0005),
            compare(0x1_0000, 0x1_ffff),
            compare(0x4f_ffff, 0x4f_0000),
        ]);
        let expected = Given {
            pairs: Vec::new(),
            walk: Some(4),
        };
        assert_eq!(walks, expected);
        let numbers = [
            compare(0xffff, 0x1_0000),
            compare(0x4f_ffff, 0x50_0000),
            compare(0x41_0000, 0x42_0000),
            Compare {
                constant: true,
                ..compare(0x41_0000, 0x41_0009)
            },
            Compare {
                width: 8,
                ..compare(0x41_0000, 0x41_0009)
            },
        ];
        for one in numbers {
            let given = given(std::slice::from_ref(&one));
            assert_eq!((given.pairs.len(), given.walk), (1, None), "{one:?}");
        }
    }
}
