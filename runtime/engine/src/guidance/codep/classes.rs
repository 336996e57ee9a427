//! Classes: columns whose equal cells a program needs to be equal.
//!
//! In: data sets. Out: pairs of columns that may be such, for they share a text, and after a few runs those that are:
//! the program does something else when one of two equal cells is changed, and the same as before when both are,
//! with all that are equal to them. So a class is seen, not guessed, and no build of another kind is needed; what is equal
//! only after a computation is not found here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::change::{Change, Place};
use super::numeral;
use crate::rows::DataSets;

/// A data set and one of its columns.
pub(super) type Column = (u32, u32);

/// Bundles on which a pair of columns is tried in vain before it is given up.
const TRIES: u32 = 6;
/// Most pairs tried on one bundle.
const PAIRS_MAX: usize = 32;
/// Columns that are looked at of one text: a row of thousands of equal cells has millions of pairs.
const COLUMNS_MAX: usize = 64;
/// Pairs from which those are chosen.
const FOUND_MAX: usize = 4096;
/// Rows of a data set that are looked at for equal texts.
const ROWS_MAX: usize = 2_000;

/// What is known of all columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Classes {
    /// No two share a column.
    classes: Vec<BTreeSet<Column>>,
    /// How often a pair was tried in vain.
    tries: BTreeMap<(Column, Column), u32>,
}

/// Two columns, and cells of them with the same text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pair {
    pub(super) columns: (Column, Column),
    places: (Place, Place),
    fresh: Vec<u8>,
}

/// Runs that a pair is tried with.
pub(super) const RUNS: u32 = 3;

impl Pair {
    /// The runs: one cell changed, the other, and both with their like.
    pub(super) fn runs(&self) -> [Vec<Change>; RUNS as usize] {
        let (first, second) = self.places;
        let together = |place| Change::Together(place, self.fresh.clone());
        [
            vec![Change::Text(first, self.fresh.clone())],
            vec![Change::Text(second, self.fresh.clone())],
            vec![together(first), together(second)],
        ]
    }
}

impl Classes {
    /// The columns that belong together with this one, itself included.
    pub(super) fn of(&self, column: Column) -> Vec<Column> {
        let class = self.classes.iter().find(|class| class.contains(&column));
        class.map_or(vec![column], |class| class.iter().copied().collect())
    }

    /// Whether a column belongs together with another.
    pub(super) fn has(&self, column: Column) -> bool {
        self.classes.iter().any(|class| class.contains(&column))
    }

    /// Learns that two columns belong together.
    pub(super) fn join(&mut self, first: Column, second: Column) {
        let touches = |class: &BTreeSet<Column>| class.contains(&first) || class.contains(&second);
        let mut joined = BTreeSet::from([first, second]);
        for class in self.classes.extract_if(.., |class| touches(class)) {
            joined.extend(class);
        }
        self.classes.push(joined);
    }

    /// Learns what came of the runs of a pair: whether each did the same as the bundle itself.
    pub(super) fn learn(&mut self, pair: &Pair, same: [bool; RUNS as usize]) {
        let (first, second) = pair.columns;
        let [alone, other, both] = same;
        // Within a data set, where equal texts are common, either alone has to break it.
        let breaks = match first.0 == second.0 {
            true => !alone && !other,
            false => !alone || !other,
        };
        if both && breaks {
            self.join(first, second);
        } else {
            *self.tries.entry(pair.columns).or_default() += 1;
        }
    }

    /// Pairs of different columns that share a text and are not known to belong together, nor not to.
    pub(super) fn candidates(&self, sets: &DataSets) -> Vec<Pair> {
        // By text, the first cell of each column that has it.
        let mut places: BTreeMap<&[u8], Vec<Place>> = BTreeMap::new();
        for set in 0..sets.sets() {
            for row in 0..sets.rows(set).min(ROWS_MAX) {
                for column in 0..sets.columns(set, row) {
                    let text = sets.cell(set, row, column);
                    if text.is_empty() {
                        continue;
                    }
                    let [set, row, column] = [set, row, column].map(|n| n as u32);
                    let known = places.entry(text).or_default();
                    let is_full = known.len() >= COLUMNS_MAX;
                    if !is_full && !known.iter().any(|place| place.column() == (set, column)) {
                        known.push(Place { set, row, column });
                    }
                }
            }
        }
        let mut found: BTreeMap<(Column, Column), (Place, Place)> = BTreeMap::new();
        for equal in places.values() {
            for (at, &first) in equal.iter().enumerate() {
                for &second in &equal[at + 1..] {
                    let columns = (first.column(), second.column());
                    let tries = self.tries.get(&columns).copied().unwrap_or(0);
                    if tries >= TRIES || self.of(columns.0).contains(&columns.1) {
                        continue;
                    }
                    if found.len() < FOUND_MAX {
                        found.entry(columns).or_insert((first, second));
                    }
                }
            }
        }
        // Columns of different data sets first: joins are what most depends on.
        let mut pairs: Vec<_> = found.into_iter().collect();
        pairs.sort_by_key(|(columns, _)| columns.0.0 == columns.1.0);
        pairs.truncate(PAIRS_MAX);
        let fresh = |place: Place| {
            let text = sets.cell(
                place.set as usize,
                place.row as usize,
                place.column as usize,
            );
            (1..)
                .map(|steps| numeral::fresh(text, steps))
                .find(|fresh| !places.contains_key(&fresh[..]))
                .expect("there are more texts than cells")
        };
        pairs
            .into_iter()
            .map(|(columns, places)| Pair {
                columns,
                places,
                fresh: fresh(places.0),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_touch_become_one() {
        let mut classes = Classes::default();
        classes.join((0, 0), (1, 1));
        classes.join((2, 0), (3, 0));
        assert_eq!(classes.of((1, 1)), [(0, 0), (1, 1)]);
        classes.join((1, 1), (2, 0));
        assert_eq!(classes.of((3, 0)), [(0, 0), (1, 1), (2, 0), (3, 0)]);
        assert_eq!(classes.of((9, 9)), [(9, 9)]);
        assert!(classes.has((2, 0)) && !classes.has((9, 9)));
    }

    #[test]
    fn candidates_share_a_text() {
        let sets = DataSets::parse(b"7,a\n8,b\n\x1cx,8,a\n", b',');
        let classes = Classes::default();
        let columns = |classes: &Classes| {
            let pairs = classes.candidates(&sets);
            pairs
                .into_iter()
                .map(|pair| pair.columns)
                .collect::<Vec<_>>()
        };
        assert_eq!(columns(&classes), [((0, 0), (1, 1)), ((0, 1), (1, 2))]);
        let pair = &classes.candidates(&sets)[0];
        assert_eq!(pair.fresh, b"9");
        let first = Place {
            set: 0,
            row: 1,
            column: 0,
        };
        assert_eq!(pair.runs()[0], [Change::Text(first, b"9".to_vec())]);
        let mut classes = classes;
        classes.join((0, 0), (1, 1));
        assert_eq!(columns(&classes), [((0, 1), (1, 2))]);
    }

    #[test]
    fn a_pair_breaks_alone_and_holds_together() {
        let sets = DataSets::parse(b"7,a\n\x1cx,7\n", b',');
        let pair = &Classes::default().candidates(&sets)[0];
        for (same, joins) in [
            ([false, false, true], true),
            ([true, false, true], true),
            ([true, true, true], false),
            ([false, false, false], false),
        ] {
            let mut classes = Classes::default();
            classes.learn(pair, same);
            assert_eq!(classes.has((0, 0)), joins, "{same:?}");
            let within = Pair {
                columns: ((0, 0), (0, 1)),
                ..pair.clone()
            };
            classes.learn(&within, same);
            assert_eq!(classes.has((0, 1)), same == [false, false, true]);
            for _ in 0..TRIES {
                classes.learn(pair, [true; 3]);
            }
            assert!(classes.candidates(&sets).is_empty());
        }
    }
}
