//! Compared: what comparisons were given, so that a branch which never went some way shows what it waits for.
//!
//! In: runs that recorded operands. Out: a few pairs for each comparison: of all that differ those that are closest, because
//! they say most about what is missing. Whether numbers have signs is not known; they are shown without.

use std::collections::BTreeMap;
use std::fmt;

use sandglass_engine::Compare;
use sandglass_instrument::CompareSite;

/// Pairs that are kept of one comparison.
const PAIRS_MAX: usize = 2;

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

/// Pairs by the offset of the comparison in the original file.
#[derive(Clone, Debug, Default)]
pub struct Compared(BTreeMap<u32, Vec<Operands>>);

impl Compared {
    /// Takes what a run recorded; `sites` are those of the build that did.
    pub fn add(&mut self, sites: &[CompareSite], seen: &[Compare]) {
        for one in seen.iter().filter(|one| one.left != one.right) {
            let (left, right, width) = (one.left, one.right, one.width);
            let pairs = self.0.entry(sites[one.site as usize].offset).or_default();
            let pair = Operands { left, right, width };
            if let Err(at) = pairs.binary_search_by_key(&pair.order(), Operands::order) {
                pairs.insert(at, pair);
                pairs.truncate(PAIRS_MAX);
            }
        }
    }

    /// Those from `start` to before `end`, ascending by offset.
    pub(super) fn within(&self, start: u32, end: u32) -> impl Iterator<Item = (u32, &[Operands])> {
        let range = self.0.range(start..end.max(start));
        range.map(|(offset, pairs)| (*offset, &pairs[..]))
    }
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
            compared.add(&[site(70), site(30)], &[compare(at, left, right)]);
        }
        let found: Vec<(u32, Vec<String>)> = compared
            .within(0, 100)
            .map(|(offset, pairs)| (offset, pairs.iter().map(Operands::to_string).collect()))
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
}
