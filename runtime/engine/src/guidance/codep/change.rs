//! Changes: what a child differs in from the data sets that it is made from, and in nothing else.
//!
//! In: data sets, columns whose equal cells belong together, and changes. Out: bytes. What a change does not name
//! is frozen: the rest of the bundle is what its path needs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::classes::{Classes, Column};
use super::havoc;
use super::numeral;
use crate::rng::Rng;
use crate::rows::draft::{Cells, Draft};
use crate::rows::{DataSets, Maker};

/// Most copies that one change makes, of rows or groups.
pub(super) const COPIES_MAX: u32 = 128;
/// Data sets that have so many rows, all together, are given no more: children of children would be ever larger.
const ROWS_MAX: usize = 1 << 14;
/// The same of cells. As many as fill an input: of a row that has more, every copy would be cut off, after all of it was
/// changed.
const CELLS_MAX: usize = 1 << 20;

/// A cell: data set, row, column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) set: u32,
    pub(super) row: u32,
    pub(super) column: u32,
}

impl Place {
    pub(super) fn column(self) -> Column {
        (self.set, self.column)
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Change {
    /// Other text in one cell.
    Text(Place, Vec<u8>),
    /// Other text in one cell, and in all that are equal to it in the columns of its class: co-mutation.
    Together(Place, Vec<u8>),
    /// A number added to every number of a column, so that its rows keep their distances.
    Column(Column, i64),
    /// So many copies of a row, behind all others.
    Copies(u32, u32, u32),
    /// The row is left out.
    Without(u32, u32),
    /// So many copies of all rows that share the text of this cell, in all columns of its class, each with a text of
    /// its own instead.
    Groups(Place, u32),
}

impl Change {
    /// Makes the change. One that names what is not there does nothing.
    pub(super) fn apply(&self, draft: &mut Draft<'_>, classes: &Classes) {
        match self {
            Change::Text(place, text) => set(draft, *place, text),
            Change::Together(place, text) => {
                for equal in equals(draft, *place, classes) {
                    set(draft, equal, text);
                }
            }
            Change::Column((of, column), by) => {
                for row in 0..draft.rows(*of as usize) as u32 {
                    let place = Place {
                        set: *of,
                        row,
                        column: *column,
                    };
                    let old = text(draft, place);
                    let value = numeral::read(old).and_then(|value| numeral::plus(value, *by));
                    if let Some(value) = value {
                        let text = numeral::write(old, value);
                        set(draft, place, &text);
                    }
                }
            }
            Change::Copies(set, row, count) => {
                if (*row as usize) < draft.rows(*set as usize) {
                    for _ in 0..*count {
                        if rows(draft) >= ROWS_MAX || draft.cell_count() >= CELLS_MAX {
                            break;
                        }
                        draft.append_copy(*set as usize, *row as usize);
                    }
                }
            }
            Change::Without(set, row) => {
                if (*row as usize) < draft.rows(*set as usize) {
                    draft.remove(*set as usize, *row as usize);
                }
            }
            Change::Groups(place, count) => groups(draft, *place, *count, classes),
        }
    }
}

/// The text of a cell; nothing if there is none.
pub(super) fn text<'a>(draft: &'a Draft<'_>, place: Place) -> &'a [u8] {
    let [set, row, column] = [place.set, place.row, place.column].map(|n| n as usize);
    match row < draft.rows(set) && column < draft.cells(set, row).len() {
        true => draft.cells(set, row).get(column),
        false => b"",
    }
}

/// Gives a cell another text, if it is there.
pub(super) fn set(draft: &mut Draft<'_>, place: Place, text: &[u8]) {
    let [set, row, column] = [place.set, place.row, place.column].map(|n| n as usize);
    if row < draft.rows(set) && column < draft.cells(set, row).len() {
        draft.set(set, row, column, text.to_vec());
    }
}

/// The cells equal to this one in the columns of its class, itself included; ascending by column.
pub(super) fn equals(draft: &Draft<'_>, place: Place, classes: &Classes) -> Vec<Place> {
    let wanted = text(draft, place);
    let columns = classes.of(place.column());
    let cells = columns.into_iter().flat_map(|(set, column)| {
        let rows = 0..draft.rows(set as usize) as u32;
        rows.map(move |row| Place { set, row, column })
    });
    let is_there = |place: &Place| {
        (place.column as usize) < draft.cells(place.set as usize, place.row as usize).len()
    };
    cells
        .filter(is_there)
        .filter(|place| text(draft, *place) == wanted)
        .collect()
}

/// See [`Change::Groups`].
fn groups(draft: &mut Draft<'_>, place: Place, count: u32, classes: &Classes) {
    let old = text(draft, place).to_vec();
    let members = equals(draft, place, classes);
    let mut taken = texts(draft, &members);
    let mut steps = 0;
    for _ in 0..count {
        if rows(draft) + members.len() > ROWS_MAX || draft.cell_count() >= CELLS_MAX {
            break;
        }
        let fresh = loop {
            steps += 1;
            let fresh = numeral::fresh(&old, steps);
            if taken.insert(fresh.clone()) {
                break fresh;
            }
        };
        let mut copies = BTreeMap::new();
        for member in &members {
            let (of, row) = (member.set as usize, member.row as usize);
            let copy = copies.entry((of, row));
            let row = *copy.or_insert_with(|| draft.append_copy(of, row)) as u32;
            set(draft, Place { row, ..*member }, &fresh);
        }
    }
}

/// Rows of all data sets.
fn rows(draft: &Draft<'_>) -> usize {
    (0..draft.sets()).map(|set| draft.rows(set)).sum()
}

/// All texts of the columns of these cells.
fn texts(draft: &Draft<'_>, members: &[Place]) -> BTreeSet<Vec<u8>> {
    let columns: BTreeSet<Column> = members.iter().map(|member| member.column()).collect();
    let places = columns.into_iter().flat_map(|(set, column)| {
        let rows = 0..draft.rows(set as usize) as u32;
        rows.map(move |row| Place { set, row, column })
    });
    places.map(|place| text(draft, place).to_vec()).collect()
}

/// Writes a row as it stands.
pub(super) fn plain(delimiter: u8) -> impl Fn(Cells<'_>, &mut Vec<u8>) {
    move |cells, out| {
        for column in 0..cells.len() {
            if column > 0 {
                out.push(delimiter);
            }
            out.extend_from_slice(cells.get(column));
        }
    }
}

/// Makes children by changes that are known beforehand: child `n` has the `n`-th.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) base: DataSets,
    pub(super) changes: Vec<Vec<Change>>,
    pub(super) classes: Classes,
    /// Whether all that is not changed stays as it is; else half of all other cells are mutated, too.
    pub(super) freezes: bool,
}

impl Maker for Changed {
    fn make(&self, nth: u64, rng: &mut Rng, bytes_max: usize, out: &mut Vec<u8>) {
        let mut draft = Draft::new(&self.base);
        if !self.freezes {
            havoc::everywhere(&mut draft, rng);
        }
        for change in &self.changes[nth as usize] {
            change.apply(&mut draft, &self.classes);
        }
        draft.write(bytes_max, out, plain(self.base.delimiter()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETS: &[u8] = b"7,a\n8,b\n\x1cx,7,5\ny,8,6\nz,7,-1\n";

    fn at(set: u32, row: u32, column: u32) -> Place {
        Place { set, row, column }
    }

    fn joined() -> Classes {
        let mut classes = Classes::default();
        classes.join((0, 0), (1, 1));
        classes
    }

    fn made(change: Change, classes: Classes) -> String {
        let changed = Changed {
            base: DataSets::parse(SETS, b','),
            changes: vec![vec![change]],
            classes,
            freezes: true,
        };
        let mut out = Vec::new();
        changed.make(0, &mut Rng::new(1), 1000, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_cell_or_all_that_are_equal_in_its_class() {
        let alone = Change::Text(at(1, 2, 1), b"q".to_vec());
        assert_eq!(
            made(alone, joined()),
            "7,a\n8,b\n\x1cx,7,5\ny,8,6\nz,q,-1\n"
        );
        let all = Change::Together(at(1, 2, 1), b"q".to_vec());
        assert_eq!(
            made(all.clone(), joined()),
            "q,a\n8,b\n\x1cx,q,5\ny,8,6\nz,q,-1\n"
        );
        // Without a class, a column is one of its own.
        assert_eq!(
            made(all, Classes::default()),
            "7,a\n8,b\n\x1cx,q,5\ny,8,6\nz,q,-1\n"
        );
    }

    #[test]
    fn a_column_moves_as_one() {
        let change = Change::Column((1, 2), 100);
        assert_eq!(
            made(change, joined()),
            "7,a\n8,b\n\x1cx,7,105\ny,8,106\nz,7,99\n"
        );
    }

    #[test]
    fn rows_are_copied_and_left_out() {
        assert_eq!(
            made(Change::Copies(0, 1, 2), joined()),
            "7,a\n8,b\n8,b\n8,b\n\x1cx,7,5\ny,8,6\nz,7,-1\n"
        );
        assert_eq!(
            made(Change::Without(1, 0), joined()),
            "7,a\n8,b\n\x1cy,8,6\nz,7,-1\n"
        );
    }

    /// 8 is taken, so the first free key is 9.
    #[test]
    fn groups_are_copied_with_keys_of_their_own() {
        assert_eq!(
            made(Change::Groups(at(0, 0, 0), 2), joined()),
            "7,a\n8,b\n9,a\n01,a\n\x1cx,7,5\ny,8,6\nz,7,-1\nx,9,5\nz,9,-1\nx,01,5\nz,01,-1\n"
        );
    }

    /// 20,000 rows with keys of their own, or the same one: linear work, and no more rows than allowed.
    #[test]
    fn large_data_sets_do_not_grow() {
        let own: String = (0..20_000).map(|n| format!("{n}\n")).collect();
        for bytes in [own, "7\n".repeat(20_000)] {
            let base = DataSets::parse(bytes.as_bytes(), b',');
            let mut draft = Draft::new(&base);
            Change::Groups(at(0, 0, 0), 100).apply(&mut draft, &Classes::default());
            Change::Copies(0, 0, 100).apply(&mut draft, &Classes::default());
            assert_eq!(draft.rows(0), 20_000);
        }
        let base = DataSets::parse(&b"7\n".repeat(5_000), b',');
        let mut draft = Draft::new(&base);
        Change::Groups(at(0, 0, 0), 100).apply(&mut draft, &Classes::default());
        assert_eq!(draft.rows(0), 15_000);
        Change::Copies(0, 0, 2_000).apply(&mut draft, &Classes::default());
        assert_eq!(draft.rows(0), ROWS_MAX);
        let base = DataSets::parse(&b"7,".repeat(CELLS_MAX / 2), b',');
        let mut draft = Draft::new(&base);
        Change::Copies(0, 0, 100).apply(&mut draft, &Classes::default());
        Change::Groups(at(0, 0, 0), 100).apply(&mut draft, &Classes::default());
        assert_eq!(draft.rows(0), 2);
    }

    #[test]
    fn what_is_not_there_is_not_changed() {
        let same = std::str::from_utf8(SETS).unwrap();
        for change in [
            Change::Text(at(5, 0, 0), b"q".to_vec()),
            Change::Text(at(0, 0, 7), b"q".to_vec()),
            Change::Without(0, 9),
            Change::Copies(3, 0, 1),
            Change::Column((0, 1), 3),
            Change::Groups(at(0, 9, 0), 1),
        ] {
            assert_eq!(made(change.clone(), joined()), same, "{change:?}");
        }
    }
}
