//! Sites: what is known of a target's comparisons: how they have come out, and what was tried in vain.
//!
//! In: runs that recorded their comparisons, and what came of solutions. Out: whether a comparison is worth solving. One
//! that has come out equal, less and greater has nothing to hide, whatever operator it is; most of a program's are of
//! that kind after a few runs. Of those that read no constant nothing is settled, because each time it is another question.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::solve::encode::sign_extend;
use crate::trial::{Compare, CompareText};

/// Sites that are remembered; what comes later is as new each time.
const SITES_MAX: usize = 1 << 16;

/// A comparison of numbers, or of texts with a certain text.
pub type Key = u64;

/// What is known of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Site {
    /// Solutions in vain since one was not, and runs in which there was none.
    pub(super) barren: u32,
    /// How it has come out: a bit each for less, equal, greater as numbers with a sign, and three as those without.
    outcomes: u8,
}

/// What is known of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sites {
    sites: BTreeMap<Key, Site>,
    /// Runs looked at.
    turn: u32,
}

/// The key of a comparison of numbers.
pub(super) fn key(compare: &Compare) -> Key {
    compare.site.into()
}

/// The key of a comparison of texts: one function compares all of a program's.
pub(super) fn text_key(text: &CompareText) -> Key {
    1 << 63 | u64::from(text.site) << 32 >> 1 | u64::from(super::label_id(&text.right))
}

/// How the operands compare, as numbers with a sign and without: which of them the operator reads is not recorded.
pub(super) fn orderings(compare: &Compare) -> [Ordering; 2] {
    let signed = |operand| sign_extend(operand, compare.width);
    [
        signed(compare.left).cmp(&signed(compare.right)),
        compare.left.cmp(&compare.right),
    ]
}

fn bits([signed, unsigned]: [Ordering; 2]) -> u8 {
    let bit = |ordering| match ordering {
        Ordering::Less => 1,
        Ordering::Equal => 2,
        Ordering::Greater => 4,
    };
    bit(signed) | bit(unsigned) << 3
}

impl Site {
    /// Whether this comparison, which is of the site, is known to have come out so, with a sign and without.
    pub(super) fn has_come_out(self, compare: &Compare, ordering: Ordering) -> bool {
        let both = bits([ordering; 2]);
        compare.constant && self.outcomes & both == both
    }
}

impl Sites {
    /// What is known of a site.
    pub(super) fn of(&self, key: Key) -> Site {
        self.sites.get(&key).copied().unwrap_or_default()
    }

    /// Runs looked at.
    pub(super) fn turn(&self) -> u32 {
        self.turn
    }

    /// Learns how a run's comparisons came out. What is known of each comes back.
    pub(super) fn see(&mut self, compares: &[Compare]) -> Vec<Site> {
        self.turn = self.turn.wrapping_add(1);
        let see = |compare: &Compare| {
            if !compare.constant {
                return self.of(key(compare));
            }
            match self.site(key(compare)) {
                Some(site) => {
                    site.outcomes |= bits(orderings(compare));
                    *site
                }
                None => Site::default(),
            }
        };
        compares.iter().map(see).collect()
    }

    /// Learns whether a solution came to anything, or, if there was none, that it did not.
    pub fn tried(&mut self, key: Key, found: bool) {
        if let Some(site) = self.site(key) {
            site.barren = if found {
                0
            } else {
                site.barren.saturating_add(1)
            };
        }
    }

    fn site(&mut self, key: Key) -> Option<&mut Site> {
        let has_room = self.sites.len() < SITES_MAX || self.sites.contains_key(&key);
        has_room.then(|| self.sites.entry(key).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(left: u64, right: u64, constant: bool) -> Compare {
        Compare {
            site: 5,
            width: 4,
            left,
            right,
            constant,
        }
    }

    #[test]
    fn outcomes_are_with_a_sign_and_without_and_of_constants_alone() {
        let mut sites = Sites::default();
        let outcomes = |sites: &Sites, constant| {
            let all = [Ordering::Less, Ordering::Equal, Ordering::Greater];
            all.map(|ordering| sites.of(5).has_come_out(&compare(0, 0, constant), ordering))
        };
        sites.see(&[compare(0xffff_ffff, 3, true)]);
        assert_eq!(outcomes(&sites, true), [false; 3]);
        sites.see(&[compare(2, 3, true)]);
        assert_eq!(outcomes(&sites, true), [true, false, false]);
        sites.see(&[compare(3, 3, true), compare(4, 3, false)]);
        assert_eq!(outcomes(&sites, true), [true, true, false]);
        assert_eq!(outcomes(&sites, false), [false; 3]);
    }

    #[test]
    fn what_was_tried_in_vain_is_forgotten_when_something_comes_of_it() {
        let mut sites = Sites::default();
        (0..3).for_each(|_| sites.tried(5, false));
        assert_eq!((sites.of(5).barren, sites.of(6).barren), (3, 0));
        sites.tried(5, true);
        assert_eq!(sites.of(5).barren, 0);
    }

    #[test]
    fn texts_are_known_by_what_is_wanted() {
        let text = |site, right: &[u8]| CompareText {
            site,
            left: b"x".to_vec(),
            right: right.to_vec(),
        };
        let keys = [text(1, b"a"), text(1, b"b"), text(2, b"a")].map(|text| text_key(&text));
        assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2]);
        assert!(keys.iter().all(|&text| text != key(&compare(0, 0, true))));
    }

    #[test]
    fn memory_is_bounded() {
        let mut sites = Sites::default();
        (0..2 * SITES_MAX as u64).for_each(|key| sites.tried(key, false));
        assert_eq!(sites.sites.len(), SITES_MAX);
        sites.tried(0, false);
        assert_eq!(sites.of(0).barren, 2);
    }
}
