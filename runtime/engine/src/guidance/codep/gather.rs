//! Gathering: texts that once were what a comparison asked for, in all columns at once, in all rows of a seed.
//!
//! In: solutions that paid, which is that their run covered something new or made a comparison come out as it never had. Out:
//! the texts that each column wants, and children of seeds whose columns have them.
//!
//! A row of a join's result asks for something in each of the tables. Solving gives a bundle the one cell that a filter
//! wants, and what shows is that the filter lets the row pass; the bundle has no rows that it would join with, since
//! they cover nothing of their own. So nothing more shows until all filters of all tables are satisfied by rows with equal
//! keys. Seeds have such rows. Columns in a class are keys: of one text only, with all that are equal to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::change::{Change, Place, plain, set, text};
use super::classes::{Classes, Column};
use crate::ratio::Ratio;
use crate::rng::Rng;
use crate::rows::draft::Draft;
use crate::rows::{DataSets, Maker};

/// Texts remembered of one column, the latest, and of how long ones.
const TEXTS_MAX: usize = 8;
const TEXT_BYTES_MAX: usize = 64;
/// Columns that are remembered.
const COLUMNS_MAX: usize = 256;
/// Columns that stay as they are; and cells, where rows get texts of their own.
const STAYS: Ratio = Ratio::new(1, 8);

/// The texts that columns want.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wanted {
    columns: BTreeMap<Column, Vec<Vec<u8>>>,
}

impl Wanted {
    /// Learns from changes that paid.
    pub(super) fn learn(&mut self, changes: &[Change]) {
        for change in changes {
            let (Change::Text(place, text) | Change::Together(place, text)) = change else {
                continue;
            };
            let is_full =
                self.columns.len() >= COLUMNS_MAX && !self.columns.contains_key(&place.column());
            if is_full || text.len() > TEXT_BYTES_MAX {
                continue;
            }
            let texts = self.columns.entry(place.column()).or_default();
            texts.retain(|known| known != text);
            if texts.len() == TEXTS_MAX {
                texts.remove(0);
            }
            texts.push(text.clone());
        }
    }

    /// Whether columns of two data sets want something. Within one, solving gets from one comparison to the next.
    pub(super) fn is_of_many(&self) -> bool {
        let mut sets = self.columns.keys().map(|(set, _)| set);
        sets.next() != sets.next_back() && !self.columns.is_empty()
    }
}

/// Makes gathered children.
#[derive(Debug)]
pub(super) struct Gather {
    pub(super) base: DataSets,
    pub(super) classes: Classes,
    pub(super) wanted: Wanted,
}

impl Maker for Gather {
    fn make(&self, _: u64, rng: &mut Rng, bytes_max: usize, out: &mut Vec<u8>) {
        let mut draft = Draft::new(&self.base);
        for (&column, texts) in &self.wanted.columns {
            let (of, rows) = (column.0, draft.rows(column.0 as usize) as u32);
            if rows == 0 || rng.chance(STAYS) {
                continue;
            }
            let place = |row| Place {
                set: of,
                row,
                column: column.1,
            };
            let any = |rng: &mut Rng| &texts[rng.index(texts.len())];
            if self.classes.has(column) {
                let key = place(rng.below(rows));
                if !text(&draft, key).is_empty() {
                    Change::Together(key, any(rng).clone()).apply(&mut draft, &self.classes);
                }
                continue;
            }
            // All rows the same, or each its own.
            let all = (rng.below(2) == 0).then(|| any(rng));
            for row in 0..rows {
                match all {
                    Some(text) => set(&mut draft, place(row), text),
                    None if rng.chance(STAYS) => {}
                    None => set(&mut draft, place(row), any(rng)),
                }
            }
        }
        draft.write(bytes_max, out, plain(self.base.delimiter()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sales of days and items; keys are in classes.
    const SETS: &[u8] = b"1,7,x\n2,8,y\n\x1c1,mon\n2,tue\n\x1c7,hat\n8,cap\n";

    fn text_of(set: u32, row: u32, column: u32, text: &[u8]) -> Change {
        Change::Text(Place { set, row, column }, text.to_vec())
    }

    fn gather(changes: &[Change]) -> Gather {
        let mut classes = Classes::default();
        classes.join((0, 0), (1, 0));
        classes.join((0, 1), (2, 0));
        let mut wanted = Wanted::default();
        wanted.learn(changes);
        Gather {
            base: DataSets::parse(SETS, b','),
            classes,
            wanted,
        }
    }

    fn children(gather: &Gather) -> Vec<String> {
        let (mut rng, mut out) = (Rng::new(7), Vec::new());
        let child = |nth| {
            gather.make(nth, &mut rng, 10_000, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        (0..1_000).map(child).collect()
    }

    /// Two tables have what they want, in all rows or in some, each of two texts as often, and all keys are as they were.
    #[test]
    fn columns_have_what_they_want_at_once() {
        let all = children(&gather(&[
            text_of(1, 0, 1, b"sun"),
            text_of(2, 1, 1, b"bag"),
            text_of(2, 1, 1, b"box"),
        ]));
        let count = |is: &dyn Fn(&str) -> bool| all.iter().filter(|text| is(text)).count();
        let (days, bags) = ("1,sun\n2,sun\n", "7,bag\n8,bag\n");
        let both = count(&|text| text.contains(days) && text.contains(bags));
        assert!((180..290).contains(&both), "{both}");
        assert!(count(&|text| text.contains("7,bag\n8,box\n")) > 50);
        assert!(count(&|text| text.contains("1,sun\n2,tue\n")) > 20);
        assert!(count(&|text| text.contains("1,mon\n2,tue\n")) > 50);
        assert!(
            all.iter()
                .all(|text| text.starts_with("1,7,x\n2,8,y\n\x1c1,"))
        );
    }

    #[test]
    fn a_key_changes_with_its_equals() {
        let all = children(&gather(&[text_of(1, 0, 0, b"9"), text_of(2, 0, 1, b"bag")]));
        assert!(
            all.iter()
                .any(|text| text.starts_with("9,7,x\n2,8,y\n\x1c9,mon\n2,"))
        );
        assert!(
            all.iter()
                .any(|text| text.starts_with("1,7,x\n9,8,y\n\x1c1,mon\n9,"))
        );
        assert!(!all.iter().any(|text| text.starts_with("9,7,x\n9,")));
    }

    #[test]
    fn of_many_data_sets_and_of_a_column_the_latest() {
        let mut wanted = Wanted::default();
        assert!(!wanted.is_of_many());
        for text in 0..20 {
            wanted.learn(&[text_of(1, 0, 1, &[b'a' + text])]);
        }
        wanted.learn(&[text_of(1, 3, 1, b"s"), text_of(1, 0, 2, &[b'x'; 65])]);
        let texts = &wanted.columns[&(1, 1)];
        assert_eq!(
            (texts.len(), &texts[6..]),
            (8, &[b"t".to_vec(), b"s".to_vec()][..])
        );
        wanted.learn(&[text_of(1, 0, 4, b"a"), Change::Without(0, 1)]);
        assert!(!wanted.is_of_many());
        wanted.learn(&[Change::Together(
            Place {
                set: 3,
                row: 0,
                column: 0,
            },
            b"a".to_vec(),
        )]);
        assert!(wanted.is_of_many());
    }

    /// What wants something may be in a data set that the seed has not, or beyond its rows.
    #[test]
    fn what_is_not_there_is_not_changed() {
        let gather = gather(&[text_of(9, 0, 0, b"a"), text_of(0, 0, 7, b"b")]);
        assert!(children(&gather).iter().all(|text| text.as_bytes() == SETS));
    }
}
